"""Sensors with rays of environments, as observations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robosim.batch import BatchSimulation
from robosim.description.mechanism import Mechanism
from robosim.description.ray_sensor import RaySensor
from robosim.envs.compiled import empty_records
from robosim.envs.errors import TaskError
from robosim.envs.task import Task
from robosim.errors import ModelError, StateError
from robosim.rays.sensing import ray_sensor
from robosim.validation import Array


def with_sensors(task: Task, robot: Mechanism) -> tuple[Mechanism, tuple[RaySensor, ...]]:
    """A robot with the sensors of a task, and these.

    Raises
    ------
    TaskError
        For a name that the robot has no sensor with rays of, or one that numpy records refuse.
    """
    asked = tuple(task.sensors(robot))
    added = [one for one in asked if isinstance(one, RaySensor)]
    robot = robot.with_sensors(added) if added else robot
    names = [one.name if isinstance(one, RaySensor) else one for one in asked]
    if len(set(names)) < len(names):
        raise TaskError(f"sensors must be different ones, not {names}")
    try:
        return robot, tuple(ray_sensor(robot, name) for name in names)
    except (ModelError, StateError) as error:
        raise TaskError(f"sensors: {error}") from error


class Senses:
    """Reads the sensors of a task in all environments.

    Attributes
    ----------
    records : record array (n,)
        Readings of all sensors, a field (k,) each.
    sensed : mapping of str to (n, k)
        Views of these.
    """

    def __init__(self, sensors: Sequence[RaySensor], n: int) -> None:
        self._sensors = tuple(sensors)
        self.records = empty_records({one.name: (one.size,) for one in sensors}, n)
        self.sensed: dict[str, Array] = {one.name: self.records[one.name] for one in sensors}

    @property
    def noisy(self) -> bool:
        """Whether a sensor has noise, or loses measurements."""
        return any(one.noise > 0 or one.dropout > 0 for one in self._sensors)

    def read(self, batch: BatchSimulation) -> None:
        """Read all sensors at the present knots."""
        for one in self._sensors:
            values = batch.sensor(one.name).reshape(len(batch), -1)
            least, most = one.limits
            values[np.isnan(values)] = most
            np.clip(values, least, most, out=self.sensed[one.name])
