"""A mechanism in motion: taking steps, setting states, applying loads, and reading results.

`Simulation` is in `simulation`, and delegates. `engine` takes steps, `start` sets states, `loads`
holds loads, `running` drives runs. `knot` is what can be read, by `readings`, `energy` and
`sensors`. `contactless` is shared by simulations in joint coordinates. `robosim.formulation` is the
interface of every way to simulate a mechanism.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robosim.simulation.simulation import (
        CHUNK_STEPS,
        FEWEST_IN_LANES,
        BodyState,
        Simulation,
        StepInfo,
    )

__all__ = ["CHUNK_STEPS", "FEWEST_IN_LANES", "BodyState", "Simulation", "StepInfo"]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that an import of a submodule does not import numba.
    if name in __all__:
        from robosim.simulation import simulation

        return getattr(simulation, name)
    raise AttributeError(f"module 'robosim.simulation' has no attribute '{name}'")
