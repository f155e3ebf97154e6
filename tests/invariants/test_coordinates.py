"""Joint coordinates and bodies, both ways, over turns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_mechanisms import random_coordinates, random_tree

from robosim import Body, Joint, Mechanism, Simulation
from robosim.dynamics import Kinematics
from robosim.joints import KINDS
from robosim.models.builders import chain, pendulum


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from(tuple(KINDS)))
def test_round_trip(seed, n, base):
    """Bodies placed from q, v satisfy the joints, and give q, v back."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, base)
    q, v = random_coordinates(rng, robot), rng.normal(size=robot.nv)
    sim = Simulation(robot)
    sim.set_state(q, v)
    assert sim.constraint_violation() < 1e-13
    state = sim.state
    q2, v2 = Kinematics(robot).read_coordinates(state.x, state.q, state.v, state.omega, near=q)
    np.testing.assert_allclose(q2, q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(v2, v, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_hinge_unwraps_over_ten_turns(sign):
    """q = 20 pi after ten turns: counted, not wrapped, and as fast as it was started."""
    sim = Simulation(pendulum(), 1e-2, (0, 0, 0))
    turns = sign * 20 * np.pi
    sim.set_state([0.0], [turns / 10])
    sim.run(10.0)
    assert sim.q[0] == pytest.approx(turns, abs=1e-8)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("step", [0.04, 0.11, 0.6, -1.2])
def test_a_hinge_tells_how_far_it_turns_in_a_step(step, solver):
    """As its body shows; up to half a radian that is what it was started with, to rounding."""
    joint = Joint("j", "revolute", None, "b", axis=(0, 0, 1))
    sim = Simulation(
        Mechanism("m", (Body("b", 1.0, np.eye(3)),), (joint,)), 0.01, (0, 0, 0), solver=solver
    )
    sim.set_state([0.3], [step / 0.01])
    for _ in range(5):
        sim.step()
        turned = 2 * np.arctan2(sim.state.q[0, 3], sim.state.q[0, 0])
        assert np.exp(1j * sim.q[0]) == pytest.approx(np.exp(1j * turned), abs=1e-12)
    if abs(step) < 0.5:
        assert sim.q[0] == pytest.approx(0.3 + 5 * step, rel=1e-8)


def test_coordinates_far_from_zero_are_kept():
    """An angle that was set turns away keeps its turns; the bodies are where they would be."""
    near, far = Simulation(chain(2)), Simulation(chain(2))
    near.set_state([0.3, -0.4])
    far.set_state([0.3 + 12 * np.pi, -0.4 - 8 * np.pi])
    np.testing.assert_allclose(far.state.x, near.state.x, rtol=0, atol=1e-13)
    near.run(0.1)
    far.run(0.1)
    np.testing.assert_allclose(far.q - near.q, [12 * np.pi, -8 * np.pi], rtol=0, atol=1e-9)


def test_quaternions_do_not_jump():
    """A ball joint or a floating base that goes round and round keeps its quaternion's sign."""
    sim = Simulation(chain(1, "spherical"), 1e-2, (0, 0, 0))
    sim.set_state(None, [0.0, 4.0, 0.0])
    log = sim.run(5.0)
    np.testing.assert_array_less(np.abs(np.diff(log.q, axis=0)), 0.05)
    np.testing.assert_allclose(np.linalg.norm(log.q, axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_velocities_are_the_rates_of_the_coordinates(seed):
    """Of one axis they are central differences of the logged q; with slides of second order."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in KINDS if "free" not in kind and kind not in ("spherical", "floating")]
    robot = random_tree(rng, 6, "fixed_orientation", kinds)
    errors = []
    for dt in (2e-3, 1e-3):
        sim = Simulation(robot, dt, tolerance=1e-12)
        rng = np.random.default_rng(seed)
        sim.set_state(random_coordinates(rng, robot), rng.normal(size=robot.nv))
        log = sim.run(0.1)
        rates = (log.q[2:] - log.q[:-2]) / (2 * dt)
        errors.append(np.abs(rates - log.v[1:-1]).max())
    assert errors[1] < max(errors[0] / 2**1.7, 1e-10)
