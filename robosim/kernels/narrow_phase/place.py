"""Shapes put into the frame of a pair, which is that of its first shape or else the world's."""

from math import inf

from robosim.compiled.kinds import HALF_SPACE, POLYTOPE
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import rotate, rotate_back


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
    """Put a polytope in its place in the frame of the pair."""
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
    """Put a shape in its place; a cylinder as its axis."""
    poly = scratch.poly[which]
    poly.kind, poly.rim, poly.half_length = shape.kind, shape.radius, shape.half_length
    for c in range(3):
        poly.axis[c] = poly.R[c, 2]
    if shape.kind == POLYTOPE:
        load_polytope(scratch, data, which, shape)
    elif shape.kind < POLYTOPE:
        load_axis(scratch, which, shape)
