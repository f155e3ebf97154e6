"""Activations and muscles."""

from __future__ import annotations

from robosim.description.hill_muscle import Curve, HillMuscle
from robosim.description.muscle import KINDS, Activation, Muscle

__all__ = ["KINDS", "Activation", "Curve", "HillMuscle", "Muscle"]
