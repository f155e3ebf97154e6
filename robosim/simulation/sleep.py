"""Which islands of a world sleep: those that have come to rest, until something acts on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.loads import Loads
from robosim.compiled.records.step import INFO
from robosim.kernels.step.accuracy import BALL
from robosim.runtime.islands import Indices
from robosim.simulation.checkpoint import Counters
from robosim.simulation.islands import Island
from robosim.validation import Array

SLOW = 1e-4  # [m/s], below which all points of what is at rest are


class Watched(NamedTuple):
    """What acts on some islands: places in the loads of the world, and what is there."""

    v: Indices
    bodies: Indices
    controls: Indices
    gains: Indices
    loads: Loads

    @classmethod
    def of(cls, islands: Sequence[Island]) -> Watched:
        """What acts on these islands, by their own loads."""
        places = [one.places.values for one in islands]
        own = [one.engine.parts.loads for one in islands]
        first = own[0]
        return cls(
            np.concatenate([to.v for to in places]),
            np.concatenate([to.bodies for to in places]),
            np.concatenate([to.controls for to in places]),
            np.concatenate([to.gains[:, 0] for to in places]),
            first._replace(
                tau=np.concatenate([each.tau for each in own]),
                external=np.concatenate(
                    [each.external[: len(to.bodies)] for to, each in zip(places, own, strict=True)]
                ),
                controls=np.concatenate([each.controls for each in own]),
                servos=np.concatenate([each.servos for each in own]),
            ),
        )

    def are_the_same(self, world: Loads, torques: Array, gains: NDArray[np.void]) -> bool:
        """Whether the same acts now, and no PD.

        `torques` (n, nv) are those of the world's next steps, `gains` its own, () without a PD.
        """
        mine = self.loads
        return not is_driven(self.gains, gains) and (
            bool(np.all(torques[:, self.v] == mine.tau))
            and np.array_equal(world.external[self.bodies], mine.external)
            and np.array_equal(world.controls[self.controls], mine.controls)
            and np.array_equal(world.servos[self.v], mine.servos)
        )


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
    watched : Watched or None
        What acts on all that sleep; None until what these go back to is kept.
    info : (1,) INFO
        What each step of sleeping islands comes to.
    """

    def __init__(self, seconds: float, pause: float) -> None:
        self._given, self._needed = (seconds, pause), max(1, ceil(seconds / pause - 1e-9))
        self._seen: dict[tuple[int, ...], int] = {}
        self.asleep: set[tuple[int, ...]] = set()
        self.watched: Watched | None = None
        self.info = np.zeros(1, dtype=INFO)

    def clear(self) -> None:
        """Let all islands be awake, and as if they had just moved."""
        self._seen.clear()
        self.asleep.clear()

    def keep(self, islands: Iterable[Island]) -> None:
        """Forget islands that are none any more."""
        known = {one.units for one in islands}
        self._seen = {units: count for units, count in self._seen.items() if units in known}
        self.asleep &= known
        self.watched = None

    def look(self, island: Island) -> bool:
        """Look at an island that is awake; whether it falls asleep."""
        units = island.units
        self._seen[units] = self._seen.get(units, 0) + 1 if is_slow(island) else 0
        if self._seen[units] < self._needed or len(island.places.values.motions):
            return False
        self.asleep.add(units)
        self.watched = None
        return True

    def wake(self, island: Island) -> None:
        """Let an island move again."""
        self.asleep.discard(island.units)
        self._seen[island.units] = 0
        self.watched = None

    def begin(self, islands: Sequence[Island], counters: Counters) -> None:
        """Watch what sleeps; note what its steps come to, from the last one of the world."""
        assert counters.last is not None
        self.watched = Watched.of(islands)
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
        self.watched = None


def is_slow(island: Island) -> bool:
    """Whether no point of any body of an island moves faster than `SLOW`."""
    parts = island.engine.parts
    bodies, shown = parts.model.bodies, parts.state.bodies["shown"]
    gyration = np.trace(bodies["inertia"], axis1=1, axis2=2) / (3.0 * bodies["mass"])
    size = np.maximum(bodies["reach"], np.sqrt(BALL * gyration))
    speeds = np.linalg.norm(shown[:, :3], axis=1) + size * np.linalg.norm(shown[:, 3:], axis=1)
    return bool(speeds.max() < SLOW)


def is_driven(rows: Indices, gains: NDArray[np.void]) -> bool:
    """Whether a PD drives any of some motors: rows of its `gains`, which are () without one."""
    own = gains[rows] if len(gains) else gains
    return bool(np.any(own["kp"]) or np.any(own["kd"]))
