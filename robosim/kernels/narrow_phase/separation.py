"""The best separating axis of two polytopes: a normal of a face, or one across two edges.

Along it the shapes are farthest apart or, where they overlap, overlap least. Only what is within
reach of the other shape has to be tried: the distance, or a bound of the depth, tells how far.

A triangle of a terrain is one-sided and knows its neighbours: a normal that a neighbour would
answer for is refused, so that nothing catches on an edge inside a flat or hollow surface.
"""

from math import inf

from robosim.compiled.kinds import CROSSING, FACE_1, FACE_2, NOTHING
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, cross, dot, rotate_back
from robosim.kernels.narrow_phase.apart import SMALL, climb
from robosim.kernels.narrow_phase.clip import ALIKE
from robosim.kernels.narrow_phase.gjk import distance
from robosim.kernels.narrow_phase.points import (
    farthest_listed,
    nearest_listed,
    normalize,
    offset_dot,
)


@kernel
def allowed(scratch, n):
    """Whether a triangle of a terrain, rather than its neighbours, may answer for a normal.

    It looks out of the ground. Where the triangle is farthest along it the terrain around must not
    be farther: about an edge the corner beyond it, about a corner all corners around.
    """
    pair, vertices = scratch.pair[0], scratch.vertices[0]
    if pair.one_sided == 0:
        return True
    if dot(n, scratch.normals[0, 0].p) < -1e-9:
        return False
    top = farthest_listed(scratch, 0, n)
    height, slack = dot(vertices[top].p, n), 1e-6 * pair.scale
    following, previous = (top + 1) % 3, (top + 2) % 3
    level_1 = dot(vertices[following].p, n) > height - slack
    level_2 = dot(vertices[previous].p, n) > height - slack
    if level_1 and level_2:
        return True
    if level_1 or level_2:
        edge = top if level_1 else previous
        beyond = scratch.opposite[edge].p
        return pair.has_opposite[edge] == 0 or dot(beyond, n) < height + slack
    for k in range(pair.ring[top], pair.ring[top + 1]):
        if dot(scratch.around[k].p, n) > height + slack:
            return False
    return True


@kernel
def depth(scratch, n):
    """How far the cores overlap along a direction, negative where it parts them."""
    a, b = scratch.vertices[0], scratch.vertices[1]
    i, j = farthest_listed(scratch, 0, n), nearest_listed(scratch, 1, n)
    return offset_dot(n, a[i].p, b[j].p)


@kernel
def find_reach(scratch, gap):
    """How far the best axis may part the cores from touching, along a good direction, pair.n.

    The depth along any direction is a bound. Of cores that overlap it is the direction between
    them once they are moved apart, which is near the best one where they overlap little.
    """
    pair = scratch.pair[0]
    if gap > 0.0:
        return gap
    if pair.one_sided == 1:
        assign(scratch.normals[0, 0].p, pair.n)
        return max(depth(scratch, pair.n), 0.0)
    if pair.depth < inf:
        assign(pair.plane, pair.n)
        return max(pair.depth, 0.0)
    bound = depth(scratch, pair.n)
    for c in range(3):
        pair.m[c] = pair.n[c]
        pair.shift[c] = (bound + 1e-3 * pair.scale) * pair.n[c]
    distance(scratch, inf)
    for c in range(3):
        pair.shift[c] = 0.0
    better = depth(scratch, pair.n)
    if better < bound:
        return max(better, 0.0)
    assign(pair.m, pair.n)
    return max(bound, 0.0)


@kernel
def mark_heights(scratch, reach):
    """Heights of all vertices towards the other core, and the level that is in reach of it.

    What the best axis is made of lies within reach of the other core: within its bounds, and no
    deeper behind the plane between the two.
    """
    n = scratch.pair[0].n
    sign = 1.0
    for k in range(2):
        poly, vertices = scratch.poly[k], scratch.vertices[k]
        top = -inf
        for m in range(poly.listed_vertices):
            i = scratch.listed.vertices[k, m]
            vertices[i].height = sign * dot(vertices[i].p, n)
            top = max(top, vertices[i].height)
        scratch.poly[1 - k].level = -top - reach
        sign = -1.0


@kernel
def is_far(vertices, loops, begin, end, level, poly, reach):
    """Whether the vertices loops[begin:end] are out of reach of a polytope."""
    top = -inf
    for k in range(begin, end):
        top = max(top, vertices[loops[k]].height)
    if top < level:
        return True
    for c in range(3):
        low, high = inf, -inf
        for k in range(begin, end):
            x = vertices[loops[k]].p[c]
            low, high = min(low, x), max(high, x)
        if low > poly.upper[c] + reach or high < poly.lower[c] - reach:
            return True
    return False


@kernel
def is_edge_far(scratch, which, row, reach, gap):
    """Whether an edge of a polytope, a row of `edges`, cannot be what parts the shapes.

    It is out of reach of the other one, or, as of faces, the nearest point does not lie on it.
    """
    own, poly = scratch.poly[which], scratch.poly[1 - which]
    if gap > 0.0 and own.n_vertices > SMALL:
        at_v = holds_nearest(scratch, which, row[0])
        return not (at_v or holds_nearest(scratch, which, row[1]))
    v, w = scratch.vertices[which, row[0]], scratch.vertices[which, row[1]]
    if max(v.height, w.height) < own.level:
        return True
    p, q = v.p, w.p
    for c in range(3):
        if min(p[c], q[c]) > poly.upper[c] + reach or max(p[c], q[c]) < poly.lower[c] - reach:
            return True
    return False


@kernel
def holds_nearest(scratch, which, v):
    """Whether the point of a shape that is nearest to the other one is a mean of vertex v too."""
    pair = scratch.pair[0]
    for k in range(pair.size):
        if (pair.ia[k] if which == 0 else pair.ib[k]) == v:
            return True
    return False


@kernel
def is_face_far(scratch, topology, owner, f, reach, gap):
    """Whether a face of a polytope cannot be what parts the shapes.

    Of many faces those count, if the shapes are apart, that the nearest point may lie on.
    """
    poly, other = scratch.poly[owner], scratch.poly[1 - owner]
    begin, end = topology.faces[poly.face_begin + f, 0], topology.faces[poly.face_begin + f, 1]
    if gap > 0.0 and poly.n_vertices > SMALL:
        for k in range(begin, end):
            if holds_nearest(scratch, owner, topology.loops[k]):
                return False
        return True
    vertices = scratch.vertices[owner]
    return is_far(vertices, topology.loops, begin, end, poly.level, other, reach)


@kernel
def parted_by(scratch, data, which, N, p):
    """How far a shape is on the other side of a plane through p (3,), with the normal N (3,)."""
    poly = scratch.poly[which]
    if poly.n_vertices <= SMALL:
        return offset_dot(N, scratch.vertices[which, nearest_listed(scratch, which, N)].p, p)
    back = scratch.pair[0].m
    rotate_back(poly.R, N, back)
    for k in range(3):
        back[k] = -back[k]
    poly.lowest = climb(data, poly.vertex_begin, back, poly.lowest)
    return offset_dot(N, poly.x, p) - dot(data.vertices[poly.vertex_begin + poly.lowest].p, back)


@kernel
def try_faces(scratch, data, owner, reach, tolerance, gap):
    """The face of polytope `owner` that separates best, if better than pair.separation.

    Faces of the second one have to be better by the tolerance.
    """
    pair, poly, topology = scratch.pair[0], scratch.poly[owner], data.topology
    vertices, normals = scratch.vertices[owner], scratch.normals[owner]
    least = pair.separation + owner * tolerance
    for k in range(poly.listed_faces):
        f = scratch.listed.faces[owner, k]
        if is_face_far(scratch, topology, owner, f, reach, gap):
            continue
        N, corner = normals[f].p, topology.loops[topology.faces[poly.face_begin + f, 0]]
        s = parted_by(scratch, data, 1 - owner, N, vertices[corner].p)
        if s > least:
            if owner == 1:
                for c in range(3):
                    pair.axis[c] = -N[c]
                if not allowed(scratch, pair.axis):
                    continue
            pair.separation, pair.best_kind, pair.best_1, least = s, FACE_1 + owner, f, s


@kernel
def meet_inside(a, e, b, g):
    """Whether two lines, from a along e and from b along g, are nearest between their ends."""
    ee, gg, eg, er, gr = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        r = b[k] - a[k]
        ee += e[k] * e[k]
        gg += g[k] * g[k]
        eg += e[k] * g[k]
        er += e[k] * r
        gr += g[k] * r
    size = ee * gg - eg * eg
    s, t = gg * er - eg * gr, eg * er - ee * gr
    slack = 1e-9 * size
    return s >= -slack and s <= size + slack and t >= -slack and t <= size + slack


@kernel
def try_edges(scratch, topology, reach, tolerance, gap):
    """The two edges that separate best, if better than pair.separation by the tolerance.

    Only edges whose arcs on the sphere of normals cross make a face of the difference of the
    two polytopes [Gregorius2013].
    """
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    a_points, b_points = scratch.vertices[0], scratch.vertices[1]
    near, count = scratch.near, 0
    if second.n_faces == 0:
        return
    for k in range(second.listed_edges):
        j = scratch.listed.edges[1, k]
        row = topology.edges[second.edge_begin + j]
        if not is_edge_far(scratch, 1, row, reach, gap):
            near[count] = j
            count += 1
    e, g, n, ba, dc = pair.e, pair.g, pair.m, pair.ba, pair.dc
    for m in range(first.listed_edges):
        i = scratch.listed.edges[0, m]
        row = topology.edges[first.edge_begin + i]
        if is_edge_far(scratch, 0, row, reach, gap):
            continue
        a, b = scratch.normals[0, row[2]].p, scratch.normals[0, row[3]].p
        cross(b, a, ba)
        for c in range(3):
            e[c] = a_points[row[1]].p[c] - a_points[row[0]].p[c]
        length_e = dot(e, e)
        for k in range(count):
            column = topology.edges[second.edge_begin + near[k]]
            # The normals of the second shape count with the other sign.
            c_normal = scratch.normals[1, column[2]].p
            d_normal = scratch.normals[1, column[3]].p
            cba, dba = -dot(c_normal, ba), -dot(d_normal, ba)
            if not cba * dba < 0.0:
                continue
            cross(d_normal, c_normal, dc)
            adc, bdc = dot(a, dc), dot(b, dc)
            if not (adc * bdc < 0.0 and cba * bdc > 0.0):
                continue
            for c in range(3):
                g[c] = b_points[column[1]].p[c] - b_points[column[0]].p[c]
            cross(e, g, n)
            if dot(n, n) < 1e-12 * length_e * dot(g, g):
                continue
            normalize(n)
            if dot(n, a) + dot(n, b) < 0.0:
                for c in range(3):
                    n[c] = -n[c]
            p, q = a_points[row[0]].p, b_points[column[0]].p
            s = offset_dot(n, q, p)
            if s > pair.separation + tolerance:
                # Lines may part a triangle of a terrain far from where its edge is.
                if pair.one_sided == 1 and not meet_inside(p, e, q, g):
                    continue
                pair.separation, pair.best_kind = s, CROSSING
                pair.best_1, pair.best_2 = i, near[k]
                assign(n, pair.axis)


@kernel
def separate(scratch, data, gap):
    """The best separating axis into pair: separation, best_kind, best_1, best_2, axis.

    Of axes that are as good but for ALIKE it is a normal of the first shape, or else of the second:
    where faces lie on each other, rounding would choose another one in each step.
    """
    pair = scratch.pair[0]
    pair.separation, pair.best_kind = -inf, NOTHING
    reach = find_reach(scratch, gap) + 1e-6 * pair.scale
    mark_heights(scratch, reach)
    tolerance = ALIKE * pair.scale
    for owner in range(2):
        try_faces(scratch, data, owner, reach, tolerance, gap)
    try_edges(scratch, data.topology, reach, tolerance, gap)
    if pair.best_kind == FACE_1:
        assign(scratch.normals[0, pair.best_1].p, pair.axis)
    elif pair.best_kind == FACE_2:
        for c in range(3):
            pair.axis[c] = -scratch.normals[1, pair.best_1].p[c]
