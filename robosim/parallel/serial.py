"""The serial equivalent of a parallel mechanism: a tree whose joints are driven directly.

Links that only close loops are glued to the bodies that stay, in the pose of home. Each is divided
between the body that carries it and those to which its loops lead. So mass, centre of mass and
inertia of the whole, with locked joints, are those of the mechanism at home. What a mass matrix
lacks on its diagonal is `armature` of the joints. The shares have the least squares of errors of
mass matrix and weight over the workspace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from robosim import quaternions
from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.springs import Coupling
from robosim.description.surfaces import WORLD
from robosim.errors import ModelError
from robosim.kinematics.kinematics import Kinematics
from robosim.parallel.pruned import locked, pruned
from robosim.parallel.reduced import ReducedEquations
from robosim.parallel.transmission import Transmission
from robosim.parallel.workspace import Workspace, workspace
from robosim.validation import Array, check_choice

EVEN = 1e-4  # weight of even shares, for those that nothing else determines
EXACT = 1e6  # weight of errors that shall be zero
NO_SHARE = 1e-9
REGULAR = 1e-6  # singular values of samples
LINEAR = 1e-9  # of the largest rate, for a coordinate that depends on a joint


class SerialErrors(NamedTuple):
    """Errors of a serial equivalent at k samples of the workspace, the first of which is home.

    Attributes
    ----------
    configurations : (k, nq), of the mechanism
    mass_matrix : (k,)
        Of the kinetic energy of any motion, relative to those of its joints one by one.
    gravity : (k,)
        Of the torques that balance the weight, relative to the largest in the workspace. Torques
        are divided by the roots of inertias, so that forces and torques compare.
    inverse_dynamics : (k,)
        Of the torques of random motions, relative to the largest of all. Velocities are about
        1 rad/s, or `length` per second. Accelerations need torques like those of the weight.
    position : (k,) [rad or m]
        Of coordinates that depend on the joints, whose couplings are linear.
    """

    configurations: Array
    mass_matrix: Array
    gravity: Array
    inverse_dynamics: Array
    position: Array

    @property
    def largest(self) -> dict[str, float]:
        """The largest error of each kind."""
        return {name: float(getattr(self, name).max()) for name in self._fields[1:]}

    @property
    def median(self) -> dict[str, float]:
        """The median of the errors of each kind."""
        return {name: float(np.median(getattr(self, name))) for name in self._fields[1:]}


@dataclass(frozen=True)
class SerialEquivalent:
    """A robot without loops, and how well it represents a parallel mechanism.

    Attributes
    ----------
    robot : Mechanism
        `robosim.save` writes it as URDF or MJCF.
    errors : SerialErrors
    shares : mapping of links to mappings of bodies to float
        How each link is divided; a share of "world" does not move.
    armature : (n, 3) [kg m^2 or kg]
        Of each joint: that of the robot, the least and the largest that samples of the workspace
        need.
    effort_limits, velocity_limits : (n, 3)
        The same of the limits of joints: inner boxes of `Transmission.torque_limits`.
    left_out : tuple of str
        What referred to the links, and springs of their joints, which have no equivalent.
    """

    robot: Mechanism
    errors: SerialErrors
    shares: Mapping[str, Mapping[str, float]]
    armature: Array
    effort_limits: Array
    velocity_limits: Array
    left_out: tuple[str, ...]


def serial_equivalent(
    of: Transmission,
    *,
    samples: int = 60,
    seed: int = 0,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    armature: Literal["home", "mean"] = "home",
) -> SerialEquivalent:
    """A tree with the joints of a parallel mechanism, for programs that have no loops.

    Parameters
    ----------
    of : Transmission
        With joints of the tree; its loops are opened. Fixed coordinates become fixed joints.
    samples, seed, ranges
        Of the `workspace` over which shares, limits and errors are found.
    armature : "home" or "mean"
        Diagonal of the mass matrix that is exact at home, or has the least error on average.

    Raises
    ------
    ModelError
        For a joint that closes a loop, or links between joints that depend on several of these.
    """
    check_choice("armature", armature, ("home", "mean"))
    space = workspace(of, samples, seed, ranges)
    return _Building(of, space).result(armature)


class _Building:
    """The bodies that stay and those that do not, and the equations of the mechanism."""

    def __init__(self, of: Transmission, space: Workspace) -> None:
        self.of, self.robot, self.home = of, of.robot, np.asarray(of.home)
        robot, loops = of.robot, of.loops
        for one in of.joint_coordinates:
            if one.v is None:
                raise ModelError(
                    "closes a loop; a serial equivalent has joints of the tree",
                    element=f"joint '{one.name}'",
                )
        self.outputs = [one.v for one in of.joint_coordinates if one.v is not None]
        self.held = [one.v for one in loops.coordinates(of.fixed) if one.v is not None]
        self.parents = {joint.child: joint.parent for joint in robot.tree_joints}
        self.gone, self.led = self._divided()
        self.kept = [joint for joint in robot.tree_joints if joint.child not in self.gone]
        of_kept = [v for joint in self.kept for v in self._velocities(joint)]
        self.free = [v for v in of_kept if v not in self.held and v not in self.led]
        self.candidates = {name: self._candidates(name) for name in self.gone}
        self.closed = ReducedEquations(robot, self.free, self.held, of.gravity_vector)
        self.motions = self.closed.motions(self.home)
        regular = np.min(space.singular_values[:, :2], axis=1) > REGULAR
        regular &= np.abs(space.configurations - self.home).max(axis=1) > NO_SHARE
        self.samples = np.vstack((self.home, space.configurations[regular]))
        self.joint_ranges = space.joint_ranges
        self.masses = np.array([self.closed.mass_matrix(q) for q in self.samples])
        rest = np.zeros(len(self.free))
        self.weights = np.array([self.closed.forces(q, rest, rest) for q in self.samples])
        self.sizes = np.sqrt(np.diagonal(self.masses, axis1=1, axis2=2))  # (k, n)
        metres = [robot.joints[k].units[row] == "m" for k, row in self._rows(self.free)]
        self.speeds = np.where(metres, of.length, 1.0)
        self.heaviest = float(np.abs(self.weights / self.sizes).max(initial=0.0)) or 1.0

    def _velocities(self, joint: Joint) -> range:
        k = self.robot.joint_index(joint.name)
        return range(self.robot.v_offsets[k], self.robot.v_offsets[k + 1])

    def _rows(self, velocities: Sequence[int]) -> list[tuple[int, int]]:
        """Index of the joint, and row in that, of velocities of the tree."""
        begins = self.robot.v_offsets
        joints = [int(np.searchsorted(begins, v, side="right")) - 1 for v in velocities]
        return [(k, v - begins[k]) for k, v in zip(joints, velocities, strict=True)]

    def _divided(self) -> tuple[list[str], list[int]]:
        """Bodies that do not stay, and velocities on the way to the joints that depend on them."""
        needed: set[str | None] = set()
        for one in self.of.joint_coordinates:
            body: str | None = one.joint.child
            while body is not None:
                needed.add(body)
                body = self.parents[body]
        moved = set(np.flatnonzero(self.of.loops.moving).tolist()) - set(self.outputs)
        gone, led = [], []
        for joint in self.robot.tree_joints:
            own = sorted(moved.intersection(self._velocities(joint)))
            if joint.parent in gone or (own and joint.child not in needed):
                gone.append(joint.child)
            elif own and joint.nv != 1:
                raise ModelError(
                    "leads to the joints and depends on them, and has several coordinates: name "
                    "all of them among the joints",
                    element=f"joint '{joint.name}'",
                )
            else:
                led += own
        return gone, led

    def _candidates(self, name: str) -> list[str | None]:
        """Bodies that stay among which a link is divided; the one that carries it is the first."""
        carrier: str | None = name
        while carrier in self.gone:
            carrier = self.parents[carrier]
        ends = [
            (joint.parent, joint.child)
            for joint in self.robot.joints
            if joint in self.robot.tree_joints or joint.name in self.of.loops.joints
        ]
        around, found = {name}, dict.fromkeys((carrier,))
        while True:
            others = [b for pair in ends for a, b in (pair, pair[::-1]) if a in around]
            found |= dict.fromkeys(b for b in others if b not in self.gone)
            more = {b for b in others if b in self.gone and b is not None} - around
            if not more:
                return list(found)
            around |= more

    def bare(self) -> tuple[Mechanism, tuple[str, ...]]:
        """The robot without links and loops, with fixed joints and couplings."""
        whole = replace(self.robot, home=self.home)
        less, left_out = pruned(whole, self.gone, self.of.loops.joints)
        opened = [
            joint
            for joint in self.robot.joints
            if joint not in self.kept
            and (joint.child in self.gone or joint.name in self.of.loops.joints)
        ]
        sprung = [
            f"spring of joint '{joint.name}'"
            for joint in opened
            if joint.per_coordinate("stiffness").any() or joint.potential is not None
        ]
        joints = [self._locked(joint) for joint in less.joints]
        coupled = {one.joint for one in less.couplings}
        couplings = [self._coupling(v) for v in self.led if self._name(v) not in coupled]
        home = self._coordinates(less, self.home, joints)
        less = replace(
            less,
            joints=tuple(joints),
            couplings=(*less.couplings, *couplings),
            home=home,
            configurations={},
        )
        told = tuple(f"configuration '{name}'" for name in self.robot.configurations)
        return less, (*left_out, *sprung, *told)

    def _locked(self, joint: Joint) -> Joint:
        """A joint as fixed if its coordinates are, without a motor if it depends on others."""
        if joint not in self.kept:
            return joint
        own = self._velocities(joint)
        fixed = [v for v in own if v in self.held]
        if fixed and len(fixed) < len(own):
            raise ModelError("has fixed coordinates and others", element=f"joint '{joint.name}'")
        if fixed:
            begin = self.robot.q_offsets[self.robot.joint_index(joint.name)]
            return locked(joint, self.home[begin : begin + joint.nq])
        return replace(joint, actuated=False) if set(own) & set(self.led) else joint

    def _name(self, v: int) -> str:
        return self.robot.v_names[v]

    def _coupling(self, v: int) -> Coupling:
        """The linear dependence of a coordinate on a joint, at home."""
        row = self.motions[v]
        source = int(np.argmax(np.abs(row)))
        others = np.abs(np.delete(row, source)).max(initial=0.0)
        name, of = self._name(v), self._name(self.free[source])
        if others > LINEAR * abs(row[source]):
            raise ModelError(
                "leads to the joints and depends on several of them, which no coupling expresses",
                element=f"joint '{name}'",
            )
        values = dict(zip(self.robot.q_names, self.home, strict=True))
        ratio = float(row[source])
        return Coupling(f"{name}_led", name, of, ratio, values[name] - ratio * values[of])

    def _coordinates(self, serial: Mechanism, q: Array, joints: Sequence[Joint] = ()) -> Array:
        """q of a robot without links, from that of the mechanism; what is led is not changed."""
        parts = [np.zeros(0)]
        for joint in (joints or serial.joints)[: len(serial.bodies)]:
            if joint.nv:
                k = self.robot.joint_index(joint.name)
                parts.append(q[self.robot.q_offsets[k] : self.robot.q_offsets[k + 1]])
        return np.concatenate(parts)

    def _led_coordinates(self, serial: Mechanism, q: Array) -> Array:
        """The same with couplings."""
        out = self._coordinates(serial, q)
        for one in serial.couplings:
            if one.joint in (self._name(v) for v in self.led):
                source = out[serial.q_names.index(one.source)]
                out[serial.q_names.index(one.joint)] = one.ratio * source + one.offset
        return out

    def glued(self, bare: Mechanism, shares: Mapping[str, Mapping[str, float]]) -> Mechanism:
        """The robot with shares of links on its bodies."""
        at = Kinematics(self.robot, self.home)
        bodies, joints = list(bare.bodies), list(bare.joints)
        taken = {body.name for body in bodies} | {joint.name for joint in joints}
        for name, parts in shares.items():
            k, body = self.robot.body_index(name), self.robot.body(name)
            for onto, share in parts.items():
                if share < NO_SHARE or onto == WORLD:
                    continue
                to = self.robot.body_index(onto)
                new = free_name(f"{name}_on_{onto}", taken)
                taken.add(new)
                bodies.append(
                    Body(
                        new,
                        share * body.mass,
                        share * np.asarray(body.inertia),
                        gravity_compensation=body.gravity_compensation,
                    )
                )
                joints.append(
                    Joint(
                        new,
                        "fixed",
                        onto,
                        new,
                        parent_position=at.R[to].T @ (at.x[k] - at.x[to]),
                        offset=quaternions.from_matrix(at.R[to].T @ at.R[k]),
                        actuated=False,
                    )
                )
        tree, loops = len(bare.bodies), bare.joints[len(bare.bodies) :]
        ordered = (*joints[:tree], *joints[len(bare.joints) :], *loops)
        return replace(bare, bodies=tuple(bodies), joints=ordered)

    def _equations(self, serial: Mechanism) -> ReducedEquations:
        names = [self._name(v) for v in self.free]
        free = [serial.v_names.index(name) for name in names]
        return ReducedEquations(serial, free, (), self.of.gravity_vector)

    def _differences(self, serial: Mechanism) -> Array:
        """Errors of mass matrices and weights, relative, as one row of numbers."""
        equations, upper = self._equations(serial), np.triu_indices(len(self.free))
        rest, out = np.zeros(len(self.free)), []
        for q, M, g, d in zip(self.samples, self.masses, self.weights, self.sizes, strict=True):
            there = self._led_coordinates(serial, q)
            off = (equations.mass_matrix(there) - M) / np.outer(d, d)
            heavy = (equations.forces(there, rest, rest) - g) / (d * self.heaviest)
            out += [off[upper], heavy]
        return np.concatenate(out)

    def fitted(self, bare: Mechanism, armature: str) -> tuple[dict[str, dict[str, float]], Array]:
        """Shares of the links, and armature (n,), with the least squares of errors.

        Errors are linear in both. For the armature of home, the errors of the joints' diagonal of
        the mass matrix there have a large weight.
        """
        choices = [(name, onto) for name, all_ in self.candidates.items() for onto in all_[1:]]
        carried = {name: {_told(all_[0]): 1.0} for name, all_ in self.candidates.items()}
        start = self._differences(self.glued(bare, carried))
        columns, upper = [], []
        for name, onto in choices:
            other = self.glued(bare, {**carried, name: {_told(onto): 1.0}})
            columns.append(self._differences(other) - start)
            upper.append(1.0 / (len(self.candidates[name]) - 1))
        diagonal = np.array([a == b for a, b in zip(*np.triu_indices(len(self.free)), strict=True)])
        for v in self.outputs:
            k, rows = self.free.index(v), []
            for d in self.sizes:
                row = np.zeros(len(diagonal))
                row[np.flatnonzero(diagonal)[k]] = 1.0 / d[k] ** 2
                rows += [row, np.zeros(len(self.free))]
            columns.append(np.concatenate(rows))
            upper.append(np.inf)
        n = len(choices)
        weights = np.ones(len(start))
        if armature == "home":
            own = [self.free.index(v) for v in self.outputs]
            weights[np.flatnonzero(diagonal)[own]] = EXACT
        even = np.array([1.0 / len(self.candidates[name]) for name, _ in choices])
        matrix = np.stack(columns, axis=1)
        sizes = np.linalg.norm(matrix, axis=0)
        sizes[:n] = 1.0
        sizes[sizes == 0] = 1.0
        pull = EVEN * np.eye(n, len(sizes))
        found = lsq_linear(
            np.vstack((weights[:, None] * matrix / sizes, pull)),
            np.concatenate((-weights * start, EVEN * even)),
            bounds=(np.zeros(len(sizes)), np.array(upper) * sizes),
        )
        shares: dict[str, dict[str, float]] = {name: {} for name in carried}
        for (name, onto), share in zip(choices, found.x[:n], strict=True):
            shares[name][_told(onto)] = float(np.clip(share, 0.0, 1.0))
        for name, all_ in self.candidates.items():
            shares[name] = {_told(all_[0]): 1.0 - sum(shares[name].values()), **shares[name]}
        return shares, np.maximum(found.x[n:] / sizes[n:], 0.0)

    def lacking(self, serial: Mechanism, q: Array) -> Array:
        """What the diagonal of a mass matrix lacks for the joints, (n,)."""
        places = [self.free.index(v) for v in self.outputs]
        own = self._equations(serial).mass_matrix(self._led_coordinates(serial, q))
        return np.asarray(np.diag(self.closed.mass_matrix(q) - own)[places])

    def driven(self, serial: Mechanism, given: Mapping[str, Array]) -> Mechanism:
        """The robot with motors at its joints: armature, limits, friction and damping (n,)."""
        friction, damping = self._resistance()
        added = {"armature": given["armature"], "friction": friction, "damping": damping}
        joints = {joint.name: joint for joint in serial.joints}
        for k, one in enumerate(self.of.joint_coordinates):
            joint = joints[one.joint.name]
            arrays: dict[str, Any] = {
                what: joint.per_coordinate(what).copy()
                for what in (*added, "effort_limit", "velocity_limit")
            }
            arrays |= {side: np.array(getattr(joint, side)) for side in ("lower", "upper")}
            for what, values in added.items():
                arrays[what][one.row] += values[k]
            for what in ("effort_limit", "velocity_limit"):
                arrays[what][one.row] = min(arrays[what][one.row], given[what][k])
            low, high = self.joint_ranges[k]
            arrays["lower"][one.row] = max(arrays["lower"][one.row], low)
            arrays["upper"][one.row] = min(arrays["upper"][one.row], high)
            motors = list(joint.has_motor)
            motors[one.row] = True
            joints[joint.name] = replace(joint, actuated=motors, **arrays)
        return replace(serial, joints=tuple(joints.values()))

    def _resistance(self) -> tuple[Array, Array]:
        """Dry friction and damping (n,) of joints that do not stay, as those of the joints."""
        places = [self.free.index(v) for v in self.outputs]
        friction, damping = np.zeros((2, len(places)))
        for joint in self.robot.joints:
            if joint in self.kept:
                continue
            if joint in self.robot.tree_joints:
                rates = self.motions[list(self._velocities(joint))]
            elif joint.name in self.of.loops.joints:
                rates = self.of.loops.constraints.coordinate_rates(self.home, joint) @ self.motions
            else:
                continue
            own = rates[:, places]
            friction += joint.per_coordinate("friction") @ np.abs(own)
            damping += joint.per_coordinate("damping") @ own**2
        return friction, damping

    def errors(self, serial: Mechanism) -> SerialErrors:
        """Errors at the samples."""
        equations, rng, n = self._equations(serial), np.random.default_rng(0), len(self.free)
        led = [serial.q_names.index(self._name(v)) for v in self.led]
        rest, largest, found = np.zeros(n), 0.0, []
        for q, M, g, d in zip(self.samples, self.masses, self.weights, self.sizes, strict=True):
            there = self._led_coordinates(serial, q)
            off = (equations.mass_matrix(there) - M) / np.outer(d, d)
            heavy = (equations.forces(there, rest, rest) - g) / d
            u, a = rng.normal(size=(2, n)) * (self.speeds, self.heaviest / d)
            exact = self.closed.forces(q, u, a) / d
            moving = equations.forces(there, u, a) / d - exact
            away = (there - self._coordinates(serial, q))[led]
            largest = max(largest, float(np.abs(exact).max(initial=0.0)))
            found.append(
                (
                    np.linalg.norm(off, 2),
                    np.abs(heavy).max(initial=0.0) / self.heaviest,
                    np.abs(moving).max(initial=0.0),
                    np.abs(away).max(initial=0.0),
                )
            )
        mass, weight, moving, away = np.array(found).T
        return SerialErrors(self.samples, mass, weight, moving / (largest or 1.0), away)

    def result(self, armature: str) -> SerialEquivalent:
        """The equivalent, with armature that is exact at home or best on average."""
        bare, left_out = self.bare()
        shares, mean = self.fitted(bare, armature)
        glued = self.glued(bare, shares)
        needed = np.array([self.lacking(glued, q) for q in self.samples])
        chosen = mean if armature == "mean" else np.maximum(self.lacking(glued, self.home), 0.0)
        efforts = np.array([self.of.torque_limits(q).inner for q in self.samples])
        speeds = np.array([self.of.velocity_limits(q).inner for q in self.samples])
        at_home = {
            "armature": chosen,
            "effort_limit": self.of.torque_limits(self.home).inner,
            "velocity_limit": self.of.velocity_limits(self.home).inner,
        }
        robot = self.driven(glued, at_home)

        def row(what: str, each: Array) -> Array:
            return np.stack((at_home[what], each.min(axis=0), each.max(axis=0)), axis=1)

        return SerialEquivalent(
            robot,
            self.errors(robot),
            shares,
            row("armature", needed),
            row("effort_limit", efforts),
            row("velocity_limit", speeds),
            left_out,
        )


def _told(body: str | None) -> str:
    return WORLD if body is None else body
