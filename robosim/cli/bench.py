"""``robosim bench``: side-by-side timings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from robosim.cli.application import app, out, remark, show
from robosim.cli.options import option
from robosim.cli.running import counting_bar
from robosim.cli.tables import plain_table, targets_table
from robosim.errors import OptionError

if TYPE_CHECKING:
    from rich.table import Table

    from robosim.bench import Case, Report
    from robosim.bench.against import Comparison


@app.command()
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Benchmarks, or 'all'; without a name, list them.", metavar="NAME..."),
    ] = None,
    json_file: Annotated[
        Path | None,
        option("--json", help="Write all numbers to this file.", metavar="FILE"),
    ] = None,
    out_folder: Annotated[
        Path | None,
        option(
            "--out",
            help="Folder for tables.md, and for NAME.png and NAME.json of each benchmark.",
            metavar="DIR",
        ),
    ] = None,
    peers: Annotated[
        str,
        typer.Option(
            help="Simulators to compare with, of mujoco, pinocchio, pybullet, drake, newton and "
            "genesis; or none.",
            metavar="NAMES",
        ),
    ] = "mujoco,pinocchio,pybullet,drake,newton,genesis",
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter runs and fewer sizes, for a trial.")
    ] = False,
    self_collision: Annotated[
        bool,
        typer.Option(
            "--self-collision",
            help="humanoid: let links touch each other, as the robot falls under random torques.",
        ),
    ] = False,
    against: Annotated[
        str | None,
        option(
            help="Compare this working tree with a commit of its repository instead, in turns. "
            "Without names: a1_stand, a1_trot, hinge_chain, ball_chain, segments, batch.",
            metavar="COMMIT",
        ),
    ] = None,
    turns: Annotated[
        int, typer.Option(help="Turns of --against that are counted.", metavar="N", min=1)
    ] = 5,
) -> None:
    r"""Time robosim and other installed simulators, in one run on this machine.

    [bold]Example:[/bold] robosim bench hinge_chain a1_stand --out times

    Times are CPU times of the whole process for one step: median, minimum and maximum over
    repetitions. Simulators run in alternation. Every loop runs in compiled code: that of robosim in
    one call of stream(), that of MuJoCo in mj_step with nstep or in rollout. Errors are reported
    with each time, such as penetration, violation of joints and change of energy; compare times at
    equal errors.

    For a simulator that is not installed, the pip command is shown: the extra peers contains MuJoCo
    and Pinocchio, the extra engines PyBullet, Drake and Newton, and genesis Genesis.

    With --against, robosim is timed alone, and the exit code is 1 if a case became slower by more
    than 3 %.

    [bold]Example:[/bold] robosim bench a1_stand a1_trot --against HEAD~1
    """
    from robosim.bench import CASES, Setup, check_peers, find, markdown, picture, to_dict
    from robosim.bench.against import USUAL

    if against is not None:
        names = names or list(USUAL)
    if not names:
        table = plain_table("name", "description", "peers")
        for case in CASES:
            table.add_row(case.name, escape(case.title), ", ".join(case.peers))
        show(table)
        return
    chosen = list(CASES) if names == ["all"] else [find(name) for name in names]
    if against is not None:
        if out_folder is not None:
            raise OptionError("--out is for benchmarks beside other simulators: use --json")
        _compare([case.name for case in chosen], against, turns, quick, json_file)
        return
    asked = check_peers([name for name in peers.split(",") if name not in ("", "none")])
    told = []
    with counting_bar() as bar:
        task = bar.add_task("", total=len(chosen))
        for case in chosen:

            def note(text: str, case: Case = case) -> None:
                bar.update(task, description=f"{case.name}: {escape(text)}")

            note("")
            setup = Setup(quick, asked, self_collision, note)
            report = case.run(setup)
            told.append(to_dict(case, report, setup))
            _tell(case, report)
            if out_folder is not None:
                _make(out_folder)
                picture(case, report, setup, out_folder / f"{case.name}.png")
                _write(out_folder / f"{case.name}.json", _json(told[-1]))
                _write(out_folder / "tables.md", markdown(told))
            bar.advance(task)
    if json_file is not None:
        _write(json_file, _json(told))
    if out_folder is not None:
        remark(f"written to {out_folder}{', quick runs' if quick else ''}")


def _compare(
    names: list[str], commit: str, turns: int, quick: bool, json_file: Path | None
) -> None:
    from robosim.bench.against import compare

    with counting_bar() as bar:
        task = bar.add_task("", total=2 * (turns + 1))

        def note(text: str) -> None:
            bar.update(task, description=escape(text), advance=1)

        found = compare(names, commit, turns, quick, note)
    if json_file is not None:
        _write(json_file, _json(found.to_dict()))
    show(comparison_table(found))
    for row in found.alone:
        remark(f"not compared, as only one of the two has it: {row}")
    for change in found.slower:
        remark(f"{change.row}: slower by {100 * (change.ratio - 1):.1f} %")
    if found.slower:
        raise typer.Exit(1)


def comparison_table(found: Comparison) -> Table:
    """Times of two commits: the median, and the least one."""
    heads = "case", f"{found.commit[:12]} us>", "least>", "here us>", "least>", "ratio>", ""
    table = plain_table(*heads, title=f"CPU time of a step, {found.turns} turns")
    for change in found.changes:
        times = change.to_dict()
        keys = "before_us", "before_us_min", "after_us", "after_us_min"
        table.add_row(
            escape(change.row),
            *(f"{times[key]:.3g}" for key in keys),
            f"{change.ratio:.3f}",
            "[bold red]slower[/bold red]" if change.slower else "",
        )
    return table


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"'{folder}' cannot be written to: {error}") from error


def _json(told: object) -> str:
    return json.dumps(told, indent=2, allow_nan=False) + "\n"


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"'{file}' cannot be written: {error}") from error


def _tell(case: Case, report: Report) -> None:
    show(report_table(case, report))
    if report.targets:
        show(targets_table({case.name: report.targets}))
    out.print()


def report_table(case: Case, report: Report) -> Table:
    """Times with their errors."""
    from robosim.bench.tables import HEADS, named, times

    headings = [f"{report.size}>"] if report.size else []
    headings += ["who", "settings", *(f"{head}>" for head in HEADS), "errors", ""]
    table = plain_table(*headings, title=escape(f"{case.name}: {case.title}"))
    for row in report.rows:
        columns = times(row.timing.to_dict() if row.timing else {})
        errors, more = named(row.errors, 2), named(row.figures, 3)
        size = [str(row.size or "")] if report.size else []
        last = "; ".join(part for part in (", ".join(more), row.note) if part)
        table.add_row(
            *size, row.who, escape(row.told), *columns, escape(", ".join(errors)), escape(last)
        )
    return table
