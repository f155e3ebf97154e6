"""Activations and muscles."""

from __future__ import annotations

from robosim.description.muscle import KINDS, Activation, Muscle

__all__ = ["KINDS", "Activation", "Muscle"]
