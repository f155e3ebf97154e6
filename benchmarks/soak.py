"""Random runs of one version of the kernels, one after the other, as many as there is time for.

    python -m benchmarks.soak soak.jsonl --minutes 60
    python -m benchmarks.soak soak.jsonl --tell

Each seed is a round of random scenes: a bin of `benchmarks.bins`, three drops of
`benchmarks.drop_pairs`, and two falls of `benchmarks.falls`, without and with random torques. The
file gets a line of JSON after each run, with a digest of the kernels' sources. Runs of these
kernels that are in the file are not made again, so that a soak can be stopped at any time. It ends
with what all runs of these kernels have come to, and with exit code 1 if one of them failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations_with_replacement, count
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import bins, drop_pairs, falls
from benchmarks.outcomes import Outcome
from robosim import Mechanism
from robosim.kernels.compiler.cache import digest_of_sources

PAIRS = list(combinations_with_replacement(drop_pairs.SHAPES, 2))
DROPS, FALL = 3, 1.0  # drops of a round; seconds of a fall


class Run(NamedTuple):
    """A run of a round, which `take` makes; (failed, deepest [m])."""

    kind: str
    name: str
    seed: int
    timestep: float
    take: Callable[[], tuple[bool, float]]

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from all others."""
        return self.kind, self.name, self.seed


robot_of: Callable[[str], Mechanism] = cache(falls.load)


def followed(outcome: Outcome) -> tuple[bool, float]:
    """Whether a run failed, and its deepest penetration [m]."""
    return outcome.failed, max(0.0, -outcome.gap)


def fallen(name: str, torques: str, timestep: float, seed: int) -> tuple[bool, float]:
    """Whether a fall failed; how deep it went is not looked at."""
    asked = argparse.Namespace(torques=torques, velocity_limits=False, seconds=FALL)
    return falls.fall(robot_of(name), asked, timestep, seed).failed, 0.0


def round_of(seed: int, seconds: float) -> Iterator[Run]:
    """The runs of a seed; scenes, time steps and robots take turns from one seed to the next."""
    scenes, robots = list(bins.SCENES), list(falls.ROBOTS)
    dt = bins.TIMESTEPS[seed // len(scenes) % len(bins.TIMESTEPS)]
    scene = scenes[seed % len(scenes)]
    yield Run("bin", scene, seed, dt, lambda: followed(bins.outcome(scene, seed, seconds, dt)))
    for k in range(DROPS):
        pair = PAIRS[(DROPS * seed + k) % len(PAIRS)]

        def drop(pair: tuple[str, str] = pair) -> tuple[bool, float]:
            return followed(drop_pairs.drop(pair, seed, dt, seconds))

        yield Run("drop", " on ".join(reversed(pair)), seed, dt, drop)
    for k, torques in enumerate(("none", "uniform")):
        name = robots[(seed + 3 * k) % len(robots)]

        def fall(name: str = name, torques: str = torques) -> tuple[bool, float]:
            return fallen(name, torques, dt, seed)

        yield Run("fall", f"{name}, torques {torques}", seed, dt, fall)


def lines_of(path: Path, version: str) -> list[dict[str, Any]]:
    """The runs of this version that are in a file; a line that an interrupt has cut is left out."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            one = json.loads(line)
        except json.JSONDecodeError:
            continue
        if one["version"] == version:
            found.append(one)
    return found


def tell(lines: list[dict[str, Any]], version: str) -> int:
    """Print what runs have come to; the exit code."""
    console, bad = Console(), [one for one in lines if one["failed"]]
    table = Table("runs of", "number", "failed", "deepest [m]", "seeds")
    for kind in dict.fromkeys(one["kind"] for one in lines):
        mine = [one for one in lines if one["kind"] == kind]
        seeds = [one["seed"] for one in mine]
        table.add_row(
            kind,
            str(len(mine)),
            str(sum(one["failed"] for one in mine)),
            f"{max(one['deepest'] for one in mine):.1e}",
            f"{min(seeds)} to {max(seeds)}",
        )
    console.print(table)
    for one in bad:
        console.print(
            f"failed: {one['kind']} {one['name']}, seed {one['seed']}, {one['timestep']} s"
        )
    console.print(f"kernels {version}: {len(lines)} runs, {len(bad)} failed")
    return 1 if bad else 0


def main() -> int:
    """Run rounds until the time is over; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="JSON lines that are read and continued")
    parser.add_argument("--first", type=int, default=100_000, help="the first seed")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which no run begins")
    parser.add_argument("--runs", type=int, default=10_000, help="of this version, in the file")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each bin and drop")
    parser.add_argument("--tell", action="store_true", help="what is in the file, without runs")
    options = parser.parse_args()
    version = digest_of_sources()
    lines = lines_of(options.file, version)
    if options.tell:
        return tell(lines, version)
    warnings.simplefilter("ignore")  # of starts in an overlap or beyond limits, which are random
    known = {(one["kind"], one["name"], one["seed"]) for one in lines}
    end = time.monotonic() + 60.0 * options.minutes
    with options.file.open("a") as file:
        file.write("\n" if file.tell() else "")  # after a line that an interrupt has cut
        for run in (
            run for seed in count(options.first) for run in round_of(seed, options.seconds)
        ):
            if time.monotonic() > end or len(lines) >= options.runs:
                break
            if run.key in known:
                continue
            begin = time.process_time()
            failed, deepest = run.take()
            named = run._asdict() | {"failed": failed, "deepest": deepest, "version": version}
            del named["take"]
            lines.append(named | {"cpu": round(time.process_time() - begin, 2)})
            file.write(json.dumps(lines[-1]) + "\n")
            file.flush()
    return tell(lines, version)


if __name__ == "__main__":
    sys.exit(main())
