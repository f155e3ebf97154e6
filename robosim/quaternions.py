"""Quaternions for building models: plain numpy, not for the inner loop.

Scalar first (w, x, y, z), Hamilton product, local to world: ``rotation_matrix(q) @ v`` takes a
vector from local to world axes [Bruedigam2023, App. A].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

IDENTITY: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """Hamilton products a b, (..., 4) and (..., 4) -> (..., 4) [Bruedigam2023, Eq. A.2c]."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    scalar = a[..., :1] * b[..., :1] - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    vector = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate((scalar, vector), axis=-1)


def conjugate(q: ArrayLike) -> Array:
    """Conjugates, (..., 4) -> (..., 4); the inverses of unit quaternions."""
    q = np.asarray(q, dtype=float)
    return np.concatenate((q[..., :1], -q[..., 1:]), axis=-1)


def turned(R: ArrayLike, vectors: ArrayLike) -> Array:
    """R a of matrices (..., 3, 3) and vectors (..., 3)."""
    return np.asarray(np.einsum("...ij,...j->...i", np.asarray(R), np.asarray(vectors)))


def turned_back(R: ArrayLike, vectors: ArrayLike) -> Array:
    """R^T a of matrices (..., 3, 3) and vectors (..., 3)."""
    return np.asarray(np.einsum("...ji,...j->...i", np.asarray(R), np.asarray(vectors)))


def normalized(q: ArrayLike) -> Array:
    """q divided by its norm, (4,) -> (4,)."""
    q = np.asarray(q, dtype=float)
    return q / np.linalg.norm(q)


def rotation_matrix(q: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4), local to world.

    [Bruedigam2023, Eq. A.6]
    """
    w, x, y, z = np.moveaxis(np.asarray(q, dtype=float), -1, 0)
    rows = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return np.moveaxis(rows, (0, 1), (-2, -1))


def from_matrix(R: ArrayLike) -> Array:
    """Unit quaternion (4,), w >= 0, of a rotation matrix (3, 3); stable for every rotation."""
    R = np.asarray(R, dtype=float)
    # The largest of 4 w^2, 4 x^2, 4 y^2, 4 z^2 is safe to divide by.
    candidates = np.array(
        [
            1 + R[0, 0] + R[1, 1] + R[2, 2],
            1 + R[0, 0] - R[1, 1] - R[2, 2],
            1 - R[0, 0] + R[1, 1] - R[2, 2],
            1 - R[0, 0] - R[1, 1] + R[2, 2],
        ]
    )
    k = int(np.argmax(candidates))
    c = candidates[k]
    if k == 0:
        q = np.array([c, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    elif k == 1:
        q = np.array([R[2, 1] - R[1, 2], c, R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]])
    elif k == 2:
        q = np.array([R[0, 2] - R[2, 0], R[1, 0] + R[0, 1], c, R[2, 1] + R[1, 2]])
    else:
        q = np.array([R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2], c])
    q = normalized(q)
    return -q if q[0] < 0 else q


def from_axis_angle(axis: ArrayLike, angle: float) -> Array:
    """Unit quaternion (4,) of a turn by `angle` [rad] about `axis` (3,), any length but zero."""
    axis = np.asarray(axis, dtype=float)
    axis = axis / np.linalg.norm(axis)
    return np.concatenate(([np.cos(angle / 2)], np.sin(angle / 2) * axis))


def rotation_vector(q: ArrayLike) -> Array:
    """Axis times angle (3,) [rad], at most pi long, of a unit quaternion (4,)."""
    q = np.asarray(q, dtype=float)
    sine = float(np.linalg.norm(q[1:]))
    if sine < 1e-12:
        return np.zeros(3)
    return np.asarray(2 * np.arctan2(sine, abs(q[0])) * np.copysign(1.0, q[0]) / sine * q[1:])


def from_rotation_vector(turn: ArrayLike) -> Array:
    """Unit quaternion (4,) of axis times angle (3,) [rad]."""
    turn = np.asarray(turn, dtype=float)
    half = 0.5 * float(np.linalg.norm(turn))
    # numpy's sinc is sin(pi x) / (pi x).
    return np.concatenate(([np.cos(half)], 0.5 * np.sinc(half / np.pi) * turn))


def from_rpy(rpy: ArrayLike) -> Array:
    """Unit quaternion (4,) of URDF's roll, pitch, yaw [rad]: Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = np.asarray(rpy, dtype=float)
    qx = from_axis_angle((1, 0, 0), roll)
    qy = from_axis_angle((0, 1, 0), pitch)
    qz = from_axis_angle((0, 0, 1), yaw)
    return multiply(qz, multiply(qy, qx))
