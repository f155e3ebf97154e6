"""Constraints that push and never pull, ``0 <= lambda, 0 <= J a - target``, one of them zero.

These are the conditions of the least ``1/2 (a - a*)^T M (a - a*)`` with all constraints kept, where
a* is the acceleration without the one-sided ones [Sueda, Eqs. 2.125 to 2.127; in the last one the
multipliers are not negative].
"""

from __future__ import annotations

import numpy as np

from robosim.validation import Array

FAR = 1e-7  # of the length of a residual, that of distances beyond 1e7 times the bounds
ROUNDING = 1e-9  # of the terms of a row


def least_distance(G: Array, h: Array) -> tuple[Array, Array] | None:
    """The shortest x (n,) with ``G x >= h``, and its multipliers (m,): ``x = G^T multipliers``.

    By non-negative least squares [LawsonHanson1974, Sect. 23.4]. Rows may depend on each other.
    None where no x is enough.
    """
    sizes = np.linalg.norm(G, axis=1)
    # What no x changes holds or does not.
    none = sizes <= ROUNDING * sizes.max(initial=1.0)
    if np.any(h[none] > ROUNDING * np.abs(h).max(initial=1.0)):
        return None
    multipliers = np.zeros(len(h))
    moves = np.flatnonzero(~none)
    bounds = h[moves] / sizes[moves]
    scale = float(bounds.max(initial=0.0))
    if scale <= 0:
        return np.zeros(G.shape[1]), multipliers
    # Not at the top: it takes longer to import than all the rest of robosim.
    from scipy.optimize import nnls

    E = np.vstack(((G[moves] / sizes[moves, None]).T, bounds / scale))
    u, residual = nnls(E, np.eye(len(E))[-1], maxiter=100 * len(h))
    if residual <= FAR:
        return None
    multipliers[moves] = u * scale / (1 - (bounds / scale) @ u) / sizes[moves]
    return G.T @ multipliers, multipliers


def least_push(M: Array, J: Array, gaps: Array, free: Array) -> tuple[Array, Array] | None:
    """The change (n,) of an acceleration that keeps one-sided rows, and their multipliers (m,).

    Parameters
    ----------
    M : (k, k), inertia of what is free to move
    J : (m, n), rows that may only grow
    gaps : (m,), ``J a - target`` before
    free : (k, n), directions that other constraints leave free

    Returns
    -------
    None where rows contradict each other.

    Raises
    ------
    LinAlgError
        Where something that is free moves without inertia.
    """
    L = np.linalg.cholesky(M)
    ways = np.linalg.solve(L, free)  # of unit inertia
    found = least_distance(J @ ways.T, -gaps)
    return None if found is None else (found[0] @ ways, found[1])


def least_signed(particular: Array, free: Array, sides: Array) -> Array:
    """The least ``particular + free y`` (m,) of which nothing is on the wrong side of zero.

    Parameters
    ----------
    particular : (m,), the least without sides
    free : (m, k), orthonormal columns across `particular`
    sides : (m,), 1, -1, or 0 for both

    Returns
    -------
    `particular` where there is none.
    """
    one = sides != 0
    signed = sides[one] * particular[one]
    if signed.min(initial=0.0) >= -ROUNDING * np.abs(particular).max(initial=0.0):
        return particular
    found = least_distance(sides[one, None] * free[one], -signed)
    return particular if found is None else particular + free @ found[0]
