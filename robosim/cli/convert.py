"""``robosim convert``: a model in another format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from robosim.cli import arguments
from robosim.cli.application import app, out, remark
from robosim.cli.loading import Loading
from robosim.cli.options import with_options


@app.command()
@with_options
def convert(
    model: arguments.Model,
    file: Annotated[
        Path,
        typer.Argument(help="The file to write: .urdf, or .xml for MJCF.", show_default=False),
    ],
    loading: Loading,
    as_json: arguments.Json = False,
) -> None:
    """Write a robot as URDF or MJCF, and report what that format cannot express.

    [bold]Example:[/bold] robosim convert a1 a1.xml

    Closed loops, springs, dampers, limits and mimic couplings are written; meshes are written to a
    folder beside the file.
    """
    from robosim.loaders.writers import save

    robot = loading.load(model)
    lost = save(robot, file)
    if as_json:
        told = {"file": str(file), "lost": list(lost), "warnings": list(robot.warnings)}
        typer.echo(json.dumps(told, indent=2))
        return
    for warning in robot.warnings:
        remark(f"warning: {warning}")
    for sentence in lost:
        remark(f"not in the file: {sentence}")
    out.print(f"written: {file}", markup=False, soft_wrap=True)
