"""Drives an engine: single steps, and runs of many steps with their samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from robosim.control.at_nodes import AtNodes
from robosim.control.controllers import PD, Compiled, Controller
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, OptionError
from robosim.formulation import Formulation, sizes_of
from robosim.kinematics.motions import Motions
from robosim.log import Chunk
from robosim.log.channels import Also
from robosim.log.columns import STEP, worst_of
from robosim.runtime.handles import Handle, RunBuffers, make_run_buffers
from robosim.simulation.channel_reader import ChannelReader, Felt
from robosim.simulation.checkpoint import Counters
from robosim.simulation.diagnosis import FAR
from robosim.simulation.loads import Held
from robosim.validation import Array

if TYPE_CHECKING:
    from robosim.rays.sensing import Samples


class Noticing(Protocol):
    """Issues the warnings of an engine; see `robosim.simulation.notices.Notices`."""

    def of_start(self) -> None: ...
    def of_steps(self, infos: NDArray[np.void], first: bool) -> None: ...


class Stepped(Protocol):
    """The interface of an engine, for all formulations; see `robosim.simulation.engine.Engine`."""

    @property
    def robot(self) -> Mechanism: ...
    @property
    def timestep(self) -> float: ...
    @property
    def time(self) -> float: ...
    @property
    def counters(self) -> Counters: ...
    @property
    def notices(self) -> Noticing: ...

    single: Handle
    has_nodes: bool

    def is_busy(self) -> bool: ...
    def refuse_if_busy(self) -> None: ...
    def advance(self, run: Handle, begin: int, end: int) -> None: ...
    def advance_once(self, run: Handle) -> None: ...
    def act_by(self, law: int) -> None: ...


class Driver:
    """Drives the steps of an engine.

    Parameters
    ----------
    engine : Stepped
    held : Held
    motions : Motions
    """

    def __init__(self, engine: Stepped, held: Held, motions: Motions) -> None:
        self._engine, self._held, self._motions = engine, held, motions
        self.samples: Samples | None = None  # of sensors with rays, once one has been read
        self._asking = False  # whether a controller has been called and has not returned yet
        engine.single = self._handle(1)

    def refuse_if_busy(self) -> None:
        """Raise an error while a controller is evaluated, or while another thread takes steps."""
        if self._asking:
            raise ControllerError(
                "a controller has to return torques before its simulation can take a step or "
                "start again: take steps one by one with step(), and start again between them; to "
                "look "
                "ahead, step a copy()"
            )
        self._engine.refuse_if_busy()

    def step(self, tau: object) -> tuple[Any, ...]:
        """Take one step with these torques; returns the values of `StepInfo`."""
        engine, held = self._engine, self._held
        if self._asking or engine.is_busy():
            self.refuse_if_busy()
        counters, single = engine.counters, engine.single
        if counters.steps == 0:
            engine.notices.of_start()
        held.hold(tau, "step(tau) was given")
        if held.controlled:
            held.control_by(None)
        if self._motions.driven:
            single.values.motions[:] = self._motions.at(counters.start_time, counters.steps, 2)
        keeps = self.samples is not None and self.samples.keeps
        if keeps:
            self._note_samples(counters.steps == 0)
        engine.advance_once(single)
        if keeps:
            self._note_samples()
        info = single.values.infos.item(0)
        _, iterations, substeps, _, order, _, residual, _, violation, gap, turn, _, *sizes, _ = info
        if counters.steps == 1 or turn < FAR:
            engine.notices.of_steps(single.values.infos, counters.steps == 1)
        told = iterations, residual, "converged", substeps, violation, gap, order
        shortest, error, events = sizes
        return *told, *sizes_of(shortest, error, events, substeps, engine.timestep)

    def _note_samples(self, here: bool = True) -> None:
        """Let sensors take their samples of the present knot, if they have been switched on."""
        if here and self.samples is not None and self.samples.keeps:
            self.samples.note()

    def _pieces(self, felt: Felt | None, begin: int, n: int) -> list[tuple[int, int]]:
        """The parts of a run between readings and samples: (first step, end)."""
        stops = {0, n} if felt is None else felt.stops()
        if self.samples is not None and self.samples.keeps:
            stops |= set(self.samples.is_due(begin, n, self._engine.counters.start_time))
        return list(pairwise(sorted(stops)))

    def steps_of(self, seconds: float) -> int | None:
        """Number of steps in a time, None for an infinite one."""
        if not (isinstance(seconds, Real) and seconds >= 0):
            raise OptionError(f"seconds must be a number that is not negative, not {seconds!r}")
        if not np.isfinite(seconds):
            return None
        timestep = self._engine.timestep
        steps = round(seconds / timestep)
        if steps == 0 and seconds > 0:
            raise OptionError(f"{seconds!r} s are too short for a step of {timestep:g} s")
        return steps

    def stream(
        self,
        sim: Formulation,
        control: Controller | None,
        size: int,
        left: int | None,
        every: int,
        also: Also,
    ) -> Iterator[Chunk]:
        """Samples of runs of `sim`, which is passed to controllers in Python."""
        read = ChannelReader(sim, also, control) if also.channels else None
        engine, held, counters = self._engine, self._held, self._engine.counters
        if counters.steps == 0:
            engine.notices.of_start()
        while left is None or left > 0:
            n = size if left is None else min(size, left)
            begin = counters.steps
            error: Exception | None = None
            moving, address, acts = None, 0, False
            if isinstance(control, PD):
                moving = control.moving(engine.time + engine.timestep * np.arange(n))
            if isinstance(control, Compiled):
                address = control.address
            compiled = isinstance(control, Compiled | AtNodes)
            gains = None if control is None or compiled else held.gains
            handle = self._handle(n, moving, address, every, gains)
            felt = None if read is None else Felt(read, begin, n, every)
            try:
                if control is None or isinstance(control, PD) or compiled:
                    self.refuse_if_busy()
                    acts = self._act_by(control, sim)
                    if felt is not None:
                        felt.note(0)  # before the torques of the last step are overwritten
                    held.hold(None, "")
                    held.control_by(control if isinstance(control, PD) else None)
                    self._note_samples(begin == 0)
                    for first, end in self._pieces(felt, begin, n):
                        if felt is not None and first:
                            felt.note(first)
                        engine.advance(handle, first, end)
                        self._note_samples()
                else:
                    self._controlled_steps(sim, control, handle, n, felt)
            except Exception as raised:
                error = raised
            finally:
                if acts:
                    engine.act_by(0)
            done = counters.steps - begin
            engine.notices.of_steps(handle.values.infos[:done], begin == 0)
            if done:
                chunk = self._chunk(handle.values, begin, done)
                if felt is not None:
                    rows = len(chunk.t)
                    chunk = chunk._replace(extra=felt.rows[:rows])
                    if felt.scans.size:
                        chunk = chunk._replace(scans=felt.scans[:rows])
                yield chunk
            if error is not None:
                raise error
            if left is not None:
                left -= n

    def _act_by(self, control: Controller | None, sim: Formulation) -> bool:
        """Let a law act at the control points of steps, if it is one; whether it is."""
        if not isinstance(control, AtNodes):
            return False
        if not self._engine.has_nodes:
            control(sim)  # raises
        self._engine.act_by(control.address)
        return True

    def _controlled_steps(
        self, sim: Formulation, control: Controller, run: Handle, n: int, felt: Felt | None
    ) -> None:
        """Steps with a controller in Python, which is called before each step."""
        engine, held = self._engine, self._held
        source = f"controller '{getattr(control, '__name__', type(control).__name__)}' returned"
        for k in range(n):
            self.refuse_if_busy()
            if felt is not None:
                felt.note(k)
            self._asking = True
            try:
                answer = control(sim)
            finally:
                self._asking = False
            beside = None
            if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], PD):
                answer, beside = answer
            if isinstance(answer, PD):
                held.hold(beside, source)
                held.control_by(answer)
                answer.aim(held.gains, engine.time)
            else:
                held.hold(answer, source)
                held.control_by(None)
            self._note_samples(engine.counters.steps == 0)
            engine.advance(run, k, k + 1)
            self._note_samples()

    def _chunk(self, run: RunBuffers, begin: int, done: int) -> Chunk:
        """The samples of the first `done` steps of a run that starts with step `begin`."""
        every, infos = int(run.every[0]), run.infos[:done]
        steps = np.arange(begin, begin + done, every, dtype=float)
        rows = len(steps)
        return Chunk(
            self._engine.counters.start_time + self._engine.timestep * steps,
            run.q[:rows],
            run.v[:rows],
            run.tau[:rows, self._engine.robot.actuated],
            **{name: worst_of(name, infos[name], every) for name in STEP},
        )

    def _handle(
        self,
        n: int,
        moving: tuple[Array | None, Array | None] | None = None,
        controller: int = 0,
        every: int = 1,
        gains: NDArray[np.void] | None = None,
    ) -> Handle:
        """Buffers of a run of n steps from the present knot, with its inputs.

        Without the `gains` of a PD, kernels do not evaluate any.
        """
        robot, counters, held = self._engine.robot, self._engine.counters, self._held
        motions = None
        if self._motions.driven:
            motions = self._motions.at(counters.start_time, counters.steps, n + 1)
        widths = robot.nq, robot.nv, held.rates
        gains = held.no_gains[:0] if gains is None else gains
        goals = (None, None) if moving is None else moving
        drive = gains, held.torques, *goals, motions, controller, self._engine.time, every
        return Handle(make_run_buffers(n, widths, *drive))


@contextmanager
def progress_bar(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, or none; yields the function that advances it."""
    if not shown:
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=total)
        yield lambda steps: bar.advance(task, steps)
