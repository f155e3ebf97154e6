"""Minimal-coordinate quantities rebuilt from the maximal coordinates.

With J the Jacobian of all body twists by the joint velocities, the mass matrix is ``J^T M J``
and the bias forces are what is left of Newton's and Euler's equations at zero joint
acceleration. Conventions of q and v: see `robosim.mechanism.Mechanism`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.kernels.coordinates import move_bodies, place_bodies
from robosim.mechanism import Joint, Mechanism
from robosim.model import compile_model, make_workspace

Array = NDArray[np.float64]
GRAVITY = (0.0, 0.0, -9.81)


class Kinematics:
    """Poses, twists and Jacobians of a mechanism at given joint coordinates.

    Parameters
    ----------
    robot : Mechanism
    q : (nq,)

    Attributes
    ----------
    x : (nb, 3) [m], centres of mass, world
    R : (nb, 3, 3), body to world
    """

    def __init__(self, robot: Mechanism, q: ArrayLike) -> None:
        self.robot = robot
        self.q = np.ascontiguousarray(q, dtype=float)
        self._model = compile_model(robot)
        self._work = make_workspace(robot, self._model)
        place_bodies(self._model, self.q, self._work, self._work.pose2)
        self.x: Array = self._work.pose2["x"][:-1].copy()
        self.R: Array = self._work.pose2["R"][:-1].copy()

    def twists(self, v: ArrayLike) -> Array:
        """World twists (nb, 6) for joint velocities v (nv,): of the COM [m/s], angular [rad/s]."""
        self._work.twists["w"] = 0.0
        v = np.ascontiguousarray(v, dtype=float)
        move_bodies(self._model, self._work.pose2, v, self._work, self._work.twists)
        return np.array(self._work.twists["w"][:-1])

    def jacobian(self) -> Array:
        """Jacobian (nb, 6, nv) of the world twists by the joint velocities."""
        identity = np.eye(self.robot.nv)
        return np.stack([self.twists(column) for column in identity], axis=-1)

    def frame(self, name: str) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3), frame to world, of a frame by its name."""
        index, frame = self.robot.frame(name)
        R = self.R[index]
        position = self.x[index] + R @ np.asarray(frame.position)
        return position, R @ quaternions.rotation_matrix(frame.quaternion)

    def inertias(self) -> Array:
        """Inertias (nb, 3, 3) about the centres of mass, world axes."""
        local = np.stack([np.asarray(body.inertia) for body in self.robot.bodies])
        return np.asarray(self.R @ local @ self.R.transpose(0, 2, 1))

    def bias_accelerations(self, v: ArrayLike) -> Array:
        """World accelerations (nb, 6) of the bodies at zero joint acceleration, J' v."""
        v = np.asarray(v, dtype=float)
        twists = np.vstack((self.twists(v), np.zeros(6)))
        x, R = np.vstack((self.x, np.zeros(3))), np.concatenate((self.R, np.eye(3)[None]))
        out = np.zeros((len(x), 6))
        for b, joint in enumerate(self.robot.joints):
            a = -1 if joint.parent is None else self.robot.body_index(joint.parent)
            v_j = v[self.robot.v_offsets[b] : self.robot.v_offsets[b + 1]]
            out[b] = _child_acceleration(joint, v_j, x[[a, b]], R[[a, b]], twists[[a, b]], out[a])
        return out[:-1]


def _child_acceleration(
    joint: Joint, v_j: Array, x: Array, R: Array, twists: Array, parent: Array
) -> Array:
    """Acceleration (6,) of a child at zero joint acceleration, from that of its parent."""
    translations = joint.C_T.shape[1]
    R_J = R[0] @ quaternions.rotation_matrix(joint.offset)
    slide = R_J @ (joint.C_T @ v_j[:translations])
    spin = R[1] @ (joint.C_R @ v_j[translations:])
    omega_a, omega_b = twists[0, 3:], twists[1, 3:]
    arm_b = R[1] @ np.asarray(joint.child_position)
    arm_a = x[1] + arm_b - x[0]
    angular = parent[3:] + np.cross(omega_b, spin)
    point = (
        parent[:3]
        + np.cross(parent[3:], arm_a)
        + np.cross(omega_a, np.cross(omega_a, arm_a))
        + 2 * np.cross(omega_a, slide)
    )
    linear = point - np.cross(angular, arm_b) - np.cross(omega_b, np.cross(omega_b, arm_b))
    return np.concatenate((linear, angular))


def mass_matrix(robot: Mechanism, q: ArrayLike) -> Array:
    """Joint-space mass matrix J^T M J, (nv, nv)."""
    kinematics = Kinematics(robot, q)
    J = kinematics.jacobian()
    masses = np.array([body.mass for body in robot.bodies])
    linear, angular = J[:, :3], J[:, 3:]
    M = np.einsum("b,bik,bil->kl", masses, linear, linear)
    return np.asarray(M + np.einsum("bik,bij,bjl->kl", angular, kinematics.inertias(), angular))


def bias_forces(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, gravity: ArrayLike = GRAVITY
) -> Array:
    """Coriolis, centrifugal and gravity forces (nv,): ``M(q) a + bias = tau``."""
    kinematics = Kinematics(robot, q)
    J = kinematics.jacobian()
    acceleration = kinematics.bias_accelerations(v)
    omega = kinematics.twists(v)[:, 3:]
    masses = np.array([body.mass for body in robot.bodies])
    inertias = kinematics.inertias()
    forces = masses[:, None] * (acceleration[:, :3] - np.asarray(gravity, dtype=float))
    momentum = np.einsum("bij,bj->bi", inertias, omega)
    torques = np.einsum("bij,bj->bi", inertias, acceleration[:, 3:]) + np.cross(omega, momentum)
    return np.asarray(
        np.einsum("bik,bi->k", J[:, :3], forces) + np.einsum("bik,bi->k", J[:, 3:], torques)
    )


def forward_acceleration(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, tau: ArrayLike, gravity: ArrayLike = GRAVITY
) -> Array:
    """Joint accelerations (nv,) under generalized forces tau (nv,), without contacts."""
    rhs = np.asarray(tau, dtype=float) - bias_forces(robot, q, v, gravity)
    return np.asarray(np.linalg.solve(mass_matrix(robot, q), rhs))
