"""Controllers compiled by numba, and forces that are held over steps."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

import robosim
from robosim import Body, ControllerError, Joint, Mechanism, Simulation
from robosim.controllers import PD, Compiled
from robosim.models.builders import chain, minitaur

KP, KD = 80.0, 4.0


def pushed(t, q, v, tau):
    """Torques that depend on all that a controller is given."""
    for k in range(tau.shape[0]):
        tau[k] = np.sin(3.0 * t) - 0.1 * q[7 + k] - 0.02 * v[6 + k]


def test_a_compiled_controller_is_the_python_one_to_the_last_bit():
    robot = robosim.load("a1")
    runs = []
    for control in (numba.njit(pushed), Compiled(robot, pushed), as_python):
        sim = Simulation(robot)
        sim.set_state(time=0.5)
        runs.append(sim.run(0.05, control))
    for log in runs[:2]:
        np.testing.assert_array_equal(log.q, runs[2].q)
        np.testing.assert_array_equal(log.tau, runs[2].tau)
    assert np.ptp(runs[0].tau) > 0.05


def as_python(sim):
    tau = np.zeros(sim.robot.nu)
    pushed(sim.time, sim.q, sim.v, tau)
    return tau


def test_it_can_be_called_from_python_too():
    robot = robosim.load("a1")
    sim = Simulation(robot)
    sim.set_state(v=np.arange(18.0), time=0.25)
    np.testing.assert_array_equal(Compiled(robot, pushed)(sim), as_python(sim))


def test_joints_that_are_not_driven_get_nothing():
    """Actuated joints need not follow each other."""
    robot = chain(4)
    joints = tuple(replace(joint, actuated=k != 1) for k, joint in enumerate(robot.joints))
    robot = replace(robot, joints=joints)

    @numba.njit
    def count(t, q, v, tau):
        for k in range(tau.shape[0]):
            tau[k] = 1.0 + k

    sim, other = Simulation(robot), Simulation(robot)
    sim.run(0.01, count)
    for _ in range(10):
        other.step(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(sim.q, other.q)
    np.testing.assert_array_equal(robot.actuated, [0, 2, 3])
    third = Simulation(robot)
    for _ in range(10):
        third.step(np.array([1.0, 0.0, 2.0, 3.0]))
    np.testing.assert_array_equal(third.q, other.q)


def test_what_cannot_be_compiled_is_refused():
    with pytest.raises(ControllerError, match=r"'as_python' cannot be compiled as a function of"):
        Compiled(robosim.load("a1"), as_python)


def test_held_torques_end_with_the_call_that_held_them():
    """A step, a PD and a controller leave nothing behind for the next one."""
    robot = minitaur()
    push = np.full(robot.nu, 0.3)
    sim, other = Simulation(robot, 2e-3), Simulation(robot, 2e-3)
    sim.set_state(time=1.0)
    other.set_state(time=1.0)
    for one, also in ((sim, True), (other, False)):
        if also:
            one.step(push)
            one.run(0.004, PD(robot, 0.1, 3.0, 0.1, implicit=True))
            one.run(0.004, lambda sim: push)
            one.set_state(time=1.0)
        one.step()
        one.run(0.01)
    np.testing.assert_array_equal(sim.q, other.q)
    np.testing.assert_array_equal(sim.run(0.002).tau, 0.0)


def test_wrong_torques_are_told_whatever_their_kind():
    sim = Simulation(chain(2))
    for tau in (np.array([1.0, np.nan]), [1.0, np.inf]):
        with pytest.raises(ControllerError, match=r"step\(tau\) was given (nan|inf) for 'joint2'"):
            sim.step(tau)
    with pytest.raises(ControllerError, match=r"shape \(3,\)"):
        sim.step(np.zeros(3))
    sim.step(np.array([1e200, 0.0]) * 1e-200)  # squares that overflow are no reason
    assert sim.steps == 1


def test_steps_of_a_driven_joint_follow_its_motion():
    """One by one as in a run."""
    body = Body("b", 1.0, np.eye(3))
    joint = Joint("j", "revolute", None, "b", motion=lambda t: np.sin(t))
    robot = Mechanism("driven", (body,), (joint,))
    sim, other = Simulation(robot, 0.01), Simulation(robot, 0.01)
    for _ in range(20):
        sim.step()
    other.run(0.2)
    np.testing.assert_array_equal(sim.q, other.q)
    assert sim.q[0] == pytest.approx(np.sin(0.2), abs=1e-9)
