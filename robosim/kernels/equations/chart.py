"""Joints that are charts: the pose Q(q) of the child in the joint frame, S and its rates.

``S = [Q^-1 dQ/dq]``, whose columns are twists of the child at its joint point, in its own axes. A
factor g that follows turns (Q, S, S') to

    Q g,    Ad(g^-1) S + G,    Ad(g^-1) S' + [Ad(g^-1) S, w] + G',    G = [g^-1 dg/dq],  w = G v,

as `robosim.description.charts` has it [Sueda, Algs. 3 and 4], and with P the part of S' that is
not G', S'' to ``Ad(g^-1) S'' + [Ad(g^-1) S' + P, w] + [Ad(g^-1) S, w'] + G''``. All are left in a
SCRATCH record t: t.c_r and t.c_p are the pose, the rows of t.c_S, t.c_T and t.c_U the columns of S,
S' and S''.
"""

from math import cos, sin, sqrt

from robosim.compiled.kinds import ALONG, CURVE, FREE_TURN, STAYS, SURFACE
from robosim.kernels.compiler.charts import bends
from robosim.kernels.compiler.duals import whole_below
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import exponential, quaternion_product, rotation_matrix
from robosim.kernels.equations.vectors import crossed, turned, turned_back

THIRD = (-1.0, 3.0, -3.0, 1.0)  # derivatives of the weights of a cubic B-spline
FRAME = 13  # numbers of a control frame of a curve: position, quaternion, twist to the next


@kernel
def follow_chart(charts, joint, q, v, t):
    """Pose and S of a joint's chart at its coordinates q (m,); S' at rates v (m,), unless None."""
    follow_motion(charts, joint, q, v, None, t)


@kernel
def follow_motion(charts, joint, q, v, a, t):
    """`follow_chart`, and S'' where the rates change by a (m,), unless None."""
    m = q.shape[0]
    for k in range(m):
        for i in range(6):
            t.c_S[k, i] = 0.0
            t.c_T[k, i] = 0.0
            if a is not None:
                t.c_U[k, i] = 0.0
    for i in range(3):
        t.c_p[i], t.c_r[1 + i], t.c_l[i] = 0.0, 0.0, 0.0
    t.c_r[0], leads, before = 1.0, True, 0  # columns that factors have filled
    for n in range(joint.chart_begin, joint.chart_end):
        f, numbers = charts.factors[n], charts.numbers
        at, k = f.begin, f.first
        if leads and not is_slide(f):
            leads = False
            for i in range(3):
                t.c_l[i], t.c_p[i] = t.c_p[i], 0.0
        if f.kind == ALONG:
            go_along(before, f.twist, q[k], v, a, t)
            none = 0.0, 0.0, 0.0
            add_along(before, k, k, f.twist, (1.0, 0.0), none, (0.0, 0.0, 0.0, 0.0), v, a, t)
            before = max(before, k + 1)
        elif f.kind == STAYS:
            stay(before, numbers[at : at + 7], v, a, t)
        else:
            follow_bent(bends(t), m, f, numbers, q, v, a, t)
            before = max(before, k + width(f.kind))
    for i in range(3):
        if leads:
            t.c_l[i], t.c_p[i] = t.c_p[i], 0.0
        t.c_o[i] = t.c_p[i]
        t.c_p[i] += t.c_l[i]


@kernel
def follow_bent(bent, m, factor, numbers, q, v, a, t):
    """Q = Q times what is no twist along one coordinate, and S as that turns it."""
    if bent is not None:
        if factor.kind == FREE_TURN:
            turn_free(m, factor.first, q, v, a, t)
        elif factor.kind == CURVE:
            follow_curve(m, factor, numbers, q, v, a, t)
        else:
            follow_surface(m, factor, numbers, q, v, a, t)


@kernel
def width(kind):
    """Number of coordinates of a factor that moves along some."""
    if kind == FREE_TURN:
        return 3
    return 2 if kind == SURFACE else 1


@kernel
def is_slide(factor):
    """Whether a factor is a translation along a coordinate."""
    twist = factor.twist
    return factor.kind == ALONG and twist[3] == 0.0 and twist[4] == 0.0 and twist[5] == 0.0


@kernel
def slide_on(charts, joint, change, out):
    """out (3,) = by how much the slides that come before all else lead on, for a change of q."""
    for i in range(3):
        out[i] = 0.0
    for n in range(joint.chart_begin, joint.chart_end):
        factor = charts.factors[n]
        if not is_slide(factor):
            return
        for i in range(3):
            out[i] += change[factor.first] * factor.twist[i]


@kernel
def go_along(m, twist, f, v, a, t):
    """Q = Q g with g = exp(f twist), and S and its rates as g turns them."""
    x_move, y_move, z_move = twist[0], twist[1], twist[2]
    x, y, z = twist[3], twist[4], twist[5]
    w = sqrt(x * x + y * y + z * z)
    g, h = t.c_g, t.c_h
    if w > 0.0:
        x, y, z = x / w, y / w, z / w
        half = 0.5 * w * f
        s = sin(half)
        g[0], g[1], g[2], g[3] = cos(half), s * x, s * y, s * z
        along = x_move * x + y_move * y + z_move * z
        x_move, y_move, z_move = x_move - along * x, y_move - along * y, z_move - along * z
        x_side, y_side, z_side = crossed(x, y, z, x_move, y_move, z_move)
        sine, cosine = 2.0 * s * cos(half) / w, 2.0 * s * s / w
        h[0] = f * along * x + sine * x_move + cosine * x_side
        h[1] = f * along * y + sine * y_move + cosine * y_side
        h[2] = f * along * z + sine * z_move + cosine * z_side
    else:
        g[0], g[1], g[2], g[3] = 1.0, 0.0, 0.0, 0.0
        h[0], h[1], h[2] = f * x_move, f * y_move, f * z_move
    pass_factor(m, v, a, t)


@kernel
def pass_factor(m, v, a, t):
    """Q = Q g for g of t.c_g and t.c_h; S and its rates before, in axes that g moves."""
    r = t.c_r
    rotation_matrix(r, t.c_R)
    h = t.c_h
    x, y, z = turned(t.c_R, h[0], h[1], h[2])
    t.c_p[0], t.c_p[1], t.c_p[2] = t.c_p[0] + x, t.c_p[1] + y, t.c_p[2] + z
    for i in range(4):
        t.c_s[i] = r[i]
    quaternion_product(t.c_s, t.c_g, r)
    rotation_matrix(t.c_g, t.c_R)
    for k in range(m):
        move_twist(t.c_R, h, t.c_S[k])
        if v is not None:
            move_twist(t.c_R, h, t.c_T[k])
        if a is not None:
            move_twist(t.c_R, h, t.c_U[k])


@kernel
def move_twist(R, p, twist):
    """A twist (6,) as a frame at p with axes R has it: Ad^-1, in place."""
    a, b, c, x, y, z = twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]
    e, f, g = crossed(x, y, z, p[0], p[1], p[2])
    twist[0], twist[1], twist[2] = turned_back(R, a + e, b + f, c + g)
    twist[3], twist[4], twist[5] = turned_back(R, x, y, z)


@kernel
def add_along(m, k, l, twist, first, second, third, v, a, t):  # noqa: E741
    """S and its rates += those of a motion along a twist, by its slopes along coordinates k and l.

    First derivatives by k and l, second ones by kk, kl and ll, third ones by kkk, kkl, kll and lll.
    For a single coordinate k and l are equal, and derivatives by l are 0.
    """
    S, T, U = t.c_S, t.c_T, t.c_U
    if v is not None:
        rate = first[0] * v[k] + first[1] * v[l]
        by_k = second[0] * v[k] + second[1] * v[l]
        by_l = second[1] * v[k] + second[2] * v[l]
        change = 0.0
        if a is not None:
            change = first[0] * a[k] + first[1] * a[l] + by_k * v[k] + by_l * v[l]
        turn_before(m, rate, twist, change, twist, a, t)
        for i in range(6):
            T[k, i] += by_k * twist[i]
            T[l, i] += by_l * twist[i]
        if a is not None:
            kk, kl, ll = v[k] * v[k], 2.0 * v[k] * v[l], v[l] * v[l]
            by_k = third[0] * kk + third[1] * kl + third[2] * ll
            by_l = third[1] * kk + third[2] * kl + third[3] * ll
            by_k += second[0] * a[k] + second[1] * a[l]
            by_l += second[1] * a[k] + second[2] * a[l]
            for i in range(6):
                U[k, i] += by_k * twist[i]
                U[l, i] += by_l * twist[i]
    for i in range(6):
        S[k, i] += first[0] * twist[i]
        S[l, i] += first[1] * twist[i]


@kernel
def turn_before(m, rate, twist, change, other, a, t):
    """S' and S'' of the factors before += their part of a factor's motion w = rate twist.

    S'' unless a is None, with w' = change other.
    """
    if a is not None:
        turn_columns(m, rate, twist, t.c_T, t.c_U)
    turn_columns(m, rate, twist, t.c_S, t.c_T)
    if a is not None:
        turn_columns(m, rate, twist, t.c_T, t.c_U)
        turn_columns(m, change, other, t.c_S, t.c_U)


@kernel
def turn_columns(m, rate, twist, S, T):
    """T += [S, rate twist], column by column."""
    x, y, z = rate * twist[0], rate * twist[1], rate * twist[2]
    turn_x, turn_y, turn_z = rate * twist[3], rate * twist[4], rate * twist[5]
    for n in range(m):
        column = S[n]
        by_move = crossed(column[3], column[4], column[5], x, y, z)
        by_turn = crossed(column[0], column[1], column[2], turn_x, turn_y, turn_z)
        turned_on = crossed(column[3], column[4], column[5], turn_x, turn_y, turn_z)
        for i in range(3):
            T[n, i] = T[n, i] + by_move[i] + by_turn[i]
            T[n, 3 + i] += turned_on[i]


@kernel
def stay(m, frame, v, a, t):
    """Q = Q times a pose that stays, (7,): position, quaternion."""
    for i in range(3):
        t.c_h[i] = frame[i]
    for i in range(4):
        t.c_g[i] = frame[3 + i]
    pass_factor(m, v, a, t)


@kernel
def turn_free(m, k, q, v, a, t):
    """Q = Q exp([q]) for three coordinates from k on [Sueda, Eqs. 2.42 to 2.47].

    G is ``1 - b [q] + c [q]^2``, column by column.
    """
    x, y, z = q[k], q[k + 1], q[k + 2]
    square = x * x + y * y + z * z
    b, c, db, dc = turn_factors(square, sqrt(square))
    exponential(q[k : k + 3], t.c_g)
    t.c_h[0], t.c_h[1], t.c_h[2] = 0.0, 0.0, 0.0
    pass_factor(m, v, a, t)
    G, H, W, V = t.c_G, t.c_H, t.c_W, t.c_V
    for i in range(6):
        W[i], V[i] = 0.0, 0.0
    for i in range(3):
        unit = 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0
        once = crossed(x, y, z, unit[0], unit[1], unit[2])
        twice = crossed(x, y, z, once[0], once[1], once[2])
        for n in range(3):
            G[i, n] = unit[n] - b * once[n] + c * twice[n]
        if v is not None:
            p, r, s = v[k], v[k + 1], v[k + 2]
            rate = x * p + y * r + z * s
            first, second = -rate * db, rate * dc
            moved = crossed(p, r, s, unit[0], unit[1], unit[2])
            left = crossed(p, r, s, once[0], once[1], once[2])
            right = crossed(x, y, z, moved[0], moved[1], moved[2])
            for n in range(3):
                H[i, n] = first * once[n] + second * twice[n] - b * moved[n]
                H[i, n] += c * (left[n] + right[n])
            for n in range(3):
                W[3 + n] += G[i, n] * v[k + i]
                if a is not None:
                    V[3 + n] += G[i, n] * a[k + i] + H[i, n] * v[k + i]
    if v is not None:
        turn_before(m, 1.0, W, 1.0, V, a, t)
    if a is not None:
        bend_free(k, q, v, a, t.c_U)
    for i in range(3):
        for n in range(3):
            t.c_S[k + i, 3 + n] += G[i, n]
            if v is not None:
                t.c_T[k + i, 3 + n] += H[i, n]


@kernel
def bend_free(k, q, v, a, U):
    """U += G'' of a rotation vector, row by row."""
    x, y, z, p, r, s = q[k], q[k + 1], q[k + 2], v[k], v[k + 1], v[k + 2]
    d, e, f = a[k], a[k + 1], a[k + 2]
    square, rate = x * x + y * y + z * z, x * p + y * r + z * s
    b, c, db, dc = turn_factors(square, sqrt(square))
    ddb, ddc = turn_curvatures(square, b, c, db, dc)
    change = p * p + r * r + s * s + x * d + y * e + z * f
    b1, c1 = db * rate, dc * rate
    b2, c2 = ddb * rate * rate + db * change, ddc * rate * rate + dc * change
    for i in range(3):
        unit = 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0
        once = crossed(x, y, z, unit[0], unit[1], unit[2])
        moved = crossed(p, r, s, unit[0], unit[1], unit[2])
        pushed = crossed(d, e, f, unit[0], unit[1], unit[2])
        twice = crossed(x, y, z, once[0], once[1], once[2])
        left = crossed(p, r, s, once[0], once[1], once[2])
        right = crossed(x, y, z, moved[0], moved[1], moved[2])
        both = crossed(p, r, s, moved[0], moved[1], moved[2])
        first = crossed(d, e, f, once[0], once[1], once[2])
        last = crossed(x, y, z, pushed[0], pushed[1], pushed[2])
        for n in range(3):
            by_b = b2 * once[n] + 2.0 * b1 * moved[n] + b * pushed[n]
            by_c = c2 * twice[n] + 2.0 * c1 * (left[n] + right[n])
            U[k + i, 3 + n] += by_c - by_b + c * (first[n] + 2.0 * both[n] + last[n])


@kernel
def turn_curvatures(square, b, c, db, dc):
    """Derivatives by x over x of the derivatives that `turn_factors` has."""
    if square > 0.1:
        return (c - b - 4.0 * db) / square, (db - 5.0 * dc) / square
    y = square
    ddb = 1 / 5987520 - y * (1 / 726485760 - y / 124540416000)
    ddb = 1 / 90 - y * (1 / 1680 - y * (1 / 75600 - y * ddb))
    ddc = 1 / 77837760 - y * (1 / 10897286400 - y / 2117187072000)
    ddc = 1 / 630 - y * (1 / 15120 - y * (1 / 831600 - y * ddc))
    return ddb, ddc


@kernel
def turn_factors(square, x):
    """(1 - cos x) / x^2, (x - sin x) / x^3 and their derivatives by x over x."""
    if square > 0.1:
        a, s = sin(x) / x, sin(0.5 * x)
        b = 2.0 * s * s / square
        c = (1.0 - a) / square
        return b, c, (a - 2.0 * b) / square, (b - 3.0 * c) / square
    y = square
    b = 1 / 40320 - y * (1 / 3628800 - y / 479001600)
    b = 1 / 2 - y * (1 / 24 - y * (1 / 720 - y * b))
    c = 1 / 362880 - y * (1 / 39916800 - y / 6227020800)
    c = 1 / 6 - y * (1 / 120 - y * (1 / 5040 - y * c))
    db = -1 / 12 + y * (1 / 180 - y * (1 / 6720 - y * (1 / 453600 - y / 47900160)))
    dc = -1 / 60 + y * (1 / 1260 - y * (1 / 60480 - y * (1 / 4989600 - y / 622702080)))
    return b, c, db, dc


@kernel
def segment(q, count, periodic):
    """The first of the four controls at a coordinate of a spline."""
    begin = whole_below(q)
    if periodic != 0:
        return begin
    return min(max(begin, 0), count - 4)


@kernel
def weights(u):
    """Of four controls of a cubic B-spline at u, with slopes and curvatures [Sueda, Eq. 2.61]."""
    o, s = 1.0 - u, 1.0 / 6.0
    value = s * o * o * o, s * (4.0 + u * u * (3.0 * u - 6.0)), s * u * u * u
    slope = -0.5 * o * o, 0.5 * u * (3.0 * u - 4.0), 0.5 * u * u
    return (
        (value[0], value[1], 1.0 - value[0] - value[1] - value[2], value[2]),
        (slope[0], slope[1], -slope[0] - slope[1] - slope[2], slope[2]),
        (o, 3.0 * u - 2.0, 1.0 - 3.0 * u, u),
    )


@kernel
def follow_curve(m, factor, numbers, q, v, a, t):
    """Q = Q times the frame of a spline along one coordinate [Sueda, Eq. 2.67, Alg. 3]."""
    k, count = factor.first, factor.count[0]
    control = segment(q[k], count, factor.periodic)
    value, slope, curvature = weights(q[k] - control)
    at = factor.begin + FRAME * (control % count)
    stay(m, numbers[at : at + 7], v, a, t)
    # Cumulative: of the last one, of the last two, of the last three [Sueda, Eq. 2.65].
    sum0, sum1, sum2, sum3 = 1.0 - value[0], -slope[0], -curvature[0], -THIRD[0]
    for i in range(1, 4):
        at = factor.begin + FRAME * ((control + i - 1) % count) + 7
        twist = numbers[at : at + 6]
        go_along(m, twist, sum0, v, a, t)
        first, second, third = (sum1, 0.0), (sum2, 0.0, 0.0), (sum3, 0.0, 0.0, 0.0)
        add_along(m, k, k, twist, first, second, third, v, a, t)
        if i < 3:
            sum0, sum1 = sum0 - value[i], sum1 - slope[i]
            sum2, sum3 = sum2 - curvature[i], sum3 - THIRD[i]


@kernel
def follow_surface(m, factor, numbers, q, v, a, t):
    """Q = Q times one motion of a spline over two coordinates [Sueda, Eq. 2.71, Alg. 4]."""
    k = factor.first
    i, j = segment(q[k], factor.count[0], 0), segment(q[k + 1], factor.count[1], 0)
    along_k, slope_k, bend_k = weights(q[k] - i)
    along_l, slope_l, bend_l = weights(q[k + 1] - j)
    value, by_k, by_l, by_kk, by_kl, by_ll = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    kkk, kkl, kll, lll = 0.0, 0.0, 0.0, 0.0
    for row in range(4):
        at = factor.begin + (i + row) * factor.count[1] + j
        x, y, z, w = 0.0, 0.0, 0.0, 0.0
        for column in range(4):
            control = numbers[at + column]
            x, y = x + along_l[column] * control, y + slope_l[column] * control
            z += bend_l[column] * control
            if a is not None:
                w += THIRD[column] * control
        value, by_k, by_kk = (
            value + along_k[row] * x,
            by_k + slope_k[row] * x,
            by_kk + bend_k[row] * x,
        )
        by_l, by_kl, by_ll = (
            by_l + along_k[row] * y,
            by_kl + slope_k[row] * y,
            by_ll + along_k[row] * z,
        )
        if a is not None:
            kkk, kkl = kkk + THIRD[row] * x, kkl + bend_k[row] * y
            kll, lll = kll + slope_k[row] * z, lll + along_k[row] * w
    go_along(m, factor.twist, value, v, a, t)
    first, second = (by_k, by_l), (by_kk, by_kl, by_ll)
    add_along(m, k, k + 1, factor.twist, first, second, (kkk, kkl, kll, lll), v, a, t)
