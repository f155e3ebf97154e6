"""Velocity limits that act: a rate is within its bound, over every interval and at every knot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import random_tree

import robosim
from robosim import (
    BatchSimulation,
    Body,
    Coupling,
    Joint,
    Mechanism,
    OptionError,
    Simulation,
    StateError,
)
from robosim.models.builders import chain

INERTIA, MASS, BOUND, DT = 0.2, 1.5, 2.0, 1e-3  # [kg m^2], [kg], [rad/s or m/s], [s]
OPTIONS = (
    {"solver": "articulated"},
    {"solver": "ldu"},
    {"solver": "articulated", "friction_cone": "linearized"},
)
KEPT = 1.0 + 1e-8


def one(kind="revolute", axis=(0, 0, 1), **options):
    """A body on a joint along or about z."""
    options = {"velocity_limit": BOUND} | options
    joint = Joint("motor", kind, None, "body", axis=axis, **options)
    return Mechanism("one", (Body("body", MASS, INERTIA * np.eye(3)),), (joint,))


def limited(robot, bound):
    """The robot with a limit of velocity on all joints but a floating base."""
    joints = [j if j.kind == "floating" else replace(j, velocity_limit=bound) for j in robot.joints]
    return replace(robot, joints=tuple(joints))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("kind", "inertia"), [("revolute", INERTIA), ("prismatic", MASS)])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_motor_that_pushes_on_and_on(options, kind, inertia, way):
    """Speed grows to the bound and stays there; what the limit takes is what the motor gives."""
    torque, h = 3.0, 4e-3
    sim = Simulation(one(kind), h, (0, 0, 0), velocity_limits=True, **options)
    speeds, taken, work = [], [], 0.0
    for _ in range(300):
        before = sim.q[0]
        sim.step([way * torque])
        work += way * torque * (sim.q[0] - before)
        speeds.append(way * sim.v[0])
        taken.append(way * sim.limit_forces()[0])
    speeds, taken = np.array(speeds), np.array(taken)
    free = torque / inertia * h * np.arange(1, 301)
    # Turns in a step have the momentum of a sine; the bound is met within a step.
    np.testing.assert_allclose(speeds, np.minimum(free, BOUND), rtol=2e-5)
    assert speeds.max() < BOUND * KEPT
    reached = int(np.searchsorted(free, BOUND))
    np.testing.assert_allclose(speeds[reached + 1 :], BOUND, rtol=1e-9)
    np.testing.assert_allclose(taken[: reached - 1], 0.0, atol=1e-4)
    np.testing.assert_allclose(taken[reached + 3 :], -torque, rtol=1e-6)
    # All work has become kinetic energy, or was taken at the bound.
    lost = -np.sum(taken) * BOUND * h
    assert work == pytest.approx(sim.energy() + lost, rel=5e-3)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_slider_falls_no_faster(options):
    """g t to the bound, then a steady fall, carried by a force that is its weight."""
    sim = Simulation(one("prismatic"), DT, velocity_limits=True, **options)
    log = sim.run(0.6)
    np.testing.assert_allclose(log.v[:, 0], np.maximum(-9.81 * log.t, -BOUND), rtol=1e-9, atol=1e-9)
    reached = BOUND / 9.81
    fallen = 0.5 * BOUND * reached + BOUND * (0.6 - reached)
    assert sim.q[0] == pytest.approx(-fallen, abs=9.81 * DT**2)
    assert sim.limit_forces()[0] == pytest.approx(9.81 * MASS, rel=1e-6)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_faster_start_is_slowed_down_at_once(solver, kind, way):
    sim = Simulation(one(kind), DT, (0, 0, 0), velocity_limits=True, solver=solver)
    sim.set_state(v=[3 * way * BOUND])
    assert sim.v[0] == pytest.approx(3 * way * BOUND, rel=1e-12)
    before = sim.energy()
    for _ in range(20):
        sim.step()
        # The barrier at which the solver stops keeps it a little below.
        assert sim.v[0] == pytest.approx(way * BOUND, rel=2e-5)
        assert abs(sim.v[0]) < BOUND * KEPT
        assert sim.energy() < before * KEPT
        before = sim.energy()


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_a_wheel_that_has_turned_long(solver):
    """A hundred thousand turns on, the force at the bound is still what the motor gives."""
    sim = Simulation(one(), DT, (0, 0, 0), velocity_limits=True, solver=solver)
    sim.set_state(q=[2e5 * np.pi + 0.1], v=[BOUND])
    for _ in range(100):
        sim.step([1.0])
        # The first interval has the half of its knot that a start gives it.
        assert sim.limit_forces()[0] == pytest.approx(-1.0, rel=1e-4)
        assert sim.v[0] == pytest.approx(BOUND, rel=1e-8)


def test_a_ball_keeps_all_three_components():
    sim = Simulation(one("spherical"), DT, (0, 0, 0), velocity_limits=True)
    torque = np.array([0.5, -1.0, 0.1])
    log = sim.run(1.0, lambda sim: torque)
    free = torque / INERTIA * log.t[:, None]
    assert np.abs(log.v).max() < BOUND * KEPT
    # The body has no other axes than any other: components do not mix, as it is a ball.
    np.testing.assert_allclose(log.v, np.clip(free, -BOUND, BOUND), rtol=0, atol=2e-3)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_limits_of_position_and_rate_on_one_joint(solver, kind):
    """Driven at the bound to the upper limit, held there, and back."""
    robot = one(kind, lower=-0.1, upper=0.3)
    sim = Simulation(robot, DT, (0, 0, 0), velocity_limits=True, solver=solver)
    log = sim.run(0.5, lambda sim: [30.0])
    assert np.abs(log.v).max() == pytest.approx(BOUND, rel=1e-8)
    assert log.q.max() <= 0.3
    assert sim.q[0] == pytest.approx(0.3, abs=1e-9)
    assert sim.v[0] == pytest.approx(0.0, abs=1e-6)
    assert sim.limit_forces()[0] == pytest.approx(-30.0, rel=1e-6)
    log = sim.run(0.5, lambda sim: [-30.0])
    assert log.v.min() == pytest.approx(-BOUND, rel=1e-8)
    assert sim.q[0] == pytest.approx(-0.1, abs=1e-9)


@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_a_chain_that_falls_to_its_bounds(h):
    """Both solvers agree; energy never rises, by no more than limits take at their rates."""
    robot, ends = limited(chain(4, joint="revolute"), 1.5), []
    for solver in ("articulated", "ldu"):
        sim = Simulation(robot, h, velocity_limits=True, solver=solver, tolerance=1e-10)
        sim.set_state(np.array([1.4, 0.3, -0.2, 0.1]))
        energy, power = [sim.energy()], []
        for _ in range(round(2.0 / h)):
            sim.step()
            assert np.abs(sim.v).max() < 1.5 * KEPT
            energy.append(sim.energy())
            power.append(sim.limit_forces() @ sim.v)
        # Where a bound is met, a knot is read up to half of a step's acceleration off.
        assert np.max(energy - np.minimum.accumulate(energy)) < 4.0 * h
        assert energy[-1] - energy[0] == pytest.approx(h * np.sum(power), rel=10 * h)
        assert min(power) < -0.1
        ends.append(sim.q)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_random_torques_on_random_trees(seed):
    """Whatever pushes: no rate is beyond its bound, and joints hold."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "spherical", "cylindrical")
    robot = limited(random_tree(rng, 6, "revolute", kinds, 0), 1.0)
    for solver in ("articulated", "ldu"):
        sim = Simulation(robot, DT, velocity_limits=True, solver=solver)
        push = np.random.default_rng(seed)
        log = sim.run(0.3, lambda sim, push=push: push.normal(scale=30.0, size=sim.robot.nu))
        assert np.abs(log.v).max() < KEPT
        assert np.abs(log.v).max() > 0.99
        assert log.violation.max() < 1e-8


def test_a_robot_that_falls_and_struggles():
    """An A1 with slow joints on the ground: contacts and rates at the same time, limbs in lanes."""
    robot = limited(robosim.load("a1"), 2.0)
    q = np.array(robot.home)
    q[2] += 0.1
    ends = []
    for lanes in (False, True):
        sim = Simulation(robot, DT, velocity_limits=True, lanes=lanes)
        sim.set_state(q)
        log = sim.run(0.4, "trot")
        assert np.abs(log.v[:, 6:]).max() < 2.0 * KEPT
        assert np.abs(log.v[:, 6:]).max() > 1.99
        assert log.gap.min() > -1e-9
        ends.append(sim.q)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-4)


def test_a_batch_keeps_the_limits_of_each():
    """Eight at a time in lanes, with bounds of their own, and as each is alone."""
    bounds = np.linspace(0.5, 4.0, 8)
    robots = [limited(chain(3, joint="revolute"), bound) for bound in bounds]
    batch = BatchSimulation(robots, timestep=DT, velocity_limits=True)
    batch.set_state(np.array([1.2, 0.1, -0.3]))
    out = batch.rollout(800)
    assert not out.failed.any()
    fastest = np.abs(out.v).max(axis=(1, 2))
    assert np.all(fastest < bounds * KEPT)
    np.testing.assert_allclose(fastest, bounds, rtol=1e-8)
    for i in (0, 5):
        sim = Simulation(robots[i], DT, velocity_limits=True)
        sim.set_state(np.array([1.2, 0.1, -0.3]))
        sim.run(0.8)
        np.testing.assert_allclose(out.q[i, -1], sim.q, rtol=0, atol=1e-6)


def test_joints_that_close_loops_and_gears_keep_theirs():
    """A gear makes the second wheel the faster one, which meets its bound first."""
    bodies = tuple(Body(name, 1.0, INERTIA * np.eye(3)) for name in "ab")
    joints = tuple(
        Joint("j" + name, "revolute", None, name, (0, 1, 0), velocity_limit=BOUND) for name in "ab"
    )
    robot = Mechanism("gears", bodies, joints, couplings=(Coupling("gear", "jb", "ja", ratio=3.0),))
    sim = Simulation(robot, DT, velocity_limits=True)
    for _ in range(3000):
        sim.step([1.0, 0.0])
        assert np.abs(sim.v).max() < BOUND * KEPT
    np.testing.assert_allclose(sim.v, [BOUND / 3, BOUND], rtol=1e-8)
    np.testing.assert_allclose(sim.limit_forces(), [0.0, -1 / 3], rtol=1e-5, atol=1e-8)

    loop = robosim.models.builders.slider_crank()
    name = loop.loop_joints[0].name
    joints = [replace(j, velocity_limit=0.3) if j.name == name else j for j in loop.joints]
    loop = replace(loop, joints=tuple(joints))
    assert Simulation(loop, DT).solver == "articulated"
    sim = Simulation(loop, DT, velocity_limits=True)
    assert sim.solver == "ldu"
    sim.run(1.0, lambda sim: np.full(sim.robot.nu, 20.0))
    assert np.abs(sim.parts.state.v[loop.v_offsets[loop.joint_index(name)]]) < 0.3 * KEPT


def test_nothing_changes_where_they_do_not_act():
    """Without the option to the last bit; with it but far below the bounds up to the tolerance."""
    q, runs = np.array([1.2, 0.1, -0.3]), []
    for bound, acts in ((np.inf, False), (1.5, False), (np.inf, True), (1e3, True)):
        sim = Simulation(limited(chain(3, joint="revolute"), bound), DT, velocity_limits=acts)
        sim.set_state(q)
        runs.append(sim.run(0.5))
    for log in runs[1:]:
        np.testing.assert_array_equal(log.q, runs[0].q)
        np.testing.assert_array_equal(log.v, runs[0].v)


def test_order_four_says_where_a_bound_is_met():
    sim = Simulation(one(), DT, (0, 0, 0), velocity_limits=True, order=4)
    sim.set_state(v=[0.5 * BOUND])
    assert sim.step().order == 4
    sim.set_state(v=[BOUND])
    assert sim.step([1.0]).order == 2


def test_driven_joints_follow_their_motions():
    robot = one(motion=lambda t: 5.0 * t)
    sim = Simulation(robot, DT, velocity_limits=True)
    sim.run(0.1)
    assert sim.v[0] == pytest.approx(5.0, rel=1e-6)


def test_what_is_refused():
    for bound in (0.0, -1.0, 1e-9):
        robot = one(velocity_limit=bound)
        Simulation(robot)  # nothing asks for it
        with pytest.raises(OptionError, match=r"leave room .* joint 'motor' is"):
            Simulation(robot, velocity_limits=True)
    robot = one()
    with pytest.raises(StateError, match="options"):
        Simulation(robot).restore(Simulation(robot, velocity_limits=True))


def test_each_coordinate_has_its_own_limit():
    """Of two slides, one is held at its bound and the other grows on and on."""
    sim = Simulation(
        one("planar_fixed_orientation", velocity_limit=(BOUND, np.inf)), DT, (0, 0, 0),
        velocity_limits=True,
    )  # fmt: skip
    for _ in range(2000):
        sim.step([3.0, 3.0])
    np.testing.assert_allclose(sim.v, (BOUND, 3.0 / MASS * 2.0), rtol=1e-6)
