"""Links that fixed joints hold together: nothing is lost and nothing moves."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from urdf_text import LIMIT, joint_xml, link_xml, robot_xml

import robosim
from robosim import quaternions
from robosim.loaders import placement

number = st.floats(-1, 1).map(lambda x: round(x, 3))
vector = st.tuples(number, number, number)


@st.composite
def links(draw, index):
    """(parent, kind, xyz, rpy, mass, com, moments, shape at) of a link of a random tree."""
    moments = np.array(draw(st.tuples(*[st.floats(0.01, 1)] * 3)))
    return {
        "parent": draw(st.integers(0, index - 1)) if index else None,
        "kind": draw(st.sampled_from(("fixed", "fixed", "revolute", "prismatic"))),
        "xyz": draw(vector),
        "rpy": draw(vector),
        "axis": draw(vector.filter(any)),
        "mass": draw(st.floats(0.1, 2)),
        "com": draw(vector),
        "turn": draw(vector),
        "moments": (moments.sum() - moments).tolist(),  # those of a real body
    }


trees = st.integers(1, 7).flatmap(lambda n: st.tuples(*[links(k) for k in range(n)]))


def text(values):
    return " ".join(repr(float(value)) for value in values)


def urdf(tree):
    parts = []
    for k, link in enumerate(tree):
        ixx, iyy, izz = (repr(float(moment)) for moment in link["moments"])
        parts.append(
            link_xml(
                f"l{k}",
                f'<inertial><origin xyz="{text(link["com"])}" rpy="{text(link["turn"])}"/>'
                f'<mass value="{link["mass"]!r}"/>'
                f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/>'
                "</inertial><collision>"
                f'<origin xyz="{text(link["com"])}"/><geometry><sphere radius="0.01"/></geometry>'
                "</collision>",
            )
        )
        if k:
            inside = f'<origin xyz="{text(link["xyz"])}" rpy="{text(link["rpy"])}"/>'
            inside += f'<axis xyz="{text(link["axis"])}"/>' + LIMIT
            parts.append(joint_xml(f"j{k}", f"l{link['parent']}", f"l{k}", link["kind"], inside))
    return robot_xml(*parts)


def link_frames(tree):
    """(R, p) of every link at zero, straight from the tree."""
    frames = []
    for link in tree:
        R = quaternions.rotation_matrix(quaternions.from_rpy(link["rpy"]))
        if link["parent"] is None:
            frames.append((np.eye(3), np.zeros(3)))
        else:
            R_a, p_a = frames[link["parent"]]
            frames.append((R_a @ R, p_a + R_a @ link["xyz"]))
    return frames


def inertia_about_origin(mass, center, inertia):
    return inertia + mass * (center @ center * np.eye(3) - np.outer(center, center))


@settings(max_examples=60, deadline=None)
@given(trees)
def test_mass_centre_inertia_frames_and_contacts_are_kept(tree):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(urdf(tree))
        robot = robosim.load(path)
    kept = placement.body_poses(robot.joints, robot.neutral())
    expected_frames = link_frames(tree)

    moving = sum(link["kind"] != "fixed" for link in tree[1:])
    assert len(robot.bodies) == 1 + moving
    assert np.isclose(robot.total_mass, sum(link["mass"] for link in tree), rtol=1e-13)

    first, second = np.zeros(3), np.zeros((3, 3))
    for link, (R, p) in zip(tree, expected_frames, strict=True):
        center = p + R @ link["com"]
        turned = R @ quaternions.rotation_matrix(quaternions.from_rpy(link["turn"]))
        inertia = turned @ np.diag(link["moments"]) @ turned.T
        first += link["mass"] * center
        second += inertia_about_origin(link["mass"], center, inertia)
    for body in robot.bodies:
        R, x = kept[body.name]
        first -= body.mass * x
        second -= inertia_about_origin(body.mass, x, R @ np.asarray(body.inertia) @ R.T)
    np.testing.assert_allclose(first, 0, atol=1e-12)
    np.testing.assert_allclose(second, 0, atol=1e-11)

    for k, (R_expected, p_expected) in enumerate(expected_frames):
        index, frame = robot.frame(f"l{k}")
        R, x = kept[robot.bodies[index].name]
        np.testing.assert_allclose(x + R @ frame.position, p_expected, atol=1e-13)
        R_frame = R @ quaternions.rotation_matrix(frame.quaternion)
        np.testing.assert_allclose(R_frame, R_expected, atol=1e-13)

    points = {contact.name: contact for contact in robot.contacts}
    for k, (link, (R_l, p_l)) in enumerate(zip(tree, expected_frames, strict=True)):
        if f"l{k}/sphere0" in points:  # else inside another one
            contact = points[f"l{k}/sphere0"]
            R, x = kept[contact.body]
            expected = p_l + R_l @ link["com"]
            np.testing.assert_allclose(x + R @ contact.position, expected, atol=1e-13)


def test_the_merged_body_is_called_like_its_topmost_link(write):
    robot = robosim.load(
        write(
            *(link_xml(name) for name in "abcd"),
            joint_xml("f", "a", "b", "fixed", '<origin xyz="1 0 0" rpy="0 0 1.5"/>'),
            joint_xml("m", "b", "c", "continuous", ""),
            joint_xml("g", "c", "d", "fixed", '<origin xyz="0 2 0"/>'),
        )
    )
    assert [body.name for body in robot.bodies] == ["a", "c"]
    assert [[frame.name for frame in body.frames] for body in robot.bodies] == [
        ["a", "b"],
        ["c", "d"],
    ]
    np.testing.assert_allclose(robot.bodies[0].frames[0].position, (-0.5, 0, 0))
    np.testing.assert_allclose(robot.joints[1].offset, quaternions.from_rpy((0, 0, 1.5)))
    np.testing.assert_allclose(robot.joints[1].parent_position, (0.5, 0, 0))
    # Two equal masses 2 m apart: m d^2 / 2 on top of their own inertia.
    np.testing.assert_allclose(np.diag(robot.bodies[1].inertia), (2.2, 0.2, 2.2))


def test_zero_mass_helper_links_merge(write):
    helper = link_xml("b", '<visual><geometry><box size="1 1 1"/></geometry></visual>')
    robot = robosim.load(
        write(link_xml("a"), helper, joint_xml("f", "a", "b", "fixed", '<origin xyz="1 0 0"/>'))
    )
    assert robot.total_mass == 1
    np.testing.assert_array_equal(robot.frame("b")[1].position, (1, 0, 0))
    np.testing.assert_array_equal(robot.bodies[0].visuals[0].position, (1, 0, 0))
