"""Derivatives of inverse dynamics by coordinates and velocities, in O(n depth) [Singh2022].

Spatial vectors are about one point that stays, in world axes: the place of the first link, so that
numbers are as large as the robot, wherever it is. Derivatives by coordinates are along the
tangent: of a free rotation, by turns of the child in its own axes, while the components of its
velocity stay. A joint is its translations one after the other, then its rotations together; all
coordinates of a chart are together.
"""

from robosim.compiled.kinds import ANY_CHART
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.chart import follow_chart, follow_motion
from robosim.kernels.equations.vectors import bracket, crossed, dot6, turned, turned_back
from robosim.kernels.recursive.articulated import add_steiner, rotated_inertia
from robosim.kernels.recursive.composite import column_momentum, mirror
from robosim.kernels.recursive.joints import place_columns, turn_twist


@kernel
def cross_force(v, f, out):
    """out = v x* f, of a twist and a wrench."""
    a, b, c = crossed(v[3], v[4], v[5], f[3], f[4], f[5])
    d, e, g = crossed(v[0], v[1], v[2], f[0], f[1], f[2])
    out[0], out[1], out[2] = crossed(v[3], v[4], v[5], f[0], f[1], f[2])
    out[3], out[4], out[5] = a + d, b + e, c + g


@kernel
def multiply_six(A, x, out):
    """out = A x, (6, 6) and (6,)."""
    for i in range(6):
        out[i] = dot6(A[i], x)


@kernel
def move_columns(charts, on, b, q, v, a):
    """Columns of a joint about the origin, with what turns them; then twist and acceleration."""
    link, own, origin = on.tree.links[b], on.spatial[b], on.places[0].p
    above, p, begin = on.spatial[link.parent], on.places[b].p, link.v_begin
    for i in range(6):
        own.v[i], own.a[i] = above.v[i], above.a[i]
    if charts is not None and link.kind == ANY_CHART:
        move_on_chart(charts, on, b, q, v, a)
        return
    for k in range(begin, begin + link.m_T):
        way, S = on.ways[k], on.columns[k].S
        for i in range(6):
            way.S[i] = S[i]
        turn_column(own, way)
        for i in range(6):
            way.rate[i] = way.turn[i]
            own.v[i] += v[k] * way.S[i]
            own.a[i] += a[k] * way.S[i] + v[k] * way.rate[i]
    middle, end = begin + link.m_T, begin + link.m_T + link.m_R
    for k in range(middle, end):
        way, S = on.ways[k], on.columns[k].S
        x, y, z = p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]
        way.S[0], way.S[1], way.S[2] = crossed(x, y, z, S[3], S[4], S[5])
        way.S[3], way.S[4], way.S[5] = S[3], S[4], S[5]
        turn_column(own, way)
    for k in range(middle, end):
        for i in range(6):
            own.v[i] += v[k] * on.ways[k].S[i]
    for k in range(middle, end):
        way = on.ways[k]
        bracket(own.v, way.S, way.rate)
        for i in range(6):
            own.a[i] += a[k] * way.S[i] + v[k] * way.rate[i]


@kernel
def move_on_chart(charts, on, b, q, v, a):
    """`move_columns` of a chart, whose columns change in the axes of the child as well.

    Moving one of them by dq changes what v is by S' dq, and what a is by (S'' + g x S) dq, with
    gravity g as an acceleration of the world.
    """
    link, own, t = on.tree.links[b], on.spatial[b], on.scratch[0]
    m, first, begin = link.m_T, link.q_begin, link.v_begin
    end = begin + m
    follow_motion(charts, link, q[first : first + m], v[begin:end], a[begin:end], t)
    for k in range(m):
        way = on.ways[begin + k]
        place_twist(on, b, t.c_S[k], way.S)
        place_twist(on, b, t.c_T[k], way.turn)
        place_twist(on, b, t.c_U[k], way.turn2)
        for i in range(6):
            own.v[i] += v[begin + k] * way.S[i]
    for k in range(begin, end):
        way = on.ways[k]
        bracket(own.v, way.S, way.rate)
        for i in range(6):
            way.rate[i] += way.turn[i]
            t.f[i] = way.rate[i] + way.turn[i]
            own.a[i] += a[k] * way.S[i] + v[k] * way.rate[i]
        bracket(own.v, t.f, t.S_a[0])
        for i in range(6):
            way.turn[i] = way.rate[i]
            way.turn2[i] += t.S_a[0, i]
    for k in range(begin, end):
        bracket(own.a, on.ways[k].S, t.f)
        for i in range(6):
            on.ways[k].turn2[i] += t.f[i]


@kernel
def place_twist(on, b, twist, out):
    """out (6,) = a twist of a chart's child in its own axes, about the origin in world axes."""
    place, origin = on.places[b], on.places[0].p
    turn_twist(on.tree.links[b], place.R, twist, out)
    x, y, z = place.p[0] - origin[0], place.p[1] - origin[1], place.p[2] - origin[2]
    x, y, z = crossed(x, y, z, out[3], out[4], out[5])
    out[0], out[1], out[2] = out[0] + x, out[1] + y, out[2] + z


@kernel
def add_bends(charts, on, b, q, by_q):
    """by_q += what the force beyond a chart does along its columns as these change by q."""
    if charts is None:
        return
    link, place, t = on.tree.links[b], on.places[b], on.scratch[0]
    f, origin, m = on.spatial[b].f, on.places[0].p, link.m_T
    x, y, z = place.p[0] - origin[0], place.p[1] - origin[1], place.p[2] - origin[2]
    x, y, z = crossed(x, y, z, f[0], f[1], f[2])
    # In axes of the child, about its joint point.
    d, e, g = turned_back(place.R, f[0], f[1], f[2])
    t.f[0], t.f[1], t.f[2] = turned(link.after, d, e, g)
    x, y, z = turned_back(place.R, f[3] - x, f[4] - y, f[5] - z)
    t.f[3], t.f[4], t.f[5] = turned(link.after, x, y, z)
    unit = t.c_x[:m]
    for k in range(m):
        for i in range(m):
            unit[i] = 1.0 if i == k else 0.0
        follow_chart(charts, link, q[link.q_begin : link.q_begin + m], unit, t)
        for i in range(m):
            by_q[link.v_begin + i, link.v_begin + k] += dot6(t.c_T[i], t.f)


@kernel
def turn_column(own, way):
    """way.turn = v x S, way.turn2 = a x S + v x (v x S)."""
    bracket(own.v, way.S, way.turn)
    bracket(own.a, way.S, way.turn2)
    bracket(own.v, way.turn, way.rate)
    for i in range(6):
        way.turn2[i] += way.rate[i]


@kernel
def start_link(on, b):
    """Inertia, force and B of a link alone, about the origin."""
    link, place, own, body = on.tree.links[b], on.places[b], on.spatial[b], on.composite[b]
    origin, t, m = on.places[0].p, on.scratch[0], link.mass
    x = place.p[0] + place.c[0] - origin[0]
    y = place.p[1] + place.c[1] - origin[1]
    z = place.p[2] + place.c[2] - origin[2]
    body.mass, body.h[0], body.h[1], body.h[2] = m, m * x, m * y, m * z
    rotated_inertia(link, place.R, body.I)
    add_steiner(m, x, y, z, body.I)
    # Momentum, its rate, and 2 B m = v x* (I m) - I (v x m) + m x* (I v), column by column.
    column_momentum(body, own.v, t.S_a[0])
    column_momentum(body, own.a, own.f)
    cross_force(own.v, t.S_a[0], t.S_a[1])
    for i in range(6):
        own.f[i] += t.S_a[1, i]
    for k in range(6):
        for i in range(6):
            t.f[i] = 0.0
        t.f[k] = 1.0
        column_momentum(body, t.f, t.S_a[1])
        cross_force(own.v, t.S_a[1], t.S_a[2])
        bracket(own.v, t.f, t.S_a[3])
        column_momentum(body, t.S_a[3], t.S_a[4])
        cross_force(t.f, t.S_a[0], t.S_a[5])
        for i in range(6):
            own.B[i, k] = t.S_a[2, i] - t.S_a[4, i] + t.S_a[5, i]


@kernel
def pass_link(on, b, a):
    """Add what is beyond a joint to its parent's link a."""
    own, above, body, sum_ = on.spatial[b], on.spatial[a], on.composite[b], on.composite[a]
    sum_.mass += body.mass
    for i in range(3):
        sum_.h[i] += body.h[i]
    for i in range(6):
        sum_.I[i] += body.I[i]
        above.f[i] += own.f[i]
        for k in range(6):
            above.B[i, k] += own.B[i, k]


@kernel
def answer_column(on, b, k):
    """How the force beyond joint b answers its column k, and the products for what is above."""
    own, way, t = on.spatial[b], on.ways[k], on.scratch[0]
    column_momentum(on.composite[b], way.S, way.IS)
    for i in range(6):
        s = 0.0
        for n in range(6):
            s += own.B[n, i] * way.S[n]
        way.BS[i] = s
    multiply_six(own.B, way.turn, way.by_q)
    column_momentum(on.composite[b], way.turn2, t.S_a[0])
    cross_force(way.S, own.f, t.S_a[1])
    multiply_six(own.B, way.S, way.by_v)
    for i in range(6):
        t.f[i] = way.turn[i] + way.rate[i]
    column_momentum(on.composite[b], t.f, t.S_a[2])
    for i in range(6):
        way.by_q[i] += t.S_a[0, i] + t.S_a[1, i]
        way.by_v[i] += t.S_a[2, i]


@kernel
def relate(on, i, k, above, by_q, by_v, M):
    """Entries of column i, and of column k that it hangs on (`above` 1) or is together with."""
    mine, other = on.ways[i], on.ways[k]
    by_q[i, k] = dot6(mine.BS, other.turn) + dot6(mine.IS, other.turn2)
    s = 0.0
    for n in range(6):
        s += mine.IS[n] * (other.turn[n] + other.rate[n])
    by_v[i, k] = dot6(mine.BS, other.S) + s
    if k <= i:
        M[i, k] = dot6(mine.IS, other.S)
    if above != 0:
        by_q[k, i] = dot6(other.S, mine.by_q)
        by_v[k, i] = dot6(other.S, mine.by_v)


@kernel
def derivatives_row(on, q, v, a, by_q, by_v, M):
    """Derivatives (nv, nv) of tau by q along the tangent and by v, and the mass matrix."""
    links, nb = on.tree.links, on.tree.links.shape[0]
    world = on.spatial[nb]
    for i in range(3):
        world.a[i] = -on.tree.gravity[i]
    place_columns(on, q)
    for b in range(nb):
        move_columns(on.tree.charts, on, b, q, v, a)
        start_link(on, b)
    for i in range(M.shape[0]):
        for k in range(M.shape[0]):
            by_q[i, k], by_v[i, k], M[i, k] = 0.0, 0.0, 0.0
    for back in range(1, nb + 1):
        b = nb - back
        link = links[b]
        middle, end = link.v_begin + link.m_T, link.v_begin + link.m_T + link.m_R
        charted = link.kind == ANY_CHART
        for i in range(link.v_begin, end):
            answer_column(on, b, i)
            for k in range(link.v_begin, end):
                together = k == i or charted or (k >= middle and i >= middle)
                if together or k < i:
                    relate(on, i, k, 0 if together else 1, by_q, by_v, M)
            up = link.parent
            while up != nb:
                first = links[up].v_begin
                for k in range(first, first + links[up].m_T + links[up].m_R):
                    relate(on, i, k, 1, by_q, by_v, M)
                up = links[up].parent
            M[i, i] += on.tree.coordinates[i].armature
        if link.gyro != 0:
            add_gyroscopic_slope(on, middle, v, by_v)
        if charted:
            add_bends(on.tree.charts, on, b, q, by_q)
        if link.parent != nb:
            pass_link(on, b, link.parent)
    mirror(M)


@kernel
def spatial_row(on, q, v, a, origin, columns, motions):
    """What moves the tree, without gravity, about a point (3,) that stays, in world axes.

    Of each column S, S' and S'' (nv, 3, 6) as `turn` and `turn2` are; of each link its twist and
    the rate of that (nb, 2, 6).
    """
    nb = on.tree.links.shape[0]
    for i in range(6):
        on.spatial[nb].a[i] = 0.0
    place_columns(on, q)
    for i in range(3):
        origin[i] = on.places[0].p[i]
    for b in range(nb):
        move_columns(on.tree.charts, on, b, q, v, a)
        for i in range(6):
            motions[b, 0, i], motions[b, 1, i] = on.spatial[b].v[i], on.spatial[b].a[i]
    for k in range(columns.shape[0]):
        way = on.ways[k]
        for i in range(6):
            columns[k, 0, i], columns[k, 1, i] = way.S[i], way.turn[i]
            columns[k, 2, i] = way.turn2[i]


@kernel
def add_gyroscopic_slope(on, k, v, by_v):
    """by_v += derivative of omega x (A omega) of a free rotation's rotors A."""
    c = on.tree.coordinates
    for i in range(3):
        m, n = (i + 1) % 3, (i + 2) % 3
        # Entry i is omega_m A_n omega_n - omega_n A_m omega_m.
        difference = c[k + n].armature - c[k + m].armature
        by_v[k + i, k + m] += difference * v[k + n]
        by_v[k + i, k + n] += difference * v[k + m]
