"""The step equations (29a), (29b) with contacts condensed, and one Newton direction for them.

Rows are in impulse units (bodies) or m/s (joints). The variables of a contact do not appear: they
have been eliminated into its body's block and are found again from the direction.
"""

from math import isfinite

from robosim.compiled.kinds import RATE
from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.compiler.lanes import most_of_limbs
from robosim.kernels.contact.answers import add_product, add_transposed, subtract_answer
from robosim.kernels.contact.compliance import friction_coefficient
from robosim.kernels.contact.kinematics import (
    differentiate_contact,
    move_contact,
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
from robosim.kernels.contact.limits import move_coordinate, move_rate, rate_over
from robosim.kernels.contact.pads import is_socket, move_pad
from robosim.kernels.contact.shared import is_first, join, press, shares, spring_answer
from robosim.kernels.contact.turning import (
    differentiate_companion,
    follow_leader,
    is_companion,
    move_companion,
)
from robosim.kernels.equations.algebra import assign, clear_rows, dot, fill
from robosim.kernels.equations.body import angular_momentum_tangent
from robosim.kernels.equations.constraints import add_coordinate_impulse
from robosim.kernels.equations.drag import take_drags


@kernel
def evaluate(scheme, model, state, system, loads, work, dt, info):
    """work.residual of Eqs. (29a), (29b) at the current unknowns; returns the residual in m/s."""
    nb, t = model.bodies.shape[0], work.scratch[0]
    clear_rows(work.impulse)
    worst = scheme.place(model, state, system, loads, work, dt)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        if contact.compliant != 0:
            press(work, k, w)
        if is_companion(contact):
            follow_leader(work.contacts, k, contact.leader, model.facets)
        contact_impulse(c.beta, c.gamma, model.facets, w.f)
        if on_joint(contact):
            joint = model.joints[contact.joint]
            if contact.kind == RATE:
                rate = rate_over(scheme, model, state, system, work, contact, dt)
                move_rate(contact, joint, state.q, work.q2, rate, dt, w, t)
            else:
                move_on_joint(contact, joint, state.q, work.q2, dt, w, t)
            add_coordinate_impulse(model.bearings, joint, w, w.f, work.residual[joint.node].w)
        else:
            if is_companion(contact):
                move_companion(work.slots, system.contacts, k, work.bodies, dt, t)
            else:
                move_contact(contact, work.pose2, work.bodies, dt, w, t)
                if w.lags != 0:
                    w.u[2] += friction_coefficient(contact, w) * (w.lag - c.psi)
            if contact.body < nb:
                add_transposed(w.L, w.f, work.impulse[contact.body].w)
            if contact.other < nb:
                add_transposed(w.L_o, w.f, work.impulse[contact.other].w)
        worst = max(worst, contact_violation(contact, c, model.facets, w))
    laws, dynamics = scheme.residual(model, system, work, dt, info)
    if not isfinite(dynamics):
        return dynamics
    return max(most_of_limbs(max(worst, laws)), dynamics)


@kernel
def move_on_joint(contact, joint, q1, q2, dt, w, t):
    """w.u of what acts on a joint's coordinates but for limits of rates, and w.R."""
    if is_socket(contact):
        move_pad(contact, joint, q1, q2, dt, w, t)
        return
    move_coordinate(contact, joint, q1, q2, dt, w, t)


@kernel
def factor(scheme, model, system, work):
    """Factors of the Newton system at the unknowns [Bruedigam2023, Eq. 32]; 0 if regular."""
    scheme.open_blocks(model, system, work)
    condense_contacts(scheme, model, system, work)
    return scheme.eliminate(model, system, work)


@kernel
def condense_contacts(scheme, model, system, work):
    """The answers of all contacts in the equations into the blocks of their bodies."""
    sharing = False
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        contact_stiffness(contact, work.contacts[k], model.facets, w)
        if is_companion(contact):
            differentiate_companion(work.slots, system.contacts, k, work.bodies)
        elif not on_joint(contact):
            differentiate_contact(contact, work.pose2, work.bodies, w, work.scratch[0])
        condense_contact(scheme, model, contact, w, system, work, False)
        sharing = sharing or shares(contact, w)
    if sharing:
        condense_springs(scheme, model, system, work)


@aside
def condense_springs(scheme, model, system, work):
    """What springs under several contacts add to that."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, joined = work.slots[k], work.joined[0]
        if shares(contact, system.contacts[k]) and is_first(work, k):
            join(work, system.contacts, k)
            scheme.condense(model, contact, joined, joined.R, joined.R_o, False, system, work)


@kernel
def condense_contact(scheme, model, contact, w, system, work, held):
    """The contact's answer to motion, -L^T A R, into the bodies' blocks or the joint's law.

    With `held` L is that of the second knot, where R is L, but for the normal of companions.
    """
    if on_joint(contact):
        subtract_answer(w.L, w.A, w.R, -1.0, work.joints[contact.joint].A)
        return
    as_started = held and not is_companion(contact)
    R, R_o = w.L if as_started else w.R, w.L_o if as_started else w.R_o
    scheme.condense(model, contact, w, R, R_o, held, system, work)


@kernel
def find_direction(scheme, model, system, work, kappa, refine):
    """Newton direction for the barrier `kappa` into work.rhs and the contacts' d_ fields.

    A closed contact is so stiff that the rounding of the motion shows in its impulse. With
    `refine`, what that leaves of the momentum balance is solved for once more: the motion which
    that takes is tiny, and so is its rounding.
    """
    for n in range(work.rhs.shape[0]):
        assign(work.residual[n].w, work.rhs[n].w)
    nb, sharing = model.bodies.shape[0], False
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        contact_force(contact, c, model.facets, kappa, w)
        if shares(contact, w):
            sharing = True
            continue
        if on_joint(contact):
            joint = model.joints[contact.joint]
            add_coordinate_impulse(model.bearings, joint, w, w.F, work.rhs[joint.node].w)
            continue
        if contact.body < nb:
            add_transposed(w.L, w.F, work.rhs[contact.body].w)
        if contact.other < nb:
            add_transposed(w.L_o, w.F, work.rhs[contact.other].w)
    if sharing:
        push_together(model, system, work)
    solve_motion(scheme, model, system, work, work.rhs)
    if refine:
        unbalanced_momenta(scheme, model, system, work, work.correction)
        scheme.keep_direction(system)
        solve_motion(scheme, model, system, work, work.correction)
        for n in range(work.rhs.shape[0]):
            for k in range(6):
                work.rhs[n].w[k] += work.correction[n].w[k]
        scheme.add_direction(system)


@aside
def push_together(model, system, work):
    """What contacts that share springs add to the right-hand side of a direction."""
    nb, t = model.bodies.shape[0], work.scratch[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        if not shares(contact, w):
            continue
        t.w[0], t.w[1], t.w[2] = 0.0, 0.0, spring_answer(work, system.contacts, k)
        contact_answer(contact, c, model.facets, t.w, w)
        contact_impulse(w.d_beta, w.d_gamma, model.facets, w.F)
        if contact.body < nb:
            add_transposed(w.L, w.F, work.rhs[contact.body].w)
        if contact.other < nb:
            add_transposed(w.L_o, w.F, work.rhs[contact.other].w)


@kernel
def solve_motion(scheme, model, system, work, x):
    """x = motion and impulses for the right-hand side x; the contacts' directions answer it."""
    nb, t, before = model.bodies.shape[0], work.scratch[0], system.valid[FACTORED] != 0
    sharing = False
    scheme.solve(model, system, work, x)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        fill(0.0, t.w)
        if on_joint(contact):
            scheme.joint_rates(model, system, work, contact.joint, x, t.f)
            add_product(w.R, t.f, t.w)
        else:
            as_started = before and not is_companion(contact)
            if contact.body < nb:
                add_product(w.L if as_started else w.R, x[contact.body].w, t.w)
            if contact.other < nb:
                add_product(w.L_o if as_started else w.R_o, x[contact.other].w, t.w)
        if shares(contact, w):
            sharing = True
            w.at_rest = dot(w.A[2], t.w)
            assign(t.w, w.du)
            continue
        contact_answer(contact, c, model.facets, t.w, w)
    if sharing:
        answer_together(model, system, work)


@aside
def answer_together(model, system, work):
    """The directions of contacts that share springs answer their motions."""
    t = work.scratch[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        if shares(contact, w):
            assign(w.du, t.w)
            t.w[2] += spring_answer(work, system.contacts, k)
            contact_answer(contact, c, model.facets, t.w, w)


@kernel
def unbalanced_momenta(scheme, model, system, work, out):
    """out = what the direction leaves of the bodies' linearized equations; zero in other rows."""
    nb, t = model.bodies.shape[0], work.scratch[0]
    clear_rows(out)
    for i in range(nb):
        x, r, residual = work.rhs[i].w, out[i].w, work.residual[i].w
        angular_momentum_tangent(system.inertias[i].J, work.bodies[i].P, t.R_J)
        for k in range(3):
            r[k] = residual[k] - model.bodies[i].mass * x[k]
            r[3 + k] = residual[3 + k] - dot(t.R_J[k], x[3:])
    if model.drags.shape[0] > 0:
        take_drags(work.drags, work.bodies, work.rhs, t.S_a, out)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if not on_joint(contact):
            contact_impulse(w.d_beta, w.d_gamma, model.facets, w.F)
            if contact.body < nb:
                add_transposed(w.L, w.F, out[contact.body].w)
            if contact.other < nb:
                add_transposed(w.L_o, w.F, out[contact.other].w)
    scheme.add_unbalanced(model, system, work, out)


@kernel
def remember(scheme, model, system, work):
    """Keep the unknowns, to step from them by different lengths."""
    scheme.remember(model, system, work)
    for j in range(scheme.first_multiplier(model), model.joints.shape[0]):
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
def take_step(scheme, model, system, work, dt, length):
    """Unknowns = remembered unknowns + length * direction."""
    scheme.step(model, system, work, dt, length)
    for j in range(scheme.first_multiplier(model), model.joints.shape[0]):
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
