"""Compiling in two processes: a part of the kernels in another one, if there is a core for it.

numba compiles one function after another, whatever threads ask for it. So another Python process
compiles the functions that kernels call by address, into the cache. This process compiles the rest.
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
    """A `part` of the kernels, which another process may compile.

    Parameters
    ----------
    make : function of a module
        Makes the part from `kinds`; the other process calls it as well.
    kinds : tuple of int
        Kinds of the values that the part loads.
    signature : tuple of numba types
        Types of its arguments.
    """

    def __init__(
        self, make: Callable[..., Any], kinds: tuple[int, ...], signature: tuple[Any, ...]
    ) -> None:
        self._job = make, {kind: TYPES[kind] for kind in kinds}, signature
        self._part, self._signature = make(*kinds), signature
        self._process: subprocess.Popen[bytes] | None = None
        self._compiled = self._in_cache()
        self.start()

    def _in_cache(self) -> Any:
        return find_compiled(self._part, self._signature)

    def start(self) -> None:
        """Compile the part in another process, unless it is compiled or no core is idle."""
        _at_work[:] = [process for process in _at_work if process.poll() is None]
        idle = cores() - 1 - len(_at_work)
        if self._compiled is None and self._process is None and idle >= 1:
            self._process = start_beside(COMPILE, self._job)

    def bound_to(self, caller: Any, others: tuple[Any, ...]) -> Any:
        """`caller` with the part's address as its first argument; both are compiled at once.

        `others` are the types of the caller's other arguments.
        """
        self.start()
        caller.compile((types.int64, *others))
        return partial(caller, self.address())

    def address(self) -> int:
        """The part's address, after waiting for the other process, or compiling in this one."""
        if self._compiled is None and self._process is not None:
            CompileNotice.begin()
            try:
                self._process.wait()
            finally:
                CompileNotice.end()
            self._compiled = self._in_cache()
        if self._compiled is None:
            self._compiled = compile_part(self._part, self._signature)
        return address_of(self._compiled)


def start_beside(code: str, job: Any) -> subprocess.Popen[bytes] | None:
    """Start another Python that compiles into the cache; None without a cache or an interpreter.

    The process is killed when this one ends.

    Parameters
    ----------
    code : str
        Its program, which reads the pickled job from standard input.
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
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_python() -> bool:
    """Whether the running program is a Python interpreter, which can run other code."""
    return Path(sys.executable or "").name.lower().startswith("python")


def compile_here(job: bytes) -> None:
    """Compile a part into the cache; called in the other process."""
    make, known, signature = pickle.loads(job)
    TYPES.update(known)
    make(*known).compile(signature)


@atexit.register
def _end() -> None:
    """Kill the processes that are still compiling."""
    for process in _at_work:
        if process.poll() is None:
            process.kill()
            process.wait()
