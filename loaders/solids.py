"""Whether meshes enclose a volume, cached on disk for large meshes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.description import solids
from robosim.loaders import disk_cache

_WORTH_KEEPING = 2000  # faces; with fewer, a computation is faster than reading from disk

Array = NDArray[np.float64]
Faces = NDArray[np.int64]


def is_closed(vertices: Array, faces: Faces) -> bool:
    """`robosim.description.solids.is_closed`, cached on disk for large meshes."""
    if len(faces) < _WORTH_KEEPING:
        return solids.is_closed(vertices, faces)
    name = disk_cache.digest("closed", vertices, faces)

    def compute() -> disk_cache.Arrays:
        return {"closed": np.array(solids.is_closed(vertices, faces))}

    return disk_cache.cached(name, compute, lambda found: bool(found["closed"].item()))
