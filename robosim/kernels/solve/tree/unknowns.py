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

from math import atan2, cos, sin, sqrt

from robosim.compiled.kinds import BALL, HINGE
from robosim.compiled.records.sizes import TRENDS
from robosim.kernels.compiler.charts import tree_charts_of
from robosim.kernels.compiler.jit import kernel, stage
from robosim.kernels.compiler.lanes import pick, somewhere
from robosim.kernels.contact.kinematics import turn_vector, turned
from robosim.kernels.equations.algebra import (
    assign,
    cross,
    dot,
    fill,
    quaternion_product,
    rotate,
    rotate_back,
)
from robosim.kernels.equations.body import end_pose, turn_by, turn_from_rate, turn_hinge
from robosim.kernels.equations.coordinates import read_ahead
from robosim.kernels.equations.joint import (
    is_chart,
    multiply_offset,
    own_rate,
)
from robosim.kernels.solve.tree.charts import (
    go_on_chart,
    move_along_chart,
    rates_on_chart,
    start_on_chart,
)


@kernel
def start_tree(joints, poses, q, tree, t):
    """Arms, axes and references of all joints at the first knot, where coordinates are q."""
    for b in range(tree.shape[0] - 1):
        start_joint(joints[b], poses, q, tree[joints[b].parent].rho1, tree[b], t)


@kernel
def start_joint(joint, poses, q, rho_a, w, t):
    """The same of one joint, after its parent's."""
    place_joint(joint, poses, rho_a, w)
    if is_chart(joint):
        start_on_chart(
            tree_charts_of(joint, w),
            joint,
            poses,
            q[joint.q_begin : joint.q_begin + joint.m_T],
            w,
            t,
        )
        return
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
def guess_tree(joints, knots, guesses, trend, poses, tree, t, dt, ahead, regular):
    """Unknowns from the last interval's rates and how they change, `ahead` of its middle [s].

    By how much that will miss is guessed from the intervals before, as far as `trend` says, where
    they were like this one (`regular` is 1, else 0).
    """
    for b in range(tree.shape[0] - 1):
        joint, w, knot, guess = joints[b], tree[b], knots[b], guesses[b]
        for row in range(joint.m_T + joint.m_R):
            miss = 0.0
            for n in range(TRENDS):
                miss += trend[n] * guess.missed[row, n]
            w.s[row] = knot.mid[row] + ahead * guess.slope[row] + regular * miss
        for row in range(joint.m_T):
            w.slide[row] = w.s[row]
        if joint.m_R == 1:
            w.Q[1] = min(max(0.5 * dt * w.s[joint.m_T], -0.9), 0.9)
            w.Q[0] = sqrt(1.0 - w.Q[1] * w.Q[1])
        elif joint.m_R == 3:
            rotate(poses[b].R, w.s[joint.m_T :], t.w)
            turn_from_rate(t.w, dt, w.Q)


@kernel
def drive_joint(b, joints, q, system, work, dt):
    """Unknowns of a joint that follows a function of time: they lead from q to its goal."""
    joint, w, goal = joints[b], system.tree[b], work.joints[b]
    for row in range(joint.m_T):
        w.slide[row] = (goal.goal[row] - q[joint.q_begin + row]) / dt
    if joint.m_R == 1:
        half = 0.5 * (goal.goal[joint.m_T] - q[joint.q_begin + joint.m_T])
        w.Q[0], w.Q[1] = cos(half), sin(half)
    elif joint.m_R == 3:
        # The child's turn, seen from before its parent's.
        t, back = work.scratch[0], system.pose1[b].q
        quaternion_product(system.pose1[joint.parent].q, joint.offset, t.r)
        quaternion_product(t.r, goal.turn, t.s)
        t.r[0], t.r[1], t.r[2], t.r[3] = back[0], -back[1], -back[2], -back[3]
        quaternion_product(t.s, t.r, w.Q)
        sign = pick(w.Q[0] < 0.0, -1.0, 1.0)
        for i in range(4):
            w.Q[i] *= sign


@kernel
def interval_rates(joint, pose, w, dt, out):
    """Rates of a joint's coordinates over an interval; those of a free rotation in child axes."""
    for row in range(joint.m_T):
        out[row] = w.slide[row]
    if joint.m_R == 1:
        out[joint.m_T] = 2.0 / dt * w.Q[1]
    elif joint.m_R == 3:
        rotate_back(pose.R, w.Q[1:], w.y)
        for i in range(3):
            out[joint.m_T + i] = 2.0 / dt * w.y[i]


@kernel
def learn_rate(rate, before, row, guess, since, regular, misses):
    """How one rate has changed, and by how much guesses of it have missed.

    The middle of its interval is the time `since` after that of the one before. What guesses have
    missed is only of use for the next one where intervals are alike (`regular` is 1, else 0).
    """
    change, missed = rate - before, guess.missed[row]
    miss = change - since * guess.slope[row]
    guess.slope[row] = change / since
    misses[0] += miss * miss
    for n in range(TRENDS):
        before = regular * missed[n]
        missed[n] = miss
        miss -= before
        misses[n + 1] += miss * miss


@kernel
def meet_velocities(joint, v, bodies, knot, guess, pushed, dt):
    """Where it has been pushed, let the rates change as the velocities at the knot show."""
    for row in range(joint.m_T + joint.m_R):
        change = 2.0 / dt * (own_rate(joint, row, v, bodies) - knot.mid[row])
        guess.slope[row] = pick(pushed, change, guess.slope[row])


@kernel
def tree_rates(joint, w, a, b, twists, t, v):
    """Rates of a joint's coordinates at the second knot into v; those of most slides are in w.d."""
    first, over, on = joint.v_begin, twists[joint.parent].w, twists[joint.child].w
    if is_chart(joint):
        relative_velocity(a, b, over, on, w, t)
        for i in range(3):
            t.f[i], t.f[3 + i] = t.y[i], on[3 + i] - over[3 + i]
        rates_on_chart(tree_charts_of(joint, w), joint, t.f, w, t, v)
        return
    if joint.kind == HINGE:
        v[first] = dot(w.a2, on[3:]) - dot(w.a2, over[3:])
        return
    for row in range(joint.m_T):
        v[first + row] = w.d[row]
    if joint.m_T == 3:
        # What floats keeps its momentum, and so may change its rates.
        relative_velocity(a, b, over, on, w, t)
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
def relative_velocity(a, b, over, on, w, t):
    """t.y = velocity of a child's reference against the parent, for their world twists."""
    for i in range(3):
        t.arm[i] = b.x[i] - w.rho2[i] - a.x[i]
    cross(on[3:], w.rho2, t.y)
    cross(over[3:], t.arm, t.z)
    for i in range(3):
        t.y[i] = on[i] - t.y[i] - over[i] - t.z[i]


@kernel
def turn_child(joint, w, P_a, P):
    """P = P_a Q, the turn of a body from that of its parent and of the joint."""
    if joint.kind == BALL:
        assign(w.Q, P)
        return
    if joint.m_R == 0 and not is_chart(joint):
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
def move_tree(joints, motions, tree, t, dt):
    """Turns and velocities of all bodies, and the joints at the second knot, from the unknowns."""
    for b in range(tree.shape[0] - 1):
        move_body(b, joints, motions, tree, t, dt)


@stage
def move_body(b, joints, motions, tree, t, dt):
    """The same of one body, after its parent."""
    joint, w, rate = joints[b], tree[b], 1.0 / dt
    parent, body, w_a = motions[joint.parent], motions[b], tree[joint.parent]
    if is_chart(joint):
        go_on_chart(tree_charts_of(joint, w), joint, w, t, dt)
    turn_child(joint, w, parent.P, body.P)
    turned(parent.P, w.base, w.f[:3])
    turned(body.P, w.rho1, w.f[3:])
    for i in range(3):
        body.v[i] = parent.v[i] + rate * (w.f[i] + w.f[3 + i] - w.held[i])
        w.rho2[i] = w.rho1[i] + w.f[3 + i]
        w.r2[i] = w_a.rho2[i] + w.base[i] + w.f[i]
    if joint.kind == HINGE:
        turn_vector(body.P, w.a1, w.a2)
    elif is_chart(joint):
        move_along_chart(tree_charts_of(joint, w), joint, parent.P, body, w, t, rate)
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
def pose_body(system, work, b, dt):
    """work.pose2 of one body from its motion, once for all that ask."""
    if system.tree[b].posed == 0:
        system.tree[b].posed = 1
        body = work.bodies[b]
        end_pose(system.pose1[b], body.v, body.P, dt, work.pose2[b])


@kernel
def pose_contacts(model, system, work, dt):
    """work.pose2 of the bodies that have contacts in the equations, and of no others."""
    nb = model.bodies.shape[0]
    for b in range(nb):
        system.tree[b].posed = 0
    for n in range(1, work.active[0] + 1):
        contact = work.slots[work.active[n]]
        if contact.body < nb:
            pose_body(system, work, contact.body, dt)
        if contact.other < nb:
            pose_body(system, work, contact.other, dt)


@kernel
def finish_poses(model, system, work, dt):
    """work.pose2 of all bodies of a tree at the motion that was found."""
    for b in range(model.bodies.shape[0]):
        pose_body(system, work, b, dt)


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
def look_ahead(model, state, system, work, b, dt):
    """Coordinates of one joint at the second knot into work.q2, from its unknowns."""
    joint, w = model.joints[b], system.tree[b]
    at = joint.q_begin
    if joint.m_R == 3:
        pose_body(system, work, b, dt)
        if joint.parent < model.bodies.shape[0]:
            pose_body(system, work, joint.parent, dt)
        read_ahead(joint, state.q, work, work.scratch[0])
        return
    for row in range(joint.m_T):
        work.q2[at + row] = state.q[at + row] + dt * w.slide[row]
    if joint.m_R == 1:
        work.q2[at + joint.m_T] = state.q[at + joint.m_T] + turned_angle(w.Q)


@kernel
def coordinate_rate(model, state, system, work, b, row, dt):
    """Rate of one joint's slide or single turn over the interval, from its unknowns."""
    joint, w = model.joints[b], system.tree[b]
    return w.slide[row] if row < joint.m_T else turned_angle(w.Q) / dt


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
