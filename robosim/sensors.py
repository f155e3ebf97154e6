"""Sensors as model files name them."""

from __future__ import annotations

from robosim.description.place import Place
from robosim.description.sensor import KINDS, Sensor, Zone

__all__ = ["KINDS", "Place", "Sensor", "Zone"]
