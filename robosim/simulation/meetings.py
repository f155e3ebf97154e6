"""Which units of a world meet, and when those that have met are apart for good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from robosim.compiled.building.shapes import compile_shapes

MOST_PATIENCE = 64  # looks at islands that are apart before they are divided, if they meet often


class Patience:
    """How often islands are found to be apart before they are divided: ever more often."""

    def __init__(self) -> None:
        self._needed: dict[tuple[int, ...], int] = {}
        self._seen: dict[tuple[int, ...], int] = {}

    def begin(self, units: tuple[int, ...]) -> None:
        """Note that the units are together."""
        self._seen.pop(units, None)

    def is_over(self, units: tuple[int, ...]) -> bool:
        """Note that the units are apart; whether they have been for long enough."""
        seen, needed = self._seen.get(units, 0) + 1, self._needed.get(units, 1)
        self._seen[units] = seen
        if seen < needed:
            return False
        self.begin(units)
        self._needed[units] = min(2 * needed, MOST_PATIENCE)
        return True

    def saved(self) -> list[list[Any]]:
        """Units, looks that are needed, and looks that have been, of all that have been apart."""
        known = sorted(self._needed.keys() | self._seen.keys())
        return [[list(u), self._needed.get(u, 1), self._seen.get(u, 0)] for u in known]

    @classmethod
    def of(cls, saved: Iterable[Any]) -> Patience:
        """The one that was saved."""
        made = cls()
        for units, needed, seen in saved:
            made._needed[tuple(units)], made._seen[tuple(units)] = int(needed), int(seen)
        return made

    def copied(self) -> Patience:
        """A copy."""
        return Patience.of(self.saved())


def connected(
    sets: Sequence[tuple[int, ...]], pairs: Iterable[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """Unions of sets of units that pairs connect."""
    of = {u: {*units} for units in sets for u in units}
    for units in sets:
        shared = of[units[0]]
        for u in units:
            of[u] = shared
    for a, b in pairs:
        if of[a] is not of[b]:
            joined = of[a] | of[b]
            for u in joined:
                of[u] = joined
    return sorted({tuple(sorted(units)) for units in of.values()})


def ball_around(shapes: Sequence[Any]) -> float:
    """Radius of the ball around the centre of mass that all shapes of a body are in [m]."""
    records, _ = compile_shapes(shapes)
    return float(np.max(np.linalg.norm(records["x"], axis=1) + records["reach"]))
