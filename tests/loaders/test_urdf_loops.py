"""Loops of URDF files, in all the ways in which they are written, become the same exact joints."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_text import joint_xml, link_xml, robot_xml

import robosim
from robosim import LoadError, quaternions
from robosim.loaders import loops_yaml, placement
from robosim.loaders.loops import End, Loop, Place, loop_joint, turned

FREE = '<axis xyz="0 1 0"/>'


def rod(name, length):
    """A rod along x from its link frame, of 1 kg."""
    across = length**2 / 12
    inertia = f'<inertia ixx="1e-4" iyy="{across}" izz="{across}" ixy="0" ixz="0" iyz="0"/>'
    return link_xml(
        name, f'<inertial><origin xyz="{length / 2} 0 0"/><mass value="1"/>{inertia}</inertial>'
    )


# A four-bar: crank and rocker on the ground, 0.6 m apart, and a coupler from the crank.
FOUR_BAR = (
    link_xml("world", ""), rod("crank", 0.3), rod("coupler", 1.0), rod("rocker", 0.8),
    joint_xml("j1", "world", "crank", "continuous", FREE),
    joint_xml("j2", "crank", "coupler", "continuous", f'<origin xyz="0.3 0 0"/>{FREE}'),
    joint_xml("j3", "world", "rocker", "continuous", f'<origin xyz="0.9 0 0"/>{FREE}'),
)  # fmt: skip
AXIS = '<axis xyz="0 1 0"/>'
WAYS = {
    "links": f'<loop_joint name="pin" type="revolute"><link1 link="coupler" xyz="1 0 0"/>'
    f'<link2 link="rocker" rpy="0 0 0" xyz="0.8 0 0"/>{AXIS}</loop_joint>',
    "twice link1": f'<loop_joint name="pin" type="revolute"><link1 link="coupler" xyz="1 0 0"/>'
    f'<link1 link="rocker" xyz="0.8 0 0"/>{AXIS}</loop_joint>',
    "origins": f'<loop_joint name="pin" type="continuous"><link1 link="coupler">'
    f'<origin xyz="1 0 0"/></link1><link2 link="rocker"><origin xyz="0.8 0 0"/></link2>{AXIS}'
    "</loop_joint>",
    "parent and child": f'<loop_joint name="pin" type="revolute"><parent link="coupler"/>'
    f'<child link="rocker"/><parent_origin xyz="1 0 0"/><child_origin xyz="0.8 0 0"/>{AXIS}'
    "</loop_joint>",
    "sidecar": "loops:\n  - name: pin\n    type: revolute\n"
    "    link1: {link: coupler, xyz: [1, 0, 0]}\n    link2: {link: rocker, xyz: [8e-1, 0, 0]}\n"
    "    axis: [0, 1, 0]\n",
}  # fmt: skip


def four_bar(write, way):
    path = write(*FOUR_BAR, "" if way == "sidecar" else WAYS[way])
    if way == "sidecar":
        path.with_name("robot.loops.yaml").write_text(WAYS[way])
    return robosim.load(path, ground=False)


@pytest.mark.parametrize("way", WAYS)
def test_all_ways_give_the_same_joint(write, way):
    robot = four_bar(write, way)
    assert robot.warnings == ()
    (pin,) = robot.loop_joints
    assert (pin.name, pin.kind, pin.parent, pin.child) == ("pin", "revolute", "coupler", "rocker")
    assert not pin.actuated
    np.testing.assert_allclose(pin.parent_position, (0.5, 0, 0), atol=1e-15)
    np.testing.assert_allclose(pin.child_position, (0.4, 0, 0), atol=1e-15)
    np.testing.assert_allclose(pin.axis, (0, 1, 0))
    np.testing.assert_allclose(pin.offset, quaternions.IDENTITY)
    assert robot.nu == 3


def test_a_four_bar_stays_closed(write):
    robot = four_bar(write, "links")
    sim = robosim.Simulation(robot, timestep=1e-3)
    sim.set_state([-0.5, -0.4, -1.5])
    log = sim.run(0.3)
    assert log.violation.max() < 1e-10
    assert abs(log.q[-1, 0] - log.q[0, 0]) > 0.1


def test_the_other_end_as_it_lies_at_zero(write):
    """SDF gives the frame in the child alone; at zero both ends coincide."""
    joint = (
        '<gazebo><joint name="pin" type="revolute"><parent>crank</parent><child>rocker</child>'
        "<pose>0.8 0 0 0 0 1</pose><axis><xyz>0 1 0</xyz></axis></joint></gazebo>"
    )
    robot = robosim.load(write(*FOUR_BAR, joint), ground=False)
    (pin,) = robot.loop_joints
    # At zero the rocker lies along x from 0.9, and the crank from 0.
    np.testing.assert_allclose(pin.child_position, (0.4, 0, 0), atol=1e-15)
    np.testing.assert_allclose(pin.parent_position, (1.7 - 0.15, 0, 0), atol=1e-15)
    np.testing.assert_allclose(pin.offset, quaternions.IDENTITY, atol=1e-15)
    np.testing.assert_allclose(pin.axis, (-np.sin(1), np.cos(1), 0))
    assert robot.warnings == ()


def test_ball_constraints_of_drake(write):
    ball = (
        '<drake:ball_constraint><drake:ball_constraint_body_A name="coupler"/>'
        '<drake:ball_constraint_body_B name="rocker"/><drake:ball_constraint_p_AP value="1 0 0"/>'
        '<drake:ball_constraint_p_BQ value="0.8 0 0"/></drake:ball_constraint>'
    )
    robot = robosim.load(write(*FOUR_BAR, ball), ground=False)
    (pin,) = robot.loop_joints
    assert (pin.kind, pin.parent, pin.child) == ("spherical", "coupler", "rocker")
    np.testing.assert_allclose(pin.parent_position, (0.5, 0, 0), atol=1e-15)
    with pytest.raises(LoadError, match=r"line 1: <drake:ball_constraint>.*p_AP"):
        robosim.load(write(*FOUR_BAR, ball.replace("p_AP", "p_XY")))


def test_springs_of_drake(write):
    def spring(free_length):
        values = {"body_A name": "world", "body_B name": "rocker", "p_AP value": "0 0 1",
                  "p_BQ value": "0.8 0 0", "free_length value": free_length,
                  "stiffness value": "40", "damping value": "2"}  # fmt: skip
        inside = "".join(
            f'<drake:linear_spring_damper_{what}="{value}"/>' for what, value in values.items()
        )
        return f"<drake:linear_spring_damper>{inside}</drake:linear_spring_damper>"

    (found,) = robosim.load(write(*FOUR_BAR, spring("0.5")), ground=False).springs
    assert (found.parent, found.child) == (None, "rocker")
    np.testing.assert_allclose(found.parent_position, (0, 0, 1))
    np.testing.assert_allclose(found.child_position, (0.4, 0, 0), atol=1e-15)
    assert (found.stiffness, found.rest_length, found.damping) == (40, 0.5, 2)
    with pytest.raises(LoadError, match="line 1: <drake:linear_spring_damper>: rest_length"):
        robosim.load(write(*FOUR_BAR, spring("-1")))


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "spherical", "fixed"])
@pytest.mark.parametrize("seed", range(3))
def test_frames_coincide_but_for_what_is_free(kind, seed):
    """At any coordinates, for frames that are turned at random, on links that are as well."""
    rng = np.random.default_rng(seed)

    def place(body):
        return Place(body, turned(rng.normal(size=3)), rng.normal(size=3), np.eye(3), np.zeros(3))

    def end(link):
        return End(link, turned(rng.normal(size=3)), rng.normal(size=3))

    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    first, second, places = end("a"), end("b"), {"a": place("A"), "b": place("B")}
    joint = loop_joint(Loop("pin", kind, first, second, axis), places)
    base = robosim.Joint("base", "floating", None, "A")
    q = rng.normal(size=7 + joint.nq)
    slide = axis * q[7] if kind in ("prismatic", "cylindrical") else np.zeros(3)
    turn = np.eye(3)
    if kind == "spherical":
        q[7:] /= np.linalg.norm(q[7:])
    if kind in ("revolute", "cylindrical"):
        turn = quaternions.rotation_matrix(quaternions.from_axis_angle(axis, q[-1]))
    q[3:7] /= np.linalg.norm(q[3:7])
    poses = placement.body_poses((base, joint), q)

    def world(end, body):
        R, x = poses[body]
        link = places[end.link]
        return R @ link.R @ end.R, x + R @ (link.p + link.R @ end.p)

    (R_1, p_1), (R_2, p_2) = world(first, "A"), world(second, "B")
    np.testing.assert_allclose(R_1.T @ (p_2 - p_1), slide, atol=1e-12)
    if kind != "spherical":
        np.testing.assert_allclose(R_1.T @ R_2, turn, atol=1e-12)


def test_an_end_in_the_world_is_the_parent_and_keeps_the_sign():
    places = {
        "w": Place(None, np.eye(3), np.zeros(3), np.eye(3), np.zeros(3)),
        "b": Place("B", np.eye(3), np.zeros(3), np.eye(3), np.zeros(3)),
    }
    ends = [End(link, np.eye(3), np.zeros(3)) for link in ("b", "w")]
    joint = loop_joint(Loop("pin", "revolute", *ends, np.array((0, 0, 1.0))), places)
    assert (joint.parent, joint.child) == (None, "B")
    np.testing.assert_allclose(joint.axis, (0, 0, -1))


LOOP = '<loop_joint name="{0}" type="{1}"><link1 link="{2}"/><link2 link="{3}"/>{4}</loop_joint>'
WRONG = {
    "type": (("pin", "hinge", "crank", "rocker", ""), ["loop_joint 'pin'", "'hinge'", "spherical"]),
    "link": (("pin", "revolute", "crank", "nobody", ""), ["'nobody'", "does not exist", "rocker"]),
    "itself": (("pin", "revolute", "crank", "crank", ""), ["'crank'", "one body"]),
    "name": (("j1", "revolute", "crank", "rocker", ""), ["another joint called 'j1'"]),
    "axis": (("pin", "revolute", "crank", "rocker", '<axis xyz="0 0 0"/>'), ["axis", "zero"]),
    "limits": (
        ("pin", "revolute", "crank", "rocker", '<limit lower="1" upper="0"/>'),
        ["wrong way round"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_with_its_line(tmp_path, case):
    values, said = WRONG[case]
    path = tmp_path / "robot.urdf"
    path.write_text(robot_xml(*FOUR_BAR, "\n\n", LOOP.format(*values)))
    with pytest.raises(LoadError) as caught:
        robosim.load(path)
    assert caught.value.line == 3
    for text in (str(path), *said):
        assert text in str(caught.value)


PIN = '<loop_joint name="pin" type="ball"><link1 link="world"/><link2 link="b"/></loop_joint>'
SPRING = """<drake:linear_spring_damper>
  <drake:linear_spring_damper_body_A name="world"/> <drake:linear_spring_damper_p_AP value="0 0 0"/>
  <drake:linear_spring_damper_body_B name="b"/> <drake:linear_spring_damper_p_BQ value="0 0 0"/>
  <drake:linear_spring_damper_free_length value="1"/>
  <drake:linear_spring_damper_stiffness value="1"/> <drake:linear_spring_damper_damping value="0"/>
</drake:linear_spring_damper>"""


@pytest.mark.parametrize("to_world", [PIN, SPRING])
def test_what_to_do_without_a_link_called_world(to_world, write):
    parts = (rod("b", 0.3), joint_xml("j", "a", "b", "continuous", FREE), to_world)
    with pytest.raises(
        LoadError, match=r'add <link name="world"/> and .* <joint> to \'a\''
    ) as told:
        robosim.load(write(rod("a", 0.3), *parts))
    assert told.value.alternatives == ("a", "b")
    for kind in ("fixed", "floating"):
        more = (rod("a", 0.3), link_xml("world", ""), joint_xml("base", "world", "a", kind))
        robosim.load(write(*more, *parts))
    with pytest.raises(LoadError, match="'world' does not exist; name 'a', which is fixed to the"):
        robosim.load(write(link_xml("a", ""), *parts))


def test_a_loop_needs_two_links(write):
    with pytest.raises(LoadError, match=r"loop_joint 'x': must have two links"):
        robosim.load(write(*FOUR_BAR, '<loop_joint name="x" type="fixed"/>'))


GOOD = "loops:\n- name: pin\n  type: revolute\n  link1: {link: coupler}\n  link2: {link: rocker}\n"
WRONG_YAML = {
    "unknown key": ("loop: []", 1, ["unknown key 'loop'", "loops"]),
    "no list": ("loops: 3", 1, ["loops: must be a list"]),
    "no mapping": ("- a", 1, ["must be a mapping"]),
    "missing key": ("loops:\n- name: a\n  type: fixed\n  link1: {link: b}", 2, ["'link2' is"]),
    "number": (f"{GOOD}  damping: much", 6, ["loops[0] 'pin': damping", "'much'"]),
    "not finite": (f"{GOOD}  damping: .nan", 6, ["finite", ".nan"]),
    "negative": (f"{GOOD}  damping: -1", 2, ["damping must not be negative"]),
    "vector": (f"{GOOD}  axis: [0, 1]", 6, ["axis: must be 3 numbers, not 2"]),
    "type": (GOOD.replace("revolute", "hinge"), 3, ["'hinge'", "spherical"]),
    "link": (GOOD.replace("coupler", "nobody"), 2, ["'nobody' does not exist"]),
    "twice": (f"{GOOD}  name: pin", 6, ["'name' is used twice"]),
    "truth": (f"{GOOD}  actuated: perhaps", 6, ["'perhaps'"]),
    "alias": ("a: &a [1]\nb: *a", 1, ["anchors and aliases"]),
    "malformed": ("loops: [", 1, ["malformed YAML"]),
    "deep": ("[" * 20000, None, ["malformed YAML"]),
    "tag": ("loops: !!python/object/apply:os.system [ls]", 1, ["loops"]),
    "not text": (b"\xff\xfe\xff", None, ["UTF-8"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_YAML)
def test_wrong_sidecars(write, case):
    text, line, said = WRONG_YAML[case]
    path = write(*FOUR_BAR)
    sidecar = path.with_name("robot.loops.yaml")
    sidecar.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(LoadError) as caught:
        robosim.load(path)
    assert caught.value.file == sidecar
    if line is not None:
        assert caught.value.line == line
    for word in said:
        assert word in str(caught.value)


def test_a_sidecar_elsewhere_and_passive_joints(write, tmp_path):
    path = write(*FOUR_BAR)
    file = tmp_path / "elsewhere.yaml"
    file.write_text(GOOD + "  damping: 0.5\n  actuated: true\npassive: [j2, j3, j9]\n")
    robot = robosim.load(path, loops=file, ground=False)
    assert robot.loop_joints[0].damping == 0.5
    assert robot.actuated_names == ("j1", "pin")
    assert any("elsewhere.yaml" in text and "j9" in text for text in robot.warnings)
    with pytest.raises(LoadError, match=r"none\.yaml: the file does not exist"):
        robosim.load(path, loops=tmp_path / "none.yaml")
    with pytest.raises(LoadError, match="'loops' is for URDF files, which 'cube' is not"):
        robosim.load("cube", loops=file)


def test_an_empty_sidecar_says_nothing(tmp_path):
    (tmp_path / "x.yaml").write_text("# nothing yet\n")
    assert loops_yaml.read(tmp_path / "x.yaml") == ([], [])


def test_a_loop_of_merged_links_and_a_floating_base(write):
    """Frames go through the fixed joints to the bodies that the links have become."""
    robot = robosim.load(write(
        link_xml("base"), link_xml("tip"), link_xml("arm"),
        joint_xml("f", "base", "tip", "fixed", f'<origin xyz="1 2 3" rpy="0 0 {np.pi / 2}"/>'),
        joint_xml("j", "base", "arm"),
        LOOP.format("pin", "spherical", "tip", "arm", "").replace('"tip"', '"tip" xyz="1 0 0"'),
    ), ground=False)  # fmt: skip
    (pin,) = robot.loop_joints
    assert pin.parent == "base"
    # The body of base and tip has its centre halfway between both.
    np.testing.assert_allclose(pin.parent_position, np.array((1, 3, 3)) - (0.5, 1, 1.5))
