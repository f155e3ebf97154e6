"""How floating bases move, seen from themselves: arrays with a row for each environment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim import quaternions
from robosim.validation import Array


class Base(NamedTuple):
    """Of robots whose first joint is a floating one, in axes of their bases.

    Attributes
    ----------
    velocity : (n, 3) [m/s]
    omega : (n, 3) [rad/s]
    gravity : (n, 3), the direction in which things fall: (0, 0, -1) of an upright base
    height : (n,) [m], over z = 0
    """

    velocity: Array
    omega: Array
    gravity: Array
    height: Array


def base_of(q: Array, v: Array) -> Base:
    """Of coordinates (n, nq) and velocities (n, nv)."""
    R_wb = quaternions.rotation_matrix(q[:, 3:7])
    # Sums of three, rather than a product of matrices, which rounds by the number of rows.
    velocity = (R_wb * v[:, :3, None]).sum(axis=1)
    return Base(velocity, v[:, 3:6], -R_wb[:, 2], q[:, 2])


def turned(yaw: Array) -> Array:
    """Quaternions (n, 4) of turns (n,) [rad] about z."""
    zero = np.zeros_like(yaw)
    return np.stack((np.cos(yaw / 2), zero, zero, np.sin(yaw / 2)), axis=1)
