"""Derivatives of one undivided step of a tree, in closed form, in joint coordinates.

A change of a coordinate at one knot moves all bodies beyond its joint as one rigid body. Its screw
is that motion, a twist about one origin. Momenta and gravity turn along with a motion of both
knots; so the derivative of a sum over all that hangs on a joint is one product of a screw with the
sum of the blocks (6, 6) of these bodies, and rows of the equations are products with screws, too
[Singh2022]. With the rates s of the coordinates over the interval, and x those at its end, rows are

    H ds = R dq1 + M Y dv + h/2 dtau + (barrier),            dq2 = dq1 + h ds,
    K dx = V1 dq1 + V2 dq2 + h/2 dtau + (barrier).

Entries are not zero between coordinates of which one carries the other. So both matrices are
eliminated from the leaves to the root, for eight columns in a register.

Contacts are part of the blocks. Their stiffness at the second knot changes with their motion over
the interval, and with the barrier, which follows the largest impulse (`columns`).
"""

from robosim.compiled.kinds import DRY, LIMIT
from robosim.kernels.compiler.eights import eight, put_eight
from robosim.kernels.compiler.jit import bridge, kernel
from robosim.kernels.compiler.lanes import WIDTH
from robosim.kernels.contact.kinematics import on_joint, turn_vector
from robosim.kernels.equations.algebra import assign, fill
from robosim.kernels.equations.body import angular_momentum_tangent
from robosim.kernels.equations.joint_forces import servo_torque
from robosim.kernels.step.columns import (
    ALIKE,
    axis_of,
    back_slope,
    crossed,
    inner,
    note_twists,
    note_wrenches,
    project_interval,
    slope_of_law,
    solve_interval,
    take_interval,
    times_inertia,
)
from robosim.kernels.step.velocities import MOVES


@kernel
def inner6(a, b):
    """a . b of six numbers each."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@kernel
def move_screw(a, b, out):
    """out = change of the twist b as it moves along with the twist a; both are about the origin."""
    turn, push, slide = crossed(a[3:], b[3:]), crossed(a[3:], b), crossed(a, b[3:])
    for i in range(3):
        out[i], out[3 + i] = push[i] + slide[i], turn[i]


@kernel
def move_wrench(a, f, out):
    """out = change of the wrench f as it moves along with the twist a."""
    push, turn, arm = crossed(a[3:], f), crossed(a[3:], f[3:]), crossed(a, f)
    for i in range(3):
        out[i], out[3 + i] = push[i], turn[i] + arm[i]


@kernel
def times(block, x, out):
    """out = block x."""
    for i in range(6):
        row = block[i]
        out[i] = inner6(row, x)


@kernel
def times_from_left(x, block, out):
    """out = x^T block."""
    for i in range(6):
        out[i] = 0.0
    for k in range(6):
        for i in range(6):
            out[i] += x[k] * block[k, i]


@kernel
def set_block(mass, a, b, K, sign, out):
    """out = sign of (m I, -m [b]x; m [a]x, K - m [a]x [b]x): two arms, as `own_block`."""
    m = sign * mass
    product = inner(a, b)
    for i in range(3):
        for k in range(3):
            out[i, k], out[i, 3 + k], out[3 + i, k] = 0.0, 0.0, 0.0
            out[3 + i, 3 + k] = sign * K[i, k] - m * b[i] * a[k]
        out[i, i] = m
        out[3 + i, 3 + i] += m * product
    out[0, 4], out[0, 5], out[1, 5] = m * b[2], -m * b[1], m * b[0]
    out[1, 3], out[2, 3], out[2, 4] = -m * b[2], m * b[1], -m * b[0]
    out[3, 1], out[3, 2], out[4, 2] = -m * a[2], m * a[1], -m * a[0]
    out[4, 0], out[5, 0], out[5, 1] = m * a[2], -m * a[1], m * a[0]


@kernel
def carry_wrench(f, n, out):
    """out -= what the wrench of a force f and a moment n changes by as it moves along."""
    out[0, 4] -= f[2]
    out[0, 5] += f[1]
    out[1, 3] += f[2]
    out[1, 5] -= f[0]
    out[2, 3] -= f[1]
    out[2, 4] += f[0]
    out[3, 1] -= f[2]
    out[3, 2] += f[1]
    out[4, 0] += f[2]
    out[4, 2] -= f[0]
    out[5, 0] -= f[1]
    out[5, 1] += f[0]
    out[3, 4] -= n[2]
    out[3, 5] += n[1]
    out[4, 3] += n[2]
    out[4, 5] -= n[0]
    out[5, 3] -= n[1]
    out[5, 4] += n[0]


@kernel
def keep_push(x, f, m, out):
    """out += what a force f at x and a moment m change by, that do not move along with a body."""
    size = inner(x, f)
    for i in range(3):
        for k in range(3):
            out[3 + i, 3 + k] += f[i] * x[k]
        out[3 + i, 3 + i] -= size
    for k in range(2):
        at = 3 * k
        x0, x1, x2 = (f[0], f[1], f[2]) if k == 0 else (m[0], m[1], m[2])
        out[at, 4] -= x2
        out[at, 5] += x1
        out[at + 1, 3] += x2
        out[at + 1, 5] -= x0
        out[at + 2, 3] -= x1
        out[at + 2, 4] += x0


@kernel
def note_screws(model, tree, poses, second, s, blocks):
    """Screws of all coordinates at one knot."""
    for n in range(blocks.along.shape[0]):
        a, origin = blocks.along[n], blocks.origin
        joint, w, x = model.joints[a.body], tree[a.body], poses[a.body].x
        rho, S = w.rho2 if second else w.rho1, a.S2 if second else a.S1
        if a.row < joint.m_T:
            for i in range(3):
                S[i], S[3 + i] = w.Z2[a.row, i] if second else w.Z1[a.row, i], 0.0
        else:
            axis_of(joint, w, poses[a.body], a.row - joint.m_T, second, s.w)
            p = x[0] - rho[0] - origin[0], x[1] - rho[1] - origin[1], x[2] - rho[2] - origin[2]
            lever = crossed(p, s.w)
            for i in range(3):
                S[i], S[3 + i] = lever[i], s.w[i]


@kernel
def note_motions(model, tree, poses, work, second, links, blocks):
    """Twists about the origin, those that joints turn against, and wrenches that joints carry."""
    for b in range(model.bodies.shape[0]):
        joint, w, block, x, origin = (
            model.joints[b],
            tree[b],
            blocks.bodies[b],
            poses[b].x,
            blocks.origin,
        )
        twist, link, rho = work.twists[b].w, links[b], w.rho2 if second else w.rho1
        arm = x[0] - origin[0], x[1] - origin[1], x[2] - origin[2]
        lever, over = crossed(arm, twist[3:]), blocks.bodies[joint.parent].V
        for i in range(3):
            block.V[i], block.V[3 + i] = twist[i] + lever[i], twist[3 + i]
            block.before[i], block.before[3 + i] = over[i], over[3 + i]
            block.x[i], block.arm[i] = arm[i], arm[i] - rho[i]
            if joint.m_T > 0:
                block.before[i] += link.slip[i]
        lever = crossed(block.arm, link.f)
        for i in range(3):
            block.F[i], block.F[3 + i] = link.f[i], link.f[3 + i] + lever[i]


@kernel
def push_of(model, loads, options, dt, b, out):
    """out (6,) = half of the impulse of gravity and of what acts from outside, about the centre."""
    heavy = model.bodies[b].gravitational_mass
    for i in range(6):
        out[i] = 0.5 * dt * loads.external[b].w[i]
    for i in range(3):
        out[i] += 0.5 * dt * heavy * options.gravity[i]


@kernel
def begin_blocks(model, system, loads, work, options, dt, blocks):
    """Blocks of bodies in the equations of an interval, and of the momenta that leave it."""
    s = work.scratch[0]
    for b in range(model.bodies.shape[0]):
        body, block, J, P, x2 = (
            model.bodies[b],
            blocks.bodies[b],
            system.inertias[b].J,
            work.bodies[b].P,
            work.pose2[b].x,
        )
        for i in range(3):
            s.y[i] = x2[i] - blocks.origin[i]
        set_block(body.mass, block.x, block.x, J, 1.0, block.N)
        angular_momentum_tangent(J, P, s.R_J)
        for i in range(3):
            for k in range(3):
                s.R_J[i, k] *= 1.0 / dt
        set_block(body.mass / dt, block.x, s.y, s.R_J, -1.0, block.R)
        # Turned at both knots, the momentum turns along.
        along = times_inertia(J, P[1:])
        more, e, scale = crossed(P[1:], along), P[0], 2.0 / dt
        L0, L1, L2 = (
            scale * (e * along[0] + more[0]),
            scale * (e * along[1] + more[1]),
            scale * (e * along[2] + more[2]),
        )
        s.R_J[0, 1] -= L2
        s.R_J[0, 2] += L1
        s.R_J[1, 0] += L2
        s.R_J[1, 2] -= L0
        s.R_J[2, 0] -= L1
        s.R_J[2, 1] += L0
        set_block(body.mass / dt, s.y, block.x, s.R_J, -1.0, block.E)
        for i in range(6):
            assign(block.R[i], block.P[i])
            for k in range(6):
                block.P[i, k] = -block.P[i, k]
            block.K[i] = 0.0
        push_of(model, loads, options, dt, b, s.f)
        keep_push(block.x, s.f[:3], s.f[3:], block.P)


@kernel
def hold_blocks(model, system, loads, work, options, dt, blocks):
    """Blocks of bodies in the projection at the second knot."""
    s = work.scratch[0]
    for b in range(model.bodies.shape[0]):
        block = blocks.bodies[b]
        set_block(model.bodies[b].mass, block.x, block.x, system.inertias[b].J, 1.0, block.N)
        for i in range(6):
            assign(block.E[i], block.P[i])
            for k in range(6):
                block.R[i, k] = -block.E[i, k]
            block.K[i] = 0.0
        push_of(model, loads, options, dt, b, s.f)
        keep_push(block.x, s.f[:3], s.f[3:], block.R)


@kernel
def gather_blocks(model, blocks):
    """Sums of blocks over all that hangs on each joint."""
    nb = model.bodies.shape[0]
    for b in range(nb - 1, -1, -1):
        parent = model.joints[b].parent
        if parent == nb:
            continue
        block, out = blocks.bodies[b], blocks.bodies[parent]
        for i in range(6):
            for k in range(6):
                out.N[i, k] += block.N[i, k]
                out.P[i, k] += block.P[i, k]
                out.R[i, k] += block.R[i, k]
            out.K[i] += block.K[i]


@kernel
def along_frame(frame, v, out):
    """out (3,) = three numbers in a contact's frame."""
    for i in range(3):
        out[i] = frame[i, 0] * v[0] + frame[i, 1] * v[1] + frame[i, 2] * v[2]


@kernel
def out_of_frame(frame, v):
    """Three numbers of a contact's frame, in world axes."""
    x = frame[0, 0] * v[0] + frame[1, 0] * v[1] + frame[2, 0] * v[2]
    y = frame[0, 1] * v[0] + frame[1, 1] * v[1] + frame[2, 1] * v[2]
    z = frame[0, 2] * v[0] + frame[1, 2] * v[1] + frame[2, 2] * v[2]
    return x, y, z


@kernel
def add_wrench(arm, force, moment, column, out):
    """A column of out (6, 6) += a wrench about the origin of a force at an arm, and a moment."""
    lever = crossed(arm, force)
    for i in range(3):
        out[i, column] += force[i]
        out[3 + i, column] += lever[i] + moment[i]


@kernel
def place_unit(column, x, turn, move):
    """turn, move = those of a body at x by a unit of a screw."""
    fill(0.0, turn)
    fill(0.0, move)
    if column < 3:
        move[column] = 1.0
    else:
        turn[column - 3] = 1.0
        lever = crossed(turn, x)
        for i in range(3):
            move[i] = lever[i]


@kernel
def begin_touches(model, system, work, dt, columns, blocks):
    """What contacts between bodies and the ground add to the blocks of an interval."""
    s = work.scratch[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w, answer, touch = (
            work.slots[k],
            system.contacts[k],
            columns.answers[n],
            blocks.touches[n],
        )
        touch.back = back_slope(contact, w, dt)
        if on_joint(contact):
            continue
        block, P = blocks.bodies[contact.body], work.bodies[contact.body].P
        x2 = work.pose2[contact.body].x
        e, p = P[0], P[1:]
        turn_vector(P, w.center1, s.y)
        for i in range(3):
            s.z[i] = x2[i] - blocks.origin[i]
            s.arm[i] = block.x[i] + w.arm1[i]
        force = out_of_frame(w.frame, w.f)
        for column in range(6):
            # At the first knot, then at the second.
            place_unit(column, block.x, s.w, touch.move)
            first, across = crossed(s.w, w.center1), crossed(s.w, p)
            begin = (
                touch.move[0] + first[0],
                touch.move[1] + first[1],
                touch.move[2] + first[2],
            )
            dp = (
                0.5 * (across[0] - e * s.w[0]),
                0.5 * (across[1] - e * s.w[1]),
                0.5 * (across[2] - e * s.w[2]),
            )
            rolls, back = crossed(dp, w.roll), touch.back
            for i in range(3):
                t = w.frame[i, 0] * begin[0] + w.frame[i, 1] * begin[1] + w.frame[i, 2] * begin[2]
                if i == 2:
                    touch.U1[i, column] = -back * t / dt
                else:
                    t -= 2.0 * inner(w.frame[i], rolls)
                    touch.U1[i, column] = -t / dt
            u = touch.U1[0, column], touch.U1[1, column], touch.U1[2, column]
            push = inner(w.A[0], u), inner(w.A[1], u), inner(w.A[2], u)
            add_wrench(s.arm, out_of_frame(w.frame, push), crossed(begin, force), column, block.P)
            place_unit(column, s.z, s.w, touch.move)
            first, across = crossed(s.w, s.y), crossed(s.w, p)
            dp = (
                0.5 * (across[0] + e * s.w[0]),
                0.5 * (across[1] + e * s.w[1]),
                0.5 * (across[2] + e * s.w[2]),
            )
            rolls = crossed(dp, w.roll)
            end = touch.move[0] + first[0], touch.move[1] + first[1], touch.move[2] + first[2]
            for i in range(3):
                t = inner(w.frame[i], end)
                if i < 2:
                    t += 2.0 * inner(w.frame[i], rolls)
                touch.U2[i, column] = t / dt
            u = touch.U2[0, column], touch.U2[1, column], touch.U2[2, column]
            push = inner(w.A[0], u), inner(w.A[1], u), inner(w.A[2], u)
            add_wrench(s.arm, out_of_frame(w.frame, push), (0.0, 0.0, 0.0), column, block.R)
        push = out_of_frame(w.frame, answer.of_kappa)
        lever = crossed(s.arm, push)
        for i in range(3):
            block.K[i] += push[i]
            block.K[3 + i] += lever[i]
        # What the equations call rigid motions of both knots.
        lever = crossed(s.arm, force)
        carry_wrench(force, lever, block.P)


@kernel
def hold_touches(model, system, work, dt, columns, blocks):
    """What contacts between bodies and the ground add to the blocks of the projection."""
    s = work.scratch[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w, answer, touch = (
            work.slots[k],
            system.contacts[k],
            columns.answers[n],
            blocks.touches[n],
        )
        if on_joint(contact):
            continue
        block, motion, twist = (
            blocks.bodies[contact.body],
            work.bodies[contact.body],
            work.twists[contact.body].w,
        )
        e, p = motion.P[0], motion.P[1:]
        for i in range(3):
            s.arm[i] = block.x[i] + w.arm1[i]
            s.z[i] = twist[3 + i] - 2.0 / dt * motion.P[1 + i]
            # From the origin to the centre of mass at the first knot.
            s.y[i] = touch.x1[i]
        impulse = answer.impulse
        for at in range(18):
            column = at % 6
            # By the screw at the first knot, by that at the second, and by the twist there.
            fill(0.0, s.f)
            fill(0.0, touch.move)
            fill(0.0, touch.arm)
            if at < 6:
                place_unit(column, s.y, s.w, touch.move)
                across = crossed(s.w, p)
                for i in range(3):
                    dp = 0.5 * (across[i] - e * s.w[i])
                    s.f[i], s.f[3 + i] = touch.move[i] / dt, -2.0 / dt * dp
                    touch.u[i] = touch.U1[i, column]
                fill(0.0, touch.move)
            elif at < 12:
                place_unit(column, block.x, s.w, touch.move)
                across, arm = crossed(s.w, p), crossed(s.w, w.center1)
                spin = crossed(s.w, twist[3:])
                # The twist turns along, and the point is another one.
                for i in range(3):
                    touch.w[i], touch.arm[i] = spin[i], arm[i]
                push = crossed(s.w, twist)
                for i in range(3):
                    dp = 0.5 * (across[i] + e * s.w[i])
                    touch.v[i] = push[i]
                    s.f[i] = push[i] - touch.move[i] / dt
                    s.f[3 + i] = spin[i] - 2.0 / dt * dp
                    touch.u[i] = touch.U2[i, column]
            else:
                place_unit(column, block.x, touch.w, touch.v)
                for i in range(3):
                    s.f[i], s.f[3 + i], touch.u[i] = touch.v[i], touch.w[i], 0.0
            turned = crossed(s.z, touch.arm)
            along_frame(w.frame, turned, touch.push)
            for i in range(3):
                touch.push[i] += inner6(w.L[i], s.f)
            if w.rate != MOVES:
                touch.push[2] = 0.0
                if at >= 6:
                    first, second = crossed(twist[3:], touch.arm), crossed(touch.w, w.arm1)
                    for i in range(3):
                        rises = touch.v[i] + first[i] + second[i]
                        touch.push[2] += w.frame[2, i] * rises
            u, v = touch.push, touch.u
            push = (
                inner(w.A[0], u) + inner(answer.G[0], v),
                inner(w.A[1], u) + inner(answer.G[1], v),
                inner(w.A[2], u) + inner(answer.G[2], v),
            )
            force = out_of_frame(w.frame, push)
            if at < 6:
                add_wrench(s.arm, force, (0.0, 0.0, 0.0), column, block.P)
            elif at < 12:
                for i in range(3):
                    touch.arm[i] += touch.move[i]
                add_wrench(s.arm, force, crossed(touch.arm, impulse), column, block.R)
            else:
                add_wrench(
                    s.arm, (-force[0], -force[1], -force[2]), (0.0, 0.0, 0.0), column, block.N
                )
        push = out_of_frame(w.frame, answer.follow)
        lever = crossed(s.arm, push)
        for i in range(3):
            block.K[i] += push[i]
            block.K[3 + i] += lever[i]
        lever = crossed(s.arm, impulse)
        carry_wrench(impulse, lever, block.R)


@kernel
def along_joint(contact):
    """Axis and scale of a limit or of dry friction along its coordinate."""
    if contact.kind == DRY:
        return 0, contact.scale
    return 2, contact.sign


@kernel
def rigidly(c, a):
    """Row of c by a, which c moves along with."""
    return inner6(c.LP, a.S1) + inner6(c.LR, a.S2) - inner6(c.LN, a.eta)


@kernel
def move_equations(model, state, system, loads, work, dt, columns, blocks):
    """H, M, R and what the barrier does: rows of the equations of an interval."""
    for n in range(blocks.along.shape[0]):
        a = blocks.along[n]
        block, joint = blocks.bodies[a.body], model.joints[a.body]
        over = block.before
        if a.row < joint.m_T:
            over = blocks.bodies[joint.parent].V
        move_screw(a.S1, over, a.eta)
        times(block.P, a.S1, a.y)
        times(block.R, a.S2, a.RR)
        times(block.N, a.eta, a.RN)
        move_wrench(a.S1, block.F, a.LN)
        for i in range(6):
            a.y[i] += a.RR[i] - a.RN[i] + a.LN[i]
        times(block.N, a.S1, a.RN)
        times_from_left(a.S1, block.P, a.LP)
        times_from_left(a.S1, block.R, a.LR)
        times_from_left(a.S1, block.N, a.LN)
        blocks.kappa[n] = inner6(a.S1, block.K)
        i = n
        while i >= 0:
            c = blocks.along[i]
            mass = inner6(c.S1, a.RN)
            blocks.M[i, n], blocks.M[n, i] = mass, mass
            blocks.H[n, i] = -dt * inner6(a.LR, c.S2)
            if c.body == a.body:
                slides, others = c.row < joint.m_T, a.row < joint.m_T
                blocks.H[i, n] = -dt * inner6(c.LR, a.S2)
                blocks.R[i, n] = inner6(c.S1, a.y) if slides and not others else rigidly(c, a)
                if i != n:
                    blocks.R[n, i] = inner6(a.S1, c.y) if others and not slides else rigidly(a, c)
            else:
                blocks.H[i, n] = -dt * inner6(c.S1, a.RR)
                blocks.R[i, n], blocks.R[n, i] = inner6(c.S1, a.y), rigidly(a, c)
            i = c.up
        law = work.joints[a.body].rows > joint.n_T + joint.n_R
        blocks.M[n, n] += model.coordinates[a.v].armature
        if law:
            i = n
            while i >= 0 and blocks.along[i].body == a.body:
                blocks.H[i, n] -= work.joints[a.body].A[blocks.along[i].row, a.row]
                if i != n:
                    blocks.H[n, i] -= work.joints[a.body].A[a.row, blocks.along[i].row]
                i = blocks.along[i].up
            at = joint.q_begin + a.row
            k, _, servo, _ = slope_of_law(model, loads, joint, a.row, state.q[at], work.q2[at], dt)
            blocks.R[n, n] += dt * (servo - 0.5 * k)
    for m in range(1, work.active[0] + 1):
        k = work.active[m]
        contact, w, touch = work.slots[k], system.contacts[k], blocks.touches[m]
        if not on_joint(contact):
            continue
        axis, _ = along_joint(contact)
        n = blocks.begin[contact.joint] + contact.row
        slides = w.L[axis, contact.row]
        if contact.kind == LIMIT:
            rise = contact.sign / dt * (1.0 - touch.back)
            blocks.R[n, n] += slides * w.A[axis, axis] * rise
        blocks.kappa[n] += slides * columns.answers[m].of_kappa[axis]


@kernel
def hold_equations(model, state, system, loads, work, dt, columns, blocks):
    """K (in H), V1, V2 and what the barrier does: rows of the projection at the second knot."""
    for n in range(blocks.along.shape[0]):
        a = blocks.along[n]
        block, joint = blocks.bodies[a.body], model.joints[a.body]
        over = block.before
        if a.row < joint.m_T:
            over = blocks.bodies[joint.parent].V
        move_screw(a.S2, over, a.eta)
        times(block.R, a.S2, a.y)
        times(block.N, a.eta, a.RN)
        move_wrench(a.S2, block.F, a.LN)
        for i in range(6):
            a.y[i] += a.RN[i] + a.LN[i]
        times(block.P, a.S1, a.RR)
        times(block.N, a.S2, a.RN)
        times_from_left(a.S2, block.P, a.LP)
        times_from_left(a.S2, block.R, a.LR)
        times_from_left(a.S2, block.N, a.LN)
        blocks.kappa[n] = inner6(a.S2, block.K)
        i = n
        while i >= 0:
            c = blocks.along[i]
            blocks.H[i, n], blocks.H[n, i] = inner6(c.S2, a.RN), inner6(a.LN, c.S2)
            blocks.R[i, n], blocks.R[n, i] = inner6(c.S2, a.RR), inner6(a.LP, c.S1)
            mine = inner6(a.LR, c.S2) + inner6(a.LN, c.eta)
            other = inner6(c.S2, a.y)
            if c.body == a.body:
                slides, others = c.row < joint.m_T, a.row < joint.m_T
                if not slides or others:
                    other = inner6(c.LR, a.S2) + inner6(c.LN, a.eta)
                if others and not slides:
                    mine = inner6(a.S2, c.y)
            blocks.M[i, n], blocks.M[n, i] = other, mine
            i = c.up
        if work.joints[a.body].rows > joint.n_T + joint.n_R:
            i = n
            while i >= 0 and blocks.along[i].body == a.body:
                blocks.H[i, n] -= work.joints[a.body].A[blocks.along[i].row, a.row]
                if i != n:
                    blocks.H[n, i] -= work.joints[a.body].A[a.row, blocks.along[i].row]
                i = blocks.along[i].up
            first, second = knot_slopes(model, state, loads, work, joint, a.row, dt)
            blocks.R[n, n] += first
            blocks.M[n, n] += second
    for m in range(1, work.active[0] + 1):
        k = work.active[m]
        contact, w, touch, answer = (
            work.slots[k],
            system.contacts[k],
            blocks.touches[m],
            columns.answers[m],
        )
        if not on_joint(contact):
            continue
        axis, scale = along_joint(contact)
        n = blocks.begin[contact.joint] + contact.row
        first, second = motion_of(contact, touch, dt)
        resists, follows = -w.A[axis, axis] * scale / dt, answer.G[axis, axis]
        barrier = answer.follow[axis]
        if contact.kind == DRY:
            follows += answer.A[0, 0]
            barrier += answer.of_kappa[0]
        blocks.R[n, n] += scale * (follows * first - resists)
        blocks.M[n, n] += scale * (follows * second + resists)
        blocks.kappa[n] += scale * barrier


@kernel
def motion_of(contact, touch, dt):
    """Derivatives of the motion of a limit, or of dry friction, by where its coordinate is.

    At the first knot, and at the second.
    """
    if contact.kind == DRY:
        return -contact.scale / dt, contact.scale / dt
    return -contact.sign / dt * touch.back, contact.sign / dt


@kernel
def knot_slopes(model, state, loads, work, joint, row, dt):
    """Derivatives of a coordinate's law in the projection by where it is at both knots.

    What springs and dampers give, what the rotor keeps, and what a servo does from there on.
    """
    q1, q2 = state.q[joint.q_begin + row], work.q2[joint.q_begin + row]
    k, d, _, _ = slope_of_law(model, loads, joint, row, q1, q2, dt)
    by_place, by_rate = 0.0, model.coordinates[joint.v_begin + row].armature - 0.5 * dt * d
    servo = loads.servos[joint.v_begin + row]
    if servo.kp != 0.0 or servo.kd != 0.0:
        u = work.joints[joint.child].rate[row]
        _, free, droop = servo_torque(servo, q2 + dt * u, u)
        by_rate += free * dt * (dt * servo.kp + servo.kd) + dt * droop
        by_rate -= 0.5 * dt * (free * servo.kp * dt + free * servo.kd + droop)
        by_place = -0.5 * dt * free * servo.kp
    spring = -0.25 * dt * k
    return spring - by_rate / dt, spring + by_place + by_rate / dt


@kernel
def note_arcs(model, tree, second, links, blocks):
    """E and B: by how much rates are along arcs more than along chords, to first order.

    By the rates of chords, and by the coordinates where these rates stay.
    """
    nb = model.bodies.shape[0]
    for b in range(nb):
        block, link = blocks.bodies[b], links[b]
        spin = block.V[3:]
        for i in range(3):
            for k in range(3):
                block.C[i, k] = link.more * spin[i] * spin[k]
            block.C[i, i] += link.excess
    follow_roots(model, links, blocks)
    for n in range(blocks.along.shape[0]):
        a = blocks.along[n]
        joint, block = model.joints[a.body], blocks.bodies[a.body]
        S = a.S2 if second else a.S1
        turn, over = S[3:], block.before[3:]
        if a.row < joint.m_T:
            continue
        # Against what does not turn: by how much less of it there is.
        back = crossed(over, turn)
        for i in range(3):
            a.w[i] = back[i]
        for i in range(3):
            a.own[i], a.rest[i] = 0.0, 0.0
            for k in range(3):
                a.own[i] += turn[k] * block.C[k, i]
            a.rest[i] = a.own[i]
            if joint.parent < nb:
                for k in range(3):
                    a.rest[i] -= turn[k] * blocks.bodies[joint.parent].C[k, i]
        i = n
        while i >= 0:
            c = blocks.along[i]
            if c.row >= model.joints[c.body].m_T:
                axis = c.S2[3:] if second else c.S1[3:]
                if c.body == a.body:
                    blocks.E[n, i] = inner(a.own, axis)
                    carried = links[a.body].carried
                    blocks.B[n, i] = inner(a.own, c.w) + inner(turn, crossed(axis, carried))
                    if i != n:
                        blocks.E[i, n] = inner(c.own, turn)
                        blocks.B[i, n] = inner(c.own, a.w) + inner(axis, crossed(turn, carried))
                else:
                    blocks.E[n, i], blocks.B[n, i] = inner(a.rest, axis), inner(a.rest, c.w)
            i = c.up
    for n in range(blocks.along.shape[0]):
        a = blocks.along[n]
        root = model.bodies[a.body].floats_with
        if root < 0 or a.row < model.joints[a.body].m_T:
            if root >= 0 and a.body != root:
                slide_arcs(model, second, links, n, root, blocks)
            continue
        block, base, axis = blocks.bodies[a.body], blocks.bodies[root], a.S2 if second else a.S1
        part = -1.0 / model.bodies[root].floating_mass
        for i in range(3):
            a.rest[i] = part * inner(block.D[i], axis[3:])
            a.own[i] = part * inner(block.D[i], a.w)
        turned = crossed(axis[3:], block.turned)
        for i in range(3):
            a.own[i] += part * turned[i]
        if a.body == root:
            rho = tree[root].rho2 if second else tree[root].rho1
            own = crossed(axis[3:], crossed(links[root].gained, rho))
            for i in range(3):
                a.rest[i] -= inner(base.C[(i + 1) % 3], axis[3:]) * rho[(i + 2) % 3]
                a.rest[i] += inner(base.C[(i + 2) % 3], axis[3:]) * rho[(i + 1) % 3]
                a.own[i] -= inner(base.C[(i + 1) % 3], a.w) * rho[(i + 2) % 3]
                a.own[i] += inner(base.C[(i + 2) % 3], a.w) * rho[(i + 1) % 3]
                a.own[i] -= own[i]
        first = blocks.begin[root]
        for row in range(3):
            c = blocks.along[first + row]
            slide = c.S2 if second else c.S1
            blocks.E[first + row, n] = inner(slide, a.rest)
            blocks.B[first + row, n] = inner(slide, a.own)


@kernel
def slide_arcs(model, second, links, n, root, blocks):
    """B of what floats by a slide within it, which moves all beyond against its parent's turn."""
    a = blocks.along[n]
    S = a.S2 if second else a.S1
    part = -blocks.bodies[a.body].mass / model.bodies[root].floating_mass
    moved, first = crossed(links[a.body].carried, S), blocks.begin[root]
    for row in range(3):
        c = blocks.along[first + row]
        slide = c.S2 if second else c.S1
        blocks.B[first + row, n] = part * inner(slide, moved)


@kernel
def follow_roots(model, links, blocks):
    """How the centre of mass of what floats would move by changes of turns, of all beyond joints.

    `D` is that by changes of angular velocities, times the mass, and `turned` what it is.
    """
    nb = model.bodies.shape[0]
    for b in range(nb):
        block, body = blocks.bodies[b], model.bodies[b]
        block.mass = body.share * body.mass
        for i in range(3):
            block.e[i], block.turned[i] = block.mass * block.x[i], 0.0
            for k in range(3):
                block.D[i, k] = 0.0
    for b in range(nb - 1, -1, -1):
        if model.bodies[b].floats_with < 0:
            continue
        block, link, parent = blocks.bodies[b], links[b], model.joints[b].parent
        root = model.bodies[b].floats_with == b
        if not root:
            over = blocks.bodies[parent]
            over.mass += block.mass
            for i in range(3):
                over.e[i] += block.mass * block.arm[i]
        for i in range(3):
            block.e[i] -= block.mass * (block.x[i] if root else block.arm[i])
        moved = crossed(link.gained, block.e)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            block.turned[i] += moved[i]
            for m in range(3):
                block.D[i, m] += block.C[j, m] * block.e[k] - block.C[k, m] * block.e[j]
        if not root:
            over = blocks.bodies[parent]
            for i in range(3):
                over.turned[i] += block.turned[i]
                for m in range(3):
                    over.D[i, m] += block.D[i, m]


@kernel
def start_rates(square, blocks):
    """Y = changes of the rates of chords at the first knot, by coordinates and by velocities."""
    n, places = blocks.along.shape[0], blocks.places
    for i in range(n):
        a = blocks.along[i]
        for k in range(blocks.Y.shape[1]):
            blocks.Y[i, k] = 0.0
        for m in range(a.bends, a.related):
            c = blocks.along[places[m]]
            blocks.Y[i, c.v] = -blocks.B[i, places[m]]
            blocks.Y[i, n + c.v] = -blocks.E[i, places[m]]
        blocks.Y[i, n + a.v] += 1.0
    # To first order in the square of an angle, and each time to one more.
    apart = square * square
    while apart > ALIKE:
        for i in range(n):
            improve_rates(i, blocks)
        apart *= square


@kernel
def improve_rates(i, blocks):
    """Y of one coordinate, by those that it depends on."""
    n, a, places, width = blocks.along.shape[0], blocks.along[i], blocks.places, blocks.Y.shape[1]
    own = 1.0 / (1.0 + blocks.E[i, i])
    for k in range(width):
        blocks.Y[i, k] = 0.0
    for m in range(a.bends, a.related):
        blocks.Y[i, blocks.along[places[m]].v] = -blocks.B[i, places[m]]
    blocks.Y[i, n + a.v] = 1.0
    for m in range(a.bends, a.related):
        k = places[m]
        if k != i:
            for at in range(0, width, WIDTH):
                more = eight(blocks.Y, i, at) - blocks.E[i, k] * eight(blocks.Y, k, at)
                put_eight(more, blocks.Y, i, at)
    for at in range(0, width, WIDTH):
        put_eight(own * eight(blocks.Y, i, at), blocks.Y, i, at)


@kernel
def add_products(i, begin, end, places, factors, source, width, out):
    """out[i] += factors[i] times the rows `places` of the source, which is another matrix."""
    at = 0
    while at + 4 * WIDTH <= width:
        a, b, c, d = (
            eight(out, i, at),
            eight(out, i, at + WIDTH),
            eight(out, i, at + 2 * WIDTH),
            eight(out, i, at + 3 * WIDTH),
        )
        for m in range(begin, end):
            k = places[m]
            factor = factors[i, k]
            a = a + factor * eight(source, k, at)
            b = b + factor * eight(source, k, at + WIDTH)
            c = c + factor * eight(source, k, at + 2 * WIDTH)
            d = d + factor * eight(source, k, at + 3 * WIDTH)
        put_eight(a, out, i, at)
        put_eight(b, out, i, at + WIDTH)
        put_eight(c, out, i, at + 2 * WIDTH)
        put_eight(d, out, i, at + 3 * WIDTH)
        at += 4 * WIDTH
    while at < width:
        a = eight(out, i, at)
        for m in range(begin, end):
            a = a + factors[i, places[m]] * eight(source, places[m], at)
        put_eight(a, out, i, at)
        at += WIDTH


@kernel
def subtract_products(i, begin, end, places, factors, scale, out):
    """out[i] = scale (out[i] - factors[i] times its own rows `places`)."""
    at, width = 0, out.shape[1]
    while at + 4 * WIDTH <= width:
        a, b, c, d = (
            eight(out, i, at),
            eight(out, i, at + WIDTH),
            eight(out, i, at + 2 * WIDTH),
            eight(out, i, at + 3 * WIDTH),
        )
        for m in range(begin, end):
            k = places[m]
            factor = -factors[i, k]
            a = a + factor * eight(out, k, at)
            b = b + factor * eight(out, k, at + WIDTH)
            c = c + factor * eight(out, k, at + 2 * WIDTH)
            d = d + factor * eight(out, k, at + 3 * WIDTH)
        put_eight(scale * a, out, i, at)
        put_eight(scale * b, out, i, at + WIDTH)
        put_eight(scale * c, out, i, at + 2 * WIDTH)
        put_eight(scale * d, out, i, at + 3 * WIDTH)
        at += 4 * WIDTH
    while at < width:
        a = eight(out, i, at)
        for m in range(begin, end):
            a = a - factors[i, places[m]] * eight(out, places[m], at)
        put_eight(scale * a, out, i, at)
        at += WIDTH


@kernel
def eliminate(blocks):
    """X = H^-1 X, from the leaves to the root and back; whether nothing was singular.

    Leaves factors in H: of a coordinate by those that it carries, and by those that carry it.
    """
    n, places, H = blocks.along.shape[0], blocks.places, blocks.H
    for k in range(n - 1, -1, -1):
        a, own = blocks.along[k], blocks.H[k, k]
        if not abs(own) > 1e-300:
            return False
        for m in range(a.above, a.beyond):
            i = places[m]
            factor = H[i, k] / own
            for other in range(a.above, a.beyond):
                H[i, places[other]] -= factor * H[k, places[other]]
            H[i, k] = factor
    for i in range(n - 1, -1, -1):
        a = blocks.along[i]
        subtract_products(i, a.beyond, a.end, places, H, 1.0, blocks.X)
    for i in range(n):
        a = blocks.along[i]
        subtract_products(i, a.above, a.beyond, places, H, 1.0 / H[i, i], blocks.X)
    return True


@kernel
def answer_rates(on, dt, arcs, blocks):
    """X = changes of the rates over the interval along all directions; whether there are such."""
    n, width = blocks.along.shape[0], blocks.X.shape[1]
    for i in range(n):
        a = blocks.along[i]
        for k in range(width):
            blocks.X[i, k] = 0.0
        for m in range(a.related, a.end):
            k = blocks.places[m]
            v = blocks.along[k].v
            blocks.X[i, v] = blocks.R[i, k]
            if not arcs:
                blocks.X[i, n + v] = blocks.M[i, k]
        blocks.X[i, width - 1] = blocks.kappa[i]
        if arcs:
            add_products(
                i, a.related, a.end, blocks.places, blocks.M, blocks.Y, blocks.Y.shape[1], blocks.X
            )
    push_motors(on, dt, blocks)
    return eliminate(blocks)


@kernel
def push_motors(on, dt, blocks):
    """X += half of the impulses of unit torques."""
    n = blocks.along.shape[0]
    for k in range(on.motors.shape[0]):
        blocks.X[blocks.at[on.motors[k]], 2 * n + k] += 0.5 * dt


@kernel
def end_coordinates(system, work, speed, dt, columns, blocks):
    """Q = changes of the coordinates at the second knot, and Z = those of the barrier.

    The barrier follows the largest impulse, from what it does by itself, the last column.
    """
    n, width = blocks.along.shape[0], blocks.X.shape[1]
    for i in range(n):
        for g in range(width // WIDTH):
            put_eight(dt * eight(blocks.X, i, g * WIDTH), blocks.Q, i, g * WIDTH)
        blocks.Q[i, blocks.along[i].v] += 1.0
    for k in range(width):
        blocks.Z[0, k] = 0.0
    largest, at = 0.0, 0
    for m in range(1, work.active[0] + 1):
        k = work.active[m]
        if work.contacts[k].gamma > largest and work.slots[k].kind != DRY:
            largest, at = work.contacts[k].gamma, m
    if at == 0 or columns.follows[0] == 0.0:
        return
    contact, touch = work.slots[work.active[at]], blocks.touches[at]
    if on_joint(contact):
        i = blocks.begin[contact.joint] + contact.row
        first, second = motion_of(contact, touch, dt)
        for g in range(width // WIDTH):
            put_eight(second * eight(blocks.Q, i, g * WIDTH), blocks.Z, 0, g * WIDTH)
        blocks.Z[0, blocks.along[i].v] += first
    else:
        i = blocks.last[contact.body]
        while i >= 0:
            c = blocks.along[i]
            second = inner6(touch.U2[2], c.S2)
            for g in range(width // WIDTH):
                more = second * eight(blocks.Q, i, g * WIDTH)
                put_eight(eight(blocks.Z, 0, g * WIDTH) + more, blocks.Z, 0, g * WIDTH)
            blocks.Z[0, c.v] += inner6(touch.U1[2], c.S1)
            i = c.up
    A = system.contacts[work.active[at]].A[2, 2]
    own = A * blocks.Z[0, width - 1]
    part = speed * A / (1.0 - speed * (own + columns.answers[at].of_kappa[2]))
    for g in range(width // WIDTH):
        put_eight(part * eight(blocks.Z, 0, g * WIDTH), blocks.Z, 0, g * WIDTH)
    for i in range(n):
        own = dt * blocks.X[i, width - 1]
        for g in range(width // WIDTH):
            more = own * eight(blocks.Z, 0, g * WIDTH)
            put_eight(eight(blocks.Q, i, g * WIDTH) + more, blocks.Q, i, g * WIDTH)


@kernel
def answer_velocities(on, dt, blocks):
    """X = changes of the rates at the second knot along all directions; whether there are such."""
    n, width = blocks.along.shape[0], blocks.X.shape[1]
    for i in range(n):
        a, barrier = blocks.along[i], blocks.kappa[i]
        for at in range(0, width, WIDTH):
            put_eight(barrier * eight(blocks.Z, 0, at), blocks.X, i, at)
        for m in range(a.related, a.end):
            k = blocks.places[m]
            blocks.X[i, blocks.along[k].v] += blocks.R[i, k]
        add_products(i, a.related, a.end, blocks.places, blocks.M, blocks.Q, width, blocks.X)
    push_motors(on, dt, blocks)
    return eliminate(blocks)


@kernel
def read_changes(on, arcs, blocks, changes):
    """Changes of coordinates, in the tangent, and of velocities at the second knot."""
    width = blocks.X.shape[1]
    for i in range(blocks.along.shape[0]):
        a = blocks.along[i]
        put_row(i, blocks.Q, a.v, changes)
        if not arcs:
            put_row(i, blocks.X, on.nv + a.v, changes)
            continue
        for at in range(0, width, WIDTH):
            put_eight(eight(blocks.X, i, at), blocks.Z, 0, at)
        # Row 0 of matrices with one row, which Z is.
        add_bent(i, a, blocks)
        put_row(0, blocks.Z, on.nv + a.v, changes)
    for row in range(on.unknown, on.order.shape[0]):
        d = on.order[row]
        for k in range(changes.shape[0]):
            changes[k, d] = 0.0
        changes[d, d] = 1.0


@kernel
def add_bent(i, a, blocks):
    """Z += by how much more the rate i is along an arc than along a chord."""
    for at in range(0, blocks.X.shape[1], WIDTH):
        total = eight(blocks.Z, 0, at)
        for m in range(a.bends, a.related):
            k = blocks.places[m]
            total = total + blocks.E[i, k] * eight(blocks.X, k, at)
            total = total + blocks.B[i, k] * eight(blocks.Q, k, at)
        put_eight(total, blocks.Z, 0, at)


@kernel
def put_row(i, source, at, out):
    """out[at] = row i of the source, which is as long or longer."""
    width, k = out.shape[1], 0
    while k + WIDTH <= width:
        put_eight(eight(source, i, k), out, at, k)
        k += WIDTH
    while k < width:
        out[at, k] = source[i, k]
        k += 1


@kernel
def keep_places(work, blocks):
    """Where the bodies of contacts are at the first knot, from the origin."""
    for n in range(1, work.active[0] + 1):
        contact, touch = work.slots[work.active[n]], blocks.touches[n]
        if not on_joint(contact):
            for i in range(3):
                touch.x1[i] = blocks.bodies[contact.body].x[i]


@bridge
def linearize_interval(scheme, plain, on, columns, solver, arc, changes):
    """One undivided step in plain numbers, and `changes` along all directions.

    Returns whether that could be done.
    """
    model, state, memory, loads, work, options = plain
    system, dt, last_dt, blocks = memory.system, options.dt, state.last_dt[0], columns.blocks
    if not solve_interval(scheme, plain, on, columns, solver, arc):
        return False
    arcs, tree = columns.turns[0] != 0.0, system.tree
    assign(system.pose1[0].x, blocks.origin)
    note_screws(model, tree, system.pose1, False, work.scratch[0], blocks)
    note_screws(model, tree, work.pose2, True, work.scratch[0], blocks)
    note_motions(model, tree, system.pose1, work, False, columns.links, blocks)
    begin_blocks(model, system, loads, work, options, dt, blocks)
    keep_places(work, blocks)
    begin_touches(model, system, work, dt, columns, blocks)
    gather_blocks(model, blocks)
    move_equations(model, state, system, loads, work, dt, columns, blocks)
    if arcs:
        note_arcs(model, tree, False, columns.links, blocks)
        start_rates(columns.turns[0], blocks)
    if not answer_rates(on, dt, arcs, blocks):
        return False
    end_coordinates(system, work, options.contact_speed, dt, columns, blocks)
    push = project_interval(scheme, plain, on, columns)
    if push < 0.0:
        return False
    arcs = work.scratch[0].arcs != 0
    note_twists(model, tree, work, dt, arcs, True, columns)
    note_wrenches(model, loads, system, work, dt, True, columns)
    note_motions(model, tree, work.pose2, work, True, columns.links, blocks)
    hold_blocks(model, system, loads, work, options, dt, blocks)
    hold_touches(model, system, work, dt, columns, blocks)
    gather_blocks(model, blocks)
    hold_equations(model, state, system, loads, work, dt, columns, blocks)
    if not answer_velocities(on, dt, blocks):
        return False
    if arcs:
        note_arcs(model, tree, True, columns.links, blocks)
    read_changes(on, arcs, blocks, changes)
    take_interval(scheme, plain, on, last_dt, push)
    return True
