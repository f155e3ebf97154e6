"""``robosim simulate``."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robosim.cli import arguments
from robosim.cli.application import INTERRUPTED, app, err, out, remark, show
from robosim.cli.loading import Loading, with_options
from robosim.cli.running import interruptible, run
from robosim.cli.tables import outcome_table
from robosim.errors import ConvergenceError, OptionError, RobosimError

if TYPE_CHECKING:
    from robosim.log import RunStatistics
    from robosim.mechanism import Mechanism
    from robosim.simulation import Simulation
    from robosim.viz import Recorder, Viewer

PAGES = (".html", ".htm")
RECORDINGS = (*PAGES, ".mp4", ".gif", ".png")
_CONTROLLER = "stand, zero, or module:function"
WATCHING = "Watching"

Timestep = Annotated[float, typer.Option(help="Seconds from one step to the next.", metavar="H")]
Controller = Annotated[
    str | None,
    typer.Option(
        help=f"{_CONTROLLER}; by default a robot with actuators and a floating base stands.",
        metavar="NAME",
        show_default=False,
    ),
]
Drop = Annotated[float, typer.Option(help="Start that many metres higher.", metavar="HEIGHT")]
Record = Annotated[
    Path | None,
    typer.Option(
        help="Write a page that replays the run, .html, or a video, .mp4 or .gif, or a picture of "
        "its end, .png.",
        metavar="FILE",
        show_default=False,
        rich_help_panel=WATCHING,
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        help="Of the live view; by default the first free from 7000.",
        metavar="PORT",
        show_default=False,
        rich_help_panel=WATCHING,
    ),
]
Host = Annotated[
    str | None,
    typer.Option(
        help="Serve the live view to other machines: an address of this one, or 0.0.0.0. The "
        "address that is printed then has a token.",
        metavar="ADDRESS",
        show_default=False,
        rich_help_panel=WATCHING,
    ),
]


@app.command()
@with_options
def simulate(
    model: arguments.Model,
    loading: Loading,
    seconds: Annotated[float, typer.Option(help="Seconds to simulate.", metavar="S")] = 10.0,
    timestep: Timestep = 1e-3,
    controller: Controller = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="Write the run as it goes: .parquet, .csv or .npz.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    record: Record = None,
    view: Annotated[
        bool,
        typer.Option(
            "--view", help="Show it live, in real time, meanwhile.", rich_help_panel=WATCHING
        ),
    ] = False,
    port: Port = None,
    host: Host = None,
    drop: Drop = 0.0,
    order: arguments.Order = 2,
    friction_cone: arguments.FrictionCone = "second_order",
    facets: arguments.Facets = None,
    implicit: arguments.Implicit = None,
    as_json: arguments.Json = False,
) -> None:
    """Simulate a robot for some time; log it, record it, watch it.

    [bold]Example:[/bold] robosim simulate a1 --controller stand --seconds 10 --log run.parquet

    ctrl-C ends the run early and keeps what was logged. A controller of your own is a function
    of the simulation that returns torques: --controller mymodule:myfunction.
    """
    from robosim.log import LogWriter, RunStatistics
    from robosim.log.files import check_log_path

    check_seconds(seconds)
    if log is not None:
        check_log_path(log)
    check_record(record)
    robot = loading.load(model)
    for warning in robot.warnings:
        remark(f"warning: {warning}")
    control = arguments.controller(controller, robot, timestep, implicit)
    sim = start(robot, timestep, drop, order, friction_cone, facets)
    with interruptible() as interrupted, ExitStack() as stack:
        viewer = stack.enter_context(open_viewer(sim.robot, port, host)) if view else None
        recorder = new_recorder(sim) if record is not None else None
        statistics = RunStatistics(sim)
        writer = (
            LogWriter(log, sim.robot, timestep, steps=round(seconds / timestep)) if log else None
        )
        stopped = run(
            sim,
            control,
            seconds,
            interrupted,
            statistics=statistics,
            writer=writer,
            viewer=viewer,
            recorder=recorder,
            quiet=as_json,
        )
        if record is not None and recorder is not None:
            save_recording(recorder, record)
    summary = statistics.summary(failed_steps=int(isinstance(stopped, ConvergenceError)))
    summary |= {"log": str(log) if log else None, "record": str(record) if record else None}
    if as_json:
        typer.echo(json.dumps(summary, indent=2, allow_nan=False))
    elif statistics.steps:
        show(outcome_table(summary))
        if not view:
            hint = f"robosim view {shlex.quote(model)}"
            out.print(f"to see it live: {hint}", markup=False, soft_wrap=True)
    leave(stopped, statistics, log)


def check_seconds(seconds: float) -> None:
    """Refuse a time that is none."""
    if not (math.isfinite(seconds) and seconds > 0):
        raise OptionError(f"--seconds must be a positive number, not {seconds}")


def check_record(record: Path | None) -> None:
    """Refuse a recording that could not be written, before a run and not after it."""
    if record is None:
        return
    suffix = record.suffix.lower()
    if suffix not in RECORDINGS:
        raise OptionError(
            f"--record writes a page, a video or a picture: '{record}' must end in "
            f"{', '.join(RECORDINGS)}"
        )
    if not record.absolute().parent.is_dir():
        raise OptionError(f"--record {record}: the directory does not exist")
    if suffix not in PAGES:
        from robosim.viz.rendering import check_renderer

        check_renderer(suffix)


def save_recording(recorder: Recorder, record: Path) -> None:
    """Write a recording as its suffix says."""
    if record.suffix.lower() in PAGES:
        recorder.save(record)
        return
    from robosim.viz.rendering import render

    err.print(f"drawing {record} ...", markup=False, soft_wrap=True)
    render(recorder, record, fps=recorder.fps)


def start(
    robot: Mechanism,
    timestep: float,
    drop: float,
    order: int,
    friction_cone: str,
    facets: int | None,
) -> Simulation:
    """The simulation at its start, with its kernels compiled."""
    if not math.isfinite(drop):
        raise OptionError(f"--drop must be a finite number, not {drop}")
    if drop and not robot.floating_base:
        raise OptionError(f"--drop needs a floating base, which '{robot.name}' does not have")
    if facets is not None and friction_cone != "linearized":
        raise OptionError("--facets is for --friction-cone linearized")

    from robosim.simulation import Simulation

    sim = Simulation(
        robot,
        timestep,
        order=order,
        friction_cone=friction_cone,
        friction_facets=facets,
    )
    if drop:
        q = sim.q
        q[2] += drop
        sim.set_state(q)
    # Compiles what this robot needs; a step that fails is told once it is its turn.
    with suppress(RobosimError):
        sim.copy().step()
    return sim


def open_viewer(
    robot: Mechanism,
    port: int | None,
    host: str | None = None,
    open_browser: bool = False,
    ghosts: Sequence[str] = (),
) -> Viewer:
    """A viewer whose address is told."""
    from robosim.viz import Viewer

    viewer = Viewer(robot, port=port, host=host, open_browser=open_browser, ghosts=ghosts)
    if host is not None:
        remark("whoever has this address can watch and steer; the connection is not encrypted")
    err.print(f"live view: {viewer.url}", style="bold green", markup=False, soft_wrap=True)
    return viewer


def new_recorder(sim: Simulation) -> Recorder:
    """What collects a recording."""
    from robosim.viz import Recorder

    return Recorder(sim.robot, fps=30)


def leave(stopped: BaseException | None, statistics: RunStatistics, log: Path | None) -> None:
    """Report why a run ended before its time, and exit accordingly."""
    from robosim.log import partial_path

    if stopped is None:
        return
    kept = ""
    if log is not None:
        # Still there if a second ctrl-C came while the complete file was being written.
        where = partial_path(log) if partial_path(log).exists() else log
        kept = f"; the log of the {statistics.steps} steps until then is {where}"
    if isinstance(stopped, KeyboardInterrupt):
        remark(f"interrupted after {statistics.steps} steps{kept}")
        raise typer.Exit(INTERRUPTED)
    if kept:
        remark(f"the run ended after {statistics.steps} steps{kept}")
    raise stopped
