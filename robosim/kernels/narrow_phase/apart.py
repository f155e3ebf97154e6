"""Whether two convex shapes are apart, without a look at all that they are made of.

As in gjk.py, a simplex of the differences of points closes in on the origin. The point of a shape
that is farthest along a direction is found by climbing along edges, from where it was the last
time. So hulls of a thousand vertices cost as little as boxes, and the plane that parted two shapes
in the last step mostly does so in this one.
"""

from math import inf, sqrt

from robosim.compiled.kinds import CYLINDER, ELLIPSOID, POLYTOPE
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, dot, rotate, rotate_back
from robosim.kernels.narrow_phase.gjk import shrink_simplex
from robosim.kernels.narrow_phase.points import normalize

SMALL = 32  # vertices of a polytope that are looked at one and all
TRIES = 20  # directions
GOOD = 0.9  # part of the distance that is good enough to know
NEAR = 0.05  # part of a margin by which a direction may be worse than the best one within it


@kernel
def climb(data, begin, d, start):
    """The vertex of a polytope farthest along d (3,), in the shape's axes, from one of them on.

    The polytope's vertices are those of `data` from `begin` on.
    """
    vertices, topology = data.vertices, data.topology
    here, best, climbs = begin + start, dot(vertices[begin + start].p, d), True
    while climbs:
        at = here
        for k in range(topology.ring_begin[at], topology.ring_begin[at + 1]):
            height = dot(vertices[topology.rings[k]].p, d)
            if height > best:
                here, best = topology.rings[k], height
        climbs = here != at
    return here - begin


@kernel
def farthest_point(data, shape, d, start, out):
    """out: the point of a shape farthest along the unit vector d, in the shape's axes; a vertex."""
    if shape.kind == POLYTOPE:
        vertex = climb(data, shape.vertex_begin, d, start)
        assign(data.vertices[shape.vertex_begin + vertex].p, out)
        return vertex
    end = shape.half_length if d[2] > 0.0 else -shape.half_length
    if shape.kind == CYLINDER:
        across = sqrt(d[0] * d[0] + d[1] * d[1])
        radius = shape.radius
        if shape.top < radius:
            high = shape.half_length * d[2] + shape.top * across
            if high > radius * across - shape.half_length * d[2]:
                end, radius = shape.half_length, shape.top
            else:
                end = -shape.half_length
        scale = radius / across if across > 1e-12 else 0.0
        out[0], out[1], out[2] = scale * d[0], scale * d[1], end
    elif shape.kind == ELLIPSOID:
        half, square = shape.upper, 0.0
        for k in range(3):
            square += (half[k] * d[k]) ** 2
        for k in range(3):
            out[k] = half[k] * half[k] * d[k] / sqrt(square)
    else:
        for k in range(3):
            out[k] = shape.radius * d[k]
        out[2] += end
    return 0


@kernel
def apart_by(scratch, data, first, second, look, margin):
    """How far two convex shapes are apart along the best direction that was tried [m].

    They overlap along it if that is negative. Directions are tried until they are known to be
    farther apart than a margin, or none is much better. `place_pair` has put them in the frame of
    the first. `look` has the direction and the vertices of the last time, and keeps those of this
    one.
    """
    pair, place = scratch.pair[0], scratch.poly[1]
    n, W, v, back = pair.n, pair.W, pair.v, pair.m
    assign(look.normal, n)
    if dot(n, n) == 0.0:
        assign(place.x, n)
    normalize(n)
    best, nearest, size = -inf, inf, 0
    for _ in range(TRIES):
        look.vertex_a = farthest_point(data, first, n, look.vertex_a, pair.pa)
        rotate_back(place.R, n, back)
        for k in range(3):
            back[k] = -back[k]
        look.vertex_b = farthest_point(data, second, back, look.vertex_b, pair.pc)
        rotate(place.R, pair.pc, pair.pb)
        for k in range(3):
            W[size, k] = pair.pb[k] + place.x[k] - pair.pa[k]
        apart = dot(W[size], n)
        if apart > best:
            best = apart
            assign(n, look.normal)
        pair.ia[size], pair.ib[size] = 0, 0
        size = shrink_simplex(pair, size + 1)
        if size == 4:
            break
        length = sqrt(dot(v, v))
        nearest = min(nearest, length)
        if best > GOOD * nearest or nearest - best < NEAR * margin:
            break
        for k in range(3):
            n[k] = v[k] / length
    return best
