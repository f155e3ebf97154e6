"""Mechanisms built in Python."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import ModelError
from robosim.dynamics import Kinematics
from robosim.loaders import placement
from robosim.models import builders


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_chain_hangs_down_at_zero(n):
    robot = builders.chain(n, length=0.5, mass=2.0)
    assert (robot.nq, robot.nv, robot.total_mass) == (n, n, 2.0 * n)
    poses = placement.body_poses(robot.joints, robot.home)
    for k in range(n):
        R, x = poses[f"link{k + 1}"]
        np.testing.assert_allclose(R, np.eye(3))
        np.testing.assert_allclose(x, (0, 0, -0.25 - 0.5 * k))
        index, frame = robot.frame(f"link{k + 1}_end")
        assert index == k
        np.testing.assert_allclose(x + frame.position, (0, 0, -0.5 * (k + 1)))
    inertia = np.asarray(robot.bodies[0].inertia)
    np.testing.assert_allclose(np.diag(inertia)[:2], 2.0 * 0.25 / 12)
    assert 0 < inertia[2, 2] < 0.01 * inertia[0, 0]


def test_a_positive_angle_about_y_swings_to_minus_x():
    _, x = placement.body_poses(builders.pendulum(2.0).joints, np.array([np.pi / 2]))["link1"]
    np.testing.assert_allclose(x, (-1, 0, 0), atol=1e-15)


def test_a_chain_of_spherical_joints():
    robot = builders.chain(3, joint="spherical")
    assert (robot.nq, robot.nv) == (12, 9)


def test_a_chain_of_universal_joints_does_not_twist():
    robot = builders.universal_chain(3)
    assert (robot.nq, robot.nv) == (6, 6)
    hip = robot.joints[0]
    rng = np.random.default_rng(2)
    for q in rng.uniform(-1, 1, (3, 2)):
        R = hip.rotation(q)
        # The cross between them: y of the rod is across x of what holds it.
        assert R[0, 1] == pytest.approx(0.0, abs=1e-15)
    poses = placement.body_poses(robot.joints, np.array([np.pi / 2, 0, 0, 0, 0, 0]))
    np.testing.assert_allclose(poses["link3"][1], (0, 2.5, 0), atol=1e-15)


def test_a_nut_rises_by_the_pitch():
    robot = builders.screw(pitch=-0.1)
    _, x = placement.body_poses(robot.joints, np.array([np.pi]))["nut"]
    np.testing.assert_allclose(x, (0, 0, -0.1 * np.pi), atol=1e-15)


def test_a_knee_rolls_and_then_slides():
    """The plateau touches the condyle; the material of both moves alike where it rolls."""
    r = 0.025
    robot = builders.knee_spline(condyle=r)
    chart = robot.joints[1].own_chart
    np.testing.assert_array_equal(chart.limits(), [[0.0], [12.0]])
    slips = []
    for q in np.linspace(0, 12, 25):
        E, angle = chart.pose([q]), np.radians(10.0) * q
        np.testing.assert_allclose(np.arccos(E[0, 0]), angle, atol=1e-7)  # exactly so many degrees
        exact = builders.knee_frame(angle, r)
        np.testing.assert_allclose(E[:3, 3], exact[:3], atol=3e-4)
        # The plateau is across z of the shank; the condyle's centre is the thigh's end.
        centre = -E[:3, :3].T @ E[:3, 3]
        assert centre[2] == pytest.approx(r, abs=3e-4)
        contact = np.array((centre[0], 0.0, 0.0))
        S = chart.columns([q])[:, 0]
        slips.append(-(S[:3] + np.cross(S[3:], contact))[0] / (np.radians(10.0) * r))
    # Of the whole way past the condyle: none where the leg is straight, nearly all of it at last.
    assert abs(slips[0]) < 0.1
    assert slips[-1] > 0.9
    assert np.all(np.diff(slips) > 0)


def test_cube_and_sphere_rest_on_the_ground():
    for robot in (builders.cube(0.4, 2.0), builders.sphere(0.3, 2.0)):
        gap = placement.lowest_gap(robot.joints, robot.contacts, robot.home)
        assert gap == pytest.approx(0, abs=1e-15)
        assert robot.total_mass == 2.0
    np.testing.assert_allclose(builders.cube(0.4, 2.0).bodies[0].inertia, 0.32 / 6 * np.eye(3))
    np.testing.assert_allclose(
        builders.sphere(0.3, 2.0).bodies[0].inertia, 0.4 * 2 * 0.09 * np.eye(3)
    )


def test_a_free_body_is_drawn_as_the_box_of_its_inertia():
    body = builders.free_body((0.02, 0.03, 0.04), mass=2.0).bodies[0]
    x, y, z = np.square(body.visuals[0].size)
    np.testing.assert_allclose(2 / 12 * np.array((y + z, x + z, x + y)), (0.02, 0.03, 0.04))
    assert builders.free_body().contacts == ()


@pytest.mark.parametrize("around", [True, False])
def test_muscles_of_the_arm_are_at_nine_tenths_at_home(around):
    robot = builders.arm_with_muscles(around=around)
    kinematics = Kinematics(robot, robot.home)
    for length, actuator in zip(kinematics.tendon_lengths(), robot.actuators, strict=True):
        muscle = actuator.muscle
        own = (length - muscle.tendon_length) / muscle.optimal_length
        assert own == pytest.approx(0.9, abs=1e-12)
    flexes, extends = kinematics.tendon_jacobian()[[0, 2], 0]
    assert flexes == pytest.approx(-extends)
    assert flexes == pytest.approx(0.07 * 0.58) or not around


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: builders.arm_with_muscles(force=0), "force must be positive, not 0"),
        (lambda: builders.chain(0), "at least one link, not 0"),
        (lambda: builders.chain(2, joint="welded"), "'welded'.*revolute, spherical"),
        (lambda: builders.pendulum(length=-1), "length must be positive, not -1"),
        (lambda: builders.cube(mass=float("nan")), "mass must be positive, not nan"),
        (lambda: builders.free_body((1, 1, 3)), "triangle"),
        (lambda: builders.screw(np.nan), "pitch must be finite, not nan"),
        (lambda: builders.knee_spline(rollback=0), "rollback must be positive, not 0"),
        (lambda: builders.free_body((1, 1)), "three moments"),
    ],
)
def test_sizes_are_checked(build, said):
    with pytest.raises(ModelError, match=said):
        build()


def test_options_of_load_reach_the_builders():
    assert {c.friction for c in robosim.load("cube", friction=0.2).contacts} == {0.2}
    assert robosim.load("cube", ground=False).contacts == ()
    assert robosim.load("cube", floating_base=True).floating_base
    with pytest.raises(ModelError, match="base is fixed"):
        robosim.load("pendulum", floating_base=True)
