"""Frames of SDF files: what poses are relative to, in old and new versions, nested and included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sdf_text import joint, link, load, model, sdf

from robosim import Mechanism
from robosim.description.poses import body_poses

QUARTER = np.pi / 2


def places(robot: Mechanism) -> dict[str, np.ndarray]:
    """Where all frames are at home, in the world."""
    poses = body_poses(robot.tree_joints, np.asarray(robot.home))
    found = {frame.name: np.asarray(frame.position) for frame in robot.world_frames}
    for index, frame in robot.frames():
        R, x = poses[robot.bodies[index].name]
        found[frame.name] = x + R @ np.asarray(frame.position)
    return found


def test_poses_are_relative_to_links_joints_frames_and_the_model(tmp_path: Path):
    parts = (
        link("a", pose=f"1 0 0 0 0 {QUARTER}"),
        link("b", pose="a|1 0 0 0 0 0"),
        link("c", pose="j|0 1 0 0 0 0"),
        link("d", pose="f|0 0 1 0 0 0"),
        '<frame name="f" attached_to="b"><pose>0 2 0 0 0 0</pose></frame>',
        joint("j", "revolute", "a", "b", pose="1 0 0 0 0 0"),
        joint("k", "fixed", "a", "c", axis=""),
        joint("l", "fixed", "a", "d", axis=""),
    )
    found = places(load(tmp_path, sdf(model("<pose>0 0 5 0 0 0</pose>", *parts)), ground=False))
    expected = {"a": (1, 0, 5), "b": (1, 1, 5), "c": (0, 2, 5), "f": (-1, 1, 5), "d": (-1, 1, 6)}
    for name, place in expected.items():
        np.testing.assert_allclose(found[name], place, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("version", "told", "axis"),
    [
        # Up to 1.4 axes are those of the model, then those of the joint's frame.
        ("1.4", "<xyz>1 0 0</xyz>", (1, 0, 0)),
        ("1.5", "<xyz>1 0 0</xyz>", (0, 1, 0)),
        ("1.6", "<xyz>1 0 0</xyz>", (0, 1, 0)),
        ("1.6", "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", (1, 0, 0)),
        ("1.6", "<xyz>1 0 0</xyz><use_parent_model_frame>0</use_parent_model_frame>", (0, 1, 0)),
        ("1.7", '<xyz expressed_in="__model__">1 0 0</xyz>', (1, 0, 0)),
        ("1.7", '<xyz expressed_in="b">1 0 0</xyz>', (0, 1, 0)),
        ("1.8", '<xyz expressed_in="f">1 0 0</xyz>', (-1, 0, 0)),
    ],
)
def test_an_axis_is_in_the_frame_that_its_version_says(
    tmp_path: Path, version: str, told: str, axis: tuple
):
    frame = f'<frame name="f"><pose>0 0 0 0 0 {2 * QUARTER}</pose></frame>'
    parts = (
        link("a"),
        link("b", pose=f"0 0 0 0 0 {QUARTER}"),
        frame if version >= "1.7" else "",
        joint("j", "prismatic", "a", "b", f"<axis>{told}</axis>"),
        joint("held", "fixed", "world", "a", axis=""),
    )
    robot = load(tmp_path, sdf(model(*parts), version=version), ground=False)
    moved = body_poses(robot.tree_joints, np.array([1.0]))["b"][1]
    np.testing.assert_allclose(moved, axis, atol=1e-12)


def test_a_joint_is_in_the_frame_of_its_child_and_a_link_in_that_of_its_model(tmp_path: Path):
    parts = (
        link("a"),
        link("b", pose=f"1 0 0 0 0 {QUARTER}"),
        joint("j", "revolute", "a", "b", pose="0 2 0 0 0 0"),
        joint("held", "fixed", "world", "a", axis=""),
    )
    robot = load(tmp_path, sdf(model(*parts), version="1.6"), ground=False)
    # The hinge is at 1 - 2 along x.
    turned = body_poses(robot.tree_joints, np.array([2 * QUARTER]))["b"][1]
    np.testing.assert_allclose(turned, (-3, 0, 0), atol=1e-12)


def nested(placement: str = "", pose: str = "1 0 0 0 0 0") -> str:
    inner = model(
        f"<pose>{pose}</pose>",
        link("base", pose="0 1 0 0 0 0"),
        link("tip", pose="0 3 0 0 0 0"),
        joint("hinge", "revolute", "base", "tip"),
        name="inner",
        more=placement,
    )
    tie = joint("tie", "fixed", "a", "inner::base", axis="")
    return sdf(model(link("a"), inner, tie, link("b", pose="inner::tip|0 0 1 0 0 0"),
                     joint("on", "fixed", "inner::tip", "b", axis="")))  # fmt: skip


def test_nested_models_have_names_with_colons(tmp_path: Path):
    robot = load(tmp_path, nested(), ground=False)
    found = places(robot)
    np.testing.assert_allclose(found["inner::base"], (1, 1, 0), atol=1e-12)
    np.testing.assert_allclose(found["inner::tip"], (1, 3, 0), atol=1e-12)
    np.testing.assert_allclose(found["b"], (1, 3, 1), atol=1e-12)
    assert [joint.name for joint in robot.tree_joints] == ["floating_base", "inner::hinge"]


def test_a_placement_frame_is_where_the_pose_says(tmp_path: Path):
    found = places(load(tmp_path, nested('placement_frame="tip"'), ground=False))
    np.testing.assert_allclose(found["inner::tip"], (1, 0, 0), atol=1e-12)
    np.testing.assert_allclose(found["inner::base"], (1, -2, 0), atol=1e-12)


def test_ends_of_joints_may_be_frames_and_models(tmp_path: Path):
    inner = model(link("x", pose="5 0 0 0 0 0"), link("y"), joint("i", "revolute", "x", "y"),
                  name="inner", more='canonical_link="y"')  # fmt: skip
    frame = '<frame name="f" attached_to="g"/><frame name="g" attached_to="a"/>'
    parts = link("a"), inner, frame, joint("j", "revolute", "f", "inner")
    robot = load(tmp_path, sdf(model(*parts)), ground=False)
    (tie,) = [joint for joint in robot.joints if joint.name == "j"]
    assert (tie.parent, tie.child) == ("a", "inner::y")


def test_included_models_are_found_by_path_folder_and_package(tmp_path: Path):
    for folder, file in (("one", "one.sdf"), ("two", "model.sdf"), ("three", "model-1_8.sdf")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(sdf(model(link("x"), name=folder)))
    (tmp_path / "three" / "model.config").write_text(
        '<model><name>three</name><sdf version="1.6">none.sdf</sdf>'
        '<sdf version="1.8">model-1_8.sdf</sdf></model>'
    )
    parts = (
        link("a"),
        "<include><uri>one/one.sdf</uri><pose>1 0 0 0 0 0</pose></include>",
        "<include><uri>two</uri><name>second</name></include>",
        "<include><uri>model://three</uri></include>",
        *(joint(f"j{k}", "revolute", "a", f"{name}::x")
          for k, name in enumerate(("one", "second", "three"))),
    )  # fmt: skip
    robot = load(tmp_path, sdf(model(*parts)), ground=False, package_dirs=tmp_path)
    found = places(robot)
    np.testing.assert_allclose(found["one::x"], (1, 0, 0), atol=1e-12)
    assert {"second::x", "three::x"} <= set(found)


def test_an_include_may_make_a_model_static(tmp_path: Path):
    (tmp_path / "box.sdf").write_text(sdf(model(link("x"), name="box")))
    include = "<include><uri>box.sdf</uri><static>true</static></include>"
    robot = load(tmp_path, sdf(f'<world name="w">{include}{model(link("a"))}</world>'))
    assert [body.name for body in robot.bodies] == ["a"]


def test_quaternions_and_degrees_turn_as_radians_do(tmp_path: Path):
    def turn(pose: str) -> np.ndarray:
        text = f'<link name="a">{pose}</link>'
        robot = load(tmp_path, sdf(model(text), version="1.9"), ground=False)
        return np.asarray(robot.home[3:7])

    radians = turn(f"<pose>0 0 0 0 0 {QUARTER}</pose>")
    np.testing.assert_allclose(turn('<pose degrees="true">0 0 0 0 0 90</pose>'), radians)
    half = np.sqrt(0.5)
    told = f'<pose rotation_format="quat_xyzw">0 0 0 0 0 {half} {half}</pose>'
    np.testing.assert_allclose(turn(told), radians)


def test_frames_of_a_world_place_its_models(tmp_path: Path):
    frame = '<frame name="desk"><pose>0 0 2 0 0 0</pose></frame>'
    robot = model('<pose relative_to="desk">1 0 0 0 0 0</pose>', link("a"))
    found = load(tmp_path, sdf(f'<world name="w">{frame}{robot}</world>'))
    np.testing.assert_allclose(found.home[:3], (1, 0, 2))
    assert [one.name for one in found.world_frames] == ["desk"]
