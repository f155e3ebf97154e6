"""The systems of Fig. 9b-d: their graphs, and that all solvers solve the same one."""

from __future__ import annotations

import numpy as np
import pytest

from robosim.experiments import graphs
from robosim.experiments.graphs import dense_system, grid, measure
from robosim.measuring.one_thread import measured_apart


@pytest.mark.parametrize(
    ("shape", "squares"),
    [
        ((1, 2), 0),
        ((5, 2), 4),  # a ladder: one cycle for every rung but the first
        ((4, 4), 9),
        ((3, 3, 3), 36),
    ],
)
def test_grid(shape, squares):
    """Neighbours differ by one in one place; the cycles of four are those of the paper."""
    n, edges = grid(*shape)
    places = np.argwhere(np.ones(shape))
    assert n == len(places)
    near = np.abs(places[:, None] - places[None]).sum(axis=2) == 1
    found = np.zeros((n, n), dtype=bool)
    for i, j in edges:
        found[i, j] = found[j, i] = True
    np.testing.assert_array_equal(found, near)
    assert len(edges) == near.sum() / 2
    walks = np.linalg.matrix_power(near.astype(int), 2)
    off = walks[~np.eye(n, dtype=bool)]
    assert (off * (off - 1)).sum() // 2 / 4 == squares


def test_the_dense_system_has_the_graph_s_pattern():
    n, edges = grid(3, 2)
    F = dense_system(n, edges, np.random.default_rng(0)).reshape(n, 6, n, 6)
    used = {(i, j) for i in range(n) for j in range(n) if F[i, :, j].any()}
    assert used == {(i, i) for i in range(n)} | {*edges} | {(j, i) for i, j in edges}


@pytest.mark.parametrize("shape", [(1,), (6, 2), (4, 4), (3, 3, 3)])
def test_solutions_are_those_of_the_dense_solver(shape):
    row = measure(shape, 1)
    assert row["n"] == np.prod(shape)
    assert row["difference_least_neighbours"] < 1e-13
    assert row["difference_depth_first"] < 1e-13
    assert row["filled_least_neighbours"] <= row["filled_depth_first"] <= 1


def test_the_other_process_measures_the_same_systems():
    """All but the times, which are its own."""
    shapes = [(2, 2), (5, 2)]
    rows = list(measured_apart(graphs.__name__, f"measure_all({shapes}, 2)"))
    for shape, row in zip(shapes, rows, strict=True):
        here = measure(shape, 1)
        assert row.keys() == here.keys()
        assert all(row[key] == here[key] for key in row if key.startswith(("n", "filled")))
        assert all(row[key] > 0 for key in row if key.startswith("us"))
