"""Obstacles of the world to MJCF: geoms of the world that collide with all moving bodies."""

from __future__ import annotations

import numpy as np
from lxml import etree

from robosim import quaternions
from robosim.description.body import Geometry
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import (
    AnyShape,
    HalfSpace,
    HeightField,
    TriangleMesh,
    obstacle_name,
)
from robosim.loaders.writers.mjcf.document import SAME, Document, friction
from robosim.loaders.writers.parts import Lost, child, text

# [m], solid base that MuJoCo requires below the lowest point of a height field
_BASE = 0.1


# Attributes of a geom of the world that collides with all moving bodies, with its friction.
TOUCHED = {"contype": "0", "conaffinity": "1", "friction": friction(0.0)}


def write_obstacles(document: Document) -> None:
    """Write the obstacles as geoms of the world."""
    for obstacle in document.mechanism.obstacles:
        if isinstance(obstacle, TriangleMesh):
            document.lost.add("obstacles whose mesh MuJoCo would take the hull of",
                          obstacle_name(obstacle))  # fmt: skip
            continue
        name = document.names["geom"].own(obstacle.name or "obstacle")
        attributes = {"name": name} | _touching(obstacle, document.mechanism, document.lost)
        if not isinstance(obstacle, Geometry):
            attributes |= _surface_of(obstacle, name, document.assets)
            child(document.world, "geom", **attributes)
            continue
        document.shape(document.world, "collision", obstacle, np.eye(3), np.zeros(3))
        geom = document.world[-1]
        geom.attrib.update(attributes)
        geom.set("group", "3" if _is_drawn(obstacle, document.mechanism) else "0")
    names = set(map(obstacle_name, document.mechanism.obstacles))
    for pair in document.mechanism.excluded_pairs:
        if not names.isdisjoint(pair):
            document.lost.add("excluded pairs with obstacles", " - ".join(pair))


def _surface_of(
    obstacle: HalfSpace | HeightField, name: str, assets: etree._Element
) -> dict[str, str]:
    """Attributes of the geom for a half-space or a height field; adds the asset of a field."""
    if isinstance(obstacle, HalfSpace):
        return {"type": "plane", "size": "0 0 1", "pos": text(obstacle.point),
                "zaxis": text(obstacle.normal)}  # fmt: skip
    heights = np.asarray(obstacle.heights, dtype=float)
    low, span = heights.min(), np.ptp(heights)
    unit = (heights - low) / span if span > 0 else np.zeros(heights.shape)
    half = np.asarray(obstacle.size) / 2
    # Rows are along x, the first one at the largest y; heights are from 0 to the third size.
    child(assets, "hfield", name=name, nrow=str(heights.shape[1]),
          ncol=str(heights.shape[0]), size=text((*half, span or 1.0, _BASE)),
          elevation=text(unit.T[::-1]))  # fmt: skip
    R = quaternions.rotation_matrix(np.asarray(obstacle.quaternion))
    at = np.asarray(obstacle.position) + low * R[:, 2]
    return {"type": "hfield", "hfield": name, "pos": text(at),
            "quat": text(obstacle.quaternion)}  # fmt: skip


def _touching(obstacle: AnyShape, mechanism: Mechanism, lost: Lost) -> dict[str, str]:
    """Collision attributes of a geom of the world, with the lower friction of both shapes.

    MuJoCo uses the higher friction, or that of the geom with the higher priority.
    """
    shapes = [shape.friction for body in mechanism.bodies for shape in body.collisions]
    mu = obstacle.friction
    if all(mu >= other for other in shapes):
        return TOUCHED
    if any(mu > other for other in shapes):
        lost.add(
            "friction of obstacles that is lower than that of some links", obstacle_name(obstacle)
        )
        return TOUCHED
    return TOUCHED | {"priority": "1", "friction": friction(mu)}


def _is_drawn(shape: Geometry, mechanism: Mechanism) -> bool:
    """Whether the world has a visual shape in the place of an obstacle."""
    place = (*np.asarray(shape.position), *np.asarray(shape.quaternion))
    for seen in mechanism.world_visuals:
        there = (*np.asarray(seen.position), *np.asarray(seen.quaternion))
        if seen.kind == shape.kind and np.abs(np.subtract(place, there)).max() < SAME:
            return True
    return False
