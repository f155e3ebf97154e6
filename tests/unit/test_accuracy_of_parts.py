"""What parts of a step to an accuracy are measured by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from touching import ball, free

from robosim import Simulation
from robosim.kernels.compiler.jit import entry
from robosim.kernels.step.accuracy import change_of_motion, is_accurate

LENGTH = 0.01  # [s]
Array = Any


@entry
def change(model, bodies, before, length):
    return change_of_motion(model, bodies, before, length)


@entry
def accurate(model, state, part, options):
    return is_accurate(model, state, part[0], options)


def two_balls() -> Simulation:
    return Simulation(free(ball("a", 0.1), ball("b", 0.3)), accuracy=1e-6, islands=False)


@pytest.mark.parametrize("body", [0, 1])
@pytest.mark.parametrize("kind", [slice(0, 3), slice(3, 6)], ids=["velocity", "turning"])
def test_a_change_since_the_interval_before_counts_as_one_within(body: int, kind: slice) -> None:
    """Velocities change from mean to mean, or from a mean to the knot; together as a root."""
    sim, rng = two_balls(), np.random.default_rng(0)
    bodies = sim.parts.state.bodies

    def way(since: Array, within: Array) -> float:
        """With the means changed by `since`, and the knot apart from the mean by `within`."""
        before = bodies.copy()
        for motion in (before, bodies):
            motion["v_mid"], motion["shown"] = steady, steady
        bodies["v_mid"][body, kind] += since
        bodies["shown"][body, kind] += since + within
        return float(change(sim.parts.model, bodies, before, LENGTH))

    steady = rng.normal(size=(2, 6))
    since, within, none = *rng.normal(size=(2, 3)), np.zeros(3)
    assert way(none, none) == 0.0
    assert way(none, within) > 0.0
    assert way(within, none) == pytest.approx(way(none, within), rel=1e-12)
    both = np.hypot(way(since, none), way(none, within))
    assert way(since, within) == pytest.approx(both, rel=1e-12)
    if kind == slice(0, 3):
        assert way(since, none) == pytest.approx(LENGTH * np.linalg.norm(since), rel=1e-12)


def test_what_lands_is_as_accurate_as_its_speed_lets_it_be() -> None:
    """It may do so within 8e-9 s, in which it comes farther the faster it is."""
    sim = two_balls()
    state, part = sim.parts.state, sim.parts.work.part
    part["length"], part["stopped"] = LENGTH, 0.0
    speed = 1e3
    for landed, v, error, expected in (
        (1, speed, 0.9, True), (1, speed, 1.1, False), (1, 1.0, 0.9, False), (0, speed, 0.9, False),
    ):  # fmt: skip
        part["landed"], part["error"] = landed, error * 8e-9 * speed
        state.bodies["v"], state.bodies["omega"] = 0.0, 0.0
        state.bodies["v"][1, 2] = v
        assert accurate(sim.parts.model, state, part, sim.parts.options) == expected
