"""Automatic differentiation of a Galerkin integrator, only for comparison of times.

Kernels are compiled for numbers that have derivatives in seven directions. The structure of the
tree is not used: each control point is a direction of its own, and matrices are dense. [Fan2018,
Section 5.2] states O(n^2), O(n^3) and O(n^3) for equations, direction and linearization. Here only
the dense solve is O(n^3), and the linearization omits the velocities at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.kernels.compiler.addresses import load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.duals import DIRECTIONS, slope, with_slope
from robosim.kernels.compiler.jit import entry, kernel, stage
from robosim.kernels.equations.vectors import dot6
from robosim.kernels.minimal.galerkin import find_rates, find_residual, place_points
from robosim.kernels.minimal.knot import find_momenta
from robosim.kernels.minimal.place import momentum_of, place_at_knot, place_segment
from robosim.kernels.step.linearize import begin_at
from robosim.minimal import MinimalSimulation
from robosim.minimal.duals import MinimalDualStep
from robosim.runtime.duals import kind_of_duals
from robosim.runtime.handles import Handle
from robosim.validation import Array


class Automatic:
    """Equations, Newton's direction and derivatives of a simulation's next step, without forces.

    Parameters
    ----------
    sim : MinimalSimulation
        A simulation with a Galerkin integrator, of hinges and slides under gravity alone. The step
        begins at the present state, with the control points in its workspace at each call.
    """

    def __init__(self, sim: MinimalSimulation) -> None:
        parts, nv = sim.engine.parts, sim.robot.nv
        self._shape = parts.work.residual.shape
        n, s = self._shape
        gains = np.zeros(0, dtype=sim.held.no_gains.dtype)
        step = MinimalDualStep(parts, 3 * nv + n * s, gains)
        # q, v and torques one by one; what follows are the control points.
        step.parts.along[range(3 * nv), range(3 * nv)] = 1.0
        self._on, self._handle = step.parts, Handle(step.parts)
        kind, _ = kind_of_duals(self._handle)
        self._lagrangian, self._jacobian = _make(kind)
        self._by_points = np.zeros((s + 1, n))
        self._rows = np.zeros((3 * nv + n * s, n * s))
        state = parts.state
        self._on.begins[:] = np.concatenate((state.q, state.v, np.zeros(nv)))
        self._p = state.p.copy()

    def residual(self) -> Array:
        """(n, s), as derivatives of the discrete Lagrangian."""
        self._lagrangian(self._handle.address, self._by_points)
        found = self._by_points[:-1].T.copy()
        found[:, 0] += self._p
        return found

    def direction(self) -> Array:
        """Newton's direction (n, s), by a dense matrix."""
        first = 3 * self._shape[0]
        self._jacobian(self._handle.address, first, first, self._rows)
        return np.asarray(
            np.linalg.solve(self._rows[first:].T, -self.residual().reshape(-1))
        ).reshape(self._shape)

    def linearization(self) -> Array:
        """(n s, 3 n): changes of the control points by q, v and the torques."""
        first = 3 * self._shape[0]
        self._jacobian(self._handle.address, 0, first, self._rows)
        return np.asarray(-np.linalg.solve(self._rows[first:].T, self._rows[:first].T))


def _make(kind: int) -> tuple[Any, Any]:
    if kind not in _ENTRIES:

        @entry
        @named(kind)
        def lagrangian_slopes(address, out):  # type: ignore[no-untyped-def]
            differentiate_lagrangian(load(address, kind), out)

        @entry
        @named(kind)
        def residual_slopes(address, begin, first, out):  # type: ignore[no-untyped-def]
            differentiate_residual(load(address, kind), begin, first, out)

        _ENTRIES[kind] = lagrangian_slopes, residual_slopes
    return _ENTRIES[kind]


_ENTRIES: dict[int, tuple[Any, Any]] = {}


@stage
def differentiate_lagrangian(on, out):  # type: ignore[no-untyped-def]
    """out (s + 1, n) = derivatives of the discrete Lagrangian by all control points."""
    points, n = out.shape
    begin_at(on, 0, 0)
    place_at_knot(on)
    for begin in range(0, points * n, DIRECTIONS):
        count = min(DIRECTIONS, points * n - begin)
        put_points(on)
        for k in range(count):
            a, i = (begin + k) // n, (begin + k) % n
            on.work.x[a, i] = with_slope(on.work.x[a, i], k, 1.0)
        value = discrete_lagrangian(on)
        for k in range(count):
            out[(begin + k) // n, (begin + k) % n] = slope(value, k)


@stage
def differentiate_residual(on, begin, first, out):  # type: ignore[no-untyped-def]
    """Rows of `out` from `begin` on: derivatives of the residual; control points follow `first`."""
    n, s = on.work.residual.shape
    for at in range(begin, out.shape[0], DIRECTIONS):
        count = min(DIRECTIONS, out.shape[0] - at)
        begin_at(on, at, count)
        place_at_knot(on)
        find_momenta(on)
        put_points(on)
        for k in range(count):
            point = at + k - first
            if point >= 0:
                a, i = 1 + point % s, point // s
                on.work.x[a, i] = with_slope(on.work.x[a, i], k, 1.0)
        find_residual(on)
        for k in range(count):
            for i in range(n):
                for a in range(s):
                    out[at + k, i * s + a] = slope(on.work.residual[i, a], k)


@kernel
def put_points(on):  # type: ignore[no-untyped-def]
    """The control points of the step in plain numbers."""
    for a in range(on.solution.shape[0]):
        for i in range(on.solution.shape[1]):
            on.work.x[a, i] = on.solution[a, i] if a > 0 else 0.0


@kernel
def discrete_lagrangian(on):  # type: ignore[no-untyped-def]
    """Kinetic less potential energy over a step, by the quadrature of its control points."""
    work, segments, g, total = on.work, on.model.segments, on.model.gravity, 0.0
    find_rates(on)
    for i in range(segments.shape[0]):
        # The first control point varies too.
        own, above = work.nodes[0, i], work.nodes[0, segments[i].parent]
        place_segment(segments[i], work.bases[i], above, own, work.x[0, i])
    place_points(on)
    for a in range(work.x.shape[0]):
        for i in range(segments.shape[0]):
            link, own = segments[i], work.nodes[a, i]
            momentum_of(link, own, own.V, own.alone)
            energy = 0.5 * dot6(own.V, own.alone)
            for k in range(3):
                energy += link.mass * g[k] * own.p[k]
            total += on.model.rule.w[a] * on.options.dt * energy
    return total
