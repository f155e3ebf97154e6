"""The round side of a cylinder or a cone, which is a cylinder with two radii.

All normals of a cone's side have the same angle to its axis. So the best of them is known from what
it leads to: a point, an edge or a side, or else from one angle about the axis, as for a rim. Where
the side touches, it is bent like the cylinder through the same points along the same generator,
whose axis meets that of the cone. This cylinder stands for it for a step, as one that is turned
about the cone's axis stays as near, but for the fourth power of the turn.
"""

from math import cos, pi, sin, sqrt

from robosim.compiled.kinds import ELLIPSOID
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.equations.algebra import cross, dot, perpendiculars
from robosim.kernels.narrow_phase.ovals import oval_arm
from robosim.kernels.narrow_phase.points import clamp, normalize, offset_dot, segment_parameters
from robosim.kernels.narrow_phase.rims import lowest_on_rim

THINNEST = 1e-3  # of the base's radius, the smallest one of a cylinder that stands for a side
TOUCHES = 1e-9  # part by which an edge may be steeper than the side and be along it
STARTS = 16  # angles that are tried
HALVINGS = 52


@kernel
def rim_center(poly, side, out):
    """out: the centre of a rim, that where the axis points to for side 1."""
    for k in range(3):
        out[k] = poly.x[k] + side * poly.half_length * poly.axis[k]


@kernel
def rim_radius(poly, side):
    """The radius of a rim, 0 for an apex."""
    return poly.top if side > 0.0 else poly.rim


@kernel
def off_axis(poly, p, out):
    """out: what a point is off the axis of a cylinder; its square [m^2]."""
    along = offset_dot(poly.axis, p, poly.x)
    for k in range(3):
        out[k] = p[k] - poly.x[k] - along * poly.axis[k]
    return dot(out, out)


@kernel
def side_to_point(poly, p, out):
    """out: the normal of the side of a cone that looks to a point; whether there is one."""
    off_axis(poly, p, out)
    if normalize(out) == 0.0:
        return False
    for k in range(3):
        out[k] = poly.cosine * out[k] + poly.sine * poly.axis[k]
    return True


@kernel
def side_across(poly, d, sign, first, out):
    """out: one of two normals of a cone's side across an edge along d; whether there are such.

    first (3,) is scratch.
    """
    along = dot(poly.axis, d)
    for k in range(3):
        first[k] = poly.axis[k] - along * d[k]
    size = normalize(first)
    if size == 0.0 or size < poly.sine * (1.0 - TOUCHES):
        return False
    share = min(poly.sine / size, 1.0)
    cross(d, first, out)
    for k in range(3):
        out[k] = share * first[k] + sign * sqrt(1.0 - share * share) * out[k]
    return True


@kernel
def side_across_side(one, other, sign, out):
    """out: one of two normals of a side that touch another one; whether there are such."""
    a, b, k = one.axis, other.axis, dot(one.axis, other.axis)
    rest = 1.0 - k * k
    if rest < TOUCHES:
        # Of axes along each other the sides touch in the plane of both, if at all.
        return side_to_point(one, other.x, out)
    along_a = (one.sine + k * other.sine) / rest
    along_b = (-other.sine - k * one.sine) / rest
    square = 1.0 - along_a * one.sine + along_b * other.sine
    if square < 0.0:
        return False
    cross(a, b, out)
    for i in range(3):
        out[i] = along_a * a[i] + along_b * b[i] + sign * sqrt(square / rest) * out[i]
    return normalize(out) > 0.0


@aside
def turn_side(poly, other, side, out, first, second, low):
    """out: the normal of a cone's side that parts it most from an ellipsoid or a rim of `other`.

    first, second and low (3,) are scratch.
    """
    perpendiculars(poly.axis, first, second)
    begin, best = 0.0, 0.0
    for i in range(STARTS):
        angle = 2.0 * pi * i / STARTS
        slope_of_side(poly, other, side, angle, out, first, second, low)
        value = dot(out, low)
        if i == 0 or value > best:
            begin, best = angle, value
    near, far = begin - 2.0 * pi / STARTS, begin + 2.0 * pi / STARTS
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        if slope_of_side(poly, other, side, middle, out, first, second, low) > 0.0:
            near = middle
        else:
            far = middle


@kernel
def slope_of_side(poly, other, side, angle, out, first, second, low):
    """How fast what parts a side and another shape grows with an angle about the axis [m/rad].

    out: the normal at the angle; low: what of the other shape is least far along it, from the
    middle of the side.
    """
    c, s = cos(angle), sin(angle)
    for k in range(3):
        out[k] = poly.cosine * (c * first[k] + s * second[k]) + poly.sine * poly.axis[k]
    if other.kind == ELLIPSOID:
        oval_arm(other.semi_axes, out, low)
        for k in range(3):
            low[k] = other.x[k] - poly.x[k] - low[k]
    else:
        lowest_on_rim(other.axis, out, rim_radius(other, side), low)
        for k in range(3):
            low[k] += other.x[k] - poly.x[k] + side * other.half_length * other.axis[k]
    return poly.cosine * (c * dot(second, low) - s * dot(first, low))


@kernel
def put_generator(poly, n, sign):
    """poly.side: the generator whose normal, poly.slant, is nearest to n times a sign."""
    along = dot(n, poly.axis)
    for k in range(3):
        poly.slant[k] = sign * (n[k] - along * poly.axis[k])
    if normalize(poly.slant) == 0.0:
        perpendiculars(poly.axis, poly.slant, poly.along)
    for k in range(3):
        end = poly.half_length * poly.axis[k]
        poly.side[0, k] = poly.x[k] - end + poly.rim * poly.slant[k]
        poly.side[1, k] = poly.x[k] + end + poly.top * poly.slant[k]
    for k in range(3):
        poly.slant[k] = poly.cosine * poly.slant[k] + poly.sine * poly.axis[k]


@kernel
def put_side(poly, share):
    """The cylinder that stands for a side where it touches, at a part of the generator.

    Its axis is from poly.side[0] to poly.side[1], through poly.origin along poly.along, its radius
    poly.around.
    """
    z = (2.0 * share - 1.0) * poly.half_length
    radius = poly.rim + share * (poly.top - poly.rim)
    around = max(radius / poly.cosine, THINNEST * poly.rim)
    for k in range(3):
        inwards = around * poly.slant[k]
        poly.origin[k] = (1.0 - share) * poly.side[0, k] + share * poly.side[1, k] - inwards
        poly.along[k] = (poly.axis[k] - poly.sine * poly.slant[k]) / poly.cosine
    for k in range(3):
        poly.side[0, k] = poly.origin[k] - (z + poly.half_length) / poly.cosine * poly.along[k]
        poly.side[1, k] = poly.origin[k] + (poly.half_length - z) / poly.cosine * poly.along[k]
    poly.around = around


@kernel
def aim(poly, n, sign, v, w):
    """Put the side of a cone beside a segment, along a normal out of the cone: n times a sign.

    Of a cylinder it stays where it is.
    """
    if poly.sine == 0.0:
        return
    put_generator(poly, n, sign)
    _, t = segment_parameters(v, w, poly.side[0], poly.side[1])
    put_side(poly, clamp(t, 0.0, 1.0))


@kernel
def aim_both(first, second, n):
    """Put the sides of two shapes beside each other, along a normal from one to the other."""
    if first.sine == 0.0 and second.sine == 0.0:
        return
    if first.sine > 0.0:
        put_generator(first, n, 1.0)
    if second.sine > 0.0:
        put_generator(second, n, -1.0)
    s, t = segment_parameters(first.side[0], first.side[1], second.side[0], second.side[1])
    if first.sine > 0.0:
        put_side(first, clamp(s, 0.0, 1.0))
    if second.sine > 0.0:
        put_side(second, clamp(t, 0.0, 1.0))
