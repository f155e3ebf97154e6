"""Where contacts and limits close within an interval, so that a part of a step can end there."""

from math import inf, sqrt

from robosim.compiled.kinds import CLOSES
from robosim.kernels.compiler.features import NUMBER, feature
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.contact.hits import is_closed, is_stop, may_be_hit
from robosim.kernels.contact.kinematics import on_joint
from robosim.kernels.contact.turning import is_companion
from robosim.kernels.equations.algebra import dot
from robosim.kernels.step.impact import goes_round, growing, meet, signed_gap, time_along

GRACE = 2e-3  # [s], times the accuracy: a gap that may be left where a part ends at a contact
REACHED = 4.0  # times that: a gap that counts as closed
AGAIN = 0.8  # part of a part at most, after which one that was too long is tried to end
RESTS = 0.01  # part of a slip that counts as none
BRIEF = 4e-9  # [s], time to a contact that has as good as closed


@kernel
def grace(options):
    """The gap that may be left where a part ends at a contact [m]."""
    return GRACE * options.accuracy


@feature(CLOSES, dt=NUMBER)
def closes(model, state, memory, work, options, dt):
    """1 if a contact or limit that was open has closed in the interval that was solved, else 0.

    Or where one that is compliant has touched or parted.

    Leaves in part.ahead when the first one does, a little before, after the first knot [s]. And in
    part.stopped the fastest motion that has come to rest in the interval [m/s]: a slip, or one by
    which something opens that is closed again in the end. part.landed is 1 if something closes that
    has been within the gap that counts as none.
    """
    first, found, left, stopped, landed = dt, 0, grace(options), 0.0, 0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact = work.slots[k]
        if not (may_be_hit(contact) or is_stop(contact)):
            continue
        closed = is_closed(contact, work.contacts[k])
        if contact.compliant == 0 and not closed:
            continue
        gap = signed_gap(model, contact, state, memory.system, work)
        if contact.compliant != 0:
            time = crossing(gap, memory.system.contacts[k].gap, dt, REACHED * left)
            if BRIEF < time < first:
                first, found = time, 1
        if not closed:
            continue
        if gap <= REACHED * left or contact.compliant != 0:
            if contact.compliant == 0:
                # Of what opens and closes again within the interval, as after a bounce.
                opens = motion_at_knot(model, contact, state, memory.system.contacts[k], 2)
                stopped = max(stopped, opens)
            if not was_closed(memory.guesses, contact, k):
                landed = 1
            elif contact.mu > 0.0 and may_be_hit(contact):
                stopped = max(stopped, slip_lost(model, contact, state, memory.system.contacts[k]))
            continue
        if goes_round(contact):
            time, _ = meet(model, contact, state, memory.system, work, options, dt)
        else:
            w = memory.system.contacts[k]
            time = meet_soon(model, contact, state, w, options, gap - 0.5 * left)
        time = min(time, AGAIN * dt)
        if time <= BRIEF:
            landed = 1
        elif time < first:
            first, found = time, 1
    part = work.part[0]
    part.ahead, part.stopped, part.landed = first, stopped, landed
    return found


@kernel
def crossing(gap, after, dt, least):
    """When a gap goes through zero over an interval [s], as of a line; inf if it does not.

    Where a spring sets in or lets go, its force has a kink.
    """
    if min(abs(gap), abs(after)) > least and gap * after < 0.0:
        return dt * gap / (gap - after)
    return inf


@kernel
def was_closed(guesses, contact, k):
    """Whether a contact pushed in the interval before."""
    return guesses.active[k] != 0 and is_closed(contact, guesses.contacts[k])


@kernel
def slip_lost(model, contact, state, w):
    """Speed of a slip that stops in the interval, else 0 [m/s].

    Of the slip at the first knot if nothing is left of it, or of that at the second one if it has
    turned round there, as far as it has changed to the interval's.
    """
    square, along, over, size = 0.0, 0.0, 0.0, 0.0
    for i in range(2):
        slip = motion_at_knot(model, contact, state, w, i)
        slip += w.drift1[i] if contact.drifts != 0 else 0.0
        ahead = 2.0 * w.u[i] - slip
        square += slip * slip
        along += slip * w.u[i]
        over += ahead * w.u[i]
        size += ahead * ahead
    if along < RESTS * square:
        return sqrt(square)
    return sqrt(size) if over < 0.0 else 0.0


@kernel
def meet_soon(model, contact, state, w, options, way):
    """When a point or limit has come by a `way` [m] to what it closes on [s].

    With the velocities at the knot, and as it falls.
    """
    speed = -motion_at_knot(model, contact, state, w, 2)
    return time_along(way, speed, growing(model, contact, w, options))


@kernel
def motion_at_knot(model, contact, state, w, i):
    """Velocity along axis i of a point of contact or a limit, at the first knot [m/s]."""
    nb, speed = model.bodies.shape[0], 0.0
    if on_joint(contact):
        joint = model.joints[contact.joint]
        for row in range(joint.m_T + joint.m_R):
            speed += w.L[i, row] * state.v[joint.v_begin + row]
        return speed
    if contact.body < nb:
        v = state.bodies[contact.body].shown
        speed += dot(w.L[i, :3], v[:3]) + dot(w.L[i, 3:], v[3:])
    if contact.other < nb:
        v = state.bodies[contact.other].shown
        speed += dot(w.L_o[i, :3], v[:3]) + dot(w.L_o[i, 3:], v[3:])
    return speed


@kernel
def leave_out_open(work):
    """Leave contacts that do not push out of the velocities at the second knot; returns how many.

    They follow those that stay in work.active. A part that ends right before a contact has it
    within a gap of next to nothing, where its barrier would count as a mass.
    """
    active, kept = work.active, 0
    for n in range(1, active[0] + 1):
        k = active[n]
        if stays_closed(work.slots, work.contacts, k):
            kept += 1
            active[n], active[kept] = active[kept], k
    left = active[0] - kept
    active[0] = kept
    return left


@kernel
def stays_closed(slots, contacts, k):
    """Whether a contact or a limit pushes, or has no gap; a companion as its leader."""
    contact = slots[k]
    if is_companion(contact):
        return is_closed(slots[contact.leader], contacts[contact.leader])
    return not (may_be_hit(contact) or is_stop(contact)) or is_closed(contact, contacts[k])


@kernel
def presses(work):
    """Whether a contact or a limit pushes in the interval that was solved, or dry friction acts."""
    for n in range(1, work.active[0] + 1):
        if stays_closed(work.slots, work.contacts, work.active[n]):
            return True
    return False
