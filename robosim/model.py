"""A Mechanism compiled to flat arrays, its state and the scratch memory of the kernels.

`Model` holds no state and is read-only, `State` holds no parameters, `Workspace` is scratch.
Each is a NamedTuple of a few record arrays: a kernel reads ``model.bodies[i].mass``, and a call
from Python passes a dozen pointers instead of a hundred. It also tells the compiler every inner
shape: a 6x6 product over ``blocks[n].F`` takes half of the time that it takes over a 3D array,
whose strides are known only when it runs.

Body i hangs on joint i; joints that close loops follow, and after them the springs between points,
which are joints without constraints whose one coordinate is a distance, and the tendons, whose
coordinate is a length and which have any number of bodies, their spans. The world takes the last
place of the pose arrays, index nb, so that a joint to the world is no special case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.bodies import Body
from robosim.collision import (
    FEATURE,
    AnyShape,
    ShapeData,
    ShapeScratch,
    compile_shapes,
    make_shape_scratch,
)
from robosim.compiled.arrays import LINE, aligned, with_rows
from robosim.compiled.elimination import Graph, constrained_order, eliminate
from robosim.compiled.kinds import (
    BALL,
    CAPSULE,
    CONE,
    CYLINDER_WRAP,
    DRY,
    FREE,
    GENERAL,
    HEIGHT_FIELD,
    HINGE,
    LIMIT,
    PLANE,
    PULLEY,
    RIM,
    SPHERE,
    SPHERE_WRAP,
    TERM,
    TURN,
    VIA,
)
from robosim.elements import PointSpring
from robosim.joints import Joint
from robosim.mechanism import Mechanism
from robosim.tendons import Point, Pulley, Tendon, Term, Wrap

Array = NDArray[np.float64]

# Files write 1e14 for a wheel that must not slip. A cone of 84 degrees does not let it either, and
# leaves the solver's scales where they can be computed with.
MAX_FRICTION = 10.0
MAX_FACETS = 16  # of the linearized friction cone
TRENDS = 4  # of what guesses miss: that, how it changes, how this does, and once more
# What a redundant constraint yields to, in parts of the inverse mass that it acts on: multipliers
# of a loop that is held twice are the least ones. Far below the tolerance, far above rounding.
COMPLIANCE = 1e-12
# Limits of a coordinate that leave less [m or rad] are moved apart: an interior point has to have
# an interior, and one of no width is all surface.
LEAST_ROOM = 1e-9


BODY = np.dtype(
    [
        ("mass", "f8"),
        ("inertia", "f8", (3, 3)),  # about the centre of mass, body axes
        ("inertia_inverse", "f8", (3, 3)),
        ("reach", "f8"),  # farthest contact point from the centre of mass, radius included
        ("contact_begin", "i8"),
        ("contact_end", "i8"),
        ("floats_with", "i8"),  # body whose joint is free and carries this one; -1 if none is
        ("floating_mass", "f8"),  # of all that this body floats with
        ("part", "f8"),  # that counts in a lane: 1, or 1 / n for what each of n limbs hangs on
    ]
)
JOINT = with_rows(
    [
        # What every sweep over a tree reads, in one cache line:
        ("kind", "i8"),  # of its elimination in a tree
        ("parent", "i8"),  # nb for the world
        ("first_child", "i8"),  # of the bodies that a tree's joints hold to its child, -1 for none
        ("next_child", "i8"),  # body that is held to the same parent, -1 after the last
        ("n_T", "i8"),  # rows of D_T and of D_R, in the joint frame
        ("n_R", "i8"),
        ("m_T", "i8"),  # rows of C_T and of C_R, in the joint frame
        ("m_R", "i8"),
        # And where it begins and ends:
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
        ("driven", "i8"),  # row of Workspace.motion if it follows a function of time, else -1
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
PATH = np.dtype(
    [
        ("kind", "i8"),
        ("joint", "i8"),  # of a coordinate
        ("row", "i8"),
        ("factor", "f8"),  # of a coordinate; one over the divisor of a pulley
        ("body", "i8"),  # nb for the world
        # Point or centre, in body axes from the centre of mass; factors of a coordinate's powers.
        ("p", "f8", (3,)),
        ("axes", "f8", (3, 3)),  # of a cylinder, as rows, in body axes; the last one is along it
        ("radius", "f8"),
        ("has_side", "i8"),
        ("side_body", "i8"),
        ("side", "f8", (3,)),
        ("span", "i8"),  # of its body, or of the child of its joint; -1 for the world
        ("span_parent", "i8"),
    ]
)
SPAN = np.dtype([("body", "i8"), ("body_node", "i8"), ("node_body", "i8")])  # of a tendon
CONTACT = np.dtype(
    [
        ("kind", "i8"),
        ("body", "i8"),  # nb for the world
        ("other", "i8"),
        # In body axes from the centres of mass; world coordinates for the world:
        ("p", "f8", (3,)),  # of the body: point, beginning of a segment, on an edge; a rim's centre
        ("p_end", "f8", (3,)),  # its segment's end, direction of its edge, axis of its rim
        ("o", "f8", (3,)),  # of the other: point in the plane, beginning of its segment, ...
        ("o_end", "f8", (3,)),  # normal of the plane, its segment's end, direction of its edge
        ("radius", "f8"),  # of the body's rounding, or its rim
        ("radius_o", "f8"),
        ("mu", "f8"),
        ("mass", "f8"),  # that residuals of impulses are divided by
        ("sign", "f8"),  # of the edges' cross product; of a limit (lower 1), times scale
        ("scale", "f8"),  # of a coordinate: length of an arc over its angle, 1 for a translation
        ("part", "f8"),  # as that of a body
        # Of a coordinate; cosine of a cone, of half of a turn; force of dry friction over scale.
        ("bound", "f8"),
        ("apart", "i8"),  # 1: the shapes are apart at the first knot, whatever this gap says there
        ("lying", "i8"),  # 1: a point of a rim around the axis p_end, for where that lies flat
        ("joint", "i8"),
        ("row", "i8"),  # of the coordinate among those of the joint
        ("body_other", "i8"),  # blocks (row body, column other) and (row other, column body)
        ("other_body", "i8"),
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
        ("shown", "f8", (6,)),  # velocity and angular velocity that the momenta show, world
        ("v_mid", "f8", (6,)),  # velocity and angular velocity of the interval before, world
    ]
)
BLOCK = np.dtype([("F", "f8", (6, LINE))])
ROW = np.dtype([("w", "f8", (6,))])
JOINT_STATE = np.dtype(
    [
        ("impulse", "f8", (6,)),  # of the last step: multipliers, then what the laws gave
        ("G_a", "f8", (6, 6)),  # Jacobian at the knot, constraints, then coordinates, by parent
        ("G_b", "f8", (6, 6)),  # and by child
        ("rotor", "f8", (6,)),  # momenta of the rotors that enter the next step, by coordinate
        ("rows", "i8"),  # of G that are there: those of the constraints, or of coordinates too
        # Of a tree: rates of the coordinates in the last interval, of a BALL those of its body.
        ("mid", "f8", (6,)),
        ("slope", "f8", (6,)),  # of a tree: how these change [1/s], for the next guess
        # Of a tree: by how much that missed, and how much this has changed, for each rate.
        ("missed", "f8", (6, TRENDS)),
    ]
)
COUPLING_STATE = np.dtype([("impulse", "f8")])
CONTACT_STATE = np.dtype(
    [
        ("active", "i8"),  # whether the last step had it in its equations
        ("gamma", "f8"),  # normal impulse [N s]
        ("s", "f8"),  # slack: gap at the end of the step over dt [m/s]
        ("psi", "f8"),  # slip speed [m/s]
        ("c", "f8"),  # slack of the linearized friction cone [N s]
        ("beta", "f8", (MAX_FACETS,)),  # friction impulses along the facets, or along x, y [N s]
        ("eta", "f8", (MAX_FACETS,)),  # their slacks, or the slip in x, y [m/s]
        ("told", "f8", (3,)),  # impulse over mass less motion, friction and normal, for the guess
        ("changed", "f8", (3, TRENDS)),  # how this has changed, how that has, and so on
        ("followed", "f8"),  # intervals alike, one after the other, that it has been told of
    ]
)
BODY_WORK = np.dtype(
    [
        ("J", "f8", (3, 3)),  # world inertia at the first knot
        ("v", "f8", (3,)),  # unknown: velocity of the interval
        ("P", "f8", (4,)),  # unknown: turn over the interval, world axes, q2 = P q1
        ("v_old", "f8", (3,)),
        ("P_old", "f8", (4,)),
    ]
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
        ("law", "f8", (6,)),  # what the laws ask for, by coordinate
        ("half", "f8", (6,)),  # the part of it that acts at the second knot as well
        ("rotor", "f8", (6,)),  # momenta of rotors that leave the interval
        ("rate", "f8", (6,)),  # of the coordinates over the interval
        ("asked", "f8", (6,)),  # right-hand sides of its rows in the last linear solve
    ],
    A=6,  # derivative of `law` by the rates of the coordinates
)
COUPLING_WORK = np.dtype([("g", "f8"), ("impulse", "f8"), ("impulse_old", "f8")])
DRIVE = np.dtype(  # of an actuator that is part of the equations: position and velocity servo
    [
        ("kp", "f8"),
        ("kd", "f8"),
        ("target", "f8"),
        ("target_rate", "f8"),
        ("limit", "f8"),  # of its torque, either way
        ("start", "f8"),  # where the coordinate was as the step began
    ]
)
# A motion that a coordinate is driven along: its values and rates at the step's ends.
MOTION = np.dtype([("q1", "f8"), ("q2", "f8"), ("v1", "f8"), ("v2", "f8")])
SCRATCH = with_rows(
    [
        ("R_J", "f8", (3, 3)),  # joint frame on the parent's side to world
        ("w", "f8", (3,)),
        ("y", "f8", (3,)),
        ("z", "f8", (3,)),
        ("arm", "f8", (3,)),
        ("r", "f8", (4,)),  # child to joint frame
        ("s", "f8", (4,)),
        ("S_a", "f8", (6, 6)),
        ("S_b", "f8", (6, 6)),
        ("f", "f8", (6,)),
        ("misses", "f8", (TRENDS + 1,)),  # of guesses with none of JOINT_STATE's `missed`, one, ...
        # Of limits of hinges that are not in the equations: the least gap at the first knot, and
        # the longest arc over its angle.
        ("open", "f8", (2,)),
    ],
    L=3,  # of a contact, about the reference of a body in a tree
)
CONTACT_WORK = with_rows(
    [
        ("frame", "f8", (3, 3)),  # rows: two tangents and the normal, from other to body, world
        ("arm1", "f8", (3,)),  # from the centre of mass to the contact at the first knot, world
        ("arm_o", "f8", (3,)),  # the same of the other
        ("center1", "f8", (3,)),  # from the centre of mass to the middle of rolling, first knot
        ("center_o", "f8", (3,)),  # the same of the other
        ("roll1", "f8", (3,)),  # from there to the contact
        ("roll", "f8", (3,)),  # the same over the interval, of a rim the mean of both knots
        ("roll_o", "f8", (3,)),
        ("step_back", "f8"),  # gap that the end of the interval is measured from, 0 or negative
        ("gap", "f8"),  # at the second knot [m]
        ("u", "f8", (3,)),  # slip along the tangents and gap over dt [m/s]
        ("rate", "f8"),  # of a coordinate's gap or of its slip over the interval
        ("A", "f8", (3, 3)),  # condensed: dF = F + A du
        ("scaling", "f8", (6,)),  # of the second-order cone, see `cone_second_order.scaling`
        ("F", "f8", (3,)),
        ("f", "f8", (3,)),  # impulse, contact axes
        ("weight", "f8"),  # of friction's products against s gamma on the path that is followed
        ("aim", "f8"),  # what the products of friction aim at
        ("warm", "i8"),  # whether the attempt starts from the last step's variables
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
    ]
)

PAIR = np.dtype(
    [
        ("shape_a", "i8"),
        ("shape_b", "i8"),
        ("body_a", "i8"),  # nb for the world
        ("body_b", "i8"),
        ("reach_a", "f8"),  # from the body's centre of mass to the farthest point of the shape
        ("reach_b", "f8"),
        ("mu", "f8"),
        ("slot_begin", "i8"),  # of Workspace.slots, room for its features
        ("slot_end", "i8"),
        ("block_ab", "i8"),  # (row body a, column body b), -1 while there is none
        ("block_ba", "i8"),
    ]
)

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
        # Rates of the coordinates in the direction that was found, of a BALL that of its turn.
        ("d", "f8", (6,)),
        ("passed", "f8", (6,)),  # what the joint passes on of f, about the parent's reference
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
        ("slide", "f8", (3,)),  # unknown: rates of the free translations
        ("slide_old", "f8", (3,)),
        ("d_old", "f8", (6,)),
        ("y", "f8", (3,)),
        # Rows: twists of the reference by unit rates of the coordinates, of no hinge and no ball.
        ("Z1", "f8", (6, 6)),
        ("Z2", "f8", (6, 6)),
    ],
    D=6,  # answer of the body and all beyond it to a motion of the reference
    # Of the joint's elimination (articulated.py), about the reference of the parent:
    U=6,  # rows: what it takes of a wrench
    W=6,  # rows: rates of the coordinates by the parent's motion
    S=6,
)

ARM_WORK = with_rows(  # of a joint that is part of a loop
    [("y", "f8", (6,))],  # rates of its coordinates by one multiplier, while they are found
    B=6,  # what the loop's multipliers do to the body, by row
    C=6,  # what the body's motion does to the loop's rows
    # For each coordinate, by the loop's rows:
    V=6,  # what they see of its rate
    Y=6,  # rates that their multipliers give it
    u=6,  # by how much of U the multipliers are passed on
)
LOOP_WORK = with_rows(  # at the loop's top
    [
        ("rows", "i8"),
        ("mu", "f8", (6,)),  # multipliers, or what they have to be solved for
    ],
    B=6,  # as those of its arms, about the top
    C=6,
    E=6,  # answer of the loop to its multipliers, while its top stands still
    I=6,  # and its inverse
)

FOUND = np.dtype(  # of a pair in a step
    [
        ("margin", "f8"),  # what it may come nearer [m], 0 if it is out of reach
        ("near", "i8"),  # 1 for two moving bodies that have features
    ]
)


class Collision(NamedTuple):
    """Shapes that may touch each other, read-only."""

    shapes: NDArray[np.void]  # (ns,) SHAPE of robosim.collision
    data: ShapeData
    pairs: NDArray[np.void]  # (np,) PAIR


class CollisionWork(NamedTuple):
    """Scratch memory of finding where shapes touch."""

    scratch: ShapeScratch
    features: NDArray[np.void]  # (4,) FEATURE of robosim.collision
    found: NDArray[np.void]  # (np,) FOUND
    ids: NDArray[np.int64]  # (n_slots,) of the feature in a slot, -1 for none


class Loops(NamedTuple):
    """Joints that close loops of a tree which share no joints, by the top of their loops."""

    joint: NDArray[np.int64]  # (nl,) that closes the loop
    top: NDArray[np.int64]  # (nl,) body that both sides of the loop hang on, nb for the world
    first: NDArray[np.int64]  # (nb + 2,) the first loop with a body, or the world, for its top
    over: NDArray[np.int64]  # (nb,) loop that the joint of a body is part of, -1 for none


class Model(NamedTuple):
    """The parameters of a mechanism, read-only."""

    bodies: NDArray[np.void]  # (nb,) BODY
    joints: NDArray[np.void]  # (nj,) JOINT
    coordinates: NDArray[np.void]  # (one for each velocity of a joint,) COORDINATE
    pieces: NDArray[np.void]  # PIECE of all potentials
    paths: NDArray[np.void]  # PATH of all tendons
    spans: NDArray[np.void]  # SPAN of all tendons
    couplings: NDArray[np.void]  # COUPLING
    contacts: NDArray[np.void]  # CONTACT: with the ground, sorted by body; then of coordinates
    n_ground: int  # number of the former
    collision: Collision | None
    facets: Array | None  # (nf, 2) of the linearized friction cone; None for the exact one
    graph: Graph
    tree: bool | None  # True if its joints are eliminated as a tree; None leaves that uncompiled
    loops: Loops | None  # of a tree, None if it has none


class State(NamedTuple):
    """What a step starts from: the knot, momenta and joint directions there, and a guess."""

    bodies: NDArray[np.void]  # (nb,) BODY_STATE
    joints: NDArray[np.void]  # (nj,) JOINT_STATE
    couplings: NDArray[np.void]  # COUPLING_STATE
    contacts: NDArray[np.void]  # (nc,) CONTACT_STATE
    q: Array  # joint coordinates at the knot: the tree's nq, then those of other joints
    v: Array  # joint velocities at the knot, in the same order
    trend: Array  # (TRENDS,) 1 for each of `missed` that the next guess takes, 0 for the others
    contact_trend: Array  # (TRENDS,) and of `changed` of contacts


class Options(NamedTuple):
    """What a step needs to know beyond the model; see Simulation for the meaning and defaults."""

    dt: float
    gravity: Array  # (3,) [m/s^2]
    tolerance: float  # of the equations [m/s]
    contact_speed: float  # creep and gap over dt that a resting contact may have [m/s]
    max_iterations: int
    max_substeps: int
    last_attempt: int  # at a step, of kernels.interior_point
    order: int  # 2, or 4 where the motion is smooth


INFO = np.dtype(
    [
        ("status", "i8"),  # 0 converged, else a status of kernels.interior_point
        ("iterations", "i8"),
        ("substeps", "i8"),
        ("order", "i8"),
        ("attempt", "i8"),  # that led to the last solution, of kernels.interior_point
        ("residual", "f8"),  # [m/s]
        ("worst_body", "i8"),
        ("violation", "f8"),  # of the joints at the new knot [m or sine of a half angle]
        ("gap", "f8"),  # smallest of all contacts at the new knot [m], inf without contacts
    ]
)


class Workspace(NamedTuple):
    """Scratch memory of one step."""

    bodies: NDArray[np.void]  # (nb + 1,) BODY_WORK, the world last
    joints: NDArray[np.void]  # (nj,) JOINT_WORK
    couplings: NDArray[np.void]  # COUPLING_WORK
    contacts: NDArray[np.void]  # (nc,) CONTACT_WORK
    span1: NDArray[np.void]  # ROW of each span at the first knot
    span2: NDArray[np.void]  # and at the second one
    pose1: NDArray[np.void]  # (nb + 1,) POSE at the first knot, the world last
    pose2: NDArray[np.void]  # (nb + 1,) POSE at the second knot, the world last
    twists: NDArray[np.void]  # (nb + 1,) ROW, world twists, the world last
    known: NDArray[np.void]  # (nb + 1,) ROW, momenta of the bodies plus the forces' half at a knot
    slots: NDArray[np.void]  # CONTACT: the model's contacts, then room for features of pairs
    collision: CollisionWork | None
    impulse: NDArray[np.void]  # (nb + 1,) ROW, impulses of joints and contacts at knot 1
    blocks: NDArray[np.void]  # (n_blocks,) BLOCK
    residual: NDArray[np.void]  # (n_nodes,) ROW, left of the equations but for contacts' answer
    rhs: NDArray[np.void]  # (n_nodes,) ROW
    correction: NDArray[np.void]  # (n_nodes,) ROW, what refining adds to a direction
    active: NDArray[np.int64]  # (nc + 1,) their count, then the contacts in the equations
    tau: Array  # generalized forces held over the step, one for each velocity of a joint
    drives: NDArray[np.void]  # DRIVE, one for each velocity of a joint
    motion: NDArray[np.void]  # MOTION of the driven coordinates over the step
    external: NDArray[np.void]  # (nb + 1,) ROW, wrenches on the bodies held over the step, world
    q2: Array  # joint coordinates at the second knot, of joints with laws
    last_dt: Array  # (1,) length of the interval that led to the knot [s], 0 at a start
    stale: Array  # (1,) 1 if the state's velocities are not those at its knot, as nobody asked
    # (3,) 1 while blocks hold the factors of the knot's projection, 1 while poses and joints of a
    # tree are placed at the knot, 1 if the last motion of a tree was as it had been guessed
    factored: NDArray[np.int64]
    scratch: NDArray[np.void]  # (1,) SCRATCH
    saved: State  # what a step that fails goes back to
    tree: NDArray[np.void] | None  # (nb + 1,) TREE_WORK, the world last
    border: NDArray[np.void] | None  # (nl,) LOOP_WORK of a tree with loops
    arms: NDArray[np.void] | None  # (nb,) ARM_WORK of a tree with loops


def compile_model(mechanism: Mechanism, n_facets: int = 0, articulated: bool = False) -> Model:
    """Flatten a mechanism for the kernels; contacts keep the mechanism's order within a body.

    Without facets friction has the exact second-order cone.
    """
    joints, coordinates, pieces = _joint_records(mechanism)
    paths, spans = _path_records(mechanism, joints)
    couplings = _coupling_records(mechanism, joints)
    contacts = _contact_records(mechanism, joints)
    collision = _collision(mechanism, len(contacts))
    driven = coordinates["driven"] >= 0
    graph = _graph(len(mechanism.bodies), joints, spans, couplings, driven)
    bodies = _body_records(mechanism, contacts)
    angles = 2 * np.pi * np.arange(n_facets) / n_facets
    facets = np.column_stack((np.cos(angles), np.sin(angles))) if n_facets else None
    for array in (bodies, joints, coordinates, pieces, paths, spans, couplings, contacts, *graph):
        array.setflags(write=False)
    return Model(
        bodies,
        joints,
        coordinates,
        pieces,
        paths,
        spans,
        couplings,
        contacts,
        len(mechanism.contacts),
        collision,
        facets,
        graph,
        True if articulated else None,
        _separate_loops(mechanism) if articulated and mechanism.loop_joints else None,
    )


def is_tree_with_loops(mechanism: Mechanism) -> bool:
    """Whether nothing ties bodies to each other but a tree's joints, and loops that share none."""
    if mechanism.couplings or mechanism.springs or mechanism.tendons:
        return False
    if any(joint.motion is not None for joint in mechanism.joints):
        return False
    if any(None not in (a[0], b[0]) for a, b in mechanism.touching_shapes()):
        return False
    return not mechanism.loop_joints or _separate_loops(mechanism) is not None


def _separate_loops(mechanism: Mechanism) -> Loops | None:
    """The loops of a mechanism; None if two share a joint, or anything acts where one is closed."""
    if any(v >= mechanism.nv for v in mechanism.actuated):
        return None
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    above, floats = np.full(nb, nb), np.zeros(nb, dtype=bool)
    for joint in mechanism.tree_joints:
        child = index[joint.child]
        above[child] = nb if joint.parent is None else index[joint.parent]
        floats[child] = joint.n_constraints == 0
    over = np.full(nb, -1, dtype=np.int64)
    found: list[tuple[int, int, list[int]]] = []
    for k, joint in enumerate(mechanism.loop_joints):
        acts = (joint.per_coordinate(name).any() for name in ("stiffness", "damping", "armature"))
        if joint.n_constraints == 0 or joint.resists or joint.potential is not None or any(acts):
            return None
        sides = []
        for end in (index[joint.child], nb if joint.parent is None else index[joint.parent]):
            side = [end]
            while side[-1] < nb:
                side.append(int(above[side[-1]]))
            sides.append(side)
        top = next(body for body in sides[0] if body in sides[1])
        path = [body for side in sides for body in side[: side.index(top)]]
        found.append((top, nb + k, path))
    found.sort(key=lambda loop: loop[0])
    for n, (_, _, path) in enumerate(found):
        if np.any(over[path] >= 0) or np.any(floats[path]):
            return None
        over[path] = n
    tops = np.array([loop[0] for loop in found], dtype=np.int64)
    first = np.searchsorted(tops, np.arange(nb + 2)).astype(np.int64)
    return Loops(np.array([loop[1] for loop in found], dtype=np.int64), tops, first, over)


def connect_pairs(model: Model, near: NDArray[np.bool_]) -> Model:
    """The model with blocks of their own for the pairs of bodies that are `near`, and no others.

    Parameters
    ----------
    model : Model
    near : (np,) for each pair of shapes; those with the world need no blocks
    """
    assert model.collision is not None
    joints, spans, couplings = model.joints.copy(), model.spans.copy(), model.couplings.copy()
    pairs = model.collision.pairs.copy()
    driven = model.coordinates["driven"] >= 0
    graph = _graph(len(model.bodies), joints, spans, couplings, driven, pairs, near)
    for array in (joints, spans, couplings, pairs, *graph):
        array.setflags(write=False)
    return model._replace(
        joints=joints,
        spans=spans,
        couplings=couplings,
        collision=model.collision._replace(pairs=pairs),
        graph=graph,
    )


def _collision(mechanism: Mechanism, n_contacts: int) -> Collision | None:
    """Shapes and pairs of a mechanism, or None if nothing but the ground can be touched."""
    scene = mechanism.touching_shapes()
    if not scene:
        return None
    nb = len(mechanism.bodies)
    index: dict[int, int] = {}
    shapes: list[AnyShape] = []
    for sides in scene:
        for _, shape in sides:
            if id(shape) not in index:
                index[id(shape)] = len(shapes)
                shapes.append(shape)
    records, data = compile_shapes(shapes)
    pairs = np.zeros(len(scene), dtype=PAIR)
    slot = n_contacts
    for record, sides in zip(pairs, scene, strict=True):
        for letter, (body, shape) in zip("ab", sides, strict=True):
            i = index[id(shape)]
            record[f"shape_{letter}"] = i
            record[f"body_{letter}"] = nb if body is None else body
            record[f"reach_{letter}"] = np.linalg.norm(records["x"][i]) + records["reach"][i]
        # The more slippery of the two decides.
        record["mu"] = min(MAX_FRICTION, *(shape.friction for _, shape in sides))
        kinds = [int(records["kind"][index[id(shape)]]) for _, shape in sides]
        n_slots = 1 if max(kinds) == SPHERE else 2 if max(kinds) <= CAPSULE else 8
        n_slots = 16 if max(kinds) >= HEIGHT_FIELD else n_slots  # its bends are many
        record["slot_begin"], record["slot_end"] = slot, slot + n_slots
        record["block_ab"] = record["block_ba"] = -1
        slot += n_slots
    pairs.setflags(write=False)
    return Collision(records, data, pairs)


def all_joints(mechanism: Mechanism) -> list[Joint | PointSpring | Tendon]:
    """Joints of the tree, of loops, and springs and tendons, which are compiled to joints too."""
    return [*mechanism.joints, *mechanism.springs, *mechanism.tendons]


def driven_elements(mechanism: Mechanism) -> list[Joint | Tendon]:
    """What is driven along a function of time or held, in the order of the driven coordinates."""
    elements: list[Joint | Tendon] = [*mechanism.joints, *mechanism.tendons]
    return [element for element in elements if element.motion is not None]


def _n_lengths(mechanism: Mechanism) -> int:
    """Number of the coordinates behind those of the joints."""
    return len(mechanism.springs) + len(mechanism.tendons)


def _joint_records(
    mechanism: Mechanism,
) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.void]]:
    """JOINT, COORDINATE and PIECE records."""
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    elements = all_joints(mechanism)
    joints = aligned(len(elements), JOINT)
    n_rates = mechanism.v_offsets[-1] + _n_lengths(mechanism)
    coordinates = np.zeros(n_rates, dtype=COORDINATE)
    pieces: list[tuple[float, Array]] = []
    nq = nv = driven = 0
    for j, joint in enumerate(elements):
        record = joints[j]
        record["q_begin"], record["v_begin"], record["node"] = nq, nv, -1
        record["offset"], record["R_offset"] = quaternions.IDENTITY, np.eye(3)
        if isinstance(joint, Tendon):
            # A joint of the world with itself: what it acts on are its spans.
            record["parent"], record["child"], record["m_T"] = nb, nb, 1
        else:
            parent = nb if joint.parent is None else index[joint.parent]
            record["parent"], record["child"] = parent, index[joint.child]
            record["p_a"], record["p_b"] = joint.parent_position, joint.child_position
            _set_scales(mechanism, record)
        potential, motion = None, None
        if isinstance(joint, Tendon):
            lowest, highest = np.asarray(joint.rest_length)
            names = ("stiffness", "damping", "armature")
            rows: dict[str, Any] = {name: getattr(joint, name) for name in names}
            rows |= {"rest": lowest, "slack": highest - lowest}
            size_q = size_v = 1
            motion = joint.motion
        elif isinstance(joint, PointSpring):
            # A joint with one free translation, of which only the length is looked at.
            record["distance"], record["m_T"] = 1, 1
            rows = {"stiffness": joint.stiffness, "damping": joint.damping, "armature": 0.0}
            rows["rest"] = joint.rest_length
            size_q = size_v = 1
            potential = joint.potential
        else:
            record["offset"] = joint.offset
            record["R_offset"] = quaternions.rotation_matrix(joint.offset)
            for letter, count, matrix in (
                ("D_T", "n_T", joint.D_T),
                ("D_R", "n_R", joint.D_R),
                ("C_T", "m_T", joint.C_T),
                ("C_R", "m_R", joint.C_R),
            ):
                record[count] = matrix.shape[1]
                record[letter][: matrix.shape[1]] = matrix.T
            record["axis_a"] = record["R_offset"] @ record["C_R"][0]
            acting = ("stiffness", "rest", "damping", "armature")
            rows = {name: joint.per_coordinate(name) for name in acting}
            size_q, size_v = joint.nq, joint.nv
            potential, motion = joint.potential, joint.motion
        mine = coordinates[nv : nv + size_v]
        for name, value in rows.items():
            mine[name] = value
        mine["driven"] = -1
        mine["piece_begin"] = mine["piece_end"] = len(pieces)
        if potential is not None:
            x = np.asarray(potential.x)
            pieces += list(zip(x[:-1].tolist(), potential.pieces, strict=True))
            mine["piece_end"] = len(pieces)
        if motion is not None:
            mine["driven"] = driven
            driven += 1
        acts = any(mine[name].any() for name in ("stiffness", "damping", "armature"))
        record["law"] = acts or potential is not None or motion is not None
        resists = isinstance(joint, Tendon | Joint) and joint.resists
        if resists and record["n_T"] + record["n_R"] == 0:
            # Limits and friction act on coordinates, and with no constraints nothing else asks
            # for a node to have them on.
            record["law"] = 1
        record["kind"] = _elimination(record, nb, resists)
        record["first_child"], record["next_child"] = -1, -1
        if record["child"] < nb:
            record["per_inertia"] = 1.0 / _own_inertia(mechanism.bodies[record["child"]], record)
        nq, nv = nq + size_q, nv + size_v
    for b in range(nb - 1, -1, -1):
        if joints[b]["parent"] < nb:
            parent = joints[joints[b]["parent"]]
            joints[b]["next_child"], parent["first_child"] = parent["first_child"], b
    return joints, coordinates, np.array(pieces, dtype=PIECE)


def _own_inertia(body: Body, joint: Any) -> float:
    """Inertia of a joint's child along its rotations, their mean if it is not a hinge."""
    inertia, arm = np.asarray(body.inertia), joint["p_b"]
    square = float(arm @ arm)
    if joint["kind"] == HINGE:
        axis = joint["C_R"][0]
        return float(axis @ inertia @ axis + body.mass * (square - (axis @ arm) ** 2))
    return float(np.trace(inertia)) / 3.0 + (0.0 if joint["kind"] == FREE else body.mass * square)


def _elimination(joint: Any, nb: int, resists: bool) -> int:
    """How the elimination of a tree takes a joint: as a ball only if nothing acts along it."""
    free = int(joint["m_T"]), int(joint["m_R"])
    if free == (0, 1):
        return HINGE
    if free == (0, 3) and joint["law"] == 0 and not resists:
        return BALL
    if free == (3, 3) and joint["law"] == 0 and joint["parent"] == nb:
        return FREE
    return GENERAL


def _set_scales(mechanism: Mechanism, record: Any) -> None:
    """Inverse mass and inertia that a joint acts on."""
    mass, inertia = 0.0, 0.0
    for i in (int(record["parent"]), int(record["child"])):
        if i < len(mechanism.bodies):
            body = mechanism.bodies[i]
            mass += 1.0 / body.mass
            inertia += 3.0 / float(np.trace(np.asarray(body.inertia)))
    record["scale_T"] = mass
    record["scale_R"] = np.sqrt(mass * inertia)
    record["compliance_T"], record["compliance_R"] = COMPLIANCE * mass, COMPLIANCE * inertia


def _path_records(
    mechanism: Mechanism, joints: NDArray[np.void]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """PATH and SPAN records; the joints of tendons get theirs."""
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    places = coordinate_places(mechanism)
    paths: list[Any] = []
    spans: list[int] = []
    for joint, tendon in zip(joints[len(joints) - len(mechanism.tendons) :], mechanism.tendons,
                             strict=True):  # fmt: skip
        joint["path_begin"], joint["span_begin"] = len(paths), len(spans)
        mine: dict[int, int] = {nb: -1}

        def span(body: int, mine: dict[int, int] = mine) -> int:
            if body not in mine:
                mine[body] = len(spans)
                spans.append(body)
            return mine[body]

        for part in tendon.path:
            record: Any = np.zeros((), dtype=PATH)
            match part:
                case Term():
                    j, row = places[part.coordinate]
                    ends = int(joints[j]["child"]), int(joints[j]["parent"])
                    record["kind"], record["joint"], record["row"] = TERM, j, row
                    record["factor"], record["p"] = part.factor, part.higher
                    record["span"], record["span_parent"] = span(ends[0]), span(ends[1])
                case Pulley():
                    record["kind"], record["factor"] = PULLEY, 1 / part.divisor
                case Point() | Wrap():
                    body = nb if part.body is None else index[part.body]
                    record["kind"], record["body"], record["span"] = VIA, body, span(body)
                    record["p"] = part.position
            if isinstance(part, Wrap):
                record["kind"] = SPHERE_WRAP if part.kind == "sphere" else CYLINDER_WRAP
                record["axes"] = quaternions.rotation_matrix(part.quaternion).T
                record["radius"] = part.radius
                if part.side is not None:
                    record["has_side"], record["side"] = 1, part.side.position
                    record["side_body"] = nb if part.side.body is None else index[part.side.body]
            paths.append(record)
        joint["path_end"], joint["span_end"] = len(paths), len(spans)
        # A unit of tension moves a coordinate by what the joint's own would, times its factor.
        for body in mine.keys() - {nb}:
            joint["scale_T"] += 1 / mechanism.bodies[body].mass
        if tendon.is_fixed:
            terms = paths[int(joint["path_begin"]) :]
            joint["scale_T"] = sum(_term_scale(joints, term) for term in terms)
        joint["compliance_T"] = COMPLIANCE * joint["scale_T"]
    found = np.zeros(len(spans), dtype=SPAN)
    found["body"] = spans
    return np.array(paths, dtype=PATH), found


def _term_scale(joints: NDArray[np.void], term: Any) -> float:
    """What a unit of a tendon's impulse does to one of its coordinates, as a velocity."""
    joint = joints[term["joint"]]
    scale = joint["scale_R" if term["row"] >= joint["m_T"] else "scale_T"]
    return abs(float(term["factor"] * scale))


def coordinate_places(mechanism: Mechanism) -> dict[str, tuple[int, int]]:
    """Name of each coordinate that is a number -> index of its joint, row in that."""
    names = set(mechanism.q_names)
    return {
        mechanism.v_names[begin + row]: (j, row)
        for j, (joint, begin) in enumerate(
            zip(mechanism.tree_joints, mechanism.v_offsets, strict=False)
        )
        for row in range(joint.nv)
        if mechanism.v_names[begin + row] in names
    }


def _coupling_records(mechanism: Mechanism, joints: NDArray[np.void]) -> NDArray[np.void]:
    """COUPLING records; the joints that they couple get rows for their coordinates."""
    names = [joint.name for joint in mechanism.joints]
    couplings = np.zeros(len(mechanism.couplings), dtype=COUPLING)
    for record, coupling in zip(couplings, mechanism.couplings, strict=True):
        for k, name in enumerate((coupling.joint, coupling.source)):
            joint = joints[names.index(name)]
            joint["law"] = 1
            record["joint"][k] = names.index(name)
            record["row"][k] = joint["n_T"] + joint["n_R"]
            record["compliance"] += joint["compliance_R" if joint["m_R"] else "compliance_T"]
        record["factor"], record["offset"] = (1.0, -coupling.ratio), coupling.offset
    return couplings


def _graph(
    nb: int,
    joints: NDArray[np.void],
    spans: NDArray[np.void],
    couplings: NDArray[np.void],
    driven: NDArray[np.bool_],
    pairs: NDArray[np.void] | None = None,
    near: NDArray[np.bool_] | None = None,
) -> Graph:
    """Number the nodes, order and eliminate them; sets the blocks of all that has some."""
    nodes: list[tuple[Any, list[int]]] = []
    soft: list[tuple[Any, list[int]]] = []
    for joint in joints:
        ends = [int(joint["child"]), int(joint["parent"])]
        over = spans["body"][joint["span_begin"] : joint["span_end"]].tolist()
        if joint["n_T"] + joint["n_R"] > 0:
            nodes.append((joint, ends))
        elif over and driven[joint["v_begin"]]:
            # The length of a tendon, of which it is all the same whether the world is in it.
            nodes.append((joint, [*over, nb]))
        elif joint["law"]:
            soft.append((joint, over or ends))
    for coupling in couplings:
        ends = [int(joints[j][role]) for j in coupling["joint"] for role in ("child", "parent")]
        nodes.append((coupling, ends))
    edges: list[tuple[int, int]] = []
    for k, (record, ends) in enumerate((*nodes, *soft)):
        record["node"] = nb + k
        edges += [(nb + k, end) for end in dict.fromkeys(ends) if end < nb]
    touching: list[tuple[int, int]] = []
    if pairs is not None and near is not None:
        ends_of = {(int(p["body_a"]), int(p["body_b"])) for p in pairs[near]}
        touching = sorted({(min(ends), max(ends)) for ends in ends_of})
    order = constrained_order(
        nb,
        [[end for end in ends if end < nb] for _, ends in nodes],
        [[end for end in ends if end < nb] for _, ends in soft],
        [nb in ends for _, ends in (*nodes, *soft)],
        touching,
    )
    graph, blocks = eliminate(nb + len(nodes) + len(soft), edges + touching, order)
    if pairs is not None and near is not None:
        pairs["block_ab"] = pairs["block_ba"] = -1
        for pair in (pairs[n] for n in np.flatnonzero(near)):
            a, b = int(pair["body_a"]), int(pair["body_b"])
            pair["block_ab"], pair["block_ba"] = blocks[a, b], blocks[b, a]
    loops = len(nodes) > sum(1 for joint in joints[:nb] if joint["n_T"] + joint["n_R"] > 0)
    for record, ends in (*nodes, *soft):
        node = int(record["node"])
        if "body_node" in record.dtype.names:
            for k, end in enumerate(ends):
                if end < nb:
                    record["body_node"][k], record["node_body"][k] = (
                        blocks[end, node],
                        blocks[node, end],
                    )
            continue
        if record["span_end"] > record["span_begin"]:
            for n in range(record["span_begin"], record["span_end"]):
                end = int(spans["body"][n])
                spans["body_node"][n], spans["node_body"][n] = blocks[end, node], blocks[node, end]
            continue
        child, parent = ends
        record["child_joint"], record["joint_child"] = blocks[child, node], blocks[node, child]
        if parent < nb:
            record["parent_joint"] = blocks[parent, node]
            record["joint_parent"] = blocks[node, parent]
    if not loops:
        joints["compliance_T"], joints["compliance_R"] = 0.0, 0.0
    return graph


def _contact_records(mechanism: Mechanism, joints: NDArray[np.void]) -> NDArray[np.void]:
    """CONTACT records: points above the ground by body, then limits and dry friction of joints."""
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    order = contact_order(mechanism)
    ground = np.zeros(len(order), dtype=CONTACT)
    for record, c in zip(ground, order, strict=True):
        point = mechanism.contacts[c]
        record["kind"], record["body"], record["other"] = PLANE, index[point.body], nb
        record["p"], record["radius"] = point.position, point.radius
        if point.axis is not None:
            record["p_end"], record["lying"] = point.axis, point.radius == 0
            record["kind"] = RIM if point.radius > 0 else PLANE
        record["o_end"], record["mu"] = (0.0, 0.0, 1.0), min(point.friction, MAX_FRICTION)
        record["mass"], record["joint"] = mechanism.body(point.body).mass, -1
    found: list[Any] = []
    for j, joint in enumerate(mechanism.joints):
        if joint.motion is not None:
            continue
        # Angles count as arcs of the child's radius of gyration, so that all that is held apart
        # moves at speeds in m/s and answers with the child's mass.
        body, turns = mechanism.body(joint.child), joint.C_T.shape[1]
        for row in range(joint.nv):
            lower, upper = (float(np.asarray(side)[row]) for side in (joint.lower, joint.upper))
            friction = float(joint.per_coordinate("friction")[row])
            scale = _arm(body) if row >= turns else 1.0
            found += _coordinate_contacts(j, row, lower, upper, friction, body.mass, scale)
        if np.isfinite(joint.cone):
            cone = np.cos(joint.cone)
            found.append(_on_coordinate(CONE, j, turns, 0.0, cone, body.mass, _arm(body)))
        if np.isfinite(joint.largest_turn):
            half = 0.5 * joint.largest_turn
            scale = _arm(body) / float(np.sin(half))
            found.append(_on_coordinate(TURN, j, turns, 0.0, np.cos(half), body.mass, scale))
    first = len(joints) - len(mechanism.tendons)
    for j, tendon in enumerate(mechanism.tendons, start=first):
        if tendon.motion is not None:
            continue
        mass, scale = _lightest(mechanism, tendon)
        lower, upper = tendon.lower, tendon.upper
        found += _coordinate_contacts(j, 0, lower, upper, tendon.friction, mass, scale)
    for limit in found:
        limit["body"], limit["other"] = nb, nb
    contacts = np.concatenate((ground, np.array(found, dtype=CONTACT)))
    contacts["part"] = 1.0
    return contacts


def _arm(body: Body) -> float:
    """Radius of gyration of a body [m]."""
    return float(np.sqrt(np.trace(np.asarray(body.inertia)) / 3 / body.mass))


def _lightest(mechanism: Mechanism, tendon: Tendon) -> tuple[float, float]:
    """Mass of the lightest body that a tendon moves, and metres in a unit of its length there."""
    if not tendon.is_fixed:
        names = [name for name in tendon.bodies() if name is not None]
        return min(mechanism.body(name).mass for name in names), 1.0
    places, found = coordinate_places(mechanism), []
    for term in (part for part in tendon.path if isinstance(part, Term) and part.factor):
        joint_index, row = places[term.coordinate]
        joint = mechanism.joints[joint_index]
        body = mechanism.body(joint.child)
        arm = _arm(body) if row >= joint.C_T.shape[1] else 1.0
        found.append((body.mass, arm / abs(term.factor)))
    return min(found)


def _coordinate_contacts(
    j: int, row: int, lower: float, upper: float, friction: float, mass: float, scale: float
) -> list[Any]:
    """CONTACT records of the limits and of the dry friction of a coordinate."""
    found = []
    widen = 0.5 * max(0.0, LEAST_ROOM - (upper - lower))
    for sign, bound in ((1.0, lower - widen), (-1.0, upper + widen)):
        if np.isfinite(bound):
            found.append(_on_coordinate(LIMIT, j, row, sign, bound, mass, scale))
    if friction > 0:
        found.append(_on_coordinate(DRY, j, row, 0.0, friction / scale, mass, scale))
    return found


def _on_coordinate(
    kind: int, j: int, row: int, sign: float, bound: float, mass: float, scale: float
) -> Any:
    limit: Any = np.zeros((), dtype=CONTACT)
    limit["kind"], limit["joint"], limit["row"] = kind, j, row
    limit["mass"], limit["scale"] = mass, scale
    limit["sign"], limit["mu"] = sign * scale, 1.0 if kind == DRY else 0.0
    limit["bound"] = bound
    return limit


def _body_records(mechanism: Mechanism, contacts: NDArray[np.void]) -> NDArray[np.void]:
    nb = len(mechanism.bodies)
    bodies = np.zeros(nb, dtype=BODY)
    base = _floating_bases(mechanism)
    floating = np.zeros(nb)
    for i, body in enumerate(mechanism.bodies):
        if base[i] >= 0:
            floating[base[i]] += body.mass
    distance = np.sqrt(np.sum(contacts["p"] ** 2, axis=1)) + contacts["radius"]
    on_ground = np.where(contacts["other"] == nb, contacts["body"], -1)
    for i, body in enumerate(mechanism.bodies):
        mine = np.flatnonzero(on_ground == i)
        begin = int(mine[0]) if len(mine) else 0
        reach = float(np.max(distance[mine])) if len(mine) else 0.0
        inverse = np.linalg.inv(np.asarray(body.inertia))
        mass = floating[base[i]] if base[i] >= 0 else 0.0
        contacts_of = begin, begin + len(mine)
        bodies[i] = (body.mass, body.inertia, inverse, reach, *contacts_of, base[i], mass, 1.0)
    return bodies


def _floating_bases(mechanism: Mechanism) -> NDArray[np.int64]:
    """For each body the one whose joint is free and carries it, or -1, (nb,)."""
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    base = np.full(len(mechanism.bodies), -1, dtype=np.int64)
    for joint in mechanism.tree_joints:
        child = index[joint.child]
        if joint.n_constraints == 0:
            base[child] = child
        elif joint.parent is not None:
            base[child] = base[index[joint.parent]]
    return base


def contact_order(mechanism: Mechanism) -> list[int]:
    """Indices of the mechanism's contacts in the model's order: sorted by body."""
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    return sorted(range(len(mechanism.contacts)), key=lambda c: index[mechanism.contacts[c].body])


def make_blocks(model: Model) -> NDArray[np.void]:
    """Memory for the blocks of the linear system."""
    used = [model.graph.neighbours["upper"], model.graph.neighbours["lower"]]
    last = max([len(model.graph.pivots) - 1, *(int(b.max()) for b in used if len(b))])
    return aligned(last + 1, BLOCK)


def n_slots(model: Model) -> int:
    """Number of contacts of the model and of the features that its pairs have room for."""
    if model.collision is None:
        return len(model.contacts)
    return int(model.collision.pairs["slot_end"][-1])


def make_state(mechanism: Mechanism, model: Model) -> State:
    """A state of zeros of the right sizes; set it before it is stepped."""
    return State(
        bodies=np.zeros(len(model.bodies), dtype=BODY_STATE),
        joints=np.zeros(len(model.joints), dtype=JOINT_STATE),
        couplings=np.zeros(len(model.couplings), dtype=COUPLING_STATE),
        contacts=np.zeros(n_slots(model), dtype=CONTACT_STATE),
        q=np.zeros(mechanism.q_offsets[-1] + _n_lengths(mechanism)),
        v=np.zeros(len(model.coordinates)),
        trend=np.zeros(TRENDS),
        contact_trend=np.zeros(TRENDS),
    )


def make_workspace(mechanism: Mechanism, model: Model) -> Workspace:
    """Scratch memory for stepping one state of the model."""
    nb = len(model.bodies)
    poses = [np.zeros(nb + 1, dtype=POSE) for _ in range(2)]
    for pose in poses:
        pose["q"][:, 0] = 1.0
        pose["R"][:] = np.eye(3)
    world_last = np.zeros(nb + 1, dtype=BODY_WORK)
    world_last["P"][:, 0] = 1.0
    collision = None
    slots = model.contacts.copy()
    if model.collision is not None:
        shapes, data, pairs = model.collision
        room = np.zeros(n_slots(model) - len(slots), dtype=CONTACT)
        room["part"] = 1.0
        slots = np.concatenate((slots, room))
        collision = CollisionWork(
            make_shape_scratch(shapes, data),
            np.zeros(4, dtype=FEATURE),
            np.zeros(len(pairs), dtype=FOUND),
            np.full(len(slots), -1, dtype=np.int64),
        )
    drives = np.zeros(len(model.coordinates), dtype=DRIVE)
    drives["limit"] = np.inf
    return Workspace(
        bodies=world_last,
        joints=aligned(len(model.joints), JOINT_WORK),
        couplings=np.zeros(len(model.couplings), dtype=COUPLING_WORK),
        contacts=aligned(len(slots), CONTACT_WORK),
        slots=slots,
        collision=collision,
        span1=np.zeros(len(model.spans), dtype=ROW),
        span2=np.zeros(len(model.spans), dtype=ROW),
        pose1=poses[0],
        pose2=poses[1],
        twists=np.zeros(nb + 1, dtype=ROW),
        known=np.zeros(nb + 1, dtype=ROW),
        impulse=np.zeros(nb + 1, dtype=ROW),
        blocks=make_blocks(model),
        residual=np.zeros(len(model.graph.pivots), dtype=ROW),
        rhs=np.zeros(len(model.graph.pivots), dtype=ROW),
        correction=np.zeros(len(model.graph.pivots), dtype=ROW),
        active=np.zeros(len(slots) + 1, dtype=np.int64),
        tau=np.zeros(len(model.coordinates)),
        drives=drives,
        motion=np.zeros(int(np.sum(model.coordinates["driven"] >= 0)), dtype=MOTION),
        external=np.zeros(nb + 1, dtype=ROW),
        q2=np.zeros(mechanism.q_offsets[-1] + _n_lengths(mechanism)),
        last_dt=np.ones(1),
        stale=np.zeros(1),
        factored=np.zeros(3, dtype=np.int64),
        scratch=aligned(1, SCRATCH),
        saved=make_state(mechanism, model),
        tree=None if model.tree is None else aligned(nb + 1, TREE_WORK),
        border=None if model.loops is None else aligned(len(model.loops.joint), LOOP_WORK),
        arms=None if model.loops is None else aligned(nb, ARM_WORK),
    )
