"""A step in joint coordinates for numbers that have derivatives.

Its solution is known, with the factors of the equations' derivative there, in plain numbers. One
correction by these gives the derivatives that the implicit function theorem gives. Where the
factors leave a part out, more corrections follow until derivatives stay.
"""

from robosim.kernels.compiler.duals import DIRECTIONS, number_of, slope
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.minimal.constraints import (
    PASSES,
    close_knot,
    close_velocities,
    find_rows,
)
from robosim.kernels.minimal.knot import find_momenta, solve_mass
from robosim.kernels.minimal.place import place_at_knot
from robosim.kernels.minimal.step import add_rest, correct, find_equations, move_on
from robosim.kernels.status import CONVERGED, OUT_OF_ITERATIONS
from robosim.kernels.step.linearize import begin_at, end_at
from robosim.kernels.step.run import control

SETTLED = 1e-10  # derivatives of the residual, over those at first, that need no correction
AT_MOST = 1e-7  # that may be left where corrections do not help any more
ROUNDING = 1e-11  # over the terms of the residual, that may be left of derivatives that are zero


@stage
def linearized_steps(on):
    """The step along all directions of on.along, as many at a time as duals have; a status.

    Leaves what it leads to in on.ends and, by direction, in on.slopes; see `MinimalDuals`.
    """
    for begin in range(0, on.along.shape[0], DIRECTIONS):
        count = min(DIRECTIONS, on.along.shape[0] - begin)
        begin_at(on, begin, count)
        if not linearized_step(on):
            return OUT_OF_ITERATIONS
        end_at(on, begin, count)
    return CONVERGED


@kernel
def linearized_step(on):
    """The step that on.solution is of, from the state; False where derivatives do not settle."""
    place_at_knot(on)
    begin_constraints(on.work.multipliers, on)
    find_momenta(on)
    control(on.pd, on.state, on.loads)
    for a in range(on.solution.shape[0]):
        for i in range(on.solution.shape[1]):
            on.work.x[a, i] = on.solution[a, i] if a > 0 else 0.0
    find_equations(on.work.multipliers, on)
    first = before = largest_slope(on.work.multipliers, on)
    while True:
        correct(on.model.rule, on.work.multipliers, on)
        find_equations(on.work.multipliers, on)
        left = largest_slope(on.work.multipliers, on)
        if left <= SETTLED * first:
            break
        if not left < 0.5 * before:
            if not left <= AT_MOST * first + ROUNDING * largest_size(on):
                return False
            break
        before = left
    add_rest(on)
    move_on(on)
    place_at_knot(on)
    correct_velocities(on.work.multipliers, on)
    return True


@kernel
def begin_constraints(held, on):
    """Meet constraints at the knot as starts do, by the smallest changes in the mass metric."""
    if held is not None:
        for _ in range(PASSES):
            close_knot(on, on.answers, on.factors)
            place_at_knot(on)
        for _ in range(PASSES):
            close_velocities(on, on.answers, on.factors)
        for k in range(held.impulse.shape[0]):
            held.impulse[k] = on.impulse[k]


@kernel
def largest_slope(held, on):
    """The largest derivative of the residual, and of the values of constraints over the step."""
    r, worst = on.work.residual, 0.0
    for i in range(r.shape[0]):
        for a in range(r.shape[1]):
            worst = larger_slope(worst, r[i, a], 1.0)
    if held is not None:
        for k in range(held.value.shape[0]):
            worst = larger_slope(worst, held.value[k], 1.0 / on.options.dt)
    return worst


@kernel
def larger_slope(worst, value, per):
    """The larger one of `worst` and the largest derivative of a value, times `per`."""
    for k in range(DIRECTIONS):
        size = per * abs(slope(value, k))
        if not size <= worst:
            worst = size
    return worst


@kernel
def largest_size(on):
    """The largest sum of the sizes of a residual's terms."""
    worst = 0.0
    for i in range(on.work.size.shape[0]):
        worst = max(worst, number_of(on.work.size[i]))
    return worst


@kernel
def correct_velocities(held, on):
    """v = M^-1 p, from on.velocities and the factors of the mass matrix there.

    With constraints, also of the impulses that keep them.
    """
    state, segments, e = on.state, on.model.segments, on.work.mass
    for k in range(on.velocities.shape[0]):
        state.v[k] = on.velocities[k]
    for i in range(segments.shape[0]):
        e.r[i, 0] = -state.p[segments[i].v] if segments[i].v >= 0 else 0.0
    if held is not None:
        find_rows(on, 0)
        for k in range(held.kept.shape[0]):
            for i in range(segments.shape[0]):
                e.r[i, 0] -= held.begin[k, i] * on.kept[k]
    find_momenta(on)
    for i in range(segments.shape[0]):
        if segments[i].v >= 0:
            e.r[i, 0] += state.p[segments[i].v]
    solve_mass(on)
    for i in range(segments.shape[0]):
        if segments[i].v >= 0:
            state.v[segments[i].v] += e.dx[i, 0]
    if held is not None:
        for _ in range(PASSES):
            close_velocities(on, held.answers, held.factors)
