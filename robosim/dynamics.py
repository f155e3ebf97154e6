"""Mass matrix, bias forces, accelerations and kinematics in joint coordinates."""

from __future__ import annotations

from robosim.simulation.constrained import Multipliers
from robosim.simulation.dynamics import Dynamics
from robosim.simulation.ik_result import IKResult, Residual
from robosim.simulation.kinematics import (
    GRAVITY,
    Kinematics,
    bias_forces,
    forward_acceleration,
    mass_matrix,
)
from robosim.simulation.targets import CenterOfMassTarget, FrameTarget, PostureTarget

__all__ = [
    "GRAVITY",
    "CenterOfMassTarget",
    "Dynamics",
    "FrameTarget",
    "IKResult",
    "Kinematics",
    "Multipliers",
    "PostureTarget",
    "Residual",
    "bias_forces",
    "forward_acceleration",
    "mass_matrix",
]
