"""A quadruped that learns to trot at a commanded velocity, in the rhythm of a clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.envs.compiled import Functions
from robosim.envs.tasks.a1_walk import SEEN, A1Walk, begin
from robosim.envs.tasks.bases import look_from_base, pull_from_base, upright
from robosim.errors import ModelError
from robosim.kernels.compiler.content import row
from robosim.learning.ppo import Mirror
from robosim.policies.quantities import Term
from robosim.policies.task import PolicyTask

SIZE = 50
LINK = 0.2  # [m], length of thighs and calves
TILT, LOW = (
    0.7,
    0.5,
)  # cosine of the tilt, and part of the height at home, below which it has fallen
OF_VELOCITY, OF_TURNING, OF_RATES = 2.0, 0.25, 0.05  # factors of observations
TERMS = (
    "velocity", "turning", "rhythm", "bounce", "rolling", "upright", "height", "posture", "effort",
    "smoothness",
)  # fmt: skip


@row
def phase(now, i):  # type: ignore[no-untyped-def]
    """The phase of the clock [rad]."""
    return 2 * np.pi * now.time[i] / now.numbers[0]


@row
def look(now, i, out):  # type: ignore[no-untyped-def]
    """What `A1Walk` observes, scaled to sizes of about one, and the clock."""
    look_from_base(now.q, now.v, i, out[:9])
    command = now.drawn[i].command
    for k in range(3):
        out[k] *= OF_VELOCITY
        out[3 + k] *= OF_TURNING
        out[9 + k] = OF_VELOCITY * command[k]
    for k in range(12):
        out[12 + k] = now.q[i, 7 + k] - now.home[7 + k]
        out[24 + k] = OF_RATES * now.v[i, 6 + k]
        out[36 + k] = now.action[i, k]
    out[48], out[49] = np.sin(phase(now, i)), np.cos(phase(now, i))


@row
def judge(now, i, out):  # type: ignore[no-untyped-def]
    """Terms of the reward; the ground is at numbers[2]."""
    base = np.empty(9)
    look_from_base(now.q, now.v, i, base)
    command, home = now.drawn[i].command, now.home
    ahead, aside, turn = base[0] - command[0], base[1] - command[1], base[5] - command[2]
    high = now.q[i, 2] - now.numbers[2] - home[2]
    swing = np.sin(phase(now, i))
    off = spread = effort = jerk = 0.0
    for leg in range(4):
        k = 7 + 3 * leg
        # How much shorter a leg is than at home, from the hip to the foot along the trunk's z.
        lift = np.cos(home[k + 1]) + np.cos(home[k + 1] + home[k + 2])
        lift = LINK * (lift - np.cos(now.q[i, k + 1]) - np.cos(now.q[i, k + 1] + now.q[i, k + 2]))
        # Legs 0 and 3 are one diagonal pair, legs 1 and 2 the other.
        up = swing if leg == 0 or leg == 3 else -swing
        off += (lift - now.numbers[1] * max(0.0, up)) ** 2
        spread += (now.q[i, k] - home[k]) ** 2
    for k in range(12):
        effort += now.tau[i, k] ** 2
        jerk += (now.action[i, k] - now.action_before[i, k]) ** 2
    out[0] = np.exp(-4.0 * (ahead * ahead + aside * aside))
    out[1] = 0.5 * np.exp(-4.0 * turn * turn)
    out[2] = -40.0 * off
    out[3] = -0.5 * base[2] ** 2
    out[4] = -0.025 * (base[3] ** 2 + base[4] ** 2)
    out[5] = -1.0 * (base[6] ** 2 + base[7] ** 2)
    out[6] = -5.0 * high * high
    out[7] = -0.1 * spread
    out[8] = -2e-5 * effort
    out[9] = -0.01 * jerk


@row
def ends(now, i):  # type: ignore[no-untyped-def]
    """Whether the base is low or tilted."""
    return now.q[i, 2] - now.numbers[2] < LOW * now.home[2] or upright(now.q, i) < TILT


@row
def pull(now, i, by_seen, by_reward, q, v, action, before):  # type: ignore[no-untyped-def]
    """Derivatives through `look` and `judge`, but for the torques of the effort."""
    base, by = np.empty(9), by_seen[:9].copy()
    look_from_base(now.q, now.v, i, base)
    for k in range(3):
        by[k] *= OF_VELOCITY
        by[3 + k] *= OF_TURNING
    command, home, swing = now.drawn[i].command, now.home, np.sin(phase(now, i))
    ahead, aside, turn = base[0] - command[0], base[1] - command[1], base[5] - command[2]
    near = -8.0 * np.exp(-4.0 * (ahead * ahead + aside * aside)) * by_reward
    by[0] += near * ahead
    by[1] += near * aside
    by[2] -= base[2] * by_reward
    by[5] -= 4.0 * turn * np.exp(-4.0 * turn * turn) * by_reward
    for k in range(2):
        by[3 + k] -= 0.05 * base[3 + k] * by_reward
        by[6 + k] -= 2.0 * base[6 + k] * by_reward
    pull_from_base(now.q, now.v, i, by, q, v)
    q[2] -= 10.0 * (now.q[i, 2] - now.numbers[2] - home[2]) * by_reward
    for leg in range(4):
        k = 7 + 3 * leg
        lift = np.cos(home[k + 1]) + np.cos(home[k + 1] + home[k + 2])
        lift = LINK * (lift - np.cos(now.q[i, k + 1]) - np.cos(now.q[i, k + 1] + now.q[i, k + 2]))
        up = swing if leg == 0 or leg == 3 else -swing
        off = -80.0 * LINK * (lift - now.numbers[1] * max(0.0, up)) * by_reward
        knee = off * np.sin(now.q[i, k + 1] + now.q[i, k + 2])
        q[k] += off * np.sin(now.q[i, k + 1]) + knee
        q[k + 1] += knee
        q[k - 1] -= 0.2 * (now.q[i, k] - home[k]) * by_reward
    for k in range(12):
        jerk = 0.02 * (now.action[i, k] - now.action_before[i, k]) * by_reward
        q[6 + k] += by_seen[12 + k]
        v[6 + k] += OF_RATES * by_seen[24 + k]
        action[k] += by_seen[36 + k] - jerk
        before[k] += jerk


FUNCTIONS = Functions(look, SIZE, judge, TERMS, ends, begin, pull)


def on_feet(robot: Mechanism) -> Mechanism:
    """A robot whose feet alone can touch the ground, for faster steps.

    Raises
    ------
    ModelError
        If no contact point has "foot" in its name.
    """
    feet = tuple(contact for contact in robot.contacts if "foot" in contact.name)
    if not feet:
        raise ModelError("no contact point has 'foot' in its name", element=f"robot '{robot.name}'")
    return replace(robot, contacts=feet)


class A1Trot(A1Walk):
    """Follow a commanded velocity in a trot: a task that is learned in a minute.

    As `A1Walk`, but with a clock, which the policy observes, and with a reward for legs that lift
    when the clock says so. Time steps are long, and episodes are short. The robot can be any
    quadruped whose legs are in the order of the A1, with thighs and calves of 0.2 m.

    Attributes
    ----------
    period : float [s]
        Of the clock: each pair of diagonal legs lifts once in it.
    lift : float [m]
        Height to which feet are to be lifted.
    """

    timestep = 1e-2
    steps = 2
    seconds = 10.0
    forward = (-0.3, 0.7)
    sideways = (-0.3, 0.3)
    turning = (-0.6, 0.6)
    reach = 0.6
    period: float = 0.5
    lift: float = 0.06

    def numbers(self, robot: Mechanism) -> ArrayLike:
        return self.period, self.lift, 0.0

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        return -20.0, 20.0

    def functions(self) -> Functions:
        return FUNCTIONS

    def policy_task(self, robot: Mechanism) -> PolicyTask:
        if self.overrides("observe") or self.functions().observe is not look:
            return super().policy_task(robot)
        scales = {
            "base_lin_vel": OF_VELOCITY,
            "base_ang_vel": OF_TURNING,
            "velocity_commands": OF_VELOCITY,
            "joint_vel": OF_RATES,
        }
        terms = tuple(Term(name, scale=(scales.get(name, 1.0),)) for name in SEEN)
        return self.described(robot, (*terms, Term("clock", period=self.period)))

    def mirror(self) -> Mirror:
        """Observations and actions of the robot's mirror image, half a period later."""
        legs = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]  # right legs are the first and the third
        signs = [-1.0, 1.0, 1.0] * 4
        entries = [*range(12), *(at + k for at in (12, 24, 36) for k in legs), 48, 49]
        # Velocities and directions, then rates of rotation, are mirrored about the x-z plane.
        seen = [1, -1, 1, -1, 1, -1, 1, -1, 1, 1, -1, -1, *signs, *signs, *signs, -1, -1]
        return Mirror.of(entries, seen, legs, signs)
