"""How a simulation in joint coordinates is used: controllers, forces, refusals, failures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from joint_lagrangian import robot_for_tests
from robots import EVERYTHING, INTEGRATORS, chain, top

import robosim
from robosim import (
    Body,
    ContactPoint,
    ControllerError,
    ConvergenceError,
    Joint,
    Mechanism,
    MinimalSimulation,
    ModelError,
    OptionError,
    PointSpring,
    StateError,
)
from robosim.controllers import PD, Compiled


def pendulum(**options: object) -> Mechanism:
    """A body of 2 kg m^2 about a vertical hinge, which gravity does not move."""
    joint = Joint("hinge", "revolute", None, "body", axis=(0.0, 0.0, 1.0), **options)  # type: ignore[arg-type]
    return Mechanism("pendulum", (Body("body", 1.0, np.diag([1.0, 1.0, 2.0])),), (joint,))


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_forces_along_a_hinge(integrator: str, order: int) -> None:
    """A spring with a damper, a rotor and a held torque: against the closed form."""
    robot = pendulum(stiffness=8.0, rest=0.2, damping=1.5, armature=0.5)
    sim = MinimalSimulation(robot, 2e-3, integrator=integrator, order=order)
    sim.set_state([0.9], [-1.0])
    sim.run(1.0, lambda sim: np.array([0.7]))
    inertia, decay = 2.5, 1.5 / 5.0
    rate = np.sqrt(8.0 / inertia - decay**2)
    away, still = 0.9 - 0.2 - 0.7 / 8.0, 0.2 + 0.7 / 8.0
    turning = (-1.0 + decay * away) / rate
    expected = still + np.exp(-decay) * (away * np.cos(rate) + turning * np.sin(rate))
    assert sim.q[0] == pytest.approx(expected, abs={2: 1e-6, 4: 1e-11, 6: 1e-12}[order])


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_wrenches_and_drag(integrator: str, order: int) -> None:
    """A body that is pushed and slowed down reaches the closed form's velocity; and turns so."""
    drag = np.diag([2.0, 2.0, 2.0, 0.1, 0.1, 0.1])
    sim = MinimalSimulation(
        top(), 2e-3, (0, 0, 0), integrator=integrator, order=order, drag={"top": drag}
    )
    sim.apply_wrench("top", (0.0, 0.0, 3.0), (0.0, 0.0, 0.2))
    sim.run(1.0)
    state, error = sim.state, {2: 1e-5, 4: 1e-10, 6: 1e-12}[order]
    np.testing.assert_allclose(
        state.v[0], [0, 0, 1.5 * (1 - np.exp(-2.0 / 1.3))], rtol=0, atol=error
    )
    np.testing.assert_allclose(
        state.omega[0], [0, 0, 2.0 * (1 - np.exp(-0.1 / 0.06))], rtol=0, atol=2 * error
    )


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_torques_of_a_free_rotation_are_in_child_axes(integrator: str, order: int) -> None:
    """A ball that is turned about its own z axis while it is tilted stays tilted."""
    ball = Body("ball", 1.0, np.diag([0.3, 0.3, 0.3]))
    robot = Mechanism("ball", (ball,), (Joint("j", "spherical", None, "ball"),))
    sim = MinimalSimulation(robot, 1e-2, integrator=integrator, order=order)
    sim.set_state([np.cos(0.4), np.sin(0.4), 0.0, 0.0])
    axis = robosim.quaternions.rotation_matrix(sim.state.q[0])[:, 2]
    sim.run(2.0, lambda sim: np.array([0.0, 0.0, 0.3]))
    np.testing.assert_allclose(sim.v, [0.0, 0.0, 2.0], rtol=0, atol=1e-10)
    turned = robosim.quaternions.rotation_matrix(sim.state.q[0])[:, 2]
    np.testing.assert_allclose(turned, axis, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_springs_and_dampers_of_a_free_rotation(integrator: str, order: int) -> None:
    """A ball turns back about whatever axis, as about a hinge: against the closed form."""
    ball = Body("ball", 1.0, np.diag([0.3, 0.3, 0.3]))
    joint = Joint("j", "spherical", None, "ball", stiffness=2.0, damping=0.2)
    sim = MinimalSimulation(
        Mechanism("ball", (ball,), (joint,)), 2e-3, integrator=integrator, order=order
    )
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    sim.set_state([np.cos(0.4), *(np.sin(0.4) * axis)])
    assert sim.energy() == pytest.approx(0.5 * 2.0 * 0.8**2, rel=1e-13)
    sim.run(1.5)
    decay = 0.2 / 0.6
    rate = np.sqrt(2.0 / 0.3 - decay**2)
    angle = 0.8 * np.exp(-decay * 1.5) * (np.cos(1.5 * rate) + decay / rate * np.sin(1.5 * rate))
    expected = [np.cos(angle / 2), *(np.sin(angle / 2) * axis)]
    np.testing.assert_allclose(sim.q, expected, rtol=0, atol={2: 3e-5, 4: 1e-9, 6: 1e-9}[order])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_springs_and_dampers_of_one_axis_of_a_free_rotation(axis: int) -> None:
    """The others have none: against the closed form of a hinge."""
    ball = Body("ball", 1.0, np.diag([0.3, 0.3, 0.3]))
    one = np.eye(3)[axis]
    damped = Joint("j", "spherical", None, "ball", damping=0.2 * one)
    sim = MinimalSimulation(Mechanism("ball", (ball,), (damped,)), 2e-3)
    sim.set_state(None, 0.6 * one)
    sim.run(1.0)
    np.testing.assert_allclose(sim.v, 0.6 * np.exp(-0.2 / 0.3) * one, rtol=0, atol=1e-6)
    sprung = Joint("j", "spherical", None, "ball", stiffness=2.0 * one)
    sim = MinimalSimulation(Mechanism("ball", (ball,), (sprung,)), 2e-3)
    sim.set_state(None, 0.6 * one)
    sim.run(1.0)
    rate = np.sqrt(2.0 / 0.3)
    np.testing.assert_allclose(sim.v, 0.6 * np.cos(rate) * one, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_controllers_agree(integrator: str, order: int) -> None:
    """A PD in the compiled loop, as a callable, and as compiled code, gives the same motion."""
    robot = chain(3, "revolute")
    gains = {"kp": 4.0, "kd": 0.5, "limit": 3.0}
    pd = PD(robot, np.array([0.3, -0.2, 0.1]), **gains)

    def law(t, q, v, tau):  # type: ignore[no-untyped-def]
        for k in range(3):
            asked = 4.0 * ((0.3, -0.2, 0.1)[k] - q[k]) - 0.5 * v[k]
            tau[k] = min(max(asked, -3.0), 3.0)

    ends = []
    for control in (pd, lambda sim: pd(sim), Compiled(robot, law)):
        sim = MinimalSimulation(robot, 5e-3, integrator=integrator, order=order)
        sim.set_state([0.5, 0.5, 0.5])
        log = sim.run(0.5, control)
        ends.append(np.concatenate((sim.q, log.tau[-1])))
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("integrator", "order"), [i for i in INTEGRATORS if i[0] != "riqn"])
def test_implicit_gains_are_stable_however_stiff(integrator: str, order: int) -> None:
    """A servo of a million N m/rad reaches its target in a step, and stays."""
    sim = MinimalSimulation(pendulum(), 1e-2, integrator=integrator, order=order)
    servo = PD(sim.robot, [0.4], 1e6, 1e3, implicit=True)
    log = sim.run(0.5, servo)
    assert sim.q[0] == pytest.approx(0.4, abs=1e-3)
    assert abs(sim.v[0]) < 1e-2
    assert np.abs(log.tau).max() > 0
    held = sim.torques
    assert np.isfinite(held).all()


def test_stiff_gains_are_not_for_riqn() -> None:
    """It does not know them, and says what does."""
    sim = MinimalSimulation(pendulum(), 1e-2, integrator="riqn")
    with pytest.raises(ConvergenceError, match="integrator='newton'"):
        sim.run(0.5, PD(sim.robot, [0.4], 1e6, 1e3, implicit=True))


def test_a_servo_damps_a_free_rotation() -> None:
    """A PD without kp is a damper of it."""
    ball = Body("ball", 1.0, np.diag([0.3, 0.3, 0.3]))
    robot = Mechanism("ball", (ball,), (Joint("j", "spherical", None, "ball"),))
    for implicit in (False, True):
        sim = MinimalSimulation(robot, 1e-3)
        sim.set_state(None, [1.0, 2.0, -1.0])
        sim.run(1.0, PD(robot, 0.0, 0.0, 0.3, implicit=implicit))
        expected = np.exp(-1.0) * np.array([1.0, 2.0, -1.0])
        np.testing.assert_allclose(sim.v, expected, rtol=0, atol=2e-3)


def test_the_a1_stands_on_nothing(a1: Mechanism) -> None:
    """Held by its gains in free fall, its joints stay, and its base falls by the book."""
    sim = MinimalSimulation(a1, 1e-3, ignore=EVERYTHING)
    before = np.array(sim.q)
    log = sim.run(0.5, "stand")
    assert sim.q[2] - before[2] == pytest.approx(-0.5 * 9.81 * 0.25, abs=1e-9)
    np.testing.assert_allclose(sim.q[7:], before[7:], rtol=0, atol=1e-6)
    assert log.gap.min() == np.inf


@pytest.mark.parametrize(
    ("robot", "options", "message"),
    [
        (lambda: pendulum(lower=[-1.0]), {}, "joint 'hinge': has limits.*ignore=\\('limits',\\)"),
        (lambda: pendulum(friction=0.1), {}, "joint 'hinge': has dry friction"),
        (lambda: pendulum(motion=np.sin), {}, "joint 'hinge': is driven along a motion"),
        (
            lambda: replace(pendulum(), contacts=(ContactPoint("tip", "body", (0.1, 0, 0)),)),
            {},
            "contact 'tip': can touch the ground",
        ),
        (
            lambda: replace(chain(2), springs=(PointSpring("cord", None, "b1", stiffness=1.0),)),
            {},
            "spring 'cord': acts between points",
        ),
        (
            lambda: replace(
                chain(2), joints=tuple(replace(j, armature=1.0) for j in chain(2).joints)
            ),
            {},
            "joint 'j0': has armature of a free rotation",
        ),
        (
            lambda: replace(pendulum(), bodies=(Body("body", 1.0, np.diag([1.0, 1.0, 0.0])),)),
            {},
            "body 'body': inertia must be positive definite",
        ),
    ],
)
def test_what_is_not_there_is_refused_by_name(
    robot: object, options: dict[str, object], message: str
) -> None:
    """Before anything runs, with what to use instead."""
    with pytest.raises(ModelError, match=message):
        MinimalSimulation(robot(), **options)  # type: ignore[operator, arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"integrator": "euler"}, "integrator must be one of riqn, newton, galerkin"),
        ({"order": 4}, "order must be 2, or with integrator='galerkin'"),
        ({"integrator": "galerkin", "order": 3}, "order must be .* even"),
        ({"guess": "luck"}, "guess must be one of position"),
        ({"timestep": 0.0}, "timestep must be a positive number"),
        ({"gravity": (0, 0)}, "gravity must be three finite numbers"),
        ({"ignore": "contacts"}, "ignore takes names"),
        ({"ignore": ("loops",)}, "ignore takes names"),
        ({"drag": {"body": np.eye(3)}}, "drag of body 'body' must be"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        MinimalSimulation(pendulum(), **options)  # type: ignore[arg-type]


def test_limits_may_be_ignored() -> None:
    """By an explicit choice, and without a warning."""
    sim = MinimalSimulation(pendulum(lower=[-0.1], upper=[0.1]), 1e-2, ignore=("limits",))
    sim.set_state(None, [1.0])
    sim.run(1.0)
    assert sim.q[0] == pytest.approx(1.0)


@pytest.mark.parametrize(("integrator", "order"), INTEGRATORS)
def test_a_step_that_fails_leaves_the_knot(integrator: str, order: int) -> None:
    """An error tells where; the state is the last good one, and goes on from there."""
    robot, q, v = robot_for_tests()
    sim = MinimalSimulation(
        robot, 0.01, integrator=integrator, order=order, max_iterations=1, guess="position"
    )
    sim.set_state(q, v, time=1.0)
    before = [sim.q, sim.v, sim.p]
    with pytest.raises(ConvergenceError) as caught:
        sim.run(0.1)
    assert caught.value.time == pytest.approx(1.0)
    assert caught.value.residual > 1e-10
    assert caught.value.body in {body.name for body in robot.bodies}
    for one, other in zip(before, (sim.q, sim.v, sim.p), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("integrator", ["newton", "riqn", "galerkin"])
def test_what_turns_too_far_is_no_motion(integrator: str) -> None:
    """On the group four radians a step look like two the other way round; charts end earlier."""
    fast = MinimalSimulation(pendulum(), 0.1, integrator=integrator)
    fast.set_state(None, [40.0])
    if integrator == "galerkin":
        fast.run(1.0)
        assert fast.q[0] == pytest.approx(40.0)
    else:
        with pytest.raises(ConvergenceError):
            fast.step()
    tumbling = MinimalSimulation(top(), 0.1, integrator=integrator)
    speed = 30.0 if integrator == "galerkin" else 20.0
    tumbling.set_state(None, [0.0, 0.0, 0.0, 0.0, speed, 0.0])
    with pytest.raises(ConvergenceError):
        tumbling.step()


@pytest.mark.parametrize("integrator", ["newton", "riqn", "galerkin"])
def test_long_chains_are_solved_to_rounding(integrator: str) -> None:
    """Of a hundred links the terms are so large that rounding is above the tolerance."""
    robot = chain(100, "revolute")
    sim = MinimalSimulation(robot, 1e-3, integrator=integrator, tolerance=1e-12)
    sim.set_state(np.full(100, 0.01))
    before = sim.energy()
    log = sim.run(0.1)
    assert log.iterations.max() <= 10
    assert sim.energy() == pytest.approx(before, rel=1e-6)


def test_what_is_no_state_is_refused() -> None:
    """Values by their names, and other simulations."""
    sim = MinimalSimulation(pendulum(), 1e-2)
    with pytest.raises(StateError, match="'hinge' is nan"):
        sim.set_state([np.nan])
    with pytest.raises(StateError, match="MinimalSimulation of the same robot"):
        sim.restore(MinimalSimulation(sim.robot, 2e-2))
    with pytest.raises(ControllerError):
        sim.step([np.nan])
    with pytest.raises(ControllerError, match="inf for 'hinge'"):
        sim.run(0.1, Compiled(sim.robot, lambda t, q, v, tau: tau.__setitem__(0, np.inf)))


def test_a_coordinate_without_inertia_is_refused() -> None:
    """A body of almost no inertia about its hinge, beside one that has it."""
    light = Body("body", 1.0, np.diag([1e-6, 1e-6, 1e-20]))
    with pytest.raises(ModelError, match="coordinate 'hinge': the mass matrix has no inverse"):
        MinimalSimulation(replace(pendulum(), bodies=(light,)))
