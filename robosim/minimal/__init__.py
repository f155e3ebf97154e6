"""Simulation in joint coordinates, by variational integrators: `MinimalSimulation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robosim.minimal.simulation import MinimalSimulation

__all__ = ["MinimalSimulation"]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that an import of a submodule does not import numba.
    if name in __all__:
        from robosim.minimal import simulation

        return getattr(simulation, name)
    raise AttributeError(f"module 'robosim.minimal' has no attribute '{name}'")
