"""Quadratic programs with bounds, by projected Newton steps [Tassa2014]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.kernels.compiler.content import row
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
    return _least(np.asarray(H), np.asarray(g), np.asarray(lower), np.asarray(upper))  # type: ignore[no-any-return]


@row
def _least(H, g, lower, upper):  # type: ignore[no-untyped-def]
    """See `least_in_box`."""
    factor = np.linalg.cholesky(H)
    x = -np.linalg.solve(factor.T, np.linalg.solve(factor, g))
    if np.all(x >= lower) and np.all(x <= upper):
        return x, np.ones(len(x), dtype=np.bool_)
    x = np.minimum(np.maximum(x, lower), upper)
    size = 1.0 + np.abs(g).max()
    free = np.ones(len(x), dtype=np.bool_)
    for _ in range(ITERATIONS):
        slope = H @ x + g
        free = ~(((x <= lower) & (slope > 0.0)) | ((x >= upper) & (slope < 0.0)))
        if not free.any() or np.abs(slope[free]).max() <= ENOUGH * size:
            break
        way = -np.linalg.solve(_of_free(H, free), np.where(free, slope, 0.0))
        value, step = 0.5 * (x @ (H @ x)) + g @ x, 1.0
        while True:
            moved = np.minimum(np.maximum(x + step * way, lower), upper)
            change = 0.5 * (moved @ (H @ moved)) + g @ moved - value
            if change <= SUFFICIENT * (slope @ (moved - x)) or step < 1e-12:
                break
            step *= 0.5
        x = moved
    return x, free


@row
def _of_free(H, free):  # type: ignore[no-untyped-def]
    """The matrix of the free entries, with ones on the diagonal for the others."""
    out = H.copy()
    for i in range(len(free)):
        if not free[i]:
            out[i, :] = 0.0
            out[:, i] = 0.0
            out[i, i] = 1.0
    return out
