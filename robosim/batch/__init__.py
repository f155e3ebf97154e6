"""Many simulations at once, stepped in parallel by threads and SIMD lanes."""

from __future__ import annotations

from robosim.batch.batch import BatchSimulation
from robosim.batch.rollout import Rollout
from robosim.batch.warming import warmup

__all__ = ["BatchSimulation", "Rollout", "warmup"]
