"""One step, stage by stage.

The state is a knot z1 with the momenta there. A step finds the motion over the interval that
satisfies Eqs. (29a) to (29f), puts the bodies at the second knot z2 and reads the velocities
there. Forces act half at either end of the interval, constraint and contact impulses at z1.
The momentum that enters a knot is carried by summing impulses, so that what the tolerance
leaves of the equations does not add up: linear momentum is conserved to rounding, angular momentum
but for x cross m v with the residual's share of v.
"""

from math import sqrt

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
from robosim.kernels.body import add_wrench, turn_from_rate
from robosim.kernels.contact import (
    contact_center,
    contact_gap,
    contact_start,
    contact_stiffness,
)
from robosim.kernels.coordinates import add_joint_forces, load_poses, read_joints
from robosim.kernels.interior_point import (
    COLD,
    CONVERGED,
    LAST,
    SINGULAR,
    WARM,
    center_contacts,
    final_barrier,
    solve,
)
from robosim.kernels.jit import kernel, stage
from robosim.kernels.joint import joint_jacobian
from robosim.kernels.ldu import ldu_factor, ldu_solve
from robosim.kernels.newton import condense_contact, evaluate, place_joint_blocks


@stage
def step(model, state, work, options, info):
    """Advance the state by options.dt, with substeps if need be; returns info.status.

    On failure the state is left at the knot that it came from.
    """
    info.iterations = 0
    info.substeps = 1
    while True:
        gap, violation = np.inf, 0.0
        for _ in range(info.substeps):
            info.status = advance(model, state, work, options, options.dt / info.substeps, info)
            if info.status != CONVERGED:
                break
            gap, violation = min(gap, info.gap), max(violation, info.violation)
        if info.status == CONVERGED:
            info.gap, info.violation = gap, violation
            return info.status
        # A first interval that fails has moved nothing yet, so it is what there is to save.
        if info.substeps == 1:
            copy_state(state, work.saved)
        else:
            copy_state(work.saved, state)
            work.factored[0] = 0
        if 2 * info.substeps > options.max_substeps:
            return info.status
        info.substeps *= 2


@kernel
def copy_state(source, target):
    for i in range(source.bodies.shape[0]):
        target.bodies[i] = source.bodies[i]
        target.joints[i] = source.joints[i]
    for k in range(source.contacts.shape[0]):
        target.contacts[k] = source.contacts[k]
    assign(source.q, target.q)
    assign(source.v, target.v)


@stage
def advance(model, state, work, options, dt, info):
    """Advance the state by one interval dt without substeps; returns a status."""
    start_interval(model, state, work, options, dt)
    status = solve_interval(model, state, work, options, dt, info)
    if status == CONVERGED:
        gather_momenta(model, work, options, dt)
        status = project_velocities(model, state, work, dt)
    if status == CONVERGED:
        end_interval(model, state, work, dt, info)
        read_joints(model, state, work, work.pose2, work.twists)
    return status


@kernel
def start_interval(model, state, work, options, dt):
    """What the equations take from the first knot: poses, inertias, momenta, known impulses."""
    load_poses(model, state, work.pose1)
    for i in range(model.bodies.shape[0]):
        body = model.bodies[i]
        similarity(work.pose1[i].R, body.inertia, work.bodies[i].J)
        for k in range(3):
            work.known[i].w[k] = state.bodies[i].p[k] + 0.5 * dt * body.mass * options.gravity[k]
            work.known[i].w[3 + k] = state.bodies[i].p[3 + k]
    add_joint_forces(model, work.pose1, work.tau, 0.5 * dt, work, work.known)


@kernel
def guess_motion(model, state, work, dt, extrapolate):
    """Unknowns of bodies and joints: knot velocities, continued from the last interval's."""
    t = work.scratch[0]
    for i in range(model.bodies.shape[0]):
        body, w = state.bodies[i], work.bodies[i]
        rotate(work.pose1[i].R, body.omega, t.w)
        for k in range(3):
            w.v[k] = body.v[k] + extrapolate * (body.v[k] - body.v_mid[k])
            t.w[k] += extrapolate * (t.w[k] - body.v_mid[3 + k])
        turn_from_rate(t.w, dt, w.P)
        assign(state.joints[i].impulse, work.joints[i].impulse)


@stage
def solve_interval(model, state, work, options, dt, info):
    """Try a warm start, then colder ones; let contacts in that were reached unexpectedly."""
    work.active[0] = 0
    kappa = final_barrier(model, state, work, options, dt)
    choose_contacts(model, state, work, options, dt, kappa)
    attempt = WARM
    while True:
        if attempt == WARM:
            guess_motion(model, state, work, dt, 1.0)
        else:
            start_cold(model, state, work, dt, kappa, attempt, info)
        status = solve(model, state, work, options, dt, attempt, info)
        if status == CONVERGED:
            if not admit_reached(model, state, work, options, kappa):
                return status
            attempt = COLD
        elif attempt == LAST or work.active[0] == 0:
            return status
        else:
            attempt += 1


@kernel
def start_cold(model, state, work, dt, kappa, attempt, info):
    """Start far inside the cones, to follow the central path down to `kappa`."""
    guess_motion(model, state, work, dt, 0.0)
    evaluate(model, state, work, dt, info)
    speed, mass = dt, 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        for i in range(3):
            speed = max(speed, abs(work.contacts[k].u[i]))
        mass = max(mass, model.bodies[model.contacts[k].body].mass)
    center_contacts(model, state, work, max(kappa, mass * speed * speed), speed, attempt)


@kernel
def choose_contacts(model, state, work, options, dt, kappa):
    """List the contacts that may be reached within dt; the others are not in the equations.

    The bound is generous, and `admit_reached` looks again after the solve, so that a contact
    that was left out has an impulse of exactly zero and a gap that is really open.
    """
    work.active[0] = 0
    fall = 2.0 * dt * dt * sqrt(dot(options.gravity, options.gravity))
    for i in range(model.bodies.shape[0]):
        body, pose, motion = model.bodies[i], work.pose1[i], state.bodies[i]
        spin = sqrt(dot(motion.omega, motion.omega))
        travel = 2.0 * dt * (sqrt(dot(motion.v, motion.v)) + spin * body.reach) + fall
        near = pose.x[2] - body.reach - travel < 0.0
        for k in range(body.contact_begin, body.contact_end):
            c = state.contacts[k]
            if near and contact_gap(model.contacts[k], pose) - travel < 0.0:
                admit(model, state, work, k, kappa, options.contact_speed)
            elif c.active != 0:
                work.factored[0] = 0
                c.active = 0
                c.gamma = 0.0
                fill(0.0, c.beta)


@kernel
def admit(model, state, work, k, kappa, speed):
    """Put contact k into the equations, on the central path if it was not in them before."""
    c, contact = state.contacts[k], model.contacts[k]
    work.active[0] += 1
    work.active[work.active[0]] = k
    contact_start(contact, work.pose1[contact.body], work.contacts[k])
    work.contacts[k].weight = 1.0
    if c.active == 0:
        work.factored[0] = 0
        c.active = 1
        c.s = 1.0
        contact_center(contact, c, model.facets.shape[0], 1.0, kappa, speed)


@kernel
def admit_reached(model, state, work, options, kappa):
    """Admit contacts that were left out but ended below the ground; whether there were any."""
    before = work.active[0]
    for i in range(model.bodies.shape[0]):
        body, pose = model.bodies[i], work.pose2[i]
        if pose.x[2] - body.reach >= 0.0:
            continue
        for k in range(body.contact_begin, body.contact_end):
            if state.contacts[k].active == 0 and contact_gap(model.contacts[k], pose) <= 0.0:
                admit(model, state, work, k, kappa, options.contact_speed)
    return work.active[0] > before


@kernel
def gather_momenta(model, work, options, dt):
    """work.known = momenta that enter the second knot: impulses and the forces' half there."""
    add_joint_forces(model, work.pose2, work.tau, 0.5 * dt, work, work.known)
    for i in range(model.bodies.shape[0]):
        for k in range(3):
            work.known[i].w[k] += 0.5 * dt * model.bodies[i].mass * options.gravity[k]
        for k in range(6):
            work.known[i].w[k] += work.impulse[i].w[k]


@kernel
def project_velocities(model, state, work, dt):
    """work.twists = velocities at the second knot, second order; returns a status.

    The momentum that left the interval plus the forces' half at this knot misses the half of
    the constraint impulses. They are found by the projection in the mass metric (the second
    stage of RATTLE); contacts answer as they did in the interval, through their stiffness A.
    """
    clear_blocks(work.blocks)
    clear_rows(work.rhs)
    t = work.scratch[0]
    for i in range(model.bodies.shape[0]):
        D = work.blocks[i].F
        for k in range(3):
            D[k, k] = model.bodies[i].mass
        similarity(work.pose2[i].R, model.bodies[i].inertia, D[3:, 3:])
        assign(work.known[i].w, work.rhs[i].w)
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            a, b = work.pose2[joint.parent], work.pose2[joint.child]
            joint_jacobian(joint, a, b, t, w.G_a, w.G_b)
            place_joint_blocks(model, joint, w, w, work.blocks)
    for n in range(1, work.active[0] + 1):
        hold_contact(model, state, work, dt, work.active[n])
    if ldu_factor(model.graph, work.blocks) != 0:
        return SINGULAR
    ldu_solve(model.graph, work.blocks, work.rhs)
    for i in range(model.bodies.shape[0]):
        assign(work.rhs[i].w, work.twists[i].w)
    work.factored[0] = 1
    return CONVERGED


@kernel
def hold_contact(model, state, work, dt, n):
    """Let contact n resist the change from the interval's velocity to the knot's."""
    contact, c, w = model.contacts[n], state.contacts[n], work.contacts[n]
    pose, motion = work.pose2[contact.body], work.bodies[contact.body]
    t = work.scratch[0]
    contact_stiffness(contact, c, model.facets, w)
    contact_start(contact, pose, w)
    r, J, A = w.arm1, w.J2, w.A
    for i in range(3):
        for k in range(6):
            J[i, k] = 1.0 if i == k else 0.0
    J[0, 4], J[0, 5] = r[2], -r[1]
    J[1, 3], J[1, 5] = -r[2], r[0]
    J[2, 3], J[2, 4] = r[1], -r[0]
    condense_contact(w, work.blocks[contact.body].F)
    for i in range(3):
        t.w[i] = 0.0
        for k in range(3):
            t.w[i] += J[i, k] * motion.v[k] + J[i, 3 + k] * 2.0 / dt * motion.P[1 + k]
    rotate(A, t.w, t.y)
    add_wrench(t.y, r, -1.0, work.rhs[contact.body].w)


@kernel
def end_interval(model, state, work, dt, info):
    """Move the state to the second knot, all of it; note the joints' violation and the gap."""
    info.gap, info.violation = np.inf, 0.0
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
        joint, knot = work.joints[i], state.joints[i]
        assign(joint.impulse, knot.impulse)
        for k in range(6):
            info.violation = max(info.violation, abs(joint.g[k]))
            assign(joint.G_a[k], knot.G_a[k])
            assign(joint.G_b[k], knot.G_b[k])
        if pose.x[2] - parameters.reach < info.gap:
            for k in range(parameters.contact_begin, parameters.contact_end):
                info.gap = min(info.gap, contact_gap(model.contacts[k], pose))
