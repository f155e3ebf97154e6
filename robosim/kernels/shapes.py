"""Which features of two shapes may touch: the narrow phase of contact.

`find_features` looks at a pair of shapes once, at the start of a step, and leaves up to four
features, frozen to the bodies, whose gaps the integrator then follows to the end of the step.
The record FEATURE and its three kinds are described in robosim.collision.

The shape of the higher kind comes first and gives the frame in which all is done (convex.py); the
features are turned to the axes of the bodies at the end.
"""

from math import floor, inf, sqrt

from robosim.kernels.algebra import assign, cross, dot, rotate, rotate_back
from robosim.kernels.convex import (
    add_contacts,
    add_plane,
    add_round,
    add_rounds,
    cylinder_outline,
    distance,
    drop_stand_ins,
    normalize,
    offset_dot,
    segment_parameters,
)
from robosim.kernels.jit import entry, kernel

CYLINDER = 2
POLYTOPE = 3
HALF_SPACE = 4
HEIGHT_FIELD = 5
MESH = 6
PLANE = 0
ROUND = 1
LYING = 1e-7  # cosine of axis and normal below which a cylinder is touched at its round side
FULL = 40  # candidates that are kept before they are reduced to four
# Steps from a point of a height field to those around it.
RING_X = (1, 0, -1, 0, 1, -1)
RING_Y = (0, 1, 0, -1, 1, -1)
# Corners of the two triangles of a cell of a height field, then those of their neighbours that
# lie opposite of each edge, as steps along x and y.
CELL_X = ((0, 1, 1, 0, 2, 0), (0, 1, 0, 1, 1, -1))
CELL_Y = ((0, 0, 1, -1, 1, 1), (0, 1, 1, 0, 2, 0))


@kernel
def place_shape(pose, shape, R, x):
    """R (3, 3) and x (3,): the shape's axes and origin in the world."""
    for i in range(3):
        for k in range(3):
            R[i, k] = (
                pose.R[i, 0] * shape.R[0, k]
                + pose.R[i, 1] * shape.R[1, k]
                + pose.R[i, 2] * shape.R[2, k]
            )
    rotate(pose.R, shape.x, x)
    for i in range(3):
        x[i] += pose.x[i]


@kernel
def place_pair(scratch, pose_1, shape_1, pose_2, shape_2):
    """Axes and origin of the second shape in the frame of the first, where that has its own."""
    pair, second = scratch.pair[0], scratch.poly[1]
    place_shape(pose_1, shape_1, pair.R_1, pair.ba)
    place_shape(pose_2, shape_2, pair.R_2, pair.dc)
    for i in range(3):
        pair.e[i] = pair.dc[i] - pair.ba[i]
    rotate_back(pair.R_1, pair.e, second.x)
    for i in range(3):
        for k in range(3):
            second.R[i, k] = (
                pair.R_1[0, i] * pair.R_2[0, k]
                + pair.R_1[1, i] * pair.R_2[1, k]
                + pair.R_1[2, i] * pair.R_2[2, k]
            )


@kernel
def boxes_apart(first, second, place, margin):
    """Whether an axis of one of the shapes' boxes tells that they are farther apart than margin.

    `place` has the second shape in the frame of the first.
    """
    R, x = place.R, place.x
    for k in range(3):
        low, high = x[k], x[k]
        for i in range(3):
            at_low, at_high = R[k, i] * second.lower[i], R[k, i] * second.upper[i]
            low += min(at_low, at_high)
            high += max(at_low, at_high)
        if low > first.upper[k] + margin or high < first.lower[k] - margin:
            return True
    if first.kind == HALF_SPACE:
        return False
    for k in range(3):
        low = -(R[0, k] * x[0] + R[1, k] * x[1] + R[2, k] * x[2])
        high = low
        for i in range(3):
            at_low, at_high = R[i, k] * first.lower[i], R[i, k] * first.upper[i]
            low += min(at_low, at_high)
            high += max(at_low, at_high)
        if low > second.upper[k] + margin or high < second.lower[k] - margin:
            return True
    return False


@kernel
def bound(poly, vertices):
    """poly.lower, poly.upper: bounds of the vertices and the radius around them."""
    for c in range(3):
        low, high = inf, -inf
        for i in range(poly.n_vertices):
            low, high = min(low, vertices[i].p[c]), max(high, vertices[i].p[c])
        poly.lower[c], poly.upper[c] = low - poly.radius, high + poly.radius


@kernel
def load_polytope(scratch, data, which, shape):
    """Put a polytope, or the prism around a cylinder, in its place in the frame of the pair."""
    poly = scratch.poly[which]
    vertices, normals = scratch.vertices[which], scratch.normals[which]
    poly.n_vertices, poly.n_faces, poly.n_edges = shape.n_vertices, shape.n_faces, shape.n_edges
    poly.face_begin, poly.edge_begin, poly.radius = shape.face_begin, shape.edge_begin, 0.0
    for i in range(shape.n_vertices):
        rotate(poly.R, data.vertices[shape.vertex_begin + i].p, vertices[i].p)
        for c in range(3):
            vertices[i].p[c] += poly.x[c]
    for i in range(shape.n_faces):
        rotate(poly.R, data.normals[shape.face_begin + i].p, normals[i].p)
    bound(poly, vertices)


@kernel
def load_axis(scratch, which, shape):
    """Put the axis of a cylinder or a capsule, or the middle of a sphere, in its poly."""
    poly, vertices = scratch.poly[which], scratch.vertices[which]
    poly.n_vertices, poly.n_faces, poly.n_edges = 1 if shape.half_length == 0.0 else 2, 0, 0
    poly.radius = shape.radius
    for c in range(3):
        along = shape.half_length * poly.R[c, 2]
        vertices[0].p[c], vertices[1].p[c] = poly.x[c] - along, poly.x[c] + along
    bound(poly, vertices)


@kernel
def load(scratch, data, which, shape):
    """Put a shape in its place; a cylinder first as its axis."""
    poly = scratch.poly[which]
    poly.kind, poly.rim, poly.half_length = shape.kind, shape.radius, shape.half_length
    for c in range(3):
        poly.axis[c] = poly.R[c, 2]
    if shape.kind == POLYTOPE:
        load_polytope(scratch, data, which, shape)
    elif shape.kind < POLYTOPE:
        load_axis(scratch, which, shape)


# Pairs


@kernel
def plane_contacts(scratch):
    """A half-space, z > 0 free, and the second shape."""
    pair, second = scratch.pair[0], scratch.poly[1]
    N, o = pair.axis, scratch.poly[0].x
    N[0], N[1], N[2] = 0.0, 0.0, 1.0
    pair.owner = 0
    if second.kind == POLYTOPE:
        for i in range(second.n_vertices):
            add_plane(scratch, o, N, scratch.vertices[1, i].p, 0.0, i)
        return
    second.touch = second.radius
    size = second.n_vertices
    if second.kind == CYLINDER:
        size = cylinder_outline(scratch, second, N)
    for i in range(size):
        point = scratch.vertices[1, i].p
        if second.kind == CYLINDER:
            point = scratch.polygon[0, i].p
        add_plane(scratch, o, N, point, second.touch, i)


@kernel
def sphere_on_cylinder(scratch):
    """A cylinder and a sphere: its side, its cap or its rim is nearest."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    center, n, o, rim = second.x, pair.n, pair.pa, first.rim
    across = sqrt(center[0] * center[0] + center[1] * center[1])
    above = abs(center[2]) - first.half_length
    up = 1.0 if center[2] > 0.0 else -1.0
    n[0], n[1], n[2] = 0.0, 0.0, up
    o[0], o[1], o[2] = 0.0, 0.0, up * first.half_length
    if above > across - rim and across <= rim:
        pair.owner = 0
        add_plane(scratch, o, n, center, second.radius, first.kind)
    elif above <= 0.0:
        axis = scratch.vertices[0]
        add_round(scratch, axis[0].p, axis[1].p, center, center, rim, second.radius, first.kind)
    else:
        o[0], o[1] = center[0] * rim / across, center[1] * rim / across
        no_radius = 0.0
        add_round(scratch, o, o, center, center, no_radius, second.radius, second.kind)


@kernel
def lies_across(pair, poly, point, gap):
    """Whether a shape is as near as the capsule around its axis: a cylinder met at its side.

    So it is where the nearest point of its axis is between the ends, and farther from them than the
    capsule is entered: else the cap, or what is over it, is nearer. Of an axis along a face the
    nearest point may well be an end; then the last normal is across it.
    """
    if poly.kind != CYLINDER:
        return True
    inside = poly.half_length - abs(offset_dot(poly.axis, point, poly.x))
    if inside > 1e-9 * poly.half_length and inside >= -gap:
        return True
    return gap >= -1e-8 * poly.rim and abs(dot(pair.n, poly.axis)) < LYING


@kernel
def round_contacts(scratch):
    """Two of sphere, capsule and cylinder, of which the axes are loaded; whether they are done."""
    pair, first, second = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    if first.kind == CYLINDER and second.n_vertices == 1:
        sphere_on_cylinder(scratch)
        return True
    a0, a1 = scratch.vertices[0, 0].p, scratch.vertices[0, first.n_vertices - 1].p
    b0, b1 = scratch.vertices[1, 0].p, scratch.vertices[1, second.n_vertices - 1].p
    s, t = segment_parameters(a0, a1, b0, b1)
    for c in range(3):
        pair.pa[c] = (1.0 - s) * a0[c] + s * a1[c]
        pair.pb[c] = (1.0 - t) * b0[c] + t * b1[c]
        pair.n[c] = pair.pb[c] - pair.pa[c]
    length = normalize(pair.n)
    if first.kind == CYLINDER and length == 0.0:
        return False
    gap = length - first.radius - second.radius
    if lies_across(pair, first, pair.pa, gap) and lies_across(pair, second, pair.pb, gap):
        add_rounds(scratch, a0, a1, b0, b1, first.radius, second.radius, first.kind)
        return True
    return False


@kernel
def convex_contacts(scratch, data, second):
    """The piece in the first place and a second shape of any kind."""
    pair = scratch.pair[0]
    if second.kind == CYLINDER:
        load_axis(scratch, 1, second)
        gap = distance(scratch, pair.margin + second.radius)
        if gap == inf:
            return
        if gap == 0.0 or not lies_across(pair, scratch.poly[1], pair.pb, gap - second.radius):
            load_polytope(scratch, data, 1, second)
    add_contacts(scratch, data.topology)


# The convex pieces of the first shape


@kernel
def load_triangle(scratch, index):
    """Finish the first piece as a triangle of a terrain, and say whether the second is near.

    Its vertices and `opposite` are set. It has three edges with the normals of both sides: towards
    a neighbour that bends upwards there is no normal between, and past the border one may look
    sideways.
    """
    pair, poly, other = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    vertices, normals, e, g = scratch.vertices[0], scratch.normals[0], pair.e, pair.g
    poly.n_vertices, poly.n_faces, poly.n_edges = 3, 1, 3
    poly.face_begin, poly.edge_begin, poly.radius = 0, 0, 0.0
    pair.one_sided, pair.triangle = 1, index + 1
    bound(poly, vertices)
    for c in range(3):
        if other.lower[c] - pair.margin > poly.upper[c]:
            return False
        if other.upper[c] + pair.margin < poly.lower[c]:
            return False
        e[c] = vertices[1].p[c] - vertices[0].p[c]
        g[c] = vertices[2].p[c] - vertices[0].p[c]
    N = normals[0].p
    cross(e, g, N)
    normalize(N)
    for k in range(3):
        v, w, side = vertices[k].p, vertices[0 if k == 2 else k + 1].p, normals[k + 1].p
        for c in range(3):
            e[c] = w[c] - v[c]
            g[c] = scratch.opposite[k].p[c] - v[c]
        if pair.has_opposite[k] == 0:
            cross(e, N, side)
        elif dot(N, g) < 0.0:
            cross(g, e, side)
        else:
            assign(N, side)
        normalize(side)
    return True


@kernel
def grid_range(low, high, spacing, cells):
    """First and last but one of the cells that an interval from the grid's corner meets."""
    begin, end = floor(low / spacing), floor(high / spacing) + 1.0
    return int(min(max(begin, 0.0), cells)), int(min(max(end, 0.0), cells))


@kernel
def load_grid_point(heights, field, i, j, out):
    """A point of a height field into out.p; whether there is one."""
    inside = i >= 0 and i < field.grid[0] and j >= 0 and j < field.grid[1]
    if inside:
        out.p[0] = field.lower[0] + i * field.spacing[0]
        out.p[1] = field.lower[1] + j * field.spacing[1]
        out.p[2] = heights[field.height_begin + i * field.grid[1] + j]
    return inside


@kernel
def load_field_ring(pair, around, heights, field, i, j, half):
    """The points around the corners of a triangle of a height field."""
    ring, count = pair.ring, 0
    for k in range(3):
        ring[k] = count
        for step in range(6):
            a, b = i + CELL_X[half][k] + RING_X[step], j + CELL_Y[half][k] + RING_Y[step]
            if load_grid_point(heights, field, a, b, around[count]):
                count += 1
    ring[3] = count


@kernel
def next_of_field(scratch, data, field):
    """`next_piece` of a height field."""
    pair, poly, cells = scratch.pair[0], scratch.poly[1], scratch.pair[0].cells
    if pair.cursor == 0:
        for k in range(2):
            low = poly.lower[k] - pair.margin - field.lower[k]
            high = poly.upper[k] + pair.margin - field.lower[k]
            begin, end = grid_range(low, high, field.spacing[k], field.grid[k] - 1.0)
            cells[2 * k], cells[2 * k + 1] = begin, end
    width = cells[3] - cells[2]
    while pair.cursor < 2 * width * (cells[1] - cells[0]):
        half, cell = pair.cursor % 2, pair.cursor // 2
        i, j = cells[0] + cell // width, cells[2] + cell % width
        pair.cursor += 1
        for k in range(3):
            a, b = i + CELL_X[half][k], j + CELL_Y[half][k]
            load_grid_point(data.heights, field, a, b, scratch.vertices[0, k])
            a, b = i + CELL_X[half][k + 3], j + CELL_Y[half][k + 3]
            inside = load_grid_point(data.heights, field, a, b, scratch.opposite[k])
            pair.has_opposite[k] = 1 if inside else 0
        if load_triangle(scratch, (i * field.grid[1] + j) * 2 + half):
            load_field_ring(pair, scratch.around, data.heights, field, i, j, half)
            return True
    return False


@kernel
def next_of_mesh(scratch, data, mesh):
    """`next_piece` of a triangle mesh, by its tree of bounds."""
    pair, poly = scratch.pair[0], scratch.poly[1]
    while mesh.node_begin + pair.cursor < mesh.node_end:
        i = mesh.node_begin + pair.cursor
        node = data.nodes[i]
        far = False
        for c in range(3):
            if node.lower[c] > poly.upper[c] + pair.margin:
                far = True
            if node.upper[c] < poly.lower[c] - pair.margin:
                far = True
        pair.cursor = (node.skip if far else i + 1) - mesh.node_begin
        if far or node.triangle < 0:
            continue
        corners = data.triangles[node.triangle]
        for k in range(3):
            assign(data.vertices[corners[k]].p, scratch.vertices[0, k].p)
            opposite = corners[k + 3]
            pair.has_opposite[k] = 1 if opposite >= 0 else 0
            if opposite >= 0:
                assign(data.vertices[opposite].p, scratch.opposite[k].p)
        if load_triangle(scratch, node.triangle):
            count = 0
            for k in range(3):
                pair.ring[k] = count
                for m in range(data.ring_begin[corners[k]], data.ring_begin[corners[k] + 1]):
                    assign(data.vertices[data.rings[m]].p, scratch.around[count].p)
                    count += 1
            pair.ring[3] = count
            return True
    return False


@kernel
def next_piece(scratch, data, first):
    """Load the next convex piece of the first shape: all of it, or a triangle near the second.

    pair.cursor is 0 to begin with. False when there is no more.
    """
    pair = scratch.pair[0]
    if first.kind == HEIGHT_FIELD:
        return next_of_field(scratch, data, first)
    if first.kind == MESH:
        return next_of_mesh(scratch, data, first)
    if pair.cursor > 0:
        return False
    pair.cursor = 1
    load_polytope(scratch, data, 0, first)
    return True


# The four best


@kernel
def apart(c, d, scale):
    """How far apart two candidates are, by place and by normal [m]."""
    place, turn = 0.0, 0.0
    for k in range(3):
        place += (c.point[k] - d.point[k]) ** 2
        turn += (c.normal[k] - d.normal[k]) ** 2
    return sqrt(place) + 0.1 * scale * sqrt(turn)


@kernel
def area(a, b, p, out):
    """out = (b - a) x (p - a)."""
    x0, x1, x2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    y0, y1, y2 = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    out[0], out[1], out[2] = x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0


@kernel
def worth(scratch, n, i):
    """What candidate i adds to the n that are chosen: length, then area, then area beside it."""
    pair, all_c, picks = scratch.pair[0], scratch.candidates, scratch.pair[0].picks
    c = all_c[i]
    lonely = inf
    for k in range(n):
        lonely = min(lonely, apart(c, all_c[picks[k]], pair.scale))
    if lonely < 1e-4 * pair.scale:
        return -1.0
    # A far candidate will hardly touch in this step.
    weight = min(max(1.0 - c.gap / pair.margin, 0.1), 1.0)
    if n == 1:
        return weight * lonely
    gained = 0.0
    p0, p1 = all_c[picks[0]].point, all_c[picks[1]].point
    if n == 2:
        area(p0, p1, c.point, pair.e)
        gained = sqrt(dot(pair.e, pair.e))
    else:
        p2 = all_c[picks[2]].point
        area(p0, p1, p2, pair.g)
        normalize(pair.g)
        for k in range(3):
            a, b = (
                p0 if k == 0 else (p1 if k == 1 else p2),
                p1 if k == 0 else (p2 if k == 1 else p0),
            )
            area(a, b, c.point, pair.e)
            gained = max(gained, -dot(pair.e, pair.g))
    return weight * (gained + 1e-3 * pair.scale * lonely)


@kernel
def choose(scratch):
    """Up to four candidates into picks: the deepest, and those that span most; their count."""
    pair, picks = scratch.pair[0], scratch.pair[0].picks
    if pair.count == 0:
        return 0
    smallest = inf
    for k in range(3):
        pair.e[k] = 0.0
    for i in range(pair.count):
        smallest = min(smallest, scratch.candidates[i].gap)
        for k in range(3):
            pair.e[k] += scratch.candidates[i].point[k] / pair.count
    farthest = -1.0
    for i in range(pair.count):
        c, square = scratch.candidates[i], 0.0
        for k in range(3):
            square += (c.point[k] - pair.e[k]) ** 2
        # Of those that are as deep but for rounding, one at the rim.
        if c.gap < smallest + 1e-10 * pair.scale and square > farthest:
            farthest, picks[0] = square, i
    for n in range(1, 4):
        best = 0.0
        for i in range(pair.count):
            value = worth(scratch, n, i)
            if value > best:
                best, picks[n] = value, i
        if best == 0.0:
            return n
    return 4


@kernel
def reduce(scratch):
    """Keep the four best candidates only."""
    pair, candidates = scratch.pair[0], scratch.candidates
    drop_stand_ins(scratch)
    count = choose(scratch)
    for k in range(count):
        scratch.chosen[k] = candidates[scratch.pair[0].picks[k]]
    for k in range(count):
        candidates[k] = scratch.chosen[k]
    pair.count = count


@kernel
def to_body(shape, place, p, shift, out):
    """out: a point (shift 1) or a direction (shift 0) of the pair's frame in axes of the body."""
    x0, x1, x2 = p[0] - shift * place.x[0], p[1] - shift * place.x[1], p[2] - shift * place.x[2]
    R = place.R
    y0 = R[0, 0] * x0 + R[1, 0] * x1 + R[2, 0] * x2
    y1 = R[0, 1] * x0 + R[1, 1] * x1 + R[2, 1] * x2
    y2 = R[0, 2] * x0 + R[1, 2] * x1 + R[2, 2] * x2
    for i in range(3):
        turned = shape.R[i, 0] * y0 + shape.R[i, 1] * y1 + shape.R[i, 2] * y2
        out[i] = turned + shift * shape.x[i]


@kernel
def write_feature(scratch, c, first, second, swapped, out):
    """A candidate as a feature of the shapes in the order of the caller."""
    place_1, place_2 = scratch.poly[0], scratch.poly[1]
    out.kind, out.id, out.sign, out.gap, out.flip = c.kind, c.id, c.sign, c.gap, 0
    out.radius = c.radius_1 + c.radius_2
    shift = 1.0 if c.kind == ROUND else 0.0
    if swapped:
        out.radius_a = c.radius_2
        to_body(second, place_2, c.b0, 1.0, out.a0)
        to_body(second, place_2, c.b1, shift, out.a1)
        to_body(first, place_1, c.a0, 1.0, out.b0)
        to_body(first, place_1, c.a1, shift, out.b1)
    else:
        out.radius_a = c.radius_1
        to_body(first, place_1, c.a0, 1.0, out.a0)
        to_body(first, place_1, c.a1, shift, out.a1)
        to_body(second, place_2, c.b0, 1.0, out.b0)
        to_body(second, place_2, c.b1, shift, out.b1)
    if c.kind == PLANE:
        out.flip = 1 - c.owner if swapped else c.owner


# Entries


@entry
def find_features(shapes, data, pose_a, pose_b, shape_a, shape_b, margin, scratch, out):
    """Up to four features of two shapes that are nearer than a margin; their count.

    Parameters
    ----------
    shapes : (ns,) SHAPE, data : ShapeData, scratch : ShapeScratch, of robosim.collision
    pose_a, pose_b : POSE records of the bodies; the identity for the world
    shape_a, shape_b : int, which shapes; at most one of them a half-space or terrain
    margin : float [m], > 0
    out : (4,) FEATURE
    """
    swapped = shapes[shape_a].kind < shapes[shape_b].kind
    first, second = shapes[shape_b if swapped else shape_a], shapes[shape_a if swapped else shape_b]
    pair, place = scratch.pair[0], scratch.poly[1]
    place_pair(scratch, pose_b if swapped else pose_a, first, pose_a if swapped else pose_b, second)
    pair.margin, pair.count, pair.cursor = margin, 0, 0
    pair.one_sided, pair.triangle = 0, 0
    pair.scale = second.reach if first.kind >= HALF_SPACE else first.reach + second.reach
    if boxes_apart(first, second, place, margin):
        return 0
    load(scratch, data, 0, first)
    load(scratch, data, 1, second)
    done = False
    if first.kind == HALF_SPACE:
        plane_contacts(scratch)
        done = True
    elif first.kind <= CYLINDER:
        done = round_contacts(scratch)
    while not done and next_piece(scratch, data, first):
        convex_contacts(scratch, data, second)
        if pair.count > FULL:
            reduce(scratch)
    drop_stand_ins(scratch)
    count = choose(scratch)
    for k in range(count):
        c = scratch.candidates[scratch.pair[0].picks[k]]
        write_feature(scratch, c, first, second, swapped, out[k])
    return count
