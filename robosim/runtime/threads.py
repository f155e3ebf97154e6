"""Compiled work in parallel threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait


def do_all(pool: ThreadPoolExecutor, jobs: Iterable[Callable[[], object]]) -> None:
    """Do all jobs in threads, the first one in this; all have ended when this returns or raises.

    A thread that waits would need some 50 us to begin after the others have ended.
    """
    some = list(jobs)
    futures = [pool.submit(job) for job in some[1:]]
    try:
        for job in some[:1]:
            job()
        for future in futures:
            future.result()
    finally:
        # An interrupt is raised here, while threads continue.
        for future in futures:
            future.cancel()
        wait(futures)
