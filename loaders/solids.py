"""Volume, centre of mass and inertia of what a triangle mesh encloses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from robosim.loaders import disk_cache

_WORTH_KEEPING = 2000  # faces: fewer are looked at quicker than read from the disk

Array = NDArray[np.float64]
Faces = NDArray[np.int64]


class Solid(NamedTuple):
    """A body of density 1 kg/m^3.

    Attributes
    ----------
    volume : float [m^3]; 0 for what has none, such as a flat mesh
    center : (3,) [m], centre of mass
    inertia : (3, 3) [kg m^2], about the centre of mass
    """

    volume: float
    center: Array
    inertia: Array


def is_closed(vertices: Array, faces: Faces) -> bool:
    """Whether a mesh encloses a volume: each edge is passed once in either direction.

    Vertices (n, 3) at the same place count as one. What was found for large meshes is kept on disk.
    """
    if len(faces) < _WORTH_KEEPING:
        return _closed(vertices, faces)
    name = disk_cache.digest("closed", vertices, faces)

    def compute() -> disk_cache.Arrays:
        return {"closed": np.array(_closed(vertices, faces))}

    return disk_cache.cached(name, compute, lambda found: bool(found["closed"].item()))


def _closed(vertices: Array, faces: Faces) -> bool:
    if len(faces) == 0:
        return False
    # Distinct rows are found by sorting; as complex numbers they would not fit, as bytes they do.
    rows = np.ascontiguousarray(vertices + 0.0).view(np.dtype((np.void, 24))).ravel()
    _, same = np.unique(rows, return_inverse=True)
    triangles = same[faces]
    distinct = np.all(triangles != np.roll(triangles, 1, axis=1), axis=1)
    triangles = triangles[distinct]  # those without area have no outside
    n = len(vertices)
    begins, ends = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    there, back = np.sort(begins * n + ends), np.sort(ends * n + begins)
    return bool(np.array_equal(there, back) and np.all(np.diff(there) > 0))


def enclosed(vertices: Array, faces: Faces) -> Solid:
    """What a closed mesh encloses, faces counterclockwise from outside.

    Of a mesh that is inside out the volume is negative, of one with holes it means nothing.
    """
    # From the middle, so that a mesh far from its origin loses no digits.
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    corners = (vertices - middle)[faces]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    # Tetrahedra from the middle to each face: volume, then first and second moments over it.
    volumes = np.einsum("mj,mj->m", a, np.cross(b, c)) / 6
    volume = float(volumes.sum())
    if volume == 0:
        return Solid(0.0, middle, np.zeros((3, 3)))
    sums = a + b + c
    center = volumes @ sums / (4 * volume)
    second = np.einsum("m,mi,mj->ij", volumes, sums, sums)
    for corner in (a, b, c):
        second += np.einsum("m,mi,mj->ij", volumes, corner, corner)
    second = second / 20 - volume * np.outer(center, center)
    inertia = np.trace(second) * np.eye(3) - second
    return Solid(volume, middle + center, (inertia + inertia.T) / 2)


def convex_hull(vertices: Array) -> Solid:
    """What the convex hull of vertices (n, 3) encloses."""
    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError):
        return Solid(0.0, vertices.mean(axis=0), np.zeros((3, 3)))
    faces = hull.simplices.astype(np.int64)
    a, b, c = (hull.points[faces[:, k]] for k in range(3))
    inwards = np.einsum("mj,mj->m", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inwards] = faces[inwards][:, ::-1]
    return enclosed(vertices, faces)
