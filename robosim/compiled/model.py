"""The parameters of a mechanism as flat arrays, read-only.

Elements that a mechanism lacks are arrays of length zero, so that all models have the same type and
share their kernels.

`Model` holds no state and is read-only; `State`, `Memory` and `Loads` hold no parameters, and
`Workspace` is scratch.
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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.records.chart import Charts
from robosim.validation import Array


class Topology(NamedTuple):
    """Faces and edges of all polytopes. Only `rings` counts vertices of all shapes together."""

    faces: NDArray[np.int64]  # (n, 2) begin and end in loops
    loops: NDArray[np.int64]  # vertices around the faces, counterclockwise from outside
    edges: NDArray[np.int64]  # (n, 4) two vertices, two faces
    ring_begin: NDArray[np.int64]  # (n + 1,) where the vertices around a vertex begin
    rings: NDArray[np.int64]  # (m,) those vertices, which edges lead to, of meshes too
    ring_edges: NDArray[np.int64]  # (m,) rows of those edges, -1 of meshes


class ShapeData(NamedTuple):
    """Geometry of the shapes of a scene, read-only. Indices count within a shape."""

    vertices: NDArray[np.void]  # (n,) POINT in the shape's axes
    normals: NDArray[np.void]  # (n,) POINT, of faces, outwards
    topology: Topology
    heights: Array  # (n,) of height fields, y runs first
    triangles: NDArray[np.int64]  # (n, 6) corners, and their neighbours' opposite corners or -1
    nodes: NDArray[np.void]  # (n,) NODE


class Collision(NamedTuple):
    """Shapes that may touch each other, read-only; without pairs there is only the ground."""

    shapes: NDArray[np.void]  # (ns,) SHAPE
    data: ShapeData
    pairs: NDArray[np.void]  # (np,) PAIR
    reach: Array  # (nb + 1,) from each body's centre of mass to the farthest point of its shapes


class Loops(NamedTuple):
    """Ties between joints of a tree, which are joints that close loops, and couplings.

    Loops that share joints are one loop here, with the rows of all their ties.
    """

    ties: NDArray[np.void]  # (nt,) TIE
    joint: NDArray[np.int64]  # (n,) joints that close loops
    rows: NDArray[np.int64]  # (nl,) number of rows of all ties of a loop, six at most
    top: NDArray[np.int64]  # (nl,) body that all joints of a loop hang on, nb for the world
    first: NDArray[np.int64]  # (nb + 2,) the first loop with a body, or the world, for its top
    over: NDArray[np.int64]  # (nb,) loop that the joint of a body is part of, -1 for none
    coupled: NDArray[np.void]  # (n,) COUPLED, by body
    coupled_begin: NDArray[np.int64]  # (nb + 1,) where those of each body's joint begin


class Actuators(NamedTuple):
    """Implicit actuators, whose forces are laws of coordinates, read-only."""

    laws: NDArray[np.void]  # (n,) ACTUATOR, by coordinate
    begin: NDArray[np.int64]  # (rates + 1,) where those of each coordinate begin
    pieces: NDArray[np.void]  # PIECE of all curves


class Bearings(NamedTuple):
    """Normal impulses of pads of bearings, and their friction, by the impulses of their joints."""

    joint: NDArray[np.int64]  # (n,) joints that have bearings
    begin: NDArray[np.int64]  # (n + 1,) where the normals of each begin
    shares: Array  # (m, 6) normal impulse by the wrench about the joint's point
    slips: Array  # (m, 2, 6) wrench of full slip along either tangent, for a normal force of 1
    contact: NDArray[
        np.int64
    ]  # (m,) contact of dry friction, whose bound includes the normal impulse
    friction: NDArray[np.int64]  # (k,) all of these contacts, once


class Graph(NamedTuple):
    """The elimination as a program over block numbers, read by ``kernels.solve.graph.ldu``."""

    pivots: NDArray[np.void]  # PIVOT of nodes outside of fronts, in order
    neighbours: NDArray[np.void]  # NEIGHBOUR
    updates: NDArray[np.void]  # UPDATE
    fronts: NDArray[np.void]  # FRONT, in order, after all pivots
    places: NDArray[np.void]  # PLACE
    entries: NDArray[np.void]  # ENTRY
    turns: NDArray[np.void]  # TURN of bodies whose rotation is held apart from all others
    rows: NDArray[np.int64]  # of the blocks before the fronts' tiles: how many are in use
    n_nodes: int
    n_blocks: int  # with the tiles of fronts, which come last


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
    n_ground: int  # number of contacts with the ground
    n_slots: int  # number of contacts, of slots for features of pairs, and of companions
    collision: Collision
    facets: Array  # (nf, 2) of the linearized friction cone; (0, 2) for the exact one
    graph: Graph
    tree: bool  # whether it is solved as a tree, or by its graph (`robosim.kernels.solve`)
    loops: Loops  # of a tree
    charts: Charts  # of joints that are charts, which find them by their addresses
    restitution: Array  # (nc,) of each contact and slot; (0,) if nothing bounces
    actuators: Actuators  # implicit ones
    drags: NDArray[np.void]  # DRAG of the bodies that have one, in body axes
    bearings: Bearings
    elements: NDArray[np.void]  # ELEMENT of soft solids
    calls: NDArray[np.int64]  # (N_CALLS,) addresses of compiled features, or 0

    @property
    def couples_bodies(self) -> bool:
        """Whether two bodies may touch each other."""
        pairs, nb = self.collision.pairs, len(self.bodies)
        return bool(np.any((pairs["body_a"] < nb) & (pairs["body_b"] < nb)))


class Options(NamedTuple):
    """Options of a step; see Simulation for their meaning and defaults."""

    dt: float
    gravity: Array  # (3,) [m/s^2]
    tolerance: float  # of the equations [m/s]
    contact_speed: float  # creep and gap over dt that a resting contact may have [m/s]
    max_iterations: int
    max_substeps: int
    last_attempt: int  # last attempt at a step, see kernels.status
    hands_over: bool  # whether steps that no attempt solves go to another solver, undivided
    order: int  # 2, or 4 where the motion is smooth
    restitution_threshold: float  # contacts that approach more slowly do not bounce [m/s]
    accuracy: float = 0.0  # largest error per second of motion [m/s], 0 for undivided steps
