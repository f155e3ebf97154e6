"""Many simulations at once."""

from __future__ import annotations

from robosim.batch.batch import BatchSimulation
from robosim.batch.rollout import Rollout

__all__ = ["BatchSimulation", "Rollout"]
