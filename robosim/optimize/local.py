"""Rows and costs as compiled functions of a few unknowns, with first and second derivatives."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.optimize.energies import Part
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


class Call(NamedTuple):
    """A function with its own derivatives, called with expressions.

    Attributes
    ----------
    part : Part
    at, given : arguments, whose split into the inputs of the part's functions is by their sizes
    value : symbols (n,), which stand for the values
    """

    part: Part
    at: Expression
    given: Expression
    value: Expression

    def of(self, function: Function, *more: Expression) -> list[Expression]:
        """The outputs of one of the part's functions."""
        sizes = np.cumsum([0, *(function.size1_in(k) for k in range(3))])
        inputs = [self.at[a:b] for a, b in pairwise(sizes.tolist())]
        found = function.call([*inputs, self.given, *more])
        return list(found)


class Nested:
    """Calls of functions that have their own derivatives, which rows are linear in."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def call(self, part: Part, at: Expression, given: Expression) -> Expression:
        """Symbols for the values (n,) of a part."""
        value = ca.SX.sym(f"nested{len(self.calls)}", part.value.size1_out(0))
        self.calls.append(Call(part, at, given, value))
        return value

    def add(
        self,
        z: Expression,
        lam: Expression,
        g: Expression,
        jacobian: Expression,
        hessian: Expression,
    ) -> tuple[Expression, Expression, Expression]:
        """Rows, their Jacobian, and the Hessian of their sum by multipliers, with all calls.

        The last three arguments are those of rows g(z, s) in which s are symbols. With s(y(z)) and
        multipliers a = (dg/ds)^T lam of s, the Hessian is that of g, and of each call

            y'^T (a . s'') y' + (a . s') . y'' + a'^T s' y' + (a'^T s' y')^T.
        """
        if not self.calls:
            return g, jacobian, hessian
        pulled = [ca.SX.sym("pulled", one.at.shape[0]) for one in self.calls]
        pulls = []
        for one, pull in zip(self.calls, pulled, strict=True):
            outer, by_z = ca.jacobian(g, one.value), ca.jacobian(one.at, z)
            weights = ca.mtimes(outer.T, lam)
            first, second = one.of(one.part.second, weights)
            inward = ca.mtimes(first, by_z)
            jacobian += ca.mtimes(outer, ca.mtimes(one.of(one.part.first)[0], by_z))
            hessian += ca.mtimes(by_z.T, ca.mtimes(second, by_z))
            cross = ca.mtimes(ca.jacobian(weights, z).T, inward)
            hessian += cross + cross.T
            hessian += ca.jacobian(ca.gradient(ca.dot(pull, one.at), z), z, {"symmetric": True})
            pulls.append(ca.densify(ca.mtimes(first.T, weights)))
        symbols = ca.vertcat(*pulled, *(one.value for one in self.calls))
        values = ca.vertcat(*pulls, *(one.of(one.part.value)[0] for one in self.calls))
        g, jacobian, hessian = ca.substitute(
            [g, jacobian, hessian], [symbols], [ca.densify(values)]
        )
        return g, jacobian, hessian


class Local:
    """Costs and rows as expressions of unknowns z and parameters.

    Attributes
    ----------
    z, given : expressions
    rows : Rows
    nested : Nested
        Calls whose values rows are linear in; costs do not depend on them.
    """

    def __init__(
        self, z: Expression, given: Expression, rows: Rows, nested: Nested | None = None
    ) -> None:
        self.z, self.given, self.rows = z, given, rows
        self.nested = nested or Nested()
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
            ca.vertcat(ca.SX.zeros(0, 1), *(value for _, value in self.terms), *self.rows.values)
        )
        terms, g = values[:m, 0], values[m:, 0]
        cost = sum((terms[k] for k in range(m)), ca.SX(0))
        sigma, lam = ca.SX.sym("sigma"), ca.SX.sym("lam", g.shape[0])
        jacobian = ca.jacobian(g, z)
        slope = ca.cse(ca.gradient(sigma * cost + ca.dot(lam, g), z))
        hessian = ca.jacobian(slope, z, {"symmetric": True})
        g, jacobian, hessian = self.nested.add(z, lam, g, jacobian, hessian)
        hessian = ca.triu(hessian)
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
