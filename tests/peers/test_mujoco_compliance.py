"""Penetrations at rest of files with `compliant=True`, beside those of MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import robosim
from robosim import LoadError, Simulation

LEG = """
<body name="{name}_thigh" pos="{x} {y} 0">
  <inertial pos="0 0 -.1" mass="1.0" diaginertia=".005 .005 .001"/>
  <joint name="{name}_hip" axis="0 1 0" stiffness="300" damping="5" springref=".8"/>
  <body name="{name}_calf" pos="0 0 -.2">
    <inertial pos="0 0 -.1" mass=".2" diaginertia=".002 .002 .0001"/>
    <joint name="{name}_knee" axis="0 1 0" stiffness="300" damping="5" springref="-1.6"/>
    <geom class="foot" name="{name}" pos="0 0 -.2"/>
  </body>
</body>"""
FEET = {"FR": (0.2, -0.15), "FL": (0.2, 0.15), "RR": (-0.2, -0.15), "RL": (-0.2, 0.15)}
MENAGERIE = 'solimp="0.015 1 0.031" condim="6" friction="0.8 0.02 0.01" priority="1"'


def quadruped(foot: str, option: str = "") -> str:
    """A trunk on four legs with springs, and feet as in the files of MuJoCo Menagerie."""
    legs = "".join(LEG.format(name=name, x=x, y=y) for name, (x, y) in FEET.items())
    return f"""<mujoco model="quadruped"><compiler angle="radian"/><option {option}/>
      <default><default class="foot"><geom type="sphere" size=".02" {foot}/></default></default>
      <worldbody><geom name="floor" type="plane" size="0 0 .05"/>
        <body name="trunk" pos="0 0 .31"><freejoint/>
          <inertial pos="0 0 0" mass="6" diaginertia=".02 .06 .07"/>{legs}</body></worldbody>
      <keyframe><key name="home" qpos="0 0 .31 1 0 0 0 {".8 -1.6 " * 4}"/></keyframe></mujoco>"""


def one_body(floor: str, geom: str, option: str = "") -> str:
    return f"""<mujoco><option {option}/><worldbody>
      <geom type="plane" size="0 0 .05" {floor}/>
      <body name="b" pos="0 0 .1"><freejoint/><geom {geom}/></body></worldbody></mujoco>"""


BOX = 'type="box" size=".1 .1 .1" mass="2"'
FILES = {
    "sphere": one_body("", 'type="sphere" size=".1" mass="2"'),
    "box": one_body("", BOX),
    "slippery": one_body('friction=".5"', BOX + ' friction=".6"'),
    "elliptic": one_body('friction=".5"', BOX, 'cone="elliptic" impratio="10"'),
    "capsule": one_body("", 'type="capsule" size=".1 .1" euler="0 90 0" mass="2"'),
    "direct": one_body("", 'type="sphere" size=".1" mass="2" solref="-5000 -100" priority="1"'),
    "mixed": one_body('solref=".05 1" solmix="3"', BOX + ' solref=".1 .7" solimp=".5 .9 .01"'),
    "frictionless": one_body('condim="1"', BOX + ' condim="1"'),
    "quadruped": quadruped(MENAGERIE),
    "elliptic quadruped": quadruped(MENAGERIE, 'cone="elliptic" impratio="100"'),
}


def penetrations(text: str) -> np.ndarray:
    """MuJoCo's [m], after 10 s."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, nstep=5000)
    assert np.abs(data.qvel).max() < 1e-3  # what creeps
    return -data.contact.dist


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_penetrations_at_rest_are_mujocos(name, dt):
    robot = robosim.load(FILES[name], compliant=True)
    sim = Simulation(robot, dt)
    sim.set_state(robot.home)
    sim.run(5.0)
    mine, theirs = -np.array([one.gap for one in sim.contacts()]), penetrations(FILES[name])
    assert len(mine) == len(theirs)
    assert mine.mean() == pytest.approx(theirs.mean(), rel=0.01)
    assert np.abs(sim.v).max() < 1e-5


LIMITS = """<mujoco><option timestep="0.001"/><worldbody>
<body pos="0 0 1"><joint name="a" axis="0 1 0" range="-20 30" {0}/>
 <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="1" contype="0" conaffinity="0"/>
 <body pos=".3 0 0"><joint name="b" axis="0 1 0" range="-20 30" damping=".1"/>
 <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass=".5" contype="0" conaffinity="0"/>
 </body></body>
<body pos="0 1 1"><joint name="s" type="slide" axis="0 0 1" range="-.1 .3" damping="1"/>
 <geom size=".05" mass="2" contype="0" conaffinity="0"/></body>
<body pos="0 2 1"><joint name="t" type="slide" axis="0 0 1" damping="1"/>
 <geom size=".05" mass="2" contype="0" conaffinity="0"/></body>
<body pos="0 3 1"><joint name="c" type="ball" range="0 40" damping=".05" solreflimit=".005 1"/>
 <geom type="capsule" fromto="0 0 0 .3 0 .2" size=".02" mass=".7" contype="0" conaffinity="0"/>
 </body></worldbody>
<tendon><fixed name="T" limited="true" range="-.05 .2" {0}><joint joint="t" coef=".5"/></fixed>
</tendon></mujoco>"""


@pytest.mark.parametrize("how", [
    "", 'solreflimit=".05 1"', 'solreflimit="-3000 -60" solimplimit=".8 .9 .01"',
    'solreflimit=".02 0.5" solimplimit=".5 .99 .1 .3 3"',
])  # fmt: skip
def test_limits_yield_as_in_mujoco(how):
    """Of hinges, slides, a tendon of one joint, and a ball joint, under their weight."""
    text = LIMITS.format(how)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=8000)
    robot = robosim.load(text, compliant=True)
    sim = Simulation(robot, 1e-3)
    sim.run(8.0)
    ends = [np.deg2rad(30.0), np.deg2rad(30.0), -0.1, -0.1]
    mine, theirs = sim.q[:4] - ends, data.qpos[:4] - ends
    np.testing.assert_allclose(mine[1:], theirs[1:], rtol=0.005)
    # The lower link is not at home, so that the load of the upper one is another.
    assert mine[0] == pytest.approx(theirs[0], rel=0.1)
    turns = [2 * np.arccos(q[4]) - np.deg2rad(40.0) for q in (sim.q, data.qpos)]
    assert turns[0] == pytest.approx(turns[1], rel=0.05)
    hard = robosim.load(text)
    assert all(joint.limit_stiffness is None for joint in hard.joints)


def test_springs_of_limits_come_back_from_a_file(tmp_path):
    text = LIMITS.format("").replace(
        "</fixed>",
        """</fixed>
    <fixed name="both" limited="true" range="-1 1"><joint joint="s" coef="2"/>
    <joint joint="t" coef="1"/></fixed>""",
    )
    robot = robosim.load(text, compliant=True)
    robosim.save(robot, tmp_path / "limits.xml")
    again = robosim.load(tmp_path / "limits.xml", compliant=True)
    assert len(robot.tendons) == 1
    for name in ("joints", "tendons"):
        for one, other in zip(getattr(robot, name), getattr(again, name), strict=True):
            assert one.limit_stiffness > 0
            assert other.limit_stiffness == pytest.approx(one.limit_stiffness, rel=1e-9)
            assert other.limit_damping == pytest.approx(one.limit_damping, rel=1e-9)


def test_limits_bounce_back_as_in_mujoco():
    """Speeds after the impact at a limit by the damping ratio of the file, within the model."""
    text = """<mujoco><option gravity="0 0 0" timestep="0.0002"><flag refsafe="disable"/></option>
    <worldbody><body><joint name="s" type="slide" axis="1 0 0" range="-1 .05"
    solreflimit=".1 .2" solimplimit=".9 .9 .001"/><geom size=".05" mass="2"/></body></worldbody>
    </mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[0] = 1.0
    mujoco.mj_step(model, data, nstep=4000)
    sim = Simulation(robosim.load(text, compliant=True), 2e-4, gravity=(0, 0, 0))
    sim.set_state(None, [1.0])
    sim.run(0.8)
    assert data.qvel[0] < -0.3
    assert sim.v[0] == pytest.approx(data.qvel[0], rel=0.1)


def test_without_the_word_contacts_are_hard():
    assert robosim.load(FILES["mixed"]).contacts[0].stiffness is None


@pytest.mark.parametrize("name", ["robot.urdf", "robot.xml", "quadruped.xml"])
def test_springs_come_back_from_a_file(tmp_path, name):
    robot = robosim.load(FILES["quadruped" if "quad" in name else "box"], compliant=True)
    path = tmp_path / name
    robosim.save(robot, path)
    again = robosim.load(path, compliant=True)
    for one, other in zip(robot.contacts, again.contacts, strict=True):
        assert other.stiffness == pytest.approx(one.stiffness, rel=1e-9)
        assert other.dissipation == pytest.approx(one.dissipation, rel=1e-9)


def test_a_written_file_rests_alike_in_mujoco(tmp_path):
    robot = robosim.load(FILES["box"], compliant=True)
    path = tmp_path / "box.xml"
    robosim.save(robot, path)
    weight = robot.total_mass * 9.81
    expected = weight / 4 / robot.contacts[0].stiffness
    assert penetrations(path.read_text()) == pytest.approx(4 * [expected], rel=0.01)


URDF = """<robot name="b"><link name="base">
  <inertial><mass value="2"/>
    <inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size=".2 .2 .2"/></geometry></collision></link>
  <gazebo reference="base">{}</gazebo></robot>"""
NESTED = "<collision><surface><contact><ode>{}</ode></contact></surface></collision>"


@pytest.mark.parametrize("form", ["{}", NESTED])
def test_gazebos_stiffness(form):
    text = URDF.format(form.format("<kp>1e4</kp><kd>20</kd>"))
    robot = robosim.load(text, compliant=True)
    (body,) = robot.bodies
    for part in (*robot.contacts, *body.collisions):
        assert part.stiffness == 1e4
        assert part.dissipation == pytest.approx(20 / (2 * 9.81 / 4))
    hard = robosim.load(text)
    assert hard.contacts[0].stiffness is None
    assert any("does not use" in told for told in hard.warnings)


@pytest.mark.parametrize(("text", "told"), [
    (URDF.format("<kp>0</kp>"), "<kp>: must be positive, not 0.0"),
    (URDF.format("<kp>-3</kp>"), "<kp>: must not be negative, not -3.0"),
    (URDF.format("<kp>1</kp><kd>-1</kd>"), "<kd>: must not be negative, not -1.0"),
    (one_body("", BOX + ' solref="0 1"'), "'solref' must be two positive or two negative"),
    (one_body("", BOX + ' solref=".02 -1"'), "'solref' must be two positive or two negative"),
    (one_body("", BOX + ' solimp=".9 .95 .001 1.5 2"'), "'solimp' must have a width"),
    (one_body("", BOX + ' solmix="-1"'), "'solmix' must not be negative"),
])  # fmt: skip
def test_what_is_no_spring_in_a_file(text, told):
    with pytest.raises(LoadError, match=told.replace("<", ".").split("(")[0]):
        robosim.load(text, compliant=True)
