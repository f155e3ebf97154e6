"""``python -m benchmarks.reproduced FOLDER``: keeps targets of experiments, and lists the missed.

Takes the results of full runs that `robosim reproduce NAME --out FOLDER` has written, adds their
targets to benchmarks/results/reproduced.json, and writes the table of missed targets in
docs/reproducing.md. Without a folder only the table is written.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.marked import with_part
from robosim.experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "benchmarks/results/reproduced.json", ROOT / "docs/reproducing.md"
BEGIN, END = "<!-- missed targets -->", "<!-- end of missed targets -->"
NAMES = tuple(experiment.names[0] for experiment in EXPERIMENTS)
"""The first name of each experiment, in the order of `robosim reproduce`."""
Stored = dict[str, dict[str, Any]]


def stored() -> Stored:
    """What is kept of each experiment: the day of its run, robosim's version, and targets."""
    found: Stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def kept(told: dict[str, Any], day: str) -> dict[str, Any]:
    """What is kept of the contents of NAME.json.

    Raises
    ------
    ValueError
        For a quick run, whose targets say nothing about the claim.
    """
    if told["quick"]:
        raise ValueError(
            f"{told['name']} is of a quick run: run `robosim reproduce {told['name']}`"
        )
    return {"date": day, "robosim": told["versions"]["robosim"], "targets": told["targets"]}


def table(results: Stored) -> str:
    """The table of missed targets, and the experiments without a stored result."""
    lines = ["| experiment | target | limit | measured | on |", "|---|---|---|---|---|"]
    lines += [line for name in NAMES if name in results for line in missed(name, results[name])]
    without = [name for name in NAMES if name not in results]
    if without:
        lines.append(f"| {', '.join(without)} | no stored result of a full run | | | |")
    return "\n".join(lines)


def missed(name: str, result: dict[str, Any]) -> Iterator[str]:
    """Lines on the targets that an experiment missed."""
    for one in result["targets"]:
        if not one["reached"]:
            measured = "not a number" if one["measured"] is None else f"{one['measured']:.3g}"
            sign = {"at least": ">=", "at most": "<="}[one["sense"]]
            limit = f"{sign} {one['limit']:.4g} {one['unit']}".strip()
            what = one["what"].replace("|", "\\|")
            yield f"| {name} | {what} | {limit} | {measured} | {result['date']} |"


def with_table(page: str, text: str) -> str:
    """The page with another table between its marks."""
    return with_part(page, BEGIN, text, END)


def main() -> None:
    """Add results of a folder, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="with NAME.json files of full runs")
    wanted = parser.parse_args()
    results = stored() if RESULTS.exists() else {}
    for file in sorted(wanted.folder.glob("*.json")) if wanted.folder else ():
        told = json.loads(file.read_text(encoding="utf-8"))
        day = datetime.date.fromtimestamp(file.stat().st_mtime).isoformat()
        name = next(one.names[0] for one in EXPERIMENTS if told["name"] in one.names)
        results[name] = kept(told, day)
    ordered = {name: results[name] for name in NAMES if name in results}
    RESULTS.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table(ordered)), encoding="utf-8")
    print(f"{len(ordered)} of {len(NAMES)} experiments have stored results")


if __name__ == "__main__":
    main()
