"""What the equations of an interval hold beside joints: contacts, limits, and coordinates.

A contact that may be reached within the interval is listed in work.active, the others are left out.
Coordinates have rows only where laws, motors, limits or friction act on them.
"""

from math import inf, pi, sqrt

from robosim.compiled.kinds import DRY, HINGE, RIM
from robosim.kernels.algebra import dot, fill
from robosim.kernels.collide import (
    assign_slots,
    find_entered,
    find_pair,
    in_use,
    largest_speed,
    mark_in_reach,
)
from robosim.kernels.contact import contact_begins, contact_center
from robosim.kernels.coordinates import measure_ahead
from robosim.kernels.interior_point import CONVERGED, NEEDS_BLOCKS
from robosim.kernels.jit import kernel
from robosim.kernels.joint import joint_motion_map
from robosim.kernels.lanes import everywhere, pick, somewhere
from robosim.kernels.touch import (
    FLAT,
    NEARLY_FLAT,
    coordinate_gap,
    start_contact,
    start_coordinate,
    step_back,
)
from robosim.kernels.tree import look_ahead


@kernel
def use_coordinates(model, tree, state, work, j):
    """Take the coordinates of joint j into the equations, with their directions at the knot."""
    joint, knot, w = model.joints[j], state.joints[j], work.joints[j]
    n = joint.n_T + joint.n_R
    if w.rows > n:
        return
    w.rows = n + joint.m_T + joint.m_R
    fill(0, w.held)
    if tree is None and knot.rows < w.rows:
        a, b = work.pose1[joint.parent], work.pose1[joint.child]
        joint_motion_map(joint, a, b, work.scratch[0], n, knot.G_a, knot.G_b)
        for row in range(n, w.rows):
            knot.impulse[row] = 0.0
        knot.rows = w.rows


@kernel
def choose_contacts(model, state, work, options, dt, kappa):
    """List the contacts and limits that may be reached within dt; returns a status.

    The others are left out. The bound, by the motion of the last interval, is generous, and
    `admit_reached` looks again after the solve, so that what was left out has an impulse of exactly
    zero and a gap that is really open.
    """
    work.active[0] = 0
    speed = options.contact_speed
    fall = 2.0 * dt * dt * sqrt(dot(options.gravity, options.gravity))
    for i in range(model.bodies.shape[0]):
        body, pose, motion = model.bodies[i], work.pose1[i], state.bodies[i]
        if body.contact_begin == body.contact_end:
            continue
        travel = 2.0 * abs(dt) * largest_speed(motion.v_mid, body.reach) + fall
        near = somewhere(pose.x[2] - body.reach - travel < 0.0)
        for k in range(body.contact_begin, body.contact_end):
            contact, c, w = work.slots[k], state.contacts[k], work.contacts[k]
            if near and somewhere(ground_gap(contact, pose) - travel < 0.0):
                if c.active != 0 and work.factored[0] != 0:
                    # The knot's projection has started it.
                    step_back(contact, w.gap, dt, w)
                else:
                    start_contact(contact, work.pose1, dt, w, work.scratch[0])
                enter(contact, c, w, k, work.active, work.factored, model.facets, kappa, speed)
            else:
                leave_out(c, work.factored)
    least, longest = inf, 0.0
    for k in range(model.n_ground, model.contacts.shape[0]):
        contact = work.slots[k]
        joint = model.joints[contact.joint]
        near, gap = contact.kind == DRY, 0.0
        if not near:
            mid = state.joints[contact.joint].mid
            rate = abs(mid[0])
            for row in range(1, joint.m_T + joint.m_R):
                rate = max(rate, abs(mid[row]))
            gap = coordinate_gap(contact, joint, state.q)
            near = somewhere(gap < 2.0 * abs(dt) * contact.scale * rate + fall)
        if near:
            admit_limit(model, state, work, k, kappa, dt, speed)
        else:
            leave_out(state.contacts[k], work.factored)
            least = min(least, gap if joint.kind == HINGE else 0.0)
            longest = max(longest, contact.scale)
    work.scratch[0].open[0], work.scratch[0].open[1] = least, longest
    return choose_features(model, model.collision, state, work, options, dt, kappa, fall)


@kernel
def choose_features(model, collision, state, work, options, dt, kappa, fall):
    """Find where shapes may touch within dt and list it; returns a status.

    Two moving bodies that touch need a block in the system for each other. NEEDS_BLOCKS tells
    that some have none: work.collision.found marks all that need one.
    """
    if collision is None:
        return CONVERGED
    status, nb, speed = CONVERGED, model.bodies.shape[0], options.contact_speed
    pairs, found, ids = collision.pairs, work.collision.found, work.collision.ids
    mark_in_reach(pairs, collision.shapes, state.bodies, work.pose1, dt, fall, found)
    for p in range(pairs.shape[0]):
        pair = pairs[p]
        count = find_pair(model, work, p) if found[p].margin > 0.0 else 0
        found[p].near = 1 if count > 0 and pair.body_a < nb and pair.body_b < nb else 0
        if found[p].near != 0 and pair.block_ab < 0:
            status = NEEDS_BLOCKS
        if count == 0 and not in_use(ids, pair):
            continue
        assign_slots(model, work, p, count)
        for slot in range(pair.slot_begin, pair.slot_end):
            contact, c, w = work.slots[slot], state.contacts[slot], work.contacts[slot]
            if ids[slot] >= 0:
                start_contact(contact, work.pose1, dt, w, work.scratch[0])
                enter(contact, c, w, slot, work.active, work.factored, model.facets, kappa, speed)
            else:
                leave_out(c, work.factored)
    return status


@kernel
def ground_gap(contact, pose):
    """Distance of a contact to the ground z = 0 [m], infinite where it is for others to touch.

    Points of a rim touch where that lies flat, where it leans the rim itself.
    """
    R, p, reach = pose.R, contact.p, contact.radius
    height = pose.x[2] + R[2, 0] * p[0] + R[2, 1] * p[1] + R[2, 2] * p[2]
    if contact.kind == RIM or contact.lying != 0:
        slope = dot(R[2], contact.p_end)
        size = sqrt(max(1.0 - slope * slope, 0.0))
        if contact.lying != 0:
            return pick(size > NEARLY_FLAT, inf, height)
        return pick(size < FLAT, inf, height - reach * size)
    return height - reach


@kernel
def leave_out(c, factored):
    """Take a contact out of the equations."""
    if c.active != 0:
        factored[0] = 0
        c.active = 0
        c.gamma = 0.0
        fill(0.0, c.beta)


@kernel
def admit_limit(model, state, work, k, kappa, dt, speed):
    """Put a limit or the dry friction of a coordinate into the equations."""
    contact, c, w = work.slots[k], state.contacts[k], work.contacts[k]
    use_coordinates(model, model.tree, state, work, contact.joint)
    start_coordinate(contact, model.joints[contact.joint], state.q, dt, w, work.scratch[0])
    if contact.kind == DRY:
        # The knot lies between two intervals; a start has only the half of the one ahead.
        rescale_friction(c, 0.5 * contact.bound * (abs(dt) + abs(work.last_dt[0])))
    enter(contact, c, w, k, work.active, work.factored, model.facets, kappa, speed)


@kernel
def enter(contact, c, w, k, active, factored, facets, kappa, speed):
    """List contact k, on the central path if it was not in the equations before."""
    active[0] += 1
    active[active[0]] = k
    w.weight = 1.0
    if c.active == 0:
        factored[0] = 0
        c.active = 1
        w.u[0], w.u[1], w.u[2] = 0.0, 0.0, 1.0
        contact_center(contact, c, w, facets, kappa, speed)
        contact_begins(contact, c)


@kernel
def rescale_friction(c, most):
    """Set the most that dry friction can give over an interval; what it gave follows."""
    ratio = pick(c.gamma > 0.0, most / c.gamma, 0.0)
    c.s, c.gamma = 1.0, most
    c.c *= ratio
    for i in range(c.beta.shape[0]):
        c.beta[i] *= ratio


@kernel
def admit_reached(model, tree, state, work, options, dt, kappa):
    """Admit what was left out but ended beyond its bound."""
    speed = options.contact_speed
    for i in range(model.bodies.shape[0]):
        body, pose = model.bodies[i], work.pose2[i]
        above = everywhere(pose.x[2] - body.reach >= 0.0)
        if body.contact_begin == body.contact_end or above:
            continue
        for k in range(body.contact_begin, body.contact_end):
            contact, c, w = work.slots[k], state.contacts[k], work.contacts[k]
            if c.active == 0 and somewhere(ground_gap(contact, pose) <= 0.0):
                start_contact(contact, work.pose1, dt, w, work.scratch[0])
                enter(contact, c, w, k, work.active, work.factored, model.facets, kappa, speed)
    if tree is not None and limits_far(model, work, work.scratch[0].open):
        return
    for k in range(model.n_ground, model.contacts.shape[0]):
        contact = work.slots[k]
        if state.contacts[k].active == 0:
            joint = model.joints[contact.joint]
            if tree is not None:
                look_ahead(model, state, work, contact.joint, dt)
            else:
                measure_ahead(model, contact.joint, state.q, work)
            if somewhere(coordinate_gap(contact, joint, work.q2) <= 0.0):
                admit_limit(model, state, work, k, kappa, dt, speed)


@kernel
def limits_far(model, work, open_by):
    """Whether no hinge of a tree has turned as far as to the nearest limit that was left out."""
    sine = 0.0
    for b in range(model.bodies.shape[0]):
        if model.joints[b].kind == HINGE:
            sine = max(sine, abs(work.tree[b].Q[1]))
    # An angle whose half has this sine is no larger than pi times that.
    return everywhere(open_by[0] > pi * open_by[1] * sine)


@kernel
def admit_entered(model, collision, state, work, options, dt, kappa):
    """Admit features of shapes that have entered each other; a status as in `choose_features`."""
    if collision is None:
        return CONVERGED
    status, nb, speed = CONVERGED, model.bodies.shape[0], options.contact_speed
    pairs, found = collision.pairs, work.collision.found
    for p in range(pairs.shape[0]):
        pair = pairs[p]
        if found[p].margin <= 0.0 or find_entered(model, work, p, dt) == 0:
            continue
        if pair.body_a < nb and pair.body_b < nb:
            found[p].near = 1
            if pair.block_ab < 0:
                status = NEEDS_BLOCKS
        for slot in range(pair.slot_begin, pair.slot_end):
            contact, c, w = work.slots[slot], state.contacts[slot], work.contacts[slot]
            if work.collision.ids[slot] >= 0 and c.active == 0:
                start_contact(contact, work.pose1, dt, w, work.scratch[0])
                enter(contact, c, w, slot, work.active, work.factored, model.facets, kappa, speed)
    return status
