"""Contacts that do not sink, are left out exactly, and are never tunnelled through."""

from __future__ import annotations

import numpy as np
import pytest
from random_mechanisms import random_quaternion, random_tree

from robosim import Body, ContactPoint, Joint, Mechanism, Simulation
from robosim.models.builders import cube, sphere
from robosim.quaternions import rotation_matrix


def test_a_cube_dropped(record_property):
    """0.5 m and 1 kg, its bottom at 0.4 m, dt = 10 ms: it never sinks in, and comes to rest."""
    sim = Simulation(cube(0.5, 1.0), 1e-2)
    sim.set_state([0, 0, 0.65, 1, 0, 0, 0])
    log = sim.run(3.0)
    assert log.samples.gap.min() >= 0
    assert log.samples.substeps.max() == 1
    np.testing.assert_allclose(sim.v, 0, atol=1e-6)
    record_property("resting gap [m]", float(sim.min_gap()))
    assert 0 <= sim.min_gap() < 1e-6
    assert sim.q[2] == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_a_tumbling_cube_loses_energy_only(seed):
    """Onto edges and corners: no penetration, and no contact does work."""
    rng = np.random.default_rng(seed)
    sim = Simulation(cube(0.5, 1.0), 5e-3)
    q = np.concatenate(([0, 0, 1.0], random_quaternion(rng)))
    sim.set_state(q, rng.normal(size=6) * [1, 1, 1, 3, 3, 3])
    energy = sim.energy()
    for chunk in sim.stream(3.0, chunk_steps=1):
        assert chunk.gap[0] >= 0
        now = sim.energy()
        # Smooth flight trades energy within the scheme's second-order band.
        assert now < energy + 0.02
        energy = min(now, energy)
    assert sim.energy() < 9.81 * 0.45


def test_contacts_out_of_reach_are_left_out_exactly():
    """Not one digit of the motion knows of a ground that is far below."""
    robot = cube()
    far = Simulation(robot)
    far.set_state([0, 0, 10.0, 1, 0, 0, 0], [1, 2, 3, 4, 5, 6])
    bare = Simulation(type(robot)("bare", robot.bodies, robot.joints))
    bare.set_state(far.q, far.v)
    log, other = far.run(0.5), bare.run(0.5)
    np.testing.assert_array_equal(log.q, other.q)
    np.testing.assert_array_equal(log.v, other.v)
    np.testing.assert_array_equal(far.contact_forces(), 0.0)
    assert not far.parts.memory.guesses.active.any()


def test_a_contact_that_leaves_the_ground_has_no_force():
    """After lifting off as before landing: exactly none."""
    sim = Simulation(cube(), 1e-2)
    sim.run(0.1)
    assert sim.contact_forces()[:, 2].sum() == pytest.approx(9.81, rel=1e-3)
    for _ in range(100):
        sim.step([0, 0, 30.0, 0, 0, 0])
    assert sim.min_gap() > 1
    np.testing.assert_array_equal(sim.contact_forces(), 0.0)


@pytest.mark.parametrize("speed", [10.0, 100.0, 1e3, 1e4])
@pytest.mark.parametrize("height", [1.0, 50.0])
@pytest.mark.parametrize("robot", [cube(), sphere()], ids=lambda robot: robot.name)
def test_nothing_tunnels(robot, height, speed):
    """However far a body would go below the ground in one step of 10 ms."""
    sim = Simulation(robot, 1e-2)
    q = np.array(robot.home)
    q[2] += height
    sim.set_state(q, [3.0, 0, -speed, 0, 2.0, 0])
    log = sim.run(1.0)
    assert log.samples.gap.min() >= 0
    reached = height + 0.5 < speed * 0.9
    if reached:
        assert log.samples.gap.min() < 1e-6


def test_a_leg_that_whips_down_within_one_step_is_caught():
    """At rest before a torque slams it down: the bound on its own motion does not foresee it."""
    robot = Mechanism(
        "flap",
        (Body("arm", 1.0, np.diag((0.1, 0.1, 0.001))),),
        (Joint("hinge", "revolute", None, "arm", (0, 1, 0), (0, 0, 0.5), (-0.5, 0, 0)),),
        (ContactPoint("tip", "arm", (0.5, 0, 0), radius=0.0),),
    )
    sim = Simulation(robot, 1e-2)
    info = sim.step([4000.0])
    assert 0 <= info.gap < 1e-6
    assert sim.contact_forces()[0, 2] > 0


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_fall_on_the_ground(seed):
    """Branched, all joint kinds, spheres and corners: no penetration, joints exact."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "spherical", "prismatic", "fixed", "cylindrical")
    robot = random_tree(rng, 5, "floating", kinds, contacts=3)
    sim = Simulation(robot, 5e-3)
    q = robot.neutral()
    q[3:7] = random_quaternion(rng)
    sim.set_state(q)
    # The base slides in the axes of its joint: up by what is missing to 0.3 m.
    up = rotation_matrix(robot.joints[0].offset)[2]
    q[:3] += (0.3 - sim.min_gap()) * up
    sim.set_state(q)
    assert sim.min_gap() == pytest.approx(0.3)
    log = sim.run(1.0)
    assert log.samples.gap.min() >= 0
    assert log.samples.gap.min() < 1e-3  # it did land
    assert log.samples.violation.max() < 1e-7
