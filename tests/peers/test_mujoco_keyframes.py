"""Keyframes have MuJoCo's velocities, controls and activations, also in worlds and files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import Simulation
from robosim.actuators import Drive
from robosim.errors import LoadError, ModelError
from robosim.mechanism import Keyframe

mujoco = pytest.importorskip("mujoco")

FILE = """<mujoco><option timestep="0.001" gravity="0 0 -9.81"/><worldbody>
<body name="base" pos="0 0 1"><freejoint name="root"/><geom size=".1"/>
  <body name="a"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" axis="0 0 1"/>
    <joint name="y" axis="0 1 0"/><geom size=".05" pos=".2 0 0"/>
    <body name="b" pos=".3 0 0"><joint name="ball" type="ball"/><geom size=".05" pos=".1 0 0"/>
    </body></body></body></worldbody>
<actuator><position name="p" joint="x" kp="5" timeconst="0.1"/><motor name="m" joint="z"/>
  <adhesion name="glue" body="b" ctrlrange="0 1"/>
  <dcmotor name="two" joint="y" motorconst=".1" resistance="1" input="pos vel" inductance="0.1"/>
  <dcmotor name="d" joint="y" motorconst=".1" resistance="1" inductance="0.1"/>
  <general name="f" joint="y" dyntype="filter" dynprm="0.2"/></actuator>
<keyframe><key name="one" time="1.5" qpos="1 2 3 1 0 0 0 .1 .2 .3 1 0 0 0"
    qvel="1 2 3 4 5 6 7 8 9 10 11 12" act=".1 .2 .3 .4" ctrl="1 2 3 4 5 6 7"/>
  <key qvel="0 0 0 0 0 0 0 0 1 0 0 0"/></keyframe></mujoco>"""
CONTROLS = ("p", "m", "glue", "two:pos", "two:vel", "d", "f")
ACTIVATIONS = {"p": 0, "m": None, "glue": None, "two": 1, "d": 2, "f": 3}  # place in act


@pytest.fixture
def robot(tmp_path):
    (tmp_path / "m.xml").write_text(FILE)
    return robosim.load(tmp_path / "m.xml")


def test_all_quantities_are_mujocos(robot):
    model = mujoco.MjModel.from_xml_string(FILE)
    for k, name in enumerate(("one", "key1")):
        now = robot.keyframe(name)
        np.testing.assert_allclose(now.q, model.key_qpos[k], atol=1e-12)
        np.testing.assert_allclose(now.v, model.key_qvel[k], atol=0)
        assert now.time == model.key_time[k]
        assert robot.control_names == CONTROLS
        assert now.controls.tolist() == model.key_ctrl[k].tolist()
        assert robot.activation_names == tuple(ACTIVATIONS)
        found = [0.0 if a is None else model.key_act[k][a] for a in ACTIVATIONS.values()]
        assert now.activations.tolist() == found
    assert not any("key" in warning for warning in robot.warnings)


def test_a_run_begins_at_a_keyframe(robot):
    now = robot.keyframe("one")
    sim = Simulation(robot, 1e-3)
    sim.set_state(now.q, now.v, time=now.time)
    drive = Drive(robot, lambda sim: now.controls, now.activations)
    assert sim.v == pytest.approx(now.v)
    assert sim.time == 1.5
    sim.step(drive(sim))
    assert drive.activations == pytest.approx(now.activations, abs=0.05)


def test_other_poses_are_at_rest(robot):
    now = robot.keyframe("home")
    assert np.array_equal(now.q, robot.home)
    assert not np.concatenate((now.v, now.controls, now.activations)).any()
    with pytest.raises(ModelError, match="no configuration 'two'"):
        robot.keyframe("two")


def test_files_that_are_written_keep_them(robot, tmp_path):
    robosim.save(robot, tmp_path / "written.xml")
    again = robosim.load(tmp_path / "written.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "written.xml"))
    for name in ("one", "key1"):
        for ours, theirs in zip(again.keyframe(name), robot.keyframe(name), strict=True):
            assert np.asarray(ours) == pytest.approx(np.asarray(theirs), abs=1e-12)
        key = model.key(name)
        assert key.qvel == pytest.approx(robot.keyframe(name).v)
        assert key.ctrl == pytest.approx(robot.keyframe(name).controls)


def test_names_and_worlds_change_with_the_robot(robot):
    turn = np.array((np.cos(0.4), 0.0, 0.0, np.sin(0.4)))
    world = robosim.load("double_pendulum").add(robot, (1, 0, 0), turn, prefix="second/")
    alone, now = robot.keyframe("one"), world.keyframe("second/one")
    c, s = np.cos(0.8), np.sin(0.8)
    R = np.array(((c, -s, 0), (s, c, 0), (0, 0, 1)))
    assert now.v[:2].tolist() == [0.0, 0.0]
    assert now.v[2:5] == pytest.approx(R @ alone.v[:3])
    assert now.v[5:] == pytest.approx(alone.v[3:])
    assert now.controls.tolist() == alone.controls.tolist()
    # The body moves as it did, in another world.
    sim, there = Simulation(robot, 1e-3), Simulation(world, 1e-3)
    sim.set_state(alone.q, alone.v)
    there.set_state(now.q, now.v)
    velocity = there.frame_velocity("second/b")
    expected = sim.frame_velocity("b")
    assert velocity[:3] == pytest.approx(R @ expected[:3])
    bare = replace(robot, actuators=())
    assert bare.keyframe("one").controls.tolist() == []


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ('qvel="1 2"', "'qvel'"),
        ('ctrl="1 2"', "'ctrl'"),
        ('act="1 2 3 4 5"', "'act'"),
        ('ctrl="1 2 3 4 5 6 x"', "'ctrl'"),
    ],
)
def test_wrong_numbers_are_refused(tmp_path, attributes, told):
    text = FILE.replace("<key qvel=", f"<key {attributes}/><key qvel=")
    (tmp_path / "bad.xml").write_text(text)
    with pytest.raises(LoadError, match=told):
        robosim.load(tmp_path / "bad.xml")


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(ModelError, match="controls of 'm' must be finite"):
        Keyframe(controls={"m": np.nan})
    with pytest.raises(ModelError, match="time must be finite"):
        Keyframe(time=np.inf)


STATES = {
    'inductance="0"': [],
    'inductance="0 0.02"': ["current"],
    'thermal="3 20"': ["heat"],
    'thermal="0 0 0 0.004"': [],
    'lugre="0 2 3 4 5"': [],
    'input="pos" controller="1 2 1"': ["integral"],
    'input="pos" controller="1 2 0 3" inductance="0.004"': ["setpoint", "integral", "current"],
    'input="vel" controller="0 0 1 3" inductance="0.004" lugre="1 2 3 4 5" thermal="3 20"': [
        "setpoint", "heat", "bristles", "current"
    ],
}  # fmt: skip


@pytest.mark.parametrize("states", STATES)
def test_motors_have_all_their_states(tmp_path, states):
    text = FILE.replace('name="d" joint="y" motorconst=".1" resistance="1" inductance="0.1"',
                        f'name="d" joint="y" motorconst=".1" resistance="1" {states}')  # fmt: skip
    n = mujoco.MjModel.from_xml_string(text.replace('act=".1 .2 .3 .4"', "")).na
    text = text.replace('act=".1 .2 .3 .4"', f'act="{" ".join(map(str, range(1, n + 1)))}"')
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    now = dict(zip(robot.activation_names, robot.keyframe("one").activations.tolist(), strict=True))
    expected, names = [1.0, 2.0], STATES[states]
    own = ["d"] if len(names) < 2 else [f"d:{name}" for name in names]
    expected += [*range(3, 3 + len(names)), n]
    assert [now[name] for name in ("p", "two", *own[: len(names)], "f")] == expected
    again = tmp_path / "again.xml"
    robosim.save(robot, again)
    assert mujoco.MjModel.from_xml_path(str(again)).key("one").act.tolist() == expected


def test_actuators_of_unknown_size_are_told(tmp_path):
    text = FILE.replace("<motor name", '<general joint="z" actdim="2" dyntype="user"/><motor name')
    text = text.replace('act=".1 .2 .3 .4" ctrl="1 2 3 4 5 6 7"', 'act="1 2 3 4 5 6"')
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    assert any("unknown numbers" in warning for warning in robot.warnings)
    assert not robot.keyframe("one").activations.any()
