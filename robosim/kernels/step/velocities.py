"""Velocities at the second knot: the momenta that arrive there, projected.

The momentum that left the interval plus the forces' half at the knot misses the half of the
constraint impulses. They are found by a projection in the mass metric (the second stage of
RATTLE), in which contacts answer as they did in the interval. A rate that would then be beyond its
bound is held there.
"""

from math import sqrt

from robosim.compiled.kinds import DRY, RATE
from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.compiler.lanes import everywhere, over_limbs, pick, somewhere
from robosim.kernels.contact.active_set import enter, use_coordinates
from robosim.kernels.contact.answers import add_product, add_transposed
from robosim.kernels.contact.compliance import friction_coefficient, is_soft
from robosim.kernels.contact.directions import note_friction
from robosim.kernels.contact.kinematics import (
    frame_contact,
    is_plane,
    on_joint,
    place_contact,
    step_back,
)
from robosim.kernels.contact.law import contact_stiffness
from robosim.kernels.contact.limits import start_coordinate
from robosim.kernels.contact.pads import hold_pad, is_socket, own_share, pad_rows
from robosim.kernels.contact.shared import shares
from robosim.kernels.contact.surfaces import note_slip, slip_before
from robosim.kernels.contact.turning import hold_companion, is_companion, start_companion
from robosim.kernels.equations.algebra import (
    assign,
    clear_rows,
    cross,
    dot,
    fill,
    rotate,
    rotate_back,
    similarity,
)
from robosim.kernels.equations.arcs import find_changes
from robosim.kernels.equations.constraints import rows_ahead
from robosim.kernels.equations.drag import drag_ahead, subtract_drags
from robosim.kernels.equations.joint import joint_motion_map
from robosim.kernels.equations.joint_forces import knot_law, push_somewhere, rotor_law
from robosim.kernels.solve.bearings import FITS, fit_friction
from robosim.kernels.solve.newton import condense_contact
from robosim.kernels.status import CONVERGED, SINGULAR

STRAY = 3.0  # how much farther than the momenta friction may take the velocities at a knot
STAYS = 1e-6  # rate of a gap up to which it has stayed as it was [m/s]
LANDING = 0.01  # rate of a gap from which on what comes down has energy to speak of [m/s]
PULL = 1e-6  # change of velocity by which nothing is pulled [m/s]
RELEASES = 4  # how often that which is pulled is let go
MOVES = 1e300  # in place of any other rate
OPEN = -1e300  # in place of that of a landing
BEYOND = 1e-9  # part of its bound by which a rate at a knot may be beyond it
STIFFER = 0.99  # part that springs are held by from which on factors are as good as for hard ones
STIFF = 1e9  # masses of its contact by which a rate is held
SLIDES = 0.99  # part of its bound from which on dry friction slides
SLOW = 20.0  # changes of velocity by its half at the knot, within which a rate may turn round
HELD = 1.0  # in `stop` of friction: what slides is at rest at the knot
BACK = -1.0  # or slides the other way


@kernel
def find_velocities(scheme, model, system, loads, work, options, limited, dt, length):
    """Velocities at the second knot, after `begin_projection`; returns a status.

    They are to be read along arcs, of an interval of some length whose velocities are chords.
    Leaves what leads from these to those in work.rhs, if there is anything, which scratch.arcs
    tells. `limited` is how many rates have bounds or dry friction.
    """
    # The parts of a step of order four make up for each other in what the momenta show.
    arc = 0.0 if options.order == 4 else length
    touches = work.active[0] > 0
    work.scratch[0].drag = 1.0 if touches else 0.0
    status = project_pushes(scheme, model, system, loads, work, options, dt)
    if touches and (status != CONVERGED or strays(model, work, dt)):
        if status != CONVERGED:
            work.scratch[0].drag = 0.0
        status = project_pushes(scheme, model, system, loads, work, options, dt)
        system.valid[FACTORED] = 0
    for _ in range(2 if touches else 0):
        if status != CONVERGED or not stop_slips(model, system, work, dt):
            break
        status = project(scheme, model, system, loads, work, dt)
        system.valid[FACTORED] = 0
    if status != CONVERGED:
        return status
    find_arcs(scheme, model, system, loads, work, arc)
    bears = model.bearings.joint.shape[0] > 0 and work.active[0] > 0
    # Each time at least one more rate is held, or held better.
    for n in range(2 * limited + (FITS if bears else 0)):
        fits = not bears or n >= FITS or fit_friction(scheme, model, system, work, n) == 0
        if fits and not stop_rates(scheme, model, system, work, options.contact_speed, dt):
            break
        status = project(scheme, model, system, loads, work, dt)
        system.valid[FACTORED] = 0
        if status != CONVERGED:
            return status
        find_arcs(scheme, model, system, loads, work, arc)
    return status


@kernel
def length_ahead(model, options, dt):
    """Length of the interval that follows one of length dt [s], or dt itself.

    It is that of a whole step. Parts of a step to an accuracy go on from velocities at knots, and
    bounds of rates and of bearings are kept by them. So these are those of the interval alone.
    """
    return dt if looks_back(model, options) else options.dt


@kernel
def looks_back(model, options):
    """Whether something else goes on from the velocities that are to be read at a knot."""
    return options.accuracy > 0.0 or model.bearings.joint.shape[0] > 0 or bounds_rates(model)


@kernel
def find_arcs(scheme, model, system, loads, work, arc):
    """work.rhs = what leads the velocities at the knot from chords to arcs, if there is anything.

    A rate that is held at its bound stays there.
    """
    found = find_changes(model, work.pose2, work.twists, arc, work)
    if found and (is_tied(model, loads) or limits_rates(model, work)):
        project_changes(scheme, model, work.pose2, system, work)
    work.scratch[0].arcs = 1 if found else 0


@kernel
def begin_projection(model, system, work, dt, again):
    """Tell which gaps have stayed as they were, and slips; hold no rate at its bound yet.

    Slips are in axes that a projection changes, and so known if it is made `again`. Returns how
    many rates have bounds or dry friction.
    """
    count = 0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if contact.directed != 0 and not again:
            t, c = work.scratch[0], work.contacts[k]
            note_friction(work.slots, system.contacts, c, k, model.facets, t)
        if not (is_companion(contact) or on_joint(contact)):
            if travels(contact, model.bodies.shape[0]) and not again:
                note_slip(contact, w)
            w.rate, w.stop = MOVES, 0.0
            if contact.rolls != 0:
                # What lands has lost a part of its speed at the first knot, and will lose the rest
                # at this one: until then nothing touches. What overlaps comes out.
                rate = (w.gap - w.gap1) / abs(dt)
                comes_out = (1.0 - contact.apart) * rate
                w.rate = pick(rate < -LANDING, OPEN, pick(rate > STAYS, comes_out, 0.0))
                w.rate = pick(is_soft(contact, w) != 0.0, MOVES, w.rate)
    for k in range(model.n_ground, model.contacts.shape[0]):
        if work.slots[k].kind == RATE or is_dry(work, k):
            system.contacts[k].stop = 0.0
            count += 1
    return count


@kernel
def is_dry(work, k):
    """Whether contact k is dry friction of one coordinate, and in the equations."""
    contact = work.slots[k]
    return contact.kind == DRY and work.entered[k] != 0 and not is_socket(contact)


@kernel
def bounds_rates(model):
    """Whether rates have bounds, which may be met for the first time at a knot."""
    for k in range(model.n_ground, model.contacts.shape[0]):
        if model.contacts[k].kind == RATE:
            return True
    return False


@kernel
def limits_rates(model, work):
    """Whether the limit of a rate is in the equations."""
    for k in range(model.n_ground, model.contacts.shape[0]):
        if work.slots[k].kind == RATE and work.entered[k] != 0:
            return True
    return False


@kernel
def stop_rates(scheme, model, system, work, speed, dt):
    """Hold the rates that are beyond their bounds at the second knot; whether there are such.

    What is held yields a little: if that is too much, it is held that much earlier.
    """
    more = False
    fill(0.0, work.twists[model.bodies.shape[0]].w)
    for k in range(model.n_ground, model.contacts.shape[0]):
        contact, w = work.slots[k], system.contacts[k]
        if contact.kind != RATE:
            if is_dry(work, k) and may_turn(work, contact, w, k):
                more = stop_sliding(model, contact, w, work, own_share(work, contact, k)) or more
            continue
        bound = contact.sign * contact.bound
        left = contact.sign * knot_rate(model, contact, work) - bound
        beyond = left < -BEYOND * abs(bound)
        if somewhere(beyond):
            if work.entered[k] == 0:
                enter_late(scheme, model, system, work, k, speed, dt)
            stop = pick(w.stop == 0.0, bound, w.stop - left)
            w.stop, more = pick(beyond, stop, w.stop), True
    return more


@kernel
def may_turn(work, contact, w, k):
    """Whether a coordinate with dry friction slides so slowly that this may turn it round."""
    half = own_share(work, contact, k) * abs(w.f[0])
    slides = abs(w.f[0]) > SLIDES * work.contacts[k].gamma
    return somewhere(pick(slides, contact.mass * abs(w.rate) - SLOW * half, 1.0) < 0.0)


@aside
def stop_sliding(model, contact, w, work, share):
    """Let dry friction oppose a rate at the second knot that has turned round; whether it has.

    First the rate is held at zero. If that takes more than the friction there, the coordinate goes
    back, and friction acts the other way.
    """
    half = share * w.f[0]
    rate = contact.scale * knot_rate(model, contact, work)
    force = -STIFF * contact.mass * rate
    turns = pick(w.stop == 0.0, rate * w.rate, 0.0) < 0.0
    back = pick(w.stop == HELD, force * half + half * half, 0.0) < 0.0
    w.stop = pick(turns, HELD, pick(back, BACK, w.stop))
    return somewhere(turns) or somewhere(back)


@kernel
def enter_late(scheme, model, system, work, k, speed, dt):
    """Take the limit of a rate into the equations of the knot, with its joint's coordinates.

    In those of the interval nothing acted along them.
    """
    contact, w = work.slots[k], system.contacts[k]
    j = contact.joint
    joint, law = model.joints[j], work.joints[j]
    n = joint.n_T + joint.n_R
    if law.rows == n:
        use_coordinates(scheme, model, system, work, j)
        rows_ahead(model, work, j)
        for row in range(joint.m_T + joint.m_R):
            law.rotor[row], law.impulse[n + row] = 0.0, 0.0
    start_coordinate(contact, joint, work.q2, dt, w, work.scratch[0])
    w.rate = 0.0
    enter(model.facets, system, work, k, speed * speed * contact.mass, speed)


@kernel
def knot_rate(model, contact, work):
    """The rate of a contact's coordinate at the second knot, with what leads it to an arc."""
    joint, t, rate = model.joints[contact.joint], work.scratch[0], 0.0
    parent, child = joint.parent, joint.child
    a, b = work.pose2[parent], work.pose2[child]
    joint_motion_map(joint, a, b, work.q2, t, 0, t.S_a, t.S_b)
    on_a, on_b = t.S_a[contact.row], t.S_b[contact.row]
    for k in range(6):
        rate += on_a[k] * work.twists[parent].w[k] + on_b[k] * work.twists[child].w[k]
        if t.arcs != 0:
            rate += on_b[k] * work.rhs[child].w[k]
            if parent < model.bodies.shape[0]:
                rate += on_a[k] * work.rhs[parent].w[k]
    return rate


@kernel
def carry_momenta(scheme, model, system, loads, work, options, dt):
    """work.known = momenta that enter the second knot: impulses and the forces' half there.

    What is left of the equations is momentum e that the velocity v does not show. It flies along
    with the body, and to keep its moment about the world the body's own has to give dt v x e.
    """
    scheme.end_joints(model, system, work)
    if model.drags.shape[0] > 0:
        subtract_drags(work.drags, work.bodies, dt, work.known)
    for i in range(model.bodies.shape[0]):
        known, v, e = work.known[i].w, work.bodies[i].v, work.scratch[0].w
        for k in range(6):
            known[k] += work.impulse[i].w[k]
        for k in range(3):
            e[k] = known[k] - model.bodies[i].mass * v[k]
        known[3] -= dt * (v[1] * e[2] - v[2] * e[1])
        known[4] -= dt * (v[2] * e[0] - v[0] * e[2])
        known[5] -= dt * (v[0] * e[1] - v[1] * e[0])
    push_springs(model, system, work)
    scheme.push_joints(model, system, loads, work, dt)
    if model.drags.shape[0] > 0:
        drag_ahead(model.drags, work.pose2, work.bodies, dt, work.drags, work.known)
    for i in range(model.bodies.shape[0]):
        heavy = model.bodies[i].gravitational_mass
        for k in range(3):
            work.known[i].w[k] += 0.5 * dt * heavy * options.gravity[k]
        for k in range(6):
            work.known[i].w[k] += 0.5 * dt * loads.external[i].w[k]


@kernel
def push_springs(model, system, work):
    """What compliant contacts and limits give at the second knot, into work.known and `half`."""
    nb, t = model.bodies.shape[0], work.scratch[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        if contact.compliant == 0 or is_companion(contact):
            continue
        c.later = w.later
        size = w.later * c.gamma
        if on_joint(contact):
            joint, law = model.joints[contact.joint], work.joints[contact.joint]
            for row in range(joint.m_T + joint.m_R):
                law.half[row] += size * w.R[2, row]
            continue
        place_contact(contact, work.pose2, t)
        if contact.body < nb:
            push_along(size, t.w, t.y, t.f, work.known[contact.body].w)
        if contact.other < nb:
            push_along(-size, t.w, t.z, t.f, work.known[contact.other].w)


@kernel
def push_along(size, normal, arm, moment, out):
    """out (6,) += the wrench of an impulse along a normal, at an arm."""
    cross(arm, normal, moment)
    for i in range(3):
        out[i] += size * normal[i]
        out[3 + i] += size * moment[i]


@kernel
def project_pushes(scheme, model, system, loads, work, options, dt):
    """`project`, in which shapes do not pull each other; returns a status."""
    fall = abs(dt) * sqrt(dot(options.gravity, options.gravity))
    status = project(scheme, model, system, loads, work, dt)
    for _ in range(RELEASES):
        if status != CONVERGED or not release(model, system, work, fall, dt):
            break
        status = project(scheme, model, system, loads, work, dt)
        system.valid[FACTORED] = 0
    return status


@kernel
def release(model, system, work, fall, dt):
    """Let go of what would be pulled at the second knot; whether there is such.

    And hold what lands where forces would press it into what it lands on: to the speed that it has
    over the interval, if it were more than twice as fast, and by more than a free fall.
    """
    more, nb, t = False, model.bodies.shape[0], work.scratch[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if contact.rolls == 0 or on_joint(contact) or is_companion(contact):
            continue
        fill(0.0, t.w)
        if contact.body < nb:
            add_product(w.L, work.twists[contact.body].w, t.w)
        if contact.other < nb:
            add_product(w.L_o, work.twists[contact.other].w, t.w)
        pulled = w.A[2, 2] * (t.w[2] - w.rate) < -PULL * contact.mass
        if somewhere(pulled):
            w.rate, more = pick(pulled, OPEN, w.rate), True
        landing = pick(w.rate == OPEN, (w.gap - w.gap1) / abs(dt), 0.0)
        if somewhere(landing < -LANDING):
            fill(0.0, t.y)
            if contact.body < nb:
                add_motion(w.L, work.bodies[contact.body], dt, t.y)
            if contact.other < nb:
                add_motion(w.L_o, work.bodies[contact.other], dt, t.y)
            before = min(t.y[2], landing)
            pressed = pick(landing < -LANDING, t.w[2] - 2.0 * before + fall, 0.0) < 0.0
            if somewhere(pressed):
                w.rate, more = pick(pressed, before, w.rate), True
    return more


@kernel
def stop_slips(model, system, work, dt):
    """Let friction hold contacts whose slip it has turned round at the second knot; whether so.

    Those are let go again that this takes more friction than their normal impulse allows.
    """
    more = False
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = work.slots[k], work.contacts[k], system.contacts[k]
        if contact.mu == 0.0 or contact.compliant != 0 or contact.directed != 0:
            continue
        if on_joint(contact) or is_companion(contact) or travels(contact, model.bodies.shape[0]):
            continue
        if may_stop(contact, c, w):
            more = stop_slip(model, contact, w, work, dt) or more
    return more


@kernel
def may_stop(contact, c, w):
    """Whether a contact slides so slowly that its friction may turn the slip round at the knot."""
    mu = friction_coefficient(contact, w)
    slip = w.u[0] * w.u[0] + w.u[1] * w.u[1]
    push = w.f[0] * w.f[0] + w.f[1] * w.f[1]
    limit, change = SLIDES * mu * c.gamma, 0.5 * SLOW / contact.mass
    return somewhere(pick(push > limit * limit, slip - change * change * push, 1.0) < 0.0)


@aside
def stop_slip(model, contact, w, work, dt):
    """`stop_slips` of one contact."""
    nb, t = model.bodies.shape[0], work.scratch[0]
    fill(0.0, t.w)
    fill(0.0, t.y)
    if contact.body < nb:
        add_product(w.L, work.twists[contact.body].w, t.w)
        add_motion(w.L, work.bodies[contact.body], dt, t.y)
    if contact.other < nb:
        add_product(w.L_o, work.twists[contact.other].w, t.w)
        add_motion(w.L_o, work.bodies[contact.other], dt, t.y)
    x, y = w.u[0] + t.w[0] - t.y[0], w.u[1] + t.w[1] - t.y[1]
    turns = pick(w.stop == 0.0, x * w.u[0] + y * w.u[1], 0.0) < 0.0
    normal = w.A[2, 2] * (t.w[2] - normal_rate(t.y[2], w.rate))
    most = friction_coefficient(contact, w) * max(normal, 0.0)
    force = STIFF * contact.mass * sqrt(x * x + y * y)
    slides = pick(w.stop == HELD, most - force, 0.0) < 0.0
    w.stop = pick(turns, HELD, pick(slides, BACK, w.stop))
    return somewhere(turns) or somewhere(slides)


@kernel
def project(scheme, model, system, loads, work, dt):
    """work.twists = velocities at the second knot, second order; returns a status.

    The momentum that left the interval plus the forces' half at this knot misses the half of
    the constraint impulses. They are found by the projection in the mass metric (the second
    stage of RATTLE); contacts answer as they did in the interval, through their stiffness A. With
    `drag` friction follows normal impulses.
    """
    system.valid[FACTORED] = 0
    scheme.hold_bodies(model, system, work)
    for j in range(model.joints.shape[0]):
        if work.joints[j].rows > model.joints[j].n_T + model.joints[j].n_R:
            knot_law(model, loads, work, j, dt)
    soft = hold_contacts(scheme, model, system, work, dt)
    if scheme.solve_held(model, system, work) != 0:
        return SINGULAR
    for i in range(model.bodies.shape[0]):
        assign(work.rhs[i].w, work.twists[i].w)
    for j in range(scheme.first_multiplier(model), model.joints.shape[0]):
        if model.joints[j].node >= 0:
            assign(work.rhs[model.joints[j].node].w, work.joints[j].ahead)
    for n in range(model.couplings.shape[0]):
        work.couplings[n].ahead = work.rhs[model.couplings[n].node].w[0]
    system.valid[FACTORED] = 0 if soft else 1
    return CONVERGED


@kernel
def project_free(scheme, model, system, work):
    """work.twists = velocities at the second knot with nothing but joints and rotors; a status."""
    scheme.hold_bodies(model, system, work)
    for j in range(model.joints.shape[0]):
        if work.joints[j].rows > model.joints[j].n_T + model.joints[j].n_R:
            rotor_law(model, work, j)
    if scheme.solve_held(model, system, work) != 0:
        return SINGULAR
    for i in range(model.bodies.shape[0]):
        assign(work.rhs[i].w, work.twists[i].w)
    return CONVERGED


@kernel
def strays(model, work, dt):
    """Whether any velocities at the knot stray; lets friction not follow normal impulses there.

    They are farther from the interval's than a projection can be.

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
        far += body.share * (body.mass * change + dot(t.arm, t.y))
        near += body.share * push / body.mass
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
            turns += body.share * t.z[k] * dot(body.inertia_inverse[k], t.z)
    fine = far <= STRAY * STRAY * (near + over_limbs(turns))
    work.scratch[0].drag = pick(fine, 1.0, 0.0)
    return not everywhere(fine)


@kernel
def hold_contacts(scheme, model, system, work, dt):
    """Let all contacts in the equations resist; friction follows normal impulses by `drag`.

    Returns whether some do so less than over an interval, as springs do.
    """
    drags = work.scratch[0].drag != 0.0
    all_drag = everywhere(drags)
    soft = False
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        contact_stiffness(contact, work.contacts[k], model.facets, w)
        if contact.compliant != 0:
            # What the momenta have of a spring does not answer. Those on it give their part.
            part, c = w.held, work.contacts[k]
            if shares(contact, w):
                part *= c.s / (c.s + w.slope * w.pressed)
            for i in range(3):
                w.A[i, 2] *= part
            soft = soft or shares(contact, w) or somewhere(w.held < STIFFER)
        if not all_drag:
            w.A[0, 2], w.A[1, 2] = pick(drags, w.A[0, 2], 0.0), pick(drags, w.A[1, 2], 0.0)
        if is_companion(contact):
            w.rate = system.contacts[contact.leader].rate
        if contact.rolls != 0 or is_companion(contact):
            share = pick(w.rate == OPEN, 0.0, 1.0)
            for i in range(3):
                for c in range(3):
                    w.A[i, c] *= share
        if contact.kind != RATE and somewhere(w.stop == HELD):
            stick(contact, w)
        if contact.kind == RATE:
            w.A[2, 2] = pick(w.stop != 0.0, -STIFF * contact.mass, w.A[2, 2])
            w.rate = pick(w.stop != 0.0, w.stop, w.rate)
            # At a knot R is L.
            assign(w.L[2], w.R[2])
        if is_companion(contact):
            hold_turning(scheme, model, k, system, work, dt)
        else:
            hold_contact(scheme, model, k, system, work, dt)
    return soft


@aside
def stick(contact, w):
    """Let friction hold a contact whatever it takes, in place of sliding."""
    held = w.stop == HELD
    for i in range(2):
        for c in range(3):
            w.A[i, c] = pick(held, 0.0, w.A[i, c])
        w.A[i, i] = pick(held, -STIFF * contact.mass, w.A[i, i])
        w.A[2, i] = pick(held, 0.0, w.A[2, i])


@kernel
def hold_contact(scheme, model, k, system, work, dt):
    """Let a contact resist the change from the interval's velocity to the knot's."""
    contact, w = work.slots[k], system.contacts[k]
    t, nb = work.scratch[0], model.bodies.shape[0]
    if is_socket(contact):
        joint, law = model.joints[contact.joint], work.joints[contact.joint].law
        # At a knot R is L.
        pad_rows(contact, joint, w.R)
        condense_contact(scheme, model, contact, w, system, work, True)
        hold_pad(contact, joint, own_share(work, contact, k), w, law)
        return
    fill(0.0, w.F)
    if on_joint(contact):
        joint, law = model.joints[contact.joint], work.joints[contact.joint].law
        condense_contact(scheme, model, contact, w, system, work, True)
        axis = 0 if contact.kind == DRY else 2
        w.F[axis] = -w.A[axis, axis] * w.rate
        if contact.compliant != 0:
            add_missing(w)
        if contact.kind == DRY:
            # What slides on is held back by the half of the friction that belongs to the interval.
            half = own_share(work, contact, k) * w.f[axis]
            slides = w.F[axis] + pick(w.stop == BACK, -half, half)
            w.F[axis] = pick(w.stop == HELD, 0.0, slides)
        for row in range(joint.m_T + joint.m_R):
            law[row] += w.L[axis, row] * w.F[axis]
        return
    # As the next interval starts it, but for its deflection; at a knot L is R as well.
    before = w.gap1
    gap = place_contact(contact, work.pose2, t)
    if contact.compliant == 0:
        step_back(contact, gap, dt, w, t)
        w.gap1 = before
    frame_contact(contact, work.pose2, gap, dt, w, t)
    condense_contact(scheme, model, contact, w, system, work, True)
    resist_change(w.L, w.L_o, contact, w, work, nb, dt, w.rate)


@kernel
def add_missing(w):
    """w.F += what the momenta lack of the half of a compliant contact's impulse at the knot.

    Of the normal they have what acts at the second knot, and nothing of friction.
    """
    w.F[0] += 0.5 * w.f[0]
    w.F[1] += 0.5 * w.f[1]
    w.F[2] += w.lacks * w.f[2]


@kernel
def travels(contact, nb):
    """Whether the point of contact travels over a body, or over a surface that moves.

    Its slip at a knot is another one than the interval's velocities would have there.
    """
    moves = contact.drifts != 0 or contact.rolls != 0
    moves = moves or (contact.other < nb and is_plane(contact))
    return moves and not is_companion(contact)


@kernel
def resist_change(R, R_o, contact, w, work, nb, dt, rate):
    """work.rhs of the bodies: what a contact gives against a change of the interval's velocity.

    Along the normal that is what the chord has there, or the `rate` of a gap that has stayed.
    """
    t = work.scratch[0]
    fill(0.0, t.w)
    if contact.body < nb:
        add_motion(R, work.bodies[contact.body], dt, t.w)
    if contact.other < nb:
        add_motion(R_o, work.bodies[contact.other], dt, t.w)
    if travels(contact, nb):
        slip_before(contact, work.pose2[contact.other], work.pose2[contact.body], w, t)
        if contact.compliant != 0 and contact.other < nb:
            # Slip is that of both surfaces, which are apart where they overlap; L has one point.
            turn = work.bodies[contact.other].P
            cross(turn[1:], w.frame[2], t.y)
            for k in range(2):
                t.w[k] -= 2.0 / dt * w.gap * dot(w.frame[k], t.y)
    t.w[2] = normal_rate(t.w[2], rate)
    if not is_companion(contact) and somewhere(w.stop == HELD):
        for i in range(2):
            t.w[i] -= pick(w.stop == HELD, w.u[i], 0.0)
    rotate(w.A, t.w, w.F)
    for i in range(3):
        w.F[i] = -w.F[i]
    if contact.compliant != 0:
        add_missing(w)
    if contact.body < nb:
        add_transposed(w.L, w.F, work.rhs[contact.body].w)
    if contact.other < nb:
        add_transposed(w.L_o, w.F, work.rhs[contact.other].w)


@kernel
def normal_rate(chord, rate):
    """The normal velocity that a contact has had: none, if its gap has stayed as it was.

    Else it is that of the point which touches last. Of a rim that rolls, that point has come from
    above.
    """
    return pick(abs(rate) < MOVES, rate, chord)


@kernel
def hold_turning(scheme, model, k, system, work, dt):
    """Let a companion of a contact resist the change from the interval's velocity, as that does."""
    contact, w, t, nb = work.slots[k], system.contacts[k], work.scratch[0], model.bodies.shape[0]
    start_companion(work.slots, system.contacts, k, work.pose2, t)
    hold_companion(work.slots, system.contacts, k)
    condense_contact(scheme, model, contact, w, system, work, True)
    resist_change(w.R, w.R_o, contact, w, work, nb, dt, w.rate)


@kernel
def add_motion(L, motion, dt, out):
    """out (3,) += L times the velocities of a body over the interval."""
    for i in range(3):
        for k in range(3):
            out[i] += L[i, k] * motion.v[k] + L[i, 3 + k] * 2.0 / dt * motion.P[1 + k]


@kernel
def is_tied(model, loads):
    """Whether more than a tree's joints holds the velocities: loops, couplings, given motions."""
    more = model.joints.shape[0] > model.bodies.shape[0]
    return more or model.couplings.shape[0] > 0 or loads.motion.shape[0] > 0


@kernel
def project_changes(scheme, model, poses, system, work):
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
    scheme.solve_changes(model, system, work)


@kernel
def size_of_push(loads, work):
    """Not zero where contacts or torques act."""
    size = 1.0 if work.active[0] > 0 else 0.0
    if push_somewhere(loads.tau):
        for v in range(loads.tau.shape[0]):
            size += abs(loads.tau[v])
    return over_limbs(size)
