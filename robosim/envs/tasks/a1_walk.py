"""A quadruped that walks at a commanded velocity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.envs.task import Draws, Moment, Start, Targets, Task
from robosim.envs.tasks.bases import base_of, turned
from robosim.loaders import load
from robosim.policies.quantities import Term
from robosim.policies.task import PolicyTask
from robosim.validation import Array

TILT = 0.5  # cosine of the trunk's tilt from upright; below this the robot has fallen over
HIPS = slice(0, 12, 3)  # of the actuated joints


class A1Walk(Task):
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
        if type(self).observe is not A1Walk.observe:
            return super().policy_task(robot)
        clips = [float(most) for _, most in self._bounds()]
        names = (
            "base_lin_vel", "base_ang_vel", "projected_gravity", "velocity_commands", "joint_pos",
            "joint_vel", "actions",
        )  # fmt: skip
        kp, kd = self.gains
        home = np.asarray(robot.home, dtype=float)[7:]
        return PolicyTask(
            observations=tuple(
                Term(name, clip=(-clip, clip)) for name, clip in zip(names, clips, strict=True)
            ),
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

    def reset(self, start: Start) -> tuple[Array, Array]:
        q, v = start.home, start.rest
        q[:, 2] += 0.03  # room for joints that differ from those at home
        q[:, 3:7] = turned(start.drawn["yaw"])
        q[:, 7:] += start.drawn["joints"]
        v[:, :3] = start.drawn["velocity"]
        return q, v

    def observe(self, now: Moment) -> Array:
        base = base_of(now.q, now.v)
        home = now.home[7:]
        parts = (
            base.velocity, base.omega, base.gravity, now.drawn["command"], now.q[:, 7:] - home,
            now.v[:, 6:], now.action,
        )  # fmt: skip
        return np.concatenate(parts, axis=1)

    def reward(self, now: Moment) -> Mapping[str, Array]:
        base, command = base_of(now.q, now.v), now.drawn["command"]
        off = base.velocity[:, :2] - command[:, :2]
        turn = base.omega[:, 2] - command[:, 2]
        home = now.home
        bent = now.q[:, 7:] - home[7:]
        jerk = now.action - now.action_before
        return {
            "velocity": 2.0 * np.exp(-4.0 * _square(off)),
            "turning": 0.5 * np.exp(-4.0 * turn**2),
            "alive": np.full(len(turn), 0.25),
            "bounce": -1.0 * base.velocity[:, 2] ** 2,
            "rolling": -0.025 * _square(base.omega[:, :2]),
            "upright": -1.0 * _square(base.gravity[:, :2]),
            "height": -5.0 * (self._height(now) - home[2]) ** 2,
            "posture": -0.002 * _square(bent) - 0.02 * _square(bent[:, HIPS]),
            "effort": -2e-5 * _square(now.tau),
            "smoothness": -0.002 * _square(jerk),
        }

    def done(self, now: Moment) -> NDArray[np.bool_]:
        base = base_of(now.q, now.v)
        low = self._height(now) < 0.4 * now.home[2]
        return low | (base.gravity[:, 2] > -TILT)

    def _height(self, now: Moment) -> Array:
        """Height of the base above the ground below it, (n,) [m]."""
        return now.q[:, 2]


def _square(values: Array) -> Array:
    return np.asarray((values**2).sum(axis=1))
