"""Tells the user, on stderr, why a first step takes so long; and how long it was."""

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
PAUSE = 2.0  # [s] without compiling, after which it is told again


class CompileNotice:
    """Says on stderr that kernels are being compiled, if they are; again when more are, later on.

    Attributes
    ----------
    seconds : float
        What has been spent on it so far in this process [s].
    kernels : int
        How many have been compiled so far in this process, or are being compiled.
    """

    installed = False
    said = False
    seconds = 0.0
    kernels = 0
    depth = 0  # of what is compiled, as a kernel is while its caller is
    began = 0.0
    ended = 0.0

    @classmethod
    def begin_in(cls, module: str) -> None:
        """Begin with a function of a module, and say so if it is one of robosim's."""
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
        """What is told before the first kernel is compiled."""
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
        """Seconds spent so far, with those of what is being compiled now."""
        return cls.seconds + (time.perf_counter() - cls.began if cls.depth else 0.0)

    @classmethod
    def install(cls) -> None:
        if not cls.installed:
            cls.installed = True
            tell_of_compiling(cls.begin_in, cls.end)
