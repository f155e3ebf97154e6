"""Every robot within reach, as robosim loads it, held to Pinocchio and to MuJoCo.

    python -m benchmarks.conformance --out DIR [--only WORD] [--simulate]

The URDF files of example-robot-data are held to Pinocchio, and to MuJoCo where its own URDF reader
accepts them; the MJCF files of dm_control, gymnasium, gymnasium-robotics and robosuite to MuJoCo's
compiled model. What is not installed is left out. With --simulate, each goes for 0.5 s from its
default pose on the ground, without torques. Writes conformance.json with everything, conformance.md
with a table for each collection, and one JSON file for each model file.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lxml import etree

from robosim.cli.running import counting_bar
from robosim.conformance import Report, check_file, simulate_file
from robosim.loaders.packages import example_robot_data

LONGEST = 600  # [s], for a file

# What a reader of the table would ask: the end of a file's path -> the answer.
EXPLAINED = {
    "human_description/robots/human.urdf": "links that move have no mass; such a body has no "
    "equations of motion in maximal coordinates",
    "icub_description/robots/icub.urdf": "links that move have mass and no inertia",
    "icub_description/robots/icub_reduced.urdf": "links that move have mass and no inertia",
    "romeo_description/urdf/romeo.urdf": "links that move have no mass",
    "romeo_description/urdf/romeo_laas_small.urdf": "the base's inertia has a negative moment",
    "ur_description/urdf/ur3.urdf": "not a robot: its root element has no name; it is one that was "
    "left over from xacro",
}


def files() -> Iterator[tuple[str, Path, Path, tuple[str, ...]]]:
    """(collection, its folder, file, references) of every model file that is installed."""
    share = example_robot_data()
    if share is not None:
        robots = share / "example-robot-data" / "robots"
        for file in sorted(robots.rglob("*.urdf")):
            yield "example-robot-data", robots, file, ("pinocchio", "mujoco")
    for collection in ("dm_control", "gymnasium", "gymnasium_robotics", "robosuite"):
        spec = importlib.util.find_spec(collection)
        for folder in map(Path, spec.submodule_search_locations or () if spec else ()):
            for file in sorted(folder.rglob("*.xml")):
                yield collection, folder, file, ("mujoco",)


class Worker:
    """A process that calls functions, so that a file that hangs or crashes costs only itself."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """What the function answers.

        Raises
        ------
        RuntimeError
            If it raises, takes longer than `LONGEST`, or ends the process.
        """
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        self._connection.send((function, arguments, options))
        try:
            if self._connection.poll(LONGEST):
                answer, error = self._connection.recv()
                if error:
                    raise RuntimeError(error)
                return answer
            reason = f"not finished after {LONGEST} s"
        except EOFError:
            reason = "the process died"
        self.stop()
        raise RuntimeError(reason)

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(connection: Connection) -> None:
    """Call what arrives, and send back what it answers and what it raised."""
    while True:
        try:
            function, arguments, options = connection.recv()
        except EOFError:
            return
        try:
            connection.send((function(*arguments, **options), ""))
        except Exception as error:  # what a conformance run is to find
            connection.send((None, repr(error)))


def reference_says(file: Path, reference: str) -> str:
    """Whether the reference reads a file that robosim refuses."""
    try:
        if reference == "pinocchio":
            import pinocchio

            pinocchio.buildModelFromUrdf(str(file))
        else:
            import mujoco

            mujoco.MjModel.from_xml_path(str(file))
    except Exception as error:  # both raise what C and C++ raise
        return f"{reference} refuses it as well: {str(error).splitlines()[0]}"
    return f"{reference} reads it"


def is_fragment(file: Path) -> bool:
    """Whether an MJCF file is a piece for others to include: no model, or one without bodies."""
    root = etree.parse(str(file), etree.XMLParser(resolve_entities=False)).getroot()
    return root.tag != "robot" and (root.tag != "mujoco" or root.find(".//body") is None)


def explanation(report: Report, file: Path) -> str:
    """Why a file does not agree: what its reason leaves open."""
    if report.outcome == "agrees":
        return ""
    told = [text for end, text in EXPLAINED.items() if file.as_posix().endswith(end)]
    if report.outcome == "refused":
        if is_fragment(file):
            told.append("a piece for other files to include")
        told.append(reference_says(file, report.reference))
    return "; ".join(told)


def table(reports: list[dict[str, Any]]) -> list[str]:
    """A Markdown table of some files."""
    headings = ["file", "bodies", "nq", "nv", "load [s]", "held to", "outcome", "largest error"]
    headings += ["simulated", "why"]
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    for report in reports:
        worst = max(
            (check for check in report["checks"] if check["error"] is not None),
            key=lambda check: check["error"] / (check["tolerance"] or 1),
            default=None,
        )
        cells = [
            report["file"],
            *(str(report[what] or "") for what in ("bodies", "nq", "nv")),
            f"{report['seconds']:.2f}" if report["seconds"] else "",
            report["reference"],
            report["outcome"],
            f"{worst['error']:.1e} ({worst['name']})" if worst else "",
            report["simulated"] or "",
            "; ".join(text for text in (report["reason"], report["explanation"]) if text),
        ]
        lines.append(f"| {' | '.join(' '.join(c.replace('|', '/').split()) for c in cells)} |")
    return lines


def summary(reports: list[dict[str, Any]]) -> list[str]:
    """How many files of each collection came out how, against each reference."""
    counts = Counter((r["collection"], r["reference"], r["outcome"]) for r in reports)
    outcomes = ("agrees", "differs", "not compared", "refused", "crashed")
    lines = [f"| collection | held to | files | {' | '.join(outcomes)} |", f"|{'---|' * 8}"]
    for collection, reference in dict.fromkeys((r["collection"], r["reference"]) for r in reports):
        row = [counts[collection, reference, outcome] for outcome in outcomes]
        told = " | ".join(map(str, (sum(row), *row)))
        lines.append(f"| {collection} | {reference} | {told} |")
    return lines


def run(out: Path, only: str, seconds: float) -> list[dict[str, Any]]:
    """Check all files whose names contain `only`, and write what came out as it comes."""
    (out / "files").mkdir(parents=True, exist_ok=True)
    told: list[dict[str, Any]] = []
    chosen = [
        (collection, folder, file, references)
        for collection, folder, file, references in files()
        if only in f"{collection}/{file.relative_to(folder).as_posix()}"
    ]
    worker = Worker()
    with counting_bar() as bar:
        task = bar.add_task("", total=len(chosen))
        for collection, folder, file, references in chosen:
            name = file.relative_to(folder).as_posix()
            bar.update(task, description=file.name)
            rows = []
            for reference in references:
                try:
                    report = worker.call(
                        check_file, file, reference, name=name, package_dirs=[folder]
                    )
                except RuntimeError as error:
                    report = Report(name, reference, "crashed", str(error))
                rows.append({"collection": collection, **report.to_dict()})
                rows[-1]["explanation"] = explanation(report, file)
            loaded = rows[0]["outcome"] not in ("refused", "crashed")
            simulated = _simulated(worker, file, seconds, folder) if seconds and loaded else None
            for row in rows:
                row["simulated"] = simulated if row is rows[0] else None
                for what in ("reason", "explanation"):  # where things are installed is no matter
                    row[what] = row[what].replace(f"{folder}/", "")
                row["warnings"] = [text.replace(f"{folder}/", "") for text in row["warnings"]]
                single = f"{collection}-{name.replace('/', '-')}.{row['reference']}.json"
                (out / "files" / single).write_text(json.dumps(row, indent=2) + "\n", "utf-8")
                bar.console.print(
                    f"{row['outcome']:13} {row['reference']:10} {collection}/{name}  "
                    f"{row['reason'][:100]}  {simulated or ''}",
                    markup=False, highlight=False, soft_wrap=True,
                )  # fmt: skip
            told += rows
            bar.advance(task)
    worker.stop()
    (out / "conformance.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    lines = ["# Conformance", "", *summary(told)]
    for collection in dict.fromkeys(row["collection"] for row in told):
        lines += ["", f"## {collection}", ""]
        lines += table([row for row in told if row["collection"] == collection])
    (out / "conformance.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return told


def _simulated(worker: Worker, file: Path, seconds: float, folder: Path) -> str:
    """How a simulation went: "ok", or why it stopped."""
    try:
        return str(worker.call(simulate_file, file, seconds, package_dirs=[folder])) or "ok"
    except RuntimeError as error:
        return str(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the tables")
    parser.add_argument("--only", default="", help="files whose collection and name contain this")
    parser.add_argument(
        "--simulate", type=float, nargs="?", const=0.5, default=0.0, metavar="SECONDS",
        help="simulate each from its default pose on the ground, for 0.5 s",
    )  # fmt: skip
    arguments = parser.parse_args()
    told = run(arguments.out, arguments.only, arguments.simulate)
    print("\n".join(summary(told)))
    failed = [
        row
        for row in told
        if row["outcome"] == "crashed"
        or (row["outcome"] == "differs" and not row["explanation"])
        or (row["simulated"] or "ok") != "ok"
    ]
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
