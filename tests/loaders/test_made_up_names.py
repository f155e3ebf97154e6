"""Names that are made up for elements step aside for those that a file or a mechanism has."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from urdf_text import joint_xml, link_xml, robot_xml

import robosim
from robosim import Body, Coupling, Frame, Joint, Mechanism, PointSpring, Tendon
from robosim.cli.start_state import start_state
from robosim.log.columns import LogInfo
from robosim.tendons import Term

BODY = '<body {0}><joint name="{1}" axis="0 1 0"/><geom size=".1"/><site name="{1}s"/></body>'
TWO = f"<worldbody>{BODY.format('', 'j')}{BODY.format('', 'k')}</worldbody>"


def load(folder: Path, inside: str, **options: object) -> robosim.Mechanism:
    path = folder / "m.xml"
    path.write_text(f"<mujoco>{inside}</mujoco>")
    return robosim.load(path, **options)


def test_of_bodies(tmp_path):
    """The second one is named body1, which the first one would be called."""
    robot = load(tmp_path, TWO.replace("<body >", '<body name="body1">').replace(
        '<body name="body1">', "<body>", 1))  # fmt: skip
    assert [body.name for body in robot.bodies] == ["body1_", "body1"]


def test_of_joints(tmp_path):
    inside = ('<body name="a"><joint/><geom size=".1"/></body><body name="b">'
              '<joint name="a/joint0"/><geom size=".1"/></body>')  # fmt: skip
    robot = load(tmp_path, f"<worldbody>{inside}</worldbody>")
    assert [joint.name for joint in robot.joints] == ["a/joint0_", "a/joint0"]


def test_of_carriers_and_of_joints_of_several(tmp_path):
    slides = (
        '<joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>'
    )
    hinge = '<joint name="h"/><joint name="g"/>'  # about the same axis, in need of a carrier
    inside = (
        f'<body name="a">{hinge}<geom size=".1"/></body><body name="a/carrier0">{slides}'
        '<geom size=".1"/><body><joint name="x+y"/><geom size=".1"/></body></body>'
    )
    robot = load(tmp_path, f"<worldbody>{inside}</worldbody>")
    assert [body.name for body in robot.bodies][:3] == ["a/carrier0_", "a", "a/carrier0"]
    assert [joint.name for joint in robot.joints] == ["h", "g", "x+y_", "x+y"]


@pytest.mark.parametrize("first", [True, False])
def test_of_what_the_other_sections_have(tmp_path, first):
    """One with a name that the reader would make up, before or behind one without a name."""
    parts = '<joint joint="j" coef="1"/><joint joint="k" coef="{}"/>'
    sections = {
        "tendon": [f'<fixed {{}} stiffness="1">{parts.format(1)}</fixed>',
                   f'<fixed {{}} stiffness="2">{parts.format(2)}</fixed>'],
        "actuator": ['<motor {} joint="j"/>', '<motor {} joint="k"/>'],
        "sensor": ['<jointpos {} joint="j"/>', '<jointpos {} joint="k"/>'],
        "keyframe": ['<key {} qpos="0 0"/>', '<key {} qpos="0 1"/>'],
        "equality": ['<connect {} site1="js" site2="ks"/>', '<connect {} site1="js" site2="ks"/>'],
    }  # fmt: skip
    made = {"tendon": "tendon{}", "actuator": "actuator{}", "sensor": "jointpos{}",
            "keyframe": "key{}", "equality": "connect{}"}  # fmt: skip
    inside = TWO
    for tag, (one, other) in sections.items():
        taken = made[tag].format(1 if first else 0)
        named, plain = one.format(f'name="{taken}"'), other.format("")
        both = named + plain if first else plain + named
        inside += f"<{tag}>{both}</{tag}>"
    robot = load(tmp_path, inside)
    for tag, names in {
        "tendon": [tendon.name for tendon in robot.tendons],
        "actuator": [actuator.name for actuator in robot.actuators],
        "sensor": [sensor.name for sensor in robot.sensors],
        "keyframe": list(robot.configurations),
        "equality": [joint.name for joint in robot.loop_joints],
    }.items():
        taken = made[tag].format(1 if first else 0)
        assert sorted(names) == [taken, f"{taken}_"], tag


def test_of_the_base(tmp_path):
    inside = f'<body name="a"><geom size=".1"/>{BODY.format("", "floating_base")}</body>'
    robot = load(tmp_path, f"<worldbody>{inside}</worldbody>", floating_base=True)
    assert [joint.name for joint in robot.joints] == ["floating_base_", "floating_base"]


def test_of_obstacles(tmp_path):
    """The first has the name of its body, which the second one has itself."""
    static = ('<body name="b"><geom type="box" size="1 1 .1"/>'
              '<geom name="b" pos="0 0 1" type="box" size="1 1 .1"/></body>')  # fmt: skip
    ball = '<body name="ball" pos="0 0 3"><freejoint/><geom size=".1"/></body>'
    robot = load(tmp_path, f"<worldbody>{static}{ball}</worldbody>")
    assert [shape.name for shape in robot.obstacles] == ["b_", "b"]


def test_of_sites_and_tendons_that_are_called_as_something_else(tmp_path):
    body = (
        '<body name="a"><joint name="t"/><joint name="tendon:t" axis="0 1 0"/>'
        '<geom size=".1"/><site name="a"/><site name="site:a" pos="0 0 1"/></body>'
    )
    tendon = ('<tendon><fixed name="t" stiffness="1"><joint joint="t" coef="1"/>'
              '<joint joint="tendon:t" coef="2"/></fixed></tendon>')  # fmt: skip
    robot = load(tmp_path, f"<worldbody>{body}</worldbody>{tendon}")
    assert [tendon.name for tendon in robot.tendons] == ["tendon:t_"]
    assert {"site:a_", "site:a", "a"} <= {frame.name for _, frame in robot.frames()}


def urdf(folder: Path, *parts: str, **options: object) -> robosim.Mechanism:
    path = folder / "r.urdf"
    path.write_text(robot_xml(*parts))
    return robosim.load(path, **options)


def test_of_coordinates(tmp_path):
    """Hinges that are called as coordinates of other joints would be."""
    kinds = {"s": "spherical", "p": "planar", "f": "floating"}
    hinges = ["s.qw", "s.wx", "p.t0", "p.r", "f.x", "f.vy", "floating_base.qz", "base_z"]
    parts = [link_xml("base")]
    parts += [link_xml(name) for name in (*kinds, *hinges)]
    parts += [joint_xml(name, "base", name, kind, "") for name, kind in kinds.items()]
    parts += [joint_xml(name, "base", name) for name in hinges]
    robot = urdf(tmp_path, *parts, ground=False)
    for names, own in (
        (robot.q_names, "s.qw_ p.t0_ p.r_ f.x_ floating_base.qz_ f.y s.qx"),
        (robot.v_names, "s.wx_ p.t0_ p.r_ f.vy_ f.vx floating_base.wz"),
    ):
        assert len(set(names)) == len(names)
        assert set(hinges) | set(own.split()) <= set(names)
    for name in hinges:
        joint = robot.joint_index(name)
        assert robot.q_names.index(name) == robot.q_offsets[joint]
        assert robot.v_names.index(name) == robot.v_offsets[joint]
    columns = LogInfo.of(robot, 1e-3).names
    assert len(set(columns)) == len(columns)
    state = start_state(robot, None, ["base_z=0.25", "f.x=0.5"], ["f.vy=3"], 0.0)
    for values, offsets, name, value in (
        (state["q"], robot.q_offsets, "base_z", 0.25),
        (state["q"], robot.q_offsets, "f.x", 0.5),
        (state["v"], robot.v_offsets, "f.vy", 3.0),
    ):
        assert values[offsets[robot.joint_index(name)]] == value
    assert state["q"][2] == robot.home[2]


def test_of_coordinates_that_a_tendon_is_called_as(tmp_path):
    body = '<body><joint name="j" type="ball"/><geom size=".1"/>{}</body>'
    inner = '<body><joint name="k"/><joint name="l" axis="1 0 0"/><geom size=".1"/></body>'
    tendon = ('<tendon><fixed name="j.wx" stiffness="1"><joint joint="k" coef="2"/>'
              '<joint joint="l" coef="1"/></fixed></tendon>'
              '<sensor><tendonpos name="s" tendon="j.wx"/></sensor>')  # fmt: skip
    robot = load(tmp_path, f"<worldbody>{body.format(inner)}</worldbody>{tendon}")
    assert [one.name for one in robot.tendons] == ["j.wx"]
    assert robot.v_names == ("j.wx_", "j.wy", "j.wz", "k", "l")


def crossed() -> robosim.Mechanism:
    """One whose parts have the names that files would make up for others."""
    bodies = [Body(name, 1.0, np.eye(3)) for name in ("a", "b", "c", "d", "world_inertial")]
    joints = [
        Joint("p", "planar", None, "a"),
        Joint("p_t0", "revolute", "a", "b"),
        Joint("s", "spherical", "b", "c"),
        Joint("s_x", "revolute", "c", "d"),
        Joint("d_fixed", "revolute", "d", "world_inertial"),
        Joint("pin", "revolute", "a", "d", actuated=False),
        Joint("pin_axis", "spherical", "a", "c", actuated=False),
    ]
    springs = [PointSpring("pin", "a", "d", (0, 0, 1)), PointSpring("rope_path", "a", "c")]
    held = Tendon("rope", (Term("p_t0"), Term("s_x", 2.0)), lower=0.0, upper=0.0)
    return Mechanism(
        "crossed",
        tuple(bodies),
        tuple(joints),
        springs=tuple(springs),
        couplings=(Coupling("pin", "s_x", "d_fixed"), Coupling("rope", "d_fixed", "p_t0")),
        tendons=(held,),
    )


def test_of_what_is_written_as_mjcf(tmp_path):
    robot = crossed()
    robosim.save(robot, tmp_path / "m.xml")
    sections = {}
    root = ElementTree.parse(tmp_path / "m.xml").getroot()
    for section in ("worldbody//joint", "worldbody//site", "equality/*", "tendon/*", "actuator/*"):
        names = [element.get("name") for element in root.findall(section)]
        assert len(set(names)) == len(names)
        sections[section] = set(names)
    assert sections["worldbody//joint"] == {"p_t0_", "p_t1", "p_r", "p_t0", "s", "s_x", "d_fixed"}
    assert sections["equality/*"] == {"pin", "pin_axis_", "pin_axis", "rope", "rope_", "pin_"}
    assert sections["tendon/*"] == {"pin", "rope_path", "rope_path_"}
    assert {"s_x", "s_x_", "s_y", "s_z"} <= sections["actuator/*"]
    again = robosim.load(tmp_path / "m.xml")
    assert {joint.name for joint in again.tree_joints} >= {"p_t0", "s", "s_x", "d_fixed"}
    assert len(again.loop_joints) == 2
    mujoco = pytest.importorskip("mujoco")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml")).nv == robot.nv


def test_of_what_is_written_as_urdf(tmp_path):
    """A link called world that is fixed there, with a mass that needs a link of its own."""
    bodies = [Body("world", 2.0, np.eye(3)), Body("world_inertial", 1.0, np.eye(3))]
    joints = [Joint("f", "fixed", None, "world"),
              Joint("world_inertial_fixed", "revolute", "world", "world_inertial")]  # fmt: skip
    robosim.save(Mechanism("w", tuple(bodies), tuple(joints)), tmp_path / "w.urdf")
    again = robosim.load(tmp_path / "w.urdf")
    assert [body.name for body in again.bodies] == ["world", "world_inertial"]
    assert again.joints[1].name == "world_inertial_fixed"
    frames = (Frame("world", (0, 0, 1)), Frame("world_frame", (0, 0, 2)))
    one = Mechanism("w", (bodies[1],), (Joint("j", "revolute", None, "world_inertial"),),
                    world_frames=frames)  # fmt: skip
    robosim.save(one, tmp_path / "v.urdf")
    again = robosim.load(tmp_path / "v.urdf")
    places = {frame.name: frame.position[2] for frame in again.world_frames}
    assert places == {"world_": 0, "world": 1, "world_frame": 2}
