"""Records of changes to first order, along as many directions as there are lanes."""

from __future__ import annotations

import numpy as np

COLUMN = np.dtype(  # of a body and of the joint of the tree that carries it
    [
        *((name, "f8", (3,)) for name in ("x1", "turn1", "x2", "turn2")),  # poses at both knots
        ("dp", "f8", (3,)),  # vector of its turn over the interval
        ("w", "f8", (6,)),  # twist at a knot
        ("c", "f8", (6,)),  # and of what leads that from a chord to an arc
        ("known", "f8", (6,)),  # momenta that leave the interval
        ("m", "f8", (6,)),  # motion (d v, psi) that answers
        ("f", "f8", (6,)),  # wrench about the centre of mass, then about the reference
        ("passed", "f8", (6,)),
        ("x", "f8", (6,)),  # motion of the reference
        # By coordinate: where the directions lead, and what follows.
        *((name, "f8", (6,)) for name in ("dq", "dv", "tau", "rate", "rotor", "law", "dq2")),
        ("s", "f8", (6,)),  # rates while the parent stands still
        ("d", "f8", (6,)),  # rates that answer
        # Scratch:
        ("u", "f8", (6,)),
        *((name, "f8", (3,)) for name in ("y", "z", "k")),
    ]
)

LINK = np.dtype(  # of the joint that carries a body, in plain numbers
    [
        # From the parent's centre of mass to the joint's point, at both knots:
        ("y1", "f8", (3,)),
        ("y2", "f8", (3,)),
        # At the knot at hand: rate of turn and of the point against the parent,
        ("spin", "f8", (3,)),
        ("slip", "f8", (3,)),
        # by how much arcs turn faster than chords, the body and the parent,
        ("gained", "f8", (3,)),
        ("carried", "f8", (3,)),
        ("excess", "f8"),  # as a part of the chord's rate,
        ("more", "f8"),  # twice the derivative of that by the rate's square,
        # and what is left of the equations: force at the body, and the wrench about the reference
        # of all that the joint carries.
        ("own", "f8", (3,)),
        ("f", "f8", (6,)),
    ]
)

CONTACT_COLUMN = np.dtype(  # of a contact in the equations
    [
        ("du", "f8", (3,)),  # its motion
        ("push", "f8", (3,)),  # its impulse
    ]
)

ANSWER = np.dtype(  # how a contact answers to first order
    [
        # Variables (gamma, s, psi, beta, eta) by the three motions and by the barrier.
        ("by", "f8", (4, 8)),
        ("of_kappa", "f8", (3,)),  # impulse by the barrier
        ("A", "f8", (3, 3)),  # impulse by motion, over the interval
        ("dA", "f8", (4, 9)),  # and how that changes by the same four
        # What this changes of the impulse in the projection at the second knot:
        ("G", "f8", (3, 3)),  # by motion
        ("follow", "f8", (3,)),  # by the barrier
        ("impulse", "f8", (3,)),  # the impulse there, world axes
    ]
)

PULLED = np.dtype(  # of a body and its joint: derivatives of a sum, by what a COLUMN has
    [
        *((name, "f8", (3,)) for name in ("x1", "turn1", "x2", "turn2", "dp", "k")),
        *((name, "f8", (6,)) for name in ("w", "c", "m", "f")),
        ("x", "f8", (6,)),  # by the motion of the reference, then by the wrench about it
        ("s", "f8", (6,)),
        # By coordinate: by where the step ends, and by what it begins with.
        *((name, "f8", (6,)) for name in ("by_q", "by_v", "dq", "dv", "tau", "aim")),
        *((name, "f8", (6,)) for name in ("rate", "law", "dq2", "d")),
        # Plain numbers that are kept: twists at both knots, the turn over the interval, and the
        # inertia at the first knot, world axes.
        *((name, "f8", (6,)) for name in ("twist1", "twist2")),
        ("P", "f8", (4,)),
        ("J", "f8", (3, 3)),
    ]
)
