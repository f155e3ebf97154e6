"""What is written is what there was: read back by our readers, and by MuJoCo."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from random_mechanisms import random_coordinates, random_quaternion, random_tree

import robosim
from robosim import (
    Anisotropy,
    Body,
    ContactPoint,
    Coupling,
    Frame,
    Geometry,
    Joint,
    Mechanism,
    PointSpring,
    quaternions,
)
from robosim.actuators import Actuator
from robosim.collision import HalfSpace, HeightField, TriangleMesh
from robosim.joints import KINDS, SafetyLimits
from robosim.loaders import placement
from robosim.loaders.contacts import contact_points
from robosim.loaders.packages import example_robot_data
from robosim.models import shipped
from robosim.models.builders import sphere
from robosim.muscles import Activation, HillMuscle, Muscle
from robosim.tendons import Point, Pulley, Tendon, Term, Wrap

SHARE = example_robot_data()
ROBOTS = (SHARE or Path()) / "example-robot-data" / "robots"
FILES = (
    "a1_description/urdf/a1.urdf",
    "alex_description/urdf/alex_sake_hands.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
    "iris_description/robots/iris.urdf",
    "panda_description/urdf/panda.urdf",
    "solo_description/robots/solo12.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "tiago_description/robots/tiago.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
)
needs_robots = pytest.mark.skipif(SHARE is None, reason="needs example-robot-data")
needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="needs MuJoCo")
real = [pytest.param(ROBOTS / f, id=Path(f).stem, marks=[needs_robots, pytest.mark.peer])
        for f in FILES]  # fmt: skip
# URDF has no ball joints, and none of particles.
CHARTED = ("universal_chain", "screw", "knee_spline")  # which no file has
# A ball, which URDF does not have, and loops closed by planar joints, which MJCF cuts elsewhere.
CUT = ("exoskeleton",)
# On a planar joint, whose coordinates URDF counts along other axes, and which MJCF has as three.
PLANAR = ("flamingo",)
# On composite joints, or bases fixed to the world, which files have as others: the maps of both are
# compared in tests/parallel/test_transmissions.py.
PARALLEL = ("four_bar_knee", "two_rod_ankle", "linear_leg", "spring_leg", "delta", "stewart")
# Contact points without a radius, which files have as spheres of a thousandth of a millimetre.
WITH_POINTS = ("atlas",)
BUILT = [info.name for info in shipped() if info.name not in (*CHARTED, *CUT, *PLANAR, *PARALLEL)]
NOT_IN_URDF = ("sphere_chain", "spinning_top", "hanging_net")
IN_URDF = [name for name in BUILT if name not in NOT_IN_URDF]

ELSEWHERE = "that the pose 'home' is the one to start from"
PER_COORDINATE = ("damping", "friction", "stiffness", "rest", "armature")


def same_rotation(a, b):
    return min(np.abs(np.subtract(a, b)).max(), np.abs(np.add(a, b)).max()) < 1e-9


def points(joint):
    """Where a joint is; one without a rotation is anywhere on its way."""
    parent, child = np.asarray(joint.parent_position), np.asarray(joint.child_position)
    if joint.C_R.shape[1]:
        return {"parent": parent, "child": child}
    return {"between": parent - quaternions.rotation_matrix(joint.offset) @ child}


def assert_same_joint(a, b):
    assert (a.name, a.kind, a.parent, a.child) == (b.name, b.kind, b.parent, b.child)
    assert a.actuated == b.actuated
    assert a.effort_limit == b.effort_limit
    assert a.velocity_limit == b.velocity_limit
    assert a.safety == b.safety
    assert same_rotation(a.offset, b.offset)
    for what in ("lower", "upper"):
        np.testing.assert_allclose(getattr(a, what), getattr(b, what), rtol=0, atol=1e-12)
    if a.kind != "floating":
        np.testing.assert_allclose(a.axis, b.axis, rtol=0, atol=1e-12)
    for what, found in points(a).items():
        np.testing.assert_allclose(found, points(b)[what], rtol=0, atol=1e-12)
    for what in PER_COORDINATE:
        np.testing.assert_allclose(a.per_coordinate(what), b.per_coordinate(what), rtol=1e-12)


def assert_same(a, b):
    """Bodies, joints, loops, springs, couplings, contacts; and where everything is at a pose."""
    assert [body.name for body in a.bodies] == [body.name for body in b.bodies]
    for ours, theirs in zip(a.bodies, b.bodies, strict=True):
        assert ours.mass == pytest.approx(theirs.mass, rel=1e-12)
        scale = np.abs(ours.inertia).max()
        np.testing.assert_allclose(ours.inertia, theirs.inertia, rtol=0, atol=1e-9 * scale)
        # Contact points that no shape gives become spheres behind the others.
        solid = theirs.collisions[: len(ours.collisions)]
        for x, y in ((ours.visuals, theirs.visuals), (ours.collisions, solid)):
            assert [s.kind for s in x] == [s.kind for s in y]
            for one, other in zip(x, y, strict=True):
                np.testing.assert_allclose(one.size, other.size, rtol=1e-12)
                np.testing.assert_allclose(one.position, other.position, rtol=0, atol=1e-12)
                assert same_rotation(one.quaternion, other.quaternion)
    assert len(a.joints) == len(b.joints)
    for one, other in zip(a.joints, b.joints, strict=True):
        assert_same_joint(one, other)
    assert len(a.springs) == len(b.springs)
    for one, other in zip(a.springs, b.springs, strict=True):
        assert (one.parent, one.child) == (other.parent, other.child)
        for what in ("parent_position", "child_position", "stiffness", "rest_length", "damping"):
            np.testing.assert_allclose(getattr(one, what), getattr(other, what), atol=1e-12)
    pairs = [(c.joint, c.source, c.ratio) for c in a.couplings]
    assert pairs == [(c.joint, c.source, c.ratio) for c in b.couplings]
    offsets = [[c.offset for c in robot.couplings] for robot in (a, b)]
    np.testing.assert_allclose(*offsets, rtol=0, atol=1e-12)
    assert_same_contacts(a.contacts, b.contacts)
    assert_same_frames(a, b)


def assert_same_contacts(ours, theirs):
    """In any order. To single precision, which MJCF meshes have in MuJoCo."""

    def by_kind(contacts):
        found = {}
        for c in contacts:
            key = c.body, round(c.radius, 9), c.friction
            found.setdefault(key, []).append(np.asarray(c.position))
        return {key: np.array(places) for key, places in found.items()}

    ours, theirs = by_kind(ours), by_kind(theirs)
    assert {key: len(p) for key, p in ours.items()} == {key: len(p) for key, p in theirs.items()}
    for key, places in ours.items():
        apart = np.linalg.norm(places[:, None] - theirs[key][None], axis=2)
        assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1e-6


def assert_same_frames(a, b):
    q = random_coordinates(np.random.default_rng(0), a)
    poses = [placement.body_poses(robot.tree_joints, q) for robot in (a, b)]
    for body in a.bodies:
        for x, y in zip(poses[0][body.name], poses[1][body.name], strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-9)
    theirs = {frame.name: frame for _, frame in b.frames()}
    for _, frame in a.frames():
        if any(frame.name == body.name for body in a.bodies):
            continue  # at the joint, in a file
        np.testing.assert_allclose(frame.position, theirs[frame.name].position, rtol=0, atol=1e-12)
        assert same_rotation(frame.quaternion, theirs[frame.name].quaternion)


@pytest.mark.parametrize("name", IN_URDF)
def test_what_ships_through_urdf(name, tmp_path):
    robot = robosim.load(name)
    robosim.save(robot, tmp_path / "x.urdf")
    again = robosim.load(tmp_path / "x.urdf")
    if name in WITH_POINTS:
        robot, again = (replace(one, contacts=()) for one in (robot, again))
    assert_same(robot, again)
    assert len(again.loop_joints) == len(robot.loop_joints)
    if not np.array_equal(robot.home, robot.neutral()):
        near = 1.1e-6 if name in WITH_POINTS else 1e-12
        np.testing.assert_allclose(again.configurations["home"], robot.home, rtol=0, atol=near)


@pytest.mark.parametrize("file", real)
def test_real_robots_through_urdf(file, tmp_path):
    robot = robosim.load(file)
    robosim.save(robot, tmp_path / "x.urdf")
    again = robosim.load(tmp_path / "x.urdf")
    assert_same(robot, again)


def in_mujoco(robot, path, q):
    """(mass matrix without rotors, centres of mass of the bodies) at q (nq,)."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    model.dof_armature[:] = 0
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    for column, unit in zip(M, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    moving = [body.name for body in robot.bodies if body.name != "world"]
    return M, {name: np.array(data.body(name).xipos) for name in moving}


def assert_same_in_mujoco(robot, path):
    from robosim.dynamics import Kinematics

    joints = tuple(replace(joint, motion=None) for joint in robot.joints)
    free = replace(robot, joints=joints, couplings=(), springs=())
    q = random_coordinates(np.random.default_rng(1), robot)
    kinematics = Kinematics(free, q)
    M, centres = in_mujoco(robot, path, q)
    ours = kinematics.mass_matrix(rotors=False)
    scale = np.sqrt(np.diag(ours))
    np.testing.assert_allclose(M / np.outer(scale, scale), ours / np.outer(scale, scale),
                               rtol=0, atol=1e-9)  # fmt: skip
    for name, centre in centres.items():
        np.testing.assert_allclose(centre, kinematics.x[robot.body_index(name)], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CUT)
def test_what_urdf_has_not_is_refused_by_name(name, tmp_path):
    with pytest.raises(robosim.SaveError, match=r"'shoulder'.* has no "):
        robosim.save(robosim.load(name), tmp_path / "x.urdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", CUT)
def test_what_is_cut_elsewhere_moves_the_same(name, tmp_path):
    robot = robosim.load(name)
    assert robosim.save(robot, tmp_path / "x.xml") == ()
    again = robosim.load(tmp_path / "x.xml")
    first, second = (robosim.Simulation(one, timestep=1e-3) for one in (robot, again))
    start = first.frame("lower_arm")[0]
    first.run(0.1)
    second.run(0.1)
    assert np.abs(first.frame("lower_arm")[0] - start).max() > 0.005
    for body in robot.bodies:
        if not body.carrier:
            for ours, theirs in zip(first.frame(body.name), second.frame(body.name), strict=True):
                np.testing.assert_allclose(theirs, ours, atol=1e-9)


@needs_mujoco
@pytest.mark.peer
@pytest.mark.parametrize("name", [*BUILT, *PLANAR, *PARALLEL, *real])
def test_mujoco_compiles_what_is_written_and_agrees(name, tmp_path):
    robot = robosim.load(name)
    robosim.save(robot, tmp_path / "x.xml")
    assert_same_in_mujoco(robot, tmp_path / "x.xml")


def trees(kinds):
    def build(seed, n):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, n, base=str(rng.choice(kinds)), kinds=kinds)
        joints = [
            replace(joint, damping=rng.uniform(0, 1), friction=rng.uniform(0, 1))
            for joint in robot.joints
        ]
        frames = [
            replace(body, frames=(*body.frames, Frame(f"{body.name}_tip", rng.normal(size=3),
                                                      random_quaternion(rng))))
            for body in robot.bodies
        ]  # fmt: skip
        return replace(robot, bodies=tuple(frames), joints=tuple(joints))

    return st.builds(build, st.integers(0, 10**6), st.integers(1, 5))


FEW = settings(max_examples=20, deadline=None,
               suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip


@FEW
@given(trees(("revolute", "prismatic", "planar", "floating")))
def test_random_trees_through_urdf(tmp_path, robot):
    # On the world's own frame it is a plain floating base, elsewhere a joint of the file.
    robosim.save(robot, tmp_path / "x.urdf")
    assert_same(robot, robosim.load(tmp_path / "x.urdf"))


@needs_mujoco
@pytest.mark.peer
@FEW
@given(trees(tuple(kind for kind in KINDS if kind not in ("fixed", "floating"))))
def test_random_trees_of_all_kinds_in_mujoco(tmp_path, robot):
    robosim.save(robot, tmp_path / "x.xml")
    assert_same_in_mujoco(robot, tmp_path / "x.xml")


def rod(name, **options):
    return Body(name, 1.0, np.diag([1e-2, 2e-2, 2e-2]), **options)


def everything():
    """A little of all that a file can hold."""
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    mesh = Geometry("mesh", vertices=np.array(box.vertices), faces=np.array(box.faces), name="tool",
                    position=(0.1, 0, 0), quaternion=(0.6, 0.8, 0, 0), friction=0.3)  # fmt: skip
    shapes = (
        Geometry("box", (1, 2, 3), (0.1, 0, 0), name="a", rgba=(1, 0, 0, 0.5)),
        Geometry("capsule", (0.1, 2), name="a"),
        Geometry("cylinder", (0.1, 2), (0, 1, 0), (0.6, 0, 0.8, 0), name="a"),
    )
    bodies = (
        rod("a", visuals=shapes, collisions=(Geometry("sphere", (0.2,), name="a"),)),
        rod("b", frames=(Frame("b"), Frame("tool", (0, 0, 1), (0.6, 0, 0.8, 0))),
            collisions=(mesh,)),
        rod("c"),
        rod("d"),
    )  # fmt: skip
    joints = (
        Joint("root", "revolute", None, "a", (0, 0, 1), (0, 0, 9), lower=-1, upper=2, damping=0.1,
              friction=0.2, armature=0.3, stiffness=4.0, rest=0.5, effort_limit=7,
              velocity_limit=8, safety=SafetyLimits(-0.9, 1.9, 20, 5)),
        Joint("slide", "prismatic", "a", "b", (1, 2, 3), (0.1, 0.2, 0.3), offset=(0.6, 0, 0, 0.8),
              actuated=False),
        Joint("led", "revolute", "b", "c", (0, 1, 0), actuated=False),
        Joint("flap", "revolute", "c", "d", (0, 1, 0), (0.5, 0, 0), lower=0.1, upper=1),
        Joint("loop", "spherical", "a", "d", parent_position=(1, 0, 0), actuated=False),
    )  # fmt: skip
    springs = (
        PointSpring("s1", None, "b", (1, 2, 3), (0, 0, 1), stiffness=5, rest_length=0.4),
        PointSpring("s2", "a", "c", stiffness=0, rest_length=1, damping=2),
    )
    led = Coupling("led", "led", "root", -2, 0.1)
    return Mechanism(
        "all", bodies, joints, springs=springs, couplings=(led,),
        contacts=(ContactPoint("a/sphere0", "a", (0, 0, 0), 0.2, 0.8),
                  ContactPoint("d", "d", (0, 0, 0.1), 0.0, 0.6)),
        home=(0.1, 0.2, -0.1, 0.3), configurations={"up": (0.5, 0, -0.9, 1)},
    )  # fmt: skip


class TestUrdf:
    def test_everything(self, tmp_path):
        robot = everything()
        lost = robosim.save(robot, tmp_path / "x.urdf")
        again = robosim.load(tmp_path / "x.urdf")
        # A tiny sphere stands for a point; the mesh of the tool was not to touch.
        contacts = {(c.body, c.radius, c.friction) for c in again.contacts}
        assert contacts >= {("a", 0.2, 0.8), ("d", 0.0, 0.6)}
        ball = again.body("d").collisions[0]
        assert (ball.kind, ball.size) == ("sphere", (1e-6,))
        assert_same(robot, replace(again, contacts=robot.contacts))
        np.testing.assert_allclose(again.configurations["up"], robot.configurations["up"])
        assert again.body("a").visuals[0].rgba == (1, 0, 0, 0.5)
        assert again.body("b").collisions[0].name == "tool"
        assert again.body("b").collisions[0].friction == 0.3
        np.testing.assert_array_equal(again.body("b").collisions[0].vertices,
                                      robot.body("b").collisions[0].vertices)  # fmt: skip
        told = " ".join(lost)
        assert "only some collision shapes touch" in told
        assert "names of springs between points: s1, s2" in told
        assert "the pose 'home'" in told

    def test_limits_on_one_side(self, tmp_path):
        joint = Joint("j", "prismatic", None, "a", lower=-np.inf, upper=0.5)
        robosim.save(Mechanism("m", (rod("a"),), (joint,)), tmp_path / "x.urdf")
        again = robosim.load(tmp_path / "x.urdf").joints[0]
        assert (again.lower[0], again.upper[0]) == (-np.inf, 0.5)

    def test_every_kind_of_loop(self, tmp_path):
        for kind in KINDS:
            if kind == "floating":
                continue
            joints = (
                Joint("j1", "revolute", None, "a", (0, 1, 0)),
                Joint("j2", "revolute", "a", "b", (0, 1, 0), (1, 0, 0)),
                Joint("loop", kind, "a", "b", (1, 2, 2), (0.1, 0.2, 0.3), (-0.9, 0.2, 0.3),
                      offset=(0.6, 0, 0.8, 0), actuated=False),
            )  # fmt: skip
            robot = Mechanism("m", (rod("a"), rod("b")), joints)
            robosim.save(robot, tmp_path / "x.urdf")
            assert_same(robot, robosim.load(tmp_path / "x.urdf"))

    def test_what_is_lost_is_told(self, tmp_path):
        from robosim import HalfSpace, Potential

        joint = Joint("j", "revolute", None, "a", potential=Potential([0, 1], [0, 1]),
                      motion=np.sin)  # fmt: skip
        robot = Mechanism("m", (rod("a", collisions=(Geometry("sphere", (1,)),)),), (joint,),
                          obstacles=(HalfSpace(),))  # fmt: skip
        told = " ".join(robosim.save(robot, tmp_path / "x.urdf"))
        for what in ("potentials: j", "functions of time", "obstacles"):
            assert what in told

    def test_an_mjcf_file_through_urdf(self, tmp_path):
        """Bodies are where they were; planes are counted along other axes, which is told."""
        text = """<mujoco><worldbody><geom name="wall" type="box" size=".1 .1 .1" pos="3 0 0"/>
          <body name="a" pos="0 0 1"><joint name="x" type="slide" axis="1 0 0"/>
          <joint name="z" type="slide" axis="0 0 1" ref=".3"/><joint name="turn" axis="0 1 0"/>
          <geom name="a" size=".1" pos=".2 0 0"/><body name="b" pos=".3 0 0"><joint axis="1 0 0"/>
          <joint axis="0 1 0"/><geom size=".1"/></body></body></worldbody>
          <contact><exclude body1="world" body2="a"/></contact>
          <keyframe><key name="up" qpos=".1 .7 .2 .3 .4"/></keyframe></mujoco>"""
        (tmp_path / "x.xml").write_text(text)
        robot = robosim.load(tmp_path / "x.xml")
        assert ("a", "wall") in robot.excluded_pairs or ("wall", "a") in robot.excluded_pairs
        told = "; ".join(robosim.save(robot, tmp_path / "x.urdf"))
        assert "the coordinates of planar joints count: x+z+turn" in told
        again = robosim.load(tmp_path / "x.urdf")
        assert [body.name for body in again.bodies] == ["a", "b"]
        assert again.joints[1].coordinate_names == robot.joints[1].coordinate_names
        assert again.total_mass == pytest.approx(robot.total_mass, rel=1e-15)
        for body in ("a", "b"):
            places = [
                placement.body_poses(one.tree_joints, np.asarray(one.configurations["up"]))[body]
                for one in (robot, again)
            ]
            np.testing.assert_allclose(places[0][0], places[1][0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(places[0][1], places[1][1], rtol=0, atol=1e-12)

    def test_a_ball_joint_is_refused(self, tmp_path):
        with pytest.raises(robosim.SaveError, match=r"joint 'tip'.*'spherical'.*MJCF has"):
            robosim.save(robosim.load("spinning_top"), tmp_path / "x.urdf")
        assert list(tmp_path.iterdir()) == []


# Not those of which a symmetric mesh gives other contact points when it is rounded to single
# precision, or a link that keeps its height over the ground gives none.
SAME_CONTACTS = [one for one in real if one.id not in ("alex_sake_hands", "xarm7")]


# What tendons of this one bend around is a shape to look at in MJCF.
SAME_LOOKS = [name for name in BUILT if name != "arm_with_muscles"]


@pytest.mark.parametrize("name", [*SAME_LOOKS, *SAME_CONTACTS])
def test_through_mjcf(name, tmp_path):
    robot = robosim.load(name)
    told = robosim.save(robot, tmp_path / "x.xml")
    again = robosim.load(tmp_path / "x.xml")
    if ELSEWHERE not in told:
        near = 1.1e-6 if name in WITH_POINTS else 1e-9
        np.testing.assert_allclose(again.home, robot.home, rtol=0, atol=near)
    if name in WITH_POINTS:
        robot, again = (replace(one, contacts=()) for one in (robot, again))
    if name == "hanging_net":  # MJCF has a joint for each coordinate of a particle
        named = zip(again.joints, robot.joints, strict=True)
        again = replace(again, joints=[replace(one, name=ours.name) for one, ours in named])
    moving = robot
    if robot.bodies[0].name == "world":  # part of the world in MJCF, so without a mass
        joints = [
            replace(joint, parent=None, parent_position=in_world(robot, joint))
            if joint.parent == "world"
            else joint
            for joint in robot.joints[1:]
        ]
        moving = replace(robot, bodies=robot.bodies[1:], joints=tuple(joints), home=None,
                         configurations={}, world_frames=(), excluded_pairs=())  # fmt: skip
    joints = [
        replace(
            joint,
            velocity_limit=np.inf,
            safety=None,
            continuous=None,
            effort_limit=joint.effort_limit or np.inf,
        )
        for joint in moving.joints
    ]
    # The angle of a hinge that closes a loop begins where the file has the bodies.
    n = len(joints) - len(robot.loop_joints)
    assert [joint.kind for joint in again.loop_joints] == [joint.kind for joint in joints[n:]]
    for k, hinge in enumerate(joints[n:]):
        turned = again.joints[n + k]
        for joint in (hinge, turned):
            R = quaternions.rotation_matrix(joint.offset)
            np.testing.assert_allclose(R @ joint.axis, axis_in_parent(hinge), atol=1e-12)
        joints[n + k] = replace(hinge, offset=turned.offset)
    assert_same(replace(moving, joints=tuple(joints)), again)


def axis_in_parent(joint):
    """The axis of a joint (3,) in the parent's axes."""
    return quaternions.rotation_matrix(joint.offset) @ joint.axis


def in_world(robot, joint):
    """Where a joint is whose parent is a body that is fixed to the world."""
    R, x = placement.body_poses(robot.tree_joints, robot.neutral())[joint.parent]
    return x + R @ np.asarray(joint.parent_position)


@needs_mujoco
@pytest.mark.peer
class TestMjcf:
    def test_everything(self, tmp_path):
        import mujoco

        robot = everything()
        robosim.save(robot, tmp_path / "x.xml")
        assert_same_in_mujoco(robot, tmp_path / "x.xml")
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
        root = model.joint("root")
        assert root.range.tolist() == [-1, 2]
        assert (root.damping[0], root.frictionloss[0], root.armature[0]) == (0.1, 0.2, 0.3)
        assert (root.stiffness[0], root.qpos_spring[0]) == (4, 0.5)
        assert [model.actuator(k).name for k in range(model.nu)] == ["root", "flap"]
        assert model.tendon_stiffness[model.tendon("s1").id] == 5
        np.testing.assert_allclose(model.key("up").qpos, robot.configurations["up"])
        np.testing.assert_allclose(model.key("home").qpos, robot.home)

    def test_servos_and_gears(self, tmp_path):
        actuators = (
            Actuator("servo", {"root": 2.0}, (5, 0, 0), (0, -5, -1), (-1, 1), (-3, 4)),
            Actuator("both", {"root": 1.0, "flap": -0.5}),
        )
        robosim.save(replace(everything(), actuators=actuators), tmp_path / "x.xml")
        again = robosim.load(tmp_path / "x.xml").actuators
        assert [vars(a) for a in again] == [vars(a) for a in actuators]

    def test_muscles_and_activations(self, tmp_path):
        muscle = Muscle(30.0, (-1.0, 0.5), (0.7, 1.1), 0.4, 1.7, 2.0, 1.1, 1.3)
        early = Activation("muscle", (0.02, 0.05, 0.1), early=True)
        actuators = (
            Actuator("biceps", {"root": 2.0}, activation=early, muscle=muscle,
                     control_range=(0, 1)),
            Actuator("slow", {"flap": 1.0}, bias=(0, -2, 0),
                     activation=Activation("filterexact", (0.3, 0, 0), (-1, 2))),
        )  # fmt: skip
        robosim.save(replace(everything(), actuators=actuators), tmp_path / "x.xml")
        again = robosim.load(tmp_path / "x.xml").actuators
        for one, other in zip(actuators, again, strict=True):
            told = {name: value for name, value in vars(one).items() if name != "gain"}
            for name in ("muscle", "activation"):
                part = told.pop(name)
                if part is not None:
                    assert vars(getattr(other, name)) == vars(part)
            assert {name: vars(other)[name] for name in told} == told

    def test_what_muscles_and_drag_lose_is_told(self, tmp_path):
        muscle = Muscle(30.0, (-1.0, 0.5))
        actuators = (
            Actuator("hill", {"root": 1.0}, muscle=HillMuscle(30.0, 0.1, 0.2, 10.0)),
            Actuator("early", {"flap": 1.0}, muscle=muscle, implicit=True),
        )
        robot = replace(everything(), actuators=actuators)
        robot = replace(robot, bodies=(replace(robot.bodies[0], drag=0.1), *robot.bodies[1:]))
        lost = robosim.save(robot, tmp_path / "x.xml")
        assert "muscles of the Hill type: hill" in lost
        assert "that actuators are implicit: early" in lost
        assert f"drag of bodies: {robot.bodies[0].name}" in lost
        (read,) = robosim.load(tmp_path / "x.xml").actuators
        assert not read.implicit
        in_urdf = " ".join(robosim.save(robot, tmp_path / "x.urdf"))
        assert "drag of bodies" in in_urdf
        assert "actuators" in in_urdf

    def test_tendons(self, tmp_path):
        ball = Wrap("sphere", "b", 0.1, (0.2, 0, 0), side=Point("c", (0, 0, 0.3)))
        pin = Wrap("cylinder", None, 0.2, (0, 1, 2), quaternions.from_axis_angle((1, 0, 0), 0.4))
        path = (Point(None, (1, 2, 3)), pin, Point("a", (0, 0.1, 0)), Pulley(2.0),
                Point("a"), ball, Point("c", (0.1, 0, 0)))  # fmt: skip
        sums = (Term("root", 2.0), Term("flap", -0.5))
        tendons = (
            Tendon("rope", path, 5.0, (0.1, 0.2), damping=0.3, lower=0.5),
            Tendon("sum", sums, 5.0, 0.1, friction=0.2, armature=0.1, lower=-1.0, upper=2.0),
        )
        pull = Actuator("pull", {"rope": 3.0})
        robosim.save(replace(everything(), tendons=tendons, actuators=(pull,)), tmp_path / "x.xml")
        again = robosim.load(tmp_path / "x.xml")
        read = {tendon.name: tendon for tendon in again.tendons}
        for tendon in tendons:
            other = read[tendon.name]
            for what in ("stiffness", "damping", "friction", "armature"):
                assert getattr(other, what) == getattr(tendon, what)
            np.testing.assert_allclose(other.rest_length, tendon.rest_length)
            assert other.lower == tendon.lower
            assert min(other.upper, 1e9) == min(tendon.upper, 1e9)
        assert read["sum"].path == sums
        for one, other in zip(path, read["rope"].path, strict=True):
            for what in ("position", "quaternion", "radius", "divisor", "body", "kind"):
                if hasattr(one, what) and not isinstance(getattr(one, what), str | None):
                    np.testing.assert_allclose(getattr(other, what), getattr(one, what), atol=1e-12)
                elif hasattr(one, what):
                    assert getattr(other, what) == getattr(one, what)
        np.testing.assert_allclose(read["rope"].path[5].side.position, (0, 0, 0.3), atol=1e-12)
        assert [vars(a) for a in again.actuators] == [vars(pull)]
        told = "; ".join(robosim.convert(tmp_path / "x.xml", tmp_path / "x.urdf"))
        assert "tendons" in told

    def test_an_mjcf_file_through_mjcf(self, tmp_path):
        text = """<mujoco><worldbody><site name="mark" pos="1 2 3"/><body name="box" pos="0 0 1">
          <joint name="turn" axis="0 1 0" ref="10"/><joint name="move" type="slide"/>
          <geom type="box" size=".1 .2 .3"/><site name="top" pos="0 0 .3"/></body></worldbody>
          </mujoco>"""
        (tmp_path / "x.xml").write_text(text)
        robot = robosim.load(tmp_path / "x.xml")
        robosim.save(robot, tmp_path / "y.xml")
        again = robosim.load(tmp_path / "y.xml")
        assert again.q_names == robot.q_names == ("turn", "move")
        names = [frame.name for frame in again.world_frames]
        assert names == [frame.name for frame in robot.world_frames] == ["world", "mark"]

    def test_springs_have_the_energy_and_loops_the_gap_that_they_have_here(self, tmp_path):
        import mujoco

        robot = everything()
        robosim.save(robot, tmp_path / "x.xml")
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
        model.jnt_stiffness[:] = 0
        model.opt.gravity[:] = 0
        model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        data = mujoco.MjData(model)
        q = random_coordinates(np.random.default_rng(5), robot)
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        poses = placement.body_poses(robot.tree_joints, q)

        def ends(element):
            sides = ((element.parent, element.parent_position),
                     (element.child, element.child_position))  # fmt: skip
            return [poses[body][1] + poses[body][0] @ np.asarray(p) for body, p in sides]

        a, b = ends(robot.springs[0])
        energy = 0.5 * 5 * (np.linalg.norm(a - b) - 0.4) ** 2
        assert data.energy[0] == pytest.approx(energy, rel=1e-9)
        a, b = ends(robot.loop_joints[0])
        gap = [data.efc_pos[k] for k in range(data.nefc)
               if data.efc_type[k] == 0 and data.efc_id[k] == 0]  # fmt: skip
        np.testing.assert_allclose(np.linalg.norm(gap), np.linalg.norm(a - b), rtol=1e-9)

    def test_a_loop_that_it_has_not_is_refused(self, tmp_path):
        joints = (Joint("j1", "revolute", None, "a"), Joint("j2", "prismatic", None, "b"),
                  Joint("loop", "planar", "a", "b"))  # fmt: skip
        robot = Mechanism("m", (rod("a"), rod("b")), joints)
        with pytest.raises(robosim.SaveError, match=r"'loop'.*'planar'.*loop_joint"):
            robosim.save(robot, tmp_path / "x.xml")

    @pytest.mark.parametrize("kind", ["prismatic", "cylindrical", "planar"])
    @pytest.mark.parametrize("angle", [0.0, 0.7])
    def test_a_loop_is_cut_where_it_can_be_closed(self, tmp_path, kind, angle):
        """A slider-crank that its slide closes: the file has the slide, and its pin as the loop."""
        tip, reach = 0.3 * np.array((np.cos(angle), 0.0, -np.sin(angle))), 0.8
        lean = np.arcsin(tip[2] / reach)
        end = tip[0] + reach * np.cos(lean)
        joints = (
            Joint("turn", "revolute", None, "crank", (0, 1, 0)),
            Joint("knee", "revolute", "crank", "rod", (0, 1, 0), (0.3, 0, 0), actuated=False),
            Joint("pin", "revolute", "rod", "slider", (0, 1, 0), (reach, 0, 0), actuated=False),
            Joint("slide", kind, None, "slider", (0, 1, 0) if kind == "planar" else (1, 0, 0),
                  (0.9, 0, 0), actuated=False),
        )  # fmt: skip
        bodies = (rod("crank"), rod("rod"), rod("slider"))
        q = (angle, lean - angle, -lean)
        robot = Mechanism("m", bodies, joints, home=q, configurations={"start": q})
        assert robosim.save(robot, tmp_path / "x.xml") == ()
        again = robosim.load(tmp_path / "x.xml", self_collision=False)
        (loop,) = again.loop_joints
        assert {loop.parent, loop.child} == {"rod", "slider"}
        assert loop.kind == "revolute"
        slid = again.q_names.index("slide") if kind == "prismatic" else None
        if slid is not None:
            assert again.home[slid] == pytest.approx(end - 0.9, abs=1e-12)
        first, second = (robosim.Simulation(one, timestep=1e-3) for one in (robot, again))
        start = first.frame("slider")[0]
        first.run(0.2)
        second.run(0.2)
        assert np.abs(first.frame("slider")[0] - start).max() > 0.01
        for name in ("crank", "rod", "slider"):
            for ours, theirs in zip(first.frame(name), second.frame(name), strict=True):
                np.testing.assert_allclose(theirs, ours, atol=1e-8)


class TestFiles:
    def test_a_mesh_is_written_once(self, tmp_path):
        robot = robosim.load("a1")
        box = trimesh.creation.box((0.1, 0.2, 0.3))
        vertices, faces = np.array(box.vertices), np.array(box.faces)
        bodies = tuple(
            replace(body, visuals=(Geometry("mesh", vertices=vertices.copy(), faces=faces),))
            for body in robot.bodies
        )
        robosim.save(replace(robot, bodies=bodies), tmp_path / "x.urdf")
        (mesh,) = (tmp_path / "x_meshes").iterdir()
        assert mesh.suffix == ".obj"

    def test_convert(self, tmp_path):
        assert robosim.convert("pendulum", tmp_path / "x.urdf") == ()
        assert robosim.load(tmp_path / "x.urdf").name == robosim.load("pendulum").name
        robosim.convert("a1", tmp_path / "y.urdf", floating_base=False)
        assert robosim.load(tmp_path / "y.urdf").nq == 12

    def test_what_cannot_be_written(self, tmp_path):
        robot = robosim.load("pendulum")
        with pytest.raises(robosim.SaveError, match=r"'\.sdf' \(known: \.urdf, \.xml\)"):
            robosim.save(robot, tmp_path / "x.sdf")
        with pytest.raises(robosim.SaveError, match="cannot be written"):
            robosim.save(robot, tmp_path / "nowhere" / "x.urdf")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("suffix", ["urdf", "xml"])
    @pytest.mark.parametrize("loop", [False, True])
    def test_charts_are_refused(self, tmp_path, suffix, loop):
        kind, options = ("universal", {}) if loop else ("screw", {"pitch": 0.1})
        joints = [Joint("j1", "revolute", None, "a"), Joint("hip", kind, "a", "b", **options)]
        if loop:
            joints.insert(1, Joint("j2", "revolute", None, "b"))
        robot = Mechanism("m", (rod("a"), rod("b")), joints)
        with pytest.raises(robosim.SaveError, match=rf"'hip'.*neither URDF nor MJCF.*'{kind}'"):
            robosim.save(robot, tmp_path / f"x.{suffix}")
        assert list(tmp_path.iterdir()) == []

    def test_a_stale_srdf_is_told(self, tmp_path):
        robosim.save(robosim.load("rhombus"), tmp_path / "x.urdf")
        assert (tmp_path / "x.srdf").exists()
        told = robosim.save(robosim.load("pendulum"), tmp_path / "x.urdf")
        assert any("x.srdf" in sentence for sentence in told)

    @pytest.mark.parametrize(
        ("file", "name", "is_read"),
        [
            ("srdf/x.srdf", "other", True),
            ("../srdf/x.srdf", "other", True),
            ("two.srdf", "gears", True),
            ("../srdf/two.srdf", "gears", True),
            ("two.srdf", "other", False),
        ],
    )
    def test_an_srdf_that_will_be_read_is_told(self, file, name, is_read, tmp_path, monkeypatch):
        place = tmp_path / "urdf" / file
        for folder in (tmp_path / "urdf", place.parent):
            folder.mkdir(exist_ok=True)
        pose = '<group_state name="bent" group="all"><joint name="j0" value="1"/></group_state>'
        place.write_text(f'<robot name="{name}">{pose}</robot>')
        monkeypatch.chdir(tmp_path / "urdf")
        for path in (tmp_path / "urdf" / "x.urdf", Path("x.urdf")):
            told = robosim.save(geared(FREE, FREE), path)
            assert [place.name in sentence for sentence in told] == [True] * is_read
            again = robosim.load(path, floating_base=False)
            assert ("bent" in again.configurations) == is_read

    def test_one_that_is_written_is_read_instead(self, tmp_path):
        (tmp_path / "two.srdf").write_text('<robot name="gears"/>')
        assert not robosim.save(replace(geared(FREE), configurations={"up": [1.0]}),
                                tmp_path / "x.urdf")  # fmt: skip
        assert "up" in robosim.load(tmp_path / "x.urdf", floating_base=False).configurations


def test_free_bodies_keep_their_places_and_what_acts_on_them(tmp_path):
    box = '<geom type="box" size=".1 .1 .1"/>'
    (tmp_path / "two.xml").write_text(
        '<mujoco><worldbody><geom type="plane" size="5 5 .1"/>'
        f'<body name="a" pos="0 0 1"><freejoint/>{box}</body>'
        '<body name="b" pos="1 0 1" euler="0 0 30"><joint type="free" damping=".5" armature=".1" '
        f'frictionloss=".2"/>{box}</body></worldbody></mujoco>'
    )
    robot = robosim.load(tmp_path / "two.xml")
    assert not robosim.convert(tmp_path / "two.xml", tmp_path / "again.xml")
    back = robosim.load(tmp_path / "again.xml")
    np.testing.assert_allclose(back.home, robot.home, atol=1e-12)
    assert len(back.contacts) == len(robot.contacts) == 16
    assert not back.warnings
    for what in ("damping", "armature", "friction"):
        np.testing.assert_array_equal(
            back.joints[1].per_coordinate(what), robot.joints[1].per_coordinate(what)
        )


def test_joints_that_equal_limits_hold_through_mjcf(tmp_path):
    rod = Body("rod", 1.0, np.eye(3))
    held = Joint("hinge", "revolute", None, "rod", lower=0.3, upper=0.3)
    robot = Mechanism("held", (rod,), (held,), home=(0.3,))
    lost = robosim.save(robot, tmp_path / "held.xml")
    assert not any("equal limits" in what for what in lost)
    back = robosim.load(tmp_path / "held.xml")
    assert np.asarray(back.joints[0].lower) == np.asarray(back.joints[0].upper) == 0.3
    np.testing.assert_allclose(back.home, [0.3])


def geared(*limits, ratio=2.0, offset=0.5):
    """Joints j0, j1, ... on the world with these limits, each of which follows the one before."""
    names = [f"j{k}" for k in range(len(limits))]
    joints = [Joint(name, "revolute", None, f"b{k}", lower=low, upper=high, actuated=k == 0)
              for k, (name, (low, high)) in enumerate(zip(names, limits, strict=True))]  # fmt: skip
    gears = [Coupling(f"{b}_gear", b, a, ratio, offset) for a, b in pairwise(names)]
    bodies = [rod(f"b{k}") for k in range(len(limits))]
    return Mechanism("gears", bodies, joints, couplings=tuple(gears))


FREE = (-np.inf, np.inf)


@pytest.mark.parametrize("ratio", [2.0, -2.0])
@pytest.mark.parametrize("own", [FREE, (-0.1, 9)])
@pytest.mark.parametrize("last", [(-1, 3), (-np.inf, 3)])
def test_limits_of_joints_that_follow_hold_in_urdf(own, last, ratio, tmp_path):
    """As limits of the first joint, which say the same, through a chain of two gears."""
    robot = geared(own, FREE, last, ratio=ratio)
    assert not robosim.save(robot, tmp_path / "x.urdf")
    again = robosim.load(tmp_path / "x.urdf", floating_base=False)
    assert not again.warnings
    # j2 = ratio (ratio j0 + 0.5) + 0.5
    reach = (np.array(last) - 0.5 * ratio - 0.5) / 4.0
    wanted = np.maximum(own[0], reach[0]), np.minimum(own[1], reach[1])
    first = again.joints[0]
    np.testing.assert_allclose((first.lower[0], first.upper[0]), wanted, rtol=0, atol=1e-12)


def test_actuators_of_joints_that_follow_are_lost_in_urdf(tmp_path):
    robot = geared(FREE, FREE)
    robot = replace(robot, joints=[replace(joint, actuated=True) for joint in robot.joints])
    assert robosim.save(robot, tmp_path / "x.xml") == ()
    assert robosim.load(tmp_path / "x.xml").actuated_names == ("j0", "j1")
    told = robosim.save(robot, tmp_path / "x.urdf")
    assert told == ("actuators of joints that follow others: j1",)
    again = robosim.load(tmp_path / "x.urdf", floating_base=False)
    assert again.actuated_names == ("j0",)


def test_limits_of_joints_that_follow_through_mjcf(tmp_path):
    robot = geared((-0.3, 9), FREE, (-1, 3))
    assert not robosim.save(robot, tmp_path / "x.xml")
    again = robosim.load(tmp_path / "x.xml")
    assert not again.warnings
    assert_same(robot, again)


@pytest.mark.parametrize(
    ("robot", "names"),
    [
        (geared((0, 1), (3, 4)), "j0"),
        (geared(FREE, (0, 1), (3, 4)), "j0, j1"),
        (geared(FREE, (1, 1)), "j0"),
    ],
)
def test_limits_of_joints_that_follow_without_room_are_told(robot, names, tmp_path):
    told = robosim.save(robot, tmp_path / "x.urdf")
    assert f"limits of joints that follow, which leave no room: {names}" in told
    first = robosim.load(tmp_path / "x.urdf", floating_base=False).joints[0]
    assert (first.lower, first.upper) == (robot.joints[0].lower, robot.joints[0].upper)


def test_files_start_at_home(tmp_path):
    for name in ("minitaur", "a1", "cube", "double_pendulum"):
        robot = robosim.load(name)
        assert ELSEWHERE not in robosim.save(robot, tmp_path / "x.xml")
        np.testing.assert_allclose(robosim.load(tmp_path / "x.xml").home, robot.home, atol=1e-9)


def test_a_start_that_a_known_stance_replaces_is_told(tmp_path):
    robot = robosim.load("a1")
    home = np.array(robot.home)
    home[-1] += 0.1
    assert ELSEWHERE in robosim.save(replace(robot, home=home), tmp_path / "x.xml")


def test_a_start_that_ball_joints_cannot_have_is_told(tmp_path):
    ball = Joint("ball", "spherical", None, "rod")
    turned = quaternions.from_axis_angle((1, 0, 0), 0.5)
    robot = Mechanism("hanging", (Body("rod", 1.0, np.eye(3)),), (ball,))
    assert ELSEWHERE not in robosim.save(robot, tmp_path / "x.xml")
    assert ELSEWHERE in robosim.save(replace(robot, home=turned), tmp_path / "x.xml")


def pair_on_curves(home):
    """Hinges and a slide that curves, sums, equal limits and loops keep together, at home."""
    rods = tuple(Body(name, 1.0, np.eye(3)) for name in "abcde")
    joints = (
        Joint("j", "revolute", None, "a", axis=(0, 1, 0)),
        Joint("k", "prismatic", "a", "b", axis=(1, 0, 0), parent_position=(0.1, 0, 0.2)),
        Joint("l", "revolute", "b", "c", axis=(0, 0, 1), child_position=(0, 0.3, 0)),
        Joint("m", "planar", "c", "d", axis=(0, 1, 0), parent_position=(0, 0, 0.4)),
        Joint("n", "revolute", "d", "e", axis=(1, 0, 0), lower=home[-1], upper=home[-1]),
    )
    x = home[1]
    curve = Tendon("curve", (Term("l"), Term("k", -0.5, (-0.3, 0.2, 0.0))),
                   lower=home[2] - 0.5 * x - 0.3 * x**2 + 0.2 * x**3,
                   upper=home[2] - 0.5 * x - 0.3 * x**2 + 0.2 * x**3)  # fmt: skip
    gear = Coupling("gear", "k", "j", 2.0, home[1] - 2.0 * home[0])
    return Mechanism("pair", rods, joints, couplings=(gear,), tendons=(curve,), home=home)


@needs_mujoco
@pytest.mark.peer
def test_what_counts_from_home_in_mjcf(tmp_path):
    """Gears, curves and held joints, and poses of slides that turn, with a `ref` for each."""
    import mujoco

    robot = pair_on_curves((0.4, -0.3, 0.7, 0.2, -0.1, 0.6, 0.25))
    assert ELSEWHERE not in robosim.save(robot, tmp_path / "x.xml")
    again = robosim.load(tmp_path / "x.xml")
    np.testing.assert_allclose(again.home, robot.home, atol=1e-12)
    np.testing.assert_allclose(again.couplings[0].offset, robot.couplings[0].offset, atol=1e-12)
    np.testing.assert_allclose(again.joints[-1].lower, robot.joints[-1].lower, atol=1e-12)
    (ours,), (theirs,) = robot.tendons, again.tendons
    assert theirs.upper == pytest.approx(ours.upper, abs=1e-12)
    for one, other in zip(ours.path, theirs.path, strict=True):
        assert (other.coordinate, other.factor) == (one.coordinate, pytest.approx(one.factor))
        np.testing.assert_allclose(other.higher, one.higher, atol=1e-12)
    assert_same_in_mujoco(robot, tmp_path / "x.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
    np.testing.assert_allclose(model.qpos0, robot.home, atol=1e-12)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.nefc == 3
    np.testing.assert_allclose(data.efc_pos, 0, atol=1e-12)


@needs_mujoco
@pytest.mark.peer
@given(robot=trees(("revolute", "prismatic", "cylindrical", "planar", "spherical")))
@settings(max_examples=10, deadline=None)
def test_random_homes_in_mujoco(robot):
    rng = np.random.default_rng(robot.nq)
    robot = replace(robot, home=random_coordinates(rng, robot))
    with TemporaryDirectory() as folder:
        robosim.save(robot, Path(folder) / "x.xml")
        assert_same_in_mujoco(robot, Path(folder) / "x.xml")


def test_names_of_geoms_through_mjcf(tmp_path):
    solid = Geometry("box", (0.1, 0.1, 0.1), name="left_pad")
    other = Geometry("box", (0.1, 0.1, 0.1), (1, 0, 0), name="right_pad")
    seen = Geometry("sphere", (0.2,), name="left_pad")
    rod = Body("rod", 1.0, np.eye(3), visuals=(seen,), collisions=(solid, other))
    robot = Mechanism("m", (rod,), (Joint("base", "floating", None, "rod"),))
    contacts = contact_points(rod)
    robot = replace(robot, contacts=tuple(contacts), home=(0, 0, 1, 1, 0, 0, 0))
    assert not robosim.save(robot, tmp_path / "x.xml")
    back = robosim.load(tmp_path / "x.xml")
    assert [shape.name for shape in back.bodies[0].collisions] == ["left_pad", "right_pad"]
    assert {c.name for c in back.contacts} == {c.name for c in robot.contacts}


def hilly():
    """A ball above obstacles of each kind that MJCF has."""
    rng = np.random.default_rng(3)
    box = trimesh.creation.box((0.4, 0.2, 0.1))
    shapes = (
        HalfSpace((0.3, -0.2, 1.0), (0, 0, -2.0), friction=0.9, name="slope"),
        HeightField(rng.uniform(-0.5, 0.3, (4, 6)), (3.0, 5.0), (1, 2, -0.5),
                    quaternions.from_axis_angle((0, 0, 1), 0.3), name="hills"),
        Geometry("box", (1.0, 2.0, 0.5), (3, 0, 0.2), friction=0.2, name="step"),
        Geometry("mesh", position=(0, 3, 0), vertices=np.array(box.vertices),
                 faces=np.array(box.faces), name="stone"),
        Geometry("sphere", (0.5,), (-3, 0, 0)),
    )  # fmt: skip
    ball = Body("ball", 1.0, np.eye(3), collisions=(Geometry("sphere", (0.1,), friction=0.5),))
    base = Joint("base", "floating", None, "ball")
    robot = Mechanism("m", (ball,), (base,), home=(0, 0, 2, 1, 0, 0, 0))
    return robot.with_contacts(obstacles=shapes)


def test_obstacles_through_mjcf(tmp_path):
    robot = hilly()
    assert not robosim.save(robot, tmp_path / "x.xml")
    back = robosim.load(tmp_path / "x.xml")
    assert not back.warnings
    assert [o.name for o in back.obstacles] == ["slope", "hills", "step", "stone", "obstacle"]
    for one, other in zip(robot.obstacles, back.obstacles, strict=True):
        assert type(other) is type(one)
        assert getattr(other, "kind", None) == getattr(one, "kind", None)
    slope, hills, *solid = back.obstacles
    np.testing.assert_allclose(slope.normal, robot.obstacles[0].normal, rtol=0, atol=1e-12)
    assert np.asarray(slope.normal) @ slope.point == pytest.approx(-2.0 * slope.normal[2])
    ours = robot.obstacles[1]
    # Heights count from the lowest one when they come back.
    low = np.min(ours.heights)
    np.testing.assert_allclose(hills.heights, ours.heights - low, rtol=0, atol=1e-12)
    np.testing.assert_allclose(hills.position, ours.position + np.array((0, 0, low)), atol=1e-12)
    assert hills.size == ours.size
    assert same_rotation(hills.quaternion, ours.quaternion)
    for one, other in zip(robot.obstacles[2:], solid, strict=True):
        np.testing.assert_allclose(other.size, one.size, rtol=1e-12)
        np.testing.assert_allclose(other.position, one.position, rtol=0, atol=1e-12)


def test_friction_of_obstacles_through_mjcf(tmp_path):
    """The lower one of both counts, of which only some can be had in MuJoCo's ways."""
    robot = hilly()
    robosim.save(robot, tmp_path / "x.xml")
    root = etree.parse(tmp_path / "x.xml").getroot()
    geoms = {geom.get("name"): geom for geom in root.find("worldbody").findall("geom")}
    assert geoms["step"].get("priority") == "1"
    assert geoms["step"].get("friction").startswith("0.2 ")
    assert geoms["slope"].get("priority") is None
    two = (*robot.bodies[0].collisions, Geometry("sphere", (0.1,), (1, 0, 0), friction=0.1))
    both = replace(robot, bodies=(replace(robot.bodies[0], collisions=two),))
    told = robosim.save(both, tmp_path / "x.xml")
    assert "friction of obstacles that is lower than that of some links: step" in told


@needs_mujoco
@pytest.mark.peer
def test_obstacles_are_where_mujoco_has_them(tmp_path):
    import mujoco

    robot = hilly()
    robosim.save(robot, tmp_path / "x.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    slope, hills, step = robot.obstacles[:3]
    R = quaternions.rotation_matrix(hills.quaternion)
    heights = np.asarray(hills.heights)
    nx, ny = heights.shape
    for i, k in ((1, 1), (2, 4), (1, 3)):
        at = np.array((3.0 * (i / (nx - 1) - 0.5), 5.0 * (k / (ny - 1) - 0.5), heights[i, k]))
        above = np.asarray(hills.position) + R @ at + (0, 0, 1.0)
        geom = np.zeros(1, dtype=np.int32)
        down = np.array((0.0, 0.0, -1.0))
        far = mujoco.mj_ray(model, data, above, down, None, 1, -1, geom)
        assert model.geom(int(geom[0])).name == "hills"
        assert far == pytest.approx(1.0, abs=1e-6)
    assert model.geom("step").size.tolist() == [0.5, 1.0, 0.25]
    assert model.geom("step").pos.tolist() == list(step.position)
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.geom("slope").quat)
    np.testing.assert_allclose(turn.reshape(3, 3)[:, 2], slope.normal, atol=1e-12)


def test_meshes_that_are_no_hulls_are_lost_in_mjcf(tmp_path):
    box = trimesh.creation.box((1, 1, 1))
    mesh = Geometry("mesh", vertices=np.array(box.vertices), faces=np.array(box.faces), name="pit")
    robot = replace(hilly(), obstacles=(TriangleMesh(mesh),))
    told = robosim.save(robot, tmp_path / "x.xml")
    assert "obstacles whose mesh MuJoCo would take the hull of: pit" in told


def test_springs_of_free_bodies_rest_where_these_start(tmp_path):
    joint = Joint("free", "floating", None, "rod", stiffness=(2.0,) * 6,
                  rest=(1.0, 2.0, 3.0, 0.0, 0.0, 0.0))  # fmt: skip
    robot = Mechanism("m", (Body("rod", 1.0, np.eye(3)),), (joint,), home=(1, 2, 3, 1, 0, 0, 0))
    assert not robosim.save(robot, tmp_path / "x.xml")
    back = robosim.load(tmp_path / "x.xml").joints[0]
    for what in ("stiffness", "rest"):
        np.testing.assert_allclose(back.per_coordinate(what), joint.per_coordinate(what))
    elsewhere = replace(robot, home=(1, 2, 4, 1, 0, 0, 0))
    told = robosim.save(elsewhere, tmp_path / "x.xml")
    assert any("do not rest where these start: free" in what for what in told)


def test_pairs_that_may_pass_are_written_for_the_links_of_the_file(tmp_path):
    """Geoms have names of their own; their links in URDF are called like the bodies."""
    box = '<geom name="{0}_geom" type="box" size=".1 .1 .1"/>'
    (tmp_path / "two.xml").write_text(
        '<mujoco><worldbody><body name="a"><joint name="j" axis="1 0 0"/>' + box.format("a")
        + '<body name="b"><joint name="k"/>' + box.format("b")
        + '<body name="c"><joint name="l"/>' + box.format("c")
        + '</body></body></body></worldbody><contact><exclude body1="a" body2="c"/></contact>'
        "</mujoco>"
    )  # fmt: skip
    robot = robosim.load(tmp_path / "two.xml")
    robosim.save(robot, tmp_path / "two.urdf")
    back = robosim.load(tmp_path / "two.urdf")
    assert ("a", "c") in robot.excluded_pairs
    assert set(back.excluded_pairs) == set(robot.excluded_pairs)
    assert not any("do not exist" in told for told in back.warnings)


def test_bodies_that_collide_in_mujoco_still_do_when_converted_or_are_told(tmp_path):
    """Free bodies collide with each other, links of one robot only if that is asked for."""
    mujoco = pytest.importorskip("mujoco")
    source, target = tmp_path / "x.xml", tmp_path / "y.xml"
    ball = '<body name="{0}" pos="0 0 {1}"><freejoint/><geom size=".1"/></body>'
    balls = ball.format("a", 1) + ball.format("b", 1.15)
    arm = (
        '<body name="upper" pos="2 0 1"><joint name="j"/><geom size=".1"/>'
        '<body name="lower" pos=".3 0 0"><joint name="k"/><geom size=".1"/>'
        '<body name="hand" pos="-.15 0 0"><joint name="l"/><geom size=".1"/></body></body></body>'
    )

    def touching(path):
        model = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
        for name, height in (("a", 1.0), ("b", 1.15)):
            place = model.jnt_qposadr[model.body_jntadr[model.body(name).id]]
            data.qpos[place : place + 3] = (0, 0, height)
        mujoco.mj_forward(model, data)
        bodies = [model.body(int(i)).name for i in model.geom_bodyid]
        return {frozenset(bodies[g] for g in contact.geom) for contact in data.contact}

    source.write_text(f"<mujoco><worldbody>{balls}</worldbody></mujoco>")
    assert robosim.convert(source, target) == ()
    assert touching(source) == touching(target) == {frozenset("ab")}
    source.write_text(f"<mujoco><worldbody>{balls}{arm}</worldbody></mujoco>")
    (told,) = robosim.convert(source, target)
    assert "self_collision=True" in told
    assert touching(source) == {frozenset("ab"), frozenset(("upper", "hand"))}
    assert touching(target) == {frozenset("ab")}
    (told,) = robosim.convert(source, target, self_collision=True)
    assert "overlaps at home: a - b, upper - hand" in told
    assert touching(target) == set()


@pytest.mark.parametrize("suffix", ["urdf", "xml"])
def test_a_gear_on_the_joint_that_closes_a_loop_is_told(suffix, tmp_path):
    """Neither format has coordinates of such a joint; the writer of MJCF had a KeyError."""
    rhombus = robosim.load("rhombus")
    last, wheel = rhombus.loop_joints[0], robosim.Body("wheel", 1.0, np.eye(3))
    robot = replace(
        rhombus,
        bodies=(*rhombus.bodies, wheel),
        joints=(*rhombus.joints, robosim.Joint("axle", "revolute", None, "wheel")),
        home=(*rhombus.home, 0.0),
        couplings=(robosim.Coupling("gear", "axle", last.name),),
    )
    lost = robosim.save(robot, tmp_path / f"robot.{suffix}")
    assert "couplings of joints that close loops: gear" in lost
    assert robosim.load(tmp_path / f"robot.{suffix}").couplings == ()


def test_what_resists_turning_and_moves_by_itself_is_told(tmp_path):
    ball = sphere(0.1)
    (body,), (point,) = ball.bodies, ball.contacts
    point = replace(point, rolling_friction=0.01, restitution=0.5)
    directed = Anisotropy((1, 0, 0), 0.5)
    shape = replace(body.collisions[0], surface_velocity=(1, 0, 0), anisotropy=directed)
    robot = replace(ball, contacts=(point,), bodies=(replace(body, collisions=(shape,)),))
    for suffix in ("urdf", "xml"):
        lost = " ".join(robosim.save(robot, tmp_path / f"m.{suffix}"))
        assert "torsional and rolling friction" in lost
        assert "motions that surfaces have by themselves" in lost
        assert "friction by direction" in lost
        assert "restitution" in lost
