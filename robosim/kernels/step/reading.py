"""Velocities to be read at a knot, where they are others than those that guesses begin with.

The velocities of `find_velocities` belong to the interval that ends at a knot, and a guess of the
next motion begins with them. What is read also tells what is known of the interval that follows:

- its length, if a step was divided. A body turns on with the momentum that it has, and so at
  another rate, as momenta are chords;
- what its contacts start from. Shapes may have left the features at which they touched, as a rim
  that has rolled over the edge of a face. They are apart then, and not held any more.

A contact that has been closed for this interval alone has half of its approach left.
"""

from math import inf

from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.compiler.lanes import somewhere
from robosim.kernels.contact.hits import is_closed
from robosim.kernels.contact.kinematics import place_contact
from robosim.kernels.equations.algebra import assign, cross, dot
from robosim.kernels.equations.coordinates import read_joints
from robosim.kernels.step.finish import show_velocities
from robosim.kernels.step.velocities import LANDING, OPEN, length_ahead, looks_back


@kernel
def is_read_otherwise(model, memory, work, options, dt):
    """Whether what is to be read at the second knot is not what the next guess begins with.

    After `begin_projection`.
    """
    if options.order == 2 and somewhere(length_ahead(model, options, dt) != dt):
        return True
    if model.collision.pairs.shape[0] == 0 or looks_back(model, options):
        return False
    return leaves_or_enters(model, memory.guesses, memory.system, work)


@aside
def leaves_or_enters(model, guesses, system, work):
    """Whether shapes have left features where they touched, or touch for this interval alone."""
    near = work.collision.near
    for n in range(1, near[0] + 1):
        pair = model.collision.pairs[near[n]]
        parted = work.collision.found[near[n]].parted > 0.0
        for k in range(pair.slot_begin, pair.slot_end):
            if is_held(pair, system, work, k) and (parted or not was_closed(guesses, work, k)):
                return True
    return False


@kernel
def is_held(pair, system, work, k):
    """Whether slot k of a pair has a hard contact that is closed and has not just landed."""
    if pair.compliant != 0 or work.entered[k] == 0 or system.contacts[k].rate == OPEN:
        return False
    return is_closed(work.slots[k], work.contacts[k])


@kernel
def was_closed(guesses, work, k):
    """Whether the feature in slot k pushed in the interval before."""
    known = guesses.active[k] != 0 and guesses.ids[k] == work.ids[k]
    return known and is_closed(work.slots[k], guesses.contacts[k])


@aside
def foresee(model, guesses, system, work, options, dt):
    """Rates of gaps at the second knot, of contacts that leave or enter there.

    What has been left may be closed by the interval that follows, no faster than in its length.
    """
    near = work.collision.near
    for n in range(1, near[0] + 1):
        pair, parted = model.collision.pairs[near[n]], work.collision.found[near[n]].parted
        for k in range(pair.slot_begin, pair.slot_end):
            contact, w = work.slots[k], system.contacts[k]
            if not is_held(pair, system, work, k):
                continue
            if parted > 0.0:
                w.rate = OPEN if parted == inf else -parted / options.dt
            elif not was_closed(guesses, work, k):
                speed = chord_along(contact, work, model.bodies.shape[0], dt)
                if speed < -LANDING and w.rate == 0.0:
                    w.rate = 0.5 * speed


@kernel
def chord_along(contact, work, nb, dt):
    """How fast the points that touch at the second knot have come apart in the interval [m/s]."""
    t, speed = work.scratch[0], 0.0
    place_contact(contact, work.pose2, t)
    if contact.body < nb:
        motion = work.bodies[contact.body]
        cross(t.y, t.w, t.arm)
        speed += dot(t.w, motion.v) + 2.0 / dt * dot(t.arm, motion.P[1:])
    if contact.other < nb:
        motion = work.bodies[contact.other]
        cross(t.z, t.w, t.arm)
        speed -= dot(t.w, motion.v) + 2.0 / dt * dot(t.arm, motion.P[1:])
    return speed


@kernel
def keep_reading(scheme, model, state, system, work):
    """Keep velocities that have been found for the second knot in work.read."""
    show_velocities(scheme, model, work.read, system, work)
    if scheme.needs_velocities():
        assign(state.q, work.read.q)
        read_joints(model, work.read, work, work.pose2, work.twists, 0)


@aside
def take_reading(model, read, state):
    """Let the velocities that have been kept be those at the knot."""
    for i in range(state.bodies.shape[0]):
        body, found = state.bodies[i], read.bodies[i]
        body.apart = 1.0
        assign(body.v, body.v_guess)
        assign(body.omega, body.omega_guess)
        assign(found.v, body.v)
        assign(found.omega, body.omega)
        assign(found.shown, body.shown)
    for j in range(state.joints.shape[0]):
        joint = model.joints[j]
        for row in range(joint.m_T + joint.m_R):
            state.joints[j].rate_guess[row] = state.v[joint.v_begin + row]
        assign(read.joints[j].ahead, state.joints[j].ahead)
        assign(read.joints[j].drive_ahead, state.joints[j].drive_ahead)
    for n in range(state.couplings.shape[0]):
        state.couplings[n].ahead = read.couplings[n].ahead
    assign(read.v, state.v)
