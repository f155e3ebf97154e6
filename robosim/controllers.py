"""Controllers: any callable that takes the simulation and returns torques (nu,)."""

from __future__ import annotations

from robosim.control.at_nodes import AtNodes
from robosim.control.controllers import (
    BUILT_IN,
    GAINS,
    PD,
    Compiled,
    Controller,
    Gait,
    Motion,
    check_torques,
    holds_over,
    resolve,
    stand,
    trot,
    zero,
)
from robosim.control.motors import PID, DCMotor, Delay, LearnedActuator, Motors, Rate
from robosim.loaders.motor_files import load_motors
from robosim.validation import Array

__all__ = [
    "BUILT_IN",
    "GAINS",
    "PD",
    "PID",
    "Array",
    "AtNodes",
    "Compiled",
    "Controller",
    "DCMotor",
    "Delay",
    "Gait",
    "LearnedActuator",
    "Motion",
    "Motors",
    "Rate",
    "check_torques",
    "holds_over",
    "load_motors",
    "resolve",
    "stand",
    "trot",
    "zero",
]
