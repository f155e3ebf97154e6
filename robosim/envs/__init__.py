"""Gymnasium environments; importing this module registers the built-in ones."""

from __future__ import annotations

from robosim.errors import MissingExtraError
from robosim.version import install

try:
    import gymnasium as _gymnasium  # noqa: F401
except ImportError:
    raise MissingExtraError(f"environments need gymnasium; get it with: {install('gym')}") from None

from robosim.envs.compiled import CompiledTask, Functions
from robosim.envs.differentiable import DifferentiableEnv
from robosim.envs.errors import ActionError, ClosedError, ResetNeededError, TaskError
from robosim.envs.registration import register
from robosim.envs.single import RobotEnv
from robosim.envs.task import Moment, Start, Targets, Task, Torques
from robosim.envs.tasks import TASKS
from robosim.envs.vector import RobotVectorEnv
from robosim.kernels.compiler.content import row
from robosim.learning.domain import Domain
from robosim.submodules import on_first_use

__all__ = [
    "TASKS",
    "ActionError",
    "ClosedError",
    "CompiledTask",
    "DifferentiableEnv",
    "Domain",
    "Functions",
    "Moment",
    "ResetNeededError",
    "RobotEnv",
    "RobotVectorEnv",
    "Start",
    "Targets",
    "Task",
    "TaskError",
    "Torques",
    "row",
]

register()

__getattr__ = on_first_use(__name__, ("sb3",))
