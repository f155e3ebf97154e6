"""``robosim dataset``: logs as a dataset of LeRobot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from robosim.cli import arguments
from robosim.cli.application import app, out, remark
from robosim.cli.options import option


@app.command()
def dataset(
    logs: Annotated[
        list[Path],
        typer.Argument(
            help="Logs of one robot, an episode each.", metavar="LOG...", show_default=False
        ),
    ],
    folder: Annotated[
        Path, option("--out", help="The folder to write, which must not exist.", metavar="DIR")
    ],
    task: Annotated[str, option(help="What is done, in words.", metavar="TEXT")],
    fps: Annotated[int, typer.Option(help="Frames per second.", metavar="N")] = 50,
    action: Annotated[
        str,
        option(help="Actions: torque, or position of the next frame.", metavar="WHAT"),
    ] = "torque",
    as_json: arguments.Json = False,
) -> None:
    """Write logs as a dataset of LeRobot, version 3.0, in which each log is an episode.

    [bold]Example:[/bold] robosim dataset run.parquet --out stand --task "stand still"
    """
    from robosim.log import read_log, write_lerobot

    read = [read_log(path) for path in logs]
    for log in read:
        if log.note:
            remark(f"note: {log.note}")
    write_lerobot(read, folder, fps=fps, task=task, action=action)
    told = json.loads((folder / "meta/info.json").read_text(encoding="utf-8"))
    if as_json:
        counts = {name: told[f"total_{name}"] for name in ("episodes", "frames")}
        features = {name: one["shape"] for name, one in told["features"].items()}
        typer.echo(json.dumps({"folder": str(folder), **counts, "features": features}, indent=2))
        return
    count = f"{told['total_episodes']} episodes of {told['total_frames']} frames"
    out.print(f"written: {folder}, {count}", markup=False, soft_wrap=True)
