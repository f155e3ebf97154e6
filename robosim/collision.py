"""Shapes and obstacles for contacts.

All shapes are exact except cylinders. A cylinder is exact against planes, faces and spheres, and on
its round side between its ends. If its rim meets an edge, a corner or a curved side, a
circumscribed prism of 24 sides is used. The distance is then too short by up to 0.87 % of the
radius.
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
