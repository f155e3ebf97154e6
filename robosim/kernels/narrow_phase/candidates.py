"""Candidates for contact: points against planes, and segments with radii.

Each is written down with its gap, if that is within the margin, in the frame of the first shape;
normals point from the first shape to the second.
"""

from math import inf, sqrt

from robosim.compiled.kinds import PLANE, RIM, RIM_EDGE, ROUND
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign
from robosim.kernels.narrow_phase.points import offset_dot, segment_parameters
from robosim.kernels.narrow_phase.rims import lowest_on_rim, reach_across

OVERLAPS = 1e-7  # part of the shapes by which they overlap where it is no rounding
EXACT = 1e-10  # part of the shapes by which a middle is no nearer than an end but for rounding
AS_NEAR = 1e-5  # and by which it may be nearer and is a point that stays


@kernel
def new_candidate(scratch, gap, identifier):
    """The next free candidate, common fields filled; the last one again once there are too many."""
    pair = scratch.pair[0]
    c = scratch.candidates[pair.count]
    pair.count = min(pair.count + 1, scratch.candidates.shape[0] - 1)
    c.gap, c.owner, c.sign = gap, 0, 1.0
    c.id = pair.triangle * 4294967296 + identifier
    c.radius_1, c.radius_2 = 0.0, 0.0
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
def add_rim(scratch, origin, n, center, axis, lowest, radius, identifier):
    """A rim of one shape against a plane of the other, pair.owner, where it is `lowest`."""
    before = scratch.pair[0].count
    add_plane(scratch, origin, n, lowest, 0.0, identifier)
    if scratch.pair[0].count == before:
        return
    c = scratch.candidates[before]
    c.kind = RIM
    if c.owner == 0:
        assign(center, c.b0)
        assign(axis, c.b1)
        c.radius_2 = radius
    else:
        assign(center, c.a0)
        assign(axis, c.a1)
        c.radius_1 = radius


@kernel
def add_rim_edge(scratch, point, d, around, center, axis, radius, n, identifier):
    """A rim of one shape against an edge of the other, pair.owner, with a radius around the edge.

    The edge is through a point along the unit vector d, or the point alone if d is 0. n, from the
    edge to the rim, parts the two most.
    """
    pair = scratch.pair[0]
    gap = offset_dot(n, center, point) - reach_across(n, axis, radius) - around
    if not gap < pair.margin:
        return
    c = new_candidate(scratch, gap, identifier)
    c.kind, c.owner = RIM_EDGE, pair.owner
    if c.owner == 0:
        assign(point, c.a0)
        assign(d, c.a1)
        assign(center, c.b0)
        assign(axis, c.b1)
        c.radius_1, c.radius_2 = around, radius
    else:
        assign(point, c.b0)
        assign(d, c.b1)
        assign(center, c.a0)
        assign(axis, c.a1)
        c.radius_1, c.radius_2 = radius, around
    lowest_on_rim(axis, n, radius, c.point)
    for k in range(3):
        c.normal[k] = n[k] if c.owner == 0 else -n[k]
        c.point[k] += center[k]


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
    start = pair.count
    if aa > 0.0 and bb > 0.0 and aa * bb - ab * ab < 0.01 * aa * bb:
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
    add_round(scratch, a0, a1, b0, b1, radius_1, radius_2, identifier)
    settle_middle(scratch, start)


@kernel
def settle_middle(scratch, start):
    """Settle where two segments, the last candidate, are nearest, beside their ends since `start`.

    The nearest points of nearly parallel segments run along them from end to end as they turn. If
    an end stands for them they are left out. If one is almost as near, that of the second segment
    stays where it is: what is nearer at the end of an interval is found there.
    """
    pair, candidates, smallest = scratch.pair[0], scratch.candidates, inf
    last = pair.count - 1
    for i in range(start, last):
        smallest = min(smallest, candidates[i].gap)
    if not smallest < inf:
        return
    c = candidates[last]
    nearer = smallest - c.gap
    if nearer < EXACT * pair.scale:
        pair.count = last
    elif nearer < AS_NEAR * pair.scale:
        for k in range(3):
            c.b0[k] = c.point[k] + (c.gap + c.radius_2) * c.normal[k]
            c.b1[k] = c.b0[k]


@kernel
def drop_deeper(scratch, begin, separation, slack):
    """Of shapes that overlap, drop what is behind a plane by more than they overlap, but for slack.

    Those are candidates from `begin` on, of faces that do not part the shapes best. How deep the
    deepest candidate is does not jump then, whichever face comes next.
    """
    pair, kept = scratch.pair[0], begin
    if separation > -OVERLAPS * pair.scale:
        return
    for i in range(begin, pair.count):
        if scratch.candidates[i].gap >= separation - slack * pair.scale:
            scratch.candidates[kept] = scratch.candidates[i]
            kept += 1
    pair.count = kept
