"""A quadruped that climbs stairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.body import Geometry
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import HalfSpace
from robosim.description.ray_sensor import HeightScan, RaySensor
from robosim.envs.compiled import Functions
from robosim.envs.task import Draws
from robosim.envs.tasks.a1_walk import SIZE, TERMS, A1Walk, begin, has_fallen, judge_over
from robosim.envs.tasks.a1_walk import look as look_without_heights
from robosim.kernels.compiler.content import row
from robosim.loaders import load

BEGIN, DEPTH, WIDTH = 0.8, 0.35, 4.0  # [m] place of the first step; depth and width of each
AHEAD = np.linspace(-0.3, 0.7, 11)  # [m] ahead of the base: where heights are observed
SCAN, HIGH = "scan", 3.0  # the sensor, and its range [m]


def stairs(robot: Mechanism, count: int, rise: float) -> Mechanism:
    """A robot before stairs that rise along x.

    Only feet (spheres) and the trunk can touch the stairs. Other links have no collision shapes,
    so that a sixth of the pairs is left to be checked.
    """
    bodies = tuple(
        replace(
            body,
            collisions=tuple(
                shape for shape in body.collisions if shape.kind == "sphere" or i == 0
            ),
        )
        for i, body in enumerate(robot.bodies)
    )
    # Each step is a box that begins at the ground; the last one is 10 m deep.
    steps = []
    for k in range(count):
        first, height = BEGIN + k * DEPTH, (k + 1) * rise
        long = DEPTH if k < count - 1 else 10.0
        middle = (first + long / 2, 0.0, height / 2)
        shade = (0.62, 0.62, 0.65, 1.0) if k % 2 else (0.75, 0.73, 0.68, 1.0)
        steps.append(Geometry("box", (long, WIDTH, height), middle, rgba=shade, name=f"step {k}"))
    ground = HalfSpace(name="floor")
    return replace(robot, bodies=bodies).with_contacts(obstacles=(ground, *steps), ground=False)


@row
def height_of(numbers, x):  # type: ignore[no-untyped-def]
    """Height of the stairs [m] at a place along x."""
    return numbers[1] * min(max(np.floor((x - BEGIN) / DEPTH) + 1.0, 0.0), numbers[0])


@row
def look(now, i, out):  # type: ignore[no-untyped-def]
    """What `A1Walk` observes, and heights around the robot."""
    look_without_heights(now, i, out)
    for k in range(len(AHEAD)):
        out[SIZE + k] = now.home[2] - now.sensed[i].scan[k]


@row
def judge(now, i, out):  # type: ignore[no-untyped-def]
    """The terms of `A1Walk`, and how far the robot has climbed."""
    ground = height_of(now.numbers, now.q[i, 0])
    judge_over(now, i, ground, out)
    out[len(TERMS)] = 10.0 * (ground - height_of(now.numbers, now.q_before[i, 0]))


@row
def ends(now, i):  # type: ignore[no-untyped-def]
    """Whether the robot has fallen on the stairs."""
    return has_fallen(now, i, height_of(now.numbers, now.q[i, 0]))


FUNCTIONS = Functions(look, SIZE + len(AHEAD), judge, (*TERMS, "climbing"), ends, begin)


class A1Stairs(A1Walk):
    """Walk up stairs along x: `A1Walk` on terrain, with a height scan along the heading.

    Attributes
    ----------
    count : int
        Number of the stairs' steps.
    rise : float [m]
        Height of each step.
    """

    seconds = 20.0
    forward = (0.3, 0.6)
    sideways = (0.0, 0.0)
    turning = (0.0, 0.0)
    reach = 0.6
    count: int = 6
    rise: float = 0.06

    def robot(self) -> Mechanism:
        return stairs(load("a1"), self.count, self.rise)

    def sensors(self, robot: Mechanism) -> Sequence[str | RaySensor]:
        base = robot.bodies[0].frames[0].name
        return (HeightScan(SCAN, base, (AHEAD, (0.0,)), HIGH),)

    def draws(self, robot: Mechanism) -> Draws:
        return {**super().draws(robot), "yaw": (-0.2, 0.2)}

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        high = np.concatenate((super().bounds(robot)[1], np.full(len(AHEAD), 1.0)))
        return -high, high

    def numbers(self, robot: Mechanism) -> ArrayLike:
        return float(self.count), self.rise

    def functions(self) -> Functions:
        return FUNCTIONS
