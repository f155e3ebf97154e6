"""Records of bodies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.records.body import BODY, DRAG
from robosim.description.mechanism import Mechanism
from robosim.description.rigid import floating_bases
from robosim.validation import read_only


def body_records(mechanism: Mechanism, contacts: NDArray[np.void]) -> NDArray[np.void]:
    nb = len(mechanism.bodies)
    bodies = np.zeros(nb, dtype=BODY)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    bases = floating_bases(mechanism.tree_joints)
    base = [index[bases[body.name]] if body.name in bases else -1 for body in mechanism.bodies]
    floating = np.zeros(nb)
    for i, body in enumerate(mechanism.bodies):
        if base[i] >= 0:
            floating[base[i]] += body.mass
    longest = np.linalg.norm(contacts["semi_axes"], axis=1).max(axis=1)
    distance = np.sqrt(np.sum(contacts["p"] ** 2, axis=1)) + np.maximum(contacts["radius"], longest)
    on_ground = np.where(contacts["other"] == nb, contacts["body"], -1)
    rigid = mechanism.rigid_groups
    for i, body in enumerate(mechanism.bodies):
        # Contacts of bodies that are fixed to the world have no effect.
        mine = np.flatnonzero((on_ground == i) & (rigid[body.name] is not None))
        begin = int(mine[0]) if len(mine) else 0
        reach = float(np.max(distance[mine])) if len(mine) else 0.0
        inverse = np.linalg.inv(np.asarray(body.inertia))
        mass = floating[base[i]] if base[i] >= 0 else 0.0
        contacts_of = begin, begin + len(mine)
        masses = body.mass, body.gravitational_mass
        bodies[i] = (*masses, body.inertia, inverse, reach, *contacts_of, base[i], mass, 1.0)
    return bodies


def drag_records(mechanism: Mechanism) -> NDArray[np.void]:
    """DRAG records of the bodies that have one."""
    drags = [(i, body.drag) for i, body in enumerate(mechanism.bodies) if body.drag is not None]
    records = np.zeros(len(drags), dtype=DRAG)
    for record, (body, drag) in zip(records, drags, strict=True):
        record["body"], record["C"] = body, drag
    return read_only(records)
