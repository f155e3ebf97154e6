"""Fronts: dense parts of the elimination, where nodes have many neighbours [Duff1983].

A front eliminates nodes that are connected to nearly the same others. It is a dense matrix over the
rows of these nodes, its pivots, and of their neighbours that are left, its border. It gathers its
entries from the blocks of its pivots and from the borders of fronts before it, whose own first node
is among its pivots. The matrix is cut into tiles of 6x6, whatever the numbers of rows of the nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.records.graph import ENTRY, FRONT, PLACE

# What a front costs beside its products of tiles, in these: each of its tiles, those of its border,
# and the front itself.
TILE, PASSED, OWN = 0.3, 1.0, 8.0


def members(bits: int) -> list[int]:
    """Numbers of the bits that are set, ascending."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


class Front:
    """Pivots, and the border as bits, by place in the order; `rows` of the nodes there."""

    def __init__(self, pivots: list[int], border: int, rows: Sequence[int]) -> None:
        self.pivots, self.border = pivots, border
        self._rows = rows
        own = _tiles([rows[k] for k in pivots])
        self.pivot_tiles, self.tiles = own, own + _tiles([rows[k] for k in members(border)])
        around = self.tiles - own
        products = _squares(self.tiles) - _squares(around)
        self.cost = products + TILE * self.tiles**2 + PASSED * around**2 + OWN

    def layout(self) -> tuple[dict[int, tuple[int, int]], int]:
        """(tile, row in that) of each node, pivots first, and the rows used in the last pivots'.

        Nodes of six rows have tiles of their own, and come first.
        """
        found: dict[int, tuple[int, int]] = {}
        used = 0
        for nodes, first in ((self.pivots, 0), (members(self.border), self.pivot_tiles)):
            row = 6 * first
            for k in sorted(nodes, key=lambda k: (-self._rows[k], k)):
                found[k] = divmod(row, 6)
                row += self._rows[k]
            used = used or (row - 1) % 6 + 1
        return found, used


def _tiles(rows: Collection[int]) -> int:
    return -(-sum(rows) // 6)


def _squares(n: int) -> int:
    """1 + 4 + ... + n^2."""
    return n * (n + 1) * (2 * n + 1) // 6


def find_fronts(
    later: Sequence[int],
    order: Sequence[int],
    begin: int,
    sizes: Sequence[int],
    blocks: Mapping[tuple[int, int], int],
) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.void], int]:
    """FRONT, PLACE and ENTRY records, and the number of all blocks, with the fronts' tiles.

    Parameters
    ----------
    later : for each place in the order, the later places that it has blocks with, as bits
    order : nodes
    begin : the place from which on nodes are in fronts
    sizes : number of rows of each node
    blocks : number of each block outside of fronts
    """
    n, n_blocks = len(order), len(blocks)
    n_blocks = max(blocks.values(), default=-1) + 1
    rows = [sizes[node] for node in order]
    fronts = _merged(later, begin, rows)
    first: list[int] = []
    for front in fronts:
        first.append(n_blocks)
        # Behind its tiles a front has a vector of their rows.
        n_blocks += front.tiles**2 + -(-front.tiles // 6)
    owner = [-1] * n
    for f, front in enumerate(fronts):
        for k in front.pivots:
            owner[k] = f
    layouts = [front.layout() for front in fronts]
    records, places, entries = [], [], []
    for f, front in enumerate(fronts):
        at, used = layouts[f]
        up = owner[(front.border & -front.border).bit_length() - 1] if front.border else -1
        above = layouts[up][0] if up >= 0 else {}
        began = len(places), len(entries)
        places += [
            (
                order[k],
                *at[k],
                rows[k],
                *(above[k] if k in above and k not in front.pivots else (0, 0)),
            )
            for k in at
        ]
        for k in front.pivots:
            for other in (k, *members(later[k])):
                for i, j in {(k, other), (other, k)}:
                    (tile, row), (across, column) = at[i], at[j]
                    tile = first[f] + tile * front.tiles + across
                    block = blocks[order[i], order[j]]
                    entries.append((block, tile, row, column, rows[i], rows[j]))
        records.append(
            (first[f], front.tiles, front.pivot_tiles, used,
             began[0], began[0] + len(front.pivots), len(places), began[1], len(entries),
             first[up] if up >= 0 else 0, fronts[up].tiles if up >= 0 else 0)
        )  # fmt: skip
    return (
        np.array(records, dtype=FRONT),
        np.array(places, dtype=PLACE),
        np.array(entries, dtype=ENTRY),
        n_blocks,
    )


def _merged(later: Sequence[int], begin: int, rows: Sequence[int]) -> list[Front]:
    """Fronts of all nodes from `begin` on, in order; those that are better as one are one."""
    below: dict[int, list[Front]] = {}
    found: list[Front] = []
    filled = list(later)
    for k in range(begin, len(filled)):
        border = filled[k]
        front = Front([k], border, rows)
        for child in sorted(below.pop(k, ()), key=lambda one: -one.tiles):
            one = Front([*child.pivots, *front.pivots], border, rows)
            if one.cost <= front.cost + child.cost:
                front = one
            else:
                found.append(child)
        if border:
            above = (border & -border).bit_length() - 1
            filled[above] |= border & ~(1 << above)
            below.setdefault(above, []).append(front)
        else:
            found.append(front)
    return sorted(found, key=lambda front: max(front.pivots))
