"""Derivatives of steps with friction by direction, beside differences of steps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from step_differences import compare
from touching_ground import SMOOTH, sliding_box

from robosim import Anisotropy, Simulation
from robosim.models import builders

pytestmark = pytest.mark.slow

BLADE = Anisotropy((1, 0.2, 0.1), across=0.2)


@pytest.mark.parametrize("way", ["half-space", "body"])
def test_a_box_that_slides_and_turns(way):
    sim = sliding_box(way, 0.005, anisotropy=BLADE)
    found = compare(sim, step=1e-8, within=1e-4)
    assert len(found.contacts) == 4


@pytest.mark.parametrize("speed", [0.0, 0.7])
@pytest.mark.parametrize("axes", [None, "world"])
def test_a_ball_whose_direction_may_turn_with_it(speed, axes):
    robot = builders.sphere()
    (point,) = robot.contacts
    point = replace(point, anisotropy=replace(BLADE, axes=axes), rolling_friction=1e-3)
    robot = replace(robot, contacts=(point,))
    sim = Simulation(robot, 1e-3, tolerance=1e-13, contact_speed=SMOOTH)
    radius = point.radius
    sim.set_state(sim.q, [speed + 0.2, 0.3, 0, -0.3 / radius, 0.2 / radius, 1.0])
    sim.run(0.005)
    found = compare(sim, step=1e-8, within=2e-4)
    assert {one.mode for one in found.contacts} >= {"slide" if speed else "stick"}
