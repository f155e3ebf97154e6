"""Trees of bounds over triangles and shapes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned
from robosim.compiled.records.ray import BIN, BOUNDS, BRANCH, SPAN
from robosim.kernels.rays.trees import BINS, make_tree
from robosim.validation import Array

LEAF = 4  # triangles of a leaf


class Tree(NamedTuple):
    """A mesh for rays: its triangles in the order of a tree's leaves."""

    corners: Array  # (n, 3, 3)
    branches: NDArray[np.void]  # BRANCH


def tree_over(corners: Array) -> Tree:
    """The tree over triangles (n, 3, 3), each of which has an area."""
    bounds = aligned(len(corners), BOUNDS)
    bounds["box"][:, 0], bounds["box"][:, 1] = corners.min(axis=1), corners.max(axis=1)
    order, branches = grown(bounds, LEAF)
    return Tree(np.ascontiguousarray(corners[order]), branches)


def grown(bounds: NDArray[np.void], most: int) -> tuple[NDArray[np.int64], NDArray[np.void]]:
    """The order of items with bounds, and the branches of a tree over them."""
    n = len(bounds)
    order, branches = np.arange(n), aligned(n, BRANCH)
    if n == 0:
        return order, branches
    made = make_tree(bounds, order, most, branches, aligned(n + 1, SPAN), aligned(BINS + 3, BIN))
    return order, joined([branches[:made]])


def shifted(tree: Tree, branches: int, corners: int) -> Tree:
    """A tree behind others, in arrays that it shares with them."""
    moved = joined([tree.branches])
    ahead = np.where(moved["count"] > 0, corners, branches)
    moved["child"] = np.where(moved["child"] < 0, -1, moved["child"] + ahead)
    return Tree(tree.corners, moved)


def joined(parts: list[NDArray[np.void]]) -> NDArray[np.void]:
    """Branches of several trees, in whole cache lines."""
    out = aligned(sum(map(len, parts)), BRANCH)
    if parts:
        out[:] = np.concatenate(parts)
    return out
