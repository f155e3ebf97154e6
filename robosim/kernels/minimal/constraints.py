"""Joints that close loops, and couplings, by multipliers [Fan2018, Section 3.3].

With rows G of the constraints g, a step obeys

    r(x) + G_1^T lambda = 0,    g(q_2) + dt eps lambda = 0,

with impulses lambda along the rows at the knot that it starts from. At the knot that it leads to,
impulses along the rows there take away what of the velocities breaks the constraints: the two
stages of RATTLE. The compliance eps shares the load where rows are redundant, and is as small as
in `robosim.Simulation`.
"""

from robosim.compiled.records.minimal import COUPLED, SLIDE
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import fill, lu, lu_solve_vector
from robosim.kernels.equations.vectors import crossed, turned
from robosim.kernels.minimal.elimination import solve_tree
from robosim.kernels.minimal.knot import solve_mass
from robosim.kernels.minimal.place import place_segment, turn_on

PASSES = 2  # of a projection: what constraints yield leaves a little of the first


@kernel
def find_rows(on, a):
    """Rows of all constraints by the links' coordinates, and values, at either end of a step.

    That is at control point a, 0 or the last.
    """
    segments, nodes, n = on.model.segments, on.work.nodes, on.work.bases.shape[0]
    held = on.work.multipliers
    rows = held.begin if a == 0 else held.end
    values, sizes = held.open_by if a == 0 else held.value, held.size
    origin = on.work.origin
    far = abs(origin[0]) + abs(origin[1]) + abs(origin[2])
    for k in range(rows.shape[0]):
        c, row = on.model.constraints[k], rows[k]
        for i in range(n):
            row[i] = 0.0
        i, j = c.a, c.b
        if c.kind == COUPLED:
            leads = on.state.q[segments[i].q] + on.work.x[a, i]
            follows = on.state.q[segments[j].q] + on.work.x[a, j]
            values[k] = follows - c.ratio * leads - c.offset
            sizes[k] = abs(follows) + abs(c.ratio * leads) + abs(c.offset)
            row[i], row[j] = -c.ratio, 1.0
            continue
        A, B = nodes[a, i], nodes[a, j]
        # The wrench (d, e, f), (x, y, z) on b by which the value changes; on a its opposite.
        u, v, w = turned(A.R, c.direction[0], c.direction[1], c.direction[2])
        x, y, z = turned(B.R, c.p_b[0], c.p_b[1], c.p_b[2])
        if c.kind == SLIDE:
            d, e, f = u, v, w
            g, h, l = turned(A.R, c.p_a[0], c.p_a[1], c.p_a[2])  # noqa: E741
            x, y, z = B.p[0] + x, B.p[1] + y, B.p[2] + z
            g, h, l = x - A.p[0] - g, y - A.p[1] - h, z - A.p[2] - l  # noqa: E741
            values[k], sizes[k] = u * g + v * h + w * l, abs(x) + abs(y) + abs(z) + far
        else:
            d, e, f = 0.0, 0.0, 0.0
            values[k], sizes[k] = u * x + v * y + w * z, 1.0
        x, y, z = crossed(x, y, z, u, v, w)
        # From both ends to where the two ways meet; links stand behind their parents.
        while i != j:
            on_b = i == n or (j != n and j > i)
            k = j if on_b else i
            S, link = nodes[a, k].S, segments[k]
            if link.v >= 0:
                along = d * S[0] + e * S[1] + f * S[2] + x * S[3] + y * S[4] + z * S[5]
                row[k] = along if on_b else -along
            if on_b:
                j = link.parent
            else:
                i = link.parent


@kernel
def product(a, b):
    """The scalar product of two rows."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@kernel
def add_rows(rows, factors, out):
    """out (n,) += rows^T factors."""
    for k in range(factors.shape[0]):
        for i in range(out.shape[0]):
            out[i] += factors[k] * rows[k, i]


@kernel
def factor_constraints(on):
    """Rows at the knot, and how they answer impulses there; 0, or a fault."""
    e, held = on.work.mass, on.work.multipliers
    m, n = held.begin.shape
    find_rows(on, 0)
    for k in range(m):
        for i in range(n):
            e.r[i, 0] = -held.begin[k, i]
        solve_mass(on)
        for i in range(n):
            held.answers[k, i] = e.dx[i, 0] if on.model.segments[i].v >= 0 else 0.0
    for k in range(m):
        for g in range(m):
            held.factors[k, g] = product(held.begin[k], held.answers[g])
        held.factors[k, k] += on.model.constraints[k].compliance
    return lu(held.factors, m)


@kernel
def project_momenta(on):
    """Take from momenta and velocities at the knot what breaks constraints [mass metric]."""
    state, segments, held = on.state, on.model.segments, on.work.multipliers
    m = held.change.shape[0]
    fill(0.0, held.kept)
    for _ in range(PASSES):
        for k in range(m):
            held.change[k] = 0.0
        for i in range(segments.shape[0]):
            if segments[i].v >= 0:
                for k in range(m):
                    held.change[k] -= held.begin[k, i] * state.v[segments[i].v]
        lu_solve_vector(held.factors, held.change, m)
        for k in range(m):
            held.kept[k] += held.change[k]
        for i in range(segments.shape[0]):
            if segments[i].v >= 0:
                for k in range(m):
                    state.v[segments[i].v] += held.answers[k, i] * held.change[k]
                    state.p[segments[i].v] += held.begin[k, i] * held.change[k]


@kernel
def close_guess(on):
    """Move a guess of the end onto the constraints; leaves the impulses that do so."""
    work, segments, held = on.work, on.model.segments, on.work.multipliers
    last = work.x.shape[0] - 1
    for i in range(segments.shape[0]):
        above = work.nodes[last, segments[i].parent]
        place_segment(segments[i], work.bases[i], above, work.nodes[last, i], work.x[last, i])
    find_rows(on, last)
    for k in range(held.value.shape[0]):
        held.change[k] = -held.value[k]
    lu_solve_vector(held.factors, held.change, held.change.shape[0])
    add_rows(held.answers, held.change, work.x[last])
    for k in range(held.value.shape[0]):
        held.impulse[k] = held.change[k] / on.options.dt


@kernel
def add_impulses(on):
    """Add the constraints' impulses to the residual that is there; their rows at the end."""
    work, held, last = on.work, on.work.multipliers, on.work.x.shape[0] - 1
    for k in range(held.impulse.shape[0]):
        for i in range(work.residual.shape[0]):
            along = held.begin[k, i] * held.impulse[k]
            work.residual[i, 0] += along
            work.size[i] += abs(along)
    find_rows(on, last)
    for k in range(held.impulse.shape[0]):
        held.value[k] += on.options.dt * on.model.constraints[k].compliance * held.impulse[k]


@kernel
def solve_residuals(rule, on):
    """work.step.dx that takes away the rows in work.step.r of residuals, by factors of the step."""
    e = on.work.step
    if rule is None:
        # Its factors are those of the residuals' derivative times -1.
        for i in range(e.r.shape[0]):
            e.r[i, 0] = -e.r[i, 0]
        solve_tree(on.model.segments, e, None)
    else:
        solve_tree(on.model.segments, e, on.work.rotations.links)


@kernel
def correct_direction(on):
    """Let work.step.dx meet the constraints at the end, and find the direction of the impulses.

    The factors of the step are there; 0, or a fault.
    """
    e, held, segments = on.work.step, on.work.multipliers, on.model.segments
    m, n = held.end.shape
    for i in range(n):
        held.free[i] = e.dx[i, 0] if segments[i].v >= 0 else 0.0
    if factor_impulses(on) != 0:
        return 1
    for k in range(m):
        held.change[k] = -held.value[k] - product(held.end[k], held.free)
    lu_solve_vector(held.matrix, held.change, m)
    add_rows(held.columns, held.change, held.free)
    for i in range(n):
        e.dx[i, 0] = held.free[i]
    return 0


@kernel
def correct_impulses(on):
    """Let work.step.dx meet the constraints by impulses, with the factors of `factor_impulses`."""
    e, held, segments = on.work.step, on.work.multipliers, on.model.segments
    for k in range(held.change.shape[0]):
        held.change[k] = -held.value[k]
        for i in range(segments.shape[0]):
            if segments[i].v >= 0:
                held.change[k] -= held.end[k, i] * e.dx[i, 0]
    lu_solve_vector(held.matrix, held.change, held.change.shape[0])
    for k in range(held.change.shape[0]):
        held.impulse[k] += held.change[k]
        for i in range(segments.shape[0]):
            e.dx[i, 0] += held.columns[k, i] * held.change[k]


@kernel
def close_knot(on, answers, factors):
    """Change coordinates so that they meet constraints at the knot, which has to be placed anew.

    By rows of answers to impulses and by factors, of plain numbers.
    """
    held, segments, q, t = on.work.multipliers, on.model.segments, on.state.q, on.work.quaternion
    find_rows(on, 0)
    for k in range(held.change.shape[0]):
        held.change[k] = -held.open_by[k]
    lu_solve_vector(factors, held.change, held.change.shape[0])
    for i in range(segments.shape[0]):
        held.free[i] = 0.0
        for k in range(held.change.shape[0]):
            held.free[i] += answers[k, i] * held.change[k]
    for i in range(segments.shape[0]):
        at = segments[i].q
        if segments[i].v >= 0 and segments[i].turn == 0:
            q[at] += held.free[i]
        elif segments[i].turn == 3:
            x, y, z = held.free[i - 2], held.free[i - 1], held.free[i]
            turn_on(x, y, z, t[0:3], q[at : at + 4])


@kernel
def close_velocities(on, answers, factors):
    """Take from velocities at the knot what breaks constraints, as `close_knot`."""
    held, segments, v = on.work.multipliers, on.model.segments, on.state.v
    find_rows(on, 0)
    for k in range(held.change.shape[0]):
        held.change[k] = 0.0
        for i in range(segments.shape[0]):
            if segments[i].v >= 0:
                held.change[k] -= held.begin[k, i] * v[segments[i].v]
    lu_solve_vector(factors, held.change, held.change.shape[0])
    for i in range(segments.shape[0]):
        if segments[i].v >= 0:
            for k in range(held.change.shape[0]):
                v[segments[i].v] += answers[k, i] * held.change[k]


@kernel
def factor_impulses(on):
    """How the end answers impulses of constraints, by the factors of the step; 0, or a fault."""
    e, held, segments = on.work.step, on.work.multipliers, on.model.segments
    m, n = held.end.shape
    for k in range(m):
        for i in range(n):
            e.r[i, 0] = held.begin[k, i]
        solve_residuals(on.model.rule, on)
        for i in range(n):
            held.columns[k, i] = e.dx[i, 0] if segments[i].v >= 0 else 0.0
    for k in range(m):
        for g in range(m):
            held.matrix[k, g] = product(held.end[k], held.columns[g])
        held.matrix[k, k] += on.options.dt * on.model.constraints[k].compliance
    return lu(held.matrix, m)
