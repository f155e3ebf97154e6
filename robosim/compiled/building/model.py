"""A mechanism compiled to a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.building.actuators import compile_actuators
from robosim.compiled.building.bearings import compile_bearings
from robosim.compiled.building.bodies import body_records, drag_records
from robosim.compiled.building.charts import place_charts
from robosim.compiled.building.contacts import contact_records, place_companions
from robosim.compiled.building.graph import Parts, compile_graph
from robosim.compiled.building.joints import add_rotors, coupling_records, joint_records
from robosim.compiled.building.loops import compile_loops
from robosim.compiled.building.pairs import compile_pairs
from robosim.compiled.building.restitution import restitutions
from robosim.compiled.building.soft import element_records
from robosim.compiled.building.tendons import path_records
from robosim.compiled.kinds import N_CALLS
from robosim.compiled.model import Model
from robosim.description.mechanism import Mechanism


def compile_model(
    mechanism: Mechanism,
    n_facets: int = 0,
    articulated: bool = False,
    velocity_limits: bool = False,
) -> Model:
    """Flatten a mechanism for the kernels; contacts keep the mechanism's order within a body.

    Without facets friction has the exact second-order cone.
    """
    joints, coordinates, pieces = joint_records(mechanism, velocity_limits)
    charts = place_charts(mechanism, joints)
    paths, spans = path_records(mechanism, joints)
    add_rotors(joints, coordinates)
    couplings = coupling_records(mechanism, joints)
    contacts = contact_records(mechanism, joints, velocity_limits)
    collision = compile_pairs(mechanism, len(contacts))
    n_slots = place_companions(contacts, collision.pairs)
    driven = coordinates["driven"] >= 0
    elements = element_records(mechanism)
    parts = Parts(joints, spans, couplings, elements, collision.pairs)
    graph = compile_graph(len(mechanism.bodies), parts, contacts, driven)
    bodies = body_records(mechanism, contacts)
    angles = 2 * np.pi * np.arange(n_facets) / n_facets
    facets = np.column_stack((np.cos(angles), np.sin(angles)))
    for array in (bodies, coordinates, pieces, paths, contacts, *parts):
        array.setflags(write=False)
    loops = compile_loops(mechanism, joints, couplings, velocity_limits, articulated)
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
        n_slots,
        collision,
        facets,
        graph,
        articulated,
        loops,
        charts,
        restitutions(mechanism, contacts, collision, n_slots),
        compile_actuators(mechanism, len(coordinates)),
        drag_records(mechanism),
        compile_bearings(mechanism, contacts),
        elements,
        np.zeros(N_CALLS, dtype=np.int64),
    )


def solved_by(
    model: Model, mechanism: Mechanism, articulated: bool, velocity_limits: bool = False
) -> Model:
    """The model of a mechanism, for the solver of trees or the one with multipliers."""
    loops = compile_loops(mechanism, model.joints, model.couplings, velocity_limits, articulated)
    calls = np.zeros(N_CALLS, dtype=np.int64)
    return model._replace(tree=articulated, loops=loops, calls=calls)


def connect_pairs(model: Model, near: NDArray[np.bool_]) -> Model:
    """The model with blocks for the pairs of bodies that are `near`, and for no other pairs.

    Parameters
    ----------
    model : Model
    near : (np,) for each pair of shapes; those with the world need no blocks
    """
    parts = Parts(
        model.joints, model.spans, model.couplings, model.elements, model.collision.pairs
    ).copied()
    driven = model.coordinates["driven"] >= 0
    graph = compile_graph(len(model.bodies), parts, model.contacts, driven, near)
    for array in parts:
        array.setflags(write=False)
    return model._replace(
        joints=parts.joints,
        spans=parts.spans,
        couplings=parts.couplings,
        collision=model.collision._replace(pairs=parts.pairs),
        graph=graph,
        elements=parts.elements,
    )
