"""A PD whose torques have a limit: what it gives, held over a step or as part of its equations."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import BatchSimulation, Body, ControllerError, Joint, Mechanism, Simulation
from robosim.controllers import PD, zero
from robosim.models.builders import minitaur

INERTIA, LIMIT, DT = 0.2, 3.0, 1e-3  # [kg m^2], [N m], [s]


def rotor(**options):
    """A body that turns about z, without weight to it."""
    joint = Joint("motor", "revolute", None, "rotor", axis=(0, 0, 1), **options)
    return Mechanism("rotor", (Body("rotor", 1.0, INERTIA * np.eye(3)),), (joint,))


@pytest.mark.parametrize("implicit", [False, True])
def test_a_far_target_is_approached_with_all_that_there_is(implicit):
    """Constant torque: the speed grows by limit / inertia times the time.

    What a servo gives over a step acts at its beginning, so that it is half a step ahead.
    """
    robot = rotor()
    sim = Simulation(robot, DT, tolerance=1e-10)
    pd = PD(robot, 100.0, kp=50.0, kd=0.1, limit=LIMIT, implicit=implicit)
    log = sim.run(0.5, pd)
    np.testing.assert_allclose(log.tau, LIMIT, rtol=0, atol=0)
    ahead = 0.5 * DT if implicit else 0.0
    speed = LIMIT / INERTIA * (log.t + ahead * (log.t > 0.0))
    # Its turn in a step is that of sin(omega dt / 2), not of omega dt / 2.
    np.testing.assert_allclose(log.v[:, 0], speed, rtol=2e-5)
    assert sim.torques[0] == LIMIT
    assert sim.q[0] == pytest.approx(0.5 * LIMIT / INERTIA * 0.5 * (0.5 + 2 * ahead), rel=2e-5)


def test_held_torques_are_clipped_as_in_python():
    robot = rotor()
    runs = []
    for compiled in (True, False):
        sim, pd = Simulation(robot, DT), PD(robot, 1.0, kp=40.0, kd=2.0, limit=LIMIT)
        runs.append(sim.run(1.0, pd if compiled else lambda sim, pd=pd: pd(sim)))
    assert np.abs(runs[0].tau).max() == LIMIT
    assert np.abs(runs[0].tau).min() < 0.5 * LIMIT
    np.testing.assert_allclose(runs[0].tau, runs[1].tau, rtol=0, atol=1e-12)
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-14)


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2])
def test_a_stiff_servo_with_a_limit_brakes_in_time(h):
    """From afar: full power one way, then the other way along the servo's line, then still.

    Every step is solved as it is, whatever its length, though one's slope is a hundred times the
    other's; and the servo comes to rest where it is to be.
    """
    robot = rotor()
    sim = Simulation(robot, h)
    log = sim.run(3.0, PD(robot, 2.0, kp=2000.0, kd=400.0, limit=LIMIT, implicit=True))
    assert log.substeps.max() == 1
    assert np.abs(log.tau).max() == LIMIT
    np.testing.assert_allclose(sim.q, 2.0, rtol=0, atol=1e-5)
    # The momentum is what the logged torques have given, half of one on either side of a knot.
    given = h * (np.cumsum(log.tau[:, 0]) - 0.5 * log.tau[:, 0] - 0.5 * log.tau[0, 0])
    np.testing.assert_allclose(INERTIA * log.v[:, 0], given, rtol=0, atol=2 * h * LIMIT)


@pytest.mark.parametrize("weight", [0.5, 1.5])
def test_a_servo_that_is_too_weak_lets_its_load_down(weight):
    """An arm that hangs out sideways, heavier or lighter than the servo's limit carries."""
    arm = Body("arm", 1.0, 0.01 * np.eye(3))
    joint = Joint("motor", "revolute", None, "arm", axis=(0, 1, 0), child_position=(-0.5, 0, 0))
    robot = Mechanism("arm", (arm,), (joint,))
    limit = 9.81 * 0.5 / weight
    sim = Simulation(robot, 2e-3)
    log = sim.run(0.2, PD(robot, 0.0, kp=5000.0, kd=100.0, limit=limit, implicit=True))
    if weight < 1.0:
        assert abs(sim.q[0]) < 2e-3
        assert log.tau[-1, 0] == pytest.approx(-9.81 * 0.5, rel=1e-3)  # up against y
    else:
        fell = 0.5 * (9.81 * 0.5 - limit) / (0.01 + 0.25) * 0.2**2
        assert sim.q[0] == pytest.approx(fell, rel=2e-2)
        assert log.tau[-1, 0] == -limit


def test_a_limit_that_is_not_reached_changes_nothing():
    robot = robosim.load("a1")
    for implicit in (False, True):
        runs = []
        for limit in (None, robot.effort_limits):
            stance, sim = robot.stance, Simulation(robot, DT)
            pd = PD(robot, stance.target, stance.kp, stance.kd, limit=limit, implicit=implicit)
            runs.append(sim.run(0.05, pd))
        assert np.abs(runs[0].tau).max() < robot.effort_limits.min()
        np.testing.assert_array_equal(runs[0].q, runs[1].q)


@pytest.mark.parametrize("limit", [33.5, 12.0, 5.0, 1.0, 0.0])
@pytest.mark.parametrize(("implicit", "h"), [(False, 1e-3), (True, 1e-3), (True, 5e-3)])
def test_a_falling_a1_with_weak_motors(limit, implicit, h):
    """It lands, holds itself up or sinks down; nothing fails and nothing enters the ground."""
    robot = robosim.load("a1")
    sim, stance = Simulation(robot, h), robot.stance
    q = np.array(robot.home)
    q[2] += 0.3
    sim.set_state(q)
    pd = PD(robot, stance.target, stance.kp, stance.kd, limit=limit, implicit=implicit)
    log = sim.run(1.0, pd)
    assert np.abs(log.tau).max() == limit
    assert log.gap.min() > -1e-9
    assert log.violation.max() < 1e-9


@pytest.mark.parametrize("implicit", [False, True])
def test_many_at_once(implicit):
    """Eight in a vector register, each with limits of its own, and each as it is alone.

    But for what the tolerance leaves, which a landing makes a thousand times larger.
    """
    robot = robosim.load("a1")
    limits, stance, q = np.linspace(5.0, 40.0, 8), robot.stance, np.array(robot.home)
    q[2] += 0.05
    pds = [
        PD(robot, stance.target, stance.kp, stance.kd, limit=limit, implicit=implicit)
        for limit in limits
    ]
    batch = BatchSimulation(robot, 8, DT, tolerance=1e-10)
    batch.set_state(q)
    out = batch.rollout(200, controller=pds)
    assert not out.failed.any()
    for i in (0, 3, 7):
        sim = Simulation(robot, DT, tolerance=1e-10)
        sim.set_state(q)
        log = sim.run(200 * DT, pds[i])
        assert np.abs(out.tau[i]).max() <= limits[i]
        np.testing.assert_allclose(out.q[i, :-1], log.q, rtol=0, atol=1e-8)
    assert np.abs(out.tau[0]).max() == limits[0]


def test_servos_with_limits_in_closed_loops():
    robot = minitaur()
    stance, sim = robot.stance, Simulation(robot, 2e-3)
    pd = PD(robot, stance.target, stance.kp, stance.kd, limit=0.6, implicit=True)
    log = sim.run(1.0, pd)
    assert np.abs(log.tau).max() == 0.6
    assert log.violation.max() < 1e-8


def test_both_solvers_give_as_much():
    robot = rotor(damping=0.05, stiffness=5.0)
    runs = []
    for solver in ("articulated", "ldu"):
        sim = Simulation(robot, 1e-2, solver=solver, tolerance=1e-12)
        runs.append(sim.run(1.0, PD(robot, 2.0, kp=300.0, kd=10.0, limit=LIMIT, implicit=True)))
    assert np.abs(runs[0].tau).max() == LIMIT
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)


def test_limits_of_the_model_and_what_is_refused():
    robot = robosim.load("a1")
    np.testing.assert_array_equal(robot.effort_limits, 33.5)
    np.testing.assert_array_equal(rotor().effort_limits, np.inf)
    assert np.all(np.isinf(zero(robot).gains["limit"]))
    for limit in (-1.0, np.nan, [1.0, 2.0], "x"):
        with pytest.raises(ControllerError, match="limit must be None"):
            PD(robot, 0.0, 1.0, 1.0, limit=limit)
