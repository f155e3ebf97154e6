"""Derivatives of a Galerkin step of hinges and slides, in closed form [Fan2018, Algorithm 2].

With the coordinates x of the control points held relative to the beginning, a change of a
coordinate q_j there moves all beyond joint j as one, at all control points. So its answers follow
from sums over a link and all beyond it, the same for all j (`pair_up`). That is O(1) for each pair
of links of which one carries the other. The unknowns x answer by the factors of Newton's direction,
link by link, O(n) for each direction. So do momenta and velocities at the end. Motions z, answers f
and what a link sees are those of `galerkin`.

Directions are columns, `ACROSS` at a time: by q, then by v, then by torques.
"""

from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.equations.vectors import dot6
from robosim.kernels.minimal.forces import forces_along, held_answer
from robosim.kernels.minimal.knot import move_at_knot
from robosim.kernels.minimal.place import add_inertia
from robosim.kernels.minimal.run import start
from robosim.kernels.minimal.step import add_rest, begin_knot, factor_step, find_points, move_on
from robosim.kernels.minimal.twists import bracket_back
from robosim.kernels.status import CONVERGED, SINGULAR

ACROSS = 16  # columns at once


@kernel
def add_multiple(c, x, out):
    """out += c x, of as many columns."""
    for k in range(ACROSS):
        out[k] += c * x[k]


@kernel
def add_products(c, x, out):
    """out += the sum of c[j] x[j], whose rows are columns' numbers."""
    for j in range(c.shape[0]):
        for k in range(ACROSS):
            out[k] += c[j] * x[j, k]


@kernel
def clear(out):
    """out = 0, of rows of columns."""
    for i in range(out.shape[0]):
        for k in range(ACROSS):
            out[i, k] = 0.0


@stage
def linearized_points(on, to, info):
    """A step from the state's q and v; to.changes (columns, 2 nv) = where it leads. A status.

    The state is then that at the end.
    """
    segments = on.model.segments
    if start(on) != 0:
        info.status = SINGULAR
        return info.status
    move_at_knot(on)
    sum_inertias(on, to, 1)
    momenta_by_pairs(on, to)
    info.status = find_points(on, info)
    if info.status == CONVERGED and factor_step(on.model.rule, on) != 0:
        info.status = SINGULAR
    if info.status != CONVERGED:
        return info.status
    s, nv = on.work.x.shape[0] - 1, on.state.v.shape[0]
    sum_inertias(on, to, s + 1)
    sum_answers(on, to)
    for i in range(segments.shape[0]):
        if segments[i].v >= 0:
            pair_up(on, to, i)
    columns = 2 * nv + to.motors.shape[0]
    for first in range(0, columns, ACROSS):
        load_columns(on, to, first)
        solve_columns(segments, on.work.step, s, to.r, to.l, to.z, to.dx)
        end_columns(on, to, first)
    add_rest(on)
    move_on(on)
    info.status = begin_knot(on)
    if info.status != CONVERGED:
        return info.status
    move_at_knot(on)
    sum_inertias(on, to, 1)
    for first in range(0, columns, ACROSS):
        leave_velocities(on, to, first)
        solve_columns(segments, on.work.mass, 0, to.r, to.l, to.z, to.dx)
        read_velocities(on, to, first)
    return info.status


@kernel
def sum_inertias(on, to, points):
    """Inertias of links at some control points, alone and with all beyond them."""
    n = on.model.segments.shape[0]
    for a in range(points):
        for i in range(n + 1):
            for j in range(6):
                for k in range(6):
                    to.alone[a, i, j, k] = to.beyond[a, i, j, k] = 0.0
        for up in range(1, n + 1):
            i = n - up
            link = on.model.segments[i]
            if link.body >= 0:
                add_inertia(link, on.work.nodes[a, i], 1.0, to.alone[a, i])
            for j in range(6):
                for k in range(6):
                    to.beyond[a, i, j, k] += to.alone[a, i, j, k]
                    to.beyond[a, link.parent, j, k] += to.beyond[a, i, j, k]


@kernel
def sum_answers(on, to):
    """How held wrenches answer to turns at the control points, of links alone and beyond them."""
    n, w = on.model.segments.shape[0], on.model.rule.w
    for a in range(on.work.x.shape[0]):
        for i in range(n + 1):
            for j in range(6):
                for k in range(6):
                    to.turned[a, i, j, k] = to.turned_beyond[a, i, j, k] = 0.0
        for up in range(1, n + 1):
            i = n - up
            link, part = on.model.segments[i], w[a] * on.options.dt
            held_answer(on.model, on.loads, link, on.work.nodes[a, i], part, to.turned[a, i])
            for j in range(6):
                for k in range(3, 6):
                    to.turned_beyond[a, i, j, k] += to.turned[a, i, j, k]
                    to.turned_beyond[a, link.parent, j, k] += to.turned_beyond[a, i, j, k]


@kernel
def times(M, x, out):
    """out = M x (6, 6)."""
    for j in range(6):
        out[j] = dot6(M[j], x)


@kernel
def momenta_by_pairs(on, to):
    """to.M and to.D = derivatives of the momenta at the knot by velocities and by coordinates."""
    segments, nodes = on.model.segments, on.work.nodes
    for i in range(segments.shape[0]):
        link, own = segments[i], nodes[0, i]
        if link.v < 0:
            continue
        times(to.beyond[0, i], own.S, to.t[0])
        times(to.beyond[0, i], own.rate, to.t[1])
        bracket_back(own.S, own.mu, to.t[2])
        for k in range(6):
            to.t[1, k] -= to.t[2, k]
        j = i
        while j < segments.shape[0]:
            other = nodes[0, j]
            v = segments[j].v
            if v >= 0:
                to.M[i, v] = to.M[j, link.v] = dot6(to.t[0], other.S)
                to.D[i, v] = dot6(to.t[0], other.rate)
                if j != i:
                    to.D[j, link.v] = dot6(other.S, to.t[1])
            j = segments[j].parent
        to.M[i, link.v] += on.model.coordinates[link.v].armature


@kernel
def pair_up(on, to, i):
    """to.by_q of all pairs of link i and one that carries it: rows of either by q of the other.

    With the coordinates of the control points held; the last row is that of momenta at the end.
    """
    segments, nodes, rule, dt = on.model.segments, on.work.nodes, on.model.rule, on.options.dt
    last, link = on.work.x.shape[0] - 1, segments[i]
    # What is passed on from i: of momenta, then of impulses; and what its rows take of motions.
    for a in range(last + 1):
        own = nodes[a, i]
        times(to.beyond[a, i], own.rate, to.passed[a])
        bracket_back(own.S, own.mu, to.t[0])
        times(to.turned_beyond[a, i], own.S, to.pushed[a])
        bracket_back(own.S, own.f, to.t[1])
        times(to.beyond[a, i], own.S, to.spins[a])
        times(to.beyond[a, i], own.rate, to.t[2])
        for k in range(6):
            to.passed[a, k] -= to.t[0, k]
            to.pushed[a, k] -= to.t[1, k]
            to.rates[a, k] = rule.w[a] * dt * (to.t[2, k] - to.t[0, k])
            to.turns[a, k] = 0.0
            for m in range(6):
                to.turns[a, k] += to.turned_beyond[a, i, m, k] * own.S[m]
    j = i
    while j < segments.shape[0]:
        v = segments[j].v
        if v >= 0:
            for a in range(last + 1):
                other, part = nodes[a, j], rule.w[a] * dt
                own = dot6(to.rates[a], other.rate) + dot6(to.turns[a], other.S)
                back = part * dot6(other.rate, to.passed[a]) + dot6(other.S, to.pushed[a])
                for b in range(last + 1):
                    point = nodes[b, j]
                    own += rule.a[a, b] * dot6(to.spins[b], point.rate)
                    back += rule.a[a, b] * dot6(point.S, to.passed[b])
                to.by_q[i, a, v] = own
                if j != i:
                    to.by_q[j, a, link.v] = back
        j = segments[j].parent
    for a in range(last + 1):
        _, slope, damping = forces_along(on, i, a, on.work.x[a, i], on.work.rates[a, i])
        to.slopes[i, a], to.dampings[i, a] = slope, damping
        to.by_q[i, a, link.v] += rule.w[a] * dt * slope


@kernel
def load_columns(on, to, first):
    """to.r (n, s) and to.ends (n,): the equations by what some columns change, x held."""
    segments, nv, s = on.model.segments, on.state.v.shape[0], on.work.x.shape[0] - 1
    w, dt, nu = on.model.rule.w, on.options.dt, to.motors.shape[0]
    for i in range(segments.shape[0]):
        clear(to.r[i])
        for k in range(ACROSS):
            to.ends[i, k] = 0.0
            d = first + k
            if segments[i].v < 0 or d >= 2 * nv + nu:
                continue
            if d < nv:
                for a in range(s):
                    to.r[i, a, k] = to.by_q[i, a, d]
                to.r[i, 0, k] += to.D[i, d]
                to.ends[i, k] = to.by_q[i, s, d]
            elif d < 2 * nv:
                to.r[i, 0, k] = to.M[i, d - nv]
            elif to.motors[d - 2 * nv] == segments[i].v:
                for a in range(s):
                    to.r[i, a, k] = w[a] * dt
                to.ends[i, k] = w[s] * dt


@stage
def solve_columns(segments, e, s, r, l, z, dx):  # noqa: E741
    """dx of columns, by the factors of an elimination; and z, the motions. r is used up.

    Of a Galerkin integrator of `s` control points most numbers of a link are zero; s = 0 is for
    another one.
    """
    n, m, rows = segments.shape[0], e.N.shape[1], e.L.shape[1]
    first = m if s == 0 else 6 * (s + 1)
    for i in range(n + 1):
        clear(l[i])
    for up in range(1, n + 1):
        i = n - up
        link = segments[i]
        if link.v >= 0:
            for a in range(rows):
                add_products(e.A[i, a, :first], l[i, :first], r[i, a])
                if s > 0:
                    at = 6 * (s + 1 + a)
                    add_products(e.A[i, a, at : at + 6], l[i, at : at + 6], r[i, a])
            clear(dx[i])
            for g in range(rows):
                for a in range(rows):
                    add_multiple(-e.L[i, g, a], r[i, a], dx[i, g])
                for j in range(m):
                    add_multiple(e.H[i, g, j], dx[i, g], l[link.parent, j])
        for j in range(m):
            add_multiple(1.0, l[i, j], l[link.parent, j])
    clear(z[n])
    for i in range(n):
        link = segments[i]
        for j in range(m):
            for k in range(ACROSS):
                z[i, j, k] = z[link.parent, j, k]
        if link.v < 0:
            continue
        for g in range(rows):
            add_products(e.X[i, g], z[link.parent, :m], dx[i, g])
        for g in range(rows):
            for j in range(first):
                add_multiple(e.B[i, g, j], dx[i, g], z[i, j])
            for j in range(0 if s == 0 else 6 * (s + 1 + g), 0 if s == 0 else 6 * (s + 2 + g)):
                add_multiple(e.B[i, g, j], dx[i, g], z[i, j])


@kernel
def end_columns(on, to, first):
    """Changes of coordinates and of momenta at the end, with what the unknowns answer."""
    segments, nodes, rule, dt = on.model.segments, on.work.nodes, on.model.rule, on.options.dt
    n, s, nv = segments.shape[0], on.work.x.shape[0] - 1, on.state.v.shape[0]
    part = rule.w[s] * dt
    for i in range(n + 1):
        clear(to.sums[i])
    for up in range(1, n + 1):
        i = n - up
        link, out = segments[i], to.sums[i]
        if link.body >= 0:
            for b in range(s + 1):
                at = 6 * b
                for j in range(6):
                    add_products(to.alone[b, i, j], to.z[i, at : at + 6], out[at + j])
            at = 12 * s
            for j in range(6):
                turned = to.turned[s, i, j, 3:]
                add_products(turned, to.z[i, at + 3 : at + 6], out[6 * s + 6 + j])
        if link.v >= 0:
            own, ends = nodes[s, i], to.ends[i]
            for b in range(s + 1):
                point = nodes[b, i]
                for k in range(6):
                    to.t[1, k] = rule.a[s, b] * point.S[k]
                    to.t[1, k] += part * point.rate[k] if b == s else 0.0
                add_products(to.t[1], out[6 * b : 6 * b + 6], ends)
            add_products(own.S, out[6 * s + 6 : 6 * s + 12], ends)
            bracket_back(own.S, own.mu, to.t[0])
            for k in range(6):
                to.t[1, k] = -part * to.t[0, k]
            add_products(to.t[1], to.z[i, 6 * s : 6 * s + 6], ends)
            for g in range(s):
                answer = part * to.dampings[i, s] * rule.b[s, g + 1] / dt
                for b in range(s + 1):
                    armature = on.model.coordinates[link.v].armature
                    answer += rule.a[s, b] * armature * rule.b[b, g + 1] / dt
                if g + 1 == s:
                    answer += part * to.slopes[i, s]
                add_multiple(answer, to.dx[i, g], ends)
                point = nodes[g + 1, i]
                bracket_back(point.S, point.mu, to.t[0])
                for k in range(6):
                    add_multiple(-to.t[0, k], to.dx[i, g], out[6 * g + 6 + k])
            bracket_back(own.S, own.f, to.t[0])
            for k in range(6):
                add_multiple(-to.t[0, k], to.dx[i, s - 1], out[6 * s + 6 + k])
            for k in range(ACROSS):
                d = first + k
                if d < to.changes.shape[0]:
                    to.changes[d, link.v] = to.dx[i, s - 1, k] + (1.0 if d == link.v else 0.0)
                    to.changes[d, nv + link.v] = ends[k]
        for j in range(6 * s + 12):
            add_multiple(1.0, out[j], to.sums[link.parent, j])


@kernel
def leave_velocities(on, to, first):
    """to.r (n, 1) = changes of M(q) v - p at the end, where velocities stay."""
    segments, nodes, n, nv = (
        on.model.segments,
        on.work.nodes,
        on.model.segments.shape[0],
        on.state.v.shape[0],
    )
    clear(to.z[n])
    for i in range(n + 1):
        clear(to.sums[i])
    for i in range(n):
        link = segments[i]
        for j in range(6):
            for k in range(ACROSS):
                to.z[i, j, k] = to.z[link.parent, j, k]
        if link.v < 0:
            continue
        for k in range(ACROSS):
            d = first + k
            to.dx[i, 0, k] = to.changes[d, link.v] if d < to.changes.shape[0] else 0.0
        for j in range(6):
            add_multiple(nodes[0, i].rate[j], to.dx[i, 0], to.z[i, j])
    for up in range(1, n + 1):
        i = n - up
        link, own, out = segments[i], nodes[0, i], to.sums[i]
        if link.body >= 0:
            for j in range(6):
                add_products(to.alone[0, i, j], to.z[i, :6], out[j])
        clear(to.r[i])
        if link.v >= 0:
            for k in range(ACROSS):
                d = first + k
                to.r[i, 0, k] = -to.changes[d, nv + link.v] if d < to.changes.shape[0] else 0.0
            bracket_back(own.S, own.mu, to.t[0])
            add_products(own.S, out[:6], to.r[i, 0])
            for j in range(6):
                add_multiple(-to.t[0, j], to.dx[i, 0], out[j])
        for j in range(6):
            add_multiple(1.0, out[j], to.sums[link.parent, j])


@kernel
def read_velocities(on, to, first):
    """Changes of velocities, which leave M(q) v - p as it is."""
    nv = on.state.v.shape[0]
    for i in range(on.model.segments.shape[0]):
        v = on.model.segments[i].v
        if v >= 0:
            for k in range(ACROSS):
                if first + k < to.changes.shape[0]:
                    to.changes[first + k, nv + v] = to.dx[i, 0, k]
