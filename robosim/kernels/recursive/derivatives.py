"""Derivatives of inverse dynamics by coordinates and velocities, in O(n depth) [Singh2022].

Spatial vectors are about one point that stays, in world axes: the place of the first link, so that
numbers are as large as the robot, wherever it is. Derivatives by coordinates are along the
tangent: of a free rotation, by turns of the child in its own axes, while the components of its
velocity stay. A joint is its translations one after the other, then its rotations together; a chart
is its hinges, slides and screws one after the other, and there are no others here.
"""

from robosim.compiled.kinds import ANY_CHART
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import crossed, dot6
from robosim.kernels.recursive.articulated import add_steiner, rotated_inertia
from robosim.kernels.recursive.composite import column_momentum, mirror
from robosim.kernels.recursive.joints import place_columns


@kernel
def cross_motion(v, m, out):
    """out = v x m, of twists."""
    a, b, c = crossed(v[3], v[4], v[5], m[0], m[1], m[2])
    d, e, f = crossed(v[0], v[1], v[2], m[3], m[4], m[5])
    out[0], out[1], out[2] = a + d, b + e, c + f
    out[3], out[4], out[5] = crossed(v[3], v[4], v[5], m[3], m[4], m[5])


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
def move_columns(on, b, v, a):
    """Columns of a joint about the origin, with what turns them; then twist and acceleration."""
    link, own, origin = on.tree.links[b], on.spatial[b], on.places[0].p
    above, p, begin = on.spatial[link.parent], on.places[b].p, link.v_begin
    for i in range(6):
        own.v[i], own.a[i] = above.v[i], above.a[i]
    for k in range(begin, begin + link.m_T):
        way, S = on.ways[k], on.columns[k].S
        for i in range(6):
            way.S[i] = S[i]
        if on.tree.charts is not None and link.kind == ANY_CHART:
            x, y, z = p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]
            x, y, z = crossed(x, y, z, S[3], S[4], S[5])
            way.S[0], way.S[1], way.S[2] = S[0] + x, S[1] + y, S[2] + z
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
        cross_motion(own.v, way.S, way.rate)
        for i in range(6):
            own.a[i] += a[k] * way.S[i] + v[k] * way.rate[i]


@kernel
def turn_column(own, way):
    """way.turn = v x S, way.turn2 = a x S + v x (v x S)."""
    cross_motion(own.v, way.S, way.turn)
    cross_motion(own.a, way.S, way.turn2)
    cross_motion(own.v, way.turn, way.rate)
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
        cross_motion(own.v, t.f, t.S_a[3])
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
        move_columns(on, b, v, a)
        start_link(on, b)
    for i in range(M.shape[0]):
        for k in range(M.shape[0]):
            by_q[i, k], by_v[i, k], M[i, k] = 0.0, 0.0, 0.0
    for back in range(1, nb + 1):
        b = nb - back
        link = links[b]
        middle, end = link.v_begin + link.m_T, link.v_begin + link.m_T + link.m_R
        for i in range(link.v_begin, end):
            answer_column(on, b, i)
            for k in range(link.v_begin, end):
                together = k == i or (k >= middle and i >= middle)
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
        if link.parent != nb:
            pass_link(on, b, link.parent)
    mirror(M)


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
