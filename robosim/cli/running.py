"""A run with a log, a live view, a recording, a progress bar, and ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from robosim.cli.application import err
from robosim.errors import ControllerError, ConvergenceError

if TYPE_CHECKING:
    from rich.progress import Progress

    from robosim.formulation import Formulation
    from robosim.log import Chunk, LogWriter, RunStatistics
    from robosim.log.channels import Also
    from robosim.viz import Recorder, Viewer
    from robosim.viz.foxglove_server import FoxgloveServer


class _Timed:
    """A simulation whose stream measures the time of steps, without compilation."""

    def __init__(self, sim: Formulation, also: Also | None) -> None:
        self._sim = sim
        self._also: dict[str, Any] = {} if also is None else {"also": also}
        self.wall_seconds = 0.0  # of the last chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sim, name)

    def stream(self, *args: Any, **options: Any) -> Iterator[Chunk]:
        from robosim.runtime.notice import CompileNotice

        begin: Any = self._sim.stream
        chunks = begin(*args, **options, **self._also)
        while True:
            start, compiling = time.perf_counter(), CompileNotice.seconds
            chunk = next(chunks, None)
            # A contact that the tree's solver cannot solve may require the kernels of the other
            # one.
            compiling = CompileNotice.seconds - compiling
            self.wall_seconds = time.perf_counter() - start - compiling
            if chunk is None:
                return
            yield chunk


def run(
    sim: Formulation,
    control: Callable[[Formulation], Any],
    seconds: float,
    interrupted: Callable[[], bool],
    *,
    statistics: RunStatistics,
    writer: LogWriter | None = None,
    viewer: Viewer | None = None,
    recorder: Recorder | None = None,
    foxglove: FoxgloveServer | None = None,
    also: Also | None = None,
    quiet: bool = False,
) -> KeyboardInterrupt | ConvergenceError | ControllerError | None:
    """Run to the end, or until an error or ctrl-C, which is returned.

    `interrupted` returns whether ctrl-C was pressed. Only errors of the simulation and the
    controller are returned, so that they can be reported together with the results until then. The
    log is closed in any case.
    """
    timed = _Timed(sim, also)
    steps = round(seconds / sim.timestep) if math.isfinite(seconds) else None
    try:
        with _progress(steps, quiet) as advance, writer or ExitStack():

            def take(chunk: Chunk) -> None:
                statistics.add(chunk, timed.wall_seconds)
                if writer is not None:
                    writer.write(chunk)
                advance(len(chunk.t))
                if interrupted():
                    raise KeyboardInterrupt

            if viewer is None and recorder is None and foxglove is None:
                for chunk in timed.stream(seconds, control):
                    take(chunk)
            else:
                from robosim.description.ray_sensor import RaySensor
                from robosim.viz import live

                asked = () if also is None else also.channels
                there = {one.name for one in sim.robot.sensors if isinstance(one, RaySensor)}
                live(
                    timed,
                    control,
                    seconds if math.isfinite(seconds) else None,
                    viewer,
                    recorder,
                    take,
                    speed=math.inf if viewer is None and foxglove is None else 1.0,
                    stop=interrupted,
                    sensors=[one.name for one in asked if one.name in there],
                    foxglove=foxglove,
                )
                if interrupted():
                    raise KeyboardInterrupt
    except KeyboardInterrupt as interrupt:
        return interrupt
    except (ConvergenceError, ControllerError) as error:
        return error
    return None


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Context in which ctrl-C takes effect between chunks; a second ctrl-C acts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = False

    def handler(number: int, frame: Any) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Context in which SIGINT ends the command, even if the command was started to ignore it.

    A shell without job control lets commands in the background ignore SIGINT, as do many runners of
    tests. Python then raises no KeyboardInterrupt. Commands that compute obey, but a command that
    shows a page has no other end.
    """
    on_main = threading.current_thread() is threading.main_thread()
    if not on_main or signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _progress(steps: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, if that is a terminal, and the function that advances it."""
    if quiet or steps is None or not err.is_terminal:
        yield lambda done: None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("simulating"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=steps)
        yield lambda done: bar.advance(task, done)


def counting_bar() -> Progress:
    """A progress bar on stderr that counts items, whose names are in the description."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
