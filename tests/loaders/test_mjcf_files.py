"""MJCF files that are wrong, dangerous, or spread over several files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import LoadError, ModelError

BODY = '<body name="b"><joint name="j"/><geom name="g" size=".1"/></body>'


def mjcf(inside: str = "", *, world: str = BODY) -> str:
    return f'<mujoco model="m">\n{inside}\n<worldbody>\n{world}\n</worldbody>\n</mujoco>'


def write(folder: Path, text: str, file: str = "m.xml") -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# what is wrong -> (text, what the message says)
WRONG = {
    "global coordinates": (mjcf('<compiler coordinate="global"/>'), "coordinate='global'"),
    "euler sequence": (mjcf('<compiler eulerseq="xyw"/>'), "'eulerseq' must be three"),
    "angle": (
        mjcf('<compiler angle="turn"/>'),
        r"'angle' cannot be 'turn' \(known: degree, radian",
    ),
    "flag": (mjcf('<compiler autolimits="yes"/>'), "'autolimits' cannot be 'yes'"),
    "section": (mjcf("<robot/>"), "no section of MJCF"),
    "class": (
        mjcf(world='<body childclass="x"><geom size="1"/></body>'),
        "class 'x' does not exist",
    ),
    "class twice": (
        mjcf('<default><default class="a"/><default class="a"/></default>'),
        "class 'a' is there already",
    ),
    "body twice": (
        mjcf(world=BODY + BODY.replace('"j"', '"i"').replace('"g"', '"h"')),
        "used twice",
    ),
    "joint type": (
        mjcf(world=BODY.replace('name="j"', 'type="screw"')),
        "'type' cannot be 'screw'",
    ),
    "axis": (mjcf(world=BODY.replace('name="j"', 'axis="0 0 0"')), "'axis' must not be zero"),
    "not a number": (
        mjcf(world=BODY.replace('".1"', '"big"')),
        "'size' must hold numbers, not 'big'",
    ),
    "not finite": (mjcf(world=BODY.replace('".1"', '"nan"')), "must hold finite numbers"),
    "size": (mjcf(world=BODY.replace('".1"', '"-1"')), "sizes of a sphere must be positive"),
    # Found by benchmarks/fuzz_loaders.py: a division by zero.
    "no volume": (mjcf(world=BODY.replace('".1"', '"1e-320"')), "has a volume of 0 m"),
    "count": (mjcf(world=BODY.replace('name="j"', 'pos="1 2"')), r"'pos' must hold 3 number\(s\)"),
    "range": (mjcf(world=BODY.replace('name="j"', 'range="1 1"')), "from a lower to a higher"),
    "orientations": (
        mjcf(world='<body euler="1 2 3" quat="1 0 0 0"><geom size="1"/></body>'),
        "more than one orientation: quat, euler",
    ),
    "mass": (mjcf(world=BODY.replace('size=".1"', 'size=".1" mass="-1"')), "must not be negative"),
    "no mass": (mjcf(world='<body name="b"><joint/></body>'), "its mass must be positive"),
    "nothing moves": (mjcf(world='<geom size="1"/>'), "nothing in it can move.*another file"),
    "nothing known moves": (
        mjcf(world='<body><composite type="grid"><joint/></composite></body>'),
        "nothing in it can move.*the <composite>, which cannot be simulated here",
    ),
    "a moving plane": (
        mjcf(world='<body><joint/><geom size="1"/><geom type="plane" size="1 1 1"/></body>'),
        "a plane must be in the world or on a body that does not move",
    ),
    "free below": (
        mjcf(world='<body><geom size="1"/><body><freejoint/><geom size="1"/></body></body>'),
        "must be on a body of the world",
    ),
    "free and more": (
        mjcf(world='<body><freejoint/><joint/><geom size="1"/></body>'),
        "can have no other joint",
    ),
    "ball and hinge": (
        mjcf(world='<body><joint type="ball"/><joint/><geom size="1"/></body>'),
        "cannot follow a ball",
    ),
    "mesh": (mjcf(world='<body><joint/><geom type="mesh" mesh="x"/></body>'), "mesh 'x' does not"),
    "attach": (mjcf(world='<body><attach model="x"/></body>'), "other models are not attached"),
    "unknown element": (mjcf(world="<link/>"), "<worldbody> cannot hold this"),
    "replicate": (mjcf(world=f'<replicate count="0">{BODY}</replicate>'), "'count' must be from 1"),
    "actuator": (
        mjcf('<actuator><motor joint="x"/></actuator>'),
        r"joint 'x' does not exist \(known: j",
    ),
    # Found by benchmarks/fuzz_loaders.py: an IndexError.
    "empty numbers": (
        mjcf('<actuator><general joint="j" gainprm=""/></actuator>'),
        "'gainprm' must hold numbers, and is empty",
    ),
    "pair": (mjcf('<contact><pair geom1="g" geom2="x"/></contact>'), "geom 'x' does not exist"),
    "exclude": (mjcf('<contact><exclude body1="b"/></contact>'), "'body2' is missing"),
    "equality": (mjcf('<equality><connect body1="b"/></equality>'), "'anchor' is missing"),
    "tendon": (mjcf('<tendon><fixed name="t"/></tendon>'), "has no joints"),
    "keyframe": (mjcf('<keyframe><key qpos="1 2"/></keyframe>'), r"'qpos' must hold 1 number"),
    "autolimits": (
        mjcf('<compiler autolimits="false"/>', world=BODY.replace('name="j"', 'range="0 1"')),
        "does not say whether it acts",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told_with_its_place(tmp_path, what):
    text, message = WRONG[what]
    path = write(tmp_path, text)
    with pytest.raises(LoadError, match=message) as caught:
        robosim.load(path)
    assert caught.value.file == path
    assert caught.value.line is not None
    assert caught.value.element


def test_includes_are_found_from_the_model_and_from_the_file_that_includes(tmp_path):
    write(
        tmp_path, f"<mujocoinclude>{BODY}<include file='more.xml'/></mujocoinclude>", "parts/a.xml"
    )
    write(tmp_path, "<mujoco><site name='s' pos='1 2 3'/></mujoco>", "parts/more.xml")
    path = write(tmp_path, mjcf(world='<include file="parts/a.xml"/>'))
    robot = robosim.load(path)
    assert [body.name for body in robot.bodies] == ["b"]
    np.testing.assert_array_equal(robot.world_frames[1].position, (1, 2, 3))


def test_errors_in_included_files_name_them(tmp_path):
    part = write(tmp_path, "<mujoco>\n\n<body><geom size='x'/></body></mujoco>", "part.xml")
    path = write(tmp_path, mjcf(world='<include file="part.xml"/>'))
    with pytest.raises(LoadError, match="not 'x'") as caught:
        robosim.load(path)
    assert (caught.value.file, caught.value.line) == (part, 3)


@pytest.mark.parametrize("inner", ["m.xml", "part.xml"])
def test_a_file_is_included_once(tmp_path, inner):
    write(tmp_path, f"<mujoco><include file='{inner}'/></mujoco>", "part.xml")
    path = write(tmp_path, mjcf('<include file="part.xml"/>'))
    with pytest.raises(LoadError, match="included already"):
        robosim.load(path)


def test_a_file_and_links_to_it_are_included_as_in_mujoco(tmp_path):
    """As by Shadow's hands, whose sides share one file by links with two names."""
    mujoco = pytest.importorskip("mujoco")
    part = write(tmp_path, "<mujocoinclude><geom size='.1'/></mujocoinclude>", "part.xml")
    (tmp_path / "left.xml").symlink_to(part)
    (tmp_path / "right").mkdir()
    (tmp_path / "right" / "part.xml").symlink_to(part)
    names = ("part.xml", "left.xml", "right/part.xml")
    path = write(tmp_path, mjcf(world=BODY + "".join(f'<include file="{n}"/>' for n in names)))
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.ngeom - 1 == len(robosim.load(path).world_visuals) == len(names)
    again = mjcf(world=BODY + '<include file="left.xml"/><include file="./left.xml"/>')
    with pytest.raises(LoadError, match="included already"):
        robosim.load(write(tmp_path, again))


def test_a_file_that_includes_itself_by_links_is_refused(tmp_path):
    (tmp_path / "here").symlink_to(tmp_path)
    write(tmp_path, '<mujoco><include file="here/part.xml"/></mujoco>', "part.xml")
    with pytest.raises(LoadError, match="includes itself"):
        robosim.load(write(tmp_path, mjcf('<include file="part.xml"/>')))


def test_includes_that_multiply_by_links_are_refused(tmp_path):
    """Each file includes the next one by two names."""
    (tmp_path / "a").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path)
    for k in range(12):
        both = "".join(f'<include file="{name}/{k + 1}.xml"/>' for name in "ab")
        write(tmp_path, f"<mujoco>{both}</mujoco>", f"{k}.xml")
    write(tmp_path, "<mujoco/>", "12.xml")
    with pytest.raises(LoadError, match=r"included already|more than 1000 files"):
        robosim.load(write(tmp_path, mjcf('<include file="0.xml"/>')))


def test_files_outside_need_consent(tmp_path):
    folder = tmp_path / "model"
    write(tmp_path, f"<mujoco>{BODY}</mujoco>", "secret/part.xml")
    (tmp_path / "model").mkdir()
    (folder / "link.xml").symlink_to(tmp_path / "secret" / "part.xml")
    for name in ("../secret/part.xml", str(tmp_path / "secret" / "part.xml"), "link.xml"):
        path = write(folder, mjcf(world=f'<include file="{name}"/>'))
        with pytest.raises(LoadError, match="leads out of the model's own folder") as caught:
            robosim.load(path)
        assert caught.value.line == 4
        assert robosim.load(path, package_dirs=tmp_path / "secret").nv == 1


def test_an_expansion_without_bound_is_refused(tmp_path):
    world = BODY
    for _ in range(12):
        world = f'<replicate count="99" sep="_">{world}</replicate>'
    with pytest.raises(LoadError, match="'count' must be from 1 on and lead to at most"):
        robosim.load(write(tmp_path, mjcf(world=world)))


def test_entities_are_refused(tmp_path):
    text = '<!DOCTYPE mujoco [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + mjcf("&x;")
    with pytest.raises(LoadError, match="DOCTYPE"):
        robosim.load(write(tmp_path, text))


def test_what_is_not_read_is_told_by_name(tmp_path):
    inside = """
      <extension><plugin plugin="mujoco.pid"/></extension>
      <deformable><skin name="suit"/></deformable>
      <actuator><muscle name="biceps" joint="j" actdim="2"/>
        <general name="glue" body="b"/></actuator>
      <sensor><gyro name="imu" site="s"/></sensor><option density="1.2" gravity="0 0 -1"/>"""
    world = BODY.replace("<geom", '<site name="s"/><geom')
    path = write(tmp_path, mjcf(inside, world=world))
    told = "; ".join(robosim.load(path).warnings)
    for name in ("plugin", "suit", "actdim", "glue", "imu", "density", "gravity="):
        assert name in told
    with pytest.raises(LoadError, match="strict=True"):
        robosim.load(path, strict=True)
    assert robosim.load(write(tmp_path, mjcf()), strict=True).warnings == ()


def paired(tmp_path, friction, more=""):
    world = '<geom name="floor" type="plane" size="1 1 1"/><body name="b" pos="0 0 1"><freejoint/>'
    world += '<geom name="ball" size=".1"/></body><body name="c" pos="0 0 2"><freejoint/>'
    world += '<geom name="other" size=".1"/></body>'
    pair = f'<pair geom1="floor" geom2="ball" friction="{friction}" {more}/>'
    pair += f'<pair geom1="other" geom2="ball" friction="{friction}" {more}/>'
    path = tmp_path / "m.xml"
    path.write_text(f"<mujoco><worldbody>{world}</worldbody><contact>{pair}</contact></mujoco>")
    return robosim.load(path)


@pytest.mark.parametrize(
    ("friction", "factors"),
    [(".2 .4", (0.5, 1)), (".2", (0.2, 1)), (".4 0", (1, 0)), (".2 .2", None), ("1", None)],
)
def test_friction_by_direction(tmp_path, friction, factors):
    """The second coefficient of a pair is 1 by default, in MuJoCo too."""
    robot = paired(tmp_path, friction)
    one = next(c for c in robot.contacts if c.body == "b").anisotropy
    told = [text for text in robot.warnings if "alike in all directions" in text]
    assert len(told) == (factors is not None)
    if factors is None:
        assert one is None
        return
    assert (one.along, one.across) == pytest.approx(factors)
    assert one.axes == "world"
    np.testing.assert_array_equal(one.direction, (0, 1, 0))
    assert "other and ball" in told[0]
    assert "floor" not in told[0]


def test_rolling_friction_by_direction_is_told(tmp_path):
    told = paired(tmp_path, "1 1 .01 .02 .03", 'condim="6"').warnings
    assert any("rolling friction counts alike" in text and "floor" in text for text in told)
    assert not any("rolling" in text for text in paired(tmp_path, "1 1 .01 .02 .03").warnings)


def test_options_for_urdf_are_refused(tmp_path):
    with pytest.raises(LoadError, match="'srdf' is for URDF"):
        robosim.load(write(tmp_path, mjcf()), srdf="x.srdf")


def test_bodies_keep_their_errors(tmp_path):
    """What only the mechanism notices still names the file."""
    world = '<body name="b"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
    two = f'{world}{world.replace("b", "b2", 1)}<site name="b/x"/>'
    path = write(tmp_path, mjcf(world=two))
    with pytest.raises(ModelError):
        robosim.load(path, floating_base=False)


@pytest.mark.parametrize(
    ("joint", "actuator"),
    [('springdamper=".1 1"', ""), ("", '<muscle joint="j" lengthrange="0 1"/>'),
     ("", '<position joint="j" dampratio="1"/>')],
)  # fmt: skip
def test_a_mass_matrix_without_an_inverse_is_told(tmp_path, joint, actuator):
    """Two hinges about one axis, of which the first one moves nothing more that could be told."""
    path = tmp_path / "m.xml"
    path.write_text(
        f'<mujoco><worldbody><body><joint axis="0 1 0"/><geom size=".1" mass="1e-9"/>'
        f'<body><joint name="j" axis="0 1 0" {joint}/><geom size=".1" mass="1e30"/></body></body>'
        f"</worldbody><actuator>{actuator}</actuator></mujoco>"
    )
    with pytest.raises(ModelError, match="mass matrix at the reference has no inverse") as caught:
        robosim.load(path)
    assert caught.value.file == path
