"""What a step took."""

from __future__ import annotations

from typing import NamedTuple


class StepInfo(NamedTuple):
    """What a step took.

    Attributes
    ----------
    iterations : int
        Newton iterations, of all attempts and substeps.
    residual : float [m/s]
        Largest residual of the equations that was left.
    status : str
        "converged"; a step that is not raises `ConvergenceError` instead.
    substeps : int
        1, or the number of parts that the step was divided into.
    violation : float [m, or the sine of half an angle]
        Largest violation of a joint at the new knot.
    gap : float [m]
        Smallest gap of a contact at the new knot; inf without contacts.
    order : int
        Of the step: 2, or 4 if that was asked for and the motion was smooth.
    """

    iterations: int
    residual: float
    status: str
    substeps: int
    violation: float
    gap: float
    order: int
