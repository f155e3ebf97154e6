"""Compiling kernels for lanes in another process, while a batch is stepped without lanes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

from robosim.batch.arguments import is_apart
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.kernels.compiler.lanes import WIDTH
from robosim.runtime.background import start_beside
from robosim.runtime.lanes import suits_lanes
from robosim.simulation import Simulation

COMPILE = """
import sys
from robosim.batch.warming import compile_here
compile_here(sys.stdin.buffer.read())
"""


class Beside:
    """A process that takes steps in lanes, so that their kernels are in the cache.

    Parameters
    ----------
    robots : sequence of Mechanism
        Robots of the states of a batch.
    options : dict
        Options of the batch, without lanes and threads.
    """

    def __init__(self, robots: Sequence[Mechanism], options: dict[str, Any]) -> None:
        # The robots of the first group, which are the same object if all robots are.
        job = list(robots[:WIDTH]), options
        self._process: subprocess.Popen[bytes] | None = start_beside(COMPILE, job)

    def is_done(self) -> bool:
        """Whether the process has ended.

        If it has failed, the kernels are compiled by the first step in lanes.
        """
        return self._process is None or self._process.poll() is not None


def lanes_now(
    lanes: bool | str,
    robots: Sequence[Mechanism],
    sims: Sequence[Simulation],
    options: dict[str, Any],
) -> tuple[bool, Beside | None]:
    """Whether a batch begins in lanes, and the process that compiles kernels for lanes, or None.

    Raises
    ------
    OptionError
        For `lanes` that are neither True, nor False, nor "later".
    """
    if isinstance(lanes, str) and lanes != "later":
        raise OptionError(f"lanes must be True, False or 'later', not {lanes!r}")
    if is_apart(sims[0]):
        return False, None
    if not isinstance(lanes, str):
        return bool(lanes), None
    if len(sims) < WIDTH or not suits_lanes([sim.parts for sim in sims[:WIDTH]]):
        return True, None
    return False, Beside(robots, options)
