"""Rigid transformations SE(3), and twists as their velocities [Sueda, Sects. 1.1 to 1.5].

A transformation is a matrix E (4, 4) with a rotation R and a position p: local to world. A twist
is (6,): velocity of the frame's origin [m/s], then angular velocity [rad/s], both in axes of the
frame, so that ``dE/dt = E bracket(twist)``. The paper has the angular part first; everything in
robosim has the linear part first. Plain numpy, not for the inner loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.validation import Array

SMALL = 1e-4  # [rad]; below, series of the third order are exact to rounding


def transformation(R: ArrayLike, p: ArrayLike) -> Array:
    """E (4, 4) of a rotation (3, 3) and a position (3,) [Sueda, Eq. 1.1]."""
    E = np.eye(4)
    E[:3, :3], E[:3, 3] = R, p
    return E


def inverse(E: ArrayLike) -> Array:
    """The inverse (4, 4) of a transformation [Sueda, Eq. 1.4]."""
    E = np.asarray(E, dtype=float)
    R = E[:3, :3]
    return transformation(R.T, -R.T @ E[:3, 3])


def cross_matrix(a: ArrayLike) -> Array:
    """[a] (3, 3) with ``[a] b = a x b`` [Sueda, Eq. 1.7]."""
    x, y, z = np.asarray(a, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def bracket(twist: ArrayLike) -> Array:
    """A twist (6,) as a matrix (4, 4), the velocity of a transformation [Sueda, Eq. 1.6]."""
    twist = np.asarray(twist, dtype=float)
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = cross_matrix(twist[3:]), twist[:3]
    return out


def exp(twist: ArrayLike) -> Array:
    """The transformation (4, 4) that a twist (6,) leads to in one second [Sueda, Eq. 1.10]."""
    twist = np.asarray(twist, dtype=float)
    w = twist[3:]
    angle = float(np.linalg.norm(w))
    W = cross_matrix(w)
    if angle < SMALL:
        a, b, c = 1 - angle**2 / 6, 0.5 - angle**2 / 24, 1 / 6 - angle**2 / 120
    else:
        a, c = np.sin(angle) / angle, (1 - np.sin(angle) / angle) / angle**2
        # By half of the angle: 1 - cos loses digits.
        b = 2 * np.sin(angle / 2) ** 2 / angle**2
    R = np.eye(3) + a * W + b * W @ W
    return transformation(R, (np.eye(3) + b * W + c * W @ W) @ twist[:3])


def log(E: ArrayLike) -> Array:
    """The twist (6,) whose `exp` is a transformation, by half a turn at most [Sueda, Eq. 1.10]."""
    E = np.asarray(E, dtype=float)
    w = _rotation_vector(E[:3, :3])
    angle = float(np.linalg.norm(w))
    W = cross_matrix(w)
    if angle < SMALL:
        c = 1 / 12 + angle**2 / 720
    else:
        c = (1 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    v = (np.eye(3) - 0.5 * W + c * W @ W) @ E[:3, 3]
    return np.concatenate((v, w))


def _rotation_vector(R: Array) -> Array:
    q = quaternions.from_matrix(R)
    sine = float(np.linalg.norm(q[1:]))
    # Of a turn that is too small for its direction to be told, the vector is still twice q.
    return np.asarray((2 * np.arctan2(sine, q[0]) / sine if sine > 1e-12 else 2.0) * q[1:])


def adjoint(E: ArrayLike) -> Array:
    """Ad (6, 6): twists in local axes to twists about the world's origin [Sueda, Eq. 1.14]."""
    E = np.asarray(E, dtype=float)
    R, out = E[:3, :3], np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = R
    out[:3, 3:] = cross_matrix(E[:3, 3]) @ R
    return out


def ad(twist: ArrayLike) -> Array:
    """The cross product matrix (6, 6) of a twist, ``dAd/dt = Ad ad(twist)`` [Sueda, Eq. 1.19]."""
    twist = np.asarray(twist, dtype=float)
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = cross_matrix(twist[3:])
    out[:3, 3:] = cross_matrix(twist[:3])
    return out


def point_jacobian(E: ArrayLike, x: ArrayLike) -> Array:
    """(3, 6): velocity in world axes of a local point x (3,) by the twist [Sueda, Eq. 1.12].

    Its transpose makes a wrench of a force at that point.
    """
    R = np.asarray(E, dtype=float)[:3, :3]
    return np.hstack((R, -R @ cross_matrix(x)))
