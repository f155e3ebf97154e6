"""The A1 that lands on its feet from several heights, for tests of batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim import Mechanism, Simulation


def landing(n: int) -> tuple[Mechanism, NDArray[np.float64]]:
    """The A1 on its feet, and n starts at heights from 0.1 mm to 2 cm: some land in the run."""
    robot = robosim.load("a1", contacts="feet")
    sim = Simulation(robot)
    q = np.tile(robot.home, (n, 1))
    q[:, 2] += np.geomspace(1e-4, 0.02, n) - sim.min_gap()
    return robot, q


def assert_same(one: Any, other: Any) -> None:
    """Two rollouts, to the last bit."""
    for name, a, b in zip(one._fields, one, other, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
