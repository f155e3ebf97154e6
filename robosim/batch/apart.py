"""Steps of a batch whose states are worlds of islands: each state by its own engine, in threads."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from robosim.batch.buffers import BatchBuffers
from robosim.batch.stepping import PARTS_PER_THREAD, Stepping, shared_out
from robosim.errors import ControllerError, ConvergenceError


class SteppingApart(Stepping):
    """Takes the steps of n states, the units of which are solved apart as `Simulation` does.

    No state is in lanes, as islands of eight states would have to come and go together.
    """

    is_apart = True
    _has_begun = False

    def take_up(self, i: int) -> None:
        """Nothing: the engine of a world knows the solvers of its islands."""

    def gather(self) -> None:
        """Bring poses and velocities of bodies in `states` up to date."""
        for sim in self.sims:
            sim.engine.refresh()

    def run(
        self,
        memory: BatchBuffers,
        steps: int,
        done: NDArray[np.int64],
        todo: NDArray[np.int64] | None = None,
    ) -> None:
        """Take the time steps of all or some states, and count the successful ones in `done`."""
        todo = np.arange(self.n) if todo is None else todo

        def take(share: NDArray[np.int64]) -> None:
            for i in share.tolist():
                self._take(memory, steps, done, i)

        if not self._has_begun:
            # By itself, as what it compiles is the same for all.
            take(todo[:1])
            todo, self._has_begun = todo[1:], True
        count = 1 if self._pool is None else self.threads * PARTS_PER_THREAD
        self.do([partial(take, share) for share in shared_out(todo, count)])

    def _take(self, memory: BatchBuffers, steps: int, done: NDArray[np.int64], i: int) -> None:
        """Take the steps of state i, up to one that cannot be solved."""
        engine = self.sims[i].engine
        before, begin = engine.counters.steps, int(done[i])
        try:
            engine.advance(memory.handles[i], begin, steps)
        except (ConvergenceError, ControllerError):
            pass  # `done` tells; a step of the state by itself tells more
        finally:
            # An interrupt, too, leaves a state where some of its steps have led to.
            done[i] = begin + engine.counters.steps - before
