"""What of one shape lies over a face of another: outlines, cut at the sides of the face.

A cylinder has an outline of its own, and a rim that leans over a face touches it with its lowest
point. Where that point lies beside a face, points around the rim stand in for it.
"""

from math import inf, sqrt

from robosim.compiled.kinds import CYLINDER
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, cross, dot
from robosim.kernels.narrow_phase.candidates import add_plane, add_rim
from robosim.kernels.narrow_phase.points import clamp, nearest, normalize, offset_dot

UPRIGHT = 0.2  # sine of the angle of axis and normal below which a cylinder leans on its rim alone
FLAT = 0.02  # the same up to which a rim lies flat: it has no lowest point to speak of
NEARLY_FLAT = 0.04  # and that up to which its points may touch; beyond it lower ones come first
ENTERED = 1e-7  # margin, over the size of the shapes, below which what is entered is looked for
RIM_TAG = 6  # of what a rim touches with, after the tags of the points of `cylinder_outline`


@kernel
def outline(scratch, topology, which, n):
    """The outline of a shape where it faces along -n, into polygon 0; its size.

    The face of a polytope that faces there most; a point or a segment itself; of a cylinder the
    line, or the points of its rim, that lie lowest, the lowest one first. poly.touch is the radius
    around these points.

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
def add_leaning_rim(scratch, which, n, origin, base):
    """The rim of a cylinder that leans, where its outline is lowest over a plane of the other.

    To be called after `outline`; what is left of the outline: from its first or second point on, or
    nothing of it. What lies flat, but for FLAT, has no lowest point to speak of.
    """
    poly, polygon, u = scratch.poly[which], scratch.polygon[0], scratch.pair[0].e
    sine = part_across(n, poly.axis, u)
    if poly.kind != CYLINDER or sine > UPRIGHT or sine < FLAT:
        return 0
    # Opposite points of the rim, the lowest and the highest one, have its centre between them.
    for k in range(3):
        u[k] = 0.5 * (polygon[0].p[k] + polygon[2].p[k])
    add_rim(scratch, origin, n, u, poly.axis, polygon[0].p, poly.rim, base + RIM_TAG)
    return 1 if sine < NEARLY_FLAT else 4


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
    N, which, pair = scratch.normals[owner, f].p, 1 - owner, scratch.pair[0]
    size = outline(scratch, topology, which, N)
    first, lowest = 0, scratch.polygon[0, 0].p
    if scratch.poly[which].kind == CYLINDER and lies_over(scratch, topology, owner, f, lowest):
        origin = scratch.vertices[owner, face_corner(scratch, topology, owner, f)].p
        pair.owner = owner
        first = add_leaning_rim(scratch, which, N, origin, face_id(owner, f))
    if first < size:
        if first > 0:
            drop_corners(scratch, size, first)
        add_outline(scratch, topology, owner, f, size - first, scratch.poly[which].touch)


@kernel
def drop_corners(scratch, size, first):
    """Leave the first corners of polygon 0 out."""
    polygon = scratch.polygon[0]
    for i in range(first, size):
        assign(polygon[i].p, polygon[i - first].p)
        polygon[i - first].tag = polygon[i].tag


@kernel
def face_corner(scratch, topology, owner, f):
    """Which vertex of polytope `owner` is a corner of its face f."""
    return topology.loops[topology.faces[scratch.poly[owner].face_begin + f, 0]]


@kernel
def face_id(owner, f):
    """What identifiers of all that touches a face begin with."""
    return (owner * 16384 + f) * 65536


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
    """The point nearest to a face, if what was added for the face since `before` misses it.

    The face that looks most towards another one need not hold the vertex that is nearest to it.
    What is not over a triangle of a terrain is for its neighbours, above which it may well be.
    """
    pair, other = scratch.pair[0], scratch.poly[1 - owner]
    N = scratch.normals[owner, f].p
    origin = scratch.vertices[owner, face_corner(scratch, topology, owner, f)].p
    wanted, is_round = pair.separation - other.radius, other.kind == CYLINDER
    if is_round:
        # The prism around a cylinder comes nearer than the cylinder itself.
        wanted = cylinder_height(other, N, origin, pair.e)
    for i in range(before, pair.count):
        if scratch.candidates[i].gap < wanted + 1e-10 * pair.scale:
            return
    if is_round:
        size = cylinder_outline(scratch, other, N)
        i, radius = nearest(scratch.polygon[0], size, N), other.touch
        point = scratch.polygon[0, i].p
    else:
        i, radius = nearest(scratch.vertices[1 - owner], other.n_vertices, N), other.radius
        point = scratch.vertices[1 - owner, i].p
    if pair.one_sided == 1 and not lies_over(scratch, topology, owner, f, point):
        return
    add_plane(scratch, origin, N, point, radius, face_id(owner, f) + i)


@kernel
def add_stand_ins(scratch, topology, before):
    """Points around the rim of a cylinder that lie over a triangle, unless its lowest one does.

    They are those of the prism around it, so that it is never nearer than is said; or on the rim
    itself where what has been entered is looked for, which must not be entered by the prism alone.
    """
    pair, N, second = scratch.pair[0], scratch.normals[0, 0].p, scratch.poly[1]
    height = cylinder_height(second, N, scratch.vertices[0, 0].p, pair.e)
    for i in range(before, pair.count):
        if scratch.candidates[i].gap < height + 1e-10 * pair.scale:
            return
    first = pair.count
    size = face_outline(scratch, topology, 1, N)
    if pair.margin < ENTERED * pair.scale:
        draw_in(scratch.polygon[0], size, second, pair.e)
    add_outline(scratch, topology, 0, 0, size, 0.0)
    for i in range(first, pair.count):
        scratch.candidates[i].stand_in = height


@kernel
def draw_in(polygon, size, poly, e):
    """Put corners of the prism around a cylinder onto the cylinder; e (3,) is scratch."""
    for i in range(size):
        p = polygon[i].p
        along = offset_dot(poly.axis, p, poly.x)
        for k in range(3):
            e[k] = p[k] - poly.x[k] - along * poly.axis[k]
        excess = 1.0 - poly.rim / sqrt(dot(e, e))
        for k in range(3):
            p[k] -= excess * e[k]


@kernel
def drop_stand_ins(scratch):
    """Take away points around a cylinder's rim that are not needed.

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
