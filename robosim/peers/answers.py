"""The results of a peer at one state, and the gravity that they are for."""

from __future__ import annotations

from typing import NamedTuple

from robosim.validation import Array

GRAVITY = (0.0, 0.0, -9.81)


class Answer(NamedTuple):
    """A peer's results at one state; forces and accelerations in robosim's order and axes."""

    center_of_mass: Array  # (3,) [m], world
    positions: dict[str, Array]  # frame -> (3,) [m], world
    rotations: dict[str, Array]  # frame -> (3, 3), to world
    mass_matrix: Array  # (nv, nv)
    bias_forces: Array  # (nv,)
    acceleration: Array  # (nv,)
