"""Lengths of tendons that bend around something, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, Tendon
from robosim.dynamics import Kinematics
from robosim.tendons import Point, Pulley, Term, Wrap

RADIUS = 0.5


def length_of(*path) -> float:
    """The length of a path over two bodies that are at the origin, with the world's axes."""
    bodies = tuple(Body(name, 1.0, np.eye(3)) for name in ("body", "ends"))
    joints = tuple(Joint(f"j_{body.name}", "floating", None, body.name) for body in bodies)
    robot = Mechanism("m", bodies, joints, tendons=(Tendon("t", path),))
    return Kinematics(robot, robot.neutral()).tendon_lengths()[0]


def at(distance: float, degrees: float, height: float = 0.0) -> Point:
    """A point at a distance from the z axis."""
    angle = np.radians(degrees)
    return Point("ends", (distance * np.cos(angle), distance * np.sin(angle), height))


def around(degrees: float, *distances: float) -> float:
    """The length of a path around a circle between two points this angle apart."""
    straight = sum(np.sqrt(d**2 - RADIUS**2) for d in distances)
    turns = sum(np.arccos(RADIUS / d) for d in distances)
    return straight + RADIUS * (np.radians(degrees) - turns)


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
@pytest.mark.parametrize("degrees", [130.0, 179.0, 180.0, -150.0])
def test_a_path_takes_the_shorter_way_around(kind, degrees):
    """In line with the centre as well, where any way around a ball is as short as another."""
    wrap = Wrap(kind, "body", RADIUS)
    length = length_of(at(1.2, 20), wrap, at(0.9, 20 + degrees))
    assert length == pytest.approx(around(abs(degrees), 1.2, 0.9), rel=1e-12)


@pytest.mark.parametrize("axis", np.eye(3))
def test_a_path_through_the_middle_of_a_ball_goes_around_it(axis):
    """Along each of the axes, whose planes are chosen differently."""
    path = Point("ends", 1.3 * axis), Wrap("sphere", "body", RADIUS), Point("ends", -0.8 * axis)
    assert length_of(*path) == pytest.approx(around(180, 1.3, 0.8), rel=1e-12)


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
def test_a_path_that_ends_before_what_it_points_at_is_straight(kind):
    wrap = Wrap(kind, "body", RADIUS)
    assert length_of(at(2.0, 0), wrap, at(0.7, 0)) == pytest.approx(1.3, rel=1e-12)
    assert length_of(at(0.7, 0), wrap, at(2.0, 0)) == pytest.approx(1.3, rel=1e-12)
    beside = Point("ends", (-1.0, 0.6, 0.0)), wrap, Point("ends", (1.0, 0.6, 0.0))
    assert length_of(*beside) == pytest.approx(2.0, rel=1e-12)


def test_a_path_around_a_cylinder_climbs_evenly():
    """Unrolled, it is straight: the root of the squares of its way around and of its rise."""
    wrap = Wrap("cylinder", "body", RADIUS)
    flat = around(140, 1.2, 0.8)
    length = length_of(at(1.2, 0, -0.3), wrap, at(0.8, 140, 0.6))
    assert length == pytest.approx(np.hypot(flat, 0.9), rel=1e-12)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_side_behind_what_is_bent_around_asks_for_the_longer_way(way):
    """One that is in front of it, or beside it, or of no part, changes nothing."""
    for side, degrees in ((185, 230), (245, 230), (305, 230), (65, 130), (175, 130), (315, 130)):
        angle = way * np.radians(side)
        place = Point("body", (np.cos(angle), np.sin(angle), 0))
        wrap = Wrap("cylinder", "body", RADIUS, side=place)
        length = length_of(at(1.2, 0), wrap, at(0.9, way * 130))
        assert length == pytest.approx(around(degrees, 1.2, 0.9), rel=1e-12)
    # A straight path that does not meet the circle on its way stays so, with a side before it.
    front = Wrap("cylinder", "body", RADIUS, side=Point("body", (0, 0.8, 0)))
    beside = Point("ends", (-1.0, 0.6, 0.0)), front, Point("ends", (1.0, 0.6, 0.0))
    assert length_of(*beside) == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
def test_a_path_through_a_ring_touches_it_from_inside(kind, way):
    """Between two points as far from it, it touches half way, on the side of both."""
    inside = Point("body", (0.1, 0, 0))
    wrap = Wrap(kind, "body", RADIUS, side=inside)
    length = length_of(at(1.0, 10), wrap, at(1.0, 10 + way * 100))
    touch = RADIUS * np.array((np.cos(np.radians(50)), np.sin(np.radians(50))))
    assert length == pytest.approx(2 * np.linalg.norm(touch - (1, 0)), rel=1e-12)


def test_each_pulley_counts_by_itself():
    """Not on top of those before it."""
    part = at(1.0, 0), at(3.0, 0)
    length = length_of(*part, Pulley(2), *part, Pulley(4), *part, Point("body"))
    assert length == pytest.approx(2 + 2 / 2 + (2 + 3) / 4, rel=1e-14)


def test_a_polynomial_of_a_coordinate():
    """Its length, and its slope as its row."""
    factor, powers, x = 0.7, (-0.5, 0.3, 0.2), 1.3
    joint = Joint("j", "prismatic", None, "b")
    tendon = Tendon("t", (Term("j", factor, powers),))
    robot = Mechanism("m", (Body("b", 1.0, np.eye(3)),), (joint,), tendons=(tendon,))
    kinematics = Kinematics(robot, [x])
    polynomial = np.polynomial.Polynomial((0.0, factor, *powers))
    assert kinematics.tendon_lengths()[0] == pytest.approx(polynomial(x), rel=1e-14)
    slope = polynomial.deriv()(x)
    assert kinematics.tendon_jacobian()[0, 0] == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("factors", [(2, 0, 0), (0, 2, 0), (0, 0, 2), (0, 2, 3), (1, 2, 3)])
@pytest.mark.parametrize("way", [1, -1])
def test_coordinates_between_two_bodies_move_with_both(factors, way):
    """What moves both alike leaves a coordinate, in whatever order a tendon has them."""
    bodies = tuple(Body(f"b{k}", 1.0, np.eye(3)) for k in range(3))
    joints = tuple(
        Joint(f"j{k}", "revolute", f"b{k - 1}" if k else None, f"b{k}", axis=(0, 1, k))
        for k in range(3)
    )
    terms = tuple(Term(f"j{k}", factor) for k, factor in enumerate(factors) if factor)[::way]
    robot = Mechanism("m", bodies, joints, tendons=(Tendon("t", terms),))
    row = Kinematics(robot, [0.3, -0.4, 0.5]).tendon_jacobian()[0]
    np.testing.assert_allclose(row, factors, rtol=0, atol=1e-14)
