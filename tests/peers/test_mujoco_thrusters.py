"""Actuators that push bodies at sites, and tendons that pull at free joints, as MuJoCo has them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import Simulation, quaternions
from robosim.actuators import Drive, torques
from robosim.errors import ModelError

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

ROTORS = "".join(
    f'<site name="r{k}" pos="{x} {y} .05" euler="{5 * k} 3 0"/>'
    for k, (x, y) in enumerate(((0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1)))
)
DRONE = f"""<mujoco><option><flag contact="disable"/></option><worldbody><site name="hook"/>
<body name="drone" pos="0 0 1" euler="0 0 20"><freejoint/><geom type="box" size=".1 .1 .03"/>
  {ROTORS}<body name="arm" pos=".02 0 -.03"><joint name="h" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02"/><site name="tip" pos="0 .01 -.2"/>
</body></body></worldbody>
<tendon><spatial name="rope"><site site="hook"/><site site="tip"/></spatial></tendon>
<actuator><motor site="r0" gear="0 0 1 0 0 .02" ctrlrange="0 9"/>
<motor site="r1" gear="0 0 1 0 0 -.02"/><motor site="r2" gear="0 0 1 0 0 .02"/>
<general site="r3" gear="0 0 1 0 0 -.02" gainprm="3" biastype="affine" biasprm=".5 0 -.1"/>
<motor site="tip" gear="1 2 3 .1 .2 .3"/><motor joint="h" gear="2"/><motor tendon="rope"/>
</actuator></mujoco>"""


def test_generalized_forces(tmp_path: Path):
    (tmp_path / "m.xml").write_text(DRONE)
    robot = robosim.load(tmp_path / "m.xml", strict=True)
    robosim.save(robot, tmp_path / "again.xml")
    again = robosim.load(tmp_path / "again.xml")
    model = mujoco.MjModel.from_xml_string(DRONE)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    assert robot.nu == 1
    for _ in range(30):
        q, v, controls = rng.normal(size=8), rng.normal(size=7), rng.normal(size=7)
        q[3:7] = quaternions.normalized(q[3:7])
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, controls
        mujoco.mj_forward(model, data)
        scale = np.abs(data.qfrc_actuator).max()
        for ours in (robot, again):
            found = torques(ours, controls, q, v)
            np.testing.assert_allclose(found, data.qfrc_actuator, rtol=0, atol=1e-9 * scale)


def test_a_drone_hovers(tmp_path: Path):
    """Four thrusts of a quarter of the weight, straight up: nothing happens."""
    text = re.sub(r'(<site name="r.*?) euler=".*?"', r"\1", DRONE)
    begin, end = text.index("<tendon>"), text.index("</mujoco>")
    motors = "".join(f'<motor site="r{k}" gear="0 0 1"/>' for k in range(4))
    text = f"{text[:begin]}<actuator>{motors}</actuator>{text[end:]}"
    text = text.replace('<body name="arm" pos=".02 0 -.03">', '<body name="arm" pos="0 0 -.03">')
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml", ground=False)
    sim = Simulation(robot, 1e-3)
    start, thrust = sim.q, robot.total_mass * 9.81 / 4
    sim.run(0.2, controller=Drive(robot, lambda sim: np.full(4, thrust)))
    np.testing.assert_allclose(sim.q, start, rtol=0, atol=1e-9)
    # The same thrusts and a little more rise evenly.
    sim.run(0.2, controller=Drive(robot, lambda sim: np.full(4, 1.1 * thrust)))
    assert sim.v[2] == pytest.approx(0.1 * 9.81 * 0.2, rel=1e-6)


def test_what_cannot_push_is_told(tmp_path: Path):
    for motor, told in (
        ('<motor site="hook"/>', "push at the world"),
        ('<motor site="r0" refsite="r1"/>', "no joint, tendon or single site"),
        ('<motor cranksite="r0" slidersite="r1" cranklength="1"/>', "no joint, tendon or single"),
    ):
        text = DRONE.replace("</actuator>", f"{motor}</actuator>")
        (tmp_path / "m.xml").write_text(text)
        robot = robosim.load(tmp_path / "m.xml")
        assert len(robot.actuators) == 7
        assert any(told in warning for warning in robot.warnings)
    place = replace(robot.actuators[0].place, body="nothing")
    with pytest.raises(ModelError, match="body 'nothing' does not exist"):
        replace(robot, actuators=(replace(robot.actuators[0], place=place),))
