"""Islands that take steps together: in compiled code, and by their engines where that ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.errors import RobosimError
from robosim.runtime.handles import StepFunction, step_function
from robosim.runtime.islands import indices
from robosim.runtime.threads import do_all
from robosim.simulation.checkpoint import Counters
from robosim.simulation.islands import Island

WORTH_THREADS = 16  # steps of islands that are worth to be shared among threads
SHARES = 16  # parts that threads take one after the other


class Together(NamedTuple):
    """Islands with the same kernels."""

    islands: list[Island]
    take: StepFunction
    parts: NDArray[np.int64]
    runs: NDArray[np.int64]
    done: NDArray[np.int64]


class Stepped:
    """Addresses of islands that take steps together.

    Attributes
    ----------
    groups : those that compiled code takes at once
    single : those that need their engine
    """

    def __init__(self, islands: Sequence[Island], driven: bool) -> None:
        self.islands, self.driven = list(islands), driven
        self.handles = [one.engine.handle for one in islands]
        self.runs = [one.driven if driven else one.plain for one in islands]
        kept = [one.kept for one in islands]
        self.parts, self.run_addresses, self.places, self.kept = (
            indices([handle.address for handle in handles])
            for handles in (self.handles, self.runs, [one.places for one in islands], kept)
        )
        self.keeps = kept
        self.groups: list[Together] = []
        self.single = [one for one in islands if one.engine.counters.away]
        for tree in (True, False):
            chosen = [
                n
                for n, one in enumerate(islands)
                if one.engine.parts.model.tree == tree and not one.engine.counters.away
            ]
            if chosen:
                for n in chosen:
                    take = step_function(self.handles[n], self.runs[n])
                    islands[n].engine.step_states = take
                some = [islands[n] for n in chosen]
                done = np.zeros(len(chosen), dtype=np.int64)
                group = some, take, self.parts[chosen], self.run_addresses[chosen], done
                self.groups.append(Together(*group))

    def is_valid(self) -> bool:
        """Whether all islands still have the parts that they had."""
        return all(
            one.engine.handle is handle and (one.engine.counters.away != 0) == (one in self.single)
            for one, handle in zip(self.islands, self.handles, strict=True)
        )

    def take(
        self, steps: int, counters: Counters, undo: Undo, pool: ThreadPoolExecutor | None
    ) -> tuple[int, Exception] | None:
        """Take steps of all islands; the first that failed, (steps before, error), or None.

        `counters` are those of the world, where the steps begin.
        """
        failures: list[tuple[int, Exception]] = []
        slow = [(one, 0) for one in self.single]
        for group in self.groups:
            done = group.done
            done.fill(0)
            if pool is None or steps * len(done) < WORTH_THREADS:
                group.take(group.parts, group.runs, done, steps)
            else:
                self._share(group, steps, pool)
            if done.sum() != steps * len(done):
                slow += [(group.islands[n], int(done[n])) for n in np.flatnonzero(done != steps)]
        for one, reached in slow:
            undo.note(one)
            own = one.engine.counters
            own.start_time, own.steps = counters.start_time, counters.steps + reached
            run = one.driven if self.driven else one.plain
            try:
                one.engine.advance(run, reached, steps)
            except RobosimError as error:
                failures.append((own.steps - counters.steps, error))
        return min(failures, key=lambda each: each[0]) if failures else None

    def _share(self, group: Together, steps: int, pool: ThreadPoolExecutor) -> None:
        """Take steps in threads; all have ended when this returns or raises."""
        ends = np.linspace(0, len(group.done), min(len(group.done), SHARES) + 1).astype(int)
        shares = [slice(*pair) for pair in pairwise(ends.tolist())]
        do_all(
            pool,
            [
                partial(group.take, group.parts[one], group.runs[one], group.done[one], steps)
                for one in shares
            ],
        )


class Undo:
    """Parts and counts with which islands began a block, of those whose engine took part in it."""

    def __init__(self) -> None:
        self._noted: dict[Island, tuple[Any, ...]] = {}

    def is_empty(self) -> bool:
        """Whether all islands are as they were."""
        return not self._noted

    def note(self, island: Island) -> None:
        """Note how an island begins, before its engine takes steps."""
        engine = island.engine
        self._noted[island] = engine.at_once(), replace(engine.counters)

    def back(self, islands: Iterable[Island]) -> None:
        """Put islands back."""
        for one in islands:
            if one in self._noted:
                present, counters = self._noted.pop(one)
                one.engine.be_again(present)
                one.engine.counters.assign(counters)
