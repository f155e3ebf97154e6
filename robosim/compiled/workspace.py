"""Scratch memory of a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned, copied, emptied
from robosim.compiled.kinds import POLYTOPE
from robosim.compiled.memory import Guesses, make_guesses, make_poses
from robosim.compiled.model import Model, ShapeData
from robosim.compiled.order import n_lengths
from robosim.compiled.records.body import BODY_STATE, BODY_WORK
from robosim.compiled.records.contact import CONTACT, CONTACT_GUESS, CONTACT_WORK
from robosim.compiled.records.graph import ROW
from robosim.compiled.records.joint import COUPLING_WORK, JOINT_WORK
from robosim.compiled.records.narrow_phase import (
    CANDIDATE,
    CORNER,
    FEATURES,
    PAIR_WORK,
    POLY,
)
from robosim.compiled.records.shape import FEATURE, FOUND, POINT
from robosim.compiled.records.soft import ELEMENT_WORK
from robosim.compiled.records.step import PART, SCRATCH
from robosim.compiled.state import State, make_state
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


class Listed(NamedTuple):
    """Which vertices, faces and edges of two polytopes may touch the other one.

    Marks are the stamps of the pairs for which they were listed last.
    """

    vertices: NDArray[np.int64]  # (2, most vertices)
    faces: NDArray[np.int64]  # (2, most faces)
    edges: NDArray[np.int64]  # (2, most edges)
    vertex_marks: NDArray[np.int64]  # (2, most vertices)
    face_marks: NDArray[np.int64]  # (2, most faces)
    edge_marks: NDArray[np.int64]  # (2, most edges)


class ShapeScratch(NamedTuple):
    """Scratch memory of one narrow phase.

    The first of `poly` is that of the pair's first shape in its own frame: x and R there are
    constant.
    """

    pair: NDArray[np.void]  # (1,) PAIR_WORK
    poly: NDArray[np.void]  # (2,) POLY
    vertices: NDArray[np.void]  # (2, most vertices) POINT
    normals: NDArray[np.void]  # (2, most faces) POINT
    listed: Listed
    opposite: NDArray[np.void]  # (3,) POINT, corners of a triangle's neighbours
    around: NDArray[np.void]  # (n,) POINT, corners around each corner of a triangle
    polygon: NDArray[np.void]  # (2, corners of a clipped face) CORNER
    near: NDArray[np.int64]  # (most edges,)
    candidates: NDArray[np.void]  # (n,) CANDIDATE
    chosen: NDArray[np.void]  # (12,) CANDIDATE


class CollisionWork(NamedTuple):
    """Scratch memory of finding where shapes touch."""

    scratch: ShapeScratch
    features: NDArray[np.void]  # (12,) FEATURE
    found: NDArray[np.void]  # (np,) FOUND
    near: NDArray[np.int64]  # (np + 1,) how many pairs may touch, and which ones
    ahead: Array  # (nb + 1,) how far each body will have come since the first look [m]
    kept: NDArray[np.void]  # (2,) POSE of two bodies, while others are looked at


class BearingWork(NamedTuple):
    """Scratch memory for the bounds of bearings' friction."""

    pressed: Array  # (m,) impulses along the normals of pads
    bounds: Array  # (nc,) bounds that follow from `pressed`, by contact
    missed: Array  # (nc, 2) errors of the bounds in the equations, now and before
    within: Array  # (nc, 2) bounds that were found too small and too large, 0 and inf for none
    fraction: Array  # (1,) part of the impulses at the first knot that belongs to the interval
    own: Array  # (nc,) the same of friction, without that of impulses which are over
    carried: Array  # (m,) impulses along the normals of pads that the second knot has
    bold: Array  # (1,) factor of the next change of the bounds


class Workspace(NamedTuple):
    """Scratch memory of a step: nothing in it is read before the step has written it.

    Constant are the last rows, the world's, of `bodies` and `pose2`, and the model's own contacts,
    the first of `slots`.
    """

    bodies: NDArray[np.void]  # (nb + 1,) BODY_WORK, the world last
    joints: NDArray[np.void]  # (nj,) JOINT_WORK
    couplings: NDArray[np.void]  # COUPLING_WORK
    contacts: NDArray[np.void]  # (nc,) CONTACT_GUESS, unknowns of those in the equations
    span1: NDArray[np.void]  # ROW of each span at the first knot
    span2: NDArray[np.void]  # and at the second one
    pose2: NDArray[np.void]  # (nb + 1,) POSE at the second knot, the world last
    twists: NDArray[np.void]  # (nb + 1,) ROW, world twists, the world last
    known: NDArray[np.void]  # (nb + 1,) ROW, momenta of the bodies plus the forces' half at a knot
    slots: NDArray[np.void]  # CONTACT: the model's contacts, then room for features of pairs
    ids: NDArray[np.int64]  # (nc,) id of the feature in each slot, -1 for none
    collision: CollisionWork
    impulse: NDArray[np.void]  # (nb + 1,) ROW, impulses of joints and contacts at knot 1
    residual: NDArray[np.void]  # (n_nodes,) ROW, residual without the contacts' response
    rhs: NDArray[np.void]  # (n_nodes,) ROW
    correction: NDArray[np.void]  # (n_nodes,) ROW, correction of a direction by refinement
    active: NDArray[np.int64]  # (nc + 1,) their count, then the contacts in the equations
    entered: NDArray[np.int64]  # (nc,) 1 for contacts in the equations, 0 for the others
    joined: NDArray[np.void]  # (1,) CONTACT_WORK, what contacts on one spring add together
    q2: Array  # joint coordinates at the second knot, of joints with laws
    scratch: NDArray[np.void]  # (1,) SCRATCH
    saved: State  # restored if a step fails
    read: State  # velocities to be read at the second knot, where they are others
    learned: Guesses  # for the next step
    part: NDArray[np.void]  # (1,) PART of a step to an accuracy
    # Of such a step, else empty:
    begun: State  # where its present part begins
    begun_guesses: Guesses
    middles: NDArray[np.void]  # (nb,) BODY_STATE in the middle of the part
    ends: NDArray[np.void]  # (nb,) and at its end, if it is taken as a whole
    drags: NDArray[np.void]  # DRAG as in the model, at the first knot, world, times dt / 2
    bearings: BearingWork
    elements: NDArray[np.void]  # ELEMENT_WORK


def make_slots(model: Model) -> NDArray[np.void]:
    """The model's contacts, and room for features of pairs and for companions."""
    # Of slots that have never been used the operating system has no memory.
    slots = np.zeros(model.n_slots, dtype=CONTACT)
    slots[: len(model.contacts)] = model.contacts
    return slots


def make_workspace(mechanism: Mechanism, model: Model, accurate: bool = False) -> Workspace:
    """Scratch memory for stepping one state of the model, to an accuracy or not."""
    nb = len(model.bodies)
    saved, learned = make_state(mechanism, model), make_guesses(model)
    again, moved = (copied, nb) if accurate else (emptied, 0)
    world_last = np.zeros(nb + 1, dtype=BODY_WORK)
    world_last["P"][:, 0] = 1.0
    slots = make_slots(model)
    shapes, data, pairs, _ = model.collision
    collision = CollisionWork(
        make_shape_scratch(shapes, data),
        np.zeros(FEATURES, dtype=FEATURE),
        np.zeros(len(pairs), dtype=FOUND),
        np.zeros(len(pairs) + 1, dtype=np.int64),
        np.zeros(nb + 1),
        make_poses(1),
    )
    nc = len(model.contacts) if len(model.bearings.joint) else 0
    m = len(model.bearings.contact)
    counts = m, nc, (nc, 2), (nc, 2), 1, nc, m, 1
    bearings = BearingWork(*(np.zeros(count) for count in counts))
    return Workspace(
        bodies=world_last,
        joints=aligned(len(model.joints), JOINT_WORK),
        couplings=np.zeros(len(model.couplings), dtype=COUPLING_WORK),
        contacts=np.zeros(len(slots), dtype=CONTACT_GUESS),
        span1=np.zeros(len(model.spans), dtype=ROW),
        span2=np.zeros(len(model.spans), dtype=ROW),
        pose2=make_poses(nb),
        twists=np.zeros(nb + 1, dtype=ROW),
        known=np.zeros(nb + 1, dtype=ROW),
        slots=slots,
        ids=np.full(len(slots), -1, dtype=np.int64),
        collision=collision,
        impulse=np.zeros(nb + 1, dtype=ROW),
        residual=np.zeros(model.graph.n_nodes, dtype=ROW),
        rhs=np.zeros(model.graph.n_nodes, dtype=ROW),
        correction=np.zeros(model.graph.n_nodes, dtype=ROW),
        active=np.zeros(len(slots) + 1, dtype=np.int64),
        entered=np.zeros(len(slots), dtype=np.int64),
        joined=aligned(1, CONTACT_WORK),
        q2=np.zeros(mechanism.q_offsets[-1] + n_lengths(mechanism)),
        scratch=aligned(1, SCRATCH),
        saved=saved,
        read=copied(saved),
        learned=learned,
        part=np.zeros(1, dtype=PART),
        begun=again(saved),
        begun_guesses=again(learned),
        middles=np.zeros(moved, dtype=BODY_STATE),
        ends=np.zeros(moved, dtype=BODY_STATE),
        drags=model.drags.copy(),
        bearings=bearings,
        elements=np.zeros(len(model.elements), dtype=ELEMENT_WORK),
    )


def make_shape_scratch(shapes: NDArray[np.void], data: ShapeData) -> ShapeScratch:
    """Scratch memory for the narrow phase of any two of the shapes."""
    convex = shapes[shapes["kind"] <= POLYTOPE]
    # A segment has 2 vertices, a triangle 3 and, with its neighbours, 4 normals.
    n_vertices = max([3, *convex["n_vertices"]])
    n_faces = max([4, *convex["n_faces"]])
    n_edges = max([3, *convex["n_edges"]])
    most_around = int(np.diff(data.topology.ring_begin).max(initial=0))
    sizes = n_vertices, n_faces, n_edges
    # Every side of a face that cuts a polygon adds one point to it.
    n_corners = max(6, 2 * int(np.diff(data.topology.faces).max(initial=0)) + 2)
    poly = np.zeros(2, dtype=POLY)
    poly["R"] = np.eye(3)
    return ShapeScratch(
        pair=np.zeros(1, dtype=PAIR_WORK),
        poly=poly,
        vertices=np.zeros((2, n_vertices), dtype=POINT),
        normals=np.zeros((2, n_faces), dtype=POINT),
        listed=Listed(*(np.zeros((2, n), dtype=np.int64) for n in 2 * sizes)),
        opposite=np.zeros(3, dtype=POINT),
        around=np.zeros(3 * max(6, most_around) + 1, dtype=POINT),
        polygon=np.zeros((2, n_corners), dtype=CORNER),
        near=np.zeros(n_edges, dtype=np.int64),
        candidates=np.zeros(64 + max(2 * n_corners, n_vertices + 2 * n_edges), dtype=CANDIDATE),
        chosen=np.zeros(FEATURES, dtype=CANDIDATE),
    )
