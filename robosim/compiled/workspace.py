"""Scratch memory of a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned
from robosim.compiled.kinds import POLYTOPE
from robosim.compiled.model import Model, ShapeData, n_slots
from robosim.compiled.order import n_lengths
from robosim.compiled.records.body import BODY_WORK, POSE
from robosim.compiled.records.contact import CONTACT, CONTACT_WORK
from robosim.compiled.records.graph import BLOCK, ROW
from robosim.compiled.records.joint import COUPLING_WORK, DRIVE, JOINT_WORK, MOTION
from robosim.compiled.records.narrow_phase import CANDIDATE, CORNER, PAIR_WORK, POLY
from robosim.compiled.records.shape import FEATURE, FOUND, POINT
from robosim.compiled.records.step import SCRATCH
from robosim.compiled.records.tree import ARM_WORK, LOOP_WORK, TREE_WORK
from robosim.compiled.state import State, make_state
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


class ShapeScratch(NamedTuple):
    """Scratch memory of one narrow phase."""

    pair: NDArray[np.void]  # (1,) PAIR_WORK
    poly: NDArray[np.void]  # (2,) POLY
    vertices: NDArray[np.void]  # (2, most vertices) POINT
    normals: NDArray[np.void]  # (2, most faces) POINT
    opposite: NDArray[np.void]  # (3,) POINT, corners of a triangle's neighbours
    around: NDArray[np.void]  # (n,) POINT, corners around each corner of a triangle
    polygon: NDArray[np.void]  # (2, corners of a clipped face) CORNER
    near: NDArray[np.int64]  # (most edges,)
    candidates: NDArray[np.void]  # (n,) CANDIDATE
    chosen: NDArray[np.void]  # (4,) CANDIDATE


class CollisionWork(NamedTuple):
    """Scratch memory of finding where shapes touch."""

    scratch: ShapeScratch
    features: NDArray[np.void]  # (4,) FEATURE
    found: NDArray[np.void]  # (np,) FOUND
    ids: NDArray[np.int64]  # (n_slots,) of the feature in a slot, -1 for none


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
        q2=np.zeros(mechanism.q_offsets[-1] + n_lengths(mechanism)),
        last_dt=np.ones(1),
        stale=np.zeros(1),
        factored=np.zeros(3, dtype=np.int64),
        scratch=aligned(1, SCRATCH),
        saved=make_state(mechanism, model),
        tree=None if model.tree is None else aligned(nb + 1, TREE_WORK),
        border=None if model.loops is None else aligned(len(model.loops.joint), LOOP_WORK),
        arms=None if model.loops is None else aligned(nb, ARM_WORK),
    )


def make_blocks(model: Model) -> NDArray[np.void]:
    """Memory for the blocks of the linear system."""
    used = [model.graph.neighbours["upper"], model.graph.neighbours["lower"]]
    last = max([len(model.graph.pivots) - 1, *(int(b.max()) for b in used if len(b))])
    return aligned(last + 1, BLOCK)


def make_shape_scratch(shapes: NDArray[np.void], data: ShapeData) -> ShapeScratch:
    """Scratch memory for the narrow phase of any two of the shapes."""
    convex = shapes[shapes["kind"] <= POLYTOPE]
    # A segment has 2 vertices, a triangle 3 and, with its neighbours, 4 normals.
    n_vertices = max([3, *convex["n_vertices"]])
    n_faces = max([4, *convex["n_faces"]])
    n_edges = max([3, *convex["n_edges"]])
    # Every side of a face that cuts a polygon adds one point to it.
    n_corners = max(6, 2 * int(np.diff(data.topology.faces).max()) + 2)
    poly = np.zeros(2, dtype=POLY)
    poly["R"] = np.eye(3)
    return ShapeScratch(
        pair=np.zeros(1, dtype=PAIR_WORK),
        poly=poly,
        vertices=np.zeros((2, n_vertices), dtype=POINT),
        normals=np.zeros((2, n_faces), dtype=POINT),
        opposite=np.zeros(3, dtype=POINT),
        around=np.zeros(3 * max(6, int(np.diff(data.ring_begin).max())) + 1, dtype=POINT),
        polygon=np.zeros((2, n_corners), dtype=CORNER),
        near=np.zeros(n_edges, dtype=np.int64),
        candidates=np.zeros(64 + max(2 * n_corners, n_vertices), dtype=CANDIDATE),
        chosen=np.zeros(4, dtype=CANDIDATE),
    )
