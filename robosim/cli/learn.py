"""``robosim learn``: a quadruped learns to walk."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robosim.cli import arguments
from robosim.cli.application import INTERRUPTED, app, err, out, remark, show
from robosim.cli.hints import proposed
from robosim.cli.loading import Loading
from robosim.cli.options import option, with_options
from robosim.cli.tables import learned_table
from robosim.errors import OptionError

if TYPE_CHECKING:
    from robosim.cluster import Workers
    from robosim.description.mechanism import Mechanism
    from robosim.learning import Learned

TOGETHER = 8  # learners of a worker on Ray at a time, in one vector register


@app.command()
@with_options
def learn(
    model: arguments.Model,
    loading: Loading,
    *,
    out_stem: Annotated[
        Path | None,
        option(
            "--out",
            help="Write the gait to WALK.json, the learning curve to WALK.png and a replay of the "
            "best gait to WALK.html.",
            metavar="WALK",
        ),
    ] = None,
    episodes: Annotated[
        int, typer.Option(help="Gaits that each learner evaluates.", metavar="N", min=1)
    ] = 100,
    learners: Annotated[
        int, typer.Option(help="Number of parallel learners.", metavar="N", min=1)
    ] = 16,
    seconds: Annotated[
        float, typer.Option(help="Simulated time of each gait.", metavar="S")
    ] = 10.0,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.", metavar="N", min=0)] = 0,
    timestep: Annotated[float, typer.Option(help="Time step in seconds.", metavar="H")] = 1e-3,
    effort_limits: Annotated[
        bool,
        typer.Option("--effort-limits", help="Keep torques within the joints' effort limits."),
    ] = False,
    onnx: Annotated[
        bool,
        typer.Option("--onnx", help="Also write the best gait to WALK.onnx, for robosim play."),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue from WALK.json, with its options.",
        ),
    ] = False,
    threads: Annotated[
        int | None,
        option(help="Number of threads; by default one per core.", metavar="N", min=1),
    ] = None,
    on_ray: Annotated[
        int | None,
        option(
            "--ray",
            help="Evaluate the gaits on N Ray workers, eight learners at a time on each.",
            metavar="N",
            min=1,
        ),
    ] = None,
    as_json: arguments.Json = False,
    context: typer.Context,
) -> None:
    """Let a quadruped learn to walk: a random search for the gait that walks farthest.

    [bold]Example:[/bold] robosim learn a1 --friction 0.2 --out walk

    Each learner evaluates variations of its best gait, starting with the feet 1 cm above the
    ground. Ctrl-C ends the search and keeps the best gait. [Bruedigam2023, Algorithm 7]
    """
    from robosim.learning import Learned, learn_gait

    if resume and out_stem is None:
        raise OptionError("--resume goes on from --out WALK")
    if onnx and out_stem is None:
        raise OptionError("--onnx is for --out WALK")
    files = _files(out_stem, onnx)
    robot = loading.load(model)
    for warning in robot.warnings:
        remark(f"warning: {warning}")
    before = Learned.load(files["gait"]) if resume else None
    step = timestep if before is None else before.options["timestep"]
    with _workers(robot, on_ray, step) as workers:
        found = learn_gait(
            robot,
            learners=learners,
            episodes=episodes,
            seconds=seconds,
            friction=loading.friction,
            effort_limits=effort_limits,
            seed=seed,
            timestep=timestep,
            threads=threads,
            progress=err.is_terminal and not as_json,
            resume=before,
            workers=workers,
        )
    if files:
        found.save(files["gait"])
        found.plot(files["curve"])
        if onnx:
            from robosim.policies import export

            export(found, files["policy"], robot)
        _show_best(found, robot, files["page"])
    told = {**found.to_dict(), "files": {name: str(file) for name, file in files.items()}}
    if as_json:
        typer.echo(json.dumps(told, indent=2, allow_nan=False))
    else:
        show(learned_table(found, files))
        if files:
            watch = proposed(context, "simulate", model, "--gait", str(files["gait"]), "--view")
            if resume and found.options["friction"] is not None:
                watch += f" --friction {found.options['friction']:g}"
            out.print(f"to see it live: {watch}", markup=False, soft_wrap=True)
    if not found.complete:
        raise typer.Exit(INTERRUPTED)


def _workers(
    robot: Mechanism, n: int | None, timestep: float
) -> AbstractContextManager[Workers | None]:
    """Workers on Ray, if requested."""
    if n is None:
        return nullcontext()
    from robosim.cluster import Workers

    return Workers(robot, n, TOGETHER, timestep, ray=True)


def _files(stem: Path | None, onnx: bool) -> dict[str, Path]:
    """The files to write, by their kinds; none without a stem."""
    if stem is None:
        return {}
    if not stem.absolute().parent.is_dir():
        raise OptionError(f"--out {stem}: the directory does not exist")
    # A name with one of the suffixes is equivalent.
    ends = {"gait": ".json", "curve": ".png", "page": ".html"}
    if onnx:
        ends["policy"] = ".onnx"
    base = stem.with_suffix("") if stem.suffix in ends.values() else stem
    return {what: base.with_name(base.name + end) for what, end in ends.items()}


def _show_best(found: Learned, robot: Mechanism, page: Path) -> None:
    """Write a page of the best gait."""
    from robosim.learning.walking import walker
    from robosim.viz import Recorder, live

    sim, gait = walker(robot, found)
    recorder = Recorder(sim.robot, fps=30)
    live(sim, gait, found.options["seconds"], recorder=recorder, speed=float("inf"))
    recorder.save(page)
