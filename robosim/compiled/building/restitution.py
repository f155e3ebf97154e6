"""Coefficients of restitution of contacts and of limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.kinds import CONE, LIMIT, TURN
from robosim.compiled.model import Collision
from robosim.compiled.order import contact_order
from robosim.description.mechanism import Mechanism
from robosim.validation import Array, read_only


def restitutions(
    mechanism: Mechanism, contacts: NDArray[np.void], collision: Collision, n_slots: int
) -> Array:
    """Of each contact of the model and each slot of its pairs, (n_slots,); (0,) if all are 0."""
    stops = np.flatnonzero(np.isin(contacts["kind"], (LIMIT, CONE, TURN))).tolist()
    # Limits of tendons, whose records follow those of joints, have none.
    limits = {k: mechanism.joints[contacts["joint"][k]].limit_restitution for k in stops
              if contacts["joint"][k] < len(mechanism.joints)}  # fmt: skip
    shapes = [shape for body in mechanism.bodies for shape in body.collisions]
    parts = (*mechanism.contacts, *mechanism.obstacles, *shapes)
    if not any(part.restitution for part in parts) and not any(limits.values()):
        return read_only(np.zeros(0))
    coefficients = np.zeros(n_slots)
    for k, c in enumerate(contact_order(mechanism)):
        coefficients[k] = mechanism.contacts[c].restitution
    coefficients[list(limits)] = list(limits.values())
    for pair, sides in zip(collision.pairs, mechanism.touching_shapes(), strict=True):
        # The larger coefficient of the two counts.
        slots = slice(pair["slot_begin"], pair["slot_end"])
        if pair["compliant"] == 0:
            coefficients[slots] = max(shape.restitution for _, shape in sides)
    return read_only(coefficients)
