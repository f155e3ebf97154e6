"""Which islands of a world sleep: those that have come to rest, until something acts on them."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.loads import Loads
from robosim.compiled.records.step import INFO
from robosim.simulation.checkpoint import Counters
from robosim.simulation.islands import Island
from robosim.validation import Array

SLOW = 1e-4  # [m/s], below which all points of what is at rest are
BALL = 2.5  # square of a ball's radius, over that of its gyration


class Sleep:
    """The islands that sleep, by their units, and for how many looks the others have been at rest.

    Parameters
    ----------
    seconds : float
        Rest after which an island sleeps.
    pause : float [s]
        From one look to the next.

    Attributes
    ----------
    asleep : set of tuples of units
    prepared : bool
        Whether what sleeping islands go back to is kept, and where they stand is noted.
    info : (1,) INFO
        What each step of sleeping islands comes to.
    """

    def __init__(self, seconds: float, pause: float) -> None:
        self._given, self._needed = (seconds, pause), max(1, ceil(seconds / pause - 1e-9))
        self._seen: dict[tuple[int, ...], int] = {}
        self.asleep: set[tuple[int, ...]] = set()
        self.prepared, self.info = True, np.zeros(1, dtype=INFO)

    def clear(self) -> None:
        """Let all islands be awake, and as if they had just moved."""
        self._seen.clear()
        self.asleep.clear()

    def keep(self, islands: Iterable[Island]) -> None:
        """Forget islands that are none any more."""
        known = {one.units for one in islands}
        self._seen = {units: count for units, count in self._seen.items() if units in known}
        self.asleep &= known

    def look(self, island: Island) -> bool:
        """Look at an island that is awake; whether it falls asleep."""
        units = island.units
        self._seen[units] = self._seen.get(units, 0) + 1 if is_slow(island) else 0
        if self._seen[units] < self._needed or len(island.places.values.motions):
            return False
        self.asleep.add(units)
        self.prepared = False
        return True

    def wake(self, island: Island) -> None:
        """Let an island move again."""
        self.asleep.discard(island.units)
        self._seen[island.units] = 0

    def told(self, counters: Counters) -> None:
        """Note what steps of sleeping islands come to, from the last one of the world."""
        assert counters.last is not None
        infos, row = counters.last
        self.info[0] = infos[row]
        for name in ("iterations", "events", "error", "attempt", "residual"):
            self.info[name] = 0
        self.info["substeps"] = 1

    def saved(self) -> list[list[Any]]:
        """Units, looks at rest, and whether they sleep, of all islands that have been at rest."""
        return [[list(u), n, u in self.asleep] for u, n in sorted(self._seen.items()) if n]

    def copied(self) -> Sleep:
        """A copy, of which nothing is prepared."""
        other = Sleep(*self._given)
        other.assign(self.saved())
        return other

    def assign(self, saved: Iterable[Any]) -> None:
        """Go on from what was saved."""
        self.clear()
        for units, count, sleeps in saved:
            self._seen[tuple(units)] = int(count)
            if sleeps:
                self.asleep.add(tuple(units))
        self.prepared = False


def is_slow(island: Island) -> bool:
    """Whether no point of any body of an island moves faster than `SLOW`."""
    parts = island.engine.parts
    bodies, shown = parts.model.bodies, parts.state.bodies["shown"]
    gyration = np.trace(bodies["inertia"], axis1=1, axis2=2) / (3.0 * bodies["mass"])
    size = np.maximum(bodies["reach"], np.sqrt(BALL * gyration))
    speeds = np.linalg.norm(shown[:, :3], axis=1) + size * np.linalg.norm(shown[:, 3:], axis=1)
    return bool(speeds.max() < SLOW)


def is_driven(island: Island, gains: NDArray[np.void]) -> bool:
    """Whether a PD drives any joint of an island; `gains` are the world's, () without one."""
    if not len(gains):
        return False
    own = gains[island.places.values.gains[:, 0]]
    return bool(np.any(own["kp"]) or np.any(own["kd"]))


def is_disturbed(island: Island, world: Loads, torques: Array) -> bool:
    """Whether anything acts on a sleeping island that has not acted when it fell asleep.

    `torques` (n, nv) are those of the world's next steps.
    """
    to, own = island.places.values, island.engine.parts.loads
    return not (
        bool(np.all(torques[:, to.v] == own.tau))
        and np.array_equal(world.external[to.bodies], own.external[: len(to.bodies)])
        and np.array_equal(world.controls[to.controls], own.controls)
        and np.array_equal(world.servos[to.v], own.servos)
    )
