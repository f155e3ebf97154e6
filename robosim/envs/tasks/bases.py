"""Motion of floating bases in their own axes: arrays with a row for each environment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim import quaternions
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


def turned(yaw: Array) -> Array:
    """Quaternions (n, 4) of turns (n,) [rad] about z."""
    zero = np.zeros_like(yaw)
    return np.stack((np.cos(yaw / 2), zero, zero, np.sin(yaw / 2)), axis=1)
