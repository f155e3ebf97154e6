"""The result of an identification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robosim.control.controllers import PD
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


@dataclass(frozen=True)
class Identified:
    """Values of parameters that fit logs best, with their uncertainties.

    Attributes
    ----------
    robot : Mechanism
        Robot with these values.
    controller : PD or None
        Controller with the identified gains.
    delay : float [s]
    values, deviations : mapping of str to float
        Values of single quantities; "inertial:BODY" has mass, centre and inertia. Standard
        deviations follow from the estimated noise; inf without information in the logs.
    covariance : (m, m), of the values in their order
    undetermined : tuple of str
        Quantities with a standard deviation of half of their size or more.
    directions : tuple of mapping of str to float
        Unit combinations of the unknowns that can change without an effect on the logs. Unknowns
        are logarithms of positive quantities, and for a body's inertia the ten parameters of
        `robosim.identification.inertials`, numbered.
    noise : (2 nv,)
        Standard deviations of the measured q and v, in the tangent.
    status : "converged", "iterations", or "stuck"
    costs : tuple of float
        Negative log-likelihood for each iteration, up to a constant.
    notes : tuple of str
        Notes on simulations that were not smooth, and on omitted samples.
    """

    robot: Mechanism
    controller: PD | None
    delay: float
    values: Mapping[str, float]
    deviations: Mapping[str, float]
    covariance: Array
    undetermined: tuple[str, ...]
    directions: tuple[Mapping[str, float], ...]
    noise: Array
    status: str
    costs: tuple[float, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        width = max(map(len, self.values))
        rows = [f"{self.status} after {len(self.costs) - 1} iterations"]
        for name, value in self.values.items():
            deviation = self.deviations[name]
            told = "" if np.isfinite(deviation) else "  not determined by the logs"
            if name in self.undetermined and not told:
                told = "  hardly determined by the logs"
            rows.append(f"{name:{width}}  {value:12.6g} +- {deviation:.2g}{told}")
        return "\n".join((*rows, *self.notes))
