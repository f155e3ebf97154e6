"""Quadratic programs with bounds, by projected Newton steps [Tassa2014]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.validation import Array

ITERATIONS = 100
ENOUGH = 1e-10  # of the largest initial gradient
SUFFICIENT = 0.1  # of the decrease predicted by the gradient


def least_in_box(H: Array, g: Array, lower: Array, upper: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Minimize ``x^T H x / 2 + g^T x`` within bounds: x (n,), and which entries are not at bounds.

    Parameters
    ----------
    H : (n, n), positive definite
    g, lower, upper : (n,)

    Raises
    ------
    numpy.linalg.LinAlgError
        For an H that is not positive definite.
    """
    factor = np.linalg.cholesky(H)
    x = -np.linalg.solve(factor.T, np.linalg.solve(factor, g))
    if np.all(x >= lower) and np.all(x <= upper):
        return x, np.ones(len(x), dtype=bool)
    x = np.clip(x, lower, upper)
    size = 1.0 + np.abs(g).max()
    free = np.ones(len(x), dtype=bool)
    for _ in range(ITERATIONS):
        slope = H @ x + g
        free = ~(((x <= lower) & (slope > 0.0)) | ((x >= upper) & (slope < 0.0)))
        if not free.any() or np.abs(slope[free]).max() <= ENOUGH * size:
            break
        way = np.zeros(len(x))
        way[free] = -np.linalg.solve(H[np.ix_(free, free)], slope[free])
        value, step = 0.5 * x @ H @ x + g @ x, 1.0
        while True:
            moved = np.clip(x + step * way, lower, upper)
            change = 0.5 * moved @ H @ moved + g @ moved - value
            if change <= SUFFICIENT * slope @ (moved - x) or step < 1e-12:
                break
            step *= 0.5
        x = moved
    return x, free
