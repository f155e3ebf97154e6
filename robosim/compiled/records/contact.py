"""Records of contacts: points, features of shapes, limits and dry friction of coordinates."""

from __future__ import annotations

import numpy as np

from robosim.compiled.arrays import with_rows
from robosim.compiled.records.sizes import MAX_FACETS, TRENDS

# Friction by direction (`robosim.kernels.contact.directions`), of contacts and pairs.
DIRECTED = [
    ("directed", "i8"),  # 1 where friction depends on the direction
    ("axes", "i8"),  # body in whose axes the direction is given, nb for the world
    ("direction", "f8", (3,)),  # of the material, of length 1
    ("along", "f8"),  # part of mu that acts along the direction, one of both is 1
    ("across", "f8"),  # and across it
]

# Springs of compliant contacts and limits (`robosim.kernels.contact.compliance`), of contacts and
# pairs.
COMPLIANT = [
    ("compliant", "i8"),  # 1 where it is compliant
    ("stiffness", "f8"),  # [N/m], of limits along arcs
    ("dissipation", "f8"),  # of Hunt and Crossley [s/m]
    ("damping", "f8"),  # of limits [N s/m], along arcs
    ("moved", "f8"),  # reduced mass of the two bodies [kg]
]

CONTACT = np.dtype(
    [
        ("kind", "i8"),
        ("body", "i8"),  # nb for the world
        ("other", "i8"),
        # In body axes from the centres of mass; world coordinates for the world:
        ("p", "f8", (3,)),  # of the body: point, beginning of a segment, on an edge; a centre
        # Its segment's end, direction of its edge, axis of its rim; the normal towards an ellipsoid
        # where it has been found.
        ("p_end", "f8", (3,)),
        ("o", "f8", (3,)),  # of the other: point in the plane, beginning of its segment, ...
        ("o_end", "f8", (3,)),  # normal of the plane, its segment's end, direction of its edge
        ("radius", "f8"),  # of the body's rounding, or its rim
        ("radius_o", "f8"),
        # Columns: semi-axes of the body's ellipsoid or rim, which has two, as `p`; of the other's.
        ("semi_axes", "f8", (3, 3)),
        ("semi_axes_o", "f8", (3, 3)),
        ("mu", "f8"),
        ("mass", "f8"),  # that residuals of impulses are divided by
        # Of the edges' cross product; of a limit or rate (lower 1), times scale; of dry friction
        # 0, or 1 where it is a bearing's.
        ("sign", "f8"),
        # Length of an arc over its angle: of a coordinate, 1 for a translation; of companions.
        ("scale", "f8"),
        ("share", "f8"),  # as that of a body
        # Of a coordinate or its rate; cosine of a cone, of half of a turn; force of dry friction
        # over scale, of a bearing over scale, for a unit of its pads' normal impulse.
        ("bound", "f8"),
        ("apart", "i8"),  # 1: the shapes are apart at the first knot, whatever this gap says there
        # How much deeper this gap is at the first knot than the shapes overlap there [m].
        ("deeper", "f8"),
        ("met", "i8"),  # 1: it has once been reached unexpectedly, and stays as long as it pushes
        ("lying", "i8"),  # 1: a point of a rim around the axis p_end, for where that lies flat
        ("rolls", "i8"),  # whether what touches travels over the body: FIXED, ROLLS or GOES_ROUND
        ("joint", "i8"),
        # Of the coordinate among those of the joint; -1 for a pad of a socket, which slips by all
        # three of its rotations, about the axes p and p_end.
        ("row", "i8"),
        # Companions resist turning, in slots of their own (`robosim.kernels.contact.turning`).
        ("torsion", "f8"),  # largest moment about the normal over the normal force [m]
        ("rolling", "f8"),  # the same about the tangents
        ("companion", "i8"),  # slot of the first companion
        ("companions", "i8"),  # number of companions
        ("first_resists", "i8"),  # what the first companion resists
        ("resists", "i8"),  # of a companion TORSION or ROLLING, else SLIP
        ("leader", "i8"),  # of a companion: slot of the contact whose normal it follows
        # Velocity and spin of the surfaces by themselves, as `p` and `o`; 1 where there are any.
        ("surface", "f8", (6,)),
        ("surface_o", "f8", (6,)),
        ("drifts", "i8"),
        *DIRECTED,
        *COMPLIANT,
        # Slots of the contacts that share its spring; 0 and 0 where it has its own.
        ("spring_begin", "i8"),
        ("spring_end", "i8"),
        ("body_other", "i8"),  # blocks (row body, column other) and (row other, column body)
        ("other_body", "i8"),
    ]
)

# The variables of a contact in the equations, and how they have changed from step to step.
CONTACT_GUESS = np.dtype(
    [
        ("gamma", "f8"),  # normal impulse [N s]
        ("s", "f8"),  # slack: gap at the end of the step over dt [m/s]
        ("psi", "f8"),  # slip speed [m/s]
        ("c", "f8"),  # slack of the linearized friction cone [N s]
        ("beta", "f8", (MAX_FACETS,)),  # friction impulses along the facets, or along x, y [N s]
        ("eta", "f8", (MAX_FACETS,)),  # their slacks, or the slip in x, y [m/s]
        # Of a compliant contact: normal impulse at the second knot over that at the first.
        ("later", "f8"),
        # Friction impulse, or turning impulse of a companion, where friction depends on the
        # direction; over the last interval, in world axes [N s].
        ("friction", "f8", (3,)),
        # Impulse over mass minus motion, of friction and normal, as of an augmented Lagrangian:
        ("augmented", "f8", (3,)),
        ("changed", "f8", (3, TRENDS)),  # change of `augmented`, change of this change, and so on
        ("followed", "f8"),  # number of similar intervals in a row, up to the last one
    ]
)

CONTACT_WORK = with_rows(
    [
        ("frame", "f8", (3, 3)),  # rows: two tangents and the normal, from other to body, world
        ("arm1", "f8", (3,)),  # from the centre of mass to the contact at the first knot, world
        ("arm_o", "f8", (3,)),  # the same of the other
        ("center1", "f8", (3,)),  # from the centre of mass to the middle of rolling, first knot
        ("center_o", "f8", (3,)),  # the same of the other
        ("center2_o", "f8", (3,)),  # and at the second knot, on a plane
        ("roll1", "f8", (3,)),  # from there to the contact
        ("roll", "f8", (3,)),  # the same over the interval, of a rim the mean of both knots
        ("roll1_o", "f8", (3,)),  # the same two of the other
        ("roll_o", "f8", (3,)),
        ("step_back", "f8"),  # gap that the end of the interval is measured from, 0 or negative
        ("gap1", "f8"),  # at the first knot [m]
        ("gap", "f8"),  # at the second knot [m]
        ("u", "f8", (3,)),  # slip along the tangents and gap over dt [m/s]
        ("drift", "f8", (2,)),  # part of the slip by motions of the surfaces themselves [m/s]
        ("drift1", "f8", (2,)),  # the same of the points that are touched at the first knot
        ("slip", "f8", (3,)),  # over the interval in world axes, for velocities at the second knot
        ("span", "f8"),  # interval over which `drift` is the mean [s]
        ("rate", "f8"),  # of the gap over the interval, of dry friction of the slip
        # Where a limited rate is held at the second knot, 0 if it is not. Of dry friction that
        # would turn a rate round there: HELD or BACK (step/velocities).
        ("stop", "f8"),
        # Of compliant contacts, and 0 of hard ones: deflection over dt for a unit of impulse where
        # nothing dissipates [1/kg], part of that where the force sets in, impulse at the second
        # knot over that at the first, what the interval before has left there over the same, what
        # the momenta at the second knot lack of half of it over the same, and how far it is held as
        # a hard one.
        ("give", "f8"),
        ("onset", "f8"),
        ("later", "f8"),
        ("earlier", "f8"),
        ("lacks", "f8"),
        ("held", "f8"),
        ("depth", "f8"),  # how deep a spring that is shared is at the first knot, or -inf [m]
        # The impulse on its spring [N s] and the number of contacts on that; the derivative of its
        # deflection over dt by that impulse, by that of a contact alone on it, or else 0, and by
        # what all contacts on it would give if it held [1/kg].
        ("pressed", "f8"),
        ("sharing", "i8"),
        ("slope", "f8"),
        ("yields", "f8"),
        ("together", "f8"),
        ("at_rest", "f8"),  # change of the normal impulse if the others on its spring gave none
        ("du", "f8", (3,)),  # motion that it answers, without that of the spring [m/s]
        ("A", "f8", (3, 3)),  # condensed: dF = F + A du
        ("scaling", "f8", (6,)),  # of the second-order cone, see `cone_second_order.scaling`
        ("F", "f8", (3,)),
        ("f", "f8", (3,)),  # impulse, contact axes
        ("weight", "f8"),  # of friction's products against s gamma on the path that is followed
        ("normal_weight", "f8"),  # of s gamma, where each contact has a barrier for its own mass
        ("aim", "f8"),  # target of friction's products
        ("warm", "i8"),  # whether the attempt starts from the last step's variables
        ("lags", "i8"),  # whether its gap is widened by mu times what its slip speed lags behind
        ("lag", "f8"),  # that slip speed [m/s]
        ("missed", "f8"),  # what it was behind by when it was changed last [m/s]
        ("found", "f8"),  # and the slip speed at that time [m/s]
        ("slides", "f8"),  # 1 where friction is moved along the central path, 0 where straight
        ("jumps", "f8"),  # inverse mass by which it lands after steps of any length [1/kg], or 0
        ("straight", "f8"),  # the part of a jump that it need not land after, or 0
        ("d_gamma", "f8"),
        ("d_s", "f8"),
        ("d_psi", "f8"),
        ("d_c", "f8"),
        ("second_s", "f8"),  # second-order terms of the products s gamma and c psi
        ("second_c", "f8"),
        ("second", "f8", (MAX_FACETS,)),  # and of the products beta eta
        ("d_beta", "f8", (MAX_FACETS,)),
        ("d_eta", "f8", (MAX_FACETS,)),
        ("beta_old", "f8", (MAX_FACETS,)),
        ("eta_old", "f8", (MAX_FACETS,)),
        ("gamma_old", "f8"),
        ("s_old", "f8"),
        ("psi_old", "f8"),
        ("c_old", "f8"),
    ],
    L=3,  # transposed: from impulse to wrench on the body, first knot
    L_o=3,
    R=3,  # derivative of u by the motion of the body, second knot
    R_o=3,
)

CONTACT_READING = np.dtype(
    [
        ("slot", "i8"),
        ("body", "i8"),
        ("other", "i8"),  # nb for the world
        ("position", "f8", (3,)),
        ("normal", "f8", (3,)),  # from the other to the body
        ("gap", "f8"),
        ("impulse", "f8", (3,)),  # on the body, world
        ("moment", "f8", (3,)),  # of torsional and rolling friction on it, world [N m s]
    ]
)
