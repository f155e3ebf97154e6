"""What actuators of a joint or a tendon can do together, and their damping, as MuJoCo has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim.actuators import torques
from robosim.errors import LoadError, ModelError

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

ARM = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a"><joint name="h" axis="0 1 0" actuatorfrcrange="-3 5"/><geom size=".1"/>
  <body name="b" pos="0 0 .3"><joint name="s" type="slide" actuatorfrcrange="1 2"/>
    <geom size=".1"/><body pos="0 0 .3"><joint name="f" axis="1 0 0"/><geom size=".1"/>
      <site name="tip" pos=".1 .1 .3"/></body></body></body><site name="wall" pos="1 0 .2"/>
</worldbody><tendon>
<fixed name="two" actuatorfrcrange="-1 .5"><joint joint="h" coef="2"/><joint joint="f" coef="1"/>
</fixed><spatial name="rope" actuatorfrcrange="-4 4"><site site="wall"/><site site="tip"/></spatial>
</tendon><actuator><motor joint="h" gear="10"/><position joint="h" kp="3" gear="-2"/>
<motor joint="s" forcerange="-1 8"/><motor tendon="two" gear="3"/><motor tendon="rope" gear="2"/>
</actuator></mujoco>"""


def peer_torques(model, controls, q, v):
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, controls
    mujoco.mj_forward(model, data)
    return data.qfrc_actuator


def test_torques_are_kept_within_the_ranges_of_joints_and_tendons(tmp_path: Path):
    (tmp_path / "m.xml").write_text(ARM)
    robot = robosim.load(tmp_path / "m.xml", strict=True, self_collision=False)
    model = mujoco.MjModel.from_xml_string(ARM)
    assert robot.effort_ranges == {"h": (-3, 5), "s": (1, 2)}
    robosim.save(robot, tmp_path / "again.xml")
    again = robosim.load(tmp_path / "again.xml")
    rng, clipped = np.random.default_rng(0), 0
    for _ in range(40):
        q, v = rng.normal(size=3), rng.normal(size=3)
        controls = rng.normal(size=5) * 10.0 ** rng.integers(-2, 2)
        expected = peer_torques(model, controls, q, v)
        clipped += expected[0] in (-3, 5)
        for ours in (robot, again):
            np.testing.assert_allclose(torques(ours, controls, q, v), expected, atol=1e-12)
    assert 5 < clipped < 35  # both sides of the range have been tried


def test_several_actuators_of_a_tendon_with_a_range_are_told(tmp_path: Path):
    text = ARM.replace("</actuator>", '<motor tendon="rope"/></actuator>')
    (tmp_path / "m.xml").write_text(text)
    (warning,) = robosim.load(tmp_path / "m.xml", self_collision=False).warnings
    assert "actuatorfrcrange" in warning
    assert "rope" in warning


def test_a_range_has_to_be_one(tmp_path: Path):
    (tmp_path / "m.xml").write_text(ARM.replace("-3 5", "5 -3"))
    with pytest.raises(LoadError, match="actuatorfrcrange"):
        robosim.load(tmp_path / "m.xml", self_collision=False)
    (tmp_path / "m.xml").write_text(ARM)
    robot = robosim.load(tmp_path / "m.xml", self_collision=False)
    for ranges in ({"h": (2, 1)}, {"nothing": (0, 1)}):
        with pytest.raises(ModelError, match="effort_ranges"):
            replace(robot, effort_ranges=ranges)


SERVOS = """<position joint="h" kp="3" dampratio="1"/>
<position joint="f" kp="3" gear="4" dampratio=".7" timeconst=".1"/>
<position tendon="rope" kp="2" gear="-2" dampratio=".5"/>
<position tendon="two" kp="5" dampratio="1"/>
<intvelocity joint="s" kp="3" dampratio="2"/>
<general joint="h" gainprm="3" biastype="affine" biasprm="1 -3 .5"/>
<general joint="h" gainprm="3" biastype="affine" biasprm="1 -2 .5"/>
<general joint="h" gainprm="0" biastype="affine" biasprm="1 0 .5"/>"""


def test_damping_ratios(tmp_path: Path):
    """A positive third bias is one, if gain and stiffness are alike."""
    begin, end = ARM.index("<actuator>") + 10, ARM.index("</actuator>")
    text = ARM[:begin] + SERVOS + ARM[end:]
    text = text.replace('type="slide"', 'type="slide" armature="2" ref=".1"')
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml", strict=True, self_collision=False)
    model = mujoco.MjModel.from_xml_string(text)
    bias = [actuator.bias for actuator in robot.actuators]
    np.testing.assert_allclose(bias, model.actuator_biasprm[:, :3], rtol=1e-9, atol=1e-12)
    assert np.sum(np.array(bias)[:, 2] < 0) == 6
    for wrong in ('dampratio="-1"', 'dampratio="1" kv="1"'):
        (tmp_path / "m.xml").write_text(text.replace('dampratio="1"', wrong, 1))
        with pytest.raises(LoadError, match="'dampratio' must not be negative"):
            robosim.load(tmp_path / "m.xml", self_collision=False)


def test_rotors_and_dampers_of_actuators(tmp_path: Path):
    """Seen at the joint through the gear; both of two motors count."""
    motors = """<motor joint="h" gear="3" armature=".5" damping=".2"/>
    <motor joint="h" damping=".1"/><position joint="s" gear="-2" armature=".1"/>"""
    begin, end = ARM.index("<actuator>") + 10, ARM.index("</actuator>")
    text = ARM[:begin] + motors + ARM[end:]
    (tmp_path / "m.xml").write_text(text)
    robot = robosim.load(tmp_path / "m.xml", strict=True, self_collision=False)
    plain = mujoco.MjModel.from_xml_string(ARM)
    model = mujoco.MjModel.from_xml_string(text)
    masses = []
    for one in (plain, model):
        data = mujoco.MjData(one)
        data.qvel[:] = 2.0
        mujoco.mj_forward(one, data)
        inverse = np.zeros((3, 3))
        mujoco.mj_solveM(one, data, inverse, np.eye(3))
        masses.append(np.linalg.inv(inverse))
    armature = [float(joint.per_coordinate("armature")[0]) for joint in robot.joints]
    damping = [float(joint.per_coordinate("damping")[0]) for joint in robot.joints]
    np.testing.assert_allclose(np.diag(armature), masses[1] - masses[0], atol=1e-9)
    np.testing.assert_allclose(np.array(damping) * -2.0, data.qfrc_passive, atol=1e-12)
    assert armature == pytest.approx([4.5, 0.4, 0.0])
    more = text.replace("</actuator>", '<motor tendon="rope" armature="1"/></actuator>')
    (tmp_path / "m.xml").write_text(more)
    (warning,) = robosim.load(tmp_path / "m.xml", self_collision=False).warnings
    assert "armature and damping of actuators of tendons" in warning
