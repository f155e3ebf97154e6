"""The step equations (29a), (29b) with contacts condensed, and one Newton direction for them.

Rows are in impulse units (bodies) or m/s (joints). The variables of a contact do not appear: they
have been eliminated into its body's block and are found again from the direction.
"""

from math import isfinite, sqrt

from robosim.kernels.algebra import (
    assign,
    clear_blocks,
    clear_rows,
    dot,
    rotate_back,
)
from robosim.kernels.body import (
    add_wrench,
    angular_momentum,
    angular_momentum_tangent,
    end_pose,
    turn_by,
)
from robosim.kernels.contact import (
    contact_direction,
    contact_force,
    contact_impulse,
    contact_jacobian,
    contact_motion,
    contact_stiffness,
    contact_violation,
)
from robosim.kernels.jit import kernel
from robosim.kernels.joint import joint_jacobian, joint_residual
from robosim.kernels.ldu import ldu_solve


@kernel
def evaluate(model, state, work, dt, info):
    """work.residual of Eqs. (29a), (29b) at the current unknowns; returns the residual in m/s."""
    nb = model.bodies.shape[0]
    clear_rows(work.impulse)
    t = work.scratch[0]
    worst = 0.0
    for i in range(nb):
        end_pose(work.pose1[i], work.bodies[i].v, work.bodies[i].P, dt, work.pose2[i])
    for j in range(nb):
        joint = model.joints[j]
        if joint.node < 0:
            continue
        knot, w = state.joints[j], work.joints[j]
        joint_residual(joint, work.pose2[joint.parent], work.pose2[joint.child], t, w.g)
        for row in range(joint.n_T + joint.n_R):
            value = w.g[row] / dt
            work.residual[joint.node].w[row] = -value
            worst = max(worst, abs(value))
            for k in range(6):
                work.impulse[joint.parent].w[k] += knot.G_a[row, k] * w.impulse[row]
                work.impulse[joint.child].w[k] += knot.G_b[row, k] * w.impulse[row]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = model.contacts[k], state.contacts[k], work.contacts[k]
        mass = model.bodies[contact.body].mass
        contact_motion(contact, work.pose2[contact.body], work.bodies[contact.body].P, dt, w)
        contact_impulse(c, model.facets, t.w)
        add_wrench(t.w, w.arm1, 1.0, work.impulse[contact.body].w)
        worst = max(worst, contact_violation(contact, c, model.facets, w.u, mass))
    dynamics = dynamics_residual(model, work, dt, info)
    if not isfinite(dynamics):
        return dynamics
    return max(worst, dynamics)


@kernel
def dynamics_residual(model, work, dt, info):
    """Rows of Eq. (29a) into work.residual; their size as a velocity in the mass metric."""
    t = work.scratch[0]
    total, mass, largest = 0.0, 0.0, -1.0
    for i in range(model.bodies.shape[0]):
        body, w, r = model.bodies[i], work.bodies[i], work.residual[i].w
        angular_momentum(w.J, w.P, dt, t.w)
        for k in range(3):
            r[k] = work.known[i].w[k] + work.impulse[i].w[k] - body.mass * w.v[k]
            r[3 + k] = work.known[i].w[3 + k] + work.impulse[i].w[3 + k] - t.w[k]
        rotate_back(work.pose1[i].R, r[3:], t.y)
        for k in range(3):
            t.z[k] = dot(body.inertia_inverse[k], t.y)
        size = dot(r, r) / body.mass + dot(t.y, t.z)
        if size > largest:
            largest = size
            info.worst_body = i
        total += size
        mass += body.mass
    return sqrt(total / mass)


@kernel
def assemble(model, state, work):
    """work.blocks of the Newton system at the current unknowns [Bruedigam2023, Eq. 32]."""
    clear_blocks(work.blocks)
    t = work.scratch[0]
    for i in range(model.bodies.shape[0]):
        D = work.blocks[i].F
        for k in range(3):
            D[k, k] = model.bodies[i].mass
        angular_momentum_tangent(work.bodies[i].J, work.bodies[i].P, D[3:, 3:])
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            a, b = work.pose2[joint.parent], work.pose2[joint.child]
            joint_jacobian(joint, a, b, t, w.G_a, w.G_b)
            place_joint_blocks(model, joint, state.joints[j], w, work.blocks)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = model.contacts[k], work.contacts[k]
        contact_jacobian(contact, work.pose2[contact.body], work.bodies[contact.body].P, w)
        contact_stiffness(contact, state.contacts[k], model.facets, w)
        condense_contact(w, work.blocks[contact.body].F)


@kernel
def place_joint_blocks(model, joint, left, right, blocks):
    """Blocks of one joint: -left.G^T in its column, right.G in its row, identity where unused."""
    for row in range(joint.n_T + joint.n_R, 6):
        blocks[joint.node].F[row, row] = 1.0
    with_parent = joint.parent < model.bodies.shape[0]
    for row in range(joint.n_T + joint.n_R):
        for k in range(6):
            blocks[joint.child_joint].F[k, row] = -left.G_b[row, k]
            blocks[joint.joint_child].F[row, k] = right.G_b[row, k]
            if with_parent:
                blocks[joint.parent_joint].F[k, row] = -left.G_a[row, k]
                blocks[joint.joint_parent].F[row, k] = right.G_a[row, k]


@kernel
def condense_contact(w, D):
    """D -= J1^T A J2: the contact's answer to the motion of its body."""
    r, A, J = w.arm1, w.A, w.J2
    for column in range(6):
        f0 = A[0, 0] * J[0, column] + A[0, 1] * J[1, column] + A[0, 2] * J[2, column]
        f1 = A[1, 0] * J[0, column] + A[1, 1] * J[1, column] + A[1, 2] * J[2, column]
        f2 = A[2, 0] * J[0, column] + A[2, 1] * J[1, column] + A[2, 2] * J[2, column]
        D[0, column] -= f0
        D[1, column] -= f1
        D[2, column] -= f2
        D[3, column] -= r[1] * f2 - r[2] * f1
        D[4, column] -= r[2] * f0 - r[0] * f2
        D[5, column] -= r[0] * f1 - r[1] * f0


@kernel
def find_direction(model, state, work, kappa):
    """Newton direction for the barrier `kappa` into work.rhs and the contacts' d_ fields."""
    for n in range(work.rhs.shape[0]):
        assign(work.residual[n].w, work.rhs[n].w)
    t = work.scratch[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = model.contacts[k], state.contacts[k], work.contacts[k]
        contact_force(contact, c, model.facets, kappa, w)
        add_wrench(w.F, w.arm1, 1.0, work.rhs[contact.body].w)
    ldu_solve(model.graph, work.blocks, work.rhs)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = model.contacts[k], state.contacts[k], work.contacts[k]
        for i in range(3):
            t.w[i] = 0.0
            for column in range(6):
                t.w[i] += w.J2[i, column] * work.rhs[contact.body].w[column]
        contact_direction(contact, c, model.facets, kappa, t.w, w)


@kernel
def remember(model, state, work):
    """Keep the unknowns, to step from them by different lengths."""
    for i in range(model.bodies.shape[0]):
        w = work.bodies[i]
        assign(w.v, w.v_old)
        assign(w.P, w.P_old)
        assign(work.joints[i].impulse, work.joints[i].impulse_old)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        c, w = state.contacts[k], work.contacts[k]
        w.s_old, w.gamma_old, w.c_old, w.psi_old = c.s, c.gamma, c.c, c.psi
        for i in range(model.facets.shape[0]):
            w.beta_old[i] = c.beta[i]
            w.eta_old[i] = c.eta[i]


@kernel
def take_step(model, state, work, dt, length):
    """Unknowns = remembered unknowns + length * direction."""
    for i in range(model.bodies.shape[0]):
        w, direction = work.bodies[i], work.rhs[i].w
        for k in range(3):
            w.v[k] = w.v_old[k] + length * direction[k]
        turn_by(w.P_old, direction[3:], dt * length, w.P)
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        for row in range(joint.n_T + joint.n_R):
            w.impulse[row] = w.impulse_old[row] + length * work.rhs[joint.node].w[row]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        c, w = state.contacts[k], work.contacts[k]
        c.s = w.s_old + length * w.d_s
        c.gamma = w.gamma_old + length * w.d_gamma
        c.c = w.c_old + length * w.d_c
        c.psi = w.psi_old + length * w.d_psi
        for i in range(model.facets.shape[0]):
            c.beta[i] = w.beta_old[i] + length * w.d_beta[i]
            c.eta[i] = w.eta_old[i] + length * w.d_eta[i]
