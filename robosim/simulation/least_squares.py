"""A sum of squares made least within bounds: Levenberg's and Marquardt's steps, projected."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robosim.validation import Array

ROUNDING = 1e-14  # parts of the largest square, below which a damping would be lost
Residual = Callable[[Array], tuple[Array, Array]]


class Descent(NamedTuple):
    """Where a descent has ended.

    Attributes
    ----------
    x : (n,)
    residual : (m,)
    evaluations : int
    settled : bool
        Whether it ended for want of a gain; False if it ran out of evaluations.
    """

    x: Array
    residual: Array
    evaluations: int
    settled: bool


def descend(
    residual: Residual,
    x: Array,
    low: Array,
    high: Array,
    *,
    damping: float,
    least_damping: float,
    least_gain: float = 1e-12,
    enough: float = 0.0,
    most: int = 200,
    curved: bool = False,
) -> Descent:
    """Move x to a least sum of squares of a residual within bounds.

    Steps are taken among the coordinates that are at no bound, or that the gradient takes away
    from theirs; what would pass a bound stops there, and the others adapt.

    Parameters
    ----------
    residual : callable(x) -> (m,), (m, n)
        Values and their derivatives.
    x : (n,), within the bounds
    low, high : (n,)
    damping, least_damping : float
        To begin with, and the least: squares of what a derivative is.
    least_gain : float
        A step that gains less, in parts of the sum, is the last.
    enough : float
        The largest entry of the residual at which to stop.
    most : int
        Evaluations.
    curved : bool
        Whether to learn, from the steps, how derivatives change: for sums that stay large.
    """
    values, rows = residual(x)
    cost, gradient = 0.5 * float(values @ values), rows.T @ values
    settled, bend = False, np.zeros((len(x), len(x)))
    for taken in range(1, most + 1):  # noqa: B007
        if np.abs(values).max(initial=0.0) <= enough:
            settled = True
            break
        there = _stepped(x, rows.T @ rows + bend, gradient, damping, low, high)
        moved = float(np.abs(there - x).max(initial=0.0))
        tried, tried_rows = residual(there)
        tried_cost = 0.5 * float(tried @ tried)
        if tried_cost < cost:
            gain, tried_gradient = cost - tried_cost, tried_rows.T @ tried
            if curved:
                change = tried_gradient - rows.T @ tried
                bend = _learned(bend, there - x, change, tried_gradient - gradient)
            x, values, rows, cost, gradient = there, tried, tried_rows, tried_cost, tried_gradient
            damping = max(damping / 5, least_damping)
            settled = gain < least_gain * cost or moved < 1e-13
        else:
            settled = moved < 1e-13
            damping *= 4
        if settled:
            break
    return Descent(x, values, taken, settled)


def _stepped(
    x: Array, matrix: Array, gradient: Array, damping: float, low: Array, high: Array
) -> Array:
    """x after a damped step: what would pass a bound stops there, and the others adapt."""
    diagonal = np.diag_indices(len(x))
    matrix[diagonal] += max(damping, ROUNDING * matrix[diagonal].max(initial=0.0))
    there = x.copy()
    loose = ~(((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)))
    while loose.any():
        rest = matrix[loose]
        pull = gradient[loose] + rest[:, ~loose] @ (there - x)[~loose]
        there[loose] = x[loose] - np.linalg.solve(rest[:, loose], pull)
        beyond = loose & ((there < low) | (there > high))
        if not beyond.any():
            break
        there[beyond] = np.clip(there, low, high)[beyond]
        loose &= ~beyond
    return there


def _learned(bend: Array, step: Array, change: Array, gradient_change: Array) -> Array:
    """The part (n, n) of the second derivatives that a residual's own ones make, after a step.

    The secant update of Dennis, Gay and Welsch (NL2SOL, 1981), with their sizing.

    Parameters
    ----------
    bend : (n, n), before
    step : (n,)
    change : (n,), of the derivatives, applied to the residual behind the step
    gradient_change : (n,)
    """
    along = float(gradient_change @ step)
    if along <= 0:
        return bend
    before = float(step @ bend @ step)
    if before:
        bend = bend * min(1.0, abs(float(step @ change) / before))
    missing = change - bend @ step
    cross = np.outer(missing, gradient_change) / along
    square = np.outer(gradient_change, gradient_change) / along**2
    return np.asarray(bend + cross + cross.T - float(missing @ step) * square)
