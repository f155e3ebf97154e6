"""Hard steps of many contacts, saved once, and what they take.

    python -m benchmarks.hard_steps save steps.zip
    python -m benchmarks.hard_steps take steps.zip

`save` runs piles, bins, wedges, houses of cards and limp robots, and keeps steps that need more
than a dozen Newton iterations, with all that they start from. `take` takes these steps again,
without what comes before or after, and tells iterations, failures and times of each scene. So two
versions of the solver are compared on the same steps. Ends with exit code 1 if a step fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from robosim import ConvergenceError, Mechanism, Simulation
from robosim.bench.piles import SHAPES, bin_of, house_of_cards, limp, wedge

HARD = 12  # iterations above which a step is kept
SEEDS = 2  # of each scene and timestep
TIMESTEPS = (1e-3, 2e-3, 5e-3, 0.01)
SECONDS = 1.5
SCENES: dict[str, Callable[[int], Mechanism]] = {
    "bin of 10": partial(bin_of, 10),
    "bin of 20": partial(bin_of, 20),
    "bin of 40": partial(bin_of, 40),
    "bin of shapes": partial(bin_of, 16, shapes=SHAPES),
    "masses 1 to 1000": partial(bin_of, 12, masses=1e3),
    "cards": partial(house_of_cards, 3),
    "wedge": wedge,
    "wedge, masses 1 to 100": partial(wedge, masses=100.0),
    "a1": partial(limp, "a1"),
    "minitaur": partial(limp, "minitaur"),
}


def start(scene: str, seed: int, timestep: float) -> Simulation:
    """A scene as one system, at its start."""
    return Simulation(SCENES[scene](seed), timestep, islands=False)


def hard_steps(sim: Simulation, steps: int, most: int) -> list[Simulation]:
    """Up to `most` of a run's hard steps, each as likely as any other, before they are taken."""
    rng, found, seen, fails = np.random.default_rng(0), [], 0, False
    before = sim.copy()
    for _ in range(steps):
        before.restore(sim)
        try:
            is_hard = sim.step().iterations > HARD
        except ConvergenceError:
            is_hard = fails = True
        if is_hard:
            seen += 1
            place = len(found) if len(found) < most else int(rng.integers(seen))
            if place == len(found):
                found.append(before.copy())
            elif place < most or fails:
                found[place % most].restore(before)
        if fails:
            break
    return found


def save(file: Path, each: int, console: Console) -> None:
    """Run all scenes and keep up to `each` hard steps of every run, spread over it."""
    runs = [(s, seed, dt) for s in SCENES for seed in range(SEEDS) for dt in TIMESTEPS]
    kept = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for scene, seed, dt in track(runs, "simulating", console=console, transient=True):
            hard = hard_steps(start(scene, seed, dt), round(SECONDS / dt), each)
            kept += len(hard)
            for n, before in enumerate(hard):
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "step.npz"
                    before.save(path)
                    archive.write(path, f"{scene}/{seed}/{dt:g}/{n}.npz")
    console.print(f"{kept} steps in {file}")


def take(file: Path, console: Console) -> int:
    """Take all steps of a file and print a table; the number of those that fail."""
    found: dict[str, list[tuple[int, float, bool]]] = {}
    simulations: dict[tuple[str, str, str], Simulation] = {}
    with zipfile.ZipFile(file) as archive, tempfile.TemporaryDirectory() as folder:
        for name in track(archive.namelist(), "stepping", console=console, transient=True):
            scene, seed, dt, _ = name.split("/")
            key = scene, seed, dt
            if key not in simulations:
                simulations = {key: start(scene, int(seed), float(dt))}
                simulations[key].step()  # compiles what it needs
            sim = simulations[key]
            sim.load(archive.extract(name, folder))
            begin = time.perf_counter()
            try:
                iterations, failed = sim.step().iterations, False
            except ConvergenceError as error:
                iterations, failed = error.iterations, True
            row = iterations, time.perf_counter() - begin, failed
            found.setdefault(scene, []).append(row)
    table = Table("scene", "steps", "iterations", "median", "at most", "median [ms]", "failed")
    found["all"] = [row for rows in found.values() for row in rows]
    for scene, rows in found.items():
        iterations = [row[0] for row in rows]
        table.add_row(
            scene,
            str(len(rows)),
            f"{np.mean(iterations):.1f}",
            f"{np.median(iterations):.0f}",
            str(max(iterations)),
            f"{1e3 * np.median([row[1] for row in rows]):.2f}",
            str(sum(row[2] for row in rows)),
        )
    console.print(table)
    return sum(row[2] for row in found["all"])


def main() -> int:
    """Save steps or take them; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("save", "take"))
    parser.add_argument("file", type=Path, help="a .zip of steps")
    parser.add_argument("--each", type=int, default=8, help="most steps that are kept of a run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of starts in an overlap, which are meant to be hard
    console = Console()
    if options.what == "save":
        save(options.file, options.each, console)
        return 0
    return 1 if take(options.file, console) else 0


if __name__ == "__main__":
    sys.exit(main())
