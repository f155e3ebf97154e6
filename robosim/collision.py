"""Shapes and obstacles for contacts.

All shapes are exact, but that a rim which lies flat, within a degree, has points around it.
"""

from __future__ import annotations

from robosim.description.obstacles import (
    AnyShape,
    HalfSpace,
    HeightField,
    TriangleMesh,
    as_obstacles,
    obstacle_name,
)

__all__ = [
    "AnyShape",
    "HalfSpace",
    "HeightField",
    "TriangleMesh",
    "as_obstacles",
    "obstacle_name",
]
