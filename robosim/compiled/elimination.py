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

from robosim.compiled.fronts import find_fronts, members
from robosim.compiled.model import Graph
from robosim.compiled.records.graph import NEIGHBOUR, PIVOT, TURN, UPDATE

FEW = 12  # products of blocks for each node, up to which no other order is tried
MANY = 8  # neighbours of a node from which on nodes are eliminated in fronts


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
    reaches last. Where that fills in a lot, nodes that fill in little are tried first, too, and
    the order with fewer products of blocks is taken.
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
    adjacent = _neighbours(len(ranks), edges)
    order, products = _greedy_order(adjacent, after, ranks, False)
    if products > FEW * len(ranks):
        other, fewer = _greedy_order(adjacent, after, ranks, True)
        if fewer < products:
            return other
    return order


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
    return _greedy_order(_neighbours(n_nodes, edges), after, ranks, False)[0]


def _neighbours(n_nodes: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """For each node the set of its neighbours, as the bits of an integer."""
    adjacent = [0] * n_nodes
    for a, b in edges:
        adjacent[a] |= 1 << b
        adjacent[b] |= 1 << a
    return adjacent


def _greedy_order(
    adjacent: Sequence[int],
    after: Mapping[int, Collection[int]],
    ranks: Sequence[tuple[int, ...]],
    by_fill: bool,
) -> tuple[list[int], int]:
    """An order of elimination, and the number of products of blocks that it takes.

    Next is the node with the fewest neighbours left or, `by_fill`, the one that connects the
    fewest pairs of them. Only pairs that the node's last neighbour has connected are left out
    [Rothberg1998].
    """
    n_nodes, products = len(adjacent), 0
    adjacent, order = list(adjacent), []
    awaited = [set(after.get(node, ())) for node in range(n_nodes)]
    followers: list[list[int]] = [[] for _ in range(n_nodes)]
    for node, nodes in enumerate(awaited):
        for other in nodes:
            followers[other].append(node)
    score = [bits.bit_count() for bits in adjacent]
    if by_fill:
        score = [count * (count - 1) for count in score]
    heap = [(score[k], ranks[k], k) for k in range(n_nodes) if not awaited[k]]
    heapq.heapify(heap)
    done = [False] * n_nodes
    while heap:
        found, _, node = heapq.heappop(heap)
        if done[node] or found != score[node]:
            continue  # an entry that a later one replaces
        done[node] = True
        order.append(node)
        clique = adjacent[node]
        size = clique.bit_count()
        products += size * size
        connected = (size - 1) * (size - 2) if by_fill else 0
        left = ~(1 << node)
        for other in members(clique):
            bits = adjacent[other] = (adjacent[other] | clique) & left & ~(1 << other)
            count = bits.bit_count()
            score[other] = count * (count - 1) - connected if by_fill else count
            if not awaited[other]:
                heapq.heappush(heap, (score[other], ranks[other], other))
        for other in followers[node]:
            awaited[other].discard(node)
            if not (awaited[other] or done[other]):
                heapq.heappush(heap, (score[other], ranks[other], other))
    return order, products


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
    n_nodes: int,
    edges: Collection[tuple[int, int]],
    order: Sequence[int],
    rows: Sequence[int] | None = None,
    beside: Sequence[tuple[int, int]] = (),
) -> tuple[Graph, dict[tuple[int, int], int]]:
    """The elimination program, and the number of each block (row node, column node).

    From the first node on that has MANY neighbours left, nodes are eliminated in fronts.

    Parameters
    ----------
    n_nodes : int
    edges : pairs of nodes whose off-diagonal blocks are not zero
    order : all nodes, first to eliminate first, but for those `beside` others
    rows : number of rows of each node, which has others behind them; 6, 3 or 1
    beside : pairs of a body of three rows, and the node that holds its rotation

    Returns
    -------
    graph : Graph
    blocks : dict
        (i, j) -> block number, without the fronts' own; diagonal blocks come first, (i, i) -> i,
        then the others as the elimination meets them.
    """
    sizes = [6] * n_nodes if rows is None else list(rows)
    place = {node: k for k, node in enumerate(order)}
    later = [0] * len(order)
    for i, j in edges:
        first, second = sorted((place[i], place[j]))
        later[first] |= 1 << second
    pivots: list[tuple[int, ...]] = []
    neighbours: list[tuple[int, ...]] = []
    updates: list[tuple[int, ...]] = []
    blocks: dict[tuple[int, int], int] = {(i, i): i for i in range(n_nodes)}
    connected: list[list[int]] = []
    for k, node in enumerate(order):
        if later[k].bit_count() >= MANY:
            break
        found = members(later[k])
        for other in found:
            later[other] |= (later[k] >> other + 1) << other + 1
        connected.append([order[other] for other in found])
        _number(blocks, node, connected[-1])
    begin = len(connected)
    for k in range(begin, len(order)):
        _number(blocks, order[k], [order[other] for other in members(later[k])])
    for body, node in beside:
        _number(blocks, body, [node])
    for node, after in zip(order, connected, strict=False):
        at = len(neighbours), len(updates)
        neighbours += [(i, blocks[node, i], blocks[i, node], sizes[i]) for i in after]
        updates += [
            (blocks[i, node], blocks[node, j], blocks[i, j], sizes[i]) for i in after for j in after
        ]
        whole = sizes[node] == 6 and all(sizes[i] == 6 for i in after)
        own = (node, node, at[0], len(neighbours), at[1], len(updates), sizes[node], int(whole))
        pivots.append(own)
    fronts, places, entries, n_blocks = find_fronts(later, order, begin, sizes, blocks)
    turns = [(body, node, blocks[body, node], blocks[node, body]) for body, node in beside]
    graph = Graph(
        np.array(pivots, dtype=PIVOT),
        np.array(neighbours, dtype=NEIGHBOUR),
        np.array(updates, dtype=UPDATE),
        fronts,
        places,
        entries,
        np.array(turns, dtype=TURN),
        n_nodes,
        n_blocks,
    )
    for array in graph[:-2]:
        array.setflags(write=False)
    return graph, blocks


def _number(blocks: dict[tuple[int, int], int], node: int, others: Iterable[int]) -> None:
    """Number the blocks of a node with others."""
    for other in others:
        blocks[node, other] = len(blocks)
        blocks[other, node] = len(blocks)
