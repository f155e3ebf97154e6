"""SDF files that cannot be simulated: errors that name file, line, element and value."""

from __future__ import annotations

from pathlib import Path

import pytest
from sdf_text import BOX, joint, link, load, model, sdf, shape

from robosim.errors import LoadError, MissingFileError

A = link("a")
TWO = link("a") + link("b")


def hinge(*parts: str) -> str:
    return sdf(model(TWO, joint("j", "revolute", "a", "b", "<axis>", *parts, "</axis>")))


def collision(kind: str, sizes: str, more: str = "") -> str:
    return sdf(model(link("a", shape(kind, sizes, more=more))))


CASES = [
    ("<sdf><model name='m'/></sdf>", "attribute 'version' must be"),
    (sdf(model(A), version="1.3"), "older than 1.4"),
    (sdf(model(A), version="one"), "must be as in '1.8', not 'one'"),
    (sdf(), "neither a <world> nor a <model>"),
    (sdf("<world name='a'/><world name='b'/>"), "has 2 <world>"),
    (sdf(model(A, A)), "the name is used twice"),
    (sdf(model(A, name="")), "attribute 'name' is missing"),
    (sdf(model(link("world"))), "the name 'world' is that of the world"),
    (sdf(model(link("__a__"))), "'__a__' is reserved"),
    (sdf(model(link("a::b"))), "must not contain '::'"),
    (sdf(model(link("a", pose="1 2 3"))), "must hold 6 number(s), not '1 2 3'"),
    (sdf(model(link("a", pose="1 2 3 0 0 x"))), "must be finite numbers, not 'x'"),
    (sdf(model(link("a", pose="nowhere|0 0 0 0 0 0"))), "there is no frame 'nowhere'"),
    (sdf(model(link("a", pose="b|0 0 0 0 0 0"), link("b", pose="a|0 0 0 0 0 0"))),
     "in a circle: a -> b -> a"),
    (sdf(model(A, "<frame name='f' attached_to='g'/><frame name='g' attached_to='f'/>")),
     "in a circle"),
    (sdf(model("<link name='a'><pose frame='b'>0 0 0 0 0 0</pose></link>"), version="1.7"),
     "calls it relative_to"),
    (sdf(model("<link name='a'><pose frame='b'>0 0 0 0 0 0</pose></link>"), version="1.6"),
     "frame='b'"),
    (sdf(model(A, joint("j", "hinge", "world", "a"))), "unknown joint type 'hinge'"),
    (sdf(model(A, joint("j", "revolute", "x", "a"))), "there is no frame 'x'"),
    (sdf(model(A, joint("j", "revolute", "a", "a"))), "joins 'a' with itself"),
    (sdf(model(TWO, joint("j", "revolute", "a", "b", axis=""))), "element <axis> is missing"),
    (hinge("<xyz>0 0 0</xyz>"), "<xyz> must not be zero"),
    (hinge('<xyz expressed_in="x">1 0 0</xyz>'), "there is no frame 'x'"),
    (hinge("<limit><lower>2</lower><upper>1</upper></limit>"), "limits are the wrong way round"),
    (hinge("<limit><effort>-3</effort></limit>"), "<effort> must not be negative, not -3"),
    (hinge("<dynamics><damping>-1</damping></dynamics>"), "must not be negative, not -1"),
    (sdf(model(TWO, joint("j", "universal", "a", "b", "<axis><xyz>1 0 0</xyz></axis>",
                          "<axis2><xyz>1 0 0</xyz></axis2>"))), "must be perpendicular"),
    (sdf(model(TWO, joint("j", "screw", "a", "b", "<thread_pitch>0</thread_pitch>"))),
     "<thread_pitch> must not be zero"),
    (sdf(model(TWO, joint("j", "gearbox", "a", "b", "<axis/><axis2/><gearbox_ratio>2"
                          "</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>",
                          axis=""))), "a gearbox needs a revolute joint between 'a' and 'a'"),
    (sdf(model(link("a", mass=-1.0))), "must not be negative, not -1"),
    (sdf(model('<link name="a"><inertial><fluid_added_mass/></inertial></link>')),
     "<fluid_added_mass> is not simulated"),
    (sdf(model('<link name="a"><inertial auto="true"/></link>')), "needs a <collision>"),
    (sdf(model(link("a", "<kinematic>true</kinematic>"))), "<kinematic>"),
    (sdf(model(link("a", "<gravity>maybe</gravity>"))), "must be true or false, not 'maybe'"),
    (collision("box", "<size>1 0 1</size>"), "its sizes must be positive"),
    (collision("sphere", ""), "element <radius> is missing"),
    (collision("polyline", ""), "<polyline> cannot be simulated"),
    (collision("heightmap", ""), "a heightmap is not read"),
    (collision("prism", ""), "must hold one shape, not ['prism']"),
    (collision("plane", "<normal>0 0 1</normal>"), "must be static"),
    (collision("mesh", "<uri>m.obj</uri><submesh><name>x</name></submesh>"), "<submesh>"),
    (collision("box", BOX, "<surface><friction><ode><mu>-1</mu></ode></friction></surface>"),
     "must not be negative, not -1"),
    (collision("box", BOX, "<surface><bounce><restitution_coefficient>2</restitution_coefficient>"
               "</bounce></surface>"), "must be from 0 to 1, not 2"),
    (sdf(model(A, '<drake:joint name="d" type="planar"/>')), "joints of Drake"),
    (sdf("<world name='w'><population name='p'/></world>"), "<population> is not read"),
    (sdf(f"<world name='w'>{A}</world>"), "a link must be in a <model>"),
    (sdf(model(A, "<include><uri>https://fuel.org/x</uri></include>")), "nothing is fetched"),
    (sdf(model(A, "<include><uri>model.sdf</uri></include>")), "includes itself"),
    (sdf(model(A, '<include merge="true"><uri>model.sdf</uri></include>')), "merge='true'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), CASES, ids=range(len(CASES)))
def test_a_wrong_file_is_refused_with_its_name_line_and_element(
    tmp_path: Path, text: str, reason: str
):
    with pytest.raises(LoadError) as caught:
        load(tmp_path, text)
    assert reason in str(caught.value)
    assert caught.value.file == tmp_path / "model.sdf"
    assert caught.value.element


def test_a_missing_mesh_is_an_error_unless_nothing_touches_it(tmp_path: Path):
    text = collision("mesh", "<uri>gone.obj</uri>")
    with pytest.raises(MissingFileError, match=r"gone\.obj"):
        load(tmp_path, text)
    robot = load(tmp_path, text, contacts="none")
    assert any("gone.obj" in warning for warning in robot.warnings)


def test_files_outside_of_the_own_folder_are_refused(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside.sdf").write_text(sdf(model(A)))
    text = sdf(model(A, "<include><uri>../outside.sdf</uri></include>"))
    with pytest.raises(LoadError, match="leads out of the model's own folder"):
        load(tmp_path / "inside", text)


def test_an_error_in_an_included_file_names_that_file(tmp_path: Path):
    (tmp_path / "part.sdf").write_text(sdf(model(link("a", mass=-1.0))))
    with pytest.raises(LoadError) as caught:
        load(tmp_path, sdf(model(A, "<include><uri>part.sdf</uri></include>")))
    assert caught.value.file == tmp_path / "part.sdf"


def test_visuals_that_cannot_be_read_are_left_out_with_a_warning(tmp_path: Path):
    visual = '<visual name="v"><geometry><box/></geometry></visual>'
    robot = load(tmp_path, sdf(model(link("a", visual))))
    assert not robot.bodies[0].visuals
    assert any("are not drawn" in warning for warning in robot.warnings)


def test_fixed_joints_that_hold_a_link_twice_are_refused(tmp_path: Path):
    twice = joint("i", "fixed", "world", "a", axis="") + joint("j", "fixed", "world", "a", axis="")
    with pytest.raises(LoadError, match="already holds there"):
        load(tmp_path, sdf(model(TWO, twice, joint("k", "revolute", "a", "b"))))
