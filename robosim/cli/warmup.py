"""``robosim warmup``: compiling kernels in advance."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from robosim.cli.application import app, remark, show
from robosim.errors import OptionError


@app.command()
def warmup(
    model: Annotated[
        str | None,
        typer.Argument(
            help="Name or file of the robot to be simulated; by default, kernels that most robots "
            "need.",
            metavar="[MODEL]",
            show_default=False,
        ),
    ] = None,
    *,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Compile the kernels of all features, in two processes at once."
        ),
    ] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="Also compile the kernels for batches.")
    ] = False,
) -> None:
    """Compile kernels in advance, before the first step of a simulation.

    Kernels in the cache are not compiled again. The cache is kept for all later runs.

    [bold]Example:[/bold] robosim warmup a1 --batch
    """
    begin = time.perf_counter()
    if everything:
        if model is not None or batch:
            raise OptionError("--all is for all robots and batches: leave MODEL and --batch out")
        from robosim.ahead import FEATURES, compile_all

        failed = compile_all(progress=sys.stderr.isatty())
        for name, said in failed.items():
            remark(f"{name}: {said}")
        if failed:
            raise OptionError(f"{len(failed)} of {len(FEATURES)} features could not be compiled")
        what = f"{len(FEATURES)} features"
    else:
        from robosim import load
        from robosim import warmup as compile_for

        robot = None if model is None else load(model)
        compile_for(robot, batch=batch)
        what = "what most robots need" if robot is None else f"'{robot.name}'"
    show(f"ready for {what}, after {time.perf_counter() - begin:.1f} s")
