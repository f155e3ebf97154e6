"""Notifies the user on stderr that kernels are compiled, and measures how long this takes."""

from __future__ import annotations

import sys
import time

from robosim.kernels.compiler import cache
from robosim.kernels.compiler.events import tell_of_compiling

FIRST = "compiling kernels (first run, about a minute)"
IN_EACH = (
    "compiling kernels (about a minute, in each run, as no folder can be written that would keep "
    "them: set NUMBA_CACHE_DIR to one)"
)
FOREIGN = (
    "compiling kernels (first run, about a minute), as those that came along are for other "
    "processors or another numba"
)
PAUSE = 2.0  # [s] without compiling, after which the notice is repeated


class CompileNotice:
    """Prints on stderr that kernels are being compiled, and again when more follow later.

    Attributes
    ----------
    seconds : float
        Time spent on compiling so far in this process [s].
    kernels : int
        Number of kernels whose compiling has begun in this process.
    """

    installed = False
    said = False
    seconds = 0.0
    kernels = 0
    depth = 0  # of nested compiling: a kernel is compiled while its caller is
    began = 0.0
    ended = 0.0

    @classmethod
    def begin_in(cls, module: str) -> None:
        """Note that a function of a module begins to be compiled; print a notice for robosim's."""
        cls.begin()
        if not module.startswith("robosim."):
            return
        cls.kernels += 1
        if not cls.said:
            cls.said = True
            print(cls._why(), file=sys.stderr, flush=True)
        elif cls.depth == 1 and cls.began > cls.ended + PAUSE:
            print("compiling more kernels, for what is new", file=sys.stderr, flush=True)

    @classmethod
    def _why(cls) -> str:
        """The notice before the first kernel is compiled."""
        if cache.FOLDER is None:
            return IN_EACH
        return FOREIGN if cache.AHEAD is None and cache.READY.is_dir() else FIRST

    @classmethod
    def begin(cls) -> None:
        if cls.depth == 0:
            cls.began = time.perf_counter()
        cls.depth += 1

    @classmethod
    def end(cls) -> None:
        cls.depth -= 1
        if cls.depth == 0:
            cls.ended = time.perf_counter()
            cls.seconds += cls.ended - cls.began

    @classmethod
    def spent(cls) -> float:
        """Seconds spent so far, including what is being compiled now."""
        return cls.seconds + (time.perf_counter() - cls.began if cls.depth else 0.0)

    @classmethod
    def install(cls) -> None:
        if not cls.installed:
            cls.installed = True
            tell_of_compiling(cls.begin_in, cls.end)
