"""Joints in recursions: the pose of the child from q, and the motion subspace S with S' v.

For a joint between parent a and child b, with r from the reference point of a to that of b and u
the velocity of the joint's translation:

    twist_b = (v_a + omega_a x r + u, omega_a + spin),
    acceleration_b = (a_a + alpha_a x r, alpha_a) + S v' + bias,
    bias = (omega_a x (omega_a x r + 2 u), omega_a x spin).

Translations are counted along directions of the parent, rotations about axes of the child. The
columns of a chart turn with the child, in whose axes they change as well.
"""

from math import cos, sin, sqrt

from robosim.compiled.kinds import ANY_CHART, ONE_HINGE, ONE_SLIDE
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.chart import follow_chart
from robosim.kernels.equations.vectors import crossed, turned, turned_back


@kernel
def place_link(charts, link, parent, q, own, t):
    """Axes of a link, and where its reference and its centre are, from the parent's place."""
    R = parent.R
    if link.kind == ONE_HINGE:
        turn_single(link, R, q[link.q_begin], own.R)
        own.r[0], own.r[1], own.r[2] = turned(R, link.point[0], link.point[1], link.point[2])
    elif link.kind == ONE_SLIDE:
        multiply(R, link.K0, own.R)
        x = q[link.q_begin]
        own.r[0], own.r[1], own.r[2] = turned(
            R,
            link.point[0] + x * link.axis[0],
            link.point[1] + x * link.axis[1],
            link.point[2] + x * link.axis[2],
        )
    elif charts is not None and link.kind == ANY_CHART:
        place_on_chart(charts, link, R, q, own, t)
    else:
        place_any(link, R, q, own)
    own.c[0], own.c[1], own.c[2] = turned(own.R, link.center[0], link.center[1], link.center[2])
    for i in range(3):
        own.p[i] = parent.p[i] + own.r[i]


@kernel
def place_on_chart(charts, link, R, q, own, t):
    """`place_link` for a chart, whose pose and columns S are left in t."""
    first = link.q_begin
    follow_chart(charts, link, q[first : first + link.m_T], None, t)
    r, p = t.c_r, t.c_p
    x, y, z = turned(link.before, p[0], p[1], p[2])
    own.r[0], own.r[1], own.r[2] = turned(
        R, link.point[0] + x, link.point[1] + y, link.point[2] + z
    )
    turn_free(link, R, r[0], r[1], r[2], r[3], own.R)


@kernel
def turn_twist(link, R, twist, out):
    """out (6,) = a twist in body axes, in world axes; R (3, 3) are the axes of the link."""
    a, b, c = turned_back(link.after, twist[0], twist[1], twist[2])
    out[0], out[1], out[2] = turned(R, a, b, c)
    a, b, c = turned_back(link.after, twist[3], twist[4], twist[5])
    out[3], out[4], out[5] = turned(R, a, b, c)


@kernel
def move_on_chart(charts, link, parent, own, columns, q, v, t):
    """`move_link` for a chart; rates of its columns too."""
    first, begin, m = link.q_begin, link.v_begin, link.m_T
    follow_chart(charts, link, q[first : first + m], v[begin : begin + m], t)
    a, b, c = parent.w[0], parent.w[1], parent.w[2]
    d, e, f, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(m):
        S, rate = columns[begin + k].S, v[begin + k]
        turn_twist(link, own.R, t.c_S[k], S)
        d, e, f = d + rate * S[0], e + rate * S[1], f + rate * S[2]
        x, y, z = x + rate * S[3], y + rate * S[4], z + rate * S[5]
    g, h, i = crossed(a, b, c, own.r[0], own.r[1], own.r[2])
    own.bias[0], own.bias[1], own.bias[2] = crossed(a, b, c, g + d, h + e, i + f)
    own.bias[3], own.bias[4], own.bias[5] = 0.0, 0.0, 0.0
    a, b, c = a + x, b + y, c + z
    own.w[0], own.w[1], own.w[2] = a, b, c
    for k in range(m):
        column = columns[begin + k]
        S, out = column.S, column.rate
        turn_twist(link, own.R, t.c_T[k], out)
        x, y, z = crossed(a, b, c, S[0], S[1], S[2])
        out[0], out[1], out[2] = out[0] + x, out[1] + y, out[2] + z
        x, y, z = crossed(a, b, c, S[3], S[4], S[5])
        out[3], out[4], out[5] = out[3] + x, out[4] + y, out[5] + z
        for n in range(6):
            own.bias[n] += v[begin + k] * out[n]


@kernel
def turn_single(link, R, angle, out):
    """out = R (K0 + sin K1 + cos K2)."""
    s, c = sin(angle), cos(angle)
    for k in range(3):
        x = link.K0[0, k] + s * link.K1[0, k] + c * link.K2[0, k]
        y = link.K0[1, k] + s * link.K1[1, k] + c * link.K2[1, k]
        z = link.K0[2, k] + s * link.K1[2, k] + c * link.K2[2, k]
        out[0, k], out[1, k], out[2, k] = turned(R, x, y, z)


@kernel
def multiply(A, B, out):
    """out = A B, (3, 3)."""
    for k in range(3):
        out[0, k], out[1, k], out[2, k] = turned(A, B[0, k], B[1, k], B[2, k])


@kernel
def place_any(link, R, q, own):
    """`place_link` for any translations and rotations."""
    x, y, z = link.point[0], link.point[1], link.point[2]
    for row in range(link.m_T):
        d, along = link.slides[row], q[link.q_begin + row]
        x, y, z = x + along * d[0], y + along * d[1], z + along * d[2]
    own.r[0], own.r[1], own.r[2] = turned(R, x, y, z)
    first = link.q_begin + link.m_T
    if link.m_R == 1:
        turn_single(link, R, q[first], own.R)
    elif link.m_R == 0:
        multiply(R, link.K0, own.R)
    else:
        turn_free(link, R, q[first], q[first + 1], q[first + 2], q[first + 3], own.R)


@kernel
def turn_free(link, R, w, x, y, z, out):
    """out = R before R(quaternion) after; the quaternion may have any length but zero."""
    n = 1.0 / sqrt(w * w + x * x + y * y + z * z)
    w, x, y, z = n * w, n * x, n * y, n * z
    for k in range(3):
        a, b, c = link.after[0, k], link.after[1, k], link.after[2, k]
        # r (a, b, c) r^-1, by twice the vector's cross product.
        e, f, g = crossed(x, y, z, a, b, c)
        e, f, g = 2.0 * e, 2.0 * f, 2.0 * g
        h, i, j = crossed(x, y, z, e, f, g)
        a, b, c = turned(link.before, a + w * e + h, b + w * f + i, c + w * g + j)
        out[0, k], out[1, k], out[2, k] = turned(R, a, b, c)


@kernel
def move_link(charts, link, parent, own, columns, q, v, t):
    """Columns of the joint, angular velocity of its link, and its bias acceleration."""
    if charts is not None and link.kind == ANY_CHART:
        move_on_chart(charts, link, parent, own, columns, q, v, t)
        return
    R, begin = parent.R, link.v_begin
    a, b, c = parent.w[0], parent.w[1], parent.w[2]
    e, f, g = crossed(a, b, c, own.r[0], own.r[1], own.r[2])
    if link.kind == ONE_HINGE:
        S = columns[begin].S
        x, y, z = turned(R, link.axis[0], link.axis[1], link.axis[2])
        S[3], S[4], S[5] = x, y, z
        x, y, z = v[begin] * x, v[begin] * y, v[begin] * z
    else:
        x, y, z = 0.0, 0.0, 0.0
        for row in range(link.m_T):
            S, d = columns[begin + row].S, link.slides[row]
            S[0], S[1], S[2] = turned(R, d[0], d[1], d[2])
            twice = 2.0 * v[begin + row]
            e, f, g = e + twice * S[0], f + twice * S[1], g + twice * S[2]
        for row in range(link.m_R):
            k = begin + link.m_T + row
            S, d = columns[k].S, link.spins[row]
            S[3], S[4], S[5] = turned(own.R, d[0], d[1], d[2])
            x, y, z = x + v[k] * S[3], y + v[k] * S[4], z + v[k] * S[5]
    own.w[0], own.w[1], own.w[2] = a + x, b + y, c + z
    own.bias[0], own.bias[1], own.bias[2] = crossed(a, b, c, e, f, g)
    own.bias[3], own.bias[4], own.bias[5] = crossed(a, b, c, x, y, z)


@kernel
def find_columns(charts, link, parent, own, columns, t):
    """The columns of a joint alone; of a chart those that `place_link` has just left in t."""
    begin = link.v_begin
    if charts is not None and link.kind == ANY_CHART:
        for k in range(link.m_T):
            turn_twist(link, own.R, t.c_S[k], columns[begin + k].S)
        return
    for row in range(link.m_T):
        S, d = columns[begin + row].S, link.slides[row]
        S[0], S[1], S[2] = turned(parent.R, d[0], d[1], d[2])
    for row in range(link.m_R):
        S, d = columns[begin + link.m_T + row].S, link.spins[row]
        S[3], S[4], S[5] = turned(own.R, d[0], d[1], d[2])


@kernel
def rate_columns(link, parent, own, columns):
    """Rates of the columns: directions turn with the parent, axes with the child.

    `move_link` has found those of a chart.
    """
    begin = link.v_begin
    if link.kind == ANY_CHART:
        return
    for row in range(link.m_T):
        S, rate, w = columns[begin + row].S, columns[begin + row].rate, parent.w
        rate[0], rate[1], rate[2] = crossed(w[0], w[1], w[2], S[0], S[1], S[2])
    for row in range(link.m_R):
        k = begin + link.m_T + row
        S, rate, w = columns[k].S, columns[k].rate, own.w
        rate[3], rate[4], rate[5] = crossed(w[0], w[1], w[2], S[3], S[4], S[5])


@kernel
def move_point(link, parent, own, columns, v):
    """Velocity of the reference point, after `move_link`."""
    w, r = parent.w, own.r
    x, y, z = crossed(w[0], w[1], w[2], r[0], r[1], r[2])
    for row in range(link.m_T):
        k = link.v_begin + row
        S = columns[k].S
        x, y, z = x + v[k] * S[0], y + v[k] * S[1], z + v[k] * S[2]
    own.u[0], own.u[1], own.u[2] = parent.u[0] + x, parent.u[1] + y, parent.u[2] + z


@kernel
def place_links(on, q):
    """`place_link` of all links."""
    charts, t = on.tree.charts, on.scratch[0]
    for b in range(on.tree.links.shape[0]):
        link = on.tree.links[b]
        place_link(charts, link, on.places[link.parent], q, on.places[b], t)


@kernel
def place_columns(on, q):
    """`place_link` and `find_columns` of all links."""
    charts, t = on.tree.charts, on.scratch[0]
    for b in range(on.tree.links.shape[0]):
        link = on.tree.links[b]
        place_link(charts, link, on.places[link.parent], q, on.places[b], t)
        find_columns(charts, link, on.places[link.parent], on.places[b], on.columns, t)
