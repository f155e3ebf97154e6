"""``robosim simulate``."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robosim.cli import arguments
from robosim.cli.application import INTERRUPTED, app, out, remark, show
from robosim.cli.hints import proposed
from robosim.cli.loading import World
from robosim.cli.options import option, with_options
from robosim.cli.running import interruptible, run
from robosim.cli.stepping import STEPPING, Stepping
from robosim.cli.tables import outcome_table
from robosim.cli.watching import WATCHING, Watching, compiled, open_viewer
from robosim.errors import ConvergenceError, OptionError
from robosim.validation import positive

if TYPE_CHECKING:
    from robosim.formulation import Formulation
    from robosim.log import RunStatistics

OPENING = 5.0  # [s], time for a browser to open a page


@app.command()
@with_options
def simulate(
    model: arguments.Model,
    loading: World,
    *,
    seconds: Annotated[float, typer.Option(help="Seconds to simulate.", metavar="S")] = 10.0,
    stepping: Stepping,
    watching: Watching,
    log: Annotated[
        Path | None,
        option(help="Log the run to a file: .parquet, .csv, .npz or .mcap.", metavar="FILE"),
    ] = None,
    every: Annotated[
        int, typer.Option(help="Number of steps between samples of the log.", metavar="N", min=1)
    ] = 1,
    also: Annotated[
        list[str] | None,
        option(
            help="Also log sensors, contacts, frames, joint_wrenches, or a single one, such as "
            "frame:FR_foot; may be given several times.",
            metavar="WHAT",
        ),
    ] = None,
    lanes: Annotated[
        bool,
        typer.Option(
            "--lanes",
            help="Simulate the four legs of a quadruped in SIMD lanes: six tenths of the time, but "
            "further kernels to compile, once.",
            rich_help_panel=STEPPING,
        ),
    ] = False,
    view: Annotated[
        bool,
        typer.Option("--view", help="Show the run live, in real time.", rich_help_panel=WATCHING),
    ] = False,
    open_browser: Annotated[
        bool,
        typer.Option(
            "--open", help="Show the run live, and open the browser.", rich_help_panel=WATCHING
        ),
    ] = False,
    as_json: arguments.Json = False,
    context: typer.Context,
) -> None:
    """Simulate a robot for some time; log it, record it, watch it.

    [bold]Example:[/bold] robosim simulate a1 --controller stand --seconds 10 --log run.parquet

    ctrl-C ends the run early and keeps the log. The page of the live view stays open with the last
    frame. Your own controller is a function of the simulation that returns torques:
    --controller mymodule:myfunction.
    """
    from robosim.log import LogWriter, RunStatistics
    from robosim.log.channels import Also, channels_of
    from robosim.log.files import check_log_path

    positive("--seconds", seconds)
    if log is not None:
        check_log_path(log)
    elif every != 1 or also:
        raise OptionError(f"--{'also' if also else 'every'} is for --log FILE")
    watching.check()
    view = view or open_browser
    for name, value in (("port", watching.port), ("host", watching.host)):
        if value is not None and not view:
            raise OptionError(f"--{name} is for --view")
    robot = loading.load(model)
    for warning in robot.warnings:
        remark(f"warning: {warning}")
    logged = Also(channels_of(robot, also or ()), every)
    timestep = stepping.timestep
    stepping.check(robot)
    control = stepping.controls(stepping.controller, robot, timestep)
    steps = round(seconds / timestep)
    if steps == 0:
        raise OptionError(f"--seconds {seconds:g} is no step of --timestep {timestep:g}")
    if abs(steps * timestep - seconds) > 1e-6 * seconds:
        remark(
            f"note: {seconds:g} s are no whole number of steps: {steps * timestep:.9g} s instead"
        )
    # The page is served before the kernels are compiled, and shows their progress.
    with ExitStack() as early:
        viewer, opened = None, time.monotonic()
        foxglove = early.enter_context(watching.served(robot))
        if view:
            viewer = early.enter_context(
                open_viewer(robot, watching.port, watching.host, open_browser)
            )
        sim = compiled(lambda: stepping.start(robot, timestep, lanes), viewer)
        stack = early.pop_all()
    if lanes and (why := _why_not_in_lanes(sim, control, view or watching.record is not None)):
        remark(f"note: --lanes makes no difference: {why}")
    with stack, interruptible() as interrupted:
        recorder = watching.recorder(sim.robot)
        statistics = RunStatistics(sim)
        writer = None
        if log is not None:
            writer = LogWriter(log, sim.robot, timestep, steps=steps, every=every, also=also or ())
        stopped = run(
            sim,
            control,
            seconds,
            interrupted,
            statistics=statistics,
            writer=writer,
            viewer=viewer,
            recorder=recorder,
            foxglove=foxglove,
            also=logged,
            quiet=as_json,
        )
        if open_browser and stopped is None:
            # Time for a browser that is starting to open the page, which then stays.
            time.sleep(max(0.0, opened + OPENING - time.monotonic()))
        watching.save(recorder)
    summary = statistics.summary(failed_steps=int(isinstance(stopped, ConvergenceError)))
    files = {"log": log, "record": watching.record}
    summary |= {name: None if file is None else str(file) for name, file in files.items()}
    if as_json:
        typer.echo(json.dumps(summary, indent=2, allow_nan=False))
    elif statistics.steps:
        show(outcome_table(summary, proposed(context, "plot", str(log))))
        if not view:
            out.print(
                f"to see it live: {proposed(context, 'view', model)}", markup=False, soft_wrap=True
            )
    leave(stopped, statistics, log)


def _why_not_in_lanes(sim: Formulation, control: Any, framed: bool) -> str:
    """The reason why legs will not be computed in lanes although requested; empty if they will."""
    from robosim.control.controllers import PD, Compiled

    if not sim.lanes:
        return f"'{sim.robot.name}' does not have four limbs alike, or what lanes leave out"
    if framed:
        return "a run that is shown or recorded goes on frame by frame"
    if not isinstance(control, PD | Compiled):
        return "a controller in Python is asked before every step"
    return ""


def leave(stopped: BaseException | None, statistics: RunStatistics, log: Path | None) -> None:
    """Report why a run ended early, and exit accordingly."""
    from robosim.log import partial_path

    if stopped is None:
        return
    kept = ""
    if log is not None:
        # Still exists if a second ctrl-C was pressed while the complete file was being written.
        where = partial_path(log) if partial_path(log).exists() else log
        kept = f"; the log of the {statistics.steps} steps until then is {where}"
    if isinstance(stopped, KeyboardInterrupt):
        remark(f"interrupted after {statistics.steps} steps{kept}")
        raise typer.Exit(INTERRUPTED)
    if kept:
        remark(f"the run ended after {statistics.steps} steps{kept}")
    raise stopped
