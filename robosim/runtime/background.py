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
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from numba import types

from robosim.kernels.compiler import cache
from robosim.kernels.compiler.addresses import TYPES
from robosim.kernels.compiler.events import tell_of_compiling
from robosim.kernels.compiler.parts import address_of, compile_part, find_compiled
from robosim.runtime.compiling import Compiling, Unit, unit_of
from robosim.runtime.notice import CompileNotice

COMPILE = """
import sys
from robosim.runtime.background import compile_here, tell_kernels
tell_kernels()
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
            self._process = start_beside(COMPILE, self._job, subprocess.PIPE)
            if self._process is not None:
                function = self._part.py_func
                spell = CompileNotice.present()
                unit = spell.begin(unit_of(function.__module__, function.__qualname__), True)
                heard = self._process, spell, unit
                threading.Thread(target=count_kernels, args=heard, daemon=True).start()

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


def count_kernels(process: subprocess.Popen[bytes], spell: Compiling, unit: Unit) -> None:
    """Count the kernels that another process begins to compile, each of which it tells by a byte.

    Called in a thread, which ends with the process.
    """
    assert process.stdout is not None
    with process.stdout as pipe:
        while told := os.read(pipe.fileno(), 4096):
            unit.count(len(told))
    if process.wait() == 0:
        spell.end(unit)
    else:
        unit.end()


def start_beside(
    code: str, job: Any, stdout: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes] | None:
    """Start another Python that compiles into the cache; None without a cache or an interpreter.

    The process is killed when this one ends.

    Parameters
    ----------
    code : str
        Its program, which reads the pickled job from standard input.
    job : picklable
    stdout : int
        Of the process, as for `subprocess.Popen`.
    """
    if cache.FOLDER is None or not is_python():
        return None
    path = os.pathsep.join(place for place in sys.path if place)
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=stdout,
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


def tell_kernels() -> None:
    """Tell `count_kernels` of each kernel from now on; called in the other process."""

    def tell(module: str, name: str) -> None:
        with suppress(OSError):  # nobody listens any more
            os.write(sys.stdout.fileno(), b".")

    tell_of_compiling(tell, lambda: None)


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
