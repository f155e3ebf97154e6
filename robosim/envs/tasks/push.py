"""A finger that pushes a cube to a goal."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.body import Body, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.envs.compiled import CompiledTask, Functions
from robosim.envs.task import Draws, Torques
from robosim.envs.tasks.bases import turn_to
from robosim.kernels.compiler.content import row
from robosim.models.builders import cube
from robosim.models.builders.parts import DARK, ORANGE

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


@row
def begin(start, i, q, v):  # type: ignore[no-untyped-def]
    """The finger behind the cube, which lies at any angle."""
    q[:2], q[2:4] = start.drawn[i].finger, start.drawn[i].cube
    q[4] += 1e-4
    turn_to(start.drawn[i].yaw, q[5:9])


@row
def look(now, i, out):  # type: ignore[no-untyped-def]
    """The finger, the cube as seen from it, and the goal as seen from the cube."""
    q, v, goal = now.q[i], now.v[i], now.drawn[i].goal
    for k in range(2):
        out[k], out[2 + k], out[4 + k] = q[k], v[k], q[2 + k] - q[k]
        out[8 + k], out[11 + k] = v[2 + k], goal[k] - q[2 + k]
    # Cosine and sine of the cube's angle about z.
    out[6], out[7] = 1 - 2 * q[8] * q[8], 2 * q[5] * q[8]
    out[10] = v[7]


@row
def distance(a, b):  # type: ignore[no-untyped-def]
    """Distance [m] of two places in the plane."""
    x, y = a[0] - b[0], a[1] - b[1]
    return np.sqrt(x * x + y * y)


@row
def judge(now, i, out):  # type: ignore[no-untyped-def]
    """How much nearer the cube is, whether it is there, where the finger is, what is spent."""
    goal, cube = now.drawn[i].goal, now.q[i, 2:4]
    left = distance(goal, cube)
    out[0] = 10.0 * (distance(goal, now.q_before[i, 2:4]) - left)
    out[1] = 1.0 if left < 0.03 else 0.0
    out[2] = -0.1 * max(distance(cube, now.q[i, :2]) - EDGE, 0.0)
    out[3] = -0.005 * (now.action[i, 0] ** 2 + now.action[i, 1] ** 2)


FUNCTIONS = Functions(look, 13, judge, ("progress", "there", "near", "effort"), None, begin)


class Push(CompiledTask):
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

    def functions(self) -> Functions:
        return FUNCTIONS
