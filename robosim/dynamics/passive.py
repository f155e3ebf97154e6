"""Derivatives of passive forces along joint coordinates: springs, dampers and potentials."""

from __future__ import annotations

import numpy as np

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.description.springs import Potential
from robosim.se3 import cross_matrix
from robosim.validation import Array


class Passive:
    """Springs, dampers and potentials of a robot's joints.

    Attributes
    ----------
    acts : bool
        Whether there are any.
    damping : (nv,) [N m s/rad, N s/m], derivatives of their forces by velocities
    """

    def __init__(self, robot: Mechanism) -> None:
        self._nv = robot.nv
        self.damping, self._stiffness = np.zeros(robot.nv), np.zeros(robot.nv)
        self._wells: list[tuple[int, int, Potential]] = []  # indices in q and v
        self._turns: list[tuple[slice, slice, Array]] = []  # free rotations with springs
        places = zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False)
        for joint, q_begin, v_begin in places:
            own, free = slice(v_begin, v_begin + joint.nv), joint.numbers
            stiffness = joint.per_coordinate("stiffness")
            self.damping[own] = joint.per_coordinate("damping")
            if joint.has_quaternion:
                turn = slice(q_begin + free, q_begin + free + 4), slice(v_begin + free, own.stop)
                if stiffness[free:].any():
                    self._turns.append((*turn, stiffness[free:].copy()))
                stiffness = np.concatenate((stiffness[:free], np.zeros(3)))
            self._stiffness[own] = stiffness
            for row, potential in enumerate(joint.potentials):
                if potential is not None:
                    self._wells.append((q_begin + row, v_begin + row, potential))
        alone = self.damping.any() or self._stiffness.any()
        self.acts = bool(alone or self._wells or self._turns)

    def slope(self, q: Array) -> Array:
        """Derivatives (nv, nv) of required forces by q along the tangent, for (nq,) or rows."""
        out = np.zeros((*q.shape[:-1], self._nv, self._nv))
        out[:] = np.diag(self._stiffness)
        for at, k, potential in self._wells:
            out[..., k, k] += curvature(potential, q[..., at])
        for turn, own, stiffness in self._turns:
            for row in np.ndindex(q.shape[:-1]):
                out[row][own, own] += slope_of_turn(stiffness, q[row][turn])
        return out


def curvature(potential: Potential, x: Array) -> Array:
    """Second derivative of a potential; its outermost pieces continue beyond the ends."""
    begins = np.asarray(potential.x)
    piece = np.clip(np.searchsorted(begins, x, side="right") - 1, 0, len(begins) - 2)
    return np.asarray(2 * potential.pieces[piece, 2]
                      + 6 * potential.pieces[piece, 3] * (x - begins[piece]))  # fmt: skip


def slope_of_turn(stiffness: Array, turn: Array) -> Array:
    """Derivative (3, 3) of the moment of a free rotation's springs by a rotation, in child axes.

    The moment is ``J^-T K phi``, with the rotation vector phi of `turn` (4,) and the right Jacobian
    J of the exponential: ``J^-1 = 1 + X / 2 + c X X``, X = phi x.
    """
    phi = quaternions.rotation_vector(quaternions.normalized(turn))
    half = 0.5 * float(np.linalg.norm(phi))
    # c = (1 - h cot(h)) / (4 h^2) with half of the angle h, and its derivative over the angle.
    if half < 0.05:
        c = 1 / 12 + half**2 / 180 + half**4 / 1890
        rate = 1 / 360 + half**2 / 1890 + half**4 / 12600
    else:
        part = half / np.tan(half)
        c = (1 - part) / (4 * half**2)
        rate = (part + (half / np.sin(half)) ** 2 - 2) / (16 * half**4)
    X, K, w = cross_matrix(phi), np.diag(stiffness), stiffness * phi
    W, U = cross_matrix(w), cross_matrix(np.cross(phi, w))
    by_phi = K + 0.5 * (W - X @ K) + c * (X @ X @ K - X @ W - U)
    by_phi += rate * np.outer(X @ X @ w, phi)
    return np.asarray(by_phi @ (np.eye(3) + 0.5 * X + c * X @ X))
