"""Adhesion pulls a body towards what it touches, with MuJoCo's force, and holds it there."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import Simulation
from robosim.actuators import Actuator, Drive, torques
from robosim.description.place import Place
from robosim.errors import LoadError, ModelError

mujoco = pytest.importorskip("mujoco")

FILE = """<mujoco><worldbody><geom name="ceiling" type="box" size="1 1 .1" pos="0 0 1.1"/>
<geom name="floor" type="plane" size="1 1 .1"/>
<body name="base" pos="0 0 {z}"><freejoint/><geom type="{kind}" size=".1 .1 .1" mass="1"/>
  <body name="tool" pos="0 0 .05"><geom type="sphere" size=".02" mass=".1" pos=".3 0 0"/></body>
</body><body name="low" pos=".5 0 .1"><freejoint/><geom size=".1" mass="1"/></body></worldbody>
<actuator><adhesion name="grip" body="{body}" gain="30" ctrlrange="0 1" {more}/></actuator>
<keyframe><key name="k" ctrl=".7"/></keyframe></mujoco>"""


def loaded(tmp_path, kind="box", z=0.9, body="base", more=""):
    text = FILE.format(kind=kind, z=z, body=body, more=more)
    (tmp_path / "m.xml").write_text(text)
    return text, robosim.load(tmp_path / "m.xml")


def test_it_is_read(tmp_path):
    _, robot = loaded(tmp_path)
    (actuator,) = robot.actuators
    assert actuator.adheres == "base"
    assert actuator.control_range == (0.0, 1.0)
    assert robot.keyframe("k").controls.tolist() == [0.7]
    assert not torques(robot, [1.0], robot.home, np.zeros(robot.nv)).any()
    assert not any("grip" in warning for warning in robot.warnings)
    assert robosim.load("cube").add(robot, prefix="x/").actuators[0].adheres == "x/base"


def test_it_holds_a_box_at_the_ceiling(tmp_path):
    """With more than the weight, and lets it fall with less."""
    _, robot = loaded(tmp_path)
    for control, holds in ((1.0, True), (0.2, False)):
        sim = Simulation(robot, 2e-3)
        sim.set_state(robot.home)
        up = np.zeros(robot.nv)
        up[2] = 40.0
        sim.run(0.05, lambda sim, up=up: up)  # pressed against it
        sim.run(0.4, Drive(robot, lambda sim, control=control: [control]))
        assert (sim.q[2] > 0.9 - 1e-6) == holds
        force = sum(one.force for one in sim.contacts() if one.other == "ceiling")
        if holds:
            assert force[2] == pytest.approx(-(30.0 - 1.1 * 9.81), rel=1e-3)


@pytest.mark.parametrize("more", ["", 'forcerange="0 7"', 'delay=".002" nsample="2"'])
@pytest.mark.parametrize("kind", ["sphere", "box"])
def test_forces_are_mujocos(tmp_path, kind, more):
    """Where both have the same contacts: pressed to the ceiling, in the middle of its shape."""
    text, robot = loaded(tmp_path, kind, more=more)
    sim = Simulation(robot, 1e-3)
    up = np.zeros(robot.nv)
    up[2] = 40.0
    sim.run(0.1, lambda sim: up)
    drive = Drive(robot, lambda sim: [0.8])
    for _ in range(3):
        tau = drive(sim)
        sim.step(up)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = sim.q
    data.qpos[2] += 1e-7  # which MuJoCo calls a contact
    data.ctrl[:] = 0.8
    for _ in range(3):
        q = data.qpos.copy()
        mujoco.mj_step(model, data)
        found = data.qfrc_actuator.copy()
        data.qpos[:], data.qvel[:] = q, 0.0
    assert np.abs(found[:3]).max() > 1.0
    np.testing.assert_allclose(tau[:3], found[:3], atol=1e-6)
    # Torques depend on where contacts of a face are taken to be.
    if kind == "sphere":
        np.testing.assert_allclose(tau, found, atol=1e-5)


def test_what_is_held_is_pulled_as_well(tmp_path):
    """The other body of a contact has the opposite force."""
    text = FILE.format(kind="sphere", z=0.9, body="low", more="")
    text = text.replace('pos=".5 0 .1"', 'pos="0 0 .1"').replace('pos="0 0 0.9"', 'pos="0 0 .3"')
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml")
    sim = Simulation(robot, 1e-3)
    sim.run(0.05)
    pair = [one for one in sim.contacts() if {one.body, one.other} == {"base", "low"}]
    assert len(pair) == 1
    tau = Drive(robot, lambda sim: [1.0])(sim)
    # Half of the force for the floor, half for the other ball.
    assert tau[2] == pytest.approx(-15.0, rel=1e-3)  # the balls roll a little
    assert tau[8] == pytest.approx(-15.0 + 15.0, abs=1e-2)


def test_files_that_are_written_keep_it(tmp_path):
    _, robot = loaded(tmp_path, more='forcerange="0 7"')
    robosim.save(robot, tmp_path / "written.xml")
    (again,) = robosim.load(tmp_path / "written.xml").actuators
    (actuator,) = robot.actuators
    assert (again.adheres, again.gain, again.control_range, again.force_range) == (
        actuator.adheres, actuator.gain, actuator.control_range, actuator.force_range,
    )  # fmt: skip
    mujoco.MjModel.from_xml_path(str(tmp_path / "written.xml"))


def test_what_does_not_adhere_is_refused(tmp_path):
    with pytest.raises(LoadError, match="'bas'"):
        loaded(tmp_path, body="bas")
    for more, told in (
        ('gain="30" ctrlrange="0 1"', 'gain="-1" ctrlrange="0 1"'),
        ('ctrlrange="0 1"', 'ctrlrange="-1 1"'),
        ('ctrlrange="0 1"', ""),
    ):
        text = FILE.format(kind="box", z=0.9, body="base", more="").replace(more, told)
        with pytest.raises(ValueError, match=r"gain|range"):
            mujoco.MjModel.from_xml_string(text)
        (tmp_path / "bad.xml").write_text(text)
        with pytest.raises(LoadError, match=r"'gain'|'ctrlrange'"):
            robosim.load(tmp_path / "bad.xml")
    with pytest.raises(ModelError, match="adheres, and so needs a place"):
        Actuator("a", {}, adheres="b")
    with pytest.raises(ModelError, match="adheres, and so needs a place"):
        Actuator("a", {}, place=Place("b"), wrench=(1, 0, 0, 0, 0, 0), adheres="b")
