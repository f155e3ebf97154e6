"""The distance of two convex shapes: Gilbert, Johnson and Keerthi's algorithm.

The set of all differences of points, second shape minus first, is convex, and its point nearest to
the origin is as far from there as the shapes are from each other. A simplex of up to four of its
vertices closes in on that point.
"""

from math import inf, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, dot
from robosim.kernels.narrow_phase.points import farthest_listed, nearest_listed, normalize

FACES = ((0, 1, 2, 3), (0, 3, 1, 2), (0, 2, 3, 1), (1, 3, 2, 0))  # of a tetrahedron


@kernel
def nearest_on_segment(W, i, j):
    """Weights of the points i and j whose mean is nearest to the origin."""
    length, along = 0.0, 0.0
    for k in range(3):
        e = W[j, k] - W[i, k]
        length += e * e
        along -= W[i, k] * e
    if along <= 0.0:
        return 1.0, 0.0
    if along >= length:
        return 0.0, 1.0
    return 1.0 - along / length, along / length


@kernel
def nearest_on_triangle(W, i, j, k):
    """Weights of the points i, j, k whose mean is nearest to the origin [Ericson2005, 5.1.5]."""
    d1, d2, d3, d4, d5, d6 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(3):
        ab, ac = W[j, c] - W[i, c], W[k, c] - W[i, c]
        d1 -= ab * W[i, c]
        d2 -= ac * W[i, c]
        d3 -= ab * W[j, c]
        d4 -= ac * W[j, c]
        d5 -= ab * W[k, c]
        d6 -= ac * W[k, c]
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return 1.0 - t, t, 0.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return 1.0 - t, 0.0, t
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - t, t
    scale = 1.0 / (va + vb + vc)
    return 1.0 - (vb + vc) * scale, vb * scale, vc * scale


@kernel
def volume(W, i, j, k):
    """Six times the signed volume of the tetrahedron of i, j, k and the origin."""
    a, b, c = W[i], W[j], W[k]
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


@kernel
def try_face(W, i, j, k, other, weight, best):
    """Weights of the face i, j, k of a tetrahedron if it is nearer to the origin than `best`."""
    u, v, w = nearest_on_triangle(W, i, j, k)
    square = 0.0
    for c in range(3):
        x = u * W[i, c] + v * W[j, c] + w * W[k, c]
        square += x * x
    if square < best:
        weight[i], weight[j], weight[k], weight[other] = u, v, w, 0.0
        return square
    return best


@kernel
def nearest_on_tetrahedron(W, weight):
    """Weights of the point of four that is nearest to the origin; whether that is inside.

    All faces are tried, and inside is where the origin is on one side of all of them: the volume of
    a tetrahedron that is nearly flat has no sign that could be trusted.
    """
    best, above, below = inf, 0, 0
    for face in range(4):
        i, j, k, other = FACES[face]
        side = volume(W, i, j, k)
        above += 1 if side > 0.0 else 0
        below += 1 if side < 0.0 else 0
        best = try_face(W, i, j, k, other, weight, best)
    return above == 4 or below == 4


@kernel
def shrink_simplex(pair, n):
    """The point of the simplex nearest to the origin into pair.v; the size of what it needs."""
    W, weight = pair.W, pair.weight
    if n == 1:
        weight[0] = 1.0
    elif n == 2:
        weight[0], weight[1] = nearest_on_segment(W, n - 2, n - 1)
    elif n == 3:
        weight[0], weight[1], weight[2] = nearest_on_triangle(W, n - 3, n - 2, n - 1)
    elif nearest_on_tetrahedron(W, weight):
        return 4
    kept = 0
    for c in range(3):
        pair.v[c] = 0.0
    for i in range(n):
        if weight[i] > 0.0:
            for c in range(3):
                pair.v[c] += weight[i] * W[i, c]
                W[kept, c] = W[i, c]
            weight[kept], pair.ia[kept], pair.ib[kept] = weight[i], pair.ia[i], pair.ib[i]
            kept += 1
    return kept


@kernel
def distance(scratch, margin):
    """Distance of the two cores [m], 0 where they overlap, inf where it is above the margin.

    Gilbert, Johnson and Keerthi: the point of the set of differences (second minus first) that
    is nearest to the origin. pair.n is the normal, pair.pa and pair.pb are the nearest points;
    of cores that overlap, pair.n is the last direction that was looked along. The second one
    counts as moved by pair.shift.
    """
    pair, a, b = scratch.pair[0], scratch.vertices[0], scratch.vertices[1]
    W, v, n = pair.W, pair.v, pair.n
    size, square, lost = 0, inf, False
    i, j = scratch.listed.vertices[0, 0], scratch.listed.vertices[1, 0]
    for c in range(3):
        v[c] = b[j].p[c] + pair.shift[c] - a[i].p[c]
    if dot(v, v) == 0.0:
        v[2] = pair.scale
    smallest = 1e-14 * pair.scale
    for _ in range(100):
        vv = dot(v, v)
        if vv < smallest * smallest or vv >= square:
            # The point of a simplex that is nearly a line may be far from its nearest one.
            lost = vv > 1.000001 * square
            break
        if size > 0:
            square = vv
        assign(v, n)
        normalize(n)
        i, j = farthest_listed(scratch, 0, v), nearest_listed(scratch, 1, v)
        for c in range(3):
            W[size, c] = b[j].p[c] + pair.shift[c] - a[i].p[c]
        vw = v[0] * W[size, 0] + v[1] * W[size, 1] + v[2] * W[size, 2]
        if vw > 0.0 and vw > margin * sqrt(vv):
            return inf
        known = False
        for k in range(size):
            if pair.ia[k] == i and pair.ib[k] == j:
                known = True
        if known or (size > 0 and vv - vw <= 1e-14 * vv):
            break
        pair.ia[size], pair.ib[size] = i, j
        size = shrink_simplex(pair, size + 1)
        if size == 4:
            return 0.0
    pair.size = size
    length = sqrt(dot(v, v))
    if lost or not length > 1e-7 * pair.scale:
        # Too near to trust the direction: separating axes decide.
        return 0.0
    for c in range(3):
        n[c] = v[c] / length
        pair.pa[c], pair.pb[c] = 0.0, 0.0
        for k in range(size):
            pair.pa[c] += pair.weight[k] * a[pair.ia[k]].p[c]
            pair.pb[c] += pair.weight[k] * b[pair.ib[k]].p[c]
    return length
