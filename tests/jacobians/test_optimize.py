"""LQR in the coordinates that loops leave free, and iLQR through contacts.

Kernels are compiled once more for numbers that have derivatives, for some minutes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are

from robosim import (
    ControllerError,
    Dynamics,
    Mechanism,
    OptionError,
    Simulation,
    linearize,
    optimize,
)
from robosim.models.builders import double_four_bar, double_pendulum
from robosim.optimize.derivatives import along
from robosim.optimize.free import FreeCoordinates, reduced

pytestmark = pytest.mark.slow

SIDE = np.array((1.0, -1.0, 1.0, -1.0, 1.0))  # of the linkage's hinges, as its rods turn


def linkage(angle: float = np.pi) -> Mechanism:
    """The double four-bar upright, with a motor at its first pivot: one free coordinate."""
    robot = double_four_bar(angle)
    joints = tuple(replace(one, actuated=one.name == "pivot1") for one in robot.joints)
    return replace(robot, joints=joints)


def test_gains_of_a_linkage_are_those_of_its_one_coordinate() -> None:
    """``3 x'' = 3.5 g sin x + u`` by the matrix exponential; errors fall as the square of steps."""
    robot, R = linkage(), np.array(((0.01,),))
    errors = []
    for h in (4e-3, 2e-3):
        held = expm(h * np.array(((0, 1, 0), (3.5 * 9.81 / 3, 0, 1 / 3), (0, 0, 0))))
        A, B = held[:2, :2], held[:2, 2:]
        P = solve_discrete_are(A, B, np.diag((1.0, 0.1)), R)
        expected = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)[0]
        Q = np.zeros(10)
        Q[0], Q[5] = 1.0, 0.1  # of the first pivot alone
        law = optimize.lqr(Simulation(robot, h), robot.home, np.zeros(5), (0,), Q, R)
        K = law.K[0, 0]
        errors.append(np.abs(np.array((K[:5] @ SIDE, K[5:] @ SIDE)) / expected - 1).max())
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_free_coordinates_follow_a_linkage_that_moves() -> None:
    """Central differences along what loops leave free, with velocities that turn with it."""
    robot = linkage()
    sim, on = Simulation(robot, 2e-3, tolerance=1e-12), Dynamics(robot)
    sim.set_state((3.0, 1.7, 3.0, 1.7, 3.0), 3.0 * SIDE)
    q, v = sim.q.copy(), sim.v.copy()
    sim.step((2.0,))
    parts = FreeCoordinates(robot).along(np.stack((q, sim.q)), np.stack((v, sim.v)))
    steps = along(sim.copy(), q[None], v[None], np.array(((2.0,),)), 0.0, None)
    np.testing.assert_allclose(steps.q[0], sim.q, atol=1e-10)
    A, _ = reduced(steps, parts)
    assert A.shape == (1, 2, 2)
    columns = []
    for z in 1e-5 * np.eye(2):
        ends = []
        for sign in (1, -1):
            dx = parts[0].lift @ (sign * z)
            sim.set_state(on.integrate(q, dx[:5]), v + dx[5:])
            # The start was closed to first order, so that next to nothing is left to close.
            np.testing.assert_allclose(sim.v, v + dx[5:], atol=1e-8)
            sim.step((2.0,))
            ends.append(np.concatenate((sim.q, sim.v)))
        columns.append(parts[1].take @ (ends[0] - ends[1]) / 2e-5)
    np.testing.assert_allclose(np.array(columns).T, A[0], atol=1e-7)


def test_torques_of_each_state_of_a_batch_or_sequence() -> None:
    sim, other = Simulation(linkage(), 2e-3), Simulation(linkage(), 2e-3)
    rows = np.array(((1.0,), (-2.0,)))
    both = linearize((sim, other), rows)
    for k, one in enumerate((sim, other)):
        alone = linearize(one, rows[k])
        np.testing.assert_array_equal(both.v[k], alone.v)
    assert np.abs(both.v[0] - both.v[1]).max() > 1e-4
    with pytest.raises(ControllerError, match="3 rows of torques for 2 states"):
        linearize((sim, other), np.zeros((3, 1)))


def test_a_plan_is_the_law_of_its_horizon() -> None:
    """Near an equilibrium the first torque of a plan is LQR's over the horizon, to first order."""
    robot, n, h = linkage(), 10, 4e-3
    sim = Simulation(robot, h)
    Q = np.zeros(10)
    Q[0], Q[5] = 1.0, 0.1
    cost = optimize.QuadraticCost(robot, robot.home, Q=Q, R=0.01, final=3.0 * Q)
    rows = np.tile(robot.home, (n + 1, 1)), np.zeros((n + 1, 5)), np.zeros((n, 1))
    law = optimize.lqr(sim, *rows, Q=Q, R=0.01, final=3.0 * Q)
    mpc = optimize.MPC(sim, cost, n)
    errors = []
    for away in (1e-3, 1e-4):
        sim.set_state(robot.home + away * SIDE, 2.0 * away * SIDE)
        mpc.reset()
        asked = law(sim)
        errors.append(abs(mpc(sim)[0] / asked[0] - 1.0))
        assert len(mpc.seconds) == 1
    assert errors[1] < 1e-4
    # The next plan begins with this one, and is made a period later, not before.
    mpc.reset()
    plant = Simulation(robot, h / 2)
    plant.set_state(robot.home + 0.01 * SIDE)
    log = plant.run(5 * h, mpc)
    assert (len(mpc.seconds), mpc.failed) == (5, 0)
    for k in (2, 4, 6, 8):  # where plans begin: the first row of the law, from there
        dx = np.concatenate((log.q[k] - robot.home, log.v[k]))
        assert log.tau[k, 0] == pytest.approx(float(-law.K[0, 0] @ dx), rel=1e-3)
    with pytest.raises(ControllerError, match="must have the coordinates"):
        optimize.MPC(sim, cost, n)(Simulation(double_pendulum()))
    with pytest.raises(OptionError, match="period must be a positive number"):
        optimize.MPC(sim, cost, n, period=0)


def test_the_a1_raises_a_foreleg(a1: Mechanism) -> None:
    """Found through smooth contacts, and replayed with hard ones; all feet stand to begin with."""
    h, n = 0.01, 60
    sim = Simulation(a1, h, contact_speed=1e-3)
    sim.run(1.0, "stand")
    start = sim.q.copy()
    sim.set_state(start)
    target = start.copy()
    target[[8, 9]] = 1.0, -2.3  # thigh and calf of the right foreleg
    Q = np.repeat((0.1, 1.0, 1.0, 0.01, 0.01, 0.003), (3, 3, 12, 3, 3, 12))
    Q[[7, 8]] = 10.0
    cost = optimize.QuadraticCost(a1, target, Q=h * Q, R=1e-4 * h, final=5 * Q)
    found = optimize.ilqr(sim, cost, n, "stand", contact_speed=(1e-2, 1e-3), iterations=20)
    assert found.contact_speed == 1e-3
    assert np.all(np.abs(found.tau) <= a1.effort_limits)
    hard = Simulation(a1, h, contact_speed=1e-10)
    feet = {}
    for name, of in (("found", found.q[-1]), ("start", start)):
        hard.set_state(of)
        feet[name] = np.array([hard.frame(f"{leg}_foot")[0] for leg in ("FR", "FL", "RR", "RL")])
    raised = feet["found"][:, 2] - feet["start"][:, 2]
    assert raised[0] > 0.05
    assert np.abs(raised[1:]).max() < 0.01
    hard.set_state(start)
    hard.run(n * h, found.controller())
    replayed = np.array([hard.frame(f"{leg}_foot")[0] for leg in ("FR", "FL", "RR", "RL")])
    assert np.abs(replayed - feet["found"]).max() < 0.01
    with pytest.raises(OptionError, match="large to small"):
        optimize.ilqr(sim, cost, n, contact_speed=(1e-3, 1e-2))
    sim.apply_wrench("trunk", force=(1.0, 0.0, 0.0))
    with pytest.raises(OptionError, match="wrenches"):
        optimize.ilqr(sim, cost, n)


def test_the_a1_hops(a1: Mechanism) -> None:
    """By more than 0.1 m, all feet in the air; found through contacts, replayed with hard ones."""
    h, n, apex, height = 0.01, 50, 34, 0.2
    sim = Simulation(a1, h, contact_speed=1e-3)
    sim.run(1.0, "stand")
    start = sim.q.copy()
    sim.set_state(start)
    # The base is to fly like a ball; torques, legs and when to leave the ground are open.
    q, v = np.tile(start, (n + 1, 1)), np.zeros((n + 1, a1.nv))
    since = h * (np.arange(n + 1) - apex)
    above = height - 0.5 * 9.81 * since**2
    flies = above > 0.0
    q[flies, 2] += above[flies]
    v[flies, 2] = -9.81 * since[flies]
    Q = np.array([1, 1, 100, *[5] * 3, *[0.3] * 12, 0.01, 0.01, 1, *[0.01] * 3, *[0.001] * 12])
    cost = optimize.QuadraticCost(a1, q, v, Q=5 * h * Q, R=1e-4 * h, final=0.1 * Q)
    speeds = 3e-2, 1e-2, 1e-3
    found = optimize.ilqr(sim, cost, n, "stand", contact_speed=speeds, iterations=30)
    assert np.all(np.abs(found.tau) <= a1.effort_limits)
    hard = Simulation(a1, h, contact_speed=1e-10)
    hard.set_state(start)
    ground = min(hard.frame(f"{leg}_foot")[0][2] for leg in ("FR", "FL", "RR", "RL"))
    law, base, feet = found.controller(), [start[:3]], []
    for _ in range(n):
        hard.step(law(hard))
        base.append(hard.q[:3].copy())
        feet.append(min(hard.frame(f"{leg}_foot")[0][2] for leg in ("FR", "FL", "RR", "RL")))
    assert max(z for _, _, z in base) - start[2] > 0.1
    assert max(feet) - ground > 0.05
    assert np.abs(np.array(base) - found.q[:, :3]).max() < 0.01
