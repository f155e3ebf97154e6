"""One undivided step of a tree as its derivatives in closed form need it, body by body.

First the step is solved to rounding, with factors of Newton's method there (`solve_interval`), then
projected at the second knot (`project_interval`). The matrices of all derivatives follow in joint
coordinates (`matrices`). The way back (`adjoint`) goes body by body instead. Of one direction, what
the barrier of contacts does by itself, it needs changes to first order, which are here:

1. of the equations (29a) to (29f), where the rates of all coordinates stay (`leave_columns`);
2. of rates, by the factors (`sweep_columns`), and of contacts (`move_contacts`).

Contacts answer by their stiffness A. In the projection A changes as well: by the motion of the
contact and by the barrier, which numbers with derivatives tell for each contact by itself.
"""

from math import asin, sqrt

from robosim.compiled.kinds import BALL, DRY, FREE, GENERAL, HINGE, LIMIT, PLANE
from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.duals import slope, with_slope
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.compiler.lanes import WIDTH, lane, with_lane
from robosim.kernels.contact.kinematics import RECOVERY, RECOVERY_SPEED, on_joint, turn_vector
from robosim.kernels.contact.law import contact_answer, contact_force, contact_stiffness
from robosim.kernels.equations.algebra import (
    assign,
    cross,
    dot,
    fill,
    lu6_solve_vector,
    lu_solve_vector,
    rotate,
)
from robosim.kernels.equations.arcs import (
    ITS_SINE,
    arc_excess,
    farthest_turn,
    find_changes,
    turn_squared,
)
from robosim.kernels.equations.joint_forces import potential_slope, servo_torque
from robosim.kernels.solve.interior_point import (
    FLAT,
    ROUNDED,
    clear_directions,
    complementarity,
    final_barrier,
    is_level,
    least_impulse,
    set_second_order,
)
from robosim.kernels.solve.newton import evaluate, factor, find_direction, remember, take_step
from robosim.kernels.solve.tree.sweep import (
    carry_motion,
    pass_on_ball,
    pass_on_hinge,
    pass_on_others,
    seen,
)
from robosim.kernels.status import CONVERGED, WARM
from robosim.kernels.step.finish import commit
from robosim.kernels.step.interval import find_interval
from robosim.kernels.step.learn import learn
from robosim.kernels.step.velocities import (
    MOVES,
    begin_projection,
    carry_momenta,
    find_velocities,
    size_of_push,
)
from robosim.kernels.step.wants import VELOCITIES

POLISHES = 8  # most iterations until they are not
ALIKE = 1e-11  # part of derivatives of rates by which they may be off
PARTIAL = 1e-3  # part of the barrier, by which contacts tell how they answer to it


@kernel
def axis_of(joint, w, pose, row, second, out):
    """out = the world axis of one of a joint's rotations, which turns with the child."""
    if joint.kind == HINGE:
        assign(w.a2 if second else w.a1, out)
    elif joint.kind == BALL:
        rotate(pose.R, joint.C_R[row], out)
    else:
        at = joint.m_T + row
        for i in range(3):
            out[i] = w.Z2[at, 3 + i] if second else w.Z1[at, 3 + i]


@kernel
def crossed(a, b):
    """a x b, as numbers."""
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    return x, y, z


@kernel
def inner(a, b):
    """a . b of three numbers each."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def note_arms(model, tree, work, columns):
    """How the points of joints are from their parents' centres of mass, at both knots."""
    for b in range(model.bodies.shape[0]):
        w, w_a, link = tree[b], tree[model.joints[b].parent], columns.links[b]
        for i in range(3):
            link.y1[i], link.y2[i] = w.r1[i] - w_a.rho1[i], w.r2[i] - w_a.rho2[i]


@kernel
def note_twists(model, tree, work, arc, arcs, second, columns):
    """What joints add to the twists in work.twists, and how arcs answer to those."""
    nb = model.bodies.shape[0]
    for b in range(nb):
        parent, w, link = model.joints[b].parent, tree[b], columns.links[b]
        over, twist = work.twists[parent].w, work.twists[b].w
        y, rho = link.y2 if second else link.y1, w.rho2 if second else w.rho1
        carried, own = crossed(over[3:], y), crossed(twist[3:], rho)
        link.excess, link.more = 0.0, 0.0
        if arcs:
            square = turn_squared(twist, arc)
            link.excess, link.more = arc_excess(square), 2.0 * arc * arc * arc_slope(square)
        for i in range(3):
            link.spin[i] = twist[3 + i] - over[3 + i]
            link.slip[i] = twist[i] - over[i] - carried[i] - own[i]
            link.gained[i] = work.rhs[b].w[3 + i] if arcs else 0.0
            link.carried[i] = work.rhs[parent].w[3 + i] if arcs and parent < nb else 0.0


@kernel
def arc_slope(square):
    """Derivative of `arc_excess`."""
    if square < 1e-4:
        return 1.0 / 6.0 + square * (6.0 / 40.0 + square * (45.0 / 336.0))
    chord = sqrt(square)
    if chord > ITS_SINE:
        return 0.0
    return 0.5 * (1.0 / sqrt(1.0 - square) - asin(chord) / chord) / square


@kernel
def times_inertia(J, v):
    """J v, as numbers."""
    x = J[0, 0] * v[0] + J[0, 1] * v[1] + J[0, 2] * v[2]
    y = J[1, 0] * v[0] + J[1, 1] * v[1] + J[1, 2] * v[2]
    z = J[2, 0] * v[0] + J[2, 1] * v[1] + J[2, 2] * v[2]
    return x, y, z


@kernel
def slope_of_law(model, loads, joint, row, q1, q2, dt):
    """How a coordinate's law answers: its spring by the middle, its damper by the rate.

    Also its servo, by where it ends and by the rate.
    """
    c, servo = model.coordinates[joint.v_begin + row], loads.servos[joint.v_begin + row]
    middle, stiffness = 0.5 * (q1 + q2), c.stiffness
    if c.slack > 0.0 and middle - c.rest > 0.0:
        stiffness = c.stiffness if middle - c.rest > c.slack else 0.0
    if c.piece_end > c.piece_begin:
        stiffness += potential_slope(model.pieces, c.piece_begin, c.piece_end, middle)[1]
    _, free, droop = servo_torque(servo, q2, (q2 - q1) / dt)
    return stiffness, c.damping, -free * servo.kp, -free * servo.kd - droop


@kernel
def rest_columns(model, group, columns):
    """The same, and `start_columns`, where all directions are those of torques: nothing moves."""
    nb = model.bodies.shape[0]
    for b in range(nb):
        t = columns.bodies[group * (nb + 1) + b]
        fill(0.0, t.x1)
        fill(0.0, t.turn1)
        fill(0.0, t.x2)
        fill(0.0, t.turn2)
        fill(0.0, t.dp)
        fill(0.0, t.f)
        fill(0.0, t.rotor)


@kernel
def leave_columns(model, state, system, loads, work, dt, group, columns):
    """t.f, t.law = changes of what is left of the equations where all rates stay as they are."""
    nb, s = model.bodies.shape[0], work.scratch[0]
    for b in range(nb):
        joint = model.joints[b]
        t = columns.bodies[group * (nb + 1) + b]
        for row in range(joint.m_T + joint.m_R):
            t.law[row] = 0.5 * dt * t.tau[row] + t.rotor[row]
        if work.joints[b].rows > joint.n_T + joint.n_R:
            for row in range(joint.m_T + joint.m_R):
                at = joint.q_begin + row
                k, _, servo, _ = slope_of_law(
                    model, loads, joint, row, state.q[at], work.q2[at], dt
                )
                t.law[row] += dt * (servo - 0.5 * k) * t.dq[row]
    zero = columns.bodies[group * (nb + 1) + nb].x1[0]
    kappa = with_lane(zero, columns.last[0] % WIDTH, 1.0)
    if columns.last[0] // WIDTH != group:
        kappa = zero
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w, answer = work.slots[k], system.contacts[k], columns.answers[n]
        m = columns.contacts[group * columns.answers.shape[0] + n]
        if on_joint(contact):
            t, joint = columns.bodies[group * (nb + 1) + contact.joint], model.joints[contact.joint]
            axis = 0 if contact.kind == DRY else 2
            fill(0.0, m.du)
            if contact.kind == LIMIT:
                m.du[2] = contact.sign / dt * (1.0 - back_slope(contact, w, dt)) * t.dq[contact.row]
            push = w.A[axis, axis] * m.du[axis] + answer.of_kappa[axis] * kappa
            t.law[contact.row] += w.L[axis, contact.row] * push
            continue
        t, P = columns.bodies[group * (nb + 1) + contact.body], work.bodies[contact.body].P
        turn_vector(P, w.center1, s.y)
        cross(t.turn1, w.center1, t.y)
        cross(t.turn2, s.y, t.z)
        cross(t.dp, w.roll, t.u[:3])
        slip1, slip2, rise, left = zero, zero, zero, back_slope(contact, w, dt)
        for i in range(3):
            end, begin = t.x2[i] + t.z[i], t.x1[i] + t.y[i]
            slips = (end - begin + 2.0 * t.u[i]) / dt
            slip1 += w.frame[0, i] * slips
            slip2 += w.frame[1, i] * slips
            rise += w.frame[2, i] * (end - left * begin) / dt
        m.du[0], m.du[1], m.du[2] = slip1, slip2, rise
        for i in range(3):
            m.push[i] = dot(w.A[i], m.du) + answer.of_kappa[i] * kappa
            s.w[i] = w.frame[0, i] * w.f[0] + w.frame[1, i] * w.f[1] + w.frame[2, i] * w.f[2]
        cross(t.y, s.w, t.z)
        push_column(w.frame, w.arm1, m.push, t)


@kernel
def push_column(frame, arm, push, t):
    """t.f += the wrench of changes of an impulse in a contact's frame at an arm; moments t.z."""
    for i in range(3):
        t.u[i] = frame[0, i] * push[0] + frame[1, i] * push[1] + frame[2, i] * push[2]
    cross(arm, t.u[:3], t.y)
    for i in range(3):
        t.f[i] += t.u[i]
        t.f[3 + i] += t.y[i] + t.z[i]


@kernel
def back_slope(contact, w, dt):
    """Derivative of the gap that a contact may not undercut by that at the first knot."""
    if contact.apart != 0 or w.gap1 >= 0.0:
        return 0.0
    part = 1.0 - dt / RECOVERY if -w.gap1 / RECOVERY < RECOVERY_SPEED else 1.0
    return part if w.step_back < 0.0 else 0.0


@kernel
def sweep_columns(model, system, work, held, group, columns):
    """t.m = changes of motions (d v, psi) and t.d of rates, that answer t.f and t.law.

    The same sweeps as for a Newton direction; but arms and axes change as well, along which the
    wrenches that are left at bodies and joints (`note_wrenches`) act.
    """
    nb, tree, s = model.bodies.shape[0], system.tree, work.scratch[0]
    for b in range(nb - 1, -1, -1):
        joint, w, w_a, link = (
            model.joints[b],
            tree[b],
            tree[model.joints[b].parent],
            columns.links[b],
        )
        t = columns.bodies[group * (nb + 1) + b]
        t_a = columns.bodies[group * (nb + 1) + joint.parent]
        x, turn = t.x2 if held else t.x1, t.turn2 if held else t.turn1
        x_a, turn_a = t_a.x2 if held else t_a.x1, t_a.turn2 if held else t_a.turn1
        r, rho, rho_a = (
            w.r2 if held else w.r1,
            w.rho2 if held else w.rho1,
            w_a.rho2 if held else w_a.rho1,
        )
        f0, f1, f2, f3, f4, f5 = t.f[0], t.f[1], t.f[2], t.f[3], t.f[4], t.f[5]
        u = turn[0], turn[1], turn[2]
        arm = crossed(u, rho)
        first, last = crossed(arm, link.own), crossed(rho, (f0, f1, f2))
        f3, f4, f5 = f3 + first[0] + last[0], f4 + first[1] + last[1], f5 + first[2] + last[2]
        child = joint.first_child
        while child >= 0:
            passed = columns.bodies[group * (nb + 1) + child].passed
            f0, f1, f2 = f0 + passed[0], f1 + passed[1], f2 + passed[2]
            f3, f4, f5 = f3 + passed[3], f4 + passed[4], f5 + passed[5]
            child = model.joints[child].next_child
        t.f[0], t.f[1], t.f[2], t.f[3], t.f[4], t.f[5] = f0, f1, f2, f3, f4, f5
        m = joint.m_T + joint.m_R
        if joint.kind == FREE:
            assign(t.f, t.x)
            lu6_solve_vector(w.D, t.x)
            fill(0.0, t.passed)
            continue
        if joint.kind == BALL:
            for i in range(3):
                t.s[i] = dot(w.S[i], t.f[3:])
            pass_on_ball(t.f, t.s, w.D, r, t.passed)
        elif joint.kind == HINGE:
            a = w.a2 if held else w.a1
            row = inner(a, (f3, f4, f5)) + inner(crossed(a, link.f[3:]), u) + t.law[0]
            t.s[0] = w.inverse * row
            pass_on_hinge((f0, f1, f2, f3, f4, f5), row, w.U[0], r, t.passed)
        else:
            turn_rows(joint, w, link, held, s, turn, turn_a, t)
            for row in range(m):
                t.s[row] += t.law[row]
                for k in range(6):
                    t.s[row] += (w.Z2[row, k] if held else w.Z1[row, k]) * t.f[k]
            lu_solve_vector(w.S, t.s, m)
            pass_on_others(t.f, t.s, m, w.U, r, t.passed)
        # How the arm from the parent's reference to this one changes.
        over = crossed((turn_a[0], turn_a[1], turn_a[2]), rho_a)
        d0 = x[0] - arm[0] - x_a[0] + over[0]
        d1 = x[1] - arm[1] - x_a[1] + over[1]
        d2 = x[2] - arm[2] - x_a[2] + over[2]
        moment = crossed((d0, d1, d2), link.f)
        for i in range(3):
            t.passed[3 + i] += moment[i]
    for b in range(nb):
        joint, w, rho = model.joints[b], tree[b], tree[b].rho2
        t = columns.bodies[group * (nb + 1) + b]
        t_a = columns.bodies[group * (nb + 1) + joint.parent]
        pass_column(joint, w, t_a.x, t)
        p, q, z = t.x[3], t.x[4], t.x[5]
        t.m[0] = t.x[0] + q * rho[2] - z * rho[1]
        t.m[1] = t.x[1] + z * rho[0] - p * rho[2]
        t.m[2] = t.x[2] + p * rho[1] - q * rho[0]
        t.m[3], t.m[4], t.m[5] = p, q, z


@kernel
def turn_rows(joint, w, link, held, s, turn, turn_a, t):
    """t.s = what the wrench at a joint does along its coordinates' changes."""
    for row in range(joint.m_T):
        cross(w.Z2[row, :3] if held else w.Z1[row, :3], link.f[:3], s.w)
        t.s[row] = dot(s.w, turn_a)
    for row in range(joint.m_T, joint.m_T + joint.m_R):
        cross(w.Z2[row, 3:] if held else w.Z1[row, 3:], link.f[3:], s.w)
        t.s[row] = dot(s.w, turn)


@kernel
def note_wrenches(model, loads, system, work, dt, held, columns):
    """What is left at bodies and joints, without the generalized forces in it.

    These act on both bodies in one point and turn with the coordinates, along which alone they do
    anything.
    """
    nb, tree = model.bodies.shape[0], system.tree
    for b in range(nb):
        link = columns.links[b]
        for i in range(3):
            link.own[i] = work.residual[b].w[i]
        assign(tree[b].f, link.f)
    for b in range(nb):
        joint, w, link, rows = model.joints[b], tree[b], columns.links[b], work.joints[b]
        if joint.kind != GENERAL:
            continue
        law = held and rows.rows > joint.n_T + joint.n_R
        for row in range(joint.m_T + joint.m_R):
            force = 0.5 * dt * loads.tau[joint.v_begin + row]
            if law:
                force += rows.half[row]
            for k in range(6):
                link.f[k] -= force * (w.Z2[row, k] if held else w.Z1[row, k])
            for i in range(3):
                push = force * (w.Z2[row, i] if held else w.Z1[row, i])
                link.own[i] -= push
                if joint.parent < nb:
                    columns.links[joint.parent].own[i] += push


@kernel
def pass_column(joint, w, y, t):
    """t.x, the change of a reference's motion, and t.d from that of the parent's, y."""
    m = joint.m_T + joint.m_R
    if joint.kind == FREE:
        for row in range(m):
            t.d[row] = dot(w.Z2[row, :3], t.x[:3]) + dot(w.Z2[row, 3:], t.x[3:])
        return
    carry_motion(y, w.r2, t.x)
    if joint.kind == HINGE:
        t.d[0] = t.s[0] - seen(w.W[0], y)
        for i in range(3):
            t.x[3 + i] = y[3 + i] + w.a2[i] * t.d[0]
    elif joint.kind == BALL:
        for i in range(3):
            t.d[i] = t.s[i] - seen(w.W[i], y)
            t.x[3 + i] = t.d[i]
    else:
        for i in range(3):
            t.x[3 + i] = y[3 + i]
        for row in range(m):
            t.d[row] = t.s[row] - seen(w.W[row], y)
        for row in range(m):
            for i in range(6):
                t.x[i] += w.Z2[row, i] * t.d[row]


@kernel
def move_contacts(model, system, work, group, columns):
    """m.du += what the changes of motions add to those of contacts."""
    nb = model.bodies.shape[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        m = columns.contacts[group * columns.answers.shape[0] + n]
        if on_joint(contact):
            axis = 0 if contact.kind == DRY else 2
            d = columns.bodies[group * (nb + 1) + contact.joint].d
            m.du[axis] += w.R[axis, contact.row] * d[contact.row]
            continue
        motion = columns.bodies[group * (nb + 1) + contact.body].m
        for i in range(3):
            m.du[i] += seen(w.R[i], motion)


@kernel
def find_barrier(model, system, work, speed, columns):
    """The contact with the largest impulse, which the barrier follows, and by how much.

    From what the barrier does by itself, the last column. The second is zero where it stays.
    """
    largest, at = 0.0, 0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        if work.contacts[k].gamma > largest and work.slots[k].kind != DRY:
            largest, at = work.contacts[k].gamma, n
    last, k, contacts = columns.last[0] // WIDTH, columns.last[0] % WIDTH, columns.answers.shape[0]
    if at == 0 or columns.follows[0] == 0.0:
        return at, 0.0
    A = system.contacts[work.active[at]].A[2, 2]
    own = A * lane(columns.contacts[last * contacts + at].du[2], k)
    return at, speed * A / (1.0 - speed * (own + columns.answers[at].of_kappa[2]))


@kernel
def polish(scheme, model, state, system, loads, work, options, dt, info):
    """Solve the equations to rounding, and factor them there; whether that could be done."""
    clear_directions(system, work, model.facets, WARM)
    merit = evaluate(scheme, model, state, system, loads, work, dt, info)
    least, touches, uneven, near = least_impulse(model, options, dt), work.active[0] > 0, 0.0, False
    within = ROUNDED * options.tolerance
    for _ in range(POLISHES):
        kappa, before = final_barrier(least, work, options), uneven
        _, largest, smallest = complementarity(model, system, work, 0.0)
        uneven = max(largest - kappa, kappa - smallest) if touches else 0.0
        # One more iteration from where products are near the barrier leaves next to nothing.
        level = near or not touches or uneven <= FLAT * kappa
        near = merit < within and is_level(uneven, before, kappa)
        level = level and near
        system.valid[FACTORED] = 0
        if factor(scheme, model, system, work) != 0:
            return False
        if level:
            scheme.finish_poses(model, system, work, dt)
            return True
        set_second_order(model, system, work, 0.0)
        find_direction(scheme, model, system, work, kappa, False)
        remember(scheme, model, system, work)
        take_step(scheme, model, system, work, dt, 1.0)
        merit = evaluate(scheme, model, state, system, loads, work, dt, info)
    return False


@kernel
def answer_plainly(model, system, work):
    """Whether all that acts has derivatives here: others are taken with numbers that have them."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if contact.compliant != 0 or contact.directed != 0 or contact.drifts != 0:
            return False
        if contact.companions != 0 or contact.resists != 0 or w.lags != 0:
            return False
        if on_joint(contact):
            joint = model.joints[contact.joint]
            if contact.kind != LIMIT and contact.kind != DRY:
                return False
            if contact.row < 0 or (joint.m_R == 3 and contact.row >= joint.m_T):
                return False
            if contact.kind == DRY and contact.sign != 0.0:
                return False
        elif contact.kind != PLANE or contact.other != model.bodies.shape[0] or k >= model.n_ground:
            return False
    return True


@kernel
def note_answers(model, system, work, options, kappa, columns):
    """How impulses answer to the barrier, and variables to that and to motions."""
    s = work.scratch[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w, answer = (
            work.slots[k],
            work.contacts[k],
            system.contacts[k],
            columns.answers[n],
        )
        contact_force(contact, c, model.facets, kappa, w)
        assign(w.F, answer.of_kappa)
        note_directions(w, -1.0, 3, answer)
        contact_force(contact, c, model.facets, (1.0 + PARTIAL) * kappa, w)
        note_directions(w, 1.0, 3, answer)
        for i in range(3):
            answer.of_kappa[i] = (w.F[i] - answer.of_kappa[i]) / (PARTIAL * kappa)
            assign(w.A[i], answer.A[i])
        for i in range(8):
            answer.by[3, i] /= PARTIAL * kappa
        for i in range(3):
            note_directions(w, -1.0, i, answer)
            fill(0.0, s.w)
            s.w[i] = 1.0
            contact_answer(contact, c, model.facets, s.w, w)
            note_directions(w, 1.0, i, answer)


@kernel
def note_directions(w, sign, at, answer):
    """Differences of the variables' directions: begun with a `sign` below 0, ended above."""
    by = answer.by[at]
    if sign < 0.0:
        fill(0.0, by)
    by[0] += sign * w.d_gamma
    by[1] += sign * w.d_s
    by[2] += sign * w.d_psi
    for i in range(2):
        by[3 + i] += sign * w.d_beta[i]
        by[5 + i] += sign * w.d_eta[i]


@kernel
def change_stiffness(on, work, n, k, columns):
    """answer.dA = derivatives of a contact's stiffness by its motion and by the barrier."""
    c, wide, w = work.contacts[k], on.work.contacts[k], on.memory.system.contacts[k]
    answer = columns.answers[n]
    wide.gamma, wide.s, wide.psi, wide.c = c.gamma, c.s, c.psi, c.c
    for i in range(2):
        wide.beta[i], wide.eta[i] = c.beta[i], c.eta[i]
    for at in range(4):
        by = answer.by[at]
        wide.gamma = with_slope(wide.gamma, at, by[0])
        wide.s = with_slope(wide.s, at, by[1])
        wide.psi = with_slope(wide.psi, at, by[2])
        for i in range(2):
            wide.beta[i] = with_slope(wide.beta[i], at, by[3 + i])
            wide.eta[i] = with_slope(wide.eta[i], at, by[5 + i])
    w.lags = 0
    contact_stiffness(on.work.slots[k], wide, on.model.facets, w)
    for at in range(4):
        for i in range(3):
            for j in range(3):
                answer.dA[at, 3 * i + j] = slope(w.A[i, j], at)


@kernel
def hold_answers(model, on, system, work, dt, columns):
    """How contacts answer in the projection at the second knot; False where some are let go."""
    s = work.scratch[0]
    if work.active[0] > 0 and s.drag == 0.0:
        return False
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w, answer = work.slots[k], system.contacts[k], columns.answers[n]
        change_stiffness(on, work, n, k, columns)
        fill(0.0, s.y)
        if on_joint(contact):
            if contact.kind == DRY and w.stop != 0.0:
                return False
            axis = 0 if contact.kind == DRY else 2
            scale = contact.scale if contact.kind == DRY else contact.sign
            s.y[axis] = scale * system.tree[contact.joint].d[contact.row] - w.rate
        else:
            if w.stop != 0.0 or not (w.rate == MOVES or w.rate == 0.0):
                return False
            twist, motion = work.twists[contact.body].w, work.bodies[contact.body]
            for k2 in range(3):
                s.f[k2] = twist[k2] - motion.v[k2]
                s.f[3 + k2] = twist[3 + k2] - 2.0 / dt * motion.P[1 + k2]
            for i in range(3):
                s.y[i] = seen(w.L[i], s.f)
            if w.rate == 0.0:
                s.y[2] = seen(w.L[2], twist)
        for i in range(3):
            for at in range(3):
                answer.G[i, at] = dot(answer.dA[at, 3 * i : 3 * i + 3], s.y)
            answer.follow[i] = dot(answer.dA[3, 3 * i : 3 * i + 3], s.y)
            s.z[i] = dot(w.A[i], s.y)
        for i in range(3):
            answer.impulse[i] = (
                w.frame[0, i] * s.z[0] + w.frame[1, i] * s.z[1] + w.frame[2, i] * s.z[2]
            )
    return True


@kernel
def pushes_freely(model, loads):
    """Whether a torque acts on a free rotation, or on what floats."""
    for b in range(model.bodies.shape[0]):
        joint = model.joints[b]
        if joint.kind == FREE or joint.kind == BALL:
            for v in range(joint.v_begin, joint.v_begin + joint.m_T + joint.m_R):
                if loads.tau[v] != 0.0:
                    return True
    return False


@kernel
def has_laws_of_turns(model, work):
    """Whether a law acts along a free rotation."""
    for b in range(model.bodies.shape[0]):
        joint = model.joints[b]
        if joint.m_R == 3 and work.joints[b].rows > joint.n_T + joint.n_R:
            return True
    return False


@stage
def solve_interval(scheme, plain, on, columns, solver, arc):
    """One undivided step, solved to rounding, and what it leaves in `columns` for derivatives.

    Returns whether these can be had in closed form. The velocities at the second knot are left to
    `project_interval`.
    """
    model, state, memory, loads, work, options = plain
    system, info, dt = memory.system, on.plain_info[0], options.dt
    info.iterations, info.surely, info.substeps, info.order, info.divided = 0, 0, 1, 2, 0
    status = find_interval(
        scheme, model, state, memory, loads, work, options, solver, dt, 1.0, VELOCITIES, info
    )
    if status != CONVERGED or pushes_freely(model, loads) or has_laws_of_turns(model, work):
        columns.follows[0] = -1.0
        return False
    if not polish(scheme, model, state, system, loads, work, options, dt, info):
        columns.follows[0] = -2.0
        return False
    if not answer_plainly(model, system, work):
        columns.follows[0] = -3.0
        return False
    least = least_impulse(model, options, dt)
    kappa = final_barrier(least, work, options)
    columns.follows[0] = 1.0 if kappa > options.contact_speed * least else 0.0
    note_answers(model, system, work, options, kappa, columns)
    for b in range(model.bodies.shape[0]):
        assign(state.bodies[b].shown, work.twists[b].w)
    arcs = find_changes(model, system.pose1, work.twists, arc, work)
    columns.turns[0] = farthest_turn(model, work.twists, arc) if arcs else 0.0
    note_arms(model, system.tree, work, columns)
    note_twists(model, system.tree, work, arc, arcs, False, columns)
    note_wrenches(model, loads, system, work, dt, False, columns)
    return True


@stage
def project_interval(scheme, plain, on, columns):
    """Velocities at the second knot; the size of what pushes, or -1 where there is no closed form.

    See `size_of_push`.
    """
    model, _, memory, loads, work, options = plain
    system, dt = memory.system, options.dt
    carry_momenta(scheme, model, system, loads, work, options, dt)
    push = size_of_push(loads, work)
    limited = begin_projection(model, system, work, dt, False)
    status = find_velocities(scheme, model, system, loads, work, options, limited, dt, dt)
    if status != CONVERGED or not hold_answers(model, on, system, work, dt, columns):
        columns.follows[0] = -4.0
        return -1.0
    scheme.find_carried(model, system, work)
    return push


@stage
def take_interval(scheme, plain, on, last_dt, push):
    """Move the state along the interval; what is learnt from it is for the next one."""
    model, state, memory, _, work, options = plain
    dt, info = options.dt, on.plain_info[0]
    commit(scheme, model, state, memory.system, work, dt, True, VELOCITIES, info)
    learn(scheme, model, state, memory, work, dt, last_dt, True, push, info)
