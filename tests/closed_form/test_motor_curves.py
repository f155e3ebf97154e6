"""Motors whose torque falls with their speed: what a PD with `limit` and `speed` gives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import robosim
from robosim import (
    BatchSimulation,
    Body,
    ControllerError,
    Joint,
    Mechanism,
    MinimalSimulation,
    Simulation,
)
from robosim.controllers import PD

INERTIA, LIMIT, SPEED, DT = 0.2, 3.0, 12.0, 1e-3  # [kg m^2], [N m], [rad/s], [s]


def rotor(**options):
    joint = Joint("motor", "revolute", None, "rotor", axis=(0, 0, 1), **options)
    return Mechanism("rotor", (Body("rotor", 1.0, INERTIA * np.eye(3)),), (joint,))


def run_up(t):
    """Speed of a motor that drives nothing but its own inertia, at full power since t = 0."""
    return SPEED * (1.0 - np.exp(-LIMIT / (INERTIA * SPEED) * t))


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_a_motor_runs_up_to_its_speed(implicit, way, solver):
    """I w' = limit (1 - w / speed): an exponential, of first order in the timestep."""
    errors = []
    for h in (2e-3, 1e-3):
        robot = rotor()
        sim = Simulation(robot, h, solver=solver)
        pd = PD(robot, way * 1e4, kp=50.0, kd=0.0, limit=LIMIT, speed=SPEED, implicit=implicit)
        log = sim.run(1.5, pd)
        errors.append(np.abs(way * log.v[:, 0] - run_up(log.t)).max())
        # What is logged is what the curve has at that speed: over the step, or at its beginning.
        rates = np.diff(log.q[:, 0]) / h if implicit else log.v[:-1, 0]
        left = LIMIT * (1.0 - way * rates / SPEED)
        np.testing.assert_allclose(way * log.tau[:-1, 0], left, rtol=0, atol=1e-9)
    assert errors[1] < 0.02
    assert errors[1] == pytest.approx(0.5 * errors[0], rel=0.1)


@pytest.mark.parametrize("implicit", [False, True])
def test_a_motor_brakes_with_all_that_it_has(implicit):
    """Against the motion the limit is that of standstill, at any speed."""
    robot = rotor()
    sim = Simulation(robot, DT, (0, 0, 0))
    sim.set_state(v=[2 * SPEED])
    pd = PD(robot, -1e4, kp=50.0, kd=0.0, limit=LIMIT, speed=SPEED, implicit=implicit)
    log = sim.run(1.0, pd)
    np.testing.assert_allclose(log.tau, -LIMIT, rtol=0, atol=0)
    ahead = 0.5 * DT * LIMIT / INERTIA if implicit else 0.0
    expected = 2 * SPEED - LIMIT / INERTIA * log.t - ahead * (log.t > 0)
    np.testing.assert_allclose(log.v[:, 0], expected, rtol=5e-4)


@pytest.mark.parametrize("implicit", [False, True])
def test_beyond_its_speed_a_motor_gives_nothing(implicit):
    robot = rotor()
    sim = Simulation(robot, DT, (0, 0, 0))
    sim.set_state(v=[1.5 * SPEED])
    pd = PD(robot, 1e4, kp=50.0, kd=0.0, limit=LIMIT, speed=SPEED, implicit=implicit)
    log = sim.run(0.3, pd)
    np.testing.assert_array_equal(log.tau, 0.0)
    np.testing.assert_allclose(log.v, 1.5 * SPEED, rtol=1e-9)


@pytest.mark.parametrize(
    ("formulation", "options", "near"),
    [
        (Simulation, {}, 3e-9),  # as a turn vector is no chord
        (Simulation, {"solver": "ldu"}, 3e-9),
        # It is pushed about the axes of another time, which turn by 2e-3 rad in a step.
        (MinimalSimulation, {}, 1e-6),
    ],
)
def test_a_servo_damps_a_ball(formulation, options, near):
    """I (u2 - u1) = -dt kd (u2 - rate) for rates u over steps, about each axis; or as its limit."""
    ball = Joint("motor", "spherical", None, "rotor")
    robot = Mechanism("ball", (Body("rotor", 1.0, INERTIA * np.eye(3)),), (ball,))
    sim = formulation(robot, DT, (0, 0, 0), **options)
    sim.set_state(v=[0.3, -0.2, 2.0])
    kd, rate, limit = np.array([4.0, 2.0, 3.0]), np.array([0.1, 0.0, -0.1]), [10.0, 10.0, 0.5]
    log = sim.run(0.2, PD(robot, 0.0, 0.0, kd, velocity=rate, limit=limit, implicit=True))
    rates = np.array([sim.dynamics.difference(*both) / DT for both in pairwise(log.q)])
    given = np.clip(kd * (rate - rates), *np.outer((-1, 1), limit))
    np.testing.assert_allclose(log.tau[:-1], given, rtol=0, atol=1e-6)
    assert (given[:, 2] == -0.5).all()
    np.testing.assert_allclose(INERTIA * np.diff(rates, axis=0), DT * given[1:], rtol=0, atol=near)
    np.testing.assert_allclose(sim.torques, log.tau[-1], rtol=1e-9)


def test_a_servo_on_a_ball_needs_a_solver_that_knows_it():
    ball = Joint("motor", "spherical", None, "rotor")
    robot = Mechanism("ball", (Body("rotor", 1.0, INERTIA * np.eye(3)),), (ball,))
    pd = PD(robot, 0.0, 0.0, 1.0, implicit=True)
    with pytest.raises(ControllerError, match=r"'ball'.*implicit PD.*solver='ldu'"):
        Simulation(robot, DT, solver="articulated").run(DT, pd)
    batch = BatchSimulation(robot, 2, DT)
    sim = Simulation(robot, DT, solver="ldu")
    for one in (batch, sim):
        one.set_state(v=[0.3, -0.2, 2.0])
    batch.rollout(50, controller=pd)
    sim.run(50 * DT, pd)
    np.testing.assert_allclose(batch.v, [sim.v] * 2, rtol=1e-9)


@pytest.mark.parametrize("h", [1e-3, 1e-2, 1e-1])
def test_a_servo_with_a_steep_curve_is_stable(h):
    """A light rotor, whose curve is far stiffer than its inertia over a timestep."""
    light = Joint("motor", "prismatic", None, "slide", axis=(1, 0, 0))
    robot = Mechanism("light", (Body("slide", 1e-3, 1e-6 * np.eye(3)),), (light,))
    sim = Simulation(robot, h, (0, 0, 0))
    log = sim.run(20 * h, PD(robot, 1e4, 50.0, 0.0, limit=LIMIT, speed=2.0, implicit=True))
    assert log.substeps.max() == 1
    assert np.all(np.diff(log.v[:, 0]) >= -1e-9)
    assert log.v.max() <= 2.0 * (1 + 1e-9)
    assert sim.v[0] == pytest.approx(2.0, rel=1e-2)


def test_held_torques_are_those_of_python_and_of_seldom_logged_runs():
    """Without kd, too: the curve itself asks for the velocities."""
    robot, runs = rotor(damping=0.01), []
    options = {"kp": 40.0, "kd": 0.0, "limit": LIMIT, "speed": SPEED}
    for every, compiled in ((1, True), (1, False), (10, True)):
        sim, pd = Simulation(robot, DT), PD(robot, 1.0, **options)
        log = sim.run(1.0, pd if compiled else lambda sim, pd=pd: pd(sim), every=every)
        runs.append((log.tau[:: 10 // every], sim.q))
    assert np.ptp(runs[0][0]) > LIMIT
    for tau, q in runs[1:]:
        np.testing.assert_allclose(tau, runs[0][0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(q, runs[0][1], rtol=0, atol=1e-13)


def test_torques_of_the_last_step_are_read_with_the_curve():
    robot = rotor()
    sim = Simulation(robot, DT, (0, 0, 0))
    sim.set_state(v=[0.5 * SPEED])
    log = sim.run(0.02, PD(robot, 1e4, 50.0, 0.0, limit=LIMIT, speed=SPEED, implicit=True))
    assert sim.torques[0] == pytest.approx(log.tau[-1, 0], rel=1e-9)
    assert log.tau[-1, 0] == pytest.approx(0.5 * LIMIT, rel=0.1)


@pytest.mark.parametrize("implicit", [False, True])
def test_no_speed_is_the_limit_alone(implicit):
    robot = robosim.load("a1")
    stance, runs = robot.stance, []
    for speed in (None, np.inf, 1e12):
        sim = Simulation(robot, DT)
        options = {"limit": 5.0, "speed": speed, "implicit": implicit}
        runs.append(sim.run(0.05, PD(robot, stance.target, stance.kp, stance.kd, **options)))
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    np.testing.assert_array_equal(runs[0].tau, runs[1].tau)
    np.testing.assert_allclose(runs[0].q, runs[2].q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("implicit", [False, True])
def test_many_at_once(implicit):
    """Eight in a vector register, each with a speed of its own, and each as it is alone."""
    robot = robosim.load("a1")
    stance, q, speeds = robot.stance, np.array(robot.home), np.linspace(1.0, 8.0, 8)
    q[2] += 0.1
    pds = [
        PD(robot, stance.target, stance.kp, stance.kd, limit=12.0, speed=s, implicit=implicit)
        for s in speeds
    ]
    batch = BatchSimulation(robot, 8, DT)
    batch.set_state(q)
    out = batch.rollout(150, controller=pds)
    assert not out.failed.any()
    for i in (0, 4):
        sim = Simulation(robot, DT)
        sim.set_state(q)
        log = sim.run(150 * DT, pds[i])
        np.testing.assert_allclose(out.q[i, :-1], log.q, rtol=0, atol=1e-6)
        if not implicit:
            rates, tau = log.v[:, 6:], log.tau
            left = np.maximum(12.0 * (1.0 - np.abs(rates) / speeds[i]), 0.0)
            assert np.all((np.abs(tau) <= left + 1e-9) | (tau * rates <= 0.0))


def test_what_is_refused():
    robot = robosim.load("a1")
    for speed in (0.0, -1.0, np.nan, [1.0, 2.0], "x"):
        with pytest.raises(ControllerError, match="speed must be None"):
            PD(robot, 0.0, 1.0, 1.0, limit=1.0, speed=speed)
    limits = np.full(robot.nu, 2.0)
    limits[3] = np.inf
    with pytest.raises(ControllerError, match=f"motor of '{robot.actuated_names[3]}' has a speed"):
        PD(robot, 0.0, 1.0, 1.0, limit=limits, speed=5.0)
    with pytest.raises(ControllerError, match="has a speed, but no limit"):
        PD(robot, 0.0, 1.0, 1.0, speed=5.0)
