"""Records of the scratch memory in which joints are eliminated as a tree, with its loops."""

from __future__ import annotations

import numpy as np

from robosim.compiled.arrays import with_rows
from robosim.compiled.records.chart import CHART_POSE

TREE_WORK = with_rows(
    [
        # World axes; 1 and 2 stand for the knots. In the order in which sweeps ask for them:
        ("rho1", "f8", (3,)),  # from the joint point on the body to its centre of mass
        ("a1", "f8", (3,)),  # axis of a hinge
        ("inverse", "f8"),  # of S, of a hinge
        ("posed", "i8"),  # whether pose2 is that of the unknowns
        ("r1", "f8", (3,)),  # from the joint point on the parent's parent side to this one
        ("base", "f8", (3,)),  # from the parent's centre of mass to where the child is held
        ("s", "f8", (6,)),  # rates of the coordinates while the parent stands still
        # Rates of the coordinates in Newton's direction; of a BALL, the change of its turn.
        ("d", "f8", (6,)),
        ("passed", "f8", (6,)),  # part of f that the joint passes on, about the parent's reference
        ("f", "f8", (6,)),  # wrench about the reference
        ("u", "f8", (6,)),  # the same along the coordinates
        ("x", "f8", (6,)),  # motion of the reference
        # Unknown: turn against the parent, (cosine, sine) of half an angle, or P of a BALL.
        ("Q", "f8", (4,)),
        ("Q_old", "f8", (4,)),
        ("r2", "f8", (3,)),
        ("a2", "f8", (3,)),
        ("rho2", "f8", (3,)),
        ("held", "f8", (3,)),  # from where the child is held to its joint point: rounding
        # Unknown: rates of the free translations, or of the coordinates of a chart.
        ("slide", "f8", (6,)),
        ("slide_old", "f8", (6,)),
        ("d_old", "f8", (6,)),
        ("y", "f8", (3,)),
        # Rows: twists of the reference by unit rates of the coordinates, of no hinge and no ball.
        ("Z1", "f8", (6, 6)),
        ("Z2", "f8", (6, 6)),
        # Of a chart:
        ("q1", "f8", (6,)),  # its coordinates at the knots
        ("q2", "f8", (6,)),
        ("o1", "f8", (3,)),  # c_o at the first knot
        ("frame", "f8", (4,)),  # joint frame on the parent's side to world, at the first knot
        ("back", "f8", (4,)),  # world to child, there
        *CHART_POSE,
    ],
    D=6,  # answer of the body and all beyond it to a motion of the reference
    # Of the joint's elimination (articulated.py), about the reference of the parent:
    U=6,  # rows: what it takes of a wrench
    W=6,  # rows: rates of the coordinates by the parent's motion
    S=6,
)

ARM_WORK = with_rows(  # of a joint that is part of a loop
    [("y", "f8", (6,))],  # scratch: rates of its coordinates by one multiplier
    B=6,  # wrench on the body by the loop's multipliers, by row
    C=6,  # loop's rows by the motion of the body
    # For each coordinate, by the loop's rows:
    V=6,  # the rows by its rate
    Y=6,  # its rate by the multipliers
    u=6,  # by how much of U the multipliers are passed on
)

LOOP_WORK = with_rows(  # at the loop's top
    [
        ("rows", "i8"),
        ("mu", "f8", (6,)),  # multipliers, or right-hand sides of their equations
    ],
    B=6,  # as those of its arms, about the top
    C=6,
    E=6,  # answer of the loop to its multipliers, while its top stands still
)

MOST_COUPLED = 16  # contacts between bodies that the elimination of a tree takes

COLUMN = with_rows(  # of a contact between two bodies of a tree
    [
        ("body", "i8"),
        ("other", "i8"),
        ("begin", "i8"),  # of its entries
        ("end", "i8"),
    ],
    # About the references of its body and of its other, and then of all that these hang on:
    B=3,  # wrenches by its motion u, which answer it
    C=3,  # its motion by that of the body
    B_o=3,
    C_o=3,
)

ENTRY = with_rows(  # of a contact and a joint that one of its bodies hangs on
    [
        ("column", "i8"),  # of the contact
        ("body", "i8"),  # that the joint carries
        ("before", "i8"),  # entry of another contact at the same joint, or -1
    ],
    V=3,  # the contact's motion by the rates of the joint's coordinates
    Y=3,  # these rates by the wrenches that answer the contact's motion
)

TIE = np.dtype(  # of joints of a tree: a joint that closes a loop, or a coupling
    [
        ("joint", "i8"),  # or -1
        ("coupling", "i8"),  # or -1
        ("node", "i8"),
        ("loop", "i8"),
        ("begin", "i8"),  # its rows among those of the loop
        ("rows", "i8"),
        ("compliance", "f8", (6,)),
    ]
)

COUPLED = np.dtype(  # a coordinate of a joint of the tree that a coupling ties
    [
        ("row", "i8"),  # of the coordinate
        ("at", "i8"),  # row of its loop
        ("factor", "f8"),  # of the coordinate in that
    ]
)
