"""How far motors or joints move along a line, and what ends it: a limit or a singularity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from robosim.errors import OptionError, StateError
from robosim.parallel.loops import Point, last_of
from robosim.validation import Array, check_choice, positive, shaped

if TYPE_CHECKING:
    from robosim.parallel.transmission import Transmission

BEYOND = 1e-10  # [m or rad], of a limit
MEET = 1e-6  # of the largest singular value, in a singularity of the loops
GOLDEN = 0.5 * (5**0.5 - 1)

Cause = Literal["limit", "parallel", "serial", "loops", "nothing"]


class Reach(NamedTuple):
    """The end of a line.

    Attributes
    ----------
    distance : float
        Multiple of the direction [m or rad, for a unit vector].
    cause : str
        "limit" of a coordinate; a "parallel", "serial" or "loops" singularity, as in
        `SingularValues`; or "nothing", for a line as long as asked for.
    name : str or None
        The coordinate at its limit.
    q : (nq,)
        The configuration there.
    """

    distance: float
    cause: Cause
    name: str | None
    q: Array


def reach(
    of: Transmission,
    direction: ArrayLike,
    near: ArrayLike | None = None,
    *,
    along: Literal["motors", "joints"] = "motors",
    most: float = 2 * np.pi,
    limits: bool = True,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> Reach:
    """The distance to the first limit or singularity along a line of motors or joints.

    Parameters
    ----------
    of : Transmission
    direction : (n,)
    near : (nq,) or None
        Where the line begins, with closed loops; home if None.
    along : "motors" or "joints"
    most : float
        Longest line, as a multiple of the direction.
    limits : bool
        Whether limits of joints and motors count; if not, singularities only.
    ranges : mapping of names of coordinates to (lower, upper)
        In place of their limits.

    Raises
    ------
    StateError
        For a direction of a wrong shape.
    OptionError
        For a direction of zero, or another invalid option.
    """
    check_choice("along", along, ("motors", "joints"))
    way = positive("most", most) * shaped("direction", direction, of.n)
    if not way.any():
        raise OptionError("direction must not be zero")
    line = _Line(of, of.start(near), way, along, ranges or {})
    measures = (line.beyond, line.turned) if limits else (line.turned,)
    before: list[Point] = [(0.0, line.q)]
    for here in line.steps(0.0, line.q, 1.0):
        for measure in measures:
            if measure(here[1]) > BEYOND:
                done, q = line.crossing(measure, before[-1], here)
                if measure == line.beyond:
                    return Reach(done * most, "limit", line.limit(q), q)
                return Reach(done * most, line.kind(q), None, q)
        before = [*before[-2:], here]
        met = line.meeting(before)
        if met is not None:
            return Reach(met[0] * most, "loops", None, met[1])
    done, q = before[-1]
    if done == 1.0:
        return Reach(most, "nothing", None, q)
    return Reach(done * most, "parallel" if along == "motors" else "serial", None, q)


class _Line:
    """A line of positions of motors or joints, from a configuration q."""

    def __init__(
        self,
        of: Transmission,
        q: Array,
        way: Array,
        along: str,
        ranges: Mapping[str, tuple[float, float]],
    ) -> None:
        self.q, self._of, self._way = q, of, way
        self._moved = of.motor_coordinates if along == "motors" else of.joint_coordinates
        self._start = of.loops.read(q, self._moved)[0]
        self._limited = of.loops.measured()
        self._ranges = np.array([ranges.get(one.name, one.range) for one in self._limited])
        self._sign = np.sign(of.tangent(q).orientation)

    def steps(self, start: float, q: Array, end: float) -> Iterator[Point]:
        """Points from a fraction of the line to another."""
        begin, target = (self._start + part * self._way for part in (start, end))
        for done, there in self._of.loops.path(q, self._moved, begin, target):
            yield (end if done == 1.0 else start + done * (end - start)), there

    def _at(self, before: Point, fraction: float) -> Array | None:
        """The configuration at a fraction; None if out of reach."""
        here = last_of(self.steps(*before, fraction), before)
        return here[1] if here[0] == fraction else None

    def _excess(self, q: Array) -> Array:
        """How far coordinates are beyond their limits (k,); negative within."""
        values = self._of.loops.read(q, self._limited)[0]
        return np.maximum(self._ranges[:, 0] - values, values - self._ranges[:, 1])

    def beyond(self, q: Array) -> float:
        """How far a coordinate is beyond its limit at most."""
        return float(self._excess(q).max())

    def limit(self, q: Array) -> str:
        """The name of the coordinate that is the farthest beyond its limit."""
        return self._limited[int(np.argmax(self._excess(q)))].name

    def turned(self, q: Array) -> float:
        """Positive if there is a singularity between the beginning of the line and q."""
        try:
            return float(-self._sign * self._of.tangent(q).orientation)
        except StateError:
            return 1.0

    def kind(self, q: Array) -> Cause:
        """Which singularity q is near."""
        values = self._of.singular_values(q)
        if values.loops < MEET:
            return "loops"
        return "parallel" if values.parallel < values.serial else "serial"

    def crossing(self, measure: Callable[[Array], float], before: Point, after: Point) -> Point:
        """The point between two where a measure becomes positive, as it is at the latter."""
        found = {before[0]: before[1], after[0]: after[1]}

        def at(fraction: float) -> float:
            if fraction not in found:
                q = self._at(before, fraction)
                if q is None:
                    return 1.0
                found[fraction] = q
            return measure(found[fraction])

        if at(before[0]) >= 0:
            return before
        where = brentq(at, before[0], after[0], xtol=1e-15, rtol=1e-14)
        return where, found.get(where, after[1])

    def meeting(self, points: list[Point]) -> Point | None:
        """The point near the middle one of three where the loops are singular, if there is one."""
        if len(points) < 3:
            return None
        sizes = [self._of.singular_values(q).loops for _, q in points]
        if sizes[1] > min(sizes[0], sizes[2]):
            return None
        start, end = points[0], points[2][0]
        low, high, best = start[0], end, (sizes[1], points[1])
        while high - low > 1e-10 * end:
            a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            tried = []
            for fraction in (a, b):
                q = self._at(start, fraction)
                size = 0.0 if q is None else self._of.singular_values(q).loops
                tried.append(size)
                if q is not None and size < best[0]:
                    best = size, (fraction, q)
            low, high = (low, b) if tried[0] < tried[1] else (a, high)
        return best[1] if best[0] < MEET else None
