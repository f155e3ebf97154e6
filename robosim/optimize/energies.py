"""Forces and momenta of moving links as expressions, with first and second derivatives.

All are derivatives of one function: the kinetic energy of all links, less their potential energy in
gravity. Its second derivatives are those of [Fan2018, Algorithms 2 and 3]. For an axis k that
carries an axis i they are products of one vector of each,

    rates of k and i: S_k . A_i      coordinate of k, rate of i: Sdot_k . A_i
    rate of k, coordinate of i: S_k . B_i      coordinates of k and i: Sdot_k . B_i

with A = M S and B = M Sdot - ad_S^T mu; M and mu are inertia and momentum of all that hangs on the
axis. Third derivatives are those of these products along one direction. So both are far shorter
than what differentiates the energy itself. Twists are (velocity at the origin, angular velocity)
in world axes, and wrenches are (force, moment about the origin).

Coordinates are those of `Symbolic.place`. The origin of a free rotation's chart is turned by three
hinges from a given quaternion, and then by small angles, in its own axes: forces along these are
the third part of the forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robosim.optimize.symbolic import (
    Expression,
    Function,
    Symbolic,
    ca,
    column,
    cross_matrix,
    rotation_matrix,
    turned,
)


@dataclass
class Axis:
    """A coordinate on the way from the world to a link.

    Attributes
    ----------
    of : int
        Its place among theta, bases and small turns of bases.
    rate : int or None
        Its rate's place; bases have none.
    above : list of int
        Axes that carry it, and itself.
    S, S_dot : (6,)
        Twist by its rate, and the rate of that twist.
    mass, heavy : floats [kg]
        Mass of all that hangs on it, and the mass that gravity acts on.
    first, weighted : (3,) [kg m]
        Centre of mass times mass, by both masses.
    second : (3, 3) [kg m^2]
        Inertia about the origin.
    momentum : (6,)
    """

    of: int
    rate: int | None
    above: list[int]
    S: Expression
    S_dot: Expression
    mass: float
    heavy: float
    first: Expression
    weighted: Expression
    second: Expression
    momentum: Expression


class Part(NamedTuple):
    """A function of the state of all links, with its derivatives.

    Arguments are theta, rates, hinges of bases (3 nr,) and given quaternions (4 nr,); of `second`
    multipliers (n,) of the values as well. Unknowns are the first three arguments.

    Attributes
    ----------
    value : values (n,)
    first : their Jacobian by the unknowns
    second : Jacobian, and second derivatives of the values times multipliers
    """

    value: Function
    first: Function
    second: Function


class Energies:
    """The parts of equations of motion that come from the energies of moving links.

    Parameters
    ----------
    model : Symbolic

    Attributes
    ----------
    forces : Part
        Slopes of the energy by theta (nv,), its slopes by rates (nv,), and those by small turns of
        bases (3 nr,).
    momenta : Part
        Slopes by rates (nv,).
    """

    def __init__(self, model: Symbolic) -> None:
        self._model = model
        nv, turns = model.robot.nv, 3 * len(model.turns)
        self._theta, self._rates = ca.SX.sym("theta", nv), ca.SX.sym("rates", nv)
        self._bases, self._small = ca.SX.sym("bases", turns), ca.SX.sym("small", turns)
        self._given = ca.SX.sym("given", 4 * len(model.turns))
        self._axes = self._move()
        slopes, curvature = self._slopes()
        rates = list(range(nv, 2 * nv))
        small = list(range(2 * nv + turns, 2 * nv + 2 * turns))
        self.forces = self._part(list(range(nv)) + rates + small, slopes, curvature)
        self.momenta = self._part(rates, slopes, curvature)

    def _move(self) -> list[Axis]:
        """All axes, with inertias and momenta of all that hangs on them."""
        model, nv, turns = self._model, self._model.robot.nv, len(self._model.turns)
        segments = model.tree.segments
        n = len(segments)
        R, p, V = ([ca.SX(0)] * (n + 1) for _ in range(3))
        R[n], p[n], V[n] = ca.SX.eye(3), ca.SX.zeros(3, 1), ca.SX.zeros(6, 1)
        carries: list[list[int]] = [[] for _ in range(n + 1)]
        axes: list[Axis] = []

        def add(
            of: int, rate: int | None, S: Expression, carried: Expression, on: list[int]
        ) -> list[int]:
            own = [*on, len(axes)]
            nothing = ca.SX.zeros(3, 1), ca.SX.zeros(3, 1), ca.SX.zeros(3, 3), ca.SX.zeros(6, 1)
            axes.append(Axis(of, rate, own, S, moved(carried, S), 0.0, 0.0, *nothing))
            return own

        for i, link in enumerate(segments):
            up = int(link["parent"])
            T, at = ca.mtimes(R[up], column(link["R"])), p[up] + ca.mtimes(R[up], column(link["p"]))
            twist, on = V[up], carries[up]
            if link["turn"] == 1:
                r = int(link["rotation"])
                T = ca.mtimes(T, rotation_matrix(self._given[4 * r : 4 * r + 4]))
                for k in range(3):
                    on = add(2 * nv + 3 * r + k, None, about(T[:, k], at), twist, on)
                    T = ca.mtimes(T, turned(np.eye(3)[k], self._bases[3 * r + k]))
                for k in range(3):
                    of = 2 * nv + 3 * (turns + r) + k
                    on = add(of, None, about(T[:, k], at), twist, on)
                T = T + ca.mtimes(T, cross_matrix(self._small[3 * r : 3 * r + 3]))
            if link["v"] < 0:
                R[i], p[i] = T, at
            else:
                of = int(link["v"])
                slide, turn = link["S"][:3], link["S"][3:]
                R[i], shift = model.motion(link, self._theta[of])
                R[i], p[i] = ca.mtimes(T, R[i]), at + ca.mtimes(T, shift)
                S = about(ca.mtimes(R[i], column(turn)), p[i])
                S[:3] += ca.mtimes(R[i], column(slide))
                on = add(of, nv + of, S, twist, on)
                twist = twist + S * self._rates[of]
            V[i], carries[i] = twist, on
            hang(link, R[i], p[i], twist, [axes[k] for k in on])
        return axes

    def _slopes(self) -> tuple[Expression, Expression]:
        """First and second derivatives by theta, rates, bases and small turns."""
        n = 2 * self._model.robot.nv + 2 * self._bases.shape[0]
        gravity = column(self._model.tree.gravity)
        slopes = [ca.SX(0)] * n
        rows: list[int] = []
        columns: list[int] = []
        values: list[Expression] = []

        def put(row: int, k: int, value: Expression) -> None:
            if not value.is_zero():
                rows.extend((row, k) if row != k else (row,))
                columns.extend((k, row) if row != k else (k,))
                values.extend((value, value) if row != k else (value,))

        for one in self._axes:
            turn = one.S[3:]
            heavy = ca.vertcat(one.heavy * gravity, ca.cross(one.weighted, gravity))
            slopes[one.of] = ca.dot(one.S_dot, one.momentum) + ca.dot(one.S, heavy)
            A, B = times(one, one.S), times(one, one.S_dot) + turned_wrench(one.S, one.momentum)
            swung = ca.cross(one.heavy * one.S[:3] + ca.cross(turn, one.weighted), gravity)
            if one.rate is not None:
                slopes[one.rate] = ca.dot(one.S, one.momentum)
            above = [self._axes[k] for k in one.above]
            S = ca.horzcat(*(each.S for each in above)).T
            S_dot = ca.horzcat(*(each.S_dot for each in above)).T
            both = ca.mtimes(S_dot, B) + ca.mtimes(S[:, 3:], swung)
            by_rates, mixed, other = (ca.mtimes(*two) for two in ((S, A), (S_dot, A), (S, B)))
            for k, each in enumerate(above):
                put(each.of, one.of, both[k])
                if one.rate is not None:
                    put(each.of, one.rate, mixed[k])
                if each.rate is not None and each is not one:
                    put(each.rate, one.of, other[k])
                if one.rate is not None and each.rate is not None:
                    put(each.rate, one.rate, by_rates[k])
        found = ca.SX.triplet(rows, columns, ca.vertcat(ca.SX.zeros(0, 1), *values), n, n)
        return ca.vertcat(*slopes), found

    def _part(self, rows: Sequence[int], slopes: Expression, curvature: Expression) -> Part:
        """Slopes by some of the coordinates and rates, which are numbered as in `_slopes`."""
        nv, turns = self._model.robot.nv, self._bases.shape[0]
        unknowns = list(range(2 * nv + turns))
        arguments = [self._theta, self._rates, self._bases, self._given]
        multipliers = ca.SX.sym("multipliers", len(rows))
        along = ca.SX.zeros(slopes.shape[0], 1)
        along[list(rows)] = multipliers
        moving = ca.vertcat(self._theta, self._rates, self._small)
        along = ca.vertcat(along[: 2 * nv], along[2 * nv + turns :])
        square = curvature[unknowns, unknowns]
        entries = ca.vertcat(ca.SX.zeros(0, 1), *square.nonzeros())
        second = ca.SX(square.sparsity(), ca.jtimes(entries, moving, along))
        jacobian = curvature[list(rows), unknowns]
        still = ca.SX.zeros(turns, 1)

        def function(
            name: str, found: list[Expression], more: Sequence[Expression] = ()
        ) -> Function:
            inputs = [*arguments, *more]
            whole = ca.Function(name, [*inputs, self._small], found)
            at_rest = [ca.sparsify(one) for one in whole.call([*inputs, still])]
            return ca.Function(name, inputs, at_rest, {"cse": True})

        value = function("value", [slopes[list(rows)]])
        first = function("first", [jacobian])
        return Part(value, first, function("second", [jacobian, second], [multipliers]))


def about(axis: Expression, at: Expression) -> Expression:
    """The twist (6,) of a turn about an axis (3,) through a point."""
    return ca.vertcat(ca.cross(at, axis), axis)


def moved(V: Expression, S: Expression) -> Expression:
    """ad_V S, the rate (6,) of a twist S that moves with V."""
    return ca.vertcat(
        ca.cross(V[3:], S[:3]) + ca.cross(V[:3], S[3:]),
        ca.cross(V[3:], S[3:]),
    )


def turned_wrench(S: Expression, wrench: Expression) -> Expression:
    """-ad_S^T of a wrench (6,), its rate where it moves with S."""
    force, moment = wrench[:3], wrench[3:]
    return ca.vertcat(ca.cross(S[3:], force), ca.cross(S[3:], moment) + ca.cross(S[:3], force))


def times(one: Axis, twist: Expression) -> Expression:
    """Momentum (6,) of all that hangs on an axis at a twist (6,)."""
    velocity, turn = twist[:3], twist[3:]
    return ca.vertcat(
        one.mass * velocity + ca.cross(turn, one.first),
        ca.cross(one.first, velocity) + ca.mtimes(one.second, turn),
    )


def hang(link: np.void, R: Expression, p: Expression, V: Expression, axes: Sequence[Axis]) -> None:
    """Add a link's inertia and momentum to all axes that carry it."""
    m, heavy = float(link["mass"]), float(link["gravitational_mass"])
    if not (m or heavy or np.any(link["moments"])):
        return
    about_centre = ca.mtimes(R, ca.mtimes(ca.diag(column(link["moments"])), R.T))
    second = about_centre + m * (ca.sumsqr(p) * ca.SX.eye(3) - ca.mtimes(p, p.T))
    velocity, turn = V[:3], V[3:]
    momentum = ca.vertcat(
        m * (velocity + ca.cross(turn, p)),
        m * ca.cross(p, velocity) + ca.mtimes(second, turn),
    )
    for one in axes:
        one.mass += m
        one.heavy += heavy
        one.first += m * p
        one.weighted += heavy * p
        one.second += second
        one.momentum += momentum
