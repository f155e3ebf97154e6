"""How ReducedSimulation is used: closed forms, controllers, refusals, copies, the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joint_lagrangian import robot_for_tests
from typer.testing import CliRunner

import robosim
from robosim import (
    Anisotropy,
    Bearing,
    Body,
    ContactPoint,
    ControllerError,
    ConvergenceError,
    Coupling,
    Geometry,
    HalfSpace,
    Joint,
    Mechanism,
    ModelError,
    OptionError,
    PointForce,
    PointSpring,
    ReducedSimulation,
    StateError,
)
from robosim.cli import app
from robosim.controllers import PD, Compiled
from robosim.joints import SplineCurve
from robosim.log import read_log
from robosim.models.builders import double_pendulum

BOTH = ["reduced", "maximal"]


def pendulum(**options: object) -> Mechanism:
    """A body of 2 kg m^2 about a vertical hinge, which gravity does not move."""
    joint = Joint("hinge", "revolute", None, "body", axis=(0.0, 0.0, 1.0), **options)  # type: ignore[arg-type]
    return Mechanism("pendulum", (Body("body", 1.0, np.diag([1.0, 1.0, 2.0])),), (joint,))


def drag_of(n: int) -> np.ndarray:
    """Not symmetric."""
    return np.diag(np.arange(1.0, 7.0)) + 0.3 * np.eye(6, k=n)


@pytest.mark.parametrize("coordinates", BOTH)
def test_a_step_is_implicit(coordinates: str) -> None:
    """One step of a hinge with spring, damper, servo and torque: (2.79) by hand."""
    h, k, rest, d, kp, kd = 0.1, 8.0, 0.2, 1.5, 4.0, 0.5
    robot = pendulum(stiffness=k, rest=rest, damping=d)
    sim = ReducedSimulation(robot, h, coordinates=coordinates)
    sim.set_state([0.9], [-1.0])
    log = sim.run(h, PD(robot, [0.4], kp, kd, velocity=0.3, implicit=True))
    force = -k * (0.9 - rest) + kp * (0.4 - 0.9) + kd * 0.3
    v = (2.0 * -1.0 + h * force) / (2.0 + h * (d + kd) + h * h * (k + kp))
    assert sim.v[0] == pytest.approx(v, rel=1e-12)
    assert sim.q[0] == pytest.approx(0.9 + h * v, rel=1e-12)
    given = kp * (0.4 - sim.q[0]) + kd * (0.3 - v)
    assert log.tau[0, 0] == pytest.approx(given, rel=1e-12)
    assert sim.torques[0] == pytest.approx(given, rel=1e-9)
    info = sim.step([0.7])
    assert (info.order, info.substeps, info.iterations) == (1, 1, 1)
    assert info.residual < 1e-12
    w = (2.0 * v + h * (0.7 - k * (0.9 + h * v - rest))) / (2.0 + h * d + h * h * k)
    assert sim.v[0] == pytest.approx(w, rel=1e-12)


def test_adaptive_follows_the_closed_form() -> None:
    """A spring with a damper, a rotor and a held torque."""
    robot = pendulum(stiffness=8.0, rest=0.2, damping=1.5, armature=0.5)
    sim = ReducedSimulation(robot, 0.1, method="adaptive", tolerance=1e-11)
    sim.set_state([0.9], [-1.0])
    sim.run(1.0, lambda sim: np.array([0.7]))
    inertia, decay = 2.5, 1.5 / 5.0
    rate = np.sqrt(8.0 / inertia - decay**2)
    away, still = 0.9 - 0.2 - 0.7 / 8.0, 0.2 + 0.7 / 8.0
    turning = (-1.0 + decay * away) / rate
    expected = still + np.exp(-decay) * (away * np.cos(rate) + turning * np.sin(rate))
    assert sim.q[0] == pytest.approx(expected, abs=1e-10)


def test_a_servo_gives_no_more_than_its_motor() -> None:
    """A step beyond the limit is that of a held torque of this size."""
    robot = pendulum()
    sims = [ReducedSimulation(robot, 0.1) for _ in range(2)]
    log = sims[0].run(0.1, PD(robot, [1.0], 1e4, 1e2, limit=3.0, implicit=True))
    sims[1].step([3.0])
    np.testing.assert_allclose(sims[0].v, sims[1].v, rtol=1e-12)
    assert log.tau[0, 0] == pytest.approx(3.0)


@pytest.mark.parametrize("coordinates", BOTH)
def test_wrenches_and_drag(coordinates: str) -> None:
    """Of a free body, in one step: what of drag is not symmetric acts by the wrench it has."""
    body = Body("body", 1.3, np.diag([0.2, 0.5, 0.6]))
    robot = Mechanism("free", (body,), (Joint("base", "floating", None, "body"),))
    h, M = 0.05, np.diag([1.3, 1.3, 1.3, 0.2, 0.5, 0.6])
    D = drag_of(1)
    sim = ReducedSimulation(robot, h, (0, 0, 0), coordinates=coordinates, drag={"body": D})
    # About a principal axis, so that nothing else turns it.
    twist = np.array([0.5, 0, 0, 0, 0, 0])
    sim.set_state(None, twist)
    sim.apply_wrench("body", (0.0, 0.2, 3.0), (0.0, 0.1, 0.2))
    sim.step()
    even, odd = 0.5 * (D + D.T), 0.5 * (D - D.T)
    wrench = np.array([0, 0.2, 3.0, 0, 0.1, 0.2]) - odd @ twist
    expected = np.linalg.solve(M + h * even, M @ twist + h * wrench)
    state = sim.state
    # In maximal coordinates the velocity is kept in body axes; in reduced ones, in world axes.
    R = robosim.quaternions.rotation_matrix(state.q[0]) if coordinates == "maximal" else np.eye(3)
    found = np.concatenate((R.T @ state.v[0], state.omega[0]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_controllers_agree() -> None:
    """A PD, the same as a callable, and one that numba compiles give the same motion."""
    robot = double_pendulum()
    pd = PD(robot, np.array([0.3, -0.2]), 4.0, 0.5, limit=3.0)
    ends = []
    for control in (pd, lambda sim: pd(sim)):
        sim = ReducedSimulation(robot, 5e-3)
        sim.set_state([0.5, 0.5])
        log = sim.run(0.1, control, every=2)
        assert log.q.shape == (10, 2)
        ends.append(np.concatenate((sim.q, log.tau[-1])))
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-13)
    compiled = Compiled(robot, lambda t, q, v, tau: None)
    with pytest.raises(ControllerError, match="does not accept compiled controllers"):
        ReducedSimulation(robot).run(0.1, compiled)
    with pytest.raises(ControllerError, match="implicit PD is part of a step of method='euler'"):
        ReducedSimulation(robot, method="adaptive").run(
            0.1, PD(robot, [0.3, 0.2], 4.0, 0.5, implicit=True)
        )


@pytest.mark.parametrize("coordinates", BOTH)
def test_momentum_of_a_free_mechanism(coordinates: str) -> None:
    """Energy and momentum at a start are those of Simulation."""
    robot, q, v = robot_for_tests(free=True)
    robot = replace(robot, joints=tuple(replace(j, armature=0.0) for j in robot.joints))
    sim = ReducedSimulation(robot, 1e-3, coordinates=coordinates)
    sim.set_state(q, v)
    minimal = robosim.MinimalSimulation(robot, 1e-3)
    minimal.set_state(q, v)
    assert sim.energy() == pytest.approx(minimal.energy(), rel=1e-12)
    for one, other in zip(sim.momentum(), minimal.momentum(), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-11)
    for name in ("x", "v", "omega"):
        mine, theirs = (getattr(s.state, name) for s in (sim, minimal))
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-11)
    assert sim.frame_velocity(robot.bodies[2].frames[0].name).shape == (6,)


@pytest.mark.parametrize(
    "method", [("euler", "reduced"), ("euler", "maximal"), ("adaptive", "reduced")]
)
def test_a_copy_takes_the_same_steps(method: tuple[str, str]) -> None:
    """To the last bit, and `restore` goes back."""
    robot = double_pendulum()
    sim = ReducedSimulation(robot, 1e-2, method=method[0], coordinates=method[1])
    sim.set_state([0.4, 1.0], [0.1, -0.2], time=2.0)
    sim.apply_wrench(robot.bodies[1].name, (0.1, 0.2, 0.3))
    sim.run(0.03)
    other = sim.copy()
    sim.run(0.05)
    other.run(0.05)
    np.testing.assert_array_equal(sim.q, other.q)
    np.testing.assert_array_equal(sim.v, other.v)
    other.run(0.02)
    other.restore(sim)
    assert other.time == sim.time == pytest.approx(2.08)
    np.testing.assert_array_equal(other.state.x, sim.state.x)
    with pytest.raises(StateError, match="with the same timestep, gravity and options"):
        other.restore(ReducedSimulation(robot, 2e-2))


def test_starts_are_closed() -> None:
    """Loops and couplings, by the coordinates that are not held."""
    links = [Body(f"b{i}", 1.0, 0.1 * np.eye(3)) for i in range(3)]
    joints = [
        Joint(
            f"j{i}", "revolute", None if i == 0 else f"b{i - 1}", f"b{i}", axis=(0, 1, 0),
            parent_position=(0, 0, 0) if i == 0 else (0.5, 0, 0), child_position=(-0.5, 0, 0),
        )
        for i in range(3)
    ]  # fmt: skip
    loop = Joint("loop", "revolute", None, "b2", axis=(0, 1, 0), parent_position=(1.5, 0, 0.1),
                 child_position=(0.5, 0, 0), actuated=False)  # fmt: skip
    robot = Mechanism("four bar", tuple(links), (*joints, loop))
    sim = ReducedSimulation(robot, 1e-3, baumgarte=20.0)
    sim.set_state([0.9, 0.3, 0.7], [1.0, 0.0, 0.0], hold=("j0",))
    assert sim.q[0] == 0.9
    assert sim.v[0] == 1.0
    assert sim.constraint_violation() < 1e-11
    sim.run(0.05)
    assert sim.constraint_violation() < 1e-3
    with pytest.raises(StateError, match="are left open by"):
        sim.set_state([0.9, 0.3, 0.7], hold=("j0", "j1", "j2"))
    geared = replace(double_pendulum(), couplings=(Coupling("g", "joint2", "joint1", -2.0, 0.1),))
    sim = ReducedSimulation(geared, 1e-3)
    sim.set_state([0.3, 0.0], [1.0, 0.0], hold=("joint1",))
    np.testing.assert_allclose(sim.q, [0.3, -0.5], atol=1e-12)
    sim.run(0.1)
    assert sim.q[1] == pytest.approx(-2.0 * sim.q[0] + 0.1, abs=1e-12)


@pytest.mark.parametrize("hold", [(), ("crank",)])
def test_links_that_are_drawn_in_a_line_start_closed(hold: tuple[str, ...]) -> None:
    """As a file without a home has them: no small motion begins to close the loop."""
    lengths, at = (0.3, 0.8, 0.6), np.zeros(3)
    bodies, joints = [], []
    for k, (name, length) in enumerate(zip(("crank", "coupler", "rocker"), lengths, strict=True)):
        moments = np.array([1e-4, length**2 / 12, length**2 / 12])
        bodies.append(Body(name, 1.0, np.diag(moments)))
        end = np.array([-0.5 * length, 0.0, 0.0])
        parent = bodies[k - 1].name if k else None
        joints.append(Joint(name, "revolute", parent, name, (0, 1, 0), at, end))
        at = -end
    pin = Joint("pin", "revolute", None, "rocker", (0, 1, 0), (0.7, 0, 0), at, actuated=False)
    robot = Mechanism("four bar", tuple(bodies), (*joints, pin))
    sim = ReducedSimulation(robot, 1e-3)
    assert sim.constraint_violation() < 1e-9
    sim.set_state(np.zeros(3), [2.0, 0.0, 0.0], hold=hold)
    assert sim.constraint_violation() < 1e-9
    if hold:
        assert sim.q[0] == 0.0
        assert sim.v[0] == 2.0
    # Of a Simulation that is put there, nothing moves.
    whole = robosim.Simulation(robot, 1e-3)
    whole.set_state(sim.q, sim.v)
    np.testing.assert_allclose(whole.q, sim.q, atol=1e-8)
    np.testing.assert_allclose(whole.v, sim.v, atol=1e-8)


def test_gears_that_are_too_many_are_constraints() -> None:
    """A ring of couplings that agree moves as one of them."""
    ring = (Coupling("g", "joint2", "joint1", -2.0), Coupling("h", "joint1", "joint2", -0.5))
    ends = []
    for couplings in (ring[:1], ring):
        sim = ReducedSimulation(replace(double_pendulum(), couplings=couplings), 1e-2)
        sim.set_state([0.3, -0.6])
        sim.run(0.2)
        ends.append(sim.q)
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-10)


def test_limits_may_be_ignored() -> None:
    """But not the ends of a spline, beyond which there is nothing."""
    sims = [
        ReducedSimulation(pendulum(lower=[-0.1], upper=[0.1]), 1e-2, ignore=ignored)
        for ignored in ((), ("limits",))
    ]
    for sim, expected in zip(sims, (0.1, 1.0), strict=True):
        sim.set_state(None, [1.0])
        sim.run(1.0)
        # A limit acts from the knot on that is beyond it, by a step at most.
        assert expected - 1e-9 <= sim.q[0] <= expected + 0.01 + 1e-9
    line = SplineCurve([(x, 0, 0, 1, 0, 0, 0) for x in range(5)])
    body = Body("b", 1.0, np.eye(3))
    spline = Mechanism("s", (body,), (Joint("j", "spline", None, "b", chart=line),))
    sim = ReducedSimulation(spline, 1e-2, ignore=("limits",))
    sim.set_state([1.5], [1.0])
    sim.run(1.0)
    assert 2.0 <= sim.q[0] <= 2.01 + 1e-9
    free = ReducedSimulation(spline, 0.1, method="adaptive")
    free.set_state([1.5], [1.0])
    with pytest.raises(ConvergenceError, match="joint 'j' reaches the end of its spline"):
        free.run(1.0)


BALL = Geometry("sphere", (0.1,))


@pytest.mark.parametrize(
    ("robot", "options", "message"),
    [
        (lambda: pendulum(friction=0.1), {}, "joint 'hinge': has dry friction.*ignore"),
        (
            lambda: pendulum(lower=[-1.0]),
            {"method": "adaptive"},
            "joint 'hinge': has limits, which ReducedSimulation\\(method='adaptive'\\)",
        ),
        (
            lambda: replace(pendulum(), contacts=(ContactPoint("tip", "body", (0.1, 0, 0)),)),
            {},
            "contact 'tip': can touch the ground.*contacts='single' or 'staggered'.*ignore",
        ),
        *(
            (
                lambda own=own: replace(
                    pendulum(), contacts=(ContactPoint("tip", "body", (0.1, 0, 0), **own),)
                ),
                {"contacts": "staggered"},
                f"contact 'tip': {told}, which the reduced formulation does not have",
            )
            for own, told in (
                ({"restitution": 0.5}, "has restitution"),
                ({"torsional_friction": 0.1}, "has torsional friction"),
                ({"rolling_friction": 0.1}, "has rolling friction"),
                ({"anisotropy": Anisotropy((1, 0, 0), 0.5)}, "has friction by direction"),
                ({"surface_velocity": (1, 0, 0)}, "has a surface that moves by itself"),
                ({"surface_spin": (1, 0, 0)}, "has a surface that moves by itself"),
            )
        ),
        *(
            (
                lambda: pendulum(bearing=Bearing(0.1, 0.1, 0.1)),
                options,
                "joint 'hinge': has a bearing, which ReducedSimulation.*ignore=.'friction'",
            )
            for options in ({"method": "adaptive"}, {"coordinates": "maximal"})
        ),
        (
            lambda: replace(
                double_pendulum(),
                bodies=(
                    replace(double_pendulum().bodies[0], carrier=True),
                    double_pendulum().bodies[1],
                ),
                joints=tuple(
                    replace(joint, bearing=Bearing(0.1, 0.1, 0.1))
                    for joint in double_pendulum().joints
                ),
            ),
            {},
            "body .*: has no mass, by which a bearing's load is found",
        ),
        (
            lambda: replace(
                pendulum(),
                bodies=(replace(pendulum().bodies[0], collisions=(BALL,)),),
                obstacles=(HalfSpace(),),
            ),
            {},
            "body 'body': can touch an obstacle.*choose contacts='single' or 'staggered'",
        ),
        (
            lambda: replace(
                double_pendulum(),
                bodies=tuple(replace(b, collisions=(BALL,)) for b in double_pendulum().bodies),
                contact_pairs=(
                    (double_pendulum().bodies[0].name, double_pendulum().bodies[1].name),
                ),
            ),
            {},
            "can touch body",
        ),
        (
            lambda: pendulum(armature=0.1),
            {"coordinates": "maximal"},
            "joint 'hinge': has armature, which coordinates='maximal'",
        ),
        (
            lambda: Mechanism(
                "ball",
                (Body("b", 1.0, np.eye(3)),),
                (Joint("j", "spherical", None, "b", armature=0.1),),
            ),
            {},
            "joint 'j': has armature of a free rotation",
        ),
        (
            lambda: replace(pendulum(), bodies=(Body("body", 1.0, np.diag([1.0, 1.0, 0.0])),)),
            {},
            "body 'body': inertia must be positive definite",
        ),
    ],
)
def test_what_is_not_there_is_refused_by_name(
    robot: Any, options: dict[str, Any], message: str
) -> None:
    """Before anything runs, with what to use instead."""
    with pytest.raises(ModelError, match=message):
        ReducedSimulation(robot(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rk4"}, "method must be one of euler, adaptive, not 'rk4'"),
        ({"coordinates": "joint"}, "coordinates must be one of reduced, maximal"),
        ({"coordinates": "maximal", "method": "adaptive"}, "is for method='euler'"),
        ({"contacts": "soft"}, "contacts must be single, staggered or None, not 'soft'"),
        ({"contacts": "single", "method": "adaptive"}, "contacts='single' is for method='euler'"),
        (
            {"contacts": "single", "ignore": ("contacts",)},
            r"contacts='single' and ignore=\('contacts',\) exclude each other",
        ),
        ({"baumgarte": -1.0}, "baumgarte must be a positive number"),
        ({"timestep": 0.0}, "timestep must be a positive number"),
        ({"tolerance": np.nan}, "tolerance must be a positive number"),
        ({"tolerance": 1e-15}, "tolerance must be at least 1e-13"),
        ({"gravity": (0, 0)}, "gravity must be three finite numbers"),
        ({"ignore": "contacts"}, "ignore takes names"),
        ({"ignore": ("lanes",)}, "ignore takes names"),
        ({"drag": {"body": np.eye(3)}}, "drag of body 'body' must be"),
        ({"forces": ("pull",)}, "forces must be PointForce"),
        ({"explicit": ("spring",)}, "explicit takes names of springs and forces"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ReducedSimulation(pendulum(), **options)


def test_friction_may_be_ignored() -> None:
    """Bearings too; and what is of another option is no state to go to."""
    robot = pendulum(bearing=Bearing(0.1, 0.1, 0.1))
    sim = ReducedSimulation(robot, 1e-2, ignore=("friction",))
    sim.set_state(None, [1.0])
    sim.run(0.1)
    assert sim.v[0] == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(StateError, match="gravity and options"):
        sim.restore(ReducedSimulation(robot, 1e-2))


def test_copies_have_their_friction() -> None:
    """A copy goes on from the same impulses of friction, to the last bit; a start has none."""
    robot = replace(
        double_pendulum(),
        joints=tuple(
            replace(joint, bearing=Bearing(0.3, 0.05, 0.1)) for joint in double_pendulum().joints
        ),
    )
    sim = ReducedSimulation(robot, 1e-3, tolerance=1e-2)
    sim.set_state([0.4, 1.0], [1.0, -2.0])
    sim.run(0.02)
    other = sim.copy()
    fresh = ReducedSimulation(robot, 1e-3, tolerance=1e-2)
    fresh.set_state(sim.q, sim.v)
    for one in (sim, other, fresh):
        one.step()
    np.testing.assert_array_equal(sim.v, other.v)
    assert np.any(sim.v != fresh.v)
    np.testing.assert_allclose(sim.v, fresh.v, rtol=1e-3)


def test_derivatives_and_other_readings_are_refused() -> None:
    """With what there is instead."""
    sim = ReducedSimulation(pendulum(), 1e-2)
    with pytest.raises(OptionError, match="linearize takes a Simulation, a MinimalSimulation"):
        robosim.linearize(sim)
    with pytest.raises(OptionError, match="ReducedSimulation has no joint wrenches"):
        sim.run(0.1, also="joint_wrenches")
    assert sim.run(0.1, also="frames").q.shape == (10, 1)


def test_lanes_and_other_robots_are_refused() -> None:
    """By names that this formulation does not take."""
    with pytest.raises(TypeError, match="lanes"):
        ReducedSimulation(pendulum(), lanes=True)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match="robot must be a Mechanism"):
        ReducedSimulation("a1")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="no body or frame 'elbow'"):
        ReducedSimulation(pendulum(), forces=[PointForce("pull", "elbow")])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"direction": (0, 0, 0)}, "force 'pull': direction must not be zero"),
        ({"size": np.inf}, "force 'pull': size must be finite"),
        ({"point": (0, 0)}, "force 'pull': point must have shape"),
    ],
)
def test_a_wrong_point_force(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        PointForce("pull", "body", **fields)


def test_what_is_driven_is_checked() -> None:
    """Bodies by velocities alone, along different components."""
    sim = ReducedSimulation(double_pendulum(), 1e-2)
    name = sim.robot.bodies[1].name
    with pytest.raises(OptionError, match="components must be different indices 0 to 5"):
        sim.drive_body(name, lambda t: np.zeros(6), (4, 4))
    adaptive = ReducedSimulation(double_pendulum(), 1e-2, method="adaptive")
    with pytest.raises(OptionError, match="drive_body is for method='euler'"):
        adaptive.drive_body(name, lambda t: np.zeros(6), (4,))


class Wrong:
    """A motion whose own rate is none."""

    def __call__(self, t: float) -> float:
        return t

    def rate(self, t: float) -> tuple[float, float]:
        """Two numbers of one."""
        return 1.0, 2.0


def test_the_rates_of_motions() -> None:
    """Their own, or by differences; refused by name where they are none."""
    sim = ReducedSimulation(pendulum(motion=np.sin), 1e-2, baumgarte=5.0)
    sim.step()
    assert sim.v[0] == pytest.approx(np.cos(0.01) + 5.0 * np.sin(0.01), abs=1e-10)
    with pytest.raises(StateError, match="the rate of the motion of joint 'hinge' must be 1"):
        ReducedSimulation(pendulum(motion=Wrong()), 1e-2)


def test_a_step_that_fails_leaves_the_knot() -> None:
    """A spring under great pressure makes the matrix indefinite; a smaller step has an answer."""
    robot = replace(
        pendulum(),
        springs=(
            PointSpring("strut", None, "body", (0.5, 0, 0), (0.1, 0, 0), 1e5, rest_length=30.0),
        ),
    )
    for coordinates in BOTH:
        sim = ReducedSimulation(robot, 0.5, coordinates=coordinates)
        sim.set_state([0.1], time=1.0)
        with pytest.raises(ConvergenceError, match=r"indefinite.*smaller timestep") as caught:
            sim.run(1.0)
        assert caught.value.time == 1.0
        np.testing.assert_array_equal(sim.q, [0.1])
        small = ReducedSimulation(robot, 1e-5, coordinates=coordinates)
        small.set_state([0.1])
        small.step()
        assert small.v[0] > 0.0


def test_a_coordinate_without_inertia_is_refused() -> None:
    light = Body("body", 1.0, np.diag([1e-6, 1e-6, 1e-20]))
    with pytest.raises(ModelError, match="coordinate 'hinge': the mass matrix has no inverse"):
        ReducedSimulation(replace(pendulum(), bodies=(light,)))


def test_the_a1_falls_as_in_the_shell(tmp_path: Path) -> None:
    """Contacts are left out by name; the log and the viewer's page are as of other formulations."""
    log, page = tmp_path / "run.npz", tmp_path / "run.html"
    args = ("simulate", "a1", "--formulation", "reduced", "--seconds", "0.02", "--json")
    refused = CliRunner().invoke(app, args)
    assert refused.exit_code == 1
    assert "can touch the ground" in refused.stderr
    told = CliRunner().invoke(
        app,
        [*args, "--ignore", "contacts", "--ignore", "friction", "--controller", "stand",
         "--log", str(log), "--record", str(page)],
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    outcome = json.loads(told.stdout)
    found = read_log(log)
    assert found.q.shape[0] == outcome["steps"] == 20
    fallen = found.q[-1, 2] - found.q[0, 2]
    assert fallen == pytest.approx(-0.5 * 9.81 * 0.019 * 0.02, rel=1e-9)
    assert page.stat().st_size > 10_000
    standing = [*args, "--contacts", "staggered", "--ignore", "friction", "--controller", "stand",
                "--seconds", "0.1", "--timestep", "0.002"]  # fmt: skip
    stands = CliRunner().invoke(app, [*standing, "--log", str(log)])
    assert stands.exit_code == 0, stands.output
    found = read_log(log)
    assert found.q[0, 2] - found.q[-1, 2] < 0.3 * 0.5 * 9.81 * 0.1**2
    other = CliRunner().invoke(app, [*standing, "--formulation", "maximal"])
    assert "--contacts is for --formulation reduced" in other.stderr
    wrong = CliRunner().invoke(app, [*args, "--order", "4"])
    assert "--order is for --formulation maximal or galerkin" in wrong.stderr
