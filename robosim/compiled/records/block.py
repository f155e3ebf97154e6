"""Records of derivatives of a step in joint coordinates (`robosim.kernels.step.matrices`)."""

from __future__ import annotations

import numpy as np

BLOCK = np.dtype(  # of a body, or then of all that hangs on its joint, about one origin
    [
        ("N", "f8", (6, 6)),  # momentum by the twist
        # What is left of the equations, but for what turns along: by screws at both knots.
        ("P", "f8", (6, 6)),
        ("R", "f8", (6, 6)),
        ("E", "f8", (6, 6)),  # momentum that leaves the interval, by the screw at the first knot
        ("K", "f8", (6,)),  # and by the barrier
        ("F", "f8", (6,)),  # wrench that the joint carries
        ("V", "f8", (6,)),  # twist
        ("before", "f8", (6,)),  # twist against which the joint turns
        ("x", "f8", (3,)),  # of its centre of mass, and of its joint, from the origin
        ("arm", "f8", (3,)),
        # Of what leads from chords to arcs:
        ("C", "f8", (3, 3)),  # by the angular velocity
        ("e", "f8", (3,)),  # momentum of all that hangs on it by that, as a cross product
        ("turned", "f8", (3,)),  # the sum of those
        ("D", "f8", (3, 3)),  # and its derivative by angular velocities
        ("mass", "f8"),
    ]
)

ALONG = np.dtype(  # of a coordinate, in the order of bodies
    [
        ("body", "i8"),
        ("row", "i8"),  # of the coordinate in its joint
        ("up", "i8"),  # the coordinate before it on the way to the root, or -1
        ("v", "i8"),  # its place among the velocities
        # Where lists of coordinates begin in `places`: those by which its rate along an arc differs
        # from that along a chord, then itself and those before it, without it, and those beyond.
        ("bends", "i8"),
        ("related", "i8"),
        ("above", "i8"),
        ("beyond", "i8"),
        ("end", "i8"),
        # Screws at both knots, the twist against which they turn, products with blocks:
        *((name, "f8", (6,)) for name in ("S1", "S2", "eta", "y", "RR", "RN", "LP", "LR", "LN")),
        *((name, "f8", (3,)) for name in ("w", "own", "rest")),
    ]
)

TOUCH = np.dtype(  # of a contact in the equations
    [
        ("U1", "f8", (3, 6)),  # its motion by screws at both knots
        ("U2", "f8", (3, 6)),
        ("x1", "f8", (3,)),  # of its body's centre of mass at the first knot, from the origin
        ("back", "f8"),  # derivative of the gap that it may not undercut
        # Scratch:
        *((name, "f8", (3,)) for name in ("move", "arm", "u", "v", "w", "push")),
    ]
)
