"""One-sided constraints, ``0 <= lambda, 0 <= J a - target``, with one of the two zero.

The conditions are those of a minimum of ``1/2 (a - a*)^T M (a - a*)`` subject to all constraints.
Here a* is the acceleration without the one-sided ones [Sueda, Eqs. 2.125 to 2.127; in the last one
the multipliers are not negative].
"""

from __future__ import annotations

import numpy as np

from robosim.validation import Array

FAR = 1e-7  # of the length of a residual; corresponds to distances beyond 1e7 times the bounds
ROUNDING = 1e-9  # of the terms of a row


def least_distance(G: Array, h: Array) -> tuple[Array, Array] | None:
    """The shortest x (n,) with ``G x >= h``, and its multipliers (m,): ``x = G^T multipliers``.

    Computed by non-negative least squares [LawsonHanson1974, Sect. 23.4]. Rows may be dependent.
    None if there is no such x.
    """
    sizes = np.linalg.norm(G, axis=1)
    # Rows of zeros are satisfied for all x, or for none.
    none = sizes <= ROUNDING * sizes.max(initial=1.0)
    if np.any(h[none] > ROUNDING * np.abs(h).max(initial=1.0)):
        return None
    multipliers = np.zeros(len(h))
    moves = np.flatnonzero(~none)
    bounds = h[moves] / sizes[moves]
    scale = float(bounds.max(initial=0.0))
    if scale <= 0:
        return np.zeros(G.shape[1]), multipliers
    # Imported here, because scipy.optimize takes longer to import than all of robosim.
    from scipy.optimize import nnls

    E = np.vstack(((G[moves] / sizes[moves, None]).T, bounds / scale))
    u, residual = nnls(E, np.eye(len(E))[-1], maxiter=100 * len(h))
    if residual <= FAR:
        return None
    multipliers[moves] = u * scale / (1 - (bounds / scale) @ u) / sizes[moves]
    return G.T @ multipliers, multipliers


def least_push(M: Array, J: Array, gaps: Array, free: Array) -> tuple[Array, Array] | None:
    """The change (n,) of an acceleration that satisfies one-sided rows, and multipliers (m,).

    Parameters
    ----------
    M : (k, k), inertia along the free directions
    J : (m, n), one-sided rows
    gaps : (m,), ``J a - target`` before
    free : (k, n), directions that satisfy the other constraints

    Returns
    -------
    None if rows contradict each other.

    Raises
    ------
    LinAlgError
        If a free direction has no inertia.
    """
    L = np.linalg.cholesky(M)
    ways = np.linalg.solve(L, free)  # directions of unit inertia
    found = least_distance(J @ ways.T, -gaps)
    return None if found is None else (found[0] @ ways, found[1])


def least_signed(particular: Array, free: Array, sides: Array) -> Array:
    """The smallest ``particular + free y`` (m,) whose entries have the allowed signs.

    Parameters
    ----------
    particular : (m,), the smallest without conditions on signs
    free : (m, k), orthonormal columns, orthogonal to `particular`
    sides : (m,), 1, -1, or 0 for both

    Returns
    -------
    `particular` if there is none.
    """
    one = sides != 0
    signed = sides[one] * particular[one]
    if signed.min(initial=0.0) >= -ROUNDING * np.abs(particular).max(initial=0.0):
        return particular
    found = least_distance(sides[one, None] * free[one], -signed)
    return particular if found is None else particular + free @ found[0]
