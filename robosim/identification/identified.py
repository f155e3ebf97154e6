"""What logs tell of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.simulation.controllers import PD
from robosim.validation import Array


@dataclass(frozen=True)
class Identified:
    """Values of parameters that fit logs best, and how sure they are.

    Attributes
    ----------
    robot : Mechanism
        With these values.
    controller : PD or None
        With its gains.
    delay : float [s]
    values, deviations : mapping of str to float
        Of single quantities: of "inertial:BODY" its mass, centre and inertia. Standard deviations
        follow from the noise that the logs turn out to have; inf of what no log tells.
    covariance : (m, m), of the values in their order
    undetermined : tuple of str
        Those whose standard deviation is half of their size or more.
    directions : tuple of mapping of str to float
        What can change together without a trace in the logs: unit combinations of the numbers that
        were looked for. Of positive quantities these are logarithms, and of a body's inertia the
        ten of `robosim.identification.inertials`, counted.
    noise : (2 nv,)
        Standard deviations of what was measured, of q and v in the tangent.
    status : "converged", "iterations", or "stuck"
    costs : tuple of float
        For each iteration minus the logarithm of the likelihood, up to a constant.
    notes : tuple of str
        Where simulations were not smooth, and what was left out of the logs.
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
