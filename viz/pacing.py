"""Pacing of a simulation to real time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from robosim.errors import OptionError


class RealTimePacer:
    """Slows a simulation down to real time, without drift.

    Due times are counted from the start, so that errors of single sleeps do not accumulate. If the
    simulation is late by more than `max_lag`, the delay is accepted: due times are then counted
    from the present time on.

    Parameters
    ----------
    speed : float
        Simulated time per real time; ``math.inf`` never waits.
    max_lag : float [s]
        Largest delay that the simulation catches up.
    clock, sleep : callables
        Replacements of `time.perf_counter` and `time.sleep`, for tests.

    Raises
    ------
    OptionError
        For a speed that is not positive, or a negative max_lag.
    """

    def __init__(
        self,
        speed: float = 1.0,
        max_lag: float = 0.1,
        *,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not speed > 0:
            raise OptionError(f"speed must be positive, not {speed!r}")
        if not max_lag >= 0:
            raise OptionError(f"max_lag must not be negative, not {max_lag!r}")
        self.speed = float(speed)
        self.max_lag = float(max_lag)
        self._clock = clock
        self._sleep = sleep
        self.start(0.0)

    def start(self, simulated: float) -> None:
        """Start: the simulated time `simulated` [s] is due now."""
        self._first_simulated = self._origin_simulated = self._simulated = float(simulated)
        self._first_wall = self._origin_wall = self._clock()
        self._idle = 0.0
        self._paused_at: float | None = None

    def pause(self) -> None:
        """Exclude the time from now to ``resume``."""
        if self._paused_at is None:
            self._paused_at = self._clock()

    def resume(self, simulated: float) -> None:
        """Continue: `simulated` [s] is due now; it may be earlier than before, after a restart."""
        now = self._clock()
        if self._paused_at is not None:
            self._idle += now - self._paused_at
            self._paused_at = None
        self._first_simulated += simulated - self._simulated
        self._simulated = self._origin_simulated = float(simulated)
        self._origin_wall = now

    def wait(self, simulated: float) -> float:
        """Sleep until `simulated` [s] is due, and return the delay [s], 0 if in time."""
        self._simulated = float(simulated)
        due = self._origin_wall + (self._simulated - self._origin_simulated) / self.speed
        lag = self._clock() - due
        if lag < 0:
            self._sleep(-lag)
            return 0.0
        if lag > self.max_lag:
            self._origin_simulated, self._origin_wall = self._simulated, self._clock()
        return lag

    @property
    def wall_seconds(self) -> float:
        """Real time since the start, without pauses [s]."""
        now = self._clock() if self._paused_at is None else self._paused_at
        return now - self._first_wall - self._idle

    @property
    def real_time_factor(self) -> float:
        """Simulated time per real time since the start; NaN if no time has passed."""
        wall = self.wall_seconds
        return (self._simulated - self._first_simulated) / wall if wall > 0 else math.nan
