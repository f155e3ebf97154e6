"""The shipped A1, its stance, and that it equals the genuine one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim.loaders import placement
from robosim.loaders.packages import example_robot_data
from robosim.models import stances

LEGS = ("FR", "FL", "RR", "RL")
needs_the_genuine_one = pytest.mark.skipif(
    example_robot_data() is None, reason="example-robot-data is not installed"
)


@pytest.fixture(scope="module")
def shipped():
    return robosim.load("a1")


@pytest.fixture(scope="module")
def genuine():
    return robosim.load("a1_description")


def test_bodies_joints_and_frames(shipped):
    assert [body.name for body in shipped.bodies] == [
        "base",
        *(f"{leg}_{part}" for leg in LEGS for part in ("hip", "thigh", "calf")),
    ]
    assert [joint.name for joint in shipped.joints] == [
        "floating_base",
        *(f"{leg}_{part}_joint" for leg in LEGS for part in ("hip", "thigh", "calf")),
    ]
    assert shipped.bodies[shipped.frame("FR_foot")[0]].name == "FR_calf"
    assert shipped.bodies[shipped.frame("imu_link")[0]].name == "base"
    assert shipped.total_mass == pytest.approx(13.741)
    assert shipped.warnings == ()


def test_it_starts_standing_on_four_feet(shipped):
    home = np.asarray(shipped.home)
    np.testing.assert_array_equal(home[7:], [0, 0.8, -1.6] * 4)
    # Two links of 0.2 m at 0.8 rad to the vertical, and a foot of 0.02 m.
    assert home[2] == pytest.approx(0.4 * np.cos(0.8) + 0.02, abs=1e-12)
    poses = placement.body_poses(shipped.joints, home)
    heights = {}
    for contact in shipped.contacts:
        R, x = poses[contact.body]
        heights[contact.name] = (x + R @ contact.position)[2] - contact.radius
    feet = {f"{leg}_foot/sphere0" for leg in LEGS}
    assert {name for name, height in heights.items() if height < 1e-3} == feet
    np.testing.assert_allclose([heights[foot] for foot in feet], 0, atol=1e-12)


def test_stance(shipped):
    stance = shipped.stance
    assert stance is not None
    np.testing.assert_array_equal(stance.target, [0, 0.8, -1.6] * 4)
    np.testing.assert_array_equal(stance.kp, [100, 80, 60] * 4)
    np.testing.assert_array_equal(stance.kd, [5, 4, 3] * 4)
    assert robosim.load("double_pendulum").stance is None


def test_the_stance_is_that_of_a_fixed_a1_too():
    robot = robosim.load("a1", floating_base=False)
    assert robot.stance is not None
    np.testing.assert_array_equal(robot.home, [0, 0.8, -1.6] * 4)


def test_a_robot_of_that_name_with_other_joints_has_none(shipped):
    fewer = [joint for joint in shipped.joints if not joint.name.endswith("calf_joint")]
    bodies = [body for body in shipped.bodies if not body.name.endswith("calf")]
    renamed = [replace(fewer[1], name="other"), *fewer[2:]]
    for joints in (fewer, [fewer[0], *renamed]):
        assert stances.stance(robosim.Mechanism("a1", tuple(bodies), tuple(joints))) is None


@pytest.mark.peer
@needs_the_genuine_one
class TestAgainstTheGenuineOne:
    def test_masses_and_inertias(self, shipped, genuine):
        assert len(shipped.bodies) == len(genuine.bodies) == 13
        for ours, theirs in zip(shipped.bodies, genuine.bodies, strict=True):
            assert ours.name == theirs.name
            assert ours.mass == theirs.mass
            np.testing.assert_array_equal(ours.inertia, theirs.inertia)

    def test_frames(self, shipped, genuine):
        assert [(index, frame.name) for index, frame in shipped.frames()] == [
            (index, frame.name) for index, frame in genuine.frames()
        ]
        for (_, ours), (_, theirs) in zip(shipped.frames(), genuine.frames(), strict=True):
            np.testing.assert_array_equal(ours.position, theirs.position)
            np.testing.assert_array_equal(ours.quaternion, theirs.quaternion)

    def test_joints_and_limits(self, shipped, genuine):
        for ours, theirs in zip(shipped.joints, genuine.joints, strict=True):
            for name in ("name", "kind", "parent", "child", "velocity_limit", "effort_limit",
                         "damping", "friction", "armature", "actuated"):  # fmt: skip
                assert getattr(ours, name) == getattr(theirs, name), (ours.name, name)
            for name in ("axis", "parent_position", "child_position", "offset", "lower", "upper"):
                np.testing.assert_array_equal(
                    getattr(ours, name), getattr(theirs, name), f"{ours.name} {name}"
                )

    def test_stance(self, shipped, genuine):
        for name in ("target", "kp", "kd"):
            ours, theirs = getattr(shipped.stance, name), getattr(genuine.stance, name)
            np.testing.assert_array_equal(ours, theirs)

    def test_collisions_contacts_and_home(self, shipped, genuine):
        for ours, theirs in zip(shipped.bodies, genuine.bodies, strict=True):
            for a, b in zip(ours.collisions, theirs.collisions, strict=True):
                assert (a.kind, a.size, a.name) == (b.kind, b.size, b.name)
                np.testing.assert_array_equal(a.position, b.position)
                np.testing.assert_array_equal(a.quaternion, b.quaternion)
        for a, b in zip(shipped.contacts, genuine.contacts, strict=True):
            assert (a.name, a.body, a.radius, a.friction) == (b.name, b.body, b.radius, b.friction)
            np.testing.assert_array_equal(a.position, b.position)
        np.testing.assert_array_equal(shipped.home, genuine.home)

    def test_the_genuine_meshes_are_shared_between_the_legs(self, genuine):
        meshes = [
            shape for body in genuine.bodies for shape in body.visuals if shape.kind == "mesh"
        ]
        assert len(meshes) == 13
        assert len({id(shape.vertices) for shape in meshes}) == 5
        assert sum(len(shape.vertices) for shape in meshes) > 100_000
