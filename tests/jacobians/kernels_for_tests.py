"""Entries into single kernels, which have no Python wrapper of their own; each costs compiling."""

from robosim.kernels.admission import admit_limit, enter
from robosim.kernels.body import angular_momentum, angular_momentum_tangent
from robosim.kernels.contact import contact_answer as add_answer
from robosim.kernels.contact import (
    contact_begins,
    contact_center,
    contact_force,
    contact_guess,
    contact_impulse,
    contact_keeps,
    contact_land,
    contact_longest_step,
    contact_products,
    contact_second_order,
    contact_stiffness,
    contact_violation,
)
from robosim.kernels.coordinates import read_ahead
from robosim.kernels.jit import entry
from robosim.kernels.joint import (
    joint_jacobian,
    joint_motion_map,
    joint_residual,
    read_coordinates,
)
from robosim.kernels.law import joint_law
from robosim.kernels.ldu import ldu_factor, ldu_solve
from robosim.kernels.newton import (
    assemble,
    evaluate,
    factor,
    find_direction,
    remember,
    take_step,
)
from robosim.kernels.step import guess_motion, start_interval
from robosim.kernels.touch import differentiate_contact, move_contact, start_contact


@entry
def joint_at(model, work, j, q):
    """Everything about joint j at work.pose2: g, G_a, G_b of its work, S_a, S_b of scratch, q."""
    joint, w, t = model.joints[j], work.joints[j], work.scratch[0]
    a, b = work.pose2[joint.parent], work.pose2[joint.child]
    joint_residual(joint, a, b, t, w.g)
    joint_jacobian(joint, a, b, t, w.G_a, w.G_b)
    joint_motion_map(joint, a, b, t, 0, t.S_a, t.S_b)
    read_coordinates(joint, a, b, t, q)


@entry
def momentum_at(J, P, dt, out, tangent):
    """Angular momentum (3,) of the turn P over dt, and its tangent (3, 3)."""
    angular_momentum(J, P, dt, out)
    angular_momentum_tangent(J, P, tangent)


@entry
def contact_at(model, work, k, dt):
    """u, R and R_o of contact k for the poses of its bodies at both knots and their motions."""
    contact, w, t = model.contacts[k], work.contacts[k], work.scratch[0]
    start_contact(contact, work.pose1, dt, w, t)
    move_contact(contact, work.pose2, work.bodies, dt, w, t)
    differentiate_contact(contact, work.pose2, work.bodies, w, t)


@entry
def law_at(model, state, work, j, dt):
    """Law, half and A of joint j between the state's coordinates and those at work.pose2."""
    read_ahead(model.joints[j], state.q, work, work.scratch[0])
    joint_law(model, state, work, j, dt)


@entry
def contact_answer(model, state, work, k, kappa, du):
    """A, F and all directions of contact k for the motion du (3,), from its state and work."""
    contact, c, w = model.contacts[k], state.contacts[k], work.contacts[k]
    contact_stiffness(contact, c, model.facets, w)
    contact_force(contact, c, model.facets, kappa, w)
    add_answer(contact, c, model.facets, du, w)


@entry
def contact_centered(model, state, work, k, kappa, speed):
    """Contact k on the central path at kappa, for the motion in work."""
    contact_center(
        model.contacts[k], state.contacts[k], work.contacts[k], model.facets, kappa, speed
    )


@entry
def contact_landed(model, state, work, k):
    """Contact k back on the central path, with the differences that it has."""
    contact_land(model.contacts[k], state.contacts[k], work.contacts[k], model.facets)


@entry
def contact_measured(model, state, work, k, length, out):
    """out: longest step, sum, largest, smallest, number of products, violation, impulse (3,)."""
    contact, c, w = model.contacts[k], state.contacts[k], work.contacts[k]
    out[0] = contact_longest_step(contact, c, w, model.facets, 1.0, 1e9)
    out[1], out[2], out[3], out[4] = contact_products(contact, c, w, model.facets, length)
    out[5] = contact_violation(contact, c, model.facets, w.u, contact.mass)
    contact_impulse(c.beta, c.gamma, model.facets, out[6:])
    contact_second_order(model.facets, 1.0, w)


@entry
def contact_noted(model, state, k, begins, regular, misses):
    """Note where contact k begins, or where it has come to."""
    if begins:
        contact_begins(model.contacts[k], state.contacts[k])
    else:
        contact_keeps(model.contacts[k], state.contacts[k], regular, misses)


@entry
def contact_foretold(model, state, work, k, trend, regular, aim):
    """Contact k where its changes lead to."""
    contact, c, w = model.contacts[k], state.contacts[k], work.contacts[k]
    contact_guess(contact, c, w, model.facets, trend, regular, aim)


@entry
def start_newton(model, state, work, options, kappa, info):
    """The equations and their matrix at an interval's start, all contacts and limits in them."""
    start_interval(model, model.tree, state, work, options, options.dt, 1.0)
    work.active[0] = 0
    speed = options.contact_speed
    for k in range(model.contacts.shape[0]):
        contact, c, w = work.slots[k], state.contacts[k], work.contacts[k]
        if contact.joint >= 0:
            admit_limit(model, state, work, k, kappa, options.dt, speed)
        else:
            start_contact(contact, work.pose1, options.dt, w, work.scratch[0])
            enter(contact, c, w, k, work.active, work.factored, model.facets, kappa, speed)
    guess_motion(model, model.tree, state, work, options.dt, 0.0, False)
    evaluate(model, state, work, options.dt, info)
    assemble(model, state, work)
    remember(model, model.tree, state, work)


@entry
def continue_newton(model, state, work, dt, info):
    """The equations and their matrix at the motion that work has."""
    evaluate(model, state, work, dt, info)
    assemble(model, state, work)
    remember(model, model.tree, state, work)


@entry
def residual_along(model, state, work, dt, length, info):
    """Residual rows after a step of `length` along the directions in work."""
    take_step(model, model.tree, state, work, dt, length)
    return evaluate(model, state, work, dt, info)


@entry
def factor_and_solve(graph, blocks, rhs):
    """rhs = F^-1 rhs in place; returns the status of the factorization."""
    status = ldu_factor(graph, blocks)
    if status == 0:
        ldu_solve(graph, blocks, rhs)
    return status


@entry
def newton_direction(model, state, work, dt, kappa, info):
    """The Newton direction at the motion that work has; the status of its factorization."""
    evaluate(model, state, work, dt, info)
    status = factor(model, model.tree, state, work)
    find_direction(model, model.tree, state, work, kappa, False)
    return status
