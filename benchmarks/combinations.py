"""Mechanisms of all pairs of features, drawn for as long as one likes, and what each promises.

    python -m benchmarks.combinations --minutes 60
    python -m benchmarks.combinations --minutes 10 --seed 7 --only velocities_belong_to_the_motion
    python -m benchmarks.combinations --features cylinder restitution plane

Each row of a covering array is a set of features (tests/combinations/features.py), and every pair
that the library takes is in a row. Hypothesis draws the numbers of some mechanisms for a row:
masses, lengths, speeds, friction, the timestep. Each mechanism goes through all checks
(tests/combinations/checks). A mechanism that fails one is a find. Hypothesis makes its numbers as
plain as it can, and features that it does not need are left out. Then a find is printed as a script
that fails again. When all rows have been drawn, another array begins, of another seed.

Faults that are known, and not mended yet, are counted and do not stop a row
(tests/combinations/registry.py). At the end, a table tells how often each feature and each check
was drawn, and the finds. Ends with exit code 1 if there is a find.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import robosim

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from combinations.builder import Case, hold  # noqa: E402
from combinations.features import FEATURES  # noqa: E402
from combinations.mechanisms import again, cases, rows  # noqa: E402
from combinations.registry import CHECKS, known, may_not_follow  # noqa: E402

SHRINK = 15.0  # [s] that Hypothesis may take to make the numbers of a find plainer

Numbers = dict[str, list[int]]


@dataclass(frozen=True)
class Find:
    """A check that fails, and the mechanism for which it does."""

    check: str
    features: tuple[str, ...]
    numbers: Numbers
    told: str

    def script(self) -> str:
        """A program that fails again."""
        lines = [f"    {name!r}: {brief(self.numbers.get(name, []))},"
                 for name in ("", *self.features) if any(self.numbers.get(name, []))]  # fmt: skip
        return "\n".join((
            f"# {self.told}", "# Run in the repository, with PYTHONPATH=tests.",
            "from combinations.mechanisms import again",
            "from combinations.registry import CHECKS", "",
            f"features = {self.features!r}", "numbers = {", *lines, "}",
            f"CHECKS[{self.check!r}](again(features, numbers))", "",
        ))  # fmt: skip


def brief(values: list[int]) -> str:
    """A list without the plainest numbers at its end, those at its begin as a product."""
    text = ""
    while values and values[-1] == 0:
        values = values[:-1]
    begin = next((k for k, value in enumerate(values) if value), 0)
    if begin > 3:
        text, values = f"[0] * {begin} + ", values[begin:]
    return f"{text}{values}"


class Campaign:
    """Counts of what was drawn, and the finds."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.drawn: Counter[str] = Counter()
        self.applied: Counter[str] = Counter()
        self.known: Counter[str] = Counter()
        self.mechanisms = 0
        self.finds: dict[tuple[str, tuple[str, ...]], Find] = {}

    def try_one(self, case: Case, names: list[str]) -> Find | None:
        """The first check that fails, if none is known to."""
        for name in names:
            told = failure(name, case)
            if told is None:
                self.applied[name] += 1
            elif told and known(name, case.features):
                self.known[name] += 1
            elif told:
                return Find(name, case.features, case.numbers, told)
        return None

    def hunt(self, row: tuple[str, ...], seed: int, examples: int) -> None:
        """Draw some mechanisms of a row; a find is kept."""
        found: list[Find] = []
        begin = [0.0]  # of shrinking

        @hypothesis.seed(seed)
        @settings(
            max_examples=examples, database=None, deadline=None, report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(cases(row))
        def draw(case: Case) -> None:
            one = found[-1] if found and case.numbers == found[-1].numbers else None
            late = found and time.monotonic() > begin[0] + SHRINK
            if one is None and not late:
                if not found:
                    self.mechanisms += 1
                    self.drawn.update(row)
                one = self.try_one(case, [found[0].check] if found else self.names)
                if one is not None:
                    begin[0] = begin[0] or time.monotonic()
                    found.append(one)
            # Raised in one place: for Hypothesis another place is another find.
            hold(one is None, one.told if one else "")

        try:
            draw()
        except AssertionError:
            least = fewer_features(found[-1])
            if known(least.check, least.features):
                self.known[least.check] += 1
            else:
                self.finds.setdefault((least.check, least.features), least)


def failure(name: str, case: Case) -> str | None:
    """What a check says that fails; None if it holds, and nothing if it does not apply."""
    if not case.robot.nv:
        return ""
    try:
        return None if CHECKS[name](case) else ""
    except robosim.ConvergenceError as error:
        return "" if may_not_follow(case, error) else f"ConvergenceError: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def fewer_features(find: Find) -> Find:
    """The same without the features that it does not need."""
    for name in find.features:
        rest = tuple(other for other in find.features if other != name)
        try:
            case = again(rest, find.numbers)
        except Exception:
            continue
        if told := failure(find.check, case):
            find = Find(find.check, case.features, case.numbers, told)
    return find


def turns(seed: int, chosen: list[str] | None) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Rows to draw, each with a seed, without an end."""
    count = 0
    while True:
        for row in [tuple(chosen)] if chosen else rows(seed):
            yield 1000 * seed + count, row
            count += 1
        seed += 1


def main() -> int:
    """Draw mechanisms for some minutes, and print what was found; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=0, help="of the first array and its numbers")
    parser.add_argument("--examples", type=int, default=6, help="mechanisms of a row")
    parser.add_argument("--only", nargs="+", metavar="CHECK", help=f"some of {', '.join(CHECKS)}")
    parser.add_argument("--features", nargs="+", help="one row of these alone, again and again")
    parser.add_argument("--out", type=Path, help="folder for the scripts of finds")
    options = parser.parse_args()
    for what, given_names, all_names in (
        ("checks", options.only, CHECKS), ("features", options.features, FEATURES)
    ):  # fmt: skip
        if unknown := set(given_names or ()) - set(all_names):
            parser.error(f"unknown {what}: {', '.join(unknown)}; known: {', '.join(all_names)}")
    warnings.simplefilter("ignore")  # bodies that turn far, and other things that are meant
    campaign = Campaign(options.only or list(CHECKS))
    console, end = Console(), time.monotonic() + 60 * options.minutes
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("drawing", total=options.minutes * 60)
        for seed, row in turns(options.seed, options.features):
            left = end - time.monotonic()
            if left < 0:
                break
            told = f"{campaign.mechanisms} mechanisms, {len(campaign.finds)} finds"
            progress.update(task, completed=60 * options.minutes - left, description=told)
            before = len(campaign.finds)
            campaign.hunt(row, seed, options.examples)
            for find in list(campaign.finds.values())[before:]:
                console.print(find.script(), markup=False, highlight=False, soft_wrap=True)
                if options.out is not None:
                    options.out.mkdir(parents=True, exist_ok=True)
                    name = f"{find.check}_{len(campaign.finds)}.py"
                    (options.out / name).write_text(find.script(), encoding="utf-8")
    report(campaign, console, options)
    return 1 if campaign.finds else 0


def report(campaign: Campaign, console: Console, options: argparse.Namespace) -> None:
    """Tables of what was drawn and found."""
    by_feature = Counter(name for _, features in campaign.finds for name in features)
    by_check = Counter(check for check, _ in campaign.finds)
    table = Table("feature", "mechanisms", "finds")
    for name in FEATURES:
        table.add_row(name, str(campaign.drawn[name]), str(by_feature[name] or ""))
    console.print(table)
    table = Table("check", "held", "known faults", "finds")
    for name in campaign.names:
        counts = campaign.applied[name], campaign.known[name] or "", by_check[name] or ""
        table.add_row(name, *map(str, counts))
    console.print(table)
    console.print(
        f"robosim {robosim.__version__}, seed {options.seed}: {campaign.mechanisms} mechanisms in "
        f"{options.minutes:g} minutes, {len(campaign.finds)} finds"
    )


if __name__ == "__main__":
    sys.exit(main())
