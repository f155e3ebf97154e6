"""The surest attempt at a step's equations: one convex problem after the other.

Coulomb's law is not the condition of a minimum. With slip speeds that are given in each contact
(`contact_lags`) it is, and there is a minimum if some motion opens all contacts at once. The
interior point finds it from anywhere. The slip speeds there are given to the next problem, and so
on until they stand [Acary2011]. `LAGGED` does both at once, which is quicker where it arrives.

Each contact aims at a barrier in proportion to the mass that it can move. With one barrier for all,
what weighs a ten thousandth of others would be thrown around by it.
"""

from math import inf, isfinite, sqrt

from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.compiler.lanes import everywhere, most_of_limbs, over_limbs, pick, somewhere
from robosim.kernels.contact.compliance import friction_coefficient
from robosim.kernels.contact.law import CLOSE, contact_center, contact_land
from robosim.kernels.solve.interior_point import (
    REFINE,
    central_step,
    clear_directions,
    complementarity,
    final_barrier,
    inverse_mass,
    jumps,
    largest_mass,
    least_impulse,
    let_lag,
    longest_feasible_step,
    predict_barrier,
    search,
    set_second_order,
)
from robosim.kernels.solve.newton import evaluate, factor, find_direction, remember
from robosim.kernels.status import NESTED, NOT_FINITE, OUT_OF_ITERATIONS, SINGULAR, STALLED

ITERATIONS = 20  # times as many as other attempts have
LIGHTEST = 1e-6  # part of the barrier that a contact aims at, at least
NEAR = 1e-3  # [m/s], what slip speeds are off by where jumps take over
STANDS = 1e-9  # and if these have led nowhere from there
LOW = 100.0  # times the final barrier, at which problems are solved in the first attempt
LOWER = 10.0  # and in the one after it
EXACT = 1e-6  # [m/s], residual of a problem that is solved in the first attempt
EXACTLY = 1e-10  # and in the one after it
ALIKE = 2.0  # times the barrier by which products may be off it there
BRIEF = 0.1  # length of a step after which the next one keeps the barrier
CREEPS = 0.02  # length of a step that comes to next to nothing
STUCK = 3  # such steps in a row after which the barrier is raised
HIGHER = 10.0  # times as much each time, within one problem
HIGHEST = 1e4  # at most
FARTHEST = 100.0  # times its last change that a slip speed is extrapolated at most
PLAIN = 4  # problems near a solution, of which the last extrapolates
IDLE = 0.9  # times the least that slip speeds were off by, of a problem that is hardly of use
PATIENCE = 24  # such problems in a row that are the last


@kernel
def is_nested(attempt):
    """Whether an attempt is one of these, not the jumps after it."""
    return attempt >= NESTED and not jumps(attempt)


@aside
def solve_nested(scheme, model, state, memory, loads, work, options, dt, info):
    """Come so near to a solution that jumps should find it; returns a status.

    Begins with the velocities of the last knot.
    """
    system, first = memory.system, info.attempt == NESTED
    enough, exact, low = NEAR if first else STANDS, EXACT if first else EXACTLY, LOWER
    if first:
        low = LOW
    least, length, higher, stuck = least_impulse(model, options, dt), 1.0, 1.0, 0
    behind, best, idle, rounds, exactly = inf, inf, 0, 0, False
    start_nested(scheme, model, state, memory, loads, work, dt, info)
    info.residual = inf
    for _ in range(options.max_iterations * ITERATIONS):
        merit = evaluate(scheme, model, state, system, loads, work, dt, info)
        info.residual = merit
        if not isfinite(merit):
            return NOT_FINITE
        kappa_end = low * final_barrier(least, work, options)
        mean, largest, smallest = complementarity(model, system, work, 0.0)
        alike = everywhere(largest < ALIKE * kappa_end) and everywhere(ALIKE * smallest > kappa_end)
        if alike and everywhere(merit < exact):
            if exactly:
                return STALLED
            near = everywhere(behind < NEAR)
            rounds = rounds + 1 if near else 0
            behind = follow_on(system, work, first, rounds > 0 and rounds % PLAIN == 0)
            idle = idle + 1 if somewhere(behind > IDLE * best) else 0
            best = min(behind, best)
            if everywhere(behind < enough) or idle == PATIENCE:
                return STALLED
            kappa = max(largest_mass(work) * behind * behind, mean)
            if not first and rounds > 0 and rounds % PLAIN == 1:
                # So near, Coulomb's law itself may lead on, which a repelling solution needs.
                let_go(system, work)
                exactly, kappa = True, max(10.0 * kappa, mean)
            land_weighted(model, system, work, kappa)
            length, higher, stuck = 1.0, 1.0, 0
            continue
        info.iterations += 1
        system.valid[FACTORED] = 0
        if factor(scheme, model, system, work) != 0:
            return SINGULAR
        kappa = mean
        if everywhere(length > BRIEF):
            kappa = predict_barrier(scheme, model, system, work, dt, kappa_end)
        else:
            set_second_order(model, system, work, 0.0)
        find_direction(scheme, model, system, work, kappa, everywhere(merit < REFINE))
        length = longest_feasible_step(model, system, work, dt, CLOSE)
        length = central_step(model, system, work, length)
        remember(scheme, model, system, work)
        slack = 0.1 * options.contact_speed * low * mean / kappa_end
        _, length, _ = search(
            scheme, model, state, system, loads, work, dt, length, 6, merit, slack, info
        )
        stuck = stuck + 1 if somewhere(length < CREEPS) else 0
        if stuck == STUCK:
            # At a barrier that is low for what is still wrong there is no way inside the cones.
            higher *= HIGHER
            if exactly:
                exactly, higher = False, 1.0
                let_lag(system, work)
            elif higher > HIGHEST:
                return STALLED
            land_weighted(model, system, work, higher * largest)
            length, stuck = 1.0, 0
    return OUT_OF_ITERATIONS


@kernel
def start_nested(scheme, model, state, memory, loads, work, dt, info):
    """Put all contacts on the central path at the last knot's velocities, far inside the cones."""
    system, speed = memory.system, abs(dt)
    scheme.guess(model, state, memory, work, dt, 0.0, False)
    clear_directions(system, work, model.facets, info.attempt)
    evaluate(scheme, model, state, system, loads, work, dt, info)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        for i in range(3):
            speed = max(speed, abs(system.contacts[k].u[i]))
    speed, heaviest = most_of_limbs(speed), largest_mass(work)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        part = 1.0 / (inverse_mass(model, contact) * heaviest)
        w.normal_weight = max(part, LIGHTEST)
        w.weight, w.jumps, w.missed, w.found = w.normal_weight, 0.0, 0.0, 0.0
        contact_center(contact, work.contacts[k], w, model.facets, heaviest * speed * speed, speed)
    let_lag(system, work)


@kernel
def speed_of(c, slips):
    """How fast a contact `slips` [m/s], or else that and what the barrier adds."""
    return sqrt(c.eta[0] * c.eta[0] + c.eta[1] * c.eta[1]) if slips else c.psi


@kernel
def let_go(system, work):
    """Let slip speeds lag no more."""
    for n in range(1, work.active[0] + 1):
        system.contacts[work.active[n]].lags = 0


@kernel
def follow_on(system, work, slips, extrapolates):
    """Let slip speeds follow where they lag, or go on as they changed; what they were off by [m/s].

    What one change makes of the change before it, as a part, may be near 1 along one direction, and
    more than that where a solution repels. So all are extrapolated by what explains the last change
    best [Anderson1965], which leads there either way.
    """
    behind, along, square = 0.0, 0.0, 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if w.lags != 0:
            miss = speed_of(work.contacts[k], slips) - w.lag
            change = miss - w.missed
            behind = max(behind, friction_coefficient(contact, w) * abs(miss))
            along += contact.share * miss * change
            square += contact.share * change * change
    along, square = over_limbs(along), over_limbs(square)
    part = 0.0
    if extrapolates:
        part = pick(square > 0.0, along / square, 0.0)
        part = min(max(part, -FARTHEST), FARTHEST)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        w = system.contacts[k]
        if w.lags != 0:
            speed = speed_of(work.contacts[k], slips)
            miss = speed - w.lag
            w.lag = max(speed - part * (speed - w.found), 0.0)
            w.missed, w.found = miss, speed
    return most_of_limbs(behind)


@kernel
def land_weighted(model, system, work, kappa):
    """Put all contacts on the central path at a barrier, to where each pair's difference tells."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        w.jumps, w.aim = inverse_mass(model, contact), w.weight * kappa
        contact_land(contact, work.contacts[k], w, model.facets)
        w.jumps = 0.0
