"""One step, stage by stage.

The state is a knot z1 with the momenta there. A step finds the motion over the interval that
satisfies Eqs. (29a) to (29f), puts the bodies at the second knot z2 and reads the velocities
there. Forces act half at either end of the interval, constraint and contact impulses at z1.
The momentum that enters a knot is carried by summing impulses, so that what the tolerance
leaves of the equations does not add up: momentum, linear and angular, is conserved to rounding.
"""

import numpy as np

from robosim.compiled.kinds import DRY, HINGE
from robosim.compiled.memory import FACTORED, PLACED
from robosim.kernels.compiler.addresses import call_solver, copy_record
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.compiler.lanes import (
    least_of_limbs,
    most_of_limbs,
    over_limbs,
    pick,
    somewhere,
)
from robosim.kernels.contact.active_set import (
    admit_entered,
    admit_reached,
    choose_contacts,
    ground_gap,
    use_coordinates,
)
from robosim.kernels.contact.kinematics import RECOVERY_SPEED, on_joint
from robosim.kernels.contact.law import contact_guess, contact_keeps
from robosim.kernels.equations.algebra import (
    assign,
    clear_rows,
    dot,
    fill,
    rotate,
    rotate_back,
    similarity,
)
from robosim.kernels.equations.arcs import add_changes, find_changes
from robosim.kernels.equations.body import turn_from_rate
from robosim.kernels.equations.coordinates import (
    add_joint_forces,
    load_directions,
    load_poses,
    read_joints,
)
from robosim.kernels.equations.joint import (
    joint_motion_map,
    joint_residual,
    read_coordinates,
    read_velocities,
)
from robosim.kernels.equations.tendon import follow_tendon, is_tendon
from robosim.kernels.solve.interior_point import (
    CAREFUL,
    COLD,
    CONVERGED,
    FIRST_PATH,
    GIVES_ENERGY,
    HOP,
    LAST,
    LOOSE,
    NEEDS_BLOCKS,
    NOT_SMOOTH,
    TURNS_FAR,
    WARM,
    center_contacts,
    clear_directions,
    first_barrier,
    jumps,
    least_impulse,
    longest_inside,
    raises_barrier,
    set_second_order,
    solve,
    start_jump,
)
from robosim.kernels.solve.newton import evaluate, factor, find_direction, find_loop_rows
from robosim.kernels.solve.tree.free import solve_untouched
from robosim.kernels.solve.tree.tree import (
    add_tree_forces,
    axes_apart,
    choose_trend,
    finish_poses,
    guess_tree,
    has_directions,
    interval_rates,
    learn_rate,
    meet_velocities,
    move_tree,
    points_apart,
    push_somewhere,
    read_rates,
    start_joint,
    start_tree,
    turned_angle,
)
from robosim.kernels.step.velocities import (
    add_motion,
    find_velocities,
    gather_momenta,
    is_tied,
    project_changes,
)

HALF_RADIAN = 0.8775825618903728  # its cosine
FINE = 8  # parts of a step from which on contacts may do whatever work their equations ask for
CURVED = 0.01  # part of the kinetic energy that contacts may give where surfaces are curved
SLIGHT = 1e-8  # [m/s], changes of contacts that are not worth a guess
# Of the composition of order four: (PARTS - 1) PART^3 + (1 - (PARTS - 1) PART)^3 = 0.
PARTS = 7
PART = 1.0 / (PARTS - 1.0 - (PARTS - 1.0) ** (1.0 / 3.0))


@stage
def step(model, state, memory, loads, work, options, solver, asked, info):
    """Advance the state by options.dt, in parts if need be; returns info.status.

    `solver` is where `find_motion` is found, and the address of what it works on. The velocities at
    the knot that it ends at are there if they are `asked` for, or if the next step needs them.

    On failure the state is left at the knot that it came from.
    """
    info.iterations = 0
    info.substeps = 1
    info.order = allowed_order(loads, options)
    if info.order == 4:
        save(state, memory.guesses, work)
    while True:
        gap, violation, end = np.inf, 0.0, 0.0
        for part in range(last_part(info) + 1):
            fraction = part_of_step(info, part)
            end += fraction
            dt = fraction * options.dt
            show = asked and part == last_part(info)
            info.status = advance(
                model, state, memory, loads, work, options, solver, dt, end, show, info
            )
            if info.order == 4 and info.status == CONVERGED and work.active[0] > 0:
                info.status = NOT_SMOOTH
            if info.status != CONVERGED:
                break
            gap, violation = min(gap, info.gap), max(violation, info.violation)
        if info.status == CONVERGED:
            info.gap, info.violation = gap, violation
            return info.status
        fill(0, memory.system.valid)
        # A first interval that fails has moved nothing yet, so it is what there is to save.
        if info.order == 2 and info.substeps == 1:
            save(state, memory.guesses, work)
        else:
            copy_state(work.saved, state)
            copy_guesses(work.learned, memory.guesses)
        if info.status == NEEDS_BLOCKS:
            return info.status
        if info.order == 4:
            info.order = 2
        elif 2 * info.substeps > options.max_substeps:
            return info.status
        else:
            info.substeps *= 2


@kernel
def allowed_order(loads, options):
    """The order asked for, or 2 with servos: they look ahead, and a step back would excite them."""
    if options.order == 4:
        for v in range(loads.drives.shape[0]):
            if loads.drives[v].kp != 0.0 or loads.drives[v].kd != 0.0:
                return 2
    return options.order


@kernel
def last_part(info):
    """Number of the last part of a step; the first is 0."""
    return PARTS - 1 if info.order == 4 else info.substeps - 1


@kernel
def part_of_step(info, part):
    """Length of a part as a fraction of the step.

    Order four is a symmetric composition of steps of order two, of which the middle one goes
    back [Suzuki1990]. Seven of them have an eighth of the error of the usual five.
    """
    if info.order == 2:
        return 1.0 / info.substeps
    return 1.0 - (PARTS - 1) * PART if part == PARTS // 2 else PART


@kernel
def save(state, guesses, work):
    """Keep what a step goes back to if a part of it fails."""
    copy_state(state, work.saved)
    copy_guesses(guesses, work.learned)


@kernel
def copy_state(source, target):
    """All of a state into another one."""
    for i in range(source.bodies.shape[0]):
        copy_record(source.bodies[i], target.bodies[i])
    for j in range(source.joints.shape[0]):
        copy_record(source.joints[j], target.joints[j])
    for n in range(source.couplings.shape[0]):
        copy_record(source.couplings[n], target.couplings[n])
    assign(source.q, target.q)
    assign(source.v, target.v)
    assign(source.last_dt, target.last_dt)
    assign(source.stale, target.stale)


@kernel
def copy_guesses(source, target):
    """All of guesses into other ones; of contacts those that are active."""
    for j in range(source.joints.shape[0]):
        copy_record(source.joints[j], target.joints[j])
    assign(source.active, target.active)
    assign(source.ids, target.ids)
    first = source.contacts.shape[0] - source.features.shape[0]
    for k in range(source.contacts.shape[0]):
        if source.active[k] != 0:
            copy_record(source.contacts[k], target.contacts[k])
            if k >= first:
                copy_record(source.features[k - first], target.features[k - first])
    assign(source.trend, target.trend)
    assign(source.contact_trend, target.contact_trend)


@stage
def advance(model, state, memory, loads, work, options, solver, dt, end, asked, info):
    """Advance the state by one interval dt without substeps; returns a status.

    `end` is where the interval ends within the step, as a fraction of it. The motion is the same
    whether velocities are asked for or not: it makes use of them where contacts or torques act, and
    there they are always found.
    """
    start_interval(model, model.tree, state, memory.system, loads, work, options, dt, end)
    status = call_solver(solver[0], solver[1], dt, info)
    if status == CONVERGED and turns_far(work):
        status = TURNS_FAR
    may_divide = 2 * info.substeps <= min(FINE, options.max_substeps)
    if (
        status == CONVERGED
        and may_divide
        and contacts_give(model, state, memory.system, work, options, dt)
    ):
        status = GIVES_ENERGY
    if status != CONVERGED:
        return status
    gather_momenta(model, model.tree, model.loops, memory.system, loads, work, options, dt)
    push = size_of_push(loads, work)
    shows = asked or model.tree is None or somewhere(push > 0.0)
    if shows:
        status = find_velocities(model, model.tree, memory.system, loads, work, dt)
        if status == CONVERGED:
            # The parts of a step of order four make up for each other in what the momenta show.
            arc = 0.0 if options.order == 4 else dt
            show_velocities(model, model.tree, model.loops, state, memory.system, loads, work, arc)
    else:
        memory.system.valid[FACTORED] = 0
    if status == CONVERGED:
        state.stale[0] = 0.0 if shows else 1.0
        last_dt = state.last_dt[0]
        commit(model, model.tree, model.loops, state, memory.system, work, dt, info)
        learn(model, model.tree, state, memory, work, dt, last_dt, shows, push, info)
    return status


@kernel
def find_knot_velocities(model, tree, state, system, loads, work, options):
    """Velocities at the knot where the state is, if nobody had asked for them."""
    if tree is None or state.stale[0] == 0.0:
        return
    dt = state.last_dt[0]
    fill(0, system.valid)
    start_interval(model, tree, state, system, loads, work, options, 0.0, 0.0)
    work.active[0] = 0
    for b in range(model.bodies.shape[0]):
        joint, w, knot = model.joints[b], system.tree[b], state.joints[b]
        fill(0.0, w.Q)
        fill(0.0, w.slide)
        w.Q[0] = 1.0
        assign(knot.rotor, work.joints[b].rotor)
        assign(knot.mid, work.joints[b].rate)
        for k in range(joint.m_T + joint.m_R + (1 if joint.m_R == 3 else 0)):
            work.q2[joint.q_begin + k] = state.q[joint.q_begin + k]
    move_tree(model.joints, work.bodies, system.tree, dt)
    for b in range(model.bodies.shape[0]):
        copy_record(system.pose1[b], work.pose2[b])
    find_loop_rows(model, model.loops, work)
    if find_velocities(model, tree, system, loads, work, dt) == CONVERGED:
        arc = dt if options.order == 2 else 0.0
        show_velocities(model, tree, model.loops, state, system, loads, work, arc)
        state.stale[0] = 0.0
    fill(0, system.valid)


@kernel
def size_of_push(loads, work):
    """Not zero where contacts or torques act."""
    size = 1.0 if work.active[0] > 0 else 0.0
    if push_somewhere(loads.tau):
        for v in range(loads.tau.shape[0]):
            size += abs(loads.tau[v])
    return over_limbs(size)


@kernel
def turns_far(work):
    """Whether a body turns by more than a radian.

    The momentum of a turn grows as its sine: beyond a quarter turn a faster one has less of it,
    and an impact that is solved there gives energy.
    """
    for i in range(work.bodies.shape[0]):
        if somewhere(work.bodies[i].P[0] < HALF_RADIAN):
            return True
    return False


@kernel
def contacts_give(model, state, system, work, options, dt):
    """Whether contacts do more work than recovery, curvature and gravity within a step explain.

    An impulse works along the mean of the motions before and after it. Where bodies turn far within
    the step, an impact has solutions in which that is a lot, and which a shorter step has not.
    Beside limits that are reached it cannot be told: what they take, contacts may seem to give.
    """
    t, nb, work_done = work.scratch[0], model.bodies.shape[0], 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if on_joint(contact):
            if contact.kind != DRY:
                return False
            continue
        fill(0.0, t.w)
        if contact.body < nb:
            add_motions(w.L, state.bodies[contact.body], work.bodies[contact.body], dt, t.w)
        if contact.other < nb:
            add_motions(w.L_o, state.bodies[contact.other], work.bodies[contact.other], dt, t.w)
        work_done += contact.part * 0.5 * dot(w.f, t.w)
    work_done = over_limbs(work_done)
    if not somewhere(work_done > 0.0):
        return False
    energy, mass = 0.0, 0.0
    for i in range(nb):
        body, motion = model.bodies[i], work.bodies[i]
        for k in range(3):
            t.w[k] = 2.0 / dt * motion.P[1 + k]
        rotate(system.inertias[i].J, t.w, t.y)
        energy += body.part * 0.5 * (body.mass * dot(motion.v, motion.v) + dot(t.w, t.y))
        mass += body.part * body.mass
    fall = RECOVERY_SPEED * RECOVERY_SPEED + dt * dt * dot(options.gravity, options.gravity)
    explained = over_limbs(CURVED * energy + mass * fall)
    return somewhere(work_done > explained)


@kernel
def add_motions(L, before, after, dt, out):
    """out (3,) += L times the sum of a body's velocities before and after a knot."""
    add_motion(L, after, dt, out)
    for i in range(3):
        for k in range(6):
            out[i] += L[i, k] * before.v_mid[k]


@kernel
def start_interval(model, tree, state, system, loads, work, options, dt, end):
    """What the equations take from the first knot: poses, inertias, momenta, known impulses."""
    placed = system.valid[PLACED] != 0
    # A projection of the velocities at the knot of a tree has found its inertias as well.
    turned = tree is not None and placed and system.valid[FACTORED] != 0
    if not placed:
        load_poses(model, state, system.pose1)
        load_directions(model, tree, system, work)
    for i in range(model.bodies.shape[0]):
        if not turned:
            similarity(system.pose1[i].R, model.bodies[i].inertia, system.inertias[i].J)
    for i in range(model.bodies.shape[0]):
        body = model.bodies[i]
        for k in range(6):
            work.known[i].w[k] = state.bodies[i].p[k] + 0.5 * dt * loads.external[i].w[k]
        for k in range(3):
            work.known[i].w[k] += 0.5 * dt * body.mass * options.gravity[k]
    if tree is not None:
        if not placed:
            start_tree(model.joints, system.pose1, system.tree, work.scratch[0])
        add_tree_forces(
            model.joints,
            system.pose1,
            loads.tau,
            0.5 * dt,
            False,
            system.tree,
            work.scratch[0],
            work.known,
        )
    else:
        for j in range(model.bodies.shape[0], model.joints.shape[0]):
            joint = model.joints[j]
            if is_tendon(joint):
                follow_tendon(model, joint, system.pose1, state.q, work.span1, work.scratch[0])
        scale, known = 0.5 * dt, work.known
        add_joint_forces(model, system.pose1, work.span1, loads.tau, scale, work, known)
    # Rows that no equation has stay zero.
    clear_rows(work.residual)
    for j in range(model.joints.shape[0]):
        joint = model.joints[j]
        work.joints[j].rows = joint.n_T + joint.n_R
        if joint.law != 0 or has_servo(joint, loads.drives):
            choose_rows(model, system, loads, work, j, options.dt, end)


@kernel
def has_servo(joint, drives):
    """Whether a servo drives a coordinate of a joint."""
    for v in range(joint.v_begin, joint.v_begin + joint.m_T + joint.m_R):
        if drives[v].kp != 0.0 or drives[v].kd != 0.0:
            return True
    return False


@kernel
def choose_rows(model, system, loads, work, j, dt, end):
    """Take joint j's coordinates into the equations, and see where driven ones have to be."""
    joint, w = model.joints[j], work.joints[j]
    use_coordinates(model, model.tree, system, work, j)
    for row in range(joint.m_T + joint.m_R):
        driven = model.coordinates[joint.v_begin + row].driven
        w.held[row] = 1 if driven >= 0 else 0
        if driven >= 0:
            w.goal[row], w.goal_rate[row] = along_motion(loads.motion[driven], dt, end)


@kernel
def along_motion(m, dt, s):
    """(value, rate) at the fraction s of a step, by the cubic through the values at its ends."""
    rise = m.q2 - m.q1
    a, b = dt * m.v1 - rise, -dt * m.v2 + rise
    r = 1.0 - s
    value = r * m.q1 + s * m.q2 + s * r * (r * a + s * b)
    return value, (rise + (r - s) * (r * a + s * b) + s * r * (b - a)) / dt


@kernel
def guess_motion(model, tree, state, memory, work, dt, ahead, learns):
    """Unknowns of bodies and joints: their rates `ahead` of the knot [s], as they have changed.

    With `learns` guesses before this one tell by how much it would miss, in a tree.
    """
    t, since = work.scratch[0], 0.5 * state.last_dt[0]
    if tree is not None:
        guess_tree(
            model.joints,
            state.joints,
            memory.guesses.joints,
            memory.guesses.trend,
            memory.system.pose1,
            memory.system.tree,
            t,
            dt,
            since + ahead,
            pick(state.last_dt[0] == dt, 1.0, 0.0) if learns else 0.0,
        )
        for j in range(model.bodies.shape[0], model.joints.shape[0]):
            assign(state.joints[j].impulse, work.joints[j].impulse)
        return
    # After a start there is no change yet.
    extrapolate = pick(since != 0.0, ahead / since, 0.0)
    for i in range(model.bodies.shape[0]):
        body, w = state.bodies[i], work.bodies[i]
        rotate(memory.system.pose1[i].R, body.omega, t.w)
        for k in range(3):
            w.v[k] = body.v[k] + extrapolate * (body.v[k] - body.v_mid[k])
            t.w[k] += extrapolate * (t.w[k] - body.v_mid[3 + k])
        turn_from_rate(t.w, dt, w.P)
    for j in range(model.joints.shape[0]):
        assign(state.joints[j].impulse, work.joints[j].impulse)
    for n in range(model.couplings.shape[0]):
        work.couplings[n].impulse = state.couplings[n].impulse


@kernel
def guess_contacts(model, tree, facets, state, memory, work, dt, kappa):
    """Variables of the contacts of a tree where they are heading for, at the barrier `kappa`.

    They stay as the last interval has left them if that is not to be foretold, and with facets.
    """
    if tree is None or facets is not None or not somewhere(memory.guesses.contact_trend[0] > 0.0):
        return
    regular = pick(state.last_dt[0] == dt, 1.0, 0.0)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], memory.system.contacts[k]
        contact_guess(contact, c, w, facets, memory.guesses.contact_trend, regular, kappa)


@stage
def find_motion(model, state, memory, loads, work, options, dt, info):
    """Choose the contacts of an interval and solve its equations; returns a status.

    Compiled by itself, beside the rest of the step, and called by its address.
    """
    kappa = first_barrier(least_impulse(model, options, dt), memory.guesses, options)
    status = choose_contacts(model, state, memory, work, options, dt, kappa)
    if status == CONVERGED:
        status = solve_interval(model, state, memory, loads, work, options, dt, kappa, info)
    return status


@stage
def solve_interval(model, state, memory, loads, work, options, dt, kappa, info):
    """Try a warm start, then colder ones; let contacts in that were reached unexpectedly."""
    # In a record, as the compiler would make a copy of all that follows for the constant.
    info.attempt = WARM
    while True:
        if info.attempt == WARM:
            guess_motion(model, model.tree, state, memory, work, dt, 0.5 * dt, True)
            guess_contacts(model, model.tree, model.facets, state, memory, work, dt, kappa)
        elif info.attempt == HOP:
            guess_motion(model, model.tree, state, memory, work, dt, 0.0, False)
            evaluate(model, state, memory.system, loads, work, dt, info)
            start_jump(model, memory.system, work)
        elif jumps(info.attempt):
            start_jump(model, memory.system, work)
        else:
            start_cold(model, state, memory, loads, work, dt, kappa, info)
        status = solve_any(
            model, model.tree, model.loops, state, memory, loads, work, options, dt, info
        )
        if status == CONVERGED:
            finish_poses(model, model.tree, memory.system, work, dt)
            before = work.active[0]
            admit_reached(model, model.tree, state, memory.system, work, options, dt, kappa)
            status = admit_entered(model, model.collision, memory.system, work, options, dt, kappa)
            if status != CONVERGED or work.active[0] == before:
                return status
            info.attempt = COLD
            continue
        info.attempt += 1
        if info.attempt > CAREFUL and jumps(info.attempt) and not info.residual < LOOSE:
            info.attempt += 1
        last = FIRST_PATH if info.substeps == 1 else LAST
        if info.attempt > min(last, options.last_attempt) or work.active[0] == 0:
            return status


@kernel
def solve_any(model, tree, loops, state, memory, loads, work, options, dt, info):
    """Solve the equations from where the unknowns are, in the shortest way; returns a status."""
    if tree is not None and info.attempt == WARM and work.active[0] == 0:
        status = solve_untouched(model, loops, state, memory.system, loads, work, options, dt, info)
        if status == CONVERGED:
            return status
        guess_motion(model, tree, state, memory, work, dt, 0.5 * dt, False)
    return solve(model, state, memory.system, loads, work, options, dt, info.attempt, info)


@kernel
def start_cold(model, state, memory, loads, work, dt, kappa, info):
    """Start far inside the cones, to follow the central path down to `kappa`."""
    guess_motion(model, model.tree, state, memory, work, dt, 0.0, False)
    evaluate(model, state, memory.system, loads, work, dt, info)
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
    left = evaluate(model, state, memory.system, loads, work, dt, info)
    speed = max(speed, min(left, 3.0 * speed))
    kappa = max(kappa, mass * speed * speed)
    center_contacts(model, memory.system, work, kappa, speed, info.attempt)
    if raises_barrier(info.attempt):
        raise_barrier(model, state, memory.system, loads, work, dt, kappa, speed, info)


@kernel
def raise_barrier(model, state, system, loads, work, dt, kappa, speed, info):
    """Raise the barrier until a whole Newton step stays inside the cones."""
    for _ in range(5):
        info.iterations += 1
        evaluate(model, state, system, loads, work, dt, info)
        clear_directions(system, work, model.facets, info.attempt)
        system.valid[FACTORED] = 0
        if factor(model, model.tree, system, work) != 0:
            return
        set_second_order(model, system, work, 0.0)
        find_direction(model, model.tree, system, work, kappa, False)
        if longest_inside(model, system, work, 1.0, 1.0) > 0.9:
            return
        kappa *= 10.0
        center_contacts(model, system, work, kappa, speed, info.attempt)


@kernel
def read_loops(model, loops, state, work, dt):
    """The same of the joints that close loops."""
    t = work.scratch[0]
    for n in range(loops.joint.shape[0]):
        j = loops.joint[n]
        joint, mid = model.joints[j], state.joints[j].mid
        a, b = work.pose2[joint.parent], work.pose2[joint.child]
        for row in range(joint.m_T + joint.m_R):
            mid[row] = state.q[joint.q_begin + row]
        read_coordinates(joint, a, b, t, state.q)
        for row in range(joint.m_T + joint.m_R):
            mid[row] = (state.q[joint.q_begin + row] - mid[row]) / dt


@kernel
def show_velocities(model, tree, loops, state, system, loads, work, arc):
    """Velocities of bodies and joints at the second knot, read along arcs of length `arc` [s]."""
    for i in range(model.bodies.shape[0]):
        assign(work.twists[i].w, state.bodies[i].shown)
    if find_changes(model, work.pose2, work.twists, arc, False, work):
        if is_tied(model, loads):
            project_changes(model, tree, work.pose2, system, work)
        add_changes(model, work, work.twists)
    for i in range(model.bodies.shape[0]):
        body, twist = state.bodies[i], work.twists[i].w
        assign(twist[:3], body.v)
        rotate_back(work.pose2[i].R, twist[3:], body.omega)
    fill(0.0, work.twists[model.bodies.shape[0]].w)
    t = work.scratch[0]
    if tree is not None:
        for b in range(model.bodies.shape[0]):
            joint = model.joints[b]
            a, child = work.pose2[joint.parent], work.pose2[b]
            read_rates(joint, system.tree[b], a, child, work.twists, t, state.v)
    if loops is not None:
        for n in range(loops.joint.shape[0]):
            joint = model.joints[loops.joint[n]]
            over, on = work.twists[joint.parent].w, work.twists[joint.child].w
            a, child = work.pose2[joint.parent], work.pose2[joint.child]
            joint_motion_map(joint, a, child, t, 0, t.S_a, t.S_b)
            read_velocities(t.S_a, t.S_b, over, on, joint, state.v)


@kernel
def commit(model, tree, loops, state, system, work, dt, info):
    """Move the state to the second knot, all of it but the velocities there; note the gap."""
    info.gap, info.violation = np.inf, 0.0
    for i in range(model.bodies.shape[0]):
        body, w, pose, parameters = state.bodies[i], work.bodies[i], work.pose2[i], model.bodies[i]
        for k in range(3):
            body.x[k] = pose.x[k]
            body.v_mid[k] = w.v[k]
            body.v_mid[3 + k] = 2.0 / dt * w.P[1 + k]
        assign(pose.q, body.q)
        assign(work.known[i].w, body.p)
        if somewhere(pose.x[2] - parameters.reach < info.gap):
            for k in range(parameters.contact_begin, parameters.contact_end):
                info.gap = min(info.gap, ground_gap(work.slots[k], pose))
    for j in range(model.joints.shape[0]):
        joint, w, knot = model.joints[j], work.joints[j], state.joints[j]
        assign(w.rotor, knot.rotor)
        assign(w.impulse, knot.impulse)
        if tree is None or j >= model.bodies.shape[0]:
            for row in range(w.rows, 6):
                knot.impulse[row] = 0.0
            for k in range(6):
                info.violation = max(info.violation, abs(w.g[k]))
    for n in range(model.couplings.shape[0]):
        info.violation = max(info.violation, abs(work.couplings[n].g))
        state.couplings[n].impulse = work.couplings[n].impulse
    if tree is None:
        read_joints(model, tree, state, work, work.pose2, work.twists, 0)
        for j in range(model.joints.shape[0]):
            joint = model.joints[j]
            for row in range(joint.m_T + joint.m_R):
                state.joints[j].mid[row] = state.v[joint.v_begin + row]
    else:
        read_tree(model, state, system, work, dt)
    if loops is not None:
        read_loops(model, loops, state, work, dt)
    state.last_dt[0] = dt


@kernel
def read_tree(model, state, system, work, dt):
    """Coordinates of a tree's joints at the second knot, and their rates over the interval."""
    t = work.scratch[0]
    for b in range(model.bodies.shape[0]):
        joint, w, knot = model.joints[b], system.tree[b], state.joints[b]
        assign(knot.mid, work.joints[b].before)
        interval_rates(joint, system.pose1[b], w, dt, knot.mid)
        if joint.kind == HINGE:
            state.q[joint.q_begin] += turned_angle(w.Q)
        else:
            read_coordinates(joint, work.pose2[joint.parent], work.pose2[b], t, state.q)


@kernel
def learn(model, tree, state, memory, work, dt, last_dt, shows, push, info):
    """What the next interval begins with; on the way, how far a tree's joints are violated.

    The interval before was `last_dt` long. Guesses learn from intervals that are alike.
    """
    regular, misses = pick(last_dt == dt, 1.0, 0.0), work.scratch[0].misses
    learn_contacts(model, tree, memory, work, regular, misses, info)
    if tree is None:
        place_graph(model, memory.system, work)
    else:
        since = 0.5 * (dt + last_dt)
        learn_rates(model, state, memory.guesses, work, dt, since, regular, shows, push, misses)
        place_tree(model, memory.system, work, info)
    memory.system.valid[PLACED] = 1
    info.gap, info.violation = least_of_limbs(info.gap), most_of_limbs(info.violation)


@kernel
def learn_contacts(model, tree, memory, work, regular, misses, info):
    """Keep the contacts of the equations, with their variables and how these have changed."""
    guesses, first = memory.guesses, model.contacts.shape[0]
    assign(work.entered, guesses.active)
    assign(work.ids, guesses.ids)
    fill(0.0, misses)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        if k >= first:
            info.gap = min(info.gap, memory.system.contacts[k].gap)
            copy_record(work.slots[k], guesses.features[k - first])
        if tree is not None and model.facets is None:
            contact_keeps(work.slots[k], work.contacts[k], regular, misses)
        copy_record(work.contacts[k], guesses.contacts[k])
    choose_trend(misses, SLIGHT * SLIGHT, guesses.contact_trend)


@kernel
def learn_rates(model, state, guesses, work, dt, since, regular, shows, push, misses):
    """How the rates of a tree's coordinates have changed, and by how much guesses missed them."""
    fill(0.0, misses)
    for b in range(model.bodies.shape[0]):
        joint, knot, guess = model.joints[b], state.joints[b], guesses.joints[b]
        for row in range(joint.m_T + joint.m_R):
            rate, before = knot.mid[row], work.joints[b].before[row]
            learn_rate(rate, before, row, guess, since, regular, misses)
        if shows:
            meet_velocities(joint, state.v, state.bodies, knot, guess, push > 0.0, dt)
    choose_trend(misses, 0.0, guesses.trend)


@kernel
def place_graph(model, system, work):
    """Poses and directions of joints where the next interval begins."""
    for i in range(model.bodies.shape[0]):
        copy_record(work.pose2[i], system.pose1[i])
    for j in range(model.joints.shape[0]):
        if model.joints[j].node >= 0:
            place_directions(system.directions[j], work.joints[j])


@kernel
def place_directions(way, w):
    """Directions of a joint at the second knot, for the interval that begins there."""
    way.rows = w.rows
    for k in range(6):
        assign(w.G_a[k], way.G_a[k])
        assign(w.G_b[k], way.G_b[k])


@kernel
def place_tree(model, system, work, info):
    """A tree where the next interval begins; notes how far its joints are violated there."""
    t, nb = work.scratch[0], model.bodies.shape[0]
    for b in range(nb):
        copy_record(work.pose2[b], system.pose1[b])
    for b in range(nb):
        joint, w = model.joints[b], system.tree[b]
        a, child = system.pose1[joint.parent], system.pose1[b]
        start_joint(joint, system.pose1, system.tree[joint.parent].rho1, w, t)
        if has_directions(joint):
            joint_residual(joint, a, child, t, w.u)
            for k in range(6):
                info.violation = max(info.violation, abs(w.u[k]))
        else:
            info.violation = max(info.violation, points_apart(w))
        if joint.kind == HINGE:
            info.violation = max(info.violation, axes_apart(joint, a, w))
    for j in range(nb, model.joints.shape[0]):
        place_directions(system.directions[j], work.joints[j])
