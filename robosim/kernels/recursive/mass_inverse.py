"""Inverse of the mass matrix, in O(n depth): a unit force on each column, one after the other.

A column i of the inverse is what `forward_row` would answer to a unit force along i where nothing
else moves or pulls. On the way up only what i hangs on is pushed, and on the way down only columns
up to i are needed, as the inverse is symmetric.
"""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import crossed, dot6
from robosim.kernels.recursive.composite import mirror


@kernel
def mass_inverse_row(on, out):
    """out (nv, nv) = inverse of the mass matrix of one state, after `forward_row` of it."""
    links, nb = on.tree.links, on.tree.links.shape[0]
    world = on.places[nb].acc
    for i in range(6):
        world[i] = 0.0
    for b in range(nb):
        begin = links[b].v_begin
        for i in range(begin, begin + links[b].m_T + links[b].m_R):
            push_column(on, b, i, out[i])
            fall_to(on, b, i, out[i])
    mirror(out)


@kernel
def push_column(on, b, i, row):
    """row (nv,) = forces that are left along columns up to i, for a unit force along i."""
    links, columns, nb = on.tree.links, on.columns, on.tree.links.shape[0]
    f = on.scratch[0].f
    for k in range(i):
        row[k] = 0.0
    row[i] = 1.0
    for n in range(6):
        f[n] = columns[i].D * columns[i].U[n]
    last, up = i, b
    while up != nb:
        link, r = links[up], on.places[up].r
        for back in range(1, last - link.v_begin + 1):
            column = columns[last - back]
            u = -dot6(column.S, f)
            row[last - back] = u
            share = column.D * u
            for n in range(6):
                f[n] += share * column.U[n]
        x, y, z = crossed(r[0], r[1], r[2], f[0], f[1], f[2])
        f[3], f[4], f[5] = f[3] + x, f[4] + y, f[5] + z
        up = link.parent
        if up != nb:
            last = links[up].v_begin + links[up].m_T + links[up].m_R


@kernel
def fall_to(on, b, i, row):
    """row (nv,) = accelerations of columns up to i, of link b, from the forces that are left."""
    links, columns, places = on.tree.links, on.columns, on.places
    for up in range(b + 1):
        link, own, above = links[up], places[up], places[links[up].parent].acc
        acc, r = own.acc, own.r
        x, y, z = crossed(above[3], above[4], above[5], r[0], r[1], r[2])
        acc[0], acc[1], acc[2] = above[0] + x, above[1] + y, above[2] + z
        acc[3], acc[4], acc[5] = above[3], above[4], above[5]
        for k in range(link.v_begin, min(link.v_begin + link.m_T + link.m_R, i + 1)):
            column = columns[k]
            row[k] = column.D * (row[k] - dot6(column.U, acc))
            for n in range(6):
                acc[n] += row[k] * column.S[n]
