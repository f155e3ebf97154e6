"""Plans through contacts that nobody schedules: gradients, small systems, and a pushed A1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robosim
from robosim.errors import ControllerError, OptionError
from robosim.models import builders
from robosim.optimize import Blocks, ContactCost, ContactMPC, Exploration, Plateaus, SoftContacts
from robosim.optimize.configurations import Configurations
from robosim.optimize.normal_equations import solved

INF = np.inf
BESIDE = Blocks([(-INF, INF, -INF, INF, -1.0, 0.0), (0.1, INF, -0.3, 0.3, -1.0, 0.12)], 0.01)
STEP_UP = Plateaus([(0.1, INF, -INF, INF, 0.12), (-0.2, 0.3, -0.1, 0.1, -0.05)], 0.03)


@pytest.fixture(scope="module")
def a1() -> robosim.Mechanism:
    return robosim.load("a1")


@pytest.fixture(scope="module")
def stance(a1: robosim.Mechanism) -> np.ndarray:
    sim = robosim.Simulation(a1, 1e-3)
    sim.run(0.6, "stand")
    return sim.q.copy()


def test_slopes_of_the_ground_are_those_of_differences() -> None:
    rng, e = np.random.default_rng(0), 1e-6
    x, y = rng.uniform(-0.3, 0.4, (2, 50))
    at = STEP_UP(x, y)
    by_x = (STEP_UP(x + e, y) - STEP_UP(x - e, y)) / (2 * e)
    by_y = (STEP_UP(x, y + e) - STEP_UP(x, y - e)) / (2 * e)
    assert np.allclose(at[[1, 3, 4]], by_x[[0, 1, 2]], atol=1e-6)
    assert np.allclose(at[[2, 5]], by_y[[0, 2]], atol=1e-6)


def test_slopes_of_distances_are_those_of_differences() -> None:
    """Above the ground, above the block, beside its face and its edges."""
    rng, e = np.random.default_rng(4), 1e-6
    corner = np.array([0.1, 0.3, 0.12])
    away = rng.uniform(-0.1, 0.1, (200, 3))
    outside = (away[:, 0] < 0.0) | (away[:, 1] > 0.0) | (away[:, 2] > 0.0)
    p = corner + away[outside & (np.abs(away).min(axis=1) > 1e-3)]  # bends jump at these planes
    assert len(p) > 100
    at, entries = BESIDE.distance(p), ((4, 5, 6), (5, 7, 8), (6, 8, 9))
    for j in range(3):
        ahead, behind = (BESIDE.distance(p + side * e * np.eye(3)[j]) for side in (1, -1))
        slope = (ahead - behind) / (2 * e)
        assert np.allclose(at[1 + j], slope[0], atol=1e-7)
        assert np.allclose(at[list(entries[j])], slope[1:4], atol=1e-5, rtol=1e-6)
    level, edge = BESIDE.distance(np.array([(-1.0, 0.0, 0.2), (0.07, 0.0, 0.16)]))[:4].T
    assert np.allclose(level, (0.2, 0.0, 0.0, 1.0))
    assert np.allclose(edge, (0.05, -0.6, 0.0, 0.8), atol=1e-4)
    assert BESIDE(np.array([0.0, 0.2]), np.zeros(2))[0].tolist() == [0.0, 0.12]


@pytest.mark.parametrize(
    ("softness", "ground"), [(0.003, STEP_UP), (0.02, STEP_UP), (0.01, BESIDE)]
)
def test_gradient_is_that_of_differences(
    a1: robosim.Mechanism, stance: np.ndarray, softness: float, ground: Any
) -> None:
    rng, n, h, e = np.random.default_rng(1), 3, 0.05, 1e-6
    program = Configurations(a1, n, h, SoftContacts(softness=softness, ground=ground))
    on = program.dynamics
    drift = h * np.r_[0.3, 0.1, 0.0, 0.3, 0.2, 0.4, np.zeros(12)]
    q = np.array([on.integrate(stance, k * drift + 0.03 * rng.normal(size=18))
                  for k in range(n + 1)])  # fmt: skip
    cost = ContactCost(
        stance, Q=rng.uniform(size=18), V=0.1, R=0.01, slip=5.0, final=3.0,
        unactuated=np.linspace(2.0, 0.5, n * 6).reshape(n, 6),
    )  # fmt: skip
    weights, v0 = program.weights(cost), 0.1 * rng.normal(size=18)
    at = program.follow(q, v0, weights)
    assert (program.gaps(q) < softness).any()
    assert (program.gaps(q) > softness).any()
    found = program.gradient(at, weights)
    for k, j in zip(rng.integers(0, n, 25), rng.integers(0, 18, 25), strict=True):
        ends = []
        for side in (e, -e):
            moved = q.copy()
            moved[k + 1] = on.integrate(q[k + 1], side * np.eye(18)[j])
            ends.append(program.follow(moved, v0, weights).cost)
        assert found[k, j] == pytest.approx(
            (ends[0] - ends[1]) / (2 * e), abs=1e-7 * np.abs(found).max()
        )


def test_banded_systems_are_solved() -> None:
    rng = np.random.default_rng(2)
    n, last = 40, 7
    H = rng.normal(size=(last + 1, n))
    H[-1] += 20.0
    whole = np.zeros((n, n))
    for i in range(n):
        for j in range(i, min(n, i + last + 1)):
            whole[i, j] = whole[j, i] = H[last + i - j, j]
    g = rng.normal(size=n)
    assert np.allclose(solved(H, g), np.linalg.solve(whole, g), atol=1e-12)
    H[-1, 3] = -1.0
    with pytest.raises(np.linalg.LinAlgError):
        solved(H, g)


def test_without_contact_forces_a_plan_has_the_torques_of_inverse_dynamics() -> None:
    """A pendulum beside no ground: the plan is tracked exactly where torques are free."""
    robot = builders.pendulum()
    body = robot.bodies[0].name
    point = robosim.ContactPoint("tip", body, (0, 0, 0))
    robot = replace(robot, contacts=(point,))
    far = Plateaus([(-INF, INF, -INF, INF, -50.0)])
    program = Configurations(robot, 10, 0.02, SoftContacts(ground=far))
    goal = 0.3 * np.sin(np.linspace(0.2, 2.0, 10))[:, None]
    weights = program.weights(ContactCost(goal, Q=1.0))
    at = program.follow(np.zeros((11, 1)), np.zeros(1), weights)
    for _ in range(5):
        at, _ = program.improve(at, weights)
    assert np.allclose(at.q[1:], goal, atol=1e-6)
    expected = [
        program.dynamics.inverse_dynamics(at.q[k + 1], at.v[k + 1],
                                          (at.v[k + 1] - at.v[k]) / 0.02)
        for k in range(10)
    ]  # fmt: skip
    assert np.allclose(at.tau, expected, atol=1e-9)


def controller(robot: robosim.Mechanism, stance: np.ndarray, **options: Any) -> ContactMPC:
    cost = ContactCost(
        stance, Q=[20, 20, 200, 200, 200, 200, *[3] * 12], V=[1, 5, 1, 2, 2, 2, *[0.02] * 12],
        R=2e-5, slip=2.0, clearance=0.06, final=5.0, unactuated=0.03,
    )  # fmt: skip
    contacts = SoftContacts(stiffness=4860.0, softness=0.01, stiction=0.1)
    return ContactMPC(robot, cost, contacts=contacts, kp=20.0, kd=0.5, **options)


def test_a_plan_stands_still_and_carries_the_weight(
    a1: robosim.Mechanism, stance: np.ndarray
) -> None:
    mpc, sim = controller(a1, stance, first=60), robosim.Simulation(a1, 1e-3)
    sim.set_state(stance)
    mpc(sim)
    assert mpc.plan is not None
    assert np.abs(mpc.program.dynamics.difference(stance, mpc.plan.q)).max() < 0.1
    weight = 9.81 * sum(body.mass for body in a1.bodies)
    assert np.abs(mpc.plan.tau[:, :3]).max() < 0.05 * weight  # what no motor gives


def test_a_pushed_robot_recovers(a1: robosim.Mechanism, stance: np.ndarray) -> None:
    """A push of 6 N s."""
    mpc, sim = controller(a1, stance), robosim.Simulation(a1, 1e-3)
    sim.set_state(stance)
    sim.apply_wrench("base", force=(0.0, 60.0, 0.0))
    sim.run(0.1, mpc)
    assert sim.v[1] > 0.15
    sim.apply_wrench("base", force=(0.0, 0.0, 0.0))
    log = sim.run(1.2, mpc)
    assert np.abs(log.q[:, 4:6]).max() < 0.2
    assert abs(sim.q[1] - stance[1]) < 0.03
    assert abs(sim.q[2] - stance[2]) < 0.02
    assert mpc.times.plans == 65
    assert mpc.times.iterations <= 3.0
    assert mpc.explored == 0


def test_a_guess_steps_onto_level_ground(a1: robosim.Mechanism, stance: np.ndarray) -> None:
    ground = Plateaus([(stance[0] + 0.22, INF, -INF, INF, 0.12)], 0.005)
    program = Configurations(a1, 20, 0.04, SoftContacts(ground=ground))
    goal = stance.copy()
    goal[0] += 0.05  # the target's foot is on the edge, where guesses do not land
    weights = program.weights(ContactCost(goal, Q=1.0))
    q = np.tile(stance, (21, 1))
    guess = program.with_step(q, weights, 0, 6, np.zeros(2), 0.02)
    before, gaps = program.gaps(q), program.gaps(guess)
    assert np.allclose(gaps[:, 1:], before[:, 1:], atol=1e-6)
    assert abs(gaps[-1, 0] - before[0, 0]) < 0.01
    assert gaps[1:6, 0].max() > 0.015


def test_a_guess_does_not_step_where_there_is_no_ground(
    a1: robosim.Mechanism, stance: np.ndarray
) -> None:
    away = SoftContacts(ground=Blocks([(5.0, 6.0, -1.0, 1.0, -1.0, 0.0)]))
    program = Configurations(a1, 12, 0.05, away)
    q = np.tile(stance, (13, 1))
    weights = program.weights(ContactCost(stance))
    assert np.array_equal(program.with_step(q, weights, 0, 6, np.zeros(2), 0.02), q)


def test_a_budget_ends_plans(a1: robosim.Mechanism, stance: np.ndarray) -> None:
    mpc, sim = controller(a1, stance, budget=1e-6, first=2), robosim.Simulation(a1, 1e-3)
    sim.set_state(stance)
    sim.run(0.06, mpc)
    assert mpc.taken[1:] == [1, 1]  # one iteration is always taken
    mpc.reset()
    with pytest.raises(ControllerError, match="no times of plans"):
        _ = mpc.times


def test_refusals(a1: robosim.Mechanism, stance: np.ndarray) -> None:
    cost = ContactCost(stance)
    with pytest.raises(OptionError, match="is no contact point"):
        ContactMPC(a1, cost, contacts=SoftContacts(("toe",)))
    with pytest.raises(OptionError, match="Q of the cost must be zero or more"):
        ContactMPC(a1, replace(cost, Q=-1.0))
    with pytest.raises(OptionError, match="unactuated"):
        ContactMPC(a1, replace(cost, unactuated=np.ones(5)))
    with pytest.raises(OptionError, match="unactuated must be zero or more, not -1"):
        ContactMPC(a1, replace(cost, unactuated=-1.0))
    with pytest.raises(OptionError, match="q of the cost"):
        ContactMPC(a1, ContactCost(stance[:5]))
    with pytest.raises(OptionError, match="must be a tree of"):
        ContactMPC(robosim.load("minitaur"), cost)
    with pytest.raises(OptionError, match="rows"):
        Plateaus([(0.0, 1.0)])
    with pytest.raises(OptionError, match="rows"):
        Blocks([(0.0, 1.0, 0.0, 1.0, 0.1)])
    with pytest.raises(OptionError, match="lower ends"):
        Blocks([(0.0, 1.0, 0.0, 1.0, 0.1, 0.0)])
    with pytest.raises(OptionError, match="not infinite"):
        Blocks([(-INF, INF, -INF, INF, -INF, 0.0), (-INF, INF, -INF, INF, -INF, INF)])
    with pytest.raises(OptionError, match="tries"):
        Exploration(tries=-1)
    other = robosim.Simulation(builders.pendulum(), 1e-3)
    with pytest.raises(ControllerError, match="must have the coordinates"):
        controller(a1, stance)(other)
