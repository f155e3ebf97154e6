"""Guesses that learn from what they have missed spare iterations; the equations stay the same."""

import numpy as np
import pytest

import robosim
from robosim import Simulation
from robosim.controllers import PD, stand, trot
from robosim.measuring.starts import bent_start
from robosim.models import builders


def chain(timestep=0.01):
    sim = Simulation(builders.chain(10, "revolute"), timestep)
    sim.set_state(bent_start(sim.robot))
    return sim


def mean_iterations(sim, seconds, controller=None):
    return float(np.mean(sim.run(seconds, controller).iterations))


def test_smooth_motions_take_few_iterations():
    """Ten hinges: two in nearly every step from rates and their last change alone."""
    assert mean_iterations(chain(), 5.0) < 1.5


def test_the_second_order_of_the_motion_is_kept():
    """Half the timestep, a quarter of the error: what is solved does not depend on the guess."""
    ends = []
    for parts in (1, 2, 4):
        sim = chain(0.01 / parts)
        sim.run(0.5)
        ends.append(sim.q)
    assert np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2]) == pytest.approx(
        4.0, rel=0.1
    )


def test_a_start_forgets_what_was_missed():
    """A simulation that is set anew moves as a fresh one does, to the last bit."""
    fresh, used = chain(), chain()
    used.run(0.3)
    used.set_state(bent_start(used.robot))
    np.testing.assert_array_equal(used.run(0.3).q, fresh.run(0.3).q)


def test_a_gait_is_guessed_with_its_contacts():
    """Feet that slide, stick, lift and land: more than two in each step without their changes."""
    robot = robosim.load("a1")
    sim = Simulation(robot, timestep=1e-3)
    pd = trot(robot, blend=0.0)
    q = np.array(robot.home)
    q[7:] = pd.targets(np.zeros(1))[0]
    sim.set_state(q)
    sim.set_state(np.r_[q[:2], q[2] - sim.min_gap() + 1e-4, q[3:]])
    log = sim.run(1.0, pd)
    assert log.iterations.mean() < 1.9
    assert log.gap.min() > 0.0


def test_servos_at_rest_take_one_iteration():
    """The projection at the knot has the servos of the interval that follows."""
    robot = robosim.load("a1")
    sim = Simulation(robot, timestep=1e-3)
    sim.set_state(robot.home)
    sim.set_state(np.r_[robot.home[:2], robot.home[2] - sim.min_gap() + 1e-4, robot.home[3:]])
    pd = stand(robot, implicit=True)
    sim.run(2.0, pd)
    assert np.all(sim.run(0.2, pd).iterations == 1)


@pytest.mark.parametrize("kd", [1.0, 10.0, 100.0])
def test_a_servo_moves_at_the_mean_of_the_rates_around_a_knot(kd):
    """Without other forces, however strong it is, but for (rate dt)^2: momenta are of chords."""
    robot = builders.chain(1, "revolute")
    sim = Simulation(robot, 0.01, gravity=(0, 0, 0), tolerance=1e-12)
    sim.set_state([0.0], [1.0])
    log = sim.run(0.2, PD(robot, 0.3, kp=kd, kd=kd, implicit=True))
    means = (log.q[2:, 0] - log.q[:-2, 0]) / 0.02
    np.testing.assert_allclose(log.v[1:-1, 0], means, rtol=0, atol=2e-6)
