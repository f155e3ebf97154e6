"""Kinematics of joints: the pose Q(q), its Jacobian S and the rate of S [Sueda, Sect. 2.4].

A joint's velocities v are rates of its coordinates, except for a free rotation. Coordinates of that
are a quaternion, and velocities the angular velocity in the child's axes, so that this part of S is
constant. Twists are (velocity, angular velocity) of the child at the joint's point, in the child's
axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim import quaternions, se3
from robosim.description.joint import Joint
from robosim.validation import Array

FAR = 1.5 * np.pi  # [rad], length from which a rotation vector is replaced by a shorter one


class Motion(NamedTuple):
    """A joint at its coordinates and velocities."""

    Q: Array  # (4, 4) child to joint frame
    S: Array  # (6, nv)
    S_dot: Array  # (6, nv)


def motion(joint: Joint, q: Array, v: Array) -> Motion:
    """Pose, Jacobian and its rate at coordinates (nq,) and velocities (nv,)."""
    if joint.own_chart is not None:
        Q, S, slopes = joint.own_chart.follow(q)
        return Motion(Q, S, slopes @ v)
    m = joint.C_T.shape[1]
    R = joint.rotation(q)
    Q = se3.transformation(R, joint.translation(q))
    S, S_dot = np.zeros((6, joint.nv)), np.zeros((6, joint.nv))
    S[:3, :m], S[3:, m:] = R.T @ joint.C_T, joint.C_R
    if m and joint.C_R.shape[1]:
        S_dot[:3, :m] = -se3.cross_matrix(joint.C_R @ v[m:]) @ S[:3, :m]
    return Motion(Q, S, S_dot)


def advanced(joint: Joint, q: Array, change: Array) -> Array:
    """Coordinates (nq,) after a change (nv,); free rotations by the exponential."""
    if not joint.has_quaternion:
        return q + change
    n = joint.numbers
    turn = quaternions.from_rotation_vector(change[n:])
    turned = quaternions.normalized(quaternions.multiply(q[n:], turn))
    return np.concatenate((q[:n] + change[:n], turned))


def rates(joint: Joint, q: Array, v: Array) -> Array:
    """Rates (nq,) of the coordinates."""
    if not joint.has_quaternion:
        return v
    n = joint.numbers
    spin = 0.5 * quaternions.multiply(q[n:], np.concatenate(([0.0], v[n:])))
    return np.concatenate((v[:n], spin))


def exchanged(joint: Joint, q: Array, v: Array) -> tuple[Array, Array]:
    """The same pose and twist, with rotation vectors no longer than `FAR` [Sueda, Sect. 2.4.8].

    Rates are ``S^-1 S_before v``.
    """
    chart = joint.own_chart
    if chart is None or not any(chart.changes):
        return q, v
    other = q.copy()
    for factor in chart.factors():
        if factor.kind == "turn":
            own = slice(factor.first, factor.first + 3)
            while (length := float(np.linalg.norm(other[own]))) > FAR:
                other[own] *= 1.0 - 2.0 * np.pi / length
    if np.array_equal(other, q):
        return q, v
    rate = np.linalg.lstsq(chart.columns(other), chart.columns(q) @ v, rcond=None)[0]
    return other, np.asarray(rate)
