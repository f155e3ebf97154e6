"""Rows of a joint that is a chart, for any pose E of its child: constraints, and coordinates.

The coordinates q of E are those at which nothing of ``x = log(Q(q)^-1 E)`` is left along S. What is
left across it is the constraint, ``N^T x = 0`` with orthonormal columns N across S. Both change
with the twist of the child against the parent, in the child's axes at its joint point, by N^T and
``(S^T S)^-1 S^T``.
"""

from math import atan2, cos, pi, sin, sqrt

from robosim.compiled.kinds import FREE_TURN
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.equations.algebra import (
    cross,
    dot,
    quaternion_back,
    rotate,
    rotate_back,
    rotation_matrix,
)
from robosim.kernels.equations.chart import follow_chart, turn_factors
from robosim.kernels.equations.vectors import crossed, dot6

MOST = 20  # iterations
TURN = 1.0  # [rad], the most by which a coordinate turns the child in one of them
NEAR = 1e-13  # of the coordinates
TWO_PI = 2.0 * pi
LONGEST = 1.5 * pi  # rotation vector; S has lost its rank at 2 pi


@aside
def find_on_chart(charts, joint, near, t):
    """Coordinates t.c_q of a child at t.r and t.y, from those `near` (m,) on; rows, what is left.

    Left in t are x as c_x, and in c_K what twists of the child are in rows of constraints, then
    in coordinates. A child's pose against the joint frame are its quaternion t.r and its joint
    point t.y.
    """
    m = joint.m_T
    q = t.c_q[:m]
    for k in range(m):
        q[k] = near[k]
    for _ in range(MOST):
        follow_chart(charts, joint, q, None, t)
        quaternion_back(t.c_r, t.r, t.c_s)
        rotation_matrix(t.c_r, t.c_R)
        for i in range(3):
            t.c_h[i] = t.y[i] - t.c_p[i]
        rotate_back(t.c_R, t.c_h, t.c_W[:3])
        log_pose(t.c_s, t.c_W, t.c_x)
        split_twists(m, t)
        # Near where coordinates move the child alike, whole changes may end at others of the pose.
        share = 1.0
        for k in range(m):
            S = t.c_S[k]
            turn = sqrt(S[3] * S[3] + S[4] * S[4] + S[5] * S[5])
            turn *= abs(dot6(t.c_K[6 - m + k], t.c_x))
            share = min(share, TURN / max(turn, TURN))
        most = 0.0
        for k in range(m):
            change = share * dot6(t.c_K[6 - m + k], t.c_x)
            q[k] += change
            most = max(most, abs(change) - NEAR * abs(q[k]))
        if not most > NEAR:
            break


@kernel
def log_pose(r, p, out):
    """out (6,) = twist whose exponential has the quaternion r and the position p[:3]."""
    sine = sqrt(r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
    sign = -1.0 if r[0] < 0.0 else 1.0
    half = atan2(sine, abs(r[0]))
    scale, square = 2.0 * sign, 4.0 * half * half
    if sine > 1e-9:
        scale = 2.0 * sign * half / sine
    c = 1 / 12 + square / 720.0
    if square > 1e-6:
        c = (1.0 - half * abs(r[0]) / sine) / square
    x, y, z = scale * r[1], scale * r[2], scale * r[3]
    d, e, f = crossed(x, y, z, p[0], p[1], p[2])
    g, h, i = crossed(x, y, z, d, e, f)
    out[0], out[1], out[2] = p[0] - 0.5 * d + c * g, p[1] - 0.5 * e + c * h, p[2] - 0.5 * f + c * i
    out[3], out[4], out[5] = x, y, z


@kernel
def split_twists(m, t):
    """t.c_K (6, 6): 6 - m rows across S, and m rows that give the rates of the coordinates.

    By reflections that turn S into a triangle [Householder].
    """
    K, A, W = t.c_K, t.c_A, t.c_W
    for i in range(6):
        for k in range(6):
            K[i, k] = 1.0 if i == k else 0.0
            A[i, k] = t.c_S[i, k] if i < m else 0.0
    for n in range(m):
        size = 0.0
        for i in range(n, 6):
            size += A[n, i] * A[n, i]
        size = sqrt(size)
        along = size if A[n, n] < 0.0 else -size
        square = 0.0
        for i in range(6):
            W[i] = 0.0 if i < n else A[n, i]
        W[n] -= along
        for i in range(n, 6):
            square += W[i] * W[i]
        per = 2.0 / square if square > 0.0 else 0.0
        for column in range(n, m):
            share = per * dot6(W, A[column])
            for i in range(6):
                A[column, i] -= share * W[i]
        for column in range(6):
            # K = reflection K, by columns of K.
            share = 0.0
            for i in range(n, 6):
                share += W[i] * K[i, column]
            for i in range(n, 6):
                K[i, column] -= per * share * W[i]
    # Rates: those of the triangle, from the last one on.
    for back in range(1, m + 1):
        n = m - back
        for column in range(6):
            value = K[n, column]
            for i in range(n + 1, m):
                value -= A[i, n] * K[i, column]
            K[n, column] = value / A[n, n]
    # Constraints first.
    for n in range(m):
        for column in range(6):
            A[n, column] = K[n, column]
    for row in range(6 - m):
        for column in range(6):
            K[row, column] = K[m + row, column]
    for n in range(m):
        for column in range(6):
            K[6 - m + n, column] = A[n, column]


@kernel
def world_row(row, a, b, joint, t, row_a, row_b):
    """A row (6,) by the child's twist in its own axes, by world twists of parent and child."""
    rotate(b.R, row[:3], t.w)
    rotate(b.R, row[3:], t.z)
    rotate(b.R, joint.p_b, t.arm)
    cross(t.arm, t.w, t.y)
    for i in range(3):
        row_b[i], row_b[3 + i] = t.w[i], t.z[i] + t.y[i]
        t.arm[i] += b.x[i] - a.x[i]
    cross(t.arm, t.w, t.y)
    for i in range(3):
        row_a[i], row_a[3 + i] = -t.w[i], -t.z[i] - t.y[i]


@aside
def chart_residual(charts, joint, near, t, out):
    """Constraints N^T x of a chart into out (6,), from t.r and t.y."""
    if charts is not None:
        find_on_chart(charts, joint, near, t)
        for row in range(6 - joint.m_T):
            out[row] = dot6(t.c_K[row], t.c_x)


@aside
def chart_jacobian(charts, joint, near, a, b, first, last, begin, t, G_a, G_b):
    """Rows first to last of t.c_K by world twists, into G_a and G_b from `begin` on."""
    if charts is not None:
        find_on_chart(charts, joint, near, t)
        for row in range(first, last):
            at = begin + row - first
            world_row(t.c_K[row], a, b, joint, t, G_a[at], G_b[at])


@aside
def read_chart(charts, joint, near, t):
    """Coordinates of a chart into `near` (m,), from t.r and t.y."""
    if charts is not None:
        find_on_chart(charts, joint, near, t)
        for k in range(joint.m_T):
            near[k] = t.c_q[k]


@aside
def place_on_chart(charts, joint, q, t):
    """Pose t.r and t.y of the child in the joint frame at coordinates q (m,)."""
    if charts is not None:
        follow_chart(charts, joint, q, None, t)
        for i in range(3):
            t.y[i] = t.c_p[i]
        for i in range(4):
            t.r[i] = t.c_r[i]


@aside
def move_on_chart(charts, joint, q, v, t):
    """Twist of the child against the parent, in its own axes: t.y at its joint point, t.w."""
    if charts is not None:
        follow_chart(charts, joint, q, None, t)
        for i in range(3):
            t.y[i], t.w[i] = 0.0, 0.0
            for k in range(joint.m_T):
                t.y[i] += t.c_S[k, i] * v[k]
                t.w[i] += t.c_S[k, 3 + i] * v[k]


@aside
def change_chart(charts, joint, state, mid):
    """Go on with another rotation vector of the same rotation where one has become long.

    ``(1 - 2 pi / |q|) q``; rates are those of the same angular velocity [Sueda, after (2.47)].
    """
    if charts is not None:
        for n in range(joint.chart_begin, joint.chart_end):
            factor = charts.factors[n]
            if factor.kind == FREE_TURN:
                first = joint.q_begin + factor.first
                q = state.q[first : first + 3]
                length = sqrt(dot(q, q))
                if length > LONGEST:
                    begin = joint.v_begin + factor.first
                    other = 1.0 - TWO_PI / length
                    change_rates(q, other, state.v[begin : begin + 3])
                    change_rates(q, other, mid[factor.first : factor.first + 3])
                    for i in range(3):
                        q[i] *= other


@kernel
def change_rates(q, other, v):
    """Rates v (3,) of a rotation vector q, as those of the vector `other` q, in place."""
    x, y, z = q[0], q[1], q[2]
    square = x * x + y * y + z * z
    b, c, _, _ = turn_factors(square, sqrt(square))
    # The angular velocity v - b q x v + c q x (q x v), from which the other rates follow.
    d, e, f = crossed(x, y, z, v[0], v[1], v[2])
    g, h, i = crossed(x, y, z, d, e, f)
    d, e, f = v[0] - b * d + c * g, v[1] - b * e + c * h, v[2] - b * f + c * i
    x, y, z = other * x, other * y, other * z
    square *= other * other
    half = 0.5 * sqrt(square)
    c = (1.0 - half * cos(half) / sin(half)) / square
    g, h, i = crossed(x, y, z, d, e, f)
    v[0], v[1], v[2] = d + 0.5 * g, e + 0.5 * h, f + 0.5 * i
    g, h, i = crossed(x, y, z, g, h, i)
    v[0], v[1], v[2] = v[0] + c * g, v[1] + c * h, v[2] + c * i
