"""Runs of a simulation in real time, which are shown and recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from robosim.errors import OptionError
from robosim.formulation import Formulation
from robosim.validation import positive
from robosim.viz.link import MAX_FPS
from robosim.viz.pacing import RealTimePacer
from robosim.viz.recorder import Recorder
from robosim.viz.rig import Factory
from robosim.viz.session import Session
from robosim.viz.viewer import Viewer

if TYPE_CHECKING:
    from robosim.viz.foxglove_server import FoxgloveServer


class LiveReport(NamedTuple):
    """The result of a live run.

    Attributes
    ----------
    simulated_seconds, wall_seconds : float [s]
        Simulated time, and real time without pauses.
    real_time_factor : float
        Simulated time per real time; NaN if no time has passed.
    frames : int
        Number of frames shown or recorded.
    """

    simulated_seconds: float
    wall_seconds: float
    real_time_factor: float
    frames: int


def live(
    sim: Formulation,
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
    rebuild: Callable[[float], Formulation] | None = None,
    renew: Callable[[], Formulation | None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    sensors: Sequence[str] = (),
    foxglove: FoxgloveServer | None = None,
) -> LiveReport:
    """Run a simulation in real time, and show and record it.

    From the panel of a viewer, users can pause, step and restart the run, change its speed, pull
    at bodies and pose the robot. See `robosim.viz.session.Session`.

    Parameters
    ----------
    sim : Simulation
    controller
        As for ``Simulation.stream``.
    seconds : float or None [s]
        Simulated time, in total if the run is restarted. None: until interrupted by ctrl-C, or by
        the stop button of a notebook; then no KeyboardInterrupt is raised.
    viewer, recorder : Viewer and Recorder, or None
    on_frame : callable(chunk) or None
        Called with each ``robosim.log.Chunk`` of the run, in order. The panel can then neither
        pose the robot nor restart, as a log has one run.
    fps : float
        Frames per second.
    speed : float
        Simulated time per real time; ``math.inf``: as fast as possible.
    paused : bool
        Whether to begin with a pause, until the panel continues the run.
    controllers : mapping of name to callable(robot, timestep) -> controller, or None
        Further controllers that the panel offers.
    rebuild : callable(timestep) -> Simulation, or None
        Makes a simulation with another timestep; None: the panel offers no timesteps.
    renew : callable() -> Simulation or None
        Called twice a second. Returns a simulation with which to continue, or None, as
        `robosim.viz.watch.Watch` does when a model file has changed. An error is shown on the
        page.
    stop : callable() -> bool
        Called before each frame; True ends the run.
    sensors : sequence of str
        Names of sensors with rays whose points the viewer draws.
    foxglove : FoxgloveServer or None
        Also publishes each frame to Foxglove, from where targets of a PD controller can be moved.

    Returns
    -------
    LiveReport

    Raises
    ------
    OptionError
        For seconds that are negative or NaN, or an fps or speed that is not positive. For `renew`
        in a run that is recorded or logged, as such a run has one robot.
    """
    if renew is not None and (recorder is not None or on_frame is not None):
        raise OptionError("a run that is recorded or logged cannot go on with another robot")
    if seconds is not None and not seconds >= 0:
        raise OptionError(f"seconds must not be negative, not {seconds!r}")
    positive("fps", fps)
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
        sensors=sensors,
        foxglove=foxglove,
    )
    try:
        session.run(math.inf if seconds is None else seconds, pacer, stop)
    except KeyboardInterrupt:
        if seconds is not None:
            raise
        session.end(interrupted=True)
    return LiveReport(session.simulated, pacer.wall_seconds, pacer.real_time_factor, session.frames)
