"""What is conserved: momenta to rounding, energies without trend, and states over copies."""

from __future__ import annotations

import numpy as np
import pytest
from joint_lagrangian import robot_for_tests
from robots import EVERYTHING, INTEGRATORS, chain, top

from robosim import Mechanism, MinimalSimulation


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_momenta_stay(integrator: str, order: int, a1: Mechanism) -> None:
    """Of a floating tree that nothing pushes, over ten thousand steps, whatever the tolerance."""
    sim = MinimalSimulation(
        a1, 1e-3, (0, 0, 0), integrator=integrator, order=order, ignore=EVERYTHING
    )
    v = np.random.default_rng(2).normal(size=a1.nv)
    v[:3] = 0.0
    sim.set_state(None, v)
    before = np.concatenate(sim.momentum())
    sim.run(10.0)
    after = np.concatenate(sim.momentum())
    np.testing.assert_allclose(after, before, rtol=0, atol=2e-11 * np.abs(before).max())


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_a_body_turns_through_all_orientations(integrator: str, order: int) -> None:
    """Nowhere is a chart near its singularity: a body tumbles for many turns."""
    sim = MinimalSimulation(top(), 5e-3, (0, 0, 0), integrator=integrator, order=order)
    v = np.array([0.0, 0.0, 0.0, 0.3, 6.0, 0.2])  # about the axis of its middle moment
    sim.set_state(None, v)
    energy, before = sim.energy(), np.concatenate(sim.momentum())
    directions, iterations = [], []
    for _ in range(40):
        log = sim.run(0.25)
        iterations.append(log.iterations.max())
        directions.append(np.sign(sim.q[3:]))
    assert len({tuple(d) for d in directions}) > 8
    assert max(iterations) <= 12
    np.testing.assert_allclose(np.concatenate(sim.momentum()), before, rtol=0, atol=1e-11)
    assert sim.energy() == pytest.approx(energy, rel=2e-3)
    assert np.linalg.norm(sim.q[3:]) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_energy_has_no_trend(integrator: str, order: int) -> None:
    """Of a chain of five links that swings, for a minute."""
    sim = MinimalSimulation(chain(5, "revolute"), 5e-3, integrator=integrator, order=order)
    sim.set_state(np.full(5, 0.2))
    start = sim.energy()
    energies = []
    for _ in range(240):
        sim.run(0.25)
        energies.append(sim.energy() - start)
    halves = np.array(energies).reshape(2, -1).mean(axis=1)
    bound = {2: 2e-3, 4: 1e-7, 6: 2e-9}[order]
    assert np.abs(energies).max() < bound
    assert abs(halves[1] - halves[0]) < 0.1 * bound


@pytest.mark.parametrize(("integrator", "order"), [("newton", 2), ("galerkin", 4)])
def test_where_a_robot_is_does_not_matter(integrator: str, order: int) -> None:
    """Ten kilometres from the origin it moves in the same way, to the digits of its position."""
    robot, q, v = robot_for_tests()
    ends = []
    for shift in (0.0, 1e4):
        sim = MinimalSimulation(robot, 1e-3, integrator=integrator, order=order)
        there = q.copy()
        there[0] += shift
        sim.set_state(there, v)
        sim.run(0.2)
        ends.append(np.concatenate((sim.q, sim.v)))
        ends[-1][0] -= shift
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-8)


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_copies_take_the_same_steps(integrator: str, order: int) -> None:
    """To the last bit, as do states that are restored, and runs in other pieces."""
    robot, q, v = robot_for_tests()
    sim = MinimalSimulation(robot, 1e-2, integrator=integrator, order=order)
    sim.set_state(q, v, time=3.0)
    sim.run(0.1)
    other = sim.copy()
    third = MinimalSimulation(robot, 1e-2, integrator=integrator, order=order)
    if third.engine.parts.options == sim.engine.parts.options:
        third.restore(sim)
    log = sim.run(0.2)
    for _ in range(20):
        other.step()
    third.run(0.2)
    for one in (other, third):
        assert one.time == sim.time
        for name in ("q", "v", "p"):
            np.testing.assert_array_equal(getattr(one, name), getattr(sim, name))
    assert log.t[0] == pytest.approx(3.1)


def test_a_start_does_not_depend_on_what_was_before() -> None:
    """Not to the last bit."""
    robot, q, v = robot_for_tests()
    fresh, used = (MinimalSimulation(robot, 1e-2) for _ in range(2))
    used.set_state(q, -v)
    used.apply_wrench("b1", (1.0, 2.0, 3.0))
    used.run(0.3, lambda sim: np.ones(robot.nu))
    for sim in (fresh, used):
        sim.set_state(q, v)
        sim.run(0.1)
    np.testing.assert_array_equal(fresh.q, used.q)
    np.testing.assert_array_equal(fresh.p, used.p)
