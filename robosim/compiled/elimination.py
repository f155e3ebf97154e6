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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.fronts import Indices, Pattern, front_records, lowest, members, merged
from robosim.compiled.model import Graph
from robosim.compiled.records.graph import NEIGHBOUR, PIVOT, TURN, UPDATE

FEW = 32  # products of blocks for each node, up to which no other order is tried
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
    neighbours = _neighbours(len(ranks), edges)
    order, products = _greedy_order(neighbours, after, ranks, False)
    if products > FEW * len(ranks):
        other, fewer = _greedy_order(neighbours, after, ranks, True)
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
    fewest pairs of them [Rothberg1998]. Of pairs that are connected already, only those count that
    the last elimination beside the node has connected, as finding all takes too long.
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


class Blocks(Mapping[tuple[int, int], int]):
    """Numbers of the blocks (row node, column node), without the tiles of fronts.

    Diagonal blocks come first, (i, i) -> i, then the others as the elimination meets them.
    """

    def __init__(self, order: Indices, pattern: Pattern, beside: Sequence[tuple[int, int]]) -> None:
        self.n_nodes = len(order) + len(beside)
        self._order, self._pattern = order, pattern
        self._place = np.zeros(self.n_nodes, dtype=np.int64)
        self._place[order] = np.arange(len(order))
        apart = self.n_nodes + 2 * len(pattern.later)
        self._beside = {pair: apart + 2 * k for k, pair in enumerate(beside)}
        self._keys = pattern.first * len(order) + pattern.later

    def __len__(self) -> int:
        return self.n_nodes + 2 * (len(self._pattern.later) + len(self._beside))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        yield from ((i, i) for i in range(self.n_nodes))
        pairs = [*zip(self._order[self._pattern.first].tolist(),
                      self._order[self._pattern.later].tolist(), strict=True),
                 *self._beside]  # fmt: skip
        for i, j in pairs:
            yield from ((i, j), (j, i))

    def __getitem__(self, pair: tuple[int, int]) -> int:
        if pair in self._beside:
            return self._beside[pair]
        if pair[::-1] in self._beside:
            return self._beside[pair[::-1]] + 1
        return int(self.numbers(np.array(pair[:1]), np.array(pair[1:]))[0])

    def numbers(self, rows: Indices, columns: Indices) -> Indices:
        """Of blocks of nodes that are in the order."""
        a, b = self._place[rows], self._place[columns]
        keys = np.minimum(a, b) * len(self._order) + np.maximum(a, b)
        numbers = self.n_nodes + 2 * np.searchsorted(self._keys, keys) + (a > b)
        return np.where(a == b, rows, numbers)


def eliminate(
    n_nodes: int,
    edges: Collection[tuple[int, int]],
    order: Sequence[int],
    rows: Sequence[int] | None = None,
    beside: Sequence[tuple[int, int]] = (),
) -> tuple[Graph, Blocks]:
    """The elimination program, and the numbers of the blocks.

    From the first node on that has MANY neighbours left, nodes are eliminated in fronts.

    Parameters
    ----------
    n_nodes : int
    edges : pairs of nodes whose off-diagonal blocks are not zero
    order : all nodes, first to eliminate first, but for those `beside` others
    rows : number of rows of each node, 6, 3 or 1; those of its blocks behind them are idle
    beside : pairs of a body of three rows, and the node that holds its rotation
    """
    nodes = np.array(order, dtype=np.int64)
    sizes = np.full(len(nodes), 6) if rows is None else np.array(rows, dtype=np.int64)[nodes]
    place = [0] * n_nodes
    for k, node in enumerate(order):
        place[node] = k
    later = [0] * len(nodes)
    for i, j in edges:
        a, b = place[i], place[j]
        later[min(a, b)] |= 1 << max(a, b)
    begin = len(nodes)
    for k, bits in enumerate(later):
        if bits.bit_count() >= MANY:
            begin = k
            break
        while bits:
            other = lowest(bits)
            bits &= bits - 1
            later[other] |= bits
    pattern = Pattern.of(later)
    blocks = Blocks(nodes, pattern, beside)
    fronts = merged(later, begin, sizes.tolist())
    n_blocks = n_nodes + 2 * len(pattern.later)
    in_fronts = front_records(fronts, pattern, begin, nodes, sizes, n_blocks, len(blocks))
    turns = [(i, j, blocks[i, j], blocks[i, j] + 1) for i, j in beside]
    used = np.full(len(blocks), 6)
    used[nodes[sizes == 1]] = 1
    used[n_nodes:n_blocks:2] = sizes[pattern.first]
    used[n_nodes + 1 : n_blocks : 2] = sizes[pattern.later]
    graph = Graph(
        *_pivots(blocks, pattern, begin, nodes, sizes),
        *in_fronts[:3],
        np.array(turns, dtype=TURN),
        used,
        n_nodes,
        in_fronts[3],
    )
    for array in graph[:-2]:
        array.setflags(write=False)
    return graph, blocks


def _pivots(
    blocks: Blocks, pattern: Pattern, begin: int, nodes: Indices, sizes: Indices
) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.void]]:
    """PIVOT, NEIGHBOUR and UPDATE records of the nodes before place `begin`."""
    pivots = np.zeros(begin, dtype=PIVOT)
    neighbours = np.zeros(pattern.begin[begin], dtype=NEIGHBOUR)
    later = pattern.later[: len(neighbours)]
    neighbours["node"], neighbours["rows"] = nodes[later], sizes[later]
    neighbours["upper"] = blocks.n_nodes + 2 * np.arange(len(neighbours))
    neighbours["lower"] = neighbours["upper"] + 1
    counts = np.diff(pattern.begin[: begin + 1])
    ends = np.cumsum(counts**2)
    pivots["node"] = pivots["diagonal"] = nodes[:begin]
    pivots["neighbour_begin"] = pattern.begin[:begin]
    pivots["neighbour_end"] = pattern.begin[1 : begin + 1]
    pivots["update_begin"], pivots["update_end"] = ends - counts**2, ends
    pivots["rows"] = sizes[:begin]
    narrow = np.zeros(begin, dtype=bool)
    narrow[pattern.first[: len(neighbours)][neighbours["rows"] < 6]] = True
    pivots["whole"] = (pivots["rows"] == 6) & ~narrow
    updates = np.zeros(ends[-1] if begin else 0, dtype=UPDATE)
    for count in np.unique(counts):
        of = np.flatnonzero(counts == count)
        own = neighbours[pattern.begin[of][:, None] + np.arange(count)]
        at = (ends[of] - count**2)[:, None, None] + np.arange(count**2).reshape(count, count)
        i, j = own[:, :, None], own[:, None, :]
        updates["lower"][at], updates["upper"][at] = i["lower"], j["upper"]
        updates["target"][at] = blocks.numbers(i["node"], j["node"])
        updates["rows"][at] = i["rows"]
    return pivots, neighbours, updates
