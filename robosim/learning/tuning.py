"""Tuning: the largest scale, or the best value, with which all runs stay within a limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robosim.cluster import Workers
from robosim.errors import OptionError
from robosim.validation import Array, positive


class Run(NamedTuple):
    """The result of one simulation run.

    Attributes
    ----------
    name : str
    t : (n,) [s]
    loads : (n,)
        The quantity that the limit is for, such as a torque, at these times. The limit is for the
        absolute value.
    """

    name: str
    t: Array
    loads: Array

    @property
    def peak(self) -> tuple[float, float]:
        """The largest absolute load, and its time [s]; NaN counts as infinite."""
        sizes = np.nan_to_num(np.abs(np.asarray(self.loads, dtype=float)), nan=np.inf)
        k = int(np.argmax(sizes))
        return float(sizes[k]), float(self.t[k])


class Tuned(NamedTuple):
    """The result of `tune`.

    Attributes
    ----------
    value : float, or an entry of `over`
        The value that was found.
    load : float
        The largest load with this value.
    run : str
        Name of the run with the largest load.
    time : float [s]
        Time of the largest load in this run.
    tried : tuple of (value, load)
        All values that were tried, in order, each with its largest load.
    """

    value: Any
    load: float
    run: str
    time: float
    tried: tuple[tuple[Any, float], ...]

    def __str__(self) -> str:
        return (
            f"{self.value!r}: largest load {self.load:.6g}, in run '{self.run}' at "
            f"{self.time:.6g} s; {len(self.tried)} values tried"
        )


def tune(
    run: Callable[[Any], Sequence[Run] | Run],
    *,
    limit: float,
    over: Sequence[Any],
    tolerance: float = 1e-3,
    score: Callable[[Any, float], float] | None = None,
    workers: Workers | None = None,
) -> Tuned:
    """Find a value with which the loads of all runs stay within a limit.

    Parameters
    ----------
    run : callable(value) -> Run or a sequence of Run
        Simulates with a value.
    limit : float
        Upper bound of the largest load of each run.
    over : (least, most), or a sequence of values
        Two numbers without `score` are the ends of a range. The largest value in this range is
        found by bisection, under the assumption that loads grow with the value. Otherwise all
        values of the sequence are tried.
    tolerance : float
        Accuracy of the bisection, as a fraction of the range.
    score : callable(value, load) -> float, or None
        The value with the highest score among those within the limit is returned. None: the last
        one of these.
    workers : Workers or None
        Workers that simulate several values at a time. Bisection then also simulates values that
        may be needed next; the result is the same.

    Returns
    -------
    Tuned
        The value, with its largest load, and the run and the time of this load.

    Raises
    ------
    OptionError
        If no value keeps the loads within the limit, or for an invalid limit or range.
    WorkerError
        If `run` raised an error in a worker.
    """
    positive("limit", limit)
    values = list(over)
    if not values:
        raise OptionError("over must be (least, most), or values to try")
    trials = _Trials(run, workers)
    if len(values) == 2 and score is None:
        best = _bisected(trials, values, limit, tolerance)
    else:
        best = _best(trials, values, limit, score)
    return best._replace(tried=tuple(trials.tried))


class _Trials:
    """Simulates values, here or by workers, and keeps the order in which they were needed."""

    def __init__(self, run: Callable[[Any], Sequence[Run] | Run], workers: Workers | None) -> None:
        self.tried: list[tuple[Any, float]] = []
        self.at_once = 1 if workers is None else workers.n
        self._run, self._workers = run, workers
        self._ahead: dict[float, Tuned] = {}

    def of(self, values: Sequence[Any]) -> list[Tuned]:
        """Results of several values."""
        found = self._simulated(values)
        self.tried += [(one.value, one.load) for one in found]
        return found

    def at(self, value: float, soon: Sequence[float]) -> Tuned:
        """The result of a value; others that are needed soon may be simulated beside it."""
        if value not in self._ahead:
            for one in self._simulated(soon):
                self._ahead[one.value] = one
        found = self._ahead[value]
        self.tried.append((found.value, found.load))
        return found

    def _simulated(self, values: Sequence[Any]) -> list[Tuned]:
        if self._workers is None:
            return [_judged(value, self._run(value)) for value in values]
        found = self._workers.each(_Quietly(self._run), values)
        return [_judged(*pair) for pair in zip(values, found, strict=True)]


@dataclass(frozen=True)
class _Quietly:
    """A run that takes no random numbers, for workers that give it some."""

    run: Callable[[Any], Sequence[Run] | Run]

    def __call__(self, value: Any, random: np.random.Generator) -> Sequence[Run] | Run:
        return self.run(value)


def _judged(value: Any, found: Sequence[Run] | Run) -> Tuned:
    """The largest load over all runs of a value."""
    runs: list[Any] = [found]
    if isinstance(found, Sequence) and not isinstance(found, Run):
        runs = list(found)
    if not runs or not all(isinstance(one, Run) for one in runs):
        raise OptionError(f"run({value!r}) must return a Run, or several, not {found!r}")
    for one in runs:
        if np.shape(one.t) != np.shape(one.loads) or np.size(one.loads) == 0:
            raise OptionError(
                f"run '{one.name}' has loads of shape {np.shape(one.loads)} for times of shape "
                f"{np.shape(one.t)}"
            )
    load, time, name = max(((*one.peak, one.name) for one in runs), key=lambda peak: peak[0])
    return Tuned(value, load, name, time, ())


def _refuse(found: Tuned, limit: float) -> None:
    raise OptionError(
        f"no value keeps within {limit:g}: at {found.value!r}, run '{found.run}' has "
        f"{found.load:.6g} at {found.time:.6g} s; widen `over`, or raise `limit`"
    )


def _bisected(trials: _Trials, ends: Sequence[Any], limit: float, tolerance: float) -> Tuned:
    low, high = (float(end) for end in ends)
    if not (np.isfinite(low) and np.isfinite(high) and low < high and tolerance > 0):
        raise OptionError(f"over must be (least, most) in this order, not {tuple(ends)!r}")
    both = [low, high][: trials.at_once]
    best = trials.at(low, both)
    if not best.load <= limit:
        _refuse(best, limit)
    top = trials.at(high, [high])
    if top.load <= limit:
        return top
    within = tolerance * (high - low)
    while high - low > within:
        found = trials.at(0.5 * (low + high), _middles(low, high, trials.at_once))
        if found.load <= limit:
            best, low = found, found.value
        else:
            high = found.value
    return best


def _middles(low: float, high: float, most: int) -> list[float]:
    """The first middles of a bisection: of a range, of its halves, of their halves and so on."""
    ranges = deque([(low, high)])
    found: list[float] = []
    while len(found) < most:
        low, high = ranges.popleft()
        middle = 0.5 * (low + high)
        found.append(middle)
        ranges += [(low, middle), (middle, high)]
    return found


def _best(
    trials: _Trials,
    values: Sequence[Any],
    limit: float,
    score: Callable[[Any, float], float] | None,
) -> Tuned:
    found = trials.of(values)
    allowed = [one for one in found if one.load <= limit]
    if not allowed:
        _refuse(min(found, key=lambda one: one.load), limit)
    if score is None:
        return allowed[-1]
    return max(allowed, key=lambda one: score(one.value, one.load))
