"""Random heaps, wedges and limp robots, and which of their runs end in a failed step.

    python -m benchmarks.bins --runs 100
    python -m benchmarks.bins wedge --runs 1000 --first 1000

Bins of up to twelve bodies of four shapes, with masses that are alike or up to ten thousand times
each other, walls that lean towards each other and hold what falls between them, and Minitaurs
whose links touch. All start turned at random, and run at 1, 2, 5 and 10 ms in turn. Told of each
scene: runs that ended in a `ConvergenceError`, with their seeds, those that gained energy anywhere,
the deepest penetration, and the Newton iterations of a step. Ends with exit code 1 if a run failed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial

from rich.console import Console
from rich.progress import track

import robosim
from benchmarks.outcomes import Outcome, add_row, follow, table_of
from robosim import Mechanism, Simulation
from robosim.bench.piles import SHAPES, bin_of, limp, wedge

TIMESTEPS = (1e-3, 2e-3, 5e-3, 0.01)


def some(seed: int, masses: float, shapes: tuple[str, ...] = SHAPES) -> Mechanism:
    """A bin of four to twelve bodies."""
    return bin_of(4 + seed % 9, seed, masses, shapes)


SCENES: dict[str, Callable[[int], Mechanism]] = {
    "boxes": partial(some, masses=1.0, shapes=("box",)),
    "boxes, masses 1 to 10000": partial(some, masses=1e4, shapes=("box",)),
    "shapes": partial(some, masses=1.0),
    "shapes, masses 1 to 10000": partial(some, masses=1e4),
    "wedge": wedge,
    "wedge, masses 1 to 10000": partial(wedge, masses=1e4),
    "minitaur": partial(limp, "minitaur"),
}


def outcome(scene: str, seed: int, seconds: float, timestep: float | None = None) -> Outcome:
    """Simulate a scene from a start that the seed tells, as it does the time step if None."""
    warnings.simplefilter("ignore")  # of starts in an overlap
    sim = Simulation(SCENES[scene](seed), timestep or TIMESTEPS[seed % len(TIMESTEPS)])
    return follow(sim, seconds)


def main() -> int:
    """Run all scenes and print a table; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenes", nargs="*", metavar="scene", help=", ".join(SCENES))
    parser.add_argument("--runs", type=int, default=20, help="of each scene")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each run")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="that run at the same time"
    )
    options = parser.parse_args()
    if unknown := set(options.scenes) - set(SCENES):
        parser.error(f"no scene {', '.join(sorted(unknown))}; there are {', '.join(SCENES)}")
    seeds = range(options.first, options.first + options.runs)
    table, console, bad = table_of("scene", "runs"), Console(), 0
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for scene in options.scenes or SCENES:
            run = partial(outcome, scene, seconds=options.seconds)
            found = track(
                pool.imap(run, seeds), scene, options.runs, console=console, transient=True
            )
            outcomes = list(found)
            bad += sum(o.failed for o in outcomes)
            add_row(table, scene, seeds, outcomes)
    console.print(table)
    console.print(f"robosim {robosim.__version__}, {options.seconds:g} s at 1, 2, 5 and 10 ms")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
