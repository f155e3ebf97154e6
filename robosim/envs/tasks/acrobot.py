"""Two links, driven at the elbow alone, that swing up and stand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.envs.task import Draws, Moment, Start, Task, Torques
from robosim.models.builders.parts import BLUE, ORANGE, hinge, rod
from robosim.validation import Array

LENGTH = 1.0  # m, of each link
TORQUE = 5.0  # N m


def acrobot() -> Mechanism:
    """Two thin rods of 1 m and 1 kg; the upper hinge is free, the elbow is driven.

    Both rods hang down at zero. Lengths and masses are those of Sutton (1996), whose links are
    not thin rods.
    """
    upper, lower = rod("upper", LENGTH, 1.0, rgba=BLUE), rod("lower", LENGTH, 1.0, rgba=ORANGE)
    joints = (hinge("shoulder", None, upper), hinge("elbow", upper, lower, actuated=True))
    return Mechanism("acrobot", (upper, lower), joints)


class Acrobot(Task):
    """Swing up two links with a motor at the elbow, and keep their end high.

    See docs/environments.md for spaces, units and rewards.
    """

    timestep = 5e-3
    steps = 4
    seconds = 10.0
    sizes = (2, 2, 1)

    def robot(self) -> Mechanism:
        return acrobot()

    def control(self, robot: Mechanism) -> Torques:
        return Torques(scale=TORQUE)

    def draws(self, robot: Mechanism) -> Draws:
        return {"angles": (np.full(2, -0.1), np.full(2, 0.1))}

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        high = np.array([1.0, 1.0, 1.0, 1.0, 30.0, 60.0])
        return -high, high

    def reset(self, start: Start) -> tuple[Array, Array]:
        q = start.home
        q += start.drawn["angles"]
        return q, start.rest

    def observe(self, now: Moment) -> Array:
        a, b = now.q[:, 0], now.q[:, 1]
        return np.stack((np.cos(a), np.sin(a), np.cos(b), np.sin(b), *now.v.T), axis=1)

    def reward(self, now: Moment) -> Mapping[str, Array]:
        a, b = now.q[:, 0], now.q[:, 1]
        # Height of the end: 0 at the lowest and 1 at the highest place.
        height = 0.5 - 0.25 * (np.cos(a) + np.cos(a + b))
        return {
            "height": height**2,
            "still": -0.002 * height**2 * (now.v[:, 0] ** 2 + now.v[:, 1] ** 2),
            "effort": -0.01 * now.action[:, 0] ** 2,
        }
