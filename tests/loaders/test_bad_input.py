"""Every file that cannot be simulated is refused with the file, the element and the value."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from urdf_text import INERTIAL, LIMIT, joint_xml, link_xml, robot_xml

import robosim
from robosim import LoadError, ModelError

A, B, C = link_xml("a"), link_xml("b"), link_xml("c")
J = joint_xml("j", "a", "b")


def inertial(mass="1", moments=("0.1", "0.1", "0.1"), products=("0", "0", "0")):
    return (
        f'<inertial><mass value="{mass}"/><inertia ixx="{moments[0]}" iyy="{moments[1]}" '
        f'izz="{moments[2]}" ixy="{products[0]}" ixz="{products[1]}" iyz="{products[2]}"/>'
        "</inertial>"
    )


def shape(geometry, tag="collision"):
    return f"<{tag}><geometry>{geometry}</geometry></{tag}>"


CASES = {
    "unknown joint type": (
        (A, B, joint_xml("j", "a", "b", "hinge")),
        ["joint 'j'", "'hinge'", "revolute"],
    ),
    "missing parent": ((A, B, joint_xml("j", "x", "b")), ["joint 'j'", "parent", "'x'"]),
    "missing child": ((A, B, joint_xml("j", "a", "x")), ["joint 'j'", "child", "'x'"]),
    "no parent element": (
        (A, B, '<joint name="j" type="fixed"><child link="b"/></joint>'),
        ["joint 'j'", "<parent>"],
    ),
    "two parents": (
        (A, B, C, J, joint_xml("k", "b", "c"), joint_xml("l", "a", "c")),
        ["joint 'l'", "'c'", "two parents", "<loop_joint>", '<link1 link="a"/>, <link2 link="c"/>'],
    ),
    "whole cycle": ((A, B, J, joint_xml("k", "b", "a")), ["cycle", "a", "b"]),
    "cycle beside a tree": (
        (link_xml("root"), A, B, J, joint_xml("k", "b", "a")),
        ["cycle", "b -> a -> b"],
    ),
    "joint to itself": ((link_xml("root"), A, joint_xml("k", "a", "a")), ["joint 'k'", "cycle"]),
    "several roots": ((A, B), ["robot 'r'", "['a', 'b']"]),
    "no links": ((), ["robot 'r'", "no links"]),
    "link name twice": ((A, A), ["link 'a'", "twice"]),
    "joint name twice": ((A, B, C, J, joint_xml("j", "a", "c")), ["joint 'j'", "twice"]),
    "link without name": (("<link/>",), ["<link>", "'name'"]),
    "joint without type": ((A, B, J.replace(' type="revolute"', "")), ["<joint>", "'type'"]),
    "negative mass": ((link_xml("a", inertial("-1")),), ["link 'a'", "-1"]),
    "mass is nan": ((link_xml("a", inertial("nan")),), ["link 'a'", "'value'", "finite", "nan"]),
    "mass is inf": ((link_xml("a", inertial("inf")),), ["link 'a'", "finite", "inf"]),
    "mass overflows": ((link_xml("a", inertial("1e999")),), ["finite", "1e999"]),
    "mass is a word": ((link_xml("a", inertial("heavy")),), ["link 'a'", "number", "'heavy'"]),
    "mass with underscore": ((link_xml("a", inertial("1_0")),), ["number", "'1_0'"]),
    "inertia is nan": ((link_xml("a", inertial(moments=("nan", "1", "1"))),), ["'ixx'", "nan"]),
    "origin is nan": (
        (A, B, joint_xml("j", "a", "b", inside='<origin xyz="0 nan 0"/>' + LIMIT)),
        ["joint 'j'", "<origin>", "'xyz'", "nan"],
    ),
    "origin of two numbers": (
        (A, B, joint_xml("j", "a", "b", inside='<origin rpy="0 0"/>' + LIMIT)),
        ["joint 'j'", "'rpy'", "3", "'0 0'"],
    ),
    "limits the wrong way round": (
        (
            A,
            B,
            joint_xml(
                "j", "a", "b", inside='<limit lower="1" upper="-1" effort="1" velocity="1"/>'
            ),
        ),
        ["joint 'j'", "wrong way round", "1.0", "-1.0"],
    ),
    "limit is nan": (
        (
            A,
            B,
            joint_xml(
                "j", "a", "b", inside='<limit lower="nan" upper="1" effort="1" velocity="1"/>'
            ),
        ),
        ["joint 'j'", "'lower'", "nan"],
    ),
    "no limit on revolute": (
        (A, B, joint_xml("j", "a", "b", inside="")),
        ["joint 'j'", "<limit>", "continuous"],
    ),
    "no limit on prismatic": (
        (A, B, joint_xml("j", "a", "b", "prismatic", "")),
        ["joint 'j'", "<limit>"],
    ),
    "negative effort": (
        (
            A,
            B,
            joint_xml(
                "j", "a", "b", inside='<limit lower="0" upper="1" effort="-3" velocity="1"/>'
            ),
        ),
        ["joint 'j'", "'effort'", "-3"],
    ),
    "zero axis": (
        (A, B, joint_xml("j", "a", "b", inside='<axis xyz="0 0 0"/>' + LIMIT)),
        ["joint 'j'", "axis", "[0.0, 0.0, 0.0]"],
    ),
    "negative damping": (
        (A, B, joint_xml("j", "a", "b", inside='<dynamics damping="-1"/>' + LIMIT)),
        ["joint 'j'", "'damping'", "-1"],
    ),
    "missing mesh": (
        (link_xml("a", INERTIAL + shape('<mesh filename="none.stl"/>')),),
        ["link 'a'", "<collision>", "'none.stl'"],
    ),
    "mesh in no package": (
        (link_xml("a", INERTIAL + shape('<mesh filename="package://nowhere/x.stl"/>')),),
        ["link 'a'", "package://nowhere/x.stl", "package_dirs"],
    ),
    "mesh on the network": (
        (link_xml("a", INERTIAL + shape('<mesh filename="http://example.org/x.stl"/>')),),
        ["link 'a'", "http://example.org/x.stl", "network"],
    ),
    "mesh without file name": ((link_xml("a", shape("<mesh/>")),), ["link 'a'", "'filename'"]),
    "mesh scaled by zero": (
        (link_xml("a", INERTIAL + shape('<mesh filename="x.stl" scale="1 0 1"/>')),),
        ["link 'a'", "'scale'", "1 0 1"],
    ),
    "unknown shape": ((link_xml("a", shape("<torus/>")),), ["link 'a'", "torus", "box"]),
    "no known shape": ((link_xml("a", shape("<torus/>")),), ["link 'a'", "<geometry>", "box"]),
    "negative radius": (
        (link_xml("a", shape('<sphere radius="-1"/>')),),
        ["link 'a'", "'radius'", "-1"],
    ),
    "box of less than no size": (
        (link_xml("a", shape('<box size="1 -1 1"/>')),),
        ["link 'a'", "'size'", "1 -1 1"],
    ),
    "friction is a word": (
        (A, '<gazebo reference="a"><mu1>slippery</mu1></gazebo>'),
        ["gazebo 'a'", "<mu1>", "'slippery'"],
    ),
    "xacro": (
        ('<xacro:include xmlns:xacro="http://www.ros.org/wiki/xacro" filename="x"/>', A),
        ["xacro"],
    ),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.replace(" ", "-"))
def test_refused_with_file_element_and_value(case, write):
    parts, said = CASES[case]
    path = write(*parts)
    with pytest.raises(ModelError) as caught:
        robosim.load(path)
    message = str(caught.value)
    assert caught.value.file == path
    for text in [str(path), *said]:
        assert text in message


TEXT = robot_xml(
    A, B, link_xml("c", inertial("2") + shape('<box size="1 2 3"/>')), J,
    joint_xml("k", "b", "c", "fixed", '<origin xyz="1 2 3" rpy="0 0 1"/>'),
)  # fmt: skip
PIECES = ("", "0", "-1", "nan", "1e400", "a", '"', "<", "/>", "<link/>", "&x;", "\0", "é", "b", " ")


@settings(max_examples=300, deadline=None)
@example(edits=[(TEXT.index("inertia ixx"), 0, "é")])
@given(
    st.lists(
        st.tuples(st.integers(0, len(TEXT)), st.integers(0, 12), st.sampled_from(PIECES)),
        min_size=1,
        max_size=3,
    )
)
def test_whatever_is_in_a_file_the_error_is_a_typed_one(edits):
    text = TEXT
    for start, length, piece in edits:
        text = text[:start] + piece + text[start + length :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(text, encoding="utf-8")
        try:
            file = robosim.load(path).source
        except ModelError as error:
            file = error.file
    assert file is not None
    assert Path(file) == path


def test_missing_file(tmp_path):
    with pytest.raises(LoadError, match=r"robot\.urdf: the file does not exist"):
        robosim.load(tmp_path / "robot.urdf")


def test_a_folder_is_no_model_file(tmp_path):
    (tmp_path / "robot.urdf").mkdir()
    with pytest.raises(LoadError, match=r"robot\.urdf"):
        robosim.load(tmp_path / "robot.urdf")


@pytest.mark.parametrize("text", ["", "<robot", "<robot name='r'><link></robot>", "\x00", "words"])
def test_malformed_xml(tmp_path, text):
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with pytest.raises(LoadError, match="malformed XML") as caught:
        robosim.load(path)
    assert caught.value.file == path


def test_another_root_element(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text("<sdf/>")
    with pytest.raises(LoadError, match="line 1: root element: is <sdf>, not <robot>"):
        robosim.load(path)


def test_a_urdf_in_an_xml_file_loads(write):
    assert robosim.load(write(A, file="robot.xml")).total_mass == 1


def test_unknown_suffix(write):
    with pytest.raises(LoadError, match=r"unknown kind of model file '\.txt'"):
        robosim.load(write(A, file="robot.txt"))


@pytest.mark.parametrize("content", [b"", b"solid nonsense", b"\x00" * 200])
def test_a_mesh_that_is_no_mesh(write, tmp_path, content):
    (tmp_path / "x.stl").write_bytes(content)
    path = write(link_xml("a", INERTIAL + shape('<mesh filename="x.stl"/>')))
    with pytest.raises(LoadError, match=r"link 'a'.*x\.stl") as caught:
        robosim.load(path)
    assert caught.value.file == path


def test_a_mesh_of_another_format(write, tmp_path):
    (tmp_path / "x.step").write_text("x")
    path = write(link_xml("a", INERTIAL + shape('<mesh filename="x.step"/>')))
    with pytest.raises(LoadError, match=r"unknown mesh format '\.step'.*\.dae"):
        robosim.load(path)


def test_impossible_inertia_is_named_but_loaded(write):
    path = write(link_xml("a", inertial(moments=("0.1", "0.1", "0.5"))))
    robot = robosim.load(path)
    assert len(robot.warnings) == 2  # and that it has no collision geometry
    assert any("body 'a'" in text and "triangle" in text for text in robot.warnings)


@pytest.mark.parametrize(
    ("moments", "said"),
    [(("0.1", "0.1", "0.5"), "triangle"), (("-0.1", "0.1", "0.1"), "positive definite")],
)
def test_impossible_inertia_of_a_merged_link_is_named(write, moments, said):
    part = inertial(mass="0.1", moments=moments)
    big = link_xml("a", inertial(moments=("9", "9", "9")))
    path = write(big, link_xml("b", part), joint_xml("j", "a", "b", "fixed", ""))
    robot = robosim.load(path)
    assert any("link 'b'" in text and said in text for text in robot.warnings)
    assert np.isclose(robot.total_mass, 1.1)


def test_damping_and_friction_are_read_without_a_word(write):
    inside = LIMIT + '<dynamics damping="0.1" friction="0.2"/>'
    robot = robosim.load(write(A, B, joint_xml("j", "a", "b", inside=inside)), ground=False)
    assert robot.warnings == ()
    assert robot.joints[1].damping == 0.1
    assert robot.joints[1].friction == 0.2
