"""Workers that are actors of Ray, on this machine or on the nodes of a cluster.

All data are sent to actors as bytes, so that an actor can first extend its module search path with
that of this process. A worker that dies is restarted, and its chunk is evaluated again.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import math
import os
import socket
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from robosim.errors import OptionError, WorkerError, numbered
from robosim.kernels.compiler import cache
from robosim.runtime.background import cores
from robosim.version import install
from robosim.workers.bench import Bench, Chunk, Outcome, Setting, Task
from robosim.workers.crew import Outcomes

PATIENCE = 5.0  # [s] until an address answers, and until processors become free
LONGEST = 30  # largest number of letters of a temporary folder for Ray's sockets
LOW_MEMORY = "running low on memory"  # in Ray's message for a worker ended by its memory monitor


def is_installed() -> bool:
    """Whether Ray is installed, without importing it."""
    return importlib.util.find_spec("ray") is not None


def find_ray() -> Any:
    """The module `ray`.

    Raises
    ------
    OptionError
        If Ray cannot be imported; the message tells how to install it.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise OptionError(
            f"workers on Ray need Ray, which cannot be imported ({error}): {install('ray')}, "
            "or ray=False for workers on threads"
        ) from None


class _Actor:
    """A worker in a separate process."""

    def __init__(self, path: list[str]) -> None:
        sys.path += [place for place in path if place not in sys.path]
        self._setting = self._task_bytes = b""
        self._bench: Bench
        self._task: Any = None

    def do(self, setting: bytes, task: bytes, chunk: bytes) -> bytes:
        """Evaluate a chunk."""
        pickle = importlib.import_module("ray.cloudpickle")
        if setting != self._setting:
            self._bench = Bench(Setting(*pickle.loads(setting)), _one_on_a_node)
            self._setting = setting
        if task != self._task_bytes:
            self._task, self._task_bytes = pickle.loads(task), task
        done = self._bench.do(self._task, Chunk(*pickle.loads(chunk)))
        return bytes(pickle.dumps(tuple(done)))


def _one_on_a_node() -> AbstractContextManager[Any]:
    """A lock between the processes of a node: one compiles, and the others load the result."""
    if cache.FOLDER is None:
        return nullcontext()
    lock = importlib.import_module("filelock").FileLock(str(cache.FOLDER / "workers.lock"))
    return lock  # type: ignore[no-any-return]


class OnRay:
    """n workers that are actors of Ray.

    Parameters
    ----------
    n : int or None
        None: as many as the cluster has processors for.
    address : str or None
        Address of a cluster; None: the connected one, that of RAY_ADDRESS, or else a new one on
        this machine.
    cpus : float
        Number of processors that each worker reserves.
    retries : int
        Number of repetitions of a chunk whose worker has died.

    Raises
    ------
    OptionError
        If Ray is not installed, does not answer, or has too few processors.
    """

    kind = "Ray"

    def __init__(self, n: int | None, address: str | None, cpus: float, retries: int) -> None:
        self._ray = find_ray()
        self._cpus, self._retries = cpus, retries
        self._pickle = importlib.import_module("ray.cloudpickle")
        self._own = not self._ray.is_initialized()
        if self._own:
            self._connect(n, address)
        try:
            self.n = self._afford(n)
        except OptionError:
            if self._own:
                self._ray.shutdown()
            raise
        self._setting: Any = None
        self._actors: list[Any] = [None] * self.n
        for k in range(self.n):
            self._actor(k)

    def _connect(self, n: int | None, address: str | None) -> None:
        asked = address or os.environ.get("RAY_ADDRESS")
        quiet: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False}
        try:
            if asked is None or asked == "local":
                held = cores() if n is None else max(cores(), math.ceil(n * self._cpus))
                if len(tempfile.gettempdir()) > LONGEST and Path("/tmp").is_dir():
                    quiet["_temp_dir"] = "/tmp/ray"
                quiet["logging_level"] = logging.ERROR
                self._ray.init(address="local", num_cpus=held, **quiet)
                return
            place, _, port = asked.partition("://")[-1].partition("/")[0].rpartition(":")
            if "://" not in asked:
                place, _, port = asked.rpartition(":")
            if port.isdigit():
                # Ray itself would retry for minutes, and then terminate this process.
                socket.create_connection((place, int(port)), PATIENCE).close()
            self._ray.init(address=asked, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, ValueError, RuntimeError) as error:
            raise OptionError(
                f"no Ray cluster was found at '{asked or 'local'}': {error}; "
                "start one by `ray start --head`, or leave the address out"
            ) from None

    def _afford(self, n: int | None) -> int:
        """The number of workers, once enough processors are free."""
        ray = self._ray
        if n is None:
            whole = float(ray.cluster_resources().get("CPU", 0.0))
            n = max(1, int(whole / self._cpus)) if self._cpus > 0 else cores()
        end = time.monotonic() + PATIENCE
        while (free := float(ray.available_resources().get("CPU", 0.0))) < n * self._cpus:
            if time.monotonic() > end:
                raise OptionError(
                    f"{n} workers need {n * self._cpus:g} processors, and Ray has {free:g} free of "
                    f"{ray.cluster_resources().get('CPU', 0.0):g}: ask for fewer workers, or for "
                    "less of a processor each (cpus=)"
                )
            time.sleep(0.1)
        return n

    def use(self, setting: Setting) -> None:
        self._setting = self._ray.put(self._pickle.dumps(tuple(setting)))

    def run(self, task: Task, chunks: Iterable[Chunk]) -> Outcomes:
        ray = self._ray
        sent = ray.put(self._pickled(task, "the objective"))
        waiting, idle = deque(chunks), deque(range(self.n))
        busy: dict[Any, tuple[int, Chunk]] = {}
        deaths: Counter[int] = Counter()
        try:
            while waiting or busy:
                while waiting and idle:
                    k, chunk = idle.popleft(), waiting.popleft()
                    what = self._pickled(tuple(chunk), numbered(chunk.numbers))
                    busy[self._actor(k).do.remote(self._setting, sent, what)] = k, chunk
                (done,), _ = ray.wait(list(busy), num_returns=1)
                k, chunk = busy[done]
                try:
                    outcome = Outcome(*self._pickle.loads(ray.get(done)))
                except ray.exceptions.RayTaskError as error:
                    raise WorkerError(f"cannot be done: {error}", chunk.numbers) from None
                except ray.exceptions.RayError as error:
                    self._end(k)
                    deaths[chunk.first] += 1
                    if deaths[chunk.first] > self._retries:
                        raise _death(chunk, deaths[chunk.first], error) from None
                    waiting.appendleft(chunk)
                    del busy[done]
                    idle.append(k)
                    continue
                del busy[done]
                idle.append(k)
                yield chunk, outcome
        finally:
            # After an interrupt or an error, the remaining results are not needed.
            for k, _ in busy.values():
                self._end(k)

    def _pickled(self, value: Any, what: str) -> bytes:
        try:
            return bytes(self._pickle.dumps(value))
        except Exception as error:
            raise OptionError(
                f"{what} cannot be sent to a worker: {type(error).__name__}: {error}"
            ) from None

    def _actor(self, k: int) -> Any:
        """Worker k, restarted if it has ended."""
        if self._actors[k] is None:
            made = self._ray.remote(num_cpus=self._cpus, max_restarts=0)(_Actor)
            self._actors[k] = made.remote([place for place in sys.path if place])
        return self._actors[k]

    def _end(self, k: int) -> None:
        if self._actors[k] is not None:
            with suppress(Exception):  # it may have ended already
                self._ray.kill(self._actors[k])
            self._actors[k] = None

    def close(self) -> None:
        for k in range(self.n):
            self._end(k)
        if self._own:
            self._ray.shutdown()


def _death(chunk: Chunk, deaths: int, error: Exception) -> WorkerError:
    """The error for a chunk whose workers die."""
    said = str(error)
    if type(error).__name__ == "OutOfMemoryError" or LOW_MEMORY in said:
        why = "ran out of memory: take a smaller per_worker, or fewer workers on a node"
    else:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        why = f"died: {' '.join(lines)[:400]}"
    return WorkerError(f"the worker {why}; it was started {deaths} times", chunk.numbers)
