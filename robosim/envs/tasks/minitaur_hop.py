"""A hopping quadruped whose legs are closed loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.envs.compiled import CompiledTask, Functions
from robosim.envs.task import Draws, Targets
from robosim.envs.tasks.bases import look_from_base, turn_to, upright
from robosim.kernels.compiler.content import row
from robosim.loaders import load

HIGH = 0.25  # [m] height above standing at which the reward for height is one
TILT, LOW = 0.5, 0.08  # cosine of the tilt, and height [m], below which an episode ends


@row
def begin(start, i, q, v):  # type: ignore[no-untyped-def]
    """Above the floor, in any direction."""
    q[2] += start.drawn[i].height
    turn_to(start.drawn[i].yaw, q[3:7])


@row
def look(now, i, out):  # type: ignore[no-untyped-def]
    """The base's height and motion, the motors and their rates, and the last action."""
    out[0] = now.q[i, 2]
    look_from_base(now.q, now.v, i, out[1:10])
    for k in range(8):
        motor = int(now.numbers[k])
        # A floating base has 7 coordinates and 6 velocities.
        out[10 + k] = now.q[i, motor + 1] - now.home[motor + 1]
        out[18 + k], out[26 + k] = now.v[i, motor], now.action[i, k]


@row
def judge(now, i, out):  # type: ignore[no-untyped-def]
    """How high the base is, whether it stays upright and in place, and what is spent."""
    base = np.empty(9)
    look_from_base(now.q, now.v, i, base)
    over, effort = max(now.q[i, 2] - now.home[2], 0.0) / HIGH, 0.0
    for k in range(8):
        effort += now.tau[i, k] ** 2
    out[0] = over * over
    out[1] = -0.2 * (base[6] ** 2 + base[7] ** 2)
    out[2] = -0.1 * (base[0] ** 2 + base[1] ** 2)
    out[3] = -1e-3 * effort


@row
def ends(now, i):  # type: ignore[no-untyped-def]
    """Whether the base is tilted, or low."""
    return upright(now.q, i) < TILT or now.q[i, 2] < LOW


FUNCTIONS = Functions(look, 34, judge, ("height", "upright", "drift", "effort"), ends, begin)


class MinitaurHop(CompiledTask):
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

    def numbers(self, robot: Mechanism) -> ArrayLike:
        return np.asarray(robot.actuated, dtype=float)  # the motors among the velocities

    def functions(self) -> Functions:
        return FUNCTIONS
