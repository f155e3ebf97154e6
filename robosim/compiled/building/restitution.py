"""Coefficients of restitution of contacts."""

from __future__ import annotations

import numpy as np

from robosim.compiled.model import Collision
from robosim.compiled.order import contact_order
from robosim.description.mechanism import Mechanism
from robosim.validation import Array, read_only


def restitutions(mechanism: Mechanism, collision: Collision, n_slots: int) -> Array:
    """Of each contact of the model and each slot of its pairs, (n_slots,); (0,) if all are 0."""
    shapes = [shape for body in mechanism.bodies for shape in body.collisions]
    if not any(part.restitution for part in (*mechanism.contacts, *mechanism.obstacles, *shapes)):
        return read_only(np.zeros(0))
    coefficients = np.zeros(n_slots)
    for k, c in enumerate(contact_order(mechanism)):
        coefficients[k] = mechanism.contacts[c].restitution
    for pair, sides in zip(collision.pairs, mechanism.touching_shapes(), strict=True):
        # The larger coefficient of the two counts.
        slots = slice(pair["slot_begin"], pair["slot_end"])
        coefficients[slots] = max(shape.restitution for _, shape in sides)
    return read_only(coefficients)
