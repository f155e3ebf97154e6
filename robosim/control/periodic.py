"""Controllers in Python that act at a rate below that of the steps: policies, for example.

Such a controller sets targets of a PD at the beginning of each of its periods. The PD is compiled,
so that a batch steps through a period without the interpreter's lock.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from robosim.control.pd import PD
from robosim.validation import Array


@runtime_checkable
class Periodic(Protocol):
    """A controller of n states that sets targets of a PD once in each period.

    - `serve` tells which simulation, with how many states, the following calls are about.
    - `due` says which states act at their times (n,) [s].
    - `act` lets these act, and returns targets (n, nu) of all states.
    - `steps` is the number of time steps in a period.
    - `targets` (n, nu) are the last ones.
    """

    targets: Array

    @property
    def needs_forces(self) -> bool: ...
    def pd(self, timestep: float) -> PD: ...
    def steps(self, timestep: float) -> int: ...
    def serve(self, sim: Any, n: int, timestep: float) -> None: ...
    def due(self, time: Array) -> NDArray[np.bool_]: ...
    def act(
        self, time: Array, q: Array, v: Array, forces: Array | None, due: NDArray[np.bool_]
    ) -> Array: ...
