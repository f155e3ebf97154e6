"""Cones and truncated cones: their slant, and meshes that stand for them where there are none."""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from robosim.description.geometry import Geometry
from robosim.validation import Array

SIDES = 96


def slant(size: tuple[float, ...]) -> tuple[float, float]:
    """Cosine and sine of the angle by which normals of a cone's side look towards its top.

    The size is that of the `Geometry`.
    """
    narrower = size[0] - top_of(size)
    along = float(np.hypot(narrower, size[1]))
    return size[1] / along, narrower / along


def top_of(size: tuple[float, ...]) -> float:
    """Radius of a cone's top [m], 0 for an apex."""
    return size[2] if len(size) > 2 else 0.0


def rims_of(geometry: Geometry) -> list[tuple[float, float]]:
    """(z, radius) [m] of the circles that a cylinder or a cone ends at, an apex left out."""
    half, base = geometry.size[1] / 2, geometry.size[0]
    top = base if geometry.kind == "cylinder" else top_of(geometry.size)
    return [(-half, base), (half, top)] if top > 0 else [(-half, base)]


def pyramid(shape: Geometry) -> Geometry:
    """The mesh that stands for a cone, always the same for a shape; other shapes as they are.

    The mesh has ``SIDES`` sides, whose corners lie on the rims.
    """
    if shape.kind != "cone":
        return shape
    if shape not in _MADE:
        rings = [_ring(z, radius) for z, radius in rims_of(shape)]
        if len(rings) == 1:
            rings.append(np.array([[0.0, 0.0, shape.size[1] / 2]]))
        low = np.arange(SIDES)
        following = (low + 1) % SIDES
        n = len(rings[1])
        high, next_high = SIDES + low % n, SIDES + following % n
        faces = [np.column_stack((low, following, high))]
        faces.append(np.column_stack((0 * low[1:-1], following[1:-1], low[1:-1])))
        if n > 1:
            faces.append(np.column_stack((following, next_high, high)))
            faces.append(np.column_stack((0 * low[1:-1] + SIDES, high[1:-1], next_high[1:-1])))
        vertices, triangles = np.vstack(rings), np.vstack(faces)
        _MADE[shape] = replace(shape, kind="mesh", size=(), vertices=vertices, faces=triangles)
    return _MADE[shape]


_MADE: WeakKeyDictionary[Geometry, Geometry] = WeakKeyDictionary()


def _ring(z: float, radius: float) -> Array:
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    return np.column_stack((radius * np.cos(angles), radius * np.sin(angles), np.full(SIDES, z)))
