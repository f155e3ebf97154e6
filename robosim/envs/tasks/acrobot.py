"""Two links, driven at the elbow alone, that swing up and stand."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.envs.compiled import CompiledTask, Functions
from robosim.envs.task import Draws, Torques
from robosim.kernels.compiler.content import row
from robosim.models.builders.parts import BLUE, ORANGE, hinge, rod

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


@row
def begin(start, i, q, v):  # type: ignore[no-untyped-def]
    """Hanging, but for small angles."""
    q += start.drawn[i].angles


@row
def look(now, i, out):  # type: ignore[no-untyped-def]
    """The angles and their rates."""
    for k in range(2):
        out[2 * k], out[2 * k + 1] = np.cos(now.q[i, k]), np.sin(now.q[i, k])
        out[4 + k] = now.v[i, k]


@row
def judge(now, i, out):  # type: ignore[no-untyped-def]
    """How high the end is, and what is spent."""
    a, b, u, w = now.q[i, 0], now.q[i, 1], now.v[i, 0], now.v[i, 1]
    # Height of the end: 0 at the lowest and 1 at the highest place.
    height = 0.5 - 0.25 * (np.cos(a) + np.cos(a + b))
    out[0] = height * height
    out[1] = -0.002 * (height * height) * (u * u + w * w)
    out[2] = -0.01 * now.action[i, 0] ** 2


FUNCTIONS = Functions(look, 6, judge, ("height", "still", "effort"), None, begin)


class Acrobot(CompiledTask):
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

    def functions(self) -> Functions:
        return FUNCTIONS
