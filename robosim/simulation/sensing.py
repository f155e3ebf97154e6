"""Sensors with rays of one simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.rays.casting import FEWEST, Excluded, cast_states, in_threads
from robosim.rays.hits import Hits
from robosim.rays.sensing import Placed, Samples
from robosim.rays.targets import compiled
from robosim.runtime.background import cores
from robosim.runtime.notice import CompileNotice
from robosim.validation import Array

MANY = 16 * FEWEST  # rays for which threads are worth while


class OneState:
    """A simulation as a source of samples; see `robosim.rays.sensing.Source`."""

    def __init__(self, sim: Any) -> None:
        self._sim = sim
        self._robots = (sim.robot,)
        self.places: dict[str, Placed] = {}

    @property
    def timestep(self) -> float:
        return float(self._sim.timestep)

    @property
    def robots(self) -> Sequence[Mechanism]:
        if self._robots[0] is not self._sim.robot:
            self._robots = (self._sim.robot,)
            self.places.clear()
        return self._robots

    def times(self) -> Array:
        return np.array([self._sim.time])

    def steps(self) -> NDArray[np.int64]:
        return np.array([self._sim.steps])

    def poses(self) -> tuple[Array, Array]:
        state = self._sim.state
        return np.array(state.x)[None], np.array(state.q)[None]

    def from_poses(
        self,
        poses: tuple[Array, Array],
        rays: tuple[Array, Array],
        limit: float,
        excluded: Excluded,
        geometry: str,
    ) -> Hits:
        CompileNotice.install()
        n = max(one.shape[1] for one in rays)
        threads = cores() if n >= MANY else 1
        targets = [(compiled(self._sim.robot, geometry), None)]
        return cast_states(targets, *poses, rays, n, limit, excluded, threads, in_threads)


def samples_of(sim: Any, number: int) -> Samples:
    """The samples of a simulation, which is the state of a number in a batch."""
    return Samples(OneState(sim), np.array([number]))
