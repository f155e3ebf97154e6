"""The task and the robot of an environment, each of which can be given in several ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from robosim.description.mechanism import Mechanism
from robosim.envs.episodes import Episodes
from robosim.envs.task import Task
from robosim.envs.tasks import TASKS
from robosim.errors import OptionError, known
from robosim.loaders import load

Robot = Mechanism | str | Path | None


def task_of(task: Task | type[Task] | str, settings: dict[str, Any]) -> Task:
    """A task, from an instance, a class or a name; the latter two with changed settings.

    Raises
    ------
    OptionError
        For anything else, or for settings beside an instance.
    """
    if isinstance(task, Task):
        if settings:
            raise OptionError(
                f"the task is made already: give {', '.join(settings)} to {type(task).__name__}"
            )
        return task
    if isinstance(task, str):
        if task not in TASKS:
            raise OptionError(f"there is no task '{task}' ({known(task, tuple(TASKS))})")
        return TASKS[task](**settings)
    if isinstance(task, type) and issubclass(task, Task):
        return task(**settings)
    raise OptionError(f"task must be a Task, its class or one of {', '.join(TASKS)}, not {task!r}")


def robot_of(robot: Robot, task: Task) -> Mechanism:
    """The robot that is given, loaded if need be, or the task's default robot."""
    if robot is None:
        return task.robot()
    return robot if isinstance(robot, Mechanism) else load(robot)


def spaces(episodes: Episodes) -> tuple[Box[np.float32], Box[np.float32]]:
    """The spaces of observations and of actions of one environment."""
    shape = (len(episodes.actions.names),)
    seen = Box(episodes.low, episodes.high, dtype=np.float32)
    return seen, Box(-1.0, 1.0, shape, np.float32)
