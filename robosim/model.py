"""A Mechanism compiled to flat arrays, its state and the scratch memory of the kernels.

`Model` holds no state and is read-only, `State` holds no parameters, `Workspace` is scratch.
Each is a NamedTuple of a few record arrays: a kernel reads ``model.bodies[i].mass``, and a call
from Python passes a dozen pointers instead of a hundred. It also tells the compiler every inner
shape: a 6x6 product over ``blocks[n].F`` takes half of the time that it takes over a 3D array,
whose strides are known only when it runs.

Body i hangs on joint i. The world takes the last place of the pose arrays, index nb, so that a
joint to the world is no special case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.graph import Graph, eliminate
from robosim.mechanism import Mechanism

Array = NDArray[np.float64]

MAX_FACETS = 16  # of the linearized friction cone

BODY = np.dtype(
    [
        ("mass", "f8"),
        ("inertia", "f8", (3, 3)),  # about the centre of mass, body axes
        ("inertia_inverse", "f8", (3, 3)),
        ("reach", "f8"),  # farthest contact point from the centre of mass, radius included
        ("contact_begin", "i8"),
        ("contact_end", "i8"),
    ]
)
JOINT = np.dtype(
    [
        ("parent", "i8"),  # nb for the world
        ("child", "i8"),
        ("p_a", "f8", (3,)),  # in parent axes from its centre of mass
        ("p_b", "f8", (3,)),  # in child axes from its centre of mass
        ("offset", "f8", (4,)),  # joint frame to parent axes
        ("R_offset", "f8", (3, 3)),
        ("n_T", "i8"),  # rows of D_T and of D_R, in the joint frame
        ("n_R", "i8"),
        ("D_T", "f8", (3, 3)),
        ("D_R", "f8", (3, 3)),
        ("m_T", "i8"),  # rows of C_T and of C_R, in the joint frame
        ("m_R", "i8"),
        ("C_T", "f8", (3, 3)),
        ("C_R", "f8", (3, 3)),
        ("q_begin", "i8"),
        ("v_begin", "i8"),
        ("node", "i8"),  # of the graph; -1 for a joint without constraints
        ("child_joint", "i8"),  # block (row child body, column joint), and so on
        ("joint_child", "i8"),
        ("parent_joint", "i8"),
        ("joint_parent", "i8"),
    ]
)
CONTACT = np.dtype(
    [
        ("body", "i8"),
        ("p", "f8", (3,)),  # in body axes from the centre of mass
        ("radius", "f8"),
        ("mu", "f8"),
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
        ("v_mid", "f8", (6,)),  # velocity and angular velocity of the interval before, world
    ]
)
BLOCK = np.dtype([("F", "f8", (6, 6))])
ROW = np.dtype([("w", "f8", (6,))])
JOINT_STATE = np.dtype(
    [
        ("impulse", "f8", (6,)),  # multipliers of the last step, impulse units
        ("G_a", "f8", (6, 6)),  # Jacobian of the constraints at the knot, by parent and child
        ("G_b", "f8", (6, 6)),
    ]
)
CONTACT_STATE = np.dtype(
    [
        ("active", "i8"),  # whether the last step had it in its equations
        ("gamma", "f8"),  # normal impulse [N s]
        ("s", "f8"),  # slack: gap at the end of the step over dt [m/s]
        ("psi", "f8"),  # slip speed [m/s]
        ("c", "f8"),  # slack of the friction cone [N s]
        ("beta", "f8", (MAX_FACETS,)),  # friction impulses along the facets [N s]
        ("eta", "f8", (MAX_FACETS,)),  # their slacks [m/s]
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
JOINT_WORK = np.dtype(
    [
        ("G_a", "f8", (6, 6)),  # Jacobian of the constraints at the second knot
        ("G_b", "f8", (6, 6)),
        ("g", "f8", (6,)),
        ("impulse", "f8", (6,)),
        ("impulse_old", "f8", (6,)),
    ]
)
SCRATCH = np.dtype(
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
    ]
)
CONTACT_WORK = np.dtype(
    [
        ("arm1", "f8", (3,)),  # from the centre of mass to the contact at the first knot, world
        ("tangent1", "f8", (2,)),  # place of the sphere's centre in the plane at the first knot
        ("gap", "f8"),  # at the second knot [m]
        ("u", "f8", (3,)),  # slip velocity (x, y) and gap over dt (z) [m/s]
        ("J2", "f8", (3, 6)),
        ("A", "f8", (3, 3)),  # condensed: dF = F + A du
        ("F", "f8", (3,)),
        ("weight", "f8"),  # of friction's products against s gamma on the path that is followed
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
    ]
)


class Model(NamedTuple):
    """The parameters of a mechanism, read-only."""

    bodies: NDArray[np.void]  # (nb,) BODY
    joints: NDArray[np.void]  # (nb,) JOINT
    contacts: NDArray[np.void]  # (nc,) CONTACT, sorted by body
    facets: Array  # (nf, 2) directions of the linearized friction cone
    graph: Graph


class State(NamedTuple):
    """What a step starts from: the knot, momenta and joint directions there, and a guess."""

    bodies: NDArray[np.void]  # (nb,) BODY_STATE
    joints: NDArray[np.void]  # (nb,) JOINT_STATE
    contacts: NDArray[np.void]  # (nc,) CONTACT_STATE
    q: Array  # (nq,) joint coordinates at the knot
    v: Array  # (nv,) joint velocities at the knot


class Options(NamedTuple):
    """What a step needs to know beyond the model; see Simulation for the meaning and defaults."""

    dt: float
    gravity: Array  # (3,) [m/s^2]
    tolerance: float  # of the equations [m/s]
    contact_speed: float  # creep and gap over dt that a resting contact may have [m/s]
    max_iterations: int
    max_substeps: int


INFO = np.dtype(
    [
        ("status", "i8"),  # 0 converged, else a status of kernels.interior_point
        ("iterations", "i8"),
        ("substeps", "i8"),
        ("residual", "f8"),  # [m/s]
        ("worst_body", "i8"),
        ("violation", "f8"),  # of the joints at the new knot [m or sine of a half angle]
        ("gap", "f8"),  # smallest of all contacts at the new knot [m], inf without contacts
    ]
)


class Workspace(NamedTuple):
    """Scratch memory of one step."""

    bodies: NDArray[np.void]  # (nb,) BODY_WORK
    joints: NDArray[np.void]  # (nb,) JOINT_WORK
    contacts: NDArray[np.void]  # (nc,) CONTACT_WORK
    pose1: NDArray[np.void]  # (nb + 1,) POSE at the first knot, the world last
    pose2: NDArray[np.void]  # (nb + 1,) POSE at the second knot, the world last
    twists: NDArray[np.void]  # (nb + 1,) ROW, world twists, the world last
    known: NDArray[np.void]  # (nb + 1,) ROW, momenta of the bodies plus the forces' half at a knot
    impulse: NDArray[np.void]  # (nb + 1,) ROW, impulses of joints and contacts at knot 1
    blocks: NDArray[np.void]  # (n_blocks,) BLOCK
    residual: NDArray[np.void]  # (n_nodes,) ROW, left of the equations but for contacts' answer
    rhs: NDArray[np.void]  # (n_nodes,) ROW
    active: NDArray[np.int64]  # (nc + 1,) their count, then the contacts in the equations
    tau: Array  # (nv,) generalized forces held over the step
    factored: NDArray[np.int64]  # (1,) 1 while blocks hold the factors of the knot's projection
    scratch: NDArray[np.void]  # (1,) SCRATCH
    saved: State  # what a step that fails goes back to


def compile_model(mechanism: Mechanism, n_facets: int = 4) -> Model:
    """Flatten a mechanism for the kernels; contacts keep the mechanism's order within a body."""
    nb = len(mechanism.bodies)
    constrained = [j for j, joint in enumerate(mechanism.joints) if joint.n_constraints > 0]
    node_of = {j: nb + k for k, j in enumerate(constrained)}
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    edges: list[tuple[int, int]] = []
    roots: list[int] = []
    for j in constrained:
        joint = mechanism.joints[j]
        edges.append((node_of[j], index[joint.child]))
        if joint.parent is None:
            roots.append(node_of[j])
        else:
            edges.append((node_of[j], index[joint.parent]))
    graph, blocks = eliminate(nb + len(constrained), edges, roots)

    joints = np.zeros(nb, dtype=JOINT)
    for j, joint in enumerate(mechanism.joints):
        record = joints[j]
        parent = nb if joint.parent is None else index[joint.parent]
        record["parent"], record["child"] = parent, index[joint.child]
        record["p_a"], record["p_b"] = joint.parent_position, joint.child_position
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
        record["q_begin"], record["v_begin"] = mechanism.q_offsets[j], mechanism.v_offsets[j]
        record["node"] = node_of.get(j, -1)
        if j in node_of:
            node, child = node_of[j], index[joint.child]
            record["child_joint"], record["joint_child"] = blocks[child, node], blocks[node, child]
            if parent < nb:
                record["parent_joint"] = blocks[parent, node]
                record["joint_parent"] = blocks[node, parent]

    order = contact_order(mechanism)
    contacts = np.zeros(len(order), dtype=CONTACT)
    for k, c in enumerate(order):
        point = mechanism.contacts[c]
        contacts[k] = (index[point.body], point.position, point.radius, point.friction)

    bodies = np.zeros(nb, dtype=BODY)
    for i, body in enumerate(mechanism.bodies):
        mine = np.flatnonzero(contacts["body"] == i)
        begin = int(mine[0]) if len(mine) else 0
        reach = 0.0
        if len(mine):
            distance = np.linalg.norm(contacts["p"][mine], axis=1) + contacts["radius"][mine]
            reach = float(np.max(distance))
        inverse = np.linalg.inv(np.asarray(body.inertia))
        bodies[i] = (body.mass, body.inertia, inverse, reach, begin, begin + len(mine))

    angles = 2 * np.pi * np.arange(n_facets) / n_facets
    facets = np.column_stack((np.cos(angles), np.sin(angles)))
    for array in (bodies, joints, contacts, facets, *graph):
        array.setflags(write=False)
    return Model(bodies, joints, contacts, facets, graph)


def contact_order(mechanism: Mechanism) -> list[int]:
    """Indices of the mechanism's contacts in the model's order: sorted by body."""
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    return sorted(range(len(mechanism.contacts)), key=lambda c: index[mechanism.contacts[c].body])


def make_state(mechanism: Mechanism, model: Model) -> State:
    """A state of zeros of the right sizes; set it before it is stepped."""
    nb, nc = len(model.bodies), len(model.contacts)
    return State(
        bodies=np.zeros(nb, dtype=BODY_STATE),
        joints=np.zeros(nb, dtype=JOINT_STATE),
        contacts=np.zeros(nc, dtype=CONTACT_STATE),
        q=np.zeros(mechanism.nq),
        v=np.zeros(mechanism.nv),
    )


def make_workspace(mechanism: Mechanism, model: Model) -> Workspace:
    """Scratch memory for stepping one state of the model."""
    nb, nc = len(model.bodies), len(model.contacts)
    poses = [np.zeros(nb + 1, dtype=POSE) for _ in range(2)]
    for pose in poses:
        pose["q"][:, 0] = 1.0
        pose["R"][:] = np.eye(3)
    blocks = [model.graph.neighbours["upper"], model.graph.neighbours["lower"]]
    n_blocks = 1 + max([len(model.graph.pivots) - 1, *(int(b.max()) for b in blocks if len(b))])
    return Workspace(
        bodies=np.zeros(nb, dtype=BODY_WORK),
        joints=np.zeros(nb, dtype=JOINT_WORK),
        contacts=np.zeros(nc, dtype=CONTACT_WORK),
        pose1=poses[0],
        pose2=poses[1],
        twists=np.zeros(nb + 1, dtype=ROW),
        known=np.zeros(nb + 1, dtype=ROW),
        impulse=np.zeros(nb + 1, dtype=ROW),
        blocks=np.zeros(n_blocks, dtype=BLOCK),
        residual=np.zeros(len(model.graph.pivots), dtype=ROW),
        rhs=np.zeros(len(model.graph.pivots), dtype=ROW),
        active=np.zeros(nc + 1, dtype=np.int64),
        tau=np.zeros(mechanism.nv),
        factored=np.zeros(1, dtype=np.int64),
        scratch=np.zeros(1, dtype=SCRATCH),
        saved=make_state(mechanism, model),
    )
