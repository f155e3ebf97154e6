"""Impossible inertias, and the inertia of a ball in their place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.body import Body, moments_of
from robosim.validation import Array

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism

_DENSITY = 1000.0  # [kg/m^3], of water


def ball(mass: float) -> Array:
    """Inertia (3, 3) [kg m^2] of a ball of water of that mass [kg]."""
    radius = (3 * mass / (4 * np.pi * _DENSITY)) ** (1 / 3)
    return np.asarray(0.4 * mass * radius**2 * np.eye(3))


def turnable(inertia: ArrayLike, mass: float) -> Array:
    """An inertia (3, 3), or that of a ball if it is not positive definite."""
    inertia = np.asarray(inertia)
    return inertia if moments_of(inertia)[0] > 0 else ball(mass)


def unturnable(robot: Mechanism) -> list[Body]:
    """Bodies with a principal moment of inertia that is not positive."""
    return [body for body in robot.bodies if not body.principal_moments[0] > 0]


def with_balls(robot: Mechanism, bodies: Collection[Body]) -> Mechanism:
    """The robot, with the inertia of a ball of the same mass for the given `bodies`."""
    if not bodies:
        return robot
    changed = [
        replace(body, inertia=ball(body.mass)) if body in bodies else body for body in robot.bodies
    ]
    return replace(robot, bodies=tuple(changed))
