"""The sparse solver on graphs with ever more cycles ([Bruedigam2023, Fig. 9b-d]), and on chains.

The systems have a random 6x6 block for each node, and for both directions of each edge. No
mechanism is involved: the experiment compares elimination in two orders with LAPACK on the dense
matrix. Times are measured in another process, in which LAPACK has one thread, as the sparse solver
has. On a busy machine, times with several threads would depend on how long threads wait.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned
from robosim.compiled.elimination import depth_first_order, eliminate, minimum_degree_order
from robosim.compiled.model import Graph
from robosim.compiled.records.graph import BLOCK, ROW
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.kernels.compiler.jit import entry
from robosim.kernels.solve.graph.ldu import ldu_factor, ldu_solve
from robosim.measuring.one_thread import measured_apart
from robosim.measuring.runs import exponent
from robosim.measuring.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

LINES = {
    "least_neighbours": ("LDU, fewest neighbours first", COLOURS["ours"], "o-"),
    "depth_first": ("LDU, depth first as in the paper", OTHERS[0], "s--"),
    "dense": ("dense LAPACK", COLOURS["mujoco_default"], "^-"),
}
LEAD = (100.0, 100.0, 10.0, 1.0)  # required on the largest chain, ladder, net and crystal
LONG = 20  # nodes from which on exponents are fitted; constant costs dominate for smaller graphs


@entry
def solve_sparse(graph: Graph, blocks: NDArray[np.void], rhs: NDArray[np.void]) -> int:
    """rhs = F^-1 rhs and the factors of F, all in place; 0, or 1 + the singular node."""
    status = ldu_factor(graph, blocks)
    if status == 0:
        ldu_solve(graph, blocks, rhs)
    return status


class Sparse(NamedTuple):
    """A system in blocks, with the program of its elimination."""

    graph: Graph
    blocks: NDArray[np.void]
    rhs: NDArray[np.void]


def grid(*shape: int) -> tuple[int, list[tuple[int, int]]]:
    """Number of nodes, and edges from every node to the next along each axis, last axis first.

    A depth-first search follows the first edge that it finds. On a ladder with this order it
    zigzags, and each cycle is closed early. Along one rail and back on the other, it would close
    all cycles at the end, and fill in half of the matrix.
    """
    nodes = np.arange(np.prod(shape)).reshape(shape)
    edges: list[tuple[int, int]] = []
    for axis, length in reversed(list(enumerate(shape))):
        before = nodes.take(range(length - 1), axis).ravel().tolist()
        after = nodes.take(range(1, length), axis).ravel().tolist()
        edges += zip(before, after, strict=True)
    return nodes.size, edges


def dense_system(n: int, edges: list[tuple[int, int]], rng: np.random.Generator) -> Array:
    """(6 n, 6 n): normally distributed, with dominant diagonals, so that no pivoting occurs."""
    F = np.zeros((6 * n, 6 * n))
    for i, j in [*((i, i) for i in range(n)), *edges, *((j, i) for i, j in edges)]:
        F[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = rng.normal(size=(6, 6))
    F[np.diag_indices(6 * n)] += 1.2 * np.abs(F).sum(axis=1)
    return F


def sparse_system(
    n: int, edges: list[tuple[int, int]], order: list[int], F: Array, b: Array
) -> Sparse:
    """The same system in blocks, with space for the fill-in of the order."""
    graph, numbers = eliminate(n, edges, order)
    blocks, rhs = aligned(graph.n_blocks, BLOCK), np.zeros(n, dtype=ROW)
    for (i, j), number in numbers.items():
        blocks["F"][number, :, :6] = F[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
    rhs["w"] = b.reshape(n, 6)
    return Sparse(graph, blocks, rhs)


def factor_blocks(graph: Graph) -> int:
    """Number of blocks of the factors, with those of fronts."""
    pivots, tiles = graph.fronts["pivots"], graph.fronts["tiles"]
    in_fronts = int(np.sum(pivots * (2 * tiles - pivots)))
    return len(graph.pivots) + 2 * len(graph.neighbours) + in_fronts


def measure(shape: tuple[int, ...], repetitions: int) -> dict[str, Any]:
    """Shortest times of the solvers on one graph, taken in turns, and how far they differ."""
    rng = np.random.default_rng(0)
    n, edges = grid(*shape)
    F, b = dense_system(n, edges, rng), rng.normal(size=6 * n)
    search = depth_first_order(n, edges)
    ranks = [(rank,) for rank in np.argsort(search).tolist()]
    orders = {
        "least_neighbours": minimum_degree_order(n, edges, {}, ranks),
        "depth_first": search,
    }
    row: dict[str, Any] = {"n": n}
    solvers: dict[str, Callable[[], tuple[float, Array]]] = {}
    for name, order in orders.items():
        system = sparse_system(n, edges, order, F, b)
        row[f"filled_{name}"] = factor_blocks(system.graph) / n**2
        solvers[name] = partial(time_sparse, system)
    solvers["dense"] = partial(time_dense, F, b)
    times: dict[str, list[float]] = {name: [] for name in solvers}
    found: dict[str, Array] = {}
    for _ in range(repetitions):
        for name, solve in solvers.items():
            seconds, found[name] = solve()
            times[name].append(seconds)
    exact = found["dense"]
    for name in solvers:
        row[f"us_{name}"] = min(times[name]) * 1e6
        row[f"difference_{name}"] = float(np.abs(found[name] - exact).max() / np.abs(exact).max())
    return row


def time_sparse(system: Sparse) -> tuple[float, Array]:
    """Seconds of a factorization and a solve, and the solution (6 n,)."""
    blocks, rhs = system.blocks.copy(), system.rhs.copy()
    start = time.perf_counter()
    status = solve_sparse(system.graph, blocks, rhs)
    seconds = time.perf_counter() - start
    if status != 0:
        raise np.linalg.LinAlgError(f"the block of node {status - 1} is singular")
    return seconds, rhs["w"].ravel()


def time_dense(F: Array, b: Array) -> tuple[float, Array]:
    """The same by numpy, which calls LAPACK's dgesv."""
    start = time.perf_counter()
    x = np.linalg.solve(F, b)
    return time.perf_counter() - start, np.asarray(x, dtype=np.float64)


def measure_all(shapes: Sequence[tuple[int, ...]], repetitions: int) -> None:
    """Print a line of JSON for each shape; runs in the other process."""
    time_sparse(sparse_system(1, [], [0], np.eye(6), np.ones(6)))  # compiles
    for shape in shapes:
        print(json.dumps(measure(shape, repetitions)), flush=True)


def run_graphs(setup: Setup) -> Result:
    """[Bruedigam2020, Fig. 4c], [Bruedigam2023, Fig. 9b-d]: chains, ladders, nets and crystals.

    A chain of n links is a path of 2 n nodes, as links and joints take turns.
    """
    shapes: dict[str, list[tuple[int, ...]]] = {
        "chain": [(2 * k,) for k in setup.choose((1, 2, 5, 10, 20, 50, 100, 150), (1, 10, 20, 40))],
        "ladder": [(k, 2) for k in setup.choose((1, 2, 5, 10, 20, 50, 100), (2, 10, 20, 40))],
        "net": [(k, k) for k in setup.choose((2, 3, 4, 6, 8, 10, 12, 14), (2, 5, 7, 9))],
        "crystal": [(k, k, k) for k in setup.choose((1, 2, 3, 4, 5, 6), (2, 3, 4))],
    }
    repetitions = setup.choose(40, 9)
    ours: dict[str, dict[str, list[float]]] = {}
    for name, sizes in shapes.items():
        rows = []
        for row in measured_apart(__name__, f"measure_all({list(sizes)}, {repetitions})"):
            rows.append(row)
            setup.note(f"{name}, {row['n']} nodes")
        ours[name] = {key: [row[key] for row in rows] for key in rows[0]}
    shown = {name: told(columns) for name, columns in ours.items()}
    chain, ladder, net, crystal = (shown[name] for name in shapes)
    worst = max(
        max(columns[f"difference_{order}"])
        for columns in ours.values()
        for order in ("least_neighbours", "depth_first")
    )
    targets = (
        Target("largest difference from the dense solution, relative", worst, 1e-12),
        *(
            Target(
                f"{name}: exponent of time over n, from n = {LONG} on",
                shown[name]["exponent"],
                1.15,
            )
            for name in ("chain", "ladder")
        ),
        *(
            Target(f"{name}: dense over sparse time, largest", row["gain"], limit, at_least=True)
            for (name, row), limit in zip(
                shown.items(), setup.choose(LEAD, (10, 10, 1, 1)), strict=True
            )
        ),
    )
    sentence = (
        f"Sparse LDU is faster than dense LAPACK by a factor of {chain['gain']:.0f} on a chain "
        f"of {chain['n'] // 2} links, {ladder['gain']:.0f} on a ladder of {ladder['n']} nodes, "
        f"{net['gain']:.1f} on a net of {net['n']} and {crystal['gain']:.1f} on a crystal of "
        f"{crystal['n']}; times of LDU grow as n^{chain['exponent']:.2f}, "
        f"n^{ladder['exponent']:.2f}, n^{net['exponent']:.2f} and n^{crystal['exponent']:.2f}. In "
        f"the paper's depth-first order the factors are {chain['gain_dfs']:.0f}, "
        f"{ladder['gain_dfs']:.0f}, {net['gain_dfs']:.1f} and {crystal['gain_dfs']:.1f}."
    )

    def draw(figure: Figure) -> None:
        for axes, (name, columns) in zip(panels(figure, 2, 2).flat, ours.items(), strict=True):
            for key, (label, colour, style) in LINES.items():
                axes.loglog(columns["n"], columns[f"us_{key}"], style, color=colour, label=label)
            finish(axes, "nodes", "factor and solve [us]", name)

    return Result(
        {
            "systems": "random 6x6 blocks, diagonally dominant, 6 n equations",
            "graphs": shapes,
            "time": f"shortest of {repetitions} solves of each, taken in turns",
            "dense": "numpy.linalg.solve (LAPACK's dgesv), one thread",
        },
        {**ours, "largest": shown},
        {},
        targets,
        sentence,
        draw,
    )


def told(columns: dict[str, list[float]]) -> dict[str, float]:
    """Numbers of one family for the summary: its largest graph, and the growth of the times."""
    long = np.array(columns["n"]) >= LONG
    n, us = np.array(columns["n"])[long], np.array(columns["us_least_neighbours"])[long]
    return {
        "n": columns["n"][-1],
        "gain": columns["us_dense"][-1] / columns["us_least_neighbours"][-1],
        "gain_dfs": columns["us_dense"][-1] / columns["us_depth_first"][-1],
        "exponent": exponent(n, us),
    }


GRAPHS = Experiment(
    ("fig9bcd", "wafr4c"),
    "solving systems on chains, ladders, nets and crystals, sparse and dense",
    "linear on chains and ladders, far ahead of dense LAPACK there, less so the denser the graph",
    run_graphs,
)
