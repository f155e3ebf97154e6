"""Contact points from collision geometry.

A sphere is a point with a radius, a box its corners, a cylinder points on both rims, a capsule
the centres of its two round ends, a mesh vertices of its convex hull. Against flat ground these
carry the same contacts as the shape itself, but for the gaps between the points of a rim or of
a simplified hull.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from robosim import quaternions
from robosim.bodies import Body, ContactPoint, Geometry

Array = NDArray[np.float64]

DEFAULT_FRICTION = 0.8
RIM_POINTS = 12
HULL_POINTS = 32
# Points nearer than this are one, and "inside" means inside by more than this [m].
_SAME = 1e-9


def contact_points(
    body: Body,
    friction: Mapping[str, float] | None = None,
    default_friction: float = DEFAULT_FRICTION,
) -> list[ContactPoint]:
    """The contact points of a body's collision geometry.

    Points strictly inside another collision geometry of the body, which can never be the first
    to touch, and points that coincide are left out. They are named "<link>/<kind><k>".

    Parameters
    ----------
    body : Body
    friction : mapping of link name to Coulomb coefficient
        Where the model file says one.
    default_friction : float
    """
    friction = friction or {}
    shapes = [_Shape(geometry) for geometry in body.collisions]
    counts: dict[tuple[str, str], int] = {}
    found: list[ContactPoint] = []
    taken: dict[float, list[Array]] = {}
    for shape in shapes:
        others = [other for other in shapes if other is not shape]
        link, kind, radius = shape.geometry.name or body.name, shape.geometry.kind, shape.radius
        for point in shape.points:
            if any(other.depth(point) > radius + _SAME for other in others):
                continue
            near = taken.setdefault(radius, [])
            if any(np.max(np.abs(point - other)) < _SAME for other in near):
                continue
            near.append(point)
            k = counts.get((link, kind), 0)
            counts[link, kind] = k + 1
            found.append(
                ContactPoint(
                    name=f"{link}/{kind}{k}",
                    body=body.name,
                    position=point,
                    radius=radius,
                    friction=friction.get(link, default_friction),
                )
            )
    return found


class _Shape:
    """A collision geometry with its contact points, in body axes, and its inside."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self._R = quaternions.rotation_matrix(np.asarray(geometry.quaternion))
        self._p = np.asarray(geometry.position)
        local, self.radius = local_points(geometry)
        self.points = local @ self._R.T + self._p
        self._planes = _hull_planes(local) if geometry.kind == "mesh" else None

    def depth(self, point: Array) -> float:
        """How far a point (3,) in body axes is below the surface [m]; negative outside."""
        x, y, z = self._R.T @ (point - self._p)
        size = self.geometry.size
        match self.geometry.kind:
            case "sphere":
                return size[0] - float(np.sqrt(x * x + y * y + z * z))
            case "box":
                return min(size[0] / 2 - abs(x), size[1] / 2 - abs(y), size[2] / 2 - abs(z))
            case "cylinder":
                return min(size[0] - float(np.hypot(x, y)), size[1] / 2 - abs(z))
            case "capsule":
                over = max(abs(z) - size[1] / 2, 0.0)
                return size[0] - float(np.sqrt(x * x + y * y + over * over))
        if self._planes is None:
            return -np.inf
        return -float(np.max(self._planes[:, :3] @ (x, y, z) + self._planes[:, 3]))


def local_points(geometry: Geometry) -> tuple[Array, float]:
    """(points (n, 3) [m] in the geometry's own frame, their radius [m])."""
    size = geometry.size
    match geometry.kind:
        case "sphere":
            return np.zeros((1, 3)), size[0]
        case "box":
            signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            return signs * np.array(size) / 2, 0.0
        case "capsule":
            half = size[1] / 2
            return np.array([(0.0, 0.0, -half), (0.0, 0.0, half)]), size[0]
        case "cylinder":
            angles = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
            rim = size[0] * np.column_stack((np.cos(angles), np.sin(angles)))
            top = np.full((RIM_POINTS, 1), size[1] / 2)
            return np.vstack((np.hstack((rim, -top)), np.hstack((rim, top)))), 0.0
    return hull_points(np.asarray(geometry.vertices)), 0.0


def hull_points(vertices: Array, count: int = HULL_POINTS) -> Array:
    """At most `count` vertices (n, 3) of the convex hull that keep its extent.

    First the extreme vertices along the six axes and the eight diagonals, then, one by one, the
    hull vertex farthest from those chosen. The same vertices give the same points.
    """
    try:
        hull = np.asarray(vertices[np.sort(ConvexHull(vertices).vertices)])
    except (QhullError, ValueError):
        # Flat, or fewer than four points: every vertex is as good as a hull vertex.
        hull = np.unique(vertices, axis=0)
    if len(hull) <= count:
        return hull
    axes = np.vstack((np.eye(3), -np.eye(3)))
    diagonals = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    chosen = list(dict.fromkeys(np.argmax(hull @ np.vstack((axes, diagonals)).T, axis=0).tolist()))
    distance = np.min(np.linalg.norm(hull[:, None] - hull[chosen][None], axis=2), axis=1)
    while len(chosen) < count:
        farthest = int(np.argmax(distance))
        chosen.append(farthest)
        distance = np.minimum(distance, np.linalg.norm(hull - hull[farthest], axis=1))
    return np.asarray(hull[sorted(chosen)])


def _hull_planes(points: Array) -> Array | None:
    """Planes (n, 4) of the hull of points (n, 3), normals outward; None for a flat hull."""
    try:
        return np.asarray(ConvexHull(points).equations)
    except (QhullError, ValueError):
        return None


def contacts_of(
    bodies: Sequence[Body],
    friction: Mapping[str, float] | None = None,
    default_friction: float = DEFAULT_FRICTION,
) -> tuple[ContactPoint, ...]:
    """The contact points of all bodies, body by body."""
    return tuple(
        contact for body in bodies for contact in contact_points(body, friction, default_friction)
    )
