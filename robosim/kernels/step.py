"""One step, stage by stage.

The state is a knot z1 with the momenta there. A step finds the motion over the interval that
satisfies Eqs. (29a) to (29f), puts the bodies at the second knot z2 and reads the velocities
there. Forces act half at either end of the interval, constraint and contact impulses at z1.
The momentum that enters a knot is carried by summing impulses, so that what the tolerance
leaves of the equations does not add up: momentum, linear and angular, is conserved to rounding.
"""

import numpy as np

from robosim.compiled.kinds import DRY, HINGE
from robosim.kernels.addresses import call_solver, copy_record
from robosim.kernels.admission import (
    admit_entered,
    admit_reached,
    choose_contacts,
    ground_gap,
    use_coordinates,
)
from robosim.kernels.algebra import assign, dot, fill, rotate, rotate_back, similarity
from robosim.kernels.arcs import add_changes, find_changes
from robosim.kernels.body import turn_from_rate
from robosim.kernels.contact import contact_guess, contact_keeps
from robosim.kernels.coordinates import add_joint_forces, load_poses, read_joints
from robosim.kernels.interior_point import (
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
    final_barrier,
    jumps,
    least_impulse,
    longest_inside,
    raises_barrier,
    set_second_order,
    solve,
    start_jump,
)
from robosim.kernels.jit import kernel, stage
from robosim.kernels.joint import (
    joint_motion_map,
    joint_residual,
    read_coordinates,
    read_velocities,
)
from robosim.kernels.knot import (
    add_motion,
    find_velocities,
    gather_momenta,
    is_tied,
    project_changes,
)
from robosim.kernels.lanes import (
    least_of_limbs,
    most_of_limbs,
    over_limbs,
    pick,
    somewhere,
)
from robosim.kernels.newton import evaluate, factor, find_direction, find_loop_rows
from robosim.kernels.tendon import follow_tendon, is_tendon
from robosim.kernels.touch import RECOVERY_SPEED, on_joint
from robosim.kernels.tree import (
    add_tree_forces,
    axes_apart,
    choose_trend,
    finish_poses,
    guess_tree,
    has_directions,
    keep_rates,
    meet_velocities,
    move_tree,
    points_apart,
    push_somewhere,
    read_rates,
    start_joint,
    start_tree,
    turned_angle,
)
from robosim.kernels.untouched import solve_untouched

HALF_RADIAN = 0.8775825618903728  # its cosine
FINE = 8  # parts of a step from which on contacts may do whatever work their equations ask for
CURVED = 0.01  # part of the kinetic energy that contacts may give where surfaces are curved
SLIGHT = 1e-8  # [m/s], changes of contacts that are not worth a guess
# Of the composition of order four: (PARTS - 1) PART^3 + (1 - (PARTS - 1) PART)^3 = 0.
PARTS = 7
PART = 1.0 / (PARTS - 1.0 - (PARTS - 1.0) ** (1.0 / 3.0))


@stage
def step(model, state, work, options, solver, asked, info):
    """Advance the state by options.dt, in parts if need be; returns info.status.

    `solver` is where `find_motion` is found, and the address of what it works on. The velocities at
    the knot that it ends at are there if they are `asked` for, or if the next step needs them.

    On failure the state is left at the knot that it came from.
    """
    info.iterations = 0
    info.substeps = 1
    info.order = allowed_order(work, options)
    last_dt, stale = work.last_dt[0], work.stale[0]
    if info.order == 4:
        copy_state(state, work.saved)
    while True:
        gap, violation, end = np.inf, 0.0, 0.0
        for part in range(last_part(info) + 1):
            fraction = part_of_step(info, part)
            end += fraction
            dt = fraction * options.dt
            show = asked and part == last_part(info)
            info.status = advance(model, state, work, options, solver, dt, end, show, info)
            if info.order == 4 and info.status == CONVERGED and work.active[0] > 0:
                info.status = NOT_SMOOTH
            if info.status != CONVERGED:
                break
            gap, violation = min(gap, info.gap), max(violation, info.violation)
        if info.status == CONVERGED:
            info.gap, info.violation = gap, violation
            return info.status
        fill(0, work.factored)
        # A first interval that fails has moved nothing yet, so it is what there is to save.
        if info.order == 2 and info.substeps == 1:
            copy_state(state, work.saved)
        else:
            copy_state(work.saved, state)
            work.last_dt[0], work.stale[0] = last_dt, stale
        if info.status == NEEDS_BLOCKS:
            return info.status
        if info.order == 4:
            info.order = 2
        elif 2 * info.substeps > options.max_substeps:
            return info.status
        else:
            info.substeps *= 2


@kernel
def allowed_order(work, options):
    """The order asked for, or 2 with servos: they look ahead, and a step back would excite them."""
    if options.order == 4:
        for v in range(work.drives.shape[0]):
            if work.drives[v].kp != 0.0 or work.drives[v].kd != 0.0:
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
def copy_state(source, target):
    """All of a state into another one."""
    for i in range(source.bodies.shape[0]):
        copy_record(source.bodies[i], target.bodies[i])
    for j in range(source.joints.shape[0]):
        copy_record(source.joints[j], target.joints[j])
    for n in range(source.couplings.shape[0]):
        copy_record(source.couplings[n], target.couplings[n])
    for k in range(source.contacts.shape[0]):
        copy_record(source.contacts[k], target.contacts[k])
    assign(source.q, target.q)
    assign(source.v, target.v)
    assign(source.trend, target.trend)
    assign(source.contact_trend, target.contact_trend)


@stage
def advance(model, state, work, options, solver, dt, end, asked, info):
    """Advance the state by one interval dt without substeps; returns a status.

    `end` is where the interval ends within the step, as a fraction of it. The motion is the same
    whether velocities are asked for or not: it makes use of them where contacts or torques act, and
    there they are always found.
    """
    start_interval(model, model.tree, state, work, options, dt, end)
    status = call_solver(solver[0], solver[1], dt, info)
    if status == CONVERGED and turns_far(work):
        status = TURNS_FAR
    may_divide = 2 * info.substeps <= min(FINE, options.max_substeps)
    if status == CONVERGED and may_divide and contacts_give(model, state, work, options, dt):
        status = GIVES_ENERGY
    if status != CONVERGED:
        return status
    gather_momenta(model, model.tree, model.loops, state, work, options, dt)
    push = size_of_push(work)
    shows = asked or model.tree is None or somewhere(push > 0.0)
    if shows:
        status = find_velocities(model, model.tree, state, work, dt)
        if status == CONVERGED:
            # The parts of a step of order four make up for each other in what the momenta show.
            arc = 0.0 if options.order == 4 else dt
            show_velocities(model, model.tree, model.loops, state, work, arc)
    else:
        work.factored[0] = 0
    if status == CONVERGED:
        work.stale[0] = 0.0 if shows else 1.0
        end_interval(model, model.tree, model.loops, state, work, dt, shows, push, info)
    return status


@kernel
def find_knot_velocities(model, tree, state, work, options):
    """Velocities at the knot where the state is, if nobody had asked for them."""
    if tree is None or work.stale[0] == 0.0:
        return
    dt = work.last_dt[0]
    fill(0, work.factored)
    start_interval(model, tree, state, work, options, 0.0, 0.0)
    work.active[0] = 0
    for b in range(model.bodies.shape[0]):
        joint, w, knot = model.joints[b], work.tree[b], state.joints[b]
        fill(0.0, w.Q)
        fill(0.0, w.slide)
        w.Q[0] = 1.0
        assign(knot.rotor, work.joints[b].rotor)
        assign(knot.mid, work.joints[b].rate)
        for k in range(joint.m_T + joint.m_R + (1 if joint.m_R == 3 else 0)):
            work.q2[joint.q_begin + k] = state.q[joint.q_begin + k]
    move_tree(model.joints, work.bodies, work.tree, dt)
    for b in range(model.bodies.shape[0]):
        copy_record(work.pose1[b], work.pose2[b])
    find_loop_rows(model, model.loops, work)
    if find_velocities(model, tree, state, work, dt) == CONVERGED:
        arc = dt if options.order == 2 else 0.0
        show_velocities(model, tree, model.loops, state, work, arc)
        work.stale[0] = 0.0
    fill(0, work.factored)


@kernel
def size_of_push(work):
    """Not zero where contacts or torques act."""
    size = 1.0 if work.active[0] > 0 else 0.0
    if push_somewhere(work.tau):
        for v in range(work.tau.shape[0]):
            size += abs(work.tau[v])
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
def contacts_give(model, state, work, options, dt):
    """Whether contacts do more work than recovery, curvature and gravity within a step explain.

    An impulse works along the mean of the motions before and after it. Where bodies turn far within
    the step, an impact has solutions in which that is a lot, and which a shorter step has not.
    Beside limits that are reached it cannot be told: what they take, contacts may seem to give.
    """
    t, nb, work_done = work.scratch[0], model.bodies.shape[0], 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], work.contacts[k]
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
        rotate(motion.J, t.w, t.y)
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
def start_interval(model, tree, state, work, options, dt, end):
    """What the equations take from the first knot: poses, inertias, momenta, known impulses."""
    placed = tree is not None and work.factored[1] != 0
    # A projection of the velocities at the knot of a tree has found its inertias as well.
    turned = placed and work.factored[0] != 0
    if not placed:
        load_poses(model, state, work.pose1)
    for i in range(model.bodies.shape[0]):
        if placed:
            copy_record(work.pose2[i], work.pose1[i])
        if not turned:
            similarity(work.pose1[i].R, model.bodies[i].inertia, work.bodies[i].J)
    for i in range(model.bodies.shape[0]):
        body = model.bodies[i]
        for k in range(6):
            work.known[i].w[k] = state.bodies[i].p[k] + 0.5 * dt * work.external[i].w[k]
        for k in range(3):
            work.known[i].w[k] += 0.5 * dt * body.mass * options.gravity[k]
    if tree is not None:
        if not placed:
            start_tree(model.joints, work.pose1, work.tree, work.scratch[0])
        add_tree_forces(
            model.joints,
            work.pose1,
            work.tau,
            0.5 * dt,
            False,
            work.tree,
            work.scratch[0],
            work.known,
        )
    else:
        for j in range(model.bodies.shape[0], model.joints.shape[0]):
            joint = model.joints[j]
            if is_tendon(joint):
                follow_tendon(model, joint, work.pose1, state.q, work.span1, work.scratch[0])
        scale, known = 0.5 * dt, work.known
        add_joint_forces(model, work.pose1, work.span1, work.tau, scale, work, known)
    for j in range(model.joints.shape[0]):
        joint = model.joints[j]
        work.joints[j].rows = joint.n_T + joint.n_R
        if joint.law != 0 or has_servo(joint, work.drives):
            choose_rows(model, state, work, j, options.dt, end)


@kernel
def has_servo(joint, drives):
    """Whether a servo drives a coordinate of a joint."""
    for v in range(joint.v_begin, joint.v_begin + joint.m_T + joint.m_R):
        if drives[v].kp != 0.0 or drives[v].kd != 0.0:
            return True
    return False


@kernel
def choose_rows(model, state, work, j, dt, end):
    """Take joint j's coordinates into the equations, and see where driven ones have to be."""
    joint, w = model.joints[j], work.joints[j]
    use_coordinates(model, model.tree, state, work, j)
    for row in range(joint.m_T + joint.m_R):
        driven = model.coordinates[joint.v_begin + row].driven
        w.held[row] = 1 if driven >= 0 else 0
        if driven >= 0:
            w.goal[row], w.goal_rate[row] = along_motion(work.motion[driven], dt, end)


@kernel
def along_motion(m, dt, s):
    """(value, rate) at the fraction s of a step, by the cubic through the values at its ends."""
    rise = m.q2 - m.q1
    a, b = dt * m.v1 - rise, -dt * m.v2 + rise
    r = 1.0 - s
    value = r * m.q1 + s * m.q2 + s * r * (r * a + s * b)
    return value, (rise + (r - s) * (r * a + s * b) + s * r * (b - a)) / dt


@kernel
def guess_motion(model, tree, state, work, dt, ahead, learns):
    """Unknowns of bodies and joints: their rates `ahead` of the knot [s], as they have changed.

    With `learns` guesses before this one tell by how much it would miss, in a tree.
    """
    t, since = work.scratch[0], 0.5 * work.last_dt[0]
    if tree is not None:
        guess_tree(
            model.joints,
            state.joints,
            state.trend,
            work.pose1,
            work.tree,
            t,
            dt,
            since + ahead,
            pick(work.last_dt[0] == dt, 1.0, 0.0) if learns else 0.0,
        )
        for j in range(model.bodies.shape[0], model.joints.shape[0]):
            assign(state.joints[j].impulse, work.joints[j].impulse)
        return
    # After a start there is no change yet.
    extrapolate = pick(since != 0.0, ahead / since, 0.0)
    for i in range(model.bodies.shape[0]):
        body, w = state.bodies[i], work.bodies[i]
        rotate(work.pose1[i].R, body.omega, t.w)
        for k in range(3):
            w.v[k] = body.v[k] + extrapolate * (body.v[k] - body.v_mid[k])
            t.w[k] += extrapolate * (t.w[k] - body.v_mid[3 + k])
        turn_from_rate(t.w, dt, w.P)
    for j in range(model.joints.shape[0]):
        assign(state.joints[j].impulse, work.joints[j].impulse)
    for n in range(model.couplings.shape[0]):
        work.couplings[n].impulse = state.couplings[n].impulse


@kernel
def guess_contacts(model, tree, facets, state, work, dt, kappa):
    """Variables of the contacts of a tree where they are heading for, at the barrier `kappa`.

    They stay as the last interval has left them if that is not to be foretold, and with facets.
    """
    if tree is None or facets is not None or not somewhere(state.contact_trend[0] > 0.0):
        return
    regular = pick(work.last_dt[0] == dt, 1.0, 0.0)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], state.contacts[k], work.contacts[k]
        contact_guess(contact, c, w, facets, state.contact_trend, regular, kappa)


@stage
def find_motion(model, state, work, options, dt, info):
    """Choose the contacts of an interval and solve its equations; returns a status.

    Compiled by itself, beside the rest of the step, and called by its address.
    """
    kappa = final_barrier(least_impulse(model, options, dt), state, work, options)
    status = choose_contacts(model, state, work, options, dt, kappa)
    if status == CONVERGED:
        status = solve_interval(model, state, work, options, dt, kappa, info)
    return status


@stage
def solve_interval(model, state, work, options, dt, kappa, info):
    """Try a warm start, then colder ones; let contacts in that were reached unexpectedly."""
    # In a record, as the compiler would make a copy of all that follows for the constant.
    info.attempt = WARM
    while True:
        if info.attempt == WARM:
            guess_motion(model, model.tree, state, work, dt, 0.5 * dt, True)
            guess_contacts(model, model.tree, model.facets, state, work, dt, kappa)
        elif info.attempt == HOP:
            guess_motion(model, model.tree, state, work, dt, 0.0, False)
            evaluate(model, state, work, dt, info)
            start_jump(model, state, work)
        elif jumps(info.attempt):
            start_jump(model, state, work)
        else:
            start_cold(model, state, work, dt, kappa, info)
        status = solve_any(model, model.tree, model.loops, state, work, options, dt, info)
        if status == CONVERGED:
            finish_poses(model, model.tree, work, dt)
            before = work.active[0]
            admit_reached(model, model.tree, state, work, options, dt, kappa)
            status = admit_entered(model, model.collision, state, work, options, dt, kappa)
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
def solve_any(model, tree, loops, state, work, options, dt, info):
    """Solve the equations from where the unknowns are, in the shortest way; returns a status."""
    if tree is not None and info.attempt == WARM and work.active[0] == 0:
        status = solve_untouched(model, loops, state, work, options, dt, info)
        if status == CONVERGED:
            return status
        guess_motion(model, tree, state, work, dt, 0.5 * dt, False)
    return solve(model, state, work, options, dt, info.attempt, info)


@kernel
def start_cold(model, state, work, dt, kappa, info):
    """Start far inside the cones, to follow the central path down to `kappa`."""
    guess_motion(model, model.tree, state, work, dt, 0.0, False)
    evaluate(model, state, work, dt, info)
    speed, mass = dt, 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        for i in range(3):
            speed = max(speed, abs(work.contacts[k].u[i]))
        mass = max(mass, work.slots[k].mass)
    speed, mass = most_of_limbs(speed), most_of_limbs(mass)
    # What is left of the equations without contacts is a motion that they have to take as well.
    center_contacts(model, state, work, kappa, speed, info.attempt)
    # Not much faster: for trees it is measured in the inertia of single bodies, all too fast.
    left = evaluate(model, state, work, dt, info)
    speed = max(speed, min(left, 3.0 * speed))
    kappa = max(kappa, mass * speed * speed)
    center_contacts(model, state, work, kappa, speed, info.attempt)
    if raises_barrier(info.attempt):
        raise_barrier(model, state, work, dt, kappa, speed, info)


@kernel
def raise_barrier(model, state, work, dt, kappa, speed, info):
    """Raise the barrier until a whole Newton step stays inside the cones."""
    for _ in range(5):
        info.iterations += 1
        evaluate(model, state, work, dt, info)
        clear_directions(work, model.facets, info.attempt)
        work.factored[0] = 0
        if factor(model, model.tree, state, work) != 0:
            return
        set_second_order(model, state, work, 0.0)
        find_direction(model, model.tree, state, work, kappa, False)
        if longest_inside(model, state, work, 1.0, 1.0) > 0.9:
            return
        kappa *= 10.0
        center_contacts(model, state, work, kappa, speed, info.attempt)


@kernel
def read_tree(model, state, work, dt, shows, push, info):
    """Coordinates of the joints at the second knot, how they are violated, and the next guess."""
    t, since = work.scratch[0], 0.5 * (dt + work.last_dt[0])
    regular, misses = pick(work.last_dt[0] == dt, 1.0, 0.0), t.misses
    fill(0.0, misses)
    for b in range(model.bodies.shape[0]):
        joint, w, knot = model.joints[b], work.tree[b], state.joints[b]
        a, child = work.pose2[joint.parent], work.pose2[b]
        assign(work.joints[b].rotor, knot.rotor)
        keep_rates(joint, work.pose1[b], w, knot, dt, since, regular, misses)
        if shows:
            meet_velocities(joint, state.v, state.bodies, knot, push > 0.0, dt)
        # Where the next interval begins.
        start_joint(joint, work.pose2, work.tree[joint.parent].rho1, w, t)
        if has_directions(joint):
            joint_residual(joint, a, child, t, w.u)
            for k in range(6):
                info.violation = max(info.violation, abs(w.u[k]))
        else:
            info.violation = max(info.violation, points_apart(w))
        if joint.kind == HINGE:
            state.q[joint.q_begin] += turned_angle(w.Q)
            info.violation = max(info.violation, axes_apart(joint, a, w))
        else:
            read_coordinates(joint, a, child, t, state.q)
    choose_trend(misses, 0.0, state.trend)


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
def show_velocities(model, tree, loops, state, work, arc):
    """Velocities of bodies and joints at the second knot, read along arcs of length `arc` [s]."""
    for i in range(model.bodies.shape[0]):
        assign(work.twists[i].w, state.bodies[i].shown)
    if find_changes(model, work.pose2, work.twists, arc, False, work):
        if is_tied(model, work):
            project_changes(model, tree, work.pose2, work)
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
            read_rates(joint, work.tree[b], a, child, work.twists, t, state.v)
    if loops is not None:
        for n in range(loops.joint.shape[0]):
            joint = model.joints[loops.joint[n]]
            over, on = work.twists[joint.parent].w, work.twists[joint.child].w
            a, child = work.pose2[joint.parent], work.pose2[joint.child]
            joint_motion_map(joint, a, child, t, 0, t.S_a, t.S_b)
            read_velocities(t.S_a, t.S_b, over, on, joint, state.v)


@kernel
def end_interval(model, tree, loops, state, work, dt, shows, push, info):
    """Move the state to the second knot, all of it; note the joints' violation and the gap."""
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
    for j in range(0 if tree is None else model.bodies.shape[0], model.joints.shape[0]):
        w, knot = work.joints[j], state.joints[j]
        assign(w.rotor, knot.rotor)
        assign(w.impulse, knot.impulse)
        knot.rows = w.rows
        for row in range(w.rows, 6):
            knot.impulse[row] = 0.0
        for k in range(6):
            info.violation = max(info.violation, abs(w.g[k]))
            assign(w.G_a[k], knot.G_a[k])
            assign(w.G_b[k], knot.G_b[k])
    for n in range(model.couplings.shape[0]):
        info.violation = max(info.violation, abs(work.couplings[n].g))
        state.couplings[n].impulse = work.couplings[n].impulse
    regular, misses = pick(work.last_dt[0] == dt, 1.0, 0.0), work.scratch[0].misses
    fill(0.0, misses)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        if k >= model.contacts.shape[0]:
            info.gap = min(info.gap, work.contacts[k].gap)
        if tree is not None and model.facets is None:
            contact_keeps(work.slots[k], state.contacts[k], regular, misses)
    choose_trend(misses, SLIGHT * SLIGHT, state.contact_trend)
    if tree is None:
        read_joints(model, model.tree, state, work, work.pose2, work.twists, 0)
        for j in range(model.joints.shape[0]):
            joint = model.joints[j]
            for row in range(joint.m_T + joint.m_R):
                state.joints[j].mid[row] = state.v[joint.v_begin + row]
    else:
        read_tree(model, state, work, dt, shows, push, info)
        work.factored[1] = 1
    if loops is not None:
        read_loops(model, loops, state, work, dt)
    info.gap, info.violation = least_of_limbs(info.gap), most_of_limbs(info.violation)
    work.last_dt[0] = dt
