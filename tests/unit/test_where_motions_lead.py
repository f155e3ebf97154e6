"""Contacts are in the equations where motions lead to them, and where a step turns out to."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import HeightField, Simulation

DT = 5e-3
FAST = 8.0  # [m/s]: twice the way of a step is 80 mm
HEIGHT = 0.02  # [m]: more than a tenth of that


def above(kind: str, on: str, velocity: tuple[float, float, float]) -> Simulation:
    """A body just above the ground or a level terrain."""
    robot = robosim.load(kind)
    if on == "terrain":
        field = HeightField(np.zeros((41, 41)), (4.0, 4.0))
        robot = robot.with_contacts(obstacles=field, ground=False)
    sim = Simulation(robot, DT)
    sim.set_state(robot.home)
    sim.place(gap=HEIGHT)
    sim.set_state(sim.q, [*velocity, 0.0, 0.0, 0.0])
    return sim


@pytest.mark.parametrize("on", ["ground", "terrain"])
@pytest.mark.parametrize("kind", ["cube", "sphere"])
def test_what_is_passed_by_is_left_out(kind: str, on: str) -> None:
    """However fast a body moves along the ground; towards it, that counts before it is there."""
    for velocity, near in (((FAST, 0.0, 0.0), False), ((FAST, 0.0, -2.0), True)):
        sim = above(kind, on, velocity)
        sim.step()
        work = sim.parts.work
        assert sim.min_gap() > 0.005
        assert (work.active[0] > 0) == near
        assert bool((work.ids >= 0).any()) == (near and on == "terrain")


@pytest.mark.parametrize("on", ["ground", "terrain"])
@pytest.mark.parametrize("kind", ["cube", "sphere"])
def test_what_a_step_alters_is_found_after_it(kind: str, on: str) -> None:
    """A body that flew along the ground is pushed onto it, by more than the way down to it."""
    sim = above(kind, on, (FAST, 0.0, 0.0))
    sim.step()
    assert sim.parts.work.active[0] == 0
    mass = sim.robot.bodies[0].mass
    sim.apply_wrench(sim.robot.bodies[0].name, force=[0.0, 0.0, -4 * mass * HEIGHT / DT**2])
    info = sim.step()
    assert sim.parts.work.active[0] > 0
    assert info.substeps == 1
    assert -1e-8 < sim.min_gap() < 1e-6
