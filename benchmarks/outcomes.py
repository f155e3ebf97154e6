"""What random scenes come to when they are simulated: failed steps, gained energy, depths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.table import Table

from robosim import ConvergenceError, Simulation

LOOK = 0.05  # [s] from one look at the energy to the next
GAIN = 1e-3  # part of the energy at the start that is more than the timestep's own error


class Outcome(NamedTuple):
    """What a run came to."""

    failed: bool
    gained: bool
    gap: float  # smallest [m], 0 if it was positive all the time
    iterations: float  # of a step, on average


def follow(sim: Simulation, seconds: float) -> Outcome:
    """Let a scene run from its start."""
    energies, gap, iterations = [sim.energy()], 0.0, []
    failed = False
    try:
        for _ in range(round(seconds / LOOK)):
            log = sim.run(LOOK)
            gap = min(gap, float(log.gap.min()), sim.min_gap())
            energies.append(sim.energy())
            iterations.append(float(log.iterations.mean()))
    except ConvergenceError:
        failed = True
    gained = bool(np.any(np.diff(energies) > GAIN * abs(energies[0])))
    return Outcome(failed, gained, gap, float(np.mean(iterations)) if iterations else np.nan)


def table_of(what: str, runs: str) -> Table:
    """A table without rows, of outcomes of `runs` of `what`."""
    return Table(what, runs, "failed", "gained energy", "deepest [m]", "iterations a step")


def add_row(table: Table, name: str, seeds: Sequence[int], outcomes: Sequence[Outcome]) -> None:
    """Tell the outcomes of runs from these seeds."""
    failed = [seed for seed, o in zip(seeds, outcomes, strict=True) if o.failed]
    gained = [seed for seed, o in zip(seeds, outcomes, strict=True) if o.gained]
    table.add_row(
        name,
        str(len(outcomes)),
        f"{len(failed)} {failed or ''}".strip(),
        f"{len(gained)} {gained or ''}".strip(),
        f"{max(-o.gap for o in outcomes) + 0.0:.1e}",
        f"{np.nanmean([o.iterations for o in outcomes]):.2f}",
    )
