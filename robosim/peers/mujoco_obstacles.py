"""Obstacles as geoms of MuJoCo's world: planes, height fields and shapes.

The cells of a height field have the same two triangles in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.body import Body, Geometry
from robosim.description.cones import pyramid
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import (
    AnyShape,
    HalfSpace,
    HeightField,
    TriangleMesh,
    obstacle_name,
)
from robosim.errors import PeerError

BASE = 0.1
"""Thickness of the solid base that MuJoCo requires below a height field [m]."""
WORLD = "4"
"""The bit of obstacles among those of what collides."""
SURFACE = ("restitution", "torsional_friction", "rolling_friction", "anisotropy", "stiffness")


def numbers(values: ArrayLike) -> str:
    """Numbers as the shortest text that is read as the same numbers."""
    return " ".join(repr(float(value) + 0.0) for value in np.ravel(values))


def surface_of(
    obstacle: HalfSpace | HeightField, name: str
) -> tuple[dict[str, str], dict[str, str] | None]:
    """Attributes of the geom of a half-space or a height field, and of the asset of a field."""
    if isinstance(obstacle, HalfSpace):
        return {"type": "plane", "size": "0 0 1", "pos": numbers(obstacle.point),
                "zaxis": numbers(obstacle.normal)}, None  # fmt: skip
    heights = np.asarray(obstacle.heights, dtype=float)
    low, span = heights.min(), np.ptp(heights)
    unit = (heights - low) / span if span > 0 else np.zeros(heights.shape)
    half = np.asarray(obstacle.size) / 2
    # Rows are along x, the first one at the largest y; heights are from 0 to the third size.
    asset = {"name": name, "nrow": str(heights.shape[1]), "ncol": str(heights.shape[0]),
             "size": numbers((*half, span or 1.0, BASE)),
             "elevation": numbers(unit.T[::-1])}  # fmt: skip
    R = quaternions.rotation_matrix(np.asarray(obstacle.quaternion))
    at = np.asarray(obstacle.position) + low * R[:, 2]
    return {"type": "hfield", "hfield": name, "pos": numbers(at),
            "quat": numbers(obstacle.quaternion)}, asset  # fmt: skip


def form_of(shape: Geometry, mesh: str) -> dict[str, str]:
    """Type and size of a shape as a geom; a mesh has the name of its asset."""
    if shape.kind == "mesh":
        return {"type": "mesh", "mesh": mesh}
    size = np.array(shape.size)
    halved = {"box": slice(None), "ellipsoid": slice(0)}.get(shape.kind, slice(1, None))
    size[halved] /= 2.0
    return {"type": shape.kind, "size": numbers(size)}


def write_mesh(assets: Any, shape: Geometry, name: str) -> None:
    """The vertices of a mesh as an asset, of which MuJoCo takes the convex hull."""
    assert shape.vertices is not None
    # As a shell, because MuJoCo otherwise refuses meshes without a volume.
    etree.SubElement(assets, "mesh", name=name, vertex=numbers(shape.vertices), inertia="shell")


def write_obstacles(root: Any, world: Any, robot: Mechanism, soft: Mapping[str, str]) -> None:
    """Write the obstacles of a robot as geoms of the world, which collide with bodies alone.

    Raises
    ------
    PeerError
        For an obstacle that MuJoCo does not have.
    """
    names = set(map(obstacle_name, robot.obstacles))
    for pair in robot.excluded_pairs:
        if not names.isdisjoint(pair):
            raise PeerError(f"the excluded pair {' - '.join(pair)} has no MJCF here")
    asset: Any = None
    for k, obstacle in enumerate(robot.obstacles):
        told, name = f"obstacle '{obstacle_name(obstacle)}'", f"obstacle {k}"
        if isinstance(obstacle, TriangleMesh):
            raise PeerError(f"{told} is a mesh, of which MuJoCo would take the convex hull")
        for what in SURFACE:
            if getattr(obstacle, what):
                raise PeerError(f"{told}: {what.replace('_', ' ')} has no MJCF here")
        if np.any(obstacle.surface_velocity) or np.any(obstacle.surface_spin):
            raise PeerError(f"{told}: a surface that moves has no MJCF here")
        asset = etree.SubElement(root, "asset") if asset is None else asset
        if isinstance(obstacle, Geometry):
            geom = form_of(obstacle, name)
            geom |= {"pos": numbers(obstacle.position), "quat": numbers(obstacle.quaternion)}
            if obstacle.kind == "mesh":
                write_mesh(asset, obstacle, name)
        else:
            geom, field = surface_of(obstacle, name)
            if field is not None:
                etree.SubElement(asset, "hfield", field)
        etree.SubElement(
            world, "geom", geom, contype=WORLD, conaffinity="0", **_friction(robot, obstacle, told),
            **soft,
        )  # fmt: skip


def _friction(robot: Mechanism, obstacle: AnyShape, told: str) -> dict[str, str]:
    """Attributes with which a contact has the lower friction of both shapes.

    MuJoCo takes the higher friction, or that of the geom with the higher priority.
    """
    shapes = [shape.friction for body in robot.bodies for shape in body.collisions]
    mu = obstacle.friction
    if all(mu >= other for other in shapes):
        return {"friction": "0 0 0"}
    if all(mu <= other for other in shapes):
        return {"friction": numbers((mu, 0.0, 0.0)), "priority": "1"}
    raise PeerError(
        f"{told}: its friction, {mu:g}, is higher than that of some links and lower than that of "
        "others, which has no MJCF here"
    )


def without_cones(robot: Mechanism) -> Mechanism:
    """A mechanism in which meshes stand for cones, or the same one if it has none."""
    shapes = [s for body in robot.bodies for s in (*body.collisions, *body.visuals)]
    world = [s for s in (*robot.obstacles, *robot.world_visuals) if isinstance(s, Geometry)]
    if all(shape.kind != "cone" for shape in (*shapes, *world)):
        return robot

    def plain(body: Body) -> Body:
        collisions, visuals = map(pyramid, body.collisions), map(pyramid, body.visuals)
        return replace(body, collisions=tuple(collisions), visuals=tuple(visuals))

    return replace(
        robot,
        bodies=tuple(map(plain, robot.bodies)),
        obstacles=tuple(pyramid(s) if isinstance(s, Geometry) else s for s in robot.obstacles),
        world_visuals=tuple(map(pyramid, robot.world_visuals)),
    )
