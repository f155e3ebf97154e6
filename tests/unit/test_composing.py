"""One mechanism from two: what is kept, how it is called, where it is, and that it moves alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_mechanisms import random_mechanism, random_quaternion

import robosim
from robosim import (
    Anisotropy,
    Body,
    ContactPoint,
    Coupling,
    Frame,
    Geometry,
    HalfSpace,
    HeightField,
    Joint,
    Mechanism,
    ModelError,
    PointSpring,
    Sensor,
    Simulation,
    Tendon,
    TriangleMesh,
    se3,
)
from robosim.description.obstacles import obstacle_name
from robosim.description.poses import body_poses
from robosim.models.builders import chain, minitaur
from robosim.quaternions import from_axis_angle, rotation_matrix
from robosim.tendons import Point

# A loop, a gear, tendons, a muscle, a servo, sensors, keyframes, things of the world.
RIG = """<mujoco model="rig">
  <option timestep="0.001"/>
  <worldbody>
    <geom name="post" type="box" size="0.1 0.1 0.1" pos="0 -2 0.1"/>
    <site name="hook" pos="0.3 0 1.2"/>
    <body name="base" pos="0 0 1">
      <joint name="swing" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom name="arm" type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="1"/>
      <site name="wrist" pos="0.3 0 0"/>
      <body name="hand" pos="0.3 0 0">
        <joint name="wave" type="hinge" axis="0 1 0" damping="0.1"/>
        <geom name="palm" type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.5"/>
        <site name="tip" pos="0.2 0 0"/>
      </body>
    </body>
    <body name="lever" pos="0.5 0 1">
      <joint name="tilt" type="hinge" axis="0 1 0"/>
      <geom name="beam" type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/>
      <body name="leaf" pos="0 0 -0.3">
        <joint name="turn" type="hinge" axis="0 1 0"/>
        <geom name="blade" type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.2"/>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect name="pin" body1="hand" body2="lever" anchor="0.2 0 0"/>
    <joint name="gear" joint1="turn" joint2="tilt" polycoef="0.1 -0.5 0 0 0"/>
  </equality>
  <tendon>
    <spatial name="cord" stiffness="20" springlength="0.1">
      <site site="hook"/><site site="wrist"/>
    </spatial>
    <fixed name="sum" stiffness="1" springlength="0.2">
      <joint joint="swing" coef="1"/><joint joint="wave" coef="-2"/>
    </fixed>
  </tendon>
  <actuator>
    <motor name="push" joint="swing" ctrlrange="-5 5"/>
    <muscle name="pull" tendon="cord" force="10" lengthrange="0.05 0.6"/>
  </actuator>
  <sensor>
    <framepos name="place" objtype="site" objname="tip"/>
    <gyro name="spin" site="tip"/>
    <jointpos name="angle" joint="wave"/>
    <tendonpos name="length" tendon="cord"/>
    <force name="load" site="wrist"/>
  </sensor>
  <keyframe><key name="bent" qpos="0.2 -0.1 0 0.1"/></keyframe>
</mujoco>"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    file = tmp_path_factory.mktemp("rig") / "rig.xml"
    file.write_text(RIG)
    return robosim.load(file)


def transformation(position, quaternion):
    return se3.transformation(rotation_matrix(np.asarray(quaternion)), position)


def poses(robot, q=None):
    """Pose (4, 4) of each frame by its name, with the tree at q."""
    q = np.asarray(robot.home if q is None else q)
    found = {frame.name: transformation(frame.position, frame.quaternion)
             for frame in robot.world_frames}  # fmt: skip
    bodies = body_poses(robot.tree_joints, q)
    for index, frame in robot.frames():
        of_body = se3.transformation(*bodies[robot.bodies[index].name])
        found[frame.name] = of_body @ transformation(frame.position, frame.quaternion)
    return found


def ball(name="ball", **parts):
    """A free ball with contact points of its own."""
    shape = Geometry("sphere", (0.1,), name=name)
    body = Body(name, 1.0, 0.004 * np.eye(3), collisions=(shape,))
    return Mechanism(name, (body,), (Joint("free", "floating", None, name),), **parts)


def arm(name="arm", **parts):
    """Two hinges on a fixed foot, with boxes that overlap where they meet."""
    sizes = {"foot": 0.2, "upper": 0.3, "lower": 0.3}
    bodies = tuple(
        Body(link, 1.0, 0.01 * np.eye(3), frames=(Frame(link, (0, 0, -size / 2)),
                                                  Frame(f"{link}_top", (0, 0, size / 2))),
             collisions=(Geometry("box", (0.1, 0.1, size), name=link),))
        for link, size in sizes.items()
    )  # fmt: skip
    at = {link: (0, 0, size / 2) for link, size in sizes.items()}
    below = {link: (0, 0, -size / 2) for link, size in sizes.items()}
    joints = (
        Joint("root", "fixed", None, "foot", child_position=below["foot"]),
        Joint("shoulder", "revolute", "foot", "upper", axis=(0, 1, 0),
              parent_position=at["foot"], child_position=below["upper"]),
        Joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0),
              parent_position=at["upper"], child_position=below["lower"]),
    )  # fmt: skip
    return Mechanism(name, bodies, joints, **parts)


# --- what is kept


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.integers(0, 1))
def test_random_mechanisms_beside_each_other(seed, n, m, loops):
    (a, qa, _), (b, qb, _) = (
        random_mechanism(seed, n, loops, 0),
        random_mechanism(seed + 1, m, 1, 1),
    )
    rng = np.random.default_rng(seed)
    p, turn = rng.normal(size=3), random_quaternion(rng)
    a, b = (replace(r, home=q, configurations={"up": r.neutral()}) for r, q in ((a, qa), (b, qb)))
    both = a.add(b, p, turn, prefix="b/")
    check_kept(a, b, both, transformation(p, turn))
    assert both.joints[len(both.bodies) :] == (*a.loop_joints, *both.joints[-len(b.loop_joints) :])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.integers(0, 1))
def test_random_mechanisms_on_each_other(seed, n, m, loops):
    """Loops stay as closed as they were, wherever the root is put."""
    (a, qa, _), (b, qb, _) = (
        random_mechanism(seed, n, loops, 0),
        random_mechanism(seed + 1, m, 1, 0),
    )
    rng = np.random.default_rng(seed)
    p, turn, to = rng.normal(size=3), random_quaternion(rng), f"b{rng.integers(0, n)}"
    a, b = replace(a, home=qa), replace(b, home=qb)
    both = a.attach(b, to, p, turn, prefix="b/", kind="spherical")
    before, other, found = poses(a), poses(b), poses(both)
    moved = before[to] @ transformation(p, turn) @ se3.inverse(other["b0"])
    expected = before | {f"b/{name}": moved @ pose for name, pose in other.items()}
    for name, pose in expected.items():
        np.testing.assert_allclose(found[name], pose, atol=1e-12)
    assert both.q_names == (*a.q_names, *(f"b/mount.q{k}" for k in "wxyz"),
                            *(f"b/{name}" for name in b.q_names[7:]))  # fmt: skip
    assert [joint.name for joint in both.loop_joints] == [
        *(joint.name for joint in a.loop_joints), *(f"b/{joint.name}" for joint in b.loop_joints)
    ]  # fmt: skip


def check_kept(a, b, both, E):
    """All of both is there, first the one's, then the other's, which is moved by E."""
    for what in ("bodies", "tree_joints", "loop_joints", "contacts", "springs", "couplings",
                 "tendons", "actuators", "sensors", "obstacles", "world_frames"):  # fmt: skip
        names = [[obstacle_name(x) if what == "obstacles" else x.name for x in getattr(r, what)]
                 for r in (a, b, both)]  # fmt: skip
        assert names[2] == [*names[0], *(f"b/{name}" for name in names[1])], what
    assert both.q_names == (*a.q_names, *(f"b/{name}" for name in b.q_names))
    assert both.v_names == (*a.v_names, *(f"b/{name}" for name in b.v_names))
    assert set(both.effort_ranges) == {*a.effort_ranges, *(f"b/{k}" for k in b.effort_ranges)}
    np.testing.assert_array_equal(both.home[: a.nq], a.home)
    assert set(both.configurations) == {*a.configurations, *(f"b/{k}" for k in b.configurations)}
    moves = [(both.home, a.home, b.home)]
    moves += [(both.configurations[name], q, b.home) for name, q in a.configurations.items()]
    moves += [(both.configurations[f"b/{k}"], a.home, q) for k, q in b.configurations.items()]
    for whole, qa, qb in moves:
        expected = poses(a, qa) | {f"b/{k}": E @ pose for k, pose in poses(b, qb).items()}
        found = poses(both, whole)
        assert found.keys() == expected.keys()
        for name, pose in expected.items():
            np.testing.assert_allclose(found[name], pose, atol=1e-12)


@pytest.mark.parametrize("name", ["three_link_loop", "scissor_lift", "knee_spline", "minitaur",
                                  "slider_crank", "screw", "universal_chain"])  # fmt: skip
def test_shipped_mechanisms_beside_each_other(name):
    a, b = robosim.load("a1"), robosim.load(name)
    p, turn = (0.3, 1.5, 0.1), from_axis_angle((0, 0, 1), 0.7)
    check_kept(a, b, a.add(b, p, turn, prefix="b/"), transformation(p, turn))


def test_all_elements_beside_each_other(rig):
    p, turn = (0.5, 3.0, 0.1), from_axis_angle((0, 0, 1), 0.4)
    both = rig.add(rig, p, turn, prefix="b/")
    check_kept(rig, rig, both, transformation(p, turn))
    tendons = {tendon.name: tendon for tendon in both.tendons}
    cord, sum_ = tendons["b/cord"], tendons["b/sum"]
    assert [item.body for item in cord.path] == [None, "b/base"]
    np.testing.assert_allclose(
        cord.path[0].position, transformation(p, turn)[:3] @ [0.3, 0, 1.2, 1], atol=1e-15
    )
    assert [term.coordinate for term in sum_.path] == ["b/swing", "b/wave"]
    assert [list(actuator.gears) for actuator in both.actuators[2:]] == [["b/swing"], ["b/cord"]]
    assert both.sensor("b/angle").of == {"b/wave": 1.0}
    assert both.sensor("b/load").bodies == ("b/base", "b/hand")


def test_each_of_two_moves_as_alone(rig):
    """Loops, gears, tendons, servos, sensors and contacts included."""
    both = rig.add(rig, (0.0, 3.0, 0.0), prefix="b/", contact="none")
    alone, whole = Simulation(rig, solver="ldu"), Simulation(both, solver="ldu")
    tau = np.full(rig.nu, 0.3)
    for _ in range(60):
        alone.step(tau)
        whole.step(np.tile(tau, 2))
    np.testing.assert_allclose(whole.q, np.tile(alone.q, 2), atol=1e-9)
    for sensor in rig.sensors:
        expected = alone.sensor(sensor.name)
        np.testing.assert_allclose(whole.sensor(sensor.name), expected, atol=1e-6)
        shift = np.array([0.0, 3.0, 0.0]) if sensor.name == "place" else 0.0
        np.testing.assert_allclose(whole.sensor(f"b/{sensor.name}"), expected + shift, atol=1e-6)


@pytest.mark.parametrize("contact", ["none", "all"])
def test_two_a1_stand_as_one_does(contact):
    a1 = robosim.load("a1")
    pair = a1.add(a1, position=(0, 1, 0), prefix="second/", contact=contact)
    alone, both = Simulation(a1), Simulation(pair)
    alone.run(2.0, "stand")
    both.run(2.0, "stand")
    x = both.state.x.reshape(2, -1, 3)
    assert np.abs(alone.state.x - Simulation(a1).state.x).max() > 1e-3  # it has moved
    np.testing.assert_allclose(x[0], alone.state.x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(x[1] - [0, 1, 0], alone.state.x, rtol=0, atol=1e-9)


def test_world_things_move_with_the_other_one():
    field = HeightField(np.zeros((2, 2)), (1.0, 1.0), name="field")
    mesh = Geometry("mesh", vertices=np.eye(3), faces=[[0, 1, 2]], name="mesh")
    slope = HalfSpace((0, 0, 1), (0, 0, -3), name="slope", surface_velocity=(1, 0, 0))
    shapes = (field, TriangleMesh(mesh), slope, Geometry("box", (1, 1, 1), (9, 0, 0)))
    other = ball(obstacles=shapes)
    turn = from_axis_angle((1, 0, 0), np.pi / 2)
    both = ball("first").add(other, (0, 0, 5), turn, prefix="b/", contact="none")
    found = {obstacle_name(shape): shape for shape in both.obstacles}
    assert set(found) == {"b/field", "b/mesh", "b/slope", "b/box"}
    np.testing.assert_allclose(found["b/field"].position, (0, 0, 5))
    np.testing.assert_allclose(found["b/mesh"].geometry.quaternion, turn)
    np.testing.assert_allclose(found["b/slope"].normal, (0, -1, 0), atol=1e-15)
    np.testing.assert_allclose(found["b/slope"].point, (0, 3, 5), atol=1e-15)
    np.testing.assert_allclose(found["b/slope"].surface_velocity, (1, 0, 0))
    np.testing.assert_allclose(found["b/box"].position, (9, 0, 5))


def test_directions_of_friction_move_and_are_renamed():
    """Those of the world with what replaces it, others with the names of their bodies."""
    turn = from_axis_angle((1, 0, 0), np.pi / 2)
    names = None, "world", "ball"
    points = tuple(
        ContactPoint(f"p{k}", "ball", (0, 0, 0), 0.1, anisotropy=Anisotropy((0, 1, 0), 0.5, axes=a))
        for k, a in enumerate(names)
    )
    shapes = tuple(HalfSpace(name=one.name, anisotropy=one.anisotropy) for one in points)
    other = ball(contacts=points, obstacles=shapes)
    solid = replace(other.bodies[0], collisions=tuple(
        Geometry("sphere", (0.1,), anisotropy=one.anisotropy) for one in points))  # fmt: skip
    both = ball("first").add(replace(other, bodies=(solid,)), (0, 0, 5), turn, prefix="b/",
                             contact="none")  # fmt: skip
    up = (0, 0, 1)
    for parts, turned in ((both.contacts[-3:], [(0, 1, 0), up, (0, 1, 0)]),
                          (both.bodies[-1].collisions, [(0, 1, 0), up, (0, 1, 0)]),
                          (both.obstacles, [up, up, (0, 1, 0)])):  # fmt: skip
        assert [part.anisotropy.axes for part in parts] == [None, "world", "b/ball"]
        found = [part.anisotropy.direction for part in parts]
        np.testing.assert_allclose(found, turned, rtol=0, atol=1e-15)


def test_a_base_that_something_acts_along_moves_with_its_anchor():
    """The spring of the other one rests where the other one rests."""
    held = replace(ball(), joints=(Joint("free", "floating", None, "ball", stiffness=10.0),))
    moved = ball("first").add(held, (1, 2, 3), prefix="b/")
    np.testing.assert_array_equal(moved.home[7:], held.home)
    np.testing.assert_allclose(moved.joints[1].parent_position, (1, 2, 3))
    np.testing.assert_allclose(poses(moved)["b/ball"][:3, 3], (1, 2, 3))


def test_stances_are_kept():
    a1 = robosim.load("a1")
    for first, second, k in ((a1, chain(2), 0), (chain(2), a1, 2)):
        both = first.add(second, (0, 2, 0), prefix="b/")
        own = slice(k, k + 12)
        for what in ("target", "kp", "kd"):
            np.testing.assert_array_equal(getattr(both.stance, what)[own], getattr(a1.stance, what))
        others = np.setdiff1d(np.arange(14), np.arange(14)[own])
        assert not np.any(both.stance.kp[others])
        assert not np.any(both.stance.kd[others])
    assert chain(2).add(chain(2), (0, 2, 0), prefix="b/").stance is None


# --- on a frame


def test_a_root_is_put_on_a_frame():
    p, turn = np.array((0.1, 0.2, 0.3)), from_axis_angle((1, 2, 3), 0.8)
    base = arm(home=(0.3, -0.5))
    for other in (arm("hand"), ball("hand")):
        both = base.attach(other, "upper_top", p, turn, prefix="b/")
        mount = both.joints[3]
        assert (mount.name, mount.kind, mount.parent) == ("b/mount", "fixed", "upper")
        root = f"b/{other.bodies[0].name}"
        expected = poses(base)["upper_top"] @ transformation(p, turn)
        np.testing.assert_allclose(poses(both)[root], expected, atol=1e-14)
        assert both.q_names == (
            *base.q_names,
            *(f"b/{k}" for k in other.q_names if "free" not in k),
        )
        assert [joint.name for joint in both.joints[:3]] == ["root", "shoulder", "elbow"]


def test_what_hangs_on_a_mount_comes_last():
    """Though the frame is on a body before others: orders of what is there never change."""
    a1 = robosim.load("a1")
    both = a1.attach(chain(2), "FR_foot", prefix="tail/", contact="none")
    assert both.actuated_names == (*a1.actuated_names, "tail/joint2")
    order = [joint.name for joint in both.joints]
    assert order[: len(a1.joints)] == [joint.name for joint in a1.joints]
    assert both.q_names[: a1.nq] == a1.q_names
    kept = replace(both, name="again").with_contacts(ground=False)
    assert kept.q_names == both.q_names


def test_a_mount_may_move():
    both = arm().attach(ball("hand"), "lower_top", prefix="b/", kind="revolute", axis=(1, 0, 0))
    mount = both.joints[3]
    assert (mount.nv, tuple(mount.axis)) == (1, (1, 0, 0))
    assert both.home.tolist() == [0.0, 0.0, 0.0]
    swung = poses(both, [0, 0, 0.4])["b/hand"] @ np.linalg.inv(poses(both)["b/hand"])
    np.testing.assert_allclose(se3.log(swung)[3:], (0.4, 0, 0), atol=1e-14)
    free = arm().attach(ball("hand"), "lower_top", prefix="b/", kind="spherical")
    np.testing.assert_array_equal(free.home, (0, 0, 1, 0, 0, 0))


def test_another_joint_to_the_world_makes_way_and_is_told():
    both = arm().attach(chain(2), "lower_top", prefix="b/")
    assert (both.nq, both.joints[3].name, both.joints[3].kind) == (3, "b/mount", "fixed")
    assert any("revolute joint 'b/joint1' to the world has made way" in w for w in both.warnings)


def test_a_root_without_mass_becomes_part_of_the_body():
    other = Mechanism(
        "claw",
        (Body("finger", 0.1, 1e-4 * np.eye(3)),),
        (Joint("grip", "prismatic", None, "finger", parent_position=(0.1, 0, 0)),),
        world_frames=(Frame("palm", (0, 0, -0.2)), Frame("world")),
        springs=(PointSpring("s", None, "finger", (0, 0, 0), rest_length=0.1, stiffness=5.0),),
        sensors=(Sensor("x", "framepos", place=robosim.Place("finger")),),
    )
    base = arm(home=(0.3, -0.5))
    both = base.attach(other, "lower_top", (0, 0, 0.1), prefix="b/")
    palm = poses(base)["lower_top"] @ transformation((0, 0, 0.1), (1, 0, 0, 0))
    np.testing.assert_allclose(poses(both)["b/palm"], palm, atol=1e-14)
    finger = palm @ transformation((0.1, 0, 0.2), (1, 0, 0, 0))
    np.testing.assert_allclose(poses(both)["b/finger"], finger, atol=1e-14)
    assert (both.joints[3].parent, both.springs[0].parent) == ("lower", "lower")
    assert both.sensor("b/x").reference.body is None  # the world stays the world
    assert any("fixed to its world have no mass" in w and "b/palm" in w for w in both.warnings)
    with pytest.raises(ModelError, match="root without mass, which can be attached as 'fixed'"):
        base.attach(other, "lower_top", prefix="b/", kind="revolute")


def test_what_is_of_the_world_stays_there():
    """Where it is as seen from the root, both at home."""
    post = Geometry("box", (0.1, 0.1, 0.1), (0, 1, 0), name="post")
    other = replace(ball("hand"), obstacles=(post,), home=(0, 0, 2, 1, 0, 0, 0))
    both = arm().attach(other, "lower_top", prefix="b/", contact="none")
    np.testing.assert_allclose(both.obstacles[0].position, (0, 1, 0.8 - 2.0), atol=1e-14)


def test_loops_go_along():
    """A four-legged machine with loops, on an arm, keeps them closed."""
    mini = minitaur()
    both = arm().attach(mini, "lower_top", prefix="m/", contact="none")
    assert len(both.loop_joints) == len(mini.loop_joints)
    sim = Simulation(both)
    assert sim.constraint_violation() < 1e-8
    np.testing.assert_allclose(sim.q, both.home, atol=1e-6)


# --- bodies and shapes


def test_a_shape_becomes_an_obstacle_or_a_body():
    world = arm().add(Geometry("box", (1, 1, 0.2), (0, 0, 0.1), name="table"), (2, 0, 0))
    np.testing.assert_allclose(world.obstacles[0].position, (2, 0, 0.1))
    cube = Geometry("box", (0.1, 0.2, 0.3), (0, 0, 0.15), name="cube", friction=0.4)
    world = world.add(cube, (2, 0, 0.2), prefix="my/", mass=3.0)
    body = world.body("my/cube")
    moments = 3.0 / 12 * np.array((0.04 + 0.09, 0.01 + 0.09, 0.01 + 0.04))
    np.testing.assert_allclose(body.inertia, np.diag(moments), rtol=1e-14)
    assert body.mass == 3.0
    np.testing.assert_allclose(poses(world)["my/cube"][:3, 3], (2, 0, 0.2))
    points = [c for c in world.contacts if c.body == "my/cube"]
    assert len(points) == 8
    assert {c.friction for c in points} == {0.4}
    assert (world.joints[-1].kind, world.joints[-1].name) == ("floating", "my/floating_base")
    more = world.add(replace(cube, name="other"), (4, 0, 0), prefix="my/", mass=1.0)
    assert more.joints[-1].name == "my/other/floating_base"
    assert world.add(cube, (4, 0, 0), mass=1.0).joints[-1].name == "cube/floating_base"
    # At home the lowest corners are on the table.
    R, x = body_poses(world.tree_joints, world.home)["my/cube"]
    assert min((x + R @ c.position)[2] for c in points) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("shape", "moments"),
    [
        (Geometry("sphere", (0.5,), name="s"), [0.1] * 3),
        (Geometry("cylinder", (0.2, 0.6), name="s"), [0.04 / 4 + 0.03, 0.04 / 4 + 0.03, 0.02]),
        (Geometry("capsule", (0.3, 1e-12), name="s"), [0.4 * 0.09] * 3),
    ],
)
def test_bodies_of_uniform_density(shape, moments):
    body = ball().add(shape, (5, 0, 0), mass=1.0).body("s")
    np.testing.assert_allclose(np.diag(body.inertia), moments, rtol=1e-9)


def test_a_mesh_has_the_inertia_of_what_it_encloses():
    corners = np.array([(x, y, z) for x in (0, 2) for y in (0, 4) for z in (0, 6)], dtype=float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    shape = Geometry("mesh", vertices=corners, faces=faces, name="s",
                     quaternion=from_axis_angle((0, 0, 1), np.pi / 2))  # fmt: skip
    world = ball().add(shape, (50, 0, 0), mass=12.0)
    expected = np.diag((16.0 + 36, 4 + 36, 4 + 16))[[1, 0, 2]][:, [1, 0, 2]]
    np.testing.assert_allclose(world.body("s").inertia, expected, atol=1e-12)
    flat = replace(shape, vertices=corners * (1, 1, 0))
    with pytest.raises(ModelError, match="'s': encloses no volume"):
        ball().add(flat, (50, 0, 0), mass=1.0)


def test_a_body_may_be_added_or_attached():
    tool = Body("tool", 0.3, 1e-3 * np.eye(3), frames=(Frame("tool", (0, 0, -0.1)),))
    np.testing.assert_allclose(poses(ball().add(tool, (1, 0, 0)))["tool"][:3, 3], (1, 0, 0))
    on_arm = arm().attach(tool, "lower_top")
    np.testing.assert_allclose(poses(on_arm)["tool"], poses(arm())["lower_top"], atol=1e-15)
    assert on_arm.joints[-1].name == "mount"


# --- what touches what


def pairs(robot):
    """Names of bodies and obstacles whose shapes may touch."""
    found = set()
    for (a, shape), (b, _) in robot.touching_shapes():
        first = obstacle_name(shape) if a is None else robot.bodies[a].name
        found.add(frozenset((first, robot.bodies[b].name)))
    return found


def named(*listed):
    return {frozenset(pair) for pair in listed}


LINKS = ("foot", "upper", "lower")


def test_all_of_the_one_touches_all_of_the_other():
    post = Geometry("box", (0.1, 0.1, 0.1), (5, 0, 0), name="post")
    first = arm(obstacles=(post,))
    both = first.add(ball(), (0, 2, 1), prefix="b/")
    expected = named(*((link, "b/ball") for link in LINKS), ("post", "b/ball"))
    assert pairs(both) == pairs(first) | expected
    assert not both.warnings
    assert pairs(first.add(ball(), (0, 2, 1), prefix="b/", contact="none")) == pairs(first)
    asked = [("lower_top", "b/ball"), ("b/ball", "post")]
    both = first.add(ball(), (0, 2, 1), prefix="b/", contact=asked)
    assert pairs(both) == pairs(first) | named(("lower", "b/ball"), ("post", "b/ball"))


@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("theirs", [False, True])
@pytest.mark.parametrize("contact", ["all", "none"])
def test_what_touches_within_each_stays(ours, theirs, contact):
    a, b = arm(self_collision=ours), arm(self_collision=theirs)
    both = a.add(b, (0, 2, 0), prefix="b/", contact=contact)
    own = pairs(a) | {frozenset(f"b/{name}" for name in pair) for pair in pairs(b)}
    cross = named(*((x, f"b/{y}") for x in LINKS for y in LINKS if "foot" not in (x, y)),
                  *(("foot", f"b/{x}") for x in LINKS[1:]),
                  *((x, "b/foot") for x in LINKS[1:]))  # fmt: skip
    assert pairs(both) == own | (cross if contact == "all" else set())
    assert both.self_collision is (ours and theirs and contact == "all")


def test_what_overlaps_at_home_is_left_out_and_listed():
    both = arm().add(arm(), (0.05, 0, 0.25), prefix="b/")
    out = named(("foot", "b/foot"), ("upper", "b/upper"), ("upper", "b/foot"), ("lower", "b/lower"),
                ("lower", "b/upper"))  # fmt: skip
    # What is fixed to the world twice cannot touch at all.
    assert named(*both.excluded_pairs) == out - named(("foot", "b/foot"))
    assert pairs(both).isdisjoint(out)
    (told,) = both.warnings
    assert told.startswith("contacts leave out what overlaps at home: ")
    assert "upper - b/foot" in told
    # Pairs that are asked for stay.
    asked = arm().add(arm(), (0.05, 0, 0.25), prefix="b/", contact=[("upper", "b/upper")])
    assert pairs(asked) == named(("upper", "b/upper"))
    assert not asked.warnings


def test_an_obstacle_that_overlaps_what_is_tied_to_the_world_is_left_out():
    table = Geometry("box", (1, 1, 0.3), (0, 0, 0.1), name="table")
    world = arm().add(table)
    assert pairs(world) == named(("table", "lower"))
    assert world.warnings[-1] == "contacts leave out what overlaps at home: table - upper"
    free = ball(home=(0, 0, 0.2, 1, 0, 0, 0))
    assert pairs(free.add(table)) == named(("table", "ball"))  # it has a way out


def test_what_a_mount_joins_does_not_touch():
    both = arm().attach(ball("hand"), "lower_top", (0, 0, 0.5), prefix="b/", kind="revolute")
    assert pairs(both) == named(("foot", "b/hand"), ("upper", "b/hand"))
    assert both.warnings == ("contacts leave out what a mount joins: lower - b/hand",)


# --- names


def test_a_name_that_both_have_proposes_a_prefix():
    with pytest.raises(ModelError, match=r"body, frame or obstacle 'foot': .* prefix='arm/'"):
        arm().add(arm(), (0, 2, 0))
    two = arm().add(arm(), (0, 2, 0), prefix="arm/")
    with pytest.raises(ModelError, match=r"'arm/foot': .* prefix='arm2/'"):
        two.add(arm(), (0, 4, 0), prefix="arm/")
    assert len(two.add(arm(), (0, 4, 0), prefix="arm2/").bodies) == 9


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ({"contacts": (ContactPoint("c", "{}", (0, 0, 0)),)}, "contact 'c'"),
        ({"configurations": {"up": np.eye(7)[3]}}, "configuration 'up'"),
        ({"sensors": (Sensor("s", "clock"),)}, "sensor 's'"),
        ({"tendons": (Tendon("t", (Point(None), Point("{}"))),)}, "tendon 't'"),
        ({"obstacles": (HalfSpace(name="h"),)}, "obstacle 'h'"),
    ],
)
def test_names_of_every_kind_are_compared(parts, what):
    def one(name):
        robot = ball(name)
        robot = replace(robot, joints=(replace(robot.joints[0], name=name),))
        own = dict(parts)
        if "contacts" in own:
            own["contacts"] = (ContactPoint("c", name, (0, 0, 0)),)
        if "tendons" in own:
            own["tendons"] = (Tendon("t", (Point(None), Point(name))),)
        return replace(robot, **own)

    with pytest.raises(ModelError, match=f"{what}: both have"):
        one("x").add(one("y"), (3, 0, 0), contact="none")
    one("x").add(one("y"), (3, 0, 0), prefix="b/", contact="none")


def test_a_mount_is_called_by_the_prefix():
    hand = arm("hand").attach(ball("tip"), "lower_top")
    both = arm().attach(hand, "lower_top", prefix="b/", contact="none")
    assert [joint.name for joint in both.joints] == [
        "root", "shoulder", "elbow", "b/mount_", "b/shoulder", "b/elbow", "b/mount",
    ]  # fmt: skip
    with pytest.raises(ModelError, match="'mount': both have this name"):
        hand.attach(Body("other", 1.0, np.eye(3)), "lower_top")


REFUSED = [
    (lambda: arm().attach(ball(), "lower_tip"), r"no frame 'lower_tip' to attach to \(known: foot"),
    (lambda: robosim.load("a1").attach(ball(), "FR_fot"), r"nearest of \d+: FR_foot, "),
    (lambda: arm().add("cube"), r"'cube': cannot be added \(known: Mechanism, Body, Geometry"),
    (lambda: arm().add(ball(), mass=1.0), "mass is for a shape"),
    (lambda: arm().add(ball().bodies[0], mass=1.0), "has a mass of 1.0 kg"),
    (lambda: arm().add(HalfSpace(), mass=1.0), "mass=1.0 is for a Geometry"),
    (lambda: arm().add(Geometry("sphere", (1,)), mass=-1.0), "mass must be positive, not -1"),
    (lambda: arm().add(ball(), (0, 0)), r"add: position must have shape \(3,\)"),
    (lambda: arm().add(ball(), (0, 0, np.nan)), "add: position must be finite"),
    (lambda: arm().add(ball(), quaternion=(1, 1, 0, 0)), "add: quaternion must have unit norm"),
    (lambda: arm().add(ball(), prefix=3), "prefix must be text, such as 'second/', not 3"),
    (lambda: arm().add(ball(), contact="some"), "contact cannot be 'some' .known: all, none"),
    (lambda: arm().add(ball(), contact=["ab"]), "contact must be pairs of names, not 'ab'"),
    (lambda: arm().add(ball(), contact=[("lower", "bal")]), r"'bal'\): no body or frame 'bal'"),
    (lambda: arm().add(ball(), contact=[("lower", "foot")]), "a body of the one and a body of the"),
    (lambda: arm().attach(ball(), "lower", kind="rope"), "unknown joint kind 'rope'"),
    (lambda: arm().attach(Geometry("sphere", (1,)), "lower"), "shape needs a mass to be attached"),
    (lambda: arm().add(Geometry("box", (1, 1, 1), name="foot"), (3, 0, 0)), "'foot': there is one"),
    (lambda: arm().attach(ball().add(ball(), (1, 0, 0), prefix="b/"), "lower"),
     "no single root to attach, but several joints to the world: 'free', 'b/free'"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_what_is_wrong_is_refused_by_name(wrong, message):
    with pytest.raises(ModelError, match=message):
        wrong()


def test_couplings_go_along():
    gear = Coupling("gear", "elbow", "shoulder", -2.0)
    both = arm().add(arm(couplings=(gear,)), (0, 2, 0), prefix="b/", contact="none")
    (found,) = both.couplings
    assert (found.name, found.joint, found.source) == ("b/gear", "b/elbow", "b/shoulder")


# --- told in short


def test_a_mechanism_is_told_in_a_line_and_in_a_table():
    robot = robosim.load("a1")
    assert repr(robot) == "Mechanism('a1', 13 bodies, 13 joints, nq=19, nv=18, nu=12, 13.741 kg)"
    page = replace(robot, name="<a1>")._repr_html_()
    assert page.count("<table>") == 3
    assert "&lt;a1&gt;" in page
    assert "<a1>" not in page
    assert "FR_thigh_joint" in page
    assert "mass [kg]" in page
    assert "4 in loops" in repr(minitaur())
    assert "loop" in minitaur()._repr_html_()
