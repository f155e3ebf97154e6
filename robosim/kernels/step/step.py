"""One step, stage by stage.

The state is a knot z1 with the momenta there. A step finds the motion over the interval that
satisfies Eqs. (29a) to (29f), puts the bodies at the second knot z2 and reads the velocities
there. Forces act half at either end of the interval, constraint and contact impulses at z1.
The momentum that enters a knot is carried by summing impulses, so that what the tolerance
leaves of the equations does not add up: momentum, linear and angular, is conserved to rounding.
"""

import numpy as np

from robosim.kernels.compiler.duals import are_duals
from robosim.kernels.compiler.jit import bridge, kernel, stage
from robosim.kernels.compiler.lanes import somewhere
from robosim.kernels.compiler.parts import call_solver
from robosim.kernels.equations.algebra import fill
from robosim.kernels.status import (
    CONVERGED,
    NEEDS_BLOCKS,
    NEEDS_GRAPH,
    NEEDS_ROWS,
    NOT_SMOOTH,
    STRIKES,
    TURNS_FAR,
)
from robosim.kernels.step.finish import commit
from robosim.kernels.step.guards import check
from robosim.kernels.step.impact import bounce, strikes
from robosim.kernels.step.learn import learn
from robosim.kernels.step.means import begin_means
from robosim.kernels.step.saved import copy_guesses, copy_state, save
from robosim.kernels.step.start import start_interval
from robosim.kernels.step.velocities import (
    carry_momenta,
    find_velocities,
    size_of_push,
)
from robosim.kernels.step.wants import BEGINS, HITS, MEANS, VELOCITIES

# Of the composition of order four: (PARTS - 1) PART^3 + (1 - (PARTS - 1) PART)^3 = 0.
PARTS = 7
IMPACTS = 16  # in a step or a part of it, one after the other
LEAST = 0.01  # of an interval, that a part of it is worth to be taken by itself
PART = 1.0 / (PARTS - 1.0 - (PARTS - 1.0) ** (1.0 / 3.0))


@stage
def step(scheme, model, state, memory, loads, work, options, solver, wants, info):
    """Advance the state by options.dt, in parts if need be; returns info.status.

    `solver` is where `find_motion` is found, and the address of what it works on. `wants` is a sum
    of VELOCITIES and MEANS (`robosim.kernels.step.wants`).

    On failure the state is left at the knot that it came from.
    """
    info.iterations = 0
    info.substeps = max(1, info.divided)
    info.order = allowed_order(loads, options) if info.substeps == 1 else 2
    if info.order == 4 or info.substeps > 1:
        save(state, memory.guesses, work)
    while True:
        gap, violation, end, turn, turner = np.inf, 0.0, 0.0, 1.0, 0.0
        for part in range(last_part(info) + 1):
            fraction = part_of_step(info, part)
            end += fraction
            dt = fraction * options.dt
            wanted = wants & MEANS
            if part == 0:
                wanted |= BEGINS
            if part == last_part(info):
                wanted |= wants & VELOCITIES
            info.status = advance_by_impacts(
                scheme, model, state, memory, loads, work, options, solver, dt, end, wanted, info
            )
            if info.order == 4 and info.status == CONVERGED and work.active[0] > 0:
                info.status = NOT_SMOOTH
            if info.status != CONVERGED:
                break
            gap, violation = min(gap, info.gap), max(violation, info.violation)
            if info.turn < turn:
                turn, turner = info.turn, info.turner
        if info.status == CONVERGED:
            info.gap, info.violation, info.turn, info.turner = gap, violation, turn, turner
            return info.status
        fill(0, memory.system.valid)
        # A first interval that fails has moved nothing yet, so it is what there is to save.
        if info.order == 2 and info.substeps == 1:
            save(state, memory.guesses, work)
        else:
            copy_state(work.saved, state)
            copy_guesses(work.learned, memory.guesses)
        if info.status == NEEDS_BLOCKS or info.status == NEEDS_ROWS:
            return info.status
        if info.status == NEEDS_GRAPH:
            return info.status
        unsolved = info.status < TURNS_FAR
        if info.order == 4:
            info.order = 2
        elif 2 * info.substeps > options.max_substeps or (unsolved and options.hands_over):
            return info.status
        else:
            info.substeps *= 2


@kernel
def allowed_order(loads, options):
    """The order asked for, or 2 with servos: they look ahead, and a step back would excite them."""
    if options.order == 4:
        for v in range(loads.servos.shape[0]):
            if loads.servos[v].kp != 0.0 or loads.servos[v].kd != 0.0:
                return 2
    return options.order


@kernel
def last_part(info):
    """Number of the last part of a step; the first is 0."""
    return PARTS - 1 if info.order == 4 else info.substeps - 1


@kernel
def part_of_step(info, part):
    """Length of a part as a fraction of the step.

    Order four is a symmetric composition of steps of order two, of which the middle one goes
    back [Suzuki1990]. Seven of them have an eighth of the error of the usual five.
    """
    if info.order == 2:
        return 1.0 / info.substeps
    return 1.0 - (PARTS - 1) * PART if part == PARTS // 2 else PART


@bridge
def advance_by_impacts(
    scheme, model, state, memory, loads, work, options, solver, dt, end, wants, info
):
    """`advance`, divided where contacts with restitution are hit; returns a status.

    If it fails in an undivided step, the state is left at the knot that it came from.
    """
    bounces = model.restitution.shape[0] > 0
    left, ahead, impacts, gap, violation = dt, 0.0, 0, np.inf, 0.0
    while True:
        length = ahead if ahead > 0.0 else left
        until = end - (left - length) / options.dt
        wanted = wants & (MEANS | BEGINS) if ahead > 0.0 else wants
        if bounces and impacts < IMPACTS and info.order == 2:
            # In the first part as well: without what is hit later, other contacts may be hit there.
            wanted |= HITS
        status = advance(
            scheme, model, state, memory, loads, work, options, solver, length, until, wanted, info
        )
        if status == STRIKES:
            if impacts == 0 and info.substeps == 1:
                save(state, memory.guesses, work)
            impacts += 1
            if wants & MEANS and wants & BEGINS:
                # Before velocities change where the step begins.
                begin_means(state)
                wants -= BEGINS
            ahead = work.scratch[0].ahead
            if ahead >= LEAST * left:
                continue
        elif status != CONVERGED or ahead == 0.0:
            break
        else:
            gap, violation = min(gap, info.gap), max(violation, info.violation)
            left -= ahead
        ahead = 0.0
        if bounce(scheme, model, state, memory, loads, work, options) == 0:
            impacts = IMPACTS
    if status == CONVERGED:
        info.gap, info.violation = min(gap, info.gap), max(violation, info.violation)
    elif impacts > 0 and info.substeps == 1:
        copy_state(work.saved, state)
        copy_guesses(work.learned, memory.guesses)
    return status


@stage
def advance(scheme, model, state, memory, loads, work, options, solver, dt, end, wants, info):
    """Advance the state by one interval dt without substeps; returns a status.

    An interval in which a contact with restitution is hit is not taken, if it `wants` HITS. `end`
    is where the interval ends within the step, as a fraction of it. The motion is the same whether
    it wants VELOCITIES or not: it makes use of them where contacts or torques act, and there they
    are always found.
    """
    system, last_dt, push = memory.system, state.last_dt[0], 0.0
    derives = are_duals(last_dt)
    status = start_interval(scheme, model, state, system, loads, work, options, dt, end)
    if status == CONVERGED:
        status = call_solver(solver[0], solver[1], dt, info)  # solve/attempts: find_motion
    if status == CONVERGED and not derives:
        status = check(model, state, system, loads, work, options, dt, info)
    looks = wants & HITS and status == CONVERGED
    if looks and strikes(model, state, memory, work, options, dt) != 0:
        status = STRIKES
    shows = wants & VELOCITIES != 0
    if status == CONVERGED:
        carry_momenta(scheme, model, system, loads, work, options, dt)
        push = size_of_push(loads, work)
        shows = shows or scheme.needs_velocities() or somewhere(push > 0.0)
        if shows:
            status = find_velocities(scheme, model, system, loads, work, options, dt)
    if status != CONVERGED:
        return status
    commit(scheme, model, state, system, work, dt, shows, wants, info)
    # The last interval of a step with derivatives is followed by none.
    if not (derives and wants & VELOCITIES):
        learn(scheme, model, state, memory, work, dt, last_dt, shows, push, info)
    return status
