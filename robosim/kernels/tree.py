"""A tree of bodies along its joints: from the motion of each joint to that of all bodies, and back.

The unknowns of an interval are the joints' own: for each body b with parent a its turn Q against
the parent, ``P_b = P_a Q``, and the rates `slide` of its free translations. All constraints then
hold whatever the unknowns are; neither their residuals nor their multipliers appear. Of a joint
with one axis, Q = (c, s a1), only (c, s) is kept. A ball leaves its body to turn as it likes: its Q
is P_b itself, and its rates are the body's own.

Each body has a point of reference, the joint's point on it. `r` leads to it from the reference of
the parent, `rho` from there to the centre of mass; 1 and 2 stand for the knots between which all is
turned by P. With `e` from the parent's joint point to the child's, free along some directions,

    dt (v_b - v_a) = (R(P_a) - 1) (arm + e_free) + (R(P_b) - 1) rho1 + dt R(P_a) slide - e_held

in world axes. e_held, the rest of e, is rounding, which is so taken back.
"""

from math import atan2, sqrt

from robosim.compiled.kinds import BALL, HINGE
from robosim.compiled.records.sizes import TRENDS
from robosim.kernels.algebra import assign, cross, dot, fill, rotate, rotate_back
from robosim.kernels.body import (
    angular_momentum,
    end_pose,
    turn_by,
    turn_from_rate,
    turn_hinge,
)
from robosim.kernels.coordinates import read_ahead
from robosim.kernels.jit import kernel, stage
from robosim.kernels.joint import multiply_offset, own_rate
from robosim.kernels.lanes import everywhere, over_limbs, pick, somewhere
from robosim.kernels.touch import turned

BETTER = 0.6  # part of what is missed, squared, that one more of its differences has to get below


@kernel
def start_tree(joints, poses, tree, t):
    """Arms, axes and references of all joints at the first knot."""
    for b in range(tree.shape[0] - 1):
        start_joint(joints[b], poses, tree[joints[b].parent].rho1, tree[b], t)


@kernel
def start_joint(joint, poses, rho_a, w, t):
    """The same of one joint, after its parent's."""
    place_joint(joint, poses, rho_a, w)
    if joint.m_R == 1:
        rotate(poses[joint.child].R, joint.C_R[0], w.a1)
    if has_directions(joint):
        free_directions(joint, poses, t, w)


@kernel
def has_directions(joint):
    """Whether a joint moves along directions of its own, w.Z1 and w.Z2."""
    return joint.kind != HINGE and joint.kind != BALL


@kernel
def place_joint(joint, poses, rho_a, w):
    """Arms, offset and references of a joint at the first knot."""
    a, b, p, c = poses[joint.parent], poses[joint.child], joint.p_a, joint.p_b
    R, S = a.R, b.R
    for i in range(3):
        arm_a = R[i, 0] * p[0] + R[i, 1] * p[1] + R[i, 2] * p[2]
        arm_b = S[i, 0] * c[0] + S[i, 1] * c[1] + S[i, 2] * c[2]
        offset = b.x[i] + arm_b - a.x[i] - arm_a
        w.base[i], w.rho1[i], w.held[i] = arm_a, -arm_b, offset
        w.r1[i] = rho_a[i] + arm_a + offset


@kernel
def free_directions(joint, poses, t, w):
    """w.Z1: world twists of the child's reference for unit rates of the coordinates, (m, 6).

    Moves what the joint has let slide from w.held to w.base.
    """
    for row in range(joint.m_T + joint.m_R):
        fill(0.0, w.Z1[row])
    if joint.m_T > 0:
        multiply_offset(joint, poses[joint.parent].R, t.R_J)
        for i in range(3):
            t.y[i] = w.held[i]
        for row in range(joint.m_T):
            rotate(t.R_J, joint.C_T[row], t.w)
            along = dot(t.w, t.y)
            for i in range(3):
                w.Z1[row, i] = t.w[i]
                w.base[i] += along * t.w[i]
                w.held[i] -= along * t.w[i]
    for row in range(joint.m_R):
        rotate(poses[joint.child].R, joint.C_R[row], w.Z1[joint.m_T + row, 3:])


@kernel
def guess_tree(joints, knots, trend, poses, tree, t, dt, ahead, regular):
    """Unknowns from the last interval's rates and how they change, `ahead` of its middle [s].

    By how much that will miss is guessed from the intervals before, as far as `trend` says, where
    they were like this one (`regular` is 1, else 0).
    """
    for b in range(tree.shape[0] - 1):
        joint, w, knot = joints[b], tree[b], knots[b]
        for row in range(joint.m_T + joint.m_R):
            miss = 0.0
            for n in range(TRENDS):
                miss += trend[n] * knot.missed[row, n]
            w.s[row] = knot.mid[row] + ahead * knot.slope[row] + regular * miss
        for row in range(joint.m_T):
            w.slide[row] = w.s[row]
        if joint.m_R == 1:
            w.Q[1] = min(max(0.5 * dt * w.s[joint.m_T], -0.9), 0.9)
            w.Q[0] = sqrt(1.0 - w.Q[1] * w.Q[1])
        elif joint.m_R == 3:
            rotate(poses[b].R, w.s[joint.m_T :], t.w)
            turn_from_rate(t.w, dt, w.Q)


@kernel
def keep_rates(joint, pose, w, knot, dt, since, regular, misses):
    """The rates of the interval that ends, for the next guess; of rotations in child axes.

    Its middle is the time `since` after what was kept before. What guesses have missed is only of
    use for the next one where intervals are alike (`regular` is 1, else 0).
    """
    for row in range(joint.m_T):
        keep_rate(w.slide[row], row, knot, since, regular, misses)
    if joint.m_R == 1:
        keep_rate(2.0 / dt * w.Q[1], joint.m_T, knot, since, regular, misses)
    elif joint.m_R == 3:
        rotate_back(pose.R, w.Q[1:], w.y)
        for i in range(3):
            keep_rate(2.0 / dt * w.y[i], joint.m_T + i, knot, since, regular, misses)


@kernel
def keep_rate(rate, row, knot, since, regular, misses):
    """One rate, how it has changed, and by how much guesses of it have missed."""
    change, missed = rate - knot.mid[row], knot.missed[row]
    miss = change - since * knot.slope[row]
    knot.slope[row] = change / since
    knot.mid[row] = rate
    misses[0] += miss * miss
    for n in range(TRENDS):
        before = regular * missed[n]
        missed[n] = miss
        miss -= before
        misses[n + 1] += miss * miss


@kernel
def choose_trend(misses, least, trend):
    """Of the differences of what guesses miss take as many as make each of them better.

    None where all that is missed, squared, is no more than `least`.
    """
    before = over_limbs(misses[0])
    takes = pick(before > least, 1.0, 0.0)
    for n in range(TRENDS):
        misses_more = over_limbs(misses[n + 1])
        takes = pick(misses_more < BETTER * before, takes, 0.0)
        trend[n], before = takes, misses_more


@kernel
def meet_velocities(joint, v, bodies, knot, pushed, dt):
    """Where it has been pushed, let the rates change as the velocities at the knot show."""
    for row in range(joint.m_T + joint.m_R):
        change = 2.0 / dt * (own_rate(joint, row, v, bodies) - knot.mid[row])
        knot.slope[row] = pick(pushed, change, knot.slope[row])


@kernel
def read_rates(joint, w, a, b, twists, t, v):
    """Rates of a joint's coordinates at the second knot into v; those of most slides are in w.d."""
    first, over, on = joint.v_begin, twists[joint.parent].w, twists[joint.child].w
    if joint.kind == HINGE:
        v[first] = dot(w.a2, on[3:]) - dot(w.a2, over[3:])
        return
    for row in range(joint.m_T):
        v[first + row] = w.d[row]
    if joint.m_T == 3:
        # What floats keeps its momentum, and so may change its rates.
        for i in range(3):
            t.arm[i] = b.x[i] - w.rho2[i] - a.x[i]
        cross(on[3:], w.rho2, t.y)
        cross(over[3:], t.arm, t.z)
        for i in range(3):
            t.y[i] = on[i] - t.y[i] - over[i] - t.z[i]
        for row in range(3):
            v[first + row] = dot(w.Z2[row, :3], t.y)
    for i in range(3):
        t.w[i] = on[3 + i] - over[3 + i]
    if joint.kind == BALL:
        rotate_back(b.R, t.w, t.y)
        for row in range(3):
            v[first + row] = dot(joint.C_R[row], t.y)
        return
    for row in range(joint.m_T, joint.m_T + joint.m_R):
        v[first + row] = dot(w.Z2[row, 3:], t.w)


@kernel
def turn_child(joint, w, P_a, P):
    """P = P_a Q, the turn of a body from that of its parent and of the joint."""
    if joint.kind == BALL:
        assign(w.Q, P)
        return
    if joint.m_R == 0:
        assign(P_a, P)
        return
    q0, x, y, z = w.Q[0], w.Q[1], w.Q[2], w.Q[3]
    if joint.m_R == 1:
        x, y, z = w.Q[1] * w.a1[0], w.Q[1] * w.a1[1], w.Q[1] * w.a1[2]
    e, a, b, c = P_a[0], P_a[1], P_a[2], P_a[3]
    # In pairs, as one body after the other has to wait for it.
    P[0] = (e * q0 - a * x) - (b * y + c * z)
    P[1] = (e * x + a * q0) + (b * z - c * y)
    P[2] = (e * y + b * q0) + (c * x - a * z)
    P[3] = (e * z + c * q0) + (a * y - b * x)


@kernel
def move_tree(joints, motions, tree, dt):
    """Turns and velocities of all bodies, and the joints at the second knot, from the unknowns."""
    for b in range(tree.shape[0] - 1):
        move_body(b, joints, motions, tree, dt)


@stage
def move_body(b, joints, motions, tree, dt):
    """The same of one body, after its parent."""
    joint, w, rate = joints[b], tree[b], 1.0 / dt
    parent, body, w_a = motions[joint.parent], motions[b], tree[joint.parent]
    turn_child(joint, w, parent.P, body.P)
    turned(parent.P, w.base, w.f[:3])
    turned(body.P, w.rho1, w.f[3:])
    for i in range(3):
        body.v[i] = parent.v[i] + rate * (w.f[i] + w.f[3 + i] - w.held[i])
        w.rho2[i] = w.rho1[i] + w.f[3 + i]
        w.r2[i] = w_a.rho2[i] + w.base[i] + w.f[i]
    if joint.kind == HINGE:
        turn_vector(body.P, w.a1, w.a2)
    elif has_directions(joint):
        for row in range(joint.m_T):
            z = w.Z2[row]
            turn_vector(parent.P, w.Z1[row, :3], z[:3])
            for i in range(3):
                body.v[i] += w.slide[row] * z[i]
                w.r2[i] += dt * w.slide[row] * z[i]
                z[3 + i] = 0.0
        for row in range(joint.m_T, joint.m_T + joint.m_R):
            fill(0.0, w.Z2[row, :3])
            turn_vector(body.P, w.Z1[row, 3:], w.Z2[row, 3:])


@kernel
def pose_body(work, b, dt):
    """work.pose2 of one body from its motion, once for all that ask."""
    if work.tree[b].posed == 0:
        work.tree[b].posed = 1
        body = work.bodies[b]
        end_pose(work.pose1[b], body.v, body.P, dt, work.pose2[b])


@kernel
def pose_contacts(model, work, dt):
    """work.pose2 of the bodies that have contacts in the equations, and of no others."""
    nb = model.bodies.shape[0]
    for b in range(nb):
        work.tree[b].posed = 0
    for n in range(1, work.active[0] + 1):
        contact = work.slots[work.active[n]]
        if contact.body < nb:
            pose_body(work, contact.body, dt)
        if contact.other < nb:
            pose_body(work, contact.other, dt)


@kernel
def finish_poses(model, tree, work, dt):
    """work.pose2 of all bodies of a tree at the motion that was found."""
    if tree is None:
        return
    for b in range(model.bodies.shape[0]):
        pose_body(work, b, dt)


@kernel
def turned_angle(Q):
    """The angle of a turn about an axis, from (cosine, sine) of its half."""
    s = Q[1]
    x = s * s
    # The series of twice the arc sine; the next term is below rounding.
    angle = s * (2.0 + x * (1 / 3 + x * (3 / 20 + x * (5 / 56 + x * (35 / 576)))))
    if somewhere(abs(s) > 0.05):
        return pick(abs(s) > 0.05, 2.0 * atan2(s, Q[0]), angle)
    return angle


@kernel
def look_ahead(model, state, work, b, dt):
    """Coordinates of one joint at the second knot into work.q2, from its unknowns."""
    joint, w = model.joints[b], work.tree[b]
    at = joint.q_begin
    if joint.m_R == 3:
        pose_body(work, b, dt)
        if joint.parent < model.bodies.shape[0]:
            pose_body(work, joint.parent, dt)
        read_ahead(joint, state.q, work, work.scratch[0])
        return
    for row in range(joint.m_T):
        work.q2[at + row] = state.q[at + row] + dt * w.slide[row]
    if joint.m_R == 1:
        work.q2[at + joint.m_T] = state.q[at + joint.m_T] + turned_angle(w.Q)


@kernel
def points_apart(w):
    """How far the two points of a joint that does not slide are apart, once placed."""
    return max(abs(w.held[0]), abs(w.held[1]), abs(w.held[2]))


@kernel
def axes_apart(joint, pose_a, w):
    """Half of how far the two axes of a hinge are apart, once placed."""
    worst, R, axis = 0.0, pose_a.R, joint.axis_a
    for i in range(3):
        along = R[i, 0] * axis[0] + R[i, 1] * axis[1] + R[i, 2] * axis[2]
        worst = max(worst, abs(0.5 * (w.a1[i] - along)))
    return worst


@kernel
def turn_vector(P, c, out):
    """out = R(P) c."""
    turned(P, c, out)
    for i in range(3):
        out[i] += c[i]


@kernel
def find_residual(bodies, motions, known, impulses, residual, t, dt):
    """residual (nb,) of the bodies' equations (29a), but for what joints do; the total mass."""
    mass = 0.0
    for b in range(bodies.shape[0]):
        left_momentum(b, bodies, motions, known, residual, t, dt)
        r, impulse = residual[b].w, impulses[b].w
        for k in range(6):
            r[k] += impulse[k]
        mass += bodies[b].part * bodies[b].mass
    return over_limbs(mass)


@stage
def left_momentum(b, bodies, motions, known, residual, t, dt):
    """residual[b] = the momentum that enters the knot but for what the motion of body b has."""
    body, r, m, enters = motions[b], residual[b].w, bodies[b].mass, known[b].w
    angular_momentum(body.J, body.P, dt, t.w)
    for k in range(3):
        r[k] = enters[k] - m * body.v[k]
        r[3 + k] = enters[3 + k] - t.w[k]


@kernel
def share_residual(bodies, joints, rows, tree, residual, info):
    """Twice a kinetic energy: of what is left of the equations, whatever joints may give.

    Leaves in tree.passed what each joint takes from its body to pass it on to the parent. What it
    cannot take, the residual along its coordinates, stays with the body, and is
    measured in the body's own inertia about the joint, as if the parent stood still.
    """
    nb = bodies.shape[0]
    total, largest = 0.0, -1.0
    for b in range(nb - 1, -1, -1):
        joint, w = joints[b], tree[b]
        law = rows[b].rows > joint.n_T + joint.n_R
        gather_wrench(b, joints, tree, residual[b].w, w.rho1)
        if joint.kind == HINGE:
            u = dot(w.a1, w.f[3:])
            if law:
                u += residual[joint.node].w[joint.n_T + joint.n_R]
            size = u * u * joint.per_inertia
            keep_moment(w.f, u, w.a1, w.r1, w.passed)
        else:
            along_joint(joint, w, w.f, w.u)
            if law:
                add_laws(joint, residual[joint.node].w, w.u)
            size = 0.0
            for row in range(joint.m_T):
                size += w.u[row] * w.u[row] / bodies[b].mass
            for row in range(joint.m_T, joint.m_T + joint.m_R):
                size += w.u[row] * w.u[row] * joint.per_inertia
            if joint.kind == BALL:
                fill(0.0, w.f[3:])
            else:
                for row in range(joint.m_T + joint.m_R):
                    for i in range(6):
                        w.f[i] -= w.u[row] * w.Z1[row, i]
            to_reference(w.f, w.r1, w.passed)
        if everywhere(size > largest):
            largest = size
            info.worst_body = b
        total += bodies[b].part * size
    return over_limbs(total)


@kernel
def to_reference(wrench, rho, out):
    """out (6,) = a wrench about the centre of mass, about the reference."""
    f0, f1, f2 = wrench[0], wrench[1], wrench[2]
    out[0], out[1], out[2] = f0, f1, f2
    out[3] = wrench[3] + rho[1] * f2 - rho[2] * f1
    out[4] = wrench[4] + rho[2] * f0 - rho[0] * f2
    out[5] = wrench[5] + rho[0] * f1 - rho[1] * f0


@kernel
def keep_moment(f, u, axis, r, out):
    """out (6,) = X1^T f but for a moment u about the axis of a hinge."""
    f0, f1, f2 = f[0], f[1], f[2]
    out[0], out[1], out[2] = f0, f1, f2
    out[3] = f[3] + r[1] * f2 - r[2] * f1 - u * axis[0]
    out[4] = f[4] + r[2] * f0 - r[0] * f2 - u * axis[1]
    out[5] = f[5] + r[0] * f1 - r[1] * f0 - u * axis[2]


@kernel
def gather_wrench(b, joints, tree, wrench, rho):
    """tree.f of body b = what its children pass on and a wrench about its centre of mass."""
    f0, f1, f2 = wrench[0], wrench[1], wrench[2]
    f3 = wrench[3] + rho[1] * f2 - rho[2] * f1
    f4 = wrench[4] + rho[2] * f0 - rho[0] * f2
    f5 = wrench[5] + rho[0] * f1 - rho[1] * f0
    child = joints[b].first_child
    while child >= 0:
        joint, passed = joints[child], tree[child].passed
        f0 += from_child(joint, passed[0])
        f1 += from_child(joint, passed[1])
        f2 += from_child(joint, passed[2])
        f3 += from_child(joint, passed[3])
        f4 += from_child(joint, passed[4])
        f5 += from_child(joint, passed[5])
        child = joint.next_child
    f = tree[b].f
    f[0], f[1], f[2], f[3], f[4], f[5] = f0, f1, f2, f3, f4, f5


@kernel
def from_child(joint, value):
    """What comes to a body over a joint of its child: if that is a limb, from all of them."""
    return over_limbs(value) if joint.limb != 0 else value


@kernel
def along_joint(joint, w, f, out):
    """out = Z1^T f: what a wrench about the reference does along the coordinates of no hinge."""
    if joint.kind == BALL:
        for i in range(3):
            out[i] = f[3 + i]
    else:
        for row in range(joint.m_T + joint.m_R):
            z = w.Z1[row]
            out[row] = dot(z[:3], f[:3]) + dot(z[3:], f[3:])


@kernel
def add_laws(joint, rows, out):
    """out += the rows of a joint's laws and limits, which follow those of its constraints."""
    n = joint.n_T + joint.n_R
    for row in range(joint.m_T + joint.m_R):
        out[row] += rows[n + row]


@kernel
def remember_tree(tree):
    """Keep the unknowns of the joints."""
    for b in range(tree.shape[0]):
        remember_joint(b, tree)


@stage
def remember_joint(b, tree):
    """Keep the unknowns of one joint."""
    w = tree[b]
    assign(w.Q, w.Q_old)
    assign(w.slide, w.slide_old)


@kernel
def remember_rates(tree):
    """Keep the joints' rates in the direction that was found."""
    for b in range(tree.shape[0] - 1):
        assign(tree[b].d, tree[b].d_old)


@kernel
def add_remembered_rates(tree):
    """Add them to those of another direction."""
    for b in range(tree.shape[0] - 1):
        for k in range(6):
            tree[b].d[k] += tree[b].d_old[k]


@kernel
def step_tree(joints, motions, tree, t, dt, length):
    """Unknowns = remembered ones + length * w.d, the rates of the joints in a Newton direction."""
    for b in range(tree.shape[0] - 1):
        step_joint(b, joints, motions, tree, t, dt, length)


@stage
def step_joint(b, joints, motions, tree, t, dt, length):
    """The same of one joint."""
    joint, w = joints[b], tree[b]
    for row in range(joint.m_T):
        w.slide[row] = w.slide_old[row] + length * w.d[row]
    if joint.m_R == 1:
        turn_hinge(w.Q_old, w.d[joint.m_T], dt * length, w.Q)
    elif joint.kind == BALL:
        turn_by(w.Q_old, w.d, dt * length, w.Q)
    elif joint.m_R == 3:
        # The rate in world axes at the second knot, seen from before the parent's turn.
        fill(0.0, t.w)
        for row in range(joint.m_T, joint.m_T + 3):
            for i in range(3):
                t.w[i] += w.d[row] * w.Z2[row, 3 + i]
        turn_back(motions[joint.parent].P_old, t.w, t.y)
        turn_by(w.Q_old, t.y, dt * length, w.Q)


@kernel
def turn_back(P, c, out):
    """out = R(P)^T c."""
    e, x, y, z = P[0], -P[1], -P[2], -P[3]
    a, b, d = y * c[2] - z * c[1], z * c[0] - x * c[2], x * c[1] - y * c[0]
    out[0] = c[0] + 2.0 * (e * a + y * d - z * b)
    out[1] = c[1] + 2.0 * (e * b + z * a - x * d)
    out[2] = c[2] + 2.0 * (e * d + x * b - y * a)


@kernel
def leave_residual(joints, tree, knots, impulses):
    """Add what joints pass on of the last residual to the impulses, and note it in `knots`.

    So momenta do not sum up what is left of the equations.
    """
    for b in range(tree.shape[0] - 1):
        joint, w = joints[b], tree[b]
        f, r, x = w.passed, w.r1, knots[b].impulse
        x[0], x[1], x[2] = -f[0], -f[1], -f[2]
        x[3] = r[1] * f[2] - r[2] * f[1] - f[3]
        x[4] = r[2] * f[0] - r[0] * f[2] - f[4]
        x[5] = r[0] * f[1] - r[1] * f[0] - f[5]
        rho_a, parent = tree[joint.parent].rho1, impulses[joint.parent].w
        push_joint(joint, x, r, w.rho1, rho_a, impulses[b].w, parent)


@kernel
def push_joint(joint, f, r, rho, rho_a, child, parent):
    """child (6,) += a wrench given about the child's reference, parent (6,) -= the same."""
    f0, f1, f2 = f[0], f[1], f[2]
    x, y, z = rho[0], rho[1], rho[2]
    child[0] += f0
    child[1] += f1
    child[2] += f2
    child[3] += f[3] - y * f2 + z * f1
    child[4] += f[4] - z * f0 + x * f2
    child[5] += f[5] - x * f1 + y * f0
    x, y, z = r[0] - rho_a[0], r[1] - rho_a[1], r[2] - rho_a[2]
    parent[0] -= from_child(joint, f0)
    parent[1] -= from_child(joint, f1)
    parent[2] -= from_child(joint, f2)
    parent[3] -= from_child(joint, f[3] + y * f2 - z * f1)
    parent[4] -= from_child(joint, f[4] + z * f0 - x * f2)
    parent[5] -= from_child(joint, f[5] + x * f1 - y * f0)


@kernel
def push_somewhere(forces):
    """Whether any of the generalized forces is not zero."""
    for v in range(forces.shape[0]):
        if somewhere(forces[v] != 0.0):
            return True
    return False


@kernel
def add_tree_forces(joints, poses, forces, scale, second, tree, t, impulses):
    """impulses (nb + 1,) += scale * world wrenches of generalized forces, at either knot."""
    if not push_somewhere(forces):
        return
    for b in range(tree.shape[0] - 1):
        joint = joints[b]
        if joint.kind == HINGE:
            force, w = scale * forces[joint.v_begin], tree[b]
            if somewhere(force != 0.0):
                axis, parent = w.a2 if second else w.a1, impulses[joint.parent].w
                push_axis(joint, force, axis, impulses[b].w, parent)
            continue
        size = 0.0
        for row in range(joint.m_T + joint.m_R):
            size += abs(forces[joint.v_begin + row])
        if somewhere(size > 0.0):
            for row in range(joint.m_T + joint.m_R):
                t.f[row] = scale * forces[joint.v_begin + row]
            push_coordinates(joint, poses[b], t.f, second, tree, impulses)


@kernel
def push_axis(joint, moment, axis, child, parent):
    """child (6,) += a moment about the axis of a hinge, parent (6,) -= the same."""
    for i in range(3):
        child[3 + i] += moment * axis[i]
        parent[3 + i] -= from_child(joint, moment * axis[i])


@kernel
def push_coordinates(joint, pose, forces, second, tree, impulses):
    """impulses += world wrenches of one joint's generalized impulses (m,), at either knot."""
    w, w_a = tree[joint.child], tree[joint.parent]
    child, parent = impulses[joint.child].w, impulses[joint.parent].w
    if joint.kind == HINGE:
        push_axis(joint, forces[0], w.a2 if second else w.a1, child, parent)
        return
    f = w.x
    fill(0.0, f)
    if joint.m_R > 0:
        # The rotations of C, in child axes.
        for i in range(3):
            w.y[i] = 0.0
            for row in range(joint.m_R):
                w.y[i] += joint.C_R[row, i] * forces[joint.m_T + row]
        rotate(pose.R, w.y, f[3:])
    for row in range(joint.m_T):
        for i in range(3):
            f[i] += forces[row] * (w.Z2[row, i] if second else w.Z1[row, i])
    if second:
        push_joint(joint, f, w.r2, w.rho2, w_a.rho2, child, parent)
    else:
        push_joint(joint, f, w.r1, w.rho1, w_a.rho1, child, parent)
