"""Plans that end as they begin or as soon as they can, and motors that are weaker when fast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import OptionError
from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.models import builders

pytest.importorskip("casadi")

from robosim.optimize import Problem


def pendulum(limit=50.0):
    robot = builders.pendulum()
    return replace(robot, joints=(replace(robot.joints[0], effort_limit=limit),))


def test_a_swing_of_its_own_period_needs_no_torque():
    """From -0.3 to 0.3 rad and back in the period of that amplitude: its start is found."""
    small = 2 * np.pi / np.sqrt(1.5 * 9.81)
    period = small * (1 + 0.3**2 / 16 + 11 * 0.3**4 / 3072)
    problem = Problem(pendulum(), seconds=period, steps=20, order=4).periodic()
    problem.constrain(lambda at: at.q[0], 0.3, 0.3, at=period / 2)
    problem.cost(lambda at: at.u[0] ** 2)
    found = problem.solve(0.3 * np.cos(np.linspace(np.pi, 3 * np.pi, 41))[:, None])
    assert found.feasible
    assert found.q[0, 0] == pytest.approx(-0.3, abs=1e-3)
    assert found.q[-1] == pytest.approx(found.q[0], abs=1e-6)
    assert found.v[-1] == pytest.approx(found.v[0], abs=1e-6)
    assert np.abs(found.u).max() < 1e-3
    assert "period" in found.violation


def cart():
    """A slide along x that travels, with a free rotation on it."""
    truck = Body("truck", 1.0, np.eye(3) * 0.1)
    top = Body("top", 1.0, np.diag((0.1, 0.2, 0.3)))
    joints = (
        Joint("slide", "prismatic", None, "truck", axis=(1, 0, 0), effort_limit=20.0),
        Joint("ball", "spherical", "truck", "top", effort_limit=5.0),
    )
    return Mechanism("cart", (truck, top), joints)


def test_a_coordinate_travels_and_rotations_come_back():
    robot = cart()
    problem = Problem(robot, seconds=1.0, steps=10, order=4).periodic("slide")
    problem.start(q=[0, 1, 0, 0, 0])
    problem.constrain(lambda at: at.q[0], 1.0, 1.0, at="end")
    problem.constrain(lambda at: at.q[3], 0.2, 0.2, at=0.5)  # turned about y half way
    problem.cost(lambda at: sum(at.u[k] ** 2 for k in range(4)))
    found = problem.solve()
    assert found.feasible
    assert found.q[-1, 0] == pytest.approx(1.0, abs=1e-6)
    assert np.abs(found.q[-1, 1:]) == pytest.approx([1, 0, 0, 0], abs=1e-6)
    assert found.v[-1] == pytest.approx(found.v[0], abs=1e-6)
    assert found.v[:, 0] == pytest.approx(np.ones(11), abs=1e-4)  # without force, once it travels
    assert found.q[5, 3] == pytest.approx(0.2, abs=1e-6)


def test_torques_fall_with_the_speed():
    """A hard swing up reaches the line from the effort limit to the no-load speed."""
    problem = Problem(pendulum(15.0), seconds=0.8, steps=30, order=4)
    problem.start(q=[0], v=[0]).end(q=[np.pi], v=[0])
    problem.cost(lambda at: at.u[0] ** 2)
    free = problem.solve()
    assert (free.u + 15 / 9 * free.v).max() > 16.4  # beyond that line
    held = problem.motors(9.0).solve(free)
    assert held.feasible
    assert (held.u + 15 / 9 * held.v).max() == pytest.approx(15.0, abs=1e-4)
    assert (-held.u - 15 / 9 * held.v).max() < 11.0
    assert held.cost > free.cost + 0.3


@pytest.mark.parametrize("order", [2, 4])
def test_the_shortest_time_is_that_of_full_forces(order):
    """Over 2 m with 8 N and 2 kg: forwards for half of the time, and backwards."""
    robot = cart()
    joints = (replace(robot.joints[0], effort_limit=8.0), robot.joints[1])
    problem = Problem(replace(robot, joints=joints), 3.0, 40, order).duration(0.5, 6.0)
    problem.start(q=[0, 1, 0, 0, 0], v=np.zeros(4)).end(q=[2, 1, 0, 0, 0], v=np.zeros(4))
    problem.cost(lambda at: at.t, at="end")
    problem.cost(lambda at: 1e-3 * sum(at.u[k] ** 2 for k in range(1, 4)))
    found = problem.solve()
    assert found.feasible
    shortest = 2 * np.sqrt(2.0 * 2.0 / 8.0)
    assert shortest - 1e-4 < found.t[-1] < shortest + 0.01
    assert found.u[1:18, 0] == pytest.approx(8 * np.ones(17), abs=1e-3)
    assert found.u[23:-1, 0] == pytest.approx(-8 * np.ones(17), abs=1e-3)
    (q,), (v,), _ = found.sample([found.t[-1] / 2])
    assert q[0] == pytest.approx(1.0, abs=1e-3)
    assert v[0] == pytest.approx(4.0 * found.t[-1] / 2, rel=0.03)


def test_a_duration_has_limits():
    """The least effort takes the longest time; effort is an integral over the found time."""
    found = []
    for shortest, longest in ((1.0, 1.0), (0.5, 1.0)):
        problem = Problem(cart(), 1.0, 10).duration(shortest, longest)
        problem.start(q=[0, 1, 0, 0, 0], v=np.zeros(4)).end(q=[1, 1, 0, 0, 0], v=np.zeros(4))
        problem.cost(lambda at: sum(at.u[k] ** 2 for k in range(4)))
        found.append(problem.solve())
    given = Problem(cart(), 1.0, 10).start(q=[0, 1, 0, 0, 0], v=np.zeros(4))
    given.end(q=[1, 1, 0, 0, 0], v=np.zeros(4)).cost(lambda at: sum(at.u[k] ** 2 for k in range(4)))
    exact = given.solve()
    for one in found:
        assert one.t[-1] == pytest.approx(1.0, abs=1e-6)
        assert one.cost == pytest.approx(exact.cost, rel=1e-6)


def test_bad_input():
    problem = Problem(cart(), seconds=1.0, steps=4)
    with pytest.raises(
        OptionError, match=r"no coordinate 'ball\.x' may end elsewhere; known: slide"
    ):
        problem.periodic("ball.x")
    with pytest.raises(OptionError, match="speed must be positive, not"):
        problem.motors([1.0, 1.0, 0.0, 1.0])
    with pytest.raises(OptionError, match="must be between limits that enclose 1 s, not from 2"):
        problem.duration(2.0, 3.0)
    unlimited = Problem(builders.pendulum(), seconds=1.0, steps=4)
    with pytest.raises(OptionError, match="needs an effort limit"):
        unlimited.motors(3.0)
