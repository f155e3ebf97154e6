"""Random search in the direction of what was better [Bruedigam2023, Algorithm 7]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from robosim.cluster import Objective, Workers
from robosim.errors import OptionError
from robosim.validation import Array, count

NEAR = 0.002  # spread about the last direction
ALONG = 0.01  # way along the last direction
SHRINK = 0.9  # of the spread, after a try that was no better


class RandomSearch:
    """Learners that look for parameters of the largest value, each by itself.

    A learner tries its best parameters with something random added. What was better gives a
    direction, and the next try goes on along it. What was no better shrinks the spread. As the
    authors ran Algorithm 7, the random numbers are normal, and a try that was no better is
    forgotten; as printed, the algorithm hardly learns (docs/derivation.md).

    Each learner has random numbers of its own, so that what it does depends neither on how many
    others there are nor on how they are simulated.

    Parameters
    ----------
    start : (k,), or (n, k) for learners that begin at different parameters
    learners : int or None
        How many; None for a single one, whose parameters and values then have no axis of learners.
    explore : float
        Spread of the first try, and of the first one after each that was better.
    seed : int
    least : float
        What the first try has to exceed.

    Raises
    ------
    OptionError
        For numbers that are none of these.
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
        if not (np.isfinite(explore) and explore > 0):
            raise OptionError(f"explore must be a positive number, not {explore!r}")
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
        """The best parameters of each learner, (n, k), or (k,) of a single one."""
        return self._best[0].copy() if self.single else self._best.copy()

    @property
    def values(self) -> Any:
        """Their values, (n,), or a number."""
        return float(self._values[0]) if self.single else self._values.copy()

    def ask(self) -> Array:
        """Parameters to try, (n, k), or (k,): the same until `tell` is called."""
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
        """What the parameters that were asked for are worth, (n,), or a number; nan: nothing.

        Raises
        ------
        OptionError
            Before `ask`, or for another number of values.
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
        """Ask, let workers find what is asked for, and tell, again and again.

        The result does not depend on the number of workers. After an interrupt or an error the
        search is as after the last try that was told.

        Parameters
        ----------
        objective : callable(batch, candidates (n, k), random) -> (n,)
            As for `robosim.cluster.Workers.map`; nan is no improvement.
        tries : int
            Of each learner.
        workers : Workers

        Returns
        -------
        best : (n, k), or (k,) of a single learner

        Raises
        ------
        OptionError
            For values that are none.
        WorkerError
            If the objective fails.
        """
        for _ in range(count("tries", tries)):
            self.tell(workers.map(objective, np.atleast_2d(self.ask())))
        return self.best

    def state(self) -> dict[str, Any]:
        """All that the search goes on from, ready for JSON; see `from_state`."""
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
        """A search that goes on to the same bits as the one whose `state` this is.

        Raises
        ------
        OptionError
            For what is no such state.
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
