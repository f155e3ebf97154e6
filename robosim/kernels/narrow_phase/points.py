"""Points, vertices and segments: the small change of the narrow phase."""

from math import inf, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import dot


@kernel
def offset_dot(n, a, b):
    """n . (a - b)."""
    return n[0] * (a[0] - b[0]) + n[1] * (a[1] - b[1]) + n[2] * (a[2] - b[2])


@kernel
def normalize(a):
    """a / |a| in place; returns |a|."""
    length = sqrt(dot(a, a))
    if length > 0.0:
        for i in range(3):
            a[i] /= length
    return length


@kernel
def clamp(value, low, high):
    return min(max(value, low), high)


@kernel
def farthest(vertices, n, direction):
    """Index of the vertex farthest along a direction."""
    best, index = -inf, 0
    for i in range(n):
        s = dot(vertices[i].p, direction)
        if s > best:
            best, index = s, i
    return index


@kernel
def nearest(vertices, n, direction):
    """Index of the vertex least far along a direction."""
    best, index = inf, 0
    for i in range(n):
        s = dot(vertices[i].p, direction)
        if s < best:
            best, index = s, i
    return index


@kernel
def farthest_listed(scratch, which, direction):
    """The listed vertex of a shape farthest along a direction."""
    listed, vertices = scratch.listed.vertices[which], scratch.vertices[which]
    best, index = -inf, 0
    for k in range(scratch.poly[which].listed_vertices):
        s = dot(vertices[listed[k]].p, direction)
        if s > best:
            best, index = s, listed[k]
    return index


@kernel
def nearest_listed(scratch, which, direction):
    """The listed vertex of a shape least far along a direction."""
    listed, vertices = scratch.listed.vertices[which], scratch.vertices[which]
    best, index = inf, 0
    for k in range(scratch.poly[which].listed_vertices):
        s = dot(vertices[listed[k]].p, direction)
        if s < best:
            best, index = s, listed[k]
    return index


@kernel
def face_along(scratch, which, direction, sign):
    """The listed face of a shape whose normal is farthest along sign * direction."""
    listed, normals = scratch.listed.faces[which], scratch.normals[which]
    best, index = -inf, 0
    for k in range(scratch.poly[which].listed_faces):
        s = sign * dot(normals[listed[k]].p, direction)
        if s > best:
            best, index = s, listed[k]
    return index


@kernel
def segment_parameters(a0, a1, b0, b1):
    """Where two segments are nearest, as fractions of each [Ericson2005, 5.1.9]."""
    a, e, f, c, b = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        d1, d2, r = a1[k] - a0[k], b1[k] - b0[k], a0[k] - b0[k]
        a += d1 * d1
        e += d2 * d2
        f += d2 * r
        c += d1 * r
        b += d1 * d2
    if a == 0.0:
        return 0.0, clamp(f / e, 0.0, 1.0) if e > 0.0 else 0.0
    if e == 0.0:
        return clamp(-c / a, 0.0, 1.0), 0.0
    sine2 = a * e - b * b
    s = clamp((b * f - c * e) / sine2, 0.0, 1.0) if sine2 > 1e-14 * a * e else 0.0
    t = (b * s + f) / e
    if t < 0.0:
        return clamp(-c / a, 0.0, 1.0), 0.0
    if t > 1.0:
        return clamp((b - c) / a, 0.0, 1.0), 1.0
    return s, t


@kernel
def between_segments(a0, a1, b0, b1, out):
    """out: from the point of the first segment nearest to the second to that of the second."""
    s, t = segment_parameters(a0, a1, b0, b1)
    for k in range(3):
        out[k] = ((1.0 - t) * b0[k] + t * b1[k]) - ((1.0 - s) * a0[k] + s * a1[k])
