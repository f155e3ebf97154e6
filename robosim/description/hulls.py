"""Convex hulls of meshes, simplified to a few of their vertices, with the resulting loss.

The loss is the Hausdorff distance between the hull and the simplified one, which lies inside. The
value is exact up to rounding errors; for meshes with more than `THINNED` vertices, the value is an
upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.description.qhull import NoHullError, hull_of

Array = NDArray[np.float64]

HULL_POINTS = 32
FEW = 48  # points whose planes are found without Qhull
# Meshes with more vertices are first reduced to one for each cell of a grid, which bounds time and
# memory (some 2 s, 0.2 GB).
THINNED = 100_000
_CELLS = 160  # number of cells along the longest side
_FLAT = 1e-9  # of the size; thinner hulls are flat
_INSIDE = 1e-12  # of the size: rounding error of a distance from a plane


class Hull(NamedTuple):
    """A simplified convex hull.

    Attributes
    ----------
    points : (n, 3) [m], vertices of the mesh
    loss : float [m], Hausdorff distance from the convex hull of the mesh
    vertices : int, of the convex hull before it was simplified
    """

    points: Array
    loss: float
    vertices: int


def simplified_hull(vertices: Array, count: int = HULL_POINTS) -> Hull:
    """At most `count` vertices (n, 3) of the convex hull, which keep its bounding box.

    The extreme vertices along the six axes and the eight diagonals are chosen first. Then the
    vertex farthest from the hull of those chosen is added, one by one. Equal vertices give equal
    points.
    """
    if len(vertices) == 0:
        return Hull(vertices, 0.0, 0)
    kept, loss = _thinned(vertices)
    corners, flat, thickness = _corners(kept)
    loss += thickness
    if len(corners) <= count:
        return Hull(kept[corners], loss, len(corners))
    # In coordinates of its plane, a flat hull is a polygon, whose sides take the place of faces.
    chosen, lost = _chosen(kept[corners], flat[corners], count)
    return Hull(kept[corners[np.sort(chosen)]], loss + lost, len(corners))


def planes(points: Array) -> Array | None:
    """Planes (n, 4) of the hull of points (n, 3), normals outwards; None for a flat hull."""
    if len(points) <= FEW:
        return _planes_of_few(points)
    try:
        return np.asarray(hull_of(points).equations)
    except ValueError:
        return None


def _planes_of_few(points: Array) -> Array | None:
    """As `planes`, by trying all triples of points, in less time than an import of Qhull takes.

    Several triples may give the same plane. Planes of thin triangles are kept if they may be one
    within rounding errors. So a point inside can only seem nearer to the surface than it is.
    """
    if len(points) < 4:
        return None
    centred = points - points.mean(axis=0)
    extents = np.linalg.svd(centred, compute_uv=False)
    if extents[2] <= _FLAT * extents[0]:
        return None
    a, b, c = centred[np.array(list(combinations(range(len(points)), 3)))].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1) / extents[0] ** 2
    solid = areas > _FLAT
    normals = normals[solid] / np.linalg.norm(normals[solid], axis=1)[:, None]
    heights = centred @ normals.T - np.einsum("mj,mj->m", a[solid], normals)
    rounding = 16 * np.finfo(float).eps * extents[0] / areas[solid]
    found = [sign * normals[np.all(sign * heights <= rounding, axis=0)] for sign in (1.0, -1.0)]
    outwards = np.vstack(found)
    return np.column_stack((outwards, -(points @ outwards.T).max(axis=0)))


def _thinned(vertices: Array) -> tuple[Array, float]:
    """(vertices, largest distance of an omitted vertex from a kept one)."""
    if len(vertices) <= THINNED:
        return vertices, 0.0
    low = vertices.min(axis=0)
    size = float(np.ptp(vertices, axis=0).max())
    if size == 0:
        return vertices[:1], 0.0
    cell = np.minimum((vertices - low) * (_CELLS / size), _CELLS - 1).astype(np.int64)
    _, first = np.unique(
        (cell[:, 0] * _CELLS + cell[:, 1]) * _CELLS + cell[:, 2], return_index=True
    )
    # Extreme vertices are also kept, so that the bounding box is unchanged.
    kept = np.unique(np.concatenate((first, _extremes(vertices))))
    return vertices[kept], np.sqrt(3) * size / _CELLS


def _corners(vertices: Array) -> tuple[NDArray[np.int64], Array, float]:
    """The vertices of the convex hull of `vertices` (n, 3).

    Returns
    -------
    indices of the hull's vertices, in increasing order
    coordinates (n, d) of all vertices along the d directions in which they extend
    thickness [m] that was neglected in the other directions
    """
    centred = vertices - vertices.mean(axis=0)
    _, extents, axes = np.linalg.svd(centred, full_matrices=False)
    d = int(np.sum(extents > _FLAT * max(extents[0], np.finfo(float).tiny)))
    while True:
        flat = vertices if d == 3 else centred @ axes[:d].T
        thickness = float(np.linalg.norm(centred @ axes[d:].T, axis=1).max(initial=0.0))
        if d == 0:
            return np.array([0]), flat, thickness
        if d == 1:
            ends = {int(np.argmin(flat[:, 0])), int(np.argmax(flat[:, 0]))}
            return np.array(sorted(ends)), flat, thickness
        try:
            return np.sort(hull_of(flat).vertices).astype(np.int64), flat, thickness
        except NoHullError:  # too thin for Qhull
            d -= 1


def _extremes(points: Array) -> NDArray[np.int64]:
    axes = np.vstack((np.eye(3), -np.eye(3)))
    diagonals = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return np.unique(np.argmax(points @ np.vstack((axes, diagonals)).T, axis=0))


def _chosen(corners: Array, flat: Array, count: int) -> tuple[list[int], float]:
    """(indices of `count` corners, largest distance of another corner from their hull).

    As points are added, their hull grows and all distances decrease. So old distances are upper
    bounds, and only corners with the largest ones are measured again.
    """
    chosen = _extremes(corners).tolist()[:count]
    bounds = np.min(np.linalg.norm(flat[:, None] - flat[chosen][None], axis=2), axis=1)
    while True:
        surface = _Surface(flat[chosen])
        farthest = _farthest(surface, flat, bounds)
        if len(chosen) >= count or bounds[farthest] <= surface.rounding:
            return chosen, float(bounds[farthest])
        chosen.append(farthest)
        bounds[farthest] = 0.0


def _farthest(surface: _Surface, points: Array, bounds: Array) -> int:
    """The point farthest from a hull; `bounds` on the distances are updated."""
    order = np.argsort(-bounds, kind="stable")
    best, begin, size = int(order[0]), 0, 32
    while begin < len(order):
        batch = order[begin : begin + size]
        if begin > 0 and bounds[best] >= bounds[batch[0]]:
            break
        bounds[batch] = surface.distances(points[batch])
        best = int(order[np.argmax(bounds[order[: begin + len(batch)]])])
        begin += len(batch)
        size = min(2 * size, 1024)  # bounds the memory
    return best


class _Surface:
    """The faces and edges of the hull of points (n, d), for distances from it; d is 2 or 3."""

    def __init__(self, points: Array) -> None:
        self.rounding = _INSIDE * float(np.ptp(points, axis=0).max())
        try:
            hull = hull_of(points)
            simplices = hull.simplices
            self._planes: Array | None = np.asarray(hull.equations)
        except ValueError:
            # The first points lie in a plane. Distances from the lines between them are too large,
            # but the next points, farther from the plane, are still chosen.
            simplices = np.array(list(combinations(range(len(points)), points.shape[1])))
            self._planes = None
        pairs = {tuple(sorted(p)) for s in simplices.tolist() for p in combinations(s, 2)}
        ends = points[np.array(sorted(pairs))]
        self._a, self._u = ends[:, 0], ends[:, 1] - ends[:, 0]
        self._sides = []
        if self._planes is not None and points.shape[1] == 3:
            self._sides = list(_sides(points[simplices], self._planes[:, :3]))

    def distances(self, points: Array) -> Array:
        """Distances (n,) of points (n, d) from the hull, 0 inside."""
        w = points[:, None] - self._a
        along = np.einsum("nej,ej->ne", w, self._u)
        along = np.clip(along / np.einsum("ej,ej->e", self._u, self._u), 0.0, 1.0)
        found = np.linalg.norm(w - along[:, :, None] * self._u, axis=2).min(axis=1)
        if self._planes is None:
            return found
        heights = points @ self._planes[:, :-1].T + self._planes[:, -1]
        if points.shape[1] == 3:
            above = heights > 0
            for normals, offsets in self._sides:
                above &= points @ normals.T >= offsets
            found = np.minimum(found, np.where(above, heights, np.inf).min(axis=1))
        return np.where(heights.max(axis=1) <= self.rounding, 0.0, found)


def _sides(faces: Array, normals: Array) -> Iterator[tuple[Array, Array]]:
    """Planes (m, 3), (m,) through edges of triangles (m, 3, 3), normal to them, facing inwards."""
    for k in range(3):
        a, b, c = (faces[:, (k + i) % 3] for i in range(3))
        inwards = np.cross(normals, b - a)
        inwards *= np.sign(np.einsum("mj,mj->m", inwards, c - a))[:, None]
        yield inwards, np.einsum("mj,mj->m", inwards, a)
