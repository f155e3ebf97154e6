"""End stops that bounce: speeds after a hit by hand, with all that may hang on the joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import (
    BatchSimulation,
    Body,
    Coupling,
    Joint,
    Mechanism,
    ModelError,
    ReducedSimulation,
    Simulation,
)
from robosim.models.builders import three_link_loop
from robosim.optimize.problem import refuse_rotations
from robosim.quaternions import from_axis_angle

G, DT = 9.81, 1e-3
COEFFICIENTS = 1.0, 0.5, 0.0


def weight(name: str, **more) -> Body:
    return Body(name, 2.0, np.diag((0.02, 0.03, 0.04)), **more)


def slider(e: float, **more) -> Mechanism:
    joint = Joint("rail", "prismatic", None, "cart", (1, 0, 0), lower=-0.5, upper=0.3,
                  limit_restitution=e, **more)  # fmt: skip
    return Mechanism("slider", (weight("cart"),), (joint,))


def pendulum(e: float, **more) -> Mechanism:
    """A weight that hangs at 0, 1 m below its hinge, with a stop at 30 degrees."""
    body = Body("bob", 2.0, 0.02 * np.eye(3))
    joint = Joint("hinge", "revolute", None, "bob", (0, 1, 0), child_position=(0, 0, 1.0),
                  lower=-np.pi / 6, limit_restitution=e, **more)  # fmt: skip
    return Mechanism("pendulum", (body,), (joint,))


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("e", COEFFICIENTS)
def test_a_cart_between_two_stops(e, solver):
    """Speeds 1, e and e^2, and the times between; a stop is met early by 2 % of a step."""
    sim = Simulation(slider(e), DT, gravity=(0, 0, 0), solver=solver)
    sim.set_state([0.0005], [1.0])
    sim.run(0.4)
    assert sim.v[0] == pytest.approx(-e, abs=1e-9)
    expected = 0.3 - e * (0.4 - 0.2995)
    assert sim.q[0] == pytest.approx(expected, abs=3e-5)
    if e == 0.0:
        return
    sim.run(0.8 / e)
    assert sim.v[0] == pytest.approx(e * e, abs=1e-9)
    left = 0.4 + 0.8 / e - 0.2995 - 0.8 / e
    assert sim.q[0] == pytest.approx(-0.5 + e * e * left, abs=2e-4)


@pytest.mark.parametrize("armature", [0.0, 0.7])
@pytest.mark.parametrize("e", COEFFICIENTS)
def test_a_pendulum_on_its_stop(e, armature):
    """It comes down from 80 degrees, and goes up again with e times the speed at the stop."""
    sim = Simulation(pendulum(e, armature=armature), DT)
    sim.set_state([np.radians(80)], [0.0])
    inertia = 2.0 + 0.02 + armature
    before = sim.v[0]
    while sim.v[0] < before + 0.3:
        before = sim.v[0]
        sim.step()
    if e == 0.0:
        sim.step()  # as half of what a plastic landing takes comes at either end of its step
    fall = G * (np.cos(np.pi / 6) - np.cos(np.radians(80)))
    speed = np.sqrt(2 * 2.0 * fall / inertia)
    assert before == pytest.approx(-speed, abs=G * DT)
    assert sim.v[0] == pytest.approx(e * speed, abs=2 * G * DT)
    assert sim.q[0] > -np.pi / 6 - 1e-9
    top = sim.q[0]
    while sim.v[0] > 1e-6:
        sim.step()
        top = max(top, sim.q[0])
    height = np.cos(np.pi / 6) - e * e * fall / G
    assert np.cos(top) == pytest.approx(height, abs=2e-3)


def test_energy_is_kept_by_elastic_stops():
    sim = Simulation(pendulum(1.0, upper=1.0), 1e-4)
    sim.set_state([0.5], [3.0])
    begin = sim.energy()
    for _ in range(20):
        sim.run(0.1)
        assert sim.energy() == pytest.approx(begin, abs=2e-5 * abs(begin))


@pytest.mark.parametrize("e", [1.0, 0.5])
def test_all_that_a_gear_moves_comes_back(e):
    """Both turn with one degree of freedom, of which only one has a stop."""
    joints = tuple(
        Joint(f"j{k}", "revolute", None, f"b{k}", (0, 0, 1), (k, 0, 0),
              upper=0.3 if k else None, limit_restitution=e)
        for k in range(2)
    )  # fmt: skip
    robot = Mechanism("gears", (weight("b0"), weight("b1")), joints,
                      couplings=(Coupling("gear", "j1", "j0", 2.0),))  # fmt: skip
    sim = Simulation(robot, DT, gravity=(0, 0, 0))
    sim.set_state([0.0, 0.0], [1.0, 2.0])
    sim.run(0.3)
    np.testing.assert_allclose(sim.v, [-e, -2 * e], rtol=0, atol=1e-6)
    np.testing.assert_allclose(sim.q[1], 0.3 - 2 * e * 0.15, rtol=0, atol=1e-4)


def test_a_loop_comes_back():
    """A linkage of one degree of freedom: its energy stays, and its rate changes sign once."""
    robot = three_link_loop()
    start, rates = np.asarray(robot.home), np.zeros(robot.nv)
    first = replace(robot.joints[0], upper=start[0] + 0.1, limit_restitution=1.0)
    robot = replace(robot, joints=(first, *robot.joints[1:]))
    sim = Simulation(robot, DT, gravity=(0, 0, 0))
    rates[0] = 1.0
    sim.set_state(start, rates)
    energy, signs = sim.energy(), []
    for _ in range(300):
        sim.step()
        signs.append(np.sign(sim.v[0]))
        assert sim.energy() == pytest.approx(energy, rel=1e-3)
    assert signs[0] == 1
    assert signs[-1] == -1
    assert np.count_nonzero(np.diff(signs)) == 1


@pytest.mark.parametrize("e", [1.0, 0.5])
def test_an_elbow_on_its_stop(e):
    """The impulse acts along the elbow: M times the change of the rates has no other entries."""
    joints = (
        Joint("shoulder", "revolute", None, "b0", (0, 1, 0), child_position=(0, 0, 0.3)),
        Joint("elbow", "revolute", "b0", "b1", (0, 1, 0), (0, 0, -0.3), (0, 0, 0.2),
              upper=0.7, limit_restitution=e),
    )  # fmt: skip
    sim = Simulation(Mechanism("arm", (weight("b0"), weight("b1")), joints), 1e-4, gravity=[0] * 3)
    sim.set_state([0.2, 0.6], [-0.5, 2.0])
    while sim.v[1] > 0:
        before = sim.v
        sim.step()
    assert sim.v[1] == pytest.approx(-e * before[1], rel=1e-3)
    impulse = sim.dynamics.mass_matrix(sim.q) @ (sim.v - before)
    assert abs(impulse[0]) < 1e-3 * abs(impulse[1])


def test_momentum_is_kept_by_stops_inside():
    """Of a body that floats with an arm on it."""
    joints = (
        Joint("base", "floating", None, "b0"),
        Joint("arm", "revolute", "b0", "b1", (0, 1, 0.3), (0.1, 0, -0.3), (0, 0, 0.2),
              lower=-0.5, upper=0.4, limit_restitution=0.9),
    )  # fmt: skip
    sim = Simulation(Mechanism("two", (weight("b0"), weight("b1")), joints), DT, gravity=[0] * 3)
    sim.set_state([0, 0, 0, 1, 0, 0, 0, 0], [0.3, 0.2, 0.1, 0.5, 0.6, 0.7, 3.0])
    begin, signs, energy = np.concatenate(sim.momentum()), [], sim.energy()
    for _ in range(1000):
        sim.step()
        signs.append(np.sign(sim.v[-1]))
    assert np.count_nonzero(np.diff(signs)) >= 3
    np.testing.assert_allclose(np.concatenate(sim.momentum()), begin, rtol=0, atol=1e-9)
    assert sim.energy() < 0.999 * energy


@pytest.mark.parametrize("bound", ["cone", "largest_turn"])
@pytest.mark.parametrize("e", COEFFICIENTS)
def test_a_ball_joint_on_the_end_of_its_room(bound, e):
    """A body that is alike about all axes turns back with e times its rate."""
    body = Body("ball", 2.0, 0.05 * np.eye(3))
    joint = Joint("socket", "spherical", None, "ball", limit_restitution=e, **{bound: 0.4})
    sim = Simulation(Mechanism("ball", (body,), (joint,)), DT, gravity=(0, 0, 0))
    axis = np.array([0.6, 0.8, 0.0])
    sim.set_state(from_axis_angle(axis, 0.1003), 2.0 * axis)
    sim.run(0.3)
    np.testing.assert_allclose(sim.v, -2.0 * e * axis, rtol=0, atol=1e-5)


def test_slow_hits_and_rest_do_not_bounce():
    for speed, after in ((0.4, 0.0), (0.6, -0.54)):
        sim = Simulation(slider(0.9), DT, gravity=(0, 0, 0), restitution_threshold=0.5)
        sim.set_state([0.29], [speed])
        sim.run(0.04)
        assert sim.v[0] == pytest.approx(after, abs=1e-5)
    heavy = Simulation(slider(0.5), DT, gravity=(G, 0, 0))
    heavy.set_state([0.2], [0.0])
    heavy.run(2.0)
    np.testing.assert_allclose([heavy.q[0], heavy.v[0]], [0.3, 0.0], rtol=0, atol=1e-6)
    assert heavy.limit_forces()[0] == pytest.approx(-2.0 * G, rel=1e-6)


def test_states_of_a_batch_bounce_as_they_do_alone():
    robot = slider(0.8)
    batch = BatchSimulation(robot, 9, DT, gravity=(0, 0, 0))
    # None comes to its stop just at the end of a step, where rounding tells in which it bounces.
    speeds = np.linspace(0.51, 4.03, 9)
    batch.set_state(np.zeros((9, 1)), speeds[:, None])
    batch.rollout(200)
    for i, speed in enumerate(speeds):
        sim = Simulation(robot, DT, gravity=(0, 0, 0))
        sim.set_state([0.0], [speed])
        sim.run(0.2)
        np.testing.assert_allclose(batch.q[i], sim.q, rtol=0, atol=1e-9)


def test_what_has_no_such_stops_says_so(tmp_path):
    with pytest.raises(ModelError, match="joint 'rail': limit_restitution must be from 0 to 1"):
        slider(1.5)
    told = "joint 'rail': has limits with restitution, which the reduced formulation does not have"
    with pytest.raises(ModelError, match=told):
        ReducedSimulation(slider(0.5), DT)
    ReducedSimulation(slider(0.5), DT, ignore=("limits",))
    with pytest.raises(ModelError, match="which trajectory optimisation does not have"):
        refuse_rotations(slider(0.5), ())
    for suffix in ("urdf", "xml"):
        lost = robosim.save(slider(0.5), tmp_path / f"slider.{suffix}")
        assert any("restitution of limits: rail" in text for text in lost)
