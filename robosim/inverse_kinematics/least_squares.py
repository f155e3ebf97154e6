"""Bounded least squares by projected Levenberg-Marquardt steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robosim.validation import Array

ROUNDING = 1e-14  # relative to the largest square; a smaller damping would be lost by rounding
Residual = Callable[[Array], tuple[Array, Array]]


class Descent(NamedTuple):
    """The result of a descent.

    Attributes
    ----------
    x : (n,)
    residual : (m,)
    evaluations : int
    settled : bool
        Whether it ended because steps gain little; False if evaluations ran out.
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
    """Minimize the sum of squares of a residual over x, within bounds.

    Steps are taken in coordinates that are not at a bound, or that the gradient moves away from it.
    A coordinate that would exceed a bound stops there, and the others are solved again.

    Parameters
    ----------
    residual : callable(x) -> (m,), (m, n)
        Values and their derivatives.
    x : (n,), within the bounds
    low, high : (n,)
    damping, least_damping : float
        Initial and smallest damping, in squares of derivatives.
    least_gain : float
        Smallest relative gain of a step; one with less is the last.
    enough : float
        Iterations stop if all entries of the residual are at most this.
    most : int
        Largest number of evaluations.
    curved : bool
        Whether to approximate second derivatives of the residual, for sums that remain large.
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
    """x after a damped step, with coordinates stopped at bounds, and the others solved again."""
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
    """Update of the second derivatives (n, n) due to those of the residual, after a step.

    The formula is the secant update of Dennis, Gay and Welsch (NL2SOL, 1981), with their sizing.

    Parameters
    ----------
    bend : (n, n), before
    step : (n,)
    change : (n,), of the derivatives, applied to the residual after the step
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
