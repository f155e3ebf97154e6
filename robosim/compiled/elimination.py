"""The symbolic half of the sparse solver: the order of elimination, and the blocks it fills.

Nodes are the bodies, then the elements between bodies: constraints (joints, gears), whose diagonal
block is zero, and soft elements (springs between points, contacts between bodies), whose diagonal
block is not. Blocks are eliminated without exchanging them, so an order has to do two things: never
meet a constraint whose block is still singular, and fill in little. `constrained_order` does both,
on any graph; on trees it is the papers' depth-first search, leaves first, without fill-in
[Bruedigam2023, Sect. 4]. The elimination is carried out once on the pattern alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations

import numpy as np

from robosim.compiled.model import Graph
from robosim.compiled.records.graph import NEIGHBOUR, PIVOT, UPDATE


def constrained_order(
    n_bodies: int,
    constraints: Sequence[Collection[int]],
    soft: Sequence[Collection[int]],
    grounded: Sequence[bool],
    touching: Iterable[tuple[int, int]] = (),
) -> list[int]:
    """An order of elimination with little fill-in that never meets a singular constraint.

    When a constraint is eliminated, its block is G M^-1 G^T over the bodies eliminated before it.
    This block has the full rank of G if every body of the constraint is among them. One body may
    be missing: the body at which a biconnected component of the graph of bodies and world hangs on
    the rest. No constraint in the component resists a motion of this body and everything beyond it
    as one, so its columns of G are combinations of the others. So constraints wait for all bodies
    but this one (in a component that floats, the first body discovered). In components that contain
    the world, constraints wait for all bodies. On a tree the components are single joints: a joint
    follows its child and need not wait for its parent.

    Of constraints that are redundant together, the last one keeps a singular block, whatever the
    order. This block is decoupled from the rest, and any small number on its diagonal will do.

    Soft elements neither wait nor count for the components. If a soft element is eliminated early,
    its stiffness is added to the blocks of its bodies, whose masses lose digits if the stiffness is
    much larger. A very stiff element can be described as a constraint, which waits.

    Parameters
    ----------
    n_bodies : int
        Bodies are nodes 0 to n_bodies - 1.
    constraints : bodies of each constraint; they follow as nodes in this order
    soft : bodies of each soft element; they follow the constraints as nodes
    grounded : whether each constraint, then each soft element, also touches the world; a constraint
        that does not must not resist a motion of its bodies as one
    touching : pairs of bodies with a block of their own, such as those in contact

    Returns
    -------
    list of all nodes in the order of elimination. Of the nodes that may be next, one with the
    fewest neighbours is next; among equals, the one that a depth-first search from the world
    reaches last.
    """
    world = n_bodies
    adjacent: list[list[int]] = [[] for _ in range(n_bodies + 1)]
    for bodies, to_world in zip(constraints, grounded[: len(constraints)], strict=True):
        for a, b in permutations({*bodies, world} if to_world else {*bodies}, 2):
            adjacent[a].append(b)
    discovery, cut = component_roots(adjacent, world)
    # discovery[v] is the time when the search reached v; all vertices of a constraint are on one
    # path of the search.
    edges = list(touching)
    after: dict[int, set[int]] = {}
    ranks = [(-discovery[body], 0) for body in range(n_bodies)]
    for k, bodies in enumerate((*constraints, *soft)):
        node = n_bodies + k
        last = max(bodies, key=discovery.__getitem__)
        edges += [(node, body) for body in sorted(set(bodies))]
        ranks.append((-discovery[last], 1))
        if k < len(constraints):
            after[node] = {*bodies} - {cut[last]}
    return minimum_degree_order(len(ranks), edges, after, ranks)


def component_roots(adjacent: Sequence[Sequence[int]], start: int) -> tuple[list[int], list[int]]:
    """The biconnected components of a graph, by a depth-first search from `start`.

    Returns
    -------
    discovery : times when the search reached the vertices
    roots : for each vertex, the one nearest to the start in the component of the edge by which the
        search reached it; -1 where a search began
    """
    order, parents = depth_first_search(adjacent, [start])
    discovery = [0] * len(order)
    for time, vertex in enumerate(order):
        discovery[vertex] = time
    # Earliest vertex that any edge from here or from below leads to [Hopcroft and Tarjan, 1973].
    low = [min((discovery[other] for other in others), default=0) for others in adjacent]
    for vertex in reversed(order):
        parent = parents[vertex]
        if parent >= 0:
            low[parent] = min(low[parent], low[vertex])
    roots = [-1] * len(order)
    for vertex in order:
        parent = parents[vertex]
        if parent >= 0:
            roots[vertex] = parent if low[vertex] >= discovery[parent] else roots[parent]
    return discovery, roots


def minimum_degree_order(
    n_nodes: int,
    edges: Iterable[tuple[int, int]],
    after: Mapping[int, Collection[int]],
    ranks: Sequence[tuple[int, ...]],
) -> list[int]:
    """Eliminate the node with the fewest neighbours left, lowest rank first among equals.

    `after[node]`, if given, are nodes that have to be eliminated before it. Eliminating a node
    connects all its neighbours.
    """
    adjacent: list[set[int]] = [set() for _ in range(n_nodes)]
    for a, b in edges:
        adjacent[a].add(b)
        adjacent[b].add(a)
    awaited = [set(after.get(node, ())) for node in range(n_nodes)]
    followers: list[list[int]] = [[] for _ in range(n_nodes)]
    for node, nodes in enumerate(awaited):
        for other in nodes:
            followers[other].append(node)
    heap = [(len(adjacent[k]), ranks[k], k) for k in range(n_nodes) if not awaited[k]]
    heapq.heapify(heap)
    done = [False] * n_nodes
    order: list[int] = []
    while heap:
        degree, _, node = heapq.heappop(heap)
        if done[node] or degree != len(adjacent[node]):
            continue  # an entry that a later one replaces
        done[node] = True
        order.append(node)
        for other in followers[node]:
            awaited[other].discard(node)
        for other in adjacent[node]:
            adjacent[other] |= adjacent[node]
            adjacent[other] -= {node, other}
        for other in adjacent[node].union(followers[node]):
            if not (awaited[other] or done[other]):
                heapq.heappush(heap, (len(adjacent[other]), ranks[other], other))
    return order


def depth_first_order(
    n_nodes: int, edges: Iterable[tuple[int, int]], roots: Sequence[int] = ()
) -> list[int]:
    """Nodes in the papers' order: every node after all nodes below it in the search.

    The search starts from `roots`, then from nodes that these did not reach.
    """
    adjacent: list[list[int]] = [[] for _ in range(n_nodes)]
    for a, b in edges:
        adjacent[a].append(b)
        adjacent[b].append(a)
    return depth_first_search(adjacent, roots)[0][::-1]


def depth_first_search(
    adjacent: Sequence[Sequence[int]], roots: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Nodes in the order of discovery, from `roots` first, and their parents (-1 for none)."""
    parents = [-1] * len(adjacent)
    visited = [False] * len(adjacent)
    order: list[int] = []
    for root in (*roots, *range(len(adjacent))):
        stack = [(root, -1)]
        while stack:
            node, parent = stack.pop()
            if visited[node]:
                continue
            visited[node] = True
            parents[node] = parent
            order.append(node)
            stack += [(other, node) for other in reversed(adjacent[node]) if not visited[other]]
    return order, parents


def eliminate(
    n_nodes: int, edges: Collection[tuple[int, int]], order: Sequence[int]
) -> tuple[Graph, dict[tuple[int, int], int]]:
    """The elimination program, and the number of each block (row node, column node).

    Parameters
    ----------
    n_nodes : int
    edges : pairs of nodes whose off-diagonal blocks are not zero
    order : all nodes, first to eliminate first

    Returns
    -------
    graph : Graph
    blocks : dict
        (i, j) -> block number; diagonal blocks come first, (i, i) -> i, then the others as the
        elimination meets them.
    """
    position = {node: k for k, node in enumerate(order)}
    later: list[set[int]] = [set() for _ in range(n_nodes)]
    for i, j in edges:
        first, second = (i, j) if position[i] < position[j] else (j, i)
        later[first].add(second)
    after: list[list[int]] = [[] for _ in range(n_nodes)]
    blocks: dict[tuple[int, int], int] = {(i, i): i for i in range(n_nodes)}
    for node in order:
        after[node] = sorted(later[node], key=position.__getitem__)
        for k, other in enumerate(after[node]):
            later[other].update(after[node][k + 1 :])
            blocks[node, other] = len(blocks)
            blocks[other, node] = len(blocks)
    pivots: list[tuple[int, ...]] = []
    neighbours: list[tuple[int, int, int]] = []
    updates: list[tuple[int, int, int]] = []
    for node in order:
        neighbour_begin, update_begin = len(neighbours), len(updates)
        neighbours += [(i, blocks[node, i], blocks[i, node]) for i in after[node]]
        updates += [
            (blocks[i, node], blocks[node, j], blocks[i, j])
            for i in after[node]
            for j in after[node]
        ]
        pivots.append((node, node, neighbour_begin, len(neighbours), update_begin, len(updates)))
    graph = Graph(
        np.array(pivots, dtype=PIVOT),
        np.array(neighbours, dtype=NEIGHBOUR),
        np.array(updates, dtype=UPDATE),
    )
    return graph, blocks
