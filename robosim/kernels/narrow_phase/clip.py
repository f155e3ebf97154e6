"""What of one shape lies over a face of another: outlines, cut at the sides of the face."""

from math import sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, cross, dot
from robosim.kernels.narrow_phase.candidates import add_plane
from robosim.kernels.narrow_phase.points import (
    clamp,
    face_along,
    nearest_listed,
    normalize,
    offset_dot,
)

ALIKE = 1e-7  # part of the shapes by which axes that part them are as good as each other
FLUSH = 1e-8  # part of the shapes by which a corner may be beyond the side of a face and over it


@kernel
def outline(scratch, topology, which, n):
    """The outline of a shape where it faces along -n, into polygon 0; its size.

    The face of a polytope that faces there most; a point or a segment itself.
    """
    poly, vertices = scratch.poly[which], scratch.vertices[which]
    polygon = scratch.polygon[0]
    if poly.n_faces == 0:
        for i in range(poly.n_vertices):
            assign(vertices[i].p, polygon[i].p)
            polygon[i].tag = i
        return poly.n_vertices
    f = face_along(scratch, which, n, -1.0)
    begin, end = topology.faces[poly.face_begin + f, 0], topology.faces[poly.face_begin + f, 1]
    for k in range(begin, end):
        assign(vertices[topology.loops[k]].p, polygon[k - begin].p)
        polygon[k - begin].tag = topology.loops[k]
    return end - begin


@kernel
def outward(v, w, N, e, out):
    """out: out of a face with normal N, across its side from v to w; e (3,) is scratch."""
    for k in range(3):
        e[k] = w[k] - v[k]
    cross(e, N, out)
    normalize(out)


@kernel
def clip(scratch, source, size, origin, across, side):
    """Polygon `source` cut at a side plane, into the other polygon; its size.

    A polygon of two points is a segment, not a closed loop. A convex one leaves a side once and
    comes back once, so that these two tell a point from all others.
    """
    polygon, result = scratch.polygon[source], scratch.polygon[1 - source]
    tolerance = FLUSH * scratch.pair[0].scale
    kept = 0
    for i in range(size):
        j = i + 1 if i + 1 < size else 0
        s, t = offset_dot(across, polygon[i].p, origin), offset_dot(across, polygon[j].p, origin)
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
            leaves = 1024 if s <= tolerance else 0
            result[kept].tag = (side + 1) * 2048 + leaves + polygon[i].tag % 1024
            kept += 1
    return kept


@kernel
def add_face(scratch, topology, owner, f):
    """What of the other shape lies over face f of polytope `owner`, as points against its plane."""
    which = 1 - owner
    size = outline(scratch, topology, which, scratch.normals[owner, f].p)
    add_outline(scratch, topology, owner, f, size, scratch.poly[which].radius)


@kernel
def face_corner(scratch, topology, owner, f):
    """Which vertex of polytope `owner` is a corner of its face f."""
    return topology.loops[topology.faces[scratch.poly[owner].face_begin + f, 0]]


@kernel
def face_id(owner, f):
    """What identifiers of all that touches a face begin with."""
    return (owner * 16384 + f) * 65536


@kernel
def is_crossing(identifier):
    """Whether a point that touches a face is where a side of that cuts the outline."""
    return identifier % 65536 >= 2048


@kernel
def add_outline(scratch, topology, owner, f, size, radius):
    """What of the other shape's outline lies over face f, with a radius around its points."""
    pair, poly = scratch.pair[0], scratch.poly[owner]
    vertices, N = scratch.vertices[owner], scratch.normals[owner, f].p
    begin, end = topology.faces[poly.face_begin + f, 0], topology.faces[poly.face_begin + f, 1]
    source = 0
    for k in range(begin, end):
        following = k + 1 if k + 1 < end else begin
        v, w = vertices[topology.loops[k]].p, vertices[topology.loops[following]].p
        outward(v, w, N, pair.e, pair.g)
        size = clip(scratch, source, size, v, pair.g, k - begin)
        source = 1 - source
    origin, base = vertices[topology.loops[begin]].p, face_id(owner, f)
    pair.owner = owner
    for i in range(size):
        point = scratch.polygon[source, i]
        add_plane(scratch, origin, N, point.p, radius, base + point.tag % 65536)


@kernel
def lies_over(scratch, topology, owner, f, point):
    """Whether a point lies over face f of polytope `owner`, between the planes of its sides."""
    pair, poly, vertices = scratch.pair[0], scratch.poly[owner], scratch.vertices[owner]
    begin, end = topology.faces[poly.face_begin + f, 0], topology.faces[poly.face_begin + f, 1]
    e, across = pair.e, pair.g
    for k in range(begin, end):
        following = k + 1 if k + 1 < end else begin
        v, w = vertices[topology.loops[k]].p, vertices[topology.loops[following]].p
        for c in range(3):
            e[c] = w[c] - v[c]
        cross(e, scratch.normals[owner, f].p, across)
        if offset_dot(across, point, v) > (1e-10 * pair.scale + pair.slack) * sqrt(dot(e, e)):
            return False
    return True


@kernel
def add_deepest(scratch, topology, owner, f, before):
    """The point nearest to a face, if what was added for the face since `before` misses it.

    The face that looks most towards another one need not hold the vertex that is nearest to it.
    What is not over a triangle of a terrain is for its neighbours, above which it may well be.
    """
    pair, other = scratch.pair[0], scratch.poly[1 - owner]
    N = scratch.normals[owner, f].p
    origin = scratch.vertices[owner, face_corner(scratch, topology, owner, f)].p
    wanted = pair.separation - other.radius + ALIKE * pair.scale
    for i in range(before, pair.count):
        if scratch.candidates[i].gap < wanted:
            return
    i = nearest_listed(scratch, 1 - owner, N)
    point = scratch.vertices[1 - owner, i].p
    if pair.one_sided == 1 and not lies_over(scratch, topology, owner, f, point):
        return
    add_plane(scratch, origin, N, point, other.radius, face_id(owner, f) + i)
