"""The built-in tasks, by the names under which they are registered."""

from __future__ import annotations

from robosim.envs.task import Task
from robosim.envs.tasks.a1_rough import A1Rough
from robosim.envs.tasks.a1_stairs import A1Stairs
from robosim.envs.tasks.a1_trot import A1Trot
from robosim.envs.tasks.a1_walk import A1Walk
from robosim.envs.tasks.acrobot import Acrobot
from robosim.envs.tasks.cart_pole import CartPole
from robosim.envs.tasks.exoskeleton import Exoskeleton
from robosim.envs.tasks.minitaur_hop import MinitaurHop
from robosim.envs.tasks.push import Push

BUILT_IN: tuple[type[Task], ...] = (
    CartPole, Acrobot, A1Walk, A1Trot, A1Rough, A1Stairs, MinitaurHop, Exoskeleton, Push,
)  # fmt: skip
TASKS: dict[str, type[Task]] = {task.__name__: task for task in BUILT_IN}
"""The built-in tasks, by the names of their classes."""
