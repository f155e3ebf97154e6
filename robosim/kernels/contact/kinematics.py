"""Where contacts and limits are, how they move, and what their impulses do.

A contact is stated from its `other` to its `body`, either of which may be the world. Its frame at
the first knot has two tangents and the normal as rows. Its motion over the interval is

    u = (slip along the two tangents, (gap at the second knot) / dt),

and with impulses f in that frame the wrenches at the first knot are ``L^T f`` on the body and
``L_o^T f`` on the other; both act in one point, so that angular momentum is kept. The slip is that
of the material points that touch, rolling included. R and R_o are the derivatives of u by the
motions of the two bodies.

What is round rolls: a ball of some radius, an ellipsoid, or a rim, which is a circle of the body,
about its centre. The arm from that middle of rolling to the contact follows the normal, not the
body. Where it changes, as that of a rim that leans over, it counts with its mean of both knots. So
does the arm of what an ellipsoid touches. The point of a moving plane that is touched travels over
that, and the displacements of the points that are touched at either knot count half. All this is of
second order. Where edges cross, where a rim touches an edge or a side, and where two capsules touch
elsewhere along their axes, the contact is that of the first knot.

A surface may move by itself, as a belt does: see `surfaces`. Where friction depends on the
direction, both tangents are scaled: see `directions`.

Limits and the dry friction of coordinates, which are the same on joints, are in `limits`.
"""

from math import sqrt

from robosim.compiled.kinds import EDGE, LIMIT, OVAL, PLANE, RIM, RIM_EDGE, ROUND
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick
from robosim.kernels.compiler.rows import row_of, shifted, write_row
from robosim.kernels.contact.compliance import begin_deflection
from robosim.kernels.contact.directions import direct_tangents
from robosim.kernels.contact.ovals import (
    add_oval_rows,
    is_oval_pair,
    move_other,
    oval_row,
    place_oval,
    place_oval_pair,
    start_other,
)
from robosim.kernels.contact.rims import place_rim_edge
from robosim.kernels.contact.surfaces import add_drift_rows, mean_drift, start_drift
from robosim.kernels.equations.algebra import cross, dot, perpendiculars, rotate

# What starts inside of something else comes out of it by a tenth of its depth in 10 ms, no faster
# than at RECOVERY_SPEED [m/s], so that it has next to no energy when it is out.
RECOVERY = 0.1
RECOVERY_SPEED = 0.05


@kernel
def on_joint(contact):
    """Whether this acts on a joint's coordinates rather than on bodies."""
    return contact.kind >= LIMIT


@kernel
def has_arm(contact):
    """Whether the body touches with a point of a rim or an ellipsoid, which has a centre."""
    return contact.kind >= RIM_EDGE


@kernel
def place_contact(contact, poses, t):
    """Signed gap, and in t: w = normal, y and z = arms of body and other to the point of contact.

    The arms end in the rounding's axis where there is one. Of rims and ellipsoids, t.arm leads
    there from their centre.
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
    if contact.kind == RIM_EDGE:
        return place_rim_edge(contact, a, b, t)
    if contact.kind == ROUND:
        return place_segments(contact, a, b, t)
    if contact.kind <= OVAL:
        return place_oval(contact, a, b, t)
    return place_oval_pair(contact, a, b, t)


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
    s, k = along_segments(aa, ee, ff, bb, cc)
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
def along_segments(aa, ee, ff, bb, cc):
    """Parts of the ways along two segments to where they are nearest to each other [Ericson2005].

    From squares and products of their directions, and of what is between their beginnings. Lanes
    may have a segment that is a point, and one that is not.
    """
    long, other = aa > 1e-20, ee > 1e-20
    denominator = aa * ee - bb * bb
    s = pick(other, 0.0, min(max(-cc / aa, 0.0), 1.0))
    crossing = min(max((bb * ff - cc * ee) / denominator, 0.0), 1.0)
    s = pick(long, pick(denominator > 1e-14 * aa * ee, crossing, s), 0.0)
    free = (bb * s + ff) / ee
    k = pick(other, min(max(free, 0.0), 1.0), 0.0)
    ends = pick(long, min(max((bb * k - cc) / aa, 0.0), 1.0), s)
    ends = pick(free < 0.0, ends, pick(free > 1.0, ends, s))
    return pick(other, ends, s), k


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
def step_back(contact, gap, dt, w, t):
    """The gap that a contact may not undercut in an interval that begins with `gap`.

    Of a compliant one it is that at which its force sets in. What lies beside the shapes at the
    first knot is no deeper than these.
    """
    gap += contact.deeper
    w.gap1 = gap
    if contact.compliant != 0:
        begin_deflection(contact, gap, dt, w, t)
        return
    w.step_back = 0.0 if contact.apart != 0 else depth_left(gap, dt)


@kernel
def start_contact(contact, poses, dt, w, t):
    """Frame, arms and L of a contact at the first knot, and the gap that it may not undercut."""
    gap = place_contact(contact, poses, t)
    step_back(contact, gap, dt, w, t)
    frame_contact(contact, poses, gap, dt, w, t)


@kernel
def frame_contact(contact, poses, gap, dt, w, t):
    """Frame, arms and L of a contact that has just been placed."""
    a, b, n = poses[contact.other], poses[contact.body], w.frame[2]
    for i in range(3):
        n[i] = t.w[i]
        if has_arm(contact):
            w.roll1[i], w.roll[i] = t.arm[i], t.arm[i]
            w.center1[i], w.arm1[i] = t.y[i] - t.arm[i], t.y[i]
        else:
            w.roll[i] = -contact.radius * n[i]
            w.center1[i], w.arm1[i] = t.y[i], t.y[i] + w.roll[i]
    perpendiculars(n, w.frame[0], w.frame[1])
    if contact.directed != 0:
        direct_tangents(contact, poses, w.frame, t)
    if moves(contact.body, poses):
        spread_rows(w.frame, w.arm1, 1.0, w.L)
    if moves(contact.other, poses):
        for i in range(3):
            w.arm_o[i] = b.x[i] + w.arm1[i] - a.x[i]
            # Its side of the contact, then back into the middle of its own rounding.
            w.roll_o[i] = contact.radius_o * n[i]
            w.center_o[i] = w.arm_o[i] - gap * n[i] - w.roll_o[i]
        if is_oval_pair(contact):
            start_other(contact, a, gap, n, w)
        spread_rows(w.frame, w.arm_o, -1.0, w.L_o)
    w.drift[0], w.drift[1] = 0.0, 0.0
    if contact.drifts != 0:
        start_drift(contact, a, b, dt, w, t)


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
def turn_vector(P, c, out):
    """out = R(P) c for a unit quaternion P."""
    turned(P, c, out)
    for i in range(3):
        out[i] += c[i]


@kernel
def move_contact(contact, poses, motions, dt, w, t):
    """w.u and w.gap at the second knot.

    The slip is taken from velocities: differences of positions would round it far from the
    origin to more than a resting contact's.
    """
    w.gap = place_contact(contact, poses, t)
    if contact.drifts != 0 and is_plane(contact):
        mean_drift(contact, poses[contact.other], poses[contact.body], dt, w, t)
    w.u[0], w.u[1], w.u[2] = w.drift[0], w.drift[1], (w.gap - w.step_back) / dt
    other_moves = moves(contact.other, poses)
    if contact.kind >= RIM:
        for i in range(3):
            w.roll[i] = 0.5 * (w.roll1[i] + t.arm[i])
    elif contact.kind == PLANE and other_moves:
        for i in range(3):
            w.roll[i] = -0.5 * contact.radius * (w.frame[2, i] + t.w[i])
    if other_moves and is_plane(contact):
        height = height_over_plane(contact, w)
        for i in range(3):
            w.center2_o[i] = t.z[i] - height * t.w[i]
        add_travelled_slip(motions[contact.other], dt, w, t)
    elif other_moves:
        if is_oval_pair(contact):
            move_other(contact, poses[contact.other], w, t)
        add_slip(motions[contact.other], w.center_o, w.roll_o, dt, -1.0, w, t)
    if moves(contact.body, poses):
        add_slip(motions[contact.body], w.center1, w.roll, dt, 1.0, w, t)


@kernel
def is_plane(contact):
    """Whether the other touches with a plane, over which the contact travels."""
    return contact.kind == PLANE or contact.kind == RIM or contact.kind == OVAL


@kernel
def height_over_plane(contact, w):
    """How high what `place_contact` has an arm to is over the plane at the second knot [m]."""
    return w.gap + (contact.radius if contact.kind == PLANE else 0.0)


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
def add_travelled_slip(motion, dt, w, t):
    """w.u -= the mean velocity of the other's points that are touched at either knot."""
    turned(motion.P, w.center_o, t.y)
    # By the turn that goes back.
    t.r[0] = motion.P[0]
    for i in range(3):
        t.r[1 + i] = -motion.P[1 + i]
    turned(t.r, w.center2_o, t.z)
    for i in range(3):
        t.y[i] = motion.v[i] + 0.5 / dt * (t.y[i] - t.z[i])
    w.u[0] -= dot(w.frame[0], t.y)
    w.u[1] -= dot(w.frame[1], t.y)


@kernel
def differentiate_contact(contact, poses, motions, w, t):
    """w.R and w.R_o: derivatives of `move_contact` by the directions (d v, psi)."""
    place_contact(contact, poses, t)
    for i in range(3):
        w.R[2, i], w.R_o[2, i] = t.w[i], -t.w[i]
    cross(t.y, t.w, w.R[2, 3:])
    cross(t.w, t.z, w.R_o[2, 3:])
    body_moves, other_moves = moves(contact.body, poses), moves(contact.other, poses)
    travels = other_moves and is_plane(contact)
    if travels:
        # What follows works with the other fields of t.
        for i in range(3):
            t.R_J[0, i], t.R_J[1, i], t.R_J[2, i] = t.w[i], t.y[i], t.z[i]
    if body_moves:
        slip_rows(w, motions[contact.body].P, w.center1, w.roll, 1.0, w.R, t)
        if contact.kind == RIM or contact.kind == OVAL:
            n = t.R_J[0] if travels else w.frame[2]
            add_arm_rows(contact, poses[contact.body], n, motions[contact.body].P, w, t)
    if travels:
        travelled_rows(contact, poses, motions, w, t)
    elif other_moves:
        slip_rows(w, motions[contact.other].P, w.center_o, w.roll_o, -1.0, w.R_o, t)
    if is_oval_pair(contact):
        place_contact(contact, poses, t)
        add_oval_rows(contact, poses, motions, w, t)
    if contact.drifts != 0 and is_plane(contact):
        place_contact(contact, poses, t)
        add_drift_rows(contact, poses[contact.other], poses[contact.body], w, t)


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
def add_arm_rows(contact, pose, n, P, w, t):
    """To the derivative of the slip: what the arm at the second knot changes by as the body turns.

    Of the slip it has (P x arm) / dt.
    """
    for row in range(2):
        cross(w.frame[row], P[1:], t.w)
        oval_row(contact, pose, n, t.w, t, t.y)
        for i in range(3):
            w.R[row, 3 + i] += t.y[i]


@kernel
def travelled_rows(contact, poses, motions, w, t):
    """Rows of w.R_o where a contact travels over the other's plane, and what w.R has of that.

    The point that is touched at the second knot is c = r - n (n . r - h), with r the arm to what
    touches and h the plane's own distance; its displacement (1 - R(P)^T) c counts half.
    """
    P, n, y, r = motions[contact.other].P, t.R_J[0], t.R_J[1], t.R_J[2]
    first, e, f, g, by_body = t.S_a[1], t.S_a[2], t.S_a[3], t.S_a[4], t.S_a[5]
    arm, turn = t.S_b[1], t.S_b[2]
    height = height_over_plane(contact, w)
    turned(P, w.center_o, first)
    for i in range(3):
        first[i] += w.center_o[i]
        arm[i] = 0.0
    if contact.kind != PLANE:
        for i in range(3):
            arm[i] = 2.0 * w.roll[i] - w.roll1[i]
    for row in range(2):
        # f = (1 - R(P)) e / 2 is what e . (1 - R(P)^T) c / 2 has of c.
        turned(P, w.frame[row], f)
        for i in range(3):
            e[i] = w.frame[row, i] + f[i]
            f[i] = -0.5 * f[i]
        across = dot(f, n)
        for i in range(3):
            g[i] = f[i] - across * n[i]
        cross(first, w.frame[row], t.w)
        cross(w.center2_o, e, t.y)
        for i in range(3):
            w.R_o[row, i] = g[i] - w.frame[row, i]
            w.R_o[row, 3 + i] = -0.5 * (t.w[i] + t.y[i])
        cross(n, f, t.w)
        cross(n, r, t.y)
        for i in range(3):
            w.R_o[row, 3 + i] += height * t.w[i] + across * t.y[i]
        if moves(contact.body, poses):
            # The arm from the middle of rolling follows the plane.
            cross(w.frame[row], motions[contact.body].P[1:], turn)
            for i in range(3):
                w.R[row, i] -= g[i]
                t.w[i] = y[i] - arm[i]
            cross(t.w, g, t.y)
            for i in range(3):
                w.R[row, 3 + i] -= t.y[i]
            if contact.kind == PLANE:
                cross(n, turn, t.y)
                for i in range(3):
                    w.R_o[row, 3 + i] -= contact.radius * t.y[i]
            else:
                for i in range(3):
                    turn[i] -= g[i]
                # Of the body alone, and for the other all that turns with both but that.
                oval_row(contact, poses[contact.body], n, turn, t, by_body)
                cross(arm, turn, t.y)
                for i in range(3):
                    w.R_o[row, 3 + i] += t.y[i] - by_body[i]
                oval_row(contact, poses[contact.body], n, g, t, by_body)
                for i in range(3):
                    w.R[row, 3 + i] -= by_body[i]
