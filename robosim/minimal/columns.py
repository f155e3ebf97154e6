"""Steps of Galerkin integrators with their derivatives in closed form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import in_lines
from robosim.compiled.minimal import Minimal
from robosim.kernels.compiler.addresses import load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.compiler.lanes import lanes
from robosim.kernels.minimal.columns import FEW, linearized_points
from robosim.runtime.duals import kind_of_lanes
from robosim.runtime.handles import Handle
from robosim.runtime.wide import vector_of
from robosim.validation import Array


class Columns(NamedTuple):
    """Memory for n links, s + 1 control points and m numbers of a link's motion."""

    motors: NDArray[np.int64]  # (nu,) velocities that torques act along
    changes: Array  # (2 nv + nu, 2 nv) result: q and v at the end by q, v and torques
    points: Array  # (2 nv + nu, s, nv) control points less q, or none (0, s, nv)
    M: Array  # (n, nv) momenta at the knot by velocities
    D: Array  # (n, nv, 1) and by coordinates
    by_q: Array  # (n, s + 1, nv) equations and momenta at the end by q, the rest held
    by_x: Array  # (n, n, s) momenta at the end by unknowns, where these are few
    slopes: Array  # (n, s + 1) forces along coordinates by these
    dampings: Array  # (n, s + 1) and by rates
    alone: Array  # (s + 1, n + 1, 6, 6) inertia of a link
    beyond: Array  # (s + 1, n + 1, 6, 6) with all beyond it
    turned: Array  # (s + 1, n + 1, 6, 6) held impulses by turns, of a link
    turned_beyond: Array  # (s + 1, n + 1, 6, 6)
    pairs: Array  # (s + 1, 4) products of a pair of links
    passed: Array  # (s + 1, 6) momenta that a link passes on
    pushed: Array  # (s + 1, 6) and impulses
    spins: Array  # (s + 1, 6) what rows of a link take of motions
    rates: Array  # (s + 1, 6)
    turns: Array  # (s + 1, 6)
    t: Array  # (3, 6) scratch
    # Of as many columns as are taken at once; the floats have lanes:
    r: Any  # (n, s)
    ends: Any  # (n,) momenta at the end
    l: Any  # (n + 1, m)  # noqa: E741
    z: Any  # (n + 1, m)
    dx: Any  # (n, s)
    sums: Any  # (n + 1, 6 (s + 2)) momenta at control points, impulses at the last one
    turning: Any  # (nv, 1) coordinates at the end
    zero: Any  # (1,)


class ColumnStep:
    """Takes a step from the q and v of its parts, with derivatives by all of them and by torques.

    Parameters
    ----------
    parts : Minimal
        With a rule of control points, of which `may_take` says yes.
    motors : (nu,)
        The velocities that torques act along.
    seen : Handle or None
        `robosim.minimal.curvature.Seen` that keeps links for second derivatives.

    Attributes
    ----------
    changes, points : arrays
        Those of `Columns`; the latter with `seen` alone.
    address, kind : int
        Those of `Columns`, for kernels.
    """

    def __init__(
        self, parts: Minimal, motors: NDArray[np.int64], seen: Handle | None = None
    ) -> None:
        n, nv, (points, _) = len(parts.model.segments), len(parts.state.v), parts.work.x.shape
        s, m = points - 1, parts.work.step.N.shape[1]
        inertia, six = (points, n + 1, 6, 6), (points, 6)
        columns = 2 * nv + len(motors)
        shapes = (
            (columns, 2 * nv), (0 if seen is None else columns, s, nv), (n, nv), (n, nv, 1),
            (n, points, nv), (n, n if n * s <= FEW else 0, s), (n, points), (n, points),
            inertia, inertia, inertia, inertia, (points, 4), six, six, six, six, six, (3, 6),
        )  # fmt: skip
        wide = (n, s), n, (n + 1, m), (n + 1, m), (n, s), (n + 1, 6 * (s + 2)), (nv, 1), 1
        arrays = [in_lines(np.zeros(shape)) for shape in shapes]
        arrays += [in_lines(np.zeros(shape, vector_of(lanes))) for shape in wide]
        self._to = Handle(Columns(motors, *arrays))
        self.changes, self.points = self._to.values.changes, self._to.values.points
        self._parts, self._seen = Handle(parts), seen
        self.address, self.kind = self._to.address, kind_of_lanes(self._to, lanes)[0]
        kinds = self._parts.kind, self.kind, -1 if seen is None else seen.kind
        if kinds not in _FUNCTIONS:
            _FUNCTIONS[kinds] = _make_function(*kinds)
        self._run = _FUNCTIONS[kinds]

    @staticmethod
    def may_take(parts: Minimal) -> bool:
        """Whether all links have hinges and slides, without drag, constraints and laws."""
        model, segments = parts.model, parts.model.segments
        plain = model.rule is not None and model.constraints is None
        plain = plain and not segments["turn"].any() and not segments["drag"].any()
        return bool(plain and parts.work.law.address[0] == 0 and len(parts.state.v) > 0)

    def take(self, infos: NDArray[np.void]) -> int:
        """Take the step; returns its status. The state is then that at the end."""
        seen = 0 if self._seen is None else self._seen.address
        return int(self._run(self._parts.address, self.address, seen, infos))


_FUNCTIONS: dict[tuple[int, int, int], Any] = {}


def _make_function(kind: int, to_kind: int, seen_kind: int) -> Any:
    if seen_kind < 0:

        @entry
        @named(kind, to_kind)
        def linearize_points(address, to, seen, infos):  # type: ignore[no-untyped-def]
            return linearized_points(load(address, kind), load(to, to_kind), None, infos[0])

        return linearize_points

    @entry
    @named(kind, to_kind, seen_kind)
    def linearize_seen(address, to, seen, infos):  # type: ignore[no-untyped-def]
        return linearized_points(
            load(address, kind), load(to, to_kind), load(seen, seen_kind), infos[0]
        )

    return linearize_seen
