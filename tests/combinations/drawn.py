"""Numbers of a mechanism, each drawn as a whole number, so that they shrink, print and come back.

`Drawn` has those methods of numpy's `Generator` that `random_mechanisms` calls. Each feature has
numbers of its own: those of the others stay as they are when a feature is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS = 100  # of a number, from the middle of its range to either end

Source = Callable[[int, int], int]
"""A whole number from a lower to an upper one; 0, or else the lower one, is the plainest."""


class Drawn:
    """Numbers from a source, written down by the feature that they were drawn for.

    Attributes
    ----------
    taken : dict of feature to list of int
    feature : str
        The feature that draws at present.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.taken: dict[str, list[int]] = {}
        self.feature = ""

    @classmethod
    def again(cls, numbers: Mapping[str, Sequence[int]]) -> Drawn:
        """The numbers that another one has taken; the plainest ones beyond these."""
        left = {name: list(reversed(values)) for name, values in numbers.items()}

        def source(low: int, high: int) -> int:
            values = left.get(drawn.feature)
            return min(max(values.pop() if values else 0, low), high)

        drawn = cls(source)
        return drawn

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        value = self._source(low, high)
        self.taken.setdefault(self.feature, []).append(value)
        return value

    def choice(self, options: Sequence[Any]) -> Any:
        """One of some options; the first is the plainest."""
        return options[self.whole(0, len(options) - 1)]

    def uniform(self, low: float, high: float, size: int | None = None) -> Any:
        """A number between `low` and `high`, or an array of them; the middle is the plainest."""
        if size is not None:
            return np.array([self.uniform(low, high) for _ in range(size)])
        middle, half = (low + high) / 2, (high - low) / 2
        return middle + half * self.whole(-STEPS, STEPS) / STEPS

    def normal(self, size: int) -> NDArray[np.float64]:
        """A vector that is not zero: of three numbers plainly z, of four the identity."""
        found = np.array([self.whole(-STEPS, STEPS) / STEPS for _ in range(size)])
        if not found.any():
            found[0 if size == 4 else -1] = 1.0
        return found
