"""Common parts of engines: the time of the knot, and a lock, as one thread steps at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable

from robosim.errors import StateError
from robosim.runtime.handles import Handle
from robosim.simulation.checkpoint import Counters

BUSY = (
    "another thread is stepping this simulation: a simulation belongs to one thread at a time; "
    "give each thread a copy() of its own"
)


class Alone:
    """An engine that one thread at a time uses; see `robosim.simulation.driver.Stepped`."""

    counters: Counters
    has_nodes = False  # whether laws of torques may act at control points within a step
    is_busy: Callable[[], bool]

    @property
    def timestep(self) -> float:
        """Length of a step [s]."""
        raise NotImplementedError

    @property
    def time(self) -> float:
        """Time of the present knot [s]."""
        return self.counters.start_time + self.counters.steps * self.timestep

    def _unlock(self) -> None:
        """Make the lock, which copies do not share."""
        self._stepping = threading.Lock()
        self.is_busy = self._stepping.locked  # an attribute, because each step reads it

    def advance(self, run: Handle, begin: int, end: int) -> None:
        """Take steps `begin` to `end` of a run."""
        raise NotImplementedError

    def advance_once(self, run: Handle) -> None:
        """Take the only step of a run."""
        self.advance(run, 0, 1)

    def act_by(self, law: int) -> None:
        """Let the compiled function at an address act within steps, or none for 0."""
        assert law == 0, "only steps in joint coordinates have control points"

    def refuse_if_busy(self) -> None:
        """Raise a StateError while another thread takes steps."""
        if self.is_busy():
            raise StateError(BUSY)
