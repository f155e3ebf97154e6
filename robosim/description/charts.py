"""Joints as charts: the pose Q(q) of the child in the joint frame, as a function of coordinates.

A chart is a product of factors g(q), each a rigid motion. With S = [Q^-1 dQ/dq], whose columns are
twists of the child in its own axes [Sueda, Eq. 2.29], the next factor changes (Q, S, dS/dq) to

    Q g,    Ad(g^-1) S + G,    Ad(g^-1) dS/dq + [Ad(g^-1) S, G] + dG/dq,    G = [g^-1 dg/dq],

which is [Sueda, Algs. 3 and 4] for factors of any kind. Twists are (velocity, angular velocity), as
everywhere in robosim.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions, se3
from robosim.description.chart_factors import Factor, matrix_of, motions_of
from robosim.errors import ModelError, StateError
from robosim.validation import Array

MOST = 6  # largest number of coordinates
SPARE = 1e-9  # distance by which a coordinate may exceed the end of a spline
DEPENDENT = 1e-9  # smallest singular value of S for independent coordinates


class Chart:
    """The base class of charts, for ``Joint(kind="composite", chart=...)``.

    Attributes
    ----------
    nv : int
        Number of coordinates, and of velocities.
    units : tuple of str
        Unit of each coordinate: "m", "rad", or "1" for a spline.
    """

    nv: int
    units: tuple[str, ...]

    def factors(self) -> tuple[Factor, ...]:
        """Factors of Q(q), from the parent to the child."""
        raise NotImplementedError

    @property
    def changes(self) -> tuple[bool, ...]:
        """Whether each coordinate may be replaced by another one of the same pose."""
        turns = {factor.first for factor in self.factors() if factor.kind == "turn"}
        return tuple(any(k - i in turns for i in range(3)) for k in range(self.nv))

    @property
    def is_chain(self) -> bool:
        """Whether each factor is a hinge, slide or screw with a coordinate of its own."""
        return all(factor.kind in ("along", "stays") for factor in self.factors())

    def limits(self) -> tuple[Array, Array]:
        """Smallest and largest coordinates of the chart, (nv,) and (nv,)."""
        return np.full(self.nv, -np.inf), np.full(self.nv, np.inf)

    def pose(self, q: ArrayLike) -> Array:
        """Q (4, 4) at coordinates q (nv,): child to joint frame."""
        return self.follow(q)[0]

    def columns(self, q: ArrayLike) -> Array:
        """S (6, nv): twists of the child in its own axes for unit rates of the coordinates."""
        return self.follow(q)[1]

    def slopes(self, q: ArrayLike) -> Array:
        """dS/dq (6, nv, nv): derivative of column k by coordinate l at [:, k, l]."""
        return self.follow(q)[2]

    def follow(self, q: ArrayLike) -> tuple[Array, Array, Array]:
        """`pose`, `columns` and `slopes` at once."""
        q = np.asarray(q, dtype=float)
        if q.shape != (self.nv,) or not np.all(np.isfinite(q)):
            raise StateError(f"q must be {self.nv} finite numbers, not {q.tolist()}")
        Q, S, slopes = np.eye(4), np.zeros((6, self.nv)), np.zeros((6, self.nv, self.nv))
        for factor in self.factors():
            for g, G, dG in motions_of(factor, q):
                back = se3.adjoint(se3.inverse(g))
                Q, S = Q @ g, back @ S
                slopes = np.einsum("ij,jkl->ikl", back, slopes) + dG
                for k in range(self.nv):
                    slopes[:, k] += se3.ad(S[:, k]) @ G
                S = S + G
        return Q, S, slopes


class Hinge(Chart):
    """A rotation [rad] about an axis (3,) in the joint frame [Sueda, Eq. 2.41]."""

    nv = 1
    units = ("rad",)

    def __init__(self, axis: ArrayLike = (0.0, 0.0, 1.0)) -> None:
        self.axis = _axis(axis, "Hinge")

    def factors(self) -> tuple[Factor, ...]:
        return (_along(0, np.zeros(3), self.axis),)

    def __repr__(self) -> str:
        return f"Hinge({tuple(self.axis.tolist())})"


class Slide(Chart):
    """A translation [m] along an axis (3,) in the joint frame [Sueda, Eq. 2.23]."""

    nv = 1
    units = ("m",)

    def __init__(self, axis: ArrayLike = (0.0, 0.0, 1.0)) -> None:
        self.axis = _axis(axis, "Slide")

    def factors(self) -> tuple[Factor, ...]:
        return (_along(0, self.axis, np.zeros(3)),)

    def __repr__(self) -> str:
        return f"Slide({tuple(self.axis.tolist())})"


class Screw(Chart):
    """A rotation [rad] about an axis (3,), with a translation along it by `pitch` [m/rad]."""

    nv = 1
    units = ("rad",)

    def __init__(self, axis: ArrayLike = (0.0, 0.0, 1.0), pitch: float = 0.0) -> None:
        self.axis = _axis(axis, "Screw")
        if not np.isfinite(pitch):
            raise ModelError(f"pitch must be a finite number [m/rad], not {pitch}", element="Screw")
        self.pitch = float(pitch)

    def factors(self) -> tuple[Factor, ...]:
        return (_along(0, self.pitch * self.axis, self.axis),)

    def __repr__(self) -> str:
        return f"Screw({tuple(self.axis.tolist())}, {self.pitch})"


class Composite(Chart):
    """Charts in series, each in the axes after the previous one [Sueda, 2.48].

    Raises
    ------
    ModelError
        For no coordinate, more than six coordinates, or an argument that is not a chart.
    """

    def __init__(self, *charts: Chart) -> None:
        for chart in charts:
            if not isinstance(chart, Chart):
                raise ModelError(
                    f"is made of charts such as Hinge and Slide, not {chart!r}", element="Composite"
                )
        self.charts = charts
        self.nv = sum(chart.nv for chart in charts)
        self.units = tuple(unit for chart in charts for unit in chart.units)
        if not 1 <= self.nv <= MOST:
            raise ModelError(
                f"has 1 to {MOST} coordinates, not {self.nv}", element=f"Composite of {charts}"
            )

    def factors(self) -> tuple[Factor, ...]:
        found: list[Factor] = []
        first = 0
        for chart in self.charts:
            found += [each._replace(first=each.first + first) for each in chart.factors()]
            first += chart.nv
        return tuple(found)

    def limits(self) -> tuple[Array, Array]:
        lower, upper = zip(*(chart.limits() for chart in self.charts), strict=True)
        return np.concatenate(lower), np.concatenate(upper)

    def __repr__(self) -> str:
        return f"Composite({', '.join(map(repr, self.charts))})"


class Offset(Chart):
    """A constant pose between two charts of a `Composite`, without coordinates.

    Parameters
    ----------
    position : (3,) [m]
    quaternion : (4,)
    """

    nv = 0
    units = ()

    def __init__(
        self, position: ArrayLike = (0.0, 0.0, 0.0), quaternion: ArrayLike = quaternions.IDENTITY
    ) -> None:
        try:
            frame = np.concatenate((np.asarray(position, float), np.asarray(quaternion, float)))
        except (TypeError, ValueError):
            raise ModelError("position and quaternion must be numbers", element="Offset") from None
        self.frame = _frames(frame[None], "Offset")[0]

    def factors(self) -> tuple[Factor, ...]:
        return (Factor("stays", 0, np.zeros(6), self.frame),)

    def __repr__(self) -> str:
        return f"Offset({self.frame[:3].tolist()}, {self.frame[3:].tolist()})"


class Euler(Chart):
    """Three rotations about coordinate axes, each in the rotated axes [Sueda, 2.31 to 2.35].

    If the first and the last axis are parallel (gimbal lock), the coordinates do not determine the
    rotation of the child. For ``"xyz"`` the second angle is then 90 degrees, for ``"xzx"`` 0.

    Parameters
    ----------
    sequence : str
        Such as ``"xyz"`` or ``"xzx"``; no two neighbours alike.
    """

    nv = 3
    units = ("rad", "rad", "rad")

    def __init__(self, sequence: str = "xyz") -> None:
        known = isinstance(sequence, str) and len(sequence) == 3 and set(sequence) <= set("xyz")
        if not known or any(a == b for a, b in pairwise(sequence)):
            raise ModelError(
                "a sequence is three of the letters x, y and z, no two neighbours alike; "
                f"not {sequence!r}",
                element="Euler",
            )
        self.sequence = sequence

    def factors(self) -> tuple[Factor, ...]:
        axes = (np.eye(3)["xyz".index(letter)] for letter in self.sequence)
        return tuple(_along(k, np.zeros(3), axis) for k, axis in enumerate(axes))

    def __repr__(self) -> str:
        return f"Euler({self.sequence!r})"


class ExponentialBall(Chart):
    """A free rotation by its rotation vector [rad], R = exp([q]) [Sueda, Eqs. 2.42 to 2.47].

    S loses rank where q has length 2 pi. So a simulation that reaches 3/2 pi continues with
    ``(1 - 2 pi / |q|) q``, which is the same rotation, and with rates of the same velocity.
    """

    nv = 3
    units = ("rad", "rad", "rad")

    def factors(self) -> tuple[Factor, ...]:
        return (Factor("turn", 0, np.zeros(6), np.zeros(0)),)

    def __repr__(self) -> str:
        return "ExponentialBall()"


class SplineCurve(Chart):
    """One coordinate along a cubic B-spline of frames [Sueda, Eq. 2.67, Alg. 3].

    The curve passes near its control frames, smoothly up to the second derivative. The coordinate
    runs from 0, near the second frame, to n - 3, near the last frame but one. A periodic curve has
    no ends; its period is n.

    Parameters
    ----------
    frames : (n, 7), n >= 4
        Control frames in the joint frame: position [m], quaternion. The rotation from one frame to
        the next must be less than half a turn.
    periodic : bool
    """

    nv = 1
    units = ("1",)

    def __init__(self, frames: ArrayLike, periodic: bool = False) -> None:
        self.frames = _frames(frames, "SplineCurve", least=4)
        self.periodic = bool(periodic)
        poses = [matrix_of(frame) for frame in self.frames]
        following = [*poses[1:], poses[0]]
        rows = [
            np.concatenate((frame, se3.log(se3.inverse(one) @ other)))
            for frame, one, other in zip(self.frames, poses, following, strict=True)
        ]
        self._numbers = np.concatenate(rows)

    def limits(self) -> tuple[Array, Array]:
        if self.periodic:
            return super().limits()
        return np.zeros(1), np.array([len(self.frames) - 3.0])

    def factors(self) -> tuple[Factor, ...]:
        counts = len(self.frames), 0
        return (Factor("curve", 0, np.zeros(6), self._numbers, counts, self.periodic),)

    def __repr__(self) -> str:
        return f"SplineCurve({len(self.frames)} frames, periodic={self.periodic})"


class SplineSurface(Chart):
    """Two coordinates over a surface of cubic B-splines [Sueda, Eqs. 2.68 to 2.71, Alg. 4].

    The pose is three translations and then three rotations about x, y and z, each a spline over
    both coordinates. Coordinates run from 0 to n1 - 3 and from 0 to n2 - 3. Rotations should be
    well below 90 degrees.

    Parameters
    ----------
    controls : (n1, n2, 6), n1 and n2 >= 4
        Positions x, y, z [m] and angles about x, y, z [rad].
    """

    nv = 2
    units = ("1", "1")

    def __init__(self, controls: ArrayLike) -> None:
        try:
            array = np.array(controls, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError("controls must be numbers", element="SplineSurface") from None
        shape = array.shape
        if len(shape) != 3 or shape[2] != 6 or min(shape[:2]) < 4:
            raise ModelError(
                f"controls must have shape (n1, n2, 6) with n1 and n2 at least 4, not {shape}",
                element="SplineSurface",
            )
        if not np.all(np.isfinite(array)):
            raise ModelError("controls must be finite", element="SplineSurface")
        array.setflags(write=False)
        self.controls = array

    def limits(self) -> tuple[Array, Array]:
        return np.zeros(2), np.array(self.controls.shape[:2]) - 3.0

    def factors(self) -> tuple[Factor, ...]:
        n1, n2, _ = self.controls.shape
        return tuple(
            Factor("surface", 0, np.eye(6)[k], self.controls[:, :, k].reshape(-1).copy(), (n1, n2))
            for k in range(6)
        )

    def __repr__(self) -> str:
        n1, n2, _ = self.controls.shape
        return f"SplineSurface({n1} x {n2} controls)"


def is_independent(chart: Chart) -> bool:
    """Whether the coordinates of a chart are independent at some configuration."""
    lower, upper = chart.limits()
    begin = np.where(np.isfinite(lower), lower, -1.0)
    width = np.where(np.isfinite(upper), upper, 1.0) - begin
    for share in (0.37, 0.61, 0.83):
        # Coordinates at different fractions of their ranges, to avoid symmetric configurations.
        q = begin + width * (share + 0.11 * np.arange(chart.nv)) % 1.0
        if np.linalg.svd(chart.columns(q), compute_uv=False)[-1] > DEPENDENT:
            return True
    return False


def check_chart(chart: Chart, element: str) -> None:
    """Raise a ModelError for a chart whose coordinates are dependent at all configurations."""
    if not is_independent(chart):
        raise ModelError(f"the coordinates of {chart!r} depend on each other", element=element)


def check_on_chart(chart: Chart, q: Array, joint: str) -> None:
    """Raise a StateError for coordinates (nv,) beyond a spline, or at which S loses rank."""
    lower, upper = chart.limits()
    beyond = (q < lower - SPARE) | (q > upper + SPARE)
    if np.any(beyond):
        k = int(np.argmax(beyond))
        raise StateError(
            f"joint '{joint}' is beyond the end of its spline at q = {q.tolist()}: coordinate {k} "
            f"runs from {lower[k]:g} to {upper[k]:g}"
        )
    check_rank(chart, q, joint)


def check_rank(chart: Chart, q: Array, joint: str, whose: str = "") -> None:
    """Raise a StateError, which begins with `whose`, for q (nv,) at which S loses rank."""
    if np.linalg.svd(chart.columns(q), compute_uv=False)[-1] < DEPENDENT:
        raise StateError(
            f"{whose}at q = {q.tolist()} coordinates of joint '{joint}' ({chart!r}) move it alike, "
            "so that they do not tell how it moves (gimbal lock): start from others, by set_state "
            "or another home"
        )


def _axis(axis: ArrayLike, element: str) -> Array:
    try:
        array = np.array(axis, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(3)  # refused below, as other wrong values
    if array.shape != (3,) or not np.all(np.isfinite(array)) or np.linalg.norm(array) < 1e-12:
        raise ModelError(f"an axis must be a finite vector other than zero, not {axis!r}",
                         element=element)  # fmt: skip
    return np.asarray(array / np.linalg.norm(array))


def _frames(frames: ArrayLike, element: str, least: int = 1) -> Array:
    """Frames (n, 7) with quaternions of length one."""
    try:
        array = np.array(frames, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError("frames must be numbers", element=element) from None
    if array.ndim != 2 or array.shape[1] != 7 or len(array) < least:
        raise ModelError(
            f"frames must have shape (n, 7), position and quaternion, with n at least {least}; "
            f"not {array.shape}",
            element=element,
        )
    lengths = np.linalg.norm(array[:, 3:], axis=1)
    wrong = ~(np.abs(lengths - 1.0) < 1e-6) | ~np.isfinite(array).all(axis=1)
    if np.any(wrong):
        n = int(np.argmax(wrong))
        raise ModelError(
            f"frame {n} is not rigid: its quaternion {array[n, 3:].tolist()} must have length one",
            element=element,
        )
    array[:, 3:] /= lengths[:, None]
    array.setflags(write=False)
    return array


def _along(first: int, v: Array, w: Array) -> Factor:
    return Factor("along", first, np.concatenate((v, w)), np.zeros(0))


UNIVERSAL = Composite(Hinge((1.0, 0.0, 0.0)), Hinge((0.0, 1.0, 0.0)))  # [Sueda, Eq. 2.37]
