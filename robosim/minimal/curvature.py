"""Second derivatives of Galerkin steps of hinges and slides, weighed by multipliers.

Kernels find rows for each link and control point (`robosim.kernels.minimal.curvature`), O(n) for n
links. Their products are second derivatives by pairs of links, O(n^2). What remains is the chain
rule, as in [Fan2018, Section 4]: products with the columns of the first derivatives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned
from robosim.compiled.minimal import Minimal, Rule
from robosim.compiled.records.minimal import NODE
from robosim.kernels.compiler.addresses import load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.minimal.curvature import weighed_points
from robosim.minimal.columns import ColumnStep
from robosim.runtime.handles import Handle
from robosim.validation import Array


class Seen(NamedTuple):
    """Memory for n links, kept at s + 1 control points, at the beginning and at the end."""

    nodes: NDArray[np.void]  # (s + 3, n) NODE
    multipliers: Array  # (2 nv,) of q and v at the end
    y: Array  # (s + 3, n) changes of coordinates
    z: Array  # (s + 3, n) and of rates
    c: Array  # (n, s) changes by unknowns
    rows: Array  # (n, s) multipliers of the equations
    by_q: Array  # (s + 3, n) changes by coordinates
    by_rate: Array  # (s + 3, n) and by rates
    A: Array  # (s + 3, n, 12) rows of answers to rates,
    B: Array  # (s + 3, n, 18) and to coordinates,
    S: Array  # (s + 3, n, 12) of links that carry, by rates,
    R: Array  # (s + 3, n, 18) and by coordinates
    turn: Array  # (n + 1, 6) changes of places,
    motion: Array  # (n + 1, 6) and of twists as links see them
    mu: Array  # (n + 1, 6) sums over a link and all beyond it: momenta,
    mu_turned: Array  # (n + 1, 6) their changes,
    beyond: Array  # (n + 1, 6, 6) inertias,
    beyond_turned: Array  # (n + 1, 6, 6) their changes,
    force: Array  # (n + 1, 3) held forces,
    moment: Array  # (n + 1, 3) held moments,
    at: Array  # (n + 1, 3, 3) places by forces,
    at_moved: Array  # (n + 1, 3, 3) their changes,
    twisted: Array  # (n + 1, 3, 3) turns by held moments
    alone: Array  # (6, 6) scratch
    t: Array  # (4, 6)


class CurvedStep:
    """Takes a step from the q and v of its parts, with derivatives up to the second.

    Parameters
    ----------
    parts : Minimal
        Of which `may_take` says yes.
    motors : (nu,)
        The velocities that torques act along.

    Attributes
    ----------
    step : ColumnStep
        Takes the step, with its first derivatives.
    """

    def __init__(self, parts: Minimal, motors: NDArray[np.int64]) -> None:
        segments, rule = parts.model.segments, parts.model.rule
        assert rule is not None
        n, nv, points = len(segments), len(parts.state.v), len(rule.c)
        s, at = points - 1, points + 2
        shapes = (
            2 * nv, (at, n), (at, n), (n, s), (n, s), (at, n), (at, n), (at, n, 12), (at, n, 18),
            (at, n, 12), (at, n, 18), (n + 1, 6), (n + 1, 6), (n + 1, 6), (n + 1, 6),
            (n + 1, 6, 6), (n + 1, 6, 6), (n + 1, 3), (n + 1, 3), (n + 1, 3, 3), (n + 1, 3, 3),
            (n + 1, 3, 3), (6, 6), (4, 6),
        )  # fmt: skip
        arrays: list[Array] = [np.zeros(shape) for shape in shapes]
        self._seen = Handle(Seen(aligned((at, n), NODE), *arrays))
        self.step = ColumnStep(parts, motors, self._seen)
        self._parts, self._shape = Handle(parts), (s, nv, len(motors))
        self._moving = np.zeros(nv, dtype=np.int64)  # link of each velocity
        for i in np.flatnonzero(segments["v"] >= 0):
            self._moving[segments["v"][i]] = i
        self._carries = carrying(segments)[np.ix_(self._moving, self._moving)]
        self._factors = chain_rule(rule, parts.options.dt)
        kinds = self._parts.kind, self.step.kind, self._seen.kind
        if kinds not in _FUNCTIONS:
            _FUNCTIONS[kinds] = _make_function(*kinds)
        self._weigh = _FUNCTIONS[kinds]

    @staticmethod
    def may_take(parts: Minimal) -> bool:
        """Whether `ColumnStep` may take it, and forces along coordinates bend nowhere."""
        return ColumnStep.may_take(parts) and len(parts.model.pieces) == 0

    def weighed(self, multipliers: Array) -> Array:
        """Second derivatives (2 nv + nu, 2 nv + nu) of multipliers (2 nv,) . (q, v) at the end.

        By q, v and torques, of the step that `step` has taken last.
        """
        s, nv, nu = self._shape
        seen: Seen = self._seen.values
        seen.multipliers[:] = multipliers
        self._weigh(self._parts.address, self.step.address, self._seen.address)
        by_rates, by_both, by_places = self._pairs(seen)
        # Of Phi by q and the control points less q; then by v at the beginning and the end.
        blocks = np.stack((by_places, by_both.transpose(0, 2, 1), by_both, by_rates), axis=1)
        inside = self._factors @ blocks[: s + 1].reshape(4 * (s + 1), nv * nv)
        inside = inside.reshape(s + 1, s + 1, nv, nv).transpose(0, 2, 1, 3)
        size = 2 * nv
        given, mixed = np.zeros((size, size)), np.zeros((size, (s + 1) * nv))
        answers = np.zeros(((s + 1) * nv, (s + 1) * nv))
        given[:nv, :nv] = inside[0, :, 0] + by_places[s + 1] + by_places[s + 2]
        given[nv:, :nv], given[:nv, nv:] = by_both[s + 1], by_both[s + 1].T
        mixed[:nv, : s * nv] = inside[0, :, 1:].reshape(nv, s * nv)
        mixed[:nv, s * nv - nv : s * nv] += by_places[s + 2]
        mixed[:nv, s * nv :] = by_both[s + 2].T
        answers[: s * nv, : s * nv] = inside[1:, :, 1:].reshape(s * nv, s * nv)
        answers[s * nv - nv : s * nv, s * nv - nv : s * nv] += by_places[s + 2]
        answers[s * nv :, s * nv - nv : s * nv] = by_both[s + 2]
        answers[s * nv - nv : s * nv, s * nv :] = by_both[s + 2].T
        columns = np.empty(((s + 1) * nv, size + nu))
        columns[: s * nv] = self.step.points.reshape(size + nu, s * nv).T
        columns[s * nv :] = self.step.changes[:, nv:].T
        half = 0.5 * (answers @ columns)
        half[:, :size] += mixed.T
        found = columns.T @ half
        found += found.T.copy()
        found[:size, :size] += given
        return found

    def _pairs(self, seen: Seen) -> tuple[Array, Array, Array]:
        """Of Phi at each kept point (s + 3, nv, nv): by rates, rate and coordinate, coordinates."""
        A, B, S, R = (rows[:, self._moving] for rows in (seen.A, seen.B, seen.S, seen.R))
        S, R = S.transpose(0, 2, 1), R.transpose(0, 2, 1)
        carries, strictly = self._carries, self._carries - np.eye(len(self._moving))

        def whole(one: Array, other: Array) -> Array:
            return one * carries + other.transpose(0, 2, 1) * strictly.T

        by_rates, by_places = A @ S, B @ R
        return (
            whole(by_rates, by_rates),
            whole(A @ R[:, :12], B[:, :, :12] @ S),
            whole(by_places, by_places),
        )


def carrying(segments: NDArray[np.void]) -> Array:
    """(n, n): 1 where a link of the row is carried by that of the column, or is the same."""
    n = len(segments)
    found = np.eye(n + 1)
    for i in range(n):  # links stand behind their parents
        found[i] += found[segments["parent"][i]]
    return found[:n, :n]


def chain_rule(rule: Rule, dt: float) -> Array:
    """((s + 1)^2, 4 (s + 1)): by q and control points less q, from what these are at each point.

    Of each point by coordinates, coordinate and rate, rate and coordinate, and rates.
    """
    points = len(rule.c)
    places, rates = np.eye(points), rule.b / dt
    places[:, 0], rates[:, 0] = 1.0, 0.0
    by = np.stack((places, rates))
    factors = np.einsum("a,kag,lah->ghakl", rule.w * dt, by, by)
    return np.ascontiguousarray(factors.reshape(points**2, 4 * points))


_FUNCTIONS: dict[tuple[int, int, int], Any] = {}


def _make_function(kind: int, to_kind: int, seen_kind: int) -> Any:
    @entry
    @named(kind, to_kind, seen_kind)
    def weigh_points(address, to, seen):  # type: ignore[no-untyped-def]
        weighed_points(load(address, kind), load(to, to_kind), load(seen, seen_kind))

    return weigh_points
