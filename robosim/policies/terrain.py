"""Height of the ground beneath points: the highest surface of all obstacles there.

Rays go down from above. All shapes but meshes have closed forms: where a vertical line leaves the
shape. Heights are -inf where nothing is beneath.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.body import Geometry
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape, HalfSpace, HeightField, TriangleMesh
from robosim.description.polytopes import convex_hull
from robosim.validation import Array

Heights = Callable[[Array, Array], Array]
"""A function of places x, y (m,) [m] that returns heights (m,) [m], world axes."""
UPRIGHT = 1e-12  # difference from 1 of the cosine of a field's tilt
BORDER = 1e-9  # of a triangle's size, by which points may lie beyond its sides
TOGETHER = 1 << 18  # pairs of points and triangles at a time


class Terrain:
    """What a robot walks on: the plane z = 0 of its contact points, and its obstacles.

    A robot with neither contact points nor obstacles is over the plane z = 0.

    Parameters
    ----------
    robot : Mechanism

    Raises
    ------
    ModelError
        For a mesh that has no hull.
    """

    def __init__(self, robot: Mechanism) -> None:
        self._surfaces = [_surface(one) for one in robot.obstacles]
        if robot.contacts or not robot.obstacles:
            self._surfaces.append(lambda x, y: np.zeros_like(x))

    def heights(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Heights [m] of the highest surface at places x, y [m] of any shape, world axes."""
        x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        places = x.ravel(), y.ravel()
        found = np.full(x.size, -np.inf)
        for surface in self._surfaces:
            np.maximum(found, surface(*places), out=found)
        return found.reshape(x.shape)


def _surface(obstacle: AnyShape) -> Heights:
    """The height of an obstacle's surface."""
    if isinstance(obstacle, HalfSpace):
        return _plane(np.asarray(obstacle.normal), np.asarray(obstacle.point))
    if isinstance(obstacle, HeightField):
        return _field(obstacle)
    if isinstance(obstacle, TriangleMesh):
        shape = obstacle.geometry
        assert shape.vertices is not None
        assert shape.faces is not None
        R, x = quaternions.rotation_matrix(np.asarray(shape.quaternion)), np.asarray(shape.position)
        return _triangles(np.asarray(shape.vertices) @ R.T + x, np.asarray(shape.faces))
    return _solid(obstacle)


def _plane(normal: Array, point: Array) -> Heights:
    """A half-space; one that is vertical or looks down has no surface to walk on."""
    if normal[2] <= 0.0:
        return lambda x, y: np.full(len(x), -np.inf)
    return lambda x, y: (
        point[2] - (normal[0] * (x - point[0]) + normal[1] * (y - point[1])) / normal[2]
    )


def _field(field: HeightField) -> Heights:
    """A height field: its triangles in closed form where its axis is vertical."""
    heights, size = np.asarray(field.heights), np.asarray(field.size)
    R, at = quaternions.rotation_matrix(np.asarray(field.quaternion)), np.asarray(field.position)
    last = np.array(heights.shape) - 1
    if R[2, 2] < 1.0 - UPRIGHT:
        return _triangles(*_of_grid(heights, size, R, at))

    def surface(x: Array, y: Array) -> Array:
        local = (np.column_stack((x, y)) - at[:2]) @ R[:2, :2]
        u = (local / size + 0.5) * last
        inside = np.all((u >= -BORDER) & (u <= last + BORDER), axis=1)
        cell = np.clip(np.floor(u), 0, last - 1).astype(int)
        (i, j), (a, b) = cell.T, (u - cell).T
        h00, h10, h01, h11 = (heights[i + k, j + m] for k, m in ((0, 0), (1, 0), (0, 1), (1, 1)))
        lower = h00 + a * (h10 - h00) + b * (h11 - h10)
        upper = h00 + a * (h11 - h01) + b * (h01 - h00)
        return np.where(inside, at[2] + np.where(a >= b, lower, upper), -np.inf)

    return surface


def _of_grid(heights: Array, size: Array, R: Array, at: Array) -> tuple[Array, Array]:
    """Vertices (n, 3) and faces (m, 3) of a height field, in the world."""
    nx, ny = heights.shape
    x, y = (np.linspace(-s / 2, s / 2, n) for s, n in zip(size, (nx, ny), strict=True))
    grid = np.stack((*np.meshgrid(x, y, indexing="ij"), heights), axis=-1).reshape(-1, 3)
    first = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).ravel()
    lower = np.column_stack((first, first + ny, first + ny + 1))
    upper = np.column_stack((first, first + ny + 1, first + 1))
    return grid @ R.T + at, np.concatenate((lower, upper))


def _triangles(vertices: Array, faces: Array) -> Heights:
    """Triangles, of which those that look up are surfaces."""
    corners = vertices[faces]
    e, g = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = e[:, 0] * g[:, 1] - e[:, 1] * g[:, 0]
    chosen = area > 0.0
    first, e, g, area = corners[chosen, 0], e[chosen], g[chosen], area[chosen]

    def surface(x: Array, y: Array) -> Array:
        found = np.full(len(x), -np.inf)
        some = max(1, TOGETHER // max(1, len(area)))
        for begin in range(0, len(x), some):
            part = slice(begin, begin + some)
            dx, dy = x[part, None] - first[:, 0], y[part, None] - first[:, 1]
            a = (dx * g[:, 1] - dy * g[:, 0]) / area
            b = (e[:, 0] * dy - e[:, 1] * dx) / area
            inside = (a >= -BORDER) & (b >= -BORDER) & (a + b <= 1.0 + BORDER)
            z = np.where(inside, first[:, 2] + a * e[:, 2] + b * g[:, 2], -np.inf)
            found[part] = z.max(axis=1, initial=-np.inf)
        return found

    return surface


def _solid(shape: Geometry) -> Heights:
    """A convex shape: the upper end of the part of a vertical line that is inside."""
    R, at = quaternions.rotation_matrix(np.asarray(shape.quaternion)), np.asarray(shape.position)
    up = R[2]  # the world's z axis in the shape's axes

    def surface(x: Array, y: Array) -> Array:
        # Points of a line are base + z * up, in the shape's axes.
        base = np.column_stack((x - at[0], y - at[1], np.full(len(x), -at[2]))) @ R
        found = np.full(len(x), -np.inf)
        for parts in _convex_parts(shape):
            low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
            for part in parts:
                a, b = part(base, up)
                np.maximum(low, a, out=low)
                np.minimum(high, b, out=high)
            np.maximum(found, np.where(low <= high, high, -np.inf), out=found)
        return found

    return surface


Part = Callable[[Array, Array], tuple[Array, Array]]
"""A function of lines (n, 3) and their direction (3,): where each enters and leaves."""


def _convex_parts(shape: Geometry) -> Iterator[tuple[Part, ...]]:
    """Convex shapes whose union is the shape, each an intersection of simple ones."""
    size, z = np.asarray(shape.size), np.array((0.0, 0.0, 1.0))
    if shape.kind == "box":
        normals = np.concatenate((np.eye(3), -np.eye(3)))
        yield (_between(normals, np.tile(size / 2, 2)),)
    elif shape.kind == "mesh":
        hull = convex_hull(np.asarray(shape.vertices), f"geometry of '{shape.name}'")
        points = np.array([hull.vertices[face[0]] for face in hull.faces])
        yield (_between(hull.normals, (hull.normals * points).sum(axis=1)),)
    elif shape.kind in ("sphere", "ellipsoid"):
        yield (_round(np.zeros(3), np.broadcast_to(size, 3)),)
    else:
        radius, half = size[0], size[1] / 2
        ends = _between(np.stack((z, -z)), np.full(2, half))
        yield _round(np.zeros(3), np.array((radius, radius, np.inf))), ends
        if shape.kind == "capsule":
            for way in (half, -half):
                yield (_round(way * z, np.full(3, radius)),)


def _between(normals: Array, offsets: Array) -> Part:
    """The points p with normals @ p <= offsets."""

    def part(base: Array, up: Array) -> tuple[Array, Array]:
        rate, room = normals @ up, offsets - base @ normals.T
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = room / rate
        along = np.abs(rate) < UPRIGHT
        low = np.where((rate < 0.0) & ~along, ends, -np.inf).max(axis=1)
        high = np.where((rate > 0.0) & ~along, ends, np.inf).min(axis=1)
        outside = ((room < 0.0) & along).any(axis=1)
        return np.where(outside, np.inf, low), high

    return part


def _round(centre: Array, semi_axes: Array) -> Part:
    """An ellipsoid; along an infinite axis, a cylinder."""

    def part(base: Array, up: Array) -> tuple[Array, Array]:
        p, d = (base - centre) / semi_axes, up / semi_axes
        a, b, c = d @ d, p @ d, (p * p).sum(axis=1) - 1.0
        if a < UPRIGHT * UPRIGHT:  # along the axis of a cylinder
            return np.where(c <= 0.0, -np.inf, np.inf), np.full(len(base), np.inf)
        under = b * b - a * c
        root = np.sqrt(np.maximum(under, 0.0))
        return np.where(under >= 0.0, (-b - root) / a, np.inf), (root - b) / a

    return part
