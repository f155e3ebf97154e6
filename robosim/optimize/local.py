"""Rows and costs of a few unknowns, with first and second derivatives, as compiled functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.optimize.symbolic import Expression, Function, ca


class Rows:
    """Constraints with their names and limits, in the order in which they come."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: list[Expression] = []
        self.lower: list[float] = []
        self.upper: list[float] = []

    def within(self, name: str, value: Expression, lower: ArrayLike, upper: ArrayLike) -> None:
        """Let values (n,) be within limits."""
        n = value.shape[0]
        self.names += [name] * n
        self.values.append(value)
        self.lower += np.broadcast_to(lower, n).tolist()
        self.upper += np.broadcast_to(upper, n).tolist()

    def equal(self, name: str, value: Expression) -> None:
        """Let values (n,) be zero."""
        self.within(name, value, 0.0, 0.0)


class Pattern(NamedTuple):
    """Where the entries of a sparse matrix are."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]


class Local:
    """Costs and rows of unknowns z, with what is given.

    Attributes
    ----------
    z, given : expressions
    rows : Rows
    """

    def __init__(self, z: Expression, given: Expression, rows: Rows) -> None:
        self.z, self.given, self.rows = z, given, rows
        self.terms: list[tuple[str, Expression]] = []

    def add_cost(self, name: str, value: Expression) -> None:
        """A cost more."""
        self.terms.append((name, value))

    def compile(self) -> Compiled:
        """Functions of all of it."""
        z, given, m = self.z, self.given, len(self.terms)
        # Common parts are shared before derivatives are taken. To look for more of them in second
        # derivatives would take several times as long as all else, and finds few.
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
    """Those of a sparse matrix (n,)."""
    return ca.vertcat(ca.SX.zeros(0, 1), *matrix.nonzeros())


def pattern(matrix: Expression) -> Pattern:
    """Where they are."""
    row, column = matrix.sparsity().get_triplet()
    return Pattern(np.array(row, dtype=np.int64), np.array(column, dtype=np.int64))
