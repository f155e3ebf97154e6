"""What environments are made of: a task and a robot, each given in one of several ways."""

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
    """A task from itself, its class or its name, with settings changed.

    Raises
    ------
    OptionError
        For what is none of these, or settings for a task that is made already.
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
    """The robot that is given, or the task's own."""
    if robot is None:
        return task.robot()
    return robot if isinstance(robot, Mechanism) else load(robot)


def spaces(episodes: Episodes) -> tuple[Box[np.float32], Box[np.float32]]:
    """What is seen of one environment, and its actions."""
    shape = (len(episodes.actions.names),)
    seen = Box(episodes.low, episodes.high, dtype=np.float32)
    return seen, Box(-1.0, 1.0, shape, np.float32)
