"""Composed mechanisms, written to files and read back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_mechanisms import random_quaternion, random_tree

import robosim
from robosim import Body, Geometry, Joint, Mechanism
from robosim.description.obstacles import obstacle_name
from robosim.description.poses import body_poses
from robosim.models.builders import chain

# What both formats have.
KINDS = ("revolute", "prismatic")


def read_back(robot, file, **options):
    robosim.save(robot, file)
    return robosim.load(file, **options)


def frame_poses(robot, q):
    bodies = body_poses(robot.tree_joints, np.asarray(q))
    found = {}
    for index, frame in robot.frames():
        R, x = bodies[robot.bodies[index].name]
        found[frame.name] = x + R @ np.asarray(frame.position)
    return found


def check_same(robot, again, moved=1e-9):
    """The same names, masses and loops, and every frame at the same place at home."""
    assert set(again.q_names) == set(robot.q_names)
    assert again.total_mass == pytest.approx(robot.total_mass, rel=1e-12)
    for what in ("loop_joints", "couplings", "tendons", "springs"):
        assert [x.name for x in getattr(again, what)] == [x.name for x in getattr(robot, what)]
    home, found = (dict(zip(r.q_names, np.asarray(r.home), strict=True)) for r in (robot, again))
    for name, value in home.items():
        assert found[name] == pytest.approx(value, abs=moved), name
    poses, others = frame_poses(robot, robot.home), frame_poses(again, again.home)
    for name, place in poses.items():
        np.testing.assert_allclose(others[name], place, atol=moved)


@pytest.mark.parametrize("name", ["minitaur", "scissor_lift", "three_link_loop", "slider_crank"])
@pytest.mark.parametrize("how", ["add", "attach"])
def test_shipped_mechanisms_with_loops(tmp_path, name, how):
    a1, other = robosim.load("a1"), robosim.load(name)
    if how == "add":
        robot = a1.add(other, (0.5, 1.0, 0.1), prefix="b/")
    else:  # On a leg in the middle, so that a file has another order.
        other = other if len([j for j in other.tree_joints if j.parent is None]) == 1 else chain(2)
        robot = a1.attach(other, "FL_foot", (0, 0, 1.5), prefix="b/")
    check_same(robot, read_back(robot, tmp_path / "both.xml"), 1e-6)


def test_all_elements(tmp_path):
    """Tendons, gears, poses and things of the world, with what touches what."""
    box = Geometry("box", (0.2, 0.2, 0.2), name="cube")
    world = chain(2).add(chain(3), (0, 1, 0), prefix="c/")
    world = world.add(box, (1, 0, 2), mass=1.0).add(box, (2, 0, 2), prefix="d/", mass=1.0)
    world = world.add(Geometry("box", (1, 1, 0.1), name="table"), (1, 0, 1))
    again = read_back(world, tmp_path / "world.xml", self_collision=False)
    check_same(world, again)
    assert set(map(frozenset, again.contact_pairs)) == {frozenset(("cube", "d/cube"))}
    assert [obstacle_name(shape) for shape in again.obstacles] == ["table"]
    assert {c.body for c in again.contacts} == {"cube", "d/cube"}


def center(robot, q):
    poses = body_poses(robot.tree_joints, q)
    weighed = sum(body.mass * poses[body.name][1] for body in robot.bodies)
    return weighed / robot.total_mass


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.sampled_from((".xml", ".urdf"))
)
def test_random_trees_on_random_trees(tmp_path_factory, seed, n, m, suffix):
    """At random coordinates; a body that a mount holds is one with its parent in a file."""
    rng = np.random.default_rng(seed)
    a, b = (random_tree(rng, k, "revolute", KINDS) for k in (n, m))
    to = f"b{rng.integers(0, n)}"
    robot = a.attach(b, to, rng.normal(size=3), random_quaternion(rng), prefix="b/")
    again = read_back(robot, tmp_path_factory.mktemp("random") / f"robot{suffix}")
    assert set(again.q_names) == set(robot.q_names)
    assert again.total_mass == pytest.approx(robot.total_mass, rel=1e-12)
    at = {name: rng.uniform(-1, 1) for name in robot.q_names}
    states = [np.array([at[name] for name in one.q_names]) for one in (robot, again)]
    poses, others = (
        body_poses(r.tree_joints, q) for r, q in zip((robot, again), states, strict=True)
    )
    np.testing.assert_allclose(center(again, states[1]), center(robot, states[0]), atol=1e-8)
    for body in robot.bodies:
        if body.name not in (to, "b/b0"):
            np.testing.assert_allclose(others[body.name][1], poses[body.name][1], atol=1e-8)


def test_poses_follow_the_order_of_a_file(tmp_path):
    body = Body("ball", 1.0, 0.1 * np.eye(3))
    hand = Mechanism("hand", (body,), (Joint("j", "fixed", None, "ball"),))
    two = Mechanism(
        "two",
        tuple(Body(name, 1.0, 0.1 * np.eye(3)) for name in "abc"),
        (Joint("ja", "revolute", None, "a"), Joint("jb", "revolute", "a", "b"),
         Joint("jc", "revolute", "a", "c")),
        home=(0.1, 0.2, 0.3),
        configurations={"up": (1.0, 2.0, 3.0)},
    )  # fmt: skip
    robot = two.attach(hand, "b", prefix="h/", kind="revolute", axis=(0, 0, 1))
    assert robot.q_names == ("ja", "jb", "jc", "h/mount")
    again = read_back(robot, tmp_path / "robot.xml")
    assert again.q_names == ("ja", "jb", "h/mount", "jc")
    np.testing.assert_allclose(again.home, (0.1, 0.2, 0.0, 0.3), atol=1e-12)
    np.testing.assert_allclose(again.configurations["up"], (1.0, 2.0, 0.0, 3.0), atol=1e-12)
