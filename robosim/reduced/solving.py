"""Linear systems of a step: with equalities, with inequalities, and by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robosim.dynamics.one_sided import least_distance
from robosim.validation import Array

Solver = Callable[[Array], Array]  # right-hand sides (n,) or (n, m) -> solutions
REDUNDANT = 1e-11  # share of the largest eigenvalue, below which constraints are redundant
INDEFINITE = "stiffness makes the system of the step indefinite"
ENOUGH = 1e-14  # residual of conjugate gradients, relative to that of zero


class Solution(NamedTuple):
    """Velocities, and the multipliers of constraints."""

    x: Array  # (n,)
    multipliers: Array  # (m + l,) of equalities, then of inequalities


@dataclass
class Equations:
    """A step for velocities, ``A x + rows^T lambda = f``, in any coordinates.

    Attributes
    ----------
    solve : from right-hand sides to A^-1 of them
    f : (n,)
    G, wanted : (m, n), (m,)
    C, least : (l, n), (l,)
        Rows and lower bounds of limits.
    J : (6 nb, n)
        From x to the twists of all bodies.
    """

    solve: Solver
    f: Array
    G: Array
    wanted: Array
    C: Array
    least: Array
    J: Array

    def answered(self, impulse: Array, rows: Array, least: Array) -> Solution:
        """The solution with an impulse (n,), and rows (k, n) of contacts in addition to limits."""
        C, d = np.vstack((self.C, rows)), np.concatenate((self.least, least))
        return constrained(self.solve, self.f + impulse, self.G, self.wanted, C, d)

    def impulse(self, found: Solution, rows: Array) -> Array:
        """The impulse (n,) of all constraints, including these rows."""
        return np.asarray(-np.vstack((self.G, self.C, rows)).T @ found.multipliers)

    def moved(self, impulse: Array) -> Array:
        """The change of x by an impulse (n,), with equality constraints."""
        return constrained(self.solve, impulse, self.G, np.zeros(len(self.G))).x

    def compliance(self, rows: Array) -> Array:
        """Compliance (k, k) of rows (k, n), with equality constraints."""
        both = np.vstack((self.G, rows))
        return freed(both @ self.solve(np.ascontiguousarray(both.T)), len(self.G))


class Unsolved(Exception):
    """The reason why a system has no solution; callers add when and where."""


def check_positive(A: Array) -> None:
    """Raise Unsolved for a symmetric matrix that is not positive definite."""
    try:
        np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise Unsolved(INDEFINITE) from None


def constrained(
    solve: Solver, f: Array, G: Array, b: Array, C: Array | None = None, d: Array | None = None
) -> Solution:
    """x of ``A x + G^T lambda = f, G x = b``, with ``C x >= d`` [Sueda, Eqs. 2.98 to 2.105].

    Redundant rows get the smallest multipliers. Inequalities are solved as non-negative least
    squares, in the metric of A^-1 reduced by the equalities; their multipliers are zero or less.

    Parameters
    ----------
    solve : from right-hand sides to A^-1 of them
    f : (n,)
    G, b : (m, n), (m,)
    C, d : (l, n), (l,) or None
    """
    x = solve(f)
    rows = G if C is None else np.vstack((G, C))
    if len(rows) == 0:
        return Solution(x, np.zeros(0))
    answers = solve(np.ascontiguousarray(rows.T))
    schur = rows @ answers
    schur = 0.5 * (schur + schur.T)
    m = len(G)
    want = np.concatenate((b, np.zeros(0) if d is None else d)) - rows @ x
    pushing = np.zeros(len(rows) - m)
    if len(pushing):
        left = want[m:] - schur[m:, :m] @ least(schur[:m, :m], want[:m])
        # Scaled by the rows' compliances without equalities, so that rows fixed by these are found.
        sizes = np.sqrt(np.maximum(np.diag(schur)[m:], 1e-300))
        found = least_distance(root(freed(schur, m) / sizes[:, None] / sizes), left / sizes)
        if found is None:
            raise Unsolved("limits and contacts contradict each other or other constraints")
        pushing = found[1] / sizes
    holding = least(schur[:m, :m], want[:m] - schur[:m, m:] @ pushing)
    multipliers = np.concatenate((holding, pushing))
    return Solution(x + answers @ multipliers, -multipliers)


def freed(schur: Array, m: int) -> Array:
    """Schur complement (k, k): the compliance of the rows after the first m, with these m fixed."""
    held = np.zeros((m, len(schur) - m))
    for k, column in enumerate(schur[:m, m:].T):
        held[:, k] = least(schur[:m, :m], column)
    return np.asarray(schur[m:, m:] - schur[m:, :m] @ held)


def root(A: Array) -> Array:
    """R (n, r) of ``A = R R^T``, for a positive semidefinite A, without rounding errors."""
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    kept = values > REDUNDANT * values.max(initial=0.0)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def least(A: Array, b: Array) -> Array:
    """The smallest x of ``A x = b``, for a positive semidefinite A."""
    if len(b) == 0:
        return np.zeros(0)
    # Rows are scaled, because metres and radians are mixed.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
    values, vectors = np.linalg.eigh(scale[:, None] * A * scale)
    kept = values > REDUNDANT * values[-1]
    inverse = np.zeros_like(values)
    inverse[kept] = 1.0 / values[kept]
    return np.asarray(scale * (vectors @ (inverse * (vectors.T @ (scale * b)))))


class Gradients:
    """Preconditioned conjugate gradients.

    Parameters
    ----------
    apply : from (n,) to A times it, A symmetric and positive definite
    precondition : from (n,) to approximately A^-1 times it

    Attributes
    ----------
    iterations : int
        Largest number for a right-hand side.
    """

    def __init__(self, apply: Solver, precondition: Solver) -> None:
        self.apply, self.precondition = apply, precondition
        self.iterations = 0

    def __call__(self, f: Array) -> Array:
        """A^-1 f for f (n,) or (n, m).

        Raises
        ------
        Unsolved
            If A is not positive definite, or rounding errors keep the residual too large.
        """
        if f.ndim == 2:
            columns = [self(column) for column in f.T]
            return np.array(columns).T if columns else np.zeros_like(f)
        x, r = np.zeros_like(f), f.copy()
        z = self.precondition(r)
        along, old = z.copy(), float(r @ z)
        first = old
        for k in range(10 * len(f) + 10):
            if not old > ENOUGH**2 * first:
                break
            Ap = self.apply(along)
            curvature = float(along @ Ap)
            if not curvature > 0.0:
                raise Unsolved(INDEFINITE)
            x += old / curvature * along
            r -= old / curvature * Ap
            z = self.precondition(r)
            new = float(r @ z)
            along, old = z + new / old * along, new
            self.iterations = max(self.iterations, k + 1)
        if not old <= 1e-20 * first:
            raise Unsolved("conjugate gradients did not converge")
        return x
