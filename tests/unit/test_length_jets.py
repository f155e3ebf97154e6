"""Derivatives of what acts along tendons and springs between points; jets of numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import random_coordinates, random_tree

from robosim import (
    Body,
    Dynamics,
    Joint,
    Mechanism,
    PointSpring,
    Potential,
    StateError,
    Tendon,
)
from robosim.dynamics import Kinematics
from robosim.dynamics.jets import Jet, angle, cross, dot
from robosim.dynamics.length_jets import MovingBodies, length_slopes
from robosim.joints import Composite, ExponentialBall, Hinge, Screw
from robosim.tendons import Point, Pulley, Term, Wrap

KINDS = {"numbers": ("revolute", "prismatic"), "turns": ("spherical", "revolute", "floating")}
WRAPS = {
    "sphere": (0.0, Wrap("sphere", "b1", 0.1)),
    "cylinder": (0.0, Wrap("cylinder", "b1", 0.1, quaternion=(0.6, 0.8, 0, 0))),
    "sphere, the long way": (0.0, Wrap("sphere", "b1", 0.1, side=Point("b1", (-0.2, 0.4, 0.3)))),
    "cylinder, other side": (0.0, Wrap("cylinder", "b1", 0.1, side=Point("b1", (-0.2, -0.4, 0)))),
    "inside of a sphere": (0.5, Wrap("sphere", "b1", 0.1, side=Point("b1"))),
    "inside of a cylinder": (0.5, Wrap("cylinder", "b1", 0.1, side=Point("b1"))),
}


def close(measured, expected, tolerance):
    """Equal, in parts of the largest entry."""
    scale = float(np.abs(expected).max())
    np.testing.assert_allclose(measured, expected, rtol=0, atol=tolerance * scale)


def slopes(f, n):
    """Derivatives of f by n numbers at 0: differences of fourth order."""
    h, units = 1e-4, np.eye(n)
    ends = [[f(k * h * unit) for k in (2, 1, -1, -2)] for unit in units]
    return np.stack([(8 * (b - c) - (a - d)) / (12 * h) for a, b, c, d in ends], axis=-1)


def hold_to_differences(robot, q, v, a, tolerance=1e-7):
    """Derivatives of inverse and forward dynamics, with and without what is passive."""
    dynamics = Dynamics(robot)
    for passive in (True, False):

        def forces(q, v, passive=passive):
            return dynamics.inverse_dynamics(q, v, a, passive=passive)

        found = dynamics.inverse_dynamics_derivatives(q, v, a, passive=passive)
        moved = slopes(lambda d: forces(dynamics.integrate(q, d), v), robot.nv)
        close(found[0], moved, tolerance)
        close(found[1], slopes(lambda d: forces(q, v + d), robot.nv), tolerance)
        close(found[2], dynamics.mass_matrix(q), 1e-13)
        forward = dynamics.forward_derivatives(q, v, forces(q, v), passive=passive)
        inverse = np.linalg.inv(found[2])
        close(forward[0], -inverse @ found[0], 1e-9)
        close(forward[1], -inverse @ found[1], 1e-9)
        close(forward[2], inverse, 1e-9)
        many = dynamics.forward_derivatives(np.stack([q, q]), v, forces(q, v), passive=passive)
        for rows, single in zip(many, forward, strict=True):
            close(rows[1], single, 1e-12)


def between(robot, q, wrap, beside):
    """Ends of a path, and its wrap put `beside` the middle of the way between them, on body 1."""
    at = Kinematics(robot, q)
    ends = at.x[0], at.x[-1]
    off = np.cross(ends[1] - ends[0], (0.3, -1.0, 0.5))
    middle = 0.5 * (ends[0] + ends[1]) + (0.03 + beside) * off / np.linalg.norm(off)
    center = at.R[1].T @ (middle - at.x[1])
    side = wrap.side and replace(wrap.side, position=center + wrap.side.position)
    return replace(wrap, position=center, side=side)


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("case", WRAPS.values(), ids=WRAPS)
def test_tendons_of_all_paths(kinds, case):
    rng, (beside, wrap) = np.random.default_rng(3), case
    robot = random_tree(rng, 4, kinds=kinds)
    names = [body.name for body in robot.bodies]
    q, (v, a) = random_coordinates(rng, robot), rng.normal(size=(2, robot.nv))
    wrap = between(robot, q, wrap, beside)
    ends = Point(names[0], (0.01, 0.02, 0)), Point(names[-1], (0.01, 0, 0))
    path = (ends[0], wrap, ends[1], Pulley(2.0), Point(None, (0, 0, 3)), ends[1])
    laws = {"stiffness": 4.0, "rest_length": (0.2, 0.9), "damping": 0.3, "armature": 0.2}
    tendon = Tendon("rope", path, **laws)
    robot = replace(robot, tendons=(tendon,))
    at = Kinematics(robot, q)
    moving = MovingBodies(Dynamics(robot)._on, at, v)
    found = length_slopes(moving, tendon)
    straight = length_slopes(moving, replace(tendon, path=(ends[0], *path[2:])))
    assert found.value - straight.value > 1e-4
    # As kernels have it.
    assert found.value == pytest.approx(at.tendon_lengths()[0], rel=1e-13)
    np.testing.assert_allclose(found.rows, at.tendon_jacobian()[0], atol=1e-13)
    hold_to_differences(robot, q, v, a)


def test_springs_and_sums_on_charts():
    """Fixed tendons over curved sums, and springs between points, of a tree with charts."""
    rng = np.random.default_rng(4)

    def place():
        points = rng.normal(size=(2, 3))
        return {"parent_position": 0.3 * points[0], "child_position": 0.3 * points[1]}

    charts = Composite(Screw((1, 2, 0), 0.2), Hinge((0, 1, 1)))
    joints = (
        Joint("base", "floating", None, "a"),
        Joint("ball", "composite", "a", "b", chart=ExponentialBall(), **place()),
        Joint("arm", "composite", "b", "c", chart=charts, **place()),
        Joint("slide", "prismatic", "a", "d", **place()),
    )
    bodies = tuple(Body(name, 1.0, np.diag((0.1, 0.2, 0.25))) for name in "abcd")
    terms = Term("arm.q1", 0.5, (0.3, -0.2, 0.1)), Term("slide", -0.7)
    well = Potential.sample(lambda x: 0.3 * np.sin(x), 0, 5)
    robot = Mechanism(
        "charts",
        bodies,
        joints,
        tendons=(
            Tendon("sum", terms, stiffness=3.0, damping=0.4, armature=0.6),
            Tendon("slack", (Point("a"), Point("c")), stiffness=5.0, rest_length=(0, 9)),
        ),
        springs=(
            PointSpring("s", None, "c", (1, 2, 3), (0.1, 0.2, 0.1), 3.0, 0.5, 0.7, well),
            PointSpring("t", "a", "d", (0, 0.1, 0), (0.1, 0.2, 0.1), 2.0, 0.5),
        ),
    )
    q = random_coordinates(rng, robot)
    hold_to_differences(robot, q, *rng.normal(size=(2, robot.nv)))
    alone = replace(robot, tendons=robot.tendons[1:])
    hold_to_differences(alone, q, *rng.normal(size=(2, robot.nv)))


def test_where_a_path_has_no_second_derivatives():
    """A path at the middle of a sphere may bend any way."""
    joint = Joint("j", "prismatic", None, "b", axis=(1, 0, 0))
    path = (Point(None, (-1, 0, 0)), Wrap("sphere", None, 0.1), Point("b"))
    tendon = Tendon("rope", path, stiffness=1.0)
    robot = Mechanism("line", (Body("b", 1.0, np.eye(3)),), (joint,), tendons=(tendon,))
    dynamics = Dynamics(robot)
    with pytest.raises(StateError, match="tendon 'rope' has no second derivatives"):
        dynamics.inverse_dynamics_derivatives([0.5], [0], [0])
    assert dynamics.inverse_dynamics_derivatives([-0.5], [0], [0])[0] == pytest.approx(1.0)


def test_jets_of_functions():
    """Parts of a function are its derivatives along x = 0.7 + 0.3 s - 0.2 s^2 + e (1 + s / 2)."""
    x = Jet(np.array((0.7, 0.3, -0.2, 1.0, 0.5, 0.0))[:, None])
    one = Jet(np.zeros((6, 1))) + 1.0
    y = angle(x, (one - x * x).root()) / x  # asin x / x
    places, h = np.arange(-3, 4), 1e-2

    def f(s, e):
        x = 0.7 + 0.3 * s - 0.2 * s * s + e * (1 + s / 2)
        return np.arcsin(x) / x

    def parts(g):
        """Of 1, s and s^2, by the polynomial through seven places."""
        return np.polynomial.polynomial.polyfit(h * places, [g(h * k) for k in places], 6)[:3]

    np.testing.assert_allclose(y.parts[:3, 0], parts(lambda s: f(s, 0.0)), atol=1e-9)
    mixed = parts(lambda s: (f(s, 1e-5) - f(s, -1e-5)) / 2e-5)
    np.testing.assert_allclose(y.parts[3:, 0], mixed, atol=1e-6)
    a, b = (Jet(np.random.default_rng(k).normal(size=(6, 2, 3))) for k in (1, 2))
    square = dot(cross(a, b), cross(a, b)) + dot(a, b) * dot(a, b) - dot(a, a) * dot(b, b)
    np.testing.assert_allclose(square.parts, 0, atol=1e-11)
