"""Shapes of the world for contact, and what may be one.

Accuracy: all is exact but a cylinder. That is exact against planes, faces and spheres, and where
its round side is touched between its ends. Where its rim meets an edge, a corner or a curved side
it counts as the prism of 24 sides around it, up to 0.87 % of the radius nearer than it is.
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
