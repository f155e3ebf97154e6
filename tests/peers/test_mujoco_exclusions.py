"""Which contacts there are, and with what friction, where files exclude bodies or give priority."""

from __future__ import annotations

from pathlib import Path

import pytest

import robosim

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

TABLE = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1" pos="0 0 -1" {floor}/>
<body name="table"><geom name="top" type="box" size="1 1 .1" {top}/>
  <body name="shelf" pos="0 0 -.5"><geom name="board" type="box" size="1 1 .1"/></body></body>
<body name="x" pos="0 0 .15"><freejoint/><geom name="xg" size=".1" {x}/>
  <body name="y" pos=".3 0 0"><geom name="yg" size=".1"/></body></body>
</worldbody><contact>{contact}</contact></mujoco>"""


def loaded(folder: Path, **parts: str) -> robosim.Mechanism:
    given = {**dict.fromkeys(("floor", "top", "x", "contact"), ""), **parts}
    (folder / "m.xml").write_text(TABLE.format(**given))
    return robosim.load(folder / "m.xml")


# What is excluded, MuJoCo's contacts at the start, and the obstacles that nothing touches then.
EXCLUSIONS = {
    "": (2, []),
    '<exclude body1="world" body2="x"/>': (2, []),
    '<exclude body1="world" body2="x"/><exclude body1="world" body2="y"/>': (2, ["floor"]),
    '<exclude body1="table" body2="x"/>': (1, []),
    '<exclude body1="y" body2="table"/>': (1, []),
    '<exclude body1="table" body2="x"/><exclude body1="table" body2="y"/>': (0, ["top"]),
    '<exclude body1="shelf" body2="x"/>': (2, []),
}


@pytest.mark.parametrize("contact", EXCLUSIONS)
def test_exclusions_are_of_bodies_not_of_what_is_one_piece_with_them(tmp_path, contact):
    theirs, untouched = EXCLUSIONS[contact]
    model = mujoco.MjModel.from_xml_string(TABLE.format(floor="", top="", x="", contact=contact))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == theirs
    robot = loaded(tmp_path, contact=contact)
    left = {"floor", "top", "board"} - {shape.name for shape in robot.obstacles}
    assert left == set(untouched)
    # Shapes of one piece touch together, which is told where the file wants less.
    partly = len(set(contact.split("<"))) == 2
    assert any("exclude says" in text for text in robot.warnings) == partly


# Of the floor, the table and the ball: MuJoCo's coefficients of the ball on the floor and on the
# table, and whether ours are higher, as each shape has one.
FRICTIONS = {
    "of the floor": ('priority="1" friction=".2"', "", "", (0.2, 1.0), False),
    "of the table": ("", 'priority="2" friction=".3"', "", (1.0, 0.3), False),
    "of both": ('priority="1" friction=".2"', 'priority="1" friction=".4"', "", (0.2, 0.4), False),
    "of the ball": ("", "", 'priority="1" friction=".5"', (0.5, 0.5), False),
    "none": ('priority="1" condim="1"', "", "", (0.0, 1.0), False),
    "the larger": ('friction=".2"', 'friction="1.5"', 'friction=".7"', (0.7, 1.5), True),
}


@pytest.mark.parametrize("case", FRICTIONS)
def test_friction_of_a_ball_on_each_obstacle(tmp_path, case):
    floor, top, ball, expected, _ = FRICTIONS[case]
    text = TABLE.format(floor=floor, top=top, x=ball, contact="")
    text = text.replace('<body name="y" pos=".3 0 0"><geom name="yg" size=".1"/></body>', "")
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    (shape,) = robot.bodies[0].collisions
    ours = {o.name: min(o.friction, shape.friction) for o in robot.obstacles}
    assert (ours["floor"], ours["top"]) == pytest.approx(expected)
    assert not any("friction" in text for text in robot.warnings)


def test_friction_that_shapes_cannot_have_is_told(tmp_path):
    """Two balls on two obstacles, with coefficients that are no lower ones of two."""
    robot = loaded(
        tmp_path, floor='priority="1" friction=".2"', x='priority="2" friction=".1"',
        top='priority="3" friction=".9"',
    )  # fmt: skip
    assert any("friction is that of shapes" in text for text in robot.warnings)


@pytest.mark.parametrize(("friction", "told"), [
    ("", True), ('friction=".3 .3"', False), ('friction=".3"', True), ('condim="1"', True),
])  # fmt: skip
def test_friction_of_a_pair_of_moving_shapes(tmp_path, friction, told):
    text = """<mujoco><worldbody><body name="a"><freejoint/><geom name="a" size=".1"
    friction=".3"/></body><body name="b" pos="0 0 1"><freejoint/><geom name="b" size=".1"
    friction=".5"/></body></worldbody><contact><pair geom1="a" geom2="b" {}/></contact></mujoco>"""
    (tmp_path / "m.xml").write_text(text.format(friction))
    warnings = robosim.load(tmp_path / "m.xml").warnings
    assert any("not that of their pair: a and b" in text for text in warnings) == told


DEFAULTS = {
    '<joint stiffness="1 2"/>': ('stiffness="3"', "", "stiffness is taken as linear"),
    '<joint damping="1 2"/>': ('damping="3"', "", "damping is taken as linear"),
    '<general dynprm=".1 .2 .3"/>': ("", 'dyntype="muscle" dynprm=".5"', (0.5, 0.2, 0.3)),
}


@pytest.mark.parametrize("default", DEFAULTS)
def test_what_an_element_leaves_out_at_the_end_its_class_has(tmp_path, default):
    joint, actuator, expected = DEFAULTS[default]
    text = (f'<mujoco><default>{default}</default><worldbody><body><joint name="j" {joint}/>'
            f'<geom size=".1"/></body></worldbody><actuator><general joint="j" {actuator}/>'
            "</actuator></mujoco>")  # fmt: skip
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_string(text)
    if isinstance(expected, str):
        assert any(expected in text for text in robot.warnings)
        assert model.jnt_stiffnesspoly[0, 0] or model.dof_dampingpoly[0, 0]
    else:
        activation = robot.actuators[0].activation
        assert activation is not None
        assert activation.constants == tuple(model.actuator_dynprm[0][:3]) == expected


def test_misspelt_attributes_of_sensors_are_told(tmp_path):
    text = (
        '<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>'
        '<sensor><jointpos joint="j" cutof="1" noise=".1"/></sensor></mujoco>'
    )
    (tmp_path / "m.xml").write_text(text)
    (warning,) = robosim.load(tmp_path / "m.xml").warnings
    assert warning == "MJCF has no such attributes, so they are not read: 'cutof' of <jointpos>"
