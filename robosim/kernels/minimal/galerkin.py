"""Galerkin integrators of order 2 s on s + 1 control points: residual and Newton's direction.

[Fan2018, Algorithm 1] for the residual. Newton's direction is [Fan2018, Algorithms B.1 and B.2],
put together as one elimination: the motion of a link is z = (dv_0 .. dv_s, eta_1 .. eta_s), and it
answers by f = (dmu_0 .. dmu_s, dGamma_0 .. dGamma_(s-1)), where d is the variation as the link
itself sees it [Fan2018, Eqs. C.15, C.16]. So S does not vary, and what is passed on to the parent
is seen from there: H has -ad(S)^T mu and -ad(S)^T Gamma by the coordinate.

The three hinges of a free rotation are taken out together, as they turn each other: see
`robosim.kernels.minimal.rotation`.
"""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import bracket, crossed, dot6
from robosim.kernels.minimal.elimination import clear_answers, factor_tree, solve_tree
from robosim.kernels.minimal.forces import (
    add_drag,
    add_held_wrench,
    drags,
    forces_along,
    held_answer,
    rotation_torque,
    servo_impulse,
)
from robosim.kernels.minimal.place import (
    add_inertia,
    hinges_torque,
    momentum_of,
    move_segment,
    place_segment,
)
from robosim.kernels.minimal.rotation import add_rotors, fill_own_rotation, load_rotation
from robosim.kernels.minimal.twists import bracket_back, size6, world_answer


@kernel
def find_rates(on):
    """work.rates of the coordinates at all control points."""
    rule, x, rates, dt = on.model.rule, on.work.x, on.work.rates, on.options.dt
    for a in range(x.shape[0]):
        for i in range(x.shape[1]):
            total = 0.0
            for g in range(x.shape[0]):
                total += rule.b[a, g] * x[g, i]
            rates[a, i] = total / dt


@kernel
def place_points(on):
    """Links at all control points, how they move, their momenta and impulses, and sums of these."""
    work, segments, dt = on.work, on.model.segments, on.options.dt
    n = segments.shape[0]
    for a in range(work.x.shape[0]):
        part = on.model.rule.w[a] * dt
        for i in range(n):
            link, own = segments[i], work.nodes[a, i]
            above = work.nodes[a, link.parent]
            if a > 0:
                place_segment(link, work.bases[i], above, own, work.x[a, i])
            move_segment(above, own, work.rates[a, i])
            momentum_of(link, own, own.V, own.mu)
            for k in range(6):
                own.f[k] = 0.0
            add_held_wrench(on.model, on.loads, link, own, part, own.f)
            if drags(link):
                add_drag(link, own, work.chords[i], part, own.f)
        for k in range(6):
            work.nodes[a, n].mu[k] = work.nodes[a, n].f[k] = 0.0
        for up in range(1, n + 1):
            own = work.nodes[a, n - up]
            above = work.nodes[a, segments[n - up].parent]
            for k in range(6):
                above.mu[k] += own.mu[k]
                above.f[k] += own.f[k]


@kernel
def find_residual(on):
    """work.residual [N s, N m s] at work.x, and work.ends, the momenta that leave the step."""
    work, segments, s = on.work, on.model.segments, on.work.x.shape[0] - 1
    find_rates(on)
    place_points(on)
    for i in range(segments.shape[0]):
        work.ends[i] = work.size[i] = 0.0
        for a in range(s):
            work.residual[i, a] = 0.0
        if segments[i].v >= 0:
            for a in range(s):
                work.residual[i, a] = impulse_along(on, i, a)
            servo, _ = servo_impulse(on, i, work.x[s, i])
            work.residual[i, 0] += on.state.p[segments[i].v] + servo
            work.size[i] = abs(on.state.p[segments[i].v]) + abs(servo)
            for a in range(s + 1):
                work.size[i] += size6(work.nodes[a, i].S, work.nodes[a, i].mu)
            work.ends[i] = impulse_along(on, i, s)
        if segments[i].turn == 3:
            add_rotors(on, i)
            balance_rotation(on, i)


@kernel
def balance_rotation(on, i):
    """First rows of a free rotation, whose third hinge is i: its chart begins where it is.

    So a turn of the first control point turns the chart. The derivative of the discrete Lagrangian
    by it is that by a turn of all, less those by the other points, which stay where they are. In
    the axes of the chart, which are those of the child at the beginning.
    """
    work, link, dt = on.work, on.model.segments[i], on.options.dt
    first, t, last = i - 2, work.chords[i], work.x.shape[0] - 1
    parent = on.model.segments[first].parent
    for k in range(3):
        j = first + k
        servo, _ = servo_impulse(on, j, work.x[last, j])
        work.residual[j, 0] = on.state.p[link.v - 2 + k] + servo
    for a in range(last + 1):
        own, part = work.nodes[a, first], on.model.rule.w[a] * dt
        x, y, z = rotation_torque(on, i, a)
        x, y, z = part * x, part * y, part * z
        if a > 0:
            d, e, f = left_at(on, i, a)
            d, e, f = hinges_torque(work.nodes, a, i, d, e, f)
            x, y, z = x - d, y - e, z - f
        for k in range(3):
            S = t.z[0]
            S[3], S[4], S[5] = own.T[0, k], own.T[1, k], own.T[2, k]
            S[0], S[1], S[2] = crossed(own.p[0], own.p[1], own.p[2], S[3], S[4], S[5])
            bracket(work.nodes[a, parent].V, S, t.z[1])
            total = part * dot6(t.z[1], own.mu) + dot6(S, own.f)
            work.residual[first + k, 0] += total + S[3] * x + S[4] * y + S[5] * z


@kernel
def left_at(on, i, a):
    """Rows of three hinges up to i at a control point after the first, or momenta at the last."""
    if a + 1 == on.work.x.shape[0]:
        ends = on.work.ends
        return ends[i - 2], ends[i - 1], ends[i]
    r = on.work.residual
    return r[i - 2, a], r[i - 1, a], r[i, a]


@kernel
def impulse_along(on, i, a):
    """Derivative of the discrete Lagrangian by a control point, and forces there [Fan2018, Eq. 7].

    Without the momentum that enters at the first one.
    """
    work, rule, link, dt = on.work, on.model.rule, on.model.segments[i], on.options.dt
    own = work.nodes[a, i]
    force, _, _ = forces_along(on, i, a, work.x[a, i], work.rates[a, i])
    total = rule.w[a] * dt * (force + dot6(own.rate, own.mu)) + dot6(own.S, own.f)
    # Rotors of a free rotation are added by `add_rotors`.
    armature = on.model.coordinates[link.v].armature if link.turn == 0 else 0.0
    for b in range(work.x.shape[0]):
        other = work.nodes[b, i]
        total += rule.a[a, b] * (dot6(other.S, other.mu) + armature * work.rates[b, i])
    return total


@kernel
def fill_answers(on, i):
    """How a link alone answers its motion."""
    work, link, dt = on.work, on.model.segments[i], on.options.dt
    N, s = work.step.N[i], on.work.x.shape[0] - 1
    if link.body < 0:
        return
    D = work.chords[i].D
    drag = drags(link)
    for a in range(s + 1):
        own = work.nodes[a, i]
        at = 6 * a
        add_inertia(link, own, 1.0, N[at : at + 6, at : at + 6])
        if a < s:
            part, row = on.model.rule.w[a] * dt, 6 * (s + 1 + a)
            if drag:
                for j in range(6):
                    for k in range(6):
                        D[j, k] = -part * link.drag[j, k]
                world_answer(own.R, own.p, D)
                for j in range(6):
                    for k in range(6):
                        N[row + j, at + k] += D[j, k]
            if a > 0:
                column = 6 * (s + a)
                held_answer(
                    on.model, on.loads, link, own, part,
                    N[row : row + 6, column : column + 6],
                )  # fmt: skip


@kernel
def fill_rows(on, i):
    """Rows of a link in the elimination; those of a hinge of a free rotation among the others'."""
    work, rule, t = on.work, on.model.rule, on.work.chords[i]
    s, turn, r = work.x.shape[0] - 1, on.model.segments[i].turn, on.model.segments[i].rotation
    e, links, first = work.step, work.rotations.links, 0 if turn == 0 else (turn - 1) * s
    A, C = e.A[i] if turn == 0 else links.A[r], e.C[i] if turn == 0 else links.C[r]
    for a in range(s):
        for k in range(A.shape[1]):
            A[first + a, k] = C[first + a, k] = 0.0
        own, part, at = work.nodes[a, i], rule.w[a] * on.options.dt, 6 * a
        for b in range(s + 1):
            S = work.nodes[b, i].S
            for k in range(6):
                A[first + a, 6 * b + k] += rule.a[a, b] * S[k]
        bracket_back(own.S, own.mu, t.x)
        for k in range(6):
            A[first + a, at + k] += part * own.rate[k]
            A[first + a, 6 * (s + 1 + a) + k] = own.S[k]
            C[first + a, at + k] = -part * t.x[k]


@kernel
def fill_columns(on, i):
    """Columns of a link in the elimination, of the points 1 to s; as `fill_rows`."""
    work, rule, t = on.work, on.model.rule, on.work.chords[i]
    s, turn, r = work.x.shape[0] - 1, on.model.segments[i].turn, on.model.segments[i].rotation
    e, links, first = work.step, work.rotations.links, 0 if turn == 0 else (turn - 1) * s
    B, H = e.B[i] if turn == 0 else links.B[r], e.H[i] if turn == 0 else links.H[r]
    for a in range(s):
        for k in range(B.shape[1]):
            B[first + a, k] = H[first + a, k] = 0.0
        for b in range(s + 1):
            S = work.nodes[b, i].S
            for k in range(6):
                B[first + a, 6 * b + k] += rule.b[b, a + 1] / on.options.dt * S[k]
        point = work.nodes[a + 1, i]
        bracket_back(point.S, point.mu, t.z[0])
        bracket_back(point.S, point.f, t.z[1])
        for k in range(6):
            B[first + a, 6 * (a + 1) + k] += point.rate[k]
            B[first + a, 6 * (s + 1 + a) + k] = point.S[k]
            H[first + a, 6 * (a + 1) + k] = -t.z[0, k]
            if a + 1 < s:
                H[first + a, 6 * (s + 2 + a) + k] = -t.z[1, k]


@kernel
def fill_own(on, i):
    """Rows of a link by its own unknowns, (s, s)."""
    work, rule, link, dt = on.work, on.model.rule, on.model.segments[i], on.options.dt
    L = work.step.L[i]
    s, coordinate = L.shape[0], on.model.coordinates[link.v]
    for a in range(s):
        part = rule.w[a] * dt
        _, slope, damping = forces_along(on, i, a, work.x[a, i], work.rates[a, i])
        for g in range(s):
            L[a, g] = part * damping * rule.b[a, g + 1] / dt
            for b in range(s + 1):
                L[a, g] += rule.a[a, b] * coordinate.armature * rule.b[b, g + 1] / dt
        if a > 0:
            L[a, a - 1] += part * slope
    _, servo = servo_impulse(on, i, work.x[s, i])
    L[0, s - 1] += servo


@kernel
def fill_rotation(on, i):
    """Rows and columns of the free rotation whose third hinge is i."""
    for j in range(i - 2, i + 1):
        fill_rows(on, j)
        fill_columns(on, j)
    load_rotation(on, i)
    fill_own_rotation(on, i)


@kernel
def factor_step(on):
    """Factors of the derivative of the residual at work.x, after `find_residual`; or a fault."""
    segments, e = on.model.segments, on.work.step
    clear_answers(e)
    for i in range(segments.shape[0]):
        fill_answers(on, i)
        if segments[i].v >= 0 and segments[i].turn == 0:
            fill_rows(on, i)
            fill_columns(on, i)
            fill_own(on, i)
        if segments[i].turn == 3:
            fill_rotation(on, i)
    return factor_tree(segments, e, on.work.rotations.links)


@kernel
def find_direction(on):
    """work.step.dx, Newton's direction; 0, or 1 + the link where there is none."""
    failed = factor_step(on)
    if failed == 0:
        e = on.work.step
        for i in range(on.model.segments.shape[0]):
            for a in range(e.r.shape[1]):
                e.r[i, a] = on.work.residual[i, a]
        solve_tree(on.model.segments, e, on.work.rotations.links)
    return failed
