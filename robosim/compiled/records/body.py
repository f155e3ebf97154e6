"""Records of bodies: parameters, poses, state and scratch memory."""

from __future__ import annotations

import numpy as np

BODY = np.dtype(
    [
        ("mass", "f8"),
        ("gravitational_mass", "f8"),  # that gravity acts on
        ("inertia", "f8", (3, 3)),  # about the centre of mass, body axes
        ("inertia_inverse", "f8", (3, 3)),
        ("reach", "f8"),  # farthest contact point from the centre of mass, radius included
        ("contact_begin", "i8"),
        ("contact_end", "i8"),
        ("floats_with", "i8"),  # body whose joint is free and carries this one; -1 if none is
        ("floating_mass", "f8"),  # of all bodies that this body floats with
        ("share", "f8"),  # part that counts in a lane: 1, or 1 / n for the trunk of n limbs
    ]
)

POSE = np.dtype([("x", "f8", (3,)), ("q", "f8", (4,)), ("R", "f8", (3, 3))])

BODY_STATE = np.dtype(
    [
        ("x", "f8", (3,)),  # knot: centre of mass, world
        ("q", "f8", (4,)),  # knot: body to world
        ("v", "f8", (3,)),  # knot: velocity of the centre of mass, world
        ("omega", "f8", (3,)),  # knot: angular velocity, body axes
        ("p", "f8", (6,)),  # linear and angular momentum that enters the next step, world
        ("shown", "f8", (6,)),  # velocity and angular velocity that follow from the momenta, world
        ("v_mid", "f8", (6,)),  # velocity and angular velocity of the interval before, world
        # 1 where the next interval is guessed from `v_guess`, `omega_guess`: what is read is other.
        ("apart", "f8"),
        ("v_guess", "f8", (3,)),
        ("omega_guess", "f8", (3,)),
        # The knot that the last step began at; of a start the start itself.
        ("q_before", "f8", (4,)),
        ("v_before", "f8", (3,)),
        ("omega_before", "f8", (3,)),
        ("x_before", "f8", (3,)),
        ("p_before", "f8", (6,)),
        ("shown_before", "f8", (6,)),
    ]
)

DRAG = np.dtype(
    [
        ("body", "i8"),
        ("C", "f8", (6, 6)),  # wrench = -C (velocity, angular velocity)
    ]
)

INERTIA = np.dtype([("J", "f8", (3, 3))])  # about the centre of mass, world axes

BODY_WORK = np.dtype(
    [
        ("v", "f8", (3,)),  # unknown: velocity of the interval
        ("P", "f8", (4,)),  # unknown: turn over the interval, world axes, q2 = P q1
        ("v_old", "f8", (3,)),
        ("P_old", "f8", (4,)),
    ]
)
