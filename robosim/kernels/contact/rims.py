"""Contacts of rims: circles of a body, which touch with the point that is nearest to the other."""

from math import sqrt

from robosim.compiled.kinds import RIM, RIM_EDGE
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import cross, dot, rotate
from robosim.kernels.narrow_phase.rims import (
    lowest_on_rim,
    nearest_on_rim,
    normal_about_edge,
    turn_about_edge,
)


@kernel
def is_rim(contact):
    """Whether the body touches with a rim."""
    return contact.kind == RIM or contact.kind == RIM_EDGE


@kernel
def place_rim(contact, a, b, t):
    """`place_contact` of a circle and a plane: where the circle is nearest to the plane."""
    rotate(a.R, contact.o_end, t.w)
    rotate(b.R, contact.p_end, t.z)
    lowest_on_rim(t.z, t.w, contact.radius, t.arm)
    gap = 0.0
    rotate(a.R, contact.o, t.f)
    for i in range(3):
        t.y[i] += t.arm[i]
        t.z[i] = b.x[i] + t.y[i] - a.x[i]
        gap += t.w[i] * (t.z[i] - t.f[i])
    return gap


@kernel
def place_rim_edge(contact, a, b, t):
    """`place_contact` of a circle and an edge, or a point."""
    axis, d, offset, n = t.S_a[0], t.S_a[1], t.S_a[2], t.S_a[3]
    rotate(b.R, contact.p_end, axis)
    rotate(a.R, contact.o, t.z)
    for i in range(3):
        offset[i] = b.x[i] + t.y[i] - a.x[i] - t.z[i]
    if dot(contact.o_end, contact.o_end) == 0.0:
        for i in range(3):
            d[i] = -offset[i]
        nearest_on_rim(d, axis, contact.radius, t.arm)
        for i in range(3):
            t.w[i] = offset[i] + t.arm[i]
        size = 1.0 / sqrt(dot(t.w, t.w))
        for i in range(3):
            t.w[i] *= size
    else:
        # The normal starts where it was when the feature was found, in axes of the other.
        rotate(a.R, contact.o_end, d)
        normal_about_edge(contact.sign, contact.o_end, n, t.S_b[0], t.S_b[1])
        rotate(a.R, n, t.w)
        turn_about_edge(offset, axis, d, contact.radius, t.w, t.S_b[0])
        lowest_on_rim(axis, t.w, contact.radius, t.arm)
    gap = -contact.radius_o
    for i in range(3):
        t.y[i] += t.arm[i]
        t.z[i] = b.x[i] + t.y[i] - a.x[i]
        gap += t.w[i] * (offset[i] + t.arm[i])
    return gap


@kernel
def rim_row(contact, a, n, along, t, out):
    """out (3,): `along` times what a rim's arm at the second knot changes by as its axis turns.

    With axis a and normal n the arm is radius / size (slope a - n), where slope = a . n and
    size^2 = 1 - slope^2.
    """
    slope = dot(a, n)
    inverse = 1.0 / sqrt(max(1.0 - slope * slope, 1e-24))
    cross(a, n, t.z)
    cross(a, along, t.arm)
    part, across = dot(a, along), dot(n, along)
    tilt = part + slope * (slope * part - across) * inverse * inverse
    for i in range(3):
        out[i] = contact.radius * inverse * (tilt * t.z[i] + slope * t.arm[i])
