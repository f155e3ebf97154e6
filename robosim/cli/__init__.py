"""The command line: ``robosim --help``.

Only what every command needs is imported here, so that help and listings come at once; numba,
matplotlib, pyarrow and the peers are imported by what uses them. Results go to the standard
output, progress and remarks to the standard error.
"""

from __future__ import annotations

import warnings

from robosim.cli.application import app, err

# Imported for the commands that they add to the application.
from robosim.cli import catalogue, convert, runs, viewing, results, learn, reproduce, bench, warmup  # isort: skip

__all__ = [
    "app",
    "bench",
    "catalogue",
    "convert",
    "learn",
    "main",
    "reproduce",
    "results",
    "runs",
    "viewing",
    "warmup",
]


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as the commands show their own, without the line of code that it came from."""
    err.print(f"warning: {message}", style="yellow", markup=False, soft_wrap=True)


def main() -> None:
    """Entry point of the ``robosim`` command."""
    warnings.showwarning = _show_warning
    app(prog_name="robosim")
