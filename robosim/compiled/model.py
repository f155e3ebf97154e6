"""The parameters of a mechanism as flat arrays, read-only.

What a mechanism does not have are arrays of length zero, so that all models have the same type and
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
    """Faces and edges of all polytopes. A tuple of its own: what a kernel is handed is copied."""

    faces: NDArray[np.int64]  # (n, 2) begin and end in loops
    loops: NDArray[np.int64]  # vertices around the faces, counterclockwise from outside
    edges: NDArray[np.int64]  # (n, 4) two vertices, two faces


class ShapeData(NamedTuple):
    """What the shapes of a scene are made of, read-only. Indices count within a shape."""

    vertices: NDArray[np.void]  # (n,) POINT in the shape's axes
    normals: NDArray[np.void]  # (n,) POINT, of faces, outwards
    topology: Topology
    heights: Array  # (n,) of height fields, y runs first
    triangles: NDArray[np.int64]  # (n, 6) corners, and their neighbours' opposite corners or -1
    ring_begin: NDArray[np.int64]  # (n + 1,) where the vertices around a vertex of a mesh begin
    rings: NDArray[np.int64]  # (m,) those vertices
    nodes: NDArray[np.void]  # (n,) NODE


class Collision(NamedTuple):
    """Shapes that may touch each other, read-only; without pairs the ground is all there is."""

    shapes: NDArray[np.void]  # (ns,) SHAPE
    data: ShapeData
    pairs: NDArray[np.void]  # (np,) PAIR


class Loops(NamedTuple):
    """What ties joints of a tree to each other: joints that close loops, and couplings.

    Loops that share joints are one here, with the rows of all their ties.
    """

    ties: NDArray[np.void]  # (nt,) TIE
    joint: NDArray[np.int64]  # (n,) that close loops
    rows: NDArray[np.int64]  # (nl,) of all ties of a loop, six at most
    top: NDArray[np.int64]  # (nl,) body that all of the loop hangs on, nb for the world
    first: NDArray[np.int64]  # (nb + 2,) the first loop with a body, or the world, for its top
    over: NDArray[np.int64]  # (nb,) loop that the joint of a body is part of, -1 for none
    coupled: NDArray[np.void]  # (n,) COUPLED, by body
    coupled_begin: NDArray[np.int64]  # (nb + 1,) those of a body's joint


class Actuators(NamedTuple):
    """Implicit actuators, whose forces are laws of coordinates, read-only."""

    laws: NDArray[np.void]  # (n,) ACTUATOR, by coordinate
    begin: NDArray[np.int64]  # (rates + 1,) those of each coordinate
    pieces: NDArray[np.void]  # PIECE of all curves


class Bearings(NamedTuple):
    """What pads of bearings press with along their normals, by the impulses of their joints."""

    joint: NDArray[np.int64]  # (n,) that have bearings
    begin: NDArray[np.int64]  # (n + 1,) where the normals of each begin
    shares: Array  # (m, 6) what presses along a normal, for a wrench about the joint's point
    slips: Array  # (m, 2, 6) wrench of its friction in full slip along either tangent, for 1 N
    contact: NDArray[np.int64]  # (m,) the dry friction whose bound that is part of
    friction: NDArray[np.int64]  # (k,) all of these contacts, once


class Graph(NamedTuple):
    """The elimination as a program over block numbers, read by ``kernels.solve.graph.ldu``."""

    pivots: NDArray[np.void]
    neighbours: NDArray[np.void]
    updates: NDArray[np.void]


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
    n_slots: int  # of them, of the features that pairs have room for, and of what resists turning
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
    calls: NDArray[np.int64]  # (N_CALLS,) addresses of what was compiled for its features, or 0


class Options(NamedTuple):
    """What a step needs to know beyond the model; see Simulation for the meaning and defaults."""

    dt: float
    gravity: Array  # (3,) [m/s^2]
    tolerance: float  # of the equations [m/s]
    contact_speed: float  # creep and gap over dt that a resting contact may have [m/s]
    max_iterations: int
    max_substeps: int
    last_attempt: int  # at a step, of kernels.status
    hands_over: bool  # whether what the attempts do not solve goes to another solver, undivided
    order: int  # 2, or 4 where the motion is smooth
    restitution_threshold: float  # approach that is not faster does not bounce [m/s]
