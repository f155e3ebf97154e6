"""Velocities at the second knot: the momenta that arrive there, projected.

The momentum that left the interval plus the forces' half at the knot misses the half of the
constraint impulses. They are found by a projection in the mass metric (the second stage of
RATTLE), in which contacts answer as they did in the interval.
"""

from robosim.compiled.kinds import DRY
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
from robosim.kernels.articulated import own_block
from robosim.kernels.contact import contact_stiffness
from robosim.kernels.coordinates import add_joint_forces
from robosim.kernels.interior_point import CONVERGED, SINGULAR
from robosim.kernels.jit import kernel
from robosim.kernels.lanes import everywhere, over_limbs
from robosim.kernels.law import knot_law
from robosim.kernels.ldu import ldu_factor, ldu_solve
from robosim.kernels.newton import (
    add_transposed,
    assign_laws,
    condense_contact,
    factor_joints,
    find_loop_rows,
    place_coupling_blocks,
    place_joint_blocks,
    rows_ahead,
    solve_joints,
)
from robosim.kernels.tendon import add_span_impulses, is_tendon, place_tendon_blocks
from robosim.kernels.touch import on_joint, start_contact
from robosim.kernels.tree import (
    add_remembered_rates,
    add_tree_forces,
    leave_residual,
    push_coordinates,
    remember_rates,
)

STRAY = 3.0  # how much farther than the momenta friction may take the velocities at a knot


@kernel
def find_velocities(model, tree, state, work, dt):
    """Velocities at the second knot; returns a status."""
    # Not as constants, for each of which all of it would be compiled.
    drag = work.active[0] > 0
    status = project(model, tree, state, work, dt, drag)
    if drag and (status != CONVERGED or strays(model, work, dt)):
        status = project(model, tree, state, work, dt, not drag)
        work.factored[0] = 0
    return status


@kernel
def find_jacobians(model, work):
    """Jacobians of all joints at the second knot, for its projection and for the next step."""
    for j in range(model.joints.shape[0]):
        if model.joints[j].node >= 0:
            rows_ahead(model, work, j)


@kernel
def gather_momenta(model, tree, loops, state, work, options, dt):
    """work.known = momenta that enter the second knot: impulses and the forces' half there.

    Finds the directions of constraints at that knot, of a tree's loops or of all joints.

    What is left of the equations is momentum e that the velocity v does not show. It flies along
    with the body, and to keep its moment about the world the body's own has to give dt v x e.
    """
    find_loop_rows(model, loops, work)
    if tree is None:
        find_jacobians(model, work)
    else:
        leave_residual(model.joints, work.tree, state.joints, work.impulse)
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
def project(model, tree, state, work, dt, drag):
    """Velocities at the second knot, with or without friction that follows normal impulses."""
    if tree is None:
        return project_velocities(model, state, work, dt, drag)
    return project_tree(model, state, work, dt, drag)


@kernel
def place_masses(model, work):
    """work.blocks = masses and inertias of the bodies at the second knot, and nothing else."""
    clear_blocks(work.blocks)
    for i in range(model.bodies.shape[0]):
        D = work.blocks[i].F
        for k in range(3):
            D[k, k] = model.bodies[i].mass
        similarity(work.pose2[i].R, model.bodies[i].inertia, D[3:, 3:])


@kernel
def project_velocities(model, state, work, dt, drag):
    """work.twists = velocities at the second knot, second order; returns a status.

    The momentum that left the interval plus the forces' half at this knot misses the half of
    the constraint impulses. They are found by the projection in the mass metric (the second
    stage of RATTLE); contacts answer as they did in the interval, through their stiffness A.
    """
    place_masses(model, work)
    clear_rows(work.rhs)
    for i in range(model.bodies.shape[0]):
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
def project_tree(model, state, work, dt, drag):
    """`project_velocities` of a tree."""
    nb = model.bodies.shape[0]
    # The next interval finds its inertias here.
    work.factored[0] = 0
    for i in range(nb):
        w, J = work.tree[i], work.bodies[i].J
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
def strays(model, work, dt):
    """Whether the knot's velocities are farther from the interval's than a projection can be.

    A projection onto what joints and contacts allow brings them nearer than the momenta are. Where
    friction follows the normal impulse it is none, and may blow up where a contact wedges.
    """
    t, far, near = work.scratch[0], 0.0, 0.0
    for i in range(model.bodies.shape[0]):
        body, w, p, twist = model.bodies[i], work.bodies[i], work.known[i].w, work.twists[i].w
        change, push = 0.0, 0.0
        for k in range(3):
            along, left = twist[k] - w.v[k], p[k] - body.mass * w.v[k]
            change += along * along
            push += left * left
            t.w[k] = twist[3 + k] - 2.0 / dt * w.P[1 + k]
        rotate_back(work.pose2[i].R, t.w, t.arm)
        rotate(body.inertia, t.arm, t.y)
        far += body.part * (body.mass * change + dot(t.arm, t.y))
        near += body.part * push / body.mass
    far, near = over_limbs(far), over_limbs(near)
    if everywhere(far <= STRAY * STRAY * near):
        return False
    # Few are so far that what the turns add to the other side decides.
    turns = 0.0
    for i in range(model.bodies.shape[0]):
        body, R = model.bodies[i], work.pose2[i].R
        for k in range(3):
            t.w[k] = 2.0 / dt * work.bodies[i].P[1 + k]
        rotate_back(R, t.w, t.y)
        rotate_back(R, work.known[i].w[3:], t.z)
        for k in range(3):
            t.z[k] -= dot(body.inertia[k], t.y)
        for k in range(3):
            turns += body.part * t.z[k] * dot(body.inertia_inverse[k], t.z)
    return not far <= STRAY * STRAY * (near + over_limbs(turns))


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
    # As the next interval starts it; at a knot L is R as well.
    start_contact(contact, work.pose2, dt, w, t)
    condense_contact(model, model.tree, contact, w, work, True)
    fill(0.0, t.w)
    if contact.body < nb:
        add_motion(w.L, work.bodies[contact.body], dt, t.w)
    if contact.other < nb:
        add_motion(w.L_o, work.bodies[contact.other], dt, t.w)
    rotate(w.A, t.w, w.F)
    for i in range(3):
        w.F[i] = -w.F[i]
    if contact.body < nb:
        add_transposed(w.L, w.F, work.rhs[contact.body].w)
    if contact.other < nb:
        add_transposed(w.L_o, w.F, work.rhs[contact.other].w)


@kernel
def add_motion(L, motion, dt, out):
    """out (3,) += L times the velocities of a body over the interval."""
    for i in range(3):
        for k in range(3):
            out[i] += L[i, k] * motion.v[k] + L[i, 3 + k] * 2.0 / dt * motion.P[1 + k]


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
