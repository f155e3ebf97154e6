"""Random search along directions that were better [Bruedigam2023, Algorithm 7]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from robosim.cluster import Objective, Workers
from robosim.errors import OptionError
from robosim.validation import Array, count, positive

NEAR = 0.002  # standard deviation of a try along the last direction
ALONG = 0.01  # length of a try along the last direction
SHRINK = 0.9  # factor of the spread after a try that was no better


class RandomSearch:
    """Independent learners, each of which searches for parameters of the largest value.

    A learner tries its best parameters plus normal random numbers of some standard deviation, the
    spread. If the try was better, the next one continues in the same direction. If not, the try
    is discarded, and the spread shrinks. So the authors ran Algorithm 7; as printed, the algorithm
    hardly learns (docs/derivation.md).

    Each learner has its own random numbers. So its results depend neither on the number of
    learners nor on how they are simulated.

    Parameters
    ----------
    start : (k,), or (n, k) for learners that begin at different parameters
    learners : int or None
        Number of learners. None: one for each row of `start`, or a single learner, whose
        parameters and values then have no axis of learners.
    explore : float
        Spread at first, and after each try that was better.
    seed : int
    least : float
        Value that the first try has to exceed.

    Attributes
    ----------
    told : int
        Number of tries so far.

    Raises
    ------
    OptionError
        For values that are not finite, not positive, or of a wrong shape.
    """

    def __init__(
        self,
        start: ArrayLike,
        learners: int | None = None,
        *,
        explore: float = 0.1,
        seed: int = 0,
        least: float = -np.inf,
    ) -> None:
        begin = np.array(start, dtype=float)
        if begin.ndim not in (1, 2) or begin.size == 0 or not np.all(np.isfinite(begin)):
            raise OptionError(f"start must be finite numbers (k,) or (n, k), not {start!r}")
        positive("explore", explore)
        n = count("learners", 1 if learners is None else learners)
        if begin.ndim == 2 and learners is None:
            learners = n = len(begin)
        if begin.ndim == 2 and len(begin) != n:
            raise OptionError(f"start has {len(begin)} rows for {n} learners")
        self.single = learners is None
        self.explore = float(explore)
        self._best = np.tile(begin, (n, 1)) if begin.ndim == 1 else begin
        self._values = np.full(n, float(least))
        self._way = np.zeros_like(self._best)
        self._spread = np.full(n, self.explore)
        self._tried: Array | None = None
        self._random = [np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(n)]
        self.told = 0

    @property
    def best(self) -> Array:
        """The best parameters of each learner, (n, k), or (k,) for a single learner."""
        return self._best[0].copy() if self.single else self._best.copy()

    @property
    def values(self) -> Any:
        """The values of the best parameters, (n,), or a number for a single learner."""
        return float(self._values[0]) if self.single else self._values.copy()

    def ask(self) -> Array:
        """Parameters to try, (n, k), or (k,) for a single learner; unchanged until `tell`."""
        if self._tried is None:
            self._tried = self._best.copy()
            for i, random in enumerate(self._random):
                draw = random.standard_normal(self._best.shape[1])
                if np.any(self._way[i]):
                    self._tried[i] += NEAR * draw + ALONG * self._way[i]
                else:
                    self._tried[i] += self._spread[i] * draw
        return self._tried[0].copy() if self.single else self._tried.copy()

    def tell(self, values: ArrayLike) -> None:
        """Report the values of the parameters from `ask`, (n,), or a number.

        NaN is worse than any value.

        Raises
        ------
        OptionError
            If `ask` was not called before, or for a wrong number of values.
        """
        if self._tried is None:
            raise OptionError(
                "tell() expects the values of the parameters from ask(): call ask() first"
            )
        try:
            given = np.atleast_1d(np.asarray(values, dtype=float))
        except (TypeError, ValueError):
            raise OptionError(f"values must be numbers, not {values!r}") from None
        if given.shape != self._values.shape:
            raise OptionError(
                f"values must be {len(self._values)} numbers, one for each learner, not of shape "
                f"{np.shape(values)}"
            )
        for i, better in enumerate(given > self._values):
            if better:
                way = self._tried[i] - self._best[i]
                length = np.linalg.norm(way)
                self._way[i] = way / length if length > 0 else 0.0
                self._best[i], self._values[i] = self._tried[i], given[i]
                self._spread[i] = self.explore
            else:
                self._way[i] = 0.0
                self._spread[i] *= SHRINK
        self._tried = None
        self.told += 1

    def run(self, objective: Objective, tries: int, workers: Workers) -> Array:
        """Call `ask` and `tell` a number of times, with values that workers compute.

        The result does not depend on the number of workers. After an interrupt or an error the
        search is in its state after the last complete try.

        Parameters
        ----------
        objective : callable(batch, candidates (n, k), random) -> (n,)
            As for `robosim.cluster.Workers.map`. NaN is worse than any value.
        tries : int
            Number of tries of each learner.
        workers : Workers

        Returns
        -------
        best : (n, k), or (k,) for a single learner

        Raises
        ------
        OptionError
            If the objective returns no numbers, or a wrong number of these.
        WorkerError
            If the objective fails.
        """
        for _ in range(count("tries", tries)):
            self.tell(workers.map(objective, np.atleast_2d(self.ask())))
        return self.best

    def state(self) -> dict[str, Any]:
        """The state of the search, ready for JSON; see `from_state`."""
        return {
            "single": self.single,
            "explore": self.explore,
            "best": self._best.tolist(),
            "values": [value if np.isfinite(value) else None for value in self._values.tolist()],
            "way": self._way.tolist(),
            "spread": self._spread.tolist(),
            "tried": None if self._tried is None else self._tried.tolist(),
            "random": [random.bit_generator.state for random in self._random],
            "told": self.told,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """A search that continues from the `state` of another one, bit-identically.

        Raises
        ------
        OptionError
            If a key is missing, or has a wrong value.
        """
        try:
            best = np.array(state["best"], dtype=float)
            search = cls(best, explore=state["explore"])
            search.single = bool(state["single"])
            values = [-np.inf if value is None else float(value) for value in state["values"]]
            search._values[:], search._way[:] = values, state["way"]
            search._spread[:] = state["spread"]
            tried = state["tried"]
            search._tried = None if tried is None else np.array(tried, dtype=float)
            for random, kept in zip(search._random, state["random"], strict=True):
                random.bit_generator.state = kept
            search.told = int(state["told"])
        except (KeyError, TypeError, ValueError, OptionError) as error:
            raise OptionError(f"this is no state of a search: {error}") from None
        return search
