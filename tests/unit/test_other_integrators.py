"""Integrators that the experiments compare with: their orders, and what they keep."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import OptionError
from robosim.experiments.damping import START, damped_pendulum, exact_energy
from robosim.experiments.four_bar import reference
from robosim.experiments.ggl import DoubleFourBar, ggl_motion
from robosim.measuring.explicit import ExplicitRun
from robosim.measuring.runs import exponent, largest
from robosim.models.builders import chain, double_four_bar, three_link_loop


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("heun", 2), ("rk4", 4)])
def test_orders_of_explicit_methods(method, order):
    steps, errors = (0.02, 0.01, 0.005), []
    for dt in steps:
        run = ExplicitRun(damped_pendulum(), dt, method)
        run.set_state([START])
        t, (energies,) = run.sample(round(2.0 / dt), 1, run.energy)
        errors.append(largest(energies - exact_energy(t)))
    assert exponent(steps, errors) == pytest.approx(order, abs=0.15)


def test_loops_open_until_accelerations_have_no_meaning():
    run = ExplicitRun(three_link_loop(), 0.01, "rk4")
    run.set_state(start := closed())
    assert run.closure() < 1e-9
    _, (closure,) = run.sample(2000, 1, run.closure)
    assert run.failed_at == pytest.approx(0.01 * (len(closure) - 1))
    assert closure[-1] > 3e-4
    run.set_state(start)
    assert run.failed_at is None


def closed() -> np.ndarray:
    from robosim import Simulation

    sim = Simulation(three_link_loop(), timestep=0.01)
    sim.set_state((-2.6, 0.86, -2.93), hold=("joint1",))
    return np.asarray(sim.q)


def test_what_explicit_methods_do_not_step():
    with pytest.raises(OptionError, match="known: euler, heun, rk4"):
        ExplicitRun(chain(1), 0.01, "midpoint")
    with pytest.raises(OptionError, match="hinges and slides"):
        ExplicitRun(chain(1, "spherical"), 0.01, "rk4")


def test_ggl_keeps_positions_and_velocities():
    """Its start is consistent, and a step by Newton's method keeps both to rounding."""
    bars = DoubleFourBar(9.81)
    q, v = bars.start, bars.rates(1.0)
    assert np.abs(bars.violations(q)).max() == 0
    assert np.abs(bars.gradients(q) @ v).max() == 0
    slope = np.empty((29, 30))
    for k, axis in enumerate(np.eye(30)):
        ahead, behind = (bars.violations(q + side * 1e-3 * axis) for side in (1, -1))
        slope[:, k] = (ahead - behind) / 2e-3
    np.testing.assert_allclose(slope, bars.gradients(q), atol=1e-12)  # quadratic
    q, _ = bars.step(q, bars.masses * v, 0.01)
    assert np.abs(bars.violations(q)).max() < 1e-9


def test_ggl_converges_to_the_exact_motion():
    """Until the first singular crossing. Energies are of first order, as momenta are half a step
    late; angles of second order, as no force acts at the start."""
    steps, errors, gained = (0.01, 0.005, 0.0025), [], []
    exact = reference(0.4)
    for h in steps:
        motion = ggl_motion(0.4, h, 1)
        assert motion.t[-1] == pytest.approx(0.4)
        errors.append(largest(motion.angle - exact(motion.t)[0]))
        assert largest(motion.closure) < 1e-9
        gained.append(largest(motion.energy - motion.energy[0]))
    assert exponent(steps, errors) == pytest.approx(2.0, abs=0.1)
    assert exponent(steps, gained) == pytest.approx(1.0, abs=0.1)
    mass = sum(body.mass for body in double_four_bar().bodies)
    assert motion.energy[0] == pytest.approx(mass * 9.81 * 0.7 + 1.5)
