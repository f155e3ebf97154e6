"""Records of joints, of their coordinates and of couplings of these.

Joints that close loops, springs between points and tendons have records of joints too.
"""

from __future__ import annotations

import numpy as np

from robosim.compiled.arrays import with_rows
from robosim.compiled.records.chart import CHARTED
from robosim.compiled.records.sizes import TRENDS

# Compliance of redundant constraints, as a part of the inverse mass that they act on. With it, the
# multipliers of a redundant loop are the smallest. Far below the tolerance, far above rounding.
COMPLIANCE = 1e-12

JOINT = with_rows(
    [
        # Fields that every sweep over a tree reads, in one cache line:
        ("kind", "i8"),  # of its elimination in a tree
        ("parent", "i8"),  # nb for the world
        (
            "first_child",
            "i8",
        ),  # first body that the tree's joints hold to its child, or -1
        ("next_child", "i8"),  # body that is held to the same parent, -1 after the last
        ("n_T", "i8"),  # rows of D_T and of D_R, in the joint frame
        ("n_R", "i8"),
        ("m_T", "i8"),  # rows of C_T and of C_R, in the joint frame
        ("m_R", "i8"),
        # Its points, and places of its coordinates:
        ("p_a", "f8", (3,)),  # in parent axes from its centre of mass
        ("p_b", "f8", (3,)),  # in child axes from its centre of mass
        ("q_begin", "i8"),
        ("v_begin", "i8"),
        ("axis_a", "f8", (3,)),  # of a single rotation, in parent axes
        ("child", "i8"),
        ("node", "i8"),  # of the graph; -1 for a joint without constraints and laws
        ("C_R", "f8", (3, 3)),
        ("per_inertia", "f8"),  # one over the inertia of the child alone along the rotations
        ("law", "i8"),  # 1 if its coordinates have springs, dampers, rotors or the like
        ("limb", "i8"),  # 1 if a limb, of which each lane has another one, begins here
        ("C_T", "f8", (3, 3)),
        ("offset", "f8", (4,)),  # joint frame to parent axes
        ("R_offset", "f8", (3, 3)),
        ("D_T", "f8", (3, 3)),
        ("D_R", "f8", (3, 3)),
        ("distance", "i8"),  # 1 if its one coordinate is the distance of the two points
        ("compliance_T", "f8"),  # of its constraints, where loops may make them redundant [1/kg]
        ("compliance_R", "f8"),
        ("scale_T", "f8"),  # of an impulse as a velocity, for the residual of laws [1/kg]
        ("scale_R", "f8"),
        ("child_joint", "i8"),  # block (row child body, column joint), and so on
        ("joint_child", "i8"),
        ("parent_joint", "i8"),
        ("joint_parent", "i8"),
        ("path_begin", "i8"),  # of a tendon: its path, and the bodies that it acts on
        ("path_end", "i8"),
        ("span_begin", "i8"),
        ("span_end", "i8"),
        *CHARTED,
    ]
)

COORDINATE = np.dtype(
    [
        ("stiffness", "f8"),
        ("rest", "f8"),
        ("slack", "f8"),  # how far beyond its rest the spring does nothing
        ("damping", "f8"),
        ("armature", "f8"),
        ("piece_begin", "i8"),  # of its potential in Model.pieces; none if both are equal
        ("piece_end", "i8"),
        # Row of Loads.motion if it follows a function of time, else -1; at that of the first
        # coordinate of a free rotation begin the four rows of its quaternion.
        ("driven", "i8"),
    ]
)

PIECE = np.dtype([("begin", "f8"), ("c", "f8", (4,))])  # of a potential: sum c_k (x - begin)^k

COUPLING = np.dtype(
    [
        ("joint", "i8", (2,)),  # the driven joint and its source
        ("row", "i8", (2,)),  # of their coordinates in G
        ("factor", "f8", (2,)),  # 1 and -ratio
        ("offset", "f8"),
        ("compliance", "f8"),
        ("node", "i8"),
        ("body_node", "i8", (4,)),  # blocks of (child, parent) of the driven joint, of the source
        ("node_body", "i8", (4,)),
    ]
)

JOINT_STATE = np.dtype(
    [
        ("impulse", "f8", (6,)),  # of the last step: multipliers, then impulses of the laws
        ("rotor", "f8", (6,)),  # momenta of the rotors that enter the next step, by coordinate
        # Of a tree: rates of the coordinates in the last interval, of a BALL those of its body.
        ("mid", "f8", (6,)),
        # Rates at the knot that guesses begin with, where bodies tell that those read are others.
        ("rate_guess", "f8", (6,)),
        ("drive", "f8", (6,)),  # of the last step: impulses that kept coordinates on their motions
        # Over all intervals of the last step: of a tree's joint as `impulse`, of others the wrench
        # of constraints on the child at the joint's point, world; and what drives coordinates.
        ("total", "f8", (6,)),
        ("drive_total", "f8", (6,)),
        # What the velocities at the knot have of the next impulses already, and what they had where
        # the step began: of joints with multipliers; as `total` and `drive_total`.
        ("ahead", "f8", (6,)),
        ("drive_ahead", "f8", (6,)),
        ("ahead_before", "f8", (6,)),
        ("drive_ahead_before", "f8", (6,)),
    ]
)

JOINT_GUESS = np.dtype(  # of a tree
    [
        ("slope", "f8", (6,)),  # how the rates of the coordinates change [1/s]
        # Errors of the guesses of the rates, changes of these errors, and so on.
        ("missed", "f8", (6, TRENDS)),
    ]
)

DIRECTIONS = np.dtype(  # Jacobian of a joint at the knot: constraints, then coordinates
    [
        ("G_a", "f8", (6, 6)),  # by the motion of the parent
        ("G_b", "f8", (6, 6)),  # and of the child
        ("rows", "i8"),  # number of rows: of the constraints, or of the coordinates as well
    ]
)

# The impulse of the last interval, that of all intervals of the last step, and what the velocities
# at the knot, and where the step began, have of the next one already.
COUPLING_STATE = np.dtype(
    [("impulse", "f8"), ("total", "f8"), ("ahead", "f8"), ("ahead_before", "f8")]
)

JOINT_WORK = with_rows(
    [
        ("G_a", "f8", (6, 6)),  # Jacobian at the second knot, constraints, then coordinates
        ("G_b", "f8", (6, 6)),
        ("g", "f8", (6,)),  # constraints at the second knot
        ("impulse", "f8", (6,)),  # unknown: multipliers, then the laws' impulses at knot 1
        ("impulse_old", "f8", (6,)),
        ("rows", "i8"),  # in the equations: those of the constraints, and of coordinates with laws
        ("held", "i8", (6,)),  # 1 for a coordinate that is constrained to `goal`
        ("goal", "f8", (6,)),
        ("goal_rate", "f8", (6,)),
        ("law", "f8", (6,)),  # impulses of the laws, by coordinate
        ("half", "f8", (6,)),  # the part of it that acts at the second knot as well
        ("rotor", "f8", (6,)),  # momenta of rotors that leave the interval
        ("rate", "f8", (6,)),  # of the coordinates over the interval
        ("before", "f8", (6,)),  # of a tree: rates of the coordinates in the interval before
        ("asked", "f8", (6,)),  # right-hand sides of its rows in the last linear solve
        ("turn", "f8", (4,)),  # goal of a free rotation
        ("drive", "f8", (6,)),  # impulses that keep coordinates at their goals
        ("ahead", "f8", (6,)),  # impulses that the projection at the second knot gives its rows
    ],
    A=6,  # derivative of `law` by the rates of the coordinates
)

COUPLING_WORK = np.dtype([("g", "f8"), ("impulse", "f8"), ("impulse_old", "f8"), ("ahead", "f8")])

SERVO = np.dtype(  # of an actuator that is part of the equations: position and velocity servo
    [
        ("kp", "f8"),
        ("kd", "f8"),
        ("target", "f8"),
        ("target_rate", "f8"),
        ("limit", "f8"),  # of its torque at standstill, either way
        ("droop", "f8"),  # decrease of this limit with the rate, in the rate's direction
        # Part of its impulse that acts at the end of an interval: 0, or 1/2, taken in its middle.
        ("share", "f8"),
        # Where the coordinate was as the step began; of a free rotation its quaternion.
        ("start", "f8", (4,)),
    ]
)

# A motion that a coordinate is driven along: its values and rates at the step's ends. Of a free
# rotation there are four, with a quaternion's numbers and, in the first three, its rates.
MOTION = np.dtype([("q1", "f8"), ("q2", "f8"), ("v1", "f8"), ("v2", "f8")])
