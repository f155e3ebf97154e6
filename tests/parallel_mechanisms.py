"""The parallel mechanisms that ship, each with its joints, for tests of `robosim.parallel`."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim import Mechanism
from robosim.models import builders
from robosim.parallel import Transmission

SPRINGS = ("knee_spring", "heel_spring")
# Joints, and how far motors move at random from home [rad or m].
CASES: dict[str, tuple[dict[str, Any], float]] = {
    "four_bar_knee": ({"joints": "knee"}, 0.4),
    "two_rod_ankle": ({"joints": "ankle"}, 0.3),
    "linear_leg": ({"joints": ("knee", "ankle")}, 0.015),
    "spring_leg": ({"joints": ("ankle", "toe"), "fixed": SPRINGS}, 0.3),
    "delta": ({"joints": "platform"}, 0.3),
    "stewart": ({"joints": "platform", "length": 0.3}, 0.04),
}
FLOATING = ("four_bar_knee", "two_rod_ankle", "linear_leg", "spring_leg")


def built(name: str, **sizes: Any) -> tuple[Mechanism, Transmission]:
    """A mechanism and its transmission."""
    robot = getattr(builders, name)(**sizes)
    return robot, Transmission(robot, **CASES[name][0])


def random_motors(name: str, of: Transmission, seed: int = 0) -> np.ndarray:
    """Positions of the motors at random (n,)."""
    return CASES[name][1] * np.random.default_rng(seed).uniform(-1, 1, of.n)
