"""An ellipsoid and any other shape: what they may touch with, as one candidate.

It is bent everywhere, so that it touches a convex shape in one point only: with a plane, an edge, a
corner, a rim or another ellipsoid. As in cylinder.py, the best normal of all that these have is
found with the whole shapes. Beside polytopes, terrain and half-spaces the ellipsoid is the second
shape, beside round ones the first.
"""

from math import inf

from robosim.compiled.kinds import (
    CAPSULE,
    CORNER,
    CROSSING,
    CYLINDER,
    ELLIPSOID,
    FACE_1,
    FACE_2,
    NOTHING,
    OVAL,
    OVAL_EDGE,
    OVAL_PAIR,
)
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.equations.algebra import assign, dot, fill
from robosim.kernels.narrow_phase.candidates import add_plane, new_candidate
from robosim.kernels.narrow_phase.clip import lies_over
from robosim.kernels.narrow_phase.cones import aim, rim_center, rim_radius, turn_side
from robosim.kernels.narrow_phase.cylinder import (
    SIDE,
    identify,
    put_cap,
    rim_of,
    side_of,
    try_axis,
    try_from,
)
from robosim.kernels.narrow_phase.ovals import oval_arm, part_most, start_normal
from robosim.kernels.narrow_phase.points import between_segments, normalize, offset_dot


@kernel
def add_oval(scratch, origin, n, identifier):
    """The ellipsoid against a plane of the other shape, pair.owner; n from there to it."""
    pair, oval = scratch.pair[0], scratch.poly[1 - scratch.pair[0].owner]
    before = pair.count
    oval_arm(oval.semi_axes, n, pair.m)
    for k in range(3):
        pair.pb[k] = oval.x[k] - pair.m[k]
    add_plane(scratch, origin, n, pair.pb, 0.0, identifier)
    if pair.count == before:
        return
    c = scratch.candidates[before]
    c.kind = OVAL
    assign(oval.x, c.b0 if c.owner == 0 else c.a0)


@kernel
def part(scratch, owner, point, d):
    """pair.n: from a point, an edge along d or an oval at `point` of `owner`, to the other one.

    The normal that parts the two most; returns by how much. The other shape is an ellipsoid.
    """
    pair, oval, B_o = scratch.pair[0], scratch.poly[1 - owner], scratch.poly[owner].semi_axes
    for k in range(3):
        pair.dc[k] = oval.x[k] - point[k]
    start_normal(pair.dc, d, oval.semi_axes, B_o, pair.n, pair.m)
    return part_most(pair.dc, d, oval.semi_axes, B_o, pair.n, pair.m, pair.g, pair.pc)


@kernel
def part_from_best(scratch, owner, point, d):
    """`part` that begins with the best normal of all so far, which is across d."""
    pair, oval, B_o = scratch.pair[0], scratch.poly[1 - owner], scratch.poly[owner].semi_axes
    for k in range(3):
        pair.dc[k] = oval.x[k] - point[k]
        pair.n[k] = pair.axis[k] if owner == 0 else -pair.axis[k]
    return part_most(pair.dc, d, oval.semi_axes, B_o, pair.n, pair.m, pair.g, pair.pc)


@kernel
def add_oval_at(scratch, kind, point, d, around, gap, identifier):
    """The ellipsoid against what `part` was told of pair.owner, with a radius around that."""
    pair, owner = scratch.pair[0], scratch.pair[0].owner
    if not gap < pair.margin:
        return
    oval, n = scratch.poly[1 - owner], pair.n
    c = new_candidate(scratch, gap, identifier)
    c.kind, c.owner = kind, owner
    if owner == 0:
        assign(point, c.a0)
        assign(d, c.a1)
        assign(oval.x, c.b0)
        assign(n, c.b1)
        c.radius_1 = around
    else:
        assign(point, c.b0)
        assign(d, c.b1)
        assign(oval.x, c.a0)
        assign(n, c.a1)
        c.radius_2 = around
    oval_arm(oval.semi_axes, n, pair.m)
    for k in range(3):
        c.normal[k] = n[k] if owner == 0 else -n[k]
        c.point[k] = oval.x[k] - pair.m[k]


@aside
def add_ellipsoid(scratch, topology):
    """The candidate of the first shape, a polytope or a triangle, and an ellipsoid."""
    pair, first, oval = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    vertices, normals, d = scratch.vertices[0], scratch.normals[0], pair.lean
    fill(0.0, first.semi_axes)
    pair.separation, pair.apart, pair.best_kind = -inf, -inf, NOTHING
    one_sided = pair.one_sided == 1
    if one_sided and offset_dot(normals[0].p, oval.x, vertices[0].p) <= 0.0:
        return
    for f in range(first.n_faces):
        # Beside a triangle of a terrain its neighbours are in charge.
        if not one_sided or is_over_triangle(scratch, topology):
            try_axis(scratch, normals[f].p, FACE_1, f, 0)
    near = oval.radius + pair.margin
    fill(0.0, d)
    for i in range(first.n_vertices):
        if is_near(scratch, vertices[i].p, vertices[i].p, near):
            part(scratch, 0, vertices[i].p, d)
            try_from(scratch, vertices[i].p, pair.n, CORNER, i, 0)
    for i in range(first.n_edges):
        row = topology.edges[first.edge_begin + i]
        v, w = vertices[row[0]].p, vertices[row[1]].p
        if is_near(scratch, v, w, near):
            length = put_along(v, w, d)
            part(scratch, 0, v, d)
            along = foot_along(scratch, 1, v, d)
            # Beyond the ends of the edge a corner or a neighbour touches.
            if along > -1e-9 * pair.scale and along < length + 1e-9 * pair.scale:
                try_from(scratch, v, pair.n, CROSSING, i, 0)
    pair.owner = 0
    kind, best = pair.best_kind, pair.best_1
    identifier = identify(kind, best, 0)
    if kind == FACE_1:
        corner = topology.loops[topology.faces[first.face_begin + best, 0]]
        add_oval(scratch, vertices[corner].p, normals[best].p, identifier)
    elif kind != NOTHING:
        corner = best
        fill(0.0, d)
        if kind == CROSSING:
            row = topology.edges[first.edge_begin + best]
            corner = row[0]
            put_along(vertices[corner].p, vertices[row[1]].p, d)
        gap = part_from_best(scratch, 0, vertices[corner].p, d)
        add_oval_at(scratch, OVAL_EDGE, vertices[corner].p, d, 0.0, gap, identifier)


@kernel
def is_over_triangle(scratch, topology):
    """Whether the point of the ellipsoid that is lowest over a triangle lies over that."""
    pair, oval = scratch.pair[0], scratch.poly[1]
    oval_arm(oval.semi_axes, scratch.normals[0, 0].p, pair.m)
    for k in range(3):
        pair.pb[k] = oval.x[k] - pair.m[k]
    return lies_over(scratch, topology, 0, 0, pair.pb)


@kernel
def is_near(scratch, v, w, near):
    """Whether a segment of the first shape is within reach of a sphere around the ellipsoid."""
    pair, x = scratch.pair[0], scratch.poly[1].x
    between_segments(v, w, x, x, pair.n)
    return dot(pair.n, pair.n) < near * near


@kernel
def put_along(v, w, d):
    """d: the unit vector from v to w; returns how far these are apart [m]."""
    for k in range(3):
        d[k] = w[k] - v[k]
    return normalize(d)


@aside
def add_round_to_ellipsoid(scratch):
    """The candidate of an ellipsoid and a sphere, a capsule, a cylinder or another ellipsoid."""
    pair, second, d = scratch.pair[0], scratch.poly[1], scratch.pair[0].lean
    fill(0.0, d)
    if second.kind == ELLIPSOID:
        pair.owner = 0
        gap = part(scratch, 0, scratch.poly[0].x, d)
        add_oval_at(scratch, OVAL_PAIR, scratch.poly[0].x, d, 0.0, gap, ELLIPSOID)
        return
    pair.owner = 1
    fill(0.0, second.semi_axes)
    if second.kind == CYLINDER:
        add_cylinder_to_ellipsoid(scratch)
        return
    identifier = 0
    assign(second.x, pair.pa)
    if second.kind == CAPSULE:
        assign(second.axis, d)
        part(scratch, 1, pair.pa, d)
        along = foot_along(scratch, 0, second.x, d)
        if abs(along) > second.half_length:
            identifier = 2 if along > 0.0 else 1
            assign(scratch.vertices[1, identifier - 1].p, pair.pa)
            fill(0.0, d)
    gap = part(scratch, 1, pair.pa, d) - second.radius
    add_oval_at(scratch, OVAL_EDGE, pair.pa, d, second.radius, gap, identifier)


@kernel
def foot_along(scratch, which, point, d):
    """How far along d from a point the ellipsoid `which` touches an edge, by pair.n [m]."""
    pair, oval = scratch.pair[0], scratch.poly[which]
    oval_arm(oval.semi_axes, pair.n, pair.m)
    return offset_dot(d, oval.x, point) - dot(d, pair.m)


@kernel
def add_cylinder_to_ellipsoid(scratch):
    """The candidate of an ellipsoid and a cylinder or cone: its caps, its side and its rims."""
    pair, poly, d = scratch.pair[0], scratch.poly[1], scratch.pair[0].lean
    pair.separation, pair.apart, pair.best_kind = -inf, -inf, NOTHING
    for side in (1.0, -1.0):
        for k in range(3):
            pair.v[k] = -side * poly.axis[k]
        if rim_radius(poly, side) > 0.0:
            try_axis(scratch, pair.v, FACE_2, rim_of(side), 0)
    if poly.sine > 0.0:
        turn_side(poly, scratch.poly[0], 0.0, pair.n, pair.m, pair.g, pair.dc)
        try_back(scratch, CROSSING, SIDE)
    else:
        assign(poly.axis, d)
        part(scratch, 1, poly.x, d)
        if abs(foot_along(scratch, 0, poly.x, d)) <= poly.half_length:
            try_back(scratch, CROSSING, SIDE)
    fill(0.0, d)
    for side in (1.0, -1.0):
        put_rim_axes(poly, side)
        rim_center(poly, side, pair.pa)
        # Close to a cap's normal, these may be of the other rim.
        part(scratch, 1, pair.pa, d)
        try_back(scratch, CORNER, rim_of(dot(pair.n, poly.axis) - poly.sine))
        part_from_best(scratch, 1, pair.pa, d)
        try_back(scratch, CORNER, rim_of(dot(pair.n, poly.axis) - poly.sine))
    kind, part_of = pair.best_kind, pair.best_1
    identifier = identify(kind, part_of, 0)
    pair.owner = 1
    if kind == FACE_2:
        put_cap(scratch, part_of)
        assign(pair.ba, pair.pa)
        assign(pair.n, pair.v)
        add_oval(scratch, pair.pa, pair.v, identifier)
    elif kind == CORNER:
        side = side_of(part_of)
        put_rim_axes(poly, side)
        rim_center(poly, side, pair.pa)
        gap, radius = part_from_best(scratch, 1, pair.pa, d), rim_radius(poly, side)
        if radius > 0.0:
            add_oval_at(scratch, OVAL_PAIR, pair.pa, poly.axis, radius, gap, identifier)
        else:
            add_oval_at(scratch, OVAL_EDGE, pair.pa, d, 0.0, gap, identifier)
    else:
        fill(0.0, poly.semi_axes)
        aim_at_oval(scratch)
        assign(poly.along, d)
        gap = part_from_best(scratch, 1, poly.origin, d) - poly.around
        add_oval_at(scratch, OVAL_EDGE, poly.origin, d, poly.around, gap, identifier)


@kernel
def put_rim_axes(poly, side):
    """Let the semi-axes of a cylinder or cone be those of a rim."""
    radius = rim_radius(poly, side)
    for i in range(3):
        for k in range(2):
            poly.semi_axes[i, k] = radius * poly.R[i, k]


@kernel
def aim_at_oval(scratch):
    """Put the side of a cone beside where the ellipsoid is nearest along the best normal."""
    pair, oval = scratch.pair[0], scratch.poly[0]
    oval_arm(oval.semi_axes, pair.axis, pair.m)
    for k in range(3):
        pair.pa[k] = oval.x[k] + pair.m[k]
    aim(scratch.poly[1], pair.axis, -1.0, pair.pa, pair.pa)


@kernel
def try_back(scratch, kind, part_of):
    """`try_axis` of pair.n, which is from the second shape to the first."""
    pair = scratch.pair[0]
    for k in range(3):
        pair.v[k] = -pair.n[k]
    try_axis(scratch, pair.v, kind, part_of, 0)
