"""What touches what, for Python to read."""

from math import inf

from robosim.compiled.kinds import RIM
from robosim.kernels.collide import find_near
from robosim.kernels.contact import contact_impulse
from robosim.kernels.coordinates import load_poses
from robosim.kernels.jit import entry
from robosim.kernels.touch import on_joint, place_contact


@entry
def read_contacts(model, state, work, out):
    """CONTACT_READING of all that was in the equations of the last interval; their count."""
    load_poses(model, state, work.pose2)
    count, t, nb = 0, work.scratch[0], model.bodies.shape[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w, reading = work.slots[k], work.contacts[k], out[count]
        if on_joint(contact) or state.contacts[k].active == 0:
            continue
        count += 1
        reading.slot = k
        reading.gap = place_contact(contact, work.pose2, t)
        c = state.contacts[k]
        contact_impulse(c.beta, c.gamma, model.facets, t.arm)
        # A contact of the world with a body is told as one of the body with the world.
        flipped = contact.body == nb
        sign = -1.0 if flipped else 1.0
        reading.body = contact.other if flipped else contact.body
        reading.other = contact.body if flipped else contact.other
        for i in range(3):
            inward = 0.0 if contact.kind == RIM else contact.radius
            reading.position[i] = work.pose2[contact.body].x[i] + t.y[i] - inward * t.w[i]
            reading.normal[i] = sign * t.w[i]
            reading.impulse[i] = 0.0
            for r in range(3):
                reading.impulse[i] += sign * w.frame[r, i] * t.arm[r]
    return count


@entry
def pair_gaps(model, state, work, margin, out):
    """The smallest gap of each pair of shapes at the knot, (np,) [m]; inf beyond the margin."""
    load_poses(model, state, work.pose1)
    for p in range(model.collision.pairs.shape[0]):
        out[p] = inf
        count = find_near(model, work, work.pose1, p, margin)
        for n in range(count):
            out[p] = min(out[p], work.collision.features[n].gap)
