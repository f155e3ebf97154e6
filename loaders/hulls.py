"""Convex hulls of meshes: simplified ones, cached on disk, and the faces of exact ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.description import hulls
from robosim.description.hulls import HULL_POINTS, Hull
from robosim.description.qhull import hull_of
from robosim.loaders import disk_cache
from robosim.validation import Array

_WORTH_KEEPING = 64  # vertices; with fewer, a computation is faster than reading from disk


def simplified_hull(vertices: Array, count: int = HULL_POINTS) -> Hull:
    """`robosim.description.hulls.simplified_hull`, from the cache if possible."""
    if len(vertices) < _WORTH_KEEPING:
        return hulls.simplified_hull(vertices, count)

    def compute() -> disk_cache.Arrays:
        hull = hulls.simplified_hull(vertices, count)
        return {"points": hull.points, "told": np.array((hull.loss, hull.vertices))}

    return disk_cache.cached(disk_cache.digest(f"hull {count}", vertices), compute, _decoded)


def _decoded(found: disk_cache.Arrays) -> Hull:
    points = found["points"].astype(np.float64, casting="no").reshape(-1, 3)
    loss, n = found["told"].astype(np.float64, casting="no").tolist()
    if not (np.all(np.isfinite(points)) and loss >= 0 and n >= len(points) > 0):
        raise ValueError("not a hull")
    return Hull(points, loss, int(n))


def hull_faces(vertices: Array) -> NDArray[np.int64]:
    """Faces (m, 3) of the convex hull, counterclockwise from outside."""
    try:
        hull = hull_of(vertices)
    except ValueError as error:
        raise ValueError("it has no convex hull") from error
    faces = np.array(hull.simplices, dtype=np.int64)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return faces
