"""The sparse block LDU against dense solves, on trees, graphs with cycles and real steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels_for_tests import factor_and_solve, start_newton
from random_mechanisms import random_coordinates, random_tree
from test_newton_matrix import KAPPA, dense

from robosim import Simulation
from robosim.graph import depth_first_order, eliminate
from robosim.joints import KINDS
from robosim.model import BLOCK, ROW
from robosim.models.builders import chain


def solve_both(n: int, edges: list[tuple[int, int]], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A random system with the pattern of a graph, solved sparsely and densely."""
    rng = np.random.default_rng(seed)
    graph, numbers = eliminate(n, edges)
    blocks, F = np.zeros(len(numbers), dtype=BLOCK), np.zeros((6 * n, 6 * n))
    pattern = {(i, i) for i in range(n)} | set(edges) | {(j, i) for i, j in edges}
    for i, j in sorted(pattern):
        block = rng.normal(size=(6, 6))
        if i == j:  # dominant, as pivots are not exchanged
            block += 12 * (1 + sum(i in edge for edge in edges)) * np.eye(6)
        blocks["F"][numbers[i, j]] = block
        F[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = block
    rhs = np.zeros(n, dtype=ROW)
    rhs["w"] = rng.normal(size=(n, 6))
    expected = np.linalg.solve(F, rhs["w"].ravel())
    assert factor_and_solve(graph, blocks, rhs) == 0
    return rhs["w"].ravel(), expected


@st.composite
def graphs(draw, cycles: bool):
    """(number of nodes, edges) of a forest or, with cycles, of any graph."""
    n = draw(st.integers(1, 12))
    if cycles:
        pairs = [(i, j) for j in range(n) for i in range(j)]
        edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    else:
        parents = [draw(st.integers(-1, i - 1)) for i in range(n)]
        edges = [(parent, i) for i, parent in enumerate(parents) if parent >= 0]
    return n, edges


@settings(deadline=None, max_examples=100)
@given(graphs(cycles=True), st.integers(0, 2**32 - 1))
def test_any_graph_against_a_dense_solve(graph, seed):
    sparse, expected = solve_both(*graph, seed)
    np.testing.assert_allclose(sparse, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@settings(deadline=None, max_examples=100)
@given(graphs(cycles=True), st.integers(0, 11))
def test_depth_first_order(graph, root):
    """Every node once, the root last, and neighbours on one path to the root.

    That is what bounds the fill-in: a depth-first search leaves no edge between branches.
    """
    n, edges = graph
    root %= n
    order = depth_first_order(n, edges, [root])
    assert sorted(order) == list(range(n))
    assert order[-1] == root
    program, _ = eliminate(n, edges, [root])
    neighbours = {
        int(p["node"]): set(program.neighbours["node"][p["neighbour_begin"] : p["neighbour_end"]])
        for p in program.pivots
    }
    position = {node: k for k, node in enumerate(order)}
    for node, later in neighbours.items():
        assert all(position[other] > position[node] for other in later)
        if later:
            first = min(later, key=position.__getitem__)
            assert later - {first} <= neighbours[first]


@settings(deadline=None, max_examples=100)
@given(graphs(cycles=False))
def test_trees_have_no_fill_in_and_linear_work(graph):
    n, edges = graph
    program, blocks = eliminate(n, edges)
    assert len(blocks) == n + 2 * len(edges)
    assert len(program.pivots) == n
    assert len(program.neighbours) == len(program.updates) == len(edges)


def test_a_ring_fills_in_along_its_path():
    """n nodes in a ring: eliminated from one end, each but the last three fills one pair."""
    for n in (3, 4, 10, 50):
        edges = [(i, (i + 1) % n) for i in range(n)]
        program, blocks = eliminate(n, edges)
        assert len(blocks) == n + 2 * n + 2 * (n - 3)
        assert len(program.neighbours) == 2 * (n - 2) + 1
        assert len(program.updates) == 4 * (n - 2) + 1


@pytest.mark.parametrize("n", [1, 10, 100])
def test_counts_of_a_chain(n):
    """n bodies and n joints: 2n nodes, 2n - 1 edges, whatever the joints are."""
    for kind in ("revolute", "spherical"):
        sim = Simulation(chain(n, kind))
        graph = sim._model.graph
        assert len(graph.pivots) == 2 * n
        assert len(graph.neighbours) == len(graph.updates) == 2 * n - 1
        assert len(sim._work.blocks) == 2 * n + 2 * (2 * n - 1)


@pytest.mark.parametrize("base", KINDS)
@pytest.mark.parametrize("contacts", [0, 1])
def test_newton_systems_against_a_dense_solve(base, contacts):
    """Real systems: indefinite, padded, of all joint kinds, with condensed contacts."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 12, base, contacts=contacts)
        sim = Simulation(robot, timestep=0.01)
        sim.set_state(random_coordinates(rng, robot), rng.normal(size=robot.nv))
        start_newton(sim._model, sim._state, sim._work, sim._options, KAPPA, sim._sample[-1][0])
        F = dense(sim)
        rhs = np.zeros(len(sim._model.graph.pivots), dtype=ROW)
        rhs["w"] = rng.normal(size=(len(rhs), 6))
        expected = np.linalg.solve(F, rhs["w"].ravel())
        assert factor_and_solve(sim._model.graph, sim._work.blocks, rhs) == 0
        np.testing.assert_allclose(
            rhs["w"].ravel(), expected, rtol=0, atol=1e-10 * np.abs(expected).max()
        )


def test_a_singular_block_is_reported():
    """By its node, and not divided by."""
    graph, numbers = eliminate(2, [(0, 1)])
    blocks, rhs = np.zeros(len(numbers), dtype=BLOCK), np.zeros(2, dtype=ROW)
    blocks["F"][0] = np.eye(6)
    status = factor_and_solve(graph, blocks, rhs)
    assert status == 1 + 1
