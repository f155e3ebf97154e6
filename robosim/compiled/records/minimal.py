"""Records of integrators in joint coordinates: a tree of links that have one coordinate each.

A joint of m coordinates is m links in a row, of which the last has the body. Its frame is at the
body's centre of mass, along its principal axes of inertia. Twists are (velocity, angular velocity),
wrenches (force, moment).
"""

from __future__ import annotations

import numpy as np

SLIDE, TURN, COUPLED = 0, 1, 2  # kinds of constraints

SEGMENT = np.dtype(  # a link of one coordinate x, 0 at the beginning of a step: base exp(x S)
    [
        ("parent", "i8"),  # link, or n for the world
        ("body", "i8"),  # that it moves with, -1 for none
        ("owner", "i8"),  # body of its joint
        ("v", "i8"),  # its velocity among those of the robot, -1 if it does not move
        ("q", "i8"),  # its coordinate; of a free rotation its quaternion
        ("turn", "i8"),  # 1, 2, 3 for the three hinges of a free rotation, else 0
        ("rotation", "i8"),  # of these: which free rotation they are of
        ("R", "f8", (3, 3)),  # its frame in the parent's where its coordinate is zero
        ("p", "f8", (3,)),
        ("S", "f8", (6,)),  # twist by its coordinate, in its own axes
        ("after", "f8", (3, 3)),  # of the third hinge: axes of the body in the link's
        ("mass", "f8"),
        ("gravitational_mass", "f8"),  # that gravity acts on
        ("beyond", "f8"),  # mass of this link and all beyond it
        ("moments", "f8", (3,)),
        ("drag", "f8", (6, 6)),  # wrench = -drag twist, at the centre of mass, in the link's axes
    ]
)

BASE = np.dtype([("R", "f8", (3, 3)), ("p", "f8", (3,))])  # of a link's frame in the parent's

# A link at a control point; world axes about a point that stays over the step.
NODE = np.dtype(
    [
        ("R", "f8", (3, 3)),
        ("p", "f8", (3,)),
        ("T", "f8", (3, 3)),  # R before the link's own motion
        ("S", "f8", (6,)),
        ("rate", "f8", (6,)),  # of S
        ("V", "f8", (6,)),  # twist
        ("acc", "f8", (6,)),  # its rate at no acceleration of the coordinates
        ("mu", "f8", (6,)),  # momentum of the link and all beyond it
        ("f", "f8", (6,)),  # impulse on the link and all beyond it
        ("alone", "f8", (6,)),  # impulse on the link alone
    ]
)

# Three hinges of a free rotation at a control point, in the axes of their chart: those of the child
# at the beginning of the step, as the parent carries them on. Rows are of one hinge each.
TURN_POINT = np.dtype(
    [
        ("axes", "f8", (3, 3)),
        ("bends", "f8", (3, 3, 3)),  # [j, l]: how axis j turns with hinge l
        ("rates", "f8", (3, 3)),  # of the axes
        ("slopes", "f8", (3, 3, 3)),  # [j, l]: rate of axis j by hinge l
        ("inverse", "f8", (3, 3)),  # of the axes as rows: a moment by its components along these
        ("spin", "f8", (3,)),  # angular velocity of the child to the parent
        ("momentum", "f8", (3,)),  # angular, of the child and all beyond it, about the centre
        ("rotors", "f8", (3,)),  # angular momentum of the rotors
        ("rotors_by_turn", "f8", (3, 3)),  # [l]
        ("rotors_by_rate", "f8", (3, 3)),  # [l]
        ("held", "f8", (3,)),  # moment that holds the point where it is
        ("child", "f8", (3, 3)),  # axes, in those of the child
        ("by_turn", "f8", (3, 3)),  # [j, l]: torque along axis j by hinge l
        ("by_rate", "f8", (3, 3)),
    ]
)

CONSTRAINT = np.dtype(  # a row of a joint that closes a loop, or of a coupling
    [
        ("kind", "i8"),  # SLIDE, TURN or COUPLED
        ("a", "i8"),  # link of the parent, n for the world; of a coupling the source's
        ("b", "i8"),  # link of the child; of a coupling the joint's that follows
        ("direction", "f8", (3,)),  # held direction of the joint frame, in the axes of a
        ("p_a", "f8", (3,)),  # the joint's point in the frame of a
        ("p_b", "f8", (3,)),  # SLIDE: the joint's point, TURN: an axis of the child; in that of b
        ("ratio", "f8"),
        ("offset", "f8"),
        ("compliance", "f8"),  # that shares the load where rows are redundant [1/kg, 1/(kg m^2)]
    ]
)

CHORD = np.dtype(  # of a link's motion over a step, in its frame at the beginning
    [
        ("x", "f8", (6,)),  # logarithm of the motion
        ("z", "f8", (5, 6)),  # momentum in the mean, and powers of ad(x)^T of it
        ("c", "f8", (4,)),  # factors of ad^2 and ad^4, and their slopes by the square of the angle
        ("D", "f8", (6, 6)),
        ("E", "f8", (6, 6)),
    ]
)
