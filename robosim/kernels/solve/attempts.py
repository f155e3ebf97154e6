"""Attempts at a step's equations, from a warm start to ever more careful ones."""

from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.duals import are_duals
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.compiler.lanes import are_states, most_of_limbs, pick, somewhere
from robosim.kernels.contact.active_set import (
    UNLOADED,
    admit_features,
    admit_reached,
    choose_contacts,
)
from robosim.kernels.contact.law import contact_guess, contact_meets
from robosim.kernels.contact.pinned import SLACK, give_room
from robosim.kernels.solve.bearings import PASSES, settle_bounds
from robosim.kernels.solve.interior_point import (
    LOOSE,
    RAISED,
    barrier_at,
    center_contacts,
    clear_directions,
    first_barrier,
    jumps,
    least_impulse,
    leave_unsolved,
    longest_inside,
    raise_to,
    raises_barrier,
    set_second_order,
    solve,
)
from robosim.kernels.solve.nested import is_nested, solve_nested
from robosim.kernels.solve.newton import evaluate, factor, find_direction
from robosim.kernels.status import (
    CAREFUL,
    COLD,
    CONVERGED,
    DESCENT,
    HOP,
    LAST,
    LOW,
    NESTED,
    SETTLED,
    SUREST,
    UNSETTLED,
    WARM,
    WHOLE,
)

TOLD = 1.5  # times the room that what touches is given, from which on another feature has entered


@stage
def find_motion(scheme, model, state, memory, loads, work, options, dt, info):
    """Choose the contacts of an interval and solve its equations; returns a status.

    Compiled by itself, beside the rest of the step, and called by its address.
    """
    begin_lanes(work.scratch[0])
    kappa = first_barrier(least_impulse(model, options, dt), memory.guesses, options)
    status = choose_contacts(scheme, model, state, memory, work, options, dt, kappa)
    if status == CONVERGED:
        status = solve_interval(scheme, model, state, memory, loads, work, options, dt, kappa, info)
    if model.bearings.joint.shape[0] == 0:
        return status
    return settle(scheme, model, state, memory, loads, work, options, dt, kappa, status, info)


@kernel
def begin_lanes(t):
    """Let all lanes take part but those that have left before."""
    t.left = t.away if are_states(t.left) else 0.0


@kernel
def settle(scheme, model, state, memory, loads, work, options, dt, kappa, status, info):
    """Solve an interval again until the friction of bearings fits what they carry; a status."""
    system, least = memory.system, UNLOADED * kappa / options.contact_speed
    for n in range(PASSES + 1):
        if status != CONVERGED:
            return status
        if settle_bounds(scheme, model, state, system, work, least, n, info) != 0:
            return CONVERGED
        if n == PASSES:
            break
        before = work.active[0]
        status = solve(scheme, model, state, system, loads, work, options, dt, WARM, info)
        if status == CONVERGED:
            status = admit(scheme, model, state, memory, work, options, dt, kappa, 0.0, info)
            if status != CONVERGED:
                return status
        if status != CONVERGED or work.active[0] != before:
            status = solve_interval(
                scheme, model, state, memory, loads, work, options, dt, kappa, info
            )
    return UNSETTLED


@stage
def solve_interval(scheme, model, state, memory, loads, work, options, dt, kappa, info):
    """Try a warm start, then colder ones; let contacts in that were reached unexpectedly."""
    # In a record, as the compiler would make a copy of all that follows for the constant.
    info.attempt, roomy, tried, before = first_attempt(work, info), False, WARM, -1
    while True:
        if info.attempt == WARM:
            scheme.guess(model, state, memory, work, dt, 0.5 * dt, True)
            guess_contacts(scheme, model, state, memory, work, dt, kappa)
        elif info.attempt in (LOW, HOP):
            tried = info.attempt if before < 0 else tried
            start_hop(scheme, model, state, memory, loads, work, dt, before, info)
        elif jumps(info.attempt):
            raise_to(model, memory.system, work, barrier_at(model, memory.system, work, 0.0))
        elif info.attempt != DESCENT and not is_nested(info.attempt):
            start_cold(scheme, model, state, memory, loads, work, dt, kappa, info)
        status = solve_any(scheme, model, state, memory, loads, work, options, dt, info)
        unsolved = info.attempt == WARM and status != CONVERGED
        if (
            are_states(kappa)
            and unsolved
            and leave_unsolved(scheme, model, state, memory.system, loads, work, options, dt, info)
        ):
            status = CONVERGED
        if status in (CONVERGED, SETTLED):
            before, found = work.active[0], status
            room = TOLD * SLACK if roomy else 0.0
            status = admit(scheme, model, state, memory, work, options, dt, kappa, room, info)
            met = work.active[0] != before
            if status != CONVERGED or (found == CONVERGED and not met):
                return status
            begin_lanes(work.scratch[0])
            info.attempt = first_attempt(work, info)
            if info.attempt == WARM:
                info.attempt = HOP if met else DESCENT
            continue
        before = -1
        info.attempt = next_attempt(info.attempt, tried, info.residual)
        last, most = WHOLE if info.substeps == 1 or roomy else LAST, options.last_attempt
        if info.surely != 0:
            last, most = SUREST, SUREST
        if info.attempt > min(last, most) or work.active[0] == 0:
            if roomy or info.attempt <= last or not give_room(memory.system, work):
                return status
            info.attempt, roomy = NESTED if info.surely != 0 else CAREFUL, True


@kernel
def first_attempt(work, info):
    """The attempt that an interval begins with: the surest one at once, where others have failed.

    These also let contacts in from motions that are no solutions, far from all that there are.
    """
    return NESTED if info.surely != 0 and work.active[0] > 0 else WARM


@kernel
def next_attempt(attempt, tried, residual):
    """The attempt after one that has failed; `tried` is the last from the last knot's velocities.

    That is HOP, LOW, or WARM if none has been made yet.
    """
    if attempt <= DESCENT:
        return HOP if tried == WARM else (LOW if tried == HOP else COLD)
    attempt += 1
    if attempt > CAREFUL and jumps(attempt) and not residual < LOOSE:
        return attempt + 1
    return attempt


@kernel
def start_hop(scheme, model, state, memory, loads, work, dt, before, info):
    """Put contacts on the central path, at the last knot's velocities or where some have been met.

    All after the first `before` contacts are these; -1 if none have been met.
    """
    if before < 0:
        scheme.guess(model, state, memory, work, dt, 0.0, False)
    left = evaluate(scheme, model, state, memory.system, loads, work, dt, info)
    if before >= 0:
        for n in range(before + 1, work.active[0] + 1):
            k = work.active[n]
            w = memory.system.contacts[k]
            contact_meets(work.slots[k], work.contacts[k], w, model.facets)
        left = evaluate(scheme, model, state, memory.system, loads, work, dt, info)
    clear_directions(memory.system, work, model.facets, info.attempt)
    raised = RAISED * left if info.attempt == HOP else 0.0
    kappa = barrier_at(model, memory.system, work, raised)
    raise_to(model, memory.system, work, kappa)


@kernel
def admit(scheme, model, state, memory, work, options, dt, kappa, room, info):
    """Let contacts in that a solution has reached unexpectedly; a status.

    What touches has had `room` [m] to enter.
    """
    scheme.finish_poses(model, memory.system, work, dt)
    admit_reached(scheme, model, state, memory, work, options, dt, kappa)
    if model.collision.pairs.shape[0] == 0:
        return CONVERGED
    return admit_features(model, state, memory, work, options, dt, kappa, info.substeps, room)


@kernel
def solve_any(scheme, model, state, memory, loads, work, options, dt, info):
    """Solve the equations from where the unknowns are, in the shortest way; returns a status."""
    if info.attempt == WARM and work.active[0] == 0 and not are_duals(info.residual):
        status = scheme.solve_untouched(model, state, memory, loads, work, options, dt, info)
        if status == CONVERGED:
            return status
    if is_nested(info.attempt) and not are_duals(info.residual):
        return solve_nested(scheme, model, state, memory, loads, work, options, dt, info)
    return solve(scheme, model, state, memory.system, loads, work, options, dt, info.attempt, info)


@kernel
def start_cold(scheme, model, state, memory, loads, work, dt, kappa, info):
    """Start far inside the cones, to follow the central path down to `kappa`."""
    scheme.guess(model, state, memory, work, dt, 0.0, False)
    evaluate(scheme, model, state, memory.system, loads, work, dt, info)
    speed, mass = dt, 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        for i in range(3):
            speed = max(speed, abs(memory.system.contacts[k].u[i]))
        mass = max(mass, work.slots[k].mass)
    speed, mass = most_of_limbs(speed), most_of_limbs(mass)
    # What is left of the equations without contacts is a motion that they have to take as well.
    center_contacts(model, memory.system, work, kappa, speed, info.attempt)
    # Not much faster: for trees it is measured in the inertia of single bodies, all too fast.
    left = evaluate(scheme, model, state, memory.system, loads, work, dt, info)
    speed = max(speed, min(left, 3.0 * speed))
    kappa = max(kappa, mass * speed * speed)
    center_contacts(model, memory.system, work, kappa, speed, info.attempt)
    if raises_barrier(info.attempt):
        raise_barrier(scheme, model, state, memory.system, loads, work, dt, kappa, speed, info)


@kernel
def raise_barrier(scheme, model, state, system, loads, work, dt, kappa, speed, info):
    """Raise the barrier until a whole Newton step stays inside the cones."""
    for _ in range(5):
        info.iterations += 1
        evaluate(scheme, model, state, system, loads, work, dt, info)
        clear_directions(system, work, model.facets, info.attempt)
        system.valid[FACTORED] = 0
        if factor(scheme, model, system, work) != 0:
            return
        set_second_order(model, system, work, 0.0)
        find_direction(scheme, model, system, work, kappa, False)
        if longest_inside(model, system, work, 1.0, 1.0) > 0.9:
            return
        kappa *= 10.0
        center_contacts(model, system, work, kappa, speed, info.attempt)


@kernel
def guess_contacts(scheme, model, state, memory, work, dt, kappa):
    """Variables of contacts where they are heading for, at the barrier `kappa`.

    They stay as the last interval has left them if that is not to be foretold, and with facets.
    """
    facets, trend = model.facets, memory.guesses.contact_trend
    foretold = scheme.foretells_contacts() and facets.shape[0] == 0
    if not (foretold and somewhere(trend[0] > 0.0)):
        return
    regular = pick(state.last_dt[0] == dt, 1.0, 0.0)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], memory.system.contacts[k]
        contact_guess(contact, c, w, facets, trend, regular, kappa)
