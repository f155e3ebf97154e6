"""Lanes that take their steps together: a group of states, one in each, or the limbs of one state.

While they do, the lanes are where the states are; what drives a state and what it logs is its
own. Few states that do not follow the others leave the lanes for one step, which they take by
themselves. A step that more of them do not solve undivided, or in which lanes part, is left undone:
the states are put back where they belong, and each can take it by itself.
"""

from robosim.compiled.kinds import LOOK
from robosim.kernels.compiler.addresses import (
    call_look,
    call_steps,
    copy_record,
    load,
    read_word,
    write_word,
)
from robosim.kernels.compiler.jit import bridge, kernel, stage
from robosim.kernels.compiler.lanes import (
    WIDTH,
    are_states,
    copy_lane,
    lane,
    put_lane,
    somewhere,
    take_lane,
    together,
    with_lane,
)
from robosim.kernels.contact.active_set import begin_contact
from robosim.kernels.equations.algebra import fill
from robosim.kernels.solve.interior_point import least_impulse
from robosim.kernels.solve.tree import scheme as tree
from robosim.kernels.status import CONVERGED
from robosim.kernels.step.interval import end_interval, find_interval
from robosim.kernels.step.run import apply_controls, asks, servo_torques
from robosim.kernels.step.shapes_of_lanes import FIND, JUDGE, KEEP, forget_system
from robosim.kernels.step.wants import BEGINS, HITS, MEANS, VELOCITIES

# What a step takes, and each iteration of it, for each body and contact: of one state, and of all
# lanes; about in microseconds of an AMD EPYC.
ALONE = 0.42
ALONE_EACH = 0.12
ALONE_CONTACT = 0.5
LANES = 1.7
LANES_EACH = 0.35
LANES_CONTACT = 1.04
LANES_COUPLED = 0.003
COLD = 1.5  # times as much for a single step, whose memory is in no cache
WINDOW = 10  # steps that are compared
SHORT = 5  # the same where states have just been apart
FIRST = 2  # and where lanes take FAR_MORE times as long
FAR_MORE = 1.5
LASTS = 1024  # steps in lanes after which what steps apart take is tried again
LONGEST_PAUSE = 32  # most steps apart after one that lanes have not solved
LONGEST = 320  # most steps apart, before lanes are tried again


@kernel
def pack(fields, k):
    """Put fields of a state into lane k; whether anything there was different.

    Whole numbers that are not the same in all lanes become 0.
    """
    changed = False
    for n in range(fields.shape[0]):
        f = fields[n]
        for i in range(f.count):
            value, to = read_word(f.state + 8 * i), f.lanes + f.stride * i
            if read_word(to) != value:
                changed = True
                write_word(to, 0 if f.shared != 0 and k > 0 else value)
    return changed


@kernel
def unpack(fields):
    """Put a state's fields back from a lane."""
    for n in range(fields.shape[0]):
        f = fields[n]
        for i in range(f.count):
            write_word(f.state + 8 * i, read_word(f.lanes + f.stride * i))


@bridge
def find_step(model, state, memory, loads, work, options, solver, wants, info):
    """Find the motion of all lanes over an undivided step."""
    info.iterations, info.substeps, info.order = 0, 1, 2
    # Where something is hit that bounces, the states go on alone.
    if model.restitution.shape[0] > 0:
        wants |= HITS
    info.status = find_interval(
        tree, model, state, memory, loads, work, options, solver, options.dt, 1.0, wants, info
    )


@bridge
def end_step(model, state, memory, loads, work, options, wants, info):
    """Move all lanes along it."""
    info.status = end_interval(
        tree, model, state, memory, loads, work, options, options.dt, wants, info
    )


@kernel
def shared_slots(model, active):
    """How many slots of contacts are the same in states and in lanes: all but those of shapes."""
    return model.contacts.shape[0] if model.collision.pairs.shape[0] > 0 else active.shape[0]


@kernel
def take_out(model, state, guesses, own, own_guesses, k):
    """Copy the state and guesses of lane k to the state's own memory."""
    for i in range(state.bodies.shape[0]):
        take_lane(state.bodies[i], k, own.bodies[i])
    for j in range(state.joints.shape[0]):
        take_lane(state.joints[j], k, own.joints[j])
        take_lane(guesses.joints[j], k, own_guesses.joints[j])
    for n in range(state.couplings.shape[0]):
        take_lane(state.couplings[n], k, own.couplings[n])
    take_numbers(state.q, k, own.q)
    take_numbers(state.v, k, own.v)
    take_numbers(state.last_dt, k, own.last_dt)
    take_numbers(state.stale, k, own.stale)
    take_numbers(state.kept, k, own.kept)
    take_numbers(state.closed, k, own.closed)
    take_numbers(guesses.trend, k, own_guesses.trend)
    take_numbers(guesses.contact_trend, k, own_guesses.contact_trend)
    for n in range(shared_slots(model, guesses.active)):
        own_guesses.active[n] = guesses.active[n]
        if guesses.active[n] != 0:
            take_lane(guesses.contacts[n], k, own_guesses.contacts[n])


@kernel
def put_back(model, own, own_guesses, own_loads, state, memory, loads, work, options, k):
    """Copy a state, its guesses and external wrenches to lane k."""
    guesses = memory.guesses
    for i in range(state.bodies.shape[0]):
        put_lane(own.bodies[i], state.bodies[i], k)
        put_lane(own_loads.external[i], loads.external[i], k)
    for j in range(state.joints.shape[0]):
        put_lane(own.joints[j], state.joints[j], k)
        put_lane(own_guesses.joints[j], guesses.joints[j], k)
    for n in range(state.couplings.shape[0]):
        put_lane(own.couplings[n], state.couplings[n], k)
    put_numbers(own.q, state.q, k)
    put_numbers(own.v, state.v, k)
    put_numbers(own.last_dt, state.last_dt, k)
    put_numbers(own.stale, state.stale, k)
    put_numbers(own.kept, state.kept, k)
    put_numbers(own.closed, state.closed, k)
    put_numbers(own_guesses.trend, guesses.trend, k)
    put_numbers(own_guesses.contact_trend, guesses.contact_trend, k)
    put_contacts(model, own_guesses, memory, work, options, k)


@kernel
def put_contacts(model, own, memory, work, options, k):
    """Copy the contacts of a state to lane k.

    A contact that is in the equations of some lanes only starts on the central path in the others.
    """
    guesses = memory.guesses
    kappa = options.contact_speed * least_impulse(model, options, options.dt)
    for n in range(shared_slots(model, guesses.active)):
        if guesses.active[n] == own.active[n]:
            if guesses.active[n] != 0:
                put_lane(own.contacts[n], guesses.contacts[n], k)
            continue
        contact, start, w = work.slots[n], work.contacts[n], work.joined[0]
        copy_record(memory.system.contacts[n], w)
        begin_contact(contact, start, w, model.facets, kappa, options.contact_speed)
        if guesses.active[n] != 0:
            copy_lane(start, guesses.contacts[n], k)
        else:
            copy_record(start, guesses.contacts[n])
            put_lane(own.contacts[n], guesses.contacts[n], k)
            guesses.active[n] = 1


@kernel
def take_numbers(numbers, k, own):
    """Copy those of lane k."""
    for n in range(own.shape[0]):
        own[n] = lane(numbers[n], k)


@kernel
def put_numbers(own, numbers, k):
    """Copy to lane k."""
    for n in range(own.shape[0]):
        numbers[n] = with_lane(numbers[n], k, own[n])


@kernel
def has_servos(gains):
    """Whether any gains are those of a servo that is part of the equations."""
    for n in range(gains.shape[0]):
        if gains[n].implicit != 0:
            return True
    return False


@kernel
def tell(k, info, out):
    """How the step of a state went, from lane k."""
    out.status, out.iterations, out.substeps = info.status, info.iterations, info.substeps
    out.order, out.attempt, out.worst_body = info.order, info.attempt, info.worst_body
    out.residual, out.gap = lane(info.residual, k), lane(info.gap, k)
    out.violation = lane(info.violation, k)
    out.turn, out.turner = lane(info.turn, k), lane(info.turner, k)


@kernel
def number_of(active):
    """Number of contacts that are active."""
    count = 0
    for n in range(active.shape[0]):
        count += active[n]
    return count


@kernel
def cost_alone(bodies, iterations, contacts):
    """What a step of one state takes, about in microseconds."""
    return ALONE * bodies + iterations * (ALONE_EACH * bodies + ALONE_CONTACT * contacts)


@kernel
def cost_together(bodies, info, contacts, coupled):
    """What a step of all lanes takes; `coupled` contacts between bodies are solved together."""
    each = LANES_EACH * bodies + LANES_CONTACT * contacts + LANES_COUPLED * coupled**3
    return LANES * bodies + info.iterations * each


@kernel
def compare(pace, spent, bodies):
    """Note what a step of all lanes has `spent`; after some, whether states had better go apart.

    What that takes is tried out from time to time.
    """
    pace.spent += spent
    pace.taken += 1
    pace.known += 1
    least = WIDTH * bodies * (ALONE + ALONE_EACH)
    # What takes far longer is seen before.
    much = FAR_MORE * (least if pace.alone == 0.0 else pace.alone)
    soon = pace.taken >= FIRST and pace.spent > much * pace.taken
    if pace.taken < (SHORT if pace.rest > WINDOW else WINDOW) and not soon:
        return
    pace.lanes = pace.spent / pace.taken
    pace.spent, pace.taken = 0.0, 0
    if pace.lanes <= least:
        pace.rest = WINDOW
    elif pace.alone == 0.0 or pace.known > LASTS:
        pace.apart, pace.begun, pace.rest, pace.tries = WINDOW, WINDOW, WINDOW, 1
    else:
        choose_rest(pace)


@kernel
def choose_rest(pace):
    """Let states go apart if that takes less, for longer each time."""
    if pace.lanes > pace.alone:
        pace.apart, pace.begun, pace.tries = pace.rest, pace.rest, 0
        pace.rest = min(4 * pace.rest, LONGEST)
    else:
        pace.rest = WINDOW


@kernel
def end_apart(pace, bodies, contacts):
    """After steps apart: what they have taken is known, unless they were too few.

    `contacts` are those of all states.
    """
    if pace.begun >= WINDOW:
        each = cost_alone(bodies, pace.own / (WIDTH * pace.begun), contacts / WIDTH)
        pace.alone, pace.known = WIDTH * each, 0
    pace.own = 0.0
    if pace.tries != 0:
        choose_rest(pace)


@stage
def run_group(group, solver, alone, parts, parts_kind, runs, run_kind, done, end):
    """Take steps done[0] to `end` of the states' runs; `done` is then where they part, or `end`.

    `parts` and `runs` are addresses as for single states, one for each lane or one for all of them,
    `solver` is as for `step`. `alone` has the addresses of the function that takes steps of single
    states, and of its solver. A state that fails by itself is behind the others.

    States take steps apart where lanes have taken longer than that. What either takes follows from
    the numbers of iterations and contacts, so that a motion does not depend on clocks.
    """
    (
        model,
        state,
        memory,
        loads,
        work,
        options,
        info,
        carried,
        forces,
        servos,
        shown,
        paces,
        behind,
        _,
    ) = group
    pace = paces[0]
    changed, count, t, nb = False, runs.shape[0], work.scratch[0], model.bodies.shape[0]
    entered = pace.resides == 0 and pace.apart == 0
    if entered:
        for k in range(carried.shape[0]):
            if pack(carried[k], k):
                changed = True
        if changed:
            fill(0, memory.system.valid)
            if are_states(t.left):
                fill(0, memory.guesses.active)
                for k in range(count):
                    own = load(parts[k], parts_kind)
                    put_contacts(model, own[2].guesses, memory, work, options, k)
        pace.resides = 1
    elif pace.resides != 0 and pace.anew != 0:
        for k in range(count):
            if pace.anew >> k & 1:
                own = load(parts[k], parts_kind)
                put_contacts(model, own[2].guesses, memory, work, options, k)
    pace.anew = 0
    implicit = False
    for i in range(count):
        implicit = implicit or has_servos(load(runs[i], run_kind).gains)
    begin = reached = done[0]
    failed, fresh = False, True
    while reached < end and not failed:
        if pace.apart > 0:
            # Where states are not in lanes, they are where they belong.
            last = min(end, reached + pace.apart)
            for i in range(count):
                own, run = load(parts[i], parts_kind), load(runs[i], run_kind)
                if pace.resides != 0:
                    if not entered:
                        take_out(model, state, memory.guesses, own[1], own[2].guesses, i)
                    forget_system(own[2].system.valid)
                done[i], behind[i] = reached, 0
                call_steps(alone[0], alone[1], parts, runs, done, i, last)
                failed = failed or done[i] < last
                for k in range(reached, done[i]):
                    pace.own += run.infos[k].iterations
            pace.resides, pace.apart = 0, pace.apart - (last - reached)
            reached = last
            if pace.apart == 0:
                # Of the contacts only those at the end are known, whatever steps a call takes.
                contacts = 0
                for i in range(count):
                    contacts += number_of(load(parts[i], parts_kind)[2].guesses.active)
                end_apart(pace, nb, contacts)
            if pace.apart == 0 and reached < end and not failed:
                fill(0, memory.guesses.active)
                for k in range(count):
                    own = load(parts[k], parts_kind)
                    put_back(
                        model,
                        own[1],
                        own[2].guesses,
                        own[3],
                        state,
                        memory,
                        loads,
                        work,
                        options,
                        k,
                    )
                pace.resides, pace.stale, fresh, entered = 1, 1, True, True
            continue
        if pace.stale != 0:
            fill(0, memory.system.valid)
            pace.stale = 0
        for i in range(count):
            own = load(parts[i], parts_kind)
            apply_controls(own[1], own[3], own[5], load(runs[i], run_kind), reached)
        for k in range(carried.shape[0]):
            pack(forces[k], k)
            if implicit or fresh:
                pack(servos[k], k)
        fresh = False
        wants = MEANS | BEGINS if reached + 1 == end else 0
        if reached + 2 >= end or asks(load(runs[0], run_kind), reached + 1):
            wants |= VELOCITIES
        arguments = (model, state, memory, loads, work, options, solver, wants, info[0])
        looks = are_states(t.left) and model.calls[LOOK] != 0
        info[0].iterations = 0
        found = True
        if are_states(t.left):
            t.away = 0.0
        if looks:
            found = call_look(model.calls[LOOK], solver[1], parts, FIND, wants) == CONVERGED
            pace.unseated += 0 if found else 1
        if found:
            found = together(find_step, arguments)
            pace.parted += 0 if found else 1
            pace.unsolved += 1 if found and info[0].status != CONVERGED else 0
            found = found and info[0].status == CONVERGED
        coupled = memory.system.coupled.number[0]
        if found and looks:
            found = call_look(model.calls[LOOK], solver[1], parts, JUDGE, wants) == CONVERGED
            pace.met += 0 if found else 1
        leaving = found and are_states(t.left) and somewhere(t.left != 0.0)
        if leaving:
            for k in range(count):
                if lane(t.left, k) != 0.0:
                    own = load(parts[k], parts_kind)
                    take_out(model, state, memory.guesses, own[1], own[2].guesses, k)
        arguments = (model, state, memory, loads, work, options, wants, info[0])
        if not (found and together(end_step, arguments) and info[0].status == CONVERGED):
            fill(0, memory.system.valid)
            if not are_states(t.left):
                break
            # What was in vain belongs to the steps beside it.
            pace.spent += cost_together(nb, info[0], work.active[0], coupled)
            # Where it fails again at once, for longer.
            pace.pause = min(max(2 * pace.pause, 1), LONGEST_PAUSE)
            pace.apart, pace.begun, pace.tries = pace.pause, pace.pause, 0
            continue
        entered, pace.pause = False, 0
        if looks:
            call_look(model.calls[LOOK], solver[1], parts, KEEP, wants)
        for k in range(carried.shape[0]):
            if not (leaving and lane(t.left, k) != 0.0):
                unpack(shown[k])
        for i in range(count):
            done[i] = reached + 1
            if leaving and lane(t.left, i) != 0.0:
                done[i] = reached
                continue
            own, run = load(parts[i], parts_kind), load(runs[i], run_kind)
            tell(i, info[0], run.infos[reached])
            servo_torques(run, reached, own[1], own[3], own[5].dt)
        reached += 1
        pace.steps += 1
        fill(1, behind)
        spent = cost_together(nb, info[0], work.active[0], coupled)
        if leaving:
            pace.stale = 1
            for k in range(count):
                if done[k] < reached:
                    own, run = load(parts[k], parts_kind), load(runs[k], run_kind)
                    forget_system(own[2].system.valid)
                    call_steps(alone[0], alone[1], parts, runs, done, k, reached)
                    failed, behind[k] = failed or done[k] < reached, 0
                    pace.leaves += 1
                    put_back(
                        model,
                        own[1],
                        own[2].guesses,
                        own[3],
                        state,
                        memory,
                        loads,
                        work,
                        options,
                        k,
                    )
                    contacts = number_of(own[2].guesses.active)
                    spent += COLD * cost_alone(nb, run.infos[reached - 1].iterations, contacts)
        if are_states(t.left):
            compare(pace, spent, nb)
    if not are_states(t.left) or entered:
        # Limbs are put back after each call. Where no step was taken, the states are as they were,
        # with whole numbers of their own.
        pace.resides = 0
        if reached > begin and not entered:
            for k in range(carried.shape[0]):
                unpack(carried[k])
    for i in range(count):
        if behind[i] != 0 or not are_states(t.left):
            forget_system(load(parts[i], parts_kind)[2].system.valid)
    if not failed:
        for i in range(done.shape[0]):
            done[i] = reached
