"""Samples of sensors with rays: when they are taken, what they measure, noise.

A sensor of rate f takes sample k at the first knot from the time k / f on. A reading is the last
sample that is older than the delay. Poses of samples are kept for sensors that have been switched
on, and rays are cast when a reading is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.description.ray_sensor import FIELDS, HeightScan, RangeFinder, RaySensor
from robosim.errors import OptionError, StateError
from robosim.rays.casting import Excluded, excluded_bodies
from robosim.rays.ground import ground_of
from robosim.rays.hits import Hits
from robosim.validation import Array

EARLY = 1e-6  # of a period, by which a time may miss that of a sample
NONE = np.iinfo(np.int64).min  # number of no sample
Whole = NDArray[np.int64]
Placed = tuple[str | None, Array, Array]  # body, positions (n, 3) and axes (n, 3, 3) on it


class Source(Protocol):
    """The states that are sensed, n of them.

    Attributes
    ----------
    places : dict of str to Placed
        Where sensors are, by their names; emptied when robots change.
    """

    places: dict[str, Placed]

    @property
    def timestep(self) -> float: ...
    @property
    def robots(self) -> Sequence[Mechanism]:
        """Of each state, or one for all."""
        ...

    def times(self) -> Array:
        """Times (n,) [s] of the knots."""
        ...

    def steps(self) -> Whole:
        """Steps (n,) since the starts."""
        ...

    def poses(self) -> tuple[Array, Array]:
        """Poses (n, nb, 3) and (n, nb, 4) of the bodies."""
        ...

    def from_poses(
        self,
        poses: tuple[Array, Array],
        rays: tuple[Array, Array],
        limit: float,
        excluded: Excluded,
        geometry: str,
    ) -> Hits:
        """Hits (n, m) of rays, origins (n, 1 or m, 3) and directions (n, 1 or m, 3)."""
        ...


@dataclass(frozen=True, eq=False)
class Sample:
    """A reading of a sensor with rays.

    Attributes
    ----------
    sensor : RaySensor
    time : float [s]
        When it was taken; nan if there is none yet.
    values : array of ``sensor.shape``
        The reading; nan if there is none yet.
    position : (3,) [m], rotation : (3, 3)
        Pose of the sensor at that time, to world; of a height scan, the axes of its heading.
    """

    sensor: RaySensor
    time: float
    values: Array
    position: Array
    rotation: Array

    @property
    def points(self) -> Array:
        """Measured points (..., 3) [m], world; nan where nothing was measured."""
        own = self.sensor.points(self.values)
        return np.asarray(own @ self.rotation.T + self.position)

    @property
    def cloud(self) -> Array:
        """The measured points (k, 3) [m], world, without those where nothing was measured."""
        points = self.points.reshape(-1, 3)
        return points[np.isfinite(points[:, 0])]


class Readings(NamedTuple):
    """Readings of n states: values (n, ...), times (n,) [s], positions (n, 3), axes (n, 3, 3)."""

    values: Array
    times: Array
    positions: Array
    rotations: Array


class Ring:
    """The last samples of a sensor that keeps some, for n states: poses, and what was measured."""

    def __init__(self, sensor: RaySensor, timestep: float, poses: tuple[Array, Array]) -> None:
        self.sensor, self.timestep = sensor, timestep
        self.rate = sensor.rate if sensor.rate is not None else 1.0 / timestep
        if self.rate > (1.0 + EARLY) / timestep:
            raise OptionError(
                f"{sensor.element}: rate must be at most {1 / timestep:g} Hz, one sample a time "
                f"step, not {self.rate:g}"
            )
        n, depth = len(poses[0]), int(np.ceil(sensor.delay * self.rate)) + 2
        self.numbers = np.full((depth, n), NONE)
        self.times = np.full((depth, n), np.nan)
        self.x, self.q = (np.zeros((depth, *one.shape)) for one in poses)
        self.first = np.full(n, NONE)  # samples from this one on have been waited for
        self.known = np.full(n, NONE)  # the sample that has been measured
        self.found: Readings | None = None

    def index(self, times: Array) -> Whole:
        """The numbers of the last samples at times."""
        return np.floor(times * self.rate + EARLY).astype(np.int64)

    def begins(self, times: Array) -> NDArray[np.bool_]:
        """Whether samples are taken at the knots of these times."""
        return np.asarray(self.index(times) != self.index(times - self.timestep))

    def due(self, times: Array) -> Whole:
        """The numbers of the samples that are read at times."""
        return self.index(times - self.sensor.delay)

    def clear(self, times: Array) -> None:
        """Forget all samples."""
        self.numbers[:], self.known[:] = NONE, NONE
        self.first = self.index(times) + ~self.begins(times)

    def note(self, source: Source, times: Array, poses: tuple[Array, Array]) -> None:
        """Take samples at the present knots, where they begin; where states start, all of them."""
        index, depth = self.index(times), len(self.numbers)
        starts = source.steps() == 0
        for i in np.flatnonzero(starts):
            slots = (index[i] - np.arange(depth)) % depth
            self.numbers[slots, i] = index[i] - np.arange(depth)
            self.times[:, i] = times[i]
            self.x[:, i], self.q[:, i] = poses[0][i], poses[1][i]
            self.known[i] = self.first[i] = NONE
        some = np.flatnonzero(self.begins(times) & ~starts)
        slots = index[some] % depth
        self.numbers[slots, some], self.times[slots, some] = index[some], times[some]
        self.x[slots, some], self.q[slots, some] = poses[0][some], poses[1][some]

    def read(self, source: Source, state_numbers: Whole) -> Readings:
        """Readings at the present knots, which have been noted."""
        times, every = source.times(), np.arange(self.numbers.shape[1])
        due = self.due(times)
        slots = due % len(self.numbers)
        there = self.numbers[slots, every] == due
        passed = ~there & (due >= self.first) & (self.first != NONE)
        if np.any(passed | (~there & (self.first == NONE))):
            raise OptionError(
                f"{self.sensor.element}: a sample of rate {self.rate:g} Hz and delay "
                f"{self.sensor.delay:g} s was due where the state was not seen, as another run "
                "took it there: step all states by the batch"
            )
        if self.found is None or np.any(there & (self.known != due)):
            # Samples that are not there have no pose: those of another one stand for them.
            x, q = source.poses()
            x = np.where(there[:, None, None], self.x[slots, every], x)
            q = np.where(there[:, None, None], self.q[slots, every], q)
            found = measure(source, self.sensor, (x, q), state_numbers, due)
            self.known = np.where(there, due, NONE)
            self.found = found._replace(times=np.where(there, self.times[slots, every], np.nan))
        if there.all():
            return self.found
        values, at = self.found.values.copy(), self.found.times.copy()
        values[~there], at[~there] = np.nan, np.nan
        return self.found._replace(values=values, times=at)


class Samples:
    """The sensors with rays of n states.

    Parameters
    ----------
    source : Source

    Attributes
    ----------
    numbers : (n,) int
        Of the states, on which noise depends; 0 to n - 1 unless changed.
    """

    def __init__(self, source: Source, numbers: Whole) -> None:
        self.source, self.numbers = source, numbers
        self._rings: dict[str, Ring] = {}

    @property
    def keeps(self) -> bool:
        """Whether a sensor has been switched on whose samples are kept."""
        return bool(self._rings)

    @property
    def on(self) -> tuple[RaySensor, ...]:
        """Sensors that have been switched on and keep samples."""
        return tuple(ring.sensor for ring in self._rings.values())

    def switch_on(self, sensor: RaySensor) -> None:
        """Keep samples from now on, if the sensor needs some.

        Raises
        ------
        OptionError
            For a rate of more than one sample a time step.
        """
        ring = self._rings.get(sensor.name)
        if not sensor.keeps or (ring is not None and ring.sensor is sensor):
            return
        times, poses = self.source.times(), self.source.poses()
        ring = self._rings[sensor.name] = Ring(sensor, self.source.timestep, poses)
        ring.clear(times)
        ring.note(self.source, times, poses)

    def note(self) -> None:
        """Take the samples of the present knots."""
        times, poses = self.source.times(), self.source.poses()
        for ring in self._rings.values():
            ring.note(self.source, times, poses)

    def is_due(self, begin: int, n: int, start: float) -> list[int]:
        """Which of the knots 1 to n - 1 after `begin` steps have samples."""
        after = np.arange(1, n)
        times = np.asarray(start + self.source.timestep * (begin + after), dtype=np.float64)
        due = np.zeros(len(after), dtype=bool)
        for ring in self._rings.values():
            due |= ring.begins(times)
        return after[due].tolist()

    def read(self, sensor: RaySensor) -> Readings:
        """Readings at the present knots.

        Raises
        ------
        OptionError
            For a rate of more than one sample a time step, or samples within calls of several
            steps.
        """
        if not sensor.keeps:
            times = self.source.times()
            index = np.rint(times / self.source.timestep).astype(np.int64)
            found = measure(self.source, sensor, self.source.poses(), self.numbers, index)
            return found._replace(times=times)
        self.switch_on(sensor)
        ring = self._rings[sensor.name]
        ring.note(self.source, self.source.times(), self.source.poses())
        return ring.read(self.source, self.numbers)

    def forget(self) -> None:
        """Forget all samples, as of states that come from elsewhere."""
        times = self.source.times()
        for ring in self._rings.values():
            ring.clear(times)

    def take(self, other: Samples) -> None:
        """Take over the samples of another one's states."""
        self._rings = {}
        for name, theirs in other._rings.items():
            ring = self._rings[name] = Ring(
                theirs.sensor, theirs.timestep, (theirs.x[0], theirs.q[0])
            )
            for what in ("numbers", "times", "x", "q", "first"):
                setattr(ring, what, getattr(theirs, what).copy())


def measure(
    source: Source, sensor: RaySensor, poses: tuple[Array, Array], numbers: Whole, index: Whole
) -> Readings:
    """What a sensor measures in poses (n, nb, 3) and (n, nb, 4) of the bodies.

    Parameters
    ----------
    numbers, index : (n,)
        Numbers of the states and of the samples, for the noise.
    """
    positions, R = _pose(source, sensor, *poses)
    if isinstance(sensor, HeightScan):
        values = _heights(source.robots, sensor, positions, R)
        R = _level(R)
    else:
        values = _by_rays(source, sensor, poses, positions, R)
    if not isinstance(sensor, RangeFinder):
        least, most = sensor.limits
        values[values > most] = np.inf
        values[values < least] = -np.inf
    if sensor.noise > 0 or sensor.dropout > 0:
        for row, number, k in zip(values, numbers.tolist(), index.tolist(), strict=True):
            _disturb(sensor, row, number, k)
    shaped = values.reshape(len(values), *sensor.shape)
    return Readings(shaped, np.full(len(values), np.nan), positions, R)


def _pose(source: Source, sensor: RaySensor, x: Array, q: Array) -> tuple[Array, Array]:
    """Positions (n, 3) and axes (n, 3, 3) of a sensor."""
    name, p, turns = _places(source, sensor.name)
    n = len(x)
    if name is None:
        return np.tile(p, (n // len(p), 1)), np.tile(turns, (n // len(p), 1, 1))
    body = source.robots[0].body_index(name)
    R = quaternions.rotation_matrix(q[:, body])
    return x[:, body] + _turned(R, p[:, None])[:, 0], _product(R, turns)


def _places(source: Source, name: str) -> Placed:
    """Where a sensor is on the robots; found once for these."""
    robots = source.robots
    if name not in source.places:
        each = [robot.sensor(name).place for robot in robots]
        p = np.stack([np.asarray(place.position) for place in each])
        turns = quaternions.rotation_matrix(np.stack([np.asarray(one.quaternion) for one in each]))
        source.places[name] = each[0].body, p, turns
    return source.places[name]


def _level(R: Array) -> Array:
    """Axes (n, 3, 3) of the headings of others, z up."""
    found = np.zeros_like(R)
    yaw = np.arctan2(R[:, 1, 0], R[:, 0, 0])
    found[:, 0, 0] = found[:, 1, 1] = np.cos(yaw)
    found[:, 1, 0] = np.sin(yaw)
    found[:, 0, 1], found[:, 2, 2] = -found[:, 1, 0], 1.0
    return found


def _turned(R: Array, vectors: Array) -> Array:
    """R (n, 3, 3) times vectors (1 or n, m, 3), (n, m, 3)."""
    # A matrix product would be rounded differently for each number of rows.
    return np.asarray(
        R[:, None, :, 0] * vectors[..., :1]
        + R[:, None, :, 1] * vectors[..., 1:2]
        + R[:, None, :, 2] * vectors[..., 2:]
    )


def _product(A: Array, B: Array) -> Array:
    """Products (n, 3, 3) of matrices (n, 3, 3) and (1 or n, 3, 3)."""
    return np.asarray(sum(A[:, :, k, None] * B[:, None, k] for k in range(3)))


def _heights(robots: Sequence[Mechanism], sensor: HeightScan, positions: Array, R: Array) -> Array:
    """Heights (n, m) over the ground of each state."""
    x, y = sensor.starts[:, 0], sensor.starts[:, 1]
    grounds = [ground_of(robot) for robot in robots]
    if all(ground is grounds[0] for ground in grounds):
        return grounds[0].heights_over(positions, R, x, y)
    rows = [
        ground.heights_over(positions[i : i + 1], R[i : i + 1], x, y)
        for i, ground in enumerate(grounds)
    ]
    return np.concatenate(rows)


def _by_rays(
    source: Source, sensor: RaySensor, poses: tuple[Array, Array], positions: Array, R: Array
) -> Array:
    """Measurements (n, size) of rays."""
    robot = source.robots[0]
    origins = positions[:, None] + _turned(R, sensor.starts[None])
    directions = _turned(R, sensor.rays[None])
    least_factor = float(sensor.factors.min())
    most = sensor.limits[1]
    # A little farther: what counts is the measurement.
    limit = most / least_factor * (1.0 + 1e-12) if np.isfinite(most) else np.inf
    own = sensor.place.body
    passed = sensor.exclude
    shapes: tuple[str, ...] = ()
    body = len(robot.bodies) if own is None else robot.body_index(own)
    if isinstance(sensor, RangeFinder):
        passed, shapes = passed or (), sensor.passes
    elif passed is None:
        passed = () if own is None else (own,)
    excluded = Excluded(excluded_bodies(robot, passed), body, shapes)
    hits = source.from_poses(poses, (origins, directions), limit, excluded, sensor.geometry)
    if isinstance(sensor, RangeFinder):
        return _told(sensor, hits, origins, directions, R)
    return np.asarray(hits.distance * sensor.factors)


def _told(sensor: RangeFinder, hits: Hits, origins: Array, directions: Array, R: Array) -> Array:
    """What a range finder tells (n, size), with MuJoCo's numbers where there is nothing."""
    n, m = hits.distance.shape
    met = np.isfinite(hits.distance)
    distance = np.where(met, hits.distance, -1.0)
    depth = distance
    if sensor.camera is not None:
        # A camera looks along -z.
        away = np.nan_to_num(hits.point) - origins
        depth = np.where(met, -(away * R[:, None, :, 2]).sum(axis=-1), -1.0)
    fields = {
        "dist": distance[..., None],
        "dir": np.where(met[..., None], np.broadcast_to(directions, (n, m, 3)), 0.0),
        "origin": np.broadcast_to(origins, (n, m, 3)),
        "point": np.where(met[..., None], hits.point, 0.0),
        "normal": np.where(met[..., None], hits.normal, 0.0),
        "depth": depth[..., None],
    }
    values = np.concatenate([fields[what] for what in FIELDS if what in sensor.data], axis=-1)
    if sensor.cutoff > 0:
        values = np.clip(values, -sensor.cutoff, sensor.cutoff)
    return values.reshape(n, -1)


@lru_cache(maxsize=256)
def _key(seed: int, name: str) -> tuple[int, int]:
    """Two numbers of 64 bits of a seed and a name."""
    told = f"{seed} {name}".encode()
    digest = blake2b(told, digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def _disturb(sensor: RaySensor, values: Array, number: int, index: int) -> None:
    """Add noise to a reading and lose some of it: a function of its numbers alone."""
    words = np.array([0, 0, number, index], dtype=np.int64).view(np.uint64)
    key = np.array(_key(sensor.seed, sensor.name), dtype=np.uint64)
    random = np.random.Generator(np.random.Philox(key=key, counter=words))
    if sensor.noise > 0:
        values += sensor.noise * random.standard_normal(len(values))
        if sensor.limits[0] >= 0:  # no device tells a negative distance
            values[np.isfinite(values)] = np.maximum(values[np.isfinite(values)], 0.0)
    if sensor.dropout > 0:
        values[random.random(len(values)) < sensor.dropout] = np.nan


def sample_of(sensor: RaySensor, found: Readings, i: int = 0) -> Sample:
    """The reading of one state."""
    values, time, position, rotation = (one[i] for one in found)
    return Sample(sensor, float(time), np.array(values), position.copy(), rotation.copy())


def ray_sensor(robot: Any, name: str) -> RaySensor:
    """A sensor with rays, by its name.

    Raises
    ------
    ModelError
        For an unknown name.
    StateError
        For a sensor without rays.
    """
    sensor = robot.sensor(name)
    if not isinstance(sensor, RaySensor):
        raise StateError(f"sensor '{name}' of kind '{sensor.kind}' has no rays")
    return sensor
