"""Going on from the state of another simulation, and what a simulation does not let happen."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace

import numba
import numpy as np
import pytest

import robosim
from robosim import (
    BatchSimulation,
    Body,
    ControllerError,
    Coupling,
    HalfSpace,
    Joint,
    Mechanism,
    OptionError,
    Simulation,
    StateError,
)
from robosim.controllers import PD, stand
from robosim.models import builders

Y = (0, 1, 0)
TORQUES = 3.0 * np.random.default_rng(0).normal(size=12)


def body(name):
    return Body(name, 1.0, 0.1 * np.eye(3))


def hinge(name, **options):
    return Joint("j" + name, "revolute", None, name, Y, **options)


@pytest.fixture(scope="module")
def standing():
    """An A1 that has stood for a while: its contacts carry it."""
    sim = Simulation(robosim.load("a1"))
    sim.run(0.3, "stand")
    return sim


def steps(sim, n=30, tau=TORQUES):
    for _ in range(n):
        sim.step(tau)
    return sim


def assert_same(one, other):
    np.testing.assert_array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.v, other.v)
    np.testing.assert_array_equal(one.contact_forces(), other.contact_forces())
    assert one.time == other.time


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, Simulation.copy])
def test_copies_go_their_own_way(standing, make):
    before = standing.q
    other = steps(make(standing))
    np.testing.assert_array_equal(standing.q, before)
    assert_same(other, steps(standing.copy()))


def test_restored_to_the_last_bit(standing):
    """Where torques jump so that feet come off, which a start at the same q and v does not know."""
    other = Simulation(standing.robot)
    other.run(0.02, "zero")
    other.restore(standing)
    other.restore(other)
    assert_same(other, standing)
    started = Simulation(standing.robot)
    started.set_state(standing.q, standing.v, standing.time)
    expected = steps(standing.copy())
    assert_same(steps(other), expected)
    assert np.abs(steps(started).v - expected.v).max() > 1e-3


def test_restored_after_the_other_solver_took_over():
    robots = builders.cube().with_contacts(obstacles=[HalfSpace()]), builders.minitaur()
    for robot in robots:
        saved = Simulation(robot, 5e-3)
        saved.run(0.4)
        other = Simulation(robot, 5e-3)
        other.restore(saved)
        for _ in range(40):
            saved.step()
            other.step()
        np.testing.assert_array_equal(saved.q, other.q)
    saved, forced = Simulation(robots[1], 5e-3), Simulation(robots[1], 5e-3)
    saved.engine.switch("ldu")
    saved.run(0.05)
    forced.restore(saved)
    assert forced.solver == "ldu"
    saved.run(0.05)
    forced.run(0.05)
    np.testing.assert_array_equal(saved.q, forced.q)


def test_restored_at_its_time():
    """And with all that is counted from the start: steps, and what a step gave."""
    robot = builders.pendulum()
    saved, other = Simulation(robot, 0.01, order=4), Simulation(robot, 0.01, order=4)
    saved.set_state([1.0], time=5.0)
    saved.run(0.07)
    other.set_state([0.5], time=2.0)
    other.run(0.02)
    for restored in (other, saved.copy()):
        if restored is other:
            restored.restore(saved)
        assert restored.time == saved.time == pytest.approx(5.07)
        assert (restored.steps, restored.fourth_order_steps) == (7, 7)
        assert restored.run(0.02).t[0] == saved.time
        np.testing.assert_array_equal(restored.time, saved.time + 0.02)


def test_restored_from_what_does_not_fit(standing):
    for other in (
        Simulation(builders.pendulum()),
        Simulation(standing.robot, 2e-3),
        Simulation(standing.robot, tolerance=1e-6),
        Simulation(standing.robot, gravity=(0, 0, -9.8)),
    ):
        with pytest.raises(StateError, match=r"same robot .* timestep, gravity and options"):
            standing.copy().restore(other)
    with pytest.raises(StateError, match=r"not to 'x'"):
        standing.copy().restore("x")


def test_a_batch_that_cannot_go_there_stays(standing):
    """One of its robots is another one."""
    other = replace(standing.robot, name="other")
    batch = BatchSimulation([standing.robot, standing.robot, other])
    with pytest.raises(StateError, match="one Mechanism for both"):
        batch.restore(standing)
    np.testing.assert_array_equal(batch.time, 0.0)
    batch.restore(standing, index=[0, 1])
    np.testing.assert_allclose(batch.time, [standing.time, standing.time, 0.0])


def test_torques_of_servos_are_told_by_whoever_goes_on():
    robot = robosim.load("a1")
    servos = stand(robot, implicit=True)
    sim = Simulation(robot)
    tau = sim.run(0.02, servos).tau[-1]
    other, batch = Simulation(robot), BatchSimulation(robot, 8)
    other.restore(sim)
    last = batch.rollout(20, controller=servos).tau[3, -1]
    for told, given in (
        (sim.torques, tau),
        (sim.copy().torques, tau),
        (other.torques, tau),
        (batch[3].torques, last),
    ):
        np.testing.assert_allclose(told[6:], given, rtol=0, atol=1e-12)
        assert np.abs(given).max() > 1.0
    other.step(np.ones(12))
    np.testing.assert_array_equal(other.torques[6:], 1.0)
    sim.set_state()
    np.testing.assert_array_equal(sim.torques, 0.0)


def test_torques_beside_a_servo_that_closes_a_loop():
    crank = builders.slider_crank()
    joints = tuple(replace(joint, actuated=True) for joint in crank.joints)
    robot = replace(crank, joints=joints)
    sim = Simulation(robot)
    log = sim.run(0.01, PD(robot, 0.0, 1.0, 0.1, implicit=True))
    assert sim.torques.shape == (robot.nv,)
    tree = robot.actuated < robot.nv
    np.testing.assert_allclose(sim.torques[robot.actuated[tree]], log.tau[-1, tree], atol=1e-12)


def test_batches_go_on_from_a_simulation(standing):
    batch = BatchSimulation(standing.robot, 9)
    batch.rollout(5, controller="stand")
    batch.restore(standing, index=[1, 8])
    batch.restore(standing, index=np.arange(9) == 4)
    np.testing.assert_allclose(batch.time[[0, 1, 4, 8]], [0.005, *3 * [standing.time]])
    batch.rollout(30, TORQUES)
    expected = steps(standing.copy())
    for i in (1, 4, 8):
        np.testing.assert_allclose(batch.q[i], expected.q, rtol=0, atol=1e-7)
        assert batch[i].time == pytest.approx(expected.time)


def test_a_state_that_is_stepped_alone_has_its_own_time():
    robot = robosim.load("a1")
    batch = BatchSimulation(robot, 8)
    batch.rollout(10, controller="stand")
    alone = batch[2]
    alone.run(0.02, "stand")
    np.testing.assert_allclose(batch.time, np.where(np.arange(8) == 2, 0.03, 0.01))
    forces = alone.contact_forces()
    np.testing.assert_array_equal(batch[2].contact_forces(), forces)
    out = batch.rollout(5, controller="stand")
    expected = Simulation(robot)
    expected.run(0.035, "stand")
    np.testing.assert_allclose(batch.q[2], expected.q, rtol=0, atol=1e-8)
    assert out.t[2, 0] == pytest.approx(0.03)


def test_masks_choose_states():
    batch = BatchSimulation(robosim.load("a1"), 4)
    batch.rollout(3)
    batch.set_state(index=np.zeros(4, dtype=bool))
    np.testing.assert_allclose(batch.time, 0.003)
    batch.set_state(index=[False, True, False, True])
    np.testing.assert_allclose(batch.time, [0.003, 0.0, 0.003, 0.0])
    with pytest.raises(StateError, match=r"mask of states must have shape \(4,\)"):
        batch.set_state(index=[True, False])
    for index in (slice(0, 2), True, 1.0, np.ones(4, dtype=bool)):
        with pytest.raises(TypeError, match="chosen by its number"):
            batch[index]
    tau = np.zeros((4, 12))
    tau[2, 3] = np.nan
    with pytest.raises(ControllerError, match="'FL_hip_joint' of state 2 is nan"):
        batch.rollout(5, tau)


def test_what_cannot_be_pickled_says_so(standing):
    batch = BatchSimulation(standing.robot, 2)
    for what, told in ((standing, "cannot be pickled"), (batch, "neither copied nor pickled")):
        with pytest.raises(TypeError, match=told):
            pickle.dumps(what)
    with pytest.raises(TypeError, match="neither copied"):
        copy.deepcopy(batch)


@pytest.mark.parametrize("name", ["timestep", "gravity", "time"])
def test_what_a_simulation_is_made_with_stays(standing, name):
    with pytest.raises(AttributeError):
        setattr(standing, name, 0.1)


@pytest.mark.parametrize(
    "meddle",
    [
        lambda sim: sim.step(),
        lambda sim: sim.run(0.01),
        lambda sim: sim.set_state(),
        lambda sim: sim.restore(sim.copy()),
    ],
)
def test_a_controller_cannot_move_its_own_simulation(meddle):
    """It had lost rows of the log without a word."""
    sim = Simulation(robosim.load("a1"))

    def controller(sim):
        if sim.steps == 3:
            meddle(sim)
        return np.zeros(12)

    with pytest.raises(ControllerError, match="has to return torques before"):
        sim.run(0.01, controller)
    assert sim.steps == 3
    sim.step()
    sim.run(0.002, lambda sim: sim.copy().run(0.01).tau[-1])
    assert sim.steps == 6


def test_compiled_controllers_that_return_torques():
    @numba.njit
    def natural(t, q, v, tau):
        return -2.0 * v[6:]

    with pytest.raises(ControllerError, match=r"'natural' returns array.*tau\[:\] = "):
        Simulation(robosim.load("a1")).run(0.01, natural)


def test_compiled_controllers_that_give_no_numbers():
    @numba.njit
    def lost(t, q, v, tau):
        if t > 0.0045:
            tau[3] = np.nan

    sim = Simulation(robosim.load("a1"))
    with pytest.raises(ControllerError, match=r"gave nan for 'FL_hip_joint' at 0.005 s"):
        sim.run(0.01, lost)
    assert (sim.steps, sim.solver) == (5, "articulated")


def test_times_that_are_no_step():
    sim = Simulation(builders.pendulum())
    for seconds in (4e-4, 5e-4):
        with pytest.raises(OptionError, match=r"too short for a step of 0.001 s"):
            sim.run(seconds)
    assert len(sim.run(0.0)) == 0


def test_a_start_takes_wrenches_away():
    sim = Simulation(builders.free_body(), gravity=(0, 0, 0))
    name = sim.robot.bodies[0].name
    sim.apply_wrench(name, force=(5.0, 0, 0))
    with pytest.raises(StateError):
        sim.set_state(np.zeros(3))
    assert sim.wrench(name)[0] == 5.0
    sim.set_state()
    sim.step()
    np.testing.assert_array_equal(sim.v, 0.0)


def test_motions_that_contradict_a_gear():
    joints = hinge("a", motion=lambda t: t), hinge("b", motion=lambda t: t)
    gear = (Coupling("gear", "jb", "ja", ratio=2.0),)
    with pytest.raises(StateError, match=r"motion of 'ja' .*coupling 'gear' conflict"):
        Simulation(Mechanism("gears", (body("a"), body("b")), joints, couplings=gear))


def test_motions_beyond_limits_are_told_once():
    robot = Mechanism("arm", (body("a"),), (hinge("a", motion=lambda t: t, upper=0.1),))
    sim = Simulation(robot)
    with pytest.warns(UserWarning, match="'ja' is driven along its motion to 0.101 at 0.101 s"):
        sim.run(0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.run(0.2)


def test_motions_that_cannot_be_followed_are_named():
    """Both in one gear, and apart from 50 ms on."""
    joints = hinge("a", motion=lambda t: t), hinge("b", motion=lambda t: t + max(0.0, t - 0.05))
    gear = (Coupling("gear", "jb", "ja"),)
    sim = Simulation(Mechanism("gears", (body("a"), body("b")), joints, couplings=gear))
    with pytest.raises(robosim.ConvergenceError, match="motions of 'ja', 'jb' may lead"):
        sim.run(0.1)


def test_a_limit_that_cannot_be_kept_is_named():
    """Of the two ways to put these four bars together, only the other one keeps the limit."""
    joints = (
        Joint("crank", "revolute", None, "crank", Y, (0, 0, 0), (-0.15, 0, 0)),
        Joint("knee", "revolute", "crank", "coupler", Y, (0.15, 0, 0), (-0.45, 0, 0)),
        Joint("elbow", "revolute", "coupler", "rocker", Y, (0.45, 0, 0), (-0.4, 0, 0), lower=0.2),
        Joint("pin", "revolute", None, "rocker", Y, (1, 0, 0), (0.4, 0, 0)),
    )
    bodies = tuple(Body(name, 1.0, 0.01 * np.eye(3)) for name in ("crank", "coupler", "rocker"))
    sim = Simulation(Mechanism("four_bar", bodies, joints))
    sim.set_state((0.4, 0.5, -2.0), hold=["elbow"])
    with (
        pytest.warns(UserWarning, match="joint 'elbow' starts at -2"),
        pytest.raises(robosim.ConvergenceError, match=r"Joint 'elbow' is at .* lower limit of 0.2"),
    ):
        sim.run(3.0)


def test_a_start_after_steps_has_no_forces_yet() -> None:
    sim = robosim.Simulation(robosim.load("a1"))
    sim.run(0.01, "stand")
    with np.errstate(all="raise"):
        sim.set_state(sim.q, 0.0 * sim.v)
        assert not np.any(sim.contact_forces())
        assert sim.engine.last_interval == sim.timestep
