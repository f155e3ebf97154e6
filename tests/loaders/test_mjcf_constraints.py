"""Equalities of tendons over many joints or of paths, and limits of ball joints, in MJCF files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import Simulation
from robosim.dynamics import Kinematics
from robosim.errors import LoadError
from robosim.joints import LEAST_TURN

ARM = """<mujoco><compiler angle="{unit}"/><worldbody><site name="wall" pos=".9 .3 1.5"/>
<body name="a" pos="0 0 1"><joint name="h1" axis="0 1 0" ref=".2"/><geom size=".1" pos=".2 0 0"/>
  <body name="b" pos=".4 0 0"><joint name="h2" axis="0 1 0"/><joint name="h3" axis="0 0 1"/>
    <geom size=".1" pos=".2 0 .1"/><site name="tip" pos=".3 .05 .1"/>
    <body name="c" pos=".4 0 0"><joint name="ball" type="ball" {ball}/>
      <geom type="capsule" size=".05 .1"/><site name="end" pos="0 .2 .3"/></body></body></body>
</worldbody>{rest}</mujoco>"""
TENDONS = """<tendon><fixed name="sum"><joint joint="h1" coef="1"/><joint joint="h2" coef="-2"/>
<joint joint="h3" coef=".5"/></fixed>
<spatial name="rope"><site site="wall"/><site site="tip"/><site site="end"/></spatial>
<spatial name="other"><site site="wall"/><site site="end"/></spatial></tendon>"""
NO_CONTACTS = '<option><flag contact="disable"/></option>'


def load(folder: Path, rest: str = "", ball: str = "", unit: str = "radian") -> robosim.Mechanism:
    path = folder / "m.xml"
    path.write_text(ARM.format(rest=NO_CONTACTS + rest, ball=ball, unit=unit))
    return robosim.load(path)


def equality(text: str) -> str:
    return f"{TENDONS}<equality>{text}</equality>"


def length_at_zero(robot: robosim.Mechanism) -> np.ndarray:
    q = robot.neutral()
    q[0] = 0.2  # the reference
    return Kinematics(robot, q).tendon_lengths()


def test_a_fixed_tendon_over_three_joints(tmp_path):
    robot = load(tmp_path, equality('<tendon name="e" tendon1="sum" polycoef=".1 1 0 0 0"/>'))
    assert not any("equalities" in warning for warning in robot.warnings)
    (tendon,) = robot.tendons
    assert (tendon.name, tendon.lower, tendon.upper) == ("e", pytest.approx(0.3), tendon.lower)
    sim = Simulation(robot, 1e-3)
    sim.run(0.3)
    assert sim.q[:3] @ (1, -2, 0.5) == pytest.approx(0.3, abs=1e-10)
    robosim.save(robot, tmp_path / "again.xml")
    (again,) = robosim.load(tmp_path / "again.xml").tendons
    assert (again.name, again.path, again.upper) == ("e", tendon.path, pytest.approx(0.3))


@pytest.mark.parametrize("text", ['<joint joint1="h1" joint2="h3" polycoef="0 -3 0 0 0"/>',
                                  '<tendon tendon1="rope"/>'])  # fmt: skip
def test_bodies_between_joints_are_heavy_enough_for_constraints(text, tmp_path):
    """With a millionth of the mass these steps failed, or were divided over and over."""
    sim = Simulation(load(tmp_path, equality(text)), 2e-3)
    for chunk in sim.stream(2.0):
        assert chunk.substeps.max() == 1


def test_a_rope(tmp_path):
    robot = load(tmp_path, equality('<tendon name="e" tendon1="rope" polycoef="-.05 1 0 0 0"/>'))
    (tendon,) = robot.tendons
    (length,) = length_at_zero(robot)
    assert tendon.lower == tendon.upper == pytest.approx(length - 0.05, abs=1e-12)
    sim = Simulation(robot, 1e-3)
    sim.run(0.3)
    assert sim.state.joint_q[-1] == pytest.approx(length - 0.05, abs=1e-10)
    robosim.save(robot, tmp_path / "again.xml")
    (again,) = robosim.load(tmp_path / "again.xml").tendons
    assert again.upper == pytest.approx(tendon.upper, abs=1e-12)


def test_a_rope_that_follows_another(tmp_path):
    """As MuJoCo has it, changes from the reference: of the first, slope times the second's."""
    text = '<tendon name="e" tendon1="rope" tendon2="other" polycoef=".02 .5 0 0 0"/>'
    robot = load(tmp_path, equality(text))
    (tendon,) = robot.tendons
    (difference,) = length_at_zero(robot)
    assert tendon.upper == pytest.approx(difference + 0.02, abs=1e-12)
    separate = load(tmp_path, TENDONS + """<sensor><tendonpos name="r" tendon="rope"/>
      <tendonpos name="o" tendon="other"/></sensor>""")  # fmt: skip
    rope, other = length_at_zero(separate)
    assert difference == pytest.approx(rope - 0.5 * other, abs=1e-12)
    assert "pulleys that count backwards" in "".join(robosim.save(robot, tmp_path / "again.xml"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('<tendon tendon1="rope" tendon2="sum"/>', "a fixed and a spatial tendon"),
        ('<tendon tendon1="rope" tendon2="other" polycoef="0 1 1 0 0"/>', "no joint or gear"),
    ],
)
def test_what_is_left_out_is_told(text, told, tmp_path):
    assert any(told in warning for warning in load(tmp_path, equality(text)).warnings)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('<joint joint1="h1" joint2="ball" polycoef="0 1 1 0 0"/>', "'ball' is a ball"),
        ('<joint joint1="ball"/>', "'ball' is a ball"),
        ('<joint joint1="h1" joint2="h1"/>', "coupled with itself"),
    ],
)
def test_what_couples_no_numbers_is_refused(text, told, tmp_path):
    with pytest.raises(LoadError, match=f"line 10: <joint>: .*{told}"):
        load(tmp_path, equality(text))


@pytest.mark.parametrize("ends", ['range="0 1e-9"', 'limited="true" range="0 0"', 'limited="true"'])
@pytest.mark.parametrize("unit", ["radian", "degree"])
def test_a_ball_joint_without_room_to_turn_has_a_little(tmp_path, ends, unit):
    robot = load(tmp_path, ball=ends, unit=unit)
    assert any("without room to turn" in text and "ball" in text for text in robot.warnings)
    assert robot.joints[-1].largest_turn == pytest.approx(LEAST_TURN, rel=1e-9)
    sim = Simulation(robot, 1e-3)
    sim.run(0.2)
    assert np.linalg.norm(sim.q[4:7]) < 0.51 * LEAST_TURN
    with pytest.raises(LoadError, match="must begin at 0"):
        load(tmp_path, ball='limited="true" range="0 -1"')


def test_the_angle_of_a_ball_joint(tmp_path):
    robot = load(tmp_path, ball='limited="true" range="0 .6"')
    assert robot.joints[-1].largest_turn == 0.6
    assert robot.joints[-1].resists
    assert load(tmp_path, ball='range="0 60"', unit="degree").joints[-1].largest_turn == np.pi / 3
    assert load(tmp_path, ball='range="0 3.2"').joints[-1].largest_turn == np.inf
    assert load(tmp_path, ball='limited="false" range="0 1"').joints[-1].largest_turn == np.inf
    with pytest.raises(LoadError, match="must begin at 0"):
        load(tmp_path, ball='limited="true" range="-1 1"')
    sim = Simulation(robot, 1e-3)
    turns = []
    sim.run(0.5, controller=lambda sim: turns.append(2 * np.arccos(abs(sim.q[3]))))
    assert max(turns) == pytest.approx(0.6, abs=1e-8)
    robosim.save(robot, tmp_path / "again.xml")
    assert robosim.load(tmp_path / "again.xml").joints[-1].largest_turn == 0.6


def test_a_joint_on_a_curve_over_another(tmp_path):
    """Of the fourth order, both from their references."""
    text = '<joint name="e" joint1="h3" joint2="h1" polycoef=".1 .5 -1 .3 .2"/>'
    robot = load(tmp_path, equality(text))
    assert not any("equalities" in warning for warning in robot.warnings)
    sim = Simulation(robot, 1e-3)
    sim.run(0.4)
    x = sim.q[0] - 0.2
    assert abs(x) > 0.3
    assert sim.q[2] == pytest.approx(0.1 + x * (0.5 + x * (-1 + x * (0.3 + x * 0.2))), abs=1e-9)
    slope = 0.5 + x * (-2 + x * (0.9 + x * 0.8))
    assert sim.v[2] == pytest.approx(slope * sim.v[0], abs=1e-8)
    robosim.save(robot, tmp_path / "again.xml")
    (again,) = robosim.load(tmp_path / "again.xml").tendons
    assert again.upper == pytest.approx(robot.tendons[0].upper)
    np.testing.assert_allclose(again.path[1].higher, robot.tendons[0].path[1].higher)
