"""Many batches in parallel: workers on the cores and nodes of a Ray cluster, or on threads.

Each worker has its own `BatchSimulation` and receives items in chunks of `per_worker`. The chunks
do not depend on the workers. Each chunk starts with the batch in its initial state, and each item
has its own random generator. So results are bit-identical for any number of workers, with and
without Ray, and after a worker was restarted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.batch import BatchSimulation, Rollout
from robosim.batch.arguments import rows_of
from robosim.batch.controls import by_state, by_step
from robosim.control.gaits import Gait
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError, WorkerError
from robosim.progress import bar
from robosim.runtime.background import cores
from robosim.simulation import Simulation
from robosim.validation import Array, count
from robosim.workers.bench import AtItem, Bench, Failure, Items, Setting, Task, chunks_of
from robosim.workers.crew import Crew, OnThreads
from robosim.workers.on_ray import OnRay, is_installed

Random = Sequence[np.random.Generator]
# A function that simulates candidates in a batch of the same number, and returns a row for each.
Objective = Callable[[BatchSimulation, Any, Random], ArrayLike]


class Workers:
    """Workers that simulate in parallel, each with a `BatchSimulation`.

    Parameters
    ----------
    robot : Mechanism
    n : int or None
        Number of workers; None: one for each core, or for each processor of the cluster.
    per_worker : int
        Number of states of each worker's batch, which is also the number of items in a chunk.
        Best a multiple of eight, the number of lanes. Workers are idle if there are fewer chunks
        than workers.
    timestep, gravity, lanes, **options
        As for `BatchSimulation`.
    seed : int
        Seed of the random generators of all items.
    ray : bool or None
        Whether workers are Ray actors instead of threads. None: if Ray is installed.
    address : str or None
        Address of a Ray cluster, such as "host:6379" or "auto". None: the cluster that is
        connected already, or a new one on this machine, which ends with the workers.
    cpus : float
        Number of processors that each worker reserves in the cluster.
    retries : int
        How often a chunk is repeated after its worker has died.
    progress : bool
        Whether each call shows a progress bar on stderr.

    Raises
    ------
    OptionError
        For an option that is not allowed, if Ray is not installed, or if the cluster has too few
        processors.

    Examples
    --------
    >>> with Workers(robot, n=2, per_worker=8) as workers:
    ...     run = workers.rollout(500, controller="stand", q=starts)
    ...     values = workers.map(objective, candidates)
    """

    def __init__(
        self,
        robot: Mechanism,
        n: int | None = None,
        per_worker: int = 64,
        timestep: float = 1e-3,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        lanes: bool = True,
        seed: int = 0,
        ray: bool | None = None,
        address: str | None = None,
        cpus: float = 1.0,
        retries: int = 3,
        progress: bool = False,
        **options: Any,
    ) -> None:
        n = None if n is None else count("n", n)
        self.per_worker = count("per_worker", per_worker)
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise OptionError(f"seed must be a whole number of zero or more, not {seed!r}")
        if not (np.isfinite(cpus) and cpus >= 0):
            raise OptionError(f"cpus must be zero or more, not {cpus!r}")
        if not isinstance(retries, int) or retries < 0:
            raise OptionError(f"retries must be a whole number of zero or more, not {retries!r}")
        on_ray = is_installed() if ray is None else bool(ray)
        if address is not None and not on_ray:
            raise OptionError(f"address {address!r} is of a Ray cluster, but ray is {ray}")
        self.seed, self.progress, self.timestep = int(seed), bool(progress), float(timestep)
        self._options = {"timestep": timestep, "gravity": gravity, "lanes": bool(lanes), **options}
        self._calls = 0
        self._closed = False
        self._robot: Mechanism
        refused = _check(robot, self._options)
        if refused is not None:
            raise refused
        self._crew: Crew = OnRay(n, address, cpus, retries) if on_ray else OnThreads(n or cores())
        self.robot = robot

    @property
    def n(self) -> int:
        """Number of workers."""
        return self._crew.n

    @property
    def kind(self) -> str:
        """Kind of the workers: "Ray" or "threads"."""
        return self._crew.kind

    @property
    def robot(self) -> Mechanism:
        """The robot that is simulated; another one may be assigned."""
        return self._robot

    @robot.setter
    def robot(self, robot: Mechanism) -> None:
        self._open()
        self._robot = robot
        self._crew.use(Setting(robot, self._options))

    def map(self, objective: Objective, candidates: Any) -> NDArray[Any]:
        """Evaluate an objective for candidates, for example in a search.

        Parameters
        ----------
        objective : callable(batch, candidates, random) -> (k, ...)
            Takes k candidates, a `BatchSimulation` of k states at home and at rest, and k random
            generators, one for each candidate. Returns one row for each candidate. With Ray the
            objective runs in another process, so that changes of global variables are lost.
        candidates : (n, ...), or a sequence of n

        Returns
        -------
        values : (n, ...)

        Raises
        ------
        OptionError
            If there are no candidates, or if they are neither an array nor a sequence.
        WorkerError
            If the objective raised an error, with the number of the first such candidate. If
            workers died more often than `retries` allows.
        """
        array = isinstance(candidates, np.ndarray) and candidates.ndim > 0
        if not (array or isinstance(candidates, Sequence)):
            raise OptionError(f"candidates must be an array or a sequence, not {candidates!r}")
        if len(candidates) == 0:
            raise OptionError("there are no candidates")
        items = candidates if array else list(candidates)
        found = self._deal(_Map(objective), items)
        return np.concatenate(found)

    def each(self, function: Callable[[Any, np.random.Generator], Any], items: Any) -> list[Any]:
        """Call a function for each item, without a batch, and return a list of the results.

        Parameters
        ----------
        function : callable(item, random)
            Takes an item and a random generator for this item.
        items : sequence

        Raises
        ------
        WorkerError
            As for `map`.
        """
        found = self._deal(_Each(function), list(items), size=1)
        return [one for some in found for one in some]

    def rollout(
        self,
        steps: int,
        torques: ArrayLike | None = None,
        *,
        items: int | None = None,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        gap: float | None = None,
        controller: Any = None,
        targets: ArrayLike | None = None,
        kp: ArrayLike | None = None,
        kd: ArrayLike | None = None,
        every: int = 1,
    ) -> Rollout:
        """Take steps from given starts; see `BatchSimulation.rollout`.

        Parameters
        ----------
        steps : int
        torques, controller, targets, kp, kd, every
            As for a batch of n states.
        items : int or None
            Number n of states. None: the number of rows of q, v or another argument. If no
            argument has rows, all states of all workers are used once.
        q, v : (nq,) and (nv,), or (n, nq) and (n, nv), or None
            Starts; None: at home and at rest.
        gap : float or None [m]
            If given, robots are placed at rest with this gap, as `BatchSimulation.place` does.

        Returns
        -------
        Rollout
            With n states, in the order of the starts.

        Raises
        ------
        StateError, ControllerError, OptionError
            For wrong shapes or numbers of arguments.
        WorkerError
            For an error of a single state, such as a start that is not possible.
        """
        steps, every = count("steps", steps), count("every", every)
        if gap is not None and v is not None:
            raise OptionError("states that are set down (gap=) are at rest: leave v out")
        if isinstance(controller, Gait) and controller.n is not None:
            controller = controller.each()
        several = isinstance(controller, Sequence) and not isinstance(controller, str)
        if items is None:
            rows = [len(value) for value in map(np.asarray, (q, v, kp, kd)) if value.ndim == 2]
            rows += [len(value) for value in map(np.asarray, (torques, targets)) if value.ndim == 3]
            rows += [len(controller)] if several else []
            items = rows[0] if rows else self.n * self.per_worker
        n, robot = count("items", items), self._robot
        if several and len(controller) != n:
            raise OptionError(f"there are {len(controller)} controllers for {n} items")
        places = {"q": rows_of("q", q, robot.nq, n), "v": rows_of("v", v, robot.nv, n)}
        steered: dict[str, Array | None] = {}
        for name, value in (("torques", torques), ("targets", targets)):
            found = None if value is None else by_step(name, value, robot, n, steps)
            steered[name] = None if found is None else np.broadcast_to(found, (n, *found.shape[1:]))
        for name, value in (("kp", kp), ("kd", kd)):
            found = None if value is None else by_state(name, value, robot, n)
            steered[name] = None if found is None else np.broadcast_to(found, (n, robot.nu))
        drives = _Drives(n, places, steered, controller, several)
        parts = self._deal(_Roll(steps, every, gap), drives)
        return Rollout(*map(np.concatenate, zip(*parts, strict=True)))

    def _deal(self, task: Task, items: Items, size: int | None = None) -> list[Any]:
        """Results of a task for all chunks of the items, in order."""
        self._open()
        size = self.per_worker if size is None else size
        chunks = chunks_of(items, size, self.seed, self._calls)
        self._calls += 1
        found: dict[int, Any] = {}
        outcomes = self._crew.run(task, chunks)
        worst: Failure | None = None
        with bar("items", len(items), self.progress) as advance, closing(outcomes):
            for chunk, (result, failure) in outcomes:
                if failure is not None and (worst is None or chunk.first < worst.numbers[0]):
                    worst = failure
                found[chunk.first] = result
                advance(len(chunk.items))
                # The failure of the first item is reported, whichever worker ends first.
                before = 0 if worst is None else worst.numbers[0] // size
                if worst is not None and all(size * k in found for k in range(before)):
                    break
        if worst is not None:
            error = WorkerError(worst.reason, worst.numbers)
            error.add_note(f"In the worker:\n{worst.trace}")
            raise error from worst.cause
        return [found[first] for first in sorted(found)]

    def _open(self) -> None:
        if self._closed:
            raise OptionError("these workers have been closed: make others")

    def close(self) -> None:
        """End the workers, and the cluster if it was started for them."""
        if not self._closed:
            self._closed = True
            self._crew.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _check(robot: Any, options: dict[str, Any]) -> OptionError | None:
    """Check robot and options before workers are made; returns or raises an error."""
    if not isinstance(robot, Mechanism):
        return OptionError(f"robot must be a Mechanism, not {robot!r}")
    if "threads" in options:
        return OptionError("threads are not for workers, each of which has one: n is how many")
    Simulation(robot, **{key: value for key, value in options.items() if key != "lanes"})
    return None


@dataclass(frozen=True)
class _Map:
    """An objective, evaluated for candidates."""

    objective: Objective

    def __call__(self, bench: Bench, items: Any, random: Random) -> NDArray[Any]:
        values = np.asarray(self.objective(bench.batch(len(items)), items, random))
        if values.ndim == 0 or len(values) != len(items):
            raise OptionError(
                f"the objective must return a row for each of {len(items)} candidates, not an "
                f"array of shape {values.shape}"
            )
        return values


@dataclass(frozen=True)
class _Each:
    """A function of one item."""

    function: Callable[[Any, np.random.Generator], Any]

    def __call__(self, bench: Bench, items: Any, random: Random) -> list[Any]:
        found = []
        for place, (item, own) in enumerate(zip(items, random, strict=True)):
            try:
                found.append(self.function(item, own))
            except MemoryError:
                raise
            except Exception as error:
                raise AtItem(place) from error
        return found


@dataclass(frozen=True)
class _Drives:
    """Starts and inputs of n states."""

    n: int
    places: dict[str, Sequence[Any]]
    steered: dict[str, Array | None]
    controller: Any
    several: bool

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, some: slice) -> _Drives:
        return replace(
            self,
            n=len(range(self.n)[some]),
            places={name: rows[some] for name, rows in self.places.items()},
            steered={
                name: None if rows is None else rows[some] for name, rows in self.steered.items()
            },
            controller=self.controller[some] if self.several else self.controller,
        )

    def start(self, name: str) -> Array | None:
        """Rows of q or v, or None for home or rest."""
        rows = self.places[name]
        return None if rows[0] is None else np.stack(rows)

    def along(self, name: str) -> Array | None:
        """Torques or targets: (n, nu) if they are constant, else (n, steps, nu)."""
        rows = self.steered[name]
        return rows[:, 0] if rows is not None and rows.shape[1] == 1 else rows


@dataclass(frozen=True)
class _Roll:
    """Steps of states from their starts."""

    steps: int
    every: int
    gap: float | None

    def __call__(self, bench: Bench, items: _Drives, random: Random) -> Rollout:
        batch = bench.batch(len(items))
        if self.gap is not None:
            batch.place(items.start("q"), self.gap)
        else:
            batch.set_state(items.start("q"), items.start("v"))
        return batch.rollout(
            self.steps,
            items.along("torques"),
            controller=items.controller,
            targets=items.along("targets"),
            kp=items.steered["kp"],
            kd=items.steered["kd"],
            every=self.every,
        )
