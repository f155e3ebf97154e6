"""Rows and costs as compiled functions of a few unknowns, with first and second derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.optimize.symbolic import Expression, Function, ca


class Rows:
    """Constraints with their names and limits."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: list[Expression] = []
        self.lower: list[float] = []
        self.upper: list[float] = []

    def within(self, name: str, value: Expression, lower: ArrayLike, upper: ArrayLike) -> None:
        """Constrain values (n,) by limits."""
        n = value.shape[0]
        self.names += [name] * n
        self.values.append(value)
        self.lower += np.broadcast_to(lower, n).tolist()
        self.upper += np.broadcast_to(upper, n).tolist()

    def equal(self, name: str, value: Expression) -> None:
        """Constrain values (n,) to zero."""
        self.within(name, value, 0.0, 0.0)


class Pattern(NamedTuple):
    """Positions of the entries of a sparse matrix."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]


class Local:
    """Costs and rows as expressions of unknowns z and parameters.

    Attributes
    ----------
    z, given : expressions
    rows : Rows
    """

    def __init__(self, z: Expression, given: Expression, rows: Rows) -> None:
        self.z, self.given, self.rows = z, given, rows
        self.terms: list[tuple[str, Expression]] = []

    def add_cost(self, name: str, value: Expression) -> None:
        """Add a cost."""
        self.terms.append((name, value))

    def compile(self) -> Compiled:
        """Compile all functions."""
        z, given, m = self.z, self.given, len(self.terms)
        # Common subexpressions are shared before derivatives are taken. A search in the second
        # derivatives would take several times as long as everything else, and finds few.
        values = ca.cse(
            ca.vertcat(ca.SX.zeros(0, 1), *(v for _, v in self.terms), *self.rows.values)
        )
        terms, g = values[:m, 0], values[m:, 0]
        cost = sum((terms[k] for k in range(m)), ca.SX(0))
        sigma, lam = ca.SX.sym("sigma"), ca.SX.sym("lam", g.shape[0])
        jacobian = ca.jacobian(g, z)
        slope = ca.cse(ca.gradient(sigma * cost + ca.dot(lam, g), z))
        hessian = ca.triu(ca.jacobian(slope, z, {"symmetric": True}))
        return Compiled(
            self.rows,
            [name for name, _ in self.terms],
            ca.Function("value", [z, given], [cost, g]),
            ca.Function("terms", [z, given], [terms, ca.jacobian(terms, z)]),
            ca.Function("slope", [z, given], [ca.densify(ca.gradient(cost, z))]),
            ca.Function("jacobian", [z, given], [entries(jacobian)]),
            pattern(jacobian),
            ca.Function("hessian", [z, given, sigma, lam], [entries(hessian)]),
            pattern(hessian),
        )


class Compiled(NamedTuple):
    """The functions of a `Local`."""

    rows: Rows
    terms: list[str]
    value: Function
    each: Function
    slope: Function
    jacobian: Function
    jacobian_at: Pattern
    hessian: Function
    hessian_at: Pattern


def entries(matrix: Expression) -> Expression:
    """The entries (n,) of a sparse matrix."""
    return ca.vertcat(ca.SX.zeros(0, 1), *matrix.nonzeros())


def pattern(matrix: Expression) -> Pattern:
    """The positions of these entries."""
    row, column = matrix.sparsity().get_triplet()
    return Pattern(np.array(row, dtype=np.int64), np.array(column, dtype=np.int64))
