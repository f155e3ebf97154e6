"""The command line: ``robosim --help``.

Only modules that every command needs are imported here, so that help and listings appear at once.
Other modules import numba, matplotlib, pyarrow and the peers on use. Results are printed to the
standard output, progress and remarks to the standard error.
"""

from __future__ import annotations

import io
import sys
import warnings

from robosim.cli.application import app, err

# Imported because these modules add their commands to the application.
from robosim.cli import catalogue, convert, runs, play, audit, viewing, results, learn  # isort: skip
from robosim.cli import reproduce, bench, warmup, doctor, parallel, demo, dataset  # isort: skip

__all__ = [
    "app",
    "audit",
    "bench",
    "catalogue",
    "convert",
    "dataset",
    "demo",
    "doctor",
    "learn",
    "main",
    "parallel",
    "play",
    "reproduce",
    "results",
    "runs",
    "viewing",
    "warmup",
]


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning in the style of the commands, without the line of code that issued it."""
    err.print(f"warning: {message}", style="yellow", markup=False, soft_wrap=True)


def main() -> None:
    """Entry point of the ``robosim`` command."""
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a pipe on Windows has few letters
    try:
        app(prog_name="robosim")
    finally:
        # Where ctrl-C interrupts an `exec`, as dataclasses and numba call it, CPython would end the
        # process by SIGINT, even if a command catches KeyboardInterrupt. A new `exec` clears that.
        exec("")
