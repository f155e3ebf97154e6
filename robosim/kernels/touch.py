"""Where contacts and limits are, how they move, and what their impulses do.

A contact is stated from its `other` to its `body`, either of which may be the world. Its frame at
the first knot has two tangents and the normal as rows. Its motion over the interval is

    u = (slip along the two tangents, (gap at the second knot) / dt),

and with impulses f in that frame the wrenches at the first knot are ``L^T f`` on the body and
``L_o^T f`` on the other; both act in one point, so that angular momentum is kept. The slip is that
of the material points that touch, rolling included. R and R_o are the derivatives of u by the
motions of the two bodies.

What is round rolls: a ball of some radius about its centre, a rim, which is a circle of the body,
about its own. The arm from that middle of rolling to the contact follows the normal, not the body;
that of a rim, which changes as it leans over, counts with its mean of both knots.

A limit or the dry friction of a coordinate is the same with the joint's coordinates in the place
of the bodies: L and R then have a column for each of them.
"""

from math import sqrt

from robosim.compiled.kinds import CONE, DRY, EDGE, LIMIT, PLANE, RIM, TURN
from robosim.kernels.algebra import cross, dot, fill, rotate
from robosim.kernels.jit import kernel
from robosim.kernels.lanes import pick
from robosim.kernels.rows import row_of, shifted, write_row

# What starts inside of something else comes out of it by a tenth of its depth in 10 ms, no faster
# than at RECOVERY_SPEED [m/s], so that it has next to no energy when it is out.
RECOVERY = 0.1
RECOVERY_SPEED = 0.05
FLAT = 0.02  # sine of the angle up to which a rim lies flat: it has no lowest point to speak of
NEARLY_FLAT = 0.04  # and that up to which its points may touch; beyond it lower ones come first


@kernel
def on_joint(contact):
    """Whether this acts on a joint's coordinates rather than on bodies."""
    return contact.kind >= LIMIT


@kernel
def place_contact(contact, poses, t):
    """Signed gap, and in t: w = normal, y and z = arms of body and other to the point of contact.

    The arms end in the rounding's axis where there is one. Of a rim, t.arm is its own radius there.
    """
    a, b = poses[contact.other], poses[contact.body]
    rotate(b.R, contact.p, t.y)
    if contact.kind == PLANE:
        rotate(a.R, contact.o_end, t.w)
        rotate(a.R, contact.o, t.arm)
        gap = -contact.radius
        for i in range(3):
            t.z[i] = b.x[i] + t.y[i] - a.x[i]
            gap += t.w[i] * (t.z[i] - t.arm[i])
        return gap
    if contact.kind == EDGE:
        return place_edges(contact, a, b, t)
    if contact.kind == RIM:
        return place_rim(contact, a, b, t)
    return place_segments(contact, a, b, t)


@kernel
def place_rim(contact, a, b, t):
    """`place_contact` of a circle and a plane: where the circle is nearest to the plane."""
    rotate(a.R, contact.o_end, t.w)
    rotate(b.R, contact.p_end, t.z)
    slope = dot(t.z, t.w)
    size = sqrt(max(1.0 - slope * slope, 1e-24))
    for i in range(3):
        t.arm[i] = contact.radius / size * (slope * t.z[i] - t.w[i])
        t.y[i] += t.arm[i]
    gap = 0.0
    rotate(a.R, contact.o, t.f)
    for i in range(3):
        t.z[i] = b.x[i] + t.y[i] - a.x[i]
        gap += t.w[i] * (t.z[i] - t.f[i])
    return gap


@kernel
def place_segments(contact, a, b, t):
    """`place_contact` of two segments with radii."""
    # Directions d1 of the other's segment (t.z to t.w), d2 of the body's (t.y to t.arm).
    rotate(a.R, contact.o, t.z)
    rotate(a.R, contact.o_end, t.w)
    rotate(b.R, contact.p_end, t.arm)
    aa, ee, ff, bb, cc = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        d1, d2 = t.w[i] - t.z[i], t.arm[i] - t.y[i]
        r = a.x[i] + t.z[i] - b.x[i] - t.y[i]
        aa += d1 * d1
        ee += d2 * d2
        ff += d2 * r
        bb += d1 * d2
        cc += d1 * r
    s, k = 0.0, 0.0
    if aa > 1e-20:
        denominator = aa * ee - bb * bb
        if denominator > 1e-14 * aa * ee:
            s = min(max((bb * ff - cc * ee) / denominator, 0.0), 1.0)
        elif ee <= 1e-20:
            s = min(max(-cc / aa, 0.0), 1.0)
    if ee > 1e-20:
        k = (bb * s + ff) / ee
        if k < 0.0 or k > 1.0:
            k = min(max(k, 0.0), 1.0)
            if aa > 1e-20:
                s = min(max((bb * k - cc) / aa, 0.0), 1.0)
    distance = 0.0
    for i in range(3):
        t.z[i] += s * (t.w[i] - t.z[i])
        t.y[i] += k * (t.arm[i] - t.y[i])
        t.w[i] = b.x[i] + t.y[i] - a.x[i] - t.z[i]
        distance += t.w[i] * t.w[i]
    distance = sqrt(distance)
    for i in range(3):
        t.w[i] /= distance
    return distance - contact.radius - contact.radius_o


@kernel
def place_edges(contact, a, b, t):
    """`place_contact` of two edges that cross."""
    rotate(a.R, contact.o, t.z)
    rotate(a.R, contact.o_end, t.S_a[0])
    rotate(b.R, contact.p_end, t.S_b[0])
    d1, d2 = t.S_a[0], t.S_b[0]
    cross(d1, d2, t.w)
    size = contact.sign / sqrt(dot(t.w, t.w))
    gap, bb, along1, along2 = 0.0, d1[0] * d2[0] + d1[1] * d2[1] + d1[2] * d2[2], 0.0, 0.0
    for i in range(3):
        t.w[i] *= size
        r = b.x[i] + t.y[i] - a.x[i] - t.z[i]
        gap += t.w[i] * r
        along1 += d1[i] * r
        along2 += d2[i] * r
    # Where the lines are nearest to each other.
    s = (along1 - bb * along2) / (1.0 - bb * bb)
    k = (bb * along1 - along2) / (1.0 - bb * bb)
    for i in range(3):
        t.z[i] += s * d1[i]
        t.y[i] += k * d2[i]
    return gap


@kernel
def depth_left(gap, dt):
    """The gap, 0 or negative, that has to be kept at the end of an interval."""
    left = min(0.0, gap + abs(dt) * min(-gap / RECOVERY, RECOVERY_SPEED))
    return pick(gap >= 0.0, 0.0, left)


@kernel
def step_back(contact, gap, dt, w):
    """The gap that a contact may not undercut in an interval that begins with `gap`."""
    w.step_back = 0.0 if contact.apart != 0 else depth_left(gap, dt)


@kernel
def start_contact(contact, poses, dt, w, t):
    """Frame, arms and L of a contact at the first knot, and the gap that it may not undercut."""
    gap = place_contact(contact, poses, t)
    a, b, n = poses[contact.other], poses[contact.body], w.frame[2]
    step_back(contact, gap, dt, w)
    for i in range(3):
        n[i] = t.w[i]
        if contact.kind == RIM:
            w.roll1[i] = t.arm[i]
            w.center1[i], w.arm1[i] = t.y[i] - t.arm[i], t.y[i]
        else:
            w.roll[i] = -contact.radius * n[i]
            w.center1[i], w.arm1[i] = t.y[i], t.y[i] + w.roll[i]
    # x, or y if the normal is near to x, without its part along the normal.
    first = 0 if abs(n[0]) < 0.9 else 1
    size = 1.0 / sqrt(1.0 - n[first] * n[first])
    for i in range(3):
        w.frame[0, i] = -size * n[first] * n[i]
    w.frame[0, first] += size
    cross(n, w.frame[0], w.frame[1])
    if moves(contact.body, poses):
        spread_rows(w.frame, w.arm1, 1.0, w.L)
    if moves(contact.other, poses):
        for i in range(3):
            w.arm_o[i] = b.x[i] + w.arm1[i] - a.x[i]
            # Its side of the contact, then back into the middle of its own rounding.
            w.roll_o[i] = contact.radius_o * n[i]
            w.center_o[i] = w.arm_o[i] - gap * n[i] - w.roll_o[i]
        spread_rows(w.frame, w.arm_o, -1.0, w.L_o)


@kernel
def moves(body, poses):
    """Whether this is a body, not the world, which is last."""
    return body < poses.shape[0] - 1


@kernel
def spread_rows(frame, arm, sign, out):
    """Rows sign * (e, arm x e) of a frame's three directions."""
    for i in range(3):
        x, y, z = sign * frame[i, 0], sign * frame[i, 1], sign * frame[i, 2]
        row = row_of(x, y, z, 0.0, 0.0, 0.0)
        write_row(shifted(row, arm[0], arm[1], arm[2]), out[i])


@kernel
def turned(P, c, out):
    """out = (R(P) - 1) c for a unit quaternion P, without cancellation for small turns."""
    e, p0, p1, p2 = P[0], P[1], P[2], P[3]
    x = p1 * c[2] - p2 * c[1]
    y = p2 * c[0] - p0 * c[2]
    z = p0 * c[1] - p1 * c[0]
    out[0] = 2.0 * (e * x + p1 * z - p2 * y)
    out[1] = 2.0 * (e * y + p2 * x - p0 * z)
    out[2] = 2.0 * (e * z + p0 * y - p1 * x)


@kernel
def move_contact(contact, poses, motions, dt, w, t):
    """w.u and w.gap at the second knot.

    The slip is taken from velocities: differences of positions would round it far from the
    origin to more than a resting contact's.
    """
    w.gap = place_contact(contact, poses, t)
    w.u[0], w.u[1], w.u[2] = 0.0, 0.0, (w.gap - w.step_back) / dt
    if contact.kind == RIM:
        for i in range(3):
            w.roll[i] = 0.5 * (w.roll1[i] + t.arm[i])
    if moves(contact.body, poses):
        add_slip(motions[contact.body], w.center1, w.roll, dt, 1.0, w, t)
    if moves(contact.other, poses):
        add_slip(motions[contact.other], w.center_o, w.roll_o, dt, -1.0, w, t)


@kernel
def add_slip(motion, center, roll, dt, sign, w, t):
    """w.u += sign * the velocity of one of the two, at its surface, along the tangents."""
    rate = 1.0 / dt
    turned(motion.P, center, t.y)
    cross(motion.P[1:], roll, t.z)
    for i in range(3):
        t.y[i] = motion.v[i] + rate * (t.y[i] + 2.0 * t.z[i])
    w.u[0] += sign * dot(w.frame[0], t.y)
    w.u[1] += sign * dot(w.frame[1], t.y)


@kernel
def differentiate_contact(contact, poses, motions, w, t):
    """w.R and w.R_o: derivatives of `move_contact` by the directions (d v, psi)."""
    place_contact(contact, poses, t)
    for i in range(3):
        w.R[2, i], w.R_o[2, i] = t.w[i], -t.w[i]
    cross(t.y, t.w, w.R[2, 3:])
    cross(t.w, t.z, w.R_o[2, 3:])
    if moves(contact.body, poses):
        slip_rows(w, motions[contact.body].P, w.center1, w.roll, 1.0, w.R, t)
        if contact.kind == RIM:
            add_rim_rows(contact, poses[contact.body], motions[contact.body].P, w, t)
    if moves(contact.other, poses):
        slip_rows(w, motions[contact.other].P, w.center_o, w.roll_o, -1.0, w.R_o, t)


@kernel
def slip_rows(w, P, center, roll, sign, out, t):
    """Derivative of the slip by the motion of one of the two, `sign` 1 for the body."""
    turned(P, center, t.y)
    for i in range(3):
        t.y[i] += center[i]
    for row in range(2):
        e = w.frame[row]
        cross(t.y, e, t.z)
        # Rolling: P turns by psi at its end, so its vector by dt/2 (e I - [p]x) psi.
        cross(roll, e, t.w)
        cross(P[1:], t.w, t.arm)
        for i in range(3):
            t.z[i] = sign * (t.z[i] + P[0] * t.w[i] + t.arm[i])
        x, y, z = sign * e[0], sign * e[1], sign * e[2]
        write_row(row_of(x, y, z, t.z[0], t.z[1], t.z[2]), out[row])


@kernel
def add_rim_rows(contact, pose, P, w, t):
    """To the derivative of the slip: what a rim's arm at the second knot changes by as it turns.

    With axis a and normal n the arm is radius / size (slope a - n), where slope = a . n and
    size^2 = 1 - slope^2. Of the slip it has (P x arm) / dt.
    """
    a, n = t.y, w.frame[2]
    rotate(pose.R, contact.p_end, a)
    slope = dot(a, n)
    inverse = 1.0 / sqrt(max(1.0 - slope * slope, 1e-24))
    cross(a, n, t.z)
    for row in range(2):
        cross(w.frame[row], P[1:], t.w)
        cross(a, t.w, t.arm)
        along, across = dot(a, t.w), dot(n, t.w)
        tilt = along + slope * (slope * along - across) * inverse * inverse
        for i in range(3):
            w.R[row, 3 + i] += contact.radius * inverse * (tilt * t.z[i] + slope * t.arm[i])


@kernel
def coordinate_gap(contact, joint, q):
    """How far a coordinate, or a free rotation, is from its limit [m], as an arc."""
    if contact.kind == CONE:
        x, y = q[joint.q_begin + joint.m_T + 1], q[joint.q_begin + joint.m_T + 2]
        return contact.scale * (1.0 - 2.0 * (x * x + y * y) - contact.bound)
    if contact.kind == TURN:
        return 2.0 * contact.scale * (abs(q[joint.q_begin + joint.m_T]) - contact.bound)
    return contact.sign * (q[joint.q_begin + contact.row] - contact.bound)


@kernel
def cone_slope(joint, q, out):
    """Derivative of the cosine of `coordinate_gap` by the angular velocity in child axes, (3,)."""
    w, x, y, z = (
        q[joint.q_begin + joint.m_T],
        q[joint.q_begin + joint.m_T + 1],
        q[joint.q_begin + joint.m_T + 2],
        q[joint.q_begin + joint.m_T + 3],
    )
    # (0, 0, 1) x R[2, :], with the third row of the rotation from child to joint frame.
    out[0] = -2.0 * (y * z + w * x)
    out[1] = 2.0 * (x * z - w * y)
    out[2] = 0.0


@kernel
def start_coordinate(contact, joint, q, dt, w, t):
    """L of a limit or of dry friction at the first knot."""
    w.step_back = 0.0
    for i in range(3):
        fill(0.0, w.L[i])
        fill(0.0, w.R[i])
    coordinate_rows(contact, joint, q, w.L, t)
    if contact.kind != DRY:
        w.step_back = depth_left(coordinate_gap(contact, joint, q), dt)


@kernel
def coordinate_rows(contact, joint, q, out, t):
    """Derivative of u by the rates of the joint's coordinates, into the rows that are not zero."""
    if contact.kind == DRY:
        out[0, contact.row] = contact.scale
    elif contact.kind == LIMIT:
        out[2, contact.row] = contact.sign
    elif contact.kind == TURN:
        # Of the cosine of half of the angle: -v / 2 for the quaternion (w, v) with w > 0.
        at = joint.q_begin + joint.m_T
        scale = pick(q[at] >= 0.0, contact.scale, -contact.scale)
        for k in range(3):
            out[2, joint.m_T + k] = -scale * q[at + 1 + k]
    else:
        cone_slope(joint, q, t.y)
        for k in range(3):
            out[2, joint.m_T + k] = contact.scale * t.y[k]


@kernel
def move_coordinate(contact, joint, q1, q2, dt, w, t):
    """w.u and w.gap of a limit or of dry friction, and w.R."""
    coordinate_rows(contact, joint, q2, w.R, t)
    fill(0.0, w.u)
    if contact.kind != DRY:
        w.gap = coordinate_gap(contact, joint, q2)
        w.u[2] = (w.gap - w.step_back) / dt
        w.rate = (w.gap - coordinate_gap(contact, joint, q1)) / dt
        return
    if joint.m_R == 3 and contact.row >= joint.m_T:
        at, axis = joint.q_begin + joint.m_T, contact.row - joint.m_T
        w.u[0] = contact.scale * 2.0 / dt * relative_vector(q1, q2, at, axis)
    else:
        at = joint.q_begin + contact.row
        w.u[0] = contact.scale * (q2[at] - q1[at]) / dt
    w.rate = w.u[0]


@kernel
def relative_vector(q1, q2, at, axis):
    """Entry `axis` of the vector of r1^-1 r2, for quaternions that begin at `at`."""
    i, j = at + 1 + (axis + 1) % 3, at + 1 + (axis + 2) % 3
    k = at + 1 + axis
    return q1[at] * q2[k] - q2[at] * q1[k] - q1[i] * q2[j] + q1[j] * q2[i]
