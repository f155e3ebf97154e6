"""A mechanism in motion: what steps it, what drives it, and what is read of it.

`Simulation` is in `simulation`, and delegates: `engine` takes steps, `start` sets states, `loads`
act, `running` drives runs. `knot` is what can be read, by `readings`, `energy` and `sensors`.
`controllers`, `transmission` and `kinematics` need no simulation. `formulation` says what every way
to simulate a mechanism provides.
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
    # On first use, so that naming a controller does not wait for numba.
    if name in __all__:
        from robosim.simulation import simulation

        return getattr(simulation, name)
    raise AttributeError(f"module 'robosim.simulation' has no attribute '{name}'")
