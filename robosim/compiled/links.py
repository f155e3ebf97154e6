"""The data of recursions over a tree: the robot as flat arrays, and scratch memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned
from robosim.compiled.records.chart import NO_CHARTS, Charts
from robosim.compiled.records.joint import COORDINATE, PIECE
from robosim.compiled.records.link import (
    ARTICULATED,
    COLUMN,
    COMPOSITE,
    LINK,
    PLACE,
    SPATIAL,
    SPATIAL_COLUMN,
)
from robosim.compiled.records.step import SCRATCH
from robosim.validation import Array


class Links(NamedTuple):
    """The parameters of a tree, read-only."""

    links: NDArray[np.void]  # (nb,) LINK
    coordinates: NDArray[np.void]  # (nv,) COORDINATE
    pieces: NDArray[np.void]  # PIECE of all potentials
    charts: Charts | None  # of joints that are charts
    gravity: Array  # (3,) [m/s^2]


class Recursion(NamedTuple):
    """The data of one call. No value in the scratch memory outlives the call."""

    tree: Links
    places: NDArray[np.void]  # (nb + 1,) PLACE; the world is the last
    columns: NDArray[np.void]  # (nv,) COLUMN
    articulated: NDArray[np.void]  # (nb + 1,) ARTICULATED
    composite: NDArray[np.void]  # (nb + 1,) COMPOSITE
    spatial: NDArray[np.void]  # (nb + 1,) SPATIAL
    ways: NDArray[np.void]  # (nv,) SPATIAL_COLUMN
    scratch: NDArray[np.void]  # (1,) SCRATCH
    # External wrenches on a single state: none.
    pushed: NDArray[np.int64]  # (0,)
    points: Array  # (0, 3)
    wrenches: Array  # (0, 6)


def make_recursion(tree: Links) -> Recursion:
    """Scratch memory for a tree, with all values that are the same in all calls."""
    nb, nv = len(tree.links), len(tree.coordinates)
    places, columns = aligned(nb + 1, PLACE), aligned(nv, COLUMN)
    places["R"][nb] = np.eye(3)
    return Recursion(
        tree,
        places,
        columns,
        aligned(nb + 1, ARTICULATED),
        aligned(nb + 1, COMPOSITE),
        aligned(nb + 1, SPATIAL),
        aligned(nv, SPATIAL_COLUMN),
        aligned(1, SCRATCH),
        np.zeros(0, dtype=np.int64),
        np.zeros((0, 3)),
        np.zeros((0, 6)),
    )


def empty_recursion(charted: bool = False) -> Recursion:
    """A recursion without links, with the types of all robots, or of all robots with charts."""
    none = Links(
        np.zeros(0, dtype=LINK),
        np.zeros(0, dtype=COORDINATE),
        np.zeros(0, dtype=PIECE),
        NO_CHARTS if charted else None,
        np.zeros(3),
    )
    for array in (none.links, none.coordinates, none.pieces, none.gravity):
        array.setflags(write=False)
    return make_recursion(none)
