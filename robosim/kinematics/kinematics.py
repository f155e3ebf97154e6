"""Quantities of minimal coordinates, computed in maximal coordinates.

With the Jacobian J of all body twists by the joint velocities, the mass matrix is ``J^T M J``. The
bias forces are the residual of Newton's and Euler's equations at zero joint acceleration.
Conventions of q and v: see `robosim.mechanism.Mechanism`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.building.model import compile_model
from robosim.compiled.state import make_state
from robosim.compiled.workspace import make_workspace
from robosim.description.inertias import unturnable, with_balls
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError
from robosim.kernels.equations.coordinates import (
    find_poses,
    find_twists,
    measure_tendons,
    read_bodies,
)
from robosim.validation import read_only, shaped

Array = NDArray[np.float64]
GRAVITY = (0.0, 0.0, -9.81)
"""Acceleration of free fall where none is given (3,) [m/s^2], world."""
# Step [m or rad] of finite differences of a path's rates along a motion. With five points, rounding
# errors and higher derivatives contribute equally, about 1e-12 of the value.
_STEP = 3e-4


class Kinematics:
    """Poses, twists, Jacobians and inertia of a mechanism at given joint coordinates.

    Parameters
    ----------
    robot : Mechanism
    q : (nq,) or None
        The robot's home pose if None. `move_to` changes the coordinates.

    Attributes
    ----------
    q : (nq,), present coordinates; read-only, as x and R
    x : (nb, 3) [m], centres of mass, world
    R : (nb, 3, 3), body to world
    """

    def __init__(self, robot: Mechanism, q: ArrayLike | None = None) -> None:
        self.robot = robot
        # Kernels invert inertias; positions and directions do not depend on these.
        self._model = compile_model(with_balls(robot, unturnable(robot)))
        self._state = make_state(robot, self._model)
        self._work = make_workspace(robot, self._model)
        # Carriers are not bodies of the model file.
        own = np.array([0.0 if body.carrier else 1.0 for body in robot.bodies])
        self._masses = own * [body.mass for body in robot.bodies]
        self._gravitational = own * [body.gravitational_mass for body in robot.bodies]
        self._inertias = np.stack([np.asarray(body.inertia) for body in robot.bodies])
        self._inertias *= own[:, None, None]
        index = {body.name: i for i, body in enumerate(robot.bodies)}
        joints = robot.tree_joints
        self._parents = [-1 if joint.parent is None else index[joint.parent] for joint in joints]
        self._points = np.array([joint.child_position for joint in joints], dtype=float)
        self._offsets = np.array([quaternions.rotation_matrix(joint.offset) for joint in joints])
        # Motions of joints (nb, 3, nv): translations in the joint frame, rotations in child axes.
        self._slides, self._spins = np.zeros((2, len(index), 3, robot.nv))
        self._has_charts = any(joint.own_chart is not None for joint in joints)
        for b, (joint, begin) in enumerate(zip(joints, robot.v_offsets, strict=False)):
            if joint.own_chart is not None:
                continue
            middle, end = begin + joint.C_T.shape[1], begin + joint.nv
            self._slides[b, :, begin:middle] = joint.C_T
            self._spins[b, :, middle:end] = joint.C_R
        self.move_to(np.asarray(robot.home) if q is None else q)

    def move_to(self, q: ArrayLike) -> None:
        """Move the bodies to other joint coordinates q (nq,).

        Raises
        ------
        StateError
            For a wrong shape, or a value that is not finite.
        """
        # Kernels would be compiled again for read-only arrays.
        self._q = shaped("q", q, self.robot.nq)
        find_poses(self._model, self._q, self._work, self._work.pose2)
        self.q: Array = read_only(self._q.copy())
        self.x: Array = read_only(self._work.pose2["x"][:-1].copy())
        self.R: Array = read_only(self._work.pose2["R"][:-1].copy())
        self._jacobian: Array | None = None

    def twists(self, v: ArrayLike) -> Array:
        """World twists (nb, 6) for joint velocities v (nv,): of the COM [m/s], angular [rad/s]."""
        return self._twists(self._q, shaped("v", v, self.robot.nv))

    def _twists(self, q: Array, v: Array) -> Array:
        """World twists at q, for which the poses have been computed."""
        work = self._work
        find_twists(self._model, work.pose2, q, v, work, work.twists)
        return np.array(work.twists["w"][:-1])

    def jacobian(self) -> Array:
        """Jacobian (nb, 6, nv) of the world twists by the joint velocities; read-only."""
        if self._jacobian is None:
            columns = [self.twists(column) for column in np.eye(self.robot.nv)]
            shape = (len(self.robot.bodies), 6, 0)
            stacked = np.stack(columns, axis=-1) if columns else np.zeros(shape)
            self._jacobian = read_only(stacked)
        return self._jacobian

    def tendon_lengths(self) -> Array:
        """Lengths (number of tendons,) [m] of ``robot.tendons``."""
        lengths = np.zeros(len(self.robot.tendons))
        measure_tendons(self._model, self._q, self._work, lengths)
        return lengths

    def tendon_jacobian(self) -> Array:
        """Jacobian (number of tendons, nv) of tendon lengths by the joint velocities.

        The transpose maps forces along the lengths, negative for tensions, to joint forces.
        """
        self.tendon_lengths()
        J = self.jacobian()
        out = np.zeros((len(self.robot.tendons), self.robot.nv))
        records = self._model.joints[len(self._model.joints) - len(out) :]
        for row, record in zip(out, records, strict=True):
            for n in range(record["span_begin"], record["span_end"]):
                row += self._work.span2["w"][n] @ J[self._model.spans["body"][n]]
        return out

    def frame(self, name: str) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3), frame to world, of a frame by its name."""
        index, frame = self.robot.frame(name)
        R = self.R[index]
        position = self.x[index] + R @ np.asarray(frame.position)
        return position, R @ quaternions.rotation_matrix(frame.quaternion)

    def frame_jacobian(self, name: str) -> Array:
        """Jacobian (6, nv) of a frame's world twist: of its origin [m/s], angular [rad/s]."""
        index, frame = self.robot.frame(name)
        J, arm = self.jacobian()[index].copy(), self.R[index] @ np.asarray(frame.position)
        J[:3] += np.cross(J[3:], arm, axis=0)
        return J

    def frame_bias_acceleration(self, name: str, v: ArrayLike) -> Array:
        """World acceleration (6,) of a frame's origin at zero joint acceleration, J' v."""
        index, frame = self.robot.frame(name)
        arm, omega = self.R[index] @ np.asarray(frame.position), self.twists(v)[index, 3:]
        out = self.bias_accelerations(v)[index].copy()
        out[:3] += np.cross(out[3:], arm) + np.cross(omega, np.cross(omega, arm))
        return out

    def center_of_mass(self) -> Array:
        """Centre of mass of the whole robot, (3,) [m], world.

        Raises
        ------
        ModelError
            For a robot without mass.
        """
        if not np.any(self._masses):
            raise ModelError("has no mass", element=f"mechanism '{self.robot.name}'")
        return np.asarray(self._masses @ self.x / self._masses.sum())

    def inertias(self) -> Array:
        """Inertias (nb, 3, 3) about the centres of mass, world axes."""
        return np.asarray(self.R @ self._inertias @ self.R.transpose(0, 2, 1))

    def mass_matrix(self, rotors: bool = True) -> Array:
        """Joint-space mass matrix (nv, nv): J^T M J, with the inertia of rotors and tendons.

        Parameters
        ----------
        rotors : bool
            Whether to add the `armature` of joints and tendons.
        """
        M = self._body_mass_matrix()
        if rotors:
            own = [joint.per_coordinate("armature") for joint in self.robot.tree_joints]
            M += np.diag(np.hstack([np.zeros(0), *own]))
            if self.robot.tendons:
                rows = self.tendon_jacobian()
                M += (rows.T * [tendon.armature for tendon in self.robot.tendons]) @ rows
        return M

    def _body_mass_matrix(self) -> Array:
        J = self.jacobian()
        linear, angular = J[:, :3], J[:, 3:]
        weighted = self._masses[:, None, None] * linear, self.inertias() @ angular
        nv = self.robot.nv
        M = linear.reshape(-1, nv).T @ weighted[0].reshape(-1, nv)
        return np.asarray(M + angular.reshape(-1, nv).T @ weighted[1].reshape(-1, nv))

    def bias_accelerations(self, v: ArrayLike) -> Array:
        """World accelerations (nb, 6) of the bodies at zero joint acceleration, J' v."""
        v = shaped("v", v, self.robot.nv)
        if self._has_charts:
            from robosim.kernels.recursive import entries  # compiled, and imported on first use
            from robosim.kinematics.recursion import Recursion

            on, J = Recursion(self.robot, GRAVITY), self.jacobian()
            given = ("q", self.q, on.q), ("v", v, on.v)
            return np.asarray(on.call(entries.jacobian_rate, given, (J.shape,))[0] @ v)
        parents = self._parents
        # The world is the last body.
        omega = np.vstack((self.twists(v)[:, 3:], np.zeros(3)))
        x, R = np.vstack((self.x, np.zeros(3))), np.concatenate((self.R, np.eye(3)[None]))
        slide = np.einsum("bij,bj->bi", R[parents] @ self._offsets, self._slides @ v)
        spin = np.einsum("bij,bj->bi", self.R, self._spins @ v)
        arm_b = np.einsum("bij,bj->bi", self.R, self._points)
        arm_a = self.x + arm_b - x[parents]
        omega_a, omega_b = omega[parents], omega[:-1]
        # Relative to the parent: terms of its rotation, and the joint's point on both sides.
        own = np.cross(omega_b, spin)
        along = np.cross(omega_a, np.cross(omega_a, arm_a)) + 2 * np.cross(omega_a, slide)
        along -= np.cross(omega_b, np.cross(omega_b, arm_b))
        out = np.zeros((len(x), 6))
        for b, a in enumerate(parents):
            out[b, 3:] = out[a, 3:] + own[b]
        along += np.cross(out[parents, 3:], arm_a) - np.cross(out[:-1, 3:], arm_b)
        for b, a in enumerate(parents):
            out[b, :3] = out[a, :3] + along[b]
        return out[:-1]

    def tendon_bias_accelerations(self, v: ArrayLike) -> Array:
        """Second derivatives (number of tendons,) of lengths at zero joint acceleration, J' v.

        Computed by finite differences of rates along the motion, within 6e-4 m or rad of q.
        """
        v = shaped("v", v, self.robot.nv)
        largest = np.abs(v).max(initial=0.0)
        if largest == 0 or not self.robot.tendons:
            return np.zeros(len(self.robot.tendons))
        step = _STEP / largest
        ahead, far, behind, farther = (
            self._tendon_rates(self.moved(v, n * step), v) for n in (1, 2, -1, -2)
        )
        find_poses(self._model, self.q, self._work, self._work.pose2)
        return np.asarray((8 * (ahead - behind) - (far - farther)) / (12 * step))

    def _tendon_rates(self, q: Array, v: Array) -> Array:
        """Rates (number of tendons,) of the lengths at q; the stored poses are unchanged."""
        find_poses(self._model, q, self._work, self._work.pose2)
        out = np.zeros(len(self.robot.tendons))
        measure_tendons(self._model, q, self._work, out)
        twists = self._twists(q, v)
        for k, record in enumerate(self._model.joints[len(self._model.joints) - len(out) :]):
            spans = range(record["span_begin"], record["span_end"])
            out[k] = sum(self._work.span2["w"][n] @ twists[self._model.spans["body"][n]]
                         for n in spans)  # fmt: skip
        return out

    def moved(self, v: Array, time: float) -> Array:
        """q (nq,) after a time with constant joint velocities v (nv,)."""
        q = self.q.copy()
        for joint, i, j in zip(
            self.robot.tree_joints, self.robot.q_offsets, self.robot.v_offsets, strict=False
        ):
            n = joint.numbers
            q[i : i + n] += time * v[j : j + n]
            if joint.has_quaternion:
                angle = float(np.linalg.norm(turn := time * v[j + n : j + n + 3]))
                if angle > 0:
                    change = quaternions.from_axis_angle(turn, angle)
                    q[i + n : i + n + 4] = quaternions.multiply(q[i + n : i + n + 4], change)
        return q

    def bias_forces(self, v: ArrayLike, gravity: ArrayLike = GRAVITY, rotors: bool = True) -> Array:
        """Coriolis, centrifugal and gravity forces (nv,): ``M(q) a + bias = tau``, of the tree.

        Springs, dampers and dry friction are not included, but part of tau. `rotors` includes the
        inertia of rotors and tendons, as in `mass_matrix`.
        """
        J = self.jacobian()
        acceleration = self.bias_accelerations(v)
        omega = self.twists(v)[:, 3:]
        inertias = self.inertias()
        forces = self._masses[:, None] * acceleration[:, :3]
        forces -= self._gravitational[:, None] * np.asarray(gravity, dtype=float)
        momentum = np.einsum("bij,bj->bi", inertias, omega)
        torques = np.einsum("bij,bj->bi", inertias, acceleration[:, 3:])
        torques += np.cross(omega, momentum)
        bias = np.einsum("bik,bi->k", J[:, :3], forces) + np.einsum("bik,bi->k", J[:, 3:], torques)
        inertia = np.array([tendon.armature for tendon in self.robot.tendons])
        if rotors:
            bias += self._gyroscopic(np.asarray(v, dtype=float))
        if rotors and np.any(inertia):
            bias += (inertia * self.tendon_bias_accelerations(v)) @ self.tendon_jacobian()
        return np.asarray(bias)

    def _gyroscopic(self, v: Array) -> Array:
        """omega x (A omega) of the rotors A of free rotations, (nv,), in rotating axes."""
        out = np.zeros(self.robot.nv)
        for joint, begin in zip(self.robot.tree_joints, self.robot.v_offsets, strict=False):
            if joint.has_quaternion:
                spin = slice(begin + joint.C_T.shape[1], begin + joint.nv)
                rotors = joint.per_coordinate("armature")[joint.C_T.shape[1] :]
                out[spin] = np.cross(v[spin], rotors * v[spin])
        return out

    def forward_acceleration(
        self,
        v: ArrayLike,
        tau: ArrayLike,
        gravity: ArrayLike = GRAVITY,
        rotors: bool = True,
        *,
        tree_only: bool = False,
    ) -> Array:
        """Joint accelerations (nv,) of the tree alone under generalized forces tau (nv,).

        Contacts, limits, springs, dampers and dry friction are not included.
        `Simulation.accelerations` has the accelerations of bodies with all of these, and
        `Dynamics.constrained_acceleration` those of joints with loops, couplings and motions.

        Parameters
        ----------
        v, tau : (nv,)
        gravity : (3,) [m/s^2]
        rotors : bool
            As for `mass_matrix`.
        tree_only : bool
            Whether to ignore constraints: joints that close loops, couplings, motions, and tendons
            of constant length.

        Raises
        ------
        ModelError
            For a robot with such constraints, unless `tree_only`; for a singular mass matrix.
        """
        if not tree_only:
            refuse_dependences(self.robot, "tree_only=True")
        rhs = shaped("tau", tau, self.robot.nv) - self.bias_forces(v, gravity, rotors)
        return solved(self.robot, self.mass_matrix(rotors), rhs)

    def read_coordinates(
        self,
        x: ArrayLike,
        quaternion: ArrayLike,
        v: ArrayLike,
        omega: ArrayLike,
        near: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Joint coordinates (nq,) and velocities (nv,) for any poses of the bodies.

        Parameters
        ----------
        x : (nb, 3) [m], centres of mass, world
        quaternion : (nb, 4), body to world
        v : (nb, 3) [m/s], of the centres of mass, world axes
        omega : (nb, 3) [rad/s], body axes
        near : (nq,) or None
            Several q describe the same pose, as angles have whole turns and quaternions signs. The
            q nearest to `near` is returned; None: nearest to the zero pose.
        """
        bodies = self._state.bodies
        bodies["x"], bodies["q"], bodies["v"], bodies["omega"] = x, quaternion, v, omega
        near = self.robot.neutral() if near is None else near
        self._state.q[: self.robot.nq] = shaped("near", near, self.robot.nq)
        read_bodies(self._model, self._state, self._work)
        return self._state.q[: self.robot.nq].copy(), self._state.v[: self.robot.nv].copy()


def solved(robot: Mechanism, M: Array, x: Array) -> Array:
    """M^-1 x, or a ModelError for a singular mass matrix."""
    try:
        return np.asarray(np.linalg.solve(M, x))
    except np.linalg.LinAlgError:
        raise ModelError(
            "the mass matrix has no inverse: something moves that has no mass or inertia",
            element=f"mechanism '{robot.name}'",
        ) from None


def refuse_dependences(robot: Mechanism, otherwise: str) -> None:
    """Raise a ModelError for constraints that a tree does not have; `otherwise` ignores these."""
    held = dependences(robot)
    if held:
        raise ModelError(
            f"has {', '.join(held)}, which the equations of its tree do not have; use "
            "Dynamics.constrained_acceleration or Dynamics.constrained_inverse_dynamics, or "
            f"{otherwise} to leave them out",
            element=f"mechanism '{robot.name}'",
        )


def dependences(robot: Mechanism) -> list[str]:
    """Constraints among coordinates or on time, each with a short description."""
    found = [f"joint '{joint.name}', which closes a loop" for joint in robot.loop_joints]
    found += [f"coupling '{coupling.name}'" for coupling in robot.couplings]
    found += [f"the motion of joint '{j.name}'" for j in robot.tree_joints if j.motion is not None]
    found += [f"tendon '{t.name}' of one length" for t in robot.tendons if t.lower == t.upper]
    return [*found[:3], f"{len(found) - 3} more"] if len(found) > 4 else found


def mass_matrix(robot: Mechanism, q: ArrayLike) -> Array:
    """Joint-space mass matrix (nv, nv) with rotors; see `Kinematics.mass_matrix`."""
    return Kinematics(robot, q).mass_matrix()


def bias_forces(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, gravity: ArrayLike = GRAVITY
) -> Array:
    """Coriolis, centrifugal and gravity forces (nv,); see `Kinematics.bias_forces`."""
    return Kinematics(robot, q).bias_forces(v, gravity)


def forward_acceleration(
    robot: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    gravity: ArrayLike = GRAVITY,
    *,
    tree_only: bool = False,
) -> Array:
    """Joint accelerations (nv,) of the tree alone; see `Kinematics.forward_acceleration`."""
    return Kinematics(robot, q).forward_acceleration(v, tau, gravity, tree_only=tree_only)
