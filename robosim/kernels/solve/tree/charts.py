"""Joints that are charts as part of a tree: unknown are the rates of their coordinates.

At the second knot the child is where the chart leads to, ``Q(q1 + dt rates)``, wherever it was at
the first one: rounding is taken back.
"""

from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.compiler.lanes import everywhere, pick
from robosim.kernels.contact.kinematics import turn_vector, turned
from robosim.kernels.equations.algebra import (
    assign,
    dot,
    fill,
    lu,
    lu_solve_vector,
    quaternion_back,
    quaternion_product,
    rotate,
)
from robosim.kernels.equations.chart import follow_chart, slide_on
from robosim.kernels.equations.vectors import dot6


@aside
def start_on_chart(charts, joint, poses, q, w, t):
    """w.Z1, and what leads from the first knot on, for coordinates q (m,) there.

    Moves what the chart has let the child go from w.held to w.base.
    """
    if charts is not None:
        m, a, b = joint.m_T, poses[joint.parent], poses[joint.child]
        # What w knows belongs to w.q2, which the last interval most often leads to.
        known = everywhere(dot(w.c_r[1:], w.c_r[1:]) + w.c_r[0] * w.c_r[0] > 0.5)
        for k in range(m):
            known = known and everywhere(w.q2[k] == q[k])
            w.q1[k], w.q2[k] = q[k], q[k]
        if not known:
            follow_here(charts, joint, w, t)
        place_columns(m, b.R, w, w.Z1)
        quaternion_product(a.q, joint.offset, w.frame)
        turn_vector(w.frame, w.c_p, t.c_h)
        for i in range(3):
            w.o1[i] = w.c_o[i]
            w.base[i] += t.c_h[i]
            w.held[i] -= t.c_h[i]
        w.back[0], w.back[1] = b.q[0], -b.q[1]
        w.back[2], w.back[3] = -b.q[2], -b.q[3]


@kernel
def follow_here(charts, joint, w, t):
    """Pose and S of a chart at w.q2, into w."""
    m = joint.m_T
    follow_chart(charts, joint, w.q2[:m], None, t)
    assign(t.c_r, w.c_r)
    assign(t.c_p, w.c_p)
    assign(t.c_o, w.c_o)
    for k in range(m):
        assign(t.c_S[k], w.c_S[k])


@kernel
def place_columns(m, R, w, out):
    """Rows of out = the columns of S in world axes, for the axes R of the child."""
    for k in range(m):
        rotate(R, w.c_S[k, :3], out[k, :3])
        rotate(R, w.c_S[k, 3:], out[k, 3:])


@aside
def go_on_chart(charts, joint, w, t, dt):
    """w.Q, the turn of the child against its parent before this one turns, from the rates."""
    if charts is not None:
        m = joint.m_T
        for k in range(m):
            w.q2[k] = w.q1[k] + dt * w.slide[k]
        follow_here(charts, joint, w, t)
        quaternion_product(w.frame, w.c_r, t.c_s)
        quaternion_product(t.c_s, w.back, w.Q)
        sign = pick(w.Q[0] < 0.0, -1.0, 1.0)
        for i in range(4):
            w.Q[i] *= sign


@aside
def move_along_chart(charts, joint, P_a, body, w, t, rate):
    """The child's velocity and reference, and w.Z2, after `go_on_chart`, for dt = 1 / rate.

    Both stay at the first knot's place on the chart as yet. How far the chart leads on is told by
    slides without a difference of two places, which would be rounded however small it is.
    """
    if charts is not None:
        for k in range(joint.m_T):
            t.c_x[k] = w.slide[k] / rate
        slide_on(charts, joint, t.c_x, w.y)
        for i in range(3):
            w.y[i] += w.c_o[i] - w.o1[i]
        turn_vector(w.frame, w.y, t.c_h)
        turned(P_a, t.c_h, w.y)
        for i in range(3):
            along = t.c_h[i] + w.y[i]
            body.v[i] += rate * along
            w.r2[i] += along
        # The axes of the child at the second knot, in the world.
        quaternion_product(w.frame, w.c_r, t.c_s)
        for k in range(joint.m_T):
            for part in range(0, 6, 3):
                z = w.Z2[k, part : part + 3]
                turn_column(t.c_s, P_a, w.c_S[k, part : part + 3], t.c_h, z)


@kernel
def turn_column(q, P, c, between, out):
    """out = R(P) R(q) c."""
    turn_vector(q, c, between)
    turn_vector(P, between, out)


@aside
def rates_on_chart(charts, joint, x, w, t, v):
    """Rates at the second knot from the twist x (6,) of the reference against the parent."""
    if charts is not None:
        m = joint.m_T
        for k in range(m):
            t.c_W[k] = dot6(w.Z2[k], x)
        if gather_columns(m, w.Z2, t) == 0:
            lu_solve_vector(t.c_A, t.c_W, m)
        for k in range(m):
            v[joint.v_begin + k] = t.c_W[k]


@aside
def apart_on_chart(charts, w, pose, t):
    """How far a child is from where its coordinates lead, once started [m, sine of half angle]."""
    worst = 0.0
    if charts is not None:
        quaternion_product(w.frame, w.c_r, t.c_s)
        quaternion_back(t.c_s, pose.q, t.s)
        for i in range(3):
            worst = max(worst, abs(w.held[i]), abs(t.s[1 + i]))
    return worst


@aside
def gather_columns(m, Z, t):
    """t.c_A = factors of Z Z^T for the rows of Z (m, 6), 0 if they do not depend on each other."""
    for n in range(m):
        for i in range(m):
            t.c_A[n, i] = dot6(Z[n], Z[i])
    return lu(t.c_A, m)


@aside
def add_columns(m, along, Z, sign, t, out):
    """out (6,) += the wrench in the span of the rows of Z that does `along` (m,), with a sign."""
    x = t.c_x
    fill(0.0, x)
    for n in range(m):
        x[n] = along[n]
    if gather_columns(m, Z, t) == 0:
        lu_solve_vector(t.c_A, x, m)
    for n in range(m):
        for i in range(6):
            out[i] += sign * x[n] * Z[n, i]


@aside
def push_on_chart(charts, joint, forces, Z, t, out):
    """out (6,) += the wrench, of those that the joint moves along, that does `forces` (m,)."""
    if charts is not None:
        add_columns(joint.m_T, forces, Z, 1.0, t, out)


@aside
def share_on_chart(charts, joint, w, t, mass):
    """Twice a kinetic energy of what is left along the coordinates, w.u; takes it out of w.f.

    It is measured in the body's own inertia about the joint, column by column.
    """
    size = 0.0
    if charts is not None:
        for n in range(joint.m_T):
            z = w.Z1[n]
            weight = mass * dot(z[:3], z[:3]) + dot(z[3:], z[3:]) / joint.per_inertia
            size += w.u[n] * w.u[n] / weight
        add_columns(joint.m_T, w.u, w.Z1, -1.0, t, w.f)
    return size
