"""Restitution: contacts and limits that are hit bounce off, by impulses at a knot.

The equations of an interval are inelastic: what has come to a contact stays there. So an interval
in which a contact with restitution is hit is not taken, but divided where that happens. At the
knot between both parts impulses change the velocities, in the mass metric and as joints and loops
allow, and the motion goes on from there as from a start.

Newton's law holds for contacts that are approached: with u the relative velocity along the normal,

    u+ >= -e u-,    P >= 0,    P (u+ + e u-) = 0,

and Coulomb's law for friction. Contacts that touch without being approached have no impulse. Those
that are approached afterwards follow in another round, until none is: so an impact travels through
a row of balls from one to the next. A round that gives energy, as Newton's law may with friction,
is scaled down until it does not.

Limits of joints with restitution are such contacts without friction, of the joint's two bodies.
"""

from math import sqrt

from robosim.compiled.kinds import BOUNCE, GOES_ROUND, STRIKES
from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.features import NUMBER, feature
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick, somewhere
from robosim.kernels.contact.answers import add_product, add_transposed
from robosim.kernels.contact.hits import is_closed, may_be_hit, takes_part
from robosim.kernels.contact.kinematics import on_joint, place_contact, start_contact
from robosim.kernels.contact.limits import coordinate_gap, start_stop
from robosim.kernels.equations.algebra import assign, clear_rows, dot, fill, rotate_back
from robosim.kernels.equations.body import end_pose, turn_from_rate
from robosim.kernels.equations.coordinates import read_joints
from robosim.kernels.step.knot import forget, start_knot
from robosim.kernels.step.start import start_interval
from robosim.kernels.step.velocities import project_free

SAMPLES = 8  # places on the way of an interval at which gaps are measured
HALVINGS = 20  # of what is between two of them, to when they meet
INSTANT = 1e-3  # part of an interval over which speeds are measured
SHORT = 0.98  # part of the way to a contact that the first part of a divided interval takes
ROUNDS = 10  # for each contact
SWEEPS = 200  # over the contacts of a round
SETTLED = 1e-13  # change of velocity in a sweep, over the fastest approach, that is the last


@feature(STRIKES, dt=NUMBER)
def strikes(model, state, memory, work, options, dt):
    """1 if a contact with restitution has been hit in the interval that has been solved, else 0.

    Leaves in scratch.ahead when the first one is, a little before, after the first knot [s].
    """
    restitution, first, struck = model.restitution, dt, 0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact = work.slots[k]
        if not takes_part(contact, restitution[k]):
            continue
        # What was closed before is not hit, but pressed on.
        closes = pick(is_closed(contact, work.contacts[k]), restitution[k], 0.0)
        closes = pick(state.closed[k] != 0.0, 0.0, closes)
        if not somewhere(closes > 0.0):
            continue
        if goes_round(contact):
            time, speed = meet(model, contact, state, memory.system, work, options, dt)
        else:
            w = memory.system.contacts[k]
            time, speed = meet_straight(model, contact, state, memory.system, w, work, options)
        if pick(closes > 0.0, speed, 0.0) > options.restitution_threshold:
            first, struck = min(first, time), 1
    work.scratch[0].ahead = SHORT * first
    return struck


@kernel
def goes_round(contact):
    """Whether what touches may be at the other side of a rim when it does."""
    return contact.rolls == GOES_ROUND


@kernel
def approach(model, contact, state, w, options):
    """(speed at which a contact closes at the first knot [m/s], how it grows [m/s^2])."""
    if on_joint(contact):
        # In the middle of the interval before, with L by the coordinates.
        joint, mid, speed = model.joints[contact.joint], state.joints[contact.joint].mid, 0.0
        for row in range(joint.m_T + joint.m_R):
            speed -= w.L[2, row] * mid[row]
        return speed, 0.0
    nb, speed, growth = model.bodies.shape[0], 0.0, growing(model, contact, w, options)
    if contact.body < nb:
        v = state.bodies[contact.body].v_mid
        speed -= dot(w.L[2, :3], v[:3]) + dot(w.L[2, 3:], v[3:])
    if contact.other < nb:
        v = state.bodies[contact.other].v_mid
        speed -= dot(w.L_o[2, :3], v[:3]) + dot(w.L_o[2, 3:], v[3:])
    # `v_mid` is from the middle of the interval before.
    return speed + 0.5 * state.last_dt[0] * growth, growth


@kernel
def meet_straight(model, contact, state, system, w, work, options):
    """(when a point or limit touches [s], how fast it closes at the first knot [m/s]).

    As of a gap that closes along a line, or falls.
    """
    speed, growth = approach(model, contact, state, w, options)
    return time_along(gap_of(model, contact, state, system, work), speed, growth), speed


@kernel
def time_along(way, speed, growth):
    """Time [s] that a way takes: the smaller root of way = speed t + growth t^2 / 2."""
    root = sqrt(max(speed * speed + 2.0 * growth * way, 0.0))
    return 2.0 * way / max(speed + root, 1e-300)


@kernel
def meet(model, contact, state, system, work, options, dt):
    """(when two bodies touch, a little before [s], how fast [m/s]), if nothing pushes them.

    Gaps close along curves where bodies turn, and the faster, the later: the lowest point of a disc
    that comes down nearly flat changes sides. So they are measured on the way. The poses of both
    at the second knot stay as they were: unless the contact is hit, the state moves there.
    """
    begin, end, kept = 0.0, dt, work.collision.kept
    copy_record(work.pose2[contact.body], kept[0])
    copy_record(work.pose2[contact.other], kept[1])
    for n in range(SAMPLES):
        end = dt * (n + 1) / SAMPLES
        if gap_after(model, contact, state, system, work, options, end) < 0.0:
            break
        begin = end
    if begin < end:
        for _ in range(HALVINGS):
            middle = 0.5 * (begin + end)
            if gap_after(model, contact, state, system, work, options, middle) < 0.0:
                end = middle
            else:
                begin = middle
    gap = gap_after(model, contact, state, system, work, options, begin)
    after = gap_after(model, contact, state, system, work, options, begin + INSTANT * dt)
    copy_record(kept[0], work.pose2[contact.body])
    copy_record(kept[1], work.pose2[contact.other])
    return begin, (gap - after) / (INSTANT * dt)


@kernel
def gap_after(model, contact, state, system, work, options, time):
    """The gap of a contact some time after the first knot, if nothing pushes its bodies [m].

    Leaves their poses then in work.pose2.
    """
    for b in (contact.body, contact.other):
        if b < model.bodies.shape[0]:
            body, motion, t = model.bodies[b], state.bodies[b].v_mid, work.scratch[0]
            # `v_mid` is from the middle of the interval before.
            falls = 0.5 * (state.last_dt[0] + time) * body.gravitational_mass / body.mass
            for i in range(3):
                t.w[i] = motion[i] + falls * options.gravity[i]
            turn_from_rate(motion[3:], time, t.r)
            end_pose(system.pose1[b], t.w, t.r, time, work.pose2[b])
    return place_contact(contact, work.pose2, work.scratch[0])


@kernel
def growing(model, contact, w, options):
    """What gravity adds to the speed at which a contact closes [m/s^2]; of limits unknown."""
    nb, growth = model.bodies.shape[0], 0.0
    if on_joint(contact):
        return growth
    if contact.body < nb:
        body = model.bodies[contact.body]
        growth -= body.gravitational_mass / body.mass * dot(w.L[2, :3], options.gravity)
    if contact.other < nb:
        body = model.bodies[contact.other]
        growth -= body.gravitational_mass / body.mass * dot(w.L_o[2, :3], options.gravity)
    return growth


@kernel
def gap_of(model, contact, state, system, work):
    """The gap of a contact or limit at the knot where the state is [m], none where it is deep."""
    return max(signed_gap(model, contact, state, system, work), 0.0)


@kernel
def signed_gap(model, contact, state, system, work):
    """The same, negative where it is deep."""
    if on_joint(contact):
        return coordinate_gap(contact, model.joints[contact.joint], state.q)
    return place_contact(contact, system.pose1, work.scratch[0])


@feature(BOUNCE, soon=NUMBER, close=NUMBER)
def bounce(scheme, model, state, memory, loads, work, options, soon, close):
    """Impacts at the knot where the state is; 1 if there are any, there or ahead, else 0.

    All are hit that are reached within the time `soon` [s], or nearer than `close` [m].
    As a disc changes sides, what it is to be hit with is another point, which is higher.
    """
    system, count, met = memory.system, work.active[0], 0
    fill(0, system.valid)
    start_interval(scheme, model, state, system, loads, work, options, 0.0, 0.0)
    scheme.find_rest(model, state, system, work, options.dt)
    if project_free(scheme, model, system, work) == 0:
        if state.stale[0] == 0.0:
            # With what contacts give at the knot, which the momenta there do not have yet.
            for i in range(model.bodies.shape[0]):
                assign(state.bodies[i].shown, work.twists[i].w)
        for n in range(1, count + 1):
            k = work.active[n]
            contact, w, t = work.slots[k], system.contacts[k], work.scratch[0]
            if may_be_hit(contact):
                start_contact(contact, system.pose1, options.dt, w, t)
            elif takes_part(contact, model.restitution[k]):
                joint = model.joints[contact.joint]
                start_stop(contact, joint, system.pose1, state.q, w, t)
        for _ in range(ROUNDS * count):
            fastest = choose_hit(model, state, system, work, options, soon, close)
            if fastest == 0.0:
                break
            met = 1
            resolve(scheme, model, system, work, fastest)
            lose_energy(scheme, model, system, work)
    if met != 0:
        restart(model, state, memory, work)
    fill(0, system.valid)
    return 1 if met != 0 or is_ahead(model, state, system, work) else 0


@kernel
def is_ahead(model, state, system, work):
    """Whether something that bounces may be hit later on."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact = work.slots[k]
        if not goes_round(contact) or not somewhere(model.restitution[k] > 0.0):
            continue
        if somewhere(gap_of(model, contact, state, system, work) > 0.0):
            return True
    return False


@kernel
def choose_hit(model, state, system, work, options, soon, close):
    """Mark contacts that are hit; returns the speed of the fastest approach, 0 if none is.

    w.rate is the speed at which they are to leave, -1 of other contacts; w.u is the motion before,
    and w.F the impulse, none yet.
    """
    fastest = 0.0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        w.rate, e = -1.0, model.restitution[k]
        if not takes_part(contact, e):
            continue
        motion_in(model, contact, w, work.twists, w.u)
        fill(0.0, w.F)
        speed = -w.u[2]
        if speed <= options.restitution_threshold:
            continue
        gap = gap_of(model, contact, state, system, work)
        if gap > max(soon * speed, close):
            continue
        fastest = max(fastest, speed)
        w.rate = rebound(model, contact, w, e, speed, gap, options)
    return fastest


@kernel
def rebound(model, contact, w, e, speed, gap, options):
    """The speed at which what is hit at `speed` comes back, both at a small gap.

    What counts is the speed at the surface, which gravity changes on the way there and back.
    """
    growth = growing(model, contact, w, options)
    square = e * e * speed * speed - (1.0 - e * e) * 2.0 * growth * gap
    return min(sqrt(max(square, 0.0)), speed)


@kernel
def ends(model, contact):
    """The body and the other that an impact acts on: of a limit the child and the parent."""
    if on_joint(contact):
        joint = model.joints[contact.joint]
        return joint.child, joint.parent
    return contact.body, contact.other


@kernel
def motion_in(model, contact, w, twists, out):
    """out (3,) = motion of a contact at the knot, from the velocities of the bodies."""
    fill(0.0, out)
    body, other = ends(model, contact)
    if body < model.bodies.shape[0]:
        add_product(w.L, twists[body].w, out)
    if other < model.bodies.shape[0]:
        add_product(w.L_o, twists[other].w, out)


@kernel
def push(model, contact, w, f, work):
    """work.rhs += the wrenches of an impulse f (3,)."""
    body, other = ends(model, contact)
    if body < model.bodies.shape[0]:
        add_transposed(w.L, f, work.rhs[body].w)
    if other < model.bodies.shape[0]:
        add_transposed(w.L_o, f, work.rhs[other].w)


@kernel
def answer(scheme, model, system, work):
    """work.twists += what follows from the wrenches in work.rhs."""
    scheme.solve_changes(model, system, work)
    for i in range(model.bodies.shape[0]):
        for k in range(6):
            work.twists[i].w[k] += work.rhs[i].w[k]


@kernel
def find_answers(scheme, model, system, work):
    """w.A (3, 3) of contacts that are hit: how their motion answers their own impulse."""
    t = work.scratch[0]
    for n in range(1, work.active[0] + 1):
        contact, w = work.slots[work.active[n]], system.contacts[work.active[n]]
        if w.rate < 0.0:
            continue
        for i in range(3):
            fill(0.0, t.y)
            t.y[i] = 1.0
            clear_rows(work.rhs)
            push(model, contact, w, t.y, work)
            scheme.solve_changes(model, system, work)
            motion_in(model, contact, w, work.rhs, t.z)
            for r in range(3):
                w.A[r, i] = t.z[r]


@kernel
def resolve(scheme, model, system, work, fastest):
    """Impulses w.F of the contacts that are hit, one after the other until nothing changes."""
    t = work.scratch[0]
    find_answers(scheme, model, system, work)
    for _ in range(SWEEPS):
        most = 0.0
        for n in range(1, work.active[0] + 1):
            contact, w = work.slots[work.active[n]], system.contacts[work.active[n]]
            if w.rate < 0.0:
                continue
            motion_in(model, contact, w, work.twists, t.y)
            change_impulse(contact.mu, w, t.y, t.z)
            for i in range(3):
                most = max(most, abs(t.z[i]) * w.A[i, i])
            clear_rows(work.rhs)
            push(model, contact, w, t.z, work)
            answer(scheme, model, system, work)
        if most <= SETTLED * fastest:
            break


@kernel
def change_impulse(mu, w, u, change):
    """Bring the impulse w.F nearer to the laws at the motion u; `change` (3,) is by how much.

    Friction follows the slip over the largest eigenvalue of its answer, up to the cone.
    """
    A, f = w.A, w.F
    change[2] = max(-f[2], (w.rate - u[2]) / A[2, 2])
    f[2] += change[2]
    if mu == 0.0:
        change[0], change[1] = 0.0, 0.0
        return
    half = 0.5 * (A[0, 0] - A[1, 1])
    largest = 0.5 * (A[0, 0] + A[1, 1]) + sqrt(half * half + A[0, 1] * A[0, 1])
    x = f[0] - (u[0] + A[0, 2] * change[2]) / largest
    y = f[1] - (u[1] + A[1, 2] * change[2]) / largest
    size, most = sqrt(x * x + y * y), mu * f[2]
    if size > most:
        x, y = x * most / size, y * most / size
    change[0], change[1] = x - f[0], y - f[1]
    f[0], f[1] = x, y


@kernel
def lose_energy(scheme, model, system, work):
    """Scale the impulses of a round so that they give no energy.

    That is P . (u- + u+) / 2, which is P . u- + P . (u+ - u-) / 2.
    """
    given, answered, t = 0.0, 0.0, work.scratch[0]
    for n in range(1, work.active[0] + 1):
        contact, w = work.slots[work.active[n]], system.contacts[work.active[n]]
        if w.rate < 0.0:
            continue
        motion_in(model, contact, w, work.twists, t.y)
        for i in range(3):
            given += w.F[i] * w.u[i]
            answered += w.F[i] * (t.y[i] - w.u[i])
    if given + 0.5 * answered <= 0.0:
        return
    excess = max(0.0, -2.0 * given / answered) - 1.0
    clear_rows(work.rhs)
    for n in range(1, work.active[0] + 1):
        contact, w = work.slots[work.active[n]], system.contacts[work.active[n]]
        if w.rate < 0.0:
            continue
        for i in range(3):
            t.y[i] = excess * w.F[i]
        push(model, contact, w, t.y, work)
    answer(scheme, model, system, work)


@kernel
def restart(model, state, memory, work):
    """Let the motion go on from the velocities in work.twists."""
    for i in range(model.bodies.shape[0]):
        body, twist = state.bodies[i], work.twists[i].w
        assign(twist[:3], body.v)
        rotate_back(work.pose2[i].R, twist[3:], body.omega)
    read_joints(model, state, work, work.pose2, work.twists, 0)
    start_knot(model, state, memory, work)
    forget(memory)
