"""Free fall, generalized forces and single joints, against motions written down by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import multiply, random_body, random_joint, random_quaternion

from robosim import Body, ContactPoint, Joint, Mechanism, Simulation
from robosim.joints import KINDS
from robosim.models.builders import chain, free_body, pendulum
from robosim.quaternions import from_axis_angle, rotation_matrix
from robosim.sensors import Place, Sensor

GRAVITY = np.array([0.0, 0.0, -9.81])
DT = 0.01


def held(tau: np.ndarray) -> Callable[[Simulation], np.ndarray]:
    return lambda sim: tau


def single(kind: str, seed: int = 0, centred: bool = False) -> Mechanism:
    """One random body on a random joint to the world, at its centre of mass if `centred`."""
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, "j", kind, None, "b")
    if centred:
        joint = Joint("j", kind, None, "b", joint.axis, joint.parent_position, offset=joint.offset)
    return Mechanism("single", (random_body(rng, "b"),), (joint,))


@pytest.mark.parametrize("dt", [1e-3, 0.1])
def test_projectile(dt):
    """Exact at any timestep: the force is constant."""
    v0 = np.array([2.0, -1.0, 5.0, 0.0, 0.0, 0.0])
    sim = Simulation(free_body(), dt)
    sim.set_state(None, v0)
    log = sim.run(2.0)
    t = log.t[:, None]
    # Rounding of 2000 sums of numbers up to 10.
    np.testing.assert_allclose(log.q[:, :3], v0[:3] * t + GRAVITY / 2 * t**2, rtol=0, atol=1e-11)
    np.testing.assert_allclose(log.v[:, :3], v0[:3] + GRAVITY * t, rtol=0, atol=1e-11)
    # What rounding leaves of the equations is momentum that flies along, and has a moment.
    np.testing.assert_allclose(log.q[:, 3:], np.tile([1.0, 0, 0, 0], (len(t), 1)), atol=1e-14)


@pytest.mark.parametrize("kind", ["prismatic", "planar_fixed_orientation", "fixed_orientation"])
def test_sliding_joints_fall_along_their_directions(kind):
    """q'' = C^T R_J^T g without rotation, exactly, wherever the centre of mass is."""
    robot = single(kind)
    joint = robot.joints[0]
    rng = np.random.default_rng(1)
    q0, v0 = rng.normal(size=joint.nv), rng.normal(size=joint.nv)
    sim = Simulation(robot, DT)
    sim.set_state(q0, v0)
    log = sim.run(1.0)
    a = joint.C_T.T @ rotation_matrix(joint.offset).T @ GRAVITY
    t = log.t[:, None]
    np.testing.assert_allclose(log.q, q0 + v0 * t + a * t**2 / 2, rtol=0, atol=1e-11)
    np.testing.assert_allclose(log.v, v0 + a * t, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", ["cylindrical", "planar", "axis_rotation"])
def test_sliding_and_turning_joints_at_the_centre_of_mass(kind):
    """Translations fall as a point does, and a steady turn goes on as it was started."""
    robot = single(kind, centred=True)
    joint = robot.joints[0]
    rng = np.random.default_rng(2)
    q0, v0 = rng.normal(size=joint.nv), rng.normal(size=joint.nv)
    sim = Simulation(robot, DT)
    sim.set_state(q0, v0)
    log = sim.run(1.0)
    a = np.append(joint.C_T.T @ rotation_matrix(joint.offset).T @ GRAVITY, 0.0)
    t = log.t[:, None]
    # A step may leave a residual of 1e-8 m/s, of which Newton's last iteration leaves little.
    np.testing.assert_allclose(log.q, q0 + v0 * t + a * t**2 / 2, rtol=0, atol=1e-9)
    np.testing.assert_allclose(log.v, v0 + a * t, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["spherical", "cylindrical_free_orientation"])
def test_a_ball_at_the_centre_of_mass_spins_freely(kind):
    """The angular momentum stays, whatever the body's moments are and however the joint slides."""
    robot = single(kind, centred=True)
    rng = np.random.default_rng(3)
    q0 = np.concatenate((rng.normal(size=robot.nq - 4), random_quaternion(rng)))
    sim = Simulation(robot, DT)
    sim.set_state(q0, rng.normal(size=robot.nv))

    def spin() -> np.ndarray:
        linear, angular = sim.momentum()
        return angular - np.cross(sim.state.x[0], linear)

    before = spin()
    sim.run(1.0)
    np.testing.assert_allclose(spin(), before, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_at_rest_stay(kind):
    """No force, no motion: not even rounding, over all joint kinds."""
    robot = single(kind)
    sim = Simulation(robot, DT, gravity=(0, 0, 0))
    before = sim.q
    sim.run(0.1)
    np.testing.assert_allclose(sim.q, before, rtol=0, atol=1e-15)


def test_constant_torque_on_a_hinge():
    """The momentum I sin(q' dt) / dt is tau t exactly, and q = tau t^2 / (2 I) to 2nd order."""
    tau, inertia = 2.0, 1.0 / 3
    errors = []
    for dt in (0.01, 0.005, 0.0025):
        sim = Simulation(pendulum(), dt, gravity=(0, 0, 0))
        log = sim.run(1.0, held(np.array([tau])))
        errors.append(np.abs(log.q[:, 0] - tau / inertia * log.t**2 / 2).max())
        shown = np.sin(log.v[:, 0] * dt) / dt
        np.testing.assert_allclose(shown, tau / inertia * log.t, rtol=0, atol=1e-9)
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2.0, abs=0.1)


def test_a_motor_that_holds_against_gravity_holds_still():
    """tau = m g l / 2 sin(q): a statically balanced hinge does not move, and reads no velocity."""
    sim = Simulation(pendulum(), DT)
    sim.set_state([0.7])
    for _ in range(100):
        sim.step([9.81 / 2 * np.sin(0.7)])
    assert sim.q[0] == pytest.approx(0.7, abs=1e-10)
    assert sim.v[0] == pytest.approx(0.0, abs=1e-9)


def test_a_force_along_a_slide():
    """q'' = F / m, exactly, and the velocity read under the force is the motion's."""
    robot = Mechanism(
        "slide",
        (Body("cart", 2.0, np.eye(3) * 0.1),),
        (Joint("rail", "prismatic", None, "cart", axis=(1, 0, 0)),),
    )
    sim = Simulation(robot, DT)
    log = sim.run(1.0, held(np.array([3.0])))
    np.testing.assert_allclose(log.q[:, 0], 1.5 * log.t**2 / 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(log.v[:, 0], 1.5 * log.t, rtol=0, atol=1e-12)


def test_internal_torques_leave_the_momentum():
    """A motor between two floating bodies turns them against each other."""
    rng = np.random.default_rng(4)
    robot = Mechanism(
        "two",
        (random_body(rng, "a"), random_body(rng, "b")),
        (
            Joint("base", "floating", None, "a"),
            random_joint(rng, "motor", "revolute", "a", "b"),
        ),
    )
    sim = Simulation(robot, DT, gravity=(0, 0, 0))
    sim.run(1.0, held(np.array([0.01])))
    assert abs(sim.v[6]) > 0.01
    np.testing.assert_allclose(np.concatenate(sim.momentum()), 0, atol=1e-13)


def floating_body(seed: int = 5) -> Mechanism:
    """A body whose link frame, where the base's force acts, is away from its centre of mass."""
    rng = np.random.default_rng(seed)
    body = random_body(rng, "b")
    base = Joint("base", "floating", None, "b", child_position=body.reference_position)
    return Mechanism("body", (body,), (base,))


def test_generalized_force_on_a_floating_base():
    """World force at the frame's origin: momentum grows by F t and by its moment, exactly."""
    robot = floating_body()
    sim = Simulation(robot, DT)
    rng = np.random.default_rng(6)
    sim.set_state(None, rng.normal(size=6))
    force = np.array([3.0, -2.0, 20.0])
    linear, angular = sim.momentum()
    for _ in range(100):
        point, centre = sim.q[:3], sim.state.x[0].copy()
        sim.step(np.append(force, np.zeros(3)))
        # Half of the step's impulses at either knot.
        linear += DT * (force + robot.total_mass * GRAVITY)
        points, centres = (point + sim.q[:3]) / 2, (centre + sim.state.x[0]) / 2
        angular += DT * np.cross(points, force)
        angular += DT * np.cross(centres, robot.total_mass * GRAVITY)
    np.testing.assert_allclose(sim.momentum()[0], linear, rtol=0, atol=1e-11)
    np.testing.assert_allclose(sim.momentum()[1], angular, rtol=0, atol=1e-11)


def test_a_wrench_pushes_where_it_is_applied():
    """Momentum grows by F t, and about the centre of mass by the moment of F and the torque."""
    robot = floating_body()
    sim = Simulation(robot, DT, gravity=(0, 0, 0))
    rng = np.random.default_rng(7)
    sim.set_state(None, rng.normal(size=6))
    force, torque, arm = rng.normal(size=(3, 3))
    sim.apply_wrench("b", force, torque, sim.state.x[0] + arm)
    moment = torque + np.array(
        [
            arm[1] * force[2] - arm[2] * force[1],
            arm[2] * force[0] - arm[0] * force[2],
            arm[0] * force[1] - arm[1] * force[0],
        ]
    )
    np.testing.assert_allclose(sim.wrench("b"), [*force, *moment], rtol=0, atol=1e-12)
    linear, angular = sim.momentum()
    for _ in range(50):
        centre = sim.state.x[0].copy()
        sim.step()
        linear += DT * force
        angular += DT * (moment + np.cross((centre + sim.state.x[0]) / 2, force))
    np.testing.assert_allclose(sim.momentum()[0], linear, rtol=0, atol=1e-11)
    np.testing.assert_allclose(sim.momentum()[1], angular, rtol=0, atol=1e-11)


def test_generalized_torque_on_a_floating_base():
    """Torque in body axes: about a principal axis sin(omega dt) / dt = tau t / I exactly."""
    robot = free_body((0.02, 0.03, 0.04))
    for k, inertia in enumerate((0.02, 0.03, 0.04)):
        tau = np.zeros(6)
        tau[3 + k] = 0.05
        errors = []
        for dt in (0.02, 0.01):
            sim = Simulation(robot, dt, gravity=(0, 0, 0))
            turned = from_axis_angle((1, 2, 3), 0.8)
            sim.set_state(np.concatenate((np.zeros(3), turned)))
            log = sim.run(1.0, held(tau))
            rate = 0.05 / inertia
            exact = np.zeros((len(log.t), 3))
            exact[:, k] = rate * log.t
            np.testing.assert_allclose(np.sin(log.v[:, 3:] * dt) / dt, exact, rtol=0, atol=1e-9)
            angle = from_axis_angle(np.eye(3)[k], rate / 2)
            errors.append(np.abs(sim.q[3:] - multiply(turned, angle)).max())
        assert np.log2(np.divide(*errors)) == pytest.approx(2.0, abs=0.1)


def test_power_of_the_joints_becomes_energy():
    """Over all joints of a chain: the work of held torques, by the trapezoidal rule."""
    robot = chain(4)
    tau = np.array([3.0, -2.0, 1.0, 0.5])
    errors = []
    for dt in (0.01, 0.005, 0.0025):
        sim = Simulation(robot, dt)
        before = sim.energy()
        log = sim.run(0.5, held(tau))
        errors.append(abs(sim.energy() - before - tau @ (sim.q - log.q[0])))
    assert abs(sim.energy() - before) > 0.5
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("solver", ["ldu", "articulated"])
@pytest.mark.parametrize("largest", [0.2, 1.5, 3.1])
def test_a_ball_joint_turns_so_far_about_any_axis(largest, solver):
    """It turns about one axis until it is stopped there, and takes a torque from then on."""
    body = Body("ball", 2.0, 0.1 * np.eye(3))
    joint = Joint("joint", "spherical", None, "ball", offset=(0.6, 0, 0.8, 0), largest_turn=largest)
    sim = Simulation(Mechanism("m", (body,), (joint,)), 1e-3, gravity=(0, 0, 0), solver=solver)
    axis = np.array((2, -1, 2)) / 3
    sim.set_state((1, 0, 0, 0), 4 * axis)
    sim.run(0.9 * largest / 4)
    np.testing.assert_allclose(sim.v, 4 * axis, rtol=0, atol=1e-9)
    sim.run(0.2 * largest / 4, controller=lambda sim: axis)
    sim.run(0.2, controller=lambda sim: axis)
    np.testing.assert_allclose(
        sim.q, np.append(np.cos(largest / 2), np.sin(largest / 2) * axis), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(sim.v, 0.0, rtol=0, atol=1e-8)
    np.testing.assert_allclose(sim.limit_forces(), -axis, rtol=0, atol=1e-8)
    # Across the axis, and back, it is free.
    sim.run(0.01, controller=lambda sim: (1, 2, 0))
    np.testing.assert_allclose(sim.v, 0.1 * np.array((1, 2, 0)), rtol=0, atol=2e-3)


@pytest.mark.parametrize("solver", ["ldu", "articulated"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("limit", ["cone", "largest_turn"])
def test_a_ball_joint_stops_at_either_limit_whatever_the_sign_of_its_quaternion(
    limit, sign, solver
):
    """Tipped until it is held at 0.5 rad; q and -q are the same turn."""
    body = Body("ball", 2.0, 0.1 * np.eye(3))
    joint = Joint("joint", "spherical", None, "ball", offset=(0.6, 0, 0.8, 0), **{limit: 0.5})
    sim = Simulation(Mechanism("m", (body,), (joint,)), 2e-3, gravity=(0, 0, 0), solver=solver)
    axis = np.array((0.6, -0.8, 0))
    sim.set_state((sign, 0, 0, 0), 4 * axis)
    sim.run(0.1, controller=lambda sim: axis)
    assert 2 * np.linalg.norm(sim.q[1:]) == pytest.approx(2 * np.sin(0.225), rel=1e-4)
    sim.run(0.1, controller=lambda sim: axis)
    turned = sign * np.append(np.cos(0.25), np.sin(0.25) * axis)
    np.testing.assert_allclose(sim.q, turned, rtol=0, atol=1e-8)
    np.testing.assert_allclose(sim.v, 0.0, rtol=0, atol=1e-7)
    np.testing.assert_allclose(sim.limit_forces(), -axis, rtol=0, atol=1e-6)


@pytest.mark.parametrize("solver", ["ldu", "articulated"])
def test_a_body_spins_freely_in_its_cone(solver):
    """About its own axis it turns as if it were not there, though it leans on the cone."""
    body = Body("ball", 2.0, 0.1 * np.eye(3))
    joint = Joint("joint", "spherical", None, "ball", offset=(0.6, 0, 0.8, 0), cone=0.5)
    sim = Simulation(Mechanism("m", (body,), (joint,)), 2e-3, gravity=(0, 0, 0), solver=solver)
    axis = np.array((0.6, -0.8, 0))
    sim.set_state(np.append(np.cos(0.25), np.sin(0.25) * axis))
    sim.run(0.1, controller=lambda sim: (0, 0, 2.0))
    np.testing.assert_allclose(sim.v, (0, 0, 2.0), rtol=0, atol=1e-4)
    x, y = sim.q[1:3]
    assert 1 - 2 * (x * x + y * y) == pytest.approx(np.cos(0.5), abs=1e-6)


@pytest.mark.parametrize("solver", ["ldu", "articulated"])
@pytest.mark.parametrize("torque", [(1.0, -1.0, 0.0), (-1.0, -2.0, 0.5), (0.3, -0.4, 0.1)])
def test_torques_on_a_ball_joint_that_cancel_in_their_sum_turn_it(torque, solver):
    """omega = torque t / J, where the three sum to zero or less."""
    body = Body("ball", 2.0, 0.1 * np.eye(3))
    joint = Joint("joint", "spherical", None, "ball", (0, 0, 1), offset=(0.6, 0, 0.8, 0))
    sim = Simulation(Mechanism("m", (body,), (joint,)), 1e-3, gravity=(0, 0, 0), solver=solver)
    for _ in range(10):
        sim.step(torque)
    np.testing.assert_allclose(sim.v, 0.1 * np.array(torque), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(sim.q[1:], 2.5e-4 * np.array(torque), rtol=2e-4, atol=1e-12)


@pytest.mark.parametrize("solver", ["ldu", "articulated"])
def test_joints_carry_what_hangs_on_them(solver):
    """A cantilever of welded bodies with a wrench at its end: forces and moments by statics."""
    rng = np.random.default_rng(8)
    names = "abc"
    robot = Mechanism(
        "cantilever",
        tuple(random_body(rng, name) for name in names),
        tuple(
            random_joint(rng, f"j{name}", "fixed", parent, name)
            for parent, name in zip((None, *names), names, strict=False)
        ),
    )
    sim = Simulation(robot, DT, solver=solver)
    force, torque = rng.normal(size=(2, 3))
    sim.apply_wrench("c", force, torque)
    sim.step()
    sim.step()
    found, x = sim.joint_wrenches(), sim.state.x
    rotations = rotation_matrix(sim.state.q)
    for j, joint in enumerate(robot.joints):
        point = x[j] + rotations[j] @ np.asarray(joint.child_position)
        push, moment = -force, -torque - np.cross(x[2] - point, force)
        for body, centre in zip(robot.bodies[j:], x[j:], strict=True):
            push = push - body.mass * GRAVITY
            moment = moment - np.cross(centre - point, body.mass * GRAVITY)
        expected = np.concatenate((push, moment))
        np.testing.assert_allclose(found[joint.name], expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("solver", ["ldu", "articulated"])
def test_a_turning_joint_pulls_its_body_inwards(solver):
    """A rod that turns about its end at a steady rate: m w^2 r towards the axis, and no moment."""
    body = Body("rod", 2.0, np.diag([0.1, 0.2, 0.3]))
    joint = Joint("axle", "revolute", None, "rod", (0, 0, 1), child_position=(-0.5, 0, 0))
    sim = Simulation(Mechanism("m", (body,), (joint,)), 1e-3, gravity=(0, 0, 0), solver=solver)
    sim.set_state([0.3], [2.0])
    sim.run(0.1)
    # In the middle of the step, and true to second order.
    angle = sim.q[0] - 1e-3
    inwards = -2.0 * 4.0 * 0.5 * np.array([np.cos(angle), np.sin(angle), 0.0])
    np.testing.assert_allclose(sim.joint_wrenches()["axle"][:3], inwards, rtol=0, atol=1e-2)
    np.testing.assert_allclose(sim.joint_wrenches()["axle"][3:], 0.0, rtol=0, atol=1e-2)


@pytest.mark.parametrize("solver", ["ldu", "articulated"])
def test_reactions_turn_with_the_parent(solver):
    """A weight that is welded to a carousel is pulled inwards, as it is in mid-step."""
    bodies = Body("carousel", 3.0, 0.5 * np.eye(3)), Body("weight", 2.0, 0.1 * np.eye(3))
    joints = (
        Joint("axle", "revolute", None, "carousel", (0, 0, 1)),
        Joint("weld", "fixed", "carousel", "weight", parent_position=(0.5, 0, 0)),
    )
    sim = Simulation(Mechanism("m", bodies, joints), DT, gravity=(0, 0, 0), solver=solver)
    sim.set_state([0.3], [3.0])
    sim.run(0.1)
    angle = sim.q[0] - 0.5 * 3.0 * DT
    inwards = -2.0 * 9.0 * 0.5 * np.array([np.cos(angle), np.sin(angle), 0.0])
    # Of second order; within the step it turns by 0.03.
    np.testing.assert_allclose(sim.joint_wrenches()["weld"][:3], inwards, rtol=0, atol=0.02)


def test_accelerations_of_a_fall_and_of_a_turn():
    """Free fall, and a hinge under a torque: tangential and centripetal, means over the step."""
    sim = Simulation(free_body(), DT)
    assert not sim.accelerations().any()
    sim.run(0.1)
    np.testing.assert_allclose(sim.accelerations(), [[*GRAVITY, 0, 0, 0]], rtol=0, atol=1e-9)
    body = Body("rod", 2.0, np.diag([0.1, 0.2, 0.3]))
    tilt = from_axis_angle((3, -1, 2), 0.8)
    joint = Joint(
        "axle", "revolute", None, "rod", (0, 0, 1), child_position=(-0.5, 0, 0), offset=tilt
    )
    inertia = 0.3 + 2.0 * 0.5**2
    dt = 1e-4
    sim = Simulation(Mechanism("m", (body,), (joint,)), dt, gravity=(0, 0, 0))
    sim.run(0.2, held(np.array([4.0])))
    rate, t = 4.0 / inertia, 0.2 - dt / 2
    angle, speed = rate * t**2 / 2, rate * t
    out, along = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    expected = np.zeros((2, 3))
    expected[0, :2], expected[1, 2] = 0.5 * (rate * along - speed**2 * out), rate
    expected = (expected @ rotation_matrix(tilt).T).reshape(1, 6)
    np.testing.assert_allclose(sim.accelerations(), expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("turn", [0.01, 0.1, 0.4])
def test_a_steady_turn_has_the_acceleration_towards_its_axis(turn, order):
    """Of a wheel about its centre, and of a rod about its end, by `turn` [rad] in each step."""
    wheel, rod = Body("wheel", 1.0, 0.1 * np.eye(3)), Body("rod", 2.0, np.diag([0.1, 0.2, 0.3]))
    joints = (
        Joint("spin", "revolute", None, "wheel", (1, 2, 3)),
        Joint("axle", "revolute", None, "rod", (0, 0, 1), child_position=(-0.5, 0, 0)),
    )
    rim = Sensor("rim", "accelerometer", place=Place("rod", (0.2, 0.0, 0.0)))
    robot = Mechanism("m", (wheel, rod), joints, sensors=(rim,))
    sim = Simulation(robot, 1e-3, gravity=(0, 0, 0), order=order)
    rate = turn / 1e-3
    sim.set_state(None, [rate, rate])
    sim.run(0.019)
    begin = sim.q[1]
    sim.step()
    angle = 0.5 * (begin + sim.q[1])
    out = np.array([np.cos(angle), np.sin(angle), 0.0])
    found = sim.accelerations() / rate**2
    # The residual that a step may leave, as an acceleration, against the square of the rate.
    np.testing.assert_allclose(found[:, 3:], 0.0, atol=1e-7)
    np.testing.assert_allclose(found[0, :3], 0.0, atol=1e-7)
    # Towards the axis, a mean over an arc: of second order.
    np.testing.assert_allclose(found[1, :3], -0.5 * out, rtol=0, atol=0.1 * turn**2)
    assert np.cross(out, found[1, :3])[2] == pytest.approx(0.0, abs=1e-7)
    expected = [-0.7, 0.0, 0.0]
    np.testing.assert_allclose(sim.sensor("rim") / rate**2, expected, rtol=0, atol=0.1 * turn**2)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("dt", [0.001, 0.0013, 0.004])
def test_an_accelerometer_integrates_an_impact(dt, restitution):
    """A ball that carries a box on a spring falls, lands and stays: velocities come out.

    And what a force sensor below the box integrates is the momentum of the box.
    """
    ball = Body("ball", 1.0, 0.01 * np.eye(3))
    top = Body("top", 0.4, 0.001 * np.eye(3))
    joints = (
        Joint("base", "floating", None, "ball"),
        Joint(
            "spring", "prismatic", "ball", "top", (0, 0, 1), (0, 0, 0.2), stiffness=400.0,
            damping=4.0,
        ),
    )  # fmt: skip
    point = ContactPoint("p", "ball", (0, 0, 0), radius=0.1, restitution=restitution)
    sensors = (
        Sensor("on ball", "accelerometer", place=Place("ball", (0.05, 0.0, 0.02))),
        Sensor("on top", "accelerometer", place=Place("top")),
        Sensor("held", "force", place=Place("top"), bodies=("top",)),
    )
    robot = Mechanism("m", (ball, top), joints, (point,), sensors=sensors)
    sim = Simulation(robot, dt)
    sim.set_state([0, 0, 1.0, 1, 0, 0, 0, 0.0])
    steps = round(0.6 / dt)
    sums = np.zeros((3, 3))
    for _ in range(steps):
        sim.step()
        sums += dt * np.array([sim.sensor(one.name) for one in sensors])
    speeds = sim.state.v[:, 2]
    expected = np.array([speeds[0], speeds[1], 0.4 * speeds[1]])
    expected += 9.81 * dt * steps * np.array([1.0, 1.0, 0.4])
    np.testing.assert_allclose(sums[:, 2], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sums[:, :2], 0.0, atol=1e-9)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_what_a_joint_carries_at_rest(solver):
    """A payload that is welded to an arm, which a motor holds level."""
    bodies = Body("arm", 2.0, np.diag([1e-4, 1 / 6, 1 / 6])), Body("load", 1.5, 1e-3 * np.eye(3))
    joints = (
        Joint("motor", "revolute", None, "arm", (0, 1, 0), child_position=(-0.5, 0, 0)),
        Joint("weld", "fixed", "arm", "load", parent_position=(0.5, 0, 0),
              child_position=(-0.1, 0, 0)),
    )  # fmt: skip
    robot = Mechanism("m", bodies, joints)
    sim = Simulation(robot, 1e-3, solver=solver)
    sim.run(0.5, held(sim.dynamics.inverse_dynamics([0.0], [0.0], [0.0])))
    found, load, arm = sim.joint_wrenches(), 1.5 * 9.81, 2.0 * 9.81
    expected = [0, 0, load, 0, -0.1 * load, 0]
    np.testing.assert_allclose(found["weld"], expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found["motor"][:3], [0, 0, load + arm], rtol=0, atol=1e-6)


def means(sim):
    """All readings that are means over the last step."""
    wrenches = np.concatenate([*sim.joint_wrenches().values(), *sim.accelerations()])
    drives = [np.atleast_1d(force) for force in sim.drive_forces().values()]
    return np.concatenate([wrenches, *drives, list(sim.coupling_forces().values())])


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_means_do_not_depend_on_how_steps_are_called(solver):
    """Step by step, at once, after a copy, and restored: to the last bit."""
    robot = chain(3)
    joint = replace(robot.joints[1], motion=lambda t: 0.3 * np.sin(9 * t))
    robot = replace(robot, joints=(robot.joints[0], joint, robot.joints[2]))
    sims = [Simulation(robot, 0.01, solver=solver) for _ in range(3)]
    for sim in sims:
        sim.set_state([0.4, 0.0, 0.2], [1.0, 2.7, -0.5])
    for _ in range(20):
        sims[0].step()
    sims[1].run(0.2)
    sims[2].run(0.19)
    other = sims[2].copy()
    sims[2].step()
    assert np.abs(means(sims[0])).max() > 1.0
    np.testing.assert_array_equal(means(sims[1]), means(sims[0]))
    np.testing.assert_array_equal(means(sims[2]), means(sims[0]))
    np.testing.assert_array_equal(means(sims[0].copy()), means(sims[0]))
    other.restore(sims[0])
    np.testing.assert_array_equal(means(other), means(sims[0]))
