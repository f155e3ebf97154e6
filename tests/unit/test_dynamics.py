"""Mass matrices, biases and Jacobians in joint coordinates, for controllers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import Body, Joint, Mechanism, Simulation, StateError
from robosim.dynamics import Kinematics, forward_acceleration
from robosim.tendons import Tendon, Term

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
