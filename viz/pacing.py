"""Simulated time held back to the wall clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from robosim.errors import OptionError


class RealTimePacer:
    """Holds simulated time back to the wall clock, without drift.

    Each moment has its due time counted from the start, so that errors of single sleeps do not
    add up. A simulation that falls behind by more than `max_lag` is not made to catch up: the
    start is moved, it goes on from there at its pace.

    Parameters
    ----------
    speed : float
        Simulated seconds for each second; ``math.inf`` never waits.
    max_lag : float [s]
    clock, sleep : callables
        To test with.

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
        """Let `simulated` [s] be now."""
        self._first_simulated = self._origin_simulated = self._simulated = float(simulated)
        self._first_wall = self._origin_wall = self._clock()
        self._idle = 0.0
        self._paused_at: float | None = None

    def pause(self) -> None:
        """Let the time from now to ``resume`` not count."""
        if self._paused_at is None:
            self._paused_at = self._clock()

    def resume(self, simulated: float) -> None:
        """Go on with `simulated` [s] as now, which may be an earlier one than before."""
        now = self._clock()
        if self._paused_at is not None:
            self._idle += now - self._paused_at
            self._paused_at = None
        self._first_simulated += simulated - self._simulated
        self._simulated = self._origin_simulated = float(simulated)
        self._origin_wall = now

    def wait(self, simulated: float) -> float:
        """Sleep until `simulated` [s] is due; by how much it came late [s], 0 if in time."""
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
        """Seconds since the start, without pauses."""
        now = self._clock() if self._paused_at is None else self._paused_at
        return now - self._first_wall - self._idle

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds for each second so far; NaN before any time has passed."""
        wall = self.wall_seconds
        return (self._simulated - self._first_simulated) / wall if wall > 0 else math.nan
