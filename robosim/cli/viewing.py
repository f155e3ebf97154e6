"""``robosim view`` and ``robosim replay``: a live view in the browser, and replays of logs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robosim.cli import arguments
from robosim.cli.application import app, err, out, remark
from robosim.cli.loading import Files, PackageDirs, World
from robosim.cli.options import option, with_options
from robosim.cli.running import interruptible
from robosim.cli.stepping import Stepping
from robosim.cli.watching import (
    WATCHING,
    Open,
    Watching,
    check_record,
    compiled,
    open_viewer,
    save_recording,
)
from robosim.validation import positive

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism
    from robosim.formulation import Formulation

Watched = Annotated[
    bool,
    typer.Option(
        "--watch/--no-watch",
        help="Reload the robot when its file changes, unless the run is recorded.",
        rich_help_panel=WATCHING,
    ),
]


@app.command()
@with_options
def view(
    model: arguments.Model,
    loading: World,
    stepping: Stepping,
    watching: Watching,
    seconds: Annotated[
        float,
        option(help="Seconds to simulate; by default until ctrl-C.", metavar="S"),
    ] = math.inf,
    paused: Annotated[
        bool,
        typer.Option("--paused", "--pose", help="Start paused, to inspect and pose the robot."),
    ] = False,
    watch: Watched = True,
    open_browser: Open = False,
) -> None:
    """Show a robot live in the browser, to watch, control, pose and pull it.

    [bold]Example:[/bold] robosim view a1 --open

    The page is served to this machine only, unless --host is given. ctrl-C ends the view. A
    recording contains the last run, since the last restart.

    If MODEL is a file, the robot is reloaded when the file changes.
    """
    from robosim.viz import live
    from robosim.viz.watch import Watch

    if not math.isinf(seconds):
        positive("--seconds", seconds)
    watching.check()
    robot = loading.load(model)
    for warning in robot.warnings:
        remark(f"warning: {warning}")
    # Robots that cannot be simulated can be viewed; warnings name the replaced values.
    looked_at = replace(stepping, massless="lock", impossible_inertia="ball")
    name = stepping.controller or arguments.default_controller(robot)

    def made(robot: Mechanism, timestep: float) -> Any:
        chosen = name if stepping.motors is None else stepping.controller
        return stepping.controls(chosen, robot, timestep)

    def again() -> Formulation:
        changed = loading.load(model)
        for warning in changed.warnings:
            remark(f"warning: {warning}")
        remark(f"loaded again: {model}")
        return looked_at.start(changed, stepping.timestep)

    looked_at.check(robot)
    # With a file of motors, other controllers would act without them.
    offered = {} if stepping.motors else _built_in(robot, stepping.effort_limits)
    recorder = watching.recorder(robot)
    watched = watch and recorder is None and Path(model).expanduser().is_file()
    renew = Watch([model], again) if watched else None
    port, host = watching.port, watching.host
    # The page is served before the kernels are compiled, and shows their progress.
    runs = False
    try:
        with (
            watching.served(robot) as foxglove,
            open_viewer(robot, port, host, open_browser) as viewer,
        ):
            sim = compiled(lambda: looked_at.start(robot, stepping.timestep), viewer)
            with interruptible() as stop:
                runs = True
                live(
                    sim,
                    name,
                    seconds if math.isfinite(seconds) else None,
                    viewer,
                    recorder,
                    controllers=offered | {name: made},
                    # The robot that is shown, which may have been loaded again.
                    rebuild=lambda timestep: looked_at.start(viewer.robot, timestep),
                    renew=renew,
                    paused=paused,
                    stop=stop,
                    foxglove=foxglove,
                )
    except KeyboardInterrupt:
        if runs:
            raise
        return  # ctrl-C during the compilation
    watching.save(recorder)
    if watching.record is not None:
        err.print(f"recorded: {watching.record}", markup=False, soft_wrap=True)


@app.command()
def replay(
    log: Annotated[
        Path, typer.Argument(help="A log that robosim wrote.", metavar="LOG", show_default=False)
    ],
    model: Annotated[
        str | None,
        option(
            help="The robot: a name or a path; by default the one named in the log.",
            metavar="MODEL",
        ),
    ] = None,
    ghost: Annotated[
        list[Path] | None,
        option(
            help="Another log of the same robot, drawn translucent; may be given several times.",
            metavar="LOG",
        ),
    ] = None,
    out_file: Annotated[
        Path | None,
        option(
            "--out",
            help="The file to write: .html, .mp4, .gif or .png; by default LOG with .html.",
            metavar="FILE",
        ),
    ] = None,
    open_browser: Open = False,
    package_dir: PackageDirs = None,
) -> None:
    """Replay a log: as a page, a video or a picture.

    [bold]Example:[/bold] robosim replay run.parquet --open

    With --ghost, other runs of the same robot are drawn over it, for comparison.
    """
    from robosim.log import read_log
    from robosim.viz.playback import recording

    target = log.with_suffix(".html") if out_file is None else out_file
    check_record(target, "--out")
    main, others = read_log(log), [(path.stem, read_log(path)) for path in ghost or ()]
    for one in (main, *(other for _, other in others)):
        if one.note:
            remark(f"note: {one.note}")
    robot = None if model is None else Files(package_dir=package_dir).load(model)
    save_recording(recording(main, robot, others=others), target)
    out.print(f"replays: {target}", markup=False, soft_wrap=True)
    if open_browser:
        typer.launch(target.absolute().as_uri())


def _built_in(robot: Mechanism, effort_limits: bool) -> dict[str, Any]:
    """The controllers of every robot, or of every robot with actuators."""
    from robosim.control.controllers import BUILT_IN

    def within(make: Any) -> Any:
        def made(robot: Mechanism, timestep: float) -> Any:
            control = make(robot, timestep)
            if effort_limits:
                arguments.limit_efforts(control, robot)
            return control

        return made

    return {name: within(make) for name, make in BUILT_IN.items() if robot.nu or name == "zero"}
