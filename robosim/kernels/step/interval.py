"""One interval, stage by stage.

The state is a knot z1 with the momenta there. The motion over the interval satisfies Eqs. (29a) to
(29f). It puts the bodies at the second knot z2, where the velocities are read. Forces act half at
either end of the interval, constraint and contact impulses at z1. The momentum that enters a knot
is carried by summing impulses, so that what the tolerance leaves of the equations does not add up:
momentum, linear and angular, is conserved to rounding.
"""

import numpy as np

from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.duals import are_duals
from robosim.kernels.compiler.jit import bridge, stage
from robosim.kernels.compiler.lanes import somewhere
from robosim.kernels.compiler.parts import call_solver
from robosim.kernels.status import CONVERGED, STRIKES
from robosim.kernels.step.events import closes, leave_out_open
from robosim.kernels.step.finish import commit
from robosim.kernels.step.guards import check
from robosim.kernels.step.impact import bounce, strikes
from robosim.kernels.step.learn import learn
from robosim.kernels.step.means import begin_means
from robosim.kernels.step.reading import (
    foresee,
    is_read_otherwise,
    keep_reading,
    take_reading,
)
from robosim.kernels.step.saved import copy_guesses, copy_state, save
from robosim.kernels.step.start import start_interval
from robosim.kernels.step.velocities import (
    begin_projection,
    bounds_rates,
    carry_momenta,
    find_velocities,
    size_of_push,
)
from robosim.kernels.step.wants import BEGINS, EVENTS, FREE, HITS, MEANS, VELOCITIES

IMPACTS = 16  # in a step or a part of it, one after the other
LEAST = 0.01  # of an interval, that a part of it is worth to be taken by itself
ROUNDING = 4e-15  # [m], of positions, over a short interval
EXACT = 1e-4  # [1/s], times an accuracy: what the equations may be off by, which adds little to it
NEAR = 0.1  # part of a step: what is reached within it is hit together


@bridge
def advance_by_impacts(
    scheme, model, state, memory, loads, work, options, solver, dt, end, wants, info
):
    """`advance`, divided where contacts with restitution are hit; returns a status.

    If it fails in an undivided step, the state is left at the knot that it came from.
    """
    bounces = model.restitution.shape[0] > 0
    left, ahead, impacts, gap, violation = dt, 0.0, 0, np.inf, 0.0
    soon = NEAR * options.dt
    while True:
        length = ahead if ahead > 0.0 else left
        until = end - (left - length) / options.dt
        wanted = wants & (MEANS | BEGINS) if ahead > 0.0 else wants
        if bounces and impacts < IMPACTS and info.order == 2 and not wants & EVENTS:
            # In the first part as well: without what is hit later, other contacts may be hit there.
            wanted |= HITS
        status = advance(
            scheme, model, state, memory, loads, work, options, solver, length, until, wanted, info
        )
        if status == STRIKES and not wants & EVENTS:
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
        if bounce(scheme, model, state, memory, loads, work, options, soon, 0.0) == 0:
            impacts = IMPACTS
        # From there on a step in parts of several lengths goes on, if the rest of this one fails.
        work.part[0].at = end - left / options.dt
    if status == CONVERGED:
        info.gap, info.violation = min(gap, info.gap), max(violation, info.violation)
    elif impacts > 0 and info.substeps == 1:
        copy_state(work.saved, state)
        copy_guesses(work.learned, memory.guesses)
    return status


@stage
def advance(scheme, model, state, memory, loads, work, options, solver, dt, end, wants, info):
    """Advance the state by one interval dt without substeps; returns a status.

    The motion is the same whether it wants VELOCITIES or not: it makes use of them where contacts
    or torques act, or rates have bounds, and there they are always found.
    """
    status = find_interval(
        scheme, model, state, memory, loads, work, options, solver, dt, end, wants, info
    )
    if status != CONVERGED:
        return status
    return end_interval(scheme, model, state, memory, loads, work, options, dt, wants, info)


@stage
def find_interval(scheme, model, state, memory, loads, work, options, solver, dt, end, wants, info):
    """Find the motion over one interval, and whether it can be taken; a status.

    An interval in which a contact with restitution is hit is not taken, if it `wants` HITS; nor is
    one in which any contact or limit closes, if it wants EVENTS. `end` is where the interval ends
    within the step, as a fraction of it.
    """
    system = memory.system
    work.scratch[0].rounding = 0.0
    if options.accuracy > 0.0:
        work.scratch[0].rounding = max(ROUNDING / abs(dt), EXACT * options.accuracy)
    status = start_interval(scheme, model, state, system, loads, work, options, dt, end)
    if status == CONVERGED:
        status = call_solver(solver[0], solver[1], dt, info)  # solve/attempts: find_motion
    if status == CONVERGED and not are_duals(state.last_dt[0]):
        status = check(model, state, system, loads, work, options, dt, info)
    looks = wants & HITS and status == CONVERGED
    if looks and strikes(model, state, memory, work, options, dt) != 0:
        status = STRIKES
    looks = wants & EVENTS and status == CONVERGED and work.active[0] > 0
    if looks and closes(model, state, memory, work, options, dt) != 0:
        status = STRIKES
    return status


@stage
def end_interval(scheme, model, state, memory, loads, work, options, dt, wants, info):
    """Move the state along the motion that has been found; a status."""
    system, last_dt, status = memory.system, state.last_dt[0], CONVERGED
    carry_momenta(scheme, model, system, loads, work, options, dt)
    push = size_of_push(loads, work)
    shows = wants & VELOCITIES != 0 or scheme.needs_velocities() or somewhere(push > 0.0)
    shows, keeps = shows or bounds_rates(model), False
    if shows:
        left = leave_out_open(work) if wants & FREE else 0
        limited = begin_projection(model, system, work, dt, False)
        otherwise = wants & VELOCITIES != 0 and is_read_otherwise(model, memory, work, options, dt)
        # Steps with derivatives end with the factors of what is read, as nothing follows them.
        keeps = otherwise and not are_duals(last_dt)
        for again in range(2 if keeps else 1):
            reads, length = otherwise and again == 0, dt
            if again == 1:
                begin_projection(model, system, work, dt, True)
            if reads:
                length = options.dt
                foresee(model, memory.guesses, system, work, options, dt)
            status = find_velocities(
                scheme, model, system, loads, work, options, limited, dt, length
            )
            if reads and keeps and status == CONVERGED:
                keep_reading(scheme, model, state, system, work)
            elif reads:
                keeps = False
        if left > 0:
            work.active[0] += left
            system.valid[FACTORED] = 0
    if status != CONVERGED:
        return status
    commit(scheme, model, state, system, work, dt, shows, wants, info)
    # The last interval of a step with derivatives is followed by none.
    if not (are_duals(last_dt) and wants & VELOCITIES):
        learn(scheme, model, state, memory, work, dt, last_dt, shows, push, info)
    if keeps:
        take_reading(model, work.read, state)
    return status
