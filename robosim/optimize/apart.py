"""Bodies that keep apart from obstacles and from each other, by separating planes.

The unknowns of a pair of convex outlines are a plane at each control point: a vector n of length
one at most, and an offset. All of the first outline is in front of the plane, and all of the second
one behind it, by half of the margin each. So rows are smooth, also where nearest points jump. A
mean of two such vectors is no longer than one, so that between control points planes change
linearly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape, HalfSpace, obstacle_name
from robosim.errors import OptionError
from robosim.optimize.local import Rows
from robosim.optimize.outlines import Outline, Plane, between, outline
from robosim.optimize.symbolic import Expression, Placed, Symbolic, ca, column
from robosim.validation import Array

PLANE = 4  # unknowns of a plane: its vector, and its offset [m]
BLUNT = 1e-7  # [m], by which rims and ellipsoids count as larger, so that slopes exist everywhere
TURNING = ("revolute", "continuous", "fixed", "spherical", "universal")  # with ends that coincide


class Pair(NamedTuple):
    """Two outlines that keep a margin [m]; the body None is the world.

    Attributes
    ----------
    name : str, of the rows
    a, b : int, or None for the world
    first : Outline, or None of a half-space
    second : Outline, of the body b
    half_space : (normal (3,), offset [m]) or None
    margin : float [m]
    between : int, number of times between each two control points
    """

    name: str
    a: int | None
    b: int
    first: Outline | None
    second: Outline
    half_space: tuple[Array, float] | None
    margin: float
    between: int


def names_of(robot: Mechanism, a: tuple[int | None, AnyShape], b: int) -> tuple[str, str]:
    """Names of an obstacle or a body, and of a body."""
    index, shape = a
    first = obstacle_name(shape) if index is None else robot.bodies[index].name
    return first, robot.bodies[b].name


def pairs_of(
    robot: Mechanism, asked: Collection[tuple[str, str]], margin: float, between: int, limits: bool
) -> list[Pair]:
    """The pairs of outlines of the shapes of a robot that may touch, and that can come near.

    Parameters
    ----------
    robot : Mechanism
    asked : pairs of names of bodies and obstacles, all if empty
    margin : float [m]
    between : int
    limits : bool
        Whether joint limits hold.

    Raises
    ------
    OptionError
        For names that are no pair which may touch, or a robot without any.
    ModelError
        For a shape without outlines.
    """
    touching = []
    for one, (index, its_shape) in robot.touching_shapes():
        assert index is not None
        touching.append((names_of(robot, one, index), one, (index, its_shape)))
    known = {frozenset(names) for names, _, _ in touching}
    if not known:
        raise OptionError(
            f"bodies of '{robot.name}' can touch neither obstacles nor each other: give obstacles, "
            "pairs or self_collision by `with_contacts`"
        )
    for names in asked:
        two = isinstance(names, tuple | list) and len(names) == 2
        if not (two and all(isinstance(name, str) for name in names) and frozenset(names) in known):
            told = ", ".join(" - ".join(sorted(one)) for one in sorted(known, key=sorted)[:20])
            raise OptionError(f"no pair {names!r} that may touch; known: {told}")
    wanted = {frozenset(names) for names in asked} or known
    found = []
    for names, (a, shape), (b, other) in touching:
        if frozenset(names) not in wanted:
            continue
        assert b is not None
        name = f"{names[0]} and {names[1]} apart"
        if isinstance(shape, HalfSpace):
            normal = np.asarray(shape.normal, dtype=float)
            normal = normal / np.linalg.norm(normal)
            level = normal, float(normal @ np.asarray(shape.point))
            found.append(Pair(name, a, b, None, outline(other), level, margin, between))
            continue
        pair = Pair(name, a, b, outline(shape), outline(other), None, margin, between)
        if least_distance(robot, pair, limits) < margin:
            found.append(pair)
    return found


def least_distance(robot: Mechanism, pair: Pair, limits: bool) -> float:
    """A distance [m] below which the outlines of a pair cannot come, whatever the joints do.

    Between the middles of the outlines are segments of fixed lengths, from joint to joint. The
    longest one, without all others, is left at least. Zero if that says nothing.
    """
    assert pair.first is not None
    (start, radius), (end, other) = pair.first.ball, pair.second.ball
    one, two = (_way_up(robot, pair.a, start, limits), _way_up(robot, pair.b, end, limits))
    bodies = [step.body for step in two]
    i = next(i for i, step in enumerate(one) if step.body in bodies)
    j = bodies.index(one[i].body)
    lengths = [step.length for step in (*one[1 : i + 1], *two[1 : j + 1])]
    lengths.append(float(np.linalg.norm(one[i].point - two[j].point)))
    slack = sum(step.slack for step in (*one[1 : i + 1], *two[1 : j + 1]))
    return max(2.0 * max(lengths) - sum(lengths) - slack - radius - other, 0.0)


class Step(NamedTuple):
    """A body on the way to the world: where a joint enters it, and how far that is.

    `length` is that of the segment in the body before, and `slack` the largest distance of the two
    ends of the joint in between [m].
    """

    body: int | None
    point: Array
    length: float
    slack: float


def _way_up(robot: Mechanism, body: int | None, point: Array, limits: bool) -> list[Step]:
    found = [Step(body, point, 0.0, 0.0)]
    while body is not None:
        joint = robot.tree_joints[body]
        slack = 0.0 if joint.kind in TURNING else np.inf
        if joint.kind == "prismatic" and limits:
            slack = float(np.abs([np.asarray(joint.lower), np.asarray(joint.upper)]).max())
        length = float(np.linalg.norm(np.asarray(joint.child_position) - point))
        body = None if joint.parent is None else robot.body_index(joint.parent)
        point = np.asarray(joint.parent_position)
        found.append(Step(body, point, length, slack))
    return found


class Apart:
    """Planes between pairs of outlines: unknowns, rows and guesses.

    Parameters
    ----------
    model : Symbolic
    pairs : sequence of Pair

    Attributes
    ----------
    unknowns : int, at a control point
    """

    def __init__(self, model: Symbolic, pairs: Sequence[Pair]) -> None:
        self.model, self.pairs = model, tuple(pairs)
        self._free = [pair for pair in self.pairs if pair.half_space is None]
        self.unknowns = PLANE * len(self._free)
        self.between = sorted({pair.between for pair in self.pairs} - {0})
        self._poses = self._function() if self.pairs else None

    def keep(
        self, rows: Rows, placed: Placed, planes: Expression, between: int | None = None
    ) -> None:
        """Add the rows of all pairs at one time, or of those with a number of times between."""
        at = 0
        for pair in self.pairs:
            own = None
            if pair.half_space is None:
                own = planes[at : at + PLANE]
                at += PLANE
            if between is not None and pair.between != between:
                continue
            if own is None:
                assert pair.half_space is not None
                normal, offset = pair.half_space
                seen = self._extents(pair.second, placed, pair.b, column(-normal))
                rows.within(pair.name, -seen - offset, pair.margin, np.inf)
                continue
            n, half = own[:3], 0.5 * pair.margin
            assert pair.first is not None
            if between is None:
                rows.within(pair.name, ca.sumsqr(n), -np.inf, 1.0)
            low = -self._extents(pair.first, placed, pair.a, -n)
            high = self._extents(pair.second, placed, pair.b, n)
            rows.within(pair.name, low - own[3], half, np.inf)
            rows.within(pair.name, high - own[3], -np.inf, -half)

    def _extents(
        self, outline: Outline, placed: Placed, body: int | None, n: Expression
    ) -> Expression:
        """The largest n . x (k,) of what is about each point of an outline, for |n| <= 1."""
        m, origin = n, ca.SX(0)
        if body is not None:
            R, p, _ = self.model.body(placed, body)
            m, origin = ca.mtimes(R.T, n), ca.dot(p, n)
        reach = ca.mtimes(column(outline.points), m) + origin + outline.radius
        if outline.semi.any():
            along = ca.mtimes(column(outline.turn.T), m)
            sizes = [
                ca.sqrt(ca.sumsqr(column(semi) * along) + BLUNT**2) if semi.any() else ca.SX(0)
                for semi in outline.semi
            ]
            reach = reach + ca.vertcat(*sizes)
        return reach

    def _function(self):  # type: ignore[no-untyped-def]
        """Rotations (3, 3 nb) and centres of mass (3, nb) of all bodies, by theta and bases."""
        model = self.model
        theta = ca.SX.sym("theta", model.robot.nv)
        bases = [ca.SX.sym("base", 4) for _ in model.turns]
        placed = model.place(theta, ca.SX.zeros(model.robot.nv), bases)
        poses = [model.body(placed, b)[:2] for b in range(len(model.robot.bodies))]
        found = [ca.horzcat(*(one[k] for one in poses)) for k in range(2)]
        return ca.Function("poses", [theta, *bases], found)

    def planes(self, theta: Array, turns: Sequence[Array], last: Array | None = None) -> Array:
        """A guess of the unknowns at one configuration, with `last`, those at the one before."""
        found = np.zeros(self.unknowns)
        for k, plane in enumerate(self._planes(theta, turns, last)):
            found[PLANE * k : PLANE * k + 3] = plane.normal
            found[PLANE * k + 3] = plane.offset
        return found

    def _planes(
        self, theta: Array, turns: Sequence[Array], last: Array | None = None
    ) -> Iterator[Plane]:
        R, p = self._placed(theta, turns)
        for k, pair in enumerate(self._free):
            assert pair.first is not None
            before = None if last is None else last[PLANE * k : PLANE * k + 3]
            yield between(*self._both(pair, R, p), before)

    def _placed(self, theta: Array, turns: Sequence[Array]) -> tuple[Array, Array]:
        assert self._poses is not None
        R, p = (np.array(part.full()) for part in self._poses(theta, *turns))
        return R, p

    def _both(self, pair: Pair, R: Array, p: Array) -> tuple[Outline, Outline]:
        assert pair.first is not None
        first = pair.first
        if pair.a is not None:
            first = first.placed(R[:, 3 * pair.a : 3 * pair.a + 3], p[:, pair.a])
        return first, pair.second.placed(R[:, 3 * pair.b : 3 * pair.b + 3], p[:, pair.b])

    def nearer(self, theta: Array, turns: Sequence[Array], by: float) -> tuple[str, float] | None:
        """The name and the distance of a pair that is nearer than its margin by more than `by`."""
        if not self.pairs:
            return None
        for pair, plane in zip(self._free, self._planes(theta, turns), strict=True):
            if plane.bound < pair.margin - by:
                return pair.name, plane.bound
        R, p = self._placed(theta, turns)
        for pair in self.pairs:
            if pair.half_space is None:
                continue
            normal, offset = pair.half_space
            own = pair.second.placed(R[:, 3 * pair.b : 3 * pair.b + 3], p[:, pair.b])
            gap = -own.extent(-normal) - offset
            if gap < pair.margin - by:
                return pair.name, gap
        return None
