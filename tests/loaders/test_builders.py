"""Mechanisms built in Python."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import ModelError
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


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: builders.chain(0), "at least one link, not 0"),
        (lambda: builders.chain(2, joint="welded"), "'welded'.*revolute, spherical"),
        (lambda: builders.pendulum(length=-1), "length must be positive, not -1"),
        (lambda: builders.cube(mass=float("nan")), "mass must be positive, not nan"),
        (lambda: builders.free_body((1, 1, 3)), "triangle"),
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
