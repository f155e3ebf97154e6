"""Simulated time against the clock on the wall, and the loop that shows a run as it goes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from robosim.errors import OptionError
from robosim.viz.recorder import Recorder
from robosim.viz.viewer import MAX_FPS, Viewer


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
        """Seconds since the start."""
        return self._clock() - self._first_wall

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds for each second so far; NaN before any time has passed."""
        wall = self.wall_seconds
        return (self._simulated - self._first_simulated) / wall if wall > 0 else math.nan


class LiveReport(NamedTuple):
    """What a live run came to."""

    simulated_seconds: float
    wall_seconds: float
    real_time_factor: float
    frames: int


def live(
    sim: Any,
    controller: Any = None,
    seconds: float | None = None,
    viewer: Viewer | None = None,
    recorder: Recorder | None = None,
    on_frame: Callable[[Any], None] | None = None,
    *,
    fps: float = MAX_FPS,
    speed: float = 1.0,
) -> LiveReport:
    """Run a simulation in real time, showing and recording it as it goes.

    Parameters
    ----------
    sim : Simulation
    controller
        As for ``Simulation.stream``.
    seconds : float or None [s]
        None: until interrupted.
    viewer, recorder : or None
    on_frame : callable(chunk) or None
        Called with each ``robosim.log.Chunk`` of the run, all of them in order.
    fps : float
        Frames shown per second.
    speed : float
        Simulated seconds for each second; ``math.inf`` runs as fast as it can.

    Raises
    ------
    OptionError
        For seconds that are negative or NaN, an fps or speed that is not positive.
    """
    if seconds is not None and not seconds >= 0:
        raise OptionError(f"seconds must not be negative, not {seconds!r}")
    if not (fps > 0 and math.isfinite(fps)):
        raise OptionError(f"fps must be a positive number, not {fps!r}")
    pacer = RealTimePacer(speed)
    pace = speed if math.isfinite(speed) else 1.0
    chunk_steps = max(1, round(pace / (fps * sim.timestep)))
    begin = sim.time
    frames = 0
    _show(sim, viewer, recorder)
    pacer.start(begin)
    until = math.inf if seconds is None else seconds
    for chunk in sim.stream(until, controller, chunk_steps=chunk_steps):
        _show(sim, viewer, recorder)
        frames += 1
        if on_frame is not None:
            on_frame(chunk)
        if frames == 1:
            # What happens once, such as compiling, is not part of the pace.
            pacer.start(sim.time)
        pacer.wait(sim.time)
    return LiveReport(sim.time - begin, pacer.wall_seconds, pacer.real_time_factor, frames)


def _show(sim: Any, viewer: Viewer | None, recorder: Recorder | None) -> None:
    if viewer is None and recorder is None:
        return
    state = sim.state
    positions, forces = sim.contact_positions(), sim.contact_forces()
    shapes = sim.contacts(ground=False)
    if shapes:
        positions = np.vstack((positions, [contact.position for contact in shapes]))
        forces = np.vstack((forces, [contact.force for contact in shapes]))
    if viewer is not None:
        viewer.update(state.x, state.q, positions, forces, sim.time)
    if recorder is not None:
        recorder.add(sim.time, state.x, state.q, positions, forces)
