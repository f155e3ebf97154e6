"""Numerical functions of the three hinges of a free rotation: about e1, e2, e3 of the child."""

from __future__ import annotations

import numpy as np

from robosim import quaternions
from robosim.validation import Array


def hinge_angles(base: Array, q: Array) -> Array:
    """Hinge angles (3,) from one quaternion to another; the second angle within +-pi/2."""
    R = np.asarray(
        quaternions.rotation_matrix(quaternions.multiply(quaternions.conjugate(base), q))
    )
    return np.array(
        (
            np.arctan2(-R[1, 2], R[2, 2]),
            np.arctan2(R[0, 2], np.hypot(R[1, 2], R[2, 2])),
            np.arctan2(-R[0, 1], R[0, 0]),
        )
    )


def turned_on(base: Array, x: Array) -> Array:
    """A quaternion rotated by three hinges."""
    for k, angle in enumerate(x):
        base = quaternions.multiply(base, quaternions.from_axis_angle(np.eye(3)[k], float(angle)))
    return np.asarray(quaternions.normalized(base))


def spins(x: Array) -> Array:
    """(3, 3): maps rates of the hinges to angular velocity in the child's axes."""
    b, d = x[1], x[2]
    return np.array(
        (
            (np.cos(b) * np.cos(d), np.sin(d), 0.0),
            (-np.cos(b) * np.sin(d), np.cos(d), 0.0),
            (np.sin(b), 0.0, 1.0),
        )
    )
