"""A robot against another library that has read the same model file, at random states.

Errors are relative, and taken so that metres and radians, kilograms and grams can stand in one
row. With the reference written with a prime, in each state:

- masses, centres and positions: the largest ``|a - a'|`` over the largest ``|a'|``;
- rotation matrices: the largest ``|R - R'|``;
- the mass matrix: the largest ``|M_ij - M'_ij| / sqrt(M'_ii M'_jj)``, entry by entry;
- accelerations: the largest ``|a_i - a'_i| sqrt(M'_ii)`` over the largest ``|a'_i| sqrt(M'_ii)``,
  forces likewise with the reciprocal of the root: the mass metric;
- the round trip: the largest difference over the largest entry, of q (at least 1) and of v.

A row holds the largest error over all states.

Compared is the tree of bodies and joints, which moves freely under given forces. Damping, friction,
limits, springs, tendons, rotors and couplings are omitted, and coupled joints are compared as
independent ones. `Comparison.left_out` names what was omitted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.inertias import turnable
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.kinematics.kinematics import Kinematics
from robosim.peers.libraries import GRAVITY, Answer, Peer, open_peer
from robosim.simulation import Simulation

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""Largest relative difference of a row that agrees."""
LARGEST_ANGLE = np.pi  # [rad]
"""How far random angles go where limits are wider, or there are none [rad]."""
LARGEST_LENGTH = 1.0  # [m]
"""How far random lengths go where limits are wider, or there are none [m]."""


@dataclass(frozen=True)
class Row:
    """One quantity of a comparison.

    Attributes
    ----------
    name : str
    error : float
        Largest relative error over all states; see the module's docstring.
    tolerance : float
    ok : bool
        Whether the error is at most the tolerance; NaN is not.
    """

    name: str
    error: float
    tolerance: float
    ok: bool


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison of a robot with a peer.

    Attributes
    ----------
    robot, source : str
        Name of the robot and its model file.
    peer, peer_version : str
    states : int
        Number of random states.
    rows : tuple of Row
    frames : int
        Number of compared frames, which both libraries have.
    only_ours, only_theirs : tuple of str
        Frames that only robosim has, and frames that only the peer has.
    left_out : tuple of str
        Elements of the simulation that are not compared, such as "damping".
    """

    robot: str
    source: str
    peer: str
    peer_version: str
    states: int
    rows: tuple[Row, ...]
    frames: int
    only_ours: tuple[str, ...] = ()
    only_theirs: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all quantities are within their tolerances, with at least one frame."""
        return self.frames > 0 and all(row.ok for row in self.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on differences that rows do not contain, one sentence each."""
        told = [f"{self.states} states, {self.frames} frames, {self.peer} {self.peer_version}"]
        for who, missing in ((self.peer, self.only_ours), ("robosim", self.only_theirs)):
            if missing:
                told.append(f"not compared, as {who} does not have them: {', '.join(missing)}")
        if self.left_out:
            told.append(
                f"not compared, but simulated: {', '.join(self.left_out)}; joints move freely here"
            )
        return tuple(told)

    def to_dict(self) -> dict[str, Any]:
        """All values, ready for JSON; an error that is not finite is None."""

        def told(row: Row) -> dict[str, Any]:
            error = row.error if np.isfinite(row.error) else None
            return {"name": row.name, "error": error, "tolerance": row.tolerance, "ok": row.ok}

        return {
            "robot": self.robot,
            "source": self.source,
            "peer": self.peer,
            "peer_version": self.peer_version,
            "states": self.states,
            "frames": self.frames,
            "only_ours": list(self.only_ours),
            "only_theirs": list(self.only_theirs),
            "left_out": list(self.left_out),
            "passed": self.passed,
            "rows": [told(row) for row in self.rows],
        }

    def __str__(self) -> str:
        width = max(len(row.name) for row in self.rows)
        lines = [f"{self.robot}: robosim against {self.peer}"]
        for row in self.rows:
            verdict = "ok" if row.ok else f"DIFFERS (tolerance {row.tolerance:.0e})"
            lines.append(f"  {row.name:{width}}  {row.error:8.2e}  {verdict}")
        return "\n".join((*lines, *(f"  {note}" for note in self.notes)))


def compare(
    robot: Mechanism,
    peer: str = "pinocchio",
    *,
    states: int = 100,
    seed: int = 0,
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Compare masses, kinematics and dynamics of a robot that was loaded from a file.

    See `robosim.compare`, which loads it as well. The peer reads ``robot.source``.
    """
    if states < 1:
        raise OptionError(f"states must be at least 1, not {states}")
    if not tolerance > 0:
        raise OptionError(f"tolerance must be positive, not {tolerance}")
    other = open_peer(peer, robot)
    left_out = _left_out(robot)
    mechanism = _moving_freely(robot)
    ours = {frame.name for _, frame in mechanism.frames()}
    ours |= {frame.name for frame in mechanism.world_frames}
    common = tuple(name for name in other.frames if name in ours)
    errors = _largest_errors(mechanism, other, common, states, np.random.default_rng(seed))
    return Comparison(
        mechanism.name,
        str(mechanism.source),
        other.name,
        other.version,
        states,
        tuple(Row(name, error, tolerance, error <= tolerance) for name, error in errors.items()),
        len(common),
        tuple(sorted(ours - set(common))),
        tuple(name for name in other.frames if name not in ours),
        left_out,
    )


def _left_out(robot: Mechanism) -> tuple[str, ...]:
    """Elements that act on joints in a simulation, in addition to inertia and applied forces."""
    joints = robot.joints
    found = {
        what: any(np.any(joint.per_coordinate(what)) for joint in joints)
        for what in ("damping", "friction", "stiffness", "armature")
    }
    limited = any(
        np.any(np.isfinite(np.array((joint.lower, joint.upper), float))) for joint in joints
    )
    found |= {
        "limits": limited or any(np.isfinite((j.cone, j.largest_turn)).any() for j in joints),
        "potentials": any(any(joint.potentials) for joint in joints),
        "bearings": any(joint.bearing is not None for joint in joints),
        "driven joints": any(joint.motion is not None for joint in joints),
        "couplings": bool(robot.couplings),
        "springs": bool(robot.springs),
        "tendons": bool(robot.tendons),
        "closed loops": bool(robot.loop_joints),
        "soft solids": bool(robot.soft_meshes),
    }
    return tuple(what for what, there in found.items() if there)


def _moving_freely(robot: Mechanism) -> Mechanism:
    """The tree of joints without contacts, and without elements that would change a set state."""
    joints = tuple(_freed(joint) for joint in robot.tree_joints)
    bodies = tuple(replace(body, gravity_compensation=0.0) for body in robot.bodies)
    return replace(
        robot, bodies=bodies, joints=joints, couplings=(), springs=(), tendons=(), soft_meshes=(),
        contacts=(), obstacles=(),
        contact_pairs=(), excluded_pairs=(), self_collision=False, actuators=(), sensors=(),
    )  # fmt: skip


def _freed(joint: Joint) -> Joint:
    """A joint without a prescribed motion, and without limits that fix a coordinate."""
    if np.any(np.asarray(joint.lower) == np.asarray(joint.upper)):
        return replace(joint, motion=None, lower=None, upper=None)
    return replace(joint, motion=None)


def random_state(robot: Mechanism, rng: np.random.Generator) -> tuple[Array, Array]:
    """Random (q, v): within limits, quaternions uniform, velocities normal."""
    q = np.empty(robot.nq)
    for joint, begin in zip(robot.tree_joints, robot.q_offsets, strict=False):
        n = joint.numbers
        units = joint.units[:n]
        reach = np.array([LARGEST_LENGTH if unit == "m" else LARGEST_ANGLE for unit in units])
        bounds = np.asarray(joint.lower)[:n], np.asarray(joint.upper)[:n]
        low, high = np.clip(-reach, *bounds), np.clip(reach, *bounds)
        q[begin : begin + n] = rng.uniform(low, high)
        if joint.has_quaternion:
            q[begin + n : begin + n + 4] = quaternions.normalized(rng.normal(size=4))
    return q, rng.normal(size=robot.nv)


def _largest_errors(
    robot: Mechanism, peer: Peer, frames: tuple[str, ...], states: int, rng: np.random.Generator
) -> dict[str, float]:
    kinematics = Kinematics(robot)
    sim = Simulation(robot, impossible_inertia="ball")  # only its coordinates are used
    largest = {"total mass": _relative(np.array(robot.total_mass), np.array(peer.total_mass))}
    for _ in range(states):
        q, v = random_state(robot, rng)
        kinematics.move_to(q)
        M = kinematics.mass_matrix(rotors=False)
        tau = np.sqrt(np.diag(M)) * rng.normal(size=robot.nv)
        ours = Answer(
            kinematics.center_of_mass(),
            *_frame_poses(kinematics, frames),
            M,
            kinematics.bias_forces(v, GRAVITY, rotors=False),
            kinematics.forward_acceleration(v, tau, GRAVITY, rotors=False, tree_only=True),
        )
        errors = _errors(ours, peer.answer(q, v, tau), frames, robot)
        errors["joint coordinates there and back"] = _round_trip_error(kinematics, sim, q, v)
        for name, error in errors.items():
            # Not max(), which may drop a NaN.
            largest[name] = float(np.maximum(largest.get(name, 0.0), error))
    return largest


def _frame_poses(
    kinematics: Kinematics, frames: tuple[str, ...]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Positions and rotations of frames by name, including those fixed to the world."""
    positions, rotations = {}, {}
    fixed = {frame.name: frame for frame in kinematics.robot.world_frames}
    for name in frames:
        if name in fixed:
            positions[name] = np.asarray(fixed[name].position)
            rotations[name] = quaternions.rotation_matrix(fixed[name].quaternion)
        else:
            positions[name], rotations[name] = kinematics.frame(name)
    return positions, rotations


def _errors(
    ours: Answer, theirs: Answer, frames: tuple[str, ...], robot: Mechanism
) -> dict[str, float]:
    root = np.sqrt(np.diag(theirs.mass_matrix))
    # A thousandth of the effect of gravity; a door on a vertical hinge has a bias of rounding
    # errors.
    slight = 1e-3 * np.sqrt(robot.total_mass) * float(np.linalg.norm(GRAVITY))
    # Positions are relative to the size of the bodies, as the origin may be anywhere.
    size = max(
        float(np.sqrt(np.trace(turnable(body.inertia, body.mass)) / body.mass))
        for body in robot.bodies
    )

    def stacked(answer: dict[str, Array]) -> Array:
        return np.array([answer[name] for name in frames])

    turned = stacked(ours.rotations) - stacked(theirs.rotations)
    M_error = (ours.mass_matrix - theirs.mass_matrix) / np.outer(root, root)
    return {
        "centre of mass": _relative(ours.center_of_mass, theirs.center_of_mass, size),
        "frame positions": _relative(stacked(ours.positions), stacked(theirs.positions), size),
        "frame rotations": _largest(turned),
        "mass matrix": _largest(M_error),
        "bias forces": _relative(ours.bias_forces / root, theirs.bias_forces / root, slight),
        "forward accelerations": _relative(ours.acceleration * root, theirs.acceleration * root),
    }


def _round_trip_error(kinematics: Kinematics, sim: Simulation, q: Array, v: Array) -> float:
    """Error of (q, v) that are read back from the bodies of a simulation in that state."""
    sim.set_state(q, v)
    bodies = sim.state
    # Near q, not at q: a coordinate that is not read back keeps this difference.
    near = q + 0.1
    q_back, v_back = kinematics.read_coordinates(bodies.x, bodies.q, bodies.v, bodies.omega, near)
    scale = max(1.0, _largest(q))
    return max(_largest(q_back - q) / scale, _relative(v_back, v))


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _relative(ours: Array, theirs: Array, least: float = 0.0) -> float:
    """The largest difference over the largest value, or over `least` if that is larger."""
    difference, scale = _largest(ours - theirs), max(_largest(theirs), least)
    if difference == 0.0:
        return 0.0
    return difference / scale if scale > 0.0 else float("inf")
