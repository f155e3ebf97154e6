"""Motion of a joint's child relative to its parent: values, rows, and second derivatives.

The values are the two functions of `robosim.description.joint`, by twists of the joint's points, in
world axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.se3 import cross_matrix
from robosim.validation import Array


class Linear(NamedTuple):
    """Functions of q with the terms of their time derivatives.

    ``d/dt value = jacobian @ v`` and ``d2/dt2 value = jacobian @ a + bias``.
    """

    value: Array  # (m,)
    jacobian: Array  # (m, nv)
    bias: Array  # (m,), J' v


class End(NamedTuple):
    """A joint's point on a body, with its motion; world axes.

    The bias is the acceleration at zero joint acceleration.
    """

    x: Array  # (3,) [m]
    R: Array  # (3, 3), to world: from the joint frame for the parent, from body axes for the child
    jacobian: Array  # (6, nv) of its twist: velocity of the point [m/s], angular velocity [rad/s]
    twist: Array  # (6,)
    bias: Array  # (6,) [m/s^2], [rad/s^2]


class Relative:
    """Pose and velocity of a joint's child relative to its parent.

    Parameters
    ----------
    joint : Joint
    a, b : End
        The joint's points on parent and child.

    Attributes
    ----------
    R : (3, 3), child to joint frame
    r : (4,), the same as a quaternion
    """

    def __init__(self, joint: Joint, a: End, b: End) -> None:
        self.joint, self._a, self._b = joint, a, b
        self._span = b.x - a.x
        self.R = a.R.T @ b.R
        self.r = quaternions.from_matrix(self.R)
        self._spin = b.twist[3:] - a.twist[3:]
        self._spins = b.jacobian[3:] - a.jacobian[3:]

    def _slides(self, directions: Array) -> Linear:
        """Translations along directions (3, m) of the joint frame."""
        a, b, w = self._a, self._b, (self._a.R @ directions).T
        span, turning = cross_matrix(self._span), cross_matrix(a.twist[3:])
        rows = w @ (b.jacobian[:3] - a.jacobian[:3] + span @ a.jacobian[3:])
        away = b.twist[:3] - a.twist[:3]
        # In axes that rotate with the parent.
        bias = b.bias[:3] - a.bias[:3] + span @ a.bias[3:]
        bias += turning @ (turning @ self._span - 2 * away)
        return Linear(w @ self._span, rows, w @ bias)

    def _rates_of_turn(self) -> Array:
        """(4, 3): maps the child's angular velocity relative to the parent, world axes, to r'."""
        w, vector = self.r[0], self.r[1:]
        rates = np.vstack((-vector, w * np.eye(3) - cross_matrix(vector)))
        return np.asarray(0.5 * rates @ self._a.R.T)

    def _turn(self) -> Linear:
        """The quaternion r: r'' = 1/2 alpha r - 1/4 |omega|^2 r."""
        a, b, rates = self._a, self._b, self._rates_of_turn()
        alpha = b.bias[3:] - a.bias[3:] - cross_matrix(a.twist[3:]) @ self._spin
        bias = rates @ alpha - 0.25 * (self._spin @ self._spin) * self.r
        return Linear(self.r, rates @ self._spins, bias)

    def residual(self) -> Linear:
        """The joint's constraints, [m] and sines of half angles."""
        D = self.joint.D_R.T
        turn = self._turn()
        return stacked(
            self._slides(self.joint.D_T),
            Linear(D @ turn.value[1:], D @ turn.jacobian[1:], D @ turn.bias[1:]),
        )

    def on_child(self) -> Array:
        """(m, 6): derivatives of the constraints' rates by the child's twist at its point.

        The transpose maps multipliers to force and moment on the child there.
        """
        out, n = np.zeros((self.joint.n_constraints, 6)), self.joint.D_T.shape[1]
        out[:n, :3] = (self._a.R @ self.joint.D_T).T
        out[n:, 3:] = self.joint.D_R.T @ self._rates_of_turn()[1:]
        return out

    def coordinates(self) -> Linear:
        """The joint's coordinates that are numbers, [m] and [rad]; an angle within half a turn."""
        slides = self._slides(self.joint.C_T)
        if self.joint.C_R.shape[1] != 1:
            return slides
        # 2 atan2(s, w) also if constraints are violated, when its rate differs from the spin's.
        axis, turn, spin = self.joint.C_R[:, 0], self._turn(), self._rates_of_turn() @ self._spin
        w, s = self.r[0], axis @ self.r[1:]
        w1, s1, n = spin[0], axis @ spin[1:], s * s + w * w
        across = np.concatenate(([-s], w * axis)) * 2 / n
        bias = across @ turn.bias - 4 * (w * s1 - s * w1) * (s * s1 + w * w1) / n**2
        angle = Linear(
            np.array((2 * np.arctan2(s, w),)), (across @ turn.jacobian)[None], np.array((bias,))
        )
        return stacked(slides, angle)

    def rates(self) -> Array:
        """(joint.nv, nv): derivatives of the joint's velocities, as for a joint of the tree.

        The transpose maps generalized forces of the joint to those of the tree.
        """
        slides = self._slides(self.joint.C_T).jacobian
        return np.vstack((slides, self.joint.C_R.T @ self.spins()))

    def spins(self) -> Array:
        """(3, nv): the child's angular velocity relative to the parent, child axes."""
        return np.asarray(self._b.R.T @ self._spins)


def stacked(*parts: Linear) -> Linear:
    """Several `Linear` as one."""
    return Linear(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
