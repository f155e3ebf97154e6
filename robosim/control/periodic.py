"""Controllers in Python that act at a rate below that of the steps: policies, for example.

Such a controller sets targets of a PD, and torques beside it, at the beginning of each of its
periods. The PD is compiled, so that a batch steps through a period without the interpreter's lock.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from robosim.control.pd import PD
from robosim.validation import Array


def whole_steps(seconds: float, timestep: float) -> int | None:
    """Number of time steps [s] in a time [s]; None if that is no whole number."""
    found = round(seconds / timestep)
    return None if abs(found * timestep - seconds) > 1e-6 * seconds else found


class Aims(NamedTuple):
    """What n states follow over a period.

    Attributes
    ----------
    targets : (n, nu) [rad or m]
    velocities : (n, nu) [rad/s or m/s]
    torques : (n, nu) [N m or N]
        In addition to those of the PD.
    """

    targets: Array
    velocities: Array
    torques: Array

    def of(self, pd: PD, i: int) -> PD:
        """The PD with the targets and velocities of state i."""
        found = PD.with_gains(pd.gains)
        found.gains["target"], found.gains["velocity"] = self.targets[i], self.velocities[i]
        return found


@runtime_checkable
class Periodic(Protocol):
    """A controller of n states that sets what a PD follows once in each period.

    - `serve` tells which simulation, with how many states, the following calls are about.
    - `due` says which states act at their times (n,) [s].
    - `act` lets these act, and returns what holds for all states until they act again.
    - `steps` is the number of time steps in a period.
    - `aims` is what holds now.
    """

    aims: Aims

    @property
    def needs_forces(self) -> bool: ...
    def pd(self, timestep: float) -> PD: ...
    def steps(self, timestep: float) -> int: ...
    def serve(self, sim: Any, n: int, timestep: float) -> None: ...
    def due(self, time: Array) -> NDArray[np.bool_]: ...
    def act(
        self, time: Array, q: Array, v: Array, forces: Array | None, due: NDArray[np.bool_]
    ) -> Aims: ...
