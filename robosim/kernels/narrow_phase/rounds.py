"""Two of spheres, capsules, cylinders and cones: what they may touch with, as candidates.

Spheres and capsules are segments with a radius around them. A cylinder comes first, and has two
caps and two rims besides its round side, a cone the side of cones.py. As in cylinder.py, the best
of all normals is found, and what it comes from touches, with what lies over a cap that it is nearly
along.
"""

from math import inf, sqrt

from robosim.compiled.kinds import CORNER, CROSSING, CYLINDER, FACE_1, FACE_2, NOTHING
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.equations.algebra import assign, cross, dot, fill
from robosim.kernels.narrow_phase.candidates import (
    AS_NEAR,
    add_plane,
    add_rim,
    add_rim_edge,
    add_round,
    add_rounds,
    settle_middle,
)
from robosim.kernels.narrow_phase.cones import (
    aim,
    aim_both,
    off_axis,
    rim_center,
    rim_radius,
    side_across,
    side_across_side,
    side_to_point,
    turn_side,
)
from robosim.kernels.narrow_phase.cylinder import (
    ALIGNED,
    ALONG,
    CIRCLE,
    FLAT,
    LOWER_RIM,
    NEARLY_FLAT,
    PARALLEL,
    SIDE,
    UPPER_RIM,
    across_rim,
    add_crossings,
    add_lowest_of,
    from_rim,
    has_nearest,
    identify,
    is_level,
    is_over_cap,
    lean,
    lies_along,
    put_lowest,
    put_on_rim,
    rim_of,
    side_of,
    try_axis,
    turn_best,
)
from robosim.kernels.narrow_phase.points import (
    between_segments,
    clamp,
    nearest,
    normalize,
    offset_dot,
)
from robosim.kernels.narrow_phase.rims import best_between_rims, nearest_on_rim


@kernel
def add_round_shapes(scratch):
    """Candidates of two of sphere, capsule, cylinder and cone, which are loaded as their axes."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    a0, a1 = scratch.vertices[0, 0].p, scratch.vertices[0, first.n_vertices - 1].p
    b0, b1 = scratch.vertices[1, 0].p, scratch.vertices[1, second.n_vertices - 1].p
    if first.kind != CYLINDER:
        # Of axes that meet there is no normal.
        fill(0.0, pair.n)
        add_rounds(scratch, a0, a1, b0, b1, first.radius, second.radius, first.kind)
        return
    between_segments(a0, a1, b0, b1, pair.n)
    apart = normalize(pair.n)
    if apart > first.radius + second.radius + pair.margin:
        return
    pair.separation, pair.apart, pair.best_kind = -inf, -inf, NOTHING
    try_caps(scratch)
    across_second = second.kind != CYLINDER or abs(dot(pair.n, second.axis)) < 1e-9
    if first.sine > 0.0 or second.sine > 0.0:
        try_slants(scratch)
    elif apart > 0.0 and abs(dot(pair.n, first.axis)) < 1e-9 and across_second:
        assign(pair.n, pair.v)
        try_axis(scratch, pair.v, CROSSING, SIDE, SIDE)
    try_rims(scratch)
    if not pair.separation < pair.margin:
        return
    add_over_caps(scratch)
    add_best(scratch)
    kind = pair.best_kind
    if has_nearest(scratch, 0):
        return
    # What is just beside a cap may not be over it by rounding.
    pair.count, pair.slack = 0, AS_NEAR * pair.scale
    add_over_caps(scratch)
    pair.slack = 0.0
    if has_nearest(scratch, 0):
        return
    if kind in (FACE_1, FACE_2):
        add_nearest_to_cap(scratch, kind - FACE_1)
    elif kind == CROSSING:
        add_two_rims(scratch, identify(CROSSING, 0, 40))


@kernel
def try_caps(scratch):
    """The normals of the caps."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    for side in (1.0, -1.0):
        for k in range(3):
            pair.v[k] = side * first.axis[k]
        if rim_radius(first, side) > 0.0:
            try_axis(scratch, pair.v, FACE_1, rim_of(side), 0)
    if second.kind == CYLINDER:
        for side in (1.0, -1.0):
            for k in range(3):
                pair.v[k] = -side * second.axis[k]
            if rim_radius(second, side) > 0.0:
                try_axis(scratch, pair.v, FACE_2, rim_of(side), 0)


@aside
def try_slants(scratch):
    """The normals of the side of a cone and another side or a point, where one of both is a cone.

    Of a rim beside the side of a cone, too.
    """
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    n = pair.v
    if second.kind != CYLINDER:
        for i in range(second.n_vertices):
            if side_to_point(first, scratch.vertices[1, i].p, n):
                try_axis(scratch, n, CROSSING, SIDE, SIDE)
    for sign in (1.0, -1.0):
        if second.kind == CYLINDER:
            if side_across_side(first, second, sign, n):
                try_axis(scratch, n, CROSSING, SIDE, SIDE)
        elif second.n_vertices > 1 and side_across(first, second.axis, sign, pair.m, n):
            try_axis(scratch, n, CROSSING, SIDE, SIDE)
    if second.kind != CYLINDER:
        return
    for side in (1.0, -1.0):
        if first.sine > 0.0:
            turn_side(first, second, side, n, pair.m, pair.g, pair.dc)
            try_axis(scratch, n, CROSSING, SIDE, rim_of(side))
        if second.sine > 0.0:
            turn_side(second, first, side, n, pair.m, pair.g, pair.dc)
            for k in range(3):
                n[k] = -n[k]
            try_axis(scratch, n, CROSSING, rim_of(side), SIDE)


@kernel
def try_rims(scratch):
    """Normals across a rim and an axis or two rims, and from the ends of a capsule to a rim."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    is_long = second.n_vertices > 1
    for side in (1.0, -1.0):
        beside = is_long and second.sine == 0.0
        if beside and across_rim(scratch, 0, side, second.x, second.axis) < -1e-5 * first.rim:
            for k in range(3):
                pair.n[k] = -pair.n[k]
            try_axis(scratch, pair.n, CROSSING, rim_of(side), SIDE)
        if second.kind != CYLINDER:
            for i in range(second.n_vertices):
                if from_rim(scratch, 0, side, scratch.vertices[1, i].p):
                    try_axis(scratch, pair.n, CORNER, i, rim_of(side))
        elif first.sine == 0.0 and (
            across_rim(scratch, 1, side, first.x, first.axis) < -1e-5 * second.rim
        ):
            try_axis(scratch, pair.n, CROSSING, SIDE, rim_of(side))
    if second.kind == CYLINDER:
        assign(pair.axis, pair.v)
        for side in (1.0, -1.0):
            for other in (1.0, -1.0):
                try_two_rims(scratch, side, other, False)
                try_two_rims(scratch, side, other, True)


@kernel
def try_two_rims(scratch, side, other, straight):
    """The normal across two rims, from the one between their centres or the best of all others."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    rim_center(first, side, pair.pa)
    rim_center(second, other, pair.ba)
    for k in range(3):
        pair.ba[k] -= pair.pa[k]
        pair.n[k] = pair.ba[k] if straight else pair.v[k]
    if normalize(pair.n) == 0.0:
        return
    axis_1, radius_1, axis_2 = first.axis, rim_radius(first, side), second.axis
    radius_2, w, n, start = rim_radius(second, other), pair.ba, pair.n, pair.pb
    if radius_1 > 0.0 or radius_2 > 0.0:
        best_between_rims(w, axis_1, radius_1, axis_2, radius_2, n, start, pair.m, pair.g)
    elif not straight:
        return
    # Close to a cap's normal, the best one of these rims may be one of the shapes' other rims.
    one, two = rim_of(dot(n, axis_1) - first.sine), rim_of(-dot(n, axis_2) - second.sine)
    try_axis(scratch, n, CROSSING, one, two)


@kernel
def add_over_caps(scratch):
    """What lies over caps that the best normal is nearly along."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    along = dot(first.axis, pair.axis)
    if abs(along) >= ALIGNED:
        add_over_disc(scratch, 0, rim_of(along))
    along = dot(second.axis, pair.axis)
    if second.kind == CYLINDER and abs(along) >= ALIGNED:
        add_over_disc(scratch, 1, rim_of(-along))


@kernel
def add_over_disc(scratch, owner, rim):
    """What of the other shape lies over a cap of `owner`."""
    pair, poly, other = scratch.pair[0], scratch.poly[owner], scratch.poly[1 - owner]
    axis, n, side = scratch.vertices[1 - owner], pair.v, side_of(rim)
    disc = rim_radius(poly, side)
    if disc == 0.0:
        return
    rim_center(poly, side, pair.pa)
    for k in range(3):
        n[k] = side * poly.axis[k]
    kind, pair.owner = FACE_1 + owner, owner
    cosine = dot(other.axis, n)
    radius, identifier = other.radius, identify(kind, 0, rim)
    if other.kind == CYLINDER:
        add_rims_over_disc(scratch, owner, rim)
        if lies_along(other, n):
            # Its lowest line, as a row of balls: see `add_side_over_face`.
            across, begin, end = sqrt(1.0 - cosine * cosine), pair.pc, pair.dc
            ball, ball_end = other.rim / across, other.top / across
            for side, at, around in ((-1.0, begin, ball), (1.0, end, ball_end)):
                put_lowest(scratch, other, side, n)
                for k in range(3):
                    at[k] = pair.pb[k] + around * n[k]
            add_crossings(scratch, poly, disc, pair.pa, n, begin, end, ball, ball_end, identifier)
    else:
        for i in range(other.n_vertices):
            if is_over_cap(scratch, poly, disc, axis[i].p):
                add_plane(scratch, pair.pa, n, axis[i].p, other.radius, identify(kind, i, rim))
        if other.n_vertices > 1:
            v, w = axis[0].p, axis[1].p
            add_crossings(scratch, poly, disc, pair.pa, n, v, w, radius, radius, identifier)


@kernel
def add_rims_over_disc(scratch, owner, rim):
    """What of the other cylinder's rims lies over a cap of `owner`, about pair.pa, along pair.v."""
    pair, poly, other = scratch.pair[0], scratch.poly[owner], scratch.poly[1 - owner]
    kind, n, disc = FACE_1 + owner, pair.v, rim_radius(poly, side_of(rim))
    cosine = dot(other.axis, n)
    sine = sqrt(max(1.0 - cosine * cosine, 0.0))
    on_point = other.top == 0.0 and cosine < 0.0
    for side in (1.0, -1.0):
        if sine >= FLAT or (on_point and side > 0.0):
            put_lowest(scratch, other, side, n)
            if is_over_cap(scratch, poly, disc, pair.pb):
                identifier, radius = identify(kind, rim_of(side), 8 + rim), rim_radius(other, side)
                axis, center, low = other.axis, pair.ba, pair.pb
                add_lowest_of(scratch, pair.pa, n, center, axis, low, radius, identifier)
    if sine >= NEARLY_FLAT or on_point:
        return
    side = -1.0 if cosine > 0.0 else 1.0
    own = rim_radius(other, side)
    rim_center(other, side, pair.ba)
    lean(scratch, other, n)
    for i in range(len(CIRCLE)):
        put_on_rim(scratch, own, i)
        if is_over_cap(scratch, poly, disc, pair.pb):
            add_plane(scratch, pair.pa, n, pair.pb, 0.0, identify(kind, i, 16 + rim))
    # Where both rims cross, and what of the other one is farthest over the cap.
    square = off_axis(poly, pair.ba, pair.m)
    apart = sqrt(square)
    if apart < 1e-6 * disc or apart > disc + own + pair.slack:
        return
    along = (square + own * own - disc * disc) / (2.0 * apart)
    cross(n, pair.m, pair.g)
    for i in range(3):
        share = own if i == 2 else clamp(along, -own, own)
        across = sqrt(max(own * own - share * share, 0.0)) * (1.0 - 2.0 * (i % 2))
        for k in range(3):
            pair.dc[k] = across * pair.g[k] - share * pair.m[k]
        nearest_on_rim(pair.dc, other.axis, own, pair.pb)
        for k in range(3):
            pair.pb[k] += pair.ba[k]
        if off_axis(poly, pair.pb, pair.e) <= (disc + pair.slack) ** 2 * (1.0 + 1e-9):
            add_plane(scratch, pair.pa, n, pair.pb, 0.0, identify(kind, i, 24 + rim))


@kernel
def add_nearest_to_cap(scratch, owner):
    """What of the other shape is nearest to a cap of `owner`, although it is just beside it."""
    pair, poly, other = scratch.pair[0], scratch.poly[owner], scratch.poly[1 - owner]
    sign, n = 1.0 if owner == 0 else -1.0, pair.v
    for k in range(3):
        n[k] = sign * pair.axis[k]
    rim_center(poly, 1.0 if dot(n, poly.axis) > 0.0 else -1.0, pair.pa)
    pair.owner = owner
    identifier = identify(FACE_1 + owner, 0, 32)
    if other.kind != CYLINDER:
        axis = scratch.vertices[1 - owner]
        i = nearest(axis, other.n_vertices, n)
        add_plane(scratch, pair.pa, n, axis[i].p, other.radius, identifier)
        return
    add_lowest(scratch, other, n, identifier)


@kernel
def add_lowest(scratch, poly, n, identifier):
    """What of a cylinder is lowest along n, over the plane through pair.pa: its rim, or a point."""
    pair, cosine = scratch.pair[0], dot(n, poly.axis)
    side = -1.0 if cosine + poly.sine > 0.0 else 1.0
    radius = rim_radius(poly, side)
    put_lowest(scratch, poly, side, n)
    if 1.0 - cosine * cosine >= FLAT * FLAT and radius > 0.0:
        add_rim(scratch, pair.pa, n, pair.ba, poly.axis, pair.pb, radius, identifier)
    elif not has_nearest(scratch, 0):
        add_plane(scratch, pair.pa, n, pair.pb, 0.0, identifier)


@kernel
def add_best(scratch):
    """What the best normal comes from, unless that is a cap."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    kind, one, other = pair.best_kind, pair.best_1, pair.best_2
    b = scratch.vertices[1]
    if kind == CORNER:
        pair.owner = 1
        rim_center(first, side_of(other), pair.ba)
        for k in range(3):
            pair.v[k], pair.n[k] = 0.0, -pair.axis[k]
        identifier = identify(CORNER, one, other)
        point, radius = b[one].p, second.radius
        axis, rim = first.axis, rim_radius(first, side_of(other))
        if rim == 0.0:
            add_round(scratch, pair.ba, pair.ba, point, point, 0.0, radius, identifier)
            return
        add_rim_edge(scratch, point, pair.v, radius, pair.ba, axis, rim, pair.n, identifier)
    elif kind == CROSSING and (one == SIDE or other == SIDE):
        add_sides(scratch, one, other)
    elif kind == CROSSING:
        add_two_rims(scratch, identify(CROSSING, one, other))


@kernel
def add_two_rims(scratch, identifier):
    """The rims that are nearest along the best normal.

    One touches the plane that is along the other one, across the normal. That is the one which lies
    less flat on it. If both lie flat, what lies over their caps does, or a point.
    """
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    pair.owner = 1 if abs(dot(second.axis, pair.axis)) > abs(dot(first.axis, pair.axis)) else 0
    if first.sine > 0.0 or second.sine > 0.0:
        pointed_1 = first.top == 0.0 and dot(first.axis, pair.axis) > first.sine
        pointed_2 = second.top == 0.0 and dot(second.axis, pair.axis) < -second.sine
        if pointed_1 != pointed_2:
            add_apex_and_rim(scratch, 0 if pointed_1 else 1, identifier)
            return
    plane, poly, n, back = scratch.poly[pair.owner], scratch.poly[1 - pair.owner], pair.v, pair.back
    for k in range(3):
        n[k] = pair.axis[k] if pair.owner == 0 else -pair.axis[k]
        back[k] = -n[k]
    put_lowest(scratch, plane, 1.0 if dot(plane.axis, n) > plane.sine else -1.0, back)
    assign(pair.pb, pair.pa)
    add_lowest(scratch, poly, n, identifier)


@kernel
def add_apex_and_rim(scratch, owner, identifier):
    """The apex of `owner`, and the rim of the other one that is nearest along the best normal."""
    pair, poly = scratch.pair[0], scratch.poly[1 - owner]
    pair.owner = owner
    rim_center(scratch.poly[owner], 1.0, pair.pa)
    for k in range(3):
        pair.v[k], pair.n[k] = 0.0, pair.axis[k] if owner == 0 else -pair.axis[k]
    side = -1.0 if dot(poly.axis, pair.n) + poly.sine > 0.0 else 1.0
    radius, axis, n = rim_radius(poly, side), poly.axis, pair.n
    rim_center(poly, side, pair.ba)
    add_rim_edge(scratch, pair.pa, pair.v, 0.0, pair.ba, axis, radius, n, identifier)


@kernel
def add_sides(scratch, one, other):
    """The side or a rim of the first shape, and of the second, one of which is a side."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    a, b, beside = first.side, scratch.vertices[1], second.side
    start = pair.count
    if one != SIDE and not is_level(scratch, first, 0):
        add_rim_and_side(scratch, 1, one)
    elif other != SIDE and not is_level(scratch, second, 0):
        add_rim_and_side(scratch, 0, other)
    aim_both(first, second, pair.axis)
    if second.n_vertices > 1 and abs(dot(first.along, second.along)) >= PARALLEL:
        # Nearly parallel ones touch at both ends of where they overlap.
        for rim in (UPPER_RIM, LOWER_RIM):
            if rim != one and is_beside(scratch, 1, rim):
                add_rim_and_side(scratch, 1, rim)
            if second.kind == CYLINDER and rim != other and is_beside(scratch, 0, rim):
                add_rim_and_side(scratch, 0, rim)
        for i in range(2 if second.kind != CYLINDER else 0):
            if abs(offset_dot(first.axis, b[i].p, first.x)) <= first.half_length:
                identifier, p = identify(CORNER, i, SIDE), b[i].p
                aim(first, pair.axis, 1.0, p, p)
                add_round(scratch, a[0], a[1], p, p, first.around, second.radius, identifier)
    if one == SIDE and other == SIDE:
        identifier, radius_2 = identify(CROSSING, SIDE, SIDE), second.around
        aim_both(first, second, pair.axis)
        add_round(scratch, a[0], a[1], beside[0], beside[1], first.around, radius_2, identifier)
        settle_middle(scratch, start)


@kernel
def is_beside(scratch, owner, rim):
    """Whether a rim of the other shape is beside the round side of `owner`, between its ends."""
    pair, line, poly = scratch.pair[0], scratch.poly[owner], scratch.poly[1 - owner]
    rim_center(poly, side_of(rim), pair.ba)
    if line.sine > 0.0:
        # The other one's lowest point, as the axes may lean.
        for k in range(3):
            pair.v[k] = pair.axis[k] if owner == 0 else -pair.axis[k]
        put_lowest(scratch, poly, side_of(rim), pair.v)
        return abs(offset_dot(line.axis, pair.pb, line.x)) <= line.half_length
    return abs(offset_dot(line.axis, pair.ba, line.x)) <= line.half_length


@kernel
def add_rim_and_side(scratch, owner, rim):
    """The round side of `owner`, and a rim of the other one."""
    pair, line, poly = scratch.pair[0], scratch.poly[owner], scratch.poly[1 - owner]
    identifier, size = identify(CROSSING, owner, rim), rim_radius(poly, side_of(rim))
    if line.sine > 0.0 or size == 0.0:
        for k in range(3):
            pair.v[k] = pair.axis[k] if owner == 0 else -pair.axis[k]
        put_lowest(scratch, poly, side_of(rim), pair.v)
        aim(line, pair.v, 1.0, pair.pb, pair.pb)
    a, b, around = line.side[0], line.side[1], line.around
    if size == 0.0 and owner == 0:
        add_round(scratch, a, b, pair.pb, pair.pb, around, 0.0, identifier)
        return
    if size == 0.0:
        add_round(scratch, pair.pb, pair.pb, a, b, 0.0, around, identifier)
        return
    bend = turn_best(scratch, 1 - owner, side_of(rim), line.origin, line.along)
    pair.owner, axis, n = owner, poly.axis, pair.n
    put_lowest(scratch, poly, side_of(rim), n)
    if bend < -ALONG * poly.rim:
        add_rim_edge(scratch, line.origin, line.along, around, pair.ba, axis, size, n, identifier)
        return
    # Along the side: against the plane between the two.
    along = offset_dot(line.along, pair.pb, line.origin)
    for k in range(3):
        pair.pa[k] = line.origin[k] + along * line.along[k] + around * n[k]
    add_rim(scratch, pair.pa, n, pair.ba, axis, pair.pb, size, identifier)
