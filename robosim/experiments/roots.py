"""Steps in joint coordinates by two schemes, with four methods to find the root of each.

All use one compiled loop, and each computes only what it needs. The initial guess extrapolates the
last step (IG2 of [Lee2016]). Iterations end at the tolerance of `MinimalSimulation`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.experiments import svi
from robosim.experiments.svi import (
    find_svi_direction,
    find_svi_jacobian,
    find_svi_residual,
    make_cache,
)
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import digest_of, entry, kernel
from robosim.kernels.equations.vectors import dot6
from robosim.kernels.minimal import group
from robosim.kernels.minimal.elimination import clear_answers
from robosim.kernels.minimal.knot import settle
from robosim.kernels.minimal.logarithm import chord_answer
from robosim.kernels.minimal.place import place_at_knot
from robosim.kernels.minimal.step import add_rest, largest, move_on
from robosim.kernels.minimal.twists import world_answer
from robosim.minimal import MinimalSimulation
from robosim.validation import Array

DRNEA, SVI = 0, 1
NEWTON, BROYDEN, RIQN, EXACT = 0, 1, 2, 3
SCHEMES = {"DRNEA": DRNEA, "SVI": SVI}
METHODS = {"Newton": NEWTON, "Broyden": BROYDEN, "RIQN": RIQN, "exact O(n)": EXACT}
RENEW = 8  # iterations of Broyden's method after which the inverse is found anew


class Dense(NamedTuple):
    """Scratch memory of dense solves, and values that Broyden's method keeps between steps."""

    row: Array  # (n,)
    inverse: Array  # (n, n)
    y: Array  # (n,)
    s: Array  # (n,)
    known: Array  # (1,) whether `inverse` is there


@kernel
def find_residual(on, w, scheme):
    """work.residual and work.ends of a scheme."""
    if scheme == SVI:
        find_svi_residual(on, w)
    else:
        group.find_residual(on)


@kernel
def find_jacobian(on, w, scheme):
    """w.J = derivative of the residual by work.x[1], O(n^3) by SVI and O(n^2) by DRNEA."""
    if scheme == SVI:
        find_svi_jacobian(on, w)
    else:
        find_drnea_jacobian(on, w)


@kernel
def find_drnea_jacobian(on, w):
    """The same on the group, where rows meet columns at the deeper of two links."""
    work, segments, n = on.work, on.model.segments, on.model.segments.shape[0]
    N = work.step.N
    clear_answers(work.step)
    for i in range(n):
        chord_answer(segments[i], work.chords[i], on.options.dt, N[i])
        world_answer(work.nodes[0, i].R, work.nodes[0, i].p, N[i])
        for k in range(n):
            w.J[i, k] = 0.0
    for up in range(1, n + 1):
        i = n - up
        own, above = N[i], N[segments[i].parent]
        x, y = w.momenta[0, 0], w.momenta[1, 0]
        for j in range(6):
            x[j] = y[j] = 0.0
            for k in range(6):
                x[j] += own[j, k] * work.nodes[1, i].S[k]
                y[j] += own[k, j] * work.nodes[0, i].S[k]
                above[j, k] += own[j, k]
        for a in range(w.depth[i]):
            j = w.path[i, a]
            w.J[j, i] = -dot6(work.nodes[0, j].S, x)
            w.J[i, j] = -dot6(work.nodes[1, j].S, y)


@kernel
def pivot_row(A, k):
    """The row from k on that has the largest entry in column k."""
    best = k
    for i in range(k + 1, A.shape[0]):
        if abs(A[i, k]) > abs(A[best, k]):
            best = i
    return best


@kernel
def solve_dense(A, b):
    """b = A^-1 b by elimination with pivots, in place of A; False where it is singular."""
    n = b.shape[0]
    for k in range(n):
        best = pivot_row(A, k)
        if not abs(A[best, k]) > 0.0:
            return False
        if best != k:
            b[k], b[best] = b[best], b[k]
            for j in range(k, n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
        per = 1.0 / A[k, k]
        for i in range(k + 1, n):
            part = per * A[i, k]
            b[i] -= part * b[k]
            for j in range(k + 1, n):
                A[i, j] -= part * A[k, j]
    for up in range(1, n + 1):
        i = n - up
        total = b[i]
        for j in range(i + 1, n):
            total -= A[i, j] * b[j]
        b[i] = total / A[i, i]
    return True


@kernel
def invert_dense(A, out):
    """out = A^-1 by Gauss and Jordan with pivots, in place of A; False where it is singular."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            out[i, j] = 0.0
        out[i, i] = 1.0
    for k in range(n):
        best = pivot_row(A, k)
        if not abs(A[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
                out[k, j], out[best, j] = out[best, j], out[k, j]
        per = 1.0 / A[k, k]
        for j in range(n):
            A[k, j] *= per
            out[k, j] *= per
        for i in range(n):
            if i != k:
                part = A[i, k]
                for j in range(k, n):
                    A[i, j] -= part * A[k, j]
                for j in range(n):
                    out[i, j] -= part * out[k, j]
    return True


@kernel
def find_step(on, w, dense, scheme, method):
    """work.step.dx by a method, after `find_residual`; False where there is none."""
    dx, r, n = on.work.step.dx, on.work.residual, on.model.segments.shape[0]
    if method == RIQN:
        return group.find_impulsive_direction(on) == 0
    if method == EXACT:
        if scheme == SVI:
            return find_svi_direction(on, w) == 0
        return group.find_direction(on) == 0
    if method == NEWTON:
        find_jacobian(on, w, scheme)
        for i in range(n):
            dense.y[i] = -r[i, 0]
        fine = solve_dense(w.J, dense.y)
        for i in range(n):
            dx[i, 0] = dense.y[i]
        return fine
    if dense.known[0] == 0.0:
        find_jacobian(on, w, scheme)
        if not invert_dense(w.J, dense.inverse):
            return False
        dense.known[0] = 1.0
    for i in range(n):
        total = 0.0
        for j in range(n):
            total -= dense.inverse[i, j] * r[j, 0]
        dx[i, 0] = dense.s[i] = total
        dense.y[i] = -r[i, 0]
    return True


@kernel
def learn(on, dense):
    """Broyden's update of the inverse, by the residual after a step: H y = s from now on."""
    r, n, H = on.work.residual, on.model.segments.shape[0], dense.inverse
    # With s = -H r before, H y = H r + s, and the update is (s - H y) s^T H / (s . H y).
    along = 0.0
    for i in range(n):
        dense.y[i] = 0.0
        for j in range(n):
            dense.y[i] += H[i, j] * r[j, 0]
        along += dense.s[i] * (dense.y[i] + dense.s[i])
    if not abs(along) > 0.0:
        return
    row = dense.row
    for j in range(n):
        row[j] = 0.0
    for i in range(n):
        for j in range(n):
            row[j] += dense.s[i] * H[i, j]
    for i in range(n):
        part = dense.y[i] / along
        for j in range(n):
            H[i, j] -= part * row[j]


@kernel
def begin(on, scheme, method):
    """What a scheme and a method need of a knot; False where its mass matrix has no inverse."""
    if method == RIQN:
        return settle(on) == 0
    if scheme == DRNEA or method == EXACT:
        place_at_knot(on)
    return True


@kernel
def solve(on, w, dense, scheme, method):
    """Find work.x from where it is; iterations, or -1 where there is no solution."""
    n, iterations = on.model.segments.shape[0], 0
    find_residual(on, w, scheme)
    while True:
        residual, _, solved = largest(on)
        if solved:
            return iterations
        if iterations >= on.options.max_iterations or not residual < 1e300:
            return -1
        if iterations == RENEW:
            dense.known[0] = 0.0
        if not find_step(on, w, dense, scheme, method):
            return -1
        for i in range(n):
            on.work.x[1, i] += on.work.step.dx[i, 0]
        find_residual(on, w, scheme)
        iterations += 1
        if method == BROYDEN:
            learn(on, dense)


@entry
@named(digest_of(svi.__file__))
def take_steps(on, w, dense, scheme, method, steps, iterations):
    """Take steps; how many could be solved. Adds to iterations (1,)."""
    for k in range(steps):
        taken = solve(on, w, dense, scheme, method) if begin(on, scheme, method) else -1
        if taken < 0:
            return k
        iterations[0] += taken
        add_rest(on)
        move_on(on)
    return steps


class Stepper:
    """Steps of a tree of joints with one coordinate each, by a scheme and a method.

    Parameters
    ----------
    sim : MinimalSimulation
        A simulation at its start, with ``integrator="newton"``. Steps change its `q` and `p`, but
        not its `v`.
    scheme : str
        "DRNEA", the equations of [Lee2016] as in `robosim.minimal`, or "SVI".
    method : str
        Method to find the root: "Newton", with a dense Jacobian; "Broyden", whose inverse is
        computed once and then updated from step to step; "RIQN"; or "exact O(n)".

    Raises
    ------
    OptionError
        For a robot that SVI does not support; see `make_cache`.
    """

    def __init__(self, sim: MinimalSimulation, scheme: str, method: str) -> None:
        self.sim, self.scheme, self.method = sim, SCHEMES[scheme], METHODS[method]
        parts = sim.engine.parts
        n = len(parts.model.segments)
        self.parts, self.cache = parts, make_cache(parts)
        parts.work.x[1] = sim.timestep * sim.v[parts.model.segments["v"]]
        self.dense = Dense(np.zeros(n), np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros(1))
        self.iterations = np.zeros(1, dtype=np.int64)

    def take(self, steps: int) -> bool:
        """Take steps; False where one could not be solved. Adds to `iterations`."""
        done = take_steps(
            self.parts, self.cache, self.dense, self.scheme, self.method, steps, self.iterations
        )
        return bool(done == steps)
