"""The largest scale, or the best gains, with which all runs stay within their limits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robosim.cluster import Workers
from robosim.errors import OptionError
from robosim.validation import Array


class Run(NamedTuple):
    """What a run came to.

    Attributes
    ----------
    name : str
    t : (n,) [s]
    loads : (n,), what is to stay within the limit, such as a torque; its size counts
    """

    name: str
    t: Array
    loads: Array

    @property
    def peak(self) -> tuple[float, float]:
        """The largest load, infinite if one is not a number, and its instant [s]."""
        sizes = np.nan_to_num(np.abs(np.asarray(self.loads, dtype=float)), nan=np.inf)
        k = int(np.argmax(sizes))
        return float(sizes[k]), float(self.t[k])


class Tuned(NamedTuple):
    """What was found.

    Attributes
    ----------
    value : float, or whatever is tuned over
    load : float
        The largest one there.
    run : str
        In which run that was.
    time : float [s]
        And when.
    tried : tuple of (value, load)
        All that was simulated, in order.
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
    """Find what keeps all given runs within a limit.

    Parameters
    ----------
    run : callable(value) -> Run, or a sequence of them
        Simulates with a value.
    limit : float
        That the largest load of every run may have.
    over : (least, most), or a sequence of values
        Two numbers without `score` are the ends of a range, in which the largest scale is found by
        bisection: loads are taken to grow with it. Otherwise all of the values are tried.
    tolerance : float
        Of the scale, relative to the range.
    score : callable(value, load) -> float, or None
        Of values within the limit, the one with the highest score is taken; None: the last one.
    workers : Workers or None
        That simulate several values at a time. Bisection then also tries values that it may need
        next; the result is the same.

    Returns
    -------
    Tuned
        With the run and the instant that set the limit.

    Raises
    ------
    OptionError
        Where no value keeps within the limit, or for a limit or range that is none.
    WorkerError
        If `run` raised an error in a worker.
    """
    if not (np.isfinite(limit) and limit > 0):
        raise OptionError(f"limit must be a positive number, not {limit!r}")
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
    """Values that are simulated, here or by workers, and in what order they were asked for."""

    def __init__(self, run: Callable[[Any], Sequence[Run] | Run], workers: Workers | None) -> None:
        self.tried: list[tuple[Any, float]] = []
        self.at_once = 1 if workers is None else workers.n
        self._run, self._workers = run, workers
        self._ahead: dict[float, Tuned] = {}

    def of(self, values: Sequence[Any]) -> list[Tuned]:
        """What values come to."""
        found = self._simulated(values)
        self.tried += [(one.value, one.load) for one in found]
        return found

    def at(self, value: float, soon: Sequence[float]) -> Tuned:
        """What a value comes to, beside which others may be simulated that are needed soon."""
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
    """The largest load of what a value's runs came to."""
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
    """The middle of a range, and those of its halves and so on, up to so many."""
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
