"""Mass matrix, bias forces, accelerations and kinematics in joint coordinates."""

from __future__ import annotations

from robosim.dynamics.constrained import Multipliers
from robosim.dynamics.dynamics import Dynamics
from robosim.inverse_kinematics.result import IKResult, Residual
from robosim.inverse_kinematics.targets import CenterOfMassTarget, FrameTarget, PostureTarget
from robosim.kinematics.kinematics import (
    GRAVITY,
    Kinematics,
    bias_forces,
    forward_acceleration,
    mass_matrix,
)

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
