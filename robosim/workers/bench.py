"""Batches of one worker, and the evaluation of chunks of items."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from robosim.batch import BatchSimulation, warmup
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler.lanes import WIDTH
from robosim.simulation import Simulation

MOST_BATCHES = 2  # of different sizes that are kept: that of whole chunks, and that of the last one


class Setting(NamedTuple):
    """Robot of a simulation, and options of `BatchSimulation`."""

    robot: Mechanism
    options: Mapping[str, Any]


class Items(Protocol):
    """Items of a task: a list, an array, or another sequence with slices."""

    def __len__(self) -> int: ...
    def __getitem__(self, some: slice, /) -> Any: ...


class Chunk(NamedTuple):
    """Items that are evaluated together.

    Attributes
    ----------
    first : int
        Number of the first item among all items.
    items : sequence
    seed, call : int
        With an item's number, they determine its random numbers.
    """

    first: int
    items: Items
    seed: int
    call: int

    @property
    def numbers(self) -> range:
        """Numbers of the items."""
        return range(self.first, self.first + len(self.items))

    def random(self) -> list[np.random.Generator]:
        """Random number generators of the items, all independent."""
        keys = [(self.call, number) for number in self.numbers]
        sequences = [np.random.SeedSequence(self.seed, spawn_key=key) for key in keys]
        return [np.random.default_rng(one) for one in sequences]


class Failure(NamedTuple):
    """Items that failed, and the reason.

    Attributes
    ----------
    numbers : range
        Numbers of the items.
    reason, trace : str
    cause : Exception or None
        None if it cannot be pickled and restored.
    """

    numbers: range
    reason: str
    trace: str
    cause: BaseException | None


class Outcome(NamedTuple):
    """The result of a task for a chunk, or its failure."""

    result: Any
    failure: Failure | None


class AtItem(Exception):
    """Raised by a task that knows the position of the failed item, with the error as its cause."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class Task(Protocol):
    """A function of a chunk's items, whose results for all chunks can be combined."""

    def __call__(self, bench: Bench, items: Any, random: Sequence[np.random.Generator]) -> Any: ...


class Bench:
    """The simulations of one worker.

    Parameters
    ----------
    setting : Setting
    compiling : callable() -> context manager
        Context in which the worker compiles kernels, or loads those that another one has compiled.
    """

    def __init__(
        self, setting: Setting, compiling: Callable[[], AbstractContextManager[Any]]
    ) -> None:
        self.setting = setting
        self._compiling = compiling
        self._begin: Simulation | None = None
        self._batches: dict[int, BatchSimulation] = {}

    def batch(self, n: int) -> BatchSimulation:
        """A batch of n states at home and at rest, in the same condition as a new batch."""
        robot, options = self.setting
        if self._begin is None:
            alone = {key: value for key, value in options.items() if key != "lanes"}
            with self._compiling():
                warmup(robot, batch=bool(options["lanes"]) and n >= WIDTH, **alone)
            self._begin = Simulation(robot, **alone)
        if n not in self._batches:
            kept = list(self._batches.items())[1 - MOST_BATCHES :]
            self._batches = dict(kept)
            self._batches[n] = BatchSimulation(robot, n, threads=1, **options)
        self._batches[n].restore(self._begin)
        return self._batches[n]

    def do(self, task: Task, chunk: Chunk) -> Outcome:
        """Evaluate a chunk; failures are returned and not raised."""
        try:
            return Outcome(task(self, chunk.items, chunk.random()), None)
        except MemoryError as error:
            self._batches.clear()
            said = f"out of memory ({error}): take a smaller per_worker, or fewer workers on a node"
            return Outcome(None, _failure(chunk.numbers, error)._replace(reason=said))
        except AtItem as found:
            at = chunk.numbers[found.place]
            return Outcome(None, _failure(range(at, at + 1), found.__cause__ or found))
        except Exception as error:
            return Outcome(None, self._alone(task, chunk) or _failure(chunk.numbers, error))

    def _alone(self, task: Task, chunk: Chunk) -> Failure | None:
        """The first item that also fails when evaluated alone; None if there is no such item."""
        random = chunk.random()
        for place, at in enumerate(chunk.numbers):
            some = slice(place, place + 1)
            try:
                task(self, chunk.items[some], random[some])
            except Exception as error:
                return _failure(range(at, at + 1), error)
        return None


def _failure(numbers: range, error: BaseException) -> Failure:
    trace = "".join(traceback.format_exception(error))
    said = str(error)
    reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
    try:
        cause = pickle.loads(pickle.dumps(error))
    except Exception:  # of a class that other processes cannot create
        cause = None
    return Failure(numbers, reason, trace, cause)


def chunks_of(items: Items, size: int, seed: int, call: int) -> Iterator[Chunk]:
    """All items in chunks of a given size, which does not depend on the workers."""
    for first in range(0, len(items), size):
        yield Chunk(first, items[first : first + size], seed, call)
