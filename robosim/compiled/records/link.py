"""Records of recursions over a tree: links with their joints, columns of joints, scratch memory.

A link has a reference point that is fixed in it: where its joint holds it. Its axes are those of
its principal moments of inertia, which are not the axes of the body that users see.
"""

from __future__ import annotations

import numpy as np

LINK = np.dtype(
    [
        ("kind", "i8"),  # ONE_HINGE, ONE_SLIDE, ANY_JOINT or ANY_CHART
        ("parent", "i8"),  # link, or nb for the world
        ("q_begin", "i8"),
        ("v_begin", "i8"),
        ("m_T", "i8"),  # translations, among which those of a chart count, then rotations
        ("m_R", "i8"),
        ("law", "i8"),  # 1 if its coordinates have springs, dampers or a potential
        ("gyro", "i8"),  # 1 if rotors of a free rotation differ, and so resist turning as it spins
        ("chart_begin", "i8"),  # factors of its chart
        ("chart_end", "i8"),
        ("mass", "f8"),
        ("moments", "f8", (3,)),  # principal moments of inertia about the centre of mass
        ("center", "f8", (3,)),  # centre of mass from the reference point, link axes
        ("point", "f8", (3,)),  # reference point at zero, from the parent's, parent's link axes
        ("axis", "f8", (3,)),  # of a hinge, or direction of a slide, parent's link axes
        # Link axes to the parent's at an angle t of a single rotation: K0 + sin(t) K1 + cos(t) K2;
        # without a rotation K0.
        ("K0", "f8", (3, 3)),
        ("K1", "f8", (3, 3)),
        ("K2", "f8", (3, 3)),
        # Of a free rotation r: before R(r) after.
        ("before", "f8", (3, 3)),  # joint frame to the parent's link axes
        ("after", "f8", (3, 3)),  # link axes to body axes
        ("slides", "f8", (3, 3)),  # directions of translations, rows, parent's link axes
        ("spins", "f8", (3, 3)),  # axes of rotations, rows, link axes
    ]
)

PLACE = np.dtype(  # of a link, and how it moves; all vectors in world axes
    [
        ("R", "f8", (3, 3)),  # link axes to world
        ("p", "f8", (3,)),  # reference point
        ("r", "f8", (3,)),  # the same from the parent's reference point
        ("c", "f8", (3,)),  # centre of mass from the reference point
        ("w", "f8", (3,)),  # angular velocity
        ("u", "f8", (3,)),  # velocity of the reference point
        ("bias", "f8", (6,)),  # acceleration beside the parent's at zero joint acceleration
        ("acc", "f8", (6,)),  # acceleration of the reference point, angular acceleration
        ("f", "f8", (6,)),  # force, moment about the reference point
    ]
)

COLUMN = np.dtype(  # of a joint's motion subspace, for each velocity
    [
        ("S", "f8", (6,)),  # how it moves the link: its reference point, its angular velocity
        ("rate", "f8", (6,)),  # of S
        ("U", "f8", (6,)),  # articulated inertia of all links beyond the joint, times S
        ("D", "f8"),  # 1 / (S . U), with the rotor
        ("u", "f8"),  # force along it that is left
    ]
)

# Articulated inertia of a link, about its reference point: force = M a + H alpha,
# moment = H^T a + I alpha. Symmetric ones are kept as xx, xy, xz, yy, yz, zz.
ARTICULATED = np.dtype([("M", "f8", (6,)), ("H", "f8", (3, 3)), ("I", "f8", (6,))])

# Of a link and all links beyond it, moving as one; `h` is the mass times the way from the
# reference point to the centre of mass.
COMPOSITE = np.dtype([("mass", "f8"), ("h", "f8", (3,)), ("I", "f8", (6,))])

# For derivatives, all about one point, which stays: twists, accelerations and forces of links.
SPATIAL = np.dtype(
    [
        ("v", "f8", (6,)),
        ("a", "f8", (6,)),  # rate of v, with gravity as an acceleration of the world
        ("f", "f8", (6,)),  # of the link and all links beyond it
        ("B", "f8", (6, 6)),  # how f answers twists, twice the B of [Singh2022], composite
    ]
)

SPATIAL_COLUMN = np.dtype(
    [
        ("S", "f8", (6,)),
        ("rate", "f8", (6,)),  # of S
        ("turn", "f8", (6,)),  # v x S, with v before the joint: derivative of v by the coordinate
        ("turn2", "f8", (6,)),  # derivative of the acceleration by the coordinate
        ("IS", "f8", (6,)),  # composite inertia times S
        ("BS", "f8", (6,)),  # transpose of B times S
        ("by_q", "f8", (6,)),  # how the force beyond answers the coordinate
        ("by_v", "f8", (6,)),  # and its velocity
    ]
)
