"""A quadruped that walks at a commanded velocity."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.envs.compiled import CompiledTask, Functions
from robosim.envs.task import Draws, Targets
from robosim.envs.tasks.bases import look_from_base, turn_to, upright
from robosim.kernels.compiler.content import row
from robosim.loaders import load
from robosim.policies.quantities import Term
from robosim.policies.task import PolicyTask

TILT = 0.5  # cosine of the trunk's tilt from upright; below this the robot has fallen over
ROOM = 0.03  # [m] above the home pose, for joints that differ from those there
SIZE = 48
SEEN = (
    "base_lin_vel", "base_ang_vel", "projected_gravity", "velocity_commands", "joint_pos",
    "joint_vel", "actions",
)  # fmt: skip
TERMS = (
    "velocity", "turning", "alive", "bounce", "rolling", "upright", "height", "posture", "effort",
    "smoothness",
)  # fmt: skip


@row
def begin(start, i, q, v):  # type: ignore[no-untyped-def]
    """Near the home pose, in any direction."""
    q[2] += ROOM
    turn_to(start.drawn[i].yaw, q[3:7])
    q[7:] += start.drawn[i].joints
    v[:3] = start.drawn[i].velocity


@row
def look(now, i, out):  # type: ignore[no-untyped-def]
    """The base's motion, the command, joints and their rates, and the last action."""
    look_from_base(now.q, now.v, i, out[:9])
    out[9:12] = now.drawn[i].command
    for k in range(12):
        out[12 + k] = now.q[i, 7 + k] - now.home[7 + k]
        out[24 + k] = now.v[i, 6 + k]
        out[36 + k] = now.action[i, k]


@row
def judge_over(now, i, ground, out):  # type: ignore[no-untyped-def]
    """Terms of the reward, with the ground below the base at a height [m]."""
    base = np.empty(9)
    look_from_base(now.q, now.v, i, base)
    command = now.drawn[i].command
    ahead, aside, turn = base[0] - command[0], base[1] - command[1], base[5] - command[2]
    high = now.q[i, 2] - ground - now.home[2]
    bent = spread = effort = jerk = 0.0
    for k in range(12):
        angle = now.q[i, 7 + k] - now.home[7 + k]
        bent += angle * angle
        spread += angle * angle if k % 3 == 0 else 0.0  # of the hips
        effort += now.tau[i, k] ** 2
        jerk += (now.action[i, k] - now.action_before[i, k]) ** 2
    out[0] = 2.0 * np.exp(-4.0 * (ahead * ahead + aside * aside))
    out[1] = 0.5 * np.exp(-4.0 * turn * turn)
    out[2] = 0.25
    out[3] = -1.0 * base[2] ** 2
    out[4] = -0.025 * (base[3] ** 2 + base[4] ** 2)
    out[5] = -1.0 * (base[6] ** 2 + base[7] ** 2)
    out[6] = -5.0 * high * high
    out[7] = -0.002 * bent - 0.02 * spread
    out[8] = -2e-5 * effort
    out[9] = -0.002 * jerk


@row
def judge(now, i, out):  # type: ignore[no-untyped-def]
    """Terms of the reward on flat ground."""
    judge_over(now, i, 0.0, out)


@row
def has_fallen(now, i, ground):  # type: ignore[no-untyped-def]
    """Whether the base is low above the ground at a height [m], or tilted."""
    return now.q[i, 2] - ground < 0.4 * now.home[2] or upright(now.q, i) < TILT


@row
def ends(now, i):  # type: ignore[no-untyped-def]
    """Whether the robot has fallen on flat ground."""
    return has_fallen(now, i, 0.0)


FUNCTIONS = Functions(look, SIZE, judge, TERMS, ends, begin)


class A1Walk(CompiledTask):
    """Walk at a commanded velocity: forward, sideways and turning.

    Actions are targets of PD control of the joints, 50 times a second. See docs/environments.md
    for spaces, units and rewards. The robot can be any quadruped with twelve joints, in legs of
    hip, thigh and calf, that stands in its home pose.

    Attributes
    ----------
    forward, sideways, turning : (least, most) [m/s, m/s, rad/s]
        Ranges of the commanded velocity, which is drawn for each episode.
    gains : (kp, kd) [N m/rad, N m s/rad]
        Gains of the PD control, which is implicit.
    reach : float [rad]
        How far an action of 1 moves a target from the home pose.
    """

    timestep = 4e-3
    steps = 5
    seconds = 20.0
    sizes = (19, 18, 12)
    forward: tuple[float, float] = (0.0, 1.0)
    sideways: tuple[float, float] = (-0.3, 0.3)
    turning: tuple[float, float] = (-0.5, 0.5)
    gains: tuple[float, float] = (40.0, 1.0)
    reach: float = 0.3

    def robot(self) -> Mechanism:
        return load("a1")

    def control(self, robot: Mechanism) -> Targets:
        kp, kd = self.gains
        return Targets(kp=kp, kd=kd, scale=self.reach, implicit=True)

    def policy_task(self, robot: Mechanism) -> PolicyTask:
        if self.overrides("observe") or self.functions().observe is not look:
            return super().policy_task(robot)
        clips = [float(most) for _, most in self._bounds()]
        return self.described(
            robot,
            tuple(Term(name, clip=(-clip, clip)) for name, clip in zip(SEEN, clips, strict=True)),
        )

    def described(self, robot: Mechanism, observations: tuple[Term, ...]) -> PolicyTask:
        """The task of a policy with these observations, and with the actions of this task."""
        kp, kd = self.gains
        home = np.asarray(robot.home, dtype=float)[7:]
        return PolicyTask(
            observations=observations,
            joints=robot.actuated_names,
            default_joint_pos=tuple(home.tolist()),
            action_scale=self.reach,
            action_clip=(-1.0, 1.0),
            stiffness=kp,
            damping=kd,
            implicit=True,
            timestep=self.timestep,
            decimation=self.steps,
            name=type(self).__name__,
        )

    def draws(self, robot: Mechanism) -> Draws:
        commands = np.array((self.forward, self.sideways, self.turning))
        return {
            "command": (commands[:, 0], commands[:, 1]),
            "yaw": (-np.pi, np.pi),
            "joints": (np.full(robot.nu, -0.1), np.full(robot.nu, 0.1)),
            "velocity": (np.full(3, -0.2), np.full(3, 0.2)),
        }

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        high = np.concatenate([np.full(k, most) for k, most in self._bounds()])
        return -high, high

    def _bounds(self) -> tuple[tuple[int, float], ...]:
        """The number of entries of each part of an observation, and the largest size of them."""
        return (3, 10.0), (3, 20.0), (3, 1.0), (3, 5.0), (12, np.pi), (12, 50.0), (12, 1.0)

    def functions(self) -> Functions:
        return FUNCTIONS
