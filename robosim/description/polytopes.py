"""Convex polytopes: the hull of points with closed faces, in spite of rounding errors.

Qhull divides a hull into triangles. Triangles of a flat face are coplanar up to rounding errors, so
that thin ones have no reliable normals. Triangles are therefore merged into faces. From the largest
one on, each face takes adjacent triangles in its plane, one at a time and only if the face remains
a disc. So the faces always close, each edge belongs to two faces, and Euler's V - E + F is 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.description.qhull import NoHullError, hull_of
from robosim.errors import ModelError
from robosim.validation import Array

Indices = NDArray[np.int64]

FLAT = 1e-9  # of a hull's size; a thinner hull has no volume
_ONE_PLANE = 1e-7  # of a hull's size: largest distance of a face's points from its plane ...
_ONE_SIDE = 1e-2  # ... unless this share of the hull's thickness is smaller


class Polytope(NamedTuple):
    """A convex polytope.

    Attributes
    ----------
    vertices : (n, 3)
    faces : vertices of each face, counterclockwise from outside
    normals : (m, 3), of the faces, unit vectors that point outwards
    """

    vertices: Array
    faces: list[list[int]]
    normals: Array


class _Triangles(NamedTuple):
    """A closed surface of triangles, counterclockwise from outside."""

    corners: Indices  # (n, 3)
    neighbours: Indices  # (n, 3), beyond the sides that begin at the corners
    normals: Array  # (n, 3), unit normals of Qhull, also of slivers


def polytope(vertices: Array, faces: list[list[int]]) -> Polytope:
    """A polytope with known vertices and faces."""
    return Polytope(vertices, faces, np.array([_unit(_area(vertices[face])) for face in faces]))


def convex_hull(points: Array, element: str) -> Polytope:
    """The convex hull of points (n, 3).

    Raises
    ------
    ModelError
        If it is thinner than `FLAT` of its size, or cannot be found; names the element.

    Notes
    -----
    For thicknesses down to a millionth of the size, no point is outside of the plane of any face by
    more than 3e-7 of the size.
    """
    points = np.unique(points, axis=0)
    size = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    thickness = _thickness(points) if len(points) > 3 else 0.0
    if not thickness > FLAT * size:
        raise ModelError("a mesh without volume cannot be hit; make it thicker", element=element)
    triangles = _triangulated(points, element)
    return _merged(points, triangles, min(_ONE_PLANE * size, _ONE_SIDE * thickness))


def _thickness(points: Array) -> float:
    """Extent of points (n, 3) along their principal axis of least variance [m]."""
    centred = points - points.mean(axis=0)
    # From the triangular factor, as a decomposition of all points would take n by n numbers.
    axes = np.linalg.svd(np.linalg.qr(centred, mode="r"))[2]
    return float(np.ptp(centred @ axes[2]))


def _triangulated(points: Array, element: str) -> _Triangles:
    """The hull of points as a closed surface of triangles."""
    # Qhull assumes coordinates as accurate as the largest of them, or as 1.
    points = (points - points.mean(axis=0)) / np.ptp(points, axis=0).max()
    # Without joggled points, Qhull may merge facets, whose triangles may not close.
    problem = "its triangles do not close"
    for options in ("Qt", "QJ"):
        try:
            hull = hull_of(points, options)
        except NoHullError as error:
            problem = str(error).strip().partition("\n")[0]
            continue
        triangles = _closed(points, hull.simplices.astype(np.int64), hull.equations[:, :3])
        if triangles is not None:
            return triangles
    raise ModelError(f"its convex hull fails: {problem}", element=element)


def _closed(points: Array, corners: Indices, normals: Array) -> _Triangles | None:
    """Triangles in any orientation, oriented and connected; None if they are not a sphere."""
    n = len(corners)
    sides = np.sort(np.stack((corners, np.roll(corners, -1, axis=1)), axis=2).reshape(-1, 2))
    order = np.lexsort(sides.T)
    pairs = sides[order].reshape(-1, 4) if n % 2 == 0 else np.zeros((1, 4))
    twice = np.all(pairs[:, :2] == pairs[:, 2:]) and np.all(np.any(np.diff(pairs, axis=0), axis=1))
    if not twice or len(np.unique(corners)) != n // 2 + 2:
        return None
    beyond = np.empty(3 * n, dtype=np.int64)
    beyond[order[0::2]], beyond[order[1::2]] = order[1::2], order[0::2]
    flipped = _flipped(points, corners, beyond, normals)
    if flipped is None:
        return None
    neighbours = beyond.reshape(-1, 3) // 3
    corners[flipped] = corners[flipped][:, ::-1]
    neighbours[flipped] = neighbours[flipped][:, [1, 0, 2]]
    return _Triangles(corners, neighbours, normals)


def _flipped(
    points: Array, corners: Indices, beyond: Indices, normals: Array
) -> NDArray[np.bool_] | None:
    """Which triangles are clockwise from outside, None if some are undetermined.

    The orientation of the largest one follows from its normal, that of each other one from a
    neighbour, as slivers have no normals. Sides are numbered 3 t + k; `beyond` contains the number
    of the other triangle's side.
    """
    areas = _areas(points, corners)
    start = int(np.argmax(np.linalg.norm(areas, axis=1)))
    first, last = corners.ravel().tolist(), np.roll(corners, -1, axis=1).ravel().tolist()
    other = beyond.tolist()
    found = {start: bool(areas[start] @ normals[start] < 0)}
    stack = [start]
    while stack:
        t = stack.pop()
        for side in range(3 * t, 3 * t + 3):
            # Neighbours with equal orientations pass their common side in opposite directions.
            alike = first[side] == last[other[side]]
            turned = found[t] if alike else not found[t]
            if other[side] // 3 not in found:
                found[other[side] // 3] = turned
                stack.append(other[side] // 3)
            elif found[other[side] // 3] != turned:
                return None
    if len(found) < len(corners):
        return None
    return np.array([found[t] for t in range(len(corners))])


def _merged(points: Array, triangles: _Triangles, tolerance: float) -> Polytope:
    """The polytope whose faces consist of the triangles."""
    face_of = _grown(points, triangles, tolerance)
    corners = triangles.corners
    # Edges between two faces, from corner to corner around the face that they belong to.
    outer = face_of[triangles.neighbours] != face_of[:, None]
    after: list[dict[int, int]] = [{} for _ in range(int(face_of.max()) + 1)]
    for t, k in np.argwhere(outer).tolist():
        after[face_of[t]][int(corners[t, k])] = int(corners[t, k - 2])
    used = np.unique([v for sides in after for v in sides])
    index = np.zeros(len(points), dtype=np.int64)
    index[used] = np.arange(len(used))
    largest = np.empty(len(after), dtype=np.int64)
    order = np.argsort(np.linalg.norm(_areas(points, corners), axis=1))
    largest[face_of[order]] = order
    faces, normals = [], []
    for sides, triangle in zip(after, largest, strict=True):
        face = [next(iter(sides))]
        while len(face) < len(sides):
            face.append(sides[face[-1]])
        area = _area(points[face])
        flat = np.linalg.norm(area) > tolerance * tolerance
        normals.append(_unit(area) if flat else triangles.normals[triangle])
        faces.append(index[face].tolist())
    return Polytope(points[used], faces, np.array(normals))


def _grown(points: Array, triangles: _Triangles, tolerance: float) -> Indices:
    """The face (n,) of each triangle."""
    corners, neighbours = triangles.corners.tolist(), triangles.neighbours.tolist()
    areas = _areas(points, triangles.corners)
    sizes = np.linalg.norm(areas, axis=1)
    sides = points[triangles.corners] - points[np.roll(triangles.corners, -1, axis=1)]
    sliver = sizes < tolerance * np.linalg.norm(sides, axis=2).max(axis=1)
    face_of = [-1] * len(corners)
    face = -1
    for seed in np.argsort(-sizes, kind="stable").tolist():
        if face_of[seed] >= 0:
            continue
        face += 1
        face_of[seed] = face
        normal = areas[seed] / sizes[seed] if sizes[seed] > 0 else triangles.normals[seed]
        origin = points[corners[seed][0]]
        held, stack = set(corners[seed]), list(neighbours[seed])
        while stack:
            t = stack.pop()
            if face_of[t] >= 0:
                continue
            known = [face_of[other] == face for other in neighbours[t]]
            if sum(known) == 3:  # would close the surface of the face
                continue
            if sum(known) == 1:
                apex = corners[t][known.index(True) - 1]
                # A corner that the face already has would make a hole in the face.
                if apex in held or abs(normal @ (points[apex] - origin)) > tolerance:
                    continue
            if not (sliver[t] or areas[t] @ normal > 0):
                continue
            face_of[t] = face
            held.update(corners[t])
            stack += neighbours[t]
    return np.array(face_of)


def _areas(points: Array, corners: Indices) -> Array:
    """Normals (n, 3) of triangles, with twice their areas as lengths."""
    a, b, c = (points[corners[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def _area(polygon: Array) -> Array:
    """Normal (3,) of a polygon (n, 3), with twice its area as length: Newell's sum."""
    spokes = polygon - polygon[0]
    return np.asarray(np.cross(spokes, np.roll(spokes, -1, axis=0)).sum(axis=0))


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))
