"""Fronts: dense parts of the elimination, where nodes have many neighbours [Duff1983].

A front eliminates nodes that are connected to nearly the same others. It is a dense matrix over the
rows of these nodes, its pivots, and of their neighbours that are left, its border. It gathers its
entries from the blocks of its pivots and from the borders of fronts before it, whose own first node
is among its pivots. The matrix is cut into tiles of 6x6, whatever the numbers of rows of the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.records.graph import ENTRY, FRONT, PLACE

# What a front costs beside its products of tiles, in these: each of its tiles, those of its border,
# and the front itself.
TILE, PASSED, OWN = 0.3, 1.0, 8.0

Indices = NDArray[np.int64]


class Pattern(NamedTuple):
    """Blocks beside the diagonal, by the places of their nodes in the order of elimination."""

    begin: Indices  # (places + 1,) where the blocks of each place begin
    later: Indices  # places of the other nodes, ascending
    first: Indices  # the place itself

    @classmethod
    def of(cls, later: Sequence[int]) -> Pattern:
        """From the later places that each has blocks with, as the bits of an integer."""
        first, other = elements(later, len(later))
        return cls(np.searchsorted(first, np.arange(len(later) + 1)), other, first)


class Front(NamedTuple):
    """Nodes by place in the order, as bits, and numbers of tiles."""

    pivots: int
    border: int
    pivot_tiles: int
    tiles: int
    cost: float


class Rows:
    """Numbers of rows of the nodes, by place in the order."""

    def __init__(self, rows: Sequence[int]) -> None:
        marked = {size: ["1" if one == size else "0" for one in reversed(rows)] for size in (1, 3)}
        self._ones, self._threes = (int("".join(marked[size]) or "0", 2) for size in (1, 3))

    def front(self, pivots: int, border: int) -> Front:
        """The front of these nodes."""
        own, around = self._tiles(pivots), self._tiles(border)
        products = _squares(own + around) - _squares(around)
        cost = products + TILE * (own + around) ** 2 + PASSED * around**2 + OWN
        return Front(pivots, border, own, own + around, cost)

    def _tiles(self, nodes: int) -> int:
        rows = 6 * nodes.bit_count()
        rows -= 3 * (nodes & self._threes).bit_count() + 5 * (nodes & self._ones).bit_count()
        return -(-rows // 6)


def members(bits: int) -> list[int]:
    """Numbers of the bits that are set, ascending."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def elements(sets: Sequence[int], n: int) -> tuple[Indices, Indices]:
    """Numbers of the set and of the bit, for each bit of sets of n bits."""
    size = -(-n // 8)
    octets = np.frombuffer(b"".join(bits.to_bytes(size, "little") for bits in sets), np.uint8)
    bits = np.unpackbits(octets.reshape(len(sets), size), axis=1, count=n, bitorder="little")
    found, element = np.nonzero(bits)
    return found, element


def lowest(bits: int) -> int:
    """Number of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


def _squares(n: int) -> int:
    """1 + 4 + ... + n^2."""
    return n * (n + 1) * (2 * n + 1) // 6


def merged(later: Sequence[int], begin: int, rows: Sequence[int]) -> list[Front]:
    """Fronts of all places from `begin` on, in order; those that are better as one are one."""
    sizes, filled = Rows(rows), list(later)
    below: dict[int, list[Front]] = {}
    found: list[tuple[int, Front]] = []
    for k in range(begin, len(filled)):
        border = filled[k]
        front = sizes.front(1 << k, border)
        for child in sorted(below.pop(k, ()), key=lambda one: -one.tiles):
            one = sizes.front(child.pivots | front.pivots, border)
            if one.cost <= front.cost + child.cost:
                front = one
            else:
                found.append((child.pivots.bit_length(), child))
        if border:
            above = lowest(border)
            filled[above] |= border & (border - 1)
            below.setdefault(above, []).append(front)
        else:
            found.append((k + 1, front))
    return [front for _, front in sorted(found)]


def front_records(
    fronts: Sequence[Front],
    pattern: Pattern,
    begin: int,
    order: Indices,
    rows: Indices,
    n_blocks: int,
    first_tile: int,
) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.void], int]:
    """FRONT, PLACE and ENTRY records, and the number of all blocks, with the fronts' tiles.

    Parameters
    ----------
    fronts, pattern
    begin : the place from which on nodes are in fronts
    order, rows : nodes by place, and their numbers of rows
    n_blocks : number of the diagonal blocks, and of two for each of the pattern, which follow
    first_tile : number of the first block that is a tile
    """
    n = len(order)
    records = np.zeros(len(fronts), dtype=FRONT)
    if not fronts:
        return records, np.zeros(0, dtype=PLACE), np.zeros(0, dtype=ENTRY), first_tile
    records["tiles"] = [front.tiles for front in fronts]
    records["pivots"] = [front.pivot_tiles for front in fronts]
    # Behind its tiles a front has a vector of their rows.
    sizes = records["tiles"] ** 2 + -(-records["tiles"] // 6)
    ends = first_tile + np.cumsum(sizes)
    records["begin"] = ends - sizes

    # Pivots, then the border; nodes of six rows come first, as they have tiles of their own.
    part, place = elements([half for one in fronts for half in (one.pivots, one.border)], n)
    sort = np.lexsort((place, -rows[place], part))
    part, place = part[sort], place[sort]
    front, on_border = part // 2, part % 2
    at = np.searchsorted(part, np.arange(2 * len(fronts) + 1))
    before = np.concatenate(([0], np.cumsum(rows[place])))
    row = before[:-1] - before[at[part]] + 6 * np.where(on_border, records["pivots"][front], 0)
    places = np.zeros(len(place), dtype=PLACE)
    places["node"], places["rows"] = order[place], rows[place]
    places["tile"], places["row"] = row // 6, row % 6
    records["place_begin"], records["border_begin"] = at[:-1:2], at[1::2]
    records["place_end"] = at[2::2]
    own_rows = before[at[1::2]] - before[at[:-1:2]]
    records["used"] = (own_rows - 1) % 6 + 1

    owner = np.zeros(n, dtype=np.int64)
    owner[place[on_border == 0]] = front[on_border == 0]
    keys = front * n + place
    by_key = np.argsort(keys)

    def where(fronts: Indices, nodes: Indices) -> Indices:
        return by_key[np.searchsorted(keys, fronts * n + nodes, sorter=by_key)]

    up = np.array([owner[lowest(one.border)] if one.border else -1 for one in fronts])
    records["first_below"] = records["next_below"] = -1
    for f, above in enumerate(up.tolist()):
        if above >= 0:
            records["next_below"][f] = records["first_below"][above]
            records["first_below"][above] = f
    border = on_border == 1
    taken = places[where(up[front[border]], place[border])]
    places["up_tile"][border], places["up_row"][border] = taken["tile"], taken["row"]

    pairs = np.arange(pattern.begin[begin], len(pattern.later))
    a, b = pattern.first[pairs], pattern.later[pairs]
    core = np.arange(begin, n)
    i, j = np.concatenate((core, a, b)), np.concatenate((core, b, a))
    blocks = n_blocks - 2 * len(pattern.later) + 2 * pairs
    of_front = owner[np.concatenate((core, a, a))]
    sort = np.argsort(of_front, kind="stable")
    in_row, in_column = places[where(of_front, i)][sort], places[where(of_front, j)][sort]
    of_front = of_front[sort]
    entries = np.zeros(len(i), dtype=ENTRY)
    entries["block"] = np.concatenate((order[core], blocks, blocks + 1))[sort]
    across = in_row["tile"] * records["tiles"][of_front] + in_column["tile"]
    entries["tile"] = records["begin"][of_front] + across
    entries["row"], entries["rows"] = in_row["row"], in_row["rows"]
    entries["column"], entries["columns"] = in_column["row"], in_column["rows"]
    bounds = np.searchsorted(of_front, np.arange(len(fronts) + 1))
    records["entry_begin"], records["entry_end"] = bounds[:-1], bounds[1:]
    return records, places, entries, int(ends[-1])
