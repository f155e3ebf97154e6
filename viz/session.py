"""A simulation that is controlled from the page: play, step, pose, pull, restart."""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.errors import OptionError, RobosimError
from robosim.formulation import Formulation
from robosim.viz.commands import MAX_SPEED, MIN_SPEED, Command
from robosim.viz.inspecting import inspect
from robosim.viz.pacing import RealTimePacer
from robosim.viz.pull import LONGEST_HOLD, Pull
from robosim.viz.rig import Factory, Rig
from robosim.viz.snapshot import JointViolations, Probe, snapshot
from robosim.viz.torques import ByHand
from robosim.viz.waiting import waiting

if TYPE_CHECKING:
    from robosim.viz.foxglove_server import FoxgloveServer
    from robosim.viz.recorder import Recorder
    from robosim.viz.viewer import Viewer

Array = NDArray[np.float64]
FPS = 60.0
ROWS_A_MESSAGE = 6
log = logging.getLogger(__name__)
LET_GO = 1.0  # [s] after which a pull ends if no browser renews it
TOLD_EVERY = 0.1  # [s] between updates of the selected body's card
LOOKED_EVERY = 0.5  # [s] between checks for another robot


class Session:
    """Runs a simulation, and executes the commands from the page's panel.

    Parameters
    ----------
    sim : Simulation
    controller : callable(sim) -> torques, a PD, a name, or None
    viewer, recorder : Viewer and Recorder, or None
    controllers : mapping of name to callable(robot, timestep) -> controller
        Further controllers that the panel offers; `controller` may be one of these names.
    rebuild : callable(timestep) -> Simulation, or None
        Makes a simulation with another timestep; None: the timestep cannot be changed.
    on_chunk : callable(chunk) or None
        Called with each chunk of the run. The run is then not interrupted: the panel can play,
        pause, step and pull, but neither pose the robot nor restart.
    renew : callable() -> Simulation, or None
        Called twice a second. Returns a simulation with which to continue, for example after the
        robot's file has changed, or None. An error is shown, and the run continues.
    fps : float
        Frames per second.
    speed : float
        Simulated time per real time; ``math.inf``: as fast as possible.
    paused : bool
        Whether to wait for the panel before the first step.
    sensors : sequence of str
        Names of sensors with rays whose points the viewer draws.
    foxglove : FoxgloveServer or None
        Also publishes each frame, and moves targets of the controller.
    """

    def __init__(
        self,
        sim: Formulation,
        controller: Any = None,
        viewer: Viewer | None = None,
        recorder: Recorder | None = None,
        *,
        controllers: Mapping[str, Factory] | None = None,
        rebuild: Callable[[float], Formulation] | None = None,
        on_chunk: Callable[[Any], None] | None = None,
        renew: Callable[[], Formulation | None] | None = None,
        fps: float = FPS,
        speed: float = 1.0,
        paused: bool = False,
        sensors: Sequence[str] = (),
        foxglove: FoxgloveServer | None = None,
    ) -> None:
        self.rig = Rig(sim, controller, controllers, rebuild)
        self.robot = sim.robot
        self.viewer, self.recorder, self.foxglove = viewer, recorder, foxglove
        self.speed, self.paused = speed, paused
        self.frames, self.simulated = 0, 0.0
        self._fps = fps
        self._sensors = dict.fromkeys(sensors, math.nan)  # times of the samples that are drawn
        self._on_chunk = on_chunk
        self._one_run = on_chunk is not None
        self._renew, self._looked, self._outdated = renew, 0.0, ""
        self._selected: int | None = None
        self._told = -1.0  # time of the last update of the card; 0: update it at once
        self._first_frame = 0  # of the present robot
        self._pull: Pull | None = None
        self._pulled = 0.0
        self._steps_asked = 0
        self._error = ""
        self._chunk: Any = None
        self._rows: list[Array] = []
        self._pace: tuple[float, float] = (0.0, 0.0)
        self._factor = math.nan
        if viewer is not None or recorder is not None:
            self._probe = Probe(self.robot)
            self._violations = JointViolations(self.robot)
        if recorder is not None:
            recorder.charts = self._probe.charts
        if viewer is not None:
            self._describe()

    def run(
        self,
        seconds: float = math.inf,
        pacer: RealTimePacer | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run until `seconds` [s] of simulated time have passed, or `stop` returns True.

        Raises
        ------
        RobosimError
            If a step fails. With a viewer, an infinite run and no `on_chunk`, the error is shown
            on the page instead, and the run pauses.
        """

        self._pacer = RealTimePacer(self.speed) if pacer is None else pacer
        self._left = seconds
        self._show()
        self._pacer.start(self.sim.time)
        while self._left > 0.5 * self.sim.timestep and not stop():
            self._listen()
            self._follow()
            self._look()
            if self.paused and not self._steps_asked:
                if self.viewer is None:
                    raise OptionError("a session that starts paused needs a viewer")
                self.viewer.wait(1.0 / self._fps)
                self._pacer.pause()
                continue
            try:
                self._advance()
            except RobosimError as error:
                if self._one_run or self.viewer is None or math.isfinite(seconds):
                    raise
                log.warning("%s", error)
                self._error = str(error)
                self.paused, self._steps_asked = True, 0
                self._tell()
        self.end()

    def end(self, interrupted: bool = False) -> None:
        """Release a pulled body, send all samples, and show the state if interrupted."""
        self._let_go()
        if interrupted:
            self._show()
        self._send_rows(all_of_them=True)

    @property
    def sim(self) -> Any:
        """The present simulation; a change of the timestep or of the robot replaces it."""
        return self.rig.sim

    # ---- the run --------------------------------------------------------------------------

    def _advance(self) -> None:
        sim = self.sim
        timestep = sim.timestep
        pace = self.speed if math.isfinite(self.speed) else 1.0
        steps = max(1, round(pace / (self._fps * timestep)))
        if self._steps_asked:
            steps = min(self._steps_asked, steps)
            self._steps_asked -= steps
        if math.isfinite(self._left):
            steps = min(steps, max(1, round(self._left / timestep)))
        first = self.viewer is not None and self.frames == self._first_frame
        with (
            warnings.catch_warnings(record=self.viewer is not None and sim.steps == 0) as told,
            waiting(self.viewer) if first else nullcontext(),  # type: ignore[arg-type]
        ):
            if told is not None:
                warnings.simplefilter("always")
            self._take(steps)
        if told:
            self._error = "; ".join(str(warning.message) for warning in told)
            self._tell()
        self.frames += 1
        self._left -= steps * timestep
        self.simulated += steps * timestep
        if not self.paused:
            self._measure()
        self._show()
        if self.frames == self._first_frame + 1:
            self._tell()
            # Time for compiling in the first step does not count for the pace.
            self._pacer.start(sim.time)
        if not self.paused:
            self._pacer.wait(sim.time)

    def _take(self, steps: int) -> None:
        """Take steps: all at once, or in shorter pieces while a body is pulled."""
        timestep = self.sim.timestep
        piece = steps
        if self._pull is not None:
            piece = max(1, min(steps, int(LONGEST_HOLD / timestep)))
        for done in range(0, steps, piece):
            n = min(piece, steps - done)
            if self._pull is not None:
                self._pull.apply(self.sim)
            for chunk in self.sim.stream(n * timestep, self.rig.control, chunk_steps=n):
                self._chunk = chunk
                if self._on_chunk is not None:
                    self._on_chunk(chunk)

    def _measure(self) -> None:
        """Measure the real-time factor over about half a second."""
        simulated, wall = self._pace
        now = time.perf_counter()
        if now - wall > 0.5:
            if wall:
                self._factor = (self.sim.time - simulated) / (now - wall)
            self._pace = self.sim.time, now

    def _show(self) -> None:
        if self.foxglove is not None:
            self.foxglove.show(self.sim, self._chunk)
        if self.viewer is None and self.recorder is None:
            return
        state = snapshot(self.sim)
        state["pulls"] = None if self._pull is None else self._pull.apply(self.sim)[None]
        state["violations"] = self._violations(state["x"], state["q"], self.sim.q)
        if self.viewer is not None:
            self.viewer.update(**state)
            self._scan(self.viewer)
            self._rows.append(self._sample())
            self._send_rows(all_of_them=self.paused)
            self._tell_body()
        if self.recorder is not None:
            self.recorder.add(**state, row=self._sample)

    def _scan(self, viewer: Viewer) -> None:
        """Draw new samples of sensors."""
        for name, time_drawn in self._sensors.items():
            sample = self.sim.sample(name)  # type: ignore[attr-defined]
            if sample.time != time_drawn:
                viewer.scan(sample)
                self._sensors[name] = sample.time

    def _sample(self) -> Array:
        return self._probe(self.sim, self._chunk, self._factor)

    def _send_rows(self, *, all_of_them: bool) -> None:
        if self.viewer is not None and (all_of_them or len(self._rows) >= ROWS_A_MESSAGE):
            self.viewer.rows(self._rows)
            self._rows = []

    # ---- the panel ------------------------------------------------------------------------

    def _describe(self) -> None:
        """Send the contents of the panel to the page."""
        assert self.viewer is not None
        home = np.asarray(self.robot.home)
        self.viewer.document(
            "panel",
            {
                "charts": self._probe.charts,
                "joints": [joint | {"home": float(home[joint["q"]])} for joint in self.rig.joints],
                "torques": ByHand(self.robot).sliders,
                "configurations": list(self.robot.poses),
                "controllers": list(self.rig.controllers),
                "poses": not self._one_run,
                "timesteps": self.rig.can_rebuild and not self._one_run,
                "speeds": [MIN_SPEED, MAX_SPEED],
            },
        )
        self._tell()

    def _tell(self) -> None:
        """Send the status of the run to the page."""
        if self.viewer is None:
            return
        by_hand = self.rig.by_hand
        self.viewer.document(
            "status",
            {
                "paused": self.paused,
                "started": self.frames > self._first_frame,
                "speed": self.speed if math.isfinite(self.speed) else None,
                "controller": self.rig.name,
                "timestep": self.sim.timestep,
                "targets": self.rig.targets,
                "torques": None if by_hand is None else by_hand.tau.tolist(),
                "q": [float(self.sim.q[joint["q"]]) for joint in self.rig.joints],
                "error": self._outdated or self._error,
            },
        )

    def _listen(self) -> None:
        """Execute commands from browsers."""
        if self.viewer is None:
            return
        for command in self.viewer.commands():
            try:
                self._obey(command)
            except RobosimError as error:
                self._error = str(error)
                self._tell()
        if self._pull is not None and time.perf_counter() - self._pulled > LET_GO:
            self._let_go()

    def _follow(self) -> None:
        """Move the controller's targets as clients of Foxglove ask for."""
        for targets in () if self.foxglove is None else self.foxglove.commands():
            try:
                self.rig.aim_by_name(targets)
            except OptionError as error:
                self.foxglove.refuse(str(error))  # type: ignore[union-attr]
            else:
                self._tell()

    def _obey(self, command: Command) -> None:
        what = command["do"]
        if what == "drag":
            self._drag(command)
            return
        if what == "release":
            self._let_go()
            return
        if what in ("select", "deselect"):
            self._select(command)
            return
        if what in ("reset", "timestep") and self._one_run:
            self._refuse("this run is being logged and has to go on", command)
            return
        self._error = ""
        if what in ("play", "pause"):
            self.paused = what == "pause"
            self._pacer.resume(self.sim.time)
            self._pace = 0.0, 0.0
        elif what == "step":
            self.paused = True
            self._steps_asked = min(self._steps_asked + command["count"], 1000)
        elif what == "speed":
            self.speed = self._pacer.speed = float(command["value"])
            self._pacer.resume(self.sim.time)
        elif what == "reset":
            self._start(None)
        elif what == "timestep":
            self._let_go()
            self.rig.restart(float(command["value"]))
            self._start(None)
        elif what == "joint":
            self._move_joint(command)
        elif what == "configuration":
            self._configure(command)
        elif what == "controller":
            self._choose(command)
        elif what in ("torque", "relax"):
            self._set_torque(command)
        self._tell()

    def _refuse(self, reason: str, command: Command) -> None:
        if self.viewer is not None:
            self.viewer.refuse(reason, command)

    def _drag(self, command: Command) -> None:
        if not command["body"] < len(self.robot.bodies):
            self._refuse("there is no such body", command)
            return
        if self._pull is None or self._pull.body != command["body"]:
            self._let_go()
            self._pull = Pull(self.sim, command["body"], command["point"])
        self._pull.target = np.array(command["target"], dtype=float)
        self._pulled = time.perf_counter()
        if self.paused:
            self._show()

    def _let_go(self) -> None:
        if self._pull is not None:
            self._pull.release(self.sim)
            self._pull = None
            self._show()

    def _start(self, q: Array | None, at: float = 0.0, moved: str | None = None) -> None:
        """Put the robot into a pose q at rest, or back to the start of the run if q is None."""
        self._let_go()
        self.rig.put(q, at, moved)
        self._chunk = None
        if at == 0.0 and self.recorder is not None:
            self.recorder.clear()
        self._pacer.resume(self.sim.time)
        self._show()

    def _move_joint(self, command: Command) -> None:
        """Move a joint while paused; otherwise set the controller's target of this joint."""
        if not command["index"] < len(self.rig.joints):
            self._refuse("there is no such joint", command)
            return
        joint, value = self.rig.joints[command["index"]], float(command["value"])
        if self.paused and not self._one_run:
            q = self.sim.q.copy()
            q[joint["q"]] = value
            self._start(q, self.sim.time, joint["joint"])
        else:
            self.rig.aim({joint["q"]: value})

    def _configure(self, command: Command) -> None:
        if command["name"] not in self.robot.poses:
            self._refuse("there is no such configuration", command)
            return
        q = np.array(self.robot.poses[command["name"]], dtype=float)
        if self.paused and not self._one_run:
            self._start(q, self.sim.time)
        else:
            self.rig.aim({joint["q"]: float(q[joint["q"]]) for joint in self.rig.joints})

    def _choose(self, command: Command) -> None:
        if command["name"] not in self.rig.controllers:
            self._refuse("there is no such controller", command)
            return
        self.rig.choose(command["name"])

    def _set_torque(self, command: Command) -> None:
        by_hand = self.rig.by_hand
        if by_hand is None:
            self._refuse("the controller has no sliders for torques", command)
        elif command["do"] == "relax":
            by_hand.relax()
        elif not by_hand.set(command["index"], float(command["value"])):
            self._refuse("there is no such torque", command)

    # ---- the selected body -----------------------------------------------------------------

    def _select(self, command: Command) -> None:
        body = command.get("body")
        if body is not None and not body < len(self.robot.bodies):
            self._refuse("there is no such body", command)
            return
        self._selected, self._told = body, 0.0
        self._tell_body()

    def _tell_body(self) -> None:
        """Send the data of the selected body to the page."""
        now = time.perf_counter()
        if self.viewer is None or (now - self._told < TOLD_EVERY and not self.paused):
            return
        if self._selected is not None or self._told == 0.0:
            found = None if self._selected is None else inspect(self.sim, self._selected)
            self.viewer.document("body", {"shown": found})
        self._told = now

    # ---- another robot ---------------------------------------------------------------------

    def _look(self) -> None:
        """Continue with another robot, if `renew` returns one."""
        now = time.perf_counter()
        if self._renew is None or self.viewer is None or now - self._looked < LOOKED_EVERY:
            return
        self._looked = now
        before = self._outdated
        try:
            sim = self._renew()
            rig = None if sim is None else self.rig.with_robot(sim)
        except RobosimError as error:
            self._outdated = f"{error}\nthe last robot that could be loaded is shown"
        else:
            if rig is not None:
                self._outdated = ""
                self._exchange(rig)
        if self._outdated != before:
            self._tell()

    def _exchange(self, rig: Rig) -> None:
        """Continue with another robot, in the pose of the present one if the run is paused."""
        assert self.viewer is not None
        self._let_go()
        posed = self.sim.q if self.paused and self.robot.q_names == rig.robot.q_names else None
        self.rig, self.robot = rig, rig.robot
        self._probe, self._violations = Probe(self.robot), JointViolations(self.robot)
        self._chunk, self._rows, self._selected, self._error = None, [], None, ""
        self._first_frame = self.frames  # the next frame may have to wait for kernels
        self.viewer.replace(self.robot)
        if self.foxglove is not None:
            self.foxglove.replace(self.robot)
        self._describe()
        self._start(posed)
        self._tell()
