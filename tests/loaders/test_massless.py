"""Links without mass on moving joints, of URDF files: what loads, and what is simulated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from urdf_text import joint_xml, link_xml

import robosim
from robosim import (
    Body,
    Joint,
    Mechanism,
    ModelError,
    OptionError,
    PointSpring,
    Simulation,
    Tendon,
)
from robosim.batch import BatchSimulation
from robosim.dynamics import Kinematics, forward_acceleration
from robosim.tendons import Point
from robosim.viz.scene import encode_scene

LIMIT = '<limit lower="-3" upper="3" effort="9" velocity="9"/>'
SHAPE = '<visual><geometry><box size=".1 .2 .3"/></geometry></visual>'
WORLD = link_xml("world", "")


def link(name, mass=1.0, at="0 0 -.2", inside=""):
    inertial = (f'<inertial><origin xyz="{at}"/><mass value="{mass}"/><inertia ixx=".01" iyy=".02" '
                'izz=".015" ixy="0" ixz="0" iyz="0"/></inertial>')  # fmt: skip
    return link_xml(name, inertial + inside)


def joint(name, parent, child, axis="0 1 0", kind="revolute", origin="0 0 0", more=""):
    inside = f'<origin xyz="{origin}"/><axis xyz="{axis}"/>{LIMIT}{more}'
    return joint_xml(name, parent, child, kind, inside)


def about(robot, words):
    return [text for text in robot.warnings if words in text]


UNIVERSAL = (WORLD, link_xml("cross", ""), link("a", at="0 0 0"), joint("j1", "world", "cross"),
             joint("j2", "cross", "a", "1 0 0"))  # fmt: skip


def test_two_hinges_are_one_joint_of_two_axes(write):
    robot = robosim.load(write(*UNIVERSAL))
    assert [body.name for body in robot.bodies] == ["a"]
    assert [(joint.name, joint.kind) for joint in robot.joints] == [("j1+j2", "composite")]
    assert robot.q_names == robot.actuated_names == ("j1", "j2")
    with pytest.raises(ModelError, match="no frame 'cross'"):
        robot.frame("cross")
    np.testing.assert_allclose(Kinematics(robot, [0, 0]).mass_matrix(), np.diag((0.02, 0.01)))
    assert (robot.nv, robot.total_mass) == (2, 1)
    (told,) = about(robot, "no bodies or frames")
    assert told.endswith(": cross")


def test_each_coordinate_keeps_what_its_joint_has(write, tmp_path):
    """Limits, dampers, rotors and springs of the file; poses and passive joints of an SRDF."""
    limits = [f'<limit lower="-{k}" upper="{k}" effort="{k + 1}" velocity="{k + 2}"/>' for k in
              (1, 2)]  # fmt: skip
    axis, damped = '<axis xyz="0 1 0"/>', '<dynamics damping="0.3" friction="0.4"/>'
    parts = (
        WORLD, link_xml("cross", ""), link("a", at="0 0 0"),
        joint_xml("j1", "world", "cross", "revolute", f'<axis xyz="1 0 0"/>{limits[0]}'),
        joint_xml("j2", "cross", "a", "prismatic", axis + limits[1] + damped),
        '<gazebo reference="j1"><springStiffness>5</springStiffness><springReference>0.2'
        '</springReference></gazebo><transmission name="t"><joint name="j2"/><actuator name="m">'
        '<drake:rotor_inertia value="0.01"/></actuator></transmission>',
    )  # fmt: skip
    path = write(*parts)
    path.with_suffix(".srdf").write_text(
        '<robot name="test"><group_state name="bent" group="all"><joint name="j1" value="0.5"/>'
        '<joint name="j2" value="-0.25"/></group_state><passive_joint name="j2"/></robot>'
    )
    robot = robosim.load(path)
    (only,) = robot.joints
    values = {what: only.per_coordinate(what).tolist() for what in (
        "effort_limit", "velocity_limit", "damping", "friction", "armature", "stiffness", "rest")
    }  # fmt: skip
    assert values == {
        "effort_limit": [2, 3], "velocity_limit": [3, 4], "damping": [0, 0.3],
        "friction": [0, 0.4], "armature": [0, 0.01], "stiffness": [5, 0], "rest": [0.2, 0],
    }  # fmt: skip
    np.testing.assert_array_equal(only.lower, (-1, -2))
    assert (only.units, only.has_motor) == (("rad", "m"), (True, False))
    assert robot.actuated_names == ("j1",)
    np.testing.assert_array_equal(robot.effort_limits, (2,))
    np.testing.assert_array_equal(robot.configurations["bent"], (0.5, -0.25))


@pytest.mark.parametrize("what", ["frame", "shape", "loop", "mimic", "source", "safety", "alike"])
def test_a_link_stays_where_something_else_needs_it(write, what):
    more = {
        "mimic": '<mimic joint="j3" multiplier="2"/>',
        "safety": '<safety_controller k_velocity="1"/>',
    }
    parts = [
        WORLD,
        link_xml("cross", SHAPE if what == "shape" else ""),
        link("a", at="0 0 0"),
        link("b"),
        joint("j1", "world", "cross", more=more.get(what, "")),
        joint("j2", "cross", "a", "0 1 0" if what == "alike" else "1 0 0"),
        joint("j3", "world", "b", more=more["mimic"].replace("j3", "j2") * (what == "source")),
    ]
    if what == "frame":
        parts += [link_xml("tool", ""), joint("f", "cross", "tool", kind="fixed")]
    if what == "loop":
        parts.append(
            '<loop_joint name="pin" type="ball"><link1 link="cross"/><link2 link="b"/></loop_joint>'
        )
    robot = robosim.load(write(*parts))
    assert [body.name for body in robot.bodies if body.carrier] == ["cross"]
    assert not about(robot, "no bodies or frames")
    assert robot.frame("tool" if what == "frame" else "cross")


@pytest.mark.parametrize("slide", [False, True])
def test_they_move_as_the_tree_without_the_mass_does(write, slide):
    """Against a fine integration of the exact equations, which have no mass there."""
    kind, axis = ("prismatic", "0 0 1") if slide else ("revolute", "1 0 0")
    parts = (WORLD, link_xml("cross", ""), link("a"), joint("j1", "world", "cross"),
             joint("j2", "cross", "a", axis, kind, "0.1 0 -.3"))  # fmt: skip
    robot = robosim.load(write(*parts))
    q, v, dt = np.array((0.4, -0.3)), np.array((1.0, 2.0)), 1e-3
    sim = Simulation(robot, 2e-4)
    sim.set_state(q, v)
    sim.run(0.3)

    def rate(x):
        return np.concatenate((x[2:], forward_acceleration(robot, x[:2], x[2:], np.zeros(2))))

    x = np.concatenate((q, v))
    for _ in range(300):
        k1 = rate(x)
        k2 = rate(x + dt / 2 * k1)
        k3 = rate(x + dt / 2 * k2)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + dt * k3))
    np.testing.assert_allclose(sim.q, x[:2], rtol=0, atol=1e-4)


def test_three_in_a_row_and_branches(write):
    """A shoulder of three hinges; and one link without mass that carries two."""
    parts = [
        WORLD,
        link_xml("x", ""),
        link_xml("y", ""),
        link("a"),
        link("b"),
        joint("j1", "world", "x"),
        joint("j2", "x", "y", "1 0 0"),
        joint("j3", "y", "a", "0 0 1"),
        joint("j4", "y", "b", "0 1 0", origin="0 .5 0"),
    ]
    robot = robosim.load(write(*parts))
    assert [body.name for body in robot.bodies if body.carrier] == ["y"]
    assert [joint.name for joint in robot.joints] == ["j1+j2", "j3", "j4"]
    assert np.linalg.eigvalsh(Kinematics(robot).mass_matrix())[0] > 1e-3
    sim = Simulation(robot, 1e-3)
    energy = sim.energy()
    sim.run(0.2)
    assert np.abs(sim.q).max() > 0.05
    assert sim.energy() == pytest.approx(energy, abs=1e-3)


END = (link("b"), link_xml("e", SHAPE), joint("j", "b", "e"))


def test_an_end_is_refused_by_name_or_locked(write):
    robot = robosim.load(write(*END), ground=False)
    assert [told.rpartition(": ")[2] for told in about(robot, "massless='lock'")] == ["e"]
    assert robot.bodies[1].visuals
    with pytest.raises(ModelError, match=r"link 'e': has no mass.*'j'.*<inertial>.*lock"):
        Simulation(robot)
    with pytest.raises(ModelError, match="link 'e'"):
        BatchSimulation(robot, n=2)
    with pytest.raises(OptionError, match="refuse, lock"):
        Simulation(robot, massless="drop")
    sim = Simulation(robot, 1e-3, massless="lock")
    sim.run(0.1)
    assert sim.q[7] == pytest.approx(0, abs=1e-12)
    assert sim.q[2] == pytest.approx(-9.81 * 0.1**2 / 2, rel=1e-3)


@pytest.mark.parametrize("kind", ["planar", "floating", "spherical"])
def test_an_end_on_a_joint_of_several_coordinates_is_locked(write, kind):
    """Where it is at home, away from zero, while what it hangs on falls and spins."""
    parts = (link("b"), link_xml("e", ""), joint("j", "b", "e", kind=kind, origin="0 .1 0"))
    robot = robosim.load(write(*parts), ground=False)
    home = np.array(robot.home)
    home[7:] = {"planar": (0.3, -0.2, 0.7), "spherical": (0.6, 0, 0.8, 0),
                "floating": (0.1, 0.2, 0.3, 0.6, 0, 0.8, 0)}[kind]  # fmt: skip
    robot = replace(robot, home=home)
    with pytest.raises(ModelError, match="link 'e': has no mass"):
        Simulation(robot)
    sim = Simulation(robot, 1e-3, massless="lock")
    # About the centre of mass, which is 0.2 m below the base's frame.
    spin = [-2.0 * 0.2, -1.0 * 0.2, 0.0, 1.0, -2.0, 3.0, *np.zeros(robot.nv - 6)]
    sim.set_state(home, spin)
    sim.run(0.1)
    np.testing.assert_allclose(sim.q[7:], home[7:], rtol=0, atol=1e-8)
    fallen = [Kinematics(robot, q).center_of_mass()[2] for q in (home, sim.q)]
    assert np.diff(fallen)[0] == pytest.approx(-9.81 * 0.1**2 / 2, rel=1e-3)
    assert abs(sim.q[3]) < 0.999


@pytest.mark.parametrize("inertial", ["", '<inertial><mass value="0"/><inertia ixx="1" iyy="1" '
                         'izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'])  # fmt: skip
def test_a_file_without_any_mass(write, inertial):
    parts = [link_xml(name, SHAPE + inertial) for name in "wef"]
    path = write(*parts, joint("j", "w", "e", origin="0 0 1"), joint("k", "e", "f"))
    robot = robosim.load(path)
    assert (robot.nv, robot.total_mass) == (2, 0)
    kinematics = Kinematics(robot, [np.pi / 2, 0])
    np.testing.assert_allclose(kinematics.frame("f")[0], (0, 0, 1), atol=1e-12)
    np.testing.assert_array_equal(kinematics.mass_matrix(), 0)
    with pytest.raises(ModelError, match="no mass"):
        kinematics.center_of_mass()
    assert encode_scene(robot)
    with pytest.raises(ModelError, match="link 'e'"):
        Simulation(robot)
    sim = Simulation(robot, 1e-3, massless="lock")
    sim.run(0.01)
    np.testing.assert_allclose(sim.q, 0, atol=1e-12)


def test_what_follows_a_joint_or_has_a_rotor_is_no_idle_end(write):
    mimic = '<mimic joint="j" multiplier="2"/>'
    parts = (link("b"), link("c"), joint("j", "b", "c"), link_xml("e", ""))
    robot = robosim.load(write(*parts, joint("k", "b", "e", more=mimic)), floating_base=False)
    Simulation(robot, 1e-3).run(0.05)
    rotor = ('<transmission name="t"><joint name="k"/><actuator name="m"><drake:rotor_inertia '
             'value="0.01"/></actuator></transmission>')  # fmt: skip
    robot = robosim.load(write(*parts, joint("k", "b", "e"), rotor), floating_base=False)
    sim = Simulation(robot, 1e-3)
    sim.run(0.05)
    assert sim.q[1] == pytest.approx(0, abs=1e-3)  # a rotor feels no gravity, nor does its link


def test_a_link_that_closes_a_loop(write):
    """A four-bar linkage whose coupler has no mass."""
    loop = ('<loop_joint name="pin" type="revolute"><link1 link="c" xyz="1 0 0"/>'
            '<link2 link="r" xyz="0 0 .5"/><axis xyz="0 1 0"/></loop_joint>')  # fmt: skip
    parts = (WORLD, link("l", at="0 0 .2"), link_xml("c", ""), link("r", at="0 0 .2"),
             joint("j", "world", "l", kind="continuous"),
             joint("k", "l", "c", kind="continuous", origin="0 0 .5"),
             joint("m", "world", "r", kind="continuous", origin="1 0 0"), loop)  # fmt: skip
    robot = robosim.load(write(*parts))
    sim = Simulation(robot, 1e-3)
    sim.set_state([0.1, -0.1, 0.1])
    sim.run(0.5)
    # Two inverted pendulums that fall alike.
    moment, inertia = 1.0 * 9.81 * 0.2, 0.02 + 1.0 * 0.2**2
    angle, rate, dt = 0.1, 0.0, 1e-5
    for _ in range(50_000):
        rate += dt * moment / inertia * np.sin(angle)
        angle += dt * rate
    assert sim.q[0] == pytest.approx(angle, rel=1e-2)
    assert sim.q[2] == pytest.approx(sim.q[0], abs=1e-8)


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
def test_written_and_read_again(write, tmp_path, suffix):
    robot = robosim.load(write(*UNIVERSAL))
    robosim.save(robot, tmp_path / f"again{suffix}")
    again = robosim.load(tmp_path / f"again{suffix}")
    assert [(joint.kind, joint.coordinate_names) for joint in again.joints] == [
        ("composite", ("j1", "j2"))
    ]
    np.testing.assert_allclose(
        Kinematics(again, [0.3, 0.2]).mass_matrix(),
        Kinematics(robot, [0.3, 0.2]).mass_matrix(),
        rtol=1e-9,
    )


def test_what_mjcf_cannot_hold_is_told(write, tmp_path):
    parts = list(UNIVERSAL)
    parts[1] = link_xml("cross", SHAPE)
    told = robosim.save(robosim.load(write(*parts)), tmp_path / "x.xml")
    assert any("no mass" in text and "cross (" in text and " kg)" in text for text in told)


def test_mjcf_is_not_written_of_a_robot_without_any_mass(write, tmp_path):
    """As no link has a mass of which another could have a share."""
    bare = link_xml("a", SHAPE), link_xml("b", SHAPE)
    for parts in (bare[:1], (*bare, joint_xml("j", "a", "b", "continuous"))):
        robot = robosim.load(write(*parts))
        with pytest.raises(robosim.SaveError, match="no link of 'r' has a mass"):
            robosim.save(robot, tmp_path / "x.xml")
        assert not (tmp_path / "x.xml").exists()
        robosim.save(robot, tmp_path / "x.urdf")
        assert "<mass" not in (tmp_path / "x.urdf").read_text()


@pytest.mark.parametrize("what", ["tendon", "spring", "loop"])
def test_a_link_without_mass_that_something_holds_is_written(what, tmp_path):
    """Two joints meet at it, and an element that MJCF attaches to a body."""
    bodies = [Body(name, 1.0, 0.01 * np.eye(3)) for name in "ab"]
    bodies.insert(1, Body("cross", 1e-4, 1e-7 * np.eye(3), carrier=True))
    joints = [
        Joint("base", "revolute", None, "a", (1, 0, 0)),
        Joint("x", "revolute", "a", "cross", (1, 0, 0), (0, 0, 0.3)),
        Joint("y", "revolute", "cross", "b", (0, 1, 0), (0, 0, 0), (0, 0, -0.2)),
    ]
    held: dict[str, tuple[Any, ...]] = {
        "tendon": (Tendon("held", (Point(None, (0, 0, 1)), Point("cross")), stiffness=5.0),),
        "spring": (PointSpring("held", None, "cross", (0, 0, 1), stiffness=5.0),),
    }
    if what == "loop":
        joints.append(Joint("held", "spherical", None, "cross", parent_position=(0, 0, 0.3)))
    parts = {f"{what}s": held[what]} if what in held else {}
    robosim.save(Mechanism("m", tuple(bodies), tuple(joints), **parts), tmp_path / "m.xml")
    again = robosim.load(tmp_path / "m.xml")
    assert [body.name for body in again.bodies] == ["a", "cross", "b"]
    assert len(again.tendons) + len(again.springs) + len(again.loop_joints) == 1
