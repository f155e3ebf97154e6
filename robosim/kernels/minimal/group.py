"""The scheme of second order on the group SE(3) [Lee2016]: residual, and what its root is found by.

Each link has the discrete Lagrangian x^T G x / (2 dt) - dt (U_1 + U_2) / 2 of x = log(T_1^-1 T_2).
In world axes its momentum is the same at both ends, so that

    p - S_1 . sum (mu - dt/2 w_1) + dt/2 Q_1 = 0,    p_2 = S_2 . sum (mu + dt/2 w_2) + dt/2 Q_2

with sums over all that hangs on a joint. Only mu depends on the unknowns, and S_1 stays: the
derivative is that of mu between S_1 and S_2, a matrix for an elimination.
"""

from math import sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import dot
from robosim.kernels.equations.vectors import dot6
from robosim.kernels.minimal.elimination import clear_answers, factor_tree, solve_tree
from robosim.kernels.minimal.forces import (
    add_held_wrench,
    damping_along,
    drag_wrench,
    drags,
    forces_along,
    servo_impulse,
)
from robosim.kernels.minimal.logarithm import chord_answer, chord_momentum, find_chord
from robosim.kernels.minimal.place import place_segment
from robosim.kernels.minimal.twists import size6, world_answer, world_wrench

PLACING = 0.04  # what rounding leaves of a sum of positions, over what it leaves of other terms


@kernel
def find_residual(on):
    """work.residual [N s, N m s] at work.x[1], and work.ends, the momenta that leave the step.

    `nodes[0]` are there.
    """
    work, segments, dt = on.work, on.model.segments, on.options.dt
    n = segments.shape[0]
    for k in range(6):
        work.nodes[0, n].f[k] = work.nodes[1, n].f[k] = 0.0
    for k in range(4):
        work.nodes[0, n].acc[k] = 0.0
    for i in range(n):
        placing_sums(segments[i], work.nodes[0, segments[i].parent], work.nodes[0, i], dt)
        work.rates[0, i] = work.rates[1, i] = work.x[1, i] / dt
        link, chord = segments[i], work.chords[i]
        begin, end = work.nodes[0, i], work.nodes[1, i]
        place_segment(link, work.bases[i], work.nodes[1, link.parent], end, work.x[1, i])
        for k in range(6):
            begin.f[k] = 0.0
        if link.body >= 0:
            find_chord(begin, end, chord)
            chord_momentum(link, chord, dt, begin.alone)
            world_wrench(begin.R, begin.p, begin.alone, begin.f)
        for k in range(6):
            end.f[k] = begin.f[k]
        add_held_wrench(on.model, on.loads, link, begin, -0.5 * dt, begin.f)
        add_held_wrench(on.model, on.loads, link, end, 0.5 * dt, end.f)
        if drags(link):
            drag_wrench(link, chord.x, 0.5, chord.E[0])
            world_wrench(begin.R, begin.p, chord.E[0], begin.alone)
            world_wrench(end.R, end.p, chord.E[0], end.alone)
            for k in range(6):
                begin.f[k] -= begin.alone[k]
                end.f[k] += end.alone[k]
    for up in range(1, n + 1):
        i = n - up
        link, begin, end = segments[i], work.nodes[0, i], work.nodes[1, i]
        work.residual[i, 0] = work.ends[i] = work.size[i] = 0.0
        if link.v >= 0:
            along_coordinate(on, i)
            work.size[i] += placing_error(begin)
        above, beyond = work.nodes[0, link.parent], work.nodes[1, link.parent]
        for k in range(2):
            above.acc[k] += begin.acc[k]
        for k in range(6):
            above.f[k] += begin.f[k]
            beyond.f[k] += end.f[k]


@kernel
def placing_sums(link, above, begin, dt):
    """begin.acc: squares of what roundings of 1 make of a link's impulse and of its moment.

    Each link on the way from the world rounds its position and its orientation, and the latter
    moves all that hangs on it. acc[2] and acc[3] are the number of these links and the sum of
    their squared distances from the origin.
    """
    far = dot(begin.p, begin.p)
    begin.acc[2], begin.acc[3] = above.acc[2] + 1.0, above.acc[3] + far
    moved = (link.mass / dt) ** 2 * (begin.acc[2] * far + begin.acc[3])
    begin.acc[0], begin.acc[1] = moved, moved * far


@kernel
def placing_error(begin):
    """By how much a residual is larger than its terms, for rounding: positions have digits too.

    Those of m p / dt and their moments, of which begin.acc has the sums of squares over all that
    hangs on a link.
    """
    S, acc = begin.S, begin.acc
    move = S[0] * S[0] + S[1] * S[1] + S[2] * S[2]
    turn = S[3] * S[3] + S[4] * S[4] + S[5] * S[5]
    return PLACING * sqrt(move * acc[0] + turn * acc[1])


@kernel
def along_coordinate(on, i):
    """Residual of a link's coordinate and its momentum at the end, from the sums of impulses."""
    work, link, dt = on.work, on.model.segments[i], on.options.dt
    x = work.x[1, i]
    rate, half = work.rates[1, i], 0.5 * dt
    rotor = on.model.coordinates[link.v].armature * rate
    before, _, _ = forces_along(on, i, 0, 0.0, rate)
    after, _, _ = forces_along(on, i, 1, x, rate)
    servo, _ = servo_impulse(on, i, x)
    begin, end = work.nodes[0, i], work.nodes[1, i]
    leaves = dot6(begin.S, begin.f) + rotor
    work.residual[i, 0] = on.state.p[link.v] - leaves + half * before + servo
    work.size[i] = abs(on.state.p[link.v]) + abs(servo) + size6(begin.S, begin.f)
    work.ends[i] = dot6(end.S, end.f) + rotor + half * after


@kernel
def factor_step(on):
    """Factors of the derivative of -residual at work.x[1], after `find_residual`; or a fault."""
    work, segments, dt = on.work, on.model.segments, on.options.dt
    e = work.step
    clear_answers(e)
    for i in range(segments.shape[0]):
        link, begin, end = segments[i], work.nodes[0, i], work.nodes[1, i]
        if link.body >= 0:
            chord_answer(link, work.chords[i], dt, e.N[i])
            world_answer(begin.R, begin.p, e.N[i])
        for k in range(6):
            e.A[i, 0, k], e.B[i, 0, k] = begin.S[k], end.S[k]
            e.C[i, 0, k] = e.H[i, 0, k] = 0.0
        if link.v >= 0:
            coordinate = on.model.coordinates[link.v]
            _, slope = servo_impulse(on, i, work.x[1, i])
            damping = damping_along(on, link.v, 0)
            e.L[i, 0, 0] = coordinate.armature / dt + 0.5 * damping - slope
    return factor_tree(segments, e, None)


@kernel
def find_direction(on):
    """work.step.dx, Newton's direction; 0, or 1 + the link where there is none."""
    failed = factor_step(on)
    if failed == 0:
        for i in range(on.model.segments.shape[0]):
            on.work.step.r[i, 0] = -on.work.residual[i, 0]
        solve_tree(on.model.segments, on.work.step, None)
    return failed


@kernel
def find_impulsive_direction(on):
    """work.step.dx = dt M^-1 r by the factors at the knot: RIQN [Lee2016, Eq. 25]."""
    e, n = on.work.mass, on.model.segments.shape[0]
    for i in range(n):
        e.r[i, 0] = -on.options.dt * on.work.residual[i, 0]
    solve_tree(on.model.segments, e, None)
    for i in range(n):
        on.work.step.dx[i, 0] = e.dx[i, 0]
    return 0
