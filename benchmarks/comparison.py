"""``python -m benchmarks.comparison``: writes docs/comparison.md from the referee's results.

Runs `robosim bench referee` in this environment, with every simulator that is installed, and
writes its results to benchmarks/results, and the page with its picture to docs. ``--peers genesis``
runs these simulators alone, beside robosim, and keeps the results of the others. ``--from-results``
writes the page anew from results that exist. A page of an earlier year is kept under its year.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.marked import with_part
from robosim.bench import registry
from robosim.bench.case import Setup
from robosim.bench.referee import race
from robosim.bench.referee.motions import ENGINES, MOTIONS, SCRIPTS, Motion, script
from robosim.bench.report import Report, Row, Timing

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "benchmarks/results", ROOT / "docs/comparison.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- comparison -->", "<!-- end of comparison -->"
STEPS = (1e-2, 2e-3, 1e-3)  # [s], of the columns
NAMES = {
    "mujoco": "MuJoCo", "drake": "Drake", "pybullet": "PyBullet", "newton": "Newton",
    "genesis": "Genesis",
}  # fmt: skip


def page(told: dict[str, Any]) -> str:
    """The page, as Markdown, of results with the date on which they were measured."""
    machine = told["machine"]
    versions = ", ".join(
        f"{name} {machine['peers'].get(key)}"
        for key, name in NAMES.items()
        if machine["peers"].get(key)
    )
    parts = [
        "# robosim beside other simulators",
        _wrapped(
            f"Measured on {told['date']}: robosim {machine['robosim']}, {versions}.",
            f"The machine has {machine['cores']} cores ({machine['processor']}).",
        ),
        _wrapped(
            "Each motion has a right answer that is known. Each simulator has a script of its own",
            "for each motion, some twenty lines in the words of its own library. Settings are its",
            "defaults, and those that its documentation recommends for accuracy. Scripts are in",
            "[robosim/bench/referee/scripts](../robosim/bench/referee/scripts), and each runs by",
            "itself. Corrections by people who know a simulator better than we do are welcome.",
        ),
        "`python -m benchmarks.comparison` runs all of them and writes this page.",
        "![errors over CPU times](comparison.png)",
        _wrapped(
            "Times are CPU times of a whole run, without starting and compiling: the median of",
            "three processes. What takes more than two minutes runs once. Newton and Genesis",
            "are made for GPUs, and run on the processor here.",
        ),
        *(section(motion, told["rows"]) for motion in MOTIONS),
        better(told),
        _wrapped(
            *unmeasured(told["rows"]),
            "Motions that are computed to an accuracy are in [accuracy](accuracy.md), also by",
            "Drake's CENIC.",
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _wrapped(*sentences: str) -> str:
    """A paragraph in lines of the width of all documents."""
    return textwrap.fill(" ".join(sentences), 98, break_long_words=False, break_on_hyphens=False)


def unmeasured(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Sentences on scripts that are newer than the results."""
    there = {(row["who"], row["settings"].partition(": ")[0]) for row in rows}
    for engine, name in ENGINES.items():
        new = [m.name for m in MOTIONS if script(m.name, engine) and (name, m.name) not in there]
        if new:
            yield f"Scripts of {name} that were not measured yet: {', '.join(new)}."


def section(motion: Motion, rows: list[dict[str, Any]]) -> str:
    """The table of a motion."""
    head = [f"{1e3 * step:g} ms" for step in STEPS]
    lines = [
        f"## {motion.title[0].upper()}{motion.title[1:]}",
        "",
        _wrapped(motion.answer, f"The columns have the {motion.error} by time step."),
        "",
        f"| simulator | settings | {' | '.join(head)} | CPU at 2 ms [ms] |",
        f"|---|---|{'---|' * (len(STEPS) + 1)}",
    ]
    lines += table(motion, rows)
    lines += [
        f"\n{row['who']} {row['note'].removeprefix('cannot: ')} here."
        for row in rows
        if row["settings"] == motion.name
    ]
    return "\n".join(lines)


def table(motion: Motion, rows: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of a motion's table, by simulator and setting."""
    found: dict[tuple[str, str], dict[float, dict[str, Any]]] = {}
    for row in rows:
        name, _, setting = row["settings"].partition(": ")
        if name == motion.name and setting:
            step = row["figures"].get("timestep [s]", -row["figures"].get("accuracy", 0.0))
            found.setdefault((row["who"], setting), {})[step] = row
    for (who, setting), by_step in found.items():
        if min(by_step) < 0:
            for step, row in by_step.items():
                told = f"{setting}, accuracy {-step:g}"
                error, cpu = row["errors"][motion.error], 1e-3 * row["cpu_us"]
                yield f"| {who} | {told} | {_told(error)} | | | {cpu:.3g} |"
            continue
        cells = [
            _told(by_step[step]["errors"][motion.error]) if step in by_step else ""
            for step in STEPS
        ]
        cpu = f"{1e-3 * by_step[2e-3]['cpu_us']:.3g}" if 2e-3 in by_step else ""
        yield f"| {who} | {setting} | {' | '.join(cells)} | {cpu} |"


def _told(error: float | None) -> str:
    if error is None:
        return "diverges"
    return "0" if error == 0 else f"{error:.2g}"


def better(told: dict[str, Any]) -> str:
    """Where another simulator needs less time: for its smallest error, or for a time step."""
    lost = [
        f"- {one['what']}: {one['measured']:.3g}" for one in told["targets"] if not one["reached"]
    ]
    best = _wrapped(
        "For the smallest error of each other simulator, robosim needs less CPU time,",
        "except for:" if lost else "in all motions of this page.",
    )
    parts = ["## Where others are better", best, *(["\n".join(lost)] if lost else [])]
    if quick := [line for motion in MOTIONS for line in _quicker(motion, told["rows"])]:
        parts += ["Steps of 2 ms take others less CPU time, at larger errors:", "\n".join(quick)]
    parts.append("What others do better besides is in the [README](../README.md).")
    return "\n\n".join(parts)


def _quicker(motion: Motion, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Lines on simulators whose steps of 2 ms take less time than robosim's."""
    times: dict[str, float] = {}
    for row in rows:
        name = row["settings"].partition(": ")[0]
        if name == motion.name and row["figures"].get("timestep [s]") == 2e-3:
            times[row["who"]] = min(times.get(row["who"], float("inf")), row["cpu_us"])
    ours = times.pop("robosim", 0.0)
    for who, time in times.items():
        if time < ours:
            yield f"- {motion.title}: {who}, {time / ours:.2g} of robosim's time"


def readme_table(told: dict[str, Any]) -> str:
    """The table of README: the smallest error of each simulator at 2 ms."""
    who = ["robosim", "MuJoCo", "Drake", "PyBullet", "Newton (Kamino)", "Genesis"]
    lines = [
        f"| error at 2 ms | robosim | MuJoCo, default | {', '.join(who[1:2])}, best | "
        f"{' | '.join(who[2:])} |",
        f"|---|{'---|' * (len(who) + 1)}",
    ]
    for motion in MOTIONS:
        rows = [
            row
            for row in told["rows"]
            if row["settings"].partition(": ")[0] == motion.name
            and row["figures"].get("timestep [s]") == 2e-3
        ]
        errors = {
            name: [row["errors"][motion.error] for row in rows if row["who"] == name]
            for name in who
        }
        first = errors["MuJoCo"][0]
        cells = [_told(min(own)) if own else "" for own in errors.values()]
        lines.append(
            f"| {motion.title}: {motion.error} | "
            + " | ".join([cells[0], _told(first), *cells[1:]])
            + " |"
        )
    return "\n".join(lines)


def with_table(readme: str, table: str) -> str:
    """README with another table between its marks."""
    return with_part(readme, BEGIN, table, END)


def kept(text: str, year: str) -> Path | None:
    """Where a page of another year is kept; None for one of this year."""
    found = re.search(r"Measured on (\d{4})", text)
    if found is None or found.group(1) == year:
        return None
    return PAGE.with_name(f"comparison-{found.group(1)}.md")


def joined(old: dict[str, Any], new: dict[str, Any], peers: list[str]) -> dict[str, Any]:
    """Old results with those of some simulators from a later run.

    Their targets compare times with those of robosim in the same run.
    """
    who = {ENGINES[peer] for peer in peers}

    def of_them(target: dict[str, Any]) -> bool:
        return any(f"smallest error of {name} /" in target["what"] for name in who)

    rows = [row for row in old["rows"] if row["who"] not in who]
    targets = [one for one in old["targets"] if not of_them(one)]
    versions = old["machine"]["peers"] | {peer: new["machine"]["peers"][peer] for peer in peers}
    return old | {
        "date": new["date"],
        "rows": rows + [row for row in new["rows"] if row["who"] in who],
        "targets": targets + [one for one in new["targets"] if of_them(one)],
        "machine": old["machine"] | {"peers": versions},
    }


def _row(told: dict[str, Any]) -> Row:
    """A row of results, with the median as its only time."""
    timing = None
    if "cpu_us" in told:
        timing = Timing((told["cpu_us"],), (told["wall_us"],))
    errors = {name: np.nan if one is None else one for name, one in told["errors"].items()}
    return Row(told["who"], told["settings"], timing, errors, told["size"], told["figures"])


def picture(told: dict[str, Any]) -> None:
    """Draw all results beside the page."""
    rows = tuple(_row(row) for row in told["rows"])
    report = Report(rows, draw=partial(race.draw_motions, rows))
    registry.picture(race.CASES[0], report, Setup(), PAGE.with_suffix(".png"))


def main() -> None:
    """Run the referee and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", nargs="+", choices=race.PEERS, help="run these alone")
    parser.add_argument("--from-results", action="store_true", help="write the page only")
    wanted = parser.parse_args()
    results = RESULTS / "referee.json"
    if not wanted.from_results:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "robosim", "bench", "referee", "--out", folder]
            if wanted.peers:
                command += ["--peers", ",".join(wanted.peers)]
            subprocess.run(command, check=True)
            told = json.loads((Path(folder) / "referee.json").read_text(encoding="utf-8"))
            dated = {"date": datetime.date.today().isoformat(), **told}
            if wanted.peers:
                old = json.loads(results.read_text(encoding="utf-8"))
                dated = joined(old, dated, wanted.peers)
            results.write_text(json.dumps(dated, indent=2) + "\n", encoding="utf-8")
            picture(dated)
    told = json.loads(results.read_text(encoding="utf-8"))
    if PAGE.exists() and (old := kept(PAGE.read_text(encoding="utf-8"), told["date"][:4])):
        old.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    PAGE.write_text(page(told), encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    README.write_text(with_table(readme, readme_table(told)), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}, from {len(list(SCRIPTS.glob('*_*.py')))} scripts")


if __name__ == "__main__":
    main()
