"""Rows of constraints: their Jacobians and J' v are what values and rates do along a motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import random_coordinates, random_joint, random_tree

from robosim import Body, ContactPoint, Coupling, Dynamics, Joint, Mechanism, ModelError, Tendon
from robosim.dynamics.constraints import Constraints
from robosim.dynamics.lengths import Lengths
from robosim.joints import KINDS
from robosim.kinematics.recursion import Recursion
from robosim.tendons import Point, Term

STEP = 1e-3
# Of fourth order: what is left is some 1e-12 of the fifth derivative.
AROUND, WEIGHTS = (-2, -1, 1, 2), np.array((1, -8, 8, -1)) / 12


def constraints(robot, **asked):
    return Constraints(Recursion(robot, (0, 0, 0)), Lengths(robot), **asked)


def looped(kind, parent):
    """A joint of a kind, from a body or the world, whose loop is open at the poses of tests."""
    rng = np.random.default_rng(7)
    tree = random_tree(rng, 4, kinds=("revolute", "spherical", "prismatic"))
    joint = random_joint(rng, "loop", kind, parent, "b3")
    return replace(tree, joints=(*tree.joints, joint))


def coupled():
    """Gears: within the tree, and to a hinge and a slide that close loops."""
    rng = np.random.default_rng(2)
    tree = random_tree(rng, 4, base="revolute", kinds=("revolute",))
    hinge = random_joint(rng, "hinge", "revolute", "b0", "b3")
    slide = random_joint(rng, "slide", "prismatic", None, "b2")
    hinge = replace(hinge, motion=lambda t: 0.2, lower=[-0.1], upper=[3.0])
    gears = Coupling("g1", "j1", "j2", -1.5, 0.2), Coupling("g2", "hinge", "j1", 0.7)
    return replace(
        tree,
        joints=(*tree.joints, hinge, slide),
        couplings=(*gears, Coupling("g3", "j3", "slide", 2.0)),
    )


def tendons():
    tree = random_tree(np.random.default_rng(4), 3, base="revolute", kinds=("revolute",))
    terms = Term("j0", 1.0, (0.3, -0.2, 0.1)), Term("j2", -2.0)
    path = Point(None, (0, 0, 3)), Point("b1", (0.1, 0, 0)), Point("b2", (0, 0.1, 0))
    lengths = {"lower": 1.0, "upper": 1.0}
    held = Tendon("sum", terms, **lengths), Tendon("path", path, **lengths)
    return replace(tree, tendons=(*held, Tendon("limited", path, upper=2.0)))


def held():
    tree = random_tree(np.random.default_rng(9), 3)
    points = ContactPoint("tip", "b2", (0.1, 0.2, 0.3)), ContactPoint("ball", "b1", (0, 0, 0), 0.2)
    return replace(tree, contacts=points)


CASES = {
    **{f"{kind} on {parent}": lambda kind=kind, parent=parent: (looped(kind, parent), {})
       for kind in KINDS if kind != "floating" for parent in ("b1", None)},
    "couplings": lambda: (coupled(), {"limits": ("hinge",)}),
    "tendons": lambda: (tendons(), {"limits": ("limited",)}),
    "contacts": lambda: (held(), {"contacts": ("tip", "ball", "b0"), "grasps": ("b1",)}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_derivatives_along_a_motion(case):
    """Off the constraints as well, with joints that move evenly."""
    robot, asked = CASES[case]()
    rng, dynamics, rows = np.random.default_rng(1), Dynamics(robot), constraints(robot, **asked)
    q, v = random_coordinates(rng, robot), rng.normal(size=robot.nv)
    here = rows.rows(q, v)
    beside = [rows.rows(dynamics.integrate(q, k * STEP * v), v) for k in AROUND]
    rates = sum(w * one.value for w, one in zip(WEIGHTS, beside, strict=True)) / STEP
    accelerations = sum(w * (one.jacobian @ v) for w, one in zip(WEIGHTS, beside, strict=True))
    places = np.array([element.kind != "contact" for element in rows.elements])
    if places.all():
        np.testing.assert_allclose(here.jacobian @ v, rates, rtol=0, atol=1e-9)
        assert np.abs(here.value).max() > 0.01
    np.testing.assert_allclose(here.bias, accelerations / STEP, rtol=0, atol=1e-8)
    assert np.abs(here.bias).max() > 0.01
    assert rows.elements[-1].rows.stop == len(here.value) == len(rows.names)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
def test_velocities_of_a_joint_that_closes_a_loop(kind):
    """A joint of the tree between the same bodies has these velocities as its own."""
    rng = np.random.default_rng(3)
    bodies = tuple(Body(name, 1.0, np.eye(3)) for name in "ab")
    own = random_joint(rng, "own", kind, "a", "b")
    tree = Mechanism("two", bodies, (Joint("base", "floating", None, "a"), own))
    robot = replace(tree, joints=(*tree.joints, replace(own, name="copy")))
    q = random_coordinates(rng, robot)
    rates = constraints(robot).coordinate_rates(q, robot.loop_joints[0])
    np.testing.assert_allclose(rates, np.eye(robot.nv)[6:], rtol=0, atol=1e-13)


def test_motions_have_their_derivatives():
    """Of sin 3t, and of one that stands still."""
    joints = (
        Joint("a", "revolute", None, "a", motion=lambda t: np.sin(3 * t)),
        Joint("b", "revolute", "a", "b", lower=[0.3], upper=[0.3]),
    )
    robot = Mechanism("two", tuple(Body(n, 1.0, np.eye(3)) for n in "ab"), joints)
    rows = constraints(robot).rows(np.array((0.5, 0.3)), np.ones(2), time=0.4)
    np.testing.assert_allclose(rows.value, (0.5 - np.sin(1.2), 0), rtol=0, atol=1e-15)
    np.testing.assert_allclose(rows.rate, (3 * np.cos(1.2), 0), rtol=0, atol=1e-11)
    np.testing.assert_allclose(rows.acceleration, (-9 * np.sin(1.2), 0), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(rows.jacobian, np.eye(2))


def test_a_hinge_that_closes_a_loop_does_not_count_turns():
    """Neither its gear: the angle of the tree's hinge has gone around twice."""
    bodies = tuple(Body(name, 1.0, np.eye(3)) for name in "ab")
    joints = (Joint("a", "revolute", None, "a"), Joint("b", "revolute", None, "b"),
              Joint("over", "revolute", None, "b"))  # fmt: skip
    robot = Mechanism("gear", bodies, joints, couplings=(Coupling("g", "a", "over", 2.0),))
    for angle in (0.3, 0.3 + np.pi, 0.3 + 4 * np.pi):
        value = constraints(robot).rows(np.array((2 * angle, angle)), np.zeros(2)).value
        np.testing.assert_allclose(value, 0, rtol=0, atol=1e-14)


def test_limits_are_told_from_their_nearest_bound():
    joint = Joint("a", "cylindrical", None, "a", lower=(-1, 0.5), upper=(2, np.inf))
    robot = Mechanism("one", (Body("a", 1.0, np.eye(3)),), (joint,))
    names = robot.v_names
    rows = constraints(robot, limits=names).rows(np.array((1.5, 0.7)), np.zeros(2))
    np.testing.assert_allclose(rows.value, (-0.5, 0.2), rtol=0, atol=1e-15)
    assert rows.rate.tolist() == rows.acceleration.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"limits": ["nose"]}, r"nothing named 'nose' has a limit \(known: j1\)"),
        ({"limits": ["j0"]}, r"nothing named 'j0' has a limit"),
        ({"contacts": ["nose"]}, r"no contact point or frame 'nose' \(known: rim, b0, b1\)"),
        ({"contacts": ["rim"]}, "contact 'rim': is a rim"),
    ],
)
def test_what_cannot_be_held_is_refused(asked, told):
    tree = random_tree(np.random.default_rng(1), 2, base="revolute", kinds=("revolute",))
    joints = tree.joints[0], replace(tree.joints[1], lower=[-1.0])
    rim = ContactPoint("rim", "b1", (0, 0, 0), 0.1, axis=(0, 1, 0))
    with pytest.raises(ModelError, match=told):
        constraints(replace(tree, joints=joints, contacts=(rim,)), **asked)
