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
    ModelError,
    Place,
    PointSpring,
    Sensor,
    Simulation,
    Tendon,
)
from robosim.actuators import Actuator
from robosim.tendons import Point

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
    with pytest.raises(ModelError, match=r"no body or frame 'nose' \(known: base, .*FL_foot"):
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


@pytest.mark.parametrize(
    "parts",
    [
        {"contacts": (ContactPoint("c", "tip", (0, 0, 0)),)},
        {"springs": (PointSpring("s", "tip", "b", stiffness=1.0),)},
        {"springs": (PointSpring("s", "b", "tip", stiffness=1.0),)},
        {"tendons": (Tendon("t", (Point("b"), Point("tip"))),)},
        {"sensors": (Sensor("s", "framepos", place=Place("tip")),)},
        {"actuators": (Actuator("a", {}, place=Place("tip")),)},
    ],
    ids=["contact", "spring's parent", "spring's child", "tendon", "sensor", "actuator"],
)
def test_what_is_placed_on_a_body_names_that_body(parts):
    """A position in the axes of a body would mean another place in those of a frame."""
    with pytest.raises(ModelError, match="'tip' does not exist; it is a frame of body 'a'"):
        two(**parts)
