"""Joints that Drake has and URDF has not: universal ones and screws."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_text import joint_xml, link_xml

import robosim
from robosim import LoadError, SaveError, Simulation, quaternions
from robosim.dynamics import Kinematics

WORLD, A = link_xml("world", ""), link_xml("a")
AXIS = '<axis xyz="0 0 2"/>'


def drake(kind, inside, name="j"):
    return (
        f'<drake:joint name="{name}" type="{kind}"><drake:parent link="world"/>'
        f'<drake:child link="a"/><origin xyz="0 0 1" rpy="0 0 0.5"/>{inside}</drake:joint>'
    )


def screw(pitch="1", more=""):
    thread = f'<drake:screw_thread_pitch value="{pitch}"/>'
    return drake("screw", AXIS + thread + more)


def turn(axis, angle):
    return quaternions.rotation_matrix(quaternions.from_axis_angle(axis, angle))


def about(robot, words):
    return [text for text in robot.warnings if words in text]


def test_a_universal_joint(write):
    """About x of the joint's frame, then about y of the child's."""
    dynamics = '<dynamics damping="0.3"/>'
    robot = robosim.load(write(WORLD, A, drake("universal", dynamics)))
    assert robot.q_names == robot.v_names == ("j_x", "j_y")
    assert [(joint.name, joint.kind) for joint in robot.joints] == [("j_x+j_y", "composite")]
    np.testing.assert_array_equal(robot.joints[0].damping, (0.3, 0.3))
    place, R = Kinematics(robot, [0.4, -0.7]).frame("a")
    wanted = turn((0, 0, 1), 0.5) @ turn((1, 0, 0), 0.4) @ turn((0, 1, 0), -0.7)
    np.testing.assert_allclose(R, wanted, atol=1e-12)
    np.testing.assert_allclose(place, (0, 0, 1), atol=1e-12)
    assert not about(robot, "axis")
    robot = robosim.load(write(WORLD, A, drake("universal", AXIS)))
    assert about(robot, "drake:joint 'j': its <axis> means nothing")


def test_names_that_it_makes_step_aside(write):
    parts = [WORLD, A, drake("universal", ""), link_xml("j_cross"), link_xml("c")]
    parts += [joint_xml("j_x", "a", "j_cross"), joint_xml("j_y", "a", "c")]
    robot = robosim.load(write(*parts))
    assert robot.q_names == ("j_x_", "j_y_", "j_x", "j_y")
    assert [body.name for body in robot.bodies] == ["a", "j_cross", "c"]
    assert any(text.endswith(": j_cross_") for text in robot.warnings)


@pytest.mark.parametrize("pitch", [0.5, -2.0, 0.0])
def test_a_screw_falls_as_its_thread_lets_it(write, pitch):
    robot = robosim.load(write(WORLD, A, screw(pitch)))
    assert robot.q_names == ("j.t0", "j.r")
    sim = Simulation(robot, 1e-3)
    sim.run(0.2)
    lead = pitch / (2 * np.pi)
    acceleration = -9.81 * lead / (0.1 + lead**2)  # of a mass of 1 and an inertia of 0.1
    assert sim.q[1] == pytest.approx(acceleration * 0.2**2 / 2, rel=1e-6, abs=1e-12)
    assert sim.q[0] == pytest.approx(lead * sim.q[1], abs=1e-9)


def test_what_resists_a_screw_resists_its_turn(write):
    robot = robosim.load(write(WORLD, A, screw(more='<dynamics damping="2" friction="3"/>')))
    np.testing.assert_array_equal(robot.joints[0].damping, (0, 2))
    np.testing.assert_array_equal(robot.joints[0].friction, (0, 3))


def test_screws_that_are_none(write):
    with pytest.raises(LoadError, match=r"drake:joint 'j': element <drake:screw_thread_pitch> is"):
        robosim.load(write(WORLD, A, drake("screw", AXIS)))
    with pytest.raises(LoadError, match="must be a number, not 'x'"):
        robosim.load(write(WORLD, A, screw("x")))
    with pytest.raises(LoadError, match="axis must not be zero"):
        robosim.load(write(WORLD, A, screw().replace("0 0 2", "0 0 0")))


def test_saved_as_mjcf(write, tmp_path):
    robot = robosim.load(write(WORLD, A, screw()))
    with pytest.raises(SaveError, match="no joint of kind 'cylindrical'"):
        robosim.save(robot, tmp_path / "a.urdf")
    robosim.save(robot, tmp_path / "a.xml")
    again = robosim.load(tmp_path / "a.xml")
    (held,) = again.tendons
    assert held.motion is not None
    assert [term.factor for term in held.path] == pytest.approx([1, -1 / (2 * np.pi)])
