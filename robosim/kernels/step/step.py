"""One step: an interval, or parts of it where its equations cannot be solved undivided."""

from math import floor

import numpy as np

from robosim.kernels.compiler.duals import are_duals
from robosim.kernels.compiler.jit import bridge, kernel, stage
from robosim.kernels.equations.algebra import fill
from robosim.kernels.status import (
    CONVERGED,
    LAST,
    NEEDS_BLOCKS,
    NEEDS_GRAPH,
    NEEDS_ROWS,
    NOT_SMOOTH,
    TURNS_FAR,
)
from robosim.kernels.step.composition import PARTS, allowed_order, composed
from robosim.kernels.step.interval import advance_by_impacts
from robosim.kernels.step.saved import copy_guesses, copy_state, save
from robosim.kernels.step.wants import BEGINS, MEANS, VELOCITIES

UNEVEN = 2  # told of parts that are not of one length: that they are parts, and not fine ones
SLIVER = 0.1  # of a part: what is left before its end is no part of its own


@stage
def step(scheme, model, state, memory, loads, work, options, solver, wants, info):
    """Advance the state by options.dt, in parts if need be; returns info.status.

    `solver` is where `find_motion` is found, and the address of what it works on. `wants` is a sum
    of VELOCITIES and MEANS (`robosim.kernels.step.wants`).

    On failure the state is left at the knot that it came from.
    """
    info.iterations, info.surely = 0, 0
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
            info.surely = 0
            return info.status
        fill(0, memory.system.valid)
        # A first interval that fails has moved nothing yet, so it is what there is to save.
        if info.order == 2 and info.substeps == 1:
            save(state, memory.guesses, work)
        else:
            copy_state(work.saved, state)
            copy_guesses(work.learned, memory.guesses)
        if is_for_another(info.status):
            return info.status
        unsolved = info.status < TURNS_FAR
        if info.order == 4:
            info.order = 2
        elif 2 * info.substeps <= options.max_substeps and not (unsolved and options.hands_over):
            info.substeps *= 2
        elif unsolved and info.surely == 0 and has_surer_attempts(model, options):
            info.surely, info.substeps = 1, max(1, info.divided)
        else:
            info.surely = 0
            if info.substeps == 1 or (unsolved and options.hands_over) or are_duals(turn):
                return info.status
            return step_unevenly(
                scheme, model, state, memory, loads, work, options, solver, wants, info
            )


@bridge
def step_unevenly(scheme, model, state, memory, loads, work, options, solver, wants, info):
    """Advance the state by options.dt in parts of several lengths; returns info.status.

    A part that fails is halved, and what has been solved before it stays. The longest are as long
    as those of the last division, the shortest have as small a part of these. But for the
    shortest, impacts may give no more energy than in long parts. info.substeps is how many of the
    shortest part make a step.
    """
    part, most, status = work.part[0], info.substeps, info.status
    length = shortest = 1.0 / most
    gap, violation, turn, turner = np.inf, 0.0, 1.0, 0.0
    part.at = 0.0
    while part.at < 1.0:
        end = min((floor(part.at / length) + 1.0) * length, 1.0)
        if end - part.at < SLIVER * length:
            end = min(end + length, 1.0)
        wanted = wants & MEANS
        if part.at == 0.0:
            wanted |= BEGINS
        if end == 1.0:
            wanted |= wants & VELOCITIES
        dt = (end - part.at) * options.dt
        info.substeps = UNEVEN if length * most * most > 1.0 else most * most
        info.status = advance_by_impacts(
            scheme, model, state, memory, loads, work, options, solver, dt, end, wanted, info
        )
        if info.status == CONVERGED:
            part.at, shortest = end, min(shortest, length)
            gap, violation = min(gap, info.gap), max(violation, info.violation)
            if info.turn < turn:
                turn, turner = info.turn, info.turner
            if 2.0 * length * most <= 1.0 and floor(0.5 * end / length) == 0.5 * end / length:
                length *= 2.0
            continue
        fill(0, memory.system.valid)
        length *= 0.5
        if length * most * most < 1.0 or is_for_another(info.status):
            copy_state(work.saved, state)
            copy_guesses(work.learned, memory.guesses)
            info.substeps = most
            if not is_for_another(info.status):
                info.status = status
            return info.status
    info.gap, info.violation, info.turn, info.turner = gap, violation, turn, turner
    info.substeps = int(1.0 / shortest)
    return info.status


@kernel
def is_for_another(status):
    """Whether a step is left to another system or solver, as shorter parts would not help."""
    return status in (NEEDS_BLOCKS, NEEDS_ROWS, NEEDS_GRAPH)


@kernel
def has_surer_attempts(model, options):
    """Whether there are attempts at a step's equations that are made if all others have failed."""
    return options.last_attempt == LAST and model.facets.shape[0] == 0


@kernel
def last_part(info):
    """Number of the last part of a step; the first is 0."""
    return PARTS - 1 if info.order == 4 else info.substeps - 1


@kernel
def part_of_step(info, part):
    """Length of a part as a fraction of the step."""
    return composed(part) if info.order == 4 else 1.0 / info.substeps
