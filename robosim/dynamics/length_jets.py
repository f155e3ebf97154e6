"""Lengths of tendons and springs between points as jets, for derivatives of their forces.

Coordinates move from q along tangent directions in time, each from a configuration in which every
coordinate is slightly changed. So a length has second derivatives, and third ones along the
velocity. Bodies move by twists, whose derivatives the kernels compute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim import quaternions
from robosim.compiled.order import coordinate_places
from robosim.description.mechanism import Mechanism
from robosim.description.springs import PointSpring
from robosim.description.tendon import Point, Pulley, Tendon, Term, Wrap
from robosim.dynamics.jets import Jet, angle, cross, dot
from robosim.errors import StateError
from robosim.kernels.equations.tendon import touch_inside, wrap_circle
from robosim.kernels.recursive import entries
from robosim.kinematics.kinematics import Kinematics
from robosim.kinematics.recursion import Recursion
from robosim.validation import Array

SHORT = 1e-12  # [m]; shorter straight parts have no direction, as in kernels
IN_LINE = 1e-12  # sine of an angle
NEWTON = 4  # Newton steps to the third order, from an exact value


class LengthSlopes(NamedTuple):
    """A length with its derivatives along the tangent."""

    value: float
    rows: Array  # (nv,), J
    slopes: Array  # (nv, nv), row i by coordinate k
    bias: float  # J' v
    bias_slopes: Array  # (nv,), J' v by coordinates


class MovingBodies:
    """Points of bodies, and coordinates, as jets.

    Parameters
    ----------
    on : Recursion
    at : Kinematics
        Kinematics at q.
    v : (nv,)

    Notes
    -----
    Jets have the shape (nv + 1, nv): time along each unit vector and along v, and changes of each
    coordinate.
    """

    def __init__(self, on: Recursion, at: Kinematics, v: Array) -> None:
        robot = self.robot = on.robot
        self._q, self._x, self._R = np.array(at.q), at.x, at.R
        n, nb = robot.nv, len(robot.bodies)
        self.shape = n + 1, n
        self._ways = np.vstack((np.eye(n), v))
        given = ("q", self._q, on.q), ("v", self._ways, on.v), ("a", np.zeros(n), on.a)
        shapes = (3,), (n, 3, 6), (nb, 2, 6)
        origin, self._columns, self._motions = on.call(entries.spatial_motion, given, shapes)
        self._origin = origin[0]
        self._places = coordinate_places(robot)
        self._above = _above(robot)
        self._made: dict[int, Array] = {}

    def coordinate(self, name: str) -> Jet:
        """A coordinate that is a number."""
        j, row = self._places[name]
        k = self.robot.v_offsets[j] + row
        parts = np.zeros((6, *self.shape))
        parts[0] = self._q[self.robot.q_offsets[j] + row]
        parts[1], parts[3, :, k] = self._ways[:, k, None], 1.0
        return Jet(parts)

    def point(self, body: str | None, position: Array) -> Jet:
        """A point (3,) of a body, given from its centre of mass, or of the world."""
        if body is None:
            return self._moved(None, position - self._origin, 1.0)
        b = self.robot.body_index(body)
        arm = self._x[b] + self._R[b] @ position - self._origin
        return self._moved(b, arm, 1.0)

    def axis(self, body: str | None, axis: Array) -> Jet:
        """A direction (3,) that is fixed in a body, or in the world."""
        if body is None:
            return self._moved(None, axis, 0.0)
        b = self.robot.body_index(body)
        return self._moved(b, self._R[b] @ axis, 0.0)

    def _moved(self, body: int | None, vector: Array, fixed: float) -> Jet:
        parts = np.zeros((6, *self.shape, 3))
        parts[0] = vector
        if body is not None:
            parts[1:] = self._transformations(body) @ np.append(vector, fixed)
        return Jet(parts)

    def _transformations(self, body: int) -> Array:
        """The body's pose as a jet (5, nv + 1, nv, 3, 4), without the first part.

        With a twist A and its rate B as matrices, the parts of time are A and (A^2 + B) / 2.
        """
        if body not in self._made:
            held = self._above[body][:, None]
            S, turn, turn2 = (held * self._columns[:, :, i] for i in range(3))
            twist, rate = (self._motions[:, body, i][:, None] for i in range(2))
            by_twist, by_rate = _bracket(S, twist) + turn, _bracket(S, rate) + turn2
            by_rate += _bracket(turn, twist)
            A, B, by_A, by_B, D = map(_matrix, (twist, rate, by_twist, by_rate, S))
            second, by_second = A @ A + B, A @ by_A + by_A @ A + by_B
            parts = A, 0.5 * second, D, by_A + A @ D, 0.5 * (by_second + second @ D)
            whole = [np.broadcast_to(part, (*self.shape, 4, 4)) for part in parts]
            self._made[body] = np.stack(whole)[..., :3, :]
        return self._made[body]


def length_slopes(moving: MovingBodies, element: Tendon | PointSpring) -> LengthSlopes:
    """The length of a tendon or spring.

    Raises
    ------
    StateError
        If it has no second derivatives: for a path that ends on the surface of a sphere or
        cylinder, or that points straight at the middle of a sphere.
    """
    with np.errstate(all="ignore"):
        parts = _length(moving, element).parts
    if not np.all(np.isfinite(parts)):
        kind = "spring" if isinstance(element, PointSpring) else "tendon"
        raise StateError(
            f"{kind} '{element.name}' has no second derivatives where it is: its path passes "
            "through the centre of a sphere, or ends on a surface around which it wraps"
        )
    return LengthSlopes(
        float(parts[0].flat[0]),
        parts[1, :-1, 0],
        parts[4, :-1],
        float(2 * parts[2, -1, 0]),
        2 * parts[5, -1],
    )


def _length(moving: MovingBodies, element: Tendon | PointSpring) -> Jet:
    if isinstance(element, PointSpring):
        return _stretch(
            moving.point(element.parent, np.asarray(element.parent_position)),
            moving.point(element.child, np.asarray(element.child_position)),
        )
    return _sum(moving, element) if element.is_fixed else _path(moving, element)


def _sum(moving: MovingBodies, tendon: Tendon) -> Jet:
    length = Jet(np.zeros((6, *moving.shape)))
    for term in tendon.path:
        assert isinstance(term, Term)
        x, (a, b, c) = moving.coordinate(term.coordinate), term.higher
        length += x * (x * (x * (x * c + b) + a) + term.factor)
    return length


def _path(moving: MovingBodies, tendon: Tendon) -> Jet:
    length, share = Jet(np.zeros((6, *moving.shape))), 1.0
    for k, item in enumerate(tendon.path[:-1]):
        after = tendon.path[k + 1]
        if isinstance(item, Pulley):
            share = 1 / item.divisor
        elif isinstance(item, Point) and not isinstance(after, Pulley):
            end = tendon.path[k + 2] if isinstance(after, Wrap) else after
            assert isinstance(end, Point)
            a, b = (moving.point(one.body, np.asarray(one.position)) for one in (item, end))
            part = _wrapped(moving, a, after, b) if isinstance(after, Wrap) else _stretch(a, b)
            length += part * share
    return length


def _stretch(a: Jet, b: Jet) -> Jet:
    square = dot(b - a, b - a)
    if square.value.flat[0] <= SHORT**2:
        return Jet(np.zeros(square.parts.shape))
    return square.root()


def _wrapped(moving: MovingBodies, start: Jet, wrap: Wrap, end: Jet) -> Jet:
    """The length between two points around a sphere or cylinder.

    In the plane normal to the cylinder, or through the sphere's centre, the path is either two
    tangents and an arc or, with a side point inside, two straight parts that meet on the circle at
    equal angles.
    """
    center = moving.point(wrap.body, np.asarray(wrap.position))
    a, b = start - center, end - center
    if min(dot(a, a).value.flat[0], dot(b, b).value.flat[0]) < SHORT**2:
        return _stretch(start, end)
    low, high = a, b
    if wrap.kind == "cylinder":
        axes = quaternions.rotation_matrix(wrap.quaternion).T
        e0, e1, along = (moving.axis(wrap.body, axis) for axis in axes)
        low, high = dot(a, along), dot(b, along)
        ax, ay, bx, by = dot(a, e0), dot(a, e1), dot(b, e0), dot(b, e1)
        aa, bb, across = ax * ax + ay * ay, bx * bx + by * by, ax * by - ay * bx
        between = ax * bx + ay * by
        plane = np.array([axis.value[0, 0] for axis in (e0, e1)])
    else:
        aa, bb, between = dot(a, a), dot(b, b), dot(a, b)
        square = dot(cross(a, b), cross(a, b))
        if square.value.flat[0] <= IN_LINE**2 * (aa.value * bb.value).flat[0]:
            square = Jet(np.zeros(square.parts.shape))
        across = square.root()
        plane = _plane(a.value[0, 0], b.value[0, 0])
    side = None
    if wrap.side is not None:
        side = moving.point(wrap.side.body, np.asarray(wrap.side.position)) - center
    sense, inside = _way_around(wrap, plane, a, b, side)
    if sense == 0:
        return _stretch(start, end)
    if inside:
        whole = _touching(aa, bb, angle(across * sense, between), wrap.radius)
    else:
        whole = _around(aa, bb, angle(across * sense, between), wrap.radius)
    if wrap.kind == "cylinder":
        whole = (whole * whole + (high - low) * (high - low)).root()
    return whole


def _plane(a: Array, b: Array) -> Array:
    """Unit vectors (2, 3) along a, and normal to it towards b."""
    first = a / np.linalg.norm(a)
    second = b - (b @ first) * first
    if np.linalg.norm(second) <= IN_LINE * np.linalg.norm(b):
        second = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])  # any plane is possible
    return np.stack((first, second / np.linalg.norm(second)))


def _way_around(wrap: Wrap, plane: Array, a: Jet, b: Jet, side: Jet | None) -> tuple[int, bool]:
    """Sense in which a path bends, 0 for a straight one; whether its side point is inside."""
    (ax, ay), (bx, by) = (plane @ one.value[0, 0] for one in (a, b))
    sx, sy, r = 0.0, 0.0, wrap.radius
    if side is not None:
        place = side.value[0, 0]
        sx, sy = plane @ place
        if place @ place < r * r:
            arc = touch_inside.py_func(ax, ay, bx, by, r)[0]
            return (0 if arc < 0 else 1 if ax * by > ay * bx else -1), True
    arc, x, y, _, _ = wrap_circle.py_func(ax, ay, bx, by, side is not None, sx, sy, r)
    return (0 if arc < 0 else 1 if ax * y > ay * x else -1), False


def _around(aa: Jet, bb: Jet, between: Jet, r: float) -> Jet:
    """Length of tangents and arc, from squared distances and the angle in the path's sense."""
    before, after = (aa - r * r).root(), (bb - r * r).root()
    radius = Jet(np.zeros(aa.parts.shape)) + r
    arc = between - angle(before, radius) - angle(after, radius)
    turns = np.floor(arc.value.flat[0] / (2 * np.pi))
    return before + after + (arc - 2 * np.pi * turns) * r


def _touching(aa: Jet, bb: Jet, between: Jet, r: float) -> Jet:
    """Length of two straight parts that meet on a circle, at equal angles to its radius."""
    one = Jet(np.zeros(aa.parts.shape)) + 1.0
    z = _sine(float(aa.value.flat[0]), float(bb.value.flat[0]), float(between.value.flat[0]), r)
    sine = one * z
    for _ in range(NEWTON):
        p = sine * r
        before, after, cosine = (aa - p * p).root(), (bb - p * p).root(), one - sine * sine
        cosine = cosine.root()
        off = angle(sine, cosine) * 2.0 - angle(p, before) - angle(p, after) - between
        slope = one / cosine * 2.0 - one * r / before - one * r / after
        sine = sine - off / slope
    p = sine * r
    inner = (one - sine * sine).root() * (2 * r)
    return (aa - p * p).root() + (bb - p * p).root() - inner


def _sine(aa: float, bb: float, between: float, r: float) -> float:
    """The z with ``2 asin z - asin(z r / |a|) - asin(z r / |b|) = between``, by bisection."""
    low, high, ra, rb = 0.0, 1.0, r / np.sqrt(aa), r / np.sqrt(bb)
    for _ in range(60):
        z = 0.5 * (low + high)
        if 2 * np.arcsin(z) - np.arcsin(ra * z) - np.arcsin(rb * z) > between:
            high = z
        else:
            low = z
    return low


def _above(robot: Mechanism) -> Array:
    """(nb, nv): whether each velocity moves each body."""
    index = {body.name: b for b, body in enumerate(robot.bodies)}
    out = np.zeros((len(robot.bodies), robot.nv))
    for b, joint in enumerate(robot.tree_joints):
        if joint.parent is not None:
            out[b] = out[index[joint.parent]]
        out[b, robot.v_offsets[b] : robot.v_offsets[b + 1]] = 1.0
    return out


def _bracket(a: Array, b: Array) -> Array:
    """Lie brackets (..., 6) of twists."""
    linear = np.cross(a[..., 3:], b[..., :3]) + np.cross(a[..., :3], b[..., 3:])
    return np.concatenate((linear, np.cross(a[..., 3:], b[..., 3:])), axis=-1)


def _matrix(twist: Array) -> Array:
    """Twists (..., 6) as matrices (..., 4, 4)."""
    out = np.zeros((*twist.shape[:-1], 4, 4))
    out[..., :3, 3] = twist[..., :3]
    x, y, z = np.moveaxis(twist[..., 3:], -1, 0)
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out
