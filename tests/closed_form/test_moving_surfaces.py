"""Belts and turntables by hand: surfaces that move by themselves.

A box that is put on a belt slides, gains speed at mu g until it has the belt's, and moves with it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from touching_ground import WAYS, on_something

from robosim import Body, Geometry, HalfSpace, Joint, Mechanism, ModelError, Simulation
from robosim.quaternions import from_axis_angle

G, DT, MU, MASS, EDGE = 9.81, 1e-3, 0.3, 2.0, 0.2
SPEED = 0.6
TURN = 2.0  # of a turntable [rad/s]


def box(way: str, friction: float = MU, **belt) -> Mechanism:
    shape = Geometry("box", (EDGE, EDGE, EDGE), friction=friction)
    inertia = MASS * EDGE**2 / 6 * np.eye(3)
    return on_something(shape, MASS, inertia, EDGE / 2, way, **belt)


@pytest.mark.parametrize(("way", "solver"), WAYS)
@pytest.mark.parametrize("degrees", [0.0, 37.0])
def test_a_box_on_a_belt_slides_until_it_has_the_speed_of_the_belt(way, solver, degrees):
    along = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0.0])
    sim = Simulation(box(way, surface_velocity=SPEED * along), DT, solver=solver)
    if way == "body":
        along = along * (1, 0, 0)  # across the rail: the belt itself is pushed along it
        if degrees:
            pytest.skip("the belt gives way along its rail")
    end = SPEED / (MU * G)
    log = sim.run(end + 0.3)
    speeds = np.minimum(MU * G * log.t, SPEED)
    np.testing.assert_allclose(log.v[:, :3], speeds[:, None] * along, rtol=0, atol=3e-3)
    settled = (log.t < end - DT) | (log.t > end + 2 * DT)
    np.testing.assert_allclose(log.v[settled, :3], speeds[settled, None] * along, rtol=0, atol=1e-6)
    way_gone = SPEED * sim.time - SPEED**2 / (2 * MU * G)
    np.testing.assert_allclose(sim.q[:2], way_gone * along[:2], rtol=0, atol=5e-6)
    np.testing.assert_allclose(sim.q[3:7], (1, 0, 0, 0), rtol=0, atol=1e-6)


def test_a_faster_box_is_slowed_to_the_speed_of_the_belt():
    sim = Simulation(box("half-space", surface_velocity=(SPEED, 0, 0)), DT)
    sim.set_state(sim.q, (2 * SPEED, 0, 0, 0, 0, 0))
    sim.run(SPEED / (MU * G) + 0.1)
    np.testing.assert_allclose(sim.v, (SPEED, 0, 0, 0, 0, 0), rtol=0, atol=1e-6)


def test_a_belt_carries_up_a_slope():
    """Where friction holds, a box moves with the belt from the first on, and is let down by less.

    It gains speed at g (mu cos(a) - sin(a)), and then moves up with the belt.
    """
    angle = np.radians(10)
    normal, up = np.array([-np.sin(angle), 0, np.cos(angle)]), (np.cos(angle), 0, np.sin(angle))
    robot = box("half-space")
    turn = from_axis_angle((0, 1, 0), -angle)
    belt = HalfSpace(normal, friction=MU, surface_velocity=SPEED * np.array(up))
    robot = replace(robot, obstacles=(belt,), home=(*(EDGE / 2 * normal), *turn))
    sim = Simulation(robot, DT)
    rate = G * (MU * np.cos(angle) - np.sin(angle))
    time = SPEED / rate
    sim.run(time + 0.5)
    expected = SPEED * sim.time - SPEED * time / 2
    np.testing.assert_allclose((sim.q[:3] - robot.home[:3]) @ up, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(sim.v[:3], SPEED * np.array(up), rtol=0, atol=1e-6)


def test_a_box_on_a_turntable_turns_with_it():
    """Its corners cover the arcs of the table's points: no drift outwards over many steps."""
    spin, arm = 1.5, 0.4
    robot = box("half-space", friction=2.0, surface_spin=(0, 0, spin))
    robot = replace(robot, home=(arm, 0, *robot.home[2:]))
    sim = Simulation(robot, 0.01)
    sim.set_state(sim.q, (0, spin * arm, 0, 0, 0, spin))
    sim.run(4.0)
    turned = spin * sim.time
    np.testing.assert_allclose(
        sim.q[:2], arm * np.array([np.cos(turned), np.sin(turned)]), rtol=0, atol=1e-6
    )


def spinning_surface(ball: Body) -> tuple[Mechanism, list[float]]:
    joint = Joint("free", "floating", None, "ball")
    table = HalfSpace(friction=5.0, surface_spin=(0, 0, TURN))
    return Mechanism("surface", (ball,), (joint,), obstacles=(table,)), []


def turning_table(ball: Body) -> tuple[Mechanism, list[float]]:
    """So heavy that the ball does not change its rate; returns that as well."""
    shape = Geometry("box", (40.0, 40.0, 0.2), friction=5.0)
    table = Body("table", 1e5, 4e5 * np.eye(3), collisions=(shape,))
    joints = (
        Joint("axle", "revolute", None, "table", (0, 0, 1), child_position=(0, 0, 0.1)),
        Joint("free", "floating", None, "ball"),
    )
    return Mechanism("table", (table, ball), joints, self_collision=True), [TURN]


@pytest.mark.parametrize("table", [spinning_surface, turning_table])
def test_a_ball_that_rolls_over_a_turntable(table):
    """Its centre goes round a circle at 2/7 of the table's rate, of order two in the time step."""
    radius, inertia = 0.1, 0.4 * 0.1**2
    shape = Geometry("sphere", (radius,), friction=5.0)
    robot, turns = table(Body("ball", 1.0, inertia * np.eye(3), collisions=(shape,)))
    x0, v0, rate = np.array([0.7, -0.2]), np.array([0.5, 0.8]), 2 / 7 * TURN
    # It rolls without slip: v - radius omega x z = TURN z x r.
    slip = v0 - TURN * np.array([-x0[1], x0[0]])
    begin = [*x0, radius, 1, 0, 0, 0], [*v0, 0, -slip[1] / radius, slip[0] / radius, 0.3]
    errors = []
    for dt in (0.02, 0.01):
        sim, off = Simulation(robot, dt, tolerance=1e-12), np.zeros(2)
        sim.set_state([0.0] * len(turns) + begin[0], turns + begin[1])
        for n in range(1, round(1.0 / dt) + 1):
            sim.step()
            c, s = np.cos(rate * n * dt), np.sin(rate * n * dt)
            v = np.array([[c, -s], [s, c]]) @ v0
            x = x0 + np.array([[s, c - 1], [1 - c, s]]) @ v0 / rate
            found = sim.state.x[-1, :2] - x, sim.state.v[-1, :2] - v
            off = np.maximum(off, np.abs(found).max(axis=1))
        errors.append(off)
    assert errors[0].max() < 3e-3
    np.testing.assert_allclose(errors[0] / errors[1], 4.0, rtol=0.05)


def test_torsional_friction_follows_a_turntable():
    """A ball in the middle of a table is spun up at mu_s m g / I, to the table's spin."""
    torsion, radius, spin = 0.01, 0.1, 2.0
    inertia = 0.4 * MASS * radius**2
    shape = Geometry("sphere", (radius,), torsional_friction=torsion)
    robot = on_something(shape, MASS, inertia * np.eye(3), radius, "half-space",
                         surface_spin=(0, 0, spin))  # fmt: skip
    sim = Simulation(robot, DT)
    rate = torsion * MASS * G / inertia
    sim.run(0.5 * spin / rate)
    assert sim.v[5] == pytest.approx(rate * sim.time, rel=1e-4)
    sim.run(spin / rate)
    # What is held is the chord of a turn: the rate along the arc is (spin * DT)^2 / 6 more.
    np.testing.assert_allclose(sim.v, (0, 0, 0, 0, 0, spin), rtol=0, atol=2e-6)


def test_a_moving_belt_under_both_is_the_difference():
    """Shapes that both move by themselves slip by the difference."""
    shape = Geometry("box", (EDGE, EDGE, EDGE), friction=MU, surface_velocity=(SPEED, 0, 0))
    robot = on_something(shape, MASS, MASS * EDGE**2 / 6 * np.eye(3), EDGE / 2, "half-space",
                         surface_velocity=(SPEED, 0, 0))  # fmt: skip
    sim = Simulation(robot, DT)
    sim.run(0.3)
    np.testing.assert_allclose(sim.v, 0, rtol=0, atol=1e-8)


def test_velocities_are_vectors():
    with pytest.raises(ModelError, match=r"'ground'.*surface_velocity"):
        HalfSpace(surface_velocity=1.0)
    with pytest.raises(ModelError, match="surface_spin"):
        Geometry("sphere", (1.0,), surface_spin=(0, 0, np.nan))
