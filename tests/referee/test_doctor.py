"""`robosim doctor`: each fault is found where it is, and models without faults have none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from robosim.cli import app
from robosim.errors import LoadError, OptionError
from robosim.referee.doctor import CHECKS, Diagnosis, diagnose, libraries
from robosim.referee.doctor.page import page
from robosim.referee.doctor.stiffness import _longest
from robosim.referee.doctor.symmetry import mirrored
from robosim.referee.finding import Finding
from robosim.referee.sections import sections

LIMIT = '<limit lower="-1" upper="1" effort="20" velocity="5"/>'
PEERS = ("libraries",)


def link(name: str, mass: float = 1.0, inertia: str = "0.002 0.002 0.002", shape: str = "") -> str:
    """A cube of 0.1 m, the inertia of which is about that of a filled one."""
    ixx, iyy, izz = inertia.split()
    shape = shape or '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    return (
        f'<link name="{name}">\n<inertial><mass value="{mass}"/><inertia ixx="{ixx}" iyy="{iyy}" '
        f'izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial>\n{shape}</link>\n'
    )


def joint(name: str, parent: str, child: str, more: str = LIMIT, **given: str) -> str:
    axis, kind, xyz = (
        given.get("axis", "0 1 0"), given.get("kind", "revolute"), given.get("xyz", "0.2 0 0")
    )  # fmt: skip
    return (
        f'<joint name="{name}" type="{kind}">\n<parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/>\n<axis xyz="{axis}"/>{more}</joint>\n'
    )


def arm(*parts: str) -> str:
    """A URDF whose base is fixed to the world."""
    return f'<robot name="arm">\n<link name="ground"/>\n{"".join(parts)}</robot>\n'


BASE = joint("root", "ground", "a", kind="fixed", more="", xyz="0 0 1")
NO_MESH = '<visual><geometry><mesh filename="no.stl"/></geometry></visual>'
CLEAN = arm(link("a"), link("b"), BASE, joint("j", "a", "b"))


def mjcf(body: str, more: str = "", option: str = "") -> str:
    return (
        f'<mujoco model="m">\n{option}\n<worldbody>\n<body name="b" pos="0 0 1">\n{body}\n'
        f'<geom name="g" type="box" size="0.05 0.05 0.05" mass="1"/>\n</body>\n</worldbody>\n'
        f"{more}\n</mujoco>\n"
    )


HINGE = '<joint name="j" type="hinge" axis="0 1 0" damping="0.1"/>'

# name: text of the file, check, severity, element, what is said, line
FAULTS: dict[str, tuple[str, str, str, str, str, int | None]] = {
    "a name twice": (
        arm(link("a"), link("b"), link("b"), BASE, joint("j", "a", "b")),
        "names", "error", "link 'b'", "occurs 2 times, in lines 6 and 9", 9,
    ),
    "a triangle inequality": (
        arm(link("a"), link("b", inertia="0.001 0.001 0.01"), BASE, joint("j", "a", "b")),
        "inertia", "error", "body 'b'", "triangle inequality", 6,
    ),
    "an inertia in g cm^2": (
        arm(link("a"), link("b", inertia="20 20 20"), BASE, joint("j", "a", "b")),
        "shapes", "warning", "body 'b'", "times what its mass has", 6,
    ),
    "an inertia without meaning": (
        arm(link("a"), link("b", inertia="1e-5 1e-5 1e-5"), BASE, joint("j", "a", "b")),
        "shapes", "warning", "body 'b'", "167 times smaller", 6,
    ),
    "a mass in grams": (
        arm(link("a"), link("b", 1000.0, "1.67 1.67 1.67"), BASE, joint("j", "a", "b")),
        "shapes", "note", "body 'b'", "1e+06 kg/m^3, more than lead", 6,
    ),
    "a centre of mass elsewhere": (
        arm(link("a"), link("b").replace("<inertial>", '<inertial><origin xyz="1 0 0"/>'), BASE,
            joint("j", "a", "b")),
        "shapes", "warning", "body 'b'", "0.95 m outside of its shapes", 6,
    ),
    "unequal neighbours": (
        arm(link("a"), link("b", 1e-5, "2e-8 2e-8 2e-8"), BASE, joint("j", "a", "b")),
        "neighbours", "note", "joint 'j'", "of 1e-05 kg", 12,
    ),
    "a link that is only drawn": (
        arm(link("a"), link("b", shape='<visual><geometry><box size="0.1 0.1 0.1"/></geometry>'
                                       "</visual>"), BASE, joint("j", "a", "b")),
        "no-collision", "note", "body 'b'", "no collision shape", 6,
    ),
    "an overlap at home": (
        arm(link("a"), link("b"), link("c"), BASE, joint("j", "a", "b"),
            joint("k", "b", "c", xyz="-0.17 0 0")),
        "overlap", "note", "bodies 'ground' and 'c'", "overlap by 70 mm", 9,
    ),
    "a limit within another link": (
        arm(link("a"), link("b"), link("c"), BASE, joint("j", "a", "b"),
            joint("k", "b", "c", '<limit lower="-0.4" upper="0" effort="20" velocity="5"/>',
                  kind="prismatic", axis="1 0 0", xyz="0.2 0 0")),
        "reach", "note", "joint 'k'", "at its lower limit", 18,
    ),
    "0 outside of the limits": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b", LIMIT.replace("-1", "0.5"))),
        "start", "note", "joint 'j'", "0 is outside of its limits, 0.5 to 1 rad", 12,
    ),
    "limits in degrees": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b", LIMIT.replace("1", "90"))),
        "limits", "note", "joint 'j'", "in degrees", 12,
    ),
    "equal limits": (
        arm(link("a"), link("b"), BASE,
            joint("j", "a", "b", '<limit lower="0" upper="0" effort="9" velocity="1"/>')),
        "limits", "warning", "joint 'j'", "taken as unlimited", 12,
    ),
    "no effort": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b", LIMIT.replace("20", "0"))),
        "effort", "warning", "joint 'j'", "no motor moves it", 12,
    ),
    "too little effort": (
        arm(link("a"), link("b").replace("<inertial>", '<inertial><origin xyz="0.05 0 0"/>'), BASE,
            joint("j", "a", "b", LIMIT.replace("20", "0.3"))),
        "effort", "note", "joint 'j'", "does not hold what it carries, stretched out: 0.49 N m", 12,
    ),
    "an effort without bounds": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b", LIMIT.replace("20", "1e4"))),
        "effort", "note", "joint 'j'", "gives it 5e+03 rad/s within a millisecond", 12,
    ),
    "a damping in N m s/deg": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b", LIMIT + '<dynamics damping="40"/>')),
        "damping", "warning", "joint 'j'", "stops a motion within 0.05 ms", 12,
    ),
    "friction above the effort": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b", LIMIT + '<dynamics friction="30"/>')),
        "damping", "warning", "joint 'j'", "more than its largest effort", 12,
    ),
    "an axis that is not of length 1": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b", axis="0 2 0")),
        "axis", "note", "joint 'j'", "has the length 2", 14,
    ),
    "a mimic joint": (
        arm(link("a"), link("b"), link("c"), BASE, joint("j", "a", "b"),
            joint("k", "a", "c", LIMIT + '<mimic joint="j"/>', xyz="-0.2 0 0")),
        "mimic", "note", "joint 'k'", "mimics 'j'", 20,
    ),
    "a mimic joint of nothing": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b", LIMIT + '<mimic joint="x"/>')),
        "mimic", "error", "j", "does not exist", 12,
    ),
    "what no simulation reads": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b"),
            '<joint_properties name="j"/>\n<transmission name="t"/>\n'),
        "ignored", "warning", "<joint_properties>", "is not used: line 15", 15,
    ),
    "a transmission": (
        arm(link("a"), link("b"), BASE, joint("j", "a", "b"), '<transmission name="t"/>\n'),
        "ignored", "note", "<transmission>", "is not used: line 15", 15,
    ),
    "a mesh that is missing": (
        arm(link("a"), link("b", shape=NO_MESH), BASE, joint("j", "a", "b")),
        "missing-mesh", "warning", "no.stl", "meshes that do not exist are not drawn", None,
    ),
    "left and right": (
        arm(link("a"), link("left_foot"), link("right_foot", 1.2, "0.0024 0.0024 0.0024"), BASE,
            joint("left_hip", "a", "left_foot", xyz="0 0.2 0"),
            joint("right_hip", "a", "right_foot", LIMIT.replace("20", "40"), xyz="0 -0.2 0")),
        "symmetry", "warning", "joints 'left_hip' and 'right_hip'",
        "largest effort differs: 20 and 40", 18,
    ),
    "a link without mass": (
        arm(link("a"), '<link name="b"/>\n', BASE, joint("j", "a", "b")),
        "massless", "error", "b", "motion of these links without mass is undetermined", 6,
    ),
    "a stiff servo": (
        mjcf(HINGE, '<actuator>\n<position name="s" joint="j" kp="10000" kv="1"/>\n</actuator>',
             '<option timestep="0.005"/>'),
        "timestep", "warning", "actuator 's'", "the file has 5 ms", 10,
    ),
    "a stiff motor": (
        mjcf(HINGE, '<actuator>\n<dcmotor name="s" joint="j" motorconst="1" resistance="1" '
             'input="pos ff" controller="10000 0 1"/>\n</actuator>', '<option timestep="0.005"/>'),
        "timestep", "warning", "actuator 's'", "the file has 5 ms", 10,
    ),
    "a fast contact": (
        mjcf(HINGE + '<geom name="h" type="sphere" size="0.01" solref="0.002 1"/>'),
        "solref", "note", "geom 'h'", "a time constant of 2 ms", 5,
    ),
    "a rotor without a gear": (
        mjcf(HINGE.replace("damping", 'armature="1" damping')),
        "armature", "note", "joint 'j'", "its rotor's inertia of 1 is", 5,
    ),
    "links that may collide by the file": (
        mjcf(HINGE + '<body name="c" pos="0.3 0 0">' + HINGE.replace('"j"', '"k"')
             + '<geom type="sphere" size="0.05" mass="0.5"/><body name="d" pos="0.3 0 0">'
             + HINGE.replace('"j"', '"l"')
             + '<geom type="sphere" size="0.05" mass="0.5"/></body></body>'),
        "never-collide", "warning", "the robot", "1 pairs of bodies of one robot", None,
    ),
    "an attribute that MJCF has not": (
        mjcf(HINGE.replace("damping", 'colour="red" damping')),
        "ignored", "warning", "", "'colour' of <joint>", None,
    ),
}  # fmt: skip


def examined(text: str, folder: Path, *skip: str) -> Diagnosis:
    suffix = ".xml" if text.startswith("<mujoco") else ".urdf"
    file = folder / f"model{suffix}"
    file.write_text(text, encoding="utf-8")
    options = {} if suffix == ".xml" else {"floating_base": False}
    return diagnose(file, skip=skip or PEERS, **options)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_where_it_is(name: str, tmp_path: Path) -> None:
    text, check, severity, element, said, line = FAULTS[name]
    found = [
        one
        for one in examined(text, tmp_path).findings
        if (one.check, one.severity) == (check, severity) and said in one.said
    ]
    assert len(found) == 1, [str(one) for one in examined(text, tmp_path).findings]
    (one,) = found
    if element:
        assert one.element == element
    if line is not None:
        assert one.line == line
        assert Path(one.file or "").parent == tmp_path


def test_a_clean_arm_has_no_finding(tmp_path: Path) -> None:
    found = examined(CLEAN, tmp_path)
    assert found.findings == ()
    assert set(found.checks) == {check.name for check in CHECKS} - set(PEERS)


def test_a_clean_hinge_has_no_finding(tmp_path: Path) -> None:
    servo = '<actuator>\n<position name="s" joint="j" kp="10" kv="0.1"/>\n</actuator>'
    found = examined(mjcf(HINGE, servo), tmp_path)
    assert [one.said for one in found.findings] == []


@pytest.mark.parametrize(
    "name", ["pendulum", "rhombus", "screw", "universal_chain", "spinning_top"]
)
def test_built_models_are_examined_too(name: str) -> None:
    assert diagnose(name).findings == ()


def test_the_a1_has_no_warning() -> None:
    found = diagnose("a1", skip=PEERS)
    assert found.at_least("warning") == ()
    assert {one.check for one in found.findings} == {"base", "start", "shapes"}


def test_a_file_that_cannot_be_loaded_is_a_finding(tmp_path: Path) -> None:
    broken = arm(link("a"), link("b"), BASE, joint("j", "a", "nowhere"), link("a"))
    found = examined(broken, tmp_path)
    assert found.robot is None
    assert not found.to_dict()["loaded"]
    assert {one.check for one in found.findings} == {"load", "names"}
    assert all(one.severity == "error" for one in found.findings)
    assert "cannot be loaded" in next(o.said for o in found.findings if o.check == "load")


LOOP = """<mujoco>
<worldbody>
<site name="end" pos="{end} 0 1"/>
<body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.3"/>
<body name="b" pos="0.3 0 0"><joint name="k" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.3"/>
<site name="tip" pos="0.3 0 0"/></body></body>
</worldbody>
<equality>
<connect name="loop" site1="tip" site2="end"/>
</equality>
<keyframe>
<key name="bent" qpos="0.4 {k}"/>
</keyframe>
</mujoco>
"""


@pytest.mark.parametrize(
    ("end", "k", "told"),
    [
        (0.6, -0.9, [("note", "does not close in the pose 'bent': its ends are 0.0662")]),
        (0.55, 0.0, [("note", "does not close in the pose 'bent': its ends are 0.234 m"),
                     ("note", "does not close at home: its ends are 0.05 m")]),
        (0.7, 0.0, [("error", "apart, and no pose was found in which all loops close"),
                    ("note", "does not close in the pose 'bent'")]),
    ],
)  # fmt: skip
def test_loops_that_do_not_close(
    end: float, k: float, told: list[tuple[str, str]], tmp_path: Path
) -> None:
    text = LOOP.format(end=end, k=k)
    found = [one for one in examined(text, tmp_path).findings if one.check == "loops"]
    assert len(found) == len(told)
    for one, (severity, said) in zip(found, told, strict=True):
        assert (one.severity, one.element, one.line) == (severity, "joint 'loop'", 11)
        assert said in one.said


def test_loops_that_close(tmp_path: Path) -> None:
    q = 2 * np.arccos(0.5 / 0.6)  # half of the angle at the knee
    text = LOOP.format(end=0.5, k=q).replace('qpos="0.4', f'qpos="{-q / 2}')
    found = [one for one in examined(text, tmp_path).findings if one.check == "loops"]
    assert ["at home" in one.said for one in found] == [True]


def test_no_model_is_an_error() -> None:
    with pytest.raises(LoadError, match="no_such_robot"):
        diagnose("no_such_robot")
    with pytest.raises(LoadError, match="does not exist"):
        diagnose("no_such_robot.urdf")


def test_a_text_is_examined_as_a_file_is(tmp_path: Path) -> None:
    text = arm(link("a"), link("b"), BASE, joint("j", "a", "b", axis="0 0 3"))
    in_file = examined(text, tmp_path).findings
    found = diagnose(text, skip=PEERS, floating_base=False)
    assert found.model == "the text of a model"
    assert (found.file, found.findings[0].file) == (None, None)
    told = [[(one.check, one.line) for one in ones] for ones in (in_file, found.findings)]
    assert told == [[("axis", 14)]] * 2
    assert diagnose(text.encode(), skip=PEERS, floating_base=False).findings == found.findings


def test_a_check_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no check 'mases'"):
        examined(CLEAN, tmp_path, "mases")


def test_included_files_have_their_own_lines(tmp_path: Path) -> None:
    (tmp_path / "servo.xml").write_text(
        '<mujocoinclude>\n<actuator>\n\n<position name="s" joint="j" kp="1e5"/>\n</actuator>\n'
        "</mujocoinclude>\n",
        encoding="utf-8",
    )
    found = examined(mjcf(HINGE, '<include file="servo.xml"/>'), tmp_path)
    (one,) = (one for one in found.findings if one.check == "timestep")
    assert (Path(one.file or "").name, one.line) == ("servo.xml", 4)


def checks(text: str, folder: Path) -> list[str]:
    """Checks with findings, without those on what a loader says."""
    found = examined(text, folder, "loader", *PEERS).findings
    return [one.check for one in found]


def test_dampers_of_joints_are_implicit_in_the_longest_step(tmp_path: Path) -> None:
    """kp = 500 on an inertia of 0.0017 needs 3.7 ms, and none with a damper that is implicit."""
    servo = '<actuator><position name="s" joint="j" kp="500"/></actuator>'
    option = '<option timestep="0.005"/>'
    free = HINGE.replace("0.1", "0")
    assert checks(mjcf(free, servo, option), tmp_path) == ["timestep"]
    damped = HINGE.replace("0.1", "1.6")
    assert checks(mjcf(damped, servo, option), tmp_path) == []


def test_kv_is_implicit_where_the_file_asks_for_it(tmp_path: Path) -> None:
    servo = '<actuator><position name="s" joint="j" kp="10" kv="3"/></actuator>'
    assert checks(mjcf(HINGE, servo), tmp_path) == ["timestep"]
    option = '<option integrator="implicitfast"/>'
    assert checks(mjcf(HINGE, servo, option), tmp_path) == []


def test_the_last_option_has_the_time_step(tmp_path: Path) -> None:
    servo = '<actuator><position name="s" joint="j" kp="1000"/></actuator>'
    option = '<option timestep="0.005"/><option timestep="0.001"/>'
    assert checks(mjcf(HINGE, servo, option), tmp_path) == []


def test_two_turns_each_way_are_no_degrees(tmp_path: Path) -> None:
    limit = LIMIT.replace('"1"', '"6.28318530718"').replace('"-1"', '"-6.28318530718"')
    assert checks(arm(link("a"), link("b"), BASE, joint("j", "a", "b", limit)), tmp_path) == []


def test_pairs_that_the_file_excludes_may_overlap(tmp_path: Path) -> None:
    inner = (
        HINGE + '<body name="c" pos="0.1 0 0"><joint name="k" axis="0 0 1" damping="0.1"/>'
        '<geom type="box" size="0.05 0.05 0.05" mass="1"/><body name="d" pos="-0.1 0.06 0">'
        '<joint name="l" axis="0 0 1" damping="0.1"/>'
        '<geom type="box" size="0.05 0.05 0.05" mass="1"/></body></body>'
    )
    assert checks(mjcf(inner), tmp_path) == ["overlap"]
    exclude = '<contact><exclude body1="b" body2="d"/></contact>'
    assert checks(mjcf(inner, exclude), tmp_path) == []


def test_weight_is_that_of_the_file_s_gravity(tmp_path: Path) -> None:
    weak = '<joint name="j" axis="0 1 0" damping="0.1" pos="1 0 0" actuatorfrcrange="-1 1"/>'
    motor = '<actuator><motor name="m" joint="j"/></actuator>'
    assert checks(mjcf(weak, motor), tmp_path) == ["effort"]
    assert "effort" not in checks(mjcf(weak, motor, '<option gravity="0 0 0"/>'), tmp_path)


def test_what_a_warning_says_is_no_name(tmp_path: Path) -> None:
    found = examined(mjcf(HINGE, option='<option gravity="0 0 -1"/>'), tmp_path).findings
    assert [(one.check, one.element) for one in found] == [("file", "the robot")]


@pytest.mark.parametrize(("k", "d"), [(1e4, 0.0), (1e4, 3.0), (0.0, 50.0), (2e3, 40.0)])
def test_the_longest_step_is_that_of_the_oscillator(k: float, d: float) -> None:
    """A semi-implicit step of a unit mass is stable up to h with k h^2 + 2 d h = 4."""
    bound = 2 / d if k == 0 else (np.sqrt(d * d + 4 * k) - d) / k
    found = _longest(np.eye(1), k * np.eye(1), d * np.eye(1), np.zeros((1, 1)))
    assert found == pytest.approx(bound, rel=2e-3)


def test_a_step_beyond_the_longest_one_diverges_and_one_below_does_not() -> None:
    mobility = np.linalg.inv(np.array([[2.0, 0.3], [0.3, 0.1]]))
    k, d = np.diag([1e3, 5e3]), np.diag([1.0, 2.0])
    longest = _longest(mobility, k, d, np.zeros((2, 2)))
    for factor, grows in ((0.98, False), (1.02, True)):
        h, q, v = factor * longest, np.array([1e-3, -2e-3]), np.zeros(2)
        for _ in range(4000):
            v = v - h * mobility @ (k @ q + d @ v)
            q = q + h * v
            if np.abs(q).max() > 1e3:
                break
        assert (np.abs(q).max() > 1) == grows


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("left_foot", "right_foot"),
        ("FL_calf", "FR_calf"),
        ("LeftElbowPitch", "RightElbowPitch"),
        ("arm_l_2", "arm_r_2"),
        ("LHipPitch", "RHipPitch"),
    ],
)
def test_names_of_the_other_side(left: str, right: str) -> None:
    assert right in mirrored(left)
    assert mirrored("trunk") == []


def test_findings_of_one_sentence_share_a_row() -> None:
    ones = [
        Finding("start", "note", f"joint '{n}'", "0 is outside", line=k) for k, n in enumerate("ab")
    ]
    effects = {"MuJoCo": "refuses"}
    ones.append(Finding("inertia", "error", "link 'c'", "is wrong", "mend it", effects))
    first, second = sections(ones)
    assert (first.check, first.effects, first.mends) == (
        "inertia", effects, ("mend it",)
    )  # fmt: skip
    assert [(row.elements, row.lines) for row in second.rows] == [("joints 'a', 'b'", "lines 0, 1")]


def test_the_page_fetches_nothing_and_escapes_names(tmp_path: Path) -> None:
    text = CLEAN.replace('name="j"', 'name="&lt;img src=x&gt;"').replace("0 1 0", "0 2 0")
    told = page(examined(text, tmp_path))
    assert "&lt;img src=x&gt;" in told
    assert "<img src=x>" not in told
    assert "http" not in told.split("<body>")[1]
    assert 'alt="the robot at home"' in told


def test_the_command(tmp_path: Path) -> None:
    text, *_ = FAULTS["left and right"]
    file, out = tmp_path / "arm.urdf", tmp_path / "arm.html"
    file.write_text(text, encoding="utf-8")
    line = ["doctor", str(file), "--fixed-base", "--skip", "libraries"]
    done = CliRunner().invoke(app, [*line, "--html", str(out)])
    assert done.exit_code == 0, done.output
    assert "largest effort differs: 20 and 40" in done.output
    assert "arm.html" in done.output
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    done = CliRunner().invoke(app, [*line, "--fail-on", "warning", "--json"])
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["counts"]["warning"] == 2
    assert {one["check"] for one in told["findings"]} == {"symmetry"}
    assert CliRunner().invoke(app, [*line, "--fail-on", "never"]).exit_code == 0


def test_annotations_name_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    Path("arm.urdf").write_text(FAULTS["no effort"][0], encoding="utf-8")
    done = CliRunner().invoke(app, ["doctor", "arm.urdf", "--fixed-base", "--skip", "libraries"])
    (line,) = (line for line in done.output.splitlines() if line.startswith("::"))
    assert line.startswith("::warning file=arm.urdf,line=12,title=robosim doctor%3A effort::joint")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--fail-on", "sometimes"], "--fail-on must be one of error, warning, note, never"),
        (["--html", "page.txt"], "must end in .html"),
        (["--html", "/no/such/folder/page.html"], "the directory does not exist"),
    ],
)
def test_options_that_cannot_be(more: list[str], told: str) -> None:
    done = CliRunner().invoke(app, ["doctor", "pendulum", *more])
    assert done.exit_code == 1
    assert told in " ".join(done.output.split())


class TestLibraries:
    """Other libraries read the file in processes of their own."""

    def test_a_library_that_hangs_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(libraries, "SECONDS", 0.01)
        assert libraries._told("mujoco", str(tmp_path / "x.urdf"), "urdf", False) == {
            "error": "it takes longer than 0.01 s"
        }

    def test_a_library_that_crashes_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            libraries, "PROGRAM", (sys.executable, "-c", "import os; os.kill(os.getpid(), 11)")
        )
        told = libraries._told("mujoco", "x.urdf", "urdf", False)
        assert told == {"error": "it crashes, by signal 11"}

    def test_what_mujoco_and_pinocchio_make_of_a_floating_arm(self, tmp_path: Path) -> None:
        pytest.importorskip("mujoco")
        pytest.importorskip("pinocchio")
        file = tmp_path / "arm.urdf"
        file.write_text(CLEAN, encoding="utf-8")
        found = diagnose(file, floating_base=True).findings
        (one,) = (one for one in found if one.check == "libraries")
        assert one.element.startswith("MuJoCo")
        assert "makes 1 degrees of freedom of it, and robosim 7: it fixes the base" in one.said

    def test_a_urdf_may_end_in_xml(self, tmp_path: Path) -> None:
        pytest.importorskip("pinocchio")
        file = tmp_path / "arm.xml"
        file.write_text(CLEAN, encoding="utf-8")
        told = libraries._told("pinocchio", str(file), "urdf", False)
        assert told == {"nv": 1, "mass": 1.0}

    def test_a_file_that_mujoco_refuses(self, tmp_path: Path) -> None:
        pytest.importorskip("mujoco")
        found = examined(FAULTS["a triangle inequality"][0], tmp_path, "base")
        (one,) = (one for one in found.findings if one.check == "libraries")
        assert one.severity == "warning"
        assert "balanceinertia" in one.said
