"""How far compiling is, and about how long it will take.

A *unit* is a function that is compiled as a whole, with all kernels that it needs. Its kernels are
lowered one after another, then LLVM compiles all of them at once. How many there are, and how long
both take, is known from `RECORDS` of earlier versions on this machine, or else from `MEASURED`.
The present pace, compared with what is known, gives the time that is left. Of a unit that is not
known, nothing is estimated.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from pathlib import Path
from typing import NamedTuple

from robosim.kernels.compiler import cache
from robosim.kernels.compiler.lowered import write

RECORDS = "compiling.json"  # beside the folder of kernels, as it outlasts a version
PRIOR = 3.0  # [s] of compiling that count as if they had gone at the known pace
STALLED = 1.0  # [s] after the last kernel, from which on LLVM is at work
NEARLY = 0.98  # of a unit, which is done only once it has ended
SAME = 0.8  # share of the known kernels; with fewer the rest was in the cache


class Known(NamedTuple):
    """The number of kernels of a unit, and the time to lower them, and in total [s]."""

    kernels: int
    lowering: float
    total: float


# From an empty cache, by two processes, scaled to the machine of docs/performance.md.
MEASURED = {
    "handles.store": Known(1, 0.0, 2.0),
    "knot.set_bodies": Known(82, 4.0, 10.0),
    "closure.close_loops": Known(44, 1.7, 4.6),
    "closure.start_projected": Known(25, 0.8, 4.3),
    "handles.solve_1": Known(390, 22.6, 27.2),
    "handles.step_states_1_run_steps": Known(191, 9.9, 14.7),
    "handles.solve_0": Known(331, 13.0, 16.6),
    "handles.step_states_0_run_steps": Known(143, 5.6, 8.6),
    "coordinates.find_poses": Known(1, 0.0, 2.3),
    "coordinates.find_twists": Known(1, 0.0, 2.1),
    "readout.read_contacts": Known(2, 0.0, 2.0),
    "tied.solve_tied": Known(22, 1.6, 4.0),
    "tied.factor_tied": Known(3, 0.0, 0.8),
    "tied.sweep_tied": Known(4, 0.3, 0.9),
}
FIRST = "handles.store"  # what follows is not known until more has begun
# What a unit is always followed by, unless that is in the cache.
FOLLOWED = {
    "closure.close_loops": ("closure.start_projected",),
    "coordinates.find_poses": ("coordinates.find_twists",),
    "tied.solve_tied": ("tied.factor_tied", "tied.sweep_tied"),
}


def unit_of(module: str, name: str) -> str:
    """The name of a unit, without the numbers of types in it."""
    return f"{module.rpartition('.')[2]}.{re.sub(r'_[0-9]{3,}', '', name)}"


class Unit:
    """A unit that is being compiled, or has been.

    Parameters
    ----------
    name : str
    known : Known or None
    beside : bool
        Whether another process compiles it.
    """

    def __init__(self, name: str, known: Known | None, beside: bool = False) -> None:
        self.name, self.known, self.beside = name, known, beside
        self.kernels = 0
        self.began = self.last = time.perf_counter()
        self.ended: float | None = None
        self._furthest = 0.0

    def count(self, kernels: int = 1) -> None:
        """Note that more kernels have begun to be compiled."""
        self.kernels += kernels
        self.last = time.perf_counter()

    def end(self) -> None:
        """Note that it is compiled, or has failed."""
        if self.ended is None:
            self.ended = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time so far [s]."""
        return (time.perf_counter() if self.ended is None else self.ended) - self.began

    def done(self, pace: float) -> float:
        """How much of the known time is over [s], at so many known seconds in a second."""
        if self.known is None:
            return 0.0
        if self.ended is not None:
            return self.known.total
        past = self.known.lowering * min(self.kernels / self.known.kernels, 1.0)
        stalled = time.perf_counter() - self.last - STALLED
        past += max(stalled, 0.0) * pace
        self._furthest = max(self._furthest, min(past, NEARLY * self.known.total))
        return self._furthest

    @property
    def expected(self) -> int:
        """The number of its kernels in the end."""
        if self.known is None or self.ended is not None:
            return self.kernels
        return max(self.kernels, self.known.kernels)


class Estimate(NamedTuple):
    """How far compiling is.

    Attributes
    ----------
    kernels : int
        Number of kernels whose compiling has begun.
    expected : int or None
        About how many there will be; None if this is not known.
    seconds, left : float [s]
        Time so far; and about how long it will take from now, NaN if this is not known.
    share : float or None
        The share of the time that is over, which never falls; None if it is not known.
    """

    kernels: int
    expected: int | None
    seconds: float
    left: float
    share: float | None

    def texts(self) -> tuple[str, str]:
        """The number of kernels, and the time, for people to read."""
        if self.expected is None:
            many = "" if self.kernels == 1 else "s"
            return f"{self.kernels} kernel{many}", f"{self.seconds:.0f} s so far"
        return f"{self.kernels} of about {self.expected} kernels", _left(self.left)


def _left(seconds: float) -> str:
    """A time that is left, no more exact than it is known."""
    if seconds < 3.0:
        return "some seconds left"
    if seconds < 57.5:
        return f"about {max(5, 5 * round(seconds / 5)):.0f} s left"
    half = round(seconds / 30) / 2
    return f"about {half:g} min left"


class Compiling:
    """The units of one spell of compiling, in this process and beside it."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.began = time.perf_counter()
        self._records = read_records()
        self._there = in_cache()
        self._pace, self._share = 1.0, 0.0

    def begin(self, name: str, beside: bool = False) -> Unit:
        """A unit begins."""
        unit = Unit(name, self._known(name), beside)
        self.units.append(unit)
        return unit

    def idle(self) -> float:
        """Time since anything of it was compiled [s]."""
        ends = [unit.ended for unit in self.units]
        if None in ends:
            return 0.0
        return time.perf_counter() - max((end for end in ends if end), default=self.began)

    def end(self, unit: Unit) -> None:
        """A unit has ended; its time is kept for later."""
        unit.end()
        known = self._known(unit.name)
        if known is None or unit.kernels >= SAME * known.kernels:
            lowering = min(unit.last - unit.began, unit.seconds)
            self._records[unit.name] = Known(unit.kernels, lowering, unit.seconds)
            keep_record(unit.name, self._records[unit.name])

    def _known(self, name: str) -> Known | None:
        return self._records.get(name) or MEASURED.get(name)

    def _to_come(self) -> list[Known]:
        """What is known of the units that have not begun yet, as far as can be told."""
        begun = {unit.name for unit in self.units}
        names: list[str] = []
        for unit in self.units:
            names += FOLLOWED.get(unit.name, ())
            if unit.beside:
                # A solver is compiled for the function that takes steps with it, after a start.
                names.append("knot.set_bodies")
                step = unit.name.replace("solve", "step_states") + "_run_steps"
                names += [] if step in begun else [step]
        left = [one for one in dict.fromkeys(names) if one not in begun | self._there]
        return [known for name in left if (known := self._known(name))]

    def estimate(self) -> Estimate:
        """How far it is."""
        seconds = time.perf_counter() - self.began
        kernels = sum(unit.kernels for unit in self.units)
        unknown = any(unit.known is None and unit.ended is None for unit in self.units)
        if unknown or all(unit.name == FIRST for unit in self.units):
            return Estimate(kernels, None, seconds, float("nan"), None)
        rest = self._to_come()
        known = [(unit, unit.known.total) for unit in self.units if unit.known]
        past = [unit.done(self._pace) for unit, _ in known]
        self._pace = (sum(past) + PRIOR) / (sum(unit.seconds for unit, _ in known) + PRIOR)
        here, beside = sum(one.total for one in rest), 0.0
        for (unit, total), done in zip(known, past, strict=True):
            if unit.beside:
                beside += total - done
            else:
                here += total - done
        left = max(here, beside) / self._pace
        expected = sum(unit.expected for unit in self.units) + sum(one.kernels for one in rest)
        self._share = max(seconds / max(seconds + left, 1e-9), self._share)
        return Estimate(kernels, expected, seconds, left, self._share)


def in_cache() -> set[str]:
    """Names of the units of which some kernels are in the cache."""
    with contextlib.suppress(OSError):
        if cache.FOLDER is not None:
            return {name.partition("-")[0] for name in os.listdir(cache.FOLDER)}
    return set()


def _path() -> Path | None:
    return None if cache.FOLDER is None else Path(cache.FOLDER).parent / RECORDS


def read_records() -> dict[str, Known]:
    """What is known from earlier compiling on this machine, by the names of units."""
    path = _path()
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(name): Known(max(int(kernels), 1), float(lowering), float(total))
            for name, (kernels, lowering, total) in found.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # there is none, or another version has written it


def keep_record(name: str, known: Known) -> None:
    """Add a unit to the records."""
    path = _path()
    if path is not None:
        records = read_records() | {name: known}
        rounded = {
            one: [kernels, round(lowering, 2), round(total, 2)]
            for one, (kernels, lowering, total) in sorted(records.items())
        }
        write(path, json.dumps(rounded).encode())
