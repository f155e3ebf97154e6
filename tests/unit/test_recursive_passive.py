"""Springs, dampers, potentials and rotors in `Dynamics`, against simulations and by their power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import random_coordinates, random_tree

from robosim import (
    Body,
    Dynamics,
    Joint,
    Mechanism,
    PointSpring,
    Potential,
    Simulation,
    Tendon,
)
from robosim.kinematics.recursion import BLOCK
from robosim.tendons import Point, Wrap

GRAVITY = (0.7, -1.1, -9.0)


def close(measured, expected, tolerance):
    """Equal, in parts of the largest entry."""
    scale = float(np.abs(expected).max())
    np.testing.assert_allclose(measured, expected, rtol=0, atol=tolerance * scale)


def sprung(rng, robot):
    """Springs, dampers and rotors on all coordinates, and potentials where there is one."""
    joints = []
    for joint in robot.joints:
        values = {
            what: rng.uniform(0.1, 1.0, size=joint.nv)
            for what in ("stiffness", "damping", "armature")
        }
        rest = rng.normal(size=joint.nv)
        if joint.has_quaternion:
            rest[joint.C_T.shape[1] :] = 0.0
        well = Potential.sample(lambda x: np.cos(2 * x), -4, 4) if joint.nv == 1 else None
        joints.append(replace(joint, rest=rest, potential=well, **values))
    return replace(robot, joints=tuple(joints))


def lengths(robot):
    """Springs and tendons between points."""
    names = [body.name for body in robot.bodies]
    well = Potential.sample(lambda x: 0.3 * np.sin(x), 0, 5)
    springs = (
        PointSpring("s", None, names[-1], (1, 2, 3), (0.1, 0.2, 0.1), 3.0, 0.5, 0.7, well),
        PointSpring("t", names[0], names[-1], (0, 0.1, 0), (0.1, 0.2, 0.1), 2.0, 0.5),
    )
    path = (Point(None, (0, 0, 3)), Wrap("sphere", names[0], 0.1), Point(names[-1], (0.2, 0, 0)))
    tendons = (
        Tendon("rope", path, stiffness=4.0, rest_length=(0.2, 0.9), damping=0.3, armature=0.2),
    )
    return replace(robot, springs=springs, tendons=tendons)


PASSIVE = {
    "springs": lambda rng: sprung(rng, random_tree(rng, 5, kinds=("revolute", "spherical"))),
    "lengths": lambda rng: lengths(random_tree(rng, 4, kinds=("revolute", "prismatic"))),
}


@pytest.mark.parametrize("make", PASSIVE.values(), ids=PASSIVE)
class TestPassiveForces:
    def test_accelerations_are_those_of_a_simulation(self, make):
        """Of joints and of bodies: those within a step, whose limit is taken from two of them."""
        rng = np.random.default_rng(7)
        robot = make(rng)
        q, v = random_coordinates(rng, robot), rng.normal(size=robot.nv)
        tau = rng.normal(size=robot.nv)
        dynamics, found, shown = Dynamics(robot, GRAVITY), [], []
        for dt in (2e-4, 1e-4):
            sim = Simulation(robot, dt, GRAVITY)
            sim.set_state(q, v)
            sim.step(tau)
            found.append((sim.v - v) / dt)
            shown.append(sim.accelerations())
        measured = 2 * found[1] - found[0]
        expected = dynamics.forward_acceleration(q, v, tau)
        assert np.abs(expected - dynamics.forward_acceleration(q, v, tau, passive=False)).max() > 1
        close(measured, expected, 1e-5)
        bodies = dynamics.jacobian(q) @ expected + dynamics.jacobian_rate(q, v) @ v
        close(2 * shown[1] - shown[0], bodies, 1e-4)
        close(dynamics.inverse_dynamics(q, v, expected), tau, 1e-9)

    def test_energy_is_that_of_a_simulation(self, make):
        rng = np.random.default_rng(8)
        robot = make(rng)
        q, v = random_coordinates(rng, robot), rng.normal(size=robot.nv)
        sim = Simulation(robot, 1e-3, GRAVITY)
        sim.set_state(q, v)
        assert Dynamics(robot, GRAVITY).energy(q, v) == pytest.approx(sim.energy(), rel=1e-12)

    def test_power_is_the_rate_of_energy(self, make):
        """Without dampers: v . tau = dE/dt, of everything that is in the equations."""
        rng = np.random.default_rng(9)
        robot = make(rng)
        still = [replace(joint, damping=0.0) for joint in robot.joints]
        robot = replace(
            robot,
            joints=tuple(still),
            springs=tuple(replace(spring, damping=0.0) for spring in robot.springs),
            tendons=tuple(replace(tendon, damping=0.0) for tendon in robot.tendons),
        )
        dynamics = Dynamics(robot, GRAVITY)
        q, (v, a) = random_coordinates(rng, robot), rng.normal(size=(2, robot.nv))
        h = 1e-5
        ends = [
            dynamics.energy(dynamics.integrate(q, s * v + 0.5 * s * s * a), v + s * a)
            for s in (h, -h)
        ]
        power = dynamics.inverse_dynamics(q, v, a) @ v
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(power, rel=1e-6)


class TestDerivatives:
    @pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.0999, 0.1001, 1.0, 3.0, 3.1415, -2.0])
    def test_of_the_springs_of_a_free_rotation(self, angle):
        """Turns of all sizes, with springs that differ; the other sign of q is the same pose."""
        stiffness = np.array([1.0, 2.5, 4.0])
        joint = Joint("ball", "spherical", None, "b", stiffness=stiffness, damping=(0.1, 0.2, 0.3))
        dynamics = Dynamics(Mechanism("ball", (Body("b", 1.0, np.eye(3)),), (joint,)))
        q = np.append(np.cos(angle / 2), np.sin(angle / 2) * np.array([2.0, -1.0, 2.0]) / 3)
        v = np.array([0.3, -0.5, 0.7])

        def forces(q, v):
            with_springs = dynamics.inverse_dynamics(q, v, np.zeros(3))
            return with_springs - dynamics.inverse_dynamics(q, v, np.zeros(3), passive=False)

        zero, h = np.zeros(3), 1e-5
        plain = dynamics.inverse_dynamics_derivatives(q, v, zero, passive=False)
        for pose in (q, -3 * q):
            slopes = dynamics.inverse_dynamics_derivatives(pose, v, zero)
            by_q, by_v = (a - b for a, b in zip(slopes[:2], plain[:2], strict=True))
            expected = [forces(dynamics.integrate(q, d), v) - forces(dynamics.integrate(q, -d), v)
                        for d in h * np.eye(3)]  # fmt: skip
            close(by_q, np.stack(expected, axis=-1) / (2 * h), 1e-7)
            close(by_v, np.diag([0.1, 0.2, 0.3]), 1e-12)

    @pytest.mark.parametrize("x", [-5.0, -0.3, 0.4, 6.0])
    def test_of_a_potential(self, x):
        """Within its pieces and beyond their ends, where the outermost ones go on."""
        well = Potential.sample(lambda x: np.cos(2 * x), -4, 4)
        joint = Joint("hinge", "revolute", None, "b", potential=well)
        dynamics = Dynamics(Mechanism("bar", (Body("b", 1.0, np.eye(3)),), (joint,)))
        (by_q,), _, _ = dynamics.inverse_dynamics_derivatives([x], [0.0], [0.0])
        ends = dynamics.inverse_dynamics([[x + 1e-5], [x - 1e-5]], [0.0], [0.0])
        close(by_q, (ends[0] - ends[1]) / 2e-5, 1e-6)

    def test_more_rows_than_a_block(self):
        rng, n = np.random.default_rng(4), BLOCK + 3
        robot = sprung(rng, random_tree(rng, 3, kinds=("revolute",)))
        dynamics = Dynamics(robot)
        v, a = rng.normal(size=(2, n, robot.nv))
        many = dynamics.forward_derivatives(robot.home, v, a)
        for i in (0, BLOCK - 1, BLOCK, n - 1):
            single = dynamics.forward_derivatives(robot.home, v[i], a[i])
            for part, one in zip(many, single, strict=True):
                np.testing.assert_array_equal(part[i], one)

    def test_rows_are_the_single_ones(self):
        rng = np.random.default_rng(4)
        robot = sprung(rng, random_tree(rng, 5, kinds=("revolute", "spherical")))
        dynamics = Dynamics(robot)
        q = np.array([random_coordinates(rng, robot) for _ in range(3)])
        v, a = rng.normal(size=(2, 3, robot.nv))
        many = dynamics.forward_derivatives(q, v, a)
        spread = dynamics.forward_derivatives(q[:1], v, a)
        for i in range(3):
            for part, single in zip(
                many, dynamics.forward_derivatives(q[i], v[i], a[i]), strict=True
            ):
                np.testing.assert_allclose(part[i], single, rtol=0, atol=1e-12 * np.abs(part).max())
            for part, single in zip(
                spread, dynamics.forward_derivatives(q[0], v[i], a[i]), strict=True
            ):
                np.testing.assert_allclose(part[i], single, rtol=0, atol=1e-12 * np.abs(part).max())
