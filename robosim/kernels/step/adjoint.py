"""Gradients through undivided steps of trees: the transpose of `columns`, stage by stage.

A sum has derivatives by the q and v at the end of a step. Derivatives by all that the step computes
follow in the opposite order, to those by the q, v and torques with which the step begins. `Pulled`
records have them for a body and its joint. Where `columns` sends changes through the sweeps of a
solve, here derivatives pass through the transposed sweeps: one solve at each knot, for any number
of coordinates.

Factors, contacts and arms of the first knot are kept in `back`, as the projection at the second
knot writes its own into the same places.
"""

from robosim.compiled.kinds import BALL, DRY, FREE, HINGE, LIMIT
from robosim.kernels.compiler.addresses import copy_record
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.compiler.lanes import lane
from robosim.kernels.contact.kinematics import on_joint, turn_vector
from robosim.kernels.equations.algebra import assign, dot, fill, lu_solve_transposed
from robosim.kernels.equations.joint_forces import servo_torque
from robosim.kernels.solve.tree.sweep import seen
from robosim.kernels.step.columns import (
    ALIKE,
    axis_of,
    back_slope,
    crossed,
    find_barrier,
    inner,
    leave_columns,
    move_contacts,
    note_twists,
    note_wrenches,
    project_interval,
    rest_columns,
    slope_of_law,
    solve_interval,
    sweep_columns,
    take_interval,
    times_inertia,
)
from robosim.kernels.step.linearize import holds_torques, start_plainly, store_contacts
from robosim.kernels.step.velocities import MOVES


@stage
def back_through_steps(scheme, plain, on, rows, columns, back, solver, arc):
    """From the last step in use to the first; how many are left, as one has no closed form.

    `rows.adjoint` has the derivatives by the knot where the last of them ends, then by the knot
    where the last that could be passed begins. At the last step of each state, `rows.behind` has
    them instead.
    """
    model, state, memory, loads, work, _ = plain
    for i in range(rows.many[0] - 1, -1, -1):
        for k in range(on.begins.shape[0]):
            on.begins[k] = rows.begins[i, k]
        for k in range(on.gains.shape[0]):
            copy_record(rows.gains[i, k], on.gains[k])
        if not holds_torques(on.gains):
            return i + 1
        start_plainly(model, state, memory, loads, work, on, rows.external[i], arc)
        if rows.last[i]:
            assign(rows.behind[i], rows.adjoint)
        else:
            assign(rows.adjoint, rows.behind[i])
        if not pull_interval(scheme, plain, on, columns, back, solver, arc, rows.adjoint):
            return i + 1
        guesses, system = memory.guesses, memory.system
        rows.count[i] = store_contacts(model, guesses, system, work, rows.contacts[i])
        pull_torques(model, on, back, rows, i)
        assign(rows.adjoint, rows.before[i])
    return 0


@kernel
def pull_torques(model, on, back, rows, i):
    """Derivatives by torques and targets, and by where the step begins, with what is known."""
    for b in range(model.bodies.shape[0]):
        joint, t = model.joints[b], back.bodies[b]
        for row in range(joint.m_T + joint.m_R):
            back.forces[joint.v_begin + row] = t.tau[row]
            back.aims[joint.v_begin + row] = t.aim[row]
    for k in range(on.motors.shape[0]):
        push = back.forces[on.motors[k]]
        rows.by_torques[i, k], rows.by_targets[i, k] = push, back.aims[on.motors[k]]
        v = rows.v_index[k]
        rows.adjoint[v] += rows.by_q[i, k] * push
        rows.adjoint[on.nv + v] += rows.by_v[i, k] * push
    for k in range(2 * on.nv):
        rows.adjoint[k] += rows.ahead[i, k]


@stage
def pull_interval(scheme, plain, on, columns, back, solver, arc, adjoint):
    """One step, from derivatives by where it ends to those by where it begins, in place.

    Derivatives by torques are in `back.bodies`. Returns whether that could be done.
    """
    model, state, memory, loads, work, options = plain
    system, dt, last_dt = memory.system, options.dt, state.last_dt[0]
    if not solve_interval(scheme, plain, on, columns, solver, arc):
        return False
    keep_knot(model, system, work, columns, back)
    # What the barrier does by itself, of which each direction takes a part.
    rest_columns(model, 0, columns)
    leave_columns(model, state, system, loads, work, dt, 0, columns)
    sweep_columns(model, system, work, False, 0, columns)
    move_contacts(model, system, work, 0, columns)
    at, part = find_barrier(model, system, work, options.contact_speed, columns)
    push = project_interval(scheme, plain, on, columns)
    if push < 0.0:
        return False
    arcs = work.scratch[0].arcs != 0
    note_twists(model, system.tree, work, dt, arcs, True, back)
    note_wrenches(model, loads, system, work, dt, True, back)
    begin_adjoints(model, on, adjoint, back)
    pull_reading(model, system, work, arcs, back)
    if arcs:
        pull_arcs(model, system.tree, True, columns.floats[0], back.links, back)
    pull_velocities(model, state, system, loads, work, dt, columns, back)
    pull_end(model, dt, back)
    pull_barrier(model, work, at, part, columns, back)
    pull_motion(model, state, loads, work, dt, columns, back)
    pull_start(model, system, work, columns, back)
    end_adjoints(model, on, back, adjoint)
    take_interval(scheme, plain, on, last_dt, push)
    return True


@kernel
def keep_knot(model, system, work, columns, back):
    """Keep what the projection writes over: factors, contacts, twists at the first knot, arms."""
    nb = model.bodies.shape[0]
    for b in range(nb + 1):
        copy_record(system.tree[b], back.tree[b])
    for b in range(nb):
        assign(work.bodies[b].P, back.bodies[b].P)
        assign(work.twists[b].w, back.bodies[b].twist1)
        for i in range(3):
            assign(system.inertias[b].J[i], back.bodies[b].J[i])
        link, end = columns.links[b], back.links[b]
        assign(link.y1, end.y1)
        assign(link.y2, end.y2)
    for n in range(1, work.active[0] + 1):
        copy_record(system.contacts[work.active[n]], back.contacts[n])


@kernel
def add_to(out, more):
    """out (3,) += more, three numbers."""
    for i in range(3):
        out[i] += more[i]


@kernel
def begin_adjoints(model, on, adjoint, back):
    """All derivatives are zero, but those by where the step ends."""
    nb = model.bodies.shape[0]
    for b in range(nb + 1):
        t = back.bodies[b]
        fill(0.0, t.x1)
        fill(0.0, t.turn1)
        fill(0.0, t.x2)
        fill(0.0, t.turn2)
        fill(0.0, t.dp)
        fill(0.0, t.k)
        fill(0.0, t.w)
        fill(0.0, t.c)
        fill(0.0, t.m)
        fill(0.0, t.f)
        fill(0.0, t.x)
        fill(0.0, t.dq)
        fill(0.0, t.dv)
        fill(0.0, t.tau)
        fill(0.0, t.aim)
        fill(0.0, t.rate)
        fill(0.0, t.law)
        fill(0.0, t.dq2)
        fill(0.0, t.d)
    for b in range(nb):
        joint, t = model.joints[b], back.bodies[b]
        for row in range(joint.m_T + joint.m_R):
            t.by_q[row] = adjoint[joint.v_begin + row]
            t.by_v[row] = adjoint[on.nv + joint.v_begin + row]
    back.kappa[0] = 0.0
    for n in range(back.moved.shape[0]):
        fill(0.0, back.moved[n])


@kernel
def end_adjoints(model, on, back, adjoint):
    """Derivatives by where the step begins; translations that are known stay as they are."""
    for b in range(model.bodies.shape[0]):
        joint, t = model.joints[b], back.bodies[b]
        for row in range(joint.m_T + joint.m_R):
            back.row[joint.v_begin + row] = t.dq[row]
            adjoint[on.nv + joint.v_begin + row] = t.dv[row]
    for row in range(on.unknown, on.order.shape[0]):
        back.row[on.order[row]] = adjoint[on.order[row]]
    for v in range(on.nv):
        adjoint[v] = back.row[v]


@kernel
def add_along(joint, w, pose, second, turn, push, s, out):
    """Add to out what a turn and a push (3,) are along the coordinates of a joint."""
    if joint.kind == HINGE:
        out[0] += inner(w.a2 if second else w.a1, turn)
    else:
        for row in range(joint.m_R):
            axis_of(joint, w, pose, row, second, s.w)
            out[joint.m_T + row] += inner(s.w, turn)
        for row in range(joint.m_T):
            out[row] += inner(w.Z2[row] if second else w.Z1[row], push)


@kernel
def pull_pose(joint, w, link, pose, second, s, t_a, t):
    """The transpose of `move_pose`."""
    x, turn = t.x2 if second else t.x1, t.turn2 if second else t.turn1
    x_a, turn_a = t_a.x2 if second else t_a.x1, t_a.turn2 if second else t_a.turn1
    y, rho = link.y2 if second else link.y1, w.rho2 if second else w.rho1
    push = x[0], x[1], x[2]
    add_to(turn, crossed(rho, push))
    add_to(turn_a, crossed(y, push))
    add_to(x_a, push)
    u = turn[0], turn[1], turn[2]
    add_along(joint, w, pose, second, u, push, s, t.dq)
    add_to(turn_a, u)


@kernel
def pull_twist(joint, w, link, pose, second, a, b, s, t_a, t):
    """The transpose of `move_twist`, of t.w to t.rate, poses and the parent's twist."""
    x, turn = t.x2 if second else t.x1, t.turn2 if second else t.turn1
    x_a, turn_a = t_a.x2 if second else t_a.x1, t_a.turn2 if second else t_a.turn1
    y, rho = link.y2 if second else link.y1, w.rho2 if second else w.rho1
    v = t.w[0], t.w[1], t.w[2]
    more = crossed(rho, v)
    u = t.w[3] + more[0], t.w[4] + more[1], t.w[5] + more[2]
    arm, point = crossed(v, b[3:]), crossed(v, a[3:])
    arm = arm[0] - point[0], arm[1] - point[1], arm[2] - point[2]
    over = crossed(y, v)
    add_to(turn, crossed(rho, arm))
    add_to(turn, crossed(link.spin, u))
    add_to(turn_a, crossed(link.slip, v))
    for i in range(3):
        x[i] += point[i]
        x_a[i] -= point[i]
        t_a.w[i] += v[i]
        t_a.w[3 + i] += over[i] + u[i]
    add_along(joint, w, pose, second, u, v, s, t.rate)


@kernel
def pull_momentum(J, twist, turn, push, t):
    """The transpose of `change_momentum`, to the turn and t.w."""
    spin = twist[3], twist[4], twist[5]
    add_to(turn, crossed(times_inertia(J, spin), push))
    own = times_inertia(J, push)
    for i in range(3):
        t.w[3 + i] += own[i]
    add_to(turn, crossed(own, spin))


@kernel
def pull_displacement(J, P, dt, push, t):
    """The transpose of `change_motion`, to both turns, with t.dp."""
    e, p, scale = P[0], (P[1], P[2], P[3]), 2.0 / dt
    m = scale * push[0], scale * push[1], scale * push[2]
    along = times_inertia(J, p)
    by_e, by_d, by_k = inner(along, m), crossed(along, m), crossed(m, p)
    by_k = by_k[0] + e * m[0], by_k[1] + e * m[1], by_k[2] + e * m[2]
    j = times_inertia(J, by_k)
    d0, d1, d2 = t.dp[0] + by_d[0] + j[0], t.dp[1] + by_d[1] + j[1], t.dp[2] + by_d[2] + j[2]
    first, back, sums = crossed(along, by_k), crossed(j, p), crossed(p, (d0, d1, d2))
    more = (
        0.5 * (e * d0 - p[0] * by_e),
        0.5 * (e * d1 - p[1] * by_e),
        0.5 * (e * d2 - p[2] * by_e),
    )
    for i in range(3):
        t.turn1[i] += first[i] + back[i] + 0.5 * sums[i] - more[i]
        t.turn2[i] += 0.5 * sums[i] + more[i]


@kernel
def pull_arcs(model, tree, second, floats, links, back):
    """The transpose of `change_arcs`, of t.c to t.w and poses."""
    nb = model.bodies.shape[0]
    if floats != 0:
        pull_follow(model, tree, second, links, back)
    for b in range(nb):
        t, link = back.bodies[b], links[b]
        twist = t.twist2 if second else t.twist1
        along = link.more * (twist[3] * t.c[3] + twist[4] * t.c[4] + twist[5] * t.c[5])
        for i in range(3):
            t.w[3 + i] += link.excess * t.c[3 + i] + twist[3 + i] * along


@kernel
def pull_follow(model, tree, second, links, back):
    """The transpose of `follow_changes`, of the first half of t.c to the other one and poses."""
    nb = model.bodies.shape[0]
    for b in range(nb):
        fill(0.0, back.bodies[b].k)
    for b in range(nb):
        body = model.bodies[b]
        if body.floats_with >= 0:
            t, root = back.bodies[b], back.bodies[body.floats_with].k
            for i in range(3):
                root[i] -= t.c[i]
    for b in range(nb - 1, -1, -1):
        body, w, link, t = model.bodies[b], tree[b], links[b], back.bodies[b]
        if body.floats_with == b:
            continue
        t_a = back.bodies[model.joints[b].parent]
        x, turn = t.x2 if second else t.x1, t.turn2 if second else t.turn1
        x_a = t_a.x2 if second else t_a.x1
        y, rho = link.y2 if second else link.y1, w.rho2 if second else w.rho1
        if body.floats_with >= 0:
            root, part = back.bodies[body.floats_with].k, body.share * body.mass
            for i in range(3):
                t.c[i] += part / body.floating_mass * root[i]
        c = t.c[0], t.c[1], t.c[2]
        over, own = crossed(y, c), crossed(rho, c)
        arm, point = crossed(c, link.gained), crossed(c, link.carried)
        arm = arm[0] - point[0], arm[1] - point[1], arm[2] - point[2]
        add_to(turn, crossed(rho, arm))
        for i in range(3):
            t_a.c[i] += c[i]
            t_a.c[3 + i] += over[i]
            t.c[3 + i] += own[i]
            x[i] += point[i]
            x_a[i] -= point[i]


@kernel
def pull_chords(model, tree, poses, links, work, back):
    """The transpose of `leave_chords`, of t.rate to t.c, t.dv and the poses."""
    nb, s = model.bodies.shape[0], work.scratch[0]
    for b in range(nb):
        joint, w, pose, link = model.joints[b], tree[b], poses[b], links[b]
        t, t_a = back.bodies[b], back.bodies[joint.parent]
        for row in range(joint.m_R):
            axis_of(joint, w, pose, row, False, s.w)
            for i in range(3):
                s.z[i] = link.gained[i] - link.carried[i]
            rate, turned = t.rate[joint.m_T + row], crossed(s.w, s.z)
            for i in range(3):
                t.c[3 + i] -= s.w[i] * rate
                t_a.c[3 + i] += s.w[i] * rate
                t.turn1[i] -= turned[i] * rate
        if joint.m_T == 3:
            fill(0.0, s.z)
            for row in range(3):
                for i in range(3):
                    s.z[i] += w.Z1[row, i] * t.rate[row]
            z = s.z[0], s.z[1], s.z[2]
            last = crossed(w.rho1, z)
            for i in range(3):
                t.c[i] -= z[i]
                t.c[3 + i] += last[i]
            add_to(t.turn1, crossed(w.rho1, crossed(z, link.gained)))
        for row in range(joint.m_T + joint.m_R):
            t.dv[row] += t.rate[row]


@kernel
def pull_reading(model, system, work, arcs, back):
    """The transpose of `read_columns`: of q and v to poses, t.w, t.dq2 and t.d."""
    nb, s = model.bodies.shape[0], work.scratch[0]
    for b in range(nb):
        joint, w, pose, link = model.joints[b], system.tree[b], work.pose2[b], back.links[b]
        t, t_a = back.bodies[b], back.bodies[joint.parent]
        twist = work.twists[b].w
        assign(twist, t.twist2)
        if joint.m_T == 3:
            fill(0.0, s.y)
            fill(0.0, s.z)
            for row in range(3):
                for i in range(3):
                    s.y[i] += w.Z2[row, i] * t.by_q[row]
                    s.z[i] += w.Z2[row, i] * t.by_v[row]
            place, rate = (s.y[0], s.y[1], s.y[2]), (s.z[0], s.z[1], s.z[2])
            for i in range(3):
                s.y[i] = twist[3 + i] + link.gained[i]
            more, spins = crossed(rate, s.y), crossed(w.rho2, rate)
            arm = place[0] + more[0], place[1] + more[1], place[2] + more[2]
            turned = crossed(w.rho2, arm)
            for i in range(3):
                t.x2[i] += place[i]
                t.w[i] += rate[i]
                t.w[3 + i] -= spins[i]
                t.turn2[i] -= turned[i]
        else:
            for row in range(joint.m_T):
                t.dq2[row] += t.by_q[row]
                t.d[row] += t.by_v[row]
        for row in range(joint.m_R):
            at = joint.m_T + row
            axis_of(joint, w, pose, row, True, s.w)
            for i in range(3):
                s.z[i] = link.spin[i] + link.gained[i] - link.carried[i]
            turned, rate, angle = crossed(s.w, s.z), t.by_v[at], t.by_q[at]
            if joint.m_R == 1:
                t.dq2[at] += angle
                angle = 0.0
            for i in range(3):
                t.turn2[i] += turned[i] * rate + s.w[i] * angle
                t_a.turn2[i] -= s.w[i] * angle
                t.w[3 + i] += s.w[i] * rate
                t_a.w[3 + i] -= s.w[i] * rate
    if arcs:
        for b in range(nb):
            t = back.bodies[b]
            assign(t.w, t.c)


@kernel
def pull_sweep(model, tree, links, held, back):
    """The transpose of `sweep_columns`: of t.m and t.d to t.f, t.law and the poses.

    t.x has derivatives by a reference's motion, then by the wrench about it.
    """
    nb = model.bodies.shape[0]
    for b in range(nb + 1):
        fill(0.0, back.bodies[b].x)
    for b in range(nb - 1, -1, -1):
        joint, w, t = model.joints[b], tree[b], back.bodies[b]
        pull_column(joint, w, back.bodies[joint.parent].x, t)
    fill(0.0, back.bodies[nb].x)
    for b in range(nb):
        joint, w, w_a, link = model.joints[b], tree[b], tree[model.joints[b].parent], links[b]
        t, t_a = back.bodies[b], back.bodies[joint.parent]
        x, turn = t.x2 if held else t.x1, t.turn2 if held else t.turn1
        x_a, turn_a = t_a.x2 if held else t_a.x1, t_a.turn2 if held else t_a.turn1
        r, rho, rho_a = (
            w.r2 if held else w.r1,
            w.rho2 if held else w.rho1,
            w_a.rho2 if held else w_a.rho1,
        )
        arm0, arm1, arm2 = 0.0, 0.0, 0.0
        if joint.kind == FREE:
            lu_solve_transposed(w.D, t.x, 6)
        else:
            pull_wrench(joint, w, link, held, r, turn, turn_a, t_a.x, t)
            moment = t_a.x[3], t_a.x[4], t_a.x[5]
            d = crossed(link.f, moment)
            arm0, arm1, arm2 = -d[0], -d[1], -d[2]
            add_to(turn_a, crossed(rho_a, d))
            for i in range(3):
                x[i] += d[i]
                x_a[i] -= d[i]
        about = t.x[3], t.x[4], t.x[5]
        more, own = crossed(about, rho), crossed(link.own, about)
        add_to(turn, crossed(rho, (arm0 + own[0], arm1 + own[1], arm2 + own[2])))
        for i in range(3):
            t.f[i] = t.x[i] + more[i]
            t.f[3 + i] = t.x[3 + i]


@kernel
def pull_column(joint, w, y, t):
    """The transpose of `pass_column`: of t.m, t.x and t.d to t.s and y, of the parent."""
    x, m = t.x, joint.m_T + joint.m_R
    more = crossed(w.rho2, t.m)
    for i in range(3):
        x[i] += t.m[i]
        x[3 + i] += t.m[3 + i] + more[i]
    if joint.kind == FREE:
        for row in range(m):
            for i in range(6):
                x[i] += w.Z2[row, i] * t.d[row]
        return
    carried = crossed(w.r2, x)
    for i in range(3):
        y[i] += x[i]
        y[3 + i] += carried[i]
    if joint.kind == HINGE:
        t.s[0] = t.d[0] + inner(w.a2, x[3:])
        for i in range(3):
            y[3 + i] += x[3 + i]
    elif joint.kind == BALL:
        for i in range(3):
            t.s[i] = t.d[i] + x[3 + i]
    else:
        for row in range(m):
            t.s[row] = t.d[row] + seen(w.Z2[row], x)
        for i in range(3):
            y[3 + i] += x[3 + i]
    for row in range(m):
        for i in range(6):
            y[i] -= w.W[row, i] * t.s[row]


@kernel
def pull_wrench(joint, w, link, held, r, turn, turn_a, passed, t):
    """From what is passed on to the parent and t.s to t.x, by the wrench, t.law and turns."""
    about = passed[3], passed[4], passed[5]
    more, m = crossed(about, r), joint.m_T + joint.m_R
    for i in range(3):
        t.x[i] = passed[i] + more[i]
        t.x[3 + i] = passed[3 + i]
    if joint.kind == HINGE:
        a = w.a2 if held else w.a1
        row = w.inverse * t.s[0] - seen(w.U[0], passed)
        turned = crossed(a, link.f[3:])
        t.law[0] += row
        for i in range(3):
            t.x[3 + i] += a[i] * row
            turn[i] += turned[i] * row
    elif joint.kind == BALL:
        for row in range(3):
            for i in range(3):
                t.s[row] -= w.D[i, 3 + row] * t.x[i]
        for i in range(3):
            t.x[3 + i] = w.S[0, i] * t.s[0] + w.S[1, i] * t.s[1] + w.S[2, i] * t.s[2]
    else:
        for row in range(m):
            t.s[row] -= seen(w.U[row], passed)
        lu_solve_transposed(w.S, t.s, m)
        for row in range(m):
            Z = w.Z2[row] if held else w.Z1[row]
            t.law[row] += t.s[row]
            turned = crossed(Z[3:], link.f[3:])
            slid = crossed(Z, link.f)
            for i in range(6):
                t.x[i] += Z[i] * t.s[row]
            for i in range(3):
                if row < joint.m_T:
                    turn_a[i] += slid[i] * t.s[row]
                else:
                    turn[i] += turned[i] * t.s[row]


@kernel
def pull_law(model, state, loads, work, joint, row, dt, t):
    """The transpose of `hold_law`, to t.dq, t.dq2 and the target of a servo."""
    q1, q2 = state.q[joint.q_begin + row], work.q2[joint.q_begin + row]
    k, d, _, _ = slope_of_law(model, loads, joint, row, q1, q2, dt)
    by, place = model.coordinates[joint.v_begin + row].armature - 0.5 * dt * d, 0.0
    servo = loads.servos[joint.v_begin + row]
    if servo.kp != 0.0 or servo.kd != 0.0:
        u = work.joints[joint.child].rate[row]
        _, free, droop = servo_torque(servo, q2 + dt * u, u)
        by += free * dt * (dt * servo.kp + servo.kd) + dt * droop
        by -= 0.5 * dt * (free * servo.kp * dt + free * servo.kd + droop)
        place = -0.5 * dt * free * servo.kp
        t.aim[row] -= place * t.law[row]
    rate = by / dt * t.law[row]
    t.dq[row] -= rate + 0.25 * dt * k * t.law[row]
    t.dq2[row] += rate + (place - 0.25 * dt * k) * t.law[row]


@kernel
def pull_velocities(model, state, system, loads, work, dt, columns, back):
    """From t.w at the second knot, and t.d, to poses there and momenta that leave the interval.

    The transpose of the projection and of `leave_velocities`.
    """
    nb, tree, s = model.bodies.shape[0], system.tree, work.scratch[0]
    for b in range(nb):
        t = back.bodies[b]
        assign(t.w, t.m)
    pull_sweep(model, tree, back.links, True, back)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w, answer, du = (
            work.slots[k],
            system.contacts[k],
            columns.answers[n],
            back.moved[n],
        )
        if on_joint(contact):
            t = back.bodies[contact.joint]
            axis = 0 if contact.kind == DRY else 2
            scale = contact.scale if contact.kind == DRY else contact.sign
            push = scale * t.law[contact.row]
            rate = -w.A[axis, axis] * scale / dt * push
            t.dq2[contact.row] += rate
            t.dq[contact.row] -= rate
            back.kappa[0] += answer.follow[axis] * push
            for i in range(3):
                du[i] += answer.G[axis, i] * push
            if contact.kind == DRY:
                du[0] += answer.A[0, 0] * push
                back.kappa[0] += answer.of_kappa[0] * push
            continue
        t, twist = back.bodies[contact.body], work.twists[contact.body].w
        pull_contact(contact, w, answer, twist, dt, s, du, back.kappa, t)
    for b in range(nb):
        joint, body, t = model.joints[b], model.bodies[b], back.bodies[b]
        for i in range(3):
            t.w[i] -= body.mass * t.f[i]
        push = -t.f[3], -t.f[4], -t.f[5]
        pull_momentum(system.inertias[b].J, work.twists[b].w, t.turn2, push, t)
        for row in range(joint.m_T + joint.m_R):
            t.tau[row] += 0.5 * dt * t.law[row]
        if work.joints[b].rows > joint.n_T + joint.n_R:
            for row in range(joint.m_T + joint.m_R):
                pull_law(model, state, loads, work, joint, row, dt, t)
    for b in range(nb - 1, -1, -1):
        joint, t, t_a = model.joints[b], back.bodies[b], back.bodies[model.joints[b].parent]
        over, twist = work.twists[joint.parent].w, work.twists[b].w
        link, pose = back.links[b], work.pose2[b]
        pull_twist(joint, tree[b], link, pose, True, over, twist, s, t_a, t)


@kernel
def pull_contact(contact, w, answer, twist, dt, s, du, kappa, t):
    """A contact's part in `pull_velocities`, of t.f to t.w, to its motion and the barrier."""
    own = crossed(t.f[3:], w.arm1)
    for i in range(3):
        s.f[i] = t.f[i] + own[i]
    for i in range(3):
        s.w[i] = dot(w.frame[i], s.f)
        kappa[0] += answer.follow[i] * s.w[i]
    for i in range(3):
        s.y[i] = w.A[0, i] * s.w[0] + w.A[1, i] * s.w[1] + w.A[2, i] * s.w[2]
        du[i] += answer.G[0, i] * s.w[0] + answer.G[1, i] * s.w[1] + answer.G[2, i] * s.w[2]
    arm = crossed(answer.impulse, t.f[3:])
    if w.rate != MOVES:
        n = w.frame[2, 0] * s.y[2], w.frame[2, 1] * s.y[2], w.frame[2, 2] * s.y[2]
        more, turned = crossed(n, twist[3:]), crossed(w.arm1, n)
        arm = arm[0] + more[0], arm[1] + more[1], arm[2] + more[2]
        for i in range(3):
            t.w[i] += n[i]
            t.w[3 + i] += turned[i]
        s.y[2] = 0.0
    for i in range(3):
        s.z[i] = w.frame[0, i] * s.y[0] + w.frame[1, i] * s.y[1] + w.frame[2, i] * s.y[2]
        s.w[i] = twist[3 + i] - 2.0 / dt * t.P[1 + i]
    more = crossed(s.z, s.w)
    add_to(t.turn2, crossed(w.center1, (arm[0] + more[0], arm[1] + more[1], arm[2] + more[2])))
    for i in range(3):
        along = w.L[0, i] * s.y[0] + w.L[1, i] * s.y[1] + w.L[2, i] * s.y[2]
        spins = w.L[0, 3 + i] * s.y[0] + w.L[1, 3 + i] * s.y[1] + w.L[2, 3 + i] * s.y[2]
        t.w[i] += along
        t.w[3 + i] += spins
        t.x2[i] -= along / dt
        t.x1[i] += along / dt
        t.dp[i] -= 2.0 / dt * spins


@kernel
def pull_end(model, dt, back):
    """The transpose of `end_motion`: of poses at the second knot and momenta to t.m and t.d."""
    for b in range(model.bodies.shape[0]):
        joint, t, part = model.joints[b], back.bodies[b], model.bodies[b].mass / dt
        push = t.f[3], t.f[4], t.f[5]
        pull_displacement(t.J, t.P, dt, push, t)
        fill(0.0, t.dp)
        for i in range(3):
            t.x2[i] += part * t.f[i]
            t.x1[i] -= part * t.f[i]
        for i in range(3):
            t.m[i], t.m[3 + i] = dt * t.x2[i], dt * t.turn2[i]
        fill(0.0, t.d)
        for row in range(joint.m_T + joint.m_R):
            t.dq[row] += t.dq2[row]
            t.d[row] = dt * t.dq2[row]


@kernel
def pull_barrier(model, work, at, part, columns, back):
    """The barrier follows the largest impulse: what it does, to the motion of its contact."""
    if part == 0.0:
        return
    nb, total = model.bodies.shape[0], back.kappa[0]
    for b in range(nb):
        t, one = back.bodies[b], columns.bodies[b]
        for i in range(6):
            total += t.m[i] * lane(one.m[i], 0) + t.d[i] * lane(one.d[i], 0)
    for n in range(1, work.active[0] + 1):
        for i in range(3):
            total += back.moved[n, i] * lane(columns.contacts[n].du[i], 0)
    back.moved[at, 2] += part * total


@kernel
def pull_motion(model, state, loads, work, dt, columns, back):
    """From t.m and t.d to poses at both knots, and to momenta and laws of the interval.

    The transpose of Newton's method, `move_contacts`, `leave_columns` and `move_columns`.
    """
    nb, tree, s = model.bodies.shape[0], back.tree, work.scratch[0]
    for n in range(1, work.active[0] + 1):
        contact, w, du = work.slots[work.active[n]], back.contacts[n], back.moved[n]
        if on_joint(contact):
            axis = 0 if contact.kind == DRY else 2
            back.bodies[contact.joint].d[contact.row] += w.R[axis, contact.row] * du[axis]
            continue
        m = back.bodies[contact.body].m
        for i in range(6):
            m[i] += w.R[0, i] * du[0] + w.R[1, i] * du[1] + w.R[2, i] * du[2]
    for b in range(nb):
        fill(0.0, back.bodies[b].law)
    pull_sweep(model, tree, columns.links, False, back)
    for n in range(1, work.active[0] + 1):
        contact, w, du = work.slots[work.active[n]], back.contacts[n], back.moved[n]
        if on_joint(contact):
            t = back.bodies[contact.joint]
            axis = 0 if contact.kind == DRY else 2
            du[axis] += w.A[axis, axis] * w.L[axis, contact.row] * t.law[contact.row]
            if contact.kind == LIMIT:
                left = 1.0 - back_slope(contact, w, dt)
                t.dq[contact.row] += contact.sign / dt * left * du[2]
            continue
        pull_slip(contact, w, dt, s, du, back.bodies[contact.body])
    for b in range(nb):
        joint, t, part = model.joints[b], back.bodies[b], model.bodies[b].mass / dt
        for row in range(joint.m_T + joint.m_R):
            t.tau[row] += 0.5 * dt * t.law[row]
        if work.joints[b].rows > joint.n_T + joint.n_R:
            for row in range(joint.m_T + joint.m_R):
                at = joint.q_begin + row
                k, _, servo, _ = slope_of_law(
                    model, loads, joint, row, state.q[at], work.q2[at], dt
                )
                t.dq[row] += dt * (servo - 0.5 * k) * t.law[row]
                t.aim[row] -= dt * servo * t.law[row]
        for i in range(3):
            t.x2[i] -= part * t.f[i]
            t.x1[i] += part * t.f[i]
        push = -t.f[3], -t.f[4], -t.f[5]
        pull_displacement(t.J, t.P, dt, push, t)
    for b in range(nb - 1, -1, -1):
        joint, t, t_a = model.joints[b], back.bodies[b], back.bodies[model.joints[b].parent]
        pull_pose(joint, tree[b], columns.links[b], work.pose2[b], True, s, t_a, t)


@kernel
def pull_slip(contact, w, dt, s, du, t):
    """A contact's part in `pull_motion`, of t.f and its motion to poses."""
    own = crossed(t.f[3:], w.arm1)
    for i in range(3):
        s.f[i] = t.f[i] + own[i]
        s.w[i] = w.frame[0, i] * w.f[0] + w.frame[1, i] * w.f[1] + w.frame[2, i] * w.f[2]
    for i in range(3):
        s.y[i] = dot(w.frame[i], s.f)
    for i in range(3):
        du[i] += w.A[0, i] * s.y[0] + w.A[1, i] * s.y[1] + w.A[2, i] * s.y[2]
    turned, left = crossed(s.w, t.f[3:]), back_slope(contact, w, dt)
    turn_vector(t.P, w.center1, s.y)
    for i in range(3):
        slips = (w.frame[0, i] * du[0] + w.frame[1, i] * du[1]) / dt
        rises = w.frame[2, i] * du[2] / dt
        s.z[i], s.w[i], s.f[i] = slips + rises, turned[i] - slips - left * rises, 2.0 * slips
        t.x2[i] += slips + rises
        t.x1[i] -= slips + left * rises
    add_to(t.turn1, crossed(w.center1, s.w))
    add_to(t.turn2, crossed(s.y, s.z))
    add_to(t.dp, crossed(w.roll, s.f))


@kernel
def pull_start(model, system, work, columns, back):
    """The transpose of `start_columns`: of momenta and rotors to poses, rates and coordinates."""
    nb, tree, s = model.bodies.shape[0], back.tree, work.scratch[0]
    for b in range(nb):
        joint, t, mass = model.joints[b], back.bodies[b], model.bodies[b].mass
        for i in range(3):
            t.w[i], t.w[3 + i] = mass * t.f[i], 0.0
        push = t.f[3], t.f[4], t.f[5]
        pull_momentum(t.J, t.twist1, t.turn1, push, t)
        for row in range(joint.m_T + joint.m_R):
            t.rate[row] = model.coordinates[joint.v_begin + row].armature * t.law[row]
    apart = square = columns.turns[0]
    while True:
        for b in range(nb - 1, -1, -1):
            joint, t, t_a = model.joints[b], back.bodies[b], back.bodies[model.joints[b].parent]
            pull_twist(
                joint, tree[b], columns.links[b], system.pose1[b], False, t_a.twist1, t.twist1, s,
                t_a, t,
            )  # fmt: skip
        if apart <= ALIKE:
            break
        apart *= square
        for b in range(nb + 1):
            t = back.bodies[b]
            fill(0.0, t.c)
            fill(0.0, t.w)
        pull_chords(model, tree, system.pose1, columns.links, work, back)
        for b in range(nb):
            fill(0.0, back.bodies[b].rate)
        pull_arcs(model, tree, False, columns.floats[0], columns.links, back)
    for b in range(nb):
        joint, t = model.joints[b], back.bodies[b]
        for row in range(joint.m_T + joint.m_R):
            t.dv[row] += t.rate[row]
    for b in range(nb - 1, -1, -1):
        joint, t, t_a = model.joints[b], back.bodies[b], back.bodies[model.joints[b].parent]
        pull_pose(joint, tree[b], columns.links[b], system.pose1[b], False, s, t_a, t)
