"""Sensors that measure with rays: lidars, height scans, depth cameras and range finders.

A sensor takes a sample at times that are multiples of its period. Readings have the shape of the
sensor: a number for each ray. `inf` is a ray that meets nothing within the range, `-inf` one that
meets something nearer than the range, and `nan` a measurement that was lost, as in REP 117.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.place import Place
from robosim.errors import ModelError
from robosim.validation import Array, Frozen, frozen_array, not_negative, unit_quaternion

MOST_RAYS = 2**24
GEOMETRIES = ("collision", "visual", "all")
FIELDS = {"dist": 1, "dir": 3, "origin": 3, "point": 3, "normal": 3, "depth": 1}
"""What a `RangeFinder` tells of each ray, and how many numbers each has."""

# Axes of a camera's frame: where it looks, and what is right and down in its picture.
AXES = {
    "link": ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)),
    "optical": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "opengl": ((0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),
}


class Pixels(NamedTuple):
    """The picture of a camera that looks along -z of its frame, y up.

    Attributes
    ----------
    width, height : int
    focal : (2,)
        Focal lengths in pixels, to the right and down; pixels per metre of an orthographic camera.
    center : (2,)
        Principal point in pixels, from the upper left corner.
    extent : float [m]
        Width and height of what an orthographic camera sees; 0 for a perspective one.
    """

    width: int
    height: int
    focal: tuple[float, float]
    center: tuple[float, float]
    extent: float = 0.0


@dataclass(frozen=True, eq=False)
class RaySensor(Frozen):
    """What all sensors with rays have.

    Attributes
    ----------
    name : str
    frame : str or Place
        Name of the link or site that the sensor is fixed to, or "world". In a `Mechanism`, the
        `Place` of the sensor.
    position : (3,) [m], quaternion : (4,)
        Pose of the sensor in that frame.
    noise : float [m]
        Standard deviation of the normal noise of each measurement; distances stay above zero.
    dropout : float
        Probability that a measurement is lost, from 0 to 1; it is then nan.
    delay : float [s]
        Time from a sample to when it can be read.
    rate : float or None [Hz]
        Samples per second; None: one at each time step.
    seed : int
        Of noise and dropout, which depend on it, the name, the state and the number of the sample.
    geometry : "collision", "visual" or "all"
        What rays meet: collision shapes, what one sees, or both.
    exclude : tuple of str, or None
        Bodies that rays pass, by their names or those of their frames, and "world"; None: the
        sensor's own body.

    Raises
    ------
    ModelError
        For a value that is not allowed, with the names of sensor and field.
    """

    kind: ClassVar[str] = ""
    # What other sensors have.
    of: ClassVar[Mapping[str, float]] = {}
    reference: ClassVar[Place] = Place()
    bodies: ClassVar[tuple[str, ...]] = ()

    name: str
    frame: str | Place
    position: ArrayLike = field(default=(0.0, 0.0, 0.0), kw_only=True)
    quaternion: ArrayLike = field(default=quaternions.IDENTITY, kw_only=True)
    noise: float = field(default=0.0, kw_only=True)
    dropout: float = field(default=0.0, kw_only=True)
    delay: float = field(default=0.0, kw_only=True)
    rate: float | None = field(default=None, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    geometry: str = field(default="collision", kw_only=True)
    exclude: tuple[str, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        element = self.element
        if not isinstance(self.frame, str | Place):
            raise self._error("frame", "a name or a Place")
        self._set(
            position=frozen_array(self.position, (3,), "position", element),
            quaternion=unit_quaternion(self.quaternion, "quaternion", element),
            noise=not_negative(self.noise, "noise", element),
            dropout=not_negative(self.dropout, "dropout", element),
            delay=not_negative(self.delay, "delay", element),
        )
        if self.dropout > 1:
            raise self._error("dropout", "from 0 to 1")
        if self.rate is not None:
            self._set(rate=not_negative(self.rate, "rate", element))
            if self.rate == 0:
                raise self._error("rate", "positive, or None")
        if not _is_count(self.seed, 0):
            raise self._error("seed", "a whole number that is not negative")
        if self.geometry not in GEOMETRIES:
            raise self._error("geometry", f"one of {', '.join(GEOMETRIES)}")
        if self.exclude is not None:
            names = (self.exclude,) if isinstance(self.exclude, str) else tuple(self.exclude)
            if not all(isinstance(name, str) for name in names):
                raise self._error("exclude", "names of bodies, or None")
            self._set(exclude=names)
        self._check()
        if not 0 < self.size <= MOST_RAYS:
            raise ModelError(
                f"{' x '.join(map(str, self.shape))} are {self.size} measurements, and at most "
                f"{MOST_RAYS} are possible",
                element=element,
            )

    @property
    def element(self) -> str:
        """How errors call it."""
        return f"sensor '{self.name}'"

    def _check(self) -> None:
        """Checks of a kind's own fields."""

    def _error(self, what: str, allowed: str) -> ModelError:
        return ModelError(f"{what} must be {allowed}, not {getattr(self, what)!r}",
                          element=self.element)  # fmt: skip

    def _counts(self, *names: str) -> None:
        for name in names:
            if not _is_count(getattr(self, name), 1):
                raise self._error(name, "a whole number above zero")
            self._set(**{name: int(getattr(self, name))})

    def _set_range(self, given: Any) -> None:
        """The field `range` as (least, most)."""
        pair = (0.0, given) if isinstance(given, Real) else given
        numbers = _numbers(pair, 2)
        if numbers is None or not 0 <= numbers[0] < numbers[1]:
            raise self._error("range", "a distance, or (least, most), above zero")
        self._set(range=numbers)

    @cached_property
    def place(self) -> Place:
        """Where it is, if a mechanism has it or it was given a `Place`.

        Raises
        ------
        ModelError
            For a name of a frame that has not been looked up.
        """
        if isinstance(self.frame, str):
            raise ModelError(f"frame '{self.frame}' is that of a mechanism: give it the sensor",
                             element=self.element)  # fmt: skip
        return self.frame.on(self.position, self.quaternion)

    def at(self, place: Place) -> Self:
        """The same sensor at a place."""
        return replace(self, frame=place, position=(0.0, 0.0, 0.0), quaternion=quaternions.IDENTITY)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a reading."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of measurements in a reading."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest measurement [m]."""
        return 0.0, np.inf

    @property
    def keeps(self) -> bool:
        """Whether a reading may be of another time than the present."""
        return self.delay > 0 or self.rate is not None

    @cached_property
    def rays(self) -> Array:
        """Unit vectors (size, 3) of the rays in the sensor's axes."""
        raise NotImplementedError

    @cached_property
    def starts(self) -> Array:
        """Origins (1 or size, 3) [m] of the rays in the sensor's axes."""
        return np.zeros((1, 3))

    @cached_property
    def factors(self) -> Array:
        """Measurement over distance, (1 or size,)."""
        return np.ones(1)

    def points(self, values: ArrayLike) -> Array:
        """Measured points (..., 3) [m] in the sensor's axes, of readings (...); nan for none."""
        values = np.asarray(values, dtype=float)
        distances = values.reshape(*values.shape[: values.ndim - len(self.shape)], -1)
        distances = np.where(np.isfinite(distances), distances, np.nan) / self.factors
        found = self.starts + distances[..., None] * self.rays
        return np.asarray(found.reshape(*values.shape, 3))


@dataclass(frozen=True, eq=False)
class Lidar(RaySensor):
    """Distances along rays in rings about the z axis of a frame, x ahead.

    A reading has shape (rings, columns): distances [m]. Rings go from the first to the last
    elevation, columns from the first to the last azimuth, both ends included. Around a whole turn
    the last column is one before the first.

    Attributes
    ----------
    rings, columns : int
        Numbers of elevations and of azimuths.
    horizontal : (first, last) [rad]
        Azimuths, about z from x towards y.
    vertical : (first, last) [rad]
        Elevations above the plane of x and y; a single ring is between both.
    range : float or (least, most) [m]
    """

    kind: ClassVar[str] = "lidar"

    rings: int = 16
    columns: int = 360
    horizontal: tuple[float, float] = (-np.pi, np.pi)
    vertical: tuple[float, float] = (-np.pi / 12, np.pi / 12)
    range: float | tuple[float, float] = 100.0

    def _check(self) -> None:
        self._counts("rings", "columns")
        self._set_range(self.range)
        for name, most, whole in (("horizontal", 2 * np.pi, 4.0), ("vertical", np.pi, np.pi / 2)):
            ends = _numbers(getattr(self, name), 2)
            wrong = ends is None or not 0 <= ends[1] - ends[0] <= most + 1e-9
            if wrong or max(map(abs, ends)) > max(whole, most) + 1e-9:  # type: ignore[arg-type]
                raise self._error(name, f"(first, last) [rad], at most {most:.6g} apart")
            if name == "vertical" and max(map(abs, ends)) > np.pi / 2 + 1e-9:  # type: ignore[arg-type]
                raise self._error(name, "(first, last) [rad], from -pi/2 to pi/2")
            self._set(**{name: ends})

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a reading."""
        return self.rings, self.columns

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest measurement [m]."""
        return self.range  # type: ignore[return-value]

    @cached_property
    def angles(self) -> tuple[Array, Array]:
        """Azimuths (columns,) and elevations (rings,) [rad]."""
        whole = self.horizontal[1] - self.horizontal[0] > 2 * np.pi - 1e-9
        around = np.linspace(*self.horizontal, self.columns, endpoint=not whole)
        up = np.linspace(*self.vertical, self.rings)
        if self.columns == 1:
            around = np.array([sum(self.horizontal) / 2])
        return around, np.array([sum(self.vertical) / 2]) if self.rings == 1 else up

    @cached_property
    def rays(self) -> Array:
        """Unit vectors (size, 3) of the rays in the sensor's axes."""
        around, up = self.angles
        level = np.cos(up)[:, None]
        z = np.broadcast_to(np.sin(up)[:, None], self.shape)
        return np.stack((level * np.cos(around), level * np.sin(around), z), axis=-1).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class HeightScan(RaySensor):
    """Heights of a frame's origin over the ground, at a grid that follows the frame's heading.

    A reading has shape (len(x), len(y)): heights [m], which are negative where the ground is above
    the frame. The ground is the highest surface of the world that looks up
    (`robosim.rays.ground.Ground`); bodies are no ground. So `geometry` and `exclude` have no
    meaning here.

    Attributes
    ----------
    grid : (x, y), sequences of float [m]
        Places along the heading, the horizontal direction of the frame's x axis, and to its left.
    range : float or (least, most) [m]
        Of the height; other grounds count as none. Least may be negative.
    """

    kind: ClassVar[str] = "heightscan"

    grid: tuple[ArrayLike, ArrayLike] = ((0.0,), (0.0,))
    range: float | tuple[float, float] = (-np.inf, np.inf)

    def _check(self) -> None:
        given = self.grid if isinstance(self.grid, Sequence | np.ndarray) else ()
        places = [_places(axis) for axis in given]
        if len(places) != 2 or any(axis is None for axis in places):
            raise self._error("grid", "(x, y), with finite numbers of one place or more")
        self._set(grid=tuple(places))
        pair = (-np.inf, self.range) if isinstance(self.range, Real) else self.range
        ends = _numbers(pair, 2)
        if ends is None or not (ends[0] < ends[1] and ends[1] > 0):
            raise self._error("range", "a height above zero, or (least, most)")
        self._set(range=ends)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a reading."""
        x, y = self.grid
        return len(np.asarray(x)), len(np.asarray(y))

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest measurement [m]."""
        return self.range  # type: ignore[return-value]

    @cached_property
    def rays(self) -> Array:
        """Unit vectors (size, 3) of the rays in the sensor's axes."""
        return np.tile((0.0, 0.0, -1.0), (self.size, 1))

    @cached_property
    def starts(self) -> Array:
        """Origins (1 or size, 3) [m] of the rays in the sensor's axes."""
        x, y = np.meshgrid(np.asarray(self.grid[0]), np.asarray(self.grid[1]), indexing="ij")
        return np.stack((x, y, np.zeros(self.shape)), axis=-1).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class DepthCamera(RaySensor):
    """A picture of depths: distances along the direction in which a camera looks.

    A reading has shape (height, width): depths [m] from the upper left, at centres of pixels.

    Attributes
    ----------
    width, height : int [pixels]
    fov : float or (horizontal, vertical) [rad]
        Field of view, below pi; of a single one, the horizontal one, pixels are square.
    range : float or (least, most) [m]
        Of the depth.
    axes : "link", "optical" or "opengl"
        How the camera stands in its frame: it looks along x, z up; along z, y down; or along -z,
        y up.
    """

    kind: ClassVar[str] = "depthcamera"

    width: int = 64
    height: int = 48
    fov: float | tuple[float, float] = np.pi / 3
    range: float | tuple[float, float] = 10.0
    axes: str = "link"

    def _check(self) -> None:
        self._counts("width", "height")
        self._set_range(self.range)
        single = isinstance(self.fov, Real)
        angles = _numbers((self.fov, self.fov) if single else self.fov, 2)
        if angles is None or not all(0 < angle < np.pi for angle in angles):
            raise self._error("fov", "above 0 and below pi [rad]")
        if not single:
            self._set(fov=angles)
        if self.axes not in AXES:
            raise self._error("axes", f"one of {', '.join(AXES)}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a reading."""
        return self.height, self.width

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest measurement [m]."""
        return self.range  # type: ignore[return-value]

    @cached_property
    def focal(self) -> tuple[float, float]:
        """Focal lengths [pixels], to the right and down."""
        if isinstance(self.fov, tuple):
            across, down = self.fov
            return (self.width / 2 / float(np.tan(across / 2)),
                    self.height / 2 / float(np.tan(down / 2)))  # fmt: skip
        focal = self.width / 2 / float(np.tan(self.fov / 2))
        return focal, focal

    @cached_property
    def _unscaled(self) -> Array:
        """Vectors (size, 3) to where the depth is 1."""
        ahead, right, down = (np.array(axis) for axis in AXES[self.axes])
        u = (np.arange(self.width) + 0.5 - self.width / 2) / self.focal[0]
        v = (np.arange(self.height) + 0.5 - self.height / 2) / self.focal[1]
        return (ahead + v[:, None, None] * down + u[:, None] * right).reshape(-1, 3)

    @cached_property
    def rays(self) -> Array:
        """Unit vectors (size, 3) of the rays in the sensor's axes."""
        return np.asarray(self._unscaled * self.factors[:, None])

    @cached_property
    def factors(self) -> Array:
        """Measurement over distance, (1 or size,)."""
        return np.asarray(1.0 / np.sqrt(np.sum(self._unscaled**2, axis=1)))


@dataclass(frozen=True, eq=False)
class RangeFinder(RaySensor):
    """MuJoCo's range finder: along z of a frame, or along the pixels of a camera.

    A reading is a number, or an array of the fields of `data`. A camera has (height, width) of
    them, or (height, width, k) with k numbers of several fields. Here a ray that meets nothing has
    the distance and depth -1, and zero for direction, point and normal.

    Attributes
    ----------
    data : tuple of str
        Fields of `FIELDS`, in this order.
    camera : Pixels or None
    cutoff : float
        Numbers are clipped to plus and minus this, also the -1 of nothing; 0: no limit.
    passes : tuple of str
        Names of shapes on the sensor's body, or of obstacles for a sensor of the world, that its
        rays pass.
    """

    kind: ClassVar[str] = "rangefinder"

    data: tuple[str, ...] = ("dist",)
    camera: Pixels | None = None
    cutoff: float = 0.0
    passes: tuple[str, ...] = ()

    def _check(self) -> None:
        order = [what for what in FIELDS if what in self.data]
        if not order or list(self.data) != order:
            raise self._error("data", f"some of {', '.join(FIELDS)}, in this order")
        self._set(
            data=tuple(self.data),
            passes=tuple(self.passes),
            cutoff=not_negative(self.cutoff, "cutoff", self.element),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a reading."""
        told = sum(FIELDS[what] for what in self.data)
        last = (told,) if told > 1 else ()
        return last if self.camera is None else (self.camera.height, self.camera.width, *last)

    @cached_property
    def _pixels(self) -> tuple[Array, Array]:
        """Places of the pixels' centres to the right and up, over the focal length."""
        assert self.camera is not None
        width, height, focal, center, _ = self.camera
        u, v = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
        return (u.ravel() - center[0]) / focal[0], -(v.ravel() - center[1]) / focal[1]

    @cached_property
    def rays(self) -> Array:
        """Unit vectors (size, 3) of the rays in the sensor's axes."""
        if self.camera is None:
            return np.array([(0.0, 0.0, 1.0)])
        if self.camera.extent > 0:
            return np.array([(0.0, 0.0, -1.0)])
        right, up = self._pixels
        rays = np.stack((right, up, -np.ones(len(right))), axis=1)
        return np.asarray(rays / np.sqrt(np.sum(rays**2, axis=1, keepdims=True)))

    @cached_property
    def starts(self) -> Array:
        """Origins (1 or size, 3) [m] of the rays in the sensor's axes."""
        if self.camera is None or not self.camera.extent > 0:
            return np.zeros((1, 3))
        right, up = self._pixels
        return np.stack((right, up, np.zeros(len(right))), axis=1)

    def points(self, values: ArrayLike) -> Array:
        if "dist" not in self.data:
            raise ModelError("points need the field 'dist'", element=self.element)
        values, told = np.asarray(values, dtype=float), sum(FIELDS[what] for what in self.data)
        distances = values[..., 0] if told > 1 else values
        lead = distances.shape[: distances.ndim - (0 if self.camera is None else 2)]
        flat = distances.reshape(*lead, -1)
        found = self.starts + np.where(flat >= 0, flat, np.nan)[..., None] * self.rays
        return np.asarray(found.reshape(*distances.shape, 3))


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _numbers(value: Any, n: int) -> tuple[Any, ...] | None:
    """n floats that are not nan, or None."""
    try:
        found = tuple(float(one) for one in value)
    except (TypeError, ValueError):
        return None
    return found if len(found) == n and not np.isnan(found).any() else None


def _places(value: Any) -> tuple[float, ...] | None:
    """Finite numbers, one or more, or None."""
    try:
        found = np.array(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        return None
    if not (len(found) and np.all(np.isfinite(found))):
        return None
    return tuple(found.tolist())
