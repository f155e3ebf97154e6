"""Robots against Pinocchio and MuJoCo: that they agree, and that disagreement is found."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace

import branched
import numpy as np
import pytest
import trimesh

import robosim
from robosim import ModelError, OptionError, PeerError
from robosim.comparison import random_state
from robosim.dynamics import Kinematics
from robosim.loaders.packages import example_robot_data
from robosim.models.builders import double_four_bar, double_pendulum

pytestmark = pytest.mark.peer

needs_robots = pytest.mark.skipif(example_robot_data() is None, reason="needs example-robot-data")
needs_pinocchio = pytest.mark.skipif(
    importlib.util.find_spec("pinocchio") is None, reason="needs Pinocchio"
)
needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="needs MuJoCo")
PEERS = [
    pytest.param("pinocchio", marks=needs_pinocchio),
    pytest.param("mujoco", marks=needs_mujoco),
]
QUANTITIES = (
    "total mass",
    "centre of mass",
    "frame positions",
    "frame rotations",
    "mass matrix",
    "bias forces",
    "forward accelerations",
    "joint coordinates there and back",
)
ROBOTS = (
    "go2_description",
    "solo12",
    "anymal_c_simple_description",
    "hyq_description",
    "bolt_description",
    "g1_description/g1_29dof_rev_1_0",
    "talos_data/talos_reduced",
    "pr2_description",  # continuous and prismatic joints, a deep tree of fixed ones
    "baxter_description",
    "panda_description/panda",
    "kinova_description",  # continuous joints
    "ur_description/ur5_robot",  # massless root: part of the world
    "allegro_hand_description/allegro_right_hand",  # links of some grams
    "iris_description/iris",
)


def failed(comparison):
    return [row.name for row in comparison.rows if not row.ok]


@pytest.mark.parametrize("peer", [*PEERS, "reduced"])
def test_the_shipped_a1(peer):
    comparison = robosim.compare("a1", peer)
    assert [row.name for row in comparison.rows] == list(QUANTITIES)
    assert comparison.passed, str(comparison)
    assert comparison.states == 100
    assert comparison.frames == len(list(robosim.load("a1").frames()))
    assert comparison.only_ours == comparison.only_theirs == ()


def test_the_reduced_formulation_needs_no_file():
    """Of robots built in Python it compares the trees, and says so."""
    assert robosim.compare(double_pendulum(), "reduced", states=3).passed
    looped = robosim.compare(double_four_bar(), "reduced", states=3)
    assert looped.passed
    assert "closed loops" in looped.left_out


@needs_robots
@pytest.mark.parametrize("peer", PEERS)
def test_the_genuine_a1(peer):
    comparison = robosim.compare("a1_description", peer)
    assert "a1_description" in comparison.source
    assert comparison.passed, str(comparison)
    assert comparison.frames > 20


@needs_pinocchio
@needs_robots
@pytest.mark.parametrize("name", ROBOTS)
def test_other_robots(name):
    comparison = robosim.compare(name, states=10)
    assert comparison.passed, str(comparison)
    assert comparison.only_ours == comparison.only_theirs == ()


@needs_mujoco
@needs_robots
@pytest.mark.parametrize("name", ["go2_description", "panda_description/panda", "tiago_pro"])
def test_other_robots_in_mujoco(name):
    comparison = robosim.compare(name, "mujoco", states=10)
    assert comparison.passed, str(comparison)


@needs_pinocchio
@pytest.mark.parametrize("floating_base", [True, False])
def test_every_joint_type_in_branches(tmp_path, floating_base):
    path = branched.write(tmp_path, branched.FLOATING, branched.TURNED_OVER)
    comparison = robosim.compare(robosim.load(path, floating_base=floating_base), states=20)
    assert comparison.passed, str(comparison)


@needs_mujoco
@pytest.mark.parametrize("floating_base", [True, False])
def test_branches_in_mujoco(tmp_path, floating_base):
    robot = robosim.load(branched.write(tmp_path), floating_base=floating_base)
    comparison = robosim.compare(robot, "mujoco", states=20)
    assert comparison.passed, str(comparison)


@needs_pinocchio
@pytest.mark.parametrize("floating_base", [True, False])
def test_pinocchios_order_is_known_without_its_model(tmp_path, floating_base):
    import pinocchio as pin

    path = branched.write(tmp_path, branched.FLOATING, branched.TURNED_OVER)
    robot = robosim.load(path, floating_base=floating_base)
    root = (pin.JointModelFreeFlyer(),) if floating_base else ()
    model = pin.buildModelFromUrdf(str(path), *root)
    check_same_with_and_without_model(robot, model)


@needs_pinocchio
@needs_robots
@pytest.mark.parametrize("name", ROBOTS)
def test_pinocchios_order_is_known_for_real_robots(name):
    import pinocchio as pin

    robot = robosim.load(name, ground=False)
    root = (pin.JointModelFreeFlyer(),) if robot.floating_base else ()
    check_same_with_and_without_model(robot, pin.buildModelFromUrdf(robot.source, *root))


@needs_pinocchio
@needs_robots
@pytest.mark.parametrize("name", ["panda_description/panda", "quadruped_description"])
def test_mimics_and_joints_without_room_are_compared_as_free_ones(name):
    import pinocchio as pin

    robot = robosim.load(name, ground=False)
    comparison = robosim.compare(robot, states=3)
    assert comparison.passed, str(comparison)
    assert ("couplings" in comparison.left_out) == bool(robot.couplings)
    root = (pin.JointModelFreeFlyer(),) if robot.floating_base else ()
    check_same_with_and_without_model(
        replace(robot, couplings=()), pin.buildModelFromUrdf(robot.source, *root)
    )


def check_same_with_and_without_model(robot, model):
    q, v = random_state(robot, np.random.default_rng(1))
    with_model = robosim.to_pinocchio(robot, q, v, model=model)
    for known, looked_up in zip(robosim.to_pinocchio(robot, q, v), with_model, strict=True):
        np.testing.assert_array_equal(known, looked_up)
    back = robosim.from_pinocchio(robot, *with_model, model=model)
    np.testing.assert_allclose(back[1], v, atol=1e-14)


@needs_pinocchio
def test_pinocchio_moves_where_our_velocities_point(tmp_path):
    """Integrating Pinocchio's q along its v gives the displacement of frames that we expect."""
    import pinocchio as pin

    robot = robosim.load(branched.write(tmp_path, branched.FLOATING, branched.TURNED_OVER))
    model = pin.buildModelFromUrdf(robot.source, pin.JointModelFreeFlyer())
    q, v = random_state(robot, np.random.default_rng(2))
    q_pin, v_pin = robosim.to_pinocchio(robot, q, v)
    h = 1e-5
    ahead, behind = (
        Kinematics(robot, robosim.from_pinocchio(robot, pin.integrate(model, q_pin, step * v_pin)))
        for step in (h, -h)
    )
    velocities = (ahead.x - behind.x) / (2 * h)
    np.testing.assert_allclose(velocities, Kinematics(robot, q).twists(v)[:, :3], atol=1e-8)


@pytest.mark.parametrize("peer", PEERS)
def test_a_model_of_another_robot_is_refused(tmp_path, peer):
    robot = robosim.load(branched.write(tmp_path))
    if peer == "pinocchio":
        import pinocchio as pin

        model = pin.buildModelFromUrdf(robosim.load("a1").source, pin.JointModelFreeFlyer())
        convert = robosim.to_pinocchio
    else:
        import mujoco

        model = mujoco.MjModel.from_xml_string(
            "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
        )
        convert = robosim.to_mujoco
    with pytest.raises(PeerError, match="has no joint 'zeta'"):
        convert(robot, robot.neutral(), model=model)


def altered(robot, index, **changes):
    bodies = list(robot.bodies)
    bodies[index] = replace(bodies[index], **changes)
    return replace(robot, bodies=tuple(bodies))


@pytest.fixture(scope="module")
def a1():
    return robosim.load("a1", ground=False)


@needs_pinocchio
def test_what_is_simulated_but_not_compared_is_told(a1):
    limited = robosim.compare(a1, states=1)
    assert limited.left_out == ("limits",)
    assert "not compared, but simulated: limits" in str(limited)
    more = {"damping": 1.0, "friction": 0.1, "armature": 0.01, "stiffness": 2.0}
    joints = (*a1.joints[:-1], replace(a1.joints[-1], **more))
    gear = robosim.Coupling("gear", "FL_calf_joint", "FR_calf_joint")
    other = robosim.compare(replace(a1, joints=joints, couplings=(gear,)), states=1)
    assert other.passed
    told = json.loads(json.dumps(other.to_dict()))
    assert set(told["left_out"]) == {*more, "limits", "couplings"}


@pytest.mark.parametrize("convert", [robosim.to_pinocchio, robosim.to_mujoco])
def test_closed_loops_are_refused_by_the_names_of_their_joints(a1, convert):
    rod = robosim.Joint("rod", "spherical", "FL_calf", "FR_calf")
    looped = replace(a1, joints=(*a1.joints, rod))
    with pytest.raises(PeerError, match=r"closed loops.*joints 'rod'"):
        robosim.compare(looped)
    with pytest.raises(PeerError, match="joints 'rod'"):
        convert(looped, looped.home)


@pytest.mark.parametrize("peer", PEERS)
def test_an_altered_mass_is_found(a1, peer):
    calf = a1.body_index("FL_calf")
    heavier = altered(a1, calf, mass=a1.bodies[calf].mass * (1 + 1e-5))
    assert failed(robosim.compare(heavier, peer, states=3)) == [
        "total mass",
        "centre of mass",
        "mass matrix",
        "bias forces",
        "forward accelerations",
    ]


@needs_pinocchio
def test_an_altered_inertia_is_found(a1):
    # A ten millionth of the lightest body's: far below what the norm of the whole matrix shows.
    calf = a1.body_index("RR_calf")
    inertia = np.asarray(a1.bodies[calf].inertia) * (1 + 1e-7)
    found = failed(robosim.compare(altered(a1, calf, inertia=inertia), states=3))
    assert "mass matrix" in found
    assert not {"total mass", "centre of mass", "frame positions"} & set(found)


@needs_pinocchio
def test_an_altered_frame_is_found(a1):
    foot = a1.body_index("FL_calf")
    frames = list(a1.bodies[foot].frames)
    moved = np.asarray(frames[1].position) + 1e-7
    frames[1] = replace(frames[1], position=moved)
    found = failed(robosim.compare(altered(a1, foot, frames=tuple(frames)), states=3))
    assert found == ["frame positions"]


@needs_pinocchio
def test_an_altered_joint_is_found(a1):
    joints = list(a1.joints)
    joints[2] = replace(joints[2], offset=np.array([1, 1e-7, 0, 0]))
    found = failed(robosim.compare(replace(a1, joints=tuple(joints)), states=3))
    assert {"frame rotations", "frame positions", "mass matrix"} <= set(found)


@needs_pinocchio
def test_a_simulation_that_is_put_elsewhere_is_found(a1, monkeypatch):
    put = robosim.Simulation.set_state

    def nearly(self, q=None, v=None, time=0.0):
        put(self, q, None if v is None else v * (1 + 1e-7), time)

    monkeypatch.setattr(robosim.Simulation, "set_state", nearly)
    assert failed(robosim.compare(a1, states=3)) == ["joint coordinates there and back"]


@needs_pinocchio
def test_nan_does_not_pass(a1, monkeypatch):
    monkeypatch.setattr(
        Kinematics, "bias_forces", lambda self, v, g, rotors: np.full(self.robot.nv, np.nan)
    )
    comparison = robosim.compare(a1, states=2)
    assert "bias forces" in failed(comparison)
    assert not comparison.passed
    row = next(row for row in comparison.to_dict()["rows"] if row["name"] == "bias forces")
    assert row["error"] is None


@needs_pinocchio
def test_frames_that_only_one_has_are_named(a1):
    calf = a1.body_index("FL_calf")
    frames = list(a1.bodies[calf].frames)
    missing = frames[-1].name
    frames[-1] = replace(frames[-1], name="mine")
    comparison = robosim.compare(altered(a1, calf, frames=tuple(frames)), states=1)
    assert comparison.only_ours == ("mine",)
    assert comparison.only_theirs == (missing,)
    assert "mine" in str(comparison)
    assert missing in str(comparison)


@needs_pinocchio
def test_what_is_told(a1):
    comparison = robosim.compare(a1, states=2, seed=3)
    told = json.loads(json.dumps(comparison.to_dict()))
    assert told["passed"] is True
    assert [row["name"] for row in told["rows"]] == list(QUANTITIES)
    assert told["peer"] == "pinocchio"
    assert told["peer_version"] == comparison.peer_version
    assert robosim.compare(a1, states=2, seed=3) == comparison
    for name in QUANTITIES:
        assert name in str(comparison)
    strict = robosim.compare(a1, states=2, tolerance=1e-30)
    assert not strict.passed
    assert "DIFFERS" in str(strict)


@pytest.mark.parametrize(("peer", "package"), [("pinocchio", "pinocchio"), ("mujoco", "peers")])
def test_a_peer_that_is_not_installed(a1, peer, package, monkeypatch):
    monkeypatch.setitem(sys.modules, peer, None)
    with pytest.raises(PeerError, match=rf'pip install "robosim-variational\[{package}\]"'):
        robosim.compare(a1, peer)


def test_bad_requests(a1):
    with pytest.raises(
        PeerError, match=r"unknown peer 'bullet' \(known: pinocchio, mujoco, reduced\)"
    ):
        robosim.compare(a1, "bullet")
    with pytest.raises(PeerError, match="built in Python"):
        robosim.compare("cube")
    with pytest.raises(OptionError, match="states must be at least 1, not 0"):
        robosim.compare(a1, states=0)
    with pytest.raises(OptionError, match="tolerance must be positive, not nan"):
        robosim.compare(a1, tolerance=float("nan"))
    with pytest.raises(ModelError):
        robosim.compare("no such robot")


@needs_pinocchio
def test_a_file_that_is_gone(a1, tmp_path):
    with pytest.raises(PeerError, match=r"gone\.urdf: Pinocchio cannot load it"):
        robosim.compare(replace(a1, source=str(tmp_path / "gone.urdf")))


@pytest.mark.peer
def test_a_door_has_no_bias_and_so_no_difference(tmp_path):
    """What is left of bias forces that cancel is rounding, not an error of 100 %."""
    pytest.importorskip("mujoco")
    path = tmp_path / "door.xml"
    path.write_text(
        '<mujoco><worldbody><body euler="0 0 10"><joint pos=".25 .1 0"/>'
        '<geom type="box" size=".2 .03 .3" pos=".3 .17 .1"/></body></worldbody></mujoco>'
    )
    assert robosim.compare(path, "mujoco").passed


@pytest.mark.peer
def test_what_is_at_the_origin_is_there_to_rounding(tmp_path):
    """A centre of mass and frames at 1e-18 m differ by nothing from those at 0."""
    pytest.importorskip("mujoco")
    trimesh.creation.icosphere(subdivisions=2, radius=0.1).export(tmp_path / "ball.stl")
    path = tmp_path / "ball.xml"
    path.write_text(
        '<mujoco><asset><mesh name="ball" file="ball.stl" inertia="shell"/></asset><worldbody>'
        '<body name="a"><joint name="h" axis="0 1 0"/><geom type="mesh" mesh="ball"/></body>'
        "</worldbody></mujoco>"
    )
    assert robosim.compare(path, "mujoco").passed


@pytest.mark.peer
def test_actuators_of_tendons_are_compared_without_them(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "pull.xml"
    path.write_text(
        '<mujoco><worldbody><body name="a"><joint name="h" axis="0 1 0"/><geom size=".1" '
        'pos=".1 0 0"/><site name="s" pos=".2 0 0"/></body><site name="w" pos="0 0 1"/>'
        '</worldbody><tendon><spatial name="t"><site site="s"/><site site="w"/></spatial></tendon>'
        '<actuator><motor tendon="t"/></actuator></mujoco>'
    )
    comparison = robosim.compare(path, "mujoco")
    assert comparison.passed
    assert comparison.left_out == ("tendons",)


@pytest.mark.parametrize(
    ("joint", "rest"),
    [
        ("", '<equality><joint joint1="h" polycoef="0.1 0 0 0 0"/></equality>'),
        ('damping="1 .5" stiffness="1 2 3"', ""),
    ],
)
def test_held_joints_and_polynomials_are_compared_as_free_ones(joint, rest, tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "held.xml"
    path.write_text(
        f'<mujoco><worldbody><body><joint name="h" axis="0 1 0" {joint}/><geom size=".1" '
        f'pos=".1 0 0"/></body></worldbody>{rest}</mujoco>'
    )
    comparison = robosim.compare(path, "mujoco")
    assert comparison.passed, str(comparison)
    assert comparison.left_out


@needs_pinocchio
def test_names_in_another_encoding(tmp_path):
    path = tmp_path / "latin.urdf"
    inertial = (
        '<inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" '
        'iyz="0"/></inertial>'
    )
    text = (
        '<?xml version="1.0" encoding="ISO-8859-1"?><robot name="r">'
        f'<link name="b\xe9">{inertial}</link><link name="l">{inertial}</link>'
        '<joint name="j" type="continuous"><parent link="b\xe9"/><child link="l"/></joint></robot>'
    )
    path.write_bytes(text.encode("latin-1"))
    comparison = robosim.compare(path)
    assert comparison.passed
    assert comparison.frames == 2
