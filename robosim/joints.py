"""Joints: their kinds, and what each leaves free."""

from __future__ import annotations

from robosim.description.joint import (
    KINDS,
    LEAST_TURN,
    Joint,
    SafetyLimits,
    Selection,
    perpendicular_basis,
    selection,
)

__all__ = [
    "KINDS",
    "LEAST_TURN",
    "Joint",
    "SafetyLimits",
    "Selection",
    "perpendicular_basis",
    "selection",
]
