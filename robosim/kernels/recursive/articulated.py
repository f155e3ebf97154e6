"""Accelerations from forces: the articulated-body algorithm [Featherstone1983].

Joints are taken column by column: a joint of m velocities is m joints of one, in a row.
"""

from robosim.compiled.kinds import ANY_CHART
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import crossed, dot6, symmetric_times
from robosim.kernels.recursive.joints import move_link, place_link
from robosim.kernels.recursive.newton_euler import (
    follow_parent,
    hold_world,
    inverse_row,
    pass_force,
    push_links,
)
from robosim.kernels.recursive.passive import add_gyroscopic, add_passive

SINGULAR = 1e-13  # of an inertia along a column, over that of the link in all directions


@kernel
def rotated_inertia(link, R, out):
    """out = R diag(moments) R^T, symmetric."""
    A, B, C = link.moments[0], link.moments[1], link.moments[2]
    a, b, c = A * R[0, 0], B * R[0, 1], C * R[0, 2]
    out[0] = a * R[0, 0] + b * R[0, 1] + c * R[0, 2]
    out[1] = a * R[1, 0] + b * R[1, 1] + c * R[1, 2]
    out[2] = a * R[2, 0] + b * R[2, 1] + c * R[2, 2]
    a, b, c = A * R[1, 0], B * R[1, 1], C * R[1, 2]
    out[3] = a * R[1, 0] + b * R[1, 1] + c * R[1, 2]
    out[4] = a * R[2, 0] + b * R[2, 1] + c * R[2, 2]
    a, b, c = A * R[2, 0], B * R[2, 1], C * R[2, 2]
    out[5] = a * R[2, 0] + b * R[2, 1] + c * R[2, 2]


@kernel
def add_steiner(mass, x, y, z, out):
    """out += inertia of a mass at (x, y, z), symmetric."""
    mx, my, mz = mass * x, mass * y, mass * z
    out[0] += my * y + mz * z
    out[1] -= mx * y
    out[2] -= mx * z
    out[3] += mx * x + mz * z
    out[4] -= my * z
    out[5] += mx * x + my * y


@kernel
def start_articulated(link, own, inertia):
    """The rigid inertia of a link and, in own.f, the force that it takes at no acceleration."""
    m, x, y, z = link.mass, own.c[0], own.c[1], own.c[2]
    rotated_inertia(link, own.R, inertia.I)
    a, b, c = own.w[0], own.w[1], own.w[2]
    j, k, l = symmetric_times(inertia.I, a, b, c)  # noqa: E741
    j, k, l = crossed(a, b, c, j, k, l)  # noqa: E741
    e, f, g = crossed(a, b, c, x, y, z)
    e, f, g = crossed(a, b, c, e, f, g)
    e, f, g = m * e, m * f, m * g
    own.f[0], own.f[1], own.f[2] = e, f, g
    e, f, g = crossed(x, y, z, e, f, g)
    own.f[3], own.f[4], own.f[5] = j + e, k + f, l + g
    add_steiner(m, x, y, z, inertia.I)
    x, y, z = m * x, m * y, m * z
    H, M = inertia.H, inertia.M
    H[0, 0], H[0, 1], H[0, 2] = 0.0, z, -y
    H[1, 0], H[1, 1], H[1, 2] = -z, 0.0, x
    H[2, 0], H[2, 1], H[2, 2] = y, -x, 0.0
    M[0], M[1], M[2], M[3], M[4], M[5] = m, 0.0, 0.0, m, 0.0, m


@kernel
def turn_momentum(inertia, S, U):
    """U = momentum of the articulated inertia that moves by a hinge's column (0, n)."""
    H, x, y, z = inertia.H, S[3], S[4], S[5]
    for i in range(3):
        U[i] = H[i, 0] * x + H[i, 1] * y + H[i, 2] * z
    U[3], U[4], U[5] = symmetric_times(inertia.I, x, y, z)


@kernel
def slide_momentum(inertia, S, U):
    """The same for a column (d, 0)."""
    H, x, y, z = inertia.H, S[0], S[1], S[2]
    U[0], U[1], U[2] = symmetric_times(inertia.M, x, y, z)
    for i in range(3):
        U[3 + i] = H[0, i] * x + H[1, i] * y + H[2, i] * z


@kernel
def twist_momentum(inertia, S, U):
    """The same for any column; what it would be at the most if nothing were eliminated yet."""
    H, a, b, c, x, y, z = inertia.H, S[0], S[1], S[2], S[3], S[4], S[5]
    e, f, g = symmetric_times(inertia.M, a, b, c)
    U[0] = e + H[0, 0] * x + H[0, 1] * y + H[0, 2] * z
    U[1] = f + H[1, 0] * x + H[1, 1] * y + H[1, 2] * z
    U[2] = g + H[2, 0] * x + H[2, 1] * y + H[2, 2] * z
    e, f, g = symmetric_times(inertia.I, x, y, z)
    U[3] = e + H[0, 0] * a + H[1, 0] * b + H[2, 0] * c
    U[4] = f + H[0, 1] * a + H[1, 1] * b + H[2, 1] * c
    U[5] = g + H[0, 2] * a + H[1, 2] * b + H[2, 2] * c
    I, M = inertia.I, inertia.M  # noqa: E741
    turning = (I[0] + I[3] + I[5]) * (x * x + y * y + z * z)
    return turning + (M[0] + M[3] + M[5]) * (a * a + b * b + c * c)


@kernel
def eliminate(inertia, U, per):
    """inertia -= U U^T per."""
    I, H, M = inertia.I, inertia.H, inertia.M  # noqa: E741
    a, b, c, x, y, z = U[0], U[1], U[2], U[3], U[4], U[5]
    d, e, f = per * a, per * b, per * c
    M[0] -= d * a
    M[1] -= d * b
    M[2] -= d * c
    M[3] -= e * b
    M[4] -= e * c
    M[5] -= f * c
    H[0, 0] -= d * x
    H[0, 1] -= d * y
    H[0, 2] -= d * z
    H[1, 0] -= e * x
    H[1, 1] -= e * y
    H[1, 2] -= e * z
    H[2, 0] -= f * x
    H[2, 1] -= f * y
    H[2, 2] -= f * z
    d, e, f = per * x, per * y, per * z
    I[0] -= d * x
    I[1] -= d * y
    I[2] -= d * z
    I[3] -= e * y
    I[4] -= e * z
    I[5] -= f * z


@kernel
def add_bias(inertia, own):
    """own.f += inertia times the bias acceleration of the link."""
    H, c = inertia.H, own.bias
    x, y, z = symmetric_times(inertia.M, c[0], c[1], c[2])
    own.f[0] += x + H[0, 0] * c[3] + H[0, 1] * c[4] + H[0, 2] * c[5]
    own.f[1] += y + H[1, 0] * c[3] + H[1, 1] * c[4] + H[1, 2] * c[5]
    own.f[2] += z + H[2, 0] * c[3] + H[2, 1] * c[4] + H[2, 2] * c[5]
    x, y, z = symmetric_times(inertia.I, c[3], c[4], c[5])
    own.f[3] += x + H[0, 0] * c[0] + H[1, 0] * c[1] + H[2, 0] * c[2]
    own.f[4] += y + H[0, 1] * c[0] + H[1, 1] * c[1] + H[2, 1] * c[2]
    own.f[5] += z + H[0, 2] * c[0] + H[1, 2] * c[1] + H[2, 2] * c[2]


@kernel
def pass_inertia(own, inertia, above):
    """Add an articulated inertia to the parent's: H' = H - M [r], I' = I - H^T [r] + [r] H'."""
    M, H, x, y, z = inertia.M, inertia.H, own.r[0], own.r[1], own.r[2]
    I, J = inertia.I, above.I  # noqa: E741
    # Row by row: (m M) [r] = m x r.
    a, b, c = crossed(M[0], M[1], M[2], x, y, z)
    h00, h01, h02 = H[0, 0] - a, H[0, 1] - b, H[0, 2] - c
    a, b, c = crossed(M[1], M[3], M[4], x, y, z)
    h10, h11, h12 = H[1, 0] - a, H[1, 1] - b, H[1, 2] - c
    a, b, c = crossed(M[2], M[4], M[5], x, y, z)
    h20, h21, h22 = H[2, 0] - a, H[2, 1] - b, H[2, 2] - c
    for k in range(6):
        above.M[k] += M[k]
    G = above.H
    G[0, 0], G[0, 1], G[0, 2] = G[0, 0] + h00, G[0, 1] + h01, G[0, 2] + h02
    G[1, 0], G[1, 1], G[1, 2] = G[1, 0] + h10, G[1, 1] + h11, G[1, 2] + h12
    G[2, 0], G[2, 1], G[2, 2] = G[2, 0] + h20, G[2, 1] + h21, G[2, 2] + h22
    # H^T [r] by rows, columns of H crossed with r; [r] H' by columns, r crossed with them.
    a, b, c = crossed(H[0, 0], H[1, 0], H[2, 0], x, y, z)
    J[0] += I[0] - a + (y * h20 - z * h10)
    J[1] += I[1] - b + (y * h21 - z * h11)
    J[2] += I[2] - c + (y * h22 - z * h12)
    _, b, c = crossed(H[0, 1], H[1, 1], H[2, 1], x, y, z)
    J[3] += I[3] - b + (z * h01 - x * h21)
    J[4] += I[4] - c + (z * h02 - x * h22)
    _, _, c = crossed(H[0, 2], H[1, 2], H[2, 2], x, y, z)
    J[5] += I[5] - c + (x * h12 - y * h02)


@kernel
def resist(on, b, tau, held, given):
    """Take the joint of a link out of its articulated inertia; 1 + a coordinate without inertia.

    Columns that are held pass all of that inertia on, and the force of their given acceleration.
    """
    link, own, inertia = on.tree.links[b], on.places[b], on.articulated[b]
    middle = link.v_begin + link.m_T
    for back in range(1, link.m_T + link.m_R + 1):
        k = link.v_begin + link.m_T + link.m_R - back
        column = on.columns[k]
        if on.tree.charts is not None and link.kind == ANY_CHART:
            scale = twist_momentum(inertia, column.S, column.U)
        elif k >= middle:
            scale = inertia.I[0] + inertia.I[3] + inertia.I[5]
            turn_momentum(inertia, column.S, column.U)
        else:
            scale = inertia.M[0] + inertia.M[3] + inertia.M[5]
            slide_momentum(inertia, column.S, column.U)
        if held is not None and held[k] != 0:
            for i in range(6):
                own.f[i] += given[k] * column.U[i]
                column.U[i] = 0.0
            column.D, column.u = 1.0, given[k]
            continue
        D = dot6(column.S, column.U) + on.tree.coordinates[k].armature
        if not SINGULAR * scale < D:
            return k + 1
        per = 1.0 / D
        column.D, column.u = per, tau[k] - dot6(column.S, own.f)
        eliminate(inertia, column.U, per)
        share = per * column.u
        for i in range(6):
            own.f[i] += share * column.U[i]
    return 0


@kernel
def forward_row(on, weight, passive, held, given, q, v, tau, bodies, points, wrenches, a):
    """a (nv,) of one state; returns 1 + a coordinate that moves nothing, or 0.

    Where `held` (nv,) is not 0, accelerations are `given` (nv,), and tau does not count. None for
    neither.
    """
    links, places, columns = on.tree.links, on.places, on.columns
    charts, t = on.tree.charts, on.scratch[0]
    nb = links.shape[0]
    hold_world(on, weight)
    for b in range(nb):
        link = links[b]
        place_link(charts, link, places[link.parent], q, places[b], t)
        move_link(charts, link, places[link.parent], places[b], columns, q, v, t)
        start_articulated(link, places[b], on.articulated[b])
    push_links(on, bodies, points, wrenches)
    for k in range(a.shape[0]):
        a[k] = tau[k]
    if passive != 0:
        add_passive(on, q, v, 1.0, a)
    for up in range(1, nb + 1):
        b = nb - up
        link = links[b]
        if link.gyro != 0:
            add_gyroscopic(on, link, v, -1.0, a)
        failed = resist(on, b, a, held, given)
        if failed != 0:
            return failed
        if link.parent != nb:
            add_bias(on.articulated[b], places[b])
            pass_inertia(places[b], on.articulated[b], on.articulated[link.parent])
            pass_force(places[b], places[link.parent])
    for b in range(nb):
        link = links[b]
        fall(link, places[link.parent], places[b], columns, a)
    return 0


@kernel
def hybrid_row(
    on, weight, passive, held, given, q, v, tau, bodies, points, wrenches, a, forces, crossing
):
    """a (nv,), forces (nv,) and what crosses the joints (nb, 6); returns as `forward_row`."""
    failed = forward_row(on, weight, passive, held, given, q, v, tau, bodies, points, wrenches, a)
    if failed != 0:
        return failed
    inverse_row(on, weight, passive, q, v, a, bodies, points, wrenches, forces)
    for k in range(forces.shape[0]):
        if held[k] == 0:
            forces[k] = tau[k]
    for b in range(crossing.shape[0]):
        for i in range(6):
            crossing[b, i] = on.places[b].f[i]
    return 0


@kernel
def fall(link, parent, own, columns, a):
    """Accelerations of a joint and its link from the parent's."""
    follow_parent(parent, own)
    for k in range(link.v_begin, link.v_begin + link.m_T + link.m_R):
        column = columns[k]
        a[k] = column.D * (column.u - dot6(column.U, own.acc))
        for i in range(6):
            own.acc[i] += a[k] * column.S[i]
