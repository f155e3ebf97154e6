"""Friction by direction: an elliptic cone, which is a circular one in scaled tangents.

With a coefficient mu_x along a direction x of the material, and mu_y along the tangent y across it,
friction F obeys the law of maximal dissipation in an ellipse: of all F with

    (F_x / mu_x)^2 + (F_y / mu_y)^2 <= gamma^2

it is the one with the least F . v at the slip v. With mu the larger coefficient, the two rows of a
contact's frame are e_x = mu_x / mu x and e_y = mu_y / mu y. With F = f_x e_x + f_y e_y and the slip
u = (e_x . v, e_y . v), the ellipse is |f| <= mu gamma, and F . v = f . u. So for f and u the law is
that of the circular cone, and what knows a contact by its frame stays as it is.

The direction is that at the knot where an interval begins. What uses the tangents for anything but
slip and friction divides by these factors.
"""

from math import sqrt

from robosim.compiled.kinds import TORSION
from robosim.kernels.compiler.jit import aside
from robosim.kernels.compiler.lanes import pick
from robosim.kernels.contact.law import contact_impulse
from robosim.kernels.contact.turning import is_companion, turn_to_world
from robosim.kernels.equations.algebra import cross, dot, rotate

STEEP = 1e-3  # sine of the angle to the normal below which a direction says nothing


@aside
def direct_tangents(contact, poses, frame, t):
    """Turn a frame's tangents to the direction of the material, and scale them.

    Where the direction is nearly normal to the surface, they stay what they were.
    """
    d, n = t.y, frame[2]
    rotate(poses[contact.axes].R, contact.direction, d)
    height = dot(n, d)
    square = 1.0 - height * height
    steep = square < STEEP * STEEP
    size = 1.0 / sqrt(pick(steep, 1.0, square))
    for i in range(3):
        frame[0, i] = pick(steep, frame[0, i], size * (d[i] - height * n[i]))
    cross(n, frame[0], frame[1])
    for i in range(3):
        frame[0, i] *= contact.along
        frame[1, i] *= contact.across


@aside
def note_friction(slots, contacts, c, k, facets, t):
    """c.friction = the impulse of friction or of a companion, before the frame is anew."""
    contact = slots[k]
    contact_impulse(c.beta, c.gamma, facets, t.arm)
    if is_companion(contact):
        frame, torsion = contacts[contact.leader].frame, contact.resists == TORSION
        turn_to_world(contact, torsion, frame, t.arm, c.friction)
        return
    frame = contacts[k].frame
    for i in range(3):
        c.friction[i] = t.arm[0] * frame[0, i] + t.arm[1] * frame[1, i]
