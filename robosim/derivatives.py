"""Derivatives of a simulation's steps with respect to state, torques and parameters."""

from __future__ import annotations

from robosim.linearization.linearization import ContactMode, Linearization, linearize
from robosim.linearization.parameters import PARAMETERS
from robosim.minimal.second import SecondDerivatives, second_derivatives

__all__ = [
    "PARAMETERS",
    "ContactMode",
    "Linearization",
    "SecondDerivatives",
    "linearize",
    "second_derivatives",
]
