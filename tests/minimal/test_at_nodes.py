"""Torques u(t, q, v) at control points: as springs and dampers are, with the integrator's order."""

import math
from dataclasses import replace

import numpy as np
import pytest

from robosim import MinimalSimulation, Simulation
from robosim.controllers import PD, AtNodes
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError
from robosim.models.builders import chain

Q, V, SECONDS = (0.5, -0.3, 0.8), (0.2, 0.1, -0.4), 0.4
TARGET = (0.3, -0.2, 0.5)


def sine(t, q, v, tau):  # type: ignore[no-untyped-def]
    tau[0] = 2 * math.sin(7 * t)
    tau[1] = math.cos(5 * t)
    tau[2] = 0.3 * math.sin(9 * t)


def coupled(t, q, v, tau):  # type: ignore[no-untyped-def]
    tau[0] = 2 * math.sin(7 * t) - 3 * q[1] - 0.4 * v[2]
    tau[1] = math.cos(5 * t) * q[0] - 0.2 * v[1]
    tau[2] = -q[0] * q[1] * 2


def moved(robot: Mechanism, law: object, integrator: str, order: int, steps: int) -> np.ndarray:
    sim = MinimalSimulation(
        robot, SECONDS / steps, integrator=integrator, order=order, tolerance=1e-13
    )
    sim.set_state(Q, V)
    sim.run(SECONDS, law)
    return np.array(sim.q)


@pytest.mark.parametrize("name", ["sine", "coupled", "pd"])
def test_orders_are_those_of_the_integrator(name: str) -> None:
    robot = chain(3)
    laws = {"sine": sine, "coupled": coupled, "pd": PD(robot, TARGET, kp=8.0, kd=0.5)}
    law = AtNodes(robot, laws[name])
    right = moved(robot, law, "galerkin", 8, 128)
    for integrator, order in (("newton", 2), ("riqn", 2), ("galerkin", 4), ("galerkin", 6)):
        first, second = (
            np.abs(moved(robot, law, integrator, order, steps) - right).max() for steps in (16, 32)
        )
        assert math.log2(first / second) > order - 0.25, integrator
    if name == "sine":  # held over each step, it is of first order
        first, second = (
            np.abs(moved(robot, law._compiled, "galerkin", 4, steps) - right).max()
            for steps in (16, 32)
        )
        assert math.log2(first / second) < 1.3


@pytest.mark.parametrize(("integrator", "order"), [("newton", 2), ("riqn", 2), ("galerkin", 4)])
def test_pd_is_a_spring_and_a_damper(integrator: str, order: int) -> None:
    robot = chain(3)
    joints = tuple(
        replace(joint, stiffness=8.0, damping=0.5, rest=target)
        for joint, target in zip(robot.joints, TARGET, strict=True)
    )
    sprung = replace(robot, joints=joints)
    law = AtNodes(robot, PD(robot, TARGET, kp=8.0, kd=0.5))
    ours, theirs = (
        moved(robot, law, integrator, order, 40),
        moved(sprung, None, integrator, order, 40),
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-11)


@pytest.mark.parametrize(("integrator", "order"), [("newton", 2), ("galerkin", 4)])
def test_rates_of_ball_joints_are_those_of_their_dampers(integrator: str, order: int) -> None:
    robot = chain(2, "spherical")
    damped = replace(robot, joints=tuple(replace(joint, damping=0.3) for joint in robot.joints))

    def damp(t, q, v, tau):  # type: ignore[no-untyped-def]
        for k in range(6):
            tau[k] = -0.3 * v[k]

    ends = []
    for one, law in ((robot, AtNodes(robot, damp)), (damped, None)):
        sim = MinimalSimulation(one, 5e-3, integrator=integrator, order=order, tolerance=1e-13)
        sim.set_state(None, (0.5, 1.0, -0.7, 1.2, -0.4, 0.9))
        sim.run(0.4, law)
        ends.append(np.concatenate((sim.q, sim.v)))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-10)


def test_limits_of_motors_hold_at_control_points() -> None:
    robot = chain(3)
    law = AtNodes(robot, PD(robot, TARGET, kp=30.0, kd=0.5, limit=1.5, speed=20.0))
    sim = MinimalSimulation(robot, 1e-3, integrator="galerkin", order=4)
    sim.set_state(Q, V)
    log = sim.run(0.2, law)
    assert 1.3 < np.abs(log.tau).max() <= 1.5


def test_runs_may_be_divided_and_logs_have_means() -> None:
    robot, ends = chain(3), []
    for parts in (1, 2):
        sim = MinimalSimulation(robot, 0.01, integrator="galerkin", order=4)
        sim.set_state(Q, V)
        for _ in range(parts):
            log = sim.run(SECONDS / parts, AtNodes(robot, sine))
        ends.append(sim.q)
    np.testing.assert_allclose(*ends, atol=1e-13)
    middle = log.t + 0.005
    smooth = 2 * np.sin(7 * middle) * np.sin(0.035) / 0.035  # the mean over a step
    np.testing.assert_allclose(log.tau[:, 0], smooth, atol=1e-6)
    # The law has ended with the run.
    other = sim.copy()
    sim.run(0.02)
    other.run(0.02, PD(robot, TARGET, kp=0.0, kd=0.0))
    np.testing.assert_array_equal(sim.q, other.q)


def test_other_simulations_refuse() -> None:
    robot = chain(3)
    law = AtNodes(robot, sine)
    with pytest.raises(ControllerError, match="acts within steps of MinimalSimulation"):
        Simulation(robot).run(0.01, law)
    with pytest.raises(ControllerError, match="constant targets"):
        AtNodes(robot, PD(robot, lambda t: np.zeros((len(t), 3)), kp=1.0, kd=0.0))
    with pytest.raises(ControllerError, match="cannot be compiled"):
        AtNodes(robot, lambda t, q: None)
    assert "sine" in repr(law)
