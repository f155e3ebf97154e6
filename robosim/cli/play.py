"""``robosim play``: a policy from an ONNX file, in robosim and in MuJoCo beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from robosim.cli import arguments
from robosim.cli.application import app, err, out, remark, show
from robosim.cli.hints import proposed
from robosim.cli.loading import World
from robosim.cli.options import option, with_options
from robosim.cli.running import interruptible, run
from robosim.cli.runs import leave
from robosim.cli.start_state import Drop, Pose
from robosim.cli.tables import plain_table
from robosim.cli.watching import WATCHING, Watching, compiled, open_viewer
from robosim.errors import ControllerError, OptionError, RobosimError
from robosim.validation import positive

if TYPE_CHECKING:
    from robosim.policies import Policy
    from robosim.policies.sim_to_sim import SimToSim
    from robosim.simulation import Simulation
    from robosim.viz import Recorder, Viewer
    from robosim.viz.foxglove_server import FoxgloveServer

SECONDS = 10.0
GAP = 1e-3  # [m], of the lowest contact at the start
STEERED = (("forward", 1.5, "m/s"), ("sideways", 1.0, "m/s"), ("turning", 1.5, "rad/s"))


@app.command()
@with_options
def play(
    model: arguments.Model,
    policy: Annotated[
        Path, typer.Argument(help="An ONNX file.", metavar="POLICY", show_default=False)
    ],
    loading: World,
    *,
    task: Annotated[
        str | None,
        option(
            help="The observations and actions: a task file (.yaml, .json, .toml), or legged_gym, "
            "isaaclab or mjlab; by default as the ONNX file says.",
            metavar="TASK",
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        option(
            help="Commanded velocity: forward and sideways in m/s, yaw rate in rad/s, and the "
            "time from which it holds; may be given several times.",
            metavar="X,Y,YAW[@T]",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        option(
            help="Seconds to simulate; by default 10, or with --view until ctrl-C.", metavar="S"
        ),
    ] = None,
    timestep: Annotated[
        float | None, option(help="Time step in seconds; by default the task's.", metavar="H")
    ] = None,
    pose: Pose = None,
    drop: Drop = 0.0,
    peer: Annotated[
        str | None,
        option(help="Play it beside in another simulator as well: mujoco.", metavar="NAME"),
    ] = None,
    apart: Annotated[
        float,
        typer.Option(help="Distance of the bases from which on both have parted.", metavar="M"),
    ] = 0.1,
    page: Annotated[
        Path | None,
        option("--html", help="Write tables, plots and a replay to a page.", metavar="FILE"),
    ] = None,
    log: Annotated[
        Path | None,
        option(help="Log the run in robosim: .parquet, .csv, .npz or .mcap.", metavar="FILE"),
    ] = None,
    watching: Watching,
    view: Annotated[
        bool,
        typer.Option(
            "--view", help="Show the run live, with sliders to steer.", rich_help_panel=WATCHING
        ),
    ] = False,
    open_browser: Annotated[
        bool,
        typer.Option("--open", help="The same, and open the browser.", rich_help_panel=WATCHING),
    ] = False,
    as_json: arguments.Json = False,
    context: typer.Context,
) -> None:
    """Play a policy that another library has trained; compare robosim with MuJoCo.

    [bold]Example:[/bold] robosim play a1 policy.onnx --task a1walk.yaml --command 0.5,0,0

    The task file names what the policy observes, and what its actions mean. With --peer mujoco the
    same policy, robot and commands are simulated by MuJoCo, and the table has both.
    """
    from robosim import policies
    from robosim.log import LogWriter, RunStatistics
    from robosim.log.files import check_log_path
    from robosim.policies.sim_to_sim import Schedule, check_peer, judged
    from robosim.policies.track import Watched

    view = view or open_browser
    endless = view and seconds is None
    duration = SECONDS if seconds is None else positive("--seconds", seconds)
    _check_options(watching, view, page)
    for name, given in (("peer", peer), ("html", page), ("log", log)):
        if given is not None and endless:
            raise OptionError(f"--{name} is for a run with an end: give --seconds S as well")
    positive("--apart", apart)
    if log is not None:
        check_log_path(log)
    commands = _schedule(command)
    robot = loading.load(model)
    for warning in robot.warnings:
        remark(f"warning: {warning}")
    loaded = policies.load(policy, robot, task)
    if commands is not None:
        loaded.command = Schedule(*commands)
        loaded.command_at(np.zeros(1))
    step = loaded.task.timestep if timestep is None else positive("--timestep", timestep)
    loaded.steps(step)
    loaded.pd(step)
    if peer is not None:
        check_peer(loaded, peer, step)
    with ExitStack() as early:
        viewer, foxglove = None, early.enter_context(watching.served(robot))
        if view:
            viewer = early.enter_context(
                open_viewer(robot, watching.port, watching.host, open_browser)
            )
        sim = compiled(lambda: _start(loaded, step, pose, drop), viewer)
        stack = early.pop_all()
    with stack, interruptible() as interrupted:
        if viewer is not None and commands is None:
            steer(loaded, viewer)
        recorder = watching.recorder(robot)
        if endless:
            _show(sim, loaded, viewer, recorder, foxglove, interrupted)
            watching.save(recorder)
            return
        watched, statistics, writer = Watched(loaded), RunStatistics(sim), None
        if log is not None:
            writer = LogWriter(log, robot, step)
        stopped = run(
            sim,
            watched,
            duration,
            interrupted,
            statistics=statistics,
            writer=writer,
            viewer=viewer,
            recorder=recorder,
            foxglove=foxglove,
            quiet=as_json,
        )
        watching.save(recorder)
    if isinstance(stopped, ControllerError) or not statistics.steps:
        leave(stopped, statistics, log)
        return
    interrupt = isinstance(stopped, KeyboardInterrupt)
    tracks = [watched.track(None if stopped is None or interrupt else str(stopped))]
    if peer is not None:
        tracks.append(
            _in_peer(loaded, peer, tracks[0], len(tracks[0]) * step if interrupt else duration, sim)
        )
    found = judged(loaded, tracks, apart)
    files = {"log": log, "record": watching.record, "html": page}
    if page is not None:
        from robosim.policies.report import write_report

        write_report(found, page)
    if as_json:
        told = {name: None if file is None else str(file) for name, file in files.items()}
        typer.echo(json.dumps({**found.to_dict(), **told}, indent=2, allow_nan=False))
    else:
        _tell(found)
        if page is not None:
            out.print(f"page: {page}", markup=False, soft_wrap=True)
        if not view:
            live = proposed(context, "play", model, str(policy), "--view")
            out.print(f"to see it live: {live}", markup=False, soft_wrap=True)
    leave(stopped, statistics, log)


def _check_options(watching: Watching, view: bool, page: Path | None) -> None:
    """Refuse options that exclude each other, and files that cannot be written."""
    watching.check()
    for name, value in (("port", watching.port), ("host", watching.host)):
        if value is not None and not view:
            raise OptionError(f"--{name} is for --view")
    arguments.check_page(page)


def _schedule(texts: list[str] | None) -> tuple[list[float], list[list[float]]] | None:
    """Times [s] and commands of ``--command``."""
    if not texts:
        return None
    found = []
    for text in texts:
        values, at, when = text.partition("@")
        try:
            numbers = [float(value) for value in values.split(",")]
            time = float(when) if at else 0.0
        except ValueError:
            numbers, time = [], math.nan
        if not numbers or not all(map(math.isfinite, (*numbers, time))):
            raise OptionError(
                f"--command takes X,Y,YAW or X,Y,YAW@T, as in 0.5,0,0@2; not '{text}'"
            )
        found.append((time, numbers))
    found.sort(key=lambda one: one[0])
    sizes = {len(numbers) for _, numbers in found}
    if len(sizes) > 1:
        raise OptionError(f"--command has {' and '.join(map(str, sorted(sizes)))} numbers")
    if found[0][0] > 0:
        found.insert(0, (0.0, [0.0] * len(found[0][1])))
    return [time for time, _ in found], [numbers for _, numbers in found]


def _start(policy: Policy, timestep: float, pose: str | None, drop: float) -> Simulation:
    """The simulation where the policy begins."""
    from robosim.cli.start_state import start_state
    from robosim.policies.sim_to_sim import begin
    from robosim.simulation import Simulation

    sim = Simulation(policy.robot, timestep)
    state = None if pose is None else start_state(policy.robot, pose, (), (), drop)
    if state is not None:
        sim.set_state(**state)
    else:
        start_state(policy.robot, None, (), (), drop)  # refuses what cannot be dropped
        begin(sim, policy)
        if drop:
            q = np.array(sim.q)
            q[2] += drop
            sim.set_state(q)
    # Compiles the kernels; an error of the step is reported when the run reaches it.
    with suppress(RobosimError):
        sim.copy().run(timestep, policy.pd(timestep))
    return sim


def _show(
    sim: Simulation,
    policy: Policy,
    viewer: Viewer | None,
    recorder: Recorder | None,
    foxglove: FoxgloveServer | None,
    stop: Callable[[], bool],
) -> None:
    """Show a run until ctrl-C; the page can pose the robot and restart the run."""
    from robosim.viz import live

    with suppress(KeyboardInterrupt):
        live(sim, policy, None, viewer, recorder, stop=stop, foxglove=foxglove)


def steer(policy: Policy, viewer: Viewer) -> None:
    """Let sliders of the page set the command, if it is a velocity."""
    first = policy.command_at(np.zeros(1))[0]
    if len(first) != len(STEERED):
        return
    sliders = [
        viewer.slider(name, -most, most, float(np.clip(value, -most, most)), unit=unit)
        for (name, most, unit), value in zip(STEERED, first, strict=True)
    ]
    policy.command = lambda time: [slider.value for slider in sliders]


def _in_peer(policy: Policy, peer: str, track: Any, seconds: float, sim: Simulation) -> Any:
    """The run in another simulator, with its progress in a terminal."""
    from robosim.policies.sim_to_sim import in_peer

    with err.status(f"simulating in {escape(peer)}") if err.is_terminal else nullcontext():
        return in_peer(policy, peer, track, seconds, sim.gravity)


def _tell(found: SimToSim) -> None:
    """Print the table of measures, and where both runs part."""
    from robosim.policies import telling

    names = [f"{track.name}>" for track in found.tracks]
    table = plain_table("", *names)
    for what, texts in telling.rows(found):
        table.add_row(f"[dim]{escape(what)}[/dim]", *map(escape, texts))
    show(table)
    told = telling.parting(found)
    if told:
        out.print(told, markup=False, soft_wrap=True)
    contacts = telling.contact_rows(found)
    if contacts:
        table = plain_table("contacts then", *names)
        for body, texts in contacts:
            table.add_row(escape(body), *map(escape, texts))
        show(table)
    for track in found.tracks:
        out.print(f"{track.name}: {track.settings}", style="dim", markup=False, soft_wrap=True)
