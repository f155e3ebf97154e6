"""Sensors of model files."""

from __future__ import annotations

from robosim.description.place import Place
from robosim.description.sensor import KINDS, Sensor, Zone

__all__ = ["KINDS", "Place", "Sensor", "Zone"]
