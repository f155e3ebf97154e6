"""What random scenes come to when they are simulated: failed steps, gained energy, depths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from robosim import ConvergenceError, Simulation
from robosim.quaternions import rotation_matrix

LOOK = 0.05  # [s] from one look at the energy to the next
GAIN = 1e-3  # part of the energy at the start that is more than the timestep's own error


class Outcome(NamedTuple):
    """What a run came to."""

    failed: bool
    gained: bool
    gap: float  # smallest [m], 0 if it was positive all the time
    iterations: float  # of a step, on average


def energy(sim: Simulation) -> float:
    """Energy at the knot [J], with the velocities that belong to the momenta there.

    `Simulation.energy` takes the rates of coordinates. For the same momentum, a body that turns
    fast needs a faster rate in a whole step than in a part of one. So divided steps seem to gain.
    """
    bodies = sim.state
    model, turns = sim.parts.model.bodies, rotation_matrix(bodies.q)
    shown = np.array(sim.parts.state.bodies["shown"])
    own = np.einsum("bji,bj->bi", turns, shown[:, 3:])  # body axes

    def kinetic(v: NDArray[np.float64], omega: NDArray[np.float64]) -> float:
        spins = np.einsum("bi,bij,bj", omega, model["inertia"], omega)
        return float(0.5 * (model["mass"] @ np.sum(v**2, axis=1) + spins))

    return sim.energy() - kinetic(bodies.v, bodies.omega) + kinetic(shown[:, :3], own)


def follow(sim: Simulation, seconds: float) -> Outcome:
    """Let a scene run from its start."""
    energies, gap, iterations = [energy(sim)], 0.0, []
    failed = False
    try:
        for _ in range(round(seconds / LOOK)):
            log = sim.run(LOOK)
            gap = min(gap, float(log.gap.min()), sim.min_gap())
            energies.append(energy(sim))
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
