"""Closed forms of rays against shapes, in the axes of the shape, about its middle.

A shape is convex: the ray is inside between two distances, of which the first that is not negative
counts. Squares of distances are taken at the point of the ray that is nearest to the axis or the
middle, so that shapes far away lose no digits.
"""

from math import inf, sqrt

from robosim.compiled.kinds import BOX, CAPSULE, CYLINDER, HALF_SPACE, SPHERE, TAPERED
from robosim.kernels.compiler.jit import kernel

PARALLEL = 1e-290  # below this square, the part of a direction across an axis is none


@kernel
def first_of(near, far):
    """The first distance of an interval that is not negative; inf without one."""
    if not near <= far or far < 0.0:
        return inf
    return near if near >= 0.0 else far


@kernel
def between(o, d, half):
    """Where |o + t d| <= half: an interval, empty if its end comes before its beginning."""
    if d == 0.0:
        return (-inf, inf) if abs(o) <= half else (inf, -inf)
    a, b = (-half - o) / d, (half - o) / d
    return (a, b) if a <= b else (b, a)


@kernel
def in_ball(ox, oy, oz, dx, dy, dz, radius):
    """Interval in a ball about the origin."""
    middle = -(ox * dx + oy * dy + oz * dz)
    x, y, z = ox + middle * dx, oy + middle * dy, oz + middle * dz
    square = radius * radius - (x * x + y * y + z * z)
    if square < 0.0:
        return inf, -inf
    half = sqrt(square)
    return middle - half, middle + half


@kernel
def in_round(ox, oy, dx, dy, radius):
    """Interval in an endless cylinder along z."""
    across = dx * dx + dy * dy
    if across < PARALLEL:
        return (-inf, inf) if ox * ox + oy * oy <= radius * radius else (inf, -inf)
    middle = -(ox * dx + oy * dy) / across
    x, y = ox + middle * dx, oy + middle * dy
    square = radius * radius - (x * x + y * y)
    if square < 0.0:
        return inf, -inf
    half = sqrt(square / across)
    return middle - half, middle + half


@kernel
def meet_box(o, d, size):
    near, far = between(o[0], d[0], size[0])
    for k in range(1, 3):
        a, b = between(o[k], d[k], size[k])
        near, far = (a if a > near else near), (b if b < far else far)
    return first_of(near, far)


@kernel
def meet_cylinder(o, d, size):
    near, far = in_round(o[0], o[1], d[0], d[1], size[0])
    a, b = between(o[2], d[2], size[1])
    return first_of(a if a > near else near, b if b < far else far)


@kernel
def meet_cone(o, d, size):
    """A cone, perhaps truncated, with the radius of its base, half its length and its top's radius.

    Between its ends it is where the distance from the axis is at most the radius there, which is
    one half of a double cone.
    """
    begin = -(o[0] * d[0] + o[1] * d[1] + o[2] * d[2])
    x, y, z = o[0] + begin * d[0], o[1] + begin * d[1], o[2] + begin * d[2]
    slope = 0.5 * (size[2] - size[0]) / size[1]
    radius, rate = 0.5 * (size[0] + size[2]) + slope * z, slope * d[2]
    a = d[0] * d[0] + d[1] * d[1] - rate * rate
    b = x * d[0] + y * d[1] - radius * rate
    c = x * x + y * y - radius * radius
    inside = b * b - a * c
    low, high = -inf, inf
    if inside < 0.0:
        if a > 0.0:
            return inf
        inside = 0.0
    far = -b - sqrt(inside) if b > 0.0 else -b + sqrt(inside)
    first = far / a if a != 0.0 else (inf if far > 0.0 else -inf)
    second = c / far if far != 0.0 else first
    if a > 0.0:
        low, high = min(first, second), max(first, second)
    elif a < 0.0 and rate > 0.0:
        low = max(first, second)
    elif a < 0.0:
        high = min(first, second)
    elif b > 0.0:
        high = second
    elif b < 0.0:
        low = second
    elif c > 0.0:
        return inf
    at, end = between(z, d[2], size[1])
    return first_of(begin + (at if at > low else low), begin + (end if end < high else high))


@kernel
def meet_capsule(o, d, size):
    """Where the ray enters and leaves the endless cylinder tells which end, if any, it meets."""
    near, far = in_round(o[0], o[1], d[0], d[1], size[0])
    if not near <= far:
        return inf
    half, up = size[1], d[2] > 0.0
    if near == -inf:
        first, last = (-1.0 if up else 1.0), (1.0 if up else -1.0)
    else:
        z, w = o[2] + near * d[2], o[2] + far * d[2]
        first = 0.0 if abs(z) <= half else (1.0 if z > 0.0 else -1.0)
        last = 0.0 if abs(w) <= half else (1.0 if w > 0.0 else -1.0)
    if first != 0.0:
        near, end = in_ball(o[0], o[1], o[2] - first * half, d[0], d[1], d[2], size[0])
        if not near <= end:
            return inf
    if last != 0.0:
        begin, far = in_ball(o[0], o[1], o[2] - last * half, d[0], d[1], d[2], size[0])
        if not begin <= far:
            return inf
    return first_of(near, far)


@kernel
def meet_ellipsoid(o, d, size):
    """As a unit ball, in coordinates that are scaled by the semi-axes."""
    ox, oy, oz = o[0] / size[0], o[1] / size[1], o[2] / size[2]
    dx, dy, dz = d[0] / size[0], d[1] / size[1], d[2] / size[2]
    square = dx * dx + dy * dy + dz * dz
    middle = -(ox * dx + oy * dy + oz * dz) / square
    x, y, z = ox + middle * dx, oy + middle * dy, oz + middle * dz
    rest = 1.0 - (x * x + y * y + z * z)
    if rest < 0.0:
        return inf
    half = sqrt(rest / square)
    return first_of(middle - half, middle + half)


@kernel
def meet_shape(kind, o, d, size):
    """Distance to a shape that is no mesh and no height field; a half-space from outside only."""
    if kind == BOX:
        return meet_box(o, d, size)
    if kind == CYLINDER:
        return meet_cylinder(o, d, size)
    if kind == CAPSULE:
        return meet_capsule(o, d, size)
    if kind == TAPERED:
        return meet_cone(o, d, size)
    if kind == SPHERE:
        near, far = in_ball(o[0], o[1], o[2], d[0], d[1], d[2], size[0])
        return first_of(near, far)
    if kind == HALF_SPACE:
        return -o[2] / d[2] if o[2] >= 0.0 and d[2] < 0.0 else inf
    return meet_ellipsoid(o, d, size)


@kernel
def find_normal(kind, p, size, out):
    """The unit normal, out of a shape that is no mesh and no height field, at its point p."""
    x, y, z = p[0], p[1], p[2]
    if kind == BOX:
        face = 0
        for k in range(1, 3):
            if abs(p[k]) - size[k] > abs(p[face]) - size[face]:
                face = k
        for k in range(3):
            out[k] = 0.0
        out[face] = 1.0 if p[face] > 0.0 else -1.0
        return
    if kind == HALF_SPACE:
        x, y, z = 0.0, 0.0, 1.0
    elif kind == CYLINDER:
        if abs(z) - size[1] > sqrt(x * x + y * y) - size[0]:
            x, y, z = 0.0, 0.0, (1.0 if z > 0.0 else -1.0)
        else:
            z = 0.0
    elif kind == TAPERED:
        slope, across = 0.5 * (size[0] - size[2]) / size[1], sqrt(x * x + y * y)
        below = across - 0.5 * (size[0] + size[2]) + slope * z
        if abs(z) - size[1] > below / sqrt(1.0 + slope * slope) or across == 0.0:
            x, y, z = 0.0, 0.0, (1.0 if z > 0.0 else -1.0)
        else:
            z = slope * across
    elif kind == CAPSULE:
        z -= min(max(z, -size[1]), size[1])
    elif kind != SPHERE:
        x, y, z = x / (size[0] * size[0]), y / (size[1] * size[1]), z / (size[2] * size[2])
    scale = 1.0 / sqrt(x * x + y * y + z * z)
    out[0], out[1], out[2] = scale * x, scale * y, scale * z
