"""Records of bodies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.records.body import BODY
from robosim.description.mechanism import Mechanism


def body_records(mechanism: Mechanism, contacts: NDArray[np.void]) -> NDArray[np.void]:
    nb = len(mechanism.bodies)
    bodies = np.zeros(nb, dtype=BODY)
    base = _floating_bases(mechanism)
    floating = np.zeros(nb)
    for i, body in enumerate(mechanism.bodies):
        if base[i] >= 0:
            floating[base[i]] += body.mass
    distance = np.sqrt(np.sum(contacts["p"] ** 2, axis=1)) + contacts["radius"]
    on_ground = np.where(contacts["other"] == nb, contacts["body"], -1)
    rigid = mechanism.rigid_groups
    for i, body in enumerate(mechanism.bodies):
        # The ground pushes in vain against what is fixed to the world.
        mine = np.flatnonzero((on_ground == i) & (rigid[body.name] is not None))
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
