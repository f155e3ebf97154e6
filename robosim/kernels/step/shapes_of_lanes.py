"""Contacts of shapes of states in lanes: each state looks for its own, in its own memory.

What shapes touch with differs from state to state: another triangle of a terrain, another edge.
So the narrow phase, and what it remembers, are those of single states. Before a step, the motion in
each lane is copied to its state, which finds features in slots of its own (`find`). These go into
slots of the lanes, each of which holds features of one pair that are alike, one for each lane. In
lanes without one, the slot has one of another lane that is out of reach.

When the equations are solved, each state looks again (`judge`). One that has come to something else
leaves the lanes for the step, as does one whose features have found no room. With the step that is
taken, states keep their features, and the variables of these (`keep`).

Slots of other contacts are the same in lanes and in states.
"""

from math import sqrt

from robosim.compiled.kinds import ADMIT_FEATURES, CHOOSE_FEATURES, ROUND
from robosim.compiled.memory import FACTORED, LOOKED, PLACED
from robosim.compiled.records.tree import MOST_COUPLED
from robosim.kernels.compiler.addresses import copy_record, load, read_word
from robosim.kernels.compiler.features import NUMBER, WHOLE, feature_of_states
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.compiler.lanes import (
    WIDTH,
    few,
    lane,
    pick,
    put_lane,
    put_whole_numbers,
    spread_lane,
    take_lane,
    with_lane,
)
from robosim.kernels.contact.active_set import admit_features, choose_features, stay
from robosim.kernels.contact.kinematics import place_contact, start_contact
from robosim.kernels.contact.law import contact_begins, contact_center
from robosim.kernels.contact.pinned import SLACK
from robosim.kernels.equations.algebra import assign, dot, fill, rotate_back
from robosim.kernels.equations.coordinates import load_poses
from robosim.kernels.solve.interior_point import first_barrier, least_impulse
from robosim.kernels.status import CONVERGED
from robosim.kernels.step.reading import leaves_or_enters
from robosim.kernels.step.velocities import LANDING, OPEN
from robosim.kernels.step.wants import VELOCITIES

FIND = 0
JUDGE = 1
KEEP = 2
FULL = 1  # status where features do not fit into the slots of lanes, or too many states leave
FAR = 1.0  # gap [m] of features that a lane lacks and others have


@feature_of_states(CHOOSE_FEATURES, dt=NUMBER, kappa=NUMBER, fall=NUMBER)
def start_features(model, state, memory, work, options, dt, kappa, fall):
    """List the features that `find` has put into the slots; always CONVERGED."""
    guesses, system = memory.guesses, memory.system
    for slot in range(model.contacts.shape[0], work.ids.shape[0]):
        if work.ids[slot] >= 0:
            w = system.contacts[slot]
            start_contact(work.slots[slot], system.pose1, dt, w, work.scratch[0])
            stay(guesses.contacts[slot], w, slot, work)
        elif guesses.active[slot] != 0:
            system.valid[FACTORED] = 0
    return CONVERGED


@feature_of_states(ADMIT_FEATURES, dt=NUMBER, kappa=NUMBER, substeps=WHOLE, room=NUMBER)
def admit_none(model, state, memory, work, options, dt, kappa, substeps, room):
    """Nothing: `judge` looks at what states have come to; always CONVERGED."""
    return CONVERGED


@kernel
def forget_system(valid):
    """Let a linear system be valid no more; looks at pairs of shapes are known as before."""
    looked = valid[LOOKED]
    fill(0, valid)
    valid[LOOKED] = looked


@kernel
def take_motion(state, own, k):
    """Copy the motion in lane k to its state."""
    for i in range(state.bodies.shape[0]):
        take_lane(state.bodies[i], k, own.bodies[i])
    for n in range(own.last_dt.shape[0]):
        own.last_dt[n] = lane(state.last_dt[n], k)


@kernel
def look_ahead(state, k, own):
    """Features that state k may reach in a step, in its own memory; a status as of these."""
    model, motion, memory, _, work, options = own
    take_motion(state, motion, k)
    load_poses(model, motion, memory.system.pose1)
    dt = options.dt
    work.active[0] = 0
    fill(0, work.entered)
    work.scratch[0].before = abs(motion.last_dt[0] / dt)
    kappa = options.contact_speed * least_impulse(model, options, dt)
    fall = 2.0 * dt * dt * sqrt(dot(options.gravity, options.gravity))
    status = choose_features(model, motion, memory, work, options, dt, kappa, fall)
    for n in range(1, work.active[0] + 1):
        # Between two others without room; see `pinned`.
        if memory.system.contacts[work.active[n]].step_back == -SLACK:
            return FULL
    return status


@kernel
def are_alike(one, other):
    """Whether features of a pair may share a slot of the lanes."""
    ends = one.body == other.body and one.other == other.other
    return ends and one.kind == other.kind and one.lying == other.lying and one.rolls == other.rolls


@kernel
def has_room(contact, slots, taken, at, k):
    """Whether a feature of state k may go into a slot of the lanes, `taken` by bits of lanes."""
    if taken[at] < 0:
        return True
    return taken[at] >> k & 1 == 0 and are_alike(contact, slots[at])


@kernel
def seat(k, contact, slots, taken, at):
    """Put a feature of state k into a slot of the lanes."""
    if taken[at] < 0:
        put_whole_numbers(contact, slots[at])
        taken[at] = 0
    put_lane(contact, slots[at], k)
    taken[at] |= 1 << k


@kernel
def seat_known(work, places, k, own):
    """Put features that state k had in the last step where they were, if there is room.

    Otherwise their places are -1, as are those of new ones.
    """
    model, _, memory, _, own_work, _ = own
    first, near = model.contacts.shape[0], own_work.collision.near
    for n in range(1, near[0] + 1):
        pair = model.collision.pairs[near[n]]
        for s in range(pair.slot_begin, pair.slot_end):
            if own_work.entered[s] == 0:
                continue
            at = places[k, s - first]
            known = at >= 0 and memory.guesses.active[s] != 0
            if known and has_room(own_work.slots[s], work.slots, work.ids, at, k):
                seat(k, own_work.slots[s], work.slots, work.ids, at)
            else:
                places[k, s - first] = -1


@kernel
def seat_others(work, places, k, own):
    """Put the other features of state k into slots; whether all have found room."""
    model, _, _, _, own_work, _ = own
    first, near = model.contacts.shape[0], own_work.collision.near
    for n in range(1, near[0] + 1):
        pair = model.collision.pairs[near[n]]
        for s in range(pair.slot_begin, pair.slot_end):
            if own_work.entered[s] == 0 or places[k, s - first] >= 0:
                continue
            contact, at = own_work.slots[s], -1
            for place in range(pair.slot_begin, pair.slot_end):
                # Rather with others that are alike than in a slot of its own.
                if has_room(contact, work.slots, work.ids, place, k) and (
                    at < 0 or (work.ids[at] < 0 and work.ids[place] >= 0)
                ):
                    at = place
            if at < 0:
                return False
            seat(k, contact, work.slots, work.ids, at)
            places[k, s - first] = at
    return True


@kernel
def leave_slots(work, places, k, first):
    """Take all features of state k out of the slots again."""
    for slot in range(first, work.ids.shape[0]):
        if work.ids[slot] >= 0:
            work.ids[slot] &= ~(1 << k)
            if work.ids[slot] == 0:
                work.ids[slot] = -1
    fill(-1, places[k])


@kernel
def first_lane(taken):
    """The first lane of a slot that is taken."""
    k = 0
    while taken >> k & 1 == 0:
        k += 1
    return k


@kernel
def fill_slot(model, memory, work, options, kappa, slot):
    """Let all lanes of a slot have a feature, and variables on the central path.

    Those that have none get one of another lane, moved out of reach along its normal.
    """
    contact, taken, t = work.slots[slot], work.ids[slot], work.scratch[0]
    poses, from_lane = memory.system.pose1, first_lane(taken)
    absent = 0.0 * options.dt + 0.0 * t.away
    for k in range(WIDTH):
        if taken >> k & 1 == 0:
            spread_lane(contact, from_lane, k)
            absent = with_lane(absent, k, 1.0)
    lacks = absent > 0.0
    far = FAR - place_contact(contact, poses, t)
    for i in range(3):
        # Where two points coincide there is no normal.
        along = pick(abs(t.w[i]) <= 2.0, t.w[i], 1.0 if i == 2 else 0.0)
        t.y[i] = pick(lacks, far * along, 0.0)
    rotate_back(poses[contact.other].R, t.y, t.z)
    for i in range(3):
        contact.o[i] -= t.z[i]
        if contact.kind == ROUND:
            contact.o_end[i] -= t.z[i]
    start, w = work.contacts[slot], work.joined[0]
    copy_record(memory.system.contacts[slot], w)
    w.weight, w.normal_weight, w.lags = 1.0, 1.0, 0
    w.u[0], w.u[1] = 0.0, 0.0
    w.u[2] = pick(lacks, FAR / options.dt, 1.0)
    start.later = 0.0
    contact_center(contact, start, w, model.facets, kappa, options.contact_speed)
    contact_begins(contact, start)
    copy_record(start, memory.guesses.contacts[slot])
    memory.guesses.active[slot] = 1


@kernel
def go_on(guesses, places, k, own):
    """Let known features of state k begin as the last step has left them; whether all are known."""
    model, _, memory, _, work, _ = own
    first, known, near = model.contacts.shape[0], True, work.collision.near
    for n in range(1, near[0] + 1):
        pair = model.collision.pairs[near[n]]
        for s in range(pair.slot_begin, pair.slot_end):
            if work.entered[s] == 0:
                continue
            if memory.guesses.active[s] != 0:
                put_lane(memory.guesses.contacts[s], guesses.contacts[places[k, s - first]], k)
            else:
                known = False
    return known


@kernel
def fill_slots(model, state, memory, work, options):
    """`fill_slot` of all slots that are taken; a status."""
    kappa = first_barrier(least_impulse(model, options, options.dt), memory.guesses, options)
    nb, coupled = model.bodies.shape[0], 0
    if memory.system.valid[PLACED] == 0:
        load_poses(model, state, memory.system.pose1)
    for slot in range(model.contacts.shape[0], work.ids.shape[0]):
        if work.ids[slot] >= 0:
            contact = work.slots[slot]
            coupled += 1 if max(contact.body, contact.other) < nb else 0
            fill_slot(model, memory, work, options, kappa, slot)
    return FULL if coupled > MOST_COUPLED else CONVERGED


@kernel
def are_taken_alike(ids, before, first):
    """Whether all slots are taken by the lanes that had them in the last step."""
    for slot in range(first, ids.shape[0]):
        if ids[slot] != before[slot]:
            return False
    return True


@kernel
def look_back(memory, work, places, k, wants, own):
    """Whether state k goes on with the motion that has been solved, and what is read after it."""
    model, motion, own_memory, _, own_work, options = own
    system, first = own_memory.system, model.contacts.shape[0]
    for i in range(model.bodies.shape[0]):
        take_lane(work.pose2[i], k, own_work.pose2[i])
        for n in range(4):
            own_work.bodies[i].P[n] = lane(work.bodies[i].P[n], k)
        for n in range(3):
            own_work.bodies[i].v[n] = lane(work.bodies[i].v[n], k)
    near = own_work.collision.near
    for n in range(1, near[0] + 1):
        pair = model.collision.pairs[near[n]]
        for s in range(pair.slot_begin, pair.slot_end):
            if own_work.entered[s] != 0:
                slot = places[k, s - first]
                take_lane(work.contacts[slot], k, own_work.contacts[s])
                w, own_w = memory.system.contacts[slot], system.contacts[s]
                # As `begin_projection` is about to see it.
                rate = lane((w.gap - w.gap1) / options.dt, k)
                lands = rate < -LANDING and own_work.slots[s].rolls != 0
                own_w.rate = OPEN if lands else 0.0
    before = own_work.active[0]
    kappa = options.contact_speed * least_impulse(model, options, options.dt)
    status = admit_features(model, motion, own_memory, own_work, options, options.dt, kappa, 1, 0.0)
    if status != CONVERGED or own_work.active[0] != before:
        return False
    if wants & VELOCITIES == 0:
        return True
    return not leaves_or_enters(model, own_memory.guesses, system, own_work)


@kernel
def keep_features(guesses, places, k, own):
    """Let state k keep the features of a step that has been taken, with their variables."""
    model, _, memory, _, work, _ = own
    own_guesses, first, near = memory.guesses, model.contacts.shape[0], work.collision.near
    assign(work.ids, own_guesses.ids)
    for s in range(first, work.entered.shape[0]):
        own_guesses.active[s] = work.entered[s]
    for n in range(1, near[0] + 1):
        pair = model.collision.pairs[near[n]]
        for s in range(pair.slot_begin, pair.slot_end):
            if work.entered[s] != 0:
                slot = places[k, s - first]
                take_lane(guesses.contacts[slot], k, own_guesses.contacts[s])
                copy_record(work.slots[s], own_guesses.features[s - first])


@stage
def look_at_shapes(group, parts, parts_kind, step, wants):
    """One of FIND, JUDGE and KEEP of a group of states; a status.

    `parts` is the address of those of the states' parts.
    """
    model, state, memory, work = group.model, group.state, group.memory, group.work
    options, places, t = group.options, group.places, work.scratch[0]
    guesses, first = memory.guesses, model.contacts.shape[0]
    if step == FIND:
        for slot in range(first, work.ids.shape[0]):
            work.ids[slot] = -1
        for k in range(WIDTH):
            own = load(read_word(parts + 8 * k), parts_kind)
            if look_ahead(state, k, own) == CONVERGED:
                seat_known(work, places, k, own)
            else:
                t.away = with_lane(t.away, k, 1.0)
        for k in range(WIDTH):
            own = load(read_word(parts + 8 * k), parts_kind)
            if lane(t.away, k) == 0.0 and not seat_others(work, places, k, own):
                leave_slots(work, places, k, first)
                t.away = with_lane(t.away, k, 1.0)
        if not few(t.away > 0.0):
            return FULL
        status = fill_slots(model, state, memory, work, options)
        known = are_taken_alike(work.ids, guesses.ids, first)
        for k in range(WIDTH):
            own = load(read_word(parts + 8 * k), parts_kind)
            if lane(t.away, k) == 0.0:
                known = go_on(guesses, places, k, own) and known
        if not known:
            memory.system.valid[FACTORED] = 0
        return status
    for k in range(WIDTH):
        own = load(read_word(parts + 8 * k), parts_kind)
        if lane(t.left, k) != 0.0:
            continue
        if step == KEEP:
            keep_features(guesses, places, k, own)
        elif not look_back(memory, work, places, k, wants, own):
            t.left = with_lane(t.left, k, 1.0)
    return CONVERGED if few(t.left > 0.0) else FULL
