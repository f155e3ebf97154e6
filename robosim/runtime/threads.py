"""Compiled work in parallel threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait


def do_all(pool: ThreadPoolExecutor, jobs: Iterable[Callable[[], object]]) -> None:
    """Do all jobs in threads; all have ended when this function returns or raises."""
    futures = [pool.submit(job) for job in jobs]
    try:
        for future in futures:
            future.result()
    finally:
        # An interrupt is raised here, while threads continue.
        for future in futures:
            future.cancel()
        wait(futures)
