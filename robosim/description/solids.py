"""Volume, centre of mass and inertia of primitives and of closed meshes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.description.geometry import Geometry
from robosim.description.qhull import hull_of
from robosim.errors import ModelError

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


def box(half: Array) -> Solid:
    """A box with half edges (3,) [m]."""
    volume, squares = 8 * float(np.prod(half)), np.square(half)
    return _about_origin(volume, *(volume * (squares.sum() - squares) / 3))


def ellipsoid(half: Array) -> Solid:
    """An ellipsoid with half axes (3,) [m]."""
    volume, squares = 4 / 3 * np.pi * float(np.prod(half)), np.square(half)
    return _about_origin(volume, *(volume * (squares.sum() - squares) / 5))


def cylinder(radius: float, half: float) -> Solid:
    """A cylinder along z, with half its length [m]."""
    volume = 2 * np.pi * radius**2 * half
    across = volume * (radius**2 / 4 + half**2 / 3)
    return _about_origin(volume, across, across, volume * radius**2 / 2)


def cone(radius: float, half: float, top: float = 0.0) -> Solid:
    """A cone along z with the radius of its base, half its length and the radius of its top [m]."""
    # Moments over the length of the radius squared, from the base on, and of its fourth power.
    a, b, length = radius, top - radius, 2 * half
    squares = [a * a / (k + 1) + 2 * a * b / (k + 2) + b * b / (k + 3) for k in range(3)]
    volume, first, second = (np.pi * length ** (k + 1) * squares[k] for k in range(3))
    fourth = np.pi * length * sum(radius ** (4 - k) * top**k for k in range(5)) / 5
    height = first / volume
    across = fourth / 4 + second - volume * height**2
    center = np.array((0.0, 0.0, height - half))
    return Solid(volume, center, np.diag((across, across, fourth / 2)))


def capsule(radius: float, half: float) -> Solid:
    """A capsule along z, with half the length [m] of its straight part."""
    tube, ball = cylinder(radius, half), ellipsoid(np.full(3, radius))
    # Each half of the ball has its centre 3/8 of a radius beyond the end of the tube.
    moved = ball.volume * (half**2 + 3 / 4 * half * radius)
    inertia = tube.inertia + ball.inertia + np.diag((moved, moved, 0.0))
    return Solid(tube.volume + ball.volume, np.zeros(3), inertia)


def _about_origin(volume: float, xx: float, yy: float, zz: float) -> Solid:
    return Solid(volume, np.zeros(3), np.diag((xx, yy, zz)))


def solid(shape: Geometry) -> Solid:
    """The solid of a shape, in its frame; the convex hull of a mesh that is not closed.

    Raises
    ------
    ModelError
        For a shape without a volume.
    """
    size = shape.size
    match shape.kind:
        case "box":
            found = box(np.array(size) / 2)
        case "sphere":
            found = ellipsoid(np.full(3, size[0]))
        case "cylinder":
            found = cylinder(size[0], size[1] / 2)
        case "cone":
            found = cone(size[0], size[1] / 2, *size[2:])
        case "capsule":
            found = capsule(size[0], size[1] / 2)
        case "ellipsoid":
            found = ellipsoid(np.array(size))
        case _:
            assert shape.vertices is not None
            assert shape.faces is not None
            closed = is_closed(shape.vertices, shape.faces)
            found = enclosed(shape.vertices, shape.faces) if closed else convex_hull(shape.vertices)
    if not found.volume > 0:
        raise ModelError(
            f"encloses no volume ({found.volume:.3g} m^3), so that it has no density",
            element=f"geometry '{shape.name or shape.kind}'",
        )
    return found


def is_closed(vertices: Array, faces: Faces, once: bool = True) -> bool:
    """Whether a mesh encloses a volume: each edge occurs once in both directions.

    Vertices (n, 3) at equal positions count as one. Without `once`, edges may occur several times,
    as often in one direction as in the other: where solids touch along an edge, for example.
    """
    if len(faces) == 0:
        return False
    triangles = places(vertices)[faces]
    distinct = np.all(triangles != np.roll(triangles, 1, axis=1), axis=1)
    triangles = triangles[distinct]  # triangles without area have no outside
    n = len(vertices)
    begins, ends = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    there, back = np.sort(begins * n + ends), np.sort(ends * n + begins)
    return bool(np.array_equal(there, back) and (not once or np.all(np.diff(there) > 0)))


def places(vertices: Array) -> NDArray[np.int64]:
    """Numbers (n,) of the distinct positions of vertices (n, 3)."""
    # Distinct rows are found by sorting them as bytes.
    rows = np.ascontiguousarray(vertices + 0.0).view(np.dtype((np.void, 24))).ravel()
    return np.asarray(np.unique(rows, return_inverse=True)[1])


def enclosed(vertices: Array, faces: Faces) -> Solid:
    """The solid in a closed mesh, with faces counterclockwise from outside.

    An inverted mesh has a negative volume; for a mesh with holes the result is meaningless.
    """
    # Relative to the middle, so that a mesh far from its origin loses no accuracy.
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    corners = (vertices - middle)[faces]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    # Tetrahedra from the middle to each face: volume, then first and second moments.
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
    """The solid in the convex hull of vertices (n, 3)."""
    try:
        hull = hull_of(vertices)
    except ValueError:
        return Solid(0.0, vertices.mean(axis=0), np.zeros((3, 3)))
    faces = hull.simplices.astype(np.int64)
    a, b, c = (hull.points[faces[:, k]] for k in range(3))
    inwards = np.einsum("mj,mj->m", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inwards] = faces[inwards][:, ::-1]
    return enclosed(vertices, faces)
