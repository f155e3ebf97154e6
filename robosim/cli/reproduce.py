"""``robosim reproduce``: the papers' figures, run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from robosim.cli import arguments
from robosim.cli.application import app, out, remark, show
from robosim.cli.options import option
from robosim.cli.running import counting_bar
from robosim.cli.tables import plain_table, targets_table
from robosim.errors import OptionError

if TYPE_CHECKING:
    from robosim.experiments import Result


@app.command()
def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(help="A figure, or 'all'; without a name, list them.", metavar="NAME"),
    ] = None,
    out_folder: Annotated[
        Path | None,
        option(
            "--out", help="Folder for NAME.json and NAME.png; created if missing.", metavar="DIR"
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter runs and fewer points, for a trial.")
    ] = False,
    as_json: arguments.Json = False,
) -> None:
    """Reproduce a paper's figure, compared with MuJoCo; numbers as JSON, the picture as PNG.

    [bold]Example:[/bold] robosim reproduce fig7b --out figures

    The exit code is 1 if robosim misses a target.
    """
    from robosim.experiments import EXPERIMENTS, find
    from robosim.experiments import reproduce as run_again

    if name is None:
        _list(as_json)
        return
    names = [one.names[0] for one in EXPERIMENTS] if name == "all" else [name]
    find(names[0])
    if out_folder is None:
        raise OptionError("say where to write to: --out DIR")
    results: dict[str, Result] = {}
    with counting_bar() as bar:
        task = bar.add_task("", total=len(names))
        for one in names:

            def note(text: str, one: str = one) -> None:
                bar.update(task, description=f"{one}: {escape(text)}")

            results[one] = run_again(one, out_folder, quick, note)
            bar.advance(task)
    if as_json:
        files = [out_folder / f"{one}.json" for one in results]
        told = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        typer.echo(json.dumps(told if name == "all" else told[0], indent=2))
    else:
        _tell(results)
        remark(f"written to {out_folder}{', quick runs' if quick else ''}")
    if not all(result.reached for result in results.values()):
        raise typer.Exit(1)


def _list(as_json: bool) -> None:
    from robosim.experiments import EXPERIMENTS

    if as_json:
        rows = [{"names": one.names, "title": one.title, "claim": one.claim} for one in EXPERIMENTS]
        typer.echo(json.dumps(rows, indent=2))
        return
    table = plain_table("name", "description", "target")
    for one in EXPERIMENTS:
        table.add_row(", ".join(one.names), escape(one.title), escape(one.claim))
    show(table)


def _tell(results: dict[str, Result]) -> None:
    show(targets_table({name: result.targets for name, result in results.items()}))
    for name, result in results.items():
        out.print(f"\n{name}: {result.sentence}", markup=False, soft_wrap=True)
