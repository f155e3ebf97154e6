"""The tasks in Gymnasium's registry: robosim/<Name>-v0."""

from __future__ import annotations

from typing import Any

import gymnasium

from robosim.envs.single import RobotEnv
from robosim.envs.tasks import TASKS


def single(**options: Any) -> RobotEnv:
    """An environment without a time limit of its own: Gymnasium wraps it in `TimeLimit`."""
    return RobotEnv(limited=False, **options)


def register() -> None:
    """Register all tasks; a second time changes nothing."""
    for name, task in TASKS.items():
        id = f"robosim/{name}-v0"
        if id not in gymnasium.registry:
            gymnasium.register(
                id,
                entry_point="robosim.envs.registration:single",
                vector_entry_point="robosim.envs.vector:RobotVectorEnv",
                max_episode_steps=task().most_steps,
                kwargs={"task": name},
            )
