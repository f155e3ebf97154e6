"""Derivatives of a Galerkin step of hinges and slides, in closed form [Fan2018, Algorithm 2].

With the coordinates x of the control points held relative to the beginning, a change of a
coordinate q_j there moves all beyond joint j as one, at all control points. So its answers follow
from sums over a link and all beyond it, the same for all j (`pair_up`). That is O(1) for each pair
of links of which one carries the other. The unknowns x answer by the factors of Newton's direction,
link by link, O(n) for each direction. So do momenta and velocities at the end. Motions z, answers f
and what a link sees are those of `galerkin`.

Directions are columns, as many at a time as a number has lanes: by q, then by v, then by torques.
"""

from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.compiler.lanes import WIDTH, lane, with_lane
from robosim.kernels.equations.algebra import assign, fill
from robosim.kernels.equations.vectors import dot6
from robosim.kernels.minimal.forces import forces_along, held_answer
from robosim.kernels.minimal.knot import move_at_knot
from robosim.kernels.minimal.place import add_inertia
from robosim.kernels.minimal.run import start
from robosim.kernels.minimal.step import add_rest, begin_knot, factor_step, find_points, move_on
from robosim.kernels.minimal.twists import bracket_back
from robosim.kernels.status import CONVERGED, SINGULAR

FEW = 160  # unknowns of a step whose answers at the end are found by pairs of links
ROWS = 4  # of these at a time


@kernel
def with_products(total, c, x):
    """total + c . x, of numbers c and of rows x of columns."""
    for j in range(c.shape[0]):
        total += c[j] * x[j]
    return total


@stage
def linearized_points(on, to, seen, info):
    """A step from the state's q and v; to.changes (columns, 2 nv) = where it leads. A status.

    The state is then that at the end. Where they are `seen`, links are kept for
    `robosim.kernels.minimal.curvature`: at the control points, the beginning and the end.
    """
    segments = on.model.segments
    if start(on) != 0:
        info.status = SINGULAR
        return info.status
    move_at_knot(on)
    keep_links(on, seen, 0, on.work.x.shape[0])
    sum_inertias(on, to, 1)
    momenta_by_pairs(on, to)
    info.status = find_points(on, info)
    if info.status == CONVERGED and factor_step(on.model.rule, on) != 0:
        info.status = SINGULAR
    if info.status != CONVERGED:
        return info.status
    s, nv = on.work.x.shape[0] - 1, on.state.v.shape[0]
    for a in range(s + 1):
        keep_links(on, seen, a, a)
    sum_inertias(on, to, s + 1)
    sum_answers(on, to)
    for i in range(segments.shape[0]):
        if segments[i].v >= 0:
            pair_up(on, to, i)
    columns = 2 * nv + to.motors.shape[0]
    for first in range(0, columns, WIDTH):
        load_columns(on, to, first)
        solve_columns(segments, on.work.step, s, to.r, to.l, to.z, to.dx)
        if by_pairs(on):
            end_by_pairs(on, to, first)
        else:
            end_columns(on, to, first)
    add_rest(on)
    move_on(on)
    info.status = begin_knot(on)
    if info.status != CONVERGED:
        return info.status
    move_at_knot(on)
    keep_links(on, seen, 0, s + 2)
    sum_inertias(on, to, 1)
    if by_pairs(on):
        momenta_by_pairs(on, to)
    for first in range(0, columns, WIDTH):
        if by_pairs(on):
            leave_by_pairs(on, to, first)
        else:
            leave_velocities(on, to, first)
        solve_columns(segments, on.work.mass, 0, to.r, to.l, to.z, to.dx)
        read_velocities(on, to, first)
    return info.status


@kernel
def keep_links(on, seen, a, at):
    """Keep where links are and how they move at control point a, if they are seen."""
    if seen is not None:
        for i in range(on.model.segments.shape[0]):
            own, kept = on.work.nodes[a, i], seen.nodes[at, i]
            for k in range(3):
                assign(own.R[k], kept.R[k])
            assign(own.p, kept.p)
            assign(own.S, kept.S)
            assign(own.rate, kept.rate)
            assign(own.V, kept.V)


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
                to.D[i, v, 0] = dot6(to.t[0], other.rate)
                if j != i:
                    to.D[j, link.v, 0] = dot6(other.S, to.t[1])
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
                other, of = nodes[a, j], to.pairs[a]
                of[0] = dot6(other.S, to.spins[a])
                of[1] = dot6(other.rate, to.spins[a])
                of[2] = dot6(other.S, to.passed[a])
                of[3] = rule.w[a] * dt * dot6(other.rate, to.passed[a])
            for a in range(last + 1):
                own = to.pairs[a, 3] + dot6(to.turns[a], nodes[a, j].S)
                back = to.pairs[a, 3] + dot6(to.pushed[a], nodes[a, j].S)
                for b in range(last + 1):
                    own += rule.a[a, b] * to.pairs[b, 1]
                    back += rule.a[a, b] * to.pairs[b, 2]
                to.by_q[i, a, v] = own
                if j != i:
                    to.by_q[j, a, link.v] = back
            if by_pairs(on):
                pair_ends(on, to, i, j)
        j = segments[j].parent
    for a in range(last + 1):
        _, slope, damping = forces_along(on, i, a, on.work.x[a, i], on.work.rates[a, i])
        to.slopes[i, a], to.dampings[i, a] = slope, damping
        to.by_q[i, a, link.v] += rule.w[a] * dt * slope
    for g in range(last if by_pairs(on) else 0):
        to.by_x[i, i, g] += own_ends(on, to, i, g)


@kernel
def by_pairs(on):
    """Whether momenta at the end follow from the unknowns by pairs of links, O(n^3) in all.

    That takes fewer products than sums over the tree where links are few.
    """
    return on.model.segments.shape[0] * (on.work.x.shape[0] - 1) <= FEW


@kernel
def pair_ends(on, to, i, j):
    """to.by_x of link i and one that carries it, from to.pairs: momenta at the end by unknowns."""
    rule, dt, s = on.model.rule, on.options.dt, on.work.x.shape[0] - 1
    w = rule.w[s] * dt
    for g in range(1, s + 1):
        both = 0.0
        for a in range(s + 1):
            both += rule.a[s, a] * rule.b[a, g] / dt * to.pairs[a, 0]
        b = w * rule.b[s, g] / dt
        own = both + rule.a[s, g] * to.pairs[g, 1] + b * to.pairs[s, 2]
        back = both + rule.a[s, g] * to.pairs[g, 2] + b * to.pairs[s, 1]
        if g == s:
            other = on.work.nodes[s, j]
            own += to.pairs[s, 3] + dot6(to.turns[s], other.S)
            back += to.pairs[s, 3] + dot6(to.pushed[s], other.S)
        to.by_x[i, j, g - 1] = own
        if j != i:
            to.by_x[j, i, g - 1] = back


@kernel
def own_ends(on, to, i, g):
    """Momentum at the end of link i by its own unknown g, from forces along it and a rotor."""
    rule, dt, s = on.model.rule, on.options.dt, on.work.x.shape[0] - 1
    w, armature = rule.w[s] * dt, on.model.coordinates[on.model.segments[i].v].armature
    answer = w * to.dampings[i, s] * rule.b[s, g + 1] / dt
    for b in range(s + 1):
        answer += rule.a[s, b] * armature * rule.b[b, g + 1] / dt
    if g + 1 == s:
        answer += w * to.slopes[i, s]
    return answer


@kernel
def load_columns(on, to, first):
    """to.r (n, s) and to.ends (n,): the equations by what some columns change, x held."""
    segments, nv, s = on.model.segments, on.state.v.shape[0], on.work.x.shape[0] - 1
    w, dt, nu = on.model.rule.w, on.options.dt, to.motors.shape[0]
    for i in range(segments.shape[0]):
        fill(0.0, to.r[i])
        to.ends[i] = to.zero[0]
        for k in range(min(WIDTH, 2 * nv + nu - first)):
            d = first + k
            if segments[i].v < 0:
                continue
            if d < nv:
                for a in range(s):
                    more = to.D[i, d, 0] if a == 0 else 0.0
                    to.r[i, a] = with_lane(to.r[i, a], k, to.by_q[i, a, d] + more)
                to.ends[i] = with_lane(to.ends[i], k, to.by_q[i, s, d])
            elif d < 2 * nv:
                to.r[i, 0] = with_lane(to.r[i, 0], k, to.M[i, d - nv])
            elif to.motors[d - 2 * nv] == segments[i].v:
                for a in range(s):
                    to.r[i, a] = with_lane(to.r[i, a], k, w[a] * dt)
                to.ends[i] = with_lane(to.ends[i], k, w[s] * dt)


@stage
def solve_columns(segments, e, s, r, l, z, dx):  # noqa: E741
    """dx of columns, by the factors of an elimination; and z, the motions. r is used up.

    Of a Galerkin integrator of `s` control points most numbers of a link are zero; s = 0 is for
    another one.
    """
    n, m, rows = segments.shape[0], e.N.shape[1], e.L.shape[1]
    first = m if s == 0 else 6 * (s + 1)
    for i in range(n + 1):
        fill(0.0, l[i])
    for up in range(1, n + 1):
        i = n - up
        link = segments[i]
        moves = link.v >= 0
        if moves:
            for a in range(rows):
                total = with_products(r[i, a], e.A[i, a, :first], l[i, :first])
                if s > 0:
                    at = 6 * (s + 1 + a)
                    total = with_products(total, e.A[i, a, at : at + 6], l[i, at : at + 6])
                r[i, a] = total
            for g in range(rows):
                total = -e.L[i, g, 0] * r[i, 0]
                for a in range(1, rows):
                    total -= e.L[i, g, a] * r[i, a]
                dx[i, g] = total
        for j in range(m):
            total = l[link.parent, j] + l[i, j]
            if moves:
                for g in range(rows):
                    total += e.H[i, g, j] * dx[i, g]
            l[link.parent, j] = total
    fill(0.0, z[n])
    for i in range(n):
        link = segments[i]
        moves = link.v >= 0
        if moves:
            for g in range(rows):
                dx[i, g] = with_products(dx[i, g], e.X[i, g, :m], z[link.parent, :m])
        for j in range(m):
            total = z[link.parent, j]
            if moves and j < first:
                for g in range(rows):
                    total += e.B[i, g, j] * dx[i, g]
            elif moves:
                g = (j - first) // 6
                total += e.B[i, g, j] * dx[i, g]
            z[i, j] = total


@kernel
def add_products(c, x, out):
    """out[i] += sum over j of c[i, j] . x[j], of numbers c and of columns x and out."""
    n, links, m = c.shape
    i = 0
    while i + ROWS <= n:  # several sums at a time, as each waits for its last product
        a, b, d, e = out[i], out[i + 1], out[i + 2], out[i + 3]
        for j in range(links):
            for k in range(m):
                y = x[j, k]
                a += c[i, j, k] * y
                b += c[i + 1, j, k] * y
                d += c[i + 2, j, k] * y
                e += c[i + 3, j, k] * y
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, d, e
        i += ROWS
    while i < n:
        for j in range(links):
            out[i] = with_products(out[i], c[i, j], x[j])
        i += 1


@kernel
def end_by_pairs(on, to, first):
    """`end_columns` by pairs of links."""
    segments, nv, s = on.model.segments, on.state.v.shape[0], on.work.x.shape[0] - 1
    add_products(to.by_x, to.dx, to.ends)
    for i in range(segments.shape[0]):
        if segments[i].v >= 0:
            read_ends(to, i, segments[i].v, first, nv, s)


@kernel
def read_ends(to, i, v, first, nv, s):
    """Changes of the coordinate of link i and of its momentum at the end, of all columns."""
    for k in range(min(WIDTH, to.changes.shape[0] - first)):
        d = first + k
        moved = 1.0 if d == v else 0.0
        to.changes[d, v] = lane(to.dx[i, s - 1], k) + moved
        to.changes[d, nv + v] = lane(to.ends[i], k)
        for a in range(s if to.points.shape[0] > 0 else 0):
            to.points[d, a, v] = lane(to.dx[i, a], k)


@kernel
def end_columns(on, to, first):
    """Changes of coordinates and of momenta at the end, with what the unknowns answer."""
    segments, rule, dt = on.model.segments, on.model.rule, on.options.dt
    n, s, nv = segments.shape[0], on.work.x.shape[0] - 1, on.state.v.shape[0]
    part = rule.w[s] * dt
    for i in range(n + 1):
        fill(0.0, to.sums[i])
    for up in range(1, n + 1):
        i = n - up
        link, out, z = segments[i], to.sums[i], to.z[i]
        if link.body >= 0:
            for b in range(s + 1):
                at = 6 * b
                for j in range(6):
                    M = to.alone[b, i, j]
                    out[at + j] = with_products(out[at + j], M, z[at : at + 6])
            at, to_impulse = 12 * s + 3, 6 * s + 6
            for j in range(6):
                M = to.turned[s, i, j, 3:]
                out[to_impulse + j] = with_products(out[to_impulse + j], M, z[at : at + 3])
        if link.v >= 0:
            end_column(on, to, i, part)
            read_ends(to, i, link.v, first, nv, s)
        for j in range(6 * s + 12):
            to.sums[link.parent, j] += out[j]


@kernel
def end_column(on, to, i, part):
    """to.ends of link i, from to.sums of it and all beyond; to.sums as its parent sees them."""
    nodes, rule = on.work.nodes, on.model.rule
    s, out, z = on.work.x.shape[0] - 1, to.sums[i], to.z[i]
    own, end = nodes[s, i], to.ends[i]
    for b in range(s + 1):
        S = nodes[b, i].S
        for k in range(6):
            along = rule.a[s, b] * S[k] + (part * own.rate[k] if b == s else 0.0)
            end += along * out[6 * b + k]
    bracket_back(own.S, own.mu, to.t[0])
    bracket_back(own.S, own.f, to.t[1])
    for k in range(6):
        end += own.S[k] * out[6 * s + 6 + k]
        end -= part * to.t[0, k] * z[6 * s + k]
        out[6 * s + 6 + k] -= to.t[1, k] * to.dx[i, s - 1]
    for g in range(s):
        end += own_ends(on, to, i, g) * to.dx[i, g]
        point = nodes[g + 1, i]
        bracket_back(point.S, point.mu, to.t[0])
        for k in range(6):
            out[6 * g + 6 + k] -= to.t[0, k] * to.dx[i, g]
    to.ends[i] = end


@kernel
def leave_by_pairs(on, to, first):
    """`leave_velocities` by pairs of links, with to.D at the end."""
    segments, nv = on.model.segments, on.state.v.shape[0]
    n, count = segments.shape[0], min(WIDTH, to.changes.shape[0] - first)
    for i in range(n):
        v = segments[i].v
        to.ends[i] = to.zero[0]
        if v >= 0:
            to.turning[v, 0] = to.zero[0]
        for k in range(count if v >= 0 else 0):
            d = first + k
            to.turning[v, 0] = with_lane(to.turning[v, 0], k, to.changes[d, v])
            to.ends[i] = with_lane(to.ends[i], k, -to.changes[d, nv + v])
    add_products(to.D, to.turning, to.ends)
    for i in range(n):
        to.r[i, 0] = to.ends[i]


@kernel
def leave_velocities(on, to, first):
    """to.r (n, 1) = changes of M(q) v - p at the end, where velocities stay."""
    segments, nodes, nv = on.model.segments, on.work.nodes, on.state.v.shape[0]
    n, count = segments.shape[0], min(WIDTH, to.changes.shape[0] - first)
    fill(0.0, to.z[n])
    for i in range(n + 1):
        fill(0.0, to.sums[i])
    for i in range(n):
        link, rate = segments[i], nodes[0, i].rate
        to.dx[i, 0] = to.zero[0]
        for k in range(count if link.v >= 0 else 0):
            to.dx[i, 0] = with_lane(to.dx[i, 0], k, to.changes[first + k, link.v])
        for j in range(6):
            to.z[i, j] = to.z[link.parent, j] + rate[j] * to.dx[i, 0]
    for up in range(1, n + 1):
        i = n - up
        link, own, out = segments[i], nodes[0, i], to.sums[i]
        if link.body >= 0:
            for j in range(6):
                out[j] = with_products(out[j], to.alone[0, i, j], to.z[i, :6])
        fill(0.0, to.r[i])
        if link.v >= 0:
            for k in range(count):
                d = first + k
                to.r[i, 0] = with_lane(to.r[i, 0], k, -to.changes[d, nv + link.v])
            to.r[i, 0] = with_products(to.r[i, 0], own.S, out[:6])
            bracket_back(own.S, own.mu, to.t[0])
            for j in range(6):
                out[j] -= to.t[0, j] * to.dx[i, 0]
        for j in range(6):
            to.sums[link.parent, j] += out[j]


@kernel
def read_velocities(on, to, first):
    """Changes of velocities, which leave M(q) v - p as it is."""
    nv = on.state.v.shape[0]
    for i in range(on.model.segments.shape[0]):
        v = on.model.segments[i].v
        if v >= 0:
            for k in range(min(WIDTH, to.changes.shape[0] - first)):
                to.changes[first + k, nv + v] = lane(to.dx[i, 0], k)
