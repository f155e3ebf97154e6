"""The step equations (29a), (29b) with contacts condensed, and one Newton direction for them.

Rows are in impulse units (bodies) or m/s (joints). The variables of a contact do not appear: they
have been eliminated into its body's block and are found again from the direction.
"""

from math import isfinite

from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import most_of_limbs
from robosim.kernels.contact.answers import add_product, add_transposed, subtract_answer
from robosim.kernels.contact.kinematics import (
    differentiate_contact,
    move_contact,
    move_coordinate,
    on_joint,
)
from robosim.kernels.contact.law import (
    contact_answer,
    contact_follow,
    contact_force,
    contact_impulse,
    contact_length,
    contact_stiffness,
    contact_violation,
    friction_size,
)
from robosim.kernels.equations.algebra import assign, clear_rows, dot, fill
from robosim.kernels.equations.body import angular_momentum_tangent, end_pose, turn_by
from robosim.kernels.equations.constraints import add_coordinate_impulse, add_joint_momenta
from robosim.kernels.solve.graph.assemble import assemble, coordinate_rates
from robosim.kernels.solve.graph.ldu import ldu_factor, ldu_solve
from robosim.kernels.solve.graph.residual import (
    add_constraint_momenta,
    constraint_equations,
    dynamics_residual,
    law_residual,
)
from robosim.kernels.solve.tree.eliminate import condense_at_reference, factor_joints, own_blocks
from robosim.kernels.solve.tree.residual import (
    find_loop_rows,
    loop_equations,
    tree_laws,
    tree_residual,
)
from robosim.kernels.solve.tree.sweep import solve_joints
from robosim.kernels.solve.tree.unknowns import (
    add_remembered_rates,
    move_tree,
    pose_contacts,
    remember_rates,
    remember_tree,
    step_tree,
)


@kernel
def evaluate(model, state, system, loads, work, dt, info):
    """work.residual of Eqs. (29a), (29b) at the current unknowns; returns the residual in m/s."""
    return evaluate_equations(model, model.tree, model.loops, state, system, loads, work, dt, info)


@kernel
def evaluate_equations(model, tree, loops, state, system, loads, work, dt, info):
    """`evaluate`, of which only what the model needs is compiled."""
    nb = model.bodies.shape[0]
    clear_rows(work.impulse)
    worst, t = 0.0, work.scratch[0]
    if tree is not None:
        move_tree(model.joints, work.bodies, system.tree, dt)
        pose_contacts(model, system, work, dt)
        if loops is not None:
            worst = loop_equations(model, loops, system, work, dt)
        tree_laws(model, state, system, loads, work, dt)
    else:
        for i in range(nb):
            end_pose(system.pose1[i], work.bodies[i].v, work.bodies[i].P, dt, work.pose2[i])
        worst = constraint_equations(model, state, system, loads, work, dt)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        contact_impulse(c.beta, c.gamma, model.facets, w.f)
        if on_joint(contact):
            joint = model.joints[contact.joint]
            move_coordinate(contact, joint, state.q, work.q2, dt, w, t)
            add_coordinate_impulse(joint, w, w.f, work.residual[joint.node].w)
        else:
            move_contact(contact, work.pose2, work.bodies, dt, w, t)
            if contact.body < nb:
                add_transposed(w.L, w.f, work.impulse[contact.body].w)
            if contact.other < nb:
                add_transposed(w.L_o, w.f, work.impulse[contact.other].w)
        worst = max(worst, contact_violation(contact, c, model.facets, w.u, contact.mass))
    if tree is not None:
        dynamics = tree_residual(model, system, work, dt, info)
    else:
        for j in range(model.joints.shape[0]):
            joint, w = model.joints[j], work.joints[j]
            if w.rows > joint.n_T + joint.n_R:
                worst = max(worst, law_residual(joint, w, work.residual[joint.node].w))
        dynamics = dynamics_residual(model, system, work, dt, info)
    if not isfinite(dynamics):
        return dynamics
    return max(most_of_limbs(worst), dynamics)


@kernel
def factor(model, tree, system, work):
    """Factors of the Newton system at the unknowns [Bruedigam2023, Eq. 32]; 0 if regular."""
    if tree is None:
        assemble(model, system, work)
        return ldu_factor(model.graph, system.blocks)
    own_blocks(model, system, work)
    condense_contacts(model, system, work)
    find_loop_rows(model, model.loops, work)
    return factor_joints(model, system, work, False)


@kernel
def condense_contacts(model, system, work):
    """The answers of all contacts in the equations into the blocks of their bodies."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        contact_stiffness(contact, work.contacts[k], model.facets, w)
        if not on_joint(contact):
            differentiate_contact(contact, work.pose2, work.bodies, w, work.scratch[0])
        condense_contact(model, model.tree, contact, w, system, work, False)


@kernel
def condense_contact(model, tree, contact, w, system, work, held):
    """The contact's answer to motion, -L^T A R, into the bodies' blocks or the joint's law.

    With `held` L is that of the second knot, where R is L.
    """
    nb, blocks = model.bodies.shape[0], system.blocks
    if on_joint(contact):
        subtract_answer(w.L, w.A, w.R, -1.0, work.joints[contact.joint].A)
        return
    R, R_o = w.L if held else w.R, w.L_o if held else w.R_o
    if tree is not None:
        if contact.body < nb:
            condense_at_reference(w.L, w.A, R, held, work.scratch[0], system.tree[contact.body])
        if contact.other < nb:
            condense_at_reference(
                w.L_o, w.A, R_o, held, work.scratch[0], system.tree[contact.other]
            )
        return
    if contact.body < nb:
        subtract_answer(w.L, w.A, R, 1.0, blocks[contact.body].F)
    if contact.other < nb:
        subtract_answer(w.L_o, w.A, R_o, 1.0, blocks[contact.other].F)
        if contact.body < nb:
            subtract_answer(w.L, w.A, R_o, 1.0, blocks[contact.body_other].F)
            subtract_answer(w.L_o, w.A, R, 1.0, blocks[contact.other_body].F)


@kernel
def find_direction(model, tree, system, work, kappa, refine):
    """Newton direction for the barrier `kappa` into work.rhs and the contacts' d_ fields.

    A closed contact is so stiff that the rounding of the motion shows in its impulse. With
    `refine`, what that leaves of the momentum balance is solved for once more: the motion which
    that takes is tiny, and so is its rounding.
    """
    for n in range(work.rhs.shape[0]):
        assign(work.residual[n].w, work.rhs[n].w)
    nb = model.bodies.shape[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        contact_force(contact, c, model.facets, kappa, w)
        if on_joint(contact):
            joint = model.joints[contact.joint]
            add_coordinate_impulse(joint, w, w.F, work.rhs[joint.node].w)
            continue
        if contact.body < nb:
            add_transposed(w.L, w.F, work.rhs[contact.body].w)
        if contact.other < nb:
            add_transposed(w.L_o, w.F, work.rhs[contact.other].w)
    solve_motion(model, tree, system, work, work.rhs)
    if refine:
        unbalanced_momenta(model, tree, model.loops, system, work, work.correction)
        if tree is not None:
            remember_rates(system.tree)
        solve_motion(model, tree, system, work, work.correction)
        for n in range(work.rhs.shape[0]):
            for k in range(6):
                work.rhs[n].w[k] += work.correction[n].w[k]
        if tree is not None:
            add_remembered_rates(system.tree)


@kernel
def solve_motion(model, tree, system, work, x):
    """x = motion and impulses for the right-hand side x; the contacts' directions answer it."""
    nb, t, before = model.bodies.shape[0], work.scratch[0], system.valid[FACTORED] != 0
    if tree is not None:
        solve_joints(model, system, work, x, False, before)
    else:
        for j in range(model.joints.shape[0]):
            if work.joints[j].rows > model.joints[j].n_T + model.joints[j].n_R:
                assign(x[model.joints[j].node].w, work.joints[j].asked)
        ldu_solve(model.graph, system.blocks, x)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        fill(0.0, t.w)
        if on_joint(contact):
            joint = model.joints[contact.joint]
            if tree is not None:
                assign(system.tree[contact.joint].d, t.f)
            else:
                coordinate_rates(model, joint, system, work, contact.joint, x, t.f)
            add_product(w.R, t.f, t.w)
        else:
            if contact.body < nb:
                add_product(w.L if before else w.R, x[contact.body].w, t.w)
            if contact.other < nb:
                add_product(w.L_o if before else w.R_o, x[contact.other].w, t.w)
        contact_answer(contact, c, model.facets, t.w, w)


@kernel
def unbalanced_momenta(model, tree, loops, system, work, out):
    """out = what the direction leaves of the bodies' linearized equations; zero in other rows."""
    nb, t = model.bodies.shape[0], work.scratch[0]
    clear_rows(out)
    for i in range(nb):
        x, r, residual = work.rhs[i].w, out[i].w, work.residual[i].w
        angular_momentum_tangent(system.inertias[i].J, work.bodies[i].P, t.R_J)
        for k in range(3):
            r[k] = residual[k] - model.bodies[i].mass * x[k]
            r[3 + k] = residual[3 + k] - dot(t.R_J[k], x[3:])
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if not on_joint(contact):
            contact_impulse(w.d_beta, w.d_gamma, model.facets, w.F)
            if contact.body < nb:
                add_transposed(w.L, w.F, out[contact.body].w)
            if contact.other < nb:
                add_transposed(w.L_o, w.F, out[contact.other].w)
    if tree is not None:
        # Impulses of constraints do nothing along a joint; its laws give what they were asked to.
        for j in range(nb):
            joint, w = model.joints[j], work.joints[j]
            n, m = joint.n_T + joint.n_R, joint.m_T + joint.m_R
            if w.rows > n:
                for row in range(m):
                    answer = work.rhs[joint.node].w[n + row]
                    for k in range(m):
                        answer += w.A[row, k] * system.tree[j].d[k]
                    out[joint.node].w[n + row] = answer
    if loops is not None:
        for n in range(loops.joint.shape[0]):
            add_joint_momenta(model, system, work, loops.joint[n], out)
    if tree is None:
        add_constraint_momenta(model, system, work, out)


@kernel
def remember(model, tree, system, work):
    """Keep the unknowns, to step from them by different lengths."""
    for i in range(model.bodies.shape[0]):
        w = work.bodies[i]
        if tree is None:
            assign(w.v, w.v_old)
        assign(w.P, w.P_old)
    if tree is not None:
        remember_tree(system.tree)
    for j in range(0 if tree is None else model.bodies.shape[0], model.joints.shape[0]):
        assign(work.joints[j].impulse, work.joints[j].impulse_old)
    for n in range(model.couplings.shape[0]):
        work.couplings[n].impulse_old = work.couplings[n].impulse
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        c, w = work.contacts[k], system.contacts[k]
        w.s_old, w.gamma_old, w.c_old, w.psi_old = c.s, c.gamma, c.c, c.psi
        for i in range(friction_size(model.facets)):
            w.beta_old[i] = c.beta[i]
            w.eta_old[i] = c.eta[i]


@kernel
def take_step(model, tree, system, work, dt, length):
    """Unknowns = remembered unknowns + length * direction."""
    if tree is not None:
        step_tree(model.joints, work.bodies, system.tree, work.scratch[0], dt, length)
    else:
        for i in range(model.bodies.shape[0]):
            w, direction = work.bodies[i], work.rhs[i].w
            for k in range(3):
                w.v[k] = w.v_old[k] + length * direction[k]
            turn_by(w.P_old, direction[3:], dt * length, w.P)
    for j in range(0 if tree is None else model.bodies.shape[0], model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        for row in range(w.rows):
            w.impulse[row] = w.impulse_old[row] + length * work.rhs[joint.node].w[row]
    for n in range(model.couplings.shape[0]):
        w, node = work.couplings[n], model.couplings[n].node
        w.impulse = w.impulse_old + length * work.rhs[node].w[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        c, w = work.contacts[k], system.contacts[k]
        own = contact_length(w, length)
        c.s = w.s_old + own * w.d_s
        c.gamma = w.gamma_old + own * w.d_gamma
        c.c = w.c_old + own * w.d_c
        c.psi = w.psi_old + own * w.d_psi
        for i in range(friction_size(model.facets)):
            c.beta[i] = w.beta_old[i] + own * w.d_beta[i]
            c.eta[i] = w.eta_old[i] + own * w.d_eta[i]
        contact_follow(work.slots[k], c, w, model.facets)
