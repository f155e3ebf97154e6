"""Mass matrix and momentum matrix: the composite-rigid-body algorithm."""

from robosim.compiled.kinds import ANY_CHART
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import crossed, dot6, symmetric_times
from robosim.kernels.recursive.articulated import add_steiner, rotated_inertia
from robosim.kernels.recursive.joints import place_columns

TILE = 16  # numbers: two cache lines


@kernel
def start_composite(link, own, body):
    """A link alone, about its reference point."""
    m, x, y, z = link.mass, own.c[0], own.c[1], own.c[2]
    body.mass = m
    body.h[0], body.h[1], body.h[2] = m * x, m * y, m * z
    rotated_inertia(link, own.R, body.I)
    add_steiner(m, x, y, z, body.I)


@kernel
def pass_composite(own, body, above):
    """Add what moves as one with a link to what does so with its parent."""
    m, x, y, z = body.mass, own.r[0], own.r[1], own.r[2]
    a, b, c = body.h[0], body.h[1], body.h[2]
    for k in range(6):
        above.I[k] += body.I[k]
    # Of m at r + c over that at c: twice the mixed terms, as of m (r . c) and m r c^T.
    add_steiner(m, x, y, z, above.I)
    above.I[0] += 2.0 * (y * b + z * c)
    above.I[1] -= x * b + y * a
    above.I[2] -= x * c + z * a
    above.I[3] += 2.0 * (x * a + z * c)
    above.I[4] -= y * c + z * b
    above.I[5] += 2.0 * (x * a + y * b)
    above.mass += m
    above.h[0] += a + m * x
    above.h[1] += b + m * y
    above.h[2] += c + m * z


@kernel
def column_momentum(body, S, F):
    """F = momentum about the reference point of a composite that moves by S."""
    h, m = body.h, body.mass
    a, b, c = crossed(S[3], S[4], S[5], h[0], h[1], h[2])
    F[0], F[1], F[2] = m * S[0] + a, m * S[1] + b, m * S[2] + c
    a, b, c = crossed(h[0], h[1], h[2], S[0], S[1], S[2])
    x, y, z = symmetric_times(body.I, S[3], S[4], S[5])
    F[3], F[4], F[5] = x + a, y + b, z + c


@kernel
def find_composites(on):
    """Composites of all links, at the places where they are."""
    links, nb = on.tree.links, on.tree.links.shape[0]
    for b in range(nb):
        start_composite(links[b], on.places[b], on.composite[b])
    for up in range(1, nb + 1):
        b = nb - up
        if links[b].parent != nb:
            pass_composite(on.places[b], on.composite[b], on.composite[links[b].parent])


@kernel
def mass_row(on, q, M):
    """Mass matrix (nv, nv) of one state, with rotors."""
    links, columns, nb = on.tree.links, on.columns, on.tree.links.shape[0]
    place_columns(on, q)
    find_composites(on)
    for i in range(M.shape[0]):
        for k in range(i + 1):
            M[i, k] = 0.0
    for b in range(nb):
        begin, n = links[b].v_begin, links[b].m_T + links[b].m_R
        for k in range(begin, begin + n):
            F = columns[k].U
            column_momentum(on.composite[b], columns[k].S, F)
            for i in range(begin, k + 1):
                M[k, i] = dot6(columns[i].S, F)
            M[k, k] += on.tree.coordinates[k].armature
            fill_above(on, b, F, M[k])
    mirror(M)


@kernel
def mirror(M):
    """The upper triangle from the lower one: tile by tile, as columns of a large one lie apart."""
    n = M.shape[0]
    for i in range(0, n, TILE):
        for k in range(0, i + 1, TILE):
            for row in range(i, min(i + TILE, n)):
                for column in range(k, min(k + TILE, row)):
                    M[column, row] = M[row, column]


@kernel
def fill_above(on, b, F, row):
    """Row of the mass matrix of a joint of link b, for the joints that this link hangs on."""
    links, columns, nb = on.tree.links, on.columns, on.tree.links.shape[0]
    f, g, h, x, y, z = F[0], F[1], F[2], F[3], F[4], F[5]
    while links[b].parent != nb:
        r = on.places[b].r
        d, e, j = crossed(r[0], r[1], r[2], f, g, h)
        x, y, z = x + d, y + e, z + j
        b = links[b].parent
        link = links[b]
        middle = link.v_begin + link.m_T
        if on.tree.charts is not None and link.kind == ANY_CHART:
            for i in range(link.v_begin, middle):
                S = columns[i].S
                row[i] = (f * S[0] + g * S[1] + h * S[2]) + (x * S[3] + y * S[4] + z * S[5])
            continue
        for i in range(link.v_begin, middle):
            S = columns[i].S
            row[i] = f * S[0] + g * S[1] + h * S[2]
        for i in range(middle, middle + link.m_R):
            S = columns[i].S
            row[i] = x * S[3] + y * S[4] + z * S[5]


@kernel
def find_center(on, out):
    """out (3,) = centre of mass of all links, which must have mass, after `place_links`."""
    links, mass = on.tree.links, 0.0
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    for b in range(links.shape[0]):
        m, own = links[b].mass, on.places[b]
        mass += m
        for i in range(3):
            out[i] += m * (own.p[i] + own.c[i])
    for i in range(3):
        out[i] /= mass


@kernel
def centroidal_row(on, q, v, center, momentum, matrix):
    """Momentum (6,) about the centre of mass, and its matrix (6, nv)."""
    links, columns = on.tree.links, on.columns
    place_columns(on, q)
    find_composites(on)
    find_center(on, center)
    for i in range(6):
        momentum[i] = 0.0
    for b in range(links.shape[0]):
        p = on.places[b].p
        x, y, z = p[0] - center[0], p[1] - center[1], p[2] - center[2]
        for k in range(links[b].v_begin, links[b].v_begin + links[b].m_T + links[b].m_R):
            F = columns[k].U
            column_momentum(on.composite[b], columns[k].S, F)
            d, e, f = crossed(x, y, z, F[0], F[1], F[2])
            F[3], F[4], F[5] = F[3] + d, F[4] + e, F[5] + f
            for i in range(6):
                matrix[i, k] = F[i]
                momentum[i] += F[i] * v[k]
