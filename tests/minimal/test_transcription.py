"""Trajectory optimisation: its equations are the integrator's, and its derivatives exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("casadi")

from robots import EVERYTHING, chain, top

from robosim import Body, ContactPoint, Joint, Mechanism, MinimalSimulation, OptionError
from robosim.models import builders
from robosim.optimize import Problem
from robosim.optimize.layout import Layout
from robosim.optimize.program import Program
from robosim.validation import Array

pytestmark = pytest.mark.peer


def parts_of(problem: Problem) -> tuple[Layout, Program]:
    parts = problem._transcription
    layout = Layout(problem._model, parts, problem.seconds, problem._ends, problem._vias)
    return layout, problem._program(parts, layout.closes)


@pytest.mark.parametrize(
    ("robot", "order"),
    [
        (builders.double_pendulum(), 2),
        (builders.double_pendulum(), 4),
        (top(), 2),
        (top(), 4),
        (top(), 6),
        (chain(2), 4),
        (replace(chain(2), joints=tuple(replace(j, damping=0.2) for j in chain(2).joints)), 4),
    ],
    ids=["chain-2", "chain-4", "free-2", "free-4", "free-6", "spherical", "damped"],
)
def test_steps_of_the_simulation_satisfy_the_equations(robot: Mechanism, order: int) -> None:
    rng = np.random.default_rng(order)
    sim = MinimalSimulation(
        robot, 0.02, integrator="galerkin", order=order, tolerance=1e-12, ignore=EVERYTHING
    )
    sim.set_state(v=rng.normal(size=robot.nv))
    sim.step()
    q0, v0, tau = sim.q.copy(), sim.v.copy(), rng.normal(size=robot.nu)
    sim.step(tau)
    problem = Problem(robot, sim.timestep, 1, order)
    model = problem._model

    def plain(q: Array) -> Array:
        found = np.zeros(robot.nv)
        for k, at in model.plain:
            found[k] = q[at]
        return found

    inner = []
    for x in sim.engine.parts.work.x[1:-1]:
        found = plain(q0)
        for link, coordinate in zip(model.tree.segments, x, strict=True):
            found[link["v"]] += coordinate
        inner.append(found)
    w = np.concatenate((plain(q0), v0, tau, *inner, plain(sim.q), sim.v, tau))
    turns = [[q[at : at + 4] for _, at in model.turns] for q in (q0, sim.q)]
    knots = [np.concatenate(([0.0, 0.0], *each)) for each in turns]
    given = np.concatenate((knots[0], *knots, knots[1]))
    values = parts_of(problem)[1].values(w, given)
    # Mean forces over the step [N, N m]; without the servo of gravity they are of the order of ten.
    assert len(values) == (order // 2 + 1) * robot.nv
    assert np.abs(values).max() < 1e-9
    v = w.copy()
    v[robot.nv] += 1e-3
    assert np.abs(parts_of(problem)[1].values(v, given)).max() > 1e-4


def test_a_motion_from_a_start_is_that_of_the_simulation() -> None:
    """With loops, whose forces at knots are shared by two steps, as order two has them."""
    robot = builders.slider_crank()
    sim = MinimalSimulation(robot, 0.01, integrator="galerkin", order=2, tolerance=1e-12)
    sim.set_state(robot.home)
    problem = Problem(robot, 0.1, 10, order=2).start(sim.q, sim.v)
    problem.constrain(lambda at: at.u, 2.0, 2.0, at="knots", name="push")
    found = problem.solve()
    assert found.status == "converged"
    for q, v in zip(found.q[1:-1], found.v[1:-1], strict=True):
        sim.step([2.0])
        np.testing.assert_allclose(q, sim.q, rtol=0, atol=1e-9)
        # Velocities differ in what the constraint's force adds, of second order.
        np.testing.assert_allclose(v, sim.v, rtol=0, atol=2e-2 * np.abs(sim.v).max())
    sim.step([2.0])
    np.testing.assert_allclose(found.q[-1], sim.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.v[-1], sim.v, rtol=0, atol=1e-9)


def test_loops_are_of_fourth_order_too() -> None:
    robot = builders.slider_crank()

    def end(steps: int) -> Array:
        problem = Problem(robot, 0.2, steps).start(robot.home, np.zeros(robot.nv))
        problem.constrain(lambda at: at.u, 0.0, 0.0, at="knots")
        found = problem.solve()
        assert found.status == "converged"
        return np.concatenate((found.q[-1], found.v[-1]))

    exact = end(160)
    errors = [np.abs(end(steps) - exact).max() for steps in (20, 40)]
    assert 12 < errors[0] / errors[1] < 20


def ball(radius: float = 0.1) -> Mechanism:
    contact = ContactPoint("skin", "ball", (0.01, 0.02, 0.0), radius=radius, friction=0.5)
    joint = Joint("base", "floating", None, "ball", child_position=(0.0, 0.02, 0.0))
    body = Body("ball", 1.3, np.diag([0.02, 0.05, 0.06]))
    return Mechanism("ball", (body,), (joint,), contacts=(contact,))


def crank() -> Problem:
    robot = builders.slider_crank()
    problem = Problem(robot, 0.2, 2).start(robot.home)
    return problem.cost(lambda at: at.u[0] ** 2 + at.v[0] * at.q[1])


def rolling() -> Problem:
    problem = Problem(ball(), 0.2, 2)
    problem.contact(ground=lambda x, y: 0.1 * x * y + 0.05 * x**2)
    problem.cost(lambda at: at.position("ball", (0.1, 0, 0))[0] * at.q[3] + at.v[4] ** 2)
    problem.cost(lambda at: at.centre_of_mass[2] ** 3, at=0.1)
    return problem.constrain(lambda at: [at.contact("skin")[0], at.velocity("ball")[1]], -1, 1)


def standing(q: Array | None = None) -> Problem:
    """A leg on a flat foot, which holds; it leans from one side to the other, from rest to rest."""
    bodies = Body("foot", 1.0, 0.01 * np.eye(3)), Body("leg", 2.0, 0.1 * np.eye(3))
    plane = Joint("base", "planar", None, "foot", axis=(0, 1, 0), directions=((1, 0, 0), (0, 0, 1)))
    ankle = Joint("ankle", "revolute", "foot", "leg", axis=(0, 1, 0), child_position=(0, 0, -0.4))
    ends = (("heel", -0.15), ("toe", 0.2))
    contacts = tuple(ContactPoint(name, "foot", (x, 0, 0), friction=0.8) for name, x in ends)
    robot = Mechanism("leg", bodies, (replace(plane, actuated=False), ankle), contacts)
    problem = Problem(robot, 1.0, 5).contact(holds=True)
    start = np.array((0, 0, 0, -0.1)) if q is None else q
    problem.start(start, np.zeros(4)).end((0, 0, 0, 0.2), np.zeros(4))
    return problem.cost(lambda at: at.u[0] ** 2)


def test_contacts_that_hold_bear_what_a_flat_foot_can() -> None:
    """Forces stay in their cones, and balance weight, its moment and momentum over the time."""
    found = standing().solve()
    assert found.status == "converged"
    assert np.abs(found.points[:, :3]).max() < 1e-8
    heel, toe = found.forces["heel"], found.forces["toe"]
    for force in (heel, toe):
        assert force[:, 2].min() > -1e-9
        assert (np.abs(force[:, 0]) - 0.8 * force[:, 2]).max() < 1e-6
    weights = np.zeros(len(found.times))
    for k in range(0, 10, 2):  # Simpson's
        weights[k : k + 3] += np.array((1, 4, 1)) * 0.2 / 6
    assert weights @ (heel + toe)[:, 2] == pytest.approx(3 * 9.81, rel=1e-7)
    assert weights @ (heel + toe)[:, 0] == pytest.approx(0.0, abs=1e-6)
    moment = 2 * 9.81 * 0.4 * np.sin(found.points[:, 3])
    borne = 0.2 * toe[:, 2] - 0.15 * heel[:, 2]
    assert weights @ borne == pytest.approx(weights @ moment, rel=1e-6)


def test_a_foot_that_is_too_short_holds_nothing() -> None:
    """The centre of mass would be 0.26 m beside the ankle, and the toe is at 0.2 m, at rest."""
    problem = standing(np.array((0, 0, 0, 1.3)))
    problem.end((0, 0, 0, 1.3)).constrain(lambda at: at.v[3], -1e-3, 1e-3, at="knots")
    assert not problem.solve(iterations=100).feasible
    with pytest.raises(OptionError, match="'heel' holds where it begins: give q of the start"):
        standing(np.full(4, np.nan)).solve()


@pytest.mark.parametrize("make", [crank, rolling, standing])
def test_derivatives(make: object) -> None:
    problem: Problem = make()  # type: ignore[operator]
    layout, program = parts_of(problem)
    rng = np.random.default_rng(3)
    begins = layout.begin(None)
    for _, at in problem._model.turns:
        begins.q[:, at : at + 4] = rng.normal(size=4)
        begins.q[:, at : at + 4] += 0.1 * rng.normal(size=(len(begins.q), 4))
        begins.q[:, at : at + 4] /= np.linalg.norm(begins.q[:, at : at + 4], axis=1)[:, None]
    given = layout.given(begins, 0.1)
    w = layout.unknowns(begins, None) + 0.2 * rng.normal(size=program.unknowns)
    sigma, lam = 1.7, rng.normal(size=len(program.names))
    slope = np.array(program.functions["grad_f"](w, given)[1].full()).ravel()
    J = np.array(program.functions["jac_g"](w, given)[1].full())
    H = np.array(program.functions["hess_lag"](w, given, sigma, lam).full())
    H = H + np.triu(H, 1).T
    h = 1e-6
    for k in range(program.unknowns):
        step = np.zeros(program.unknowns)
        step[k] = h
        ends = [
            [np.array(part.full()) for part in program.functions["jac_g"](w + way, given)]
            for way in (step, -step)
        ]
        costs = [program.functions["grad_f"](w + way, given) for way in (step, -step)]
        by_k = (ends[0][0] - ends[1][0]).ravel() / (2 * h)
        size = 1.0 + np.abs(by_k).max()
        np.testing.assert_allclose(J[:, k], by_k, rtol=0, atol=1e-7 * size)
        assert slope[k] == pytest.approx(
            float(costs[0][0] - costs[1][0]) / (2 * h), rel=1e-6, abs=1e-6
        )
        second = sigma * np.array((costs[0][1] - costs[1][1]).full()).ravel()
        second += (ends[0][1] - ends[1][1]).T @ lam
        second /= 2 * h
        size = 1.0 + np.abs(second).max()
        np.testing.assert_allclose(H[:, k], second, rtol=0, atol=1e-6 * size)


def test_sizes_are_those_of_the_paper() -> None:
    """[Fan2018, Table 1]: (4 N + 3) n + (2 N + 1) m unknowns, 3 N n + (2 N + 1) m equations."""
    steps = 7
    tree = Problem(builders.chain(5), 1.0, steps)
    assert tree.unknowns == (4 * steps + 3) * 5
    assert tree.equations == 3 * steps * 5
    robot = builders.slider_crank()
    joints = tuple(replace(j, actuated=j not in robot.loop_joints) for j in robot.joints)
    loop = Problem(replace(robot, joints=joints), 1.0, steps)
    n, m = 3, 2  # a loop in a plane has two rows that do not depend on the others
    assert loop.robot.nu == n
    assert loop.unknowns == (4 * steps + 3) * n + (2 * steps + 1) * m
    assert loop.equations == 3 * steps * n + (2 * steps + 1) * m
    # As rows of the program, but for those of a start that is left open.
    names = parts_of(loop.start(robot.home))[1].names
    assert np.sum(names == "dynamics") == 3 * steps * n
    assert np.sum(names == "loops and couplings") == (2 * steps + 1) * m + 2 * m
