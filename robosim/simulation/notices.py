"""What the engine in maximal coordinates has to say of a run while it goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.simulation.diagnosis import FAR, warn_of_overlap, warn_of_start, warn_of_turn
from robosim.simulation.readings import contacts


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
        """Before the first step."""
        warn_of_start(self._engine.robot, self._engine.parts)

    def of_steps(self, infos: NDArray[np.void], first: bool) -> None:
        """After steps that these (n,) INFO are of; `first` if the first of all is among them."""
        if not len(infos):
            return
        if first:
            self._of_overlap(float(infos["gap"][0]))
        if not self._told_of_turn and infos["turn"].min() < FAR:
            engine = self._engine
            begin = engine.time - engine.timestep * len(infos)
            self._told_of_turn = warn_of_turn(engine.robot, engine.parts, infos, begin)

    def _of_overlap(self, gap: float) -> None:
        """After the first step, which has ended at this gap."""
        robot, parts = self._engine.robot, self._engine.parts
        if gap < -1e-9 and parts.model.collision is not None:
            values = parts.model, parts.state, parts.memory, parts.work
            found = contacts(robot, *values, self._engine.last_interval)
            warn_of_overlap([contact for contact in found if not contact.is_point])


class Silence:
    """No notices of runs."""

    def of_start(self) -> None:
        """Nothing is said."""

    def of_steps(self, infos: NDArray[np.void], first: bool) -> None:
        """Nothing is said."""
