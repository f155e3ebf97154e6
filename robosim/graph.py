"""The symbolic half of the sparse solver: who is eliminated when, and what that touches.

Nodes are the bodies, then the joints that constrain anything. They are ordered by a depth-first
search from the root, leaves first [Bruedigam2023, Sect. 4], and the elimination is carried out
once on the pattern alone, so that fill-in of cycles, if any, is known before the first step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PIVOT = np.dtype(
    [
        ("node", "i8"),
        ("diagonal", "i8"),
        ("neighbour_begin", "i8"),
        ("neighbour_end", "i8"),
        ("update_begin", "i8"),
        ("update_end", "i8"),
    ]
)
NEIGHBOUR = np.dtype([("node", "i8"), ("upper", "i8"), ("lower", "i8")])
UPDATE = np.dtype([("lower", "i8"), ("upper", "i8"), ("target", "i8")])


class Graph(NamedTuple):
    """The elimination as a program over block numbers, read by ``kernels.ldu``."""

    pivots: NDArray[np.void]
    neighbours: NDArray[np.void]
    updates: NDArray[np.void]


def depth_first_order(
    n_nodes: int, edges: Sequence[tuple[int, int]], roots: Sequence[int] = ()
) -> list[int]:
    """Nodes in the order of elimination: every node after all that were found below it.

    The search starts from `roots`, then from whatever they did not reach. A joint to the world
    has to be a root: its own diagonal block is zero until its body has been eliminated.
    """
    adjacent: list[list[int]] = [[] for _ in range(n_nodes)]
    for a, b in edges:
        adjacent[a].append(b)
        adjacent[b].append(a)
    found = [False] * n_nodes
    order: list[int] = []
    for root in (*roots, *range(n_nodes)):
        stack = [root]
        while stack:
            node = stack.pop()
            if found[node]:
                continue
            found[node] = True
            order.append(node)
            stack.extend(reversed([other for other in adjacent[node] if not found[other]]))
    return order[::-1]


def eliminate(
    n_nodes: int, edges: Sequence[tuple[int, int]], roots: Sequence[int] = ()
) -> tuple[Graph, dict[tuple[int, int], int]]:
    """The elimination program, and the number of each block (row node, column node).

    Parameters
    ----------
    n_nodes : int
    edges : pairs of nodes whose off-diagonal blocks are not zero
    roots : nodes to eliminate last

    Returns
    -------
    graph : Graph
    blocks : dict
        (i, j) -> block number; diagonal blocks come first, (i, i) -> i.
    """
    order = depth_first_order(n_nodes, edges, roots)
    position = {node: k for k, node in enumerate(order)}
    blocks: dict[tuple[int, int], int] = {(i, i): i for i in range(n_nodes)}

    def block(i: int, j: int) -> int:
        return blocks.setdefault((i, j), len(blocks))

    later: list[set[int]] = [set() for _ in range(n_nodes)]

    def connect(i: int, j: int) -> None:
        first, second = (i, j) if position[i] < position[j] else (j, i)
        later[first].add(second)
        block(i, j)
        block(j, i)

    for i, j in edges:
        connect(i, j)
    pivots: list[tuple[int, ...]] = []
    neighbours: list[tuple[int, int, int]] = []
    updates: list[tuple[int, int, int]] = []
    for node in order:
        after = sorted(later[node], key=position.__getitem__)
        neighbour_begin, update_begin = len(neighbours), len(updates)
        neighbours += [(other, block(node, other), block(other, node)) for other in after]
        for i in after:
            for j in after:
                if i != j:
                    connect(i, j)
                updates.append((block(i, node), block(node, j), block(i, j)))
        pivots.append((node, node, neighbour_begin, len(neighbours), update_begin, len(updates)))
    graph = Graph(
        np.array(pivots, dtype=PIVOT),
        np.array(neighbours, dtype=NEIGHBOUR),
        np.array(updates, dtype=UPDATE),
    )
    return graph, blocks
