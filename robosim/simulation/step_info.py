"""Statistics of a time step."""

from __future__ import annotations

from typing import NamedTuple


class StepInfo(NamedTuple):
    """Statistics of a time step.

    Attributes
    ----------
    iterations : int
        Newton iterations, of all attempts and substeps.
    residual : float [m/s]
        Largest remaining residual of the equations.
    status : str
        "converged"; otherwise `ConvergenceError` is raised.
    substeps : int
        1, or the number of substeps into which the step was divided.
    violation : float [m, or the sine of half an angle]
        Largest violation of a joint at the end of the step.
    gap : float [m]
        Smallest gap of a contact at the end of the step; inf without contacts.
    order : int
        Order of the step: 2, or 4 if requested and if the motion was smooth.
    """

    iterations: int
    residual: float
    status: str
    substeps: int
    violation: float
    gap: float
    order: int
