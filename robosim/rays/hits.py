"""What rays meet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.validation import Array


class Hits(NamedTuple):
    """Where rays first meet a surface; of a batch, with an axis of states before all others.

    Attributes
    ----------
    distance : (n,) [m]
        From the origin; inf for a ray that meets nothing.
    body : (n,) int
        Index among ``robot.bodies``, the number of these for the world, -1 for nothing. Of a soft
        solid, the body of the node nearest to the hit.
    geometry : (n,) int
        Index among ``Scene.targets``, -1 for nothing.
    point : (n, 3) [m], world; nan for nothing
    normal : (n, 3)
        Unit normal of the surface, out of its shape, world; nan for nothing. That of a triangle is
        on the side from which its corners go round counterclockwise.
    """

    distance: Array
    body: NDArray[np.int64]
    geometry: NDArray[np.int64]
    point: Array
    normal: Array


def reshaped(hits: Hits, *shape: int) -> Hits:
    """The same with other axes in place of those of states and rays."""
    return Hits(
        hits.distance.reshape(shape),
        hits.body.reshape(shape),
        hits.geometry.reshape(shape),
        hits.point.reshape(*shape, 3),
        hits.normal.reshape(*shape, 3),
    )


def empty_hits(states: int, rays: int) -> Hits:
    """Memory for results."""
    return Hits(
        np.empty((states, rays)),
        np.empty((states, rays), dtype=np.int64),
        np.empty((states, rays), dtype=np.int64),
        np.empty((states, rays, 3)),
        np.empty((states, rays, 3)),
    )
