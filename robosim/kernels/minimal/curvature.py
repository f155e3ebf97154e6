"""Second derivatives of a Galerkin step of hinges and slides, weighed by multipliers.

A step solves r(x) = 0 for its control points, and M(q') v' = p' for the velocities at its end. Let
lambda weigh q' and v', and let y and nu be such that no unknown changes

    Phi = lambda . (q', v') + y . r + nu . (p' - M(q') v').

Then the second derivatives of lambda . (q', v') are those of Phi where y and nu are held, along
what the unknowns answer. As r and p' are derivatives of the discrete Lagrangian, Phi is a sum over
control points of how the Lagrangian changes along coordinates (y_0 .. y_(s-1), nu). Two knots of
momenta are added: K at the beginning along rates y_0, and at the end along rates -nu.

Second derivatives of the energies by pairs of links are [Fan2018, Algorithms 2 and 3]. Those of
Phi are what these change along y: O(1) for each pair, from sums over a link and all beyond it.
With world changes d of twists S, of their rates R, of inertias M and of momenta mu,

    A = M S,  B = M R - ad(S)^T mu,    d(S_j . A_i), d(R_j . A_i), d(S_j . B_i), d(R_j . B_i)

are those by two rates, by a rate i and a coordinate j, and so on, of a link i and of a link j that
carries it. Rows A = (A, dA) and S = (dS, S) have them as their product. Held forces F at places p
add -d(s_j . C_i) to the last one, with C = sum F x (velocity of p along i), and held moments their
own.
"""

from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.equations.algebra import fill
from robosim.kernels.equations.vectors import bracket, crossed, dot6
from robosim.kernels.minimal.columns import times
from robosim.kernels.minimal.knot import solve_mass
from robosim.kernels.minimal.place import add_inertia
from robosim.kernels.minimal.twists import bracket_back


@stage
def weighed_points(on, to, seen):
    """Rows of seen, for the step that `linearized_points` has taken, with seen.multipliers."""
    s = on.work.x.shape[0] - 1
    weigh_momenta(on, seen)
    for a in range(s + 1):
        vary_links(on, to, seen, a)
    vary_links(on, to, seen, s + 2)
    weigh_unknowns(on, seen)
    solve_back(on.model.segments, on.work.step, seen.c, seen.rows)
    weigh_rows(on, seen)
    for a in range(s + 2):
        vary_links(on, to, seen, a)


@kernel
def weigh_momenta(on, seen):
    """Changes along nu = M(q')^-1 lambda alone, of the last control point and of the end."""
    rule, e, dt = on.model.rule, on.work.mass, on.options.dt
    s, nv = on.work.x.shape[0] - 1, on.state.v.shape[0]
    for i in range(on.model.segments.shape[0]):
        v = on.model.segments[i].v
        e.r[i, 0] = -seen.multipliers[nv + v] if v >= 0 else 0.0
    solve_mass(on)
    for i in range(on.model.segments.shape[0]):
        nu = e.dx[i, 0] if on.model.segments[i].v >= 0 else 0.0
        for a in range(s + 1):
            seen.y[a, i] = nu if a == s else 0.0
            seen.z[a, i] = rule.b[a, s] * nu / dt
        seen.z[s + 2, i] = -nu


@kernel
def weigh_unknowns(on, seen):
    """seen.c (n, s) = changes of Phi by the unknowns without the rows."""
    rule, dt, s = on.model.rule, on.options.dt, on.work.x.shape[0] - 1
    for i in range(on.model.segments.shape[0]):
        v = on.model.segments[i].v
        for g in range(1, s + 1):
            total = rule.w[g] * dt * seen.by_q[g, i]
            for a in range(s + 1):
                total += rule.w[a] * rule.b[a, g] * seen.by_rate[a, i]
            if g == s and v >= 0:
                total += seen.multipliers[v] + seen.by_q[s + 2, i]
            seen.c[i, g - 1] = total if v >= 0 else 0.0


@kernel
def solve_back(segments, e, c, y):
    """y . r = c . dx for all rows r, whose unknowns dx are those of `solve_tree`; (n, s)."""
    n, m, rows = segments.shape[0], e.N.shape[1], e.L.shape[1]
    for i in range(n + 1):
        fill(0.0, e.z[i])
    for up in range(1, n + 1):
        i = n - up
        link = segments[i]
        for g in range(rows if link.v >= 0 else 0):
            e.dx[i, g] = c[i, g]
            for j in range(m):
                e.dx[i, g] += e.B[i, g, j] * e.z[i, j]
        for j in range(m):
            total = e.z[i, j]
            for g in range(rows if link.v >= 0 else 0):
                total += e.X[i, g, j] * e.dx[i, g]
            e.z[link.parent, j] += total
    fill(0.0, e.l[n])
    for i in range(n):
        link = segments[i]
        for a in range(rows):
            y[i, a] = 0.0
        for g in range(rows if link.v >= 0 else 0):
            total = e.dx[i, g]
            for j in range(m):
                total += e.H[i, g, j] * e.l[link.parent, j]
            for a in range(rows):
                y[i, a] -= e.L[i, g, a] * total
        for j in range(m):
            total = e.l[link.parent, j]
            for a in range(rows if link.v >= 0 else 0):
                total += e.A[i, a, j] * y[i, a]
            e.l[i, j] = total


@kernel
def weigh_rows(on, seen):
    """Changes along all of y, of control points and of the beginning."""
    rule, dt, s = on.model.rule, on.options.dt, on.work.x.shape[0] - 1
    for i in range(on.model.segments.shape[0]):
        for g in range(s):
            seen.y[g, i] = seen.rows[i, g]
        for a in range(s + 1):
            seen.z[a, i] = 0.0
            for g in range(s + 1):
                seen.z[a, i] += rule.b[a, g] * seen.y[g, i] / dt
        seen.z[s + 1, i] = seen.y[0, i]


@kernel
def vary_links(on, to, seen, a):
    """What links at kept point a change along coordinates seen.y and rates seen.z there."""
    segments, n = on.model.segments, on.model.segments.shape[0]
    fill(0.0, seen.turn[n])
    fill(0.0, seen.motion[n])
    for i in range(n):
        link, own, S, R = segments[i], seen.nodes[a, i], seen.S[a, i], seen.R[a, i]
        y, z = seen.y[a, i], seen.z[a, i]
        for k in range(6):
            seen.turn[i, k] = seen.turn[link.parent, k] + y * own.S[k]
            moved = y * own.rate[k] + z * own.S[k]
            seen.motion[i, k] = seen.motion[link.parent, k] + moved
        bracket(seen.turn[i], own.S, S[0:6])
        bracket(seen.motion[i], own.S, R[0:6])
        bracket(seen.turn[i], own.rate, seen.t[0])
        for k in range(6):
            R[k] += seen.t[0, k]
            S[6 + k], R[6 + k] = own.S[k], own.rate[k]
        for k in range(3):
            R[12 + k], R[15 + k] = S[3 + k], own.S[3 + k]
    clear_sums(seen)
    for up in range(1, n + 1):
        i = n - up
        link = segments[i]
        if link.body >= 0:
            add_link(link, seen, a, i)
            if a + 2 < seen.nodes.shape[0]:  # forces act at control points
                add_forces(on, seen, a, i)
        if link.v >= 0:
            answer_links(seen, a, i)
            answer_forces(seen, a, i)
            change_rows(on, to, seen, a, i)
        pass_sums(seen, i, link.parent)


@kernel
def clear_sums(seen):
    """No sums over links and all beyond them."""
    for i in range(seen.turn.shape[0]):
        for j in range(6):
            seen.mu[i, j] = seen.mu_turned[i, j] = 0.0
            for k in range(6):
                seen.beyond[i, j, k] = seen.beyond_turned[i, j, k] = 0.0
        for j in range(3):
            seen.force[i, j] = seen.moment[i, j] = 0.0
            for k in range(3):
                seen.at[i, j, k] = seen.at_moved[i, j, k] = seen.twisted[i, j, k] = 0.0


@kernel
def pass_sums(seen, i, parent):
    """Add the sums of link i to those of its parent."""
    for j in range(6):
        seen.mu[parent, j] += seen.mu[i, j]
        seen.mu_turned[parent, j] += seen.mu_turned[i, j]
        for k in range(6):
            seen.beyond[parent, j, k] += seen.beyond[i, j, k]
            seen.beyond_turned[parent, j, k] += seen.beyond_turned[i, j, k]
    for j in range(3):
        seen.force[parent, j] += seen.force[i, j]
        seen.moment[parent, j] += seen.moment[i, j]
        for k in range(3):
            seen.at[parent, j, k] += seen.at[i, j, k]
            seen.at_moved[parent, j, k] += seen.at_moved[i, j, k]
            seen.twisted[parent, j, k] += seen.twisted[i, j, k]


@kernel
def add_link(link, seen, a, i):
    """Inertia and momentum of a link alone, and what they change [Fan2018, Eqs. C.13, C.21]."""
    own = seen.nodes[a, i]
    for j in range(6):
        fill(0.0, seen.alone[j])
    add_inertia(link, own, 1.0, seen.alone)
    times(seen.alone, own.V, seen.t[0])
    times(seen.alone, seen.motion[i], seen.t[1])
    bracket_back(seen.turn[i], seen.t[0], seen.t[2])
    for k in range(6):
        seen.mu[i, k] += seen.t[0, k]
        seen.mu_turned[i, k] += seen.t[1, k] - seen.t[2, k]
    for k in range(6):
        bracket_back(seen.turn[i], seen.alone[k], seen.t[0])
        for j in range(6):
            seen.beyond[i, j, k] += seen.alone[j, k]
            seen.beyond_turned[i, j, k] -= seen.t[0, j]
            seen.beyond_turned[i, k, j] -= seen.t[0, j]


@kernel
def add_forces(on, seen, a, i):
    """Held forces F and moments on a link, p F^T, and what that changes."""
    link, own, e = on.model.segments[i], seen.nodes[a, i], seen.turn[i]
    g, m, w, p = on.model.gravity, link.gravitational_mass, on.loads.external[link.body].w, own.p
    x, y, z = crossed(e[3], e[4], e[5], p[0], p[1], p[2])
    seen.t[0, 0], seen.t[0, 1], seen.t[0, 2] = e[0] + x, e[1] + y, e[2] + z
    for k in range(3):
        force = m * g[k] + w[k]
        seen.force[i, k] += force
        seen.moment[i, k] += w[3 + k]
        for j in range(3):
            seen.at[i, j, k] += p[j] * force
            seen.at_moved[i, j, k] += seen.t[0, j] * force


@kernel
def answer_links(seen, a, i):
    """Rows (A, dA) and (B, dB) of a link."""
    own, S, R, A, B = seen.nodes[a, i], seen.S[a, i], seen.R[a, i], seen.A[a, i], seen.B[a, i]
    times(seen.beyond[i], own.S, A[0:6])
    times(seen.beyond_turned[i], own.S, A[6:12])
    times(seen.beyond[i], S[0:6], seen.t[0])
    for k in range(6):
        A[6 + k] += seen.t[0, k]
    times(seen.beyond[i], own.rate, B[0:6])
    times(seen.beyond_turned[i], own.rate, B[6:12])
    times(seen.beyond[i], R[0:6], seen.t[0])
    bracket_back(own.S, seen.mu[i], seen.t[1])
    bracket_back(S[0:6], seen.mu[i], seen.t[2])
    bracket_back(own.S, seen.mu_turned[i], seen.t[3])
    for k in range(6):
        B[k] -= seen.t[1, k]
        B[6 + k] += seen.t[0, k] - seen.t[2, k] - seen.t[3, k]


@kernel
def answer_forces(seen, a, i):
    """Rows -C and -dC of held forces [Fan2018, Eq. D.56], and of held moments."""
    own, S, B = seen.nodes[a, i].S, seen.S[a, i], seen.B[a, i]
    F, N, E, D, Y = seen.force[i], seen.moment[i], seen.at[i], seen.at_moved[i], seen.twisted[i]
    for j in range(3):
        for k in range(3):
            Y[j, k] += seen.y[a, i] * own[3 + j] * N[k]
    x, y, z = crossed(F[0], F[1], F[2], own[0], own[1], own[2])
    d, e, f = crossed(F[0], F[1], F[2], S[0], S[1], S[2])
    B[12], B[13], B[14], B[15], B[16], B[17] = -x, -y, -z, -d, -e, -f
    moment, moved = E[0, 0] + E[1, 1] + E[2, 2], D[0, 0] + D[1, 1] + D[2, 2]
    twisted = Y[0, 0] + Y[1, 1] + Y[2, 2]
    for k in range(3):
        B[12 + k] -= moment * own[3 + k]
        B[15 + k] -= moment * S[3 + k] + (moved + twisted) * own[3 + k]
        for j in range(3):
            B[12 + k] += E[k, j] * own[3 + j]
            B[15 + k] += E[k, j] * S[3 + j] + (D[k, j] + Y[k, j]) * own[3 + j]


@kernel
def change_rows(on, to, seen, a, i):
    """Changes of Phi at a kept point by the coordinate of a link there, and by its rate."""
    link, own, S, R = on.model.segments[i], seen.nodes[a, i], seen.S[a, i], seen.R[a, i]
    E, D, Y, F = seen.at[i], seen.at_moved[i], seen.twisted[i], seen.force[i]
    y, z = seen.y[a, i], seen.z[a, i]
    by_rate = dot6(S[0:6], seen.mu[i]) + dot6(own.S, seen.mu_turned[i])
    by_q = dot6(R[0:6], seen.mu[i]) + dot6(own.rate, seen.mu_turned[i])
    for k in range(3):
        j, m = (k + 1) % 3, (k + 2) % 3
        by_q += S[k] * F[k] + S[3 + k] * (E[j, m] - E[m, j])
        by_q += own.S[3 + k] * (D[j, m] - D[m, j] + Y[j, m] - Y[m, j])
    by_rate += on.model.coordinates[link.v].armature * z
    if a < to.slopes.shape[1]:
        by_q += to.slopes[i, a] * y
        by_rate += to.dampings[i, a] * y
    seen.by_q[a, i], seen.by_rate[a, i] = by_q, by_rate
