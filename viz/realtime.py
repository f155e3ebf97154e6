"""Simulated time against the clock on the wall, and the loop that shows a run as it goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from robosim.errors import OptionError
from robosim.viz.link import MAX_FPS
from robosim.viz.pacing import RealTimePacer
from robosim.viz.recorder import Recorder
from robosim.viz.rig import Factory
from robosim.viz.session import Session
from robosim.viz.viewer import Viewer


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
    paused: bool = False,
    controllers: Mapping[str, Factory] | None = None,
    rebuild: Callable[[float], Any] | None = None,
    renew: Callable[[], Any] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> LiveReport:
    """Run a simulation in real time, showing and recording it as it goes.

    With a viewer, its panel can pause the run, change its speed, step it, pull at bodies, pose the
    robot and start again: see `robosim.viz.session.Session`.

    Parameters
    ----------
    sim : Simulation
    controller
        As for ``Simulation.stream``.
    seconds : float or None [s]
        Of simulated time, all runs together. None: until interrupted, by ctrl-C or a notebook's
        stop, which then is no error.
    viewer, recorder : or None
    on_frame : callable(chunk) or None
        Called with each ``robosim.log.Chunk`` of the run, all of them in order. The panel then
        neither poses the robot nor starts again, as a log is of one run.
    fps : float
        Frames shown per second.
    speed : float
        Simulated seconds for each second; ``math.inf`` runs as fast as it can.
    paused : bool
        Begin with a pause, until the panel says go.
    controllers : mapping of name to callable(robot, timestep) -> controller, or None
        What the panel offers beside `controller`.
    rebuild : callable(timestep) -> Simulation, or None
        What the panel starts again with, where it is to offer other timesteps.
    renew : callable() -> Simulation or None
        Asked twice a second for a simulation to go on with instead, as of a robot whose file has
        changed (`robosim.viz.watch.Watch`). An error that it raises is shown on the page.
    stop : callable() -> bool
        Asked before every frame whether to end.

    Raises
    ------
    OptionError
        For seconds that are negative or NaN, an fps or speed that is not positive; for a `renew`
        of a run that is recorded or logged, which is of one robot.
    """
    if renew is not None and (recorder is not None or on_frame is not None):
        raise OptionError("a run that is recorded or logged cannot go on with another robot")
    if seconds is not None and not seconds >= 0:
        raise OptionError(f"seconds must not be negative, not {seconds!r}")
    if not (fps > 0 and math.isfinite(fps)):
        raise OptionError(f"fps must be a positive number, not {fps!r}")
    pacer = RealTimePacer(speed)
    session = Session(
        sim,
        controller,
        viewer,
        recorder,
        controllers=controllers,
        rebuild=rebuild,
        renew=renew,
        on_chunk=on_frame,
        fps=fps,
        speed=speed,
        paused=paused,
    )
    try:
        session.run(math.inf if seconds is None else seconds, pacer, stop)
    except KeyboardInterrupt:
        if seconds is not None:
            raise
        session.end(interrupted=True)
    return LiveReport(session.simulated, pacer.wall_seconds, pacer.real_time_factor, session.frames)
