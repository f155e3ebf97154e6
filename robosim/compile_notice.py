"""Tells the user once, on stderr, why the first step takes so long; and how long it was."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from numba.core import event

if TYPE_CHECKING:
    from numba.core.event import Event


class CompileNotice(event.Listener):
    """Says once, on stderr, that kernels are being compiled, if they are.

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

    def on_start(self, event: Event) -> None:
        self.begin()
        module = event.data["dispatcher"].py_func.__module__
        if not CompileNotice.said and module.startswith("robosim."):
            CompileNotice.said = True
            print("compiling kernels (first run, about a minute)", file=sys.stderr, flush=True)

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
            cls.seconds += time.perf_counter() - cls.began

    @classmethod
    def install(cls) -> None:
        if not cls.installed:
            cls.installed = True
            event.register("numba:compile", cls())
