"""A cylinder or cone and a polytope, or a triangle of a terrain: what may touch, as candidates.

Two convex shapes are as far apart as the best normal says, along which the first one ends farthest
before the second begins. Where they overlap, it is the one along which they overlap least. For a
cylinder these normals are known one by one: those of faces and caps, those across an edge and the
axis or across an edge and a rim, and those from a corner to the round side or to a rim. `try_axis`
measures each of them with the whole shapes, so that none is taken for what it is not.

What touches then lies over a face or a cap that the best normal is nearly along, or is the edge or
the corner that the normal comes from. A cone has two radii and a side as in cones.py; an apex is a
rim without a radius, and so a point. All is in the frame of the first shape, which the cylinder is
the second of. Normals point from the first shape to the second.
"""

from math import inf, sqrt

from robosim.compiled.kinds import CORNER, CROSSING, CYLINDER, ELLIPSOID, FACE_1, FACE_2, NOTHING
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.equations.algebra import assign, cross, dot
from robosim.kernels.narrow_phase.candidates import (
    AS_NEAR,
    add_plane,
    add_rim,
    add_rim_edge,
    add_round,
    drop_deeper,
    settle_middle,
)
from robosim.kernels.narrow_phase.clip import lies_over, outward
from robosim.kernels.narrow_phase.cones import (
    aim,
    off_axis,
    rim_center,
    rim_radius,
    side_across,
    side_to_point,
)
from robosim.kernels.narrow_phase.ovals import oval_reach
from robosim.kernels.narrow_phase.points import between_segments, farthest, normalize, offset_dot
from robosim.kernels.narrow_phase.rims import (
    best_about_edge,
    lowest_on_rim,
    nearest_on_rim,
    put_across,
    turn_about_edge,
)
from robosim.kernels.narrow_phase.separation import allowed

ALIGNED = 0.95  # cosine below which a face or a cap takes no part in a contact
PARALLEL = 0.98  # cosine of an axis and an edge from which on they may touch at two places
LYING = 0.3  # cosine of axis and normal below which a cylinder may lie along its side
# Sine of axis and normal up to which a rim lies flat: it has no lowest point to speak of.
FLAT = 0.02
NEARLY_FLAT = 0.04  # and that up to which its points may touch; beyond it lower ones come first
UPRIGHT = 1e-10  # and that below which no point of a flat rim is lower than others
LEVEL = 0.1  # sine of axis and normal below which a cap touches an edge rather than the rim
AS_LEVEL = 1e-8  # part of the shapes by which what lies over it may be less deep than its rim
ALONG = 0.02  # bend of `best_about_edge`, over the radius, below which a rim is along an edge
# Points of a rim that lies flat: cosines and sines.
CIRCLE = (
    (1.0, 0.0),
    (0.70710678118654757, 0.70710678118654757),
    (0.0, 1.0),
    (-0.70710678118654757, 0.70710678118654757),
    (-1.0, 0.0),
    (-0.70710678118654757, -0.70710678118654757),
    (0.0, -1.0),
    (0.70710678118654757, -0.70710678118654757),
)
# What a cylinder touches with, in identifiers.
SIDE = 0
UPPER_RIM = 1
LOWER_RIM = 2


@kernel
def identify(kind, index, part):
    """The identifier of a candidate, unique in its pair but for triangles of a terrain."""
    return (kind * 65536 + index) * 1024 + part


@kernel
def reach(scratch, which, n):
    """How far a convex shape reaches along a direction [m]."""
    poly, vertices = scratch.poly[which], scratch.vertices[which]
    if poly.kind == CYLINDER:
        a, along = poly.axis, dot(n, poly.axis)
        # Exact where the normal is along the axis, as the root of a difference is not.
        x, y, z = n[1] * a[2] - n[2] * a[1], n[2] * a[0] - n[0] * a[2], n[0] * a[1] - n[1] * a[0]
        across, end = sqrt(x * x + y * y + z * z), poly.half_length * along
        if poly.top * across + end > poly.rim * across - end:
            return dot(n, poly.x) + end + poly.top * across
        return dot(n, poly.x) - end + poly.rim * across
    if poly.kind == ELLIPSOID:
        return dot(n, poly.x) + oval_reach(poly.semi_axes, n)
    return dot(vertices[farthest(vertices, poly.n_vertices, n)].p, n) + poly.radius


@kernel
def try_axis(scratch, n, kind, best_1, best_2):
    """Take a normal for the best one if it is.

    Normals of faces and caps come first, so that none but better ones come after them. pair.apart
    and pair.across are of the best one of all, of which a neighbour in a terrain may be in charge.
    """
    pair = scratch.pair[0]
    for k in range(3):
        pair.back[k] = -n[k]
    separation = -reach(scratch, 1, pair.back) - reach(scratch, 0, n)
    if separation > pair.apart + 1e-10 * pair.scale:
        pair.apart = separation
        assign(n, pair.across)
    if separation > pair.separation + 1e-10 * pair.scale and allowed(scratch, n):
        pair.separation, pair.best_kind = separation, kind
        pair.best_1, pair.best_2 = best_1, best_2
        assign(n, pair.axis)


@kernel
def try_from(scratch, point, n, kind, best_1, best_2):
    """`try_axis` with a normal from a point of the first shape, if the shape ends there."""
    if dot(point, n) > reach(scratch, 0, n) - 1e-9 * scratch.pair[0].scale:
        try_axis(scratch, n, kind, best_1, best_2)


@kernel
def is_beyond(scratch, point, end):
    """Whether a segment is farther from the cylinder than the first shape is from it.

    The axis is within a radius and the margin of that shape, so that the cylinder is too. Leaves in
    pair.n what is from the segment to the axis.
    """
    pair, axis = scratch.pair[0], scratch.vertices[1]
    between_segments(point, end, axis[0].p, axis[1].p, pair.n)
    return dot(pair.n, pair.n) > (2.0 * scratch.poly[1].rim + pair.margin) ** 2


@kernel
def across_rim(scratch, which, side, point, d):
    """The normal across an edge and a rim of `which`, towards the rim, into pair.n.

    The edge is through a point along d. Returns how the normal bends, as `best_about_edge`.
    """
    pair, poly = scratch.pair[0], scratch.poly[which]
    radius, sine, n = rim_radius(poly, side), poly.sine, pair.n
    rim_center(poly, side, pair.ba)
    for k in range(3):
        pair.ba[k] -= point[k]
    if radius == 0.0:
        along = dot(pair.ba, d)
        for k in range(3):
            n[k] = pair.ba[k] - along * d[k]
        return -poly.rim if normalize(n) > 0.0 else poly.rim
    return best_about_edge(pair.ba, poly.axis, d, radius, side, sine, n, pair.m, pair.dc)


@kernel
def from_rim(scratch, which, side, point):
    """The normal from a rim of `which` to a point into pair.n; whether it is outside of it."""
    pair, poly = scratch.pair[0], scratch.poly[which]
    rim_center(poly, side, pair.ba)
    for k in range(3):
        pair.dc[k] = point[k] - pair.ba[k]
    radius = rim_radius(poly, side)
    nearest_on_rim(pair.dc, poly.axis, radius, pair.n)
    if dot(pair.dc, pair.n) < radius * radius:
        return False
    for k in range(3):
        pair.n[k] = pair.dc[k] - pair.n[k]
    apart = normalize(pair.n)
    return apart > 0.0 and side * (dot(pair.dc, poly.axis) - poly.sine * apart) >= 0.0


@kernel
def rim_of(side):
    """The identifier of a rim."""
    return UPPER_RIM if side > 0.0 else LOWER_RIM


@kernel
def side_of(rim):
    """The side of a rim, as of `rim_center`."""
    return 1.0 if rim == UPPER_RIM else -1.0


@kernel
def try_edge(scratch, i, point, end):
    """Normals across edge i of the first shape and the axis or a rim of the cylinder."""
    pair, poly, d = scratch.pair[0], scratch.poly[1], scratch.pair[0].e
    if is_beyond(scratch, point, end):
        return
    for k in range(3):
        d[k] = end[k] - point[k]
    normalize(d)
    apart = normalize(pair.n)
    if poly.sine > 0.0:
        try_slant(scratch, i, point)
    elif apart > 0.0 and abs(dot(pair.n, poly.axis)) < 1e-9 and abs(dot(pair.n, d)) < 1e-9:
        try_from(scratch, point, pair.n, CROSSING, i, SIDE)
    for side in (1.0, -1.0):
        if across_rim(scratch, 1, side, point, d) < -1e-5 * poly.rim:
            try_from(scratch, point, pair.n, CROSSING, i, rim_of(side))


@kernel
def try_slant(scratch, i, point):
    """Normals across edge i of the first shape, along pair.e, and the side of a cone."""
    pair = scratch.pair[0]
    for sign in (1.0, -1.0):
        if side_across(scratch.poly[1], pair.e, sign, pair.m, pair.n):
            for k in range(3):
                pair.n[k] = -pair.n[k]
            try_from(scratch, point, pair.n, CROSSING, i, SIDE)


@kernel
def try_corner(scratch, i, point):
    """The normal from corner i of the first shape to the cylinder, unless it is over a cap."""
    pair, poly = scratch.pair[0], scratch.poly[1]
    if is_beyond(scratch, point, point):
        return
    along = offset_dot(poly.axis, point, poly.x)
    if poly.sine > 0.0:
        if side_to_point(poly, point, pair.n):
            for k in range(3):
                pair.n[k] = -pair.n[k]
            try_from(scratch, point, pair.n, CORNER, i, SIDE)
    elif abs(along) <= poly.half_length:
        if normalize(pair.n) > 0.0:
            try_from(scratch, point, pair.n, CORNER, i, SIDE)
        return
    for side in (1.0, -1.0):
        beside = poly.sine > 0.0 or (along > 0.0) == (side > 0.0)
        if beside and from_rim(scratch, 1, side, point):
            for k in range(3):
                pair.n[k] = -pair.n[k]
            try_from(scratch, point, pair.n, CORNER, i, rim_of(side))


@kernel
def find_axis(scratch, topology):
    """The best normal of the first shape and the cylinder into pair: separation, axis, best_*."""
    pair, first, poly = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    vertices = scratch.vertices[0]
    pair.separation, pair.apart, pair.best_kind = -inf, -inf, NOTHING
    for f in range(first.n_faces):
        try_axis(scratch, scratch.normals[0, f].p, FACE_1, f, 0)
    for side in (1.0, -1.0):
        for k in range(3):
            pair.n[k] = -side * poly.axis[k]
        if rim_radius(poly, side) > 0.0:
            try_axis(scratch, pair.n, FACE_2, rim_of(side), 0)
    # Shapes that are too far apart touch nowhere, whatever other normals say.
    if not pair.apart < pair.margin:
        return
    for i in range(first.n_vertices):
        try_corner(scratch, i, vertices[i].p)
    if not pair.apart < pair.margin:
        return
    for i in range(first.n_edges):
        row = topology.edges[first.edge_begin + i]
        try_edge(scratch, i, vertices[row[0]].p, vertices[row[1]].p)


@kernel
def add_over_face(scratch, topology, f):
    """What of the cylinder lies over face f of the first shape."""
    face = topology.faces[scratch.poly[0].face_begin + f, 0]
    origin, N = scratch.vertices[0, topology.loops[face]].p, scratch.normals[0, f].p
    add_over_plane(scratch, topology, origin, N, f)
    if lies_along(scratch.poly[1], N):
        add_side_over_face(scratch, topology, f)


@kernel
def lies_along(poly, n):
    """Whether a cylinder or cone may lie along its side on a face with the normal n."""
    cosine = dot(poly.axis, n)
    return abs(cosine + poly.sine) < LYING and 1.0 - cosine * cosine > FLAT * FLAT


@kernel
def add_over_plane(scratch, topology, origin, N, f):
    """The rims of a cylinder over a half-space, f < 0, or over face f of the first shape.

    Of a rim that lies flat these are points around it.
    """
    pair, poly = scratch.pair[0], scratch.poly[1]
    cosine = dot(poly.axis, N)
    sine = sqrt(max(1.0 - cosine * cosine, 0.0))
    pair.owner = 0
    on_point = poly.top == 0.0 and cosine < 0.0
    for side in (1.0, -1.0):
        if sine >= FLAT or (on_point and side > 0.0):
            put_lowest(scratch, poly, side, N)
            if f < 0 or lies_over(scratch, topology, 0, f, pair.pb):
                identifier, radius = (
                    identify(FACE_1, max(f, 0), rim_of(side)),
                    rim_radius(poly, side),
                )
                add_lowest_of(scratch, origin, N, pair.ba, poly.axis, pair.pb, radius, identifier)
    if sine < NEARLY_FLAT and not on_point:
        side = -1.0 if cosine > 0.0 else 1.0
        rim_center(poly, side, pair.ba)
        lean(scratch, poly, N)
        for i in range(len(CIRCLE)):
            put_on_rim(scratch, rim_radius(poly, side), i)
            if f < 0 or lies_over(scratch, topology, 0, f, pair.pb):
                add_plane(scratch, origin, N, pair.pb, 0.0, identify(FACE_1, max(f, 0), 4 + i))


@kernel
def add_lowest_of(scratch, origin, n, center, axis, lowest, radius, identifier):
    """A rim against a plane as `add_rim`, or an apex, whose radius is 0, as a point."""
    if radius > 0.0:
        add_rim(scratch, origin, n, center, axis, lowest, radius, identifier)
    else:
        add_plane(scratch, origin, n, lowest, 0.0, identifier)


@kernel
def put_lowest(scratch, poly, side, n):
    """The centre of a rim into pair.ba, and its point that is least far along n into pair.pb."""
    pair = scratch.pair[0]
    rim_center(poly, side, pair.ba)
    lowest_on_rim(poly.axis, n, rim_radius(poly, side), pair.pb)
    for k in range(3):
        pair.pb[k] += pair.ba[k]


@kernel
def lean(scratch, poly, n):
    """Directions across the axis of a cylinder: where it is highest along n, and beside that.

    Without a highest point any direction will do, if it is always the same.
    """
    pair, along = scratch.pair[0], dot(n, poly.axis)
    for k in range(3):
        pair.lean[k] = n[k] - along * poly.axis[k]
    if dot(pair.lean, pair.lean) < UPRIGHT * UPRIGHT:
        for k in range(3):
            pair.lean[k] = poly.R[k, 0]
    else:
        put_across(poly.axis, 1.0, pair.lean)
        normalize(pair.lean)
    cross(poly.axis, pair.lean, pair.beside)


@kernel
def put_on_rim(scratch, radius, i):
    """Point i of a rim about pair.ba, the lowest one first, into pair.pb; after `lean`."""
    pair = scratch.pair[0]
    c, s = CIRCLE[i]
    for k in range(3):
        pair.pb[k] = pair.ba[k] - radius * (c * pair.lean[k] + s * pair.beside[k])


@kernel
def add_side_over_face(scratch, topology, f):
    """Where the lowest line of a cylinder that lies over face f comes over it, and goes.

    There it is as low as a ball around a point of the axis, which stays where it is as it rolls.
    """
    pair, poly, vertices = scratch.pair[0], scratch.poly[1], scratch.vertices[0]
    N, first = scratch.normals[0, f].p, scratch.poly[0].face_begin + f
    begin, end = topology.faces[first, 0], topology.faces[first, 1]
    put_lowest(scratch, poly, -1.0, N)
    assign(pair.pb, pair.pa)
    put_lowest(scratch, poly, 1.0, N)
    enters, leaves, before, after = 0.0, 1.0, -1, -1
    for k in range(begin, end):
        following = k + 1 if k + 1 < end else begin
        v, w = vertices[topology.loops[k]].p, vertices[topology.loops[following]].p
        outward(v, w, N, pair.e, pair.g)
        s, t = offset_dot(pair.g, pair.pa, v), offset_dot(pair.g, pair.pb, v)
        if s > 0.0 and t > 0.0:
            return
        if s > 0.0 and s / (s - t) > enters:
            enters, before = s / (s - t), k
        if t > 0.0 and s / (s - t) < leaves:
            leaves, after = s / (s - t), k
    if enters >= leaves:
        return
    origin, cosine = vertices[topology.loops[begin]].p, dot(poly.axis, N)
    across = sqrt(1.0 - cosine * cosine)
    for i in range(2):
        k, share = (before, enters) if i == 0 else (after, leaves)
        ball = (poly.rim + share * (poly.top - poly.rim)) / across
        if k >= 0 and holds_alone(scratch, k - begin):
            for c in range(3):
                pair.pc[c] = (1.0 - share) * pair.pa[c] + share * pair.pb[c] + ball * N[c]
            add_plane(scratch, origin, N, pair.pc, ball, identify(FACE_1, f, 16 + k - begin))


@kernel
def holds_alone(scratch, k):
    """Whether side k of a face ends it: not where a terrain goes on as high beyond it."""
    pair = scratch.pair[0]
    if pair.one_sided == 0 or pair.has_opposite[k] == 0:
        return True
    N, corner = scratch.normals[0, 0].p, scratch.vertices[0, 0].p
    return offset_dot(N, scratch.opposite[k].p, corner) < -1e-6 * pair.scale


@kernel
def add_over_cap(scratch, topology, rim):
    """What of the first shape lies over a cap: its corners, and where its edges cross the rim."""
    pair, first, poly = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    vertices, n, radius = scratch.vertices[0], pair.n, rim_radius(poly, side_of(rim))
    if radius == 0.0:
        return
    put_cap(scratch, rim)
    for i in range(first.n_vertices):
        if is_over_cap(scratch, poly, radius, vertices[i].p):
            add_plane(scratch, pair.ba, n, vertices[i].p, 0.0, identify(FACE_2, i, rim))
    for i in range(first.n_edges):
        row = topology.edges[first.edge_begin + i]
        v, w = vertices[row[0]].p, vertices[row[1]].p
        identifier = identify(FACE_2, i, rim)
        add_crossings(scratch, poly, radius, pair.ba, n, v, w, 0.0, 0.0, identifier)


@kernel
def put_cap(scratch, rim):
    """Let the cap of a rim own the plane of what comes next: through pair.ba, along pair.n."""
    pair, poly, side = scratch.pair[0], scratch.poly[1], side_of(rim)
    rim_center(poly, side, pair.ba)
    for k in range(3):
        pair.n[k] = side * poly.axis[k]
    pair.owner = 1


@kernel
def add_crossings(scratch, poly, rim, center, n, v, w, radius, radius_w, identifier):
    """Where a segment with a radius crosses the rim of a cap, about its centre, along n.

    `rim` is the radius of that; what is around the segment goes from `radius` to `radius_w`.
    """
    pair = scratch.pair[0]
    low, high = cross_rim(poly, rim, v, w, pair.m, pair.g)
    for s in (low, high):
        if s > 0.0 and s < 1.0:
            for k in range(3):
                pair.pb[k] = (1.0 - s) * v[k] + s * w[k]
            around, number = radius + s * (radius_w - radius), identifier + (6 if s == high else 4)
            add_plane(scratch, center, n, pair.pb, around, number)


@kernel
def is_over_cap(scratch, poly, rim, p):
    """Whether a point is over a cap or beneath it, leaving in pair.m what it is off the axis."""
    pair = scratch.pair[0]
    return off_axis(poly, p, pair.m) <= (rim + pair.slack) ** 2


@kernel
def cross_rim(poly, rim, v, w, first, second):
    """Where a segment goes into the round side of a cylinder without ends, and out of it.

    As fractions of it, (1, 1) if it stays outside; first and second (3,) are scratch.
    """
    c, b, a = off_axis(poly, v, first) - rim * rim, 0.0, 0.0
    off_axis(poly, w, second)
    for k in range(3):
        d = second[k] - first[k]
        a += d * d
        b += d * first[k]
    inside = b * b - a * c
    if inside <= 0.0 or a < 1e-20:
        return 1.0, 1.0
    root = sqrt(inside)
    return (-b - root) / a, (-b + root) / a


@kernel
def add_edge(scratch, topology, i, part, before):
    """An edge of the first shape, and the side or a rim of the cylinder.

    `before` is the number of candidates before what lies over faces was added.
    """
    pair, poly = scratch.pair[0], scratch.poly[1]
    row = topology.edges[scratch.poly[0].edge_begin + i]
    v, w = scratch.vertices[0, row[0]].p, scratch.vertices[0, row[1]].p
    if pair.one_sided == 1 and pair.has_opposite[i] == 1 and is_for_neighbour(scratch, i, v, w):
        return
    start = pair.count
    for k in range(3):
        pair.e[k] = w[k] - v[k]
    normalize(pair.e)
    if part != SIDE and not is_level(scratch, poly, before) and not crosses_level(scratch, i, v, w):
        add_rim_on_edge(scratch, i, part, v)
    aim(poly, pair.axis, -1.0, v, w)
    if abs(dot(pair.e, poly.along)) >= PARALLEL:
        # Nearly parallel ones touch at both ends of where they overlap.
        for rim in (UPPER_RIM, LOWER_RIM):
            if rim != part and is_along(scratch, rim, v, w):
                add_rim_on_edge(scratch, i, rim, v)
        for k in range(2):
            p = v if k == 0 else w
            if abs(offset_dot(poly.axis, p, poly.x)) <= poly.half_length:
                identifier = identify(CORNER, row[k], SIDE)
                aim(poly, pair.axis, -1.0, p, p)
                add_round(scratch, p, p, poly.side[0], poly.side[1], 0.0, poly.around, identifier)
    if part == SIDE:
        identifier = identify(CROSSING, i, SIDE)
        aim(poly, pair.axis, -1.0, v, w)
        add_round(scratch, v, w, poly.side[0], poly.side[1], 0.0, poly.around, identifier)
        settle_middle(scratch, start)


@kernel
def is_for_neighbour(scratch, i, v, w):
    """Whether the triangle beyond edge i of a triangle has what touches the edge, once for the two.

    They go along the edge in opposite directions. On a sharp ridge the best normal looks into the
    ground for one of them, which leaves the edge to the other.
    """
    pair = scratch.pair[0]
    if not comes_after(v, w):
        return False
    for k in range(3):
        pair.e[k] = v[k] - w[k]
        pair.g[k] = scratch.opposite[i].p[k] - w[k]
    cross(pair.e, pair.g, pair.m)
    return dot(pair.m, pair.axis) >= 0.0


@kernel
def comes_after(v, w):
    """Whether a corner comes after another one in the order of x, then y, then z."""
    for k in range(3):
        if v[k] != w[k]:
            return v[k] > w[k]
    return False


@kernel
def is_level(scratch, poly, before):
    """Whether a cap, nearly across the best normal, touches an edge or side that crosses the rim.

    There one of the candidates since `before`, from what lies over the cap, is as near. The normal
    across edge and rim is not smooth near that of the cap.
    """
    return leans_little(scratch, poly) and has_within(scratch, before, AS_LEVEL)


@kernel
def leans_little(scratch, poly):
    """Whether a cap is near, and nearly across the best normal."""
    pair = scratch.pair[0]
    near = pair.separation < LEVEL * poly.rim
    return near and abs(dot(poly.axis, pair.axis)) > sqrt(1.0 - LEVEL * LEVEL)


@kernel
def crosses_level(scratch, i, v, w):
    """Add where edge i crosses the rim of a cap, if that is as near as the shapes are.

    For a triangle whose neighbours rise above the plane of the cap, which lies over nothing then.
    """
    pair, poly = scratch.pair[0], scratch.poly[1]
    if pair.one_sided == 0 or not leans_little(scratch, poly):
        return False
    start, rim = pair.count, rim_of(-dot(poly.axis, pair.axis))
    radius, identifier = rim_radius(poly, side_of(rim)), identify(FACE_2, i, rim)
    put_cap(scratch, rim)
    add_crossings(scratch, poly, radius, pair.ba, pair.n, v, w, 0.0, 0.0, identifier)
    if has_nearest(scratch, start):
        return True
    pair.count = start
    return False


@kernel
def has_nearest(scratch, start):
    """Whether one of the candidates from `start` on is as near as the shapes are."""
    return has_within(scratch, start, AS_NEAR)


@kernel
def has_within(scratch, start, part):
    """Whether one of the candidates from `start` on is as near as the shapes but for a `part`."""
    pair = scratch.pair[0]
    for i in range(start, pair.count):
        if scratch.candidates[i].gap < pair.separation + part * pair.scale:
            return True
    return False


@kernel
def is_along(scratch, rim, v, w):
    """Whether a rim is beside an edge nearly along the axis, between the ends of the edge."""
    pair, poly = scratch.pair[0], scratch.poly[1]
    put_lowest(scratch, poly, side_of(rim), pair.axis)
    s, t = offset_dot(poly.along, v, pair.pb), offset_dot(poly.along, w, pair.pb)
    return min(s, t) <= 0.0 and max(s, t) >= 0.0


@kernel
def add_rim_on_edge(scratch, i, rim, v):
    """A rim, and edge i of the first shape, through v along pair.e."""
    pair, poly, radius = scratch.pair[0], scratch.poly[1], rim_radius(scratch.poly[1], side_of(rim))
    identifier = identify(CROSSING, i, rim)
    if radius == 0.0:
        add_rim_at(scratch, v, rim, identifier)
        return
    bend = turn_best(scratch, 1, side_of(rim), v, pair.e)
    pair.owner = 0
    if bend > -ALONG * poly.rim:
        add_rim_at(scratch, v, rim, identifier)
    else:
        add_rim_edge(scratch, v, pair.e, 0.0, pair.ba, poly.axis, radius, pair.n, identifier)


@kernel
def turn_best(scratch, which, side, point, d):
    """The normal across an edge and a rim that the best one leads to, into pair.n.

    The best normal is from the first shape to the second. pair.n points to the rim of `which`,
    whose centre goes into pair.ba. Returns how it bends, as `turn_about_edge`.
    """
    pair, poly, sign = scratch.pair[0], scratch.poly[which], 2.0 * which - 1.0
    rim_center(poly, side, pair.ba)
    along = dot(pair.axis, d)
    for k in range(3):
        pair.n[k] = sign * (pair.axis[k] - along * d[k])
        pair.dc[k] = pair.ba[k] - point[k]
    normalize(pair.n)
    return turn_about_edge(pair.dc, poly.axis, d, rim_radius(poly, side), pair.n, pair.m)


@kernel
def add_rim_at(scratch, point, rim, identifier):
    """A rim against the plane through a point of the first shape, across the best normal."""
    pair, poly = scratch.pair[0], scratch.poly[1]
    pair.owner, radius = 0, rim_radius(poly, side_of(rim))
    put_lowest(scratch, poly, side_of(rim), pair.axis)
    add_lowest_of(scratch, point, pair.axis, pair.ba, poly.axis, pair.pb, radius, identifier)


@kernel
def add_corner_on_cylinder(scratch, i, part):
    """Corner i of the first shape, and the side or a rim of the cylinder."""
    p, poly, identifier = scratch.vertices[0, i].p, scratch.poly[1], identify(CORNER, i, part)
    if part == SIDE:
        aim(poly, scratch.pair[0].axis, -1.0, p, p)
        add_round(scratch, p, p, poly.side[0], poly.side[1], 0.0, poly.around, identifier)
    elif is_flat(scratch, part):
        add_on_cap(scratch, p, part, identifier)
    else:
        add_rim_at(scratch, p, part, identifier)


@kernel
def is_flat(scratch, rim):
    """Whether a cap lies nearly across the best normal: its rim has no lowest point to speak of."""
    along = dot(scratch.poly[1].axis, scratch.pair[0].axis)
    if rim_radius(scratch.poly[1], side_of(rim)) == 0.0:
        return False
    return 1.0 - along * along < FLAT * FLAT


@kernel
def add_on_cap(scratch, point, rim, identifier):
    """A point of the first shape against the plane of a cap."""
    pair = scratch.pair[0]
    put_cap(scratch, rim)
    add_plane(scratch, pair.ba, pair.n, point, 0.0, identifier)


@kernel
def add_cylinder(scratch, topology):
    """Candidates of the first shape, a polytope or a triangle, and a cylinder.

    The cylinder is loaded as its axis.
    """
    pair, first, poly = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    find_axis(scratch, topology)
    if not pair.apart < pair.margin:
        return
    # Where a normal that a neighbour is in charge of parts them, or one that looks into the ground,
    # and where they overlap much less along that.
    elsewhere = pair.apart > max(pair.separation + 1e-9 * pair.scale, 0.0)
    elsewhere = elsewhere or pair.separation < 3.0 * min(pair.apart, 0.0) - 1e-6 * pair.scale
    if elsewhere:
        assign(pair.across, pair.axis)
    kind, best_1, best_2 = pair.best_kind, pair.best_1, pair.best_2
    before = pair.count
    add_over_both(scratch, topology, elsewhere)
    if elsewhere:
        if poly.sine > 0.0 and pair.apart < 0.0:
            add_sunk(scratch, topology)
        return
    along = dot(poly.axis, pair.axis)
    if kind == CROSSING:
        add_edge(scratch, topology, best_1, best_2, before)
    elif kind == CORNER:
        add_corner_on_cylinder(scratch, best_1, best_2)
    elif pair.one_sided == 0 and not has_nearest(scratch, before):
        # Nothing over what touches is as near, as of shapes that overlap by much.
        corner = farthest(scratch.vertices[0], first.n_vertices, pair.axis)
        point, rim = scratch.vertices[0, corner].p, rim_of(-along)
        if not is_flat(scratch, rim):
            add_rim_at(scratch, point, rim, identify(CORNER, corner, 3))
            return
        pair.count, pair.slack = before, AS_NEAR * pair.scale
        add_over_both(scratch, topology, False)
        pair.slack = 0.0
        if not has_nearest(scratch, before):
            add_on_cap(scratch, point, rim, identify(CORNER, corner, 3))


@aside
def add_sunk(scratch, topology):
    """What of a cone is lowest, under a triangle of a terrain, if it is less deep beyond an edge.

    A neighbour is in charge of that unless it goes on as high: then it has nothing over it.
    """
    pair, poly, N = scratch.pair[0], scratch.poly[1], scratch.normals[0, 0].p
    side = -1.0 if dot(poly.axis, N) + poly.sine > 0.0 else 1.0
    put_lowest(scratch, poly, side, N)
    if not lies_over(scratch, topology, 0, 0, pair.pb):
        return
    for k in range(3):
        v, w = scratch.vertices[0, k].p, scratch.vertices[0, (k + 1) % 3].p
        outward(v, w, N, pair.e, pair.g)
        if dot(pair.g, pair.across) > 0.0 and holds_alone(scratch, k):
            return
    pair.owner, origin = 0, scratch.vertices[0, 0].p
    identifier, radius = identify(FACE_1, 0, rim_of(side)), rim_radius(poly, side)
    add_lowest_of(scratch, origin, N, pair.ba, poly.axis, pair.pb, radius, identifier)


@kernel
def add_over_both(scratch, topology, elsewhere):
    """What lies over a face and a cap that the best normal is nearly along.

    A cap has no part where a neighbour in a terrain is in charge, `elsewhere`.
    """
    pair, first, poly = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    before, f = pair.count, farthest(scratch.normals[0], first.n_faces, pair.axis)
    if dot(scratch.normals[0, f].p, pair.axis) >= ALIGNED:
        add_over_face(scratch, topology, f)
    along = dot(poly.axis, pair.axis)
    if not elsewhere and abs(along) >= ALIGNED:
        rim = rim_of(-along)
        for k in range(3):
            pair.n[k] = -side_of(rim) * poly.axis[k]
        if allowed(scratch, pair.n):
            add_over_cap(scratch, topology, rim)
    if pair.one_sided == 0:
        drop_deeper(scratch, before, pair.separation, AS_NEAR)
