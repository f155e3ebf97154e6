"""Motion of floating bases in their own axes: arrays with a row for each environment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim import quaternions
from robosim.kernels.compiler.content import row
from robosim.validation import Array


class Base(NamedTuple):
    """Motion of the bases of robots whose first joint is floating, in axes of the bases.

    Attributes
    ----------
    velocity : (n, 3) [m/s], of the base's origin
    omega : (n, 3) [rad/s]
    gravity : (n, 3), direction of gravity: (0, 0, -1) for an upright base
    height : (n,) [m], above z = 0
    """

    velocity: Array
    omega: Array
    gravity: Array
    height: Array


def base_of(q: Array, v: Array) -> Base:
    """The bases' motion from coordinates (n, nq) and velocities (n, nv)."""
    R_wb = quaternions.rotation_matrix(q[:, 3:7])
    # Sums of three: a matrix product would be rounded differently for each number of rows.
    velocity = (R_wb * v[:, :3, None]).sum(axis=1)
    return Base(velocity, v[:, 3:6], -R_wb[:, 2], q[:, 2])


@row
def look_from_base(q, v, i, out):  # type: ignore[no-untyped-def]
    """Velocity, turning rate and direction of gravity of row i in axes of its base, out (9,)."""
    a, x, y, z = q[i, 3], q[i, 4], q[i, 5], q[i, 6]
    u = v[i]
    out[0] = (1 - 2 * (y * y + z * z)) * u[0] + 2 * (x * y + a * z) * u[1]
    out[0] += 2 * (x * z - a * y) * u[2]
    out[1] = 2 * (x * y - a * z) * u[0] + (1 - 2 * (x * x + z * z)) * u[1]
    out[1] += 2 * (y * z + a * x) * u[2]
    out[2] = 2 * (x * z + a * y) * u[0] + 2 * (y * z - a * x) * u[1]
    out[2] += (1 - 2 * (x * x + y * y)) * u[2]
    out[3:6] = u[3:6]
    out[6] = -2 * (x * z - a * y)
    out[7] = -2 * (y * z + a * x)
    out[8] = -(1 - 2 * (x * x + y * y))


@row
def upright(q, i):  # type: ignore[no-untyped-def]
    """Cosine of the tilt of row i's base: 1 if it is upright."""
    x, y = q[i, 4], q[i, 5]
    return 1 - 2 * (x * x + y * y)


@row
def turn_to(yaw, quaternion):  # type: ignore[no-untyped-def]
    """A turn [rad] about z, into quaternion (4,)."""
    quaternion[0], quaternion[1], quaternion[2] = np.cos(yaw / 2), 0.0, 0.0
    quaternion[3] = np.sin(yaw / 2)


def turned(yaw: Array) -> Array:
    """Quaternions (n, 4) of turns (n,) [rad] about z."""
    zero = np.zeros_like(yaw)
    return np.stack((np.cos(yaw / 2), zero, zero, np.sin(yaw / 2)), axis=1)
