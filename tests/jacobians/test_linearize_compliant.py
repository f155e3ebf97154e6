"""Derivatives of steps with compliant contacts and limits, beside differences of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from step_differences import compare
from touching_ground import SMOOTH, sliding_box

from robosim import Body, Joint, Mechanism, Simulation
from robosim.models import builders

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("stiffness", [2e3, 1e6])
@pytest.mark.parametrize("way", ["half-space", "body"])
def test_a_box_that_slides_and_turns(way, stiffness):
    sim = sliding_box(way, 0.01, stiffness=stiffness, dissipation=0.7)
    found = compare(sim, step=1e-7, within=1e-4)
    assert len(found.contacts) == 4


@pytest.mark.parametrize("speed", [0.0, 0.7])
def test_a_ball_on_a_spring(speed):
    robot = builders.sphere()
    (point,) = robot.contacts
    point = replace(point, rolling_friction=1e-3, stiffness=1e4, dissipation=0.3)
    robot = replace(robot, contacts=(point,))
    sim = Simulation(robot, 1e-3, tolerance=1e-13, contact_speed=SMOOTH)
    sim.set_state(sim.q, [speed, 0.0, -0.4, 0.0, 0.2 / point.radius, 1.0])
    sim.run(0.008)
    compare(sim, step=1e-8, within=2e-4)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_limits(kind, solver):
    body = Body("arm", 2.0, np.diag([0.01, 0.02, 0.03]))
    more = {"cone": 0.4} if kind == "spherical" else {"axis": (0, 1, 0), "upper": 0.4}
    joint = Joint(
        "j", kind, None, "arm", child_position=(-0.5, 0, 0), limit_stiffness=500.0,
        limit_damping=0.3, **more,
    )  # fmt: skip
    sim = Simulation(
        Mechanism("arm", (body,), (joint,)),
        1e-3,
        tolerance=1e-13,
        contact_speed=SMOOTH,
        solver=solver,
    )
    sim.set_state([np.cos(0.22), 0.0, np.sin(0.22), 0.0] if kind == "spherical" else [0.44])
    sim.run(0.01)
    found = compare(sim, step=1e-8, within=1e-4)
    assert found.contacts
