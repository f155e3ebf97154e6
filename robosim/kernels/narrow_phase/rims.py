"""Circles beside edges and points: the rims of cylinders and cones.

How far a circle and an edge are apart is the largest, over the normals n across the edge, of what n
parts them by: n . w - radius |n x axis|, with w from the edge to the centre. At the largest one
it is the signed distance. Its derivatives by the poses are those with n held.
"""

from math import atan2, cos, sin, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import cross, dot, perpendiculars

TURNS = 20  # Newton steps to the normal, of which a start nearby takes three to five
LONGEST = 0.3  # turn of a normal in one step [rad]
SETTLED = 1e-15  # turn after which it stays
HALVINGS = 20
BENT = 1e-3  # cosine of an axis and the turn of a normal, below which normals bend sharply there
FARTHEST = 0.1  # first turn from there [rad]
NEAREST = 1e-7  # and the last one, each a tenth of the one before
NEXT = 1e-6  # square of the sine of an angle below which one minus that of its cosine is rounding
THINNEST = 1e-12  # least sine that counts
ROUNDED = 1e-30  # square of the one at which there is no direction across
SLACK = 1e-14  # of a radius, by which rounding may make less of what parts two circles
# Directions of a half circle to start from: cosine and sine at every 22.5 degrees.
STARTS = (
    (0.38268343236508984, -0.92387953251128674),
    (0.70710678118654757, -0.70710678118654757),
    (0.92387953251128674, -0.38268343236508984),
    (1.0, 0.0),
    (0.92387953251128674, 0.38268343236508984),
    (0.70710678118654757, 0.70710678118654757),
    (0.38268343236508984, 0.92387953251128674),
)


@kernel
def parted(n, w, axis, radius):
    """By how much a normal parts a circle from an edge [m]."""
    return dot(n, w) - reach_across(n, axis, radius)


@kernel
def reach_across(n, axis, radius):
    """How far a circle reaches along a unit vector [m]."""
    return radius * sine_between(n, axis)


@kernel
def sine_between(n, axis):
    """The sine of the angle between two unit vectors, no less than `THINNEST`."""
    along = dot(n, axis)
    square = 1.0 - along * along
    if square < NEXT:
        square = 0.0
        for k in range(3):
            across = n[k] - along * axis[k]
            square += across * across
    return sqrt(max(square, THINNEST * THINNEST))


@kernel
def put_across(axis, scale, v):
    """Take out of v (3,) what it has along a unit vector, in place.

    v is what was left of a vector, of which `scale` is the squared length, without what that had
    along the axis. Next to the axis that has the rounding of the vector, in any direction. Where
    nothing else is left, v becomes a direction across the axis.
    """
    if dot(v, v) >= NEXT * scale:
        return
    along = dot(v, axis)
    for k in range(3):
        v[k] -= along * axis[k]
    if dot(v, v) <= ROUNDED * scale:
        i = 0 if abs(axis[0]) < 0.7 else 1
        for k in range(3):
            v[k] = -axis[i] * axis[k]
        v[i] += 1.0


@kernel
def turn_about_edge(w, axis, d, radius, n, m):
    """Turn n about an edge, along d, to where it parts a circle most; m (3,) is scratch.

    Returns the second derivative by the angle [m], negative unless the circle is along the edge.
    """
    leave_cap(w, axis, d, radius, n, m)
    bend, before = 0.0, parted(n, w, axis, radius)
    for _ in range(TURNS):
        cross(d, n, m)
        na, ma = dot(n, axis), dot(m, axis)
        inverse = 1.0 / sine_between(n, axis)
        product = na * ma * inverse
        slope = dot(m, w) + radius * product
        bend = -dot(n, w) + radius * inverse * (ma * ma - na * na + product * product)
        turn = slope / max(-bend, 1e-2 * radius)
        turn = min(max(turn, -LONGEST), LONGEST)
        # Near the axis normals bend sharply, so that full steps would go back and forth.
        for _ in range(HALVINGS):
            size = 1.0 / sqrt(1.0 + turn * turn)
            for k in range(3):
                n[k] = size * (n[k] + turn * m[k])
            after = parted(n, w, axis, radius)
            if after >= before - SLACK * radius:
                before = after
                break
            # Back to where it was, then half as far.
            for k in range(3):
                n[k] = (n[k] / size) - turn * m[k]
            turn *= 0.5
        if abs(turn) < SETTLED:
            break
    return bend


@kernel
def leave_cap(w, axis, d, radius, n, m):
    """Turn a normal that is along the axis of a circle away from it, if that parts more.

    Next to the axis Newton's method knows the bend there alone, and would stay; m is scratch.
    """
    cross(d, n, m)
    if abs(dot(m, axis)) > BENT:
        return
    turn = FARTHEST if dot(m, w) > 0.0 else -FARTHEST
    before = parted(n, w, axis, radius)
    while abs(turn) > NEAREST:
        size = 1.0 / sqrt(1.0 + turn * turn)
        for k in range(3):
            n[k] = size * (n[k] + turn * m[k])
        if parted(n, w, axis, radius) > before:
            return
        for k in range(3):
            n[k] = n[k] / size - turn * m[k]
        turn *= 0.1


@kernel
def best_about_edge(w, axis, d, radius, side, sine, n, m, b):
    """n: the normal across an edge that parts a rim most; m and b (3,) are scratch.

    `side` is 1 for the rim where the axis points to, which counts for normals against the axis, and
    -1 for the other one. Between both a normal has minus the sine of the side along the axis.
    Returns the second derivative as `turn_about_edge`, or 1 where there is no such normal.
    """
    along = dot(axis, d)
    for k in range(3):
        b[k] = -side * (axis[k] - along * d[k])
    size = sqrt(dot(b, b))
    if size < 1e-9:
        return 1.0
    for k in range(3):
        b[k] /= size
    cross(d, b, m)
    best, chosen = 0.0, -1
    for i in range(len(STARTS)):
        c, s = STARTS[i]
        for k in range(3):
            n[k] = c * b[k] + s * m[k]
        value = parted(n, w, axis, radius)
        if chosen < 0 or value > best:
            best, chosen = value, i
    c, s = STARTS[chosen]
    for k in range(3):
        n[k] = c * b[k] + s * m[k]
    bend = turn_about_edge(w, axis, d, radius, n, m)
    return 1.0 if side * (dot(n, axis) + sine) > 0.0 else bend


@kernel
def nearest_on_rim(offset, axis, radius, out):
    """out: from a rim's centre to its point nearest to another one, which is at `offset`."""
    along = dot(offset, axis)
    for k in range(3):
        out[k] = offset[k] - along * axis[k]
    put_across(axis, along * along, out)
    size = radius / sqrt(max(dot(out, out), 1e-300))
    for k in range(3):
        out[k] *= size


@kernel
def lowest_on_rim(axis, n, radius, out):
    """out: from a rim's centre to its point that is least far along n."""
    slope = dot(axis, n)
    for k in range(3):
        out[k] = slope * axis[k] - n[k]
    put_across(axis, 1.0, out)
    # By its own length, as 1 - slope^2 is rounding next to the axis.
    size = radius / sqrt(max(dot(out, out), 1e-300))
    for k in range(3):
        out[k] *= size


@kernel
def angle_about_edge(n, d, first, second):
    """The angle of a normal about an edge [rad]; first and second (3,) are scratch."""
    perpendiculars(d, first, second)
    return atan2(dot(second, n), dot(first, n))


@kernel
def normal_about_edge(angle, d, n, first, second):
    """n: the normal at an angle about an edge; first and second (3,) are scratch."""
    perpendiculars(d, first, second)
    c, s = cos(angle), sin(angle)
    for i in range(3):
        n[i] = c * first[i] + s * second[i]


@kernel
def best_between_rims(w, axis_1, radius_1, axis_2, radius_2, n, start, m, g):
    """Turn n to where it parts two circles most, from the first to the second.

    w (3,) is from the first one's centre to the second one's. start, m and g (3,) are scratch.
    """
    for _ in range(2 * TURNS):
        perpendiculars(n, m, g)
        x, y = dot(m, w), dot(g, w)
        xx, xy, yy = -dot(n, w), 0.0, -dot(n, w)
        for i in range(2):
            axis, radius = (axis_1, radius_1) if i == 0 else (axis_2, radius_2)
            na, ma, ga = dot(n, axis), dot(m, axis), dot(g, axis)
            inverse = 1.0 / sine_between(n, axis)
            x += radius * inverse * na * ma
            y += radius * inverse * na * ga
            # d/dangles of na ma / s, with s = sqrt(1 - na^2).
            curve = 1.0 + na * na * inverse * inverse
            xx += radius * inverse * (ma * ma * curve - na * na)
            yy += radius * inverse * (ga * ga * curve - na * na)
            xy += radius * inverse * ma * ga * curve
        # As negative as it takes for the step to lead up.
        half, spread = 0.5 * (xx + yy), sqrt(0.25 * (xx - yy) ** 2 + xy * xy)
        shift = max(half + spread + 1e-2 * (radius_1 + radius_2), 0.0)
        xx, yy = xx - shift, yy - shift
        determinant = xx * yy - xy * xy
        turn_m, turn_g = (xy * y - yy * x) / determinant, (xy * x - xx * y) / determinant
        size = sqrt(turn_m * turn_m + turn_g * turn_g)
        scale = min(1.0, LONGEST / max(size, 1e-300))
        before = parted(n, w, axis_1, radius_1) - reach_across(n, axis_2, radius_2)
        for k in range(3):
            start[k] = n[k]
        # Near the axis of a cap normals bend sharply, so that full steps would go back and forth.
        for _ in range(HALVINGS):
            for k in range(3):
                n[k] = start[k] + scale * (turn_m * m[k] + turn_g * g[k])
            length = 1.0 / sqrt(dot(n, n))
            for k in range(3):
                n[k] *= length
            after = parted(n, w, axis_1, radius_1) - reach_across(n, axis_2, radius_2)
            if after >= before - SLACK * (radius_1 + radius_2):
                break
            scale *= 0.5
        if size * scale < SETTLED:
            break
