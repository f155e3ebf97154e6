"""Inertias that no body can have: they load, to be looked at; Simulation refuses them by name."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_text import joint_xml, link_xml

import robosim
from robosim import Body, ModelError, OptionError, Simulation
from robosim.batch import BatchSimulation
from robosim.description.inertias import ball
from robosim.dynamics import Kinematics, forward_acceleration
from robosim.viz.scene import encode_scene

WORLD = link_xml("world", "")
HINGE = '<axis xyz="0 1 0"/>'
MOMENTS = '<inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/>'


def link(name, inertia, mass='<mass value="2"/>'):
    return link_xml(name, f'<inertial><origin xyz="0 0 -.5"/>{mass}{inertia}</inertial>')


def pendulum(write, inertia, mass='<mass value="2"/>'):
    """A link that swings about y, half a metre above its centre of mass."""
    joint = joint_xml("j", "world", "a", "continuous", HINGE)
    return robosim.load(write(WORLD, link("a", inertia, mass), joint))


def about(robot, words):
    return [text for text in robot.warnings if words in text]


@pytest.mark.parametrize(
    ("inertia", "iyy"),
    [
        (MOMENTS.format(0, 0, 0), 0.0),
        (MOMENTS.format(-0.1, 0.2, 0.3), 0.2),
        (MOMENTS.format(0, 0.3, 0.3), 0.3),
        # Of rank two, with a moment that rounding leaves above zero.
        ('<inertia ixx="0.01" iyy="0.003" izz="0.01" ixy="0" ixz="0.01" iyz="0"/>', 0.003),
        ("", 0.0),
        ('<inertia iyy="0.25"/>', 0.25),
    ],
)
def test_what_is_in_the_file_counts_but_is_not_simulated(write, inertia, iyy):
    robot = pendulum(write, inertia)
    assert about(robot, "body 'a': the inertia is not positive definite")
    assert bool(about(robot, "link 'a'")) == (not inertia or "ixx" not in inertia)
    M = Kinematics(robot, [0.3]).mass_matrix()
    np.testing.assert_allclose(M, [[iyy + 2 * 0.5**2]], rtol=1e-12)
    acceleration = forward_acceleration(robot, [np.pi / 2], [0.0], [0.0])
    np.testing.assert_allclose(acceleration, [-2 * 9.81 * 0.5 / M[0, 0]], rtol=1e-12)
    assert encode_scene(robot)
    with pytest.raises(ModelError, match=r"body 'a': inertia.*impossible_inertia='ball'"):
        Simulation(robot)
    with pytest.raises(ModelError, match="body 'a'"):
        BatchSimulation(robot, n=2)


@pytest.mark.parametrize(
    "inertia",
    [
        '<inertia ixx="0.01" iyy="0.003" izz="0.01" ixy="0" ixz="0.01" iyz="0"/>',
        '<inertia ixx="0.1" iyy="0.1" izz="0.2" ixy="0.1" ixz="0" iyz="0"/>',
        '<inertia ixx="1e-5" iyy="1e-5" izz="3e-7" ixy="0" ixz="0" iyz="1.7320508075688772e-6"/>',
    ],
)
def test_inertias_of_rank_two_are_refused_by_name(write, inertia):
    """The smallest moment rounds to a number near zero, of either sign, and has no inverse."""
    robot = pendulum(write, inertia)
    assert abs(robot.body("a").principal_moments[0]) < 1e-15
    assert about(robot, "body 'a': the inertia is not positive definite")
    assert np.all(np.isfinite(Kinematics(robot, [0.3]).mass_matrix()))
    with pytest.raises(ModelError, match=r"body 'a': inertia.*impossible_inertia='ball'"):
        Simulation(robot)
    with pytest.raises(ModelError, match="body 'a'"):
        robosim.MinimalSimulation(robot)
    sim = Simulation(robot, impossible_inertia="ball")
    sim.run(0.01)
    assert np.all(np.isfinite(sim.q))


def test_thin_rods_are_simulated(write):
    robot = pendulum(write, MOMENTS.format(0.1, 0.1, 1e-9))
    assert not about(robot, "not positive definite")
    Simulation(robot).run(0.01)


def test_all_that_are_refused_are_named(write):
    zero = MOMENTS.format(0, 0, 0)
    parts = [WORLD, *(link(name, zero) for name in "abc")]
    parts += [joint_xml(f"j{k}", *pair, "continuous", HINGE)
              for k, pair in enumerate([("world", "a"), ("a", "b"), ("b", "c")])]  # fmt: skip
    robot = robosim.load(write(*parts))
    with pytest.raises(ModelError, match="the same holds for 'b', 'c'"):
        Simulation(robot)
    with pytest.raises(OptionError, match="impossible_inertia must be one of refuse, ball"):
        Simulation(robot, impossible_inertia="keep")


def test_as_a_ball(write):
    """Against the same body with the inertia of a ball of two litres of water."""
    robot = pendulum(write, MOMENTS.format(-0.1, 0.2, 0.3))
    radius = (3 * 2e-3 / (4 * np.pi)) ** (1 / 3)
    J = 0.4 * 2 * radius**2
    np.testing.assert_allclose(ball(2.0), J * np.eye(3), rtol=1e-12)
    sim = Simulation(robot, 1e-3, impossible_inertia="ball")
    sim.set_state([0.3])
    other = Simulation(pendulum(write, MOMENTS.format(J, J, J)), 1e-3)
    other.set_state([0.3])
    np.testing.assert_allclose(sim.run(0.2).q, other.run(0.2).q, rtol=0, atol=1e-9)
    assert abs(sim.q[0] - 0.3) > 0.05


def test_a_mass_that_is_missing_is_none(write):
    robot = pendulum(write, MOMENTS.format(1, 1, 1), mass="")
    assert about(robot, "without <mass>")
    assert about(robot, "an inertia and no mass")
    assert (robot.total_mass, robot.bodies[0].carrier) == (0, True)
    with pytest.raises(ModelError, match="link 'a': has no mass"):
        Simulation(robot)


def test_carriers_of_what_has_no_inertia_have_one(write):
    zero = MOMENTS.format(0, 0, 0)
    parts = (WORLD, link_xml("cross", ""), link("a", zero),
             joint_xml("j", "world", "cross", "continuous", HINGE),
             joint_xml("k", "cross", "a", "continuous", '<axis xyz="1 0 0"/>'))  # fmt: skip
    robot = robosim.load(write(*parts))
    with pytest.raises(ModelError, match=r"body 'a'(?!.*cross)"):
        Simulation(robot)


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
def test_saved_and_loaded_again(write, tmp_path, suffix):
    robot = pendulum(write, MOMENTS.format(-0.1, 0.2, 0.3))
    told = robosim.save(robot, tmp_path / f"again{suffix}")
    assert any("no real body" in text for text in told) == (suffix == ".xml")
    again = robosim.load(tmp_path / f"again{suffix}")
    np.testing.assert_allclose(again.bodies[0].inertia, np.diag((-0.1, 0.2, 0.3)), atol=1e-12)


@pytest.mark.parametrize(
    ("inertia", "moments"),
    [
        ('diaginertia="0 0 0"', (0, 0, 0)),
        ('diaginertia="-1 2 2"', (-1, 2, 2)),
        ('fullinertia="2 2 -1 0 0 0"', (-1, 2, 2)),
    ],
)
def test_of_mjcf(tmp_path, inertia, moments):
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><worldbody><body name="a"><joint/>'
        f'<inertial mass="1" pos="0 0 0" {inertia}/></body></worldbody></mujoco>'
    )
    robot = robosim.load(path)
    np.testing.assert_allclose(robot.bodies[0].principal_moments, moments, atol=1e-12)
    with pytest.raises(ModelError, match="body 'a': inertia must be positive definite"):
        Simulation(robot)


def test_built_in_python():
    body = Body("a", 1.0, np.diag((1, 1, -1)))
    np.testing.assert_array_equal(body.principal_moments, (-1, 1, 1))
    assert "not positive definite" in body.impossible_inertia()
    assert Body("a", 1.0, np.eye(3)).impossible_inertia() is None
    assert "triangle" in Body("a", 1.0, np.diag((1, 1, 3))).impossible_inertia()
