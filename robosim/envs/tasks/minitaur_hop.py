"""A hopping quadruped whose legs are closed loops."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.envs.task import Draws, Moment, Start, Targets, Task
from robosim.envs.tasks.bases import base_of, turned
from robosim.loaders import load
from robosim.validation import Array

HIGH = 0.25  # [m] height above standing at which the reward for height is one


class MinitaurHop(Task):
    """Hop as high as possible with eight motors, again and again, and stay upright.

    Each leg is a closed loop of four bars, which is closed exactly. See docs/environments.md for
    spaces, units and rewards.
    """

    timestep = 2e-3
    steps = 10
    seconds = 10.0
    sizes = (23, 22, 8)

    def robot(self) -> Mechanism:
        return load("minitaur")

    def control(self, robot: Mechanism) -> Targets:
        return Targets(kp=30.0, kd=0.5, scale=1.0)

    def draws(self, robot: Mechanism) -> Draws:
        return {"yaw": (-np.pi, np.pi), "height": (0.001, 0.05)}

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        each = (1, 2.0), (3, 10.0), (3, 20.0), (3, 1.0), (8, 2 * np.pi), (8, 100.0), (8, 1.0)
        high = np.concatenate([np.full(k, most) for k, most in each])
        return -high, high

    def reset(self, start: Start) -> tuple[Array, Array]:
        q = start.home
        q[:, 2] += start.drawn["height"]
        q[:, 3:7] = turned(start.drawn["yaw"])
        return q, start.rest

    def observe(self, now: Moment) -> Array:
        base, motors = base_of(now.q, now.v), now.robot.actuated
        home = now.home[motors + 1]  # a floating base has 7 coordinates and 6 velocities
        parts = (
            base.height[:, None], base.velocity, base.omega, base.gravity,
            now.q[:, motors + 1] - home, now.v[:, motors], now.action,
        )  # fmt: skip
        return np.concatenate(parts, axis=1)

    def reward(self, now: Moment) -> Mapping[str, Array]:
        base = base_of(now.q, now.v)
        over = np.maximum(base.height - now.home[2], 0.0) / HIGH
        return {
            "height": over**2,
            "upright": -0.2 * (base.gravity[:, :2] ** 2).sum(axis=1),
            "drift": -0.1 * (base.velocity[:, :2] ** 2).sum(axis=1),
            "effort": -1e-3 * (now.tau**2).sum(axis=1),
        }

    def done(self, now: Moment) -> NDArray[np.bool_]:
        base = base_of(now.q, now.v)
        return (base.gravity[:, 2] > -0.5) | (base.height < 0.08)
