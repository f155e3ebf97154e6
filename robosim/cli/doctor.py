"""``robosim doctor``: what is wrong with a model, before any step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from robosim.cli import arguments
from robosim.cli.application import app, err, out, show
from robosim.cli.loading import Loading
from robosim.cli.options import option, with_options
from robosim.progress import bar
from robosim.validation import check_choice

if TYPE_CHECKING:
    from robosim.referee.doctor import Diagnosis
    from robosim.referee.sections import Section

COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}
NEVER = "never"


@app.command()
@with_options
def doctor(
    model: arguments.Model,
    loading: Loading,
    *,
    page: Annotated[
        Path | None, option("--html", help="Write the findings to a page.", metavar="FILE")
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit code 1 from this severity on: error, warning, note, or never.",
            metavar="SEVERITY",
        ),
    ] = "error",
    skip: Annotated[
        list[str] | None,
        option(help="Leave out a check; may be given several times.", metavar="CHECK"),
    ] = None,
    annotate: Annotated[
        bool | None,
        option(
            "--annotate/--no-annotate",
            help="Print annotations for GitHub Actions as well; by default where it runs.",
        ),
    ] = None,
    as_json: arguments.Json = False,
) -> None:
    """Look for what is wrong with a model, before any step; exit code 1 if there are errors.

    [bold]Example:[/bold] robosim doctor robot.urdf --html robot.html

    Masses, inertias, collision shapes, limits, efforts, damping, time steps, loops, left and
    right, names, and what the file says in vain. Each finding has its line, what robosim, MuJoCo
    and Pinocchio make of it, and how to mend it.
    """
    from robosim.referee.doctor import CHECKS, diagnose
    from robosim.referee.finding import SEVERITIES

    check_choice("--fail-on", fail_on, (*SEVERITIES, NEVER))
    arguments.check_page(page)
    with bar("examining", len(CHECKS) + 1, err.is_terminal) as advance:
        found = diagnose(
            model,
            skip=skip or (),
            advance=lambda name: advance(1, name),
            load=lambda: loading.load(model),
        )
    if page is not None:
        from robosim.referee.doctor.page import write_page

        write_page(found, page)
    if as_json:
        told = {**found.to_dict(), "html": None if page is None else str(page)}
        typer.echo(json.dumps(told, indent=2, allow_nan=False))
    else:
        _tell(found)
        if page is not None:
            out.print(f"page: {page}", markup=False, soft_wrap=True)
    if annotate or (annotate is None and os.environ.get("GITHUB_ACTIONS") == "true"):
        _annotate(found)
    if fail_on != NEVER and found.at_least(fail_on):  # type: ignore[arg-type]
        raise typer.Exit(1)


def _tell(found: Diagnosis) -> None:
    """Print the findings by severity and check."""
    from robosim.referee.finding import SEVERITIES
    from robosim.referee.sections import sections

    counts = ", ".join(
        f"{n} {severity}{'' if n == 1 else 's'}"
        for severity in SEVERITIES
        if (n := found.count(severity))
    )
    name = found.model if found.robot is None else found.robot.name
    show(Text.assemble((name, "bold"), f": {counts or 'nothing was found'}"))
    if found.file is not None:
        show(Text(found.file, style="dim"))
    for one in sections(found.findings, found.file):
        show("", _heading(one), Padding(_rows(one), (0, 0, 0, 2), expand=False))
        told = Table(box=None, show_header=False, pad_edge=False)
        told.add_column(no_wrap=True, style="dim")
        told.add_column(overflow="fold", style="dim")
        for library, what in one.effects.items():
            told.add_row(library, Text(what))
        for mend in one.mends:
            told.add_row(Text("to mend it", style="green"), Text(mend, style="green"))
        if told.rows:
            show(Padding(told, (0, 0, 0, 4), expand=False))


def _heading(one: Section) -> Text:
    return Text.assemble((one.severity, COLOURS[one.severity]), " ", (one.check, "bold"))


def _rows(one: Section) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(overflow="fold", max_width=30)
    table.add_column(overflow="fold")
    for row in one.rows:
        where = f"\n{row.lines}" if row.lines else ""
        table.add_row(Text.assemble(row.elements, (where, "dim")), Text(row.said))
    return table


def _annotate(found: Diagnosis) -> None:
    """Print each finding as a workflow command of GitHub Actions."""
    for one in found.findings:
        kind = {"note": "notice"}.get(one.severity, one.severity)
        places = {"file": _relative(one.file or found.file), "line": one.line}
        given = [f"{key}={_escaped(value)}" for key, value in places.items() if value is not None]
        given.append(f"title={_escaped(f'robosim doctor: {one.check}')}")
        mend = f"; to mend it: {one.mend}" if one.mend else ""
        typer.echo(f"::{kind} {','.join(given)}::{_data(f'{one.element} {one.said}{mend}')}")


def _relative(file: str | None) -> str | None:
    """A file as the page of a commit names it: from the working directory, if it is below."""
    if file is None:
        return None
    path, here = Path(file).absolute(), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped(value: object) -> str:
    return _data(str(value)).replace(":", "%3A").replace(",", "%2C")
