"""Velocities at knots are those of the motion: between its chords before and after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from touching import ball, free, poses

from robosim import Body, Geometry, HalfSpace, Joint, Mechanism, Simulation
from robosim.models.builders import cube

AXIS_Y = 0.5**0.5, 0.5**0.5, 0.0, 0.0  # turns the axis of a cylinder from z to y


def wheel(radius: float, width: float, mass: float) -> Body:
    across, along = mass * (3 * radius**2 + width**2) / 12, mass * radius**2 / 2
    shape = Geometry("cylinder", (radius, width), quaternion=AXIS_Y, friction=0.8)
    return Body("wheel", mass, np.diag([across, along, across]), collisions=(shape,))


def trailing_caster(width: float) -> Mechanism:
    """A carriage that slides along, with a swivel caster that swings into its trail."""
    carriage, fork = Body("carriage", 5.0, 0.1 * np.eye(3)), Body("fork", 0.2, 1e-4 * np.eye(3))
    joints = (
        Joint("slide", "planar_fixed_orientation", None, "carriage", (0, 1, 0), actuated=False),
        Joint("swivel", "revolute", "carriage", "fork", (0, 0, 1), (0, 0, -0.02), actuated=False),
        Joint("axle", "revolute", "fork", "wheel", (0, 1, 0), (-0.03, 0, -0.04), actuated=False),
    )
    bodies = carriage, fork, wheel(0.04, width, 0.1)
    return Mechanism("caster", bodies, joints, obstacles=[HalfSpace(friction=0.8)])


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("width", [0.02, 0.005])
@pytest.mark.parametrize("timestep", [0.005, 0.001])
def test_a_rim_that_rolls_turns_as_it_is_told(timestep, width, solver):
    """Two points of the rim slip in opposite ways, as the wheel turns about the vertical."""
    sim = Simulation(trailing_caster(width), timestep, solver=solver)
    sim.set_state([0.1, 0, 0.5, 0], [0, 0.5, 0, 0])
    q, v, energy = [], [], []
    for _ in range(round(1.0 / timestep)):
        sim.step()
        q.append(sim.q)
        v.append(sim.v)
        energy.append(sim.energy())
    begin = round(0.1 / timestep)  # after the landing
    chords = np.diff(q, axis=0)[begin:] / timestep
    at_knots = np.array(v)[begin + 1 : -1]
    # Between two chords, but for what their change itself changes, and what arcs are longer.
    change = np.abs(np.diff(chords, axis=0))
    middle = 0.5 * (chords[1:] + chords[:-1])
    assert np.all(np.abs(at_knots - middle) <= change + 1000 * timestep**2)
    assert np.diff(energy)[begin:].max() < 1e-6


def on_one_joint(kind: str, friction: float) -> Mechanism:
    """A body of unit mass and unit moment of inertia on a joint with dry friction, axis z."""
    joint = Joint("joint", kind, None, "body", (0, 0, 1), friction=friction)
    return Mechanism("alone", (Body("body", 1.0, np.eye(3)),), (joint,))


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("speed", [1.0, 1.1, 1.205, 1.29])
def test_dry_friction_stops_a_joint_and_does_not_turn_it_round(speed, kind, solver):
    """It slows evenly from the start on, and where it stops within a step it reads zero after."""
    sim = Simulation(on_one_joint(kind, 30.0), 0.01, gravity=(0, 0, 0), solver=solver)
    sim.set_state(sim.q, [speed])
    log = sim.run(0.1)
    np.testing.assert_allclose(log.v[:, 0], np.maximum(speed - 30.0 * log.t, 0.0), atol=1e-4)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("friction", [3.0, 8.0])
@pytest.mark.parametrize("speed", [1.0, 1.05, 1.1, 1.15])
def test_a_slide_thrown_up_comes_back_against_its_friction(speed, friction, solver):
    """At the knot where it turns round, friction opposes the velocity that is read there."""
    sim = Simulation(on_one_joint("prismatic", friction), 0.01, solver=solver)
    sim.set_state(sim.q, [speed])
    log = sim.run(0.3)
    v, chords = log.v[1:-1, 0], np.diff(log.q[:, 0]) / 0.01
    assert np.all(v <= chords[:-1] + 1e-9)
    assert np.all(v >= chords[1:] - 1e-9)
    back = v[v < 0.0]
    assert np.abs(back[0]) <= (9.81 - friction) * 0.01 + 1e-9
    np.testing.assert_allclose(np.diff(back)[2:], -(9.81 - friction) * 0.01, rtol=1e-6)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("degrees", [0.0, 30.0, 123.0])
@pytest.mark.parametrize("speed", [0.5, 0.52, 0.54])
def test_friction_stops_a_block_and_does_not_turn_it_round(speed, degrees, solver):
    """On the ground, with a coefficient of 0.5: where it stops within a step, it reads zero."""
    sim = Simulation(cube(0.5, 1.0, 0.5), 0.01, solver=solver)
    way = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0, 0, 0, 0])
    sim.set_state(sim.q, speed * way)
    log = sim.run(0.2)
    exact = np.maximum(speed - 0.5 * 9.81 * log.t, 0.0)
    np.testing.assert_allclose(log.v, exact[:, None] * way, atol=1e-7)


@pytest.mark.parametrize("friction", [0.2, 0.4])
@pytest.mark.parametrize("speed", [0.5, 0.52, 0.54, 0.56])
def test_a_block_thrown_up_a_slope_slides_back(speed, friction):
    """At the knot where it turns round, friction opposes the velocity that is read there."""
    sim = Simulation(cube(0.5, 1.0, friction), 0.01, gravity=(-5.886, 0.0, -7.848))
    sim.set_state(sim.q, [speed, 0, 0, 0, 0, 0])
    log = sim.run(0.3)
    v, chords = log.v[1:-1, 0], np.diff(log.q[:, 0]) / 0.01
    assert np.all(v <= chords[:-1] + 1e-9)
    assert np.all(v >= chords[1:] - 1e-9)
    assert v[-1] < -0.2


def test_soft_balls_that_turn_on_each_other_slip_as_both_surfaces_do():
    """Where they overlap, surfaces are apart: velocities are those of the motion none the less."""
    balls = []
    for name, radius in (("small", 0.1), ("large", 0.15)):
        one = ball(name, radius)
        balls.append(replace(one, collisions=(replace(one.collisions[0], stiffness=2e4),)))
    robot, dt = free(*balls, contact_pairs=[("small", "large")]), 5e-4
    sim = Simulation(robot, dt, gravity=(0, 0, 0), tolerance=1e-12, islands=False)
    v = [0, 0, 0.5, 0, 8, 1, 0, 0, -0.5, 3, -5, 0]
    sim.set_state(poses((0, 0, 0), (0.01, 0, 0.245)), v)
    log = sim.run(0.01)
    assert len(sim.contacts()) == 1
    found = (log.q[2:, 0] - log.q[:-2, 0]) / (2 * dt)
    np.testing.assert_allclose(log.v[1:-1, 0], found, rtol=0, atol=5e-4)


def test_what_turns_along_with_something_has_its_rate():
    """A ball on the axis of a turntable, which friction against turning alone carries along."""
    one, table = ball("ball", 0.1), Body("table", 5.0, np.eye(3))
    shape = replace(one.collisions[0], torsional_friction=0.02)
    table = replace(table, collisions=(Geometry("box", (1.0, 1.0, 0.1)),))
    robot = Mechanism(
        "turntable",
        (table, replace(one, collisions=(shape,))),
        (
            Joint("axle", "revolute", None, "table", (0, 0, 1)),
            Joint("free", "floating", None, "ball"),
        ),
        self_collision=True,
    )
    sim = Simulation(robot, 5e-3)
    sim.set_state([0, 0, 0, 0.15, 1, 0, 0, 0], [3.0, 0, 0, 0, 0, 0, 3.0])
    log = sim.run(0.2)
    np.testing.assert_allclose(log.v[:, [0, 6]], 3.0, rtol=0, atol=1e-5)
