"""Mass matrices, biases and Jacobians in joint coordinates, for controllers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dependent_mechanisms import DEPENDENT

import robosim
from robosim import Body, Joint, Mechanism, ModelError, Simulation, StateError, quaternions
from robosim.dynamics import Kinematics, forward_acceleration
from robosim.tendons import Point, Tendon, Term, Wrap

EPS = 1e-6


@pytest.fixture(scope="module")
def a1():
    """Somewhere, moving; with rotors."""
    robot = robosim.load("a1")
    joints = tuple(
        replace(joint, armature=0.01 * j) if joint.nv == 1 else joint
        for j, joint in enumerate(robot.joints)
    )
    rng = np.random.default_rng(1)
    q = np.array(robot.home) + rng.normal(scale=0.2, size=robot.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    return replace(robot, joints=joints), q, rng.normal(size=robot.nv)


def test_rotors_are_in_the_mass_matrix(a1):
    """What forward_acceleration says is what a short step does."""
    robot, q, _ = a1
    tau = np.zeros(robot.nv)
    tau[6:] = np.linspace(-1.0, 1.0, robot.nu)
    kinematics = Kinematics(robot, q)
    rotors = kinematics.mass_matrix() - kinematics.mass_matrix(rotors=False)
    np.testing.assert_allclose(np.diag(rotors)[6:], 0.01 * np.arange(1, 13), rtol=0, atol=1e-12)
    sim = Simulation(replace(robot, contacts=()), 1e-5)
    sim.set_state(q)
    sim.step(tau[6:])
    expected = forward_acceleration(robot, q, np.zeros(robot.nv), tau)
    np.testing.assert_allclose(sim.v / 1e-5, expected, rtol=0, atol=2e-3 * np.abs(expected).max())


def test_rotors_of_tendons_are_in_it():
    bodies = [Body(n, 1.0, 0.1 * np.eye(3)) for n in "ab"]
    joints = [Joint("j" + n, "revolute", None, n) for n in "ab"]
    tendon = Tendon("sum", (Term("ja"), Term("jb", 3.0)), armature=0.2)
    robot = Mechanism("two", tuple(bodies), tuple(joints), tendons=(tendon,))
    M = Kinematics(robot).mass_matrix()
    np.testing.assert_allclose(M, [[0.1 + 0.2, 0.6], [0.6, 0.1 + 1.8]], rtol=1e-12)


def test_inertia_of_a_curved_tendon_keeps_energy():
    """Of a length x^2 + x on a slide: m = 1 + a (2 x + 1)^2, so that bias = a (2 x + 1) 2 v^2."""
    slide = Joint("j", "prismatic", None, "b")
    tendon = Tendon("t", (Term("j", 1.0, (1.0, 0.0, 0.0)),), armature=0.7)
    robot = Mechanism("slide", (Body("b", 1.0, np.eye(3)),), (slide,), tendons=(tendon,))
    kinematics, (x, v) = Kinematics(robot, [0.3]), (0.3, 5.0)
    np.testing.assert_allclose(kinematics.tendon_bias_accelerations([v]), 2 * v * v, rtol=1e-10)
    expected = 0.7 * (2 * x + 1) * 2 * v * v
    np.testing.assert_allclose(kinematics.bias_forces([v], np.zeros(3)), expected, rtol=1e-10)
    np.testing.assert_array_equal(kinematics.bias_forces([v], np.zeros(3), rotors=False), 0)


def test_inertia_of_a_tendon_around_a_spinning_drum():
    """A free body's rope around a drum: what J' v says is what J v does from one time to the next.

    Rates of rotations that go on evenly; the floating joint has both kinds of coordinates.
    """
    body = Body("b", 1.0, np.diag((1.0, 2.0, 2.5)))
    end = (-1.2, -1.2, -0.8)
    path = (Point(None, (0.0, 0.0, 2.0)), Wrap("cylinder", "b", 0.6), Point("b", end))
    robot = Mechanism("drum", (body,), (Joint("j", "floating", None, "b"),),
                      tendons=(Tendon("t", path, armature=1.0),))  # fmt: skip
    rng = np.random.default_rng(3)
    q = np.array((0.1, -0.8, 0.3, *quaternions.normalized((1.0, 0.3, -0.2, 0.5))))
    v, dt = rng.normal(size=6), 1e-5
    rates = []
    for time in (-dt, dt):
        turn = quaternions.from_axis_angle(v[3:], time * float(np.linalg.norm(v[3:])))
        moved = np.concatenate((q[:3] + time * v[:3], quaternions.multiply(q[3:], turn)))
        rates.append(Kinematics(robot, moved).tendon_jacobian()[0] @ v)
    kinematics = Kinematics(robot, q)
    straight = np.linalg.norm(kinematics.x[0] + kinematics.R[0] @ end - (0.0, 0.0, 2.0))
    assert kinematics.tendon_lengths()[0] > straight + 1e-4
    (bias,) = kinematics.tendon_bias_accelerations(v)
    assert bias == pytest.approx((rates[1] - rates[0]) / (2 * dt), rel=1e-5)
    np.testing.assert_array_equal(kinematics.tendon_bias_accelerations(np.zeros(6)), 0)
    np.testing.assert_allclose(kinematics.tendon_jacobian() @ v, np.mean(rates), rtol=1e-8)


@pytest.mark.parametrize(("robot", "named"), DEPENDENT)
def test_accelerations_of_the_tree_alone_are_asked_for(robot, named):
    state = np.zeros(2), np.zeros(2), np.ones(2)
    with pytest.raises(ModelError, match=rf"(?s){named}.*constrained_.*tree_only=True"):
        forward_acceleration(robot, *state)
    np.testing.assert_allclose(forward_acceleration(robot, *state, tree_only=True), 1, rtol=1e-12)


def test_jacobian_and_bias_of_a_frame(a1):
    robot, q, v = a1
    name = next(frame.name for body, frame in robot.frames() if body > 3 and np.any(frame.position))
    kinematics = Kinematics(robot, q)
    J = kinematics.frame_jacobian(name)
    ends, slopes = [], []
    for s in (EPS, -EPS):
        # Along v, as a rate of the coordinates: base in world axes, turned in its own.
        moved = q.copy()
        moved[:3] += s * v[:3]
        moved[7:] += s * v[6:]
        turn = np.array([1.0, *(0.5 * s * v[3:6])])
        moved[3:7] = robosim.quaternions.multiply(q[3:7], turn / np.linalg.norm(turn))
        kinematics.move_to(moved)
        ends.append(kinematics.frame(name))
        slopes.append(kinematics.frame_jacobian(name) @ v)
    (x, R), (x0, R0) = ends
    np.testing.assert_allclose(J[:3] @ v, (x - x0) / (2 * EPS), rtol=0, atol=1e-8)
    spin = (R @ R0.T - R0 @ R.T) / (4 * EPS)
    np.testing.assert_allclose(J[3:] @ v, [spin[2, 1], spin[0, 2], spin[1, 0]], rtol=0, atol=1e-7)
    kinematics.move_to(q)
    bias = kinematics.frame_bias_acceleration(name, v)
    slope = (slopes[0] - slopes[1]) / (2 * EPS)
    np.testing.assert_allclose(bias, slope, rtol=0, atol=1e-7)


def test_what_is_no_state(a1):
    robot, q, v = a1
    kinematics = Kinematics(robot, q)
    for call, told in (
        (lambda: kinematics.move_to(np.full(robot.nq, np.nan)), "q must be finite"),
        (lambda: kinematics.forward_acceleration(v, np.zeros(12)), r"tau must have shape \(18,\)"),
        (lambda: kinematics.twists([np.inf] * robot.nv), "v must be finite"),
    ):
        with pytest.raises(StateError, match=told):
            call()
