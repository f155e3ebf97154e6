"""The scalable variational integrator (SVI) of Johnson and Murphey, for comparison [Lee2016].

The discrete Lagrangian is that of the midpoint, dt L((q_1 + q_2) / 2, (q_2 - q_1) / dt). With the
Lagrangian's derivatives in joint coordinates, at the midpoint, the step is the root of

    r = p + dt/2 L_q - L_v,    p_2 = L_v + dt/2 L_q,
    dr/dq_2 = dt/4 L_qq + (L_qv - L_vq) / 2 - L_vv / dt.

These derivatives are sums over bodies of products of the body's twist with derivatives of twists by
coordinates, which a body has from its parent: O(n^2) for r and O(n^3) for dr/dq_2. Twists
(velocity, angular velocity) are in the link's axes, and x = q_2 - q_1 as in `robosim.minimal`.

The module also has the exact Newton direction in O(n), which is not part of the published method:
an elimination over the tree with 12 numbers for each link's motion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.minimal import Elimination, Minimal, make_elimination
from robosim.errors import OptionError
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import bracket, crossed, dot6, turned_back
from robosim.kernels.minimal.elimination import clear_answers, factor_tree, solve_tree
from robosim.kernels.minimal.place import add_inertia, momentum_of, place_segment
from robosim.kernels.minimal.twists import bracket_back, move_frame
from robosim.validation import Array


class Cache(NamedTuple):
    """Derivatives of each link's motion by the coordinates before it, and sums over links."""

    depth: NDArray[np.int64]  # (n + 1,) coordinates that move a link, 0 of the world
    path: NDArray[np.int64]  # (n, n) these, from the root
    slot: NDArray[np.int64]  # (n + 1,) which `second` a link has: a last child its parent's
    R: Array  # (n, 3, 3) axes in the parent's, at the midpoint
    p: Array  # (n, 3)
    g: Array  # (n + 1, 3) gravity in the link's axes
    V: Array  # (n + 1, 6) twist
    by_v: Array  # (n + 1, n, 6) twist by rates of coordinates
    by_q: Array  # (n + 1, n, 6) twist by coordinates
    second: Array  # (slots, n, n, 6) [a, c]: by q_a and q_c for a <= c, else by q_a and v_c
    mu: Array  # (6,) momentum of one link
    momenta: Array  # (2, n, 6) the same by by_v and by by_q
    lever: Array  # (n, 3) moments of gravity that by_v has at a link
    L_q: Array  # (n,)
    L_v: Array  # (n,)
    J: Array  # (n, n) dr/dx
    B: Array  # (n, 6) S of links, in world axes at the midpoint
    F: Array  # (n + 1, 6) momentum of a link and all beyond it, world axes
    P: Array  # (n + 1, 6) dt/2 gravity - momentum
    exact: Elimination


def make_cache(on: Minimal) -> Cache:
    """Memory for a tree whose links have a coordinate each.

    Raises
    ------
    OptionError
        For a link without a coordinate, or of a joint that turns freely.
    """
    segments = on.model.segments
    n = len(segments)
    if (segments["v"] < 0).any() or segments["turn"].any():
        raise OptionError("the SVI here takes trees of joints with one coordinate alone")
    parents = segments["parent"]
    depth, path, slot = (
        np.zeros(n + 1, dtype=int),
        np.zeros((n, n), dtype=int),
        np.zeros(n + 1, int),
    )
    heirs = {int(parent): i for i, parent in enumerate(parents)}  # last children
    slots = 1
    for i, parent in enumerate(parents):
        d = depth[parent]
        depth[i] = d + 1
        if d:
            path[i, :d] = path[parent, :d]
        path[i, d] = i
        if heirs[int(parent)] == i:
            slot[i] = slot[parent]
        else:
            slot[i], slots = slots, slots + 1
    square, row = (n, n), (n + 1, 6)
    return Cache(
        depth, path, slot,
        np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n + 1, 3)), np.zeros(row),
        np.zeros((n + 1, n, 6)), np.zeros((n + 1, n, 6)), np.zeros((slots, *square, 6)),
        np.zeros(6), np.zeros((2, n, 6)), np.zeros((n, 3)), np.zeros(n), np.zeros(n),
        np.zeros(square), np.zeros((n, 6)), np.zeros(row), np.zeros(row),
        make_elimination(n, 12, 1),
    )  # fmt: skip


@kernel
def carried(R, p, x):
    """A twist x of a frame in the axes of one that moves with it, at (R, p) in the first."""
    a, b, c = crossed(x[3], x[4], x[5], p[0], p[1], p[2])
    a, b, c = turned_back(R, x[0] + a, x[1] + b, x[2] + c)
    d, e, f = turned_back(R, x[3], x[4], x[5])
    return a, b, c, d, e, f


@kernel
def momentum_by(link, x, out):
    """out = the momentum of a link at a twist x, in its axes."""
    for k in range(3):
        out[k], out[3 + k] = link.mass * x[k], link.moments[k] * x[3 + k]


@kernel
def find_svi_residual(on, w):
    """work.residual at work.x[1], and work.ends, as those of `robosim.kernels.minimal.group`."""
    work, segments, dt = on.work, on.model.segments, on.options.dt
    n = segments.shape[0]
    for k in range(3):
        w.g[n, k] = on.model.gravity[k]
    for i in range(n):
        w.L_q[i] = w.L_v[i] = 0.0
        work.size[i] = abs(on.state.p[segments[i].v])
    for i in range(n):
        place_link(on, w, i)
        differentiate_twist(on, w, i)
        mu, g, mass = w.mu, w.g[i], segments[i].mass
        momentum_by(segments[i], w.V[i], mu)
        for a in range(w.depth[i]):
            c, by_v = w.path[i, a], w.by_v[i, a]
            along = dot6(by_v, mu)
            w.L_v[c] += along
            w.L_q[c] += dot6(w.by_q[i, a], mu)
            w.L_q[c] += mass * (g[0] * by_v[0] + g[1] * by_v[1] + g[2] * by_v[2])
            work.size[c] += abs(along)
    for i in range(n):
        pushed = 0.5 * dt * w.L_q[i]
        work.residual[i, 0] = on.state.p[segments[i].v] + pushed - w.L_v[i]
        work.ends[i] = w.L_v[i] + pushed


@kernel
def place_link(on, w, i):
    """A link's frame in its parent's at the midpoint, and gravity in its axes."""
    link, R, p = on.model.segments[i], w.R[i], w.p[i]
    for k in range(3):
        p[k] = link.p[k]
    move_frame(link.R, link.S, on.state.q[link.q] + 0.5 * on.work.x[1, i], R, p)
    g = w.g[link.parent]
    w.g[i, 0], w.g[i, 1], w.g[i, 2] = turned_back(R, g[0], g[1], g[2])


@kernel
def differentiate_twist(on, w, i):
    """A link's twist and derivatives of it, from its parent's."""
    link, R, p, V = on.model.segments[i], w.R[i], w.p[i], w.V[i]
    parent, last = link.parent, w.depth[i] - 1
    V[0], V[1], V[2], V[3], V[4], V[5] = carried(R, p, w.V[parent])
    bracket(V, link.S, w.by_q[i, last])
    rate = on.work.x[1, i] / on.options.dt
    for k in range(6):
        V[k] += rate * link.S[k]
        w.by_v[i, last, k] = link.S[k]
    for a in range(last):
        x, y = w.by_v[i, a], w.by_q[i, a]
        x[0], x[1], x[2], x[3], x[4], x[5] = carried(R, p, w.by_v[parent, a])
        y[0], y[1], y[2], y[3], y[4], y[5] = carried(R, p, w.by_q[parent, a])


@kernel
def find_svi_jacobian(on, w):
    """w.J = derivative of the residual by work.x[1], after `find_svi_residual`."""
    n, dt = on.model.segments.shape[0], on.options.dt
    for i in range(n):
        for k in range(n):
            w.J[i, k] = 0.0
    for i in range(n):
        differentiate_twist_again(on, w, i)
        add_body(w, on.model.segments[i], dt, i)


@kernel
def differentiate_twist_again(on, w, i):
    """Second derivatives of a link's twist, from those of its parent, maybe in their place."""
    link, R, p = on.model.segments[i], w.R[i], w.p[i]
    last = w.depth[i] - 1
    above, own = w.second[w.slot[link.parent]], w.second[w.slot[i]]
    for a in range(last):
        for c in range(last):
            x = own[a, c]
            x[0], x[1], x[2], x[3], x[4], x[5] = carried(R, p, above[a, c])
    # By its own coordinate: minus the bracket of S with what is carried.
    for a in range(last):
        bracket(w.by_q[i, a], link.S, own[a, last])
        bracket(w.by_v[i, a], link.S, own[last, a])
    bracket(w.by_q[i, last], link.S, own[last, last])


@kernel
def add_body(w, link, dt, i):
    """Add to w.J what a link adds."""
    d, own, g = w.depth[i], w.second[w.slot[i]], w.g[i]
    moved, turned_by = w.momenta[0], w.momenta[1]
    for a in range(d):
        momentum_by(link, w.by_v[i, a], moved[a])
        momentum_by(link, w.by_q[i, a], turned_by[a])
        x, lever = w.by_v[i, a], w.lever[a]
        lever[0], lever[1], lever[2] = crossed(x[0], x[1], x[2], g[0], g[1], g[2])
        for k in range(3):
            lever[k] *= link.mass
    mu = w.mu
    momentum_by(link, w.V[i], mu)
    for a in range(d):
        row, x, y = w.path[i, a], w.by_v[i, a], w.by_q[i, a]
        for c in range(a, d):
            column = w.path[i, c]
            lever = w.lever[c]
            swung = x[3] * lever[0] + x[4] * lever[1] + x[5] * lever[2]
            both = dot6(y, turned_by[c]) + dot6(own[a, c], mu) + swung
            both = 0.25 * dt * both - dot6(x, moved[c]) / dt
            one = dot6(y, moved[c]) - dot6(w.by_q[i, c], moved[a])
            if c > a:
                one -= dot6(own[c, a], mu)
                w.J[column, row] += both - 0.5 * one
            w.J[row, column] += both + 0.5 * one


@kernel
def find_svi_direction(on, w):
    """work.step.dx, Newton's direction in O(n), after `find_svi_residual`; 0, or 1 + a link.

    Unknowns move links by z = (their displacement, change of their twist in their own axes), both
    carried to world axes, and so answered by changes of F and P as they stand in the world.
    """
    work, segments, dt, e = on.work, on.model.segments, on.options.dt, w.exact
    n = segments.shape[0]
    sum_wrenches(on, w)
    clear_answers(e)
    for i in range(n):
        answer_of_link(on, w, i)
        S, V = w.B[i], work.nodes[1, i].V
        A, B, C = e.A[i, 0], e.B[i, 0], e.C[i, 0]
        swing = work.nodes[1, i].rate
        bracket(V, S, swing)
        bracket_back(S, w.P[i], C[0:6])
        bracket_back(swing, w.F[i], work.nodes[1, i].alone)
        bracket_back(S, w.F[i], C[6:12])
        for k in range(6):
            A[k], A[6 + k] = 0.5 * dt * swing[k], S[k]
            B[k], B[6 + k] = 0.5 * S[k], S[k] / dt + 0.5 * swing[k]
            C[k] = -C[k] - 0.5 * dt * work.nodes[1, i].alone[k]
            C[6 + k] *= -0.5 * dt
            e.H[i, 0, k] = e.H[i, 0, 6 + k] = 0.0
        e.L[i, 0, 0] = 0.0
        e.r[i, 0] = work.residual[i, 0]
    failed = factor_tree(segments, e, None)
    if failed == 0:
        solve_tree(segments, e, None)
        for i in range(n):
            work.step.dx[i, 0] = e.dx[i, 0]
    return failed


@kernel
def sum_wrenches(on, w):
    """Links at the midpoint in world axes, and w.F, w.P of each and all beyond it."""
    work, segments, dt = on.work, on.model.segments, on.options.dt
    n = segments.shape[0]
    for i in range(n):
        link, own, above = segments[i], work.nodes[1, i], work.nodes[1, segments[i].parent]
        place_segment(link, work.bases[i], above, own, 0.5 * work.x[1, i])
        for k in range(6):
            w.B[i, k] = own.S[k]
            own.V[k] = above.V[k] + work.x[1, i] / dt * own.S[k]
        momentum_of(link, own, own.V, w.F[i])
        weigh(link, own, on.model.gravity, w.P[i])
        for k in range(6):
            own.f[k] = w.F[i, k]
            w.P[i, k] = 0.5 * dt * w.P[i, k] - w.F[i, k]
    for up in range(1, n + 1):
        i = n - up
        parent = segments[i].parent
        if parent < n:
            for k in range(6):
                w.F[parent, k] += w.F[i, k]
                w.P[parent, k] += w.P[i, k]


@kernel
def weigh(link, own, g, out):
    """out = the wrench of gravity on a link, world axes."""
    for k in range(3):
        out[k] = link.mass * g[k]
    p = own.p
    out[3], out[4], out[5] = crossed(p[0], p[1], p[2], out[0], out[1], out[2])


@kernel
def answer_of_link(on, w, i):
    """w.exact.N of a link: changes of (F, P) by z."""
    link, own, dt = on.model.segments[i], on.work.nodes[1, i], on.options.dt
    N, f, p, g = w.exact.N[i], own.f, own.p, on.model.gravity
    add_inertia(link, own, 1.0, N[0:6, 6:12])
    for k in range(3):
        # Columns by displacements along and about an axis: f as it is carried, gravity's moment.
        a = 1.0 if k == 0 else 0.0
        b = 1.0 if k == 1 else 0.0
        c = 1.0 if k == 2 else 0.0
        x, y, z = crossed(f[0], f[1], f[2], a, b, c)
        N[3, k], N[4, k], N[5, k] = -x, -y, -z
        N[0, 3 + k], N[1, 3 + k], N[2, 3 + k] = -x, -y, -z
        x, y, z = crossed(f[3], f[4], f[5], a, b, c)
        N[3, 3 + k], N[4, 3 + k], N[5, 3 + k] = -x, -y, -z
        half = 0.5 * dt * link.mass
        x, y, z = crossed(a, b, c, half * g[0], half * g[1], half * g[2])
        N[9, k], N[10, k], N[11, k] = x, y, z
        a, b, c = crossed(a, b, c, p[0], p[1], p[2])
        x, y, z = crossed(a, b, c, half * g[0], half * g[1], half * g[2])
        N[9, 3 + k], N[10, 3 + k], N[11, 3 + k] = x, y, z
    for j in range(6):
        for k in range(6):
            N[6 + j, k] -= N[j, k]
            N[6 + j, 6 + k] = -N[j, 6 + k]
