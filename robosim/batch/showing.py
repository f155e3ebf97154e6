"""Results of a bound run for all states: bodies, forces of contact points, channels.

For states in lanes, only the requested values are copied from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.batch.group import Group
from robosim.batch.stepping import Stepping
from robosim.compiled.arrays import words_to
from robosim.compiled.order import contact_order
from robosim.compiled.records.body import BODY_STATE
from robosim.compiled.state import force_interval
from robosim.description.ray_sensor import DepthCamera, HeightScan, Lidar, RangeFinder, RaySensor
from robosim.description.sensor import Sensor
from robosim.kernels.compiler.lanes import WIDTH, lanes
from robosim.log.channels import (
    CONTACT,
    FRAME,
    JOINT_WRENCH,
    SENSOR,
    Also,
    channels_of,
    contact_link,
)
from robosim.quaternions import rotation_matrix
from robosim.rays.sensing import Samples
from robosim.runtime.handles import Handle
from robosim.runtime.lanes import Leaving, leave
from robosim.runtime.wide import fields_at
from robosim.simulation import readings, sensors
from robosim.simulation.channel_reader import READERS, ChannelReader
from robosim.validation import Array, read_only

SHOWN = words_to(BODY_STATE, "omega")  # words of a body that are read: x, q, v, omega
ALL = words_to(BODY_STATE, "omega_before")  # up to the knot that the last step began at
RAYS = tuple(one.kind for one in (Lidar, HeightScan, DepthCamera, RangeFinder))
APART = (CONTACT, JOINT_WRENCH, *sensors.BY_STATE)  # read state by state


class BodyViews(NamedTuple):
    """Poses and velocities of the bodies of all states at the knot, read-only views.

    Attributes
    ----------
    x : (n, nb, 3) [m], centres of mass, world
    q : (n, nb, 4), body to world, scalar first
    v : (n, nb, 3) [m/s], of the centres of mass, world
    omega : (n, nb, 3) [rad/s], body axes
    """

    x: Array
    q: Array
    v: Array
    omega: Array


class Rows:
    """All states at once, in the form that sensors and frames read; see `sensors.Readable`."""

    def __init__(self, stepping: Stepping) -> None:
        states, robot = stepping.states, stepping.robot
        self.robot, self._stepping, self._bodies = robot, stepping, states.bodies
        self.q, self.v = states.q[:, : robot.nq], states.v[:, : robot.nv]
        names = ("x", "q", "v", "omega")
        self.state = SimpleNamespace(
            **{name: states.bodies[name] for name in names}, joint_q=states.q, joint_v=states.v
        )
        self.timestep = stepping.timestep
        self.before = sensors.Ends(
            *(states.bodies[name] for name in ("q_before", "v_before", "omega_before"))
        )

    @cached_property
    def turns(self) -> Array:
        """Rotation matrices (n, nb, 3, 3), body to world."""
        return rotation_matrix(self.state.q)

    @property
    def gravity(self) -> Array:
        return np.asarray(self._stepping.sims[0].gravity)

    @property
    def time(self) -> Array:
        return self._stepping.time

    def accelerations(self) -> Array:
        """Accelerations (n, nb, 6), as `Simulation.accelerations`."""
        return self._accelerations

    @cached_property
    def _accelerations(self) -> Array:
        return readings.accelerations(self._bodies, self.timestep)


class Points:
    """Forces of the contact points of all states.

    Attributes
    ----------
    forces : (n, contacts, 3) [N], world, in the order of ``robot.contacts``
    """

    def __init__(self, stepping: Stepping) -> None:
        robot, self._model = stepping.robot, stepping.sims[0].parts.model
        self._slots = np.argsort(contact_order(robot))
        self._links = [contact_link(robot, point) for point in robot.contacts]
        shape = stepping.n, len(self._slots)
        self._gamma, self._active = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        self._later = np.zeros(shape)  # as that of CONTACT_GUESS
        self._beta = np.zeros((*shape, len(self._model.facets) or 2))
        self._directed = self._model.contacts["directed"][: shape[1]] != 0
        self._friction = np.zeros((*shape, 2 if self._directed.any() else 0))
        self.forces = np.zeros((*shape, 3))

    def fields(self, guesses: Any, some: slice) -> list[NDArray[np.void]]:
        """Fields to be copied from the lanes of some states: impulses of their contact points."""
        every = [
            (guesses.contacts, "gamma", self._gamma[some], 1),
            (guesses.contacts, "later", self._later[some], 1),
            (guesses.active, "", self._active[some], 1),
        ]
        if self._beta.size:
            every.append((guesses.contacts, "beta", self._beta[some, :, 0], self._beta.shape[2]))
        if self._friction.size:
            every.append((guesses.contacts, "friction", self._friction[some, :, 0], 2))
        return [
            fields_at(wide, name, addresses(array), words, lanes)
            for wide, name, array, words in every
        ]

    def take(self, i: int, guesses: Any) -> None:
        """Copy the impulses of a single state."""
        whole, facets = self._beta.shape[1:]
        self._gamma[i] = guesses.contacts["gamma"][:whole]
        self._later[i] = guesses.contacts["later"][:whole]
        self._beta[i] = guesses.contacts["beta"][:whole, :facets]
        self._active[i] = guesses.active[:whole]
        size = self._friction.shape[2]
        self._friction[i] = guesses.contacts["friction"][:whole, :size]

    def find_forces(self, intervals: Array) -> None:
        """Mean forces over intervals (n,) [s]."""
        facets = self._model.facets
        slip = self._beta @ facets if len(facets) else self._beta
        if self._friction.size:
            slip = np.where(self._directed[:, None], self._friction, slip)
        normal = self._gamma * (1.0 + self._later)
        impulses = np.concatenate((slip, normal[:, :, None]), axis=-1)
        impulses *= (self._active != 0)[:, :, None] / intervals[:, None, None]
        np.take(impulses, self._slots, axis=1, out=self.forces, mode="clip")

    def on_link(self, link: str) -> Array:
        """Forces (n, 3) [N], world, summed over the points of a link."""
        chosen = [k for k, name in enumerate(self._links) if name == link]
        return np.asarray(self.forces[:, chosen].sum(axis=1))


class Showing:
    """The results of a bound run, updated after each call.

    Parameters
    ----------
    stepping : Stepping
        The steps of the batch.
    bodies, contacts : bool
        Whether to include poses and velocities of bodies, and normal forces of contact points.
    also : str or sequence of str
        Channels, by their names in logs.
    samples : callable
        The samples of sensors with rays.

    Attributes
    ----------
    bodies : BodyViews or None
    normal_forces : (n, contacts) [N] or None
    readings : mapping of str to (n,), (n, k), or (n, ...) of sensors with rays
        Values by the kind and name of a channel, such as "sensor:gyro".
    """

    def __init__(
        self,
        stepping: Stepping,
        bodies: bool,
        contacts: bool,
        also: str | Sequence[str],
        samples: Callable[[], Samples],
    ) -> None:
        robot, n = stepping.robot, stepping.n
        self._stepping = stepping
        records = stepping.states.bodies
        views = (_shown(records[k]) for k in BodyViews._fields)
        self.bodies = BodyViews(*views) if bodies else None
        self._channels = channels_of(robot, also)
        # In the order of the columns.
        widths = [len(channel.columns) for channel in self._channels]
        self._read = np.zeros((n, sum(widths)))
        ends = np.cumsum(widths, dtype=np.int64)
        self._columns = [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
        found: dict[str, Array] = {
            # A single number per state gives (n,), as `Simulation.sensor` returns a float for it.
            f"{one.kind}:{one.name}": _shown(
                self._read[:, part.start if len(one.columns) == 1 else part]
            )
            for one, part in zip(self._channels, self._columns, strict=True)
        }
        # Sensors with rays have readings of their shape.
        self._rays: list[tuple[RaySensor, Array]] = []
        for one in self._channels:
            sensor = robot.sensor(one.name) if one.kind == SENSOR else None
            if isinstance(sensor, RaySensor):
                self._rays.append((sensor, np.zeros((n, *sensor.shape))))
                found[f"{SENSOR}:{one.name}"] = _shown(self._rays[-1][1])
        self._samples = samples
        for sensor, _ in self._rays:
            self._samples().switch_on(sensor)
        self.readings: Mapping[str, Array] = found
        self._kinds = [
            robot.sensor(channel.name).kind if channel.kind == SENSOR else channel.kind
            for channel in self._channels
        ]
        # Forces of contact points are among the guesses; contacts of shapes are found in each step.
        self._has_shapes = stepping.sims[0].parts.model.collision.pairs.size > 0
        self._has_shapes = self._has_shapes or stepping.is_apart  # which the model does not show
        by_link = CONTACT in self._kinds and not self._has_shapes
        self._points = Points(stepping) if contacts or by_link else None
        self.normal_forces: Array | None = None
        if contacts and self._points is not None:
            self.normal_forces = _shown(self._points.forces[:, :, 2])
        self._together, self._apart = self._ways()
        self._robots = stepping.robots
        self._leaving: Handle | None = None
        self._of_groups: list[Handle] = []

    def _ways(self) -> tuple[list[int], list[int]]:
        """Indices of channels that are read for all states at once, and of the other ones."""
        robot, robots = self._stepping.robot, {id(s.robot): s.robot for s in self._stepping.sims}
        one = len(robots) == 1
        alike = one or all(
            other.sensors == robot.sensors
            and [body.frames for body in other.bodies] == [body.frames for body in robot.bodies]
            for other in robots.values()
        )
        together = [
            k
            for k, kind in enumerate(self._kinds)
            if kind not in RAYS
            if (kind == CONTACT and not self._has_shapes)
            or (alike and kind not in APART and (one or kind not in sensors.OF_MASSES))
        ]
        apart = [k for k, kind in enumerate(self._kinds) if k not in together and kind not in RAYS]
        return together, apart

    def plan(self, groups: Sequence[Group]) -> None:
        """Determine which fields these groups copy after each call."""
        asked = set(self._kinds) - set(APART) - set(RAYS)
        words = SHOWN if self.bodies is not None or asked else 0
        words = ALL if asked & set(sensors.ACCELERATIONS) else words
        rows: list[NDArray[np.void]] = []
        states = self._stepping.states.bodies
        for g, group in enumerate(groups):
            lanes_of, some, of = group.handle.values, slice(g * WIDTH, (g + 1) * WIDTH), []
            if words:
                to = addresses(states["x"][some, :, 0])
                of.append(fields_at(lanes_of.state.bodies, "x", to, words, lanes))
            if self._points is not None:
                of += self._points.fields(lanes_of.memory.guesses, some)
            if of:
                rows.append(np.concatenate(of, axis=1))
        self._of_groups = [Handle(Leaving(row)) for row in rows]
        self._leaving = Handle(Leaving(np.concatenate(rows))) if rows else None

    @property
    def shows(self) -> bool:
        """Whether there are results to update after a call."""
        stays = self._leaving is None and self._points is None and not self._channels
        return not stays or (self._stepping.is_apart and self.bodies is not None)

    def show(self, groups: Sequence[Group], steps: NDArray[np.int64]) -> None:
        """Update the results.

        Parameters
        ----------
        groups : groups of the first states
        steps : (n,)
            Number of steps of each state since its start.
        """
        stepping = self._stepping
        stepping.gather()
        ahead = np.array([group.is_ahead for group in groups], dtype=bool)
        if self._leaving is not None:
            if ahead.all():
                leave(self._leaving)
            else:
                for left, is_ahead in zip(self._of_groups, ahead, strict=True):
                    if is_ahead:
                        leave(left)
        if self._points is None and not self._channels:
            return
        if self._points is not None:
            self._find_forces(groups, ahead, steps)
        if self._robots != stepping.robots:
            self._robots = stepping.robots
            self._together, self._apart = self._ways()
        if self._together:
            self._read_together(Rows(stepping))
        if self._apart:
            self._read_apart()
        for sensor, values in self._rays:
            values[:] = self._samples().read(sensor).values

    def _find_forces(
        self, groups: Sequence[Group], ahead: NDArray[np.bool_], steps: NDArray[np.int64]
    ) -> None:
        """Forces of contact points of all states, in lanes or not."""
        stepping, points = self._stepping, self._points
        assert points is not None
        if stepping.is_apart:
            points.forces[:] = [sim.contact_forces() for sim in stepping.sims]
            return
        # In the first interval after a start, only half of the impulses belong to the interval.
        intervals = np.where(steps == 1, 0.5, 1.0) * stepping.timestep
        alone = np.ones(stepping.n, dtype=bool)
        alone[: len(groups) * WIDTH] = ~np.repeat(ahead, WIDTH)
        for i in np.flatnonzero(alone):
            parts = stepping.sims[i].parts
            intervals[i] = force_interval(parts.state, stepping.timestep)
            points.take(int(i), parts.memory.guesses)
        points.find_forces(intervals)

    def _read_together(self, rows: Any) -> None:
        robot = self._stepping.robot
        for k in self._together:
            channel, to = self._channels[k], self._read[:, self._columns[k]]
            if channel.kind == CONTACT:
                assert self._points is not None
                to[:] = self._points.on_link(channel.name)
            elif channel.kind == FRAME:
                to[:] = READERS[FRAME](robot, [channel.name])(rows)
            else:
                sensor = robot.sensor(channel.name)
                assert isinstance(sensor, Sensor)
                values = sensors.read_all(rows, sensor)
                to[:] = values[:, None] if values.shape == (len(to),) else values

    def _read_apart(self) -> None:
        """Read channels state by state, as a log does."""
        stepping, also = self._stepping, Also(tuple(self._channels[k] for k in self._apart))
        stepping.settle()
        columns = np.concatenate(
            [np.arange(*self._columns[k].indices(1 << 30)) for k in self._apart]
        )
        row = np.zeros(len(columns))
        for i in range(stepping.n):
            sim = stepping.alone(i)
            stepping.recall(i)
            ChannelReader(sim, also)(row)
            self._read[i, columns] = row


def addresses(array: NDArray[Any]) -> NDArray[np.int64]:
    """The address of each entry of an array (n, k)."""
    rows, columns = array.strides
    steps = rows * np.arange(array.shape[0])[:, None] + columns * np.arange(array.shape[1])
    return np.asarray(array.ctypes.data + steps, dtype=np.int64)


def _shown(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view."""
    return read_only(array.view())
