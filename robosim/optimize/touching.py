"""Contacts without a schedule as casadi expressions: gaps, normals, tangents, slip.

Forces at a control point are complementary to the gap at the next control point, and to the mean
velocity of the touching point until then. So a sticking point does not creep. The sum of two
directions makes the pyramid lie within Coulomb's cone [Fan2018, Section 6], as in Manchester and
Kuindersma, *Variational contact-implicit trajectory optimization* (2017).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robosim.optimize.symbolic import Expression, Placed, Symbolic, ca, column
from robosim.validation import Array

Ground = Callable[[Expression, Expression], Expression]


class Touch(NamedTuple):
    """A point that may touch the ground.

    Attributes
    ----------
    name : str
    body : int
    position : (3,) [m], from the centre of mass in body axes
    radius : float [m]
    friction : float
    ground : function of x and y to a height [m], or None for the plane z = 0
    along : (d,) of int
        Tangents along which friction acts: 0 is in the plane of x and the vertical, 1 normal to it.
    holds : bool
        Whether the point keeps its initial position, without complementarity.
    during : (n, 2) [s], or None
        Intervals in which the point sticks; None without a schedule.
    """

    name: str
    body: int
    position: Array
    radius: float
    friction: float
    ground: Ground | None
    along: tuple[int, ...]
    holds: bool = False
    during: Array | None = None

    @property
    def complements(self) -> bool:
        """Whether the gap and the normal force are complementary."""
        return not self.holds and self.during is None

    @property
    def forces(self) -> int:
        """Unknowns at a control point: normal, two for each tangent, and the speed of slip."""
        return (2 if self.complements else 1) + 2 * len(self.along)

    def touches(self, t: float) -> bool:
        """Whether the schedule has a contact at a time; True without a schedule."""
        if self.during is None:
            return True
        return bool(np.any((self.during[:, 0] < t) & (t < self.during[:, 1])))


class Touched(NamedTuple):
    """A point at one time.

    Attributes
    ----------
    gap : () [m]
    centre : (3,), of its sphere
    R : (3, 3), of the body
    arm : (3,), from the body's centre of mass to the touching point
    velocity : (3,), of the touching point
    ways : list of (3,)
        Normal, and the tangents in `along`.
    """

    gap: Expression
    centre: Expression
    R: Expression
    arm: Expression
    velocity: Expression
    ways: list[Expression]


def touched(model: Symbolic, touch: Touch, placed: Placed) -> Touched:
    """Gap, position, velocity and directions of a point."""
    R, p, link = model.body(placed, touch.body)
    arm = ca.mtimes(R, column(touch.position))
    centre = p + arm
    x, y, z = (centre[k] for k in range(3))
    normal, first, second = column((0, 0, 1)), column((1, 0, 0)), column((0, 1, 0))
    height = z
    if touch.ground is not None:
        a, b = ca.SX.sym("a"), ca.SX.sym("b")
        level = ca.SX(touch.ground(a, b))
        slopes = ca.substitute(
            ca.vertcat(level, ca.jacobian(level, ca.vertcat(a, b)).T), ca.vertcat(a, b),
            ca.vertcat(x, y),
        )  # fmt: skip
        steep = ca.vertcat(-slopes[1], -slopes[2], 1)
        size = ca.sqrt(ca.sumsqr(steep))
        normal, height = steep / size, (z - slopes[0]) / size
        first = ca.vertcat(1, 0, slopes[1]) / ca.sqrt(1 + slopes[1] ** 2)
        second = ca.cross(normal, first)
    arm = arm - touch.radius * normal
    velocity = placed.v[link] + ca.cross(placed.omega[link], arm)
    ways = [normal, *((first, second)[k] for k in touch.along)]
    return Touched(height - touch.radius, centre, R, arm, velocity, ways)


def force(at: Touched, parts: Expression, weight: float) -> Expression:
    """Force on the body (3,) [N] from its unknowns, which are divided by a weight."""
    total = parts[0] * at.ways[0]
    for k, way in enumerate(at.ways[1:]):
        total = total + (parts[1 + 2 * k] - parts[2 + 2 * k]) * way
    return weight * total


def left_of_cone(touch: Touch, parts: Expression) -> Expression:
    """Difference of the friction limit and the friction in the pyramid, over the weight."""
    return touch.friction * parts[0] - ca.sum1(parts[1 : 1 + 2 * len(touch.along)])


def slipped(touch: Touch, here: Touched, there: Touched) -> Expression:
    """Displacement (3,) by which the touching point slips between two control points."""
    way = there.centre - here.centre
    if touch.radius:
        Q = ca.mtimes(there.R, here.R.T)
        turn = 0.5 * ca.vertcat(Q[2, 1] - Q[1, 2], Q[0, 2] - Q[2, 0], Q[1, 0] - Q[0, 1])
        way = way - touch.radius * ca.cross(turn, here.ways[0])
    return way


def complements(
    touch: Touch, parts: Expression, gap: Expression, slip: Expression, ways: list[Expression]
) -> tuple[Expression, Expression]:
    """The expressions that must not be negative, and the unknowns complementary to these.

    Parameters
    ----------
    parts : (n,), unknowns at a point
    gap : at the next control point
    slip : (3,) [m/s]
    ways : normal and tangents

    Returns
    -------
    positive : (n,), gap, margin of the cone, and speed along each tangent in both directions
    unknowns : (n,), in the same order
    """
    normal, speed = parts[0], parts[touch.forces - 1]
    tangents = parts[1 : touch.forces - 1]
    along = []
    for way in ways[1:]:
        rate = ca.dot(way, slip)
        along += [speed + rate, speed - rate]
    positive = ca.vertcat(gap, left_of_cone(touch, parts), *along)
    return positive, ca.vertcat(normal, speed, tangents)


def moving_ways(model: Symbolic, points: list[tuple[int, Array]]) -> tuple[int, ...]:
    """Tangents along which points (body, position) of a robot can move; both if there is none."""
    nv, turns = model.robot.nv, len(model.turns)
    theta, rates = ca.SX.sym("theta", nv), ca.SX.sym("rates", nv)
    bases = [ca.SX.sym("base", 4) for _ in range(turns)]
    placed = model.place(theta, rates, bases)
    moves = []
    for body, position in points:
        R, _, link = model.body(placed, body)
        arm = ca.mtimes(R, column(position))
        moves.append(placed.v[link] + ca.cross(placed.omega[link], arm))
    call = ca.Function("moves", [theta, rates, *bases], [ca.horzcat(*moves)])
    rng = np.random.default_rng(0)
    turned = rng.normal(size=(turns, 4))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    found = np.array(call(rng.normal(size=nv), rng.normal(size=nv), *turned))
    ways = tuple(k for k in range(2) if np.abs(found[k]).max() > 1e-9)
    return ways or (0, 1)
