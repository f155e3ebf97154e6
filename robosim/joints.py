"""Joints: their kinds, and the free translations and rotations of each."""

from __future__ import annotations

from robosim.description.bearing import Bearing
from robosim.description.charts import (
    Chart,
    Composite,
    Euler,
    ExponentialBall,
    Hinge,
    Offset,
    Screw,
    Slide,
    SplineCurve,
    SplineSurface,
)
from robosim.description.joint import LEAST_TURN, Joint, SafetyLimits
from robosim.description.selection import (
    CHART_KINDS,
    KINDS,
    Selection,
    perpendicular_basis,
    selection,
)

__all__ = [
    "CHART_KINDS",
    "KINDS",
    "LEAST_TURN",
    "Bearing",
    "Chart",
    "Composite",
    "Euler",
    "ExponentialBall",
    "Hinge",
    "Joint",
    "Offset",
    "SafetyLimits",
    "Screw",
    "Selection",
    "Slide",
    "SplineCurve",
    "SplineSurface",
    "perpendicular_basis",
    "selection",
]
