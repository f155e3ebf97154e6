"""Convex outlines of shapes, and planes between two of them.

Two convex sets are apart by a distance d if there is a unit vector n with ``n . a - n . b >= d``
for all their points [Boyd2004, 2.5.1]. So a plane proves a distance, without nearest points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from robosim import quaternions
from robosim.description.geometry import Geometry
from robosim.description.hulls import simplified_hull
from robosim.description.obstacles import AnyShape, obstacle_name
from robosim.errors import ModelError
from robosim.validation import Array

HEAVY = 1e4  # of the rows that hold sums of weights at one, per size
_SIGNS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
_ROUND = 16  # points by which rims are sampled for guesses
_GOLDEN = np.pi * (3.0 - np.sqrt(5.0))


class Outline(NamedTuple):
    """The convex hull of equal balls, or of ellipsoids, about points.

    Attributes
    ----------
    points : (k, 3) [m], in body or world axes, from the body's centre of mass
    radius : float [m], of the balls
    semi : (k, 3) [m], semi-axes of ellipsoids about the points, zero for none
    turn : (3, 3), axes of the ellipsoids, as columns
    """

    points: Array
    radius: float
    semi: Array
    turn: Array

    @property
    def ball(self) -> tuple[Array, float]:
        """Centre (3,) and radius of a ball around the outline."""
        centre = 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))
        reach = np.linalg.norm(self.points - centre, axis=1) + self.semi.max(axis=1)
        return centre, float(reach.max()) + self.radius

    def placed(self, R: Array, p: Array) -> Outline:
        """The outline in world axes, for a body with the rotation R (3, 3) at p (3,)."""
        return Outline(self.points @ R.T + p, self.radius, self.semi, R @ self.turn)

    def extent(self, n: Array) -> float:
        """The largest n . x of all points x."""
        size = np.linalg.norm(self.semi * (n @ self.turn), axis=1)
        return float(np.max(self.points @ n + size)) + self.radius * float(np.linalg.norm(n))

    def samples(self) -> Array:
        """Points (m, 3) whose hull, widened by the radius, is within the outline and near it."""
        if not self.semi.any():
            return self.points
        k = np.arange(4 * _ROUND) + 0.5
        z, turns = 1.0 - 2.0 * k / len(k), _GOLDEN * k
        flat = np.sqrt(1.0 - z * z)
        rim = 2.0 * np.pi * np.arange(_ROUND) / _ROUND
        ways = np.vstack((
            np.column_stack((flat * np.cos(turns), flat * np.sin(turns), z)),
            np.column_stack((np.cos(rim), np.sin(rim), 0.0 * rim)),
        ))  # fmt: skip
        found = [p + (ways * s) @ self.turn.T for p, s in zip(self.points, self.semi, strict=True)]
        return np.vstack(found)


def outline(shape: AnyShape) -> Outline:
    """The outline of a shape, in body or world axes; a mesh counts as its convex hull.

    Raises
    ------
    ModelError
        For a height field or a `TriangleMesh`, which are not convex.
    """
    if not isinstance(shape, Geometry):
        raise ModelError(
            f"is a {type(shape).__name__}, which trajectory optimisation does not keep bodies "
            "from: give its convex parts, as geometries of kind 'mesh'",
            element=f"obstacle '{obstacle_name(shape)}'",
        )
    size = shape.size
    match shape.kind:
        case "box":
            return _of_points(shape, 0.5 * _SIGNS * size, 0.0, np.zeros(3))
        case "sphere":
            return _of_points(shape, np.zeros((1, 3)), size[0], np.zeros(3))
        case "capsule":
            return _of_points(shape, _ends(size[1]), size[0], np.zeros(3))
        case "cylinder":
            return _of_points(shape, _ends(size[1]), 0.0, np.array((size[0], size[0], 0.0)))
        case "cone":
            top = size[2] if len(size) == 3 else 0.0
            rims = np.array([(top, top, 0.0), (size[0], size[0], 0.0)])
            return _of_points(shape, _ends(size[1]), 0.0, rims)
        case "ellipsoid":
            return _of_points(shape, np.zeros((1, 3)), 0.0, np.array(size))
    hull = simplified_hull(np.asarray(shape.vertices))
    return _of_points(shape, hull.points, hull.loss, np.zeros(3))


def _ends(length: float) -> Array:
    """The upper and the lower end (2, 3) along z."""
    return np.array([(0.0, 0.0, 0.5 * length), (0.0, 0.0, -0.5 * length)])


def _of_points(shape: Geometry, points: Array, radius: float, semi: Array) -> Outline:
    R = np.array(quaternions.rotation_matrix(np.asarray(shape.quaternion)))
    own = np.asarray(shape.position) + np.asarray(points, dtype=float) @ R.T
    return Outline(own, float(radius), np.broadcast_to(semi, own.shape).copy(), R)


class Plane(NamedTuple):
    """A plane ``n . x = offset`` between two outlines, the first in front of it.

    Attributes
    ----------
    normal : (3,)
    offset : float [m]
    gap : float [m], distance that the plane proves; negative if the outlines overlap
    bound : float [m], no less than the distance of the outlines
    """

    normal: Array
    offset: float
    gap: float
    bound: float


def between(a: Outline, b: Outline, last: Array | None = None) -> Plane:
    """The plane between two outlines in world axes that proves the largest distance.

    Of outlines that overlap, of some directions that by which they overlap least. `last` (3,) is
    one more direction to try.
    """
    first, second = a.samples(), b.samples()
    nearest = _nearest(first, second)
    length = float(np.linalg.norm(nearest))
    bound = max(length - a.radius - b.radius, 0.0) if length > 1e-9 else 0.0
    middle = a.ball[0] - b.ball[0]
    tried = [nearest, middle, *_SIGNS, *np.eye(3), *-np.eye(3)]
    if last is not None:
        tried.append(last)
    best = None
    for way in tried:
        size = float(np.linalg.norm(way))
        if size < 1e-9:
            continue
        n = way / size
        low, high = -a.extent(-n), b.extent(n)
        if best is None or low - high > best.gap + 1e-9:
            best = Plane(n, 0.5 * (low + high), low - high, bound)
    assert best is not None
    return best


def _nearest(a: Array, b: Array) -> Array:
    """The shortest vector (3,) from the hull of points b (m, 3) to that of points a (n, 3).

    Weights of the points are zero or more, and heavy rows hold their sums at one.
    """
    middle = b.mean(axis=0)
    size = max(float(np.abs(a - middle).max()), float(np.abs(b - middle).max()), 1e-12)
    A, B = (a - middle) / size, (b - middle) / size
    rows = np.zeros((5, len(a) + len(b)))
    rows[:3, : len(a)], rows[:3, len(a) :] = A.T, -B.T
    rows[3, : len(a)] = rows[4, len(a) :] = HEAVY
    found = nnls(rows, np.array([0.0, 0.0, 0.0, HEAVY, HEAVY]))[0]
    one, two = found[: len(a)], found[len(a) :]
    return np.asarray(size * (one @ A / one.sum() - two @ B / two.sum()))
