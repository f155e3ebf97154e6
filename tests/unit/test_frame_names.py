"""Names of frames, as of links that were merged, wherever a body is asked for by its name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import (
    Body,
    ContactPoint,
    Dynamics,
    Frame,
    Geometry,
    Joint,
    Mechanism,
    MinimalSimulation,
    ModelError,
    Place,
    PointSpring,
    Sensor,
    Simulation,
    Tendon,
)
from robosim.actuators import Actuator
from robosim.quaternions import from_axis_angle, multiply, rotation_matrix
from robosim.tendons import Point, Wrap

TIP = Frame("tip", (0.1, 0.2, -0.3), (0.5, 0.5, 0.5, 0.5))


def two(**parts):
    """Two floating balls, of which the first has a tip."""
    ball = Geometry("sphere", (0.1,))
    bodies = (
        Body("a", 1.0, np.eye(3), (Frame("a"), TIP), collisions=(ball,)),
        Body("b", 1.0, np.eye(3), collisions=(ball,)),
    )
    joints = (Joint("ja", "floating", None, "a"), Joint("jb", "floating", None, "b"))
    return Mechanism("two", bodies, joints, **parts)


def test_a_frame_stands_for_its_body():
    robot = robosim.load("a1")
    assert robot.body("trunk").name == "base"
    assert robot.body_index("FL_foot") == robot.body_index("FL_calf")
    index, frame = robot.body_or_frame("FL_calf")  # a body before the frame of its name
    assert np.any(robot.frame("FL_calf")[1].position)
    assert (index, *frame.position) == (robot.body_index("FL_calf"), 0, 0, 0)
    with pytest.raises(ModelError, match=r"no body or frame 'nose' \(nearest of \d+: "):
        robot.body("nose")
    fixed = replace(two(), world_frames=(Frame("post"),))
    with pytest.raises(ModelError, match="'post' is fixed to the world"):
        fixed.body("post")


def test_pairs_may_name_frames():
    robot = two(contact_pairs=(("b", "tip"),))
    assert robot.contact_pairs == (("b", "a"),)
    apart = two(self_collision=True, excluded_pairs=(("tip", "b"),))
    assert apart.excluded_pairs == (("a", "b"),)
    assert not apart.touching_shapes()
    again = apart.with_contacts(pairs=[("b", "tip")])
    assert (again.excluded_pairs, len(again.touching_shapes())) == ((), 1)
    with pytest.raises(ModelError, match="a body cannot touch itself"):
        two(contact_pairs=(("a", "tip"),))
    floor = robosim.HalfSpace((0, 0, 1), name="tip")  # an obstacle before a frame of its name
    assert two(obstacles=(floor,), excluded_pairs=(("tip", "b"),)).excluded_pairs == (("tip", "b"),)


def test_a_wrench_acts_at_the_origin_of_a_frame():
    """As the joints of `Dynamics` feel it, and about the centre of mass if it names a body."""
    robot, rng = robosim.load("a1", ground=False), np.random.default_rng(3)
    sim, dynamics = Simulation(robot), Dynamics(robot)
    sim.set_state(dynamics.random(rng))
    w = rng.normal(size=6)
    for name in ("FL_foot", "trunk", "FL_calf"):
        sim.apply_wrench(name, w[:3], w[3:])
        wrench = sim.wrench(name)
        body = robot.body(name).name
        np.testing.assert_array_equal(wrench, sim.wrench(body))
        np.testing.assert_allclose(
            dynamics.transposed(sim.q, {body: wrench}),
            dynamics.transposed(sim.q, {name: w}),
            rtol=0, atol=1e-12,
        )  # fmt: skip
    # The last of the three has gone to the same body as the first: its centre of mass.
    np.testing.assert_array_equal(sim.wrench("FL_foot"), w)
    sim.apply_wrench("FL_foot", w[:3], w[3:], point=sim.state.x[robot.body_index("FL_foot")])
    np.testing.assert_array_equal(sim.wrench("FL_calf"), w)
    with pytest.raises(ModelError, match="no body or frame 'nose'"):
        sim.apply_wrench("nose")


R, P = rotation_matrix(np.array(TIP.quaternion)), np.array(TIP.position)
AT, ALONG = np.array((0.3, -0.1, 0.2)), np.array((0.0, 0.6, 0.8))
TURN = from_axis_angle((1, 2, 3), 0.4)


def test_what_is_placed_on_a_link_is_placed_in_its_frame():
    tip = Place("tip", AT, TURN)
    robot = two(
        contacts=(ContactPoint("c", "tip", AT, axis=ALONG, surface_velocity=ALONG),),
        springs=(PointSpring("s", "tip", "b", AT, stiffness=1.0),
                 PointSpring("t", "b", "tip", (0, 0, 0), AT, stiffness=1.0)),
        tendons=(Tendon("w", (Point("b"), Wrap("cylinder", "tip", 0.1, AT, TURN, Point("tip", AT)),
                              Point("tip", AT))),),
        sensors=(Sensor("f", "framepos", place=tip, reference=tip, bodies=("tip", "a", "b")),),
        actuators=(Actuator("a", {}, place=tip),),
    )  # fmt: skip
    point, turn = P + R @ AT, multiply(TIP.quaternion, TURN)
    wrap, end = robot.tendons[0].path[1:]
    sensor = robot.sensors[0]
    places = (robot.contacts[0], wrap, wrap.side, end, sensor.place, sensor.reference,
              robot.actuators[0].place)  # fmt: skip
    assert {place.body for place in places} == {"a"}
    for place in places:
        np.testing.assert_allclose(place.position, point, atol=1e-15)
        if hasattr(place, "quaternion"):
            np.testing.assert_allclose(place.quaternion, turn, atol=1e-15)
    np.testing.assert_allclose(robot.contacts[0].axis, R @ ALONG, atol=1e-15)
    np.testing.assert_allclose(robot.contacts[0].surface_velocity, R @ ALONG, atol=1e-15)
    assert sensor.bodies == ("a", "b")
    first, second = robot.springs
    assert (first.parent, second.child) == ("a", "a")
    np.testing.assert_allclose(first.parent_position, point, atol=1e-15)
    np.testing.assert_allclose(second.child_position, point, atol=1e-15)
    np.testing.assert_array_equal(replace(robot, name="again").springs[0].parent_position, point)


def test_a_joint_may_name_a_link_as_its_parent():
    more = Joint("j", "revolute", "tip", "c", parent_position=AT, offset=TURN)
    robot = two()
    robot = replace(robot, bodies=(*robot.bodies, Body("c", 1.0, np.eye(3))),
                    joints=(*robot.joints, more), home=None)  # fmt: skip
    joint = robot.joints[robot.joint_index("j")]
    assert joint.parent == "a"
    np.testing.assert_allclose(joint.parent_position, P + R @ AT, atol=1e-15)
    np.testing.assert_allclose(joint.offset, multiply(TIP.quaternion, TURN), atol=1e-15)


def test_a_link_of_the_world_stands_for_the_world():
    post = Frame("post", TIP.position, TIP.quaternion)
    robot = two(
        world_frames=(post,),
        sensors=(Sensor("f", "framepos", place=Place("a"), reference=Place("post", AT, TURN)),),
        springs=(PointSpring("s", "post", "b", AT, stiffness=1.0),),
    )
    assert (robot.sensors[0].reference.body, robot.springs[0].parent) == (None, None)
    np.testing.assert_allclose(robot.sensors[0].reference.position, P + R @ AT, atol=1e-15)
    with pytest.raises(ModelError, match="contact 'c': body 'post' does not exist"):
        replace(robot, contacts=(ContactPoint("c", "post", (0, 0, 0)),))


def test_frames_of_a_simulation():
    """As `Dynamics` has them, in both formulations; and those of the world."""
    robot = replace(robosim.load("a1", ground=False), world_frames=(Frame("post", AT, TURN),))
    rng, dynamics = np.random.default_rng(2), Dynamics(robot)
    q, v = dynamics.random(rng), rng.normal(size=robot.nv)
    for sim in (Simulation(robot), MinimalSimulation(robot, ignore=("limits", "friction"))):
        sim.set_state(q, v)
        for name in ("FL_foot", "trunk", "FL_calf"):
            position, rotation = sim.frame(name)
            expected = dynamics.frame(sim.q, name)
            np.testing.assert_allclose(position, expected[0], atol=1e-12)
            np.testing.assert_allclose(rotation, expected[1], atol=1e-12)
            twist = dynamics.frame_velocity(sim.q, sim.v, name)
            np.testing.assert_allclose(sim.frame_velocity(name), twist, atol=1e-9)
        np.testing.assert_allclose(sim.frame("post")[0], AT)
        np.testing.assert_allclose(sim.frame("post")[1], rotation_matrix(np.array(TURN)))
        np.testing.assert_array_equal(sim.frame_velocity("post"), np.zeros(6))
        with pytest.raises(ModelError, match=r"no frame 'FL_fot' \(nearest of \d+: FL_foot,"):
            sim.frame("FL_fot")
        with pytest.raises(ModelError, match="no frame 'nose'"):
            sim.frame_velocity("nose")


def test_many_names_are_not_all_listed():
    error = ModelError("no x", alternatives=[f"name{k}" for k in range(40)], wanted="nam33")
    assert str(error) == "no x (nearest of 40: name33, name3, name13, name23, name30)"
    assert len(error.alternatives) == 40
    assert str(error.in_file("a.urdf")) == f"a.urdf: {error}"
    few = ModelError("no x", alternatives=("a", "b"), wanted="c")
    assert str(few) == "no x (known: a, b)"
    part = ModelError("no x", alternatives=[f"second/n{k}" for k in range(40)], wanted="n39")
    assert str(part).startswith("no x (nearest of 40: second/n39, ")
