"""Contacts of rims, which are circles of a body, and edges. On planes they are in `ovals`."""

from math import sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import dot, rotate
from robosim.kernels.narrow_phase.rims import (
    lowest_on_rim,
    nearest_on_rim,
    normal_about_edge,
    turn_about_edge,
)


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
