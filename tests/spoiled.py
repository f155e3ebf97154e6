"""Memory that holds what no step may read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robosim import Simulation

JUNK = np.nan, 1e300, -1.0, 3.0
# Places of the world in arrays of bodies: constant, as the model's contacts in `slots` are.
WORLD_LAST = {"bodies", "pose2"}
SHARE = "slots.share"  # what a contact counts, which differs among the limbs in lanes alone


def leave_junk(rng: np.random.Generator) -> None:
    """Fill and free memory, of which arrays that are made next get some."""
    left = [np.full(rng.integers(10, 5000), value) for value in JUNK for _ in range(50)]
    del left


def floats(values: Any, name: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """All arrays of floats in nested named tuples, and fields of records, as "array.field"."""
    for key, value in zip(values._fields, values, strict=True):
        if isinstance(value, tuple):
            yield from floats(value, key)
        elif isinstance(value, np.ndarray) and value.dtype.names:
            if key == "poly":
                value = value[1:]  # the first one's place is constant
            for field in value.dtype.names:
                if value.dtype[field].base == np.float64:
                    yield f"{key}.{field}", value[field]
        elif isinstance(value, np.ndarray) and value.dtype == np.float64:
            yield key, value


def spoil_workspace(sim: Simulation) -> None:
    """Not a number, in all scratch memory."""
    for one in sim.engine.systems:
        work, model = one.parts.work, one.parts.model
        for name, array in floats(work):
            key = name.partition(".")[0]
            if name == SHARE:
                continue
            if key == "slots":
                array[len(model.contacts) :] = np.nan
            else:
                array[: len(array) - (key in WORLD_LAST)] = np.nan
        work.active[:] = work.entered[:] = 1
        work.ids[:] = 0
