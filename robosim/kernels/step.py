"""One step, stage by stage.

The state is a knot z1 with the momenta there. A step finds the motion over the interval that
satisfies Eqs. (29a) to (29f), puts the bodies at the second knot z2 and reads the velocities
there. Forces act half at either end of the interval, constraint and contact impulses at z1.
The momentum that enters a knot is carried by summing impulses, so that what the tolerance
leaves of the equations does not add up: momentum, linear and angular, is conserved to rounding.
"""

from math import isfinite, sqrt

import numpy as np

from robosim.kernels.algebra import (
    assign,
    clear_blocks,
    clear_rows,
    dot,
    fill,
    rotate,
    rotate_back,
    similarity,
)
from robosim.kernels.arcs import add_changes, find_changes
from robosim.kernels.articulated import own_block
from robosim.kernels.body import turn_from_rate
from robosim.kernels.collide import (
    assign_slots,
    find_entered,
    find_pair,
    in_use,
    mark_in_reach,
)
from robosim.kernels.contact import contact_center, contact_stiffness
from robosim.kernels.coordinates import add_joint_forces, load_poses, measure_ahead, read_joints
from robosim.kernels.interior_point import (
    CAREFUL,
    COLD,
    CONVERGED,
    FIRST_PATH,
    HOP,
    LAST,
    LOOSE,
    NEEDS_BLOCKS,
    NOT_SMOOTH,
    SINGULAR,
    TURNS_FAR,
    WARM,
    center_contacts,
    clear_directions,
    final_barrier,
    jumps,
    longest_inside,
    raises_barrier,
    set_second_order,
    solve,
    start_jump,
)
from robosim.kernels.jit import kernel, stage
from robosim.kernels.joint import joint_motion_map, joint_residual, read_coordinates
from robosim.kernels.law import knot_law
from robosim.kernels.ldu import ldu_factor, ldu_solve
from robosim.kernels.newton import (
    add_transposed,
    assign_laws,
    condense_contact,
    evaluate,
    factor,
    factor_joints,
    find_direction,
    find_loop_rows,
    place_coupling_blocks,
    place_joint_blocks,
    rows_ahead,
    solve_joints,
)
from robosim.kernels.tendon import (
    add_span_impulses,
    follow_tendon,
    is_tendon,
    place_tendon_blocks,
)
from robosim.kernels.touch import (
    coordinate_gap,
    hold_rows,
    on_joint,
    start_contact,
    start_coordinate,
)
from robosim.kernels.tree import (
    add_remembered_rates,
    add_tree_forces,
    finish_poses,
    guess_tree,
    hinge_violation,
    keep_rates,
    leave_residual,
    push_coordinates,
    read_rates,
    remember_rates,
    share_residual,
    start_tree,
    turned_angle,
)
from robosim.model import DRY, HINGE

HALF_RADIAN = 0.8775825618903728  # its cosine
STRAY = 3.0  # how much farther than the momenta friction may take the velocities at a knot
# Of the composition of order four: (PARTS - 1) PART^3 + (1 - (PARTS - 1) PART)^3 = 0.
PARTS = 7
PART = 1.0 / (PARTS - 1.0 - (PARTS - 1.0) ** (1.0 / 3.0))


@stage
def step(model, state, work, options, info):
    """Advance the state by options.dt, in parts if need be; returns info.status.

    On failure the state is left at the knot that it came from.
    """
    info.iterations = 0
    info.substeps = 1
    info.order = allowed_order(work, options)
    last_dt = work.last_dt[0]
    if info.order == 4:
        copy_state(state, work.saved)
    while True:
        gap, violation, end = np.inf, 0.0, 0.0
        for part in range(PARTS if info.order == 4 else info.substeps):
            fraction = part_of_step(info, part)
            end += fraction
            info.status = advance(model, state, work, options, fraction * options.dt, end, info)
            if info.order == 4 and info.status == CONVERGED and work.active[0] > 0:
                info.status = NOT_SMOOTH
            if info.status != CONVERGED:
                break
            gap, violation = min(gap, info.gap), max(violation, info.violation)
        if info.status == CONVERGED:
            info.gap, info.violation = gap, violation
            return info.status
        # A first interval that fails has moved nothing yet, so it is what there is to save.
        if info.order == 2 and info.substeps == 1:
            copy_state(state, work.saved)
        else:
            copy_state(work.saved, state)
            work.factored[0] = 0
            work.last_dt[0] = last_dt
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
    for i in range(source.bodies.shape[0]):
        target.bodies[i] = source.bodies[i]
    for j in range(source.joints.shape[0]):
        target.joints[j] = source.joints[j]
    for n in range(source.couplings.shape[0]):
        target.couplings[n] = source.couplings[n]
    for k in range(source.contacts.shape[0]):
        target.contacts[k] = source.contacts[k]
    assign(source.q, target.q)
    assign(source.v, target.v)


@stage
def advance(model, state, work, options, dt, end, info):
    """Advance the state by one interval dt without substeps; returns a status.

    `end` is where the interval ends within the step, as a fraction of it.
    """
    start_interval(model, model.tree, state, work, options, dt, end)
    kappa = final_barrier(model, state, work, options, dt)
    status = choose_contacts(model, state, work, options, dt, kappa)
    if status == CONVERGED:
        status = solve_interval(model, state, work, options, dt, kappa, info)
    if status == CONVERGED and turns_far(work):
        status = TURNS_FAR
    if status == CONVERGED:
        status = find_velocities(model, model.tree, model.loops, state, work, options, dt, info)
    if status == CONVERGED:
        # The parts of a step of order four make up for each other in what the momenta show.
        arc = 0.0 if options.order == 4 else dt
        end_interval(model, model.tree, model.loops, state, work, dt, arc, info)
    return status


@kernel
def turns_far(work):
    """Whether a body turns by more than a radian.

    The momentum of a turn grows as its sine: beyond a quarter turn a faster one has less of it,
    and an impact that is solved there gives energy.
    """
    for i in range(work.bodies.shape[0]):
        if work.bodies[i].P[0] < HALF_RADIAN:
            return True
    return False


@kernel
def start_interval(model, tree, state, work, options, dt, end):
    """What the equations take from the first knot: poses, inertias, momenta, known impulses."""
    load_poses(model, state, work.pose1)
    for i in range(model.bodies.shape[0]):
        body = model.bodies[i]
        similarity(work.pose1[i].R, body.inertia, work.bodies[i].J)
        for k in range(6):
            work.known[i].w[k] = state.bodies[i].p[k] + 0.5 * dt * work.external[i].w[k]
        for k in range(3):
            work.known[i].w[k] += 0.5 * dt * body.mass * options.gravity[k]
    if tree is not None:
        start_tree(model.bodies, model.joints, work.pose1, work.bodies, work.tree, work.scratch[0])
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
def along_motion(m, dt, s):
    """(value, rate) at the fraction s of a step, by the cubic through the values at its ends."""
    rise = m.q2 - m.q1
    a, b = dt * m.v1 - rise, -dt * m.v2 + rise
    r = 1.0 - s
    value = r * m.q1 + s * m.q2 + s * r * (r * a + s * b)
    return value, (rise + (r - s) * (r * a + s * b) + s * r * (b - a)) / dt


@kernel
def guess_motion(model, tree, state, work, dt, extrapolate):
    """Unknowns of bodies and joints: knot velocities, continued from the last interval's.

    There is none after a start, where `extrapolate` is infinite.
    """
    t = work.scratch[0]
    if not isfinite(extrapolate):
        extrapolate = 0.0
    if tree is not None:
        guess_tree(model.joints, state, work.pose1, work.tree, t, dt, extrapolate)
        for j in range(model.bodies.shape[0], model.joints.shape[0]):
            assign(state.joints[j].impulse, work.joints[j].impulse)
        return
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


@stage
def solve_interval(model, state, work, options, dt, kappa, info):
    """Try a warm start, then colder ones; let contacts in that were reached unexpectedly."""
    # In a record, as the compiler would make a copy of all that follows for the constant.
    info.attempt = WARM
    while True:
        if info.attempt == WARM:
            guess_motion(
                model,
                model.tree,
                state,
                work,
                dt,
                dt / work.last_dt[0] if work.last_dt[0] != 0.0 else 0.0,
            )
        elif info.attempt == HOP:
            guess_motion(model, model.tree, state, work, dt, 0.0)
            evaluate(model, state, work, dt, info)
            start_jump(model, state, work)
        elif jumps(info.attempt):
            start_jump(model, state, work)
        else:
            start_cold(model, state, work, dt, kappa, info)
        status = solve(model, state, work, options, dt, info.attempt, info)
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
def start_cold(model, state, work, dt, kappa, info):
    """Start far inside the cones, to follow the central path down to `kappa`."""
    guess_motion(model, model.tree, state, work, dt, 0.0)
    evaluate(model, state, work, dt, info)
    speed, mass = dt, 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        for i in range(3):
            speed = max(speed, abs(work.contacts[k].u[i]))
        mass = max(mass, work.slots[k].mass)
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
        clear_directions(work, info.attempt)
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
def choose_contacts(model, state, work, options, dt, kappa):
    """List the contacts and limits that may be reached within dt; returns a status.

    The others are left out. The bound is generous, and `admit_reached` looks again after the
    solve, so that what was left out has an impulse of exactly zero and a gap that is really open.
    """
    work.active[0] = 0
    speed = options.contact_speed
    fall = 2.0 * dt * dt * sqrt(dot(options.gravity, options.gravity))
    for i in range(model.bodies.shape[0]):
        body, pose, motion = model.bodies[i], work.pose1[i], state.bodies[i]
        if body.contact_begin == body.contact_end:
            continue
        spin = sqrt(dot(motion.omega, motion.omega))
        travel = 2.0 * abs(dt) * (sqrt(dot(motion.v, motion.v)) + spin * body.reach) + fall
        near = pose.x[2] - body.reach - travel < 0.0
        for k in range(body.contact_begin, body.contact_end):
            contact, c, w = work.slots[k], state.contacts[k], work.contacts[k]
            if near and ground_gap(contact, pose) - travel < 0.0:
                start_contact(contact, work.pose1, dt, w, work.scratch[0])
                enter(contact, c, w, k, work.active, work.factored, model.facets, kappa, speed)
            else:
                leave_out(c, work.factored)
    for k in range(model.n_ground, model.contacts.shape[0]):
        contact = work.slots[k]
        joint = model.joints[contact.joint]
        near = contact.kind == DRY
        if not near:
            rate = 0.0
            for row in range(joint.m_T + joint.m_R):
                rate = max(rate, abs(state.v[joint.v_begin + row]))
            gap = coordinate_gap(contact, joint, state.q)
            near = gap < 2.0 * abs(dt) * contact.scale * rate + fall
        if near:
            admit_limit(model, state, work, k, kappa, dt, speed)
        else:
            leave_out(state.contacts[k], work.factored)
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
    """Distance of a contact point to the ground z = 0 [m]."""
    R, p = pose.R, contact.p
    return pose.x[2] + R[2, 0] * p[0] + R[2, 1] * p[1] + R[2, 2] * p[2] - contact.radius


@kernel
def leave_out(c, factored):
    """Take a contact out of the equations."""
    if c.active != 0:
        factored[0], factored[1] = 0, 0
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
        factored[0], factored[1] = 0, 0
        c.active = 1
        w.u[0], w.u[1], w.u[2] = 0.0, 0.0, 1.0
        contact_center(contact, c, w, facets, kappa, speed)


@kernel
def rescale_friction(c, most):
    """Set the most that dry friction can give over an interval; what it gave follows."""
    ratio = most / c.gamma if c.gamma > 0.0 else 0.0
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
        if body.contact_begin == body.contact_end or pose.x[2] - body.reach >= 0.0:
            continue
        for k in range(body.contact_begin, body.contact_end):
            contact, c, w = work.slots[k], state.contacts[k], work.contacts[k]
            if c.active == 0 and ground_gap(contact, pose) <= 0.0:
                start_contact(contact, work.pose1, dt, w, work.scratch[0])
                enter(contact, c, w, k, work.active, work.factored, model.facets, kappa, speed)
    for k in range(model.n_ground, model.contacts.shape[0]):
        contact = work.slots[k]
        if state.contacts[k].active == 0:
            joint = model.joints[contact.joint]
            if tree is not None and joint.kind == HINGE:
                ahead = contact.sign * turned_angle(work.tree[contact.joint].Q)
                if coordinate_gap(contact, joint, state.q) + ahead > 0.0:
                    continue
            measure_ahead(model, contact.joint, state.q, work)
            if coordinate_gap(contact, joint, work.q2) <= 0.0:
                admit_limit(model, state, work, k, kappa, dt, speed)


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


@kernel
def find_jacobians(model, work):
    """Jacobians of all joints at the second knot, for its projection and for the next step."""
    for j in range(model.joints.shape[0]):
        if model.joints[j].node >= 0:
            rows_ahead(model, work, j)


@kernel
def gather_momenta(model, tree, work, options, dt):
    """work.known = momenta that enter the second knot: impulses and the forces' half there.

    What is left of the equations is momentum e that the velocity v does not show. It flies along
    with the body, and to keep its moment about the world the body's own has to give dt v x e.
    """
    for i in range(model.bodies.shape[0]):
        known, v, e = work.known[i].w, work.bodies[i].v, work.scratch[0].w
        for k in range(6):
            known[k] += work.impulse[i].w[k]
        for k in range(3):
            e[k] = known[k] - model.bodies[i].mass * v[k]
        known[3] -= dt * (v[1] * e[2] - v[2] * e[1])
        known[4] -= dt * (v[2] * e[0] - v[0] * e[2])
        known[5] -= dt * (v[0] * e[1] - v[1] * e[0])
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        n = joint.n_T + joint.n_R
        if tree is not None:
            if w.rows > n:
                push_coordinates(joint, work.pose2[j], w.half, True, work.tree, work.known)
            continue
        for row in range(w.rows - n):
            if w.held[row] == 0:
                for k in range(6):
                    work.known[joint.parent].w[k] += w.G_a[n + row, k] * w.half[row]
                    work.known[joint.child].w[k] += w.G_b[n + row, k] * w.half[row]
                add_span_impulses(model, joint, work.span2, w.half[row], work.known)
    if tree is not None:
        add_tree_forces(
            model.joints,
            work.pose2,
            work.tau,
            0.5 * dt,
            True,
            work.tree,
            work.scratch[0],
            work.known,
        )
    else:
        scale, known = 0.5 * dt, work.known
        add_joint_forces(model, work.pose2, work.span2, work.tau, scale, work, known)
    for i in range(model.bodies.shape[0]):
        for k in range(3):
            work.known[i].w[k] += 0.5 * dt * model.bodies[i].mass * options.gravity[k]
        for k in range(6):
            work.known[i].w[k] += 0.5 * dt * work.external[i].w[k]


@kernel
def project_velocities(model, state, work, dt, drag):
    """work.twists = velocities at the second knot, second order; returns a status.

    The momentum that left the interval plus the forces' half at this knot misses the half of
    the constraint impulses. They are found by the projection in the mass metric (the second
    stage of RATTLE); contacts answer as they did in the interval, through their stiffness A.
    """
    clear_blocks(work.blocks)
    clear_rows(work.rhs)
    for i in range(model.bodies.shape[0]):
        D = work.blocks[i].F
        for k in range(3):
            D[k, k] = model.bodies[i].mass
        similarity(work.pose2[i].R, model.bodies[i].inertia, D[3:, 3:])
        assign(work.known[i].w, work.rhs[i].w)
    for j in range(model.joints.shape[0]):
        if work.joints[j].rows > model.joints[j].n_T + model.joints[j].n_R:
            knot_law(model, work, j, dt)
    hold_contacts(model, state, work, dt, drag)
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            n = joint.n_T + joint.n_R
            if is_tendon(joint):
                place_tendon_blocks(model, joint, work.span2, work.span2, w, work.blocks)
            else:
                place_joint_blocks(model.bodies.shape[0], joint, w.G_a, w.G_b, w, work.blocks)
            for row in range(w.rows - n):
                rate = w.goal_rate[row] if w.held[row] != 0 else w.law[row]
                work.rhs[joint.node].w[n + row] = rate
    for n in range(model.couplings.shape[0]):
        place_coupling_blocks(model, model.couplings[n], work.joints, work.joints, work.blocks)
    if ldu_factor(model.graph, work.blocks) != 0:
        return SINGULAR
    ldu_solve(model.graph, work.blocks, work.rhs)
    for i in range(model.bodies.shape[0]):
        assign(work.rhs[i].w, work.twists[i].w)
    work.factored[0] = 1
    return CONVERGED


@kernel
def find_velocities(model, tree, loops, state, work, options, dt, info):
    """Momenta and velocities at the second knot; returns a status."""
    find_loop_rows(model, loops, work)
    if tree is None:
        find_jacobians(model, work)
    else:
        if loops is None and work.active[0] == 0:
            # What was measured in the metric of factors; all else has been shared out already.
            share_residual(model.bodies, model.joints, work.joints, work.tree, work.residual, info)
        leave_residual(model.joints, work.tree, state.joints, work.impulse)
    gather_momenta(model, tree, work, options, dt)
    status = project(model, tree, state, work, dt, True)
    if work.active[0] > 0 and (status != CONVERGED or strays(model, work, dt)):
        status = project(model, tree, state, work, dt, False)
        work.factored[0] = 0
    return status


@kernel
def project(model, tree, state, work, dt, drag):
    """Velocities at the second knot, with or without friction that follows normal impulses."""
    if tree is None:
        return project_velocities(model, state, work, dt, drag)
    return project_tree(model, state, work, dt, drag)


@kernel
def strays(model, work, dt):
    """Whether the knot's velocities are farther from the interval's than a projection can be.

    A projection onto what joints and contacts allow brings them nearer than the momenta are. Where
    friction follows the normal impulse it is none, and may blow up where a contact wedges.
    """
    t, far, near = work.scratch[0], 0.0, 0.0
    for i in range(model.bodies.shape[0]):
        body, w, p, twist = model.bodies[i], work.bodies[i], work.known[i].w, work.twists[i].w
        for k in range(3):
            change, push = twist[k] - w.v[k], p[k] - body.mass * w.v[k]
            far += body.mass * change * change
            near += push * push / body.mass
            t.w[k] = twist[3 + k] - 2.0 / dt * w.P[1 + k]
        rotate_back(work.pose2[i].R, t.w, t.arm)
        for k in range(3):
            far += t.arm[k] * dot(body.inertia[k], t.arm)
    if far <= STRAY * STRAY * near:
        return False
    # Few are so far that what the turns add to the other side decides.
    for i in range(model.bodies.shape[0]):
        body, R = model.bodies[i], work.pose2[i].R
        for k in range(3):
            t.w[k] = 2.0 / dt * work.bodies[i].P[1 + k]
        rotate_back(R, t.w, t.y)
        rotate_back(R, work.known[i].w[3:], t.z)
        for k in range(3):
            t.z[k] -= dot(body.inertia[k], t.y)
        for k in range(3):
            near += t.z[k] * dot(body.inertia_inverse[k], t.z)
    return not far <= STRAY * STRAY * near


@kernel
def project_tree(model, state, work, dt, drag):
    """`project_velocities` of a tree."""
    nb = model.bodies.shape[0]
    for i in range(nb):
        w, J = work.tree[i], work.scratch[0].R_J
        similarity(work.pose2[i].R, model.bodies[i].inertia, J)
        own_block(model.bodies[i].mass, J, w.rho2, w.rho2, w.D)
        assign(work.known[i].w, work.rhs[i].w)
    for j in range(nb):
        if work.joints[j].rows > model.joints[j].n_T + model.joints[j].n_R:
            knot_law(model, work, j, dt)
    hold_contacts(model, state, work, dt, drag)
    for j in range(nb):
        joint, w = model.joints[j], work.joints[j]
        if w.rows > joint.n_T + joint.n_R:
            assign_laws(joint, w, work.rhs[joint.node].w)
    for j in range(nb, model.joints.shape[0]):
        fill(0.0, work.rhs[model.joints[j].node].w)
    if factor_joints(model, state, work, True) != 0:
        return SINGULAR
    solve_joints(model, work, work.rhs, True, False)
    for i in range(nb):
        assign(work.rhs[i].w, work.twists[i].w)
    work.factored[0] = 1
    return CONVERGED


@kernel
def is_tied(model, work):
    """Whether more than a tree's joints holds the velocities: loops, couplings, given motions."""
    more = model.joints.shape[0] > model.bodies.shape[0]
    return more or model.couplings.shape[0] > 0 or work.motion.shape[0] > 0


@kernel
def project_changes(model, tree, poses, work):
    """Project changes of the velocities onto what holds them, with the factors that they had."""
    nb, t = model.bodies.shape[0], work.scratch[0]
    for i in range(nb):
        change = work.rhs[i].w
        similarity(poses[i].R, model.bodies[i].inertia, t.R_J)
        rotate(t.R_J, change[3:], t.w)
        assign(t.w, change[3:])
        for k in range(3):
            change[k] *= model.bodies[i].mass
    clear_rows(work.rhs[nb:])
    if tree is None:
        ldu_solve(model.graph, work.blocks, work.rhs)
    else:
        remember_rates(work.tree)
        solve_joints(model, work, work.rhs, True, False)
        add_remembered_rates(work.tree)


@kernel
def read_tree(model, state, work, dt, info):
    """Coordinates and velocities of the joints at the second knot, and how they are violated."""
    t = work.scratch[0]
    fill(0.0, work.twists[model.bodies.shape[0]].w)
    for b in range(model.bodies.shape[0]):
        joint, w, knot = model.joints[b], work.tree[b], state.joints[b]
        a, child = work.pose2[joint.parent], work.pose2[b]
        assign(work.joints[b].rotor, knot.rotor)
        keep_rates(joint, work.pose1[b], w, knot, dt)
        read_rates(joint, w, a, child, work.twists, t, state.v)
        if joint.kind == HINGE:
            state.q[joint.q_begin] += turned_angle(w.Q)
            info.violation = max(info.violation, hinge_violation(joint, a, child))
            continue
        joint_residual(joint, a, child, t, w.u)
        for k in range(6):
            info.violation = max(info.violation, abs(w.u[k]))
        read_coordinates(joint, a, child, t, state.q)


@kernel
def hold_contacts(model, state, work, dt, drag):
    """Let all contacts in the equations resist; with `drag` friction follows normal impulses."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], work.contacts[k]
        contact_stiffness(contact, state.contacts[k], model.facets, w)
        if not drag:
            w.A[0, 2], w.A[1, 2] = 0.0, 0.0
        hold_contact(model, contact, w, work, dt)


@kernel
def hold_contact(model, contact, w, work, dt):
    """Let a contact resist the change from the interval's velocity to the knot's."""
    t, nb = work.scratch[0], model.bodies.shape[0]
    fill(0.0, w.F)
    if on_joint(contact):
        joint, law = model.joints[contact.joint], work.joints[contact.joint].law
        condense_contact(model, model.tree, contact, w, work, True)
        axis = 0 if contact.kind == DRY else 2
        w.F[axis] = -w.A[axis, axis] * w.rate
        if contact.kind == DRY:
            # What slides on is held back by the half of the friction that belongs to the interval.
            w.F[axis] += 0.5 * w.f[axis]
        for row in range(joint.m_T + joint.m_R):
            law[row] += w.L[axis, row] * w.F[axis]
        return
    hold_rows(contact, work.pose2, w, t)
    condense_contact(model, model.tree, contact, w, work, True)
    fill(0.0, t.w)
    if contact.body < nb:
        add_motion(w.R, work.bodies[contact.body], dt, t.w)
    if contact.other < nb:
        add_motion(w.R_o, work.bodies[contact.other], dt, t.w)
    rotate(w.A, t.w, w.F)
    for i in range(3):
        w.F[i] = -w.F[i]
    if contact.body < nb:
        add_transposed(w.L, w.F, work.rhs[contact.body].w)
    if contact.other < nb:
        add_transposed(w.L_o, w.F, work.rhs[contact.other].w)


@kernel
def add_motion(R, motion, dt, out):
    """out (3,) += R times the velocities of a body over the interval."""
    for i in range(3):
        for k in range(3):
            out[i] += R[i, k] * motion.v[k] + R[i, 3 + k] * 2.0 / dt * motion.P[1 + k]


@kernel
def end_interval(model, tree, loops, state, work, dt, arc, info):
    """Move the state to the second knot, all of it; note the joints' violation and the gap."""
    info.gap, info.violation = np.inf, 0.0
    work.last_dt[0] = dt
    for i in range(model.bodies.shape[0]):
        assign(work.twists[i].w, state.bodies[i].shown)
    if find_changes(model, work.pose2, work.twists, arc, False, work):
        if is_tied(model, work):
            project_changes(model, tree, work.pose2, work)
        add_changes(model, work, work.twists)
    for i in range(model.bodies.shape[0]):
        body, w, pose, parameters = state.bodies[i], work.bodies[i], work.pose2[i], model.bodies[i]
        for k in range(3):
            body.x[k] = pose.x[k]
            body.v[k] = work.twists[i].w[k]
            body.v_mid[k] = w.v[k]
            body.v_mid[3 + k] = 2.0 / dt * w.P[1 + k]
        assign(pose.q, body.q)
        assign(work.known[i].w, body.p)
        rotate_back(pose.R, work.twists[i].w[3:], body.omega)
        if pose.x[2] - parameters.reach < info.gap:
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
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        if k >= model.contacts.shape[0]:
            info.gap = min(info.gap, work.contacts[k].gap)
    if tree is None:
        read_joints(model, state, work, work.pose2, work.twists, 0)
    else:
        read_tree(model, state, work, dt, info)
    if loops is not None:
        read_joints(model, state, work, work.pose2, work.twists, model.bodies.shape[0])
