"""Parallel workers: on threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from queue import SimpleQueue
from typing import Protocol

from robosim.workers.bench import Bench, Chunk, Outcome, Setting, Task

Outcomes = Generator[tuple[Chunk, Outcome], None, None]


class Crew(Protocol):
    """Workers that evaluate chunks, in any order of completion."""

    n: int
    kind: str

    def use(self, setting: Setting) -> None:
        """Set the robot and options of all further chunks."""

    def run(self, task: Task, chunks: Iterable[Chunk]) -> Outcomes:
        """Evaluate all chunks; no worker is busy any more when the generator ends or is closed."""

    def close(self) -> None:
        """Release the workers' resources."""


class OnThreads:
    """n workers on threads, which run in parallel as compiled code releases the GIL."""

    kind = "threads"

    def __init__(self, n: int) -> None:
        self.n = n
        self._pool = ThreadPoolExecutor(n)
        self._compiling = threading.Lock()
        self._idle: SimpleQueue[Bench] = SimpleQueue()

    def use(self, setting: Setting) -> None:
        self._idle = SimpleQueue()
        for _ in range(self.n):
            self._idle.put(Bench(setting, lambda: self._compiling))

    def run(self, task: Task, chunks: Iterable[Chunk]) -> Outcomes:
        def done(chunk: Chunk) -> Outcome:
            bench = self._idle.get()
            try:
                return bench.do(task, chunk)
            finally:
                self._idle.put(bench)

        futures = {self._pool.submit(done, chunk): chunk for chunk in chunks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            for future in futures:
                future.cancel()
            wait(futures)

    def close(self) -> None:
        self._pool.shutdown()
