"""Graphs of bodies and what holds them, with random Jacobians, for tests of the elimination."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ConstraintGraph(NamedTuple):
    """Who is held by whom, as `constrained_order` takes it."""

    n_bodies: int
    constraints: list[tuple[int, ...]]
    grounded: list[bool]
    soft: list[tuple[int, ...]] = []  # noqa: RUF012 - never changed

    @property
    def edges(self) -> list[tuple[int, int]]:
        """(node, body) for every constraint and soft element."""
        return [
            (self.n_bodies + k, body)
            for k, bodies in enumerate((*self.constraints, *self.soft))
            for body in bodies
        ]


def fixed_at(graph: ConstraintGraph, *bodies: int) -> ConstraintGraph:
    """The same with a constraint between each of `bodies` and the world."""
    return graph._replace(
        constraints=[*graph.constraints, *((body,) for body in bodies)],
        grounded=[*graph.grounded, *(True for _ in bodies)],
    )


def floating(n_bodies: int, pairs: list[tuple[int, int]]) -> ConstraintGraph:
    return ConstraintGraph(n_bodies, list(pairs), [False] * len(pairs))


def random_tree_graph(rng: np.random.Generator, n: int) -> ConstraintGraph:
    """A forest; some of its roots hang on the world."""
    parents = [int(rng.integers(-1, i)) if i else -1 for i in range(n)]
    tree = floating(n, [(p, i) for i, p in enumerate(parents) if p >= 0])
    return fixed_at(tree, *(i for i, p in enumerate(parents) if p < 0 and rng.random() < 0.7))


def ring(n: int) -> ConstraintGraph:
    return floating(n, [(i, (i + 1) % n) for i in range(n)])


def ladder(rungs: int) -> ConstraintGraph:
    """Two rails of bodies, joined at every pair."""
    pairs = [(2 * i, 2 * i + 1) for i in range(rungs)]
    for i in range(rungs - 1):
        pairs += [(2 * i, 2 * i + 2), (2 * i + 1, 2 * i + 3)]
    return floating(2 * rungs, pairs)


def net(n: int) -> ConstraintGraph:
    """n by n bodies, each joined to the next in its row and in its column."""
    rows = [(n * i + j, n * i + j + 1) for i in range(n) for j in range(n - 1)]
    columns = [(n * i + j, n * i + j + n) for i in range(n - 1) for j in range(n)]
    return floating(n * n, rows + columns)


def wheel(n: int) -> ConstraintGraph:
    """A ring of n bodies, all joined to body 0."""
    spokes = [(0, i) for i in range(1, n + 1)]
    return floating(n + 1, spokes + [(i, i % n + 1) for i in range(1, n + 1)])


def chain_of_rings(n: int) -> ConstraintGraph:
    """n rings of four bodies, each joined to the opposite body of the one before."""
    pairs = []
    for s in range(n):
        a, b, c, d = range(4 * s, 4 * s + 4)
        pairs += [(a, b), (b, c), (c, d), (d, a)] + ([(a - 2, a)] if s else [])
    return floating(4 * n, pairs)


def random_graph(rng: np.random.Generator, n: int) -> ConstraintGraph:
    """Constraints of one to four bodies (one with the world), soft elements of one or two."""
    constraints, grounded = [], []
    for _ in range(rng.integers(0, 2 * n + 1)):
        bodies = rng.choice(n, size=rng.integers(1, min(n, 4) + 1), replace=False)
        constraints.append(tuple(int(i) for i in bodies))
        grounded.append(len(bodies) == 1 or bool(rng.random() < 0.15))
    soft = [
        tuple(int(i) for i in rng.choice(n, size=min(n, 1 + k % 2), replace=False))
        for k in range(rng.integers(0, n + 1))
    ]
    return ConstraintGraph(n, constraints, grounded, soft)


def random_rows(
    rng: np.random.Generator,
    bodies: tuple[int, ...],
    fixed: bool,
    positions: list[Array],
    n_rows: int,
) -> list[Array]:
    """Rows (n_rows, 6 nb) over world twists, once for each entry of `positions` (nb, 3).

    Not fixed, they vanish for every motion of all these bodies as one, wherever they are.
    """
    parts = rng.normal(size=(len(bodies), n_rows, 6))
    if not fixed:
        parts[-1] = -parts[:-1].sum(axis=0)
    found = []
    for x in positions:
        G = np.zeros((n_rows, 6 * len(x)))
        for body, part in zip(bodies, parts, strict=True):
            to_origin = np.eye(6)  # from a body's twist to that of its extension at the origin
            to_origin[:3, 3:] = np.cross(np.eye(3), x[body])
            G[:, 6 * body : 6 * body + 6] = part @ to_origin
        found.append(G)
    return found
