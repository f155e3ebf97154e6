"""Derivatives of steps where they are known, and of many steps beside differences of the run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, OptionError, Simulation, linearize
from robosim.kernels.step.impact import SHORT
from robosim.models import builders

pytestmark = pytest.mark.slow

DT, TOLERANCE = 1e-3, 1e-13


def bouncing_ball(friction, restitution):
    ball = builders.sphere(friction=friction)
    contacts = tuple(replace(contact, restitution=restitution) for contact in ball.contacts)
    return replace(ball, contacts=contacts)


@pytest.mark.parametrize("gap", [0.1e-3, 0.3e-3, 0.5e-3, 0.8e-3, 1.25e-3, 1.9e-3])
def test_a_ball_that_bounces_at_an_angle(gap):
    """Without gravity; mu is so small that the ball slides as long as it is hit.

    Steps take the impact where SHORT of the way is done, after SHORT gap / u. So a ball that begins
    lower leaves earlier, and goes on more slowly for more of the step.
    """
    mu, e, u, along = 0.1, 0.7, 2.0, 3.0
    robot = bouncing_ball(mu, e)
    ball, radius = robot.bodies[0], robot.contacts[0].radius
    sim = Simulation(robot, DT, (0.0, 0.0, 0.0), tolerance=TOLERANCE)
    q, v = np.array(robot.home), np.array([along, 0.0, -u, 0.0, 0.0, 0.0])
    q[2] = radius + gap
    sim.set_state(q, v)
    found = linearize(sim)
    slowed = mu * (1.0 + e)
    spun = slowed * ball.mass * radius / ball.inertia[0, 0]
    up = (1.0 - SHORT) * gap + e * (u * DT - SHORT * gap)
    # The spin is read along an arc, and is off by its square.
    arc = (spun * u * DT) ** 2
    np.testing.assert_allclose(found.v[[0, 2]], (along - slowed * u, e * u), rtol=1e-6)
    np.testing.assert_allclose(found.v[4], spun * u, rtol=arc / 4)
    np.testing.assert_allclose(found.q[2], radius + up, rtol=1e-9)
    rows, expected = [0, 2, 4], np.zeros((12, 4))  # along, up and about y, by x, z, vx, vz
    expected[0, [0, 2]] = 1.0, DT
    expected[rows, 1] = SHORT * slowed, 1.0 - SHORT - SHORT * e, -SHORT * spun
    expected[rows, 3] = slowed * DT, -e * DT, -spun * DT
    expected[6, 2] = 1.0
    expected[np.add(rows, 6), 3] = slowed, -e, -spun
    columns = found.A[:, [0, 2, 6, 8]]
    np.testing.assert_allclose(columns[:6], expected[:6], rtol=0, atol=1e-5)
    # Of what z might change of velocities, u / gap is the size.
    np.testing.assert_allclose(columns[6:] / (1, u / gap, 1, 1), expected[6:], rtol=0, atol=1e-5)
    assert len(found.contacts) == 1


def test_a_pendulum():
    """Its step keeps areas, and many of them turn (q, v / omega) about rest as the motion does."""
    robot = builders.pendulum()
    sim = Simulation(robot, DT, tolerance=TOLERANCE)
    sim.set_state([0.0], [0.0])
    found, steps = linearize(sim), 500
    # Where it moves, velocities are read along arcs, and areas of (q, v) change with dt^3.
    assert np.linalg.det(found.A) == pytest.approx(1.0, abs=1e-11)
    omega = np.sqrt(9.81 * 0.5 / sim.dynamics.mass_matrix(sim.q)[0, 0])
    c, s = np.cos(omega * DT * steps), np.sin(omega * DT * steps)
    turned = np.array([[c, s / omega], [-omega * s, c]])
    many = np.linalg.matrix_power(found.A, steps)
    np.testing.assert_allclose(many, turned, rtol=0, atol=omega**3 * DT**2 * DT * steps)
    assert found.margin == np.inf


def test_by_damping_that_is_zero():
    """What is zero is put into the equations for its derivative."""
    robot = builders.pendulum()
    assert not robot.joints[0].damping
    sim = Simulation(robot, DT, tolerance=TOLERANCE)
    sim.set_state([0.3], [2.0])
    name = robot.joints[0].name
    names = tuple(f"{what}:{name}" for what in ("damping", "stiffness", "armature"))
    found = linearize(sim, parameters=names)
    np.testing.assert_allclose(found.A, linearize(sim).A, rtol=0, atol=1e-12)
    inertia = sim.dynamics.mass_matrix(sim.q)[0, 0]
    # A damped step differs by a torque of -2 over it, a stiff one by -0.3.
    np.testing.assert_allclose(found.P[1, :2], -np.array([2.0, 0.3]) * DT / inertia, rtol=5e-3)
    for k, what in enumerate(("damping", "stiffness", "armature")):
        other = Simulation(
            replace(robot, joints=(replace(robot.joints[0], **{what: 1e-4}),)),
            DT,
            tolerance=TOLERANCE,
        )
        other.set_state([0.3], [2.0])
        end = linearize(other)
        change = np.concatenate((end.q - found.q, end.v - found.v)) / 1e-4
        np.testing.assert_allclose(found.P[:, k], change, rtol=1e-3)
    with pytest.raises(OptionError, match="is zero"):
        linearize(sim, parameters=(f"dry_friction:{name}",))


def test_a_hundred_steps():
    """Products of A beside differences of the whole run, for a block that slides."""
    robot = builders.cube(edge=0.2, friction=0.4)
    sim = Simulation(robot, DT, tolerance=1e-12, contact_speed=1e-6)
    q, v = np.array(robot.home), np.array([1.0, 0.3, 0.0, 0.0, 0.0, 0.5])
    product, size, nv = np.eye(12), 1e-4, robot.nv
    sim.set_state(q, v)
    sim.step()  # the contacts have closed
    q, v = sim.q, sim.v
    sim.set_state(q, v)
    for _ in range(100):
        product = linearize(sim).A @ product
        sim.step()
    tangent = sim.dynamics
    for k in (nv, nv + 1, nv + 5):  # along the ground, where nothing opens or sticks
        ends = []
        for sign in (-1.0, 1.0):
            change = np.zeros(12)
            change[k] = sign * size
            sim.set_state(tangent.integrate(q, change[:nv]), v + change[nv:])
            sim.run(100 * DT)
            ends.append((sim.q, sim.v))
        turned = tangent.difference(ends[0][0], ends[1][0]), ends[1][1] - ends[0][1]
        by_run = np.concatenate(turned) / (2 * size)
        size_of = np.abs(by_run).max()
        np.testing.assert_allclose(product[:, k], by_run, rtol=0, atol=2e-3 * size_of)


@pytest.mark.parametrize("gap", [0.3e-3, 0.8e-3])
def test_a_cart_that_bounces_off_its_stop(gap):
    """As the ball does off the ground."""
    e, u, stop = 0.7, 2.0, 0.3
    joint = Joint("rail", "prismatic", None, "cart", (1, 0, 0), upper=stop, limit_restitution=e)
    robot = Mechanism("slider", (Body("cart", 2.0, 0.02 * np.eye(3)),), (joint,))
    sim = Simulation(robot, DT, (0.0, 0.0, 0.0), tolerance=TOLERANCE)
    sim.set_state([stop - gap], [u])
    found = linearize(sim)
    back = (1.0 - SHORT) * gap + e * (u * DT - SHORT * gap)
    np.testing.assert_allclose(found.q, stop - back, rtol=1e-9)
    np.testing.assert_allclose(found.v, -e * u, rtol=1e-6)
    expected = [[1.0 - SHORT - SHORT * e, -e * DT], [0.0, -e]]
    np.testing.assert_allclose(found.A[0], expected[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.A[1] / (u / gap, 1.0), expected[1], rtol=0, atol=1e-5)
