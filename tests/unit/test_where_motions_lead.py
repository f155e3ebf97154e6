"""Contacts are in the equations where motions lead to them, and where a step turns out to."""

from __future__ import annotations

import numpy as np
import pytest
from touching import ball, box, flat_mesh, free, hull, roller

import robosim
from robosim import Body, Geometry, HeightField, Simulation, TriangleMesh

SMALL = 0.01  # [m]: less than half of the way that a small body is pushed
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


def small(kind: str) -> Body:
    if kind == "ellipsoid":
        shape = Geometry("ellipsoid", (SMALL, SMALL, 1.2 * SMALL))
        return Body("small", 1.0, 4e-5 * np.eye(3), collisions=(shape,))
    if kind == "hull":
        return hull("small", np.random.default_rng(0), 0.5 * SMALL)
    if kind == "box":
        return box("small", 2 * SMALL * np.ones(3))
    if kind == "ball":
        return ball("small", SMALL)
    return roller("small", kind, SMALL, 2 * SMALL)


@pytest.mark.parametrize("on", ["field", "mesh"])
@pytest.mark.parametrize("kind", ["ball", "box", "capsule", "cylinder", "ellipsoid", "hull"])
def test_nothing_is_pushed_through_a_terrain_that_its_motion_passed_by(kind: str, on: str) -> None:
    """Nowhere near the terrain at the first knot, and wholly behind it at the second otherwise."""
    field = HeightField(np.zeros((41, 41)), (4.0, 4.0))
    terrain = field if on == "field" else TriangleMesh(flat_mesh(4.0, 20))
    sim = Simulation(free(small(kind), obstacles=[terrain]), DT)
    gap = 0.6 * HEIGHT
    sim.place([0.0, 0.0, 0.1, np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0], gap)  # axes lie
    sim.set_state(sim.q, [FAST, 0.0, 0.0, 0.0, 0.0, 0.0])
    sim.step()
    assert sim.parts.work.active[0] == 0
    height = sim.state.x[0, 2]
    # Until its top is below, and by less than twice the way along the terrain.
    way = 2.2 * height
    assert 2.0 * height - gap < way < 2.0 * DT * FAST
    sim.apply_wrench("small", force=[0.0, 0.0, -2.0 * way / DT**2])
    sim.step()
    assert sim.min_gap() > -1e-6
    assert sim.state.x[0, 2] > 0.0
