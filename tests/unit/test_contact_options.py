"""Obstacles, pairs and self-collision as options of a mechanism, and what is read of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import Body, Geometry, HalfSpace, Joint, Mechanism, ModelError, Simulation
from robosim.models.builders import cube, pendulum
from robosim.overlaps import without_overlaps


def arm(gap: float) -> Mechanism:
    """Three boxes on hinges in a row; the first and the third are `gap` apart at home."""
    shape = Geometry("box", (0.1, 0.1, 0.1))
    bodies = tuple(
        Body(name, 1.0, 0.01 * np.eye(3), collisions=(shape,)) for name in ("a", "b", "c")
    )
    joints = (
        Joint("j1", "revolute", None, "a", (0, 1, 0)),
        Joint("j2", "revolute", "a", "b", (0, 1, 0), (0, 0, -0.3)),
        Joint("j3", "revolute", "b", "c", (0, 1, 0), (0.1 + gap, 0, 0.3)),
    )
    return Mechanism("arm", bodies, joints)


def test_self_collision_takes_bodies_without_a_joint_between_them():
    robot = without_overlaps(arm(0.05).with_contacts(self_collision=True))
    assert robot.excluded_pairs == ()
    assert [(a, b) for (a, _), (b, _) in robot.touching_shapes()] == [(0, 2)]


def test_what_overlaps_at_home_is_left_out_and_said():
    asked = arm(-0.01).with_contacts(self_collision=True)
    assert (asked.excluded_pairs, len(asked.touching_shapes())) == ((), 1)
    robot = without_overlaps(asked)
    assert [frozenset(pair) for pair in robot.excluded_pairs] == [frozenset("ac")]
    assert any("a - c" in text for text in robot.warnings)
    assert robot.touching_shapes() == []
    Simulation(robot).step()


def test_a_pair_that_is_asked_for_is_kept():
    robot = arm(-0.01).with_contacts(pairs=[("a", "c")], self_collision=True)
    robot = without_overlaps(robot)
    assert robot.excluded_pairs == ()
    assert len(robot.touching_shapes()) == 1


def test_the_a1_stands_with_self_collision_as_without():
    poses = []
    for flag in (False, True):
        sim = Simulation(robosim.load("a1", self_collision=flag))
        sim.run(0.3, "stand")
        poses.append(sim.q)
    np.testing.assert_allclose(*poses, rtol=0, atol=1e-7)


def test_an_obstacle_in_the_place_of_the_ground():
    robot = cube().with_contacts(obstacles=[HalfSpace(friction=0.3)], ground=False)
    assert robot.contacts == ()
    sim = Simulation(robot, 1e-2)
    sim.run(0.2)
    touching = sim.contacts()
    assert len(touching) == 4
    total = sum(contact.force for contact in touching)
    np.testing.assert_allclose(total, [0, 0, 9.81], atol=1e-6)
    for contact in touching:
        assert contact.body == "cube"
        assert contact.other == "ground"
        np.testing.assert_allclose(contact.normal, [0, 0, 1], atol=1e-12)
        assert 0 <= contact.gap < 1e-6


@pytest.mark.parametrize(
    ("obstacle", "name"),
    [
        (Geometry("box", (2, 2, 0.1), (0, 0, -0.05)), "box"),
        (Geometry("box", (2, 2, 0.1), (0, 0, -0.05), name="slab"), "slab"),
        (HalfSpace(), "ground"),
    ],
)
def test_the_name_that_a_contact_has_is_the_one_that_excludes_it(obstacle, name):
    robot = cube().with_contacts(obstacles=obstacle, ground=False)
    sim = Simulation(robot, 1e-2)
    sim.run(0.05)
    assert {contact.other for contact in sim.contacts()} == {name}
    apart = replace(robot, excluded_pairs=((name, "cube"),))
    assert apart.touching_shapes() == []


def test_limits_push_with_what_keeps_a_joint_inside():
    robot = pendulum()
    joint = replace(robot.joints[0], lower=(0.5,), upper=(2.0,))
    sim = Simulation(replace(robot, joints=(joint,), home=None), 1e-3)
    sim.set_state([0.6])
    sim.run(1.0)
    assert sim.q[0] == pytest.approx(0.5, abs=1e-6)
    # A rod of 1 m and 1 kg: its weight pulls with m g l / 2 sin q towards zero.
    assert sim.limit_forces()[0] == pytest.approx(0.5 * 9.81 * np.sin(0.5), rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": [("a", "nobody")]}, "nobody"),
        ({"pairs": [("a", "a")]}, "a body cannot touch itself"),
    ],
)
def test_wrong_pairs_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        arm(0.05).with_contacts(**options)
