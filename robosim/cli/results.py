"""``robosim compare`` and ``robosim plot``: results."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from robosim.cli import arguments
from robosim.cli.application import app, out, remark, show
from robosim.cli.loading import Files, PackageDirs
from robosim.cli.options import option, with_options
from robosim.cli.running import interruptible
from robosim.cli.tables import plain_table
from robosim.cli.watching import Port, open_viewer
from robosim.errors import LogError, OptionError


@app.command()
@with_options
def compare(
    model: arguments.Model,
    loading: Files,
    peer: Annotated[
        str, typer.Option(help="pinocchio, mujoco, or reduced (REDMAX, which needs no model file).")
    ] = "pinocchio",
    view: Annotated[
        bool,
        typer.Option(
            "--view",
            help="Then show both robots falling, in the browser, until ctrl-C; MuJoCo only.",
        ),
    ] = False,
    port: Port = None,
    as_json: arguments.Json = False,
) -> None:
    """Compare masses, kinematics and dynamics with another library; exit code 1 if they differ.

    [bold]Example:[/bold] robosim compare a1 --peer pinocchio
    """
    from robosim.loaders.peers import compare as compare_with

    if view and peer != "mujoco":
        raise OptionError(f"--view is for --peer mujoco: {peer} does not simulate contacts here")
    robot = loading.load(model)
    comparison = compare_with(robot, peer=peer)
    if as_json:
        typer.echo(json.dumps(comparison.to_dict(), indent=2))
    else:
        table = plain_table("quantity", "largest relative error>", "tolerance>", "")
        for row in comparison.rows:
            verdict = "[green]ok[/green]" if row.ok else "[bold red]differs[/bold red]"
            table.add_row(escape(row.name), f"{row.error:.2e}", f"{row.tolerance:.0e}", verdict)
        show(table)
        for note in comparison.notes:
            out.print(note, style="dim", markup=False, soft_wrap=True)
    if view:
        from robosim.viz.sidebyside import fall

        with interruptible() as stop, open_viewer(robot, port, ghosts=("MuJoCo",)) as viewer:
            fall(robot, viewer, stop)
    if not comparison.passed:
        raise typer.Exit(1)


@app.command()
def plot(
    log: Annotated[
        Path, typer.Argument(help="A log that robosim wrote.", metavar="LOG", show_default=False)
    ],
    out_file: Annotated[
        Path | None,
        option(
            "--out",
            help="The picture to write (.png, .pdf or .svg); by default LOG with .png.",
            metavar="FILE",
        ),
    ] = None,
    joints: Annotated[
        str | None,
        option(
            help="Draw only joints whose name matches this regular expression.", metavar="REGEX"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        option(
            help="Draw columns logged with --also whose name matches this regular expression.",
            metavar="REGEX",
        ),
    ] = None,
    model: Annotated[
        str | None,
        option(
            help="The robot, for limits and contacts; by default the one named in the log.",
            metavar="MODEL",
        ),
    ] = None,
    package_dir: PackageDirs = None,
    show: Annotated[bool, typer.Option("--show", help="Open the picture.")] = False,
) -> None:
    """Draw a log: joint positions, velocities and torques, and height and tilt of the base.

    [bold]Example:[/bold] robosim plot run.parquet --joints 'FL|FR'

    If the run was killed, the samples until then are drawn.
    """
    from robosim.log import read_log
    from robosim.viz.playback import check_robot, robot_of
    from robosim.viz.plots import plot_log

    run = read_log(log)
    if run.note:
        remark(f"note: {run.note}")
    # Without the robot, the plot has neither limits nor contacts.
    robot = None if model is None else Files(package_dir=package_dir).load(model)
    if robot is not None:
        check_robot(run, robot)
    else:
        with contextlib.suppress(LogError):
            robot = robot_of(run)
    stem = log.with_suffix("") if log.suffix == ".partial" else log
    target = stem.with_suffix(".png") if out_file is None else out_file
    plot_log(run, target, joints, robot, columns)
    out.print(f"drawn: {target}", markup=False, soft_wrap=True)
    if show:
        typer.launch(str(target))
