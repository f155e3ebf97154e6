"""A step in as many parts as an accuracy asks for.

The accuracy is the error per second of motion, of any point of a body, in metres. Each part is
taken twice: as a whole, and by halves, which are kept. What lies between both results is the error
of the part, taken at its middle: there it is the same for the way back, so that energy has no trend
[Hairer2005]. A part is half as long where the error is too large, and is always the longest that
is accurate enough, of those whose ends are halves of halves of the step.

Where a contact or limit closes, a part ends, and the next one begins with the impact. So errors are
of second order through impacts too. A gap within `grace` is none: contacts that follow each other
faster than the accuracy can tell are those of one interval.

Parts without contacts, limits, dry friction and servos are of order four where that is asked for.
"""

from math import floor, inf

from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.jit import bridge, kernel
from robosim.kernels.equations.algebra import dot, fill
from robosim.kernels.status import (
    CONVERGED,
    NOT_SMOOTH,
    STRIKES,
    TURNS_FAR,
    UNRESOLVED,
    UNSETTLED,
)
from robosim.kernels.step.composition import PARTS, allowed_order, composed
from robosim.kernels.step.events import BRIEF, REACHED, grace, presses
from robosim.kernels.step.impact import bounce
from robosim.kernels.step.interval import advance_by_impacts
from robosim.kernels.step.saved import copy_guesses, copy_state, save
from robosim.kernels.step.step import is_for_another
from robosim.kernels.step.wants import BEGINS, EVENTS, FREE, MEANS, VELOCITIES

SHORTEST = 1e-9  # [s], of a part
QUIET = 0.1  # part of the allowed error that a motion which has hardly changed may have made
SLIVER = 0.1  # of a part: what is left before its end is no part of its own
CLOSED = 1e-10  # [m], to which loops are closed at a start, and so of no meaning as an error
BALL = 2.5  # square of a ball's radius, over that of its gyration


@bridge
def step_to_accuracy(
    scheme, model, state, memory, loads, work, options, solver, count, wants, info
):
    """As `step`: advance the state by a `count` of options.dt, in parts whose errors are small.

    If that fails, info.shortest is the time from its beginning to where it fails [s].
    """
    part, pace = work.part[0], memory.guesses.pace[0]
    save(state, memory.guesses, work)
    begin_step(part, loads, memory.guesses, options, count, info)
    info.status = UNRESOLVED
    while part.at < part.end:
        if part.until <= part.at:
            part.until, part.event = end_of_part(part, pace.level), 0
        part.length = (part.until - part.at) * options.dt
        info.substeps = 2 ** min(max(pace.level, 0), 30)
        if part.length < SHORTEST:
            info.status = UNSETTLED if info.status == UNSETTLED else UNRESOLVED
            break
        info.status = take_part(
            scheme, model, state, memory, loads, work, options, solver, wants, info
        )
        if info.status == NOT_SMOOTH:
            go_back(state, memory, work)
            info.order, part.order, part.known = 2, 2, 0
            continue
        if ends_step(info.status, options):
            break
        if info.status == CONVERGED and is_accurate(model, state, part, options):
            accept(part, pace, info)
            info.order = 2 if work.active[0] > 0 else allowed_order(loads, options)
            if part.event != 0 and model.restitution.shape[0] > 0:
                soon, close = 2.0 * BRIEF, REACHED * grace(options)
                bounce(scheme, model, state, memory, loads, work, options, soon, close)
            if part.at < part.end:
                copy_state(state, work.begun)
                copy_guesses(memory.guesses, work.begun_guesses)
            continue
        go_back(state, memory, work)
        if info.status == STRIKES:
            part.until, part.event, part.known = part.at + part.ahead / options.dt, 1, 0
        else:
            halve(part, pace, work, info.status)
    info.substeps, info.order = max(part.count, 1), part.order
    if part.at >= part.end:
        info.status, info.gap, info.violation = CONVERGED, part.gap, part.violation
        info.turn, info.turner = part.turn, part.turner
        note(pace, info)
        return info.status
    info.shortest = part.at * options.dt
    copy_state(work.saved, state)
    copy_guesses(work.learned, memory.guesses)
    fill(0, memory.system.valid)
    return info.status


@kernel
def begin_step(part, loads, guesses, options, count, info):
    """What a step, or a `count` of them, begins with, and the infos that its parts add to."""
    info.order = allowed_order(loads, options)
    for k in range(guesses.active.shape[0] if info.order == 4 else 0):
        info.order = 2 if guesses.active[k] != 0 else info.order
    part.order = info.order
    part.at, part.until, part.event, part.known, part.count = 0.0, 0.0, 0, 0, 0
    part.end = float(count)
    part.gap, part.violation, part.turn, part.turner = inf, 0.0, 1.0, 0.0
    info.iterations = 0
    info.shortest, info.error, info.events = count * options.dt, 0.0, 0


@bridge
def take_part(scheme, model, state, memory, loads, work, options, solver, wants, info):
    """Take a part as a whole, and by halves unless its motion hardly changes; returns a status.

    Leaves the estimated error in part.error. Of a whole that is known, its end is in work.ends.
    """
    part = work.part[0]
    half, middle, landed = 0.5 * part.length, 0.5 * (part.at + part.until), 0
    asked = (wants & MEANS) | VELOCITIES | EVENTS
    if part.at == 0.0:
        asked |= BEGINS
    last = FREE if part.event != 0 else 0
    part.quiet, part.stopped, part.landed = 0, 0.0, 0
    if part.known == 0:
        status = advance_part(
            scheme, model, state, memory, loads, work, options, solver, part.length, part.until,
            asked | last, info,
        )  # fmt: skip
        if status != CONVERGED:
            return status
        if part.at == 0.0:
            part.error = change_of_motion(model, state.bodies, work.saved.bodies, part.length)
        else:
            part.error = change_of_motion(model, state.bodies, work.begun.bodies, part.length)
        part.error += half * part.stopped
        if part.error <= QUIET * options.accuracy * part.length:
            part.quiet, part.stopped = 1, 0.0
            return CONVERGED
        keep_end(state.bodies, work.ends)
        go_back(state, memory, work)
        landed, part.landed, part.stopped = part.landed, 0, 0.0
    status = advance_part(
        scheme, model, state, memory, loads, work, options, solver, half, middle, asked, info
    )
    if status != CONVERGED:
        return status
    keep_end(state.bodies, work.middles)
    gap, violation, turn, turner = info.gap, info.violation, info.turn, info.turner
    stopped, landed = part.stopped, landed + part.landed
    part.landed, part.stopped = 0, 0.0
    status = advance_part(
        scheme, model, state, memory, loads, work, options, solver, half, part.until,
        (asked & ~BEGINS) | last, info,
    )  # fmt: skip
    part.ahead += half
    if status != CONVERGED:
        return status
    info.gap, info.violation = min(gap, info.gap), max(violation, info.violation)
    if turn < info.turn:
        info.turn, info.turner = turn, turner
    part.error = error_of_part(model, state.bodies, work.ends, part.length, presses(work), info)
    part.stopped, part.landed = max(stopped, part.stopped), landed + part.landed
    return CONVERGED


@bridge
def advance_part(scheme, model, state, memory, loads, work, options, solver, dt, end, wants, info):
    """`advance_by_impacts`, or a composition of it of order four; returns a status.

    It is NOT_SMOOTH where anything acts that an interval which goes back would excite.
    """
    if info.order == 2:
        return advance_by_impacts(
            scheme, model, state, memory, loads, work, options, solver, dt, end, wants, info
        )
    gap, violation, turn, turner = inf, 0.0, 1.0, 0.0
    at = end - dt / options.dt
    for k in range(PARTS):
        length = composed(k) * dt
        at += length / options.dt
        asked = wants & MEANS
        if k == 0:
            asked |= wants & BEGINS
        if k == PARTS - 1:
            asked |= wants & (VELOCITIES | FREE)
        status = advance_by_impacts(
            scheme, model, state, memory, loads, work, options, solver, length, at, asked, info
        )
        if status == CONVERGED and work.active[0] > 0:
            return NOT_SMOOTH
        if status != CONVERGED:
            return status
        gap, violation = min(gap, info.gap), max(violation, info.violation)
        if info.turn < turn:
            turn, turner = info.turn, info.turner
    info.gap, info.violation, info.turn, info.turner = gap, violation, turn, turner
    return CONVERGED


@kernel
def ends_step(status, options):
    """Whether a step is left to another system or solver, as shorter parts would not help."""
    if is_for_another(status):
        return True
    unsolved = status < TURNS_FAR and status != CONVERGED
    return unsolved and options.hands_over


@kernel
def is_accurate(model, state, part, options):
    """Whether the error of a part is small enough.

    What has stopped may have done so anywhere in an interval, and what has landed anywhere in a gap
    that counts as none.
    """
    allowed = max(options.accuracy * part.length, CLOSED)
    least = REACHED * grace(options)
    if part.landed != 0:
        least = max(least, 2.0 * BRIEF * fastest(model, state))
        allowed = max(allowed, least)
    return part.error <= allowed and 0.25 * part.length * part.stopped <= max(allowed, least)


@kernel
def accept(part, pace, info):
    """Go on from the end of a part. The next one may be twice as long, unless an event ends it."""
    count = 1 if part.quiet != 0 else 2
    part.count += count
    info.shortest = min(info.shortest, part.length / count)
    info.error += part.error
    part.gap, part.violation = min(part.gap, info.gap), max(part.violation, info.violation)
    if info.turn < part.turn:
        part.turn, part.turner = info.turn, info.turner
    if part.event != 0:
        info.events += 1
    elif is_longer(part, pace.level):
        pace.level -= 1
    part.at, part.known = part.until, 0


@kernel
def halve(part, pace, work, status):
    """Let a part end earlier, after about half of it. What the first half came to may be known."""
    middle, level = 0.5 * (part.at + part.until), 0
    while is_longer(part, level):
        level -= 1
    while end_of_part(part, level) - part.at > 0.505 * (part.until - part.at) and level < 60:
        level += 1
    pace.level = level
    part.until, part.event = end_of_part(part, level), 0
    part.known = 1 if status == CONVERGED and part.until == middle else 0
    if part.known != 0:
        keep_end(work.middles, work.ends)


@kernel
def is_longer(part, level):
    """Whether all that is taken together is at least twice as long as parts of this level."""
    return 2.0 * 0.5**level <= part.end


@kernel
def end_of_part(part, level):
    """Where a part ends, by its beginning: at a multiple of 2^-level time steps, or at the end."""
    size = 0.5**level
    until = (floor(part.at / size) + 1.0) * size
    if until - part.at < SLIVER * size:
        until += size
    return min(until, part.end)


@kernel
def go_back(state, memory, work):
    """Go back to where a part begins, the first one where the step does."""
    level = memory.guesses.pace[0].level
    if work.part[0].at == 0.0:
        copy_state(work.saved, state)
        copy_guesses(work.learned, memory.guesses)
    else:
        copy_state(work.begun, state)
        copy_guesses(work.begun_guesses, memory.guesses)
    memory.guesses.pace[0].level = level
    fill(0, memory.system.valid)


@kernel
def note(pace, info):
    """Add a step to what steps since the start have come to."""
    if pace.intervals == 0 or info.shortest < pace.shortest:
        pace.shortest = info.shortest
    pace.intervals += info.substeps
    pace.events += info.events
    pace.error += info.error


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
