"""What `Kinematics` tells of a tree, against Lagrange's equations and by what is known of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import random_coordinates, random_tree

from robosim import Body, Frame, Joint, Mechanism
from robosim.dynamics import Kinematics, bias_forces, forward_acceleration
from robosim.quaternions import from_axis_angle, rotation_matrix
from robosim.tendons import Point, Tendon

STEP = 1e-4
# Joints whose velocities are the rates of their coordinates.
PLAIN = ("revolute", "prismatic", "cylindrical", "planar", "axis_rotation")


def plain_tree(seed: int) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """A random tree of joints without quaternions, and (q, v)."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 4, PLAIN[seed], PLAIN)
    return robot, random_coordinates(rng, robot), rng.normal(size=robot.nv)


def slopes(function, q: np.ndarray) -> np.ndarray:
    """Derivatives by each entry of q, along the first axis."""
    units = STEP * np.eye(len(q))
    return np.array([(function(q + unit) - function(q - unit)) / (2 * STEP) for unit in units])


@pytest.mark.parametrize("seed", range(5))
def test_bias_forces_are_those_of_lagrange(seed):
    """M' v - dT/dq + dV/dq, from the energies of the bodies alone."""
    robot, q, v = plain_tree(seed)
    gravity = np.array((1.0, -2.0, 3.0))
    masses = np.array([body.mass for body in robot.bodies])
    slope = slopes(lambda q: Kinematics(robot, q).mass_matrix(), q)
    weight = slopes(lambda q: -(masses @ Kinematics(robot, q).x) @ gravity, q)
    expected = np.einsum("ikj,i,j->k", slope, v, v)
    expected += weight - 0.5 * np.einsum("kij,i,j->k", slope, v, v)
    scale = np.abs(expected).max()
    found = bias_forces(robot, q, v, gravity)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize("seed", range(5))
def test_the_mass_matrix_has_the_energy_of_the_bodies(seed):
    robot, q, v = plain_tree(seed)
    kinematics, energy = Kinematics(robot, q), 0.0
    for body, twist, R in zip(robot.bodies, kinematics.twists(v), kinematics.R, strict=True):
        spin = R.T @ twist[3:]
        energy += 0.5 * (body.mass * twist[:3] @ twist[:3] + spin @ body.inertia @ spin)
    assert 0.5 * v @ kinematics.mass_matrix() @ v == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_accelerations_of_bodies_at_even_rates(seed):
    """J' v of all bodies, of which some slide along joints that turn."""
    robot, q, v = plain_tree(seed)
    ends = [Kinematics(robot, q + sign * STEP * v).twists(v) for sign in (1, -1)]
    found = Kinematics(robot, q).bias_accelerations(v)
    expected = (ends[0] - ends[1]) / (2 * STEP)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_a_bead_on_a_rod_that_turns_has_a_coriolis_acceleration():
    """With r = 0.5, its rate 2 and the rate of turn 3: -r 3^2 along the rod, 2 2 3 across."""
    bodies = (Body("rod", 1.0, np.eye(3)), Body("bead", 1.0, np.eye(3)))
    # The offset turns the slide's axis, which is z, to the rod's x.
    along = from_axis_angle(np.array((0.0, 1.0, 0.0)), np.pi / 2)
    joints = (
        Joint("turn", "revolute", None, "rod", axis=(0, 0, 1)),
        Joint("slide", "prismatic", "rod", "bead", axis=(0, 0, 1), offset=along),
    )
    kinematics = Kinematics(Mechanism("bead", bodies, joints), [0.0, 0.5])
    np.testing.assert_allclose(kinematics.x[1], (0.5, 0, 0), rtol=0, atol=1e-15)
    found = kinematics.bias_accelerations([3.0, 2.0])
    np.testing.assert_allclose(found[1], (-4.5, 12, 0, 0, 0, 0), rtol=0, atol=1e-12)


def test_a_frame_turns_with_its_body_after_its_own_turn():
    turn = from_axis_angle(np.array((1.0, 0.0, 0.0)), np.pi / 2)
    tool = Frame("tool", (0.3, 0, 0), turn)
    body = Body("arm", 1.0, np.eye(3), frames=(Frame("link"), tool))
    robot = Mechanism("arm", (body,), (Joint("j", "revolute", None, "arm", axis=(0, 0, 1)),))
    x, R = Kinematics(robot, [np.pi / 2]).frame("tool")
    np.testing.assert_allclose(x, (0, 0.3, 0), rtol=0, atol=1e-15)
    # Its x axis is the body's, along the world's y; its y axis is up.
    np.testing.assert_allclose(R, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], rtol=0, atol=1e-15)


def test_inertias_and_the_centre_of_mass_of_what_is_turned():
    """Seen in the world, with unlike masses."""
    bodies = (Body("a", 1.0, np.diag((1.0, 2.0, 2.5))), Body("b", 3.0, np.diag((1.0, 2.0, 2.5))))
    joints = tuple(Joint(f"j{n}", "floating", None, n) for n in "ab")
    axis = np.array((1.0, 2.0, 2.0)) / 3
    q = np.concatenate(((4, 0, 0, 1, 0, 0, 0), (0, 8, 0), from_axis_angle(axis, 1.0)))
    kinematics = Kinematics(Mechanism("two", bodies, joints), q)
    np.testing.assert_allclose(kinematics.center_of_mass(), (1, 6, 0), rtol=1e-15)
    R = rotation_matrix(from_axis_angle(axis, 1.0))
    expected = sum(bodies[1].inertia[k, k] * np.outer(R[:, k], R[:, k]) for k in range(3))
    np.testing.assert_allclose(kinematics.inertias()[1], expected, rtol=0, atol=1e-14)


def test_another_pose_leaves_nothing_of_the_one_before():
    """Whatever was asked for there, one that has moved tells the same as a new one."""
    robot, q, v = plain_tree(1)
    path = (Point(None, (0, 0, 2)), Point("b1", (0.1, 0, 0)), Point("b3", (0, 0.1, 0)))
    robot = replace(robot, tendons=(Tendon("t", path, armature=1.0),))
    kinematics = Kinematics(robot, q)

    def told(one):
        yield one.tendon_bias_accelerations(v)
        yield one.tendon_lengths()
        yield one.tendon_jacobian()
        yield one.twists(v)
        yield one.bias_forces(v)
        yield one.mass_matrix()
        yield one.jacobian()

    for _ in told(kinematics):
        pass
    kinematics.move_to(q + 0.1)
    for mine, anew in zip(told(kinematics), told(Kinematics(robot, q + 0.1)), strict=True):
        np.testing.assert_array_equal(mine, anew)
    # Each alone, as the first thing that is asked for.
    for n, mine in enumerate(told(kinematics)):
        fresh = list(told(Kinematics(robot, q + 0.1)))[n]
        np.testing.assert_array_equal(mine, fresh)


def test_rates_along_a_tendon_leave_the_bodies_where_they_are():
    """The differences that they are found by move bodies, which then are put back."""
    robot, q, v = plain_tree(1)
    path = (Point(None, (0, 0, 2)), Point("b1", (0.1, 0, 0)), Point("b3", (0, 0.1, 0)))
    kinematics = Kinematics(replace(robot, tendons=(Tendon("t", path),)), q)
    twists, lengths = kinematics.twists(v), kinematics.tendon_lengths()
    kinematics.tendon_bias_accelerations(v)
    np.testing.assert_array_equal(kinematics.twists(v), twists)
    np.testing.assert_array_equal(kinematics.tendon_lengths(), lengths)


def test_coordinates_are_read_near_the_zero_pose_unless_asked_otherwise():
    """Wherever the object itself has been moved to: it has turned around once."""
    body, joint = Body("b", 1.0, np.eye(3)), Joint("j", "revolute", None, "b", axis=(0, 0, 1))
    kinematics = Kinematics(Mechanism("m", (body,), (joint,)), [2 * np.pi + 0.3])
    place = kinematics.x, [from_axis_angle(np.array((0, 0, 1.0)), 0.3)], np.zeros((1, 3))
    assert kinematics.read_coordinates(*place, [(0, 0, 2.0)])[0] == pytest.approx(0.3)
    q, v = kinematics.read_coordinates(*place, [(0, 0, 2.0)], near=kinematics.q)
    assert q == pytest.approx(2 * np.pi + 0.3)
    assert v == pytest.approx(2.0)


def test_accelerations_without_rotors_and_in_other_gravity():
    """A slide along z with a rotor: (tau - m g) / (m + armature), or over m alone."""
    joint = Joint("j", "prismatic", None, "b", axis=(0, 0, 1), armature=3.0)
    robot = Mechanism("m", (Body("b", 1.0, np.eye(3)),), (joint,))
    kinematics = Kinematics(robot)
    for gravity in ((0, 0, -2.0), (5.0, 0, 0.5)):
        for rotors, inertia in ((True, 4.0), (False, 1.0)):
            found = kinematics.forward_acceleration([0], [6], gravity, rotors)
            np.testing.assert_allclose(found, (6 + gravity[2]) / inertia, rtol=1e-12)
        found = forward_acceleration(robot, [0], [0], [6], gravity)
        np.testing.assert_allclose(found, (6 + gravity[2]) / 4, rtol=1e-12)
        np.testing.assert_allclose(bias_forces(robot, [0], [0], gravity), -gravity[2], rtol=1e-12)
