"""Two convex shapes: what they may touch with, as candidates.

All is in the frame of the first shape. ``scratch.poly[0]`` is the first shape, a polytope or one
triangle of a terrain, ``scratch.poly[1]`` the second one: a polytope, or a point or a segment
with a radius around it. Vertices and face normals lie in ``scratch.vertices`` and
``scratch.normals``, faces and edges in the flat arrays of ``topology`` (compiled/model.py). Normals
point from the first shape to the second.

They are as far apart as GJK says (gjk.py). If a face or two edges that cross part them by as much
(separation.py), these touch: the face and what of the other shape lies over it (clip.py), or the
two edges. Else it is a corner, or parallel edges. Cylinders are in cylinder.py.
"""

from math import inf

from robosim.compiled.kinds import CROSSING, EDGE, FACE_1
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, cross, dot
from robosim.kernels.narrow_phase.candidates import (
    add_plane,
    add_rounds,
    drop_deeper,
    new_candidate,
)
from robosim.kernels.narrow_phase.clip import ALIKE, add_deepest, add_face, clip
from robosim.kernels.narrow_phase.gjk import distance
from robosim.kernels.narrow_phase.points import (
    face_along,
    normalize,
    offset_dot,
    segment_parameters,
)
from robosim.kernels.narrow_phase.separation import allowed, separate

ALIGNED = 0.95  # cosine below which a face takes no part in a contact


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
def top_edge(scratch, topology, which, n, sign, tolerance):
    """The edge of a polytope whose both ends are farthest along sign * n, or -1."""
    poly, vertices = scratch.poly[which], scratch.vertices[which]
    top = -inf
    for k in range(poly.listed_vertices):
        top = max(top, sign * dot(vertices[scratch.listed.vertices[which, k]].p, n))
    for k in range(poly.listed_edges):
        i = scratch.listed.edges[which, k]
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
    i = top_edge(scratch, topology, 0, n, 1.0, 1e-8 * pair.scale)
    j = top_edge(scratch, topology, 1, n, -1.0, 1e-8 * pair.scale)
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
    for k in range(first.listed_edges):
        i = scratch.listed.edges[0, k]
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
        f = face_along(scratch, 0, n, 1.0)
        best_f = dot(scratch.normals[0, f].p, n)
    if second.n_faces > 0 and scratch.pair[0].one_sided == 0:
        g = face_along(scratch, 1, n, -1.0)
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
def add_contacts(scratch, data):
    """Candidates of the first shape, a polytope or a triangle, and the second one."""
    pair, second, topology = scratch.pair[0], scratch.poly[1], data.topology
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
    separate(scratch, data, gap)
    # Where no face and no crossing is as near as the shapes are, a vertex or parallel edges are.
    enough = gap - ALIKE * pair.scale if gap > 0.0 else -inf
    found = pair.separation > enough
    before = pair.count
    if found and pair.best_kind == CROSSING:
        add_crossing(scratch, topology)
        add_aligned_face(scratch, topology, pair.axis)
        drop_deeper(scratch, before, pair.separation - second.radius, 0.0)
        return
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
