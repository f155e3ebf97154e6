"""The command line: ``robosim --help``.

Only what every command needs is imported here, so that help and listings come at once; numba,
matplotlib, pyarrow and the peers are imported by what uses them. Results go to the standard
output, progress and remarks to the standard error.
"""

from __future__ import annotations

from robosim.cli.application import app

# Imported for the commands that they add to the application.
from robosim.cli import catalogue, runs, results  # isort: skip

__all__ = ["app", "catalogue", "main", "results", "runs"]


def main() -> None:
    """Entry point of the ``robosim`` command."""
    app(prog_name="robosim")
