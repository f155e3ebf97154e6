"""Sensors of model files."""

from __future__ import annotations

from robosim.description.place import Place
from robosim.description.sensor import KINDS, Part, Sensor, Zone

__all__ = ["KINDS", "Part", "Place", "Sensor", "Zone"]
