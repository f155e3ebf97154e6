"""Compiling side by side: a part of the kernels in another process, if there is a core for it.

numba compiles one function after another, whatever threads ask for it. So what kernels call by
address is compiled by another Python, into the cache, while this one compiles the rest.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from numba import types

from robosim.kernels.compiler import cache
from robosim.kernels.compiler.addresses import TYPES
from robosim.kernels.compiler.parts import address_of, compile_part, find_compiled
from robosim.runtime.notice import CompileNotice

COMPILE = """
import sys
from robosim.runtime.background import compile_here
compile_here(sys.stdin.buffer.read())
"""
_at_work: list[subprocess.Popen[bytes]] = []


class Apart:
    """A `part` of the kernels, and where it is.

    Parameters
    ----------
    make : function of a module
        From `kinds` to the part; called in the other process as well.
    kinds : tuple of int
        Of the values that the part loads.
    signature : tuple of numba types
        Of its arguments.
    """

    def __init__(
        self, make: Callable[..., Any], kinds: tuple[int, ...], signature: tuple[Any, ...]
    ) -> None:
        self._job = make, {kind: TYPES[kind] for kind in kinds}, signature
        self._part, self._signature = make(*kinds), signature
        self._process: subprocess.Popen[bytes] | None = None
        self._found = self._in_cache()
        self.start()

    def _in_cache(self) -> Any:
        return find_compiled(self._part, self._signature)

    def start(self) -> None:
        """Begin to compile it in another process, unless it is there or no core is idle."""
        _at_work[:] = [process for process in _at_work if process.poll() is None]
        idle = cores() - 1 - len(_at_work)
        if self._found is None and self._process is None and idle >= 1:
            self._process = start_beside(COMPILE, self._job)

    def given_to(self, caller: Any, others: tuple[Any, ...]) -> Any:
        """`caller` with where the part is as its first argument, both compiled side by side.

        `others` are the types of its other arguments.
        """
        self.start()
        caller.compile((types.int64, *others))
        return partial(caller, self.address())

    def address(self) -> int:
        """Where it is, in this process; waits for what is compiled elsewhere, or compiles here."""
        if self._found is None and self._process is not None:
            CompileNotice.begin()
            try:
                self._process.wait()
            finally:
                CompileNotice.end()
            self._found = self._in_cache()
        if self._found is None:
            self._found = compile_part(self._part, self._signature)
        return address_of(self._found)


def start_beside(code: str, job: Any) -> subprocess.Popen[bytes] | None:
    """Another Python that compiles into the cache, or None where that would be of no use.

    Parameters
    ----------
    code : str
        Which finds the pickled job on its standard input. It ends with this process.
    job : picklable
    """
    if cache.FOLDER is None or not is_python():
        return None
    path = os.pathsep.join(place for place in sys.path if place)
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.write(pickle.dumps(job))
    except OSError:
        return None  # then it is compiled here
    _at_work.append(process)
    return process


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_python() -> bool:
    """Whether the program that runs this can be started to run something else."""
    return Path(sys.executable or "").name.lower().startswith("python")


def compile_here(job: bytes) -> None:
    """Compile a part into the cache: what the other process does."""
    make, known, signature = pickle.loads(job)
    TYPES.update(known)
    make(*known).compile(signature)


@atexit.register
def _end() -> None:
    """Leave nothing running that nobody waits for."""
    for process in _at_work:
        if process.poll() is None:
            process.kill()
            process.wait()
