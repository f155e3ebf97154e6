"""All benchmarks by name, the machine of a run, and the files of results."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import robosim
from robosim.bench import (
    accuracy,
    batch,
    batch_random,
    bins,
    calls,
    chains,
    computed_torque,
    dynamics,
    growth,
    gym,
    inverse_kinematics,
    legged,
    linearize,
    pictures,
    pinch,
    policies,
    precision,
    rays,
    recursive,
    referee,
    start,
    worlds,
)
from robosim.bench.case import Case, Setup, versions
from robosim.bench.report import Report, draw_rows
from robosim.errors import OptionError
from robosim.measuring.target import plain

CASES: tuple[Case, ...] = (
    *chains.CASES,
    *legged.CASES,
    *policies.CASES,
    *accuracy.CASES,
    *batch.CASES,
    *batch_random.CASES,
    *bins.CASES,
    *calls.CASES,
    *computed_torque.CASES,
    *dynamics.CASES,
    *growth.CASES,
    *gym.CASES,
    *inverse_kinematics.CASES,
    *linearize.CASES,
    *pictures.CASES,
    *pinch.CASES,
    *precision.CASES,
    *rays.CASES,
    *recursive.CASES,
    *referee.CASES,
    *start.CASES,
    *worlds.CASES,
)


def find(name: str) -> Case:
    """The benchmark with a name.

    Raises
    ------
    OptionError
        If the name is unknown; the message lists the known names.
    """
    for case in CASES:
        if case.name == name:
            return case
    known = ", ".join(case.name for case in CASES)
    raise OptionError(f"unknown benchmark '{name}' (known: all, {known})")


def machine() -> dict[str, Any]:
    """The machine and versions of a run, which its times depend on."""
    model = platform.processor()
    file = Path("/proc/cpuinfo")
    if file.exists():
        lines = file.read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    return {
        "cores": os.cpu_count(),
        "processor": model,
        "system": platform.system(),
        "python": platform.python_version(),
        "robosim": robosim.__version__,
        "peers": versions(),
    }


def to_dict(case: Case, report: Report, setup: Setup) -> dict[str, Any]:
    """The contents of a case's JSON file."""
    return {
        "name": case.name,
        "title": case.title,
        "quick": setup.quick,
        "repetitions": setup.repetitions,
        "machine": machine(),
        "rows": [row.to_dict() for row in report.rows],
        "targets": plain([target.to_dict() for target in report.targets]),
    }


def picture(case: Case, report: Report, setup: Setup, file: Path) -> None:
    """Draw the results of a case into a file."""
    # Not pyplot, which would look for a display.
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    draw_rows(report, figure)
    quick = " (quick run)" if setup.quick else ""
    figure.suptitle(f"{case.name}: {case.title}{quick}", fontsize=11)
    figure.savefig(file, dpi=130)
