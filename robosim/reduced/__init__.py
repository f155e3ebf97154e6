"""REDMAX, the formulation of [Sueda]: `ReducedSimulation`, a reference in plain numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robosim.reduced.point_force import PointForce

if TYPE_CHECKING:
    from robosim.reduced.simulation import ReducedSimulation

__all__ = ["PointForce", "ReducedSimulation"]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that an import of a submodule does not import numba.
    if name == "ReducedSimulation":
        from robosim.reduced import simulation

        return simulation.ReducedSimulation
    raise AttributeError(f"module 'robosim.reduced' has no attribute '{name}'")
