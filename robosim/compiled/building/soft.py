"""Records of elastic elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.records.soft import ELEMENT
from robosim.description.mechanism import Mechanism


def element_records(mechanism: Mechanism) -> NDArray[np.void]:
    """ELEMENT records of all soft meshes, without their blocks."""
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    elements = [np.zeros(0, dtype=ELEMENT)]
    for mesh in mechanism.soft_meshes:
        nodes = np.asarray(mesh.tetrahedra)
        bodies = np.array([nb if name is None else index[name] for name in mesh.bodies])
        records = np.zeros(len(nodes), dtype=ELEMENT)
        records["body"], records["p"] = bodies[nodes], np.asarray(mesh.positions)[nodes]
        moving = records["body"] < nb
        records["arms"] = np.any((records["p"] != 0.0) & moving[..., None], axis=(1, 2))
        records["g"], records["volume"] = mesh.shapes
        records["mu"], records["lam"], records["alpha"] = mesh.moduli
        records["ease"] = mesh.density / np.sum(records["g"] ** 2, axis=(1, 2))
        elements.append(records)
    return np.concatenate(elements)
