"""Entries into single kernels, which have no Python wrapper of their own; each costs compiling."""

from functools import cache

from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.contact.active_set import add_companions, admit_limit, enter
from robosim.kernels.contact.kinematics import differentiate_contact, move_contact, start_contact
from robosim.kernels.contact.law import contact_answer as add_answer
from robosim.kernels.contact.law import (
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
from robosim.kernels.contact.pads import move_pad, start_pad
from robosim.kernels.contact.turning import (
    describe_companion,
    differentiate_companion,
    move_companion,
    start_companion,
)
from robosim.kernels.equations.actuator_law import actuator_law
from robosim.kernels.equations.algebra import fill
from robosim.kernels.equations.body import angular_momentum, angular_momentum_tangent
from robosim.kernels.equations.coordinates import read_ahead
from robosim.kernels.equations.drag import drag_tangent, find_drags, subtract_drags
from robosim.kernels.equations.joint import (
    joint_jacobian,
    joint_motion_map,
    joint_residual,
    read_coordinates,
)
from robosim.kernels.equations.joint_forces import joint_law
from robosim.kernels.solve.graph import scheme as graph
from robosim.kernels.solve.graph.assemble import close_blocks
from robosim.kernels.solve.graph.ldu import ldu_factor, ldu_solve
from robosim.kernels.solve.newton import (
    condense_contacts,
    evaluate,
    factor,
    find_direction,
    remember,
    take_step,
)
from robosim.kernels.solve.tree import scheme as tree
from robosim.kernels.step.start import start_interval
from robosim.runtime.handles import provide_features


def parts_of(sim):
    """What the kernels of a simulation work on: its model, state, memory, loads and workspace."""
    provide_features(sim.engine.handle)
    model, state, memory, loads, work, _ = sim.parts
    return model, state, memory, loads, work


@entry
def joint_at(model, work, j, q):
    """Everything about joint j at work.pose2: g, G_a, G_b of its work, S_a, S_b of scratch, q."""
    joint, w, t = model.joints[j], work.joints[j], work.scratch[0]
    a, b = work.pose2[joint.parent], work.pose2[joint.child]
    joint_residual(joint, a, b, q, t, w.g)
    joint_jacobian(joint, a, b, q, t, w.G_a, w.G_b)
    joint_motion_map(joint, a, b, q, t, 0, t.S_a, t.S_b)
    read_coordinates(joint, a, b, t, q)


@entry
def momentum_at(J, P, dt, out, tangent):
    """Angular momentum (3,) of the turn P over dt, and its tangent (3, 3)."""
    angular_momentum(J, P, dt, out)
    angular_momentum_tangent(J, P, tangent)


@entry
def contact_at(model, system, work, k, dt):
    """u, R and R_o of contact k for the poses of its bodies at both knots and their motions."""
    contact, w, t = model.contacts[k], system.contacts[k], work.scratch[0]
    start_contact(contact, system.pose1, dt, w, t)
    move_contact(contact, work.pose2, work.bodies, dt, w, t)
    differentiate_contact(contact, work.pose2, work.bodies, w, t)


@entry
def law_at(model, state, loads, work, j, dt):
    """Law, half and A of joint j between the state's coordinates and those at work.pose2."""
    read_ahead(model.joints[j], state.q, work, work.scratch[0])
    joint_law(model, state, loads, work, j, dt)


@entry
def actuator_at(actuators, n, control, q, u):
    """Force along a coordinate q of rate u, of the n-th implicit actuator; its slopes."""
    return actuator_law(actuators.laws[n], actuators.pieces, control, q, u)


@entry
def drag_at(drag, poses, motions, dt, C, tangent, out):
    """What drag takes from body 0 at a knot, out (1,) ROW, and the tangent of that (6, 6)."""
    find_drags(drag, poses, dt, C)
    fill(0.0, out[0].w)
    subtract_drags(C, motions, dt, out)
    drag_tangent(C[0].C, motions[0].P, tangent)


@entry
def companion_at(model, system, work, k, n, dt):
    """u, R and R_o of the n-th companion of contact k, as `contact_at`; returns its slot."""
    contact, w, t = work.slots[k], system.contacts[k], work.scratch[0]
    start_contact(contact, system.pose1, dt, w, t)
    move_contact(contact, work.pose2, work.bodies, dt, w, t)
    differentiate_contact(contact, work.pose2, work.bodies, w, t)
    j = describe_companion(work.slots, k, n)
    start_companion(work.slots, system.contacts, j, system.pose1, t)
    move_companion(work.slots, system.contacts, j, work.bodies, dt, t)
    differentiate_companion(work.slots, system.contacts, j, work.bodies)
    return j


@entry
def contact_answer(model, system, work, k, kappa, du):
    """A, F and all directions of contact k for the motion du (3,), from its state and work."""
    contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
    contact_stiffness(contact, c, model.facets, w)
    contact_force(contact, c, model.facets, kappa, w)
    add_answer(contact, c, model.facets, du, w)


@entry
def contact_centered(model, system, work, k, kappa, speed):
    """Contact k on the central path at kappa, for the motion in work."""
    contact_center(
        model.contacts[k], work.contacts[k], system.contacts[k], model.facets, kappa, speed
    )


@entry
def contact_landed(model, system, work, k):
    """Contact k back on the central path, with the differences that it has."""
    contact_land(model.contacts[k], work.contacts[k], system.contacts[k], model.facets)


@entry
def contact_measured(model, system, work, k, length, out):
    """out: longest step, sum, largest, smallest, number of products, violation, impulse (3,)."""
    contact, c, w = model.contacts[k], work.contacts[k], system.contacts[k]
    out[0] = contact_longest_step(contact, c, w, model.facets, 1.0, 1e9)
    out[1], out[2], out[3], out[4] = contact_products(contact, c, w, model.facets, length)
    out[5] = contact_violation(contact, c, model.facets, w)
    contact_impulse(c.beta, c.gamma, model.facets, out[6:])
    contact_stiffness(contact, c, model.facets, w)
    contact_second_order(contact, c, model.facets, 1.0, w)


@entry
def contact_noted(model, work, k, begins, regular, misses):
    """Note where contact k begins, or where it has come to."""
    if begins:
        contact_begins(model.contacts[k], work.contacts[k])
    else:
        contact_keeps(model.contacts[k], work.contacts[k], regular, misses)


@entry
def contact_foretold(model, system, work, k, trend, regular, aim):
    """Contact k where its changes lead to."""
    contact, c, w = model.contacts[k], work.contacts[k], system.contacts[k]
    contact_guess(contact, c, w, model.facets, trend, regular, aim)


@entry
def factor_and_solve(graph, blocks, rhs):
    """rhs = F^-1 rhs in place; returns the status of the factorization."""
    status = ldu_factor(graph, blocks)
    if status == 0:
        ldu_solve(graph, blocks, rhs)
    return status


@kernel
def assemble(model, system, work):
    """The Newton matrix in blocks of the graph, before they are factored in place."""
    graph.open_blocks(model, system, work)
    condense_contacts(graph, model, system, work)
    close_blocks(model, system, work)


@cache
def entries(scheme):
    """Entries into Newton's method for a scheme."""

    @entry
    @named(scheme.__name__)
    def start(model, state, memory, loads, work, options, kappa, info):
        system, speed = memory.system, options.contact_speed
        start_interval(scheme, model, state, system, loads, work, options, options.dt, 1.0)
        work.active[0] = 0
        fill(0, work.entered)
        for k in range(model.contacts.shape[0]):
            contact, w = work.slots[k], system.contacts[k]
            if contact.joint >= 0:
                admit_limit(scheme, model, state, system, work, k, kappa, options.dt, speed)
            else:
                start_contact(contact, system.pose1, options.dt, w, work.scratch[0])
                enter(model.facets, system, work, k, kappa, speed)
                add_companions(model, memory.guesses, system, work, k, False, kappa, speed)
        scheme.guess(model, state, memory, work, options.dt, 0.0, False)
        evaluate(scheme, model, state, system, loads, work, options.dt, info)
        assemble(model, system, work)
        remember(scheme, model, system, work)

    @entry
    @named(scheme.__name__)
    def go_on(model, state, memory, loads, work, dt, info):
        evaluate(scheme, model, state, memory.system, loads, work, dt, info)
        assemble(model, memory.system, work)
        remember(scheme, model, memory.system, work)

    @entry
    @named(scheme.__name__)
    def along(model, state, memory, loads, work, dt, length, info):
        take_step(scheme, model, memory.system, work, dt, length)
        return evaluate(scheme, model, state, memory.system, loads, work, dt, info)

    @entry
    @named(scheme.__name__)
    def direction(model, state, memory, loads, work, dt, kappa, info):
        evaluate(scheme, model, state, memory.system, loads, work, dt, info)
        status = factor(scheme, model, memory.system, work)
        find_direction(scheme, model, memory.system, work, kappa, False)
        return status

    return start, go_on, along, direction


def entry_of(parts, number):
    """One of the entries for the scheme that these parts of a simulation are made for."""
    memory = parts[2]
    return entries(tree if len(memory.system.tree) else graph)[number]


def start_newton(*parts):
    """The equations and their matrix at an interval's start, all contacts and limits in them."""
    entry_of(parts, 0)(*parts)


def continue_newton(*parts):
    """The equations and their matrix at the motion that work has."""
    entry_of(parts, 1)(*parts)


def residual_along(*parts):
    """Residual rows after a step of a length along the directions in work."""
    return entry_of(parts, 2)(*parts)


def newton_direction(*parts):
    """The Newton direction at the motion that work has; the status of its factorization."""
    return entry_of(parts, 3)(*parts)


@entry
def pad_at(model, work, k, q1, q2, dt, w):
    """The slip u of a pad of a socket over an interval from q1 to q2, L and R, into w."""
    contact = model.contacts[k]
    start_pad(contact, model.joints[contact.joint], w)
    move_pad(contact, model.joints[contact.joint], q1, q2, dt, w, work.scratch[0])
