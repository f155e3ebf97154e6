"""Three hinges of a free rotation in numbers: about e1, then e2, then e3 of the child."""

from __future__ import annotations

import numpy as np

from robosim import quaternions
from robosim.validation import Array


def hinge_angles(base: Array, q: Array) -> Array:
    """Angles (3,) from one quaternion to another; the second one below a quarter of a turn."""
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
    """A quaternion, turned on by three hinges."""
    for k, angle in enumerate(x):
        base = quaternions.multiply(base, quaternions.from_axis_angle(np.eye(3)[k], float(angle)))
    return np.asarray(quaternions.normalized(base))


def spins(x: Array) -> Array:
    """(3, 3): angular velocity in the child's axes by the rates of the hinges."""
    b, d = x[1], x[2]
    return np.array(
        (
            (np.cos(b) * np.cos(d), np.sin(d), 0.0),
            (-np.cos(b) * np.sin(d), np.cos(d), 0.0),
            (np.sin(b), 0.0, 1.0),
        )
    )
