"""Reads the additional channels of a log from a simulation at its knots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.control.motors import Motors
from robosim.description.mechanism import Mechanism
from robosim.description.ray_sensor import RaySensor
from robosim.description.sensor import Sensor
from robosim.errors import OptionError
from robosim.formulation import Formulation, sizes_of
from robosim.log.channels import (
    CONTACT,
    FRAME,
    JOINT_WRENCH,
    MOTOR,
    SENSOR,
    STEP,
    WORDS,
    Also,
    scan_shape,
)
from robosim.simulation import sensors
from robosim.validation import Array

# The attribute of a simulation that a kind of channel needs.
NEEDS = {
    SENSOR: "sensor",
    CONTACT: "contacts",
    JOINT_WRENCH: "joint_wrenches",
    FRAME: "state",
    STEP: "step_sizes",
    MOTOR: "state",
}


class Knot:
    """A simulation at one knot, whose quantities are cached; see `sensors.Readable`."""

    def __init__(self, sim: Formulation, controller: Any = None) -> None:
        # Some formulations lack wrenches and accelerations, whose channels `ChannelReader` refuses.
        self._sim: Any = sim
        self.robot: Mechanism = sim.robot
        self._samples: dict[str, Any] = {}
        self._controller = controller

    @cached_property
    def state(self) -> Any:
        return self._sim.state

    @cached_property
    def turns(self) -> Array:
        """Rotation matrices (nb, 3, 3), body to world."""
        return quaternions.rotation_matrix(self.state.q)

    @cached_property
    def q(self) -> Array:
        return np.asarray(self._sim.q)

    @cached_property
    def v(self) -> Array:
        return np.asarray(self._sim.v)

    @cached_property
    def torques(self) -> Array:
        return np.asarray(self._sim.torques)

    @property
    def gravity(self) -> Array:
        return np.asarray(self._sim.gravity)

    @property
    def timestep(self) -> float:
        return float(self._sim.timestep)

    @cached_property
    def before(self) -> sensors.Ends:
        found: sensors.Ends = self._sim.before
        return found

    @property
    def time(self) -> float:
        return float(self._sim.time)

    def sample(self, name: str) -> Any:
        """The reading of a sensor with rays."""
        if name not in self._samples:
            self._samples[name] = self._sim.sample(name)
        return self._samples[name]

    @cached_property
    def _accelerations(self) -> Array:
        return np.asarray(self._sim.accelerations())

    def accelerations(self) -> Array:
        return self._accelerations

    @cached_property
    def _contacts(self) -> Sequence[Any]:
        found: Sequence[Any] = self._sim.contacts()
        return found

    def contacts(self) -> Sequence[Any]:
        return self._contacts

    def wrench(self, body: str) -> Array:
        return np.asarray(self._sim.wrench(body))

    @cached_property
    def _joint_wrenches(self) -> Mapping[str, Array]:
        found: Mapping[str, Array] = self._sim.joint_wrenches()
        return found

    def joint_wrenches(self) -> Mapping[str, Array]:
        return self._joint_wrenches

    def motors(self) -> Array:
        """Currents, voltages and temperatures (3, nu) of the controller's motors."""
        return np.asarray(self._controller.readings(self._sim))

    def last_step(self) -> tuple[float, float, int]:
        """Shortest interval [s], estimated error [m] and events of the step to this knot."""
        last = self._sim.engine.counters.last
        if last is None or not self._sim.steps:
            return np.nan, np.nan, 0
        infos, row = last
        names = ["shortest", "error", "events", "substeps"]
        shortest, error, events, substeps = infos[names][row].item()
        return sizes_of(shortest, error, events, substeps, self.timestep)


class ChannelReader:
    """Reads all channels of a log at the present knot of a simulation.

    Parameters
    ----------
    sim : Formulation
    also : Also
    controller : object
        What controls the run.

    Raises
    ------
    OptionError
        For channels that this formulation does not have, or those of motors without any.
    """

    def __init__(self, sim: Formulation, also: Also, controller: Any = None) -> None:
        self._controller = controller
        self.sim, self.every, self.width = sim, also.every, len(also.columns)
        self._parts: list[tuple[Callable[[Knot], Array], slice]] = []
        begin = 0
        # Adjacent channels of a kind are read together.
        for kind, names, width in _runs(also):
            if not hasattr(sim, NEEDS[kind]):
                word = next(word for word, known in WORDS.items() if known == kind)
                raise OptionError(
                    f"{type(sim).__name__} has no {word.replace('_', ' ')} to log: use "
                    "robosim.Simulation, which has them"
                )
            if kind == MOTOR and not isinstance(controller, Motors):
                raise OptionError("logs of motors need Motors with a DCMotor as the controller")
            self._parts.append((READERS[kind](sim.robot, names), slice(begin, begin + width)))
            begin += width
        self._large = tuple(also.scans)
        self._seen: dict[str, tuple[float, Any]] = {}  # times of large readings, and these
        for channel in also.channels:
            if channel.kind == SENSOR:
                sim.switch_on(channel.name)  # type: ignore[attr-defined]

    @property
    def scans(self) -> int:
        """Number of sensors whose readings are no columns."""
        return len(self._large)

    def __call__(self, row: Array, scans: NDArray[np.object_] | None = None) -> None:
        """Fill a row (width,), and one of large readings (scans,)."""
        knot = Knot(self.sim, self._controller)
        for read, columns in self._parts:
            row[columns] = read(knot)
        if scans is not None:
            for k, name in enumerate(self._large):
                scans[k] = self._large_reading(knot, name)

    def _large_reading(self, knot: Knot, name: str) -> NDArray[np.float32]:
        """A large reading, the same object for a sample that has been read before."""
        sample = knot.sample(name)
        time, values = self._seen.get(name, (np.nan, None))
        if values is None or not np.array_equal(time, sample.time, equal_nan=True):
            values = sample.values.astype(np.float32)
            self._seen[name] = sample.time, values
        return values


class Felt:
    """The readings in a run of n steps.

    Parameters
    ----------
    read : ChannelReader
    begin, n, every : int
        Number of steps before the run, in the run, and between two samples.

    Attributes
    ----------
    rows : (samples, m)
        nan where nothing is read.
    scans : (samples, k) of arrays
        Large readings; None where nothing is read.
    """

    def __init__(self, read: ChannelReader, begin: int, n: int, every: int) -> None:
        self._read, self._n, self._every = read, n, every
        self._steps = [k for k in range(0, n, every) if (begin + k) % read.every == 0]
        self._wanted = set(self._steps)
        self.rows = np.full((-(-n // every), read.width), np.nan)
        self.scans = np.full((len(self.rows), read.scans), None, dtype=object)

    def note(self, k: int) -> None:
        """Read at the knot before step k of the run, if a reading is due."""
        if k in self._wanted:
            row = k // self._every
            self._read(self.rows[row], self.scans[row])

    def stops(self) -> set[int]:
        """Steps before which the run is interrupted for readings, its begin and its end."""
        return {0, *self._steps, self._n}


def _runs(also: Also) -> Iterator[tuple[str, list[str], int]]:
    """(kind, names, number of columns) of adjacent channels of a kind."""
    kind, width = "", 0
    names: list[str] = []
    for channel in also.channels:
        if names and channel.kind != kind:
            yield kind, names, width
            names, width = [], 0
        kind = channel.kind
        names = [*names, channel.name]
        width += len(channel.columns)
    if names:
        yield kind, names, width


def _of_sensors(robot: Mechanism, names: Sequence[str]) -> Callable[[Knot], Array]:
    chosen = [robot.sensor(name) for name in names]

    def read(knot: Knot) -> Array:
        return np.concatenate([_numbers(knot, sensor) for sensor in chosen])

    return read


def _numbers(knot: Knot, sensor: Sensor | RaySensor) -> Array:
    """The columns of a sensor."""
    if not isinstance(sensor, RaySensor):
        return np.atleast_1d(sensors.read(knot, sensor))
    large = bool(scan_shape(sensor))
    if large and not sensor.keeps:
        return np.zeros(0)
    sample = knot.sample(sensor.name)
    values = sample.values.ravel()
    return np.concatenate(([sample.time] if sensor.keeps else [], [] if large else values))


def _of_contacts(robot: Mechanism, names: Sequence[str]) -> Callable[[Knot], Array]:
    """The force on each link, summed over all its contacts; world axes."""
    index = {name: k for k, name in enumerate(names)}

    def read(knot: Knot) -> Array:
        forces = np.zeros((len(names), 3))
        for contact in knot.contacts():
            if (k := index.get(contact.link)) is not None:
                forces[k] += contact.force
            if (k := index.get(contact.other_link)) is not None:
                forces[k] -= contact.force
        return forces.ravel()

    return read


def _of_frames(robot: Mechanism, names: Sequence[str]) -> Callable[[Knot], Array]:
    """Position, orientation, velocity of the origin and angular velocity; world axes."""
    found = [robot.frame(name) for name in names]
    bodies = [index for index, _ in found]
    arms = np.array([frame.position for _, frame in found], dtype=float)
    # Matrices (n, 4, 4) that map a body's quaternion to the frame's.
    turns = np.array([
        np.array([quaternions.multiply(unit, frame.quaternion) for unit in np.eye(4)]).T
        for _, frame in found
    ])  # fmt: skip

    def read(knot: Knot) -> Array:
        state, R = knot.state, knot.turns[..., bodies, :, :]
        away = quaternions.turned(R, arms)
        spins = quaternions.turned(R, state.omega[..., bodies, :])
        places = state.x[..., bodies, :] + away
        axes = quaternions.turned(turns, state.q[..., bodies, :])
        velocities = state.v[..., bodies, :] + np.cross(spins, away)
        found = np.concatenate((places, axes, velocities, spins), axis=-1)
        return found.reshape(*found.shape[:-2], -1)

    return read


def _of_joint_wrenches(robot: Mechanism, names: Sequence[str]) -> Callable[[Knot], Array]:
    def read(knot: Knot) -> Array:
        found = knot.joint_wrenches()
        return np.concatenate([found[name] for name in names])

    return read


def _of_steps(robot: Mechanism, names: Sequence[str]) -> Callable[[Knot], Array]:
    return lambda knot: np.array(knot.last_step())


def _of_motors(robot: Mechanism, names: Sequence[str]) -> Callable[[Knot], Array]:
    chosen = [robot.actuated_names.index(name) for name in names]
    return lambda knot: knot.motors()[:, chosen].T.ravel()


READERS: dict[str, Callable[[Mechanism, Sequence[str]], Callable[[Knot], Array]]] = {
    SENSOR: _of_sensors,
    CONTACT: _of_contacts,
    FRAME: _of_frames,
    JOINT_WRENCH: _of_joint_wrenches,
    STEP: _of_steps,
    MOTOR: _of_motors,
}
