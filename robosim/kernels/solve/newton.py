"""The step equations (29a), (29b) with contacts condensed, and one Newton direction for them.

Rows are in impulse units (bodies) or m/s (joints). The variables of a contact do not appear: they
have been eliminated into its body's block and are found again from the direction.
"""

from math import isfinite, sqrt

from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere, most_of_limbs
from robosim.kernels.compiler.rows import add_scaled, read_row, scaled, write_row
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
from robosim.kernels.equations.algebra import (
    assign,
    clear_blocks,
    clear_rows,
    dot,
    fill,
    rotate_back,
)
from robosim.kernels.equations.body import (
    angular_momentum,
    angular_momentum_tangent,
    end_pose,
    turn_by,
)
from robosim.kernels.equations.coordinates import measure_ahead
from robosim.kernels.equations.joint import joint_jacobian, joint_motion_map, joint_residual
from robosim.kernels.equations.joint_forces import joint_law
from robosim.kernels.equations.tendon import (
    add_span_impulses,
    follow_tendon,
    is_tendon,
    place_tendon_blocks,
    span_rate,
)
from robosim.kernels.solve.graph.ldu import ldu_factor, ldu_solve
from robosim.kernels.solve.tree.eliminate import (
    factor_tree,
    own_block,
    shifted_row,
    solve_tree,
)
from robosim.kernels.solve.tree.tree import (
    add_remembered_rates,
    find_residual,
    look_ahead,
    move_tree,
    pose_body,
    pose_contacts,
    remember_rates,
    remember_tree,
    share_residual,
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
def tree_laws(model, state, system, loads, work, dt):
    """What springs, dampers, servos and rotors ask of a tree's joints, into their rows."""
    for j in range(model.bodies.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if w.rows > joint.n_T + joint.n_R:
            look_ahead(model, state, system, work, j, dt)
            joint_law(model, state, loads, work, j, dt)
            assign_laws(joint, w, work.residual[joint.node].w)


@kernel
def loop_equations(model, loops, system, work, dt):
    """Rows of joints that close loops of a tree into work.residual; what is left of them [m/s]."""
    worst, nb = 0.0, model.bodies.shape[0]
    for n in range(loops.joint.shape[0]):
        j = loops.joint[n]
        joint, way, w = model.joints[j], system.directions[j], work.joints[j]
        pose_body(system, work, joint.child, dt)
        if joint.parent < nb:
            pose_body(system, work, joint.parent, dt)
        residual = work.residual[joint.node].w
        left = joint_equations(joint, w, work.pose2, work.q2, work.scratch[0], dt, residual)
        worst = max(worst, left)
        add_joint_impulses(joint, way, w, work.impulse)
    return worst


@kernel
def tree_residual(model, system, work, dt, info):
    """work.residual of a tree's bodies; its size as a velocity."""
    mass = find_residual(
        model.bodies,
        system.inertias,
        work.bodies,
        work.known,
        work.impulse,
        work.residual,
        work.scratch[0],
        dt,
    )
    size = share_residual(model.bodies, model.joints, work.joints, system.tree, work.residual, info)
    return sqrt(abs(size) / mass) if isfinite(size) else size


@kernel
def constraint_equations(model, state, system, loads, work, dt):
    """Rows of joints and couplings into work.residual, their impulses into work.impulse [m/s]."""
    worst, t = 0.0, work.scratch[0]
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            if w.rows > joint.n_T + joint.n_R:
                measure_ahead(model, j, state.q, work)
                joint_law(model, state, loads, work, j, dt)
            way, residual = system.directions[j], work.residual[joint.node].w
            left = joint_equations(joint, w, work.pose2, work.q2, t, dt, residual)
            worst = max(worst, left)
            add_joint_impulses(joint, way, w, work.impulse)
            add_span_impulses(model, joint, work.span1, w.impulse[0], work.impulse)
    for n in range(model.couplings.shape[0]):
        worst = max(worst, coupling_equation(model, system, work, n, dt))
    return worst


@kernel
def assign_laws(joint, w, out):
    """Rows of a joint's coordinates = what its laws ask for."""
    n = joint.n_T + joint.n_R
    for row in range(joint.m_T + joint.m_R):
        out[n + row] = w.law[row]


@kernel
def joint_equations(joint, w, poses, q2, t, dt, residual):
    """Rows of one joint into `residual` (6,); what is left of its constraints in m/s.

    Constraints and driven coordinates are held at the second knot; other coordinates get the
    impulse that their law asks for.
    """
    worst, n = 0.0, joint.n_T + joint.n_R
    joint_residual(joint, poses[joint.parent], poses[joint.child], t, w.g)
    for row in range(n):
        compliance = joint.compliance_T if row < joint.n_T else joint.compliance_R
        residual[row] = -w.g[row] / dt - compliance * w.impulse[row]
        worst = max(worst, abs(residual[row]))
    for row in range(w.rows - n):
        if w.held[row] != 0:
            compliance = joint.compliance_R if row >= joint.m_T else joint.compliance_T
            value = (q2[joint.q_begin + row] - w.goal[row]) / dt
            residual[n + row] = -value - compliance * w.impulse[n + row]
            worst = max(worst, abs(residual[n + row]))
        else:
            residual[n + row] = w.law[row] - w.impulse[n + row]
    return worst


@kernel
def add_joint_impulses(joint, way, w, impulses):
    """What a joint does to its bodies at the first knot."""
    parent, child = impulses[joint.parent].w, impulses[joint.child].w
    for row in range(w.rows):
        for k in range(6):
            parent[k] += way.G_a[row, k] * w.impulse[row]
            child[k] += way.G_b[row, k] * w.impulse[row]


@kernel
def law_residual(joint, w, residual):
    """What is left of the laws of a joint, limits and friction included, as a velocity."""
    n, worst = joint.n_T + joint.n_R, 0.0
    for row in range(w.rows - n):
        if w.held[row] == 0:
            scale = joint.scale_R if row >= joint.m_T else joint.scale_T
            worst = max(worst, scale * abs(residual[n + row]))
    return worst


@kernel
def coupling_equation(model, system, work, n, dt):
    """The row of coupling n into work.residual and its impulse on the bodies; its residual."""
    coupling, w = model.couplings[n], work.couplings[n]
    w.g = -coupling.offset
    for i in range(2):
        joint, way = model.joints[coupling.joint[i]], system.directions[coupling.joint[i]]
        w.g += coupling.factor[i] * work.q2[joint.q_begin]
        impulse, row = coupling.factor[i] * w.impulse, coupling.row[i]
        for k in range(6):
            work.impulse[joint.parent].w[k] += way.G_a[row, k] * impulse
            work.impulse[joint.child].w[k] += way.G_b[row, k] * impulse
    value = w.g / dt + coupling.compliance * w.impulse
    work.residual[coupling.node].w[0] = -value
    return abs(value)


@kernel
def add_transposed(L, f, out):
    """out (6,) += L^T f for L (3, 6)."""
    for k in range(6):
        out[k] += L[0, k] * f[0] + L[1, k] * f[1] + L[2, k] * f[2]


@kernel
def add_coordinate_impulse(joint, w, f, out):
    """Rows of a joint's coordinates += what an inequality asks of them."""
    n = joint.n_T + joint.n_R
    for row in range(joint.m_T + joint.m_R):
        out[n + row] += w.L[0, row] * f[0] + w.L[2, row] * f[2]


@kernel
def dynamics_residual(model, system, work, dt, info):
    """Rows of Eq. (29a) into work.residual; their size as a velocity in the mass metric."""
    t = work.scratch[0]
    total, mass, largest = 0.0, 0.0, -1.0
    for i in range(model.bodies.shape[0]):
        body, w, r = model.bodies[i], work.bodies[i], work.residual[i].w
        angular_momentum(system.inertias[i].J, w.P, dt, t.w)
        for k in range(3):
            r[k] = work.known[i].w[k] + work.impulse[i].w[k] - body.mass * w.v[k]
            r[3 + k] = work.known[i].w[3 + k] + work.impulse[i].w[3 + k] - t.w[k]
        rotate_back(system.pose1[i].R, r[3:], t.y)
        for k in range(3):
            t.z[k] = dot(body.inertia_inverse[k], t.y)
        size = dot(r, r) / body.mass + dot(t.y, t.z)
        if everywhere(size > largest):
            largest = size
            info.worst_body = i
        total += size
        mass += body.mass
    return sqrt(total / mass)


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
def own_blocks(model, system, work):
    """Blocks of a tree's bodies at the unknowns, in tree.D."""
    for i in range(model.bodies.shape[0]):
        w, K = system.tree[i], work.scratch[0].R_J
        angular_momentum_tangent(system.inertias[i].J, work.bodies[i].P, K)
        own_block(model.bodies[i].mass, K, w.rho1, w.rho2, w.D)


@kernel
def factor_joints(model, system, work, held):
    """`factor_tree` of the model, from the blocks of its bodies."""
    return factor_tree(
        model.joints,
        model.loops,
        system.directions,
        work.joints,
        system.tree,
        system.border,
        system.arms,
        held,
    )


@kernel
def find_loop_rows(model, loops, work):
    """Directions at the second knot of the joints that close loops of a tree."""
    if loops is not None:
        for n in range(loops.joint.shape[0]):
            rows_ahead(model, work, loops.joint[n])


@kernel
def assemble(model, system, work):
    """work.blocks of the Newton system at the current unknowns [Bruedigam2023, Eq. 32]."""
    clear_blocks(system.blocks)
    nb = model.bodies.shape[0]
    for i in range(nb):
        D = system.blocks[i].F
        for k in range(3):
            D[k, k] = model.bodies[i].mass
        angular_momentum_tangent(system.inertias[i].J, work.bodies[i].P, D[3:, 3:])
    condense_contacts(model, system, work)
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            rows_ahead(model, work, j)
            way = system.directions[j]
            if is_tendon(joint):
                place_tendon_blocks(model, joint, work.span1, work.span2, w, system.blocks)
            else:
                place_joint_blocks(nb, joint, way.G_a, way.G_b, w, system.blocks)
    for n in range(model.couplings.shape[0]):
        place_coupling_blocks(
            model, model.couplings[n], system.directions, work.joints, system.blocks
        )


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
def rows_ahead(model, work, j):
    """Directions of joint j, or of a tendon, at the second knot."""
    joint, t = model.joints[j], work.scratch[0]
    if is_tendon(joint):
        follow_tendon(model, joint, work.pose2, work.q2, work.span2, t)
    joint_jacobians(joint, work.pose2, t, work.joints[j])


@kernel
def joint_jacobians(joint, poses, t, w):
    """w.G_a, w.G_b at `poses`: rows of the constraints, then of the coordinates if in use."""
    a, b, n = poses[joint.parent], poses[joint.child], joint.n_T + joint.n_R
    joint_jacobian(joint, a, b, t, w.G_a, w.G_b)
    if w.rows > n:
        joint_motion_map(joint, a, b, t, n, w.G_a, w.G_b)


@kernel
def place_joint_blocks(nb, joint, left_a, left_b, w, blocks):
    """Blocks of one joint: -left^T in its column; in its row w.G for what is constrained.

    The row of a coordinate with a law reads d impulse - A w.G = residual; rows that are not in
    use are an identity.
    """
    n, with_parent = joint.n_T + joint.n_R, joint.parent < nb
    diagonal, own = blocks[joint.node].F, blocks[joint.joint_child].F
    for row in range(6):
        diagonal[row, row] = 1.0
    for row in range(n):
        diagonal[row, row] = joint.compliance_T if row < joint.n_T else joint.compliance_R
    for row in range(w.rows):
        for k in range(6):
            blocks[joint.child_joint].F[k, row] = -left_b[row, k]
            if with_parent:
                blocks[joint.parent_joint].F[k, row] = -left_a[row, k]
        if row < n or w.held[row - n] != 0:
            if row >= n:
                turns = row - n >= joint.m_T
                diagonal[row, row] = joint.compliance_R if turns else joint.compliance_T
            for k in range(6):
                own[row, k] = w.G_b[row, k]
                if with_parent:
                    blocks[joint.joint_parent].F[row, k] = w.G_a[row, k]
            continue
        for i in range(n, w.rows):
            slope = w.A[row - n, i - n]
            for k in range(6):
                own[row, k] -= slope * w.G_b[i, k]
                if with_parent:
                    blocks[joint.joint_parent].F[row, k] -= slope * w.G_a[i, k]


@kernel
def place_coupling_blocks(model, coupling, left, right, blocks):
    """Blocks of one coupling: the coordinates' rows of its two joints, times their factors."""
    blocks[coupling.node].F[0, 0] = coupling.compliance
    for row in range(1, 6):
        blocks[coupling.node].F[row, row] = 1.0
    for i in range(2):
        j, row, factor = coupling.joint[i], coupling.row[i], coupling.factor[i]
        joint, L, R = model.joints[j], left[j], right[j]
        for k in range(6):
            blocks[coupling.body_node[2 * i]].F[k, 0] -= factor * L.G_b[row, k]
            blocks[coupling.node_body[2 * i]].F[0, k] += factor * R.G_b[row, k]
            if joint.parent < model.bodies.shape[0]:
                blocks[coupling.body_node[2 * i + 1]].F[k, 0] -= factor * L.G_a[row, k]
                blocks[coupling.node_body[2 * i + 1]].F[0, k] += factor * R.G_a[row, k]


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
def condense_at_reference(L, A, R, held, t, w):
    """A contact's answer into the block of a body in a tree."""
    x, y, z = (
        shifted_row(read_row(R[0]), w.rho2),
        shifted_row(read_row(R[1]), w.rho2),
        shifted_row(read_row(R[2]), w.rho2),
    )
    if held:
        write_row(x, t.L[0])
        write_row(y, t.L[1])
        write_row(z, t.L[2])
    else:
        for i in range(3):
            write_row(shifted_row(read_row(L[i]), w.rho1), t.L[i])
    subtract_rows_answer(t.L, A, x, y, z, w.D)


@kernel
def subtract_answer(L, A, R, sign, out):
    """out (6, 6) -= sign * L^T A R."""
    x, y, z = read_row(R[0]), read_row(R[1]), read_row(R[2])
    x, y, z = scaled(sign, x), scaled(sign, y), scaled(sign, z)
    subtract_rows_answer(L, A, x, y, z, out)


@kernel
def subtract_rows_answer(L, A, x, y, z, out):
    """out (6, 6) -= L^T A R for the rows x, y, z of R."""
    f = add_scaled(add_scaled(scaled(A[0, 0], x), A[0, 1], y), A[0, 2], z)
    g = add_scaled(add_scaled(scaled(A[1, 0], x), A[1, 1], y), A[1, 2], z)
    h = add_scaled(add_scaled(scaled(A[2, 0], x), A[2, 1], y), A[2, 2], z)
    for i in range(6):
        row = add_scaled(add_scaled(read_row(out[i]), -L[0, i], f), -L[1, i], g)
        write_row(add_scaled(row, -L[2, i], h), out[i])


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
def solve_joints(model, system, work, x, held, before):
    """`solve_tree` of the model."""
    solve_tree(
        model.joints,
        model.loops,
        work.joints,
        system.tree,
        system.border,
        system.arms,
        x,
        held,
        before,
    )


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
def add_joint_momenta(model, system, work, j, out):
    """out += what the direction's multipliers of joint j do to its bodies."""
    joint, way, nb = model.joints[j], system.directions[j], model.bodies.shape[0]
    impulse = work.rhs[joint.node].w
    for row in range(work.joints[j].rows):
        for k in range(6):
            out[joint.child].w[k] += way.G_b[row, k] * impulse[row]
            if joint.parent < nb:
                out[joint.parent].w[k] += way.G_a[row, k] * impulse[row]


@kernel
def add_constraint_momenta(model, system, work, out):
    """out += what the direction's multipliers of all constraints do to bodies."""
    nb = model.bodies.shape[0]
    for j in range(model.joints.shape[0]):
        node = model.joints[j].node
        if node >= 0:
            add_joint_momenta(model, system, work, j, out)
            impulse = work.rhs[node].w[0]
            add_span_impulses(model, model.joints[j], work.span1, impulse, out)
    for n in range(model.couplings.shape[0]):
        coupling = model.couplings[n]
        for i in range(2):
            joint, way = model.joints[coupling.joint[i]], system.directions[coupling.joint[i]]
            impulse, row = coupling.factor[i] * work.rhs[coupling.node].w[0], coupling.row[i]
            for k in range(6):
                out[joint.child].w[k] += way.G_b[row, k] * impulse
                if joint.parent < nb:
                    out[joint.parent].w[k] += way.G_a[row, k] * impulse


@kernel
def add_product(R, motion, out):
    """out (3,) += R motion for R (3, 6)."""
    for i in range(3):
        for k in range(6):
            out[i] += R[i, k] * motion[k]


@kernel
def coordinate_rates(model, joint, system, work, j, x, out):
    """Rates (6,) of a joint's coordinates in the direction x; zero beyond them.

    A limit's answer to a rate is so stiff that the rounding of a difference of motions would show
    in it. The row of the law that was solved, d impulse - A rate = asked, gives the same rate the
    more exactly the stiffer A is.
    """
    n, with_parent = joint.n_T + joint.n_R, joint.parent < model.bodies.shape[0]
    w, factored = work.joints[j], system.valid
    child, own = x[joint.child].w, x[joint.node].w
    parent = x[joint.parent if with_parent else joint.child].w
    fill(0.0, out)
    along, along_size = span_rate(model, joint, work.span2, x)
    for row in range(joint.m_T + joint.m_R):
        out[row], size = along, along_size
        for k in range(6):
            part = w.G_b[n + row, k] * child[k]
            out[row] += part
            size += abs(part)
            if with_parent:
                part = w.G_a[n + row, k] * parent[k]
                out[row] += part
                size += abs(part)
        single = row < joint.m_T or joint.m_R == 1
        stiffness = abs(w.A[row, row])
        fresh = single and factored[FACTORED] == 0 and w.held[row] == 0
        if fresh and abs(own[n + row]) + abs(w.asked[n + row]) < stiffness * size:
            out[row] = (own[n + row] - w.asked[n + row]) / w.A[row, row]


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
