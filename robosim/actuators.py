"""Actuators of model files, and the torques of their controls."""

from __future__ import annotations

from robosim.control.transmission import Drive, Transmission, torques
from robosim.description.actuator import Actuator, ControlDelay
from robosim.description.electric_motor import ElectricMotor, LuGre

__all__ = [
    "Actuator",
    "ControlDelay",
    "Drive",
    "ElectricMotor",
    "LuGre",
    "Transmission",
    "torques",
]
