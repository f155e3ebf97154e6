"""Runs the scripts of all simulators in turns, and gathers their errors and CPU times."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.bench.case import Case, Setup
from robosim.bench.referee.motions import ENGINES, MOTIONS, Motion, script
from robosim.bench.report import OURS, Report, Row, Timing, colour_of
from robosim.measuring.error_curves import Line, cost, draw_errors, grid
from robosim.measuring.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = {"timestep": "timestep [s]", "accuracy": "accuracy"}
"""What a script varies within a setting, and its name in rows."""
STYLES = ("o-", "s--", "^-.", "v:")
SECONDS = 1800.0  # that a script may take
LONG = 120.0  # [s], of a script that is run once
LEAST = 1e-17  # error that is drawn for none
PEERS = tuple(name for name in ENGINES if name != OURS)


def run_script(motion: str, engine: str) -> tuple[list[dict[str, Any]], str]:
    """What a script prints, and why it ended early; the latter is empty if it did not."""
    file = script(motion, engine)
    assert file is not None
    try:
        done = subprocess.run(
            [sys.executable, str(file)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [], f"takes longer than {SECONDS:g} s"
    # Some libraries print into the same lines.
    found = [
        json.loads(line[line.index('{"setting"') :])
        for line in done.stdout.splitlines()
        if '{"setting"' in line
    ]
    if done.returncode < 0:
        return found, f"crashes, by signal {-done.returncode}"
    if done.returncode > 0:
        return found, (done.stderr.strip().splitlines() or ["fails"])[-1]
    return found, ""


def rows_of(motion: Motion, setup: Setup) -> Iterator[Row]:
    """All runs of a motion: all simulators in turns, repeated."""
    engines = [
        engine
        for engine in ENGINES
        if script(motion.name, engine) and (engine == OURS or setup.has(engine))
    ]
    runs: dict[tuple[str, str, str, float], list[dict[str, Any]]] = {}
    notes: dict[str, str] = {}
    for _ in range(setup.choose(3, 1)):
        for engine in list(engines):
            setup.note(f"{motion.title}: {ENGINES[engine]}")
            begin = time.monotonic()
            found, note = run_script(motion.name, engine)
            if note or time.monotonic() - begin > LONG:
                engines.remove(engine)
            for one in found:
                (step,) = STEPS.keys() & one.keys()
                runs.setdefault((engine, one["setting"], step, one[step]), []).append(one)
            if note:
                notes[engine] = note
    for (engine, setting, step, value), same in runs.items():
        times = tuple(1e6 * one["cpu"] for one in same)
        errors = {motion.error: max(float(one["error"]) for one in same)}
        figures = {STEPS[step]: value}
        told = f"{motion.name}: {setting}"
        yield Row(ENGINES[engine], told, Timing(times, times), errors, 0, figures)
    for engine, note in notes.items():
        yield Row(ENGINES[engine], motion.name, None, note=f"cannot: {note}")


def lines_of(rows: Iterable[Row], motion: Motion) -> dict[tuple[str, str], Line]:
    """Errors and CPU times of a motion, from coarse to fine, by simulator and setting."""
    runs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        name, _, setting = row.told.partition(": ")
        if row.timing is not None and name == motion.name:
            run = row.errors[motion.error], 1e-6 * row.timing.median
            runs.setdefault((row.who, setting), []).append(run)
    found: dict[tuple[str, str], Line] = {}
    for (who, setting), own in runs.items():
        style = STYLES[sum(of == who for of, _ in found) % len(STYLES)]
        found[who, setting] = Line(f"{who}, {setting}", style, colour_of(who), own)
    return found


def targets_of(rows: list[Row], motion: Motion) -> Iterator[Target]:
    """robosim's CPU time for the smallest error of each peer, over the peer's own."""
    lines = lines_of(rows, motion)
    ours = [line.runs for (who, _), line in lines.items() if who == OURS]
    for who in dict.fromkeys(who for who, _ in lines if who != OURS):
        points = [one for (of, _), line in lines.items() if of == who for one in line.runs]
        error, time = min((one for one in points if np.isfinite(one[0])), default=(np.nan, np.nan))
        if np.isnan(error):
            continue  # it diverges in all runs
        found = [cost(runs, error) for runs in ours]
        least = min((seconds for seconds, reached in found if reached), default=float("inf"))
        told = f"{motion.name}: CPU time for the smallest error of {who} / its own"
        yield Target(told, least / time, 1.0)


def draw_motions(rows: Sequence[Row], figure: Figure) -> None:
    """Errors over CPU times, a panel for each motion."""
    for axes, motion in zip(grid(figure, len(MOTIONS)), MOTIONS, strict=True):
        lines = [
            line._replace(runs=[(max(error, LEAST), time) for error, time in line.runs])
            for line in lines_of(rows, motion).values()
        ]
        draw_errors(axes, motion.title, lines)
        axes.set_ylabel(motion.error)


def run_referee(setup: Setup) -> Report:
    """All motions in all installed simulators."""
    rows: list[Row] = list(setup.missing(*PEERS))
    targets: list[Target] = []
    for motion in MOTIONS:
        own = list(rows_of(motion, setup))
        rows += own
        targets += targets_of(own, motion)

    return Report(tuple(rows), tuple(targets), "", partial(draw_motions, rows))


CASES = (
    Case("referee", "errors over CPU time where the right answer is known", PEERS, run_referee),
)
