"""The order of elimination: what it waits for, the rank that it keeps, and what it fills in."""

from __future__ import annotations

import numpy as np
import pytest
from constraint_graphs import (
    ConstraintGraph,
    chain_of_rings,
    fixed_at,
    floating,
    ladder,
    net,
    random_graph,
    random_rows,
    random_tree_graph,
    ring,
    wheel,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from robosim.compiled import elimination
from robosim.compiled.elimination import (
    component_roots,
    constrained_order,
    depth_first_order,
    eliminate,
    minimum_degree_order,
)


def order_of(graph: ConstraintGraph) -> list[int]:
    return constrained_order(graph.n_bodies, graph.constraints, graph.soft, graph.grounded)


def fill_in(graph: ConstraintGraph) -> int:
    """Pairs of nodes that are connected by the elimination alone."""
    order = order_of(graph)
    _, blocks = eliminate(len(order), graph.edges, order)
    return (len(blocks) - len(order)) // 2 - len(set(graph.edges))


def rank(A: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(A, tol=1e-9)) if A.size else 0


def lost_rank(graph: ConstraintGraph, order: list[int], rng: np.random.Generator) -> int:
    """Most rows that a block met singular, or already met ones, would lack for being early.

    The leading part of the matrix up to any node is regular if and only if the constraints in it
    have the rank over the bodies in it that they have over all bodies.
    """
    nb, x = graph.n_bodies, rng.normal(size=(graph.n_bodies, 3))
    rows = [
        random_rows(rng, bodies, fixed, [x], int(rng.integers(1, 6)))[0]
        for bodies, fixed in zip(graph.constraints, graph.grounded, strict=True)
    ]
    columns = np.zeros(6 * nb, dtype=bool)
    G = np.zeros((0, 6 * nb))
    worst = 0
    for node in order:
        if node < nb:
            columns[6 * node : 6 * node + 6] = True
        elif node < nb + len(rows):
            G = np.vstack((G, rows[node - nb]))
            worst = max(worst, rank(G) - rank(G[:, columns]))
    return worst


CLOSED = {
    "ring": ring(6),
    "ring on the world": fixed_at(ring(5), 2),
    "loop through the world": fixed_at(floating(4, [(0, 1), (1, 2), (2, 3)]), 0, 3),
    "two joints of one pair": floating(2, [(0, 1), (1, 0)]),
    "one body held twice": fixed_at(floating(1, []), 0, 0),
    "ladder": fixed_at(ladder(4), 0),
    "net": net(3),
    "net held at its corners": fixed_at(net(3), 0, 8),
    "wheel": wheel(5),
    "wheel held at its rim": fixed_at(wheel(5), 3),
    "chain of rings": fixed_at(chain_of_rings(3), 0),
    "chain of rings, held in the middle": fixed_at(chain_of_rings(3), 5),
    "chain of rings, held at both ends": fixed_at(chain_of_rings(3), 0, 10),
    "gear between two joints": ConstraintGraph(
        3, [(0,), (0, 1), (1, 2), (0, 1, 2)], [True, False, False, False]
    ),
    "gear to the world": ConstraintGraph(
        3, [(0,), (0, 1), (1, 2), (0, 1)], [True, False, False, True]
    ),
    "gear of four bodies": ConstraintGraph(4, [(0, 1), (2, 3), (0, 1, 2, 3)], [False] * 3),
}


@pytest.mark.parametrize("name", CLOSED)
def test_no_constraint_comes_too_early(name):
    """Redundant ones among them, as rows are drawn without counting degrees of freedom."""
    for seed in range(5):
        assert lost_rank(CLOSED[name], order_of(CLOSED[name]), np.random.default_rng(seed)) == 0


@pytest.mark.parametrize("seed", range(60))
def test_no_constraint_comes_too_early_in_random_graphs(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, int(rng.integers(1, 9)))
    order = order_of(graph)
    assert sorted(order) == list(range(len(order)))
    assert lost_rank(graph, order, rng) == 0


@pytest.mark.parametrize("seed", range(30))
def test_no_constraint_comes_too_early_by_fill(seed, monkeypatch):
    """In the other order that is tried where many pairs get connected; here it is the only one."""
    both = elimination._greedy_order

    def by_fill(adjacent, after, ranks, _):
        return both(adjacent, after, ranks, True)

    monkeypatch.setattr(elimination, "_greedy_order", by_fill)
    rng = np.random.default_rng(seed)
    graph = [*CLOSED.values(), *(random_graph(rng, 8) for _ in range(14))][seed]
    order = order_of(graph)
    assert sorted(order) == list(range(len(order)))
    assert lost_rank(graph, order, rng) == 0


def products(n: int, edges: list[tuple[int, int]], order: list[int]) -> int:
    """Products of blocks that an elimination takes."""
    adjacent = {i: {b for e in edges for a, b in (e, e[::-1]) if a == i} for i in range(n)}
    total = 0
    for node in order:
        clique = adjacent.pop(node)
        total += len(clique) ** 2
        for other in clique:
            adjacent[other] = (adjacent[other] | clique) - {node, other}
    return total


@pytest.mark.parametrize(("n", "degree"), [(40, 3), (120, 6), (120, 12)])
def test_heaps_fill_in_no_more_than_by_fewest_neighbours(n, degree, monkeypatch):
    """Bodies that touch those near them, at random places."""
    places = np.random.default_rng(n + degree).uniform(size=(n, 3))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    near = np.argsort(distances, axis=1)[:, 1 : degree + 1].tolist()
    edges = sorted({(min(i, j), max(i, j)) for i, others in enumerate(near) for j in others})
    found = products(n, edges, constrained_order(n, [], [], [], edges))
    monkeypatch.setattr(elimination, "FEW", n**2)  # no other order is tried
    fewest = products(n, edges, constrained_order(n, [], [], [], edges))
    assert found < fewest if degree == 12 else found <= fewest


def test_another_order_loses_rank():
    """What the two tests above would see: a depth-first search meets a ring's last joint first."""
    graph = ring(6)
    order = depth_first_order(12, graph.edges)
    assert lost_rank(graph, order, np.random.default_rng(0)) > 0


def test_only_the_body_toward_the_world_may_be_left_out():
    """A ring held at body 1, with a tail: its joints await all bodies but that one."""
    graph = fixed_at(floating(5, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)]), 1)
    order = order_of(graph)
    position = {node: k for k, node in enumerate(order)}
    for k, awaited in enumerate([(0,), (2,), (2, 3), (0, 3), (4,), (1,)]):
        assert all(position[body] < position[5 + k] for body in awaited)
    assert order[-2:] == [1, 10]


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_is_eliminated_depth_first_without_fill_in(seed):
    """Child, its joint, parent: the papers' order."""
    rng = np.random.default_rng(seed)
    graph = random_tree_graph(rng, int(rng.integers(1, 30)))
    assert fill_in(graph) == 0
    position = {node: k for k, node in enumerate(order_of(graph))}
    for k, bodies in enumerate(graph.constraints):
        assert position[bodies[-1]] < position[graph.n_bodies + k]
        if len(bodies) == 2:
            assert position[graph.n_bodies + k] < position[bodies[0]]


@pytest.mark.parametrize("n", [1, 2, 50])
def test_a_chain_is_eliminated_from_its_end(n):
    graph = fixed_at(floating(n, [(i - 1, i) for i in range(1, n)]), 0)
    joints = [n + n - 1, *range(n, n + n - 1)]  # of each body
    expected = [node for i in reversed(range(n)) for node in (i, joints[i])]
    assert order_of(graph) == expected


def test_a_ring_fills_in_one_pair_per_node():
    """The least that a cycle can: 2 n nodes, of which the last three are connected anyway."""
    for n in (2, 3, 10, 40):
        assert fill_in(ring(n)) == 2 * n - 3


@pytest.mark.parametrize(
    ("build", "per_element", "offset"),
    [
        (lambda n: fixed_at(ladder(n), 0), 8, -10),
        (lambda n: fixed_at(chain_of_rings(n), 0), 5, 0),
        (lambda n: fixed_at(wheel(n), 0), 5, -3),
    ],
)
def test_fill_in_grows_linearly(build, per_element, offset):
    for n in (4, 8, 50, 100):
        assert fill_in(build(n)) == per_element * n + offset


def test_soft_elements_come_first_where_bodies_have_more_neighbours():
    """They wait for nothing: a pile of spheres becomes a graph of its bodies alone."""
    grid = net(4)
    pile = ConstraintGraph(16, [], [], grid.constraints)
    order = order_of(pile)
    n_soft = len(grid.constraints)
    inner = [5, 6, 9, 10]
    position = {node: k for k, node in enumerate(order)}
    for k, (a, b) in enumerate(grid.constraints):
        for body in {a, b} & set(inner):
            assert position[16 + k] < position[body]
    assert sorted(order) == list(range(16 + n_soft))


def test_soft_elements_close_no_loop():
    """A chain with a spring across keeps its joints next to their children."""
    graph = fixed_at(floating(3, [(0, 1), (1, 2)]), 0)._replace(soft=[(0, 2)])
    order = order_of(graph)
    assert order.index(2) < order.index(4) < order.index(1) < order.index(3) < order.index(0)


@st.composite
def graphs(draw):
    """(number of nodes, edges) of any graph."""
    n = draw(st.integers(1, 10))
    pairs = [(i, j) for j in range(n) for i in range(j)]
    return n, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


def reached(n: int, edges: list[tuple[int, int]], start: int, without: int = -1) -> set[int]:
    """Nodes on paths from `start` that avoid `without`."""
    found, new = {start}, {start}
    while new:
        new = {b for e in edges for a, b in (e, e[::-1]) if a in new} - found - {without}
        found |= new
    return found


@settings(deadline=None, max_examples=200)
@given(graphs(), st.integers(0, 9))
def test_component_roots(graph, start):
    """The root of an edge's component is the last vertex that no path to the start can avoid."""
    n, edges = graph
    start %= n
    adjacent: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        adjacent[a].append(b)
        adjacent[b].append(a)
    found, roots = component_roots(adjacent, start)
    for vertex in reached(n, edges, start) - {start}:
        cuts = [
            other
            for other in reached(n, edges, start) - {vertex}
            if other == start or vertex not in reached(n, edges, start, other)
        ]
        assert roots[vertex] == max(cuts, key=found.__getitem__)


@settings(deadline=None, max_examples=100)
@given(graphs(), st.data())
def test_minimum_degree_order(graph, data):
    """Each node in turn has the fewest neighbours of those that may be next."""
    n, edges = graph
    after = {
        node: data.draw(st.sets(st.integers(0, node - 1))) if node else set() for node in range(n)
    }
    order = minimum_degree_order(n, edges, after, [(node,) for node in range(n)])
    assert sorted(order) == list(range(n))
    adjacent = {i: {b for e in edges for a, b in (e, e[::-1]) if a == i} for i in range(n)}
    for k, node in enumerate(order):
        free = [i for i in order[k:] if after[i] <= set(order[:k])]
        assert node == min(free, key=lambda i: (len(adjacent[i]), i))
        clique = adjacent.pop(node)
        for other in clique:
            adjacent[other] = (adjacent[other] | clique) - {node, other}
