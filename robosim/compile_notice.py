"""Tells the user once, on stderr, why the first step takes so long."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from numba.core import event

if TYPE_CHECKING:
    from numba.core.event import Event


class CompileNotice(event.Listener):
    """Says once, on stderr, that kernels are being compiled, if they are."""

    installed = False
    said = False

    def on_start(self, event: Event) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not CompileNotice.said and module.startswith("robosim."):
            CompileNotice.said = True
            print("compiling kernels (first run)", file=sys.stderr, flush=True)

    def on_end(self, event: Event) -> None:
        pass

    @classmethod
    def install(cls) -> None:
        if not cls.installed:
            cls.installed = True
            event.register("numba:compile", cls())
