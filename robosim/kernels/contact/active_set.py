"""What the equations of an interval hold beside joints: contacts, limits, and coordinates.

A contact that may be reached within the interval is listed in work.active, the others are left out.
Coordinates have rows only where laws, motors, limits or friction act on them.
"""

from math import inf, sqrt

from robosim.compiled.kinds import (
    ADMIT_FEATURES,
    CHOOSE_FEATURES,
    DRY,
    HINGE,
    RATE,
)
from robosim.compiled.memory import FACTORED
from robosim.compiled.records.tree import MOST_COUPLED
from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.duals import are_duals
from robosim.kernels.compiler.features import NUMBER, WHOLE, feature
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere, pick, somewhere, staying
from robosim.kernels.contact.ground import fall_to_ground, ground_gap
from robosim.kernels.contact.kinematics import (
    on_joint,
    start_contact,
    step_back,
)
from robosim.kernels.contact.law import contact_begins, contact_center
from robosim.kernels.contact.limits import coordinate_gap, rate_over, start_coordinate
from robosim.kernels.contact.pads import bearing_bound, is_socket, start_bearings, start_pad
from robosim.kernels.contact.pinned import is_pinned, loosen
from robosim.kernels.contact.reach import (
    are_far,
    distance_left,
    has_passed,
    is_on_terrain,
    largest_speed,
    list_in_reach,
    pair_moved,
    stay_parted,
    strays,
)
from robosim.kernels.contact.shared import find_depth, find_depth_on_ground, is_first
from robosim.kernels.contact.slots import (
    assign_slots,
    find_entered,
    find_met,
    find_pair,
    has_turned_rim,
    how_far_parted,
    in_use,
    marks_of,
    note_found,
    take_again,
)
from robosim.kernels.contact.turning import describe_companion, start_companion
from robosim.kernels.equations.algebra import assign, dot, fill
from robosim.kernels.narrow_phase.motion import leeway
from robosim.kernels.status import CONVERGED, GOES_THROUGH, NEEDS_BLOCKS, NEEDS_GRAPH

# Of the largest impulse, what a bearing holds that carries nothing: a cone has to have an interior.
UNLOADED = 1e-9
NEAR = 0.1  # part of its bound by which a rate may be off that and still be near
SMOOTH = 1e-6  # contact_speed [m/s] from which contacts act so far away that none may be left out


@kernel
def use_coordinates(scheme, model, system, work, j):
    """Take the coordinates of joint j into the equations, with their directions at the knot."""
    joint, w = model.joints[j], work.joints[j]
    n = joint.n_T + joint.n_R
    if w.rows > n:
        return
    w.rows = n + joint.m_T + joint.m_R
    fill(0, w.held)
    scheme.add_directions(model, system, work, j)


@kernel
def choose_contacts(scheme, model, state, memory, work, options, dt, kappa):
    """List the contacts and limits that may be reached within dt; returns a status.

    The others are left out. The bound, by the motion of the last interval, is generous, and
    `admit_reached` looks again after the solve, so that what was left out has an impulse of exactly
    zero and a gap that is really open. Steps with derivatives are told what the same step has had
    in its equations in the end, and begin with that.
    """
    guesses, system, speed = memory.guesses, memory.system, options.contact_speed
    work.active[0] = 0
    fill(0, work.entered)
    work.scratch[0].before = abs(state.last_dt[0] / dt)
    fall = 2.0 * dt * dt * sqrt(dot(options.gravity, options.gravity))
    for i in range(model.bodies.shape[0]):
        body, pose, motion = model.bodies[i], system.pose1[i], state.bodies[i]
        if body.contact_begin == body.contact_end:
            continue
        travel = 2.0 * abs(dt) * largest_speed(motion.v_mid, body.reach) + fall
        near = somewhere(pose.x[2] - body.reach - travel < 0.0)
        for k in range(body.contact_begin, body.contact_end):
            contact, w, stays = work.slots[k], system.contacts[k], guesses.active[k] != 0
            known = stays and are_duals(kappa)
            if near and k == contact.spring_begin and contact.spring_end != 0:
                find_depth_on_ground(work, system.contacts, k, pose)
            way = travel
            if near and speed < SMOOTH:
                way = fall_to_ground(contact, pose, motion.v_mid, dt, travel, fall)
            if known or (near and somewhere(ground_gap(contact, pose) - way < 0.0)):
                if stays and system.valid[FACTORED] != 0:
                    # The knot's projection has started it.
                    step_back(contact, w.gap, dt, w, work.scratch[0])
                else:
                    start_contact(contact, system.pose1, dt, w, work.scratch[0])
                if stays:
                    stay(guesses.contacts[k], w, k, work)
                elif body.floats_with >= 0 or may_act(model, system, work, k):
                    enter(model.facets, system, work, k, kappa, speed)
                if work.entered[k] != 0:
                    add_companions(model, guesses, system, work, k, stays, kappa, speed)
            elif stays:
                system.valid[FACTORED] = 0
    if model.bearings.joint.shape[0] > 0:
        start_bearings(model.bearings, model.contacts, state, work, dt)
    least, longest = inf, 0.0
    for k in range(model.n_ground, model.contacts.shape[0]):
        contact = work.slots[k]
        joint = model.joints[contact.joint]
        near, gap = contact.kind == DRY, 0.0
        if contact.kind == RATE:
            left = contact.sign * (state.joints[contact.joint].mid[contact.row] - contact.bound)
            near = somewhere(left < NEAR * abs(contact.sign * contact.bound))
            # A coordinate has to move as far to be so fast.
            gap = abs(dt * contact.sign * contact.bound)
        elif not near:
            mid = state.joints[contact.joint].mid
            rate = abs(mid[0])
            for row in range(1, joint.m_T + joint.m_R):
                rate = max(rate, abs(mid[row]))
            gap = coordinate_gap(contact, joint, state.q)
            near = somewhere(gap < 2.0 * abs(dt) * contact.scale * rate + fall)
        if near or (are_duals(kappa) and guesses.active[k] != 0):
            if guesses.active[k] != 0:
                stay(guesses.contacts[k], system.contacts[k], k, work)
            admit_limit(scheme, model, state, system, work, k, kappa, dt, speed)
        else:
            if guesses.active[k] != 0:
                system.valid[FACTORED] = 0
            least = min(least, gap if joint.kind == HINGE else 0.0)
            longest = max(longest, contact.scale)
    work.scratch[0].open[0], work.scratch[0].open[1] = least, longest
    if model.collision.pairs.shape[0] == 0:
        return CONVERGED
    return choose_features(model, state, memory, work, options, dt, kappa, fall)


@feature(CHOOSE_FEATURES, dt=NUMBER, kappa=NUMBER, fall=NUMBER)
def choose_features(model, state, memory, work, options, dt, kappa, fall):
    """Find where shapes may touch within dt and list it; returns a status.

    Two moving bodies that touch need a block in the system for each other. NEEDS_BLOCKS tells
    that some have none: work.collision.found marks all that need one.
    """
    guesses, system, speed = memory.guesses, memory.system, options.contact_speed
    collision = model.collision
    pairs, found, ids, near = collision.pairs, work.collision.found, work.ids, work.collision.near
    status, nb = CONVERGED, model.bodies.shape[0]
    assign(guesses.ids, ids)
    # In a heap, what is left out is reached so often that steps would take more iterations.
    heeds = speed < SMOOTH and model.tree
    list_in_reach(model, state, guesses, system, work, dt, fall, heeds)
    for n in range(1, near[0] + 1):
        p, pair = near[n], pairs[near[n]]
        # Derivatives are those of what moves features as well.
        known = found[p].known != 0 and not are_duals(kappa)
        known = known and take_again(model, guesses, work, p, system.looks[p].marks)
        count, margin = 0, found[p].margin
        found[p].leeway = inf
        if speed < SMOOTH and is_on_terrain(collision.shapes, pair):
            found[p].leeway = leeway(margin, fall)
            if known:
                # These were found where another motion led to.
                found[p].leeway = 0.0
        if not known:
            if margin > 0.0:
                count = find_pair(model, state, guesses, system, work, p, dt, fall)
            note_found(model, system, work, p, min(margin, found[p].tight), count)
        touch = in_use(ids, pair) if known else count > 0
        found[p].near = 1 if touch and pair.body_a < nb and pair.body_b < nb else 0
        if found[p].near != 0 and pair.block_ab < 0 and not model.tree:
            status = NEEDS_BLOCKS
        if not known and (count > 0 or in_use(ids, pair)):
            assign_slots(model, guesses, work, p, count)
            touch = True
        if not known:
            system.looks[p].marks = marks_of(ids, pair)
        if touch and pair.compliant != 0:
            find_depth(work, system.contacts, pair, system.pose1)
        for slot in range(pair.slot_begin, pair.slot_end):
            w, stays = system.contacts[slot], guesses.active[slot] != 0
            if ids[slot] >= 0:
                start_contact(work.slots[slot], system.pose1, dt, w, work.scratch[0])
                if stays:
                    stay(guesses.contacts[slot], w, slot, work)
                elif may_act(model, system, work, slot):
                    enter(model.facets, system, work, slot, kappa, speed)
                if work.entered[slot] != 0:
                    add_companions(model, guesses, system, work, slot, stays, kappa, speed)
            elif stays:
                system.valid[FACTORED] = 0
    loosen(system, work, system.pose1)
    return NEEDS_GRAPH if couples_many(model, work) else status


@kernel
def couples_many(model, work):
    """Whether more bodies of a tree touch each other than its solver takes."""
    if not model.tree:
        return False
    count, nb = 0, model.bodies.shape[0]
    for n in range(1, work.active[0] + 1):
        contact = work.slots[work.active[n]]
        if max(contact.body, contact.other) < nb and not on_joint(contact):
            count += 1
            # All on a spring add what is like one more.
            if contact.spring_end != 0 and is_first(work, work.active[n]):
                count += 1
    return count > MOST_COUPLED


@kernel
def admit_limit(scheme, model, state, system, work, k, kappa, dt, speed):
    """Put a limit or the dry friction of a coordinate into the equations, if it is not there yet.

    What was there in the last interval has been told to `stay` before.
    """
    contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
    use_coordinates(scheme, model, system, work, contact.joint)
    start_on_joint(contact, model.joints[contact.joint], state.q, dt, w, work)
    stays = work.entered[k] != 0
    if contact.kind == DRY:
        if not stays:
            c.gamma = 0.0
        # The knot lies between two intervals; a start has only the half of the one ahead.
        most = 0.5 * contact.bound * (abs(dt) + abs(state.last_dt[0]))
        least = UNLOADED * kappa / speed
        rescale_friction(c, bearing_bound(work, contact, k, most, least))
    if not stays:
        enter(model.facets, system, work, k, kappa, speed)


@kernel
def start_on_joint(contact, joint, q, dt, w, work):
    """L of what acts on a joint's coordinates at the first knot."""
    if is_socket(contact):
        start_pad(contact, joint, w)
        return
    start_coordinate(contact, joint, q, dt, w, work.scratch[0])


@kernel
def may_act(model, system, work, k):
    """Whether a contact that has been started can be opened or closed at all."""
    contact, w, t = work.slots[k], system.contacts[k], work.scratch[0]
    if contact.compliant != 0:
        return True
    return not is_pinned(model, system.pose1, contact, w, t)


@kernel
def stay(before, w, k, work):
    """List contact k, which was in the last equations, with the variables that it had there."""
    add_contact(work, k)
    w.weight, w.normal_weight, w.lags = 1.0, 1.0, 0
    copy_record(before, work.contacts[k])


@kernel
def enter(facets, system, work, k, kappa, speed):
    """List contact k, which was not in the equations before, on the central path."""
    add_contact(work, k)
    system.valid[FACTORED] = 0
    begin_contact(work.slots[k], work.contacts[k], system.contacts[k], facets, kappa, speed)


@kernel
def begin_contact(contact, c, w, facets, kappa, speed):
    """Variables of a contact without a past, on the central path."""
    w.weight, w.normal_weight, w.lags = 1.0, 1.0, 0
    w.u[0], w.u[1], w.u[2] = 0.0, 0.0, 1.0
    c.later = 0.0
    contact_center(contact, c, w, facets, kappa, speed)
    contact_begins(contact, c)


@kernel
def add_companions(model, guesses, system, work, k, stays, kappa, speed):
    """List what resists turning at contact k, which has just been listed and may have stayed."""
    for n in range(work.slots[k].companions):
        j = describe_companion(work.slots, k, n)
        start_companion(work.slots, system.contacts, j, system.pose1, work.scratch[0])
        if stays:
            stay(guesses.contacts[j], system.contacts[j], j, work)
        else:
            enter(model.facets, system, work, j, kappa, speed)


@kernel
def add_contact(work, k):
    """Put contact k last in the list of those in the equations."""
    work.active[0] += 1
    work.active[work.active[0]] = k
    work.entered[k] = 1


@kernel
def rescale_friction(c, most):
    """Set the most that dry friction can give over an interval; what it gave follows."""
    ratio = pick(c.gamma > 0.0, most / c.gamma, 0.0)
    c.s, c.gamma = 1.0, most
    c.c *= ratio
    for i in range(c.beta.shape[0]):
        c.beta[i] *= ratio


@kernel
def admit_reached(scheme, model, state, memory, work, options, dt, kappa):
    """Admit what was left out but ended beyond its bound, in lanes whose states have not left."""
    guesses, system, speed = memory.guesses, memory.system, options.contact_speed
    left_lanes = work.scratch[0].left
    for i in range(model.bodies.shape[0]):
        body, pose = model.bodies[i], work.pose2[i]
        above = everywhere(pose.x[2] - body.reach >= 0.0)
        if body.contact_begin == body.contact_end or above:
            continue
        for k in range(body.contact_begin, body.contact_end):
            contact, w = work.slots[k], system.contacts[k]
            if work.entered[k] != 0:
                continue
            if somewhere(staying(ground_gap(contact, pose) <= 0.0, left_lanes)):
                if contact.spring_end != 0:
                    find_depth_on_ground(work, system.contacts, k, system.pose1[i])
                start_contact(contact, system.pose1, dt, w, work.scratch[0])
                if body.floats_with >= 0 or may_act(model, system, work, k):
                    enter(model.facets, system, work, k, kappa, speed)
                    add_companions(model, guesses, system, work, k, False, kappa, speed)
    if scheme.limits_far(model, system, work.scratch[0].open):
        return
    for k in range(model.n_ground, model.contacts.shape[0]):
        contact = work.slots[k]
        if work.entered[k] == 0:
            joint = model.joints[contact.joint]
            scheme.look_ahead(model, state, system, work, contact.joint, dt)
            if contact.kind == RATE:
                rate = rate_over(scheme, model, state, system, work, contact, dt)
                left = contact.sign * (rate - contact.bound)
            else:
                left = coordinate_gap(contact, joint, work.q2)
            if somewhere(staying(left <= 0.0, left_lanes)):
                admit_limit(scheme, model, state, system, work, k, kappa, dt, speed)


@feature(ADMIT_FEATURES, dt=NUMBER, kappa=NUMBER, substeps=WHOLE, room=NUMBER)
def admit_features(model, state, memory, work, options, dt, kappa, substeps, room):
    """Admit features of shapes that have entered each other; a status as in `choose_features`.

    What touches has had `room` [m] to enter. GOES_THROUGH tells that the interval is too long to
    say what two shapes meet with.
    """
    guesses, system, speed = memory.guesses, memory.system, options.contact_speed
    collision = model.collision
    status, nb = CONVERGED, model.bodies.shape[0]
    pairs, found, near = collision.pairs, work.collision.found, work.collision.near
    # An undivided step that is too long is refused, be it that it may not be divided.
    divides = 2 * substeps <= options.max_substeps
    may_divide = substeps == 1 or divides
    passed = has_passed(model, system, work, dt)
    for n in range(pairs.shape[0] if passed else near[0]):
        p = n if passed else near[n + 1]
        if found[p].margin == -inf:
            found[p].margin = -distance_left(system, p)
        pair, met = pairs[p], 0
        found[p].parted = 0.0
        moved = pair_moved(model, system, work, p, dt)
        parted = stay_parted(model, system, work, p)
        # Or else features of the first knot were left out that the motion was not to lead to.
        hit = moved > abs(found[p].margin) or found[p].tight < found[p].margin
        if not parted and (hit or strays(model, state, work, p, moved, dt)):
            # One of the two has been hit, or is driven, faster than the last interval foretold, or
            # elsewhere.
            far = are_far(model, p, system.pose1, moved)
            found[p].margin, found[p].leeway = -moved if far else moved, inf
            met = 0 if far else find_met(model, system, work, p, moved, may_divide)
            if met < 0:
                return GOES_THROUGH
        if found[p].margin <= 0.0:
            continue
        if divides and has_turned_rim(model, system, work, p):
            return GOES_THROUGH
        entered = 0
        if parted:
            found[p].parted = how_far_parted(model, system, work, p, options.gravity, dt)
        else:
            # Also beside what has been met, which may be pinned.
            entered = find_entered(
                model, system, work, p, moved, divides, options.gravity, dt, room
            )
        if entered < 0:
            return GOES_THROUGH
        if met + entered == 0:
            continue
        system.looks[p].still = -inf
        if pair.body_a < nb and pair.body_b < nb:
            found[p].near = 1
            if pair.block_ab < 0 and not model.tree:
                status = NEEDS_BLOCKS
        if pair.compliant != 0:
            find_depth(work, system.contacts, pair, system.pose1)
        for slot in range(pair.slot_begin, pair.slot_end):
            if work.ids[slot] >= 0 and work.entered[slot] == 0:
                w = system.contacts[slot]
                start_contact(work.slots[slot], system.pose1, dt, w, work.scratch[0])
                if may_act(model, system, work, slot):
                    enter(model.facets, system, work, slot, kappa, speed)
                    add_companions(model, guesses, system, work, slot, False, kappa, speed)
    return NEEDS_GRAPH if couples_many(model, work) else status
