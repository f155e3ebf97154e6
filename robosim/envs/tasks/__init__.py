"""The tasks that ship, by the names that they are registered with."""

from __future__ import annotations

from robosim.envs.task import Task
from robosim.envs.tasks.acrobot import Acrobot
from robosim.envs.tasks.cart_pole import CartPole

TASKS: dict[str, type[Task]] = {task.__name__: task for task in (CartPole, Acrobot)}
