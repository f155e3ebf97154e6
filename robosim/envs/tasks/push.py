"""A finger that pushes a cube to a goal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.body import Body, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.envs.task import Draws, Moment, Start, Task, Torques
from robosim.envs.tasks.bases import turned
from robosim.models.builders import cube
from robosim.models.builders.parts import DARK, ORANGE
from robosim.validation import Array

EDGE, MASS, RADIUS = 0.1, 0.5, 0.03  # m, kg, m
REACH = 0.6  # [m] limit of the finger to each side
FORCE = 10.0  # N


def pusher() -> Mechanism:
    """A ball on two slides, driven along x and y, and a cube on the floor, which it can touch."""
    box = cube(EDGE, MASS, friction=0.4)
    shape = Geometry("box", (EDGE,) * 3, rgba=ORANGE, friction=0.4, name="cube")
    body = box.bodies[0]
    moved = Body(body.name, body.mass, body.inertia, body.frames, (shape,), (shape,))
    ball = Geometry("sphere", (RADIUS,), rgba=DARK, friction=0.4, name="finger")
    inertia = 0.4 * 0.5 * RADIUS**2 * np.eye(3)
    bodies = (
        Body("carriage", 0.5, inertia),
        Body("finger", 0.5, inertia, visuals=(ball,), collisions=(ball,)),
        moved,
    )
    slide = partial(Joint, lower=-REACH, upper=REACH, effort_limit=FORCE, damping=5.0)
    above = (0.0, 0.0, EDGE / 2)
    joints = (
        slide("x", "prismatic", None, "carriage", axis=(1, 0, 0), parent_position=above),
        slide("y", "prismatic", "carriage", "finger", axis=(0, 1, 0)),
        Joint("cube", "floating", None, body.name),
    )
    home = (0.0, 0.0, 0.2, 0.0, EDGE / 2, 1.0, 0.0, 0.0, 0.0)
    return Mechanism(
        "pusher", bodies, joints, box.contacts, home=home,
        contact_pairs=(("finger", body.name),),
    )  # fmt: skip


class Push(Task):
    """Push a cube over the floor to a random goal.

    Finger and cube are a contact pair. See docs/environments.md for spaces, units and rewards.
    """

    timestep = 4e-3
    steps = 5
    seconds = 5.0
    sizes = (9, 8, 2)

    def robot(self) -> Mechanism:
        return pusher()

    def control(self, robot: Mechanism) -> Torques:
        return Torques()

    def draws(self, robot: Mechanism) -> Draws:
        return {
            "finger": (np.array((-0.3, -0.3)), np.array((-0.15, 0.3))),
            "cube": (np.array((0.0, -0.15)), np.array((0.15, 0.15))),
            "yaw": (-np.pi / 4, np.pi / 4),
            "goal": (np.array((0.2, -0.3)), np.array((0.4, 0.3))),
        }

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        high = np.array([1.0, 1, 5, 5, 2, 2, 1, 1, 5, 5, 20, 2, 2])
        return -high, high

    def reset(self, start: Start) -> tuple[Array, Array]:
        q = start.home
        q[:, :2], q[:, 2:4] = start.drawn["finger"], start.drawn["cube"]
        q[:, 4] += 1e-4
        q[:, 5:9] = turned(start.drawn["yaw"])
        return q, start.rest

    def observe(self, now: Moment) -> Array:
        w, z = now.q[:, 5], now.q[:, 8]
        parts = (
            now.q[:, :2], now.v[:, :2], now.q[:, 2:4] - now.q[:, :2],
            # Cosine and sine of the cube's angle about z.
            (1 - 2 * z * z)[:, None], (2 * w * z)[:, None], now.v[:, 2:4], now.v[:, 7:8],
            now.drawn["goal"] - now.q[:, 2:4],
        )  # fmt: skip
        return np.concatenate(parts, axis=1)

    def reward(self, now: Moment) -> Mapping[str, Array]:
        left = _length(now.drawn["goal"] - now.q[:, 2:4])
        before = _length(now.drawn["goal"] - now.q_before[:, 2:4])
        apart = _length(now.q[:, 2:4] - now.q[:, :2])
        return {
            "progress": 10.0 * (before - left),
            "there": (left < 0.03).astype(float),
            "near": -0.1 * np.maximum(apart - EDGE, 0.0),
            "effort": -0.005 * (now.action**2).sum(axis=1),
        }


def _length(values: Array) -> Array:
    return np.asarray(np.sqrt((values**2).sum(axis=1)))
