"""What touches what, for Python to read."""

from math import inf

from robosim.compiled.kinds import TORSION
from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.contact.ground import ground_gap
from robosim.kernels.contact.kinematics import has_arm, on_joint, place_contact
from robosim.kernels.contact.law import contact_impulse
from robosim.kernels.contact.limits import coordinate_gap
from robosim.kernels.contact.pinned import SLACK
from robosim.kernels.contact.slots import describe, find_near
from robosim.kernels.contact.turning import is_companion, turn_to_world
from robosim.kernels.equations.algebra import assign, fill
from robosim.kernels.equations.coordinates import load_poses


@entry
def read_contacts(model, state, memory, work, out):
    """CONTACT_READING of all that was in the equations of the last interval; their count."""
    load_poses(model, state, work.pose2)
    count, t, first = 0, work.scratch[0], model.contacts.shape[0]
    for k in range(memory.guesses.active.shape[0]):
        if memory.guesses.active[k] == 0:
            continue
        contact = model.contacts[k] if k < first else memory.guesses.features[k - first]
        if on_joint(contact) or is_companion(contact):
            continue
        w, reading = memory.system.contacts[k], out[count]
        count += 1
        reading.slot = k
        reading.gap = place_contact(contact, work.pose2, t)
        c = memory.guesses.contacts[k]
        world_impulse(contact, w.frame, c, model.facets, t.arm, t.f)
        sign = place_reading(model, contact, work.pose2, t, reading)
        for i in range(3):
            reading.impulse[i] = sign * t.f[i]
        fill(0.0, reading.moment)
        for n in range(contact.companions):
            j = contact.companion + n
            c = memory.guesses.contacts[j]
            contact_impulse(c.beta, c.gamma, model.facets, t.arm)
            torsion = contact.first_resists + n == TORSION
            turn_to_world(contact, torsion, w.frame, t.arm, t.f)
            if contact.directed != 0:
                assign(c.friction, t.f)
            for i in range(3):
                reading.moment[i] += sign * contact.scale * t.f[i]
    return count


@kernel
def world_impulse(contact, frame, c, facets, f, out):
    """out (3,) = impulse of a contact in world axes; leaves that in its own axes in f (3,)."""
    contact_impulse(c.beta, c.gamma, facets, f)
    for i in range(3):
        out[i] = frame[0, i] * f[0] + frame[1, i] * f[1]
        if contact.directed != 0:
            out[i] = c.friction[i]
        out[i] += frame[2, i] * (f[2] + c.later * f[2])


@entry
def spring_energy(model, state, system, work):
    """Energy of compliant contacts and limits at the knot [J]: of springs, without dissipation."""
    load_poses(model, state, work.pose2)
    total, first = 0.0, model.contacts.shape[0]
    for k in range(first):
        contact = model.contacts[k]
        if contact.compliant == 0:
            continue
        if on_joint(contact):
            gap = coordinate_gap(contact, model.joints[contact.joint], state.q)
        else:
            gap = ground_gap(contact, work.pose2[contact.body])
            if contact.spring_end != 0:
                if k != contact.spring_begin:
                    continue
                for j in range(k + 1, contact.spring_end):
                    gap = min(gap, ground_gap(model.contacts[j], work.pose2[contact.body]))
        total += 0.5 * contact.stiffness * min(gap, 0.0) ** 2
    for p in range(model.collision.pairs.shape[0]):
        pair = model.collision.pairs[p]
        if pair.compliant == 0:
            continue
        count, deepest = find_near(model, system, work, work.pose2, p, SLACK), 0.0
        for n in range(count):
            deepest = min(deepest, work.collision.features[n].gap)
        total += 0.5 * pair.stiffness * deepest**2
    return total


@entry
def pair_gaps(model, state, system, work, margin, out, near):
    """The smallest gap of each pair of shapes at the knot, (np,) [m]; inf beyond the margin.

    Returns the number of features of all pairs within the margin. As many of these as there is room
    for go into `near` (n,) CONTACT_READING, without forces, and with their pairs as `slot`.
    """
    load_poses(model, state, work.pose2)
    total = 0
    for p in range(model.collision.pairs.shape[0]):
        out[p] = inf
        count = find_near(model, system, work, work.pose2, p, margin)
        for n in range(count):
            out[p] = min(out[p], work.collision.features[n].gap)
            if total < near.shape[0]:
                read_near(model, work, p, n, near[total])
            total += 1
    return total


@kernel
def read_near(model, work, p, n, reading):
    """Where feature n of pair p is, in a slot of the pair."""
    pair, t = model.collision.pairs[p], work.scratch[0]
    contact = work.slots[pair.slot_begin]
    describe(model, pair, work.collision.features[n], contact, pair.slot_begin)
    reading.slot = p
    reading.gap = place_contact(contact, work.pose2, t)
    place_reading(model, contact, work.pose2, t, reading)


@kernel
def place_reading(model, contact, poses, t, reading):
    """Bodies, position and normal of a contact that has been placed; the sign of its impulse.

    A contact of the world with a body is told as one of the body with the world.
    """
    flipped = contact.body == model.bodies.shape[0]
    sign = -1.0 if flipped else 1.0
    reading.body = contact.other if flipped else contact.body
    reading.other = contact.body if flipped else contact.other
    for i in range(3):
        inward = 0.0 if has_arm(contact) else contact.radius
        reading.position[i] = poses[contact.body].x[i] + t.y[i] - inward * t.w[i]
        reading.normal[i] = sign * t.w[i]
    return sign
