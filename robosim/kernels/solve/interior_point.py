"""Primal-dual interior point for the contacts of Eqs. (29c) to (29f), around Newton's method.

Without contacts in the equations it is a plain Newton method with a line search. With them, an
attempt follows the path on which all products of a contact's pairs equal a barrier kappa [J], down
to a final one. Several attempts are made at a step, each slower and surer than the one before.
"""

from math import inf, isfinite, sqrt

from robosim.compiled.kinds import DRY
from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.duals import are_duals, is_settled, response
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import (
    everywhere,
    few,
    least_of_limbs,
    most_of_limbs,
    over_limbs,
    pick,
    somewhere,
)
from robosim.kernels.contact.kinematics import on_joint
from robosim.kernels.contact.law import (
    CLOSE,
    contact_center,
    contact_follows,
    contact_lags,
    contact_land,
    contact_longest_step,
    contact_products,
    contact_second_order,
    contact_stays,
    friction_size,
)
from robosim.kernels.equations.algebra import dot
from robosim.kernels.equations.constraints import OPEN, WEDGED, keeps_closed
from robosim.kernels.solve.newton import evaluate, factor, find_direction, remember, take_step
from robosim.kernels.status import (
    CAREFUL,
    COLD,
    CONVERGED,
    DESCENT,
    HOP,
    LAGGED,
    LOW,
    NOT_FINITE,
    OUT_OF_ITERATIONS,
    SETTLED,
    SINGULAR,
    STALLED,
    WARM,
    WHOLE,
)

WARM_LIMIT = 12  # iterations of either; a cold start is quicker than what takes more
TAIL = 1e-3  # [m/s], residual below which they may go on as long as they come nearer
FAR = 2  # jumps of either that come nearer at no length, and are its last: they go in circles
SHORT = 3  # jumps in a row that are short and gain little, before as many whole ones
FINE = 0.01  # part of the residual that factors may leave to be used again beside contacts
STUCK = 5  # other steps in a row that gain next to nothing, and are the last
FREE = 0.9  # part of a step that leaves the cones so late that it needs no jump
LOOSE = 1e-2  # [m/s], residual below which jumps start, and up to which they may land
LEVEL = 1e-6  # part of the barrier by which products may be off it where derivatives are taken
ROUGH = 1e-2  # and by which they may be off it where iterations do not help: their rounding's root
ALIKE = 1e-4  # part by which impulses may follow the barrier to tell nothing of where they meet
RAISED = 0.03  # part of the residual that slacks are raised to where contacts change their modes
PATIENCE = 2  # jumps at the final barrier before that
PATIENT = 4  # and iterations of a group of states before few leave that need more
SLOW = 1e-6  # [m/s], residual up to which they may go on
RAISES = 4  # most often that the barrier is raised in an attempt
EVEN = 1e-4  # part of the barrier by which products may be off it at the end of a descent
FLAT = 1e-7  # and by which smooth contacts may be at the end, which is near their rounding
LANDINGS = 3  # iterations at the end of an attempt that bring products to the barrier
HIGHER = 10.0  # factor by which it is, from the second time on
ROUNDED = 10.0  # times the tolerance that may be left by a step whose derivatives are taken
REFINE = 1e-4  # [m/s], residual below which a direction may be lost in rounding
FOLLOWS = 0.7  # part by which slip speeds that lag behind follow in a step
WIDE = 0.1  # least slack of contacts over what slip speeds lag behind by
LAGS = 3  # times as many iterations for these
CAUGHT = 1e-5  # [m/s], what they lag behind by where jumps take over


@kernel
def longest_feasible_step(model, system, work, dt, fraction):
    """The longest step up to 1 that keeps contact variables positive and turns below a radian."""
    longest = 1.0
    fastest = 0.0
    for i in range(model.bodies.shape[0]):
        fastest = max(fastest, dot(work.rhs[i].w[3:], work.rhs[i].w[3:]))
    if somewhere(dt * dt * fastest > 1.0):
        longest = min(1.0, 1.0 / (abs(dt) * sqrt(fastest)))
    return longest_inside(model, system, work, fraction, longest)


@kernel
def longest_inside(model, system, work, fraction, longest):
    """The longest step up to `longest` that keeps contact variables positive."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        longest = contact_longest_step(
            work.slots[k], work.contacts[k], system.contacts[k], model.facets, fraction, longest
        )
    return least_of_limbs(longest)


@kernel
def complementarity(model, system, work, length):
    """(mean, largest, smallest) weighted product of the contacts' pairs after `length`."""
    total, largest, smallest, pairs = 0.0, 0.0, inf, 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact = work.slots[k]
        of_contact, above, below, count = contact_products(
            contact, work.contacts[k], system.contacts[k], model.facets, length
        )
        total += contact.share * of_contact
        largest, smallest = max(largest, above), min(smallest, below)
        pairs += contact.share * count
    mean = over_limbs(total) / max(over_limbs(pairs), 1.0)
    return mean, most_of_limbs(largest), least_of_limbs(smallest)


@kernel
def set_second_order(model, system, work, on):
    """Mehrotra's second-order terms from the predictor's direction, or zero."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact_second_order(work.slots[k], work.contacts[k], model.facets, on, system.contacts[k])


@kernel
def clear_directions(system, work, facets, attempt):
    """Forget the last directions of the contacts, which may not even be finite."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        w = system.contacts[k]
        w.slides, w.warm, w.straight, w.lags = 0.0, 1 if attempt == WARM else 0, 0.0, 0
        if not jumps(attempt):
            w.jumps = 0.0
        w.d_s, w.d_gamma, w.d_c, w.d_psi = 0.0, 0.0, 0.0, 0.0
        for i in range(friction_size(facets)):
            w.d_beta[i], w.d_eta[i] = 0.0, 0.0


@kernel
def predict_barrier(scheme, model, system, work, dt, kappa_end):
    """Mehrotra's predictor: the barrier to aim at; leaves the second-order terms set."""
    set_second_order(model, system, work, 0.0)
    find_direction(scheme, model, system, work, 0.0, False)
    length = longest_feasible_step(model, system, work, dt, 1.0)
    mean = complementarity(model, system, work, 0.0)[0]
    ahead = complementarity(model, system, work, length)[0]
    ratio = max(ahead, 0.0) / mean
    set_second_order(model, system, work, pick(length > 0.1, 1.0, 0.0))
    return max(kappa_end, min(1.0, ratio * ratio * ratio) * mean)


@kernel
def jumps(attempt):
    """Whether an attempt goes on by jumps from where the one before it has left the contacts.

    Where contacts wedge, impulses have to change by as much as they are for next to no change of
    motion, and slacks that have to stay positive leave room for tiny steps only. Jumps go as far
    as Newton's method asks for, and contacts open, close, stick or slide as that has it.
    """
    return attempt in (LOW, HOP) or (attempt > CAREFUL and (attempt - CAREFUL) % 2 != 0)


@kernel
def path(attempt):
    """Number of the path that a careful attempt follows; the first is 0, lagged or not."""
    return 0 if attempt <= WHOLE else (attempt - LAGGED) // 2


@kernel
def raises_barrier(attempt):
    """Whether an attempt starts where whole Newton steps are free: on every other path.

    Behind a lever a contact has to give much more than the masses that touch suggest. But where
    bodies whirl, what is far up leads far away.
    """
    return path(attempt) > 0 and path(attempt) % 2 != 0


@kernel
def central_step(model, system, work, length):
    """Shorten a step until no product falls far behind the others.

    A pair that has come to zero on both sides cannot be moved by Newton's method any more, so the
    path has to be followed inside the wide neighbourhood of the central path.
    """
    for _ in range(20):
        mean, _, smallest = complementarity(model, system, work, length)
        near = smallest >= 1e-3 * mean
        if everywhere(near):
            break
        length = pick(near, length, 0.8 * length)
    return length


@kernel
def keeps_apart(model, system, work):
    """Whether every gap of hard contacts is positive, or less deep than it was."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        w = system.contacts[k]
        if has_gap(work.slots[k]) and not everywhere(w.gap > w.step_back):
            return False
    return True


@kernel
def has_gap(contact):
    """Whether a contact has a gap that must not close."""
    return contact.kind != DRY and contact.compliant == 0


@kernel
def leave_unsolved(scheme, model, state, system, loads, work, options, dt, info):
    """Let few states leave their lanes whose equations are not solved; whether these are few."""
    merit = evaluate(scheme, model, state, system, loads, work, dt, info)
    t = work.scratch[0]
    kappa_end = final_barrier(least_impulse(model, options, dt), work, options)
    largest = complementarity(model, system, work, 0.0)[1]
    left = pick(merit < max(options.tolerance, t.rounding), t.left, 1.0)
    left = pick(largest <= 10.0 * kappa_end, left, 1.0)
    for n in range(1, work.active[0] + 1):
        w = system.contacts[work.active[n]]
        if has_gap(work.slots[work.active[n]]):
            left = pick(w.gap > w.step_back, left, 1.0)
    if not few(left > 0.0):
        return False
    t.left, info.residual = left, merit
    return True


@kernel
def center_contacts(model, system, work, kappa, speed, attempt):
    """Put all contacts in the equations on the central path, their slacks from the motion.

    Sliding contacts that jam can make the path turn back before the barrier is down. From the
    second careful attempt on, friction's products are weighted differently in each contact, which
    leads along another path to the same equations.
    """
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        w = system.contacts[k]
        w.weight, w.normal_weight = 1.0, 1.0
        if path(attempt) > 0:
            # Spread over 1e-2..1e2 by a multiplicative hash: the same in every run.
            w.weight = 10.0 ** (4.0 * ((0.618034 * (k + 1) * (path(attempt) + 2)) % 1.0) - 2.0)
        contact_center(work.slots[k], work.contacts[k], w, model.facets, kappa, speed)


@kernel
def inverse_mass(model, contact):
    """Of what a contact acts on [1/kg], as if its bodies did not turn."""
    if on_joint(contact):
        return 1.0 / contact.mass
    total = 0.0
    for body in (contact.body, contact.other):
        if body < model.bodies.shape[0]:
            total += 1.0 / model.bodies[body].mass
    return total


@kernel
def let_jump(model, system, work):
    """Let contacts take steps of any length from now on."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        system.contacts[k].jumps = inverse_mass(model, work.slots[k])


@kernel
def let_lag(system, work):
    """Let slip speeds lag behind from now on, beginning with what they are."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact_lags(work.slots[k], work.contacts[k], system.contacts[k])


@kernel
def let_follow(system, work, part):
    """Let slip speeds follow by a part; what they have lagged behind by [m/s]."""
    behind = 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        w = system.contacts[k]
        behind = max(behind, contact_follows(work.slots[k], work.contacts[k], w, part))
    return most_of_limbs(behind)


@kernel
def let_stay(model, system, work, near):
    """Near a solution, let contacts that stay inside their cones go straight in the next jump."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        w = system.contacts[k]
        w.straight = 0.0
        if near:
            contact_stays(work.slots[k], work.contacts[k], w, model.facets, FREE)


@kernel
def barrier_at(model, system, work, speed):
    """The barrier at which slacks are about `speed`, for contacts that stop their bodies from it.

    It is no lower than the present one.
    """
    present = complementarity(model, system, work, 0.0)[0]
    return max(largest_mass(work) * speed * speed, present)


@kernel
def largest_mass(work):
    """Of what touches [kg]."""
    mass = 0.0
    for n in range(1, work.active[0] + 1):
        mass = max(mass, work.slots[work.active[n]].mass)
    return most_of_limbs(mass)


@kernel
def raise_to(model, system, work, kappa):
    """Put all contacts on the central path at a barrier, to where each pair's difference tells."""
    let_jump(model, system, work)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        w = system.contacts[k]
        w.weight, w.normal_weight, w.aim = 1.0, 1.0, kappa
        contact_land(work.slots[k], work.contacts[k], w, model.facets)


@kernel
def least_impulse(model, options, dt):
    """What gravity gives to all bodies in dt, as if it were no less than 1 m/s^2 [Ns]."""
    mass = 0.0
    for i in range(model.bodies.shape[0]):
        mass += model.bodies[i].share * model.bodies[i].mass
    return over_limbs(mass) * abs(dt) * max(1.0, sqrt(dot(options.gravity, options.gravity)))


@kernel
def final_barrier(impulse, work, options):
    """The barrier [J] at which the interior point stops, for the largest impulse at present.

    That is no less than `impulse`.

    A contact with that impulse then has the slack `contact_speed`. The scale must follow impacts:
    with s gamma fixed, a large gamma would ask for slacks below the rounding of the gap.
    """
    for n in range(1, work.active[0] + 1):
        impulse = max(impulse, work.contacts[work.active[n]].gamma)
    return options.contact_speed * most_of_limbs(impulse)


@kernel
def first_barrier(impulse, guesses, options):
    """`final_barrier` before an interval, by the contacts of the last one."""
    for k in range(guesses.active.shape[0]):
        if guesses.active[k] != 0:
            impulse = max(impulse, guesses.contacts[k].gamma)
    return options.contact_speed * most_of_limbs(impulse)


@kernel
def is_solved(scheme, model, system, work, options, merit, largest, kappa_end):
    """Whether all equations hold to their tolerances, for products of contacts up to `largest`."""
    within = max(options.tolerance, work.scratch[0].rounding)
    if are_duals(merit):
        # One more iteration follows, and the numbers alone have been solved before.
        within = ROUNDED * within
    exact = everywhere(merit < within)
    if not (exact and everywhere(largest <= 10.0 * kappa_end)):
        return False
    # Forces are impulses over dt: those of the last step, taken over, would be seen to be off.
    if not keeps_apart(model, system, work):
        return False
    opening = options.tolerance + (WEDGED if work.active[0] > 0 else OPEN)
    return keeps_closed(scheme.first_multiplier(model), model, work, opening * options.dt)


@kernel
def evenness(options):
    """The part of the barrier by which products may be off it at the end.

    Slacks are off by this part of `contact_speed`, which is next to nothing for hard contacts. For
    smooth ones it has to be within the tolerance: where iterations end off the barrier depends on
    where they begin, so derivatives of steps would be off by up to fifteen times this part.
    """
    return min(EVEN, max(options.tolerance / options.contact_speed, FLAT))


@kernel
def lands_again(attempt, landings, enough, uneven, before, smooth):
    """Whether a solution whose products are off the barrier by `uneven` is brought nearer to it.

    Hard contacts are in any attempt but a warm one: friction that slides off the barrier points
    elsewhere by the root of what it is off. Smooth ones are unless rounding lets them come no
    nearer than `before`.
    """
    if landings == LANDINGS or not somewhere(uneven > enough):
        return False
    if not smooth:
        return attempt != WARM
    return landings == 0 or somewhere(uneven < 0.5 * before)


@kernel
def is_level(uneven, before, kappa):
    """Whether products are at the barrier, or as near to it as their rounding lets them come."""
    if everywhere(uneven <= LEVEL * kappa):
        return True
    return everywhere(uneven <= ROUGH * kappa) and everywhere(uneven >= 0.5 * before)


@kernel
def meet_barrier(kappa, kappa_before, aim, aim_before, level_for):
    """The barrier at which an iteration would find the one that follows from the impulses there.

    These have followed the last aim to `kappa`, and the one before it to `kappa_before`. Where
    contacts are light or smooth they follow nearly as far, and many iterations would be needed. By
    how much, two iterations from solutions tell.
    """
    part = response(kappa - kappa_before, aim - aim_before) if level_for > 2 else 0.0
    if abs(1.0 - part) < ALIKE:
        return kappa
    return min(max(kappa + part / (1.0 - part) * (kappa - aim), 0.1 * kappa), 10.0 * kappa)


@kernel
def search(scheme, model, state, system, loads, work, dt, length, tries, merit, enough, info):
    """The longest step that comes nearer, or else the last: (residual, length, whether nearer).

    The first is of `length`, each of `tries` half as long as the one before.
    """
    trial = merit
    for n in range(tries):
        if n > 0:
            length = pick(trial <= max((1.0 - 1e-4 * length) * merit, enough), length, 0.5 * length)
        take_step(scheme, model, system, work, dt, length)
        trial = evaluate(scheme, model, state, system, loads, work, dt, info)
        if everywhere(trial <= max((1.0 - 1e-4 * length) * merit, enough)):
            return trial, length, True
    return trial, length, False


@kernel
def go_higher(scheme, model, state, system, loads, work, dt, raised, nearer, merit, mean, info):
    """Raise the barrier, from the last step or, unless that came nearer, before it; the residual.

    At a low barrier a contact is open or closed, and Newton's method may go around in circles
    between such modes of many contacts. At one whose slacks are about what is wrong it does not.
    """
    if not nearer:
        take_step(scheme, model, system, work, dt, 0.0)
    kappa = HIGHER * mean if raised else barrier_at(model, system, work, RAISED * merit)
    raise_to(model, system, work, kappa)
    return evaluate(scheme, model, state, system, loads, work, dt, info)


@kernel
def solve(scheme, model, state, system, loads, work, options, dt, attempt, info):
    """Solve the step equations from the unknowns in `work`; returns a status.

    Where slip speeds lag behind, it comes so near to a solution that jumps should find it.
    """
    clear_directions(system, work, model.facets, attempt)
    lags, behind = attempt == LAGGED, 0.0
    if lags:
        if model.facets.shape[0] > 0:
            info.residual = inf
            return STALLED
        let_lag(system, work)
    touches = work.active[0] > 0
    # The projection at the end of the last step has factored nearly the same matrix. With contacts
    # those factors bring most steps to convergence; without, a fresh matrix takes one iteration to
    # an accuracy that they would need four for.
    stale = attempt != WARM or system.valid[FACTORED] == 0 or not touches
    merit = evaluate(scheme, model, state, system, loads, work, dt, info)
    jump, length, nears = jumps(attempt), 1.0, False
    least, even = least_impulse(model, options, dt), evenness(options)
    raised, raises, landings = attempt == HOP, 0, 0
    far, short, whole, stuck, polished, levels, level_for = 0, 0, 0, 0, False, False, 0
    aim = aim_before = kappa_before = uneven_before = final_barrier(least, work, options)
    for n in range(options.max_iterations * (LAGS if lags else 1)):
        info.residual = merit
        if not isfinite(merit):
            return NOT_FINITE
        kappa_end = final_barrier(least, work, options)
        mean, largest, smallest = complementarity(model, system, work, 0.0)
        solved = is_solved(scheme, model, system, work, options, merit, largest, kappa_end)
        solved = solved and not lags
        # The tolerance would spoil order four: one more iteration leaves next to nothing of it. And
        # derivatives are those of the solution where a last iteration has its own factors. With
        # contacts that is where all products are at the barrier, which follows the impulses.
        polishes = (info.order == 4 and not touches) or are_duals(merit)
        uneven = max(largest - kappa_end, kappa_end - smallest) if touches else 0.0
        level = not are_duals(merit) or is_level(uneven, uneven_before, kappa_end)
        level = level and is_settled(kappa_end, aim)
        if are_duals(merit) and polished:
            # A shortened step has a part of the derivatives alone.
            level = level and everywhere(length >= 1.0)
        lands = lands_again(attempt, landings, even * kappa_end, uneven, uneven_before, even < EVEN)
        if solved and lands and not are_duals(merit):
            # The last step to the final barrier leaves most products above it. A jump lands on it,
            # as far as impulses do not move it. A warm start is near enough without one.
            landings, stale = landings + 1, True
            if attempt != WARM:
                jump = True
                let_jump(model, system, work)
        elif solved and ((polished and level) or not polishes) and (n > 0 or not touches):
            return CONVERGED
        polished, uneven_before = solved and level, uneven
        level_for = level_for + 1 if are_duals(merit) and solved else 0
        if level_for > 0:
            stale, jump, levels = True, False, True
        # With a high barrier its slacks are so long that smaller residuals mean nothing.
        tolerance = max(options.tolerance, work.scratch[0].rounding)
        enough = max(tolerance, 0.1 * options.contact_speed * mean / kappa_end)
        if raised and everywhere(merit <= enough):
            return SETTLED
        if attempt == WARM and n >= PATIENT and touches and few(merit >= tolerance):
            return STALLED
        goes_on = n < WARM_LIMIT or (nears and everywhere(merit < TAIL)) or landings > 0
        if attempt <= HOP and touches and not goes_on:
            return OUT_OF_ITERATIONS
        info.iterations += 1
        if stale:
            system.valid[FACTORED] = 0
            if factor(scheme, model, system, work) != 0:
                return SINGULAR
        kappa = kappa_end
        set_second_order(model, system, work, 0.0)
        if levels and not jump:
            # Without Mehrotra's terms, which leave products off a barrier that is not zero.
            kappa = meet_barrier(kappa_end, kappa_before, aim, aim_before, level_for)
        elif jump:
            kappa = max(kappa_end, pick(merit <= enough, 0.1, 1.0) * mean)
        elif attempt in (COLD, DESCENT) and touches:
            kappa = predict_barrier(scheme, model, system, work, dt, kappa_end)
        elif attempt >= CAREFUL:
            far_down = length > 0.5 or not (lags or raises_barrier(attempt))
            alike = largest < 3.0 * mean and far_down
            kappa = max(kappa_end, (0.3 if alike else 1.0) * mean)
            if lags:
                wide = largest_mass(work) * (WIDE * behind) ** 2
                kappa = max(kappa_end, min(max(kappa, wide), mean))
        kappa_before, aim_before, aim = kappa_end, aim, kappa
        refine = n > 1 and everywhere(merit < REFINE)
        find_direction(scheme, model, system, work, kappa, refine)
        length = longest_feasible_step(model, system, work, dt, CLOSE)
        if attempt != WARM and not jump:
            length = central_step(model, system, work, length)
        if attempt == WARM and touches and not jump and somewhere(length < FREE):
            jump = True
            let_jump(model, system, work)
            if not stale:
                # What factors of the last knot are too coarse for may not need to jump.
                stale = True
                continue
            length = longest_feasible_step(model, system, work, dt, CLOSE)
        remember(scheme, model, system, work)
        if jump:
            let_stay(model, system, work, everywhere(merit < LOOSE))
        # Warm starts may get worse by a first step, with the factors of the last knot.
        if jump or (attempt == WARM and touches):
            enough = LOOSE
        if are_duals(merit):
            # Where rounding is all that is left, a whole step need not come nearer.
            enough = max(enough, ROUNDED * tolerance)
        tries = 1 if whole > 0 else (5 if jump else 10)
        trial, length, nearer = search(
            scheme, model, state, system, loads, work, dt, length, tries, merit, enough, info
        )
        if not (nearer or jump):
            return STALLED
        if attempt in (WARM, HOP) and jump and raises < RAISES:
            late = not raised and n >= PATIENCE and somewhere(trial > SLOW)
            late = late and (n >= PATIENT or not few(trial > SLOW))
            if late or not nearer:
                merit = go_higher(
                    scheme, model, state, system, loads, work, dt, raised, nearer, merit, mean, info
                )
                raises, raised, stale = raises + 1, True, True
                continue
        # A jump that lands too far even when it is short is made all the same: it leads elsewhere.
        far += 1 if jump and not nearer and whole == 0 else 0
        stuck = stuck + 1 if not jump and somewhere(trial > 0.99 * merit) else 0
        if (attempt <= HOP and far == FAR) or stuck == STUCK:
            info.residual = trial
            return STALLED
        if lags:
            behind = let_follow(system, work, FOLLOWS * length)
            stuck = 0
            if everywhere(max(behind, trial) < CAUGHT) and everywhere(mean < 3.0 * kappa_end):
                info.residual = trial
                return STALLED
            trial = evaluate(scheme, model, state, system, loads, work, dt, info)
        gains_little = somewhere(length < 0.2) and somewhere(trial > 0.8 * merit)
        short = short + 1 if gains_little else 0
        whole = max(whole - 1, 0)
        if jump and short == SHORT:
            short, whole = 0, SHORT
        nears = everywhere(trial < 0.7 * merit)
        # Factors that leave so little are good for as much again, at the same barrier. Beside
        # contacts, what is within the tolerance may still be more than the slack of a closed one.
        if touches:
            enough = min(tolerance, FINE * merit)
            stale = jump or attempt != WARM or not everywhere(trial < enough)
        else:
            stale = not everywhere(trial * trial < 0.1 * tolerance * merit)
        merit = trial
    info.residual = merit
    return OUT_OF_ITERATIONS
