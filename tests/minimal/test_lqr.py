"""LQR and iLQR in joint coordinates, whose kernels are the smallest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are

import robosim
from robosim import (
    ConvergenceError,
    Joint,
    Mechanism,
    MinimalSimulation,
    OptionError,
    StateError,
    optimize,
)
from robosim.models.builders import double_pendulum
from robosim.models.builders.parts import block, hinge, rod

UP = np.array((0.0, np.pi))
TIMESTEP = 0.04


def cart_pole() -> Mechanism:
    cart, pole = block("cart", (0.2, 0.12, 0.08), 1.0), rod("pole", 1.0, 0.1)
    slider = Joint("slider", "prismatic", None, "cart", axis=(1, 0, 0), effort_limit=10.0)
    return Mechanism("cart_pole", (cart, pole), (slider, hinge("hinge", cart, pole, (0, 0, 0))))


def acrobot() -> Mechanism:
    links = double_pendulum()
    shoulder, elbow = links.joints
    joints = replace(shoulder, actuated=False), replace(elbow, effort_limit=20.0)
    return replace(links, joints=joints)


def simulation(robot: Mechanism, timestep: float = TIMESTEP) -> MinimalSimulation:
    return MinimalSimulation(robot, timestep, integrator="galerkin", order=4)


@pytest.mark.peer
def test_gains_are_those_of_pinocchio_s_cart_pole(tmp_path) -> None:
    """Pinocchio's derivatives, held torques by the matrix exponential, scipy's Riccati equation."""
    pin = pytest.importorskip("pinocchio")
    robot, h = cart_pole(), 0.01
    Q, R = np.diag((1.0, 10.0, 0.1, 0.1)), np.array(((0.01,),))
    robosim.save(robot, tmp_path / "cart_pole.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "cart_pole.urdf"))
    data = model.createData()
    q = robosim.to_pinocchio(robot, UP, model=model)
    pin.computeABADerivatives(model, data, q, np.zeros(2), np.zeros(2))
    rates = np.zeros((5, 5))
    rates[:2, 2:4] = np.eye(2)
    rates[2:4] = np.hstack((data.ddq_dq, data.ddq_dv, data.Minv[:, :1]))
    held = expm(h * rates)
    A, B = held[:4, :4], held[:4, 4:]
    P = solve_discrete_are(A, B, Q, R)
    expected = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    found = optimize.lqr(simulation(robot, h), UP, (0, 0), (0,), Q, R)
    np.testing.assert_allclose(found.K[0], expected, rtol=1e-6)


def test_an_equilibrium_in_rows_is_a_trajectory_and_a_period() -> None:
    sim = simulation(cart_pole(), 0.01)
    Q, R = (1.0, 10.0, 0.1, 0.1), 0.01
    still = optimize.lqr(sim, UP, (0, 0), (0,), Q, R)
    n = 400
    rows = np.tile(UP, (n + 1, 1)), np.zeros((n + 1, 2)), np.zeros((n, 1))
    along = optimize.lqr(sim, *rows, Q, R)
    np.testing.assert_allclose(along.K[0], still.K[0], rtol=1e-3)
    assert np.abs(along.K[-1] / still.K[0] - 1).max() > 0.1
    period = optimize.lqr(sim, *(a[: n // 100 + k] for a, k in zip(rows, (1, 1, 0), strict=True)),
                          Q, R, periodic=True)  # fmt: skip
    np.testing.assert_allclose(period.K, np.tile(still.K, (4, 1, 1)), rtol=1e-7)


def test_a_cart_that_goes_to_and_fro_has_the_gains_of_one_that_stands() -> None:
    """A linear system on a period that moves: without gravity, the pole straight along the rail."""
    sim = MinimalSimulation(cart_pole(), TIMESTEP, (0, 0, 0), integrator="galerkin", order=4)
    along, n = np.array((0.0, np.pi / 2)), 20
    tau = 3.0 * np.cos(2 * np.pi * np.arange(n) / n)[:, None]

    def run(speed: float) -> tuple[np.ndarray, np.ndarray]:
        sim.set_state(along, (speed, 0.0))
        knots = [(sim.q.copy(), sim.v.copy())]
        for force in tau:
            sim.step(force)
            knots.append((sim.q.copy(), sim.v.copy()))
        sim.set_state(along)
        return np.array([q for q, _ in knots]), np.array([v for _, v in knots])

    drift = run(0.0)[0][-1, 0]
    q, v = run(-drift / (n * TIMESTEP))
    assert np.ptp(q[:, 0]) > 0.02
    weights = (1.0, 0.0, 0.1, 0.0)
    found = optimize.lqr(sim, q, v, tau, weights, 0.1, periodic=True)
    rows = np.tile(along, (201, 1)), np.zeros((201, 2)), np.zeros((200, 1))
    still = optimize.lqr(sim, *rows, weights, 0.1).K[0]
    np.testing.assert_allclose(found.K, np.tile(still, (n, 1, 1)), rtol=1e-6, atol=1e-8)
    # Pushed aside it comes back to its period, for many of them.
    sim.set_state((0.1, along[1]), v[0])
    sim.run((10 * n + 7) * TIMESTEP, found)
    np.testing.assert_allclose(sim.q, q[7], atol=1e-5)
    assert np.abs(q[7] - q[0]).max() > 0.01
    with pytest.raises(StateError, match="no period"):
        optimize.lqr(sim, q[:-1], v[:-1], tau[:-1], weights, 0.1, periodic=True)


def test_a_cart_pole_swings_up_and_stands() -> None:
    sim = simulation(cart_pole())
    h, n = TIMESTEP, 50
    cost = optimize.QuadraticCost(sim.robot, UP, Q=0.1 * h, R=0.01 * h, final=(100, 100, 10, 10))
    found = optimize.ilqr(sim, cost, n, iterations=40)
    assert np.abs(found.q[-1] - UP).max() < 0.02
    assert np.abs(found.tau).max() <= 10.0
    assert found.costs[-1] == found.cost < 0.01 * found.costs[0]
    assert np.all(np.diff(found.costs) <= 0.0)
    # What was found is what the simulation does, to the last bit.
    replay = sim.copy()
    for tau in found.tau:
        replay.step(tau)
    np.testing.assert_array_equal(replay.q, found.q[-1])
    stand = optimize.lqr(sim, UP, (0, 0), (0,), 1.0, 0.01)
    log = sim.copy().run(10.0, found.controller().followed_by(stand))
    np.testing.assert_allclose(log.q[-1], UP, atol=1e-3)
    # Begun where it ended, the search ends at once or goes on down.
    again = optimize.ilqr(sim, cost, n, found, iterations=1)
    assert again.costs[0] == pytest.approx(found.cost, rel=1e-9)
    assert again.cost <= found.cost
    assert again.status == "iterations"


def test_an_acrobot_swings_up_and_stands() -> None:
    sim, up = simulation(acrobot()), np.array((np.pi, 0.0))
    h, n = TIMESTEP, 100
    cost = optimize.QuadraticCost(
        sim.robot, up, Q=0.1 * h, R=0.01 * h, final=(1000, 1000, 100, 100)
    )
    guess = 0.5 * np.sin(4 * h * np.arange(n))[:, None]
    found = optimize.ilqr(sim, cost, n, guess, iterations=40)
    assert np.abs(found.q[-1] - up).max() < 0.05
    assert np.abs(found.tau).max() <= 20.0
    stand = optimize.lqr(sim, up, (0, 0), (0,), 1.0, 0.01)
    log = sim.run(12.0, found.controller().followed_by(stand))
    np.testing.assert_allclose(log.q[-1], up, atol=0.01)


def test_of_a_linear_system_it_takes_one_step_to_lqr() -> None:
    """A cart without gravity, which pulls its pole behind it, straight along the rail."""
    robot = cart_pole()
    sim = MinimalSimulation(robot, TIMESTEP, (0, 0, 0), integrator="galerkin", order=4)
    start, weights, n = np.array((0.3, 0.0)), (1.0, 0.0, 0.1, 0.0), 20
    along = np.array((0.0, np.pi / 2))
    sim.set_state(start + along)
    cost = optimize.QuadraticCost(robot, along, Q=weights, R=0.1, final=weights)
    found = optimize.ilqr(sim, cost, n, lower=-np.inf, upper=np.inf, regularisation=1e-9)
    assert found.converged
    assert len(found.costs) == 2
    rows = np.tile(along, (n + 1, 1)), np.zeros((n + 1, 2)), np.zeros((n, 1))
    law = optimize.lqr(sim, *rows, weights, 0.1)
    np.testing.assert_allclose(found.tau[0], -law.K[0, :, 0] * start[0], rtol=1e-6)
    np.testing.assert_allclose(found.K, law.K, rtol=1e-6, atol=1e-9)
    total = 0.0
    for k in range(n):
        x = np.array((*(found.q[k] - along), *found.v[k]))
        total += 0.5 * (x @ (weights * x) + 0.1 * found.tau[k] @ found.tau[k])
    x = np.array((*(found.q[n] - along), *found.v[n]))
    assert found.cost == pytest.approx(total + 0.5 * x @ (weights * x), rel=1e-12)


class Broken(optimize.QuadraticCost):
    """A cost whose value is no number at one knot."""

    def values(self, q, v, tau):
        found = super().values(q, v, tau)
        found[:, 3] = np.nan
        return found


def test_bad_input_is_refused_by_name() -> None:
    sim = simulation(cart_pole())
    robot, zero = sim.robot, (0.0, 0.0)
    with pytest.raises(StateError, match=r"no equilibrium.*'hinge'"):
        optimize.lqr(sim, (0.0, 1.0), zero, (0,), 1.0, 1.0)
    with pytest.raises(StateError, match=r"no trajectory.*step 0"):
        optimize.lqr(sim, np.tile((0.0, 1.0), (3, 1)), np.zeros((3, 2)), np.zeros((2, 1)), 1.0, 1.0)
    with pytest.raises(OptionError, match=r"tau must be .* shape \(1,\)"):
        optimize.lqr(sim, UP, zero, zero, 1.0, 1.0)
    with pytest.raises(OptionError, match="R must be positive"):
        optimize.lqr(sim, UP, zero, (0,), 1.0, 0.0)
    with pytest.raises(OptionError, match="are for trajectories"):
        optimize.lqr(sim, UP, zero, (0,), 1.0, 1.0, periodic=True)
    cost = optimize.QuadraticCost(robot, UP, R=1.0)
    for said, options in {
        "horizon": {"horizon": 0},
        "guess must be": {"guess": np.zeros((7, 1))},
        "lower must be below": {"lower": 1.0, "upper": 1.0},
        "tolerance": {"tolerance": 0.0},
        "contact_speed is for": {"contact_speed": 1e-3},
        "not finite at knot 3": {"cost": Broken(robot)},
        "has 4 rows": {"cost": optimize.QuadraticCost(robot, np.tile(UP, (4, 1)))},
    }.items():
        with pytest.raises(OptionError, match=said):
            optimize.ilqr(sim, **{"cost": cost, "horizon": 5, **options})
    with pytest.raises(ConvergenceError, match="did not converge"):
        optimize.ilqr(sim, cost, 5, 1e12 * np.ones((5, 1)), upper=np.inf)
    with pytest.raises(OptionError, match="Simulation"):
        optimize.ilqr(robot, cost, 5)
    with pytest.raises(OptionError, match="no actuated joint"):
        optimize.ilqr(simulation(replace(acrobot(), joints=tuple(
            replace(joint, actuated=False) for joint in acrobot().joints))), cost, 5)  # fmt: skip
