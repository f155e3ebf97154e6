"""Trajectory optimisation as users have it: motions, contacts without a schedule, refusals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("casadi")

from hopping import hop, hopper, scheduled_hop

from robosim import (
    Body,
    ContactPoint,
    Joint,
    Log,
    LogError,
    Mechanism,
    MinimalSimulation,
    ModelError,
    OptionError,
    StateError,
)
from robosim.models import builders
from robosim.optimize import Problem, QuadraticCost, Trajectory, ilqr

pytestmark = pytest.mark.peer


def pendulum(limit: float = 3.0) -> Mechanism:
    robot = builders.pendulum()
    return replace(robot, joints=(replace(robot.joints[0], effort_limit=limit),))


def swing_up(limit: float = 3.0, steps: int = 40) -> Problem:
    """Weight needs 4.9 N m to be held level: one swing does not do."""
    problem = Problem(pendulum(limit), 3.0, steps).start([0.0], [0.0]).end([np.pi], [0.0])
    return problem.cost(lambda at: at.u[0] ** 2, name="effort")


def cart_pole() -> Mechanism:
    bodies = Body("cart", 1.0, 0.1 * np.eye(3)), Body("pole", 0.3, np.diag([2e-3, 2e-3, 1e-4]))
    slide = Joint("slide", "prismatic", None, "cart", axis=(1, 0, 0), lower=-1, upper=1)
    hinge = Joint(
        "hinge", "revolute", "cart", "pole", axis=(0, 1, 0), child_position=(0, 0, 0.5),
        actuated=False,
    )  # fmt: skip
    return Mechanism("cart_pole", bodies, (replace(slide, effort_limit=10.0), hinge))


def stone() -> Mechanism:
    """A point that flies in a plane, and does not turn."""
    bodies = Body("carriage", 1e-6, 1e-9 * np.eye(3)), Body("stone", 1.0, 0.01 * np.eye(3))
    joints = (
        Joint("x", "prismatic", None, "carriage", axis=(1, 0, 0), actuated=False),
        Joint("z", "prismatic", "carriage", "stone", axis=(0, 0, 1), actuated=False),
    )
    point = ContactPoint("point", "stone", (0, 0, 0), friction=0.3)
    return Mechanism("stone", bodies, joints, contacts=(point,))


def test_a_pendulum_swings_up_and_is_tracked() -> None:
    found = swing_up().solve()
    assert found.status == "converged"
    assert found.feasible
    assert found.worst[1] < 1e-8
    assert np.abs(found.u).max() <= 3.0
    assert found.q[:, 0].min() < -0.5  # swings the other way first
    sim = MinimalSimulation(found.robot, 0.01, integrator="galerkin", order=4)
    controller = found.controller(sim, Q=10.0, R=0.1)
    sim.set_state(found.q[0] + 0.02, found.v[0])
    sim.run(3.0, controller)
    assert sim.q[0] == pytest.approx(np.pi, abs=3e-3)  # from a start that is 0.02 rad away
    assert sim.v[0] == pytest.approx(0.0, abs=1e-2)


def test_ilqr_goes_on_from_a_trajectory() -> None:
    found = swing_up().solve()
    sim = MinimalSimulation(found.robot, 0.05, integrator="galerkin", order=4)
    weights = QuadraticCost(found.robot, [np.pi], Q=0.0, R=0.05, final=[1000, 100])
    better = ilqr(sim, weights, 60, found, iterations=20)
    # Held over steps, torques lead near to the goal at once: without any the cost is 4900.
    assert better.costs[0] < 100
    assert better.q[-1, 0] == pytest.approx(np.pi, abs=0.02)
    with pytest.raises(OptionError, match="another robot"):
        ilqr(MinimalSimulation(pendulum(), 0.05), weights, 60, found)


def test_a_cart_pole_swings_up_within_its_rail() -> None:
    robot = cart_pole()
    problem = Problem(robot, 2.0, 40).start([0, 0], [0, 0]).end([0, np.pi], [0, 0])
    problem.cost(lambda at: at.u[0] ** 2)
    found = problem.solve()
    assert found.status == "converged"
    assert np.abs(found.points[:, 0]).max() <= 1.0
    sim = MinimalSimulation(robot, 0.01, integrator="galerkin", order=4, ignore=("limits",))
    controller = found.controller(sim, Q=10.0, R=0.1)
    sim.set_state(found.q[0], found.v[0])
    sim.run(2.0, controller)
    np.testing.assert_allclose(sim.q, found.q[-1], rtol=0, atol=5e-3)


def test_half_the_steps_lead_to_the_same_cost() -> None:
    costs = [swing_up(steps=steps).solve().cost for steps in (30, 60)]
    assert costs[0] == pytest.approx(costs[1], rel=0.02)


@pytest.mark.parametrize("order", [2, 4])
def test_a_stone_lands_and_slides_to_rest_without_a_schedule(order: int) -> None:
    """Closed form: the impact takes mu v_z from v_x, and friction mu g after it."""
    robot, height, speed, mu, g = stone(), 0.2, 2.0, 0.3, 9.81
    problem = Problem(robot, 1.0, 40, order).contact().start([0, height], [speed, 0])
    found = problem.solve()
    assert found.status == "converged"
    fall = np.sqrt(2 * height / g)
    left = speed - mu * g * fall
    rest = speed * fall + left**2 / (2 * mu * g)
    # The impact is at a knot, within a step of 25 ms.
    assert found.q[-1, 0] == pytest.approx(rest, abs=0.025 * speed)
    assert found.points[:, 1].min() > -1e-9
    assert np.abs(found.points[found.times > fall + 0.05, 1]).max() < 2e-6
    forces = found.forces["point"]
    assert np.abs(forces[found.times < fall - 0.05]).max() < 0.01
    np.testing.assert_allclose(forces[-4:-1, 2], g * (1 + 1e-6), rtol=1e-3)
    assert np.all(np.abs(forces[:, 0]) <= mu * forces[:, 2] + 1e-6)
    moving = (found.times > fall + 0.1) & (found.times < fall + left / (mu * g) - 0.1)
    assert moving.any()
    np.testing.assert_allclose(forces[moving, 0], -mu * g, rtol=2e-2)
    assert np.abs(forces[-4:-1, 0]).max() < 1e-3


def test_a_schedule_leads_to_the_motion_that_is_found_without_one() -> None:
    """The toe pushes off at 0.2 s and lands at 0.6 s, where the search without says so."""
    found = hop(20).solve()
    with_one = scheduled_hop([(-1.0, 0.2), (0.6, 1.0)]).solve()
    assert with_one.status == "converged"
    foot, push = with_one.points.sum(axis=1), with_one.forces["toe"][:, 2]
    assert foot.min() > -1e-9
    assert np.abs(push[:-1] * foot[1:]).max() < 1e-9
    assert np.abs(push[(with_one.times >= 0.2) & (with_one.times < 0.6)]).max() == 0.0
    assert with_one.cost >= found.cost * (1 - 1e-3)
    # As a guess it is feasible for the search without a schedule, which only improves it.
    options = {"mu_init": 1e-6, "bound_push": 1e-8, "bound_frac": 1e-8}
    again = hop(20).solve(with_one, relaxation=(1e-6,), options=options)
    assert again.feasible
    assert again.cost <= with_one.cost + 1e-6


@pytest.mark.parametrize("during", [[0.1, 0.2], [(0.1, np.nan)], "always"])
def test_what_is_no_schedule(during: Any) -> None:
    with pytest.raises(OptionError, match="during must be pairs of times"):
        Problem(hopper(), 0.8, 4).contact(during=during)


def test_a_hop_is_found_without_a_schedule() -> None:
    found = hop(20).solve()
    assert found.status == "converged"
    assert found.feasible
    foot, push = found.points.sum(axis=1), found.forces["toe"][:, 2]
    assert foot.max() == pytest.approx(0.1, abs=1e-6)
    assert foot.min() > -1e-9
    in_air = foot > 0.02
    assert in_air.any()
    # Forces lead to the gap of the next control point: products below the last relaxation.
    assert np.abs(push[:-1] * foot[1:]).max() < 2e-6 * 1.1 * 9.81
    # What the ground gives over the time is the weight.
    weights = np.tile([1 / 6, 2 / 3, 1 / 6], 20).reshape(20, 3) * 0.04
    total = sum(float(weights[k] @ push[2 * k : 2 * k + 3]) for k in range(20))
    assert total == pytest.approx(1.1 * 9.81 * 0.8, rel=1e-6)


def test_a_loop_moves_on_its_branch() -> None:
    robot = builders.slider_crank()
    goal = np.array([0.5, np.nan, np.nan])
    problem = Problem(robot, 0.5, 20).start(robot.home, np.zeros(3)).end(goal, np.zeros(3))
    found = problem.cost(lambda at: at.u[0] ** 2).solve()
    assert found.status == "converged"
    assert found.violation["loops and couplings"] < 1e-9
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.4
    assert found.multipliers.shape == (41, 2)


def test_warm_starts_and_files(tmp_path: Path) -> None:
    first = swing_up().solve()
    again = swing_up().solve(first)
    assert again.cost == pytest.approx(first.cost, rel=1e-6)
    assert again.iterations < first.iterations
    finer = swing_up(steps=60).solve(first)
    assert finer.status == "converged"
    path = first.save(tmp_path / "swing.npz")
    read = Trajectory.load(path, first.robot)
    assert read.status == first.status
    assert read.violation == first.violation
    for name in ("t", "q", "v", "u", "times", "points", "multipliers"):
        np.testing.assert_array_equal(getattr(read, name), getattr(first, name))
    log = first.log(0.01)
    log.save(tmp_path / "swing.parquet")
    from_log = swing_up().solve(Log.load(tmp_path / "swing.parquet"))
    assert from_log.cost == pytest.approx(first.cost, rel=1e-6)
    # Rows of coordinates, and nothing else.
    assert swing_up().solve([[0.0], [-1.0], [np.pi]]).status == "converged"
    with pytest.raises(OptionError, match=r"another robot, 'pendulum'.*differ in"):
        Problem(cart_pole(), 3.0, 10).solve(Log.load(tmp_path / "swing.parquet"))
    with pytest.raises(OptionError, match="another robot"):
        Problem(cart_pole(), 3.0, 10).solve(first)
    with pytest.raises(OptionError, match="another robot"):
        Trajectory.load(path, cart_pole())
    with pytest.raises(LogError, match="no trajectory"):
        Trajectory.load(tmp_path / "swing.parquet", first.robot)


def test_without_casadi() -> None:
    code = (
        "import sys; sys.modules['casadi'] = None; import robosim.optimize as o; o.lqr; o.Problem"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "MissingExtraError" in done.stderr
    assert 'pip install "robosim-variational[optimize]"' in done.stderr


def test_what_is_sampled_goes_through_knots() -> None:
    found = swing_up().solve()
    q, v, u = found.sample(found.t)
    np.testing.assert_allclose(q, found.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, found.v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(u, found.u, rtol=0, atol=1e-12)
    q, _, _ = found.sample(found.times)
    np.testing.assert_allclose(q, found.points, rtol=0, atol=1e-12)


def test_what_is_out_of_reach_is_no_trajectory() -> None:
    found = swing_up(limit=0.1).solve(iterations=200)
    assert found.status in ("infeasible", "iterations", "stuck")
    assert not found.feasible
    assert found.worst[0] == "dynamics"
    for call in (found.controller, found.view):
        with pytest.raises(StateError, match="this one is not: 'dynamics' is violated by"):
            call()  # type: ignore[operator]


BAD: dict[str, tuple[Callable[[Problem], Any], type[Exception], str]] = {
    "equations": (
        lambda p: p.constrain(lambda at: [at.q[0], at.v[0], at.u[0]], name="all").solve(),
        OptionError, "more equations than unknowns: .*of 'all'",
    ),
    "NaN": (
        lambda p: p.cost(lambda at: (at.q[0] - 100.0) ** 0.5, name="root").solve(),
        OptionError, "cost 'root' is not finite at the guess, in the step from 0 s",
    ),
    "gradient": (
        lambda p: p.cost(lambda at: at.u[0] ** 0.5, name="root").solve(),
        OptionError, "cost 'root' has no finite gradient",
    ),
    "NaN of a constraint": (
        lambda p: p.constrain(lambda at: (at.q[0] - 9) ** 0.5, -1, 1, name="gone").solve(),
        OptionError, "constraint 'gone' is not finite",
    ),
    "vector": (lambda p: p.cost(lambda at: [at.q[0], 1]).solve(), OptionError, "one expression"),
    "no function": (lambda p: p.cost(3.0), OptionError, "function of a moment"),
    "limits": (lambda p: p.constrain(lambda at: at.u, 1, 0), OptionError, "lower ones first"),
    "at": (lambda p: p.cost(lambda at: at.u, at="knot"), OptionError, "at must be one of all"),
    "late": (lambda p: p.cost(lambda at: at.u, at=9.0), OptionError, "within 3 s"),
    "start": (lambda p: p.start([0.0, 1.0]), OptionError, r"q of the start must be \(1,\)"),
    "guess": (lambda p: p.solve("home"), OptionError, "guess must be a Log"),
    "rows": (lambda p: p.solve([[0.0], [np.nan]]), OptionError, "guess must be a Log"),
    "tolerance": (lambda p: p.solve(tolerance=-1), OptionError, "tolerance must be a positive"),
    "iterations": (lambda p: p.solve(iterations=0), OptionError, "iterations"),
    "no contacts": (lambda p: p.contact(), OptionError, "has no contacts"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, kind, told = BAD[name]
    with pytest.raises(kind, match=told):
        call(swing_up())


def test_bad_robots_and_options() -> None:
    for given, told in (
        ((pendulum(), 0.0, 3), "seconds must be a positive"),
        ((pendulum(), 1.0, 0), "steps"),
        ((pendulum(), 1.0, 3, 5), "order must be even"),
        (("pendulum", 1.0, 3), "robot must be a Mechanism"),
    ):
        with pytest.raises(OptionError, match=told):
            Problem(*given)
    with pytest.raises(ModelError, match=r"contact 'toe'.*problem\.contact\(\)"):
        Problem(hopper(), 1.0, 3).solve()
    assert Problem(hopper(), 0.1, 3, ignore=("contacts",)).solve().status == "converged"
    with pytest.raises(OptionError, match="no contact 'heel'; known: toe"):
        Problem(hopper(), 1.0, 3).contact("heel")
    with pytest.raises(OptionError, match=r"'leg' at -0\.6, beyond its limits"):
        Problem(hopper(), 1.0, 3).contact().start([0.6, -0.6]).solve()
    with pytest.raises(OptionError, match=r"contact 'toe' 0\.1 m in the ground"):
        Problem(hopper(), 1.0, 3).contact().start([0.3, -0.4]).solve()
    crank = builders.slider_crank()
    with pytest.raises(OptionError, match="start leaves loops or couplings open by"):
        Problem(crank, 1.0, 3).start(np.asarray(crank.home) + 0.1).solve()
    bouncing = replace(hopper(), contacts=(replace(hopper().contacts[0], restitution=0.5),))
    with pytest.raises(ModelError, match="restitution"):
        Problem(bouncing, 1.0, 3).contact()
