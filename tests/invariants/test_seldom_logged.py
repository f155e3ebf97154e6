"""What a log leaves out changes nothing: neither the motion nor what it has."""

from functools import partial

import numpy as np
import pytest
from random_mechanisms import random_mechanism

import robosim
from robosim import ConvergenceError, Simulation
from robosim.controllers import stand
from robosim.errors import OptionError
from robosim.measuring.starts import bent_start
from robosim.models import builders

EVERY = 7


def chain(kind):
    robot = builders.chain(6, kind)
    sim = Simulation(robot, timestep=0.01)
    sim.set_state(bent_start(robot))
    return sim, None


def loops():
    return Simulation(builders.segments(2, np.pi / 4, 0.3), timestep=0.01), None


def fourth_order():
    robot = builders.chain(3, "revolute")
    sim = Simulation(robot, timestep=0.01, order=4)
    sim.set_state(bent_start(robot))
    return sim, None


def spheres_that_land():
    """First nothing touches, then more and more does."""
    robot = builders.sphere_chain(4)
    sim = Simulation(robot, timestep=0.01)
    q = np.array(robot.home)
    q[2] += 0.05
    sim.set_state(q)
    return sim, None


def a1_that_jumps(controller):
    """It stands on its feet, leaves the ground and comes back."""
    robot = robosim.load("a1")
    sim = Simulation(robot, timestep=2e-3)
    v = np.zeros(robot.nv)
    v[2] = 0.5
    sim.set_state(robot.home, v)
    return sim, controller(robot)


def one_with_limits():
    robot = robosim.load("a1")
    sim = Simulation(robot, timestep=2e-3)
    q = np.array(robot.home)
    q[2] += 5.0
    v = np.zeros(robot.nv)
    v[6:] = 5.0
    sim.set_state(q, v)
    return sim, None


def tumbling():
    sim = Simulation(builders.cube(), timestep=0.01, gravity=(0.0, 0.0, 0.0))
    q = np.array(builders.cube().home)
    q[2] += 5.0
    sim.set_state(q, [0.1, 0.2, 0.3, 3.0, -1.0, 2.0])
    return sim, None


CASES = {
    "hinges": lambda: chain("revolute"),
    "balls": lambda: chain("spherical"),
    "loops": loops,
    "order four": fourth_order,
    "landing": spheres_that_land,
    "held torques": lambda: a1_that_jumps(stand),
    "servos": lambda: a1_that_jumps(partial(stand, implicit=True)),
    "limits": one_with_limits,
    "tumbling": tumbling,
}


@pytest.mark.parametrize("case", CASES)
def test_the_motion_is_the_same_bit_for_bit(case):
    whole, controller = CASES[case]()
    all_of_it = whole.run(61 * whole.timestep, controller)
    sim, controller = CASES[case]()
    log = sim.run(61 * sim.timestep, controller, every=EVERY)
    for name in ("t", "q", "v", "tau"):
        np.testing.assert_array_equal(getattr(log, name), getattr(all_of_it, name)[::EVERY], name)
    np.testing.assert_array_equal(sim.q, whole.q)
    np.testing.assert_array_equal(sim.v, whole.v)
    assert sim.energy() == whole.energy()
    starts = np.arange(0, 61, EVERY)
    for name in ("iterations", "substeps", "violation"):
        worst = np.maximum.reduceat(getattr(all_of_it, name), starts)
        np.testing.assert_array_equal(getattr(log, name), worst, name)
    np.testing.assert_array_equal(log.gap, np.minimum.reduceat(all_of_it.gap, starts))


@pytest.mark.parametrize("seed", range(12))
def test_random_mechanisms_move_the_same(seed):
    """Trees and loops of all kinds of joints, with springs, by whichever solver they get."""
    robot, q, v = random_mechanism(seed, 2 + seed % 6, seed % 3, seed % 2)
    sims = []
    for every in (1, 9):
        sim = Simulation(robot, timestep=2e-3)
        sim.set_state(q, v)
        log = sim.run(0.1, every=every)
        sims.append((sim, log))
    (whole, all_of_it), (sim, log) = sims
    np.testing.assert_array_equal(sim.q, whole.q)
    np.testing.assert_array_equal(sim.v, whole.v)
    np.testing.assert_array_equal(log.q, all_of_it.q[::9])
    np.testing.assert_array_equal(log.v, all_of_it.v[::9])


def test_pieces_of_a_stream_have_the_same_rows():
    whole, _ = chain("revolute")
    log = whole.run(0.5, every=3)
    sim, _ = chain("revolute")
    chunks = list(sim.stream(0.5, chunk_steps=10, every=3))
    assert [len(chunk.t) for chunk in chunks] == [4, 4, 4, 4, 1]
    np.testing.assert_array_equal(np.concatenate([chunk.q for chunk in chunks]), log.q)
    np.testing.assert_array_equal(np.concatenate([chunk.v for chunk in chunks]), log.v)


def test_a_step_that_fails_leaves_the_velocities_of_its_knot():
    """A whip that is too quick for its timestep, between two knots that are logged."""

    def whip():
        robot = builders.chain(20, "revolute")
        sim = Simulation(robot, timestep=0.02, max_substeps=1)
        q = np.zeros(robot.nq)
        q[0] = np.pi / 2
        sim.set_state(q)
        return sim

    one, other = whip(), whip()
    with pytest.raises(ConvergenceError) as raised:
        one.run(5.0)
    with pytest.raises(ConvergenceError) as again:
        other.run(5.0, every=1000)
    assert raised.value.time == again.value.time
    assert one.steps == other.steps > 10
    np.testing.assert_array_equal(other.q, one.q)
    np.testing.assert_allclose(other.v, one.v, atol=1e-9 * np.abs(one.v).max())
    np.testing.assert_allclose(other.energy(), one.energy(), rtol=1e-9)


@pytest.mark.parametrize("every", [0, -1, 1.5, "2"])
def test_other_numbers_are_refused(every):
    sim, _ = tumbling()
    with pytest.raises(OptionError, match="every must be a whole number of at least 1"):
        sim.run(0.1, every=every)
