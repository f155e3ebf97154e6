"""The hinges of a free rotation in Newton's direction of Galerkin integrators, and its rotors.

All is in the axes of the chart, which the parent carries on. There the rows of the first point are

    p + (what acts at the first point) - sum Y^a,    axes^a Y^a = y^a,

where y^a are the parts of momenta in the rows of the hinges at the other points,

    y_j^a = sum_b a^ab axes_j^b . n^b + w^a dt axes_j'^a . n^a,

by the angular momentum n about the centre, of all beyond and of the rotors. What acts at other
points, and how the parent moves, is in the rows of the hinges as it is in those of a turn of all,
and so in none of these.
"""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import bracket, crossed, turned, turned_back
from robosim.kernels.minimal.forces import (
    child_torque,
    damping_along,
    servo_impulse,
    spring_slope,
    turn_vector,
)
from robosim.kernels.minimal.twists import bracket_back


@kernel
def dot3(a, b):
    """The scalar product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def has_rotors(on, i):
    """Whether the free rotation whose third hinge is i has rotors."""
    c, v = on.model.coordinates, on.model.segments[i].v
    return c[v - 2].armature != 0.0 or c[v - 1].armature != 0.0 or c[v].armature != 0.0


@kernel
def rotors_of(on, i, a, x, y, z):
    """Angular momentum of the rotors at angular velocity (x, y, z), both in axes of the chart."""
    T, R = on.work.nodes[a, i - 2].T, on.work.nodes[a, i].R
    link, c = on.model.segments[i], on.model.coordinates
    d, e, f = turned(T, x, y, z)
    d, e, f = turned_back(R, d, e, f)
    d, e, f = turned_back(link.after, d, e, f)
    d, e, f = d * c[link.v - 2].armature, e * c[link.v - 1].armature, f * c[link.v].armature
    d, e, f = turned(link.after, d, e, f)
    d, e, f = turned(R, d, e, f)
    return turned_back(T, d, e, f)


@kernel
def load_axes(on, i):
    """Axes of the hinges up to i at all control points, how they turn, and the rotors."""
    work, points, rotors = on.work, on.work.rotations.points, has_rotors(on, i)
    for a in range(points.shape[0]):
        p, T = points[a], work.nodes[a, i - 2].T
        x, y, z = 0.0, 0.0, 0.0
        for j in range(3):
            S, rate = work.nodes[a, i - 2 + j].S, work.rates[a, i - 2 + j]
            d, e, f = turned_back(T, S[3], S[4], S[5])
            p.axes[j, 0], p.axes[j, 1], p.axes[j, 2] = d, e, f
            p.rates[j, 0], p.rates[j, 1], p.rates[j, 2] = crossed(x, y, z, d, e, f)
            x, y, z = x + rate * d, y + rate * e, z + rate * f
            for h in range(3):
                b = p.bends[j, h]
                b[0], b[1], b[2] = 0.0, 0.0, 0.0
                if h < j:
                    w = p.axes[h]
                    b[0], b[1], b[2] = crossed(w[0], w[1], w[2], d, e, f)
        p.spin[0], p.spin[1], p.spin[2] = x, y, z
        p.rotors[0], p.rotors[1], p.rotors[2] = 0.0, 0.0, 0.0
        if rotors:
            p.rotors[0], p.rotors[1], p.rotors[2] = rotors_of(on, i, a, x, y, z)


@kernel
def add_rotors(on, i):
    """Add a free rotation's rotors to all rows but those of the first point, and to the end."""
    if not has_rotors(on, i):
        return
    load_axes(on, i)
    work, last = on.work, on.work.x.shape[0] - 1
    for a in range(1, last + 1):
        for j in range(3):
            total = hinge_momentum(on, a, j, False)
            work.size[i - 2 + j] += abs(total)
            if a < last:
                work.residual[i - 2 + j, a] += total
            else:
                work.ends[i - 2 + j] += total


@kernel
def hinge_momentum(on, a, j, whole):
    """y_j at control point a, of the whole momentum or of the rotors alone."""
    rule, points = on.model.rule, on.work.rotations.points
    total = 0.0
    for b in range(points.shape[0]):
        p = points[b]
        along, late = dot3(p.axes[j], p.rotors), dot3(p.rates[j], p.rotors)
        if whole:
            along += dot3(p.axes[j], p.momentum)
            late += dot3(p.rates[j], p.momentum)
        total += rule.a[a, b] * along
        if a == b:
            total += rule.w[a] * on.options.dt * late
    return total


@kernel
def load_rotation(on, i):
    """All that the direction needs of the free rotation whose third hinge is i."""
    work, points, rotors = on.work, on.work.rotations.points, has_rotors(on, i)
    s = points.shape[0] - 1
    load_axes(on, i)
    for a in range(s + 1):
        p, own, mu = points[a], work.nodes[a, i - 2], work.nodes[a, i].mu
        d, e, f = crossed(own.p[0], own.p[1], own.p[2], mu[0], mu[1], mu[2])
        d, e, f = turned_back(own.T, mu[3] - d, mu[4] - e, mu[5] - f)
        p.momentum[0], p.momentum[1], p.momentum[2] = d, e, f
        find_slopes(work.rates[a], i, p)
        if rotors:
            find_rotor_slopes(on, i, a)
        if 0 < a < s:
            find_torque_slopes(on, i, a)
    for a in range(1, s + 1):
        p = points[a]
        invert_axes(p)
        x, y, z = (
            hinge_momentum(on, a, 0, True),
            hinge_momentum(on, a, 1, True),
            hinge_momentum(on, a, 2, True),
        )
        p.held[0], p.held[1], p.held[2] = turned(p.inverse, x, y, z)


@kernel
def invert_axes(p):
    """The inverse of the axes as rows."""
    u, v, w = p.axes[0], p.axes[1], p.axes[2]
    a, b, c = crossed(v[0], v[1], v[2], w[0], w[1], w[2])
    per = 1.0 / (u[0] * a + u[1] * b + u[2] * c)
    d, e, f = crossed(w[0], w[1], w[2], u[0], u[1], u[2])
    g, h, k = crossed(u[0], u[1], u[2], v[0], v[1], v[2])
    p.inverse[0, 0], p.inverse[1, 0], p.inverse[2, 0] = per * a, per * b, per * c
    p.inverse[0, 1], p.inverse[1, 1], p.inverse[2, 1] = per * d, per * e, per * f
    p.inverse[0, 2], p.inverse[1, 2], p.inverse[2, 2] = per * g, per * h, per * k


@kernel
def find_slopes(rates, i, p):
    """Rates of the axes by the hinges' coordinates."""
    for j in range(3):
        w = p.axes[j]
        for h in range(3):
            out, bend = p.slopes[j, h], p.bends[j, h]
            out[0], out[1], out[2] = 0.0, 0.0, 0.0
            for m in range(j):
                rate, u, v = rates[i - 2 + m], p.bends[m, h], p.axes[m]
                d, e, f = crossed(u[0], u[1], u[2], w[0], w[1], w[2])
                x, y, z = crossed(v[0], v[1], v[2], bend[0], bend[1], bend[2])
                out[0] += rate * (d + x)
                out[1] += rate * (e + y)
                out[2] += rate * (f + z)


@kernel
def find_rotor_slopes(on, i, a):
    """The rotors' momentum by coordinates and rates of the hinges."""
    p, rates = on.work.rotations.points[a], on.work.rates[a]
    spin, held = p.spin, p.rotors
    for h in range(3):
        w = p.axes[h]
        out = p.rotors_by_rate[h]
        out[0], out[1], out[2] = rotors_of(on, i, a, w[0], w[1], w[2])
        x, y, z = crossed(spin[0], spin[1], spin[2], w[0], w[1], w[2])
        for m in range(h + 1, 3):
            rate, bend = rates[i - 2 + m], p.bends[m, h]
            x, y, z = x + rate * bend[0], y + rate * bend[1], z + rate * bend[2]
        x, y, z = rotors_of(on, i, a, x, y, z)
        d, e, f = crossed(w[0], w[1], w[2], held[0], held[1], held[2])
        out = p.rotors_by_turn[h]
        out[0], out[1], out[2] = d + x, e + y, f + z


@kernel
def dampings(on, i, a):
    """By how much torques about the axes of a free rotation fall with the rates about these."""
    v = on.model.segments[i].v
    return damping_along(on, v - 2, a), damping_along(on, v - 1, a), damping_along(on, v, a)


@kernel
def find_torque_slopes(on, i, a):
    """Torques along the hinges by coordinates and rates of these, at control point a."""
    work, link, c = on.work, on.model.segments[i], on.model.coordinates
    p, R, v = work.rotations.points[a], work.nodes[a, i].R, link.v
    E = p.child
    for j in range(3):
        S = work.nodes[a, i - 2 + j].S
        d, e, f = turned_back(R, S[3], S[4], S[5])
        E[j, 0], E[j, 1], E[j, 2] = turned_back(link.after, d, e, f)
    t, u, w = child_torque(on, i, a)
    k, l, m = dampings(on, i, a)  # noqa: E741
    springs = c[v - 2].stiffness != 0.0 or c[v - 1].stiffness != 0.0 or c[v].stiffness != 0.0
    x, y, z = 0.0, 0.0, 0.0
    if springs:
        x, y, z = turn_vector(on, i, a)
    for h in range(3):
        # Torque in child axes by hinge h.
        d, e, f = 0.0, 0.0, 0.0
        for g in range(h):
            rate = work.rates[a, i - 2 + g]
            q, r, s = crossed(E[g, 0], E[g, 1], E[g, 2], E[h, 0], E[h, 1], E[h, 2])
            d, e, f = d - rate * k * q, e - rate * l * r, f - rate * m * s
        if springs:
            q, r, s = spring_slope(c, v, x, y, z, E[h])
            d, e, f = d - q, e - r, f - s
        for j in range(3):
            total = E[j, 0] * d + E[j, 1] * e + E[j, 2] * f
            if h > j:
                q, r, s = crossed(E[j, 0], E[j, 1], E[j, 2], E[h, 0], E[h, 1], E[h, 2])
                total += q * t + r * u + s * w
            p.by_turn[j, h] = total
            p.by_rate[j, h] = -(
                k * E[j, 0] * E[h, 0] + l * E[j, 1] * E[h, 1] + m * E[j, 2] * E[h, 2]
            )


@kernel
def momentum_slope(on, a, j, h, g, whole, rotors):
    """y_j at control point a by hinge h at point g; of the whole momentum or of rotors alone."""
    rule, points, dt = on.model.rule, on.work.rotations.points, on.options.dt
    here, there, part = points[a], points[g], rule.w[a] * dt
    by, now = rule.a[a, g], part * rule.b[a, g] / dt
    total = by * dot3(there.bends[j, h], there.rotors) + now * dot3(here.bends[j, h], here.rotors)
    if a == g:
        total += part * dot3(here.slopes[j, h], here.rotors)
    if whole:
        total += by * dot3(there.bends[j, h], there.momentum)
        total += now * dot3(here.bends[j, h], here.momentum)
        if a == g:
            total += part * dot3(here.slopes[j, h], here.momentum)
    if rotors:
        total += by * dot3(there.axes[j], there.rotors_by_turn[h])
        total += now * dot3(here.rates[j], here.rotors_by_rate[h])
        if a == g:
            total += part * dot3(here.rates[j], here.rotors_by_turn[h])
        for b in range(points.shape[0]):
            p = points[b]
            total += rule.a[a, b] * rule.b[b, g] / dt * dot3(p.axes[j], p.rotors_by_rate[h])
    return total


@kernel
def correct_row(A, C, B, H):
    """What a row takes from an unknown that moves only what is beyond the link that it is of."""
    total = 0.0
    for k in range(A.shape[0]):
        total += A[k] * H[k] - C[k] * B[k]
    return total


@kernel
def fill_own_rotation(on, i):
    """Rows of three hinges by their own unknowns, (3 s, 3 s), and the rows of the first point.

    After `load_rotation`; the other rows and all columns are there.
    """
    rule, points, dt = on.model.rule, on.work.rotations.points, on.options.dt
    s, rotors = points.shape[0] - 1, has_rotors(on, i)
    e, t = on.work.rotations.links, on.model.segments[i].rotation
    A, B, C, H, L = e.A[t], e.B[t], e.C[t], e.H[t], e.L[t]
    for j in range(3):
        for a in range(1, s):
            row, p = j * s + a, points[a]
            for h in range(3):
                for g in range(1, s + 1):
                    column = h * s + g - 1
                    total = p.by_rate[j, h] * rule.b[a, g] / dt
                    if a == g:
                        total += p.by_turn[j, h]
                    total *= rule.w[a] * dt
                    if h > j:
                        total += correct_row(A[row], C[row], B[column], H[column])
                    if rotors:
                        total += momentum_slope(on, a, j, h, g, False, True)
                    L[row, column] = total
    for k in range(3):
        fill_first_row(on, i, k)
        for column in range(3 * s):
            L[k * s, column] = correct_row(A[k * s], C[k * s], B[column], H[column])
        damping = rule.w[0] * damping_along(on, on.model.segments[i - 2 + k].v, 0)
        for g in range(1, s + 1):
            L[k * s, k * s + g - 1] -= damping * rule.b[0, g]
        _, servo = servo_impulse(on, i - 2 + k, on.work.x[s, i - 2 + k])
        L[k * s, k * s + s - 1] += servo
    for a in range(1, s + 1):
        for j in range(3):
            for h in range(3):
                for g in range(1, s + 1):
                    total = momentum_slope(on, a, j, h, g, True, rotors)
                    if a == g:
                        total -= dot3(points[a].bends[j, h], points[a].held)
                    for k in range(3):
                        L[k * s, h * s + g - 1] -= points[a].inverse[k, j] * total


@kernel
def fill_first_row(on, i, k):
    """Row of the first point about axis k of the chart, as the parent sees what is beyond."""
    work, rule, points, dt = on.work, on.model.rule, on.work.rotations.points, on.options.dt
    s, t, begin = points.shape[0] - 1, work.chords[i], work.nodes[0, i - 2 + k]
    e = work.rotations.links
    A, C = e.A[on.model.segments[i].rotation, k * s], e.C[on.model.segments[i].rotation, k * s]
    for n in range(A.shape[0]):
        A[n] = C[n] = 0.0
    parent = work.nodes[0, on.model.segments[i - 2].parent]
    bracket(parent.V, begin.S, t.z[0])
    bracket_back(begin.S, begin.mu, t.z[1])
    for n in range(6):
        A[n] = rule.w[0] * dt * t.z[0, n]
        C[n] = -rule.w[0] * dt * t.z[1, n]
        A[6 * (s + 1) + n] = begin.S[n]
    for b in range(s + 1):
        p, own = points[b], work.nodes[b, i - 2]
        x, y, z = 0.0, 0.0, 0.0
        for a in range(1, s + 1):
            for j in range(3):
                along = points[a].inverse[k, j] * rule.a[a, b]
                x += along * p.axes[j, 0]
                y += along * p.axes[j, 1]
                z += along * p.axes[j, 2]
                if a == b:
                    late = points[a].inverse[k, j] * rule.w[a] * dt
                    x += late * p.rates[j, 0]
                    y += late * p.rates[j, 1]
                    z += late * p.rates[j, 2]
        x, y, z = turned(own.T, x, y, z)
        d, e, f = crossed(own.p[0], own.p[1], own.p[2], x, y, z)
        A[6 * b] -= d
        A[6 * b + 1] -= e
        A[6 * b + 2] -= f
        A[6 * b + 3] -= x
        A[6 * b + 4] -= y
        A[6 * b + 5] -= z
