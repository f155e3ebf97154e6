"""Contacts of ellipsoids and rims: what touches of them travels over the body as that turns.

An ellipsoid touches a plane with its point that is nearest to the plane, and so does a rim, which
is a flat ellipsoid. It touches an edge, a rim or another ellipsoid along the normal that parts the
two most. The derivatives of the gap by the poses are those with the normal held. Those of the arms,
which slip follows, have the normal turn along.
"""

from math import sqrt

from robosim.compiled.kinds import OVAL
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.equations.algebra import cross, dot, perpendiculars, rotate, rotate_back
from robosim.kernels.narrow_phase.ovals import across_axes, oval_arm, part_most


@kernel
def is_oval_pair(contact):
    """Whether this is an ellipsoid against something else than a plane."""
    return contact.kind > OVAL


@kernel
def place_oval(contact, a, b, t):
    """`place_contact` of an ellipsoid or a rim and a plane."""
    rotate(a.R, contact.o_end, t.w)
    rotate_back(b.R, t.w, t.z)
    oval_arm(contact.semi_axes, t.z, t.f)
    rotate(b.R, t.f, t.arm)
    rotate(a.R, contact.o, t.f)
    gap = 0.0
    for i in range(3):
        t.arm[i] = -t.arm[i]
        t.y[i] += t.arm[i]
        t.z[i] = b.x[i] + t.y[i] - a.x[i]
        gap += t.w[i] * (t.z[i] - t.f[i])
    return gap


@aside
def place_oval_pair(contact, a, b, t):
    """`place_contact` of an ellipsoid and an edge, a point, a rim or another ellipsoid.

    All is done in axes of the body.
    """
    offset, d, n, m, g, start, B_o = (
        t.S_a[0],
        t.S_a[1],
        t.S_a[2],
        t.S_a[3],
        t.S_a[4],
        t.S_a[5],
        t.R_J,
    )
    rotate(a.R, contact.o, t.z)
    for i in range(3):
        t.arm[i] = b.x[i] + t.y[i] - a.x[i] - t.z[i]
    rotate_back(b.R, t.arm, offset)
    rotate(a.R, contact.o_end, t.z)
    rotate_back(b.R, t.z, d)
    for k in range(3):
        for i in range(3):
            t.arm[i] = contact.semi_axes_o[i, k]
        rotate(a.R, t.arm, t.z)
        rotate_back(b.R, t.z, t.arm)
        for i in range(3):
            B_o[i, k] = t.arm[i]
    # The normal starts where it was when the feature was found, across the edge as that is now.
    along = dot(contact.p_end, d)
    for i in range(3):
        n[i] = contact.p_end[i] - along * d[i]
    size = 1.0 / sqrt(dot(n, n))
    for i in range(3):
        n[i] *= size
    gap = part_most(offset, d, contact.semi_axes, B_o, n, m, g, start)
    oval_arm(contact.semi_axes, n, start)
    rotate(b.R, n, t.w)
    rotate(b.R, start, t.arm)
    for i in range(3):
        t.arm[i] = -t.arm[i]
        t.y[i] += t.arm[i]
        t.z[i] = b.x[i] + t.y[i] - a.x[i]
    return gap - contact.radius_o


@kernel
def bend(pose, B, n, v, out, more):
    """out (3,) = what the arm of an ellipsoid along n changes by as n does by v; more is scratch.

    The arm is B B^T n / s with s = |B^T n|, so this is B (x - y (x . y)) / s with x = B^T v and
    y = B^T n / s.
    """
    rotate_back(pose.R, n, more)
    y0, y1, y2 = across_axes(B, more)
    rotate_back(pose.R, v, more)
    x0, x1, x2 = across_axes(B, more)
    inverse = 1.0 / max(sqrt(y0 * y0 + y1 * y1 + y2 * y2), 1e-300)
    y0, y1, y2 = y0 * inverse, y1 * inverse, y2 * inverse
    along = x0 * y0 + x1 * y1 + x2 * y2
    x0, x1, x2 = x0 - along * y0, x1 - along * y1, x2 - along * y2
    for i in range(3):
        more[i] = inverse * (B[i, 0] * x0 + B[i, 1] * x1 + B[i, 2] * x2)
    rotate(pose.R, more, out)


@kernel
def oval_row(contact, b, n, along, t, out):
    """out (3,): `along` times what the arm at the second knot changes by as the body turns alone.

    The arm would turn with the body, and turns back by what the normal does not turn.
    """
    rotate_back(b.R, n, t.z)
    oval_arm(contact.semi_axes, t.z, t.arm)
    rotate(b.R, t.arm, t.z)
    cross(along, t.z, out)
    bend(b, contact.semi_axes, n, along, t.z, t.arm)
    cross(n, t.z, t.arm)
    for i in range(3):
        out[i] += t.arm[i]


@kernel
def start_other(contact, a, gap, n, w):
    """w.center_o and w.roll1_o: what the other touches an ellipsoid with rolls about its origin."""
    rotate(a.R, contact.o, w.center_o)
    for i in range(3):
        w.roll1_o[i] = w.arm_o[i] - gap * n[i] - w.center_o[i]
        w.roll_o[i] = w.roll1_o[i]


@kernel
def move_other(contact, a, w, t):
    """w.roll_o = the mean of both knots, after `place_contact`."""
    rotate(a.R, contact.o, t.f)
    for i in range(3):
        w.roll_o[i] = 0.5 * (w.roll1_o[i] + t.z[i] - w.gap * t.w[i] - t.f[i])


@aside
def add_oval_rows(contact, poses, motions, w, t):
    """To the derivatives of slip: what both arms at the second knot change by, without planes.

    After `place_contact`. As seen from the other, the normal n keeps across what is between the two
    as that changes by f: it changes by K^-1 f, with K = value + bends of both, across n and any
    edge. The body's arm, whose bend is H, changes by H (turn x n - K^-1 f) and with the turn.
    """
    a, b = poses[contact.other], poses[contact.body]
    body_moves, other_moves = contact.body < poses.shape[0] - 1, contact.other < poses.shape[0] - 1
    n, y, z, arm, B, B_o = t.w, t.y, t.z, t.arm, contact.semi_axes, contact.semi_axes_o
    m, g, v, q, e, more = t.S_a[0], t.S_a[1], t.S_a[2], t.S_a[3], t.S_a[4], t.S_a[5]
    first, second, roll = t.S_b[0], t.S_b[1], t.S_b[2]
    is_edge = dot(contact.o_end, contact.o_end) > 0.0
    if is_edge:
        rotate(a.R, contact.o_end, g)
        cross(g, n, m)
    else:
        perpendiculars(n, m, g)
    value = w.gap + contact.radius_o
    xx, xy, yy = value, 0.0, value
    for which in range(2):
        pose, C = (b, B) if which == 0 else (a, B_o)
        bend(pose, C, n, m, v, more)
        xx, xy = xx + dot(m, v), xy + dot(g, v)
        bend(pose, C, n, g, v, more)
        yy += dot(g, v)
    determinant = xx * yy - xy * xy
    rotate(a.R, contact.o, roll)
    for i in range(3):
        roll[i] = z[i] - w.gap * n[i] - roll[i]
    for row in range(2):
        for which in range(2):
            if not (body_moves if which == 0 else other_moves):
                continue
            # Of the slip either arm has e . (P x arm) / dt.
            if which == 0:
                cross(w.frame[row], motions[contact.body].P[1:], v)
            else:
                cross(motions[contact.other].P[1:], w.frame[row], v)
            bend(b, B, n, v, e, more)
            if which == 1:
                for i in range(3):
                    e[i] += w.gap * v[i]
            x0, x1 = dot(m, e), dot(g, e)
            turn_m, turn_g = (yy * x0 - xy * x1) / determinant, (xx * x1 - xy * x0) / determinant
            if is_edge:
                turn_m, turn_g = x0 / xx, 0.0
            along = dot(v, n) if which == 1 else 0.0
            for i in range(3):
                q[i] = turn_m * m[i] + turn_g * g[i]
                e[i] = v[i] - q[i]
            bend(b, B, n, e, first, more)
            cross(n, first, second)
            # What the contact's own motion counts with, of the other's arm along its surface only.
            for i in range(3):
                q[i] = -q[i] if which == 0 else e[i] - along * n[i]
            if body_moves:
                cross(y, q, first)
                cross(arm, v, e)
                for i in range(3):
                    w.R[row, i] += q[i]
                    w.R[row, 3 + i] += first[i] + second[i] + (e[i] if which == 0 else 0.0)
            if other_moves:
                cross(z, q, first)
                cross(roll, v, e)
                for i in range(3):
                    w.R_o[row, i] -= q[i]
                    w.R_o[row, 3 + i] += (e[i] if which == 1 else 0.0) - first[i] - second[i]
