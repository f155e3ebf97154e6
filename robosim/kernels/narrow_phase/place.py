"""Shapes put into the frame of a pair, which is that of its first shape or else the world's."""

from math import inf, sqrt

from robosim.compiled.kinds import ELLIPSOID, HALF_SPACE, POLYTOPE
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import dot, rotate, rotate_back


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
def list_all(scratch, which):
    """Let all of a polytope or a segment be what may touch the other shape."""
    poly, listed = scratch.poly[which], scratch.listed
    poly.listed_vertices, poly.listed_faces = poly.n_vertices, poly.n_faces
    poly.listed_edges = poly.n_edges
    for i in range(poly.n_vertices):
        listed.vertices[which, i] = i
    for i in range(poly.n_faces):
        listed.faces[which, i] = i
    for i in range(poly.n_edges):
        listed.edges[which, i] = i


@kernel
def list_near(scratch, data, which, shape, top, d, reach):
    """List what of a polytope is no deeper than `reach` below its vertex `top`, which is farthest

    along d (3,), a unit vector of its axes. Vertices above a level hang together by edges. Faces
    and edges that one of them belongs to are listed with all of their vertices.
    """
    poly, listed, topology = scratch.poly[which], scratch.listed, data.topology
    vertices, begin, stamp = data.vertices, shape.vertex_begin, scratch.pair[0].stamp
    level = dot(vertices[begin + top].p, d) - reach
    of_vertices, marks = listed.vertices[which], listed.vertex_marks[which]
    of_vertices[0], marks[top], count, n = top, stamp, 1, 0
    while n < count:
        for k in range(
            topology.ring_begin[begin + of_vertices[n]],
            topology.ring_begin[begin + of_vertices[n] + 1],
        ):
            other = topology.rings[k] - begin
            if marks[other] != stamp and dot(vertices[begin + other].p, d) >= level:
                of_vertices[count], marks[other] = other, stamp
                count += 1
        n += 1
    of_edges, of_faces, faces, edges, whole = listed.edges[which], listed.faces[which], 0, 0, count
    for n in range(whole):
        at = begin + of_vertices[n]
        for k in range(topology.ring_begin[at], topology.ring_begin[at + 1]):
            row = topology.ring_edges[k]
            edge = row - shape.edge_begin
            if listed.edge_marks[which, edge] == stamp:
                continue
            listed.edge_marks[which, edge], of_edges[edges] = stamp, edge
            edges += 1
            for side in range(2, 4):
                f = topology.edges[row, side]
                if listed.face_marks[which, f] == stamp:
                    continue
                listed.face_marks[which, f], of_faces[faces] = stamp, f
                faces += 1
                face = topology.faces[shape.face_begin + f]
                for m in range(face[0], face[1]):
                    other = topology.loops[m]
                    if marks[other] != stamp:
                        of_vertices[count], marks[other] = other, stamp
                        count += 1
    poly.listed_vertices, poly.listed_faces, poly.listed_edges = count, faces, edges
    poly.lowest = top


@kernel
def bound(scratch, which):
    """poly.lower, poly.upper: bounds of the listed vertices and the radius around them."""
    poly, vertices, listed = scratch.poly[which], scratch.vertices[which], scratch.listed
    for c in range(3):
        low, high = inf, -inf
        for k in range(poly.listed_vertices):
            i = listed.vertices[which, k]
            low, high = min(low, vertices[i].p[c]), max(high, vertices[i].p[c])
        poly.lower[c], poly.upper[c] = low - poly.radius, high + poly.radius


@kernel
def describe_polytope(scratch, which, shape):
    """Sizes of a polytope, of which nothing is listed yet."""
    poly = scratch.poly[which]
    poly.n_vertices, poly.n_faces, poly.n_edges = shape.n_vertices, shape.n_faces, shape.n_edges
    poly.face_begin, poly.edge_begin, poly.radius = shape.face_begin, shape.edge_begin, 0.0
    poly.vertex_begin, poly.lowest = shape.vertex_begin, 0


@kernel
def load_polytope(scratch, data, which, shape):
    """Put what is listed of a polytope in its place in the frame of the pair."""
    poly, listed = scratch.poly[which], scratch.listed
    vertices, normals = scratch.vertices[which], scratch.normals[which]
    for k in range(poly.listed_vertices):
        i = listed.vertices[which, k]
        rotate(poly.R, data.vertices[shape.vertex_begin + i].p, vertices[i].p)
        for c in range(3):
            vertices[i].p[c] += poly.x[c]
    for k in range(poly.listed_faces):
        i = listed.faces[which, k]
        rotate(poly.R, data.normals[shape.face_begin + i].p, normals[i].p)
    bound(scratch, which)


@kernel
def load_axis(scratch, which, shape):
    """Put the axis of a cylinder or a capsule, or the middle of another shape, in its poly."""
    poly, vertices = scratch.poly[which], scratch.vertices[which]
    poly.n_vertices, poly.n_faces, poly.n_edges = 1 if shape.half_length == 0.0 else 2, 0, 0
    poly.radius = shape.radius
    for c in range(3):
        along = shape.half_length * poly.R[c, 2]
        vertices[0].p[c], vertices[1].p[c] = poly.x[c] - along, poly.x[c] + along
        poly.side[0, c], poly.side[1, c] = vertices[0].p[c], vertices[1].p[c]
        poly.origin[c], poly.along[c] = poly.x[c], poly.axis[c]
    poly.top, poly.around = shape.top, shape.radius
    poly.cosine, poly.sine = shape.slant[0], shape.slant[1]
    list_all(scratch, which)
    bound(scratch, which)


@kernel
def load_ellipsoid(poly, shape):
    """The semi-axes of an ellipsoid in its place, and its bounds."""
    for i in range(3):
        square = 0.0
        for k in range(3):
            poly.semi_axes[i, k] = shape.upper[k] * poly.R[i, k]
            square += poly.semi_axes[i, k] ** 2
        poly.lower[i], poly.upper[i] = poly.x[i] - sqrt(square), poly.x[i] + sqrt(square)


@kernel
def load(scratch, data, which, shape):
    """Put a shape in its place; a cylinder as its axis."""
    poly = scratch.poly[which]
    poly.kind, poly.rim, poly.half_length = shape.kind, shape.radius, shape.half_length
    for c in range(3):
        poly.axis[c] = poly.R[c, 2]
    if shape.kind == POLYTOPE:
        load_polytope(scratch, data, which, shape)
    elif shape.kind < POLYTOPE:
        load_axis(scratch, which, shape)
        if shape.kind == ELLIPSOID:
            load_ellipsoid(poly, shape)
