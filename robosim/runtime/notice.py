"""Tells the user, on stderr, why a first step takes so long; and how long it was."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from numba.core import event

if TYPE_CHECKING:
    from numba.core.event import Event


PAUSE = 2.0  # [s] without compiling, after which it is told again


class CompileNotice(event.Listener):
    """Says on stderr that kernels are being compiled, if they are; again when more are, later on.

    Attributes
    ----------
    seconds : float
        What has been spent on it so far in this process [s].
    """

    installed = False
    said = False
    seconds = 0.0
    depth = 0  # of what is compiled, as a kernel is while its caller is
    began = 0.0
    ended = 0.0

    def on_start(self, event: Event) -> None:
        self.begin()
        module = event.data["dispatcher"].py_func.__module__
        if not module.startswith("robosim."):
            return
        if not CompileNotice.said:
            CompileNotice.said = True
            print("compiling kernels (first run, about a minute)", file=sys.stderr, flush=True)
        elif CompileNotice.depth == 1 and CompileNotice.began > CompileNotice.ended + PAUSE:
            print("compiling more kernels, for what is new", file=sys.stderr, flush=True)

    def on_end(self, event: Event) -> None:
        self.end()

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
    def install(cls) -> None:
        if not cls.installed:
            cls.installed = True
            event.register("numba:compile", cls())
