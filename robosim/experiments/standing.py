"""Tasks without impacts: balancing a cart-pole, and an A1 that stands up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import robosim
from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.envs.task import Draws, Moment, Start, Targets, Task
from robosim.envs.tasks.cart_pole import CartPole
from robosim.validation import Array

CROUCH = np.tile([0.0, 1.2, -2.55], 4)  # [rad], with the trunk just above the ground
HEIGHT = 0.3  # [m], height of the trunk when standing


def tilt_of(q: Array) -> Array:
    """Direction of gravity along the bases' x and y (n, 2): 0 for bases that are upright."""
    return -quaternions.rotation_matrix(q[:, 3:7])[:, 2, :2]


class Balance(CartPole):
    """Balance the pole of a cart, from up to half a radian off the vertical."""

    seconds = 3.0

    def draws(self, robot: Mechanism) -> Draws:
        return {**super().draws(robot), "angle": (np.pi - 0.5, np.pi + 0.5), "rate": (-0.5, 0.5)}


class StandUp(Task):
    """Stand up from a crouch, upright and at the same place, and remain standing.

    Actions are targets relative to the crouch, so that a policy with zero actions stays down.
    """

    timestep = 4e-3
    steps = 5
    seconds = 1.5
    gap = 1e-4
    sizes = (19, 18, 12)

    def robot(self) -> Mechanism:
        return robosim.load("a1")

    def control(self, robot: Mechanism) -> Targets:
        return Targets(
            kp=60.0, kd=2.0, scale=1.2, center=CROUCH, effort_limits=False, implicit=True
        )

    def draws(self, robot: Mechanism) -> Draws:
        return {"joints": (np.full(12, -0.05), np.full(12, 0.05))}

    def reset(self, start: Start) -> tuple[Array, Array]:
        q, v = start.home, start.rest
        q[:, 7:] = CROUCH + start.drawn["joints"]
        return q, v

    def observe(self, now: Moment) -> Array:
        height, tilt = 5.0 * (now.q[:, 2:3] - HEIGHT), tilt_of(now.q)
        joints, rates = now.q[:, 7:] - CROUCH, 0.05 * now.v[:, 6:]
        return np.hstack((height, tilt, 0.5 * now.v[:, :6], joints, rates))

    def reward(self, now: Moment) -> Mapping[str, Array]:
        return {
            "height": 1.0 - ((now.q[:, 2] - HEIGHT) / 0.2) ** 2,
            "upright": -2.0 * (tilt_of(now.q) ** 2).sum(axis=1),
            "place": -4.0 * (now.q[:, :2] ** 2).sum(axis=1),
            "still": -0.02 * (now.v[:, :6] ** 2).sum(axis=1)
            - 2e-4 * (now.v[:, 6:] ** 2).sum(axis=1),
        }
