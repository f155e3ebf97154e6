"""Warnings about a run by the engine in maximal coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.simulation.diagnosis import FAR, warn_of_overlap, warn_of_start, warn_of_turn


class Notices:
    """Warnings of one engine.

    Parameters
    ----------
    engine : robosim.simulation.engine.Engine
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._told_of_turn = False

    def of_start(self) -> None:
        """Issue warnings before the first step."""
        warn_of_start(self._engine.robot, self._engine.parts)

    def of_steps(self, infos: NDArray[np.void], first: bool) -> None:
        """Issue warnings about steps of (n,) INFO; `first` if the first step is included."""
        if not len(infos):
            return
        if first:
            self._of_overlap(float(infos["gap"][0]))
        if not self._told_of_turn and infos["turn"].min() < FAR:
            engine = self._engine
            begin = engine.time - engine.timestep * len(infos)
            self._told_of_turn = warn_of_turn(engine.robot, engine.parts, infos, begin)

    def _of_overlap(self, gap: float) -> None:
        """Issue a warning if shapes overlap in the first step, which ended with this gap."""
        if gap < -1e-9:
            found = [
                contact
                for one in self._engine.systems
                if len(one.parts.model.collision.pairs)
                for contact in one.contacts()
            ]
            warn_of_overlap([contact for contact in found if not contact.is_point])


class Silence:
    """No warnings about runs."""

    def of_start(self) -> None:
        """No warning."""

    def of_steps(self, infos: NDArray[np.void], first: bool) -> None:
        """No warning."""
