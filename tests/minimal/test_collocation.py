"""Hermite-Simpson collocation, as `fan-5.3` compares with it."""

from __future__ import annotations

import numpy as np
import pytest
from joint_lagrangian import GRAVITY
from random_mechanisms import random_tree

from robosim import ConvergenceError, Dynamics, MinimalSimulation
from robosim.experiments.collocation import collocated
from robosim.models.builders import chain

DT = 0.02


def test_its_equations_hold() -> None:
    """Those of two steps, with accelerations by another algorithm."""
    rng = np.random.default_rng(4)
    robot = random_tree(rng, 5, "revolute", ("revolute", "prismatic"))
    sim = MinimalSimulation(robot, DT, GRAVITY, tolerance=1e-13)
    sim.set_state(rng.uniform(-1, 1, size=robot.nq), rng.normal(size=robot.nv))
    dynamics, tau = Dynamics(robot, GRAVITY), np.zeros(robot.nv)

    def rate(y: np.ndarray) -> np.ndarray:
        q, v = np.split(y, 2)
        return np.concatenate((v, dynamics.forward_acceleration(q, v, tau)))

    y, found = np.concatenate((sim.q, sim.v)), collocated(sim, 2)
    assert found.shape == (3, robot.nq)
    np.testing.assert_allclose(found[0], y[: robot.nq], rtol=0, atol=0)
    for k in (1, 2):
        f, end = rate(y), y
        for _ in range(60):
            g = rate(end)
            middle = rate(0.5 * (y + end) + DT / 8 * (f - g))
            end = y + DT / 6 * (f + 4 * middle + g)
        np.testing.assert_allclose(found[k], end[: robot.nq], rtol=0, atol=1e-11)
        y = end


def test_a_step_that_is_too_long_is_told() -> None:
    sim = MinimalSimulation(chain(6), 2.0)
    sim.set_state(np.linspace(1.0, -2.0, 6), np.full(6, 5.0))
    with pytest.raises(ConvergenceError, match="did not converge"):
        collocated(sim, 3)
