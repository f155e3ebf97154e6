"""A quadruped that learns to trot over steps in the ground, while it is pushed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import HeightField
from robosim.envs.compiled import Functions
from robosim.envs.task import Draws
from robosim.envs.tasks.a1_trot import SIZE, TERMS, A1Trot, ends, judge, look, pull
from robosim.envs.tasks.a1_walk import begin as begin_on_flat
from robosim.kernels.compiler.content import row
from robosim.learning.domain import Domain
from robosim.loaders import load
from robosim.validation import Array

CELL = 0.025  # [m], of the height field: the width of the slope between two heights
BLOCK = 20  # cells along each side of a block
BLOCKS = 40  # along each side of the ground
PUSH = Domain(push=50.0, push_seconds=0.1, motors=(0.9, 1.1))


def blocks(rise: float, seed: int = 0) -> HeightField:
    """Square blocks of 0.5 m, each at height 0 or at the rise [m], by chance."""
    random = np.random.default_rng(seed)
    high: Array = rise * random.integers(0, 2, (BLOCKS, BLOCKS)).astype(float)
    heights = np.repeat(np.repeat(high, BLOCK, axis=0), BLOCK, axis=1)
    side = CELL * (heights.shape[0] - 1)
    return HeightField(heights, (side, side), name="blocks")


def on_blocks(robot: Mechanism, rise: float, shapes: Sequence[str] = ("sphere",)) -> Mechanism:
    """A robot on `blocks`, whose collision shapes of these kinds touch them.

    With spheres alone, these are the feet of an A1.
    """
    bodies = tuple(
        replace(body, collisions=tuple(one for one in body.collisions if one.kind in shapes))
        for body in robot.bodies
    )
    return replace(robot, bodies=bodies).with_contacts(obstacles=blocks(rise), ground=False)


@row
def begin(start, i, q, v):  # type: ignore[no-untyped-def]
    """As on flat ground, at any place, above the higher blocks."""
    begin_on_flat(start, i, q, v)
    q[:2] += start.drawn[i].place
    q[2] += 2.0 * start.numbers[2]


FUNCTIONS = Functions(look, SIZE, judge, TERMS, ends, begin, pull)


class A1Rough(A1Trot):
    """Follow a commanded velocity over steps in the ground, and against pushes, blindly.

    As `A1Trot`, but the ground has square blocks of 0.5 m, each of which is low or high by chance.
    In each episode the base is pushed once, by up to 50 N for 0.1 s, and motors differ by up to a
    tenth.

    Attributes
    ----------
    rise : float [m]
        Height of the steps between blocks.
    """

    lift = 0.1
    domain = PUSH
    rise: float = 0.05

    def robot(self) -> Mechanism:
        return on_blocks(load("a1"), self.rise)

    def numbers(self, robot: Mechanism) -> ArrayLike:
        return self.period, self.lift, 0.5 * self.rise

    def draws(self, robot: Mechanism) -> Draws:
        return {**super().draws(robot), "place": (np.full(2, -1.5), np.full(2, 1.5))}

    def functions(self) -> Functions:
        return FUNCTIONS
