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
    add_rounds,
    distance,
    normalize,
    offset_dot,
    outline,
    segment_parameters,
)
from robosim.kernels.jit import entry, kernel

CAPSULE, CYLINDER, POLYTOPE, HALF_SPACE, HEIGHT_FIELD, MESH = 1, 2, 3, 4, 5, 6
PLANE, EDGE = 0, 2
LYING = 0.05  # cosine of axis and normal up to which a cylinder counts as a capsule
FULL = 40  # candidates that are kept before they are reduced to four
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
def place_pair(pair, pose_1, shape_1, pose_2, shape_2):
    """pair.R, pair.t: the second shape's axes and origin in the frame of the first."""
    place_shape(pose_1, shape_1, pair.R_1, pair.ba)
    place_shape(pose_2, shape_2, pair.R_2, pair.dc)
    for i in range(3):
        pair.e[i] = pair.dc[i] - pair.ba[i]
    rotate_back(pair.R_1, pair.e, pair.t)
    for k in range(3):
        for i in range(3):
            pair.e[i] = pair.R_2[i, k]
        rotate_back(pair.R_1, pair.e, pair.g)
        for i in range(3):
            pair.R[i, k] = pair.g[i]


@kernel
def bound(poly, vertices, radius):
    """poly.lower, poly.upper: bounds of the vertices and a radius around them."""
    for c in range(3):
        low, high = inf, -inf
        for i in range(poly.n_vertices):
            low, high = min(low, vertices[i, c]), max(high, vertices[i, c])
        poly.lower[c], poly.upper[c] = low - radius, high + radius


@kernel
def load(scratch, data, which, shape, as_segment):
    """Put a shape into place `which`: the first one as it is, the second in the first one's frame.

    A cylinder is the polytope around it, or its axis with its radius `as_segment`.
    """
    pair, poly = scratch.pair[0], scratch.poly[which]
    vertices, normals = scratch.vertices[which], scratch.normals[which]
    R, t = pair.identity, pair.zero
    if which == 1:
        R, t = pair.R, pair.t
    poly.kind, poly.radius, poly.rim = shape.kind, 0.0, shape.radius
    poly.half_length = shape.half_length
    poly.n_faces, poly.n_edges = 0, 0
    for c in range(3):
        poly.across[c], poly.axis[c], poly.center[c] = R[c, 0], R[c, 2], t[c]
    if shape.kind >= POLYTOPE or (shape.kind == CYLINDER and not as_segment):
        poly.n_vertices, poly.n_faces, poly.n_edges = shape.n_vertices, shape.n_faces, shape.n_edges
        poly.face_begin, poly.edge_begin = shape.face_begin, shape.edge_begin
        for i in range(shape.n_vertices):
            rotate(R, data.vertices[shape.vertex_begin + i], vertices[i])
            for c in range(3):
                vertices[i, c] += t[c]
        for i in range(shape.n_faces):
            rotate(R, data.normals[shape.face_begin + i], normals[i])
    else:
        poly.radius = shape.radius
        poly.n_vertices = 1 if shape.half_length == 0.0 else 2
        for c in range(3):
            vertices[0, c] = t[c] - shape.half_length * R[c, 2]
            vertices[1, c] = t[c] + shape.half_length * R[c, 2]
    bound(poly, vertices, poly.radius)


@kernel
def plane_contacts(scratch, data):
    """A half-space, z > 0 free, and the second shape."""
    pair, second = scratch.pair[0], scratch.poly[1]
    N = pair.axis
    N[0], N[1], N[2] = 0.0, 0.0, 1.0
    if second.kind == POLYTOPE:
        for i in range(second.n_vertices):
            add_plane(scratch, 0, pair.zero, N, scratch.vertices[1, i], 0.0, i)
        return
    size = outline(scratch, data, 1, N)
    for i in range(size):
        point, tag = scratch.polygon[0, i], scratch.tags[0, i]
        add_plane(scratch, 0, pair.zero, N, point, second.touch, tag)


@kernel
def sphere_on_cylinder(scratch, radius, half_length):
    """A cylinder and a sphere: its side, its cap or its rim is nearest."""
    pair, second = scratch.pair[0], scratch.poly[1]
    center, n, o = second.center, pair.n, pair.pa
    across = sqrt(center[0] * center[0] + center[1] * center[1])
    above = abs(center[2]) - half_length
    end = half_length if center[2] > 0.0 else -half_length
    n[0], n[1], n[2] = 0.0, 0.0, 1.0 if center[2] > 0.0 else -1.0
    o[0], o[1], o[2] = 0.0, 0.0, end
    if above > across - radius and across <= radius:
        add_plane(scratch, 0, o, n, center, second.radius, 0)
    elif above <= 0.0:
        pair.pb[0], pair.pb[1], pair.pb[2] = 0.0, 0.0, -end
        add_rounds(scratch, o, pair.pb, center, center, radius, second.radius, 0)
    else:
        o[0], o[1] = center[0] * radius / across, center[1] * radius / across
        add_rounds(scratch, o, o, center, center, 0.0, second.radius, 8)


@kernel
def lies_across(pair, axis):
    """Whether the last normal is so nearly across the axis that a cylinder counts as a capsule."""
    return abs(dot(pair.n, axis)) < LYING


@kernel
def cylinder_and_round(scratch, data, first, second):
    """A cylinder and a sphere, a capsule or a cylinder."""
    pair = scratch.pair[0]
    load(scratch, data, 0, first, True)
    load(scratch, data, 1, second, True)
    a, b = scratch.vertices[0], scratch.vertices[1]
    last = scratch.poly[1].n_vertices - 1
    if last == 0:
        sphere_on_cylinder(scratch, first.radius, first.half_length)
        return
    s, t = segment_parameters(a[0], a[1], b[0], b[1])
    for c in range(3):
        p = (1.0 - s) * a[0, c] + s * a[1, c]
        pair.n[c] = (1.0 - t) * b[0, c] + t * b[1, c] - p
    if normalize(pair.n) > 0.0 and lies_across(pair, scratch.poly[0].axis):
        if second.kind != CYLINDER or lies_across(pair, scratch.poly[1].axis):
            add_rounds(scratch, a[0], a[1], b[0], b[1], first.radius, second.radius, 0)
            return
    load(scratch, data, 0, first, False)
    convex_contacts(scratch, data, second)


@kernel
def convex_contacts(scratch, data, second):
    """The polytope or triangle in the first place and a shape of any convex kind."""
    pair = scratch.pair[0]
    if second.kind == CYLINDER:
        load(scratch, data, 1, second, True)
        gap = distance(scratch, pair.margin + second.radius)
        if gap == inf:
            return
        if gap == 0.0 or not lies_across(pair, scratch.poly[1].axis):
            load(scratch, data, 1, second, False)
    add_contacts(scratch, data)


# Terrain


@kernel
def load_triangle(scratch, index):
    """Finish the first polytope as a triangle of a terrain: its vertices and `opposite` are set.

    Three edges with the normals of both sides: towards a neighbour that bends upwards there is
    no normal between, and past the border one may look sideways.
    """
    pair, poly = scratch.pair[0], scratch.poly[0]
    vertices, normals, e, g = scratch.vertices[0], scratch.normals[0], pair.e, pair.g
    poly.kind, poly.radius = MESH, 0.0
    poly.n_vertices, poly.n_faces, poly.n_edges = 3, 1, 3
    poly.face_begin, poly.edge_begin = 0, 0
    pair.one_sided, pair.triangle = 1, index + 1
    N = normals[0]
    for c in range(3):
        e[c] = vertices[1, c] - vertices[0, c]
        g[c] = vertices[2, c] - vertices[0, c]
    cross(e, g, N)
    normalize(N)
    for k in range(3):
        v, w = vertices[k], vertices[0 if k == 2 else k + 1]
        side = normals[k + 1]
        for c in range(3):
            e[c] = w[c] - v[c]
            g[c] = pair.opposite[k, c] - v[c]
        if pair.has_opposite[k] == 0:
            cross(e, N, side)
            normalize(side)
        elif dot(N, g) < 0.0:
            cross(g, e, side)
            normalize(side)
        else:
            assign(N, side)
    bound(poly, vertices, 0.0)


@kernel
def terrain_contacts(scratch, data, second, index):
    """One triangle of a terrain and the second shape; sets candidates of a full list in order."""
    pair, first, other = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    load_triangle(scratch, index)
    for c in range(3):
        if other.lower[c] - pair.margin > first.upper[c]:
            return
        if other.upper[c] + pair.margin < first.lower[c]:
            return
    convex_contacts(scratch, data, second)
    if pair.count > FULL:
        reduce(scratch)


@kernel
def grid_range(low, high, spacing, cells):
    """First and last but one of the cells that an interval from the grid's corner meets."""
    begin = floor(low / spacing)
    end = floor(high / spacing) + 1.0
    return int(min(max(begin, 0.0), cells)), int(min(max(end, 0.0), cells))


@kernel
def height_field_contacts(scratch, data, field, second):
    """A height field and the second shape."""
    pair, poly = scratch.pair[0], scratch.poly[1]
    nx, ny = field.grid[0], field.grid[1]
    dx, dy, m = field.spacing[0], field.spacing[1], pair.margin
    x0, y0 = field.lower[0], field.lower[1]
    i0, i1 = grid_range(poly.lower[0] - m - x0, poly.upper[0] + m - x0, dx, nx - 1.0)
    j0, j1 = grid_range(poly.lower[1] - m - y0, poly.upper[1] + m - y0, dy, ny - 1.0)
    for i in range(i0, i1):
        for j in range(j0, j1):
            for half in range(2):
                for k in range(6):
                    a, b = i + CELL_X[half][k], j + CELL_Y[half][k]
                    inside = a >= 0 and a < nx and b >= 0 and b < ny
                    point = scratch.vertices[0, k] if k < 3 else pair.opposite[k - 3]
                    if k >= 3:
                        pair.has_opposite[k - 3] = 1 if inside else 0
                    if inside:
                        point[0], point[1] = x0 + a * dx, y0 + b * dy
                        point[2] = data.heights[field.height_begin + a * ny + b]
                terrain_contacts(scratch, data, second, (i * ny + j) * 2 + half)


@kernel
def mesh_contacts(scratch, data, mesh, second):
    """A triangle mesh and the second shape, by its tree of bounds."""
    pair, poly = scratch.pair[0], scratch.poly[1]
    i = mesh.node_begin
    while i < mesh.node_end:
        node = data.nodes[i]
        apart = False
        for c in range(3):
            if node.lower[c] > poly.upper[c] + pair.margin:
                apart = True
            if node.upper[c] < poly.lower[c] - pair.margin:
                apart = True
        if apart:
            i = node.skip
            continue
        if node.triangle >= 0:
            corners = data.triangles[node.triangle]
            for k in range(3):
                assign(data.vertices[corners[k]], scratch.vertices[0, k])
                opposite = corners[k + 3]
                pair.has_opposite[k] = 1 if opposite >= 0 else 0
                if opposite >= 0:
                    assign(data.vertices[opposite], pair.opposite[k])
            terrain_contacts(scratch, data, second, node.triangle)
        i += 1


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
    pair, all_c, picks = scratch.pair[0], scratch.candidates, scratch.picks
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
    pair, picks = scratch.pair[0], scratch.picks
    if pair.count == 0:
        return 0
    picks[0] = 0
    for i in range(pair.count):
        if scratch.candidates[i].gap < scratch.candidates[picks[0]].gap:
            picks[0] = i
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
    count = choose(scratch)
    for k in range(count):
        scratch.chosen[k] = candidates[scratch.picks[k]]
    for k in range(count):
        candidates[k] = scratch.chosen[k]
    pair.count = count


@kernel
def to_body(shape, R, t, p, point, out):
    """out: a point, or a direction, of the first shape's frame in the axes of a shape's body.

    R, t place the shape in that frame.
    """
    x0, x1, x2 = p[0], p[1], p[2]
    if point:
        x0, x1, x2 = x0 - t[0], x1 - t[1], x2 - t[2]
    y0 = R[0, 0] * x0 + R[1, 0] * x1 + R[2, 0] * x2
    y1 = R[0, 1] * x0 + R[1, 1] * x1 + R[2, 1] * x2
    y2 = R[0, 2] * x0 + R[1, 2] * x1 + R[2, 2] * x2
    for i in range(3):
        out[i] = shape.R[i, 0] * y0 + shape.R[i, 1] * y1 + shape.R[i, 2] * y2
        if point:
            out[i] += shape.x[i]


@kernel
def write_feature(pair, c, shape_1, shape_2, swapped, out):
    """A candidate as a feature of the shapes in the order of the caller."""
    out.kind, out.id, out.sign, out.gap = c.kind, c.id, c.sign, c.gap
    out.radius = c.radius_1 + c.radius_2
    is_a1_point = c.kind != PLANE and c.kind != EDGE
    if swapped:
        out.flip = 1 - c.owner
        out.radius_a = c.radius_2
        to_body(shape_2, pair.R, pair.t, c.b0, True, out.a0)
        to_body(shape_2, pair.R, pair.t, c.b1, is_a1_point, out.a1)
        to_body(shape_1, pair.identity, pair.zero, c.a0, True, out.b0)
        to_body(shape_1, pair.identity, pair.zero, c.a1, is_a1_point, out.b1)
    else:
        out.flip = c.owner
        out.radius_a = c.radius_1
        to_body(shape_1, pair.identity, pair.zero, c.a0, True, out.a0)
        to_body(shape_1, pair.identity, pair.zero, c.a1, is_a1_point, out.a1)
        to_body(shape_2, pair.R, pair.t, c.b0, True, out.b0)
        to_body(shape_2, pair.R, pair.t, c.b1, is_a1_point, out.b1)
    if c.kind != PLANE:
        out.flip = 0


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
    pair = scratch.pair[0]
    if swapped:
        place_pair(pair, pose_b, first, pose_a, second)
    else:
        place_pair(pair, pose_a, first, pose_b, second)
    pair.margin, pair.count, pair.one_sided, pair.triangle = margin, 0, 0, 0
    pair.scale = second.reach if first.kind >= HALF_SPACE else first.reach + second.reach
    if first.kind < HALF_SPACE:
        reach = pair.scale + margin
        if dot(pair.t, pair.t) > reach * reach:
            return 0
    load(scratch, data, 1, second, False)
    if first.kind == HALF_SPACE:
        plane_contacts(scratch, data)
    elif first.kind == HEIGHT_FIELD:
        height_field_contacts(scratch, data, first, second)
    elif first.kind == MESH:
        mesh_contacts(scratch, data, first, second)
    elif first.kind <= CAPSULE:
        load(scratch, data, 0, first, False)
        a, b = scratch.vertices[0], scratch.vertices[1]
        p, q = a[scratch.poly[0].n_vertices - 1], b[scratch.poly[1].n_vertices - 1]
        add_rounds(scratch, a[0], p, b[0], q, first.radius, second.radius, 0)
    elif first.kind == CYLINDER:
        cylinder_and_round(scratch, data, first, second)
    else:
        load(scratch, data, 0, first, False)
        convex_contacts(scratch, data, second)
    count = choose(scratch)
    for k in range(count):
        c = scratch.candidates[scratch.picks[k]]
        write_feature(pair, c, first, second, swapped, out[k])
    return count


@kernel
def shape_bounds(shape, pose, R, lower, upper):
    """lower, upper (3,) [m]: bounds of a shape in the world; R (3, 3) and upper are scratch."""
    place_shape(pose, shape, R, upper)
    for i in range(3):
        x, low, high = upper[i], 0.0, 0.0
        for k in range(3):
            at_low, at_high = R[i, k] * shape.lower[k], R[i, k] * shape.upper[k]
            # An infinite side times 0 is not a number.
            if R[i, k] != 0.0:
                low += min(at_low, at_high)
                high += max(at_low, at_high)
        lower[i], upper[i] = x + low, x + high
