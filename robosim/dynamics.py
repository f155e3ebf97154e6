"""Mass matrix, bias forces, accelerations and kinematics in joint coordinates."""

from __future__ import annotations

from robosim.simulation.constrained import Multipliers
from robosim.simulation.dynamics import Dynamics
from robosim.simulation.kinematics import (
    GRAVITY,
    Kinematics,
    bias_forces,
    forward_acceleration,
    mass_matrix,
)

__all__ = [
    "GRAVITY",
    "Dynamics",
    "Kinematics",
    "Multipliers",
    "bias_forces",
    "forward_acceleration",
    "mass_matrix",
]
