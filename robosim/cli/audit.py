"""``robosim audit``: what in a robot's motion is the simulator's, and what the model's."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from robosim.cli import arguments
from robosim.cli.application import app, err, out, remark, show
from robosim.cli.loading import Files
from robosim.cli.options import option, with_options
from robosim.cli.start_state import Drop, Pose, Q, V, start_state
from robosim.cli.stepping import Controller
from robosim.cli.tables import plain_table
from robosim.errors import ModelError, OptionError
from robosim.validation import positive

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism
    from robosim.referee.audit import Audit

COLOURS = {"error": "red", "warning": "yellow", "note": "dim"}


@app.command()
@with_options
def audit(
    model: arguments.Model,
    loading: Files,
    *,
    seconds: Annotated[float, typer.Option(help="Seconds to simulate.", metavar="S")] = 2.0,
    controller: Controller = None,
    peers: Annotated[
        str | None,
        option(
            help="Simulators to compare with, separated by commas: mujoco, drake, pybullet, "
            "newton; by default those that are installed.",
            metavar="NAMES",
        ),
    ] = None,
    timestep: Annotated[
        float | None,
        option(help="Time step in seconds; by default the file's, or 2 ms.", metavar="H"),
    ] = None,
    policy: Annotated[
        Path | None,
        option(help="Let a policy control the robot: an ONNX file.", metavar="FILE"),
    ] = None,
    task: Annotated[
        str | None,
        option(
            help="The observations and actions of the policy, as for robosim play.", metavar="TASK"
        ),
    ] = None,
    log: Annotated[
        Path | None,
        option(
            help="Replay the commands of a log of a robot or a simulator: .csv, .parquet, .npz or "
            ".mcap.",
            metavar="FILE",
        ),
    ] = None,
    pose: Pose = None,
    q: Q = None,
    v: V = None,
    drop: Drop = 0.0,
    apart: Annotated[
        float | None,
        option(
            help="Distance of a body from which on motions have parted; by default 1 cm, and less "
            "for small robots.",
            metavar="M",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Longest time for a run in another simulator.", metavar="S")
    ] = 60.0,
    page: Annotated[
        Path | None,
        option("--html", help="Write findings, plots and a replay to a page.", metavar="FILE"),
    ] = None,
    fail_on: Annotated[
        str | None,
        option(
            help="Exit with 1 if there is a finding of this severity or a worse one: error, "
            "warning or note.",
            metavar="SEVERITY",
        ),
    ] = None,
    as_json: arguments.Json = False,
) -> None:
    """Find what in a robot's motion is the simulator's fault, and what mends it there.

    [bold]Example:[/bold] robosim audit gripper.xml --from hold --seconds 2 --html audit.html

    The same file, start and controls are simulated by robosim and by the other simulators that are
    installed: at the file's settings, at half and a quarter of the time step, and at settings that
    are known to mend what was found.
    """
    from robosim.referee.audit import audit as audited
    from robosim.referee.finding import SEVERITIES, at_least

    positive("--seconds", seconds)
    if fail_on is not None and fail_on not in SEVERITIES:
        raise OptionError(f"--fail-on must be one of {', '.join(SEVERITIES)}, not '{fail_on}'")
    arguments.check_page(page)
    if task is not None and policy is None:
        raise OptionError("--task is for --policy FILE")
    names = None
    if peers is not None:
        names = [name.strip() for name in peers.split(",") if name.strip()]
    try:
        robot = loading.load(model)
    except ModelError:
        if not Path(model).is_file():
            raise
        robot = None  # of which the audit says why
    start: dict[str, Any] = {}
    if robot is not None:
        start = _start(robot, model, pose, q, v, drop, controller, timestep)
        start["log"] = log
        if policy is not None:
            from robosim import policies

            start["policy"] = policies.load(policy, robot, task)
    elif pose or q or v or drop or controller or policy or log:
        raise OptionError("robosim cannot load the file, so there is no start or controller for it")
    with err.status("auditing") if err.is_terminal else nullcontext() as status:
        found = audited(
            model,
            seconds=seconds,
            peers=names,
            timestep=timestep,
            apart=apart,
            timeout=timeout,
            robot=robot,
            tell=lambda text: None if status is None else status.update(escape(text)),
            **start,
        )
    if page is not None:
        from robosim.referee.audit.report import write_report

        write_report(found, page)
    if as_json:
        told = {**found.to_dict(), "html": None if page is None else str(page)}
        typer.echo(json.dumps(told, indent=2, allow_nan=False))
    else:
        _tell(found)
        if page is not None:
            out.print(f"page: {page}", markup=False, soft_wrap=True)
    if fail_on is not None and at_least(found.findings, fail_on):  # type: ignore[arg-type]
        raise typer.Exit(1)


def _start(
    robot: Mechanism,
    model: str,
    pose: str | None,
    q: list[str] | None,
    v: list[str] | None,
    drop: float,
    controller: str | None,
    timestep: float | None,
) -> dict[str, Any]:
    """Start and controller, as arguments of an audit."""
    from robosim.referee.audit.auditing import path_of
    from robosim.referee.audit.files import TIMESTEP, described

    found: dict[str, Any] = {}
    state = start_state(robot, pose, q or (), v or (), drop)
    if pose is not None and not (q or v or drop):
        found["pose"] = pose
    elif state is not None:
        found |= {"q": state["q"], "v": state["v"]}
    if controller is not None:
        path = path_of(model, robot)
        step = timestep or (described(path).timestep if path.is_file() else TIMESTEP)
        found["controller"] = arguments.controller(controller, robot, step)
    return found


def _tell(found: Audit) -> None:
    """Print a table for each simulator, and the findings."""
    from robosim.referee.audit import telling
    from robosim.referee.audit.report import summary

    remark(summary(found))
    for text in found.missing:
        remark(f"note: {text}")
    for judged in found.peers:
        rows = telling.rows(found, judged) if judged.runs else []
        if rows:
            heads = telling.columns(judged)
            table = plain_table(judged.title, *(f"{head}>" for head in heads))
            for what, texts in rows:
                table.add_row(f"[dim]{escape(what)}[/dim]", *map(escape, texts))
            show(table)
    if not found.findings:
        out.print("nothing was found")
    for one in found.findings:
        colour = COLOURS[one.severity]
        out.print(f"[{colour}]{one.severity}[/{colour}] {escape(one.said)}", soft_wrap=True)
        if one.mend:
            out.print(f"  [dim]{escape(one.mend)}[/dim]", soft_wrap=True)
