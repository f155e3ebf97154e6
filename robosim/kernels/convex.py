"""Two convex shapes: distance (GJK), separating axes, clipped faces, and candidates for contact.

All is in the frame of the first shape. ``scratch.poly[0]`` is the first shape, a polytope or one
triangle of a terrain, ``scratch.poly[1]`` the second one: a polytope, or a point or a segment
with a radius around it. Vertices and face normals lie in ``scratch.vertices`` and
``scratch.normals``, faces and edges in the flat arrays of ``topology`` (robosim.collision). Normals
point from the first shape to the second.

A triangle of a terrain is one-sided and knows its neighbours: a normal that a neighbour would
answer for is refused, so that nothing catches on an edge inside a flat or hollow surface.
"""

from math import inf, sqrt

from robosim.kernels.algebra import assign, cross, dot
from robosim.kernels.jit import kernel

CYLINDER = 2  # a kind of shape, as in robosim.collision
PLANE = 0  # kinds of features
ROUND = 1
EDGE = 2
NOTHING = 0  # what the best separating axis is made of
FACE_1 = 1
FACE_2 = 2
CROSSING = 3
FACES = ((0, 1, 2, 3), (0, 3, 1, 2), (0, 2, 3, 1), (1, 3, 2, 0))  # of a tetrahedron
ALIGNED = 0.95  # cosine below which a face takes no part in a contact
UPRIGHT = 0.2  # sine of the angle of axis and normal below which a cylinder stands on its rim


@kernel
def offset_dot(n, a, b):
    """n . (a - b)."""
    return n[0] * (a[0] - b[0]) + n[1] * (a[1] - b[1]) + n[2] * (a[2] - b[2])


@kernel
def normalize(a):
    """a / |a| in place; returns |a|."""
    length = sqrt(dot(a, a))
    if length > 0.0:
        for i in range(3):
            a[i] /= length
    return length


@kernel
def clamp(value, low, high):
    return min(max(value, low), high)


# Distance


@kernel
def farthest(vertices, n, direction):
    """Index of the vertex farthest along a direction."""
    best, index = -inf, 0
    for i in range(n):
        s = dot(vertices[i].p, direction)
        if s > best:
            best, index = s, i
    return index


@kernel
def nearest(vertices, n, direction):
    """Index of the vertex least far along a direction."""
    best, index = inf, 0
    for i in range(n):
        s = dot(vertices[i].p, direction)
        if s < best:
            best, index = s, i
    return index


@kernel
def nearest_on_segment(W, i, j):
    """Weights of the points i and j whose mean is nearest to the origin."""
    length, along = 0.0, 0.0
    for k in range(3):
        e = W[j, k] - W[i, k]
        length += e * e
        along -= W[i, k] * e
    if along <= 0.0:
        return 1.0, 0.0
    if along >= length:
        return 0.0, 1.0
    return 1.0 - along / length, along / length


@kernel
def nearest_on_triangle(W, i, j, k):
    """Weights of the points i, j, k whose mean is nearest to the origin [Ericson2005, 5.1.5]."""
    d1, d2, d3, d4, d5, d6 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(3):
        ab, ac = W[j, c] - W[i, c], W[k, c] - W[i, c]
        d1 -= ab * W[i, c]
        d2 -= ac * W[i, c]
        d3 -= ab * W[j, c]
        d4 -= ac * W[j, c]
        d5 -= ab * W[k, c]
        d6 -= ac * W[k, c]
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return 1.0 - t, t, 0.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return 1.0 - t, 0.0, t
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - t, t
    scale = 1.0 / (va + vb + vc)
    return 1.0 - (vb + vc) * scale, vb * scale, vc * scale


@kernel
def volume(W, i, j, k):
    """Six times the signed volume of the tetrahedron of i, j, k and the origin."""
    a, b, c = W[i], W[j], W[k]
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


@kernel
def try_face(W, i, j, k, other, weight, best):
    """Weights of the face i, j, k of a tetrahedron if it is nearer to the origin than `best`."""
    u, v, w = nearest_on_triangle(W, i, j, k)
    square = 0.0
    for c in range(3):
        x = u * W[i, c] + v * W[j, c] + w * W[k, c]
        square += x * x
    if square < best:
        weight[i], weight[j], weight[k], weight[other] = u, v, w, 0.0
        return square
    return best


@kernel
def nearest_on_tetrahedron(W, weight):
    """Weights of the point of four that is nearest to the origin; whether that is inside.

    All faces are tried, and inside is where the origin is on one side of all of them: the volume of
    a tetrahedron that is nearly flat has no sign that could be trusted.
    """
    best, above, below = inf, 0, 0
    for face in range(4):
        i, j, k, other = FACES[face]
        side = volume(W, i, j, k)
        above += 1 if side > 0.0 else 0
        below += 1 if side < 0.0 else 0
        best = try_face(W, i, j, k, other, weight, best)
    return above == 4 or below == 4


@kernel
def shrink_simplex(pair, n):
    """The point of the simplex nearest to the origin into pair.v; the size of what it needs."""
    W, weight = pair.W, pair.weight
    if n == 1:
        weight[0] = 1.0
    elif n == 2:
        weight[0], weight[1] = nearest_on_segment(W, n - 2, n - 1)
    elif n == 3:
        weight[0], weight[1], weight[2] = nearest_on_triangle(W, n - 3, n - 2, n - 1)
    elif nearest_on_tetrahedron(W, weight):
        return 4
    kept = 0
    for c in range(3):
        pair.v[c] = 0.0
    for i in range(n):
        if weight[i] > 0.0:
            for c in range(3):
                pair.v[c] += weight[i] * W[i, c]
                W[kept, c] = W[i, c]
            weight[kept], pair.ia[kept], pair.ib[kept] = weight[i], pair.ia[i], pair.ib[i]
            kept += 1
    return kept


@kernel
def distance(scratch, margin):
    """Distance of the two cores [m], 0 where they overlap, inf where it is above the margin.

    Gilbert, Johnson and Keerthi: the point of the set of differences (second minus first) that
    is nearest to the origin. pair.n is the normal, pair.pa and pair.pb are the nearest points;
    of cores that overlap, pair.n is the last direction that was looked along. The second one
    counts as moved by pair.shift.
    """
    pair, a, b = scratch.pair[0], scratch.vertices[0], scratch.vertices[1]
    na, nb = scratch.poly[0].n_vertices, scratch.poly[1].n_vertices
    W, v, n = pair.W, pair.v, pair.n
    size, square = 0, inf
    for c in range(3):
        v[c] = b[0].p[c] + pair.shift[c] - a[0].p[c]
    if dot(v, v) == 0.0:
        v[2] = pair.scale
    smallest = 1e-14 * pair.scale
    for _ in range(100):
        vv = dot(v, v)
        if vv < smallest * smallest or vv >= square:
            break
        if size > 0:
            square = vv
        assign(v, n)
        normalize(n)
        i, j = farthest(a, na, v), nearest(b, nb, v)
        for c in range(3):
            W[size, c] = b[j].p[c] + pair.shift[c] - a[i].p[c]
        vw = v[0] * W[size, 0] + v[1] * W[size, 1] + v[2] * W[size, 2]
        if vw > 0.0 and vw > margin * sqrt(vv):
            return inf
        known = False
        for k in range(size):
            if pair.ia[k] == i and pair.ib[k] == j:
                known = True
        if known or (size > 0 and vv - vw <= 1e-14 * vv):
            break
        pair.ia[size], pair.ib[size] = i, j
        size = shrink_simplex(pair, size + 1)
        if size == 4:
            return 0.0
    length = sqrt(dot(v, v))
    if not length > 1e-7 * pair.scale:
        # Too near to trust the direction: separating axes decide.
        return 0.0
    for c in range(3):
        n[c] = v[c] / length
        pair.pa[c], pair.pb[c] = 0.0, 0.0
        for k in range(size):
            pair.pa[c] += pair.weight[k] * a[pair.ia[k]].p[c]
            pair.pb[c] += pair.weight[k] * b[pair.ib[k]].p[c]
    return length


# Separating axes


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
    top = farthest(vertices, scratch.poly[0].n_vertices, n)
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
    i = farthest(a, scratch.poly[0].n_vertices, n)
    j = nearest(b, scratch.poly[1].n_vertices, n)
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
        for i in range(poly.n_vertices):
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
def is_edge_far(v, w, level, poly, reach):
    """Whether the edge of two vertices is out of reach of a polytope."""
    if max(v.height, w.height) < level:
        return True
    p, q = v.p, w.p
    for c in range(3):
        if min(p[c], q[c]) > poly.upper[c] + reach or max(p[c], q[c]) < poly.lower[c] - reach:
            return True
    return False


@kernel
def try_faces(scratch, topology, owner, reach):
    """The face of polytope `owner` that separates best, if better than pair.separation."""
    pair, poly, other = scratch.pair[0], scratch.poly[owner], scratch.poly[1 - owner]
    vertices, normals = scratch.vertices[owner], scratch.normals[owner]
    points = scratch.vertices[1 - owner]
    for f in range(poly.n_faces):
        begin, end = topology.faces[poly.face_begin + f, 0], topology.faces[poly.face_begin + f, 1]
        if is_far(vertices, topology.loops, begin, end, poly.level, other, reach):
            continue
        N = normals[f].p
        deepest = points[nearest(points, other.n_vertices, N)].p
        s = offset_dot(N, deepest, vertices[topology.loops[begin]].p)
        if s > pair.separation:
            if owner == 1:
                for c in range(3):
                    pair.axis[c] = -N[c]
                if not allowed(scratch, pair.axis):
                    continue
            pair.separation, pair.best_kind, pair.best_1 = s, FACE_1 + owner, f


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
def try_edges(scratch, topology, reach, tolerance):
    """The two edges that separate best, if better than pair.separation by the tolerance.

    Only edges whose arcs on the sphere of normals cross make a face of the difference of the
    two polytopes [Gregorius2013].
    """
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    a_points, b_points = scratch.vertices[0], scratch.vertices[1]
    near, count = scratch.near, 0
    if second.n_faces == 0:
        return
    for j in range(second.n_edges):
        row = topology.edges[second.edge_begin + j]
        if not is_edge_far(b_points[row[0]], b_points[row[1]], second.level, first, reach):
            near[count] = j
            count += 1
    e, g, n, ba, dc = pair.e, pair.g, pair.m, pair.ba, pair.dc
    for i in range(first.n_edges):
        row = topology.edges[first.edge_begin + i]
        if is_edge_far(a_points[row[0]], a_points[row[1]], first.level, second, reach):
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
def separate(scratch, topology, gap):
    """The best separating axis into pair: separation, best_kind, best_1, best_2, axis."""
    pair = scratch.pair[0]
    pair.separation, pair.best_kind = -inf, NOTHING
    reach = find_reach(scratch, gap) + 1e-6 * pair.scale
    mark_heights(scratch, reach)
    for owner in range(2):
        try_faces(scratch, topology, owner, reach)
    try_edges(scratch, topology, reach, 1e-10 * pair.scale)
    if pair.best_kind == FACE_1:
        assign(scratch.normals[0, pair.best_1].p, pair.axis)
    elif pair.best_kind == FACE_2:
        for c in range(3):
            pair.axis[c] = -scratch.normals[1, pair.best_1].p[c]


# Candidates


@kernel
def new_candidate(scratch, gap, identifier):
    """The next free candidate, common fields filled; the last one again once there are too many."""
    pair = scratch.pair[0]
    c = scratch.candidates[pair.count]
    pair.count = min(pair.count + 1, scratch.candidates.shape[0] - 1)
    c.gap, c.owner, c.sign = gap, 0, 1.0
    c.id = pair.triangle * 4294967296 + identifier
    c.radius_1, c.radius_2, c.stand_in = 0.0, 0.0, inf
    for k in range(3):
        c.a1[k], c.b1[k] = 0.0, 0.0
    return c


@kernel
def add_plane(scratch, origin, n, p, radius, identifier):
    """Point p of one shape against a plane of the other, pair.owner; n from there to the point."""
    pair = scratch.pair[0]
    owner = pair.owner
    gap = offset_dot(n, p, origin) - radius
    if not gap < pair.margin:
        return
    c = new_candidate(scratch, gap, identifier)
    c.kind, c.owner = PLANE, owner
    if owner == 0:
        assign(origin, c.a0)
        assign(n, c.a1)
        assign(p, c.b0)
        c.radius_2 = radius
    else:
        assign(origin, c.b0)
        assign(n, c.b1)
        assign(p, c.a0)
        c.radius_1 = radius
    for k in range(3):
        c.normal[k] = n[k] if owner == 0 else -n[k]
        c.point[k] = p[k] - radius * n[k]


@kernel
def segment_parameters(a0, a1, b0, b1):
    """Where two segments are nearest, as fractions of each [Ericson2005, 5.1.9]."""
    a, e, f, c, b = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        d1, d2, r = a1[k] - a0[k], b1[k] - b0[k], a0[k] - b0[k]
        a += d1 * d1
        e += d2 * d2
        f += d2 * r
        c += d1 * r
        b += d1 * d2
    if a == 0.0:
        return 0.0, clamp(f / e, 0.0, 1.0) if e > 0.0 else 0.0
    if e == 0.0:
        return clamp(-c / a, 0.0, 1.0), 0.0
    sine2 = a * e - b * b
    s = clamp((b * f - c * e) / sine2, 0.0, 1.0) if sine2 > 1e-14 * a * e else 0.0
    t = (b * s + f) / e
    if t < 0.0:
        return clamp(-c / a, 0.0, 1.0), 0.0
    if t > 1.0:
        return clamp((b - c) / a, 0.0, 1.0), 1.0
    return s, t


@kernel
def add_round(scratch, a0, a1, b0, b1, radius_1, radius_2, identifier):
    """Two segments with radii, as one feature."""
    pair = scratch.pair[0]
    s, t = segment_parameters(a0, a1, b0, b1)
    square = 0.0
    for k in range(3):
        x = (1.0 - t) * b0[k] + t * b1[k] - (1.0 - s) * a0[k] - s * a1[k]
        square += x * x
    length = sqrt(square)
    gap = length - radius_1 - radius_2
    if not gap < pair.margin:
        return
    c = new_candidate(scratch, gap, identifier)
    c.kind = ROUND
    c.radius_1, c.radius_2 = radius_1, radius_2
    assign(a0, c.a0)
    assign(a1, c.a1)
    assign(b0, c.b0)
    assign(b1, c.b1)
    for k in range(3):
        p = (1.0 - s) * a0[k] + s * a1[k]
        q = (1.0 - t) * b0[k] + t * b1[k]
        c.normal[k] = (q - p) / length if length > 0.0 else pair.n[k]
        c.point[k] = p + radius_1 * c.normal[k]


@kernel
def add_rounds(scratch, a0, a1, b0, b1, radius_1, radius_2, identifier):
    """Two segments with radii: nearly parallel ones touch at both ends of where they overlap."""
    aa, bb, ab, b0a, b1a = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        d, e = a1[k] - a0[k], b1[k] - b0[k]
        aa += d * d
        bb += e * e
        ab += d * e
        b0a += d * (b0[k] - a0[k])
        b1a += d * (b1[k] - a0[k])
    pair = scratch.pair[0]
    smallest = inf
    if aa > 0.0 and bb > 0.0 and aa * bb - ab * ab < 0.01 * aa * bb:
        first = pair.count
        t0, t1 = b0a / aa, b1a / aa
        low, high = min(t0, t1), max(t0, t1)
        if low < 1.0 and high > 0.0:
            if t0 > 0.0 and t0 < 1.0:
                add_round(scratch, a0, a1, b0, b0, radius_1, radius_2, identifier + 1)
            if t1 > 0.0 and t1 < 1.0:
                add_round(scratch, a0, a1, b1, b1, radius_1, radius_2, identifier + 2)
            if low <= 0.0:
                add_round(scratch, a0, a0, b0, b1, radius_1, radius_2, identifier + 3)
            if high >= 1.0:
                add_round(scratch, a1, a1, b0, b1, radius_1, radius_2, identifier + 4)
        for i in range(first, pair.count):
            smallest = min(smallest, scratch.candidates[i].gap)
    before = pair.count
    add_round(scratch, a0, a1, b0, b1, radius_1, radius_2, identifier)
    if pair.count > before and scratch.candidates[before].gap > smallest - 1e-10 * pair.scale:
        # An end is as near, and unlike the nearest point of parallel segments it is unique.
        pair.count = before


@kernel
def outline(scratch, topology, which, n):
    """The outline of a shape where it faces along -n, into polygon 0; its size.

    The face of a polytope that faces there most; a point or a segment itself; of a cylinder the
    line, or the points of its rim, that lie lowest. poly.touch is the radius around these points.

    The lowest point of a rim is c - r u, with u the part of n across the axis. It is also the
    lowest point of a sphere of radius r / sin about the point c + r cot a of the axis, which
    stays where it is while the cylinder rolls.
    """
    poly, vertices = scratch.poly[which], scratch.vertices[which]
    polygon = scratch.polygon[0]
    poly.touch = poly.radius
    if poly.kind == CYLINDER:
        return cylinder_outline(scratch, poly, n)
    if poly.n_faces == 0:
        for i in range(poly.n_vertices):
            assign(vertices[i].p, polygon[i].p)
            polygon[i].tag = i
        return poly.n_vertices
    return face_outline(scratch, topology, which, n)


@kernel
def face_outline(scratch, topology, which, n):
    """`outline` of a polytope, or of the prism around a cylinder."""
    poly, vertices = scratch.poly[which], scratch.vertices[which]
    polygon = scratch.polygon[0]
    f = nearest(scratch.normals[which], poly.n_faces, n)
    begin, end = topology.faces[poly.face_begin + f, 0], topology.faces[poly.face_begin + f, 1]
    for k in range(begin, end):
        assign(vertices[topology.loops[k]].p, polygon[k - begin].p)
        polygon[k - begin].tag = topology.loops[k]
    return end - begin


@kernel
def part_across(n, axis, out):
    """The part of a unit vector across an axis, a unit vector, into out; its length."""
    along = dot(n, axis)
    for k in range(3):
        out[k] = n[k] - along * axis[k]
    return sqrt(dot(out, out))


@kernel
def cylinder_outline(scratch, poly, n):
    """`outline` of a cylinder."""
    polygon, u, w = scratch.polygon[0], scratch.pair[0].e, scratch.pair[0].g
    r, h, a, c = poly.rim, poly.half_length, poly.axis, poly.x
    cosine, sine = dot(a, n), part_across(n, a, u)
    if sine > UPRIGHT:
        poly.touch = r / sine
        for k in range(3):
            middle = c[k] + r * cosine / sine * a[k]
            polygon[0].p[k], polygon[1].p[k] = middle - h * a[k], middle + h * a[k]
        polygon[0].tag, polygon[1].tag = 0, 1
        return 2
    poly.touch = 0.0
    for k in range(3):
        # Without a lowest point any direction across the axis will do, if it is always the same.
        u[k] = u[k] / sine if sine > 1e-10 else poly.R[k, 0]
    cross(a, u, w)
    side = -h if cosine > 0.0 else h
    for k in range(3):
        middle = c[k] + side * a[k]
        polygon[0].p[k], polygon[1].p[k] = middle - r * u[k], middle - r * w[k]
        polygon[2].p[k], polygon[3].p[k] = middle + r * u[k], middle + r * w[k]
    for k in range(4):
        polygon[k].tag = 2 + k
    return 4


@kernel
def clip(scratch, source, size, origin, outward, side):
    """Polygon `source` cut at a side plane, into the other polygon; its size.

    A polygon of two points is a segment, not a closed loop.
    """
    polygon, result = scratch.polygon[source], scratch.polygon[1 - source]
    tolerance = 1e-10 * scratch.pair[0].scale
    kept = 0
    for i in range(size):
        j = i + 1 if i + 1 < size else 0
        s, t = offset_dot(outward, polygon[i].p, origin), offset_dot(outward, polygon[j].p, origin)
        if s <= tolerance:
            assign(polygon[i].p, result[kept].p)
            result[kept].tag = polygon[i].tag
            kept += 1
        if (s > tolerance) != (t > tolerance) and (j > 0 or size > 2):
            # Two points within the tolerance of the plane may both be on one side of it.
            share = clamp(s / (s - t), 0.0, 1.0)
            for k in range(3):
                p, q = polygon[i].p[k], polygon[j].p[k]
                result[kept].p[k] = p + share * (q - p)
            result[kept].tag = (side + 1) * 4096 + polygon[i].tag % 4096
            kept += 1
    return kept


@kernel
def add_face(scratch, topology, owner, f):
    """What of the other shape lies over face f of polytope `owner`, as points against its plane."""
    size = outline(scratch, topology, 1 - owner, scratch.normals[owner, f].p)
    add_outline(scratch, topology, owner, f, size, scratch.poly[1 - owner].touch)


@kernel
def add_outline(scratch, topology, owner, f, size, radius):
    """What of the other shape's outline lies over face f, with a radius around its points."""
    pair, poly = scratch.pair[0], scratch.poly[owner]
    vertices, N = scratch.vertices[owner], scratch.normals[owner, f].p
    begin, end = topology.faces[poly.face_begin + f, 0], topology.faces[poly.face_begin + f, 1]
    e, outward, source = pair.e, pair.g, 0
    for k in range(begin, end):
        following = k + 1 if k + 1 < end else begin
        v, w = vertices[topology.loops[k]].p, vertices[topology.loops[following]].p
        for c in range(3):
            e[c] = w[c] - v[c]
        cross(e, N, outward)
        normalize(outward)
        size = clip(scratch, source, size, v, outward, k - begin)
        source = 1 - source
    origin = vertices[topology.loops[begin]].p
    base = (owner * 16384 + f) * 65536
    pair.owner = owner
    for i in range(size):
        point = scratch.polygon[source, i]
        add_plane(scratch, origin, N, point.p, radius, base + point.tag % 65536)


@kernel
def lies_over(scratch, topology, owner, f, point):
    """Whether a point lies over face f of polytope `owner`, between the planes of its sides."""
    pair, poly, vertices = scratch.pair[0], scratch.poly[owner], scratch.vertices[owner]
    begin, end = topology.faces[poly.face_begin + f, 0], topology.faces[poly.face_begin + f, 1]
    e, outward = pair.e, pair.g
    for k in range(begin, end):
        following = k + 1 if k + 1 < end else begin
        v, w = vertices[topology.loops[k]].p, vertices[topology.loops[following]].p
        for c in range(3):
            e[c] = w[c] - v[c]
        cross(e, scratch.normals[owner, f].p, outward)
        if offset_dot(outward, point, v) > 1e-10 * pair.scale * sqrt(dot(e, e)):
            return False
    return True


@kernel
def cylinder_height(poly, n, origin, u):
    """How high a cylinder is above a plane; u (3,) is scratch."""
    lowest = poly.rim * part_across(n, poly.axis, u) + poly.half_length * abs(dot(n, poly.axis))
    return offset_dot(n, poly.x, origin) - lowest


@kernel
def add_deepest(scratch, topology, owner, f, before):
    """The vertex nearest to a face, if what was added for the face since `before` misses it.

    The face that looks most towards another one need not hold the vertex that is nearest to it.
    What is not over a triangle of a terrain is for its neighbours, above which it may well be.
    """
    pair, poly, other = scratch.pair[0], scratch.poly[owner], scratch.poly[1 - owner]
    points, N = scratch.vertices[1 - owner], scratch.normals[owner, f].p
    origin = scratch.vertices[owner, topology.loops[topology.faces[poly.face_begin + f, 0]]].p
    wanted = pair.separation - other.radius
    if other.kind == CYLINDER:
        # The prism around a cylinder comes nearer than the cylinder itself.
        wanted = cylinder_height(other, N, origin, pair.e)
    for i in range(before, pair.count):
        if scratch.candidates[i].gap < wanted + 1e-10 * pair.scale:
            return
    i = nearest(points, other.n_vertices, N)
    if pair.one_sided == 1 and not lies_over(scratch, topology, owner, f, points[i].p):
        return
    identifier = (owner * 16384 + f) * 65536 + i
    add_plane(scratch, origin, N, points[i].p, other.radius, identifier)


@kernel
def add_stand_ins(scratch, topology, before):
    """What of the prism around a cylinder lies over a triangle, unless the cylinder itself does."""
    pair, N, second = scratch.pair[0], scratch.normals[0, 0].p, scratch.poly[1]
    height = cylinder_height(second, N, scratch.vertices[0, 0].p, pair.e)
    for i in range(before, pair.count):
        if scratch.candidates[i].gap < height + 1e-10 * pair.scale:
            return
    first = pair.count
    size = face_outline(scratch, topology, 1, N)
    add_outline(scratch, topology, 0, 0, size, 0.0)
    add_deepest(scratch, topology, 0, 0, first)
    for i in range(first, pair.count):
        scratch.candidates[i].stand_in = height


@kernel
def drop_stand_ins(scratch):
    """Take away what of the prism around a cylinder is not needed.

    No point of the cylinder is lower over a triangle's plane than its lowest one: what is as near
    elsewhere on the terrain, and exact, is as near as it can be to that triangle.
    """
    pair, candidates = scratch.pair[0], scratch.candidates
    nearest_gap = inf
    for i in range(pair.count):
        if candidates[i].stand_in == inf:
            nearest_gap = min(nearest_gap, candidates[i].gap)
    kept = 0
    for i in range(pair.count):
        if candidates[i].stand_in + 1e-10 * pair.scale < nearest_gap or (
            candidates[i].stand_in == inf
        ):
            candidates[kept] = candidates[i]
            kept += 1
    pair.count = kept


@kernel
def add_crossing(scratch, topology):
    """The two edges of the best axis."""
    pair = scratch.pair[0]
    if not pair.separation < pair.margin:
        return
    a, b = scratch.vertices[0], scratch.vertices[1]
    row = topology.edges[scratch.poly[0].edge_begin + pair.best_1]
    column = topology.edges[scratch.poly[1].edge_begin + pair.best_2]
    c = new_candidate(scratch, pair.separation, pair.best_1 * 65536 + pair.best_2)
    c.kind = EDGE
    assign(a[row[0]].p, c.a0)
    assign(b[column[0]].p, c.b0)
    for k in range(3):
        c.a1[k] = a[row[1]].p[k] - a[row[0]].p[k]
        c.b1[k] = b[column[1]].p[k] - b[column[0]].p[k]
    s, t = segment_parameters(c.a0, a[row[1]].p, c.b0, b[column[1]].p)
    for k in range(3):
        p = c.a0[k] + s * c.a1[k]
        c.point[k] = 0.5 * (p + c.b0[k] + t * c.b1[k])
    normalize(c.a1)
    normalize(c.b1)
    cross(c.a1, c.b1, pair.m)
    c.sign = 1.0 if dot(pair.m, pair.axis) > 0.0 else -1.0
    assign(pair.axis, c.normal)


@kernel
def top_edge(topology, poly, vertices, n, sign, tolerance):
    """The edge whose both ends are farthest along sign * n, or -1."""
    top = -inf
    for i in range(poly.n_vertices):
        top = max(top, sign * dot(vertices[i].p, n))
    for i in range(poly.n_edges):
        v, w = topology.edges[poly.edge_begin + i, 0], topology.edges[poly.edge_begin + i, 1]
        low = min(sign * dot(vertices[v].p, n), sign * dot(vertices[w].p, n))
        if low > top - tolerance:
            return i
    return -1


@kernel
def add_corner(scratch, topology):
    """A vertex against a vertex or an edge, or parallel edges: the plane between the two shapes."""
    pair, n = scratch.pair[0], scratch.pair[0].n
    a, b = scratch.vertices[0], scratch.vertices[1]
    i = top_edge(topology, scratch.poly[0], a, n, 1.0, 1e-8 * pair.scale)
    j = top_edge(topology, scratch.poly[1], b, n, -1.0, 1e-8 * pair.scale)
    identifier = pair.ia[0] * 65536 + pair.ib[0]
    pair.owner = 0
    if i < 0 or j < 0:
        add_plane(scratch, pair.pa, n, pair.pb, 0.0, identifier)
        return
    row = topology.edges[scratch.poly[0].edge_begin + i]
    column = topology.edges[scratch.poly[1].edge_begin + j]
    e, ends = pair.e, scratch.polygon[0]
    for c in range(3):
        e[c] = a[row[1]].p[c] - a[row[0]].p[c]
        ends[0].p[c], ends[1].p[c] = b[column[0]].p[c], b[column[1]].p[c]
    ends[0].tag, ends[1].tag = 0, 1
    size = 2
    for side in range(2):
        size = clip(scratch, side, size, a[row[1 - side]].p, e, side)
        for c in range(3):
            e[c] = -e[c]
    if size == 0:
        add_plane(scratch, pair.pa, n, pair.pb, 0.0, identifier)
    for k in range(size):
        add_plane(scratch, pair.pa, n, ends[k].p, 0.0, (i * 4 + k + 2) * 65536 + j)


@kernel
def add_nearest_edge(scratch, topology):
    """A point or segment with a radius against the nearest edge of the first shape."""
    first, second = scratch.poly[0], scratch.poly[1]
    a, b = scratch.vertices[0], scratch.vertices[1]
    p, q = b[0].p, b[second.n_vertices - 1].p
    best, index = inf, 0
    for i in range(first.n_edges):
        v, w = topology.edges[first.edge_begin + i, 0], topology.edges[first.edge_begin + i, 1]
        s, t = segment_parameters(a[v].p, a[w].p, p, q)
        square = 0.0
        for c in range(3):
            x = (1.0 - t) * p[c] + t * q[c] - (1.0 - s) * a[v].p[c] - s * a[w].p[c]
            square += x * x
        if square < best:
            best, index = square, i
    v, w = topology.edges[first.edge_begin + index, 0], topology.edges[first.edge_begin + index, 1]
    add_rounds(scratch, a[v].p, a[w].p, p, q, 0.0, second.radius, index * 65536)


@kernel
def add_aligned_face(scratch, topology, n):
    """Beside the nearest features: what lies over the face that is most nearly across n."""
    first, second = scratch.poly[0], scratch.poly[1]
    f, g, best_f, best_g = 0, 0, -inf, -inf
    if first.n_faces > 0:
        f = farthest(scratch.normals[0], first.n_faces, n)
        best_f = dot(scratch.normals[0, f].p, n)
    if second.n_faces > 0 and scratch.pair[0].one_sided == 0:
        g = nearest(scratch.normals[1], second.n_faces, n)
        best_g = -dot(scratch.normals[1, g].p, n)
    if max(best_f, best_g) < ALIGNED:
        return
    owner = 0 if best_f >= best_g else 1
    add_face(scratch, topology, owner, g if owner == 1 else f)


@kernel
def mean_height(scratch, N):
    """How high the middle of the second shape's vertices, a point inside, is over a triangle."""
    height, n = 0.0, scratch.poly[1].n_vertices
    for i in range(n):
        height += offset_dot(N, scratch.vertices[1, i].p, scratch.vertices[0, 0].p) / n
    return height


@kernel
def add_contacts(scratch, topology):
    """Candidates of the first shape, a polytope or a triangle, and the second one."""
    pair, second = scratch.pair[0], scratch.poly[1]
    gap = distance(scratch, pair.margin + second.radius)
    if gap == inf:
        return
    n, one_sided = pair.n, pair.one_sided == 1
    if one_sided:
        N = scratch.normals[0, 0].p
        if gap > 0.0 and dot(n, N) < -1e-9:
            return
        if gap > 0.0 and second.n_vertices == 1 and not allowed(scratch, n):
            return
        if gap == 0.0 and mean_height(scratch, N) <= 0.0:
            return
    separate(scratch, topology, gap)
    # Where no face and no crossing is as near as the shapes are, a vertex or parallel edges are.
    enough = gap - 1e-10 * pair.scale if gap > 0.0 else -inf
    found = pair.separation > enough
    start = pair.count
    if one_sided and second.kind == CYLINDER:
        # Whatever the prism around it is nearest with, the cylinder may lie on this triangle.
        add_face(scratch, topology, 0, 0)
        if found and pair.best_kind == FACE_1:
            if second.n_faces > 0:
                add_stand_ins(scratch, topology, start)
            return
    if found and pair.best_kind == CROSSING:
        add_crossing(scratch, topology)
        add_aligned_face(scratch, topology, pair.axis)
        return
    before = pair.count
    if found:
        add_face(scratch, topology, pair.best_kind - FACE_1, pair.best_1)
        if gap == 0.0 or pair.count > before:
            add_deepest(scratch, topology, pair.best_kind - FACE_1, pair.best_1, before)
    if pair.count == before and gap > 0.0:
        if allowed(scratch, n):
            if second.n_faces == 0:
                add_nearest_edge(scratch, topology)
            else:
                add_corner(scratch, topology)
        if second.n_vertices > 1:
            add_aligned_face(scratch, topology, n)
