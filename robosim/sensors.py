"""Sensors: of model files, and those that measure with rays."""

from __future__ import annotations

from robosim.description.place import Place
from robosim.description.ray_sensor import (
    DepthCamera,
    HeightScan,
    Lidar,
    Pixels,
    RangeFinder,
    RaySensor,
)
from robosim.description.sensor import KINDS, Part, Sensor, Zone

__all__ = [
    "KINDS",
    "DepthCamera",
    "HeightScan",
    "Lidar",
    "Part",
    "Pixels",
    "Place",
    "RangeFinder",
    "RaySensor",
    "Sensor",
    "Zone",
]
