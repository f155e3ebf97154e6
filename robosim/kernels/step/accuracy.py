"""A step in as many parts as an accuracy asks for.

The accuracy is the error per second of motion, of any point of a body, in metres. Each part is
taken twice: as a whole, and by halves, which are kept. What lies between both results is the error
of the part, taken at its middle: there it is the same for the way back, so that energy has no trend
[Hairer2005]. A part is half as long where the error is too large, and is always the longest that
is accurate enough, of those whose ends are halves of halves of the step.

Where a contact or limit closes, a part ends, and the next one begins with the impact. So errors are
of second order through impacts too. A gap within `grace` is none: contacts that follow each other
faster than the accuracy can tell are those of one interval.
"""

from math import floor, inf

from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.jit import bridge, kernel
from robosim.kernels.equations.algebra import dot, fill
from robosim.kernels.status import (
    CONVERGED,
    NEEDS_BLOCKS,
    NEEDS_GRAPH,
    NEEDS_ROWS,
    STRIKES,
    TURNS_FAR,
    UNRESOLVED,
)
from robosim.kernels.step.events import BRIEF, REACHED, grace, presses
from robosim.kernels.step.impact import bounce
from robosim.kernels.step.interval import advance_by_impacts
from robosim.kernels.step.saved import copy_guesses, copy_state, save
from robosim.kernels.step.wants import BEGINS, EVENTS, FREE, MEANS, VELOCITIES

SHORTEST = 1e-9  # [s], of a part
COARSER = 1.0  # part of the allowed error below which the next part may be twice as long
QUIET = 0.1  # part of the allowed error that a motion which has hardly changed may have made
SLIVER = 0.1  # of a part: what is left before its end is no part of its own
BALL = 2.5  # square of a ball's radius, over that of its gyration


@bridge
def step_to_accuracy(scheme, model, state, memory, loads, work, options, solver, wants, info):
    """As `step`: advance the state by options.dt, in parts whose errors are small enough.

    Of a step that fails, info.shortest is the time from its beginning to where it fails [s].
    """
    info.iterations, info.order, info.substeps = 0, 2, 1
    info.shortest, info.error, info.events = options.dt, 0.0, 0
    save(state, memory.guesses, work)
    pace, parts, wanted = memory.guesses.pace[0], 0, (wants & MEANS) | BEGINS
    gap, violation, turn, turner = inf, 0.0, 1.0, 0.0
    # As fractions of the step: where the next part begins, and where it ends.
    at, until, event, known = 0.0, 0.0, False, False
    while at < 1.0:
        if until <= at:
            until, event = end_of_part(at, pace.level), False
        length = (until - at) * options.dt
        if length < SHORTEST:
            info.status = UNRESOLVED
            break
        info.substeps = 2 ** min(pace.level, 30)
        asked = wanted | VELOCITIES | EVENTS | (FREE if event else 0)
        landed = 0
        error, quiet, allowed, stopped = inf, False, options.accuracy * length, 0.0
        work.scratch[0].landed, work.scratch[0].stopped = 0, 0.0
        if not known:
            info.status = advance_by_impacts(
                scheme, model, state, memory, loads, work, options, solver, length, until, asked,
                info,
            )  # fmt: skip
            if info.status == CONVERGED:
                if at == 0.0:
                    error = change_of_motion(model, state.bodies, work.saved.bodies, length)
                else:
                    error = change_of_motion(model, state.bodies, work.begun.bodies, length)
                error += 0.5 * length * work.scratch[0].stopped
                quiet = error <= QUIET * allowed
                landed = work.scratch[0].landed
        if info.status == CONVERGED and not quiet:
            if not known:
                keep_end(state.bodies, work.ends)
                go_back(state, memory, work, at)
            error, middle = inf, 0.5 * (at + until)
            info.status = advance_by_impacts(
                scheme, model, state, memory, loads, work, options, solver, 0.5 * length, middle,
                asked & ~FREE, info,
            )  # fmt: skip
            if info.status == CONVERGED:
                keep_end(state.bodies, work.middles)
                nearest, most = info.gap, info.violation
                bend, whose, stopped = info.turn, info.turner, work.scratch[0].stopped
                landed += work.scratch[0].landed
                info.status = advance_by_impacts(
                    scheme, model, state, memory, loads, work, options, solver, 0.5 * length,
                    until, asked & ~BEGINS, info,
                )  # fmt: skip
                if info.status == STRIKES:
                    work.scratch[0].event += 0.5 * length
                elif info.status == CONVERGED:
                    error = error_of_part(
                        model, state.bodies, work.ends, length, presses(work), info
                    )
                    stopped = max(stopped, work.scratch[0].stopped)
                    landed += work.scratch[0].landed
                    info.gap, info.violation = min(nearest, info.gap), max(most, info.violation)
                    if bend < info.turn:
                        info.turn, info.turner = bend, whose
        if info.status == NEEDS_BLOCKS or info.status == NEEDS_ROWS:
            break
        if info.status == NEEDS_GRAPH:
            break
        # What has stopped may have done so anywhere in an interval, and what has landed in a gap.
        stopped *= 0.25 * length
        least = REACHED * grace(options)
        if landed > 0 and info.status == CONVERGED:
            least = max(least, 2.0 * BRIEF * fastest(model, state))
            allowed = max(allowed, least)
        if info.status == CONVERGED and error <= allowed and stopped <= max(allowed, least):
            parts += 1 if quiet else 2
            info.shortest = min(info.shortest, length if quiet else 0.5 * length)
            info.error += error
            gap, violation = min(gap, info.gap), max(violation, info.violation)
            if info.turn < turn:
                turn, turner = info.turn, info.turner
            if event:
                info.events += 1
                if model.restitution.shape[0] > 0:
                    bounce(
                        scheme, model, state, memory, loads, work, options, 2.0 * BRIEF,
                        REACHED * grace(options),
                    )  # fmt: skip
            elif error <= COARSER * allowed and pace.level > 0:
                pace.level -= 1
            at, known, wanted = until, False, wants & MEANS
            if at < 1.0:
                copy_state(state, work.begun)
                copy_guesses(memory.guesses, work.begun_guesses)
            continue
        if info.status != STRIKES and info.status != CONVERGED:
            unsolved = info.status < TURNS_FAR
            if unsolved and options.hands_over:
                break
        status = info.status
        go_back(state, memory, work, at)
        if status == STRIKES:
            until, event, known = at + work.scratch[0].event / options.dt, True, False
        else:
            middle, pace.level = 0.5 * (at + until), finer(at, until)
            until, event = end_of_part(at, pace.level), False
            # The first half may have become the whole.
            known = status == CONVERGED and until == middle
            if known:
                keep_end(work.middles, work.ends)
    info.substeps = max(parts, 1)
    if at >= 1.0:
        info.status = CONVERGED
        info.gap, info.violation, info.turn, info.turner = gap, violation, turn, turner
        note(pace, info)
        return info.status
    info.shortest = at * options.dt
    copy_state(work.saved, state)
    copy_guesses(work.learned, memory.guesses)
    fill(0, memory.system.valid)
    return info.status


@kernel
def note(pace, info):
    """Add a step to what steps since the start have come to."""
    if pace.intervals == 0 or info.shortest < pace.shortest:
        pace.shortest = info.shortest
    pace.intervals += info.substeps
    pace.events += info.events
    pace.error += info.error


@kernel
def end_of_part(at, level):
    """Where a part ends that begins at a fraction `at` of the step: at a multiple of 2^-level."""
    size = 0.5**level
    until = (floor(at / size) + 1.0) * size
    if until - at < SLIVER * size:
        until += size
    return min(until, 1.0)


@kernel
def finer(at, until):
    """The level of a part that is to be about half as long."""
    level, half = 0, 0.5 * (until - at)
    while end_of_part(at, level) - at > 1.01 * half and level < 60:
        level += 1
    return level


@kernel
def go_back(state, memory, work, at):
    """Go back to where a part begins, the first one where the step does."""
    level = memory.guesses.pace[0].level
    if at == 0.0:
        copy_state(work.saved, state)
        copy_guesses(work.learned, memory.guesses)
    else:
        copy_state(work.begun, state)
        copy_guesses(work.begun_guesses, memory.guesses)
    memory.guesses.pace[0].level = level
    fill(0, memory.system.valid)


@kernel
def keep_end(bodies, ends):
    """Keep where the bodies are, and how they move."""
    for i in range(bodies.shape[0]):
        copy_record(bodies[i], ends[i])


@kernel
def size_of(body):
    """Distance of a body's farthest point from its centre of mass [m].

    That of its contacts, or the radius of a ball with its mean inertia.
    """
    inertia = body.inertia
    trace = inertia[0, 0] + inertia[1, 1] + inertia[2, 2]
    return max(body.reach, (BALL * trace / (3.0 * body.mass)) ** 0.5)


@kernel
def error_of_part(model, bodies, ends, length, presses, info):
    """Largest error of a part [m], from what lies between two results; notes whose it is.

    In the middle of the part, and of the motion on from there. Where anything presses, velocities
    at knots are of first order, and what counts is the end of the part.
    """
    largest, half = 0.0, 0.0 if presses else 0.5 * length
    for i in range(model.bodies.shape[0]):
        error = difference(bodies[i], ends[i], half, size_of(model.bodies[i]))
        if not error <= largest:
            largest, info.worst_body = error, i
    return largest


@kernel
def difference(a, b, half, size):
    """What the points of a body differ by a time `half` before, or their way over it [m]."""
    e, p = turn_between(b.q, a.q)
    sign = 2.0 if e >= 0.0 else -2.0
    place, turn, motion, spin = 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        v, omega = half * (a.shown[k] - b.shown[k]), half * (a.shown[3 + k] - b.shown[3 + k])
        place += (a.x[k] - b.x[k] - v) ** 2
        turn += (sign * p[k] - omega) ** 2
        motion += v * v
        spin += omega * omega
    return max(place**0.5 + size * turn**0.5, motion**0.5 + size * spin**0.5)


@kernel
def turn_between(a, b):
    """(e, p) of b a^-1, for unit quaternions a and b."""
    p = (
        a[0] * b[1] - b[0] * a[1] - (b[2] * a[3] - b[3] * a[2]),
        a[0] * b[2] - b[0] * a[2] - (b[3] * a[1] - b[1] * a[3]),
        a[0] * b[3] - b[0] * a[3] - (b[1] * a[2] - b[2] * a[1]),
    )
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], p


@kernel
def fastest(model, state):
    """A bound of the speed of all bodies' points at the knot [m/s]."""
    most = 0.0
    for i in range(model.bodies.shape[0]):
        v, omega = state.bodies[i].v, state.bodies[i].omega
        most = max(most, dot(v, v) ** 0.5 + size_of(model.bodies[i]) * dot(omega, omega) ** 0.5)
    return most


@kernel
def change_of_motion(model, bodies, before, length):
    """Way [m] that the change of the motion from the interval before leads to, in this part."""
    largest = 0.0
    for i in range(model.bodies.shape[0]):
        a, b, size = bodies[i], before[i], size_of(model.bodies[i])
        change, turning = 0.0, 0.0
        for k in range(3):
            change += (a.v_mid[k] - b.v_mid[k]) ** 2 + (a.shown[k] - a.v_mid[k]) ** 2
            turning += (a.v_mid[3 + k] - b.v_mid[3 + k]) ** 2
            turning += (a.shown[3 + k] - a.v_mid[3 + k]) ** 2
        largest = max(largest, length * (change**0.5 + size * turning**0.5))
    return largest
