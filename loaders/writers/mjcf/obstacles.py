"""Obstacles of the world to MJCF: geoms of the world that collide with all moving bodies."""

from __future__ import annotations

import numpy as np

from robosim.description.body import Geometry
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape, TriangleMesh, obstacle_name
from robosim.loaders.writers.mjcf.document import SAME, Document, friction
from robosim.loaders.writers.parts import Lost, child

# Attributes of a geom of the world that collides with all moving bodies, with its friction.
TOUCHED = {"contype": "0", "conaffinity": "1", "friction": friction(0.0)}


def write_obstacles(document: Document) -> None:
    """Write the obstacles as geoms of the world."""
    if not document.mechanism.obstacles:
        return
    # Imported here, as peers need the kernels.
    from robosim.peers.mujoco_obstacles import surface_of

    for obstacle in document.mechanism.obstacles:
        if isinstance(obstacle, TriangleMesh):
            document.lost.add("obstacles whose mesh MuJoCo would take the hull of",
                          obstacle_name(obstacle))  # fmt: skip
            continue
        name = document.names["geom"].own(obstacle.name or "obstacle")
        attributes = {"name": name} | _touching(obstacle, document.mechanism, document.lost)
        if not isinstance(obstacle, Geometry):
            geom, field = surface_of(obstacle, name)
            if field is not None:
                child(document.assets, "hfield", **field)
            child(document.world, "geom", **attributes, **geom)
            continue
        document.shape(document.world, "collision", obstacle, np.eye(3), np.zeros(3))
        geom = document.world[-1]
        geom.attrib.update(attributes)
        geom.set("group", "3" if _is_drawn(obstacle, document.mechanism) else "0")
    names = set(map(obstacle_name, document.mechanism.obstacles))
    for pair in document.mechanism.excluded_pairs:
        if not names.isdisjoint(pair):
            document.lost.add("excluded pairs with obstacles", " - ".join(pair))


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
