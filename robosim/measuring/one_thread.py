"""Measurements in a process whose linear algebra has one thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

LIBRARIES = "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"


def measured_apart(module: str, call: str) -> Iterator[dict[str, Any]]:
    """What a call of a function of a module prints: lines of JSON.

    Threads of large products wait for each other on busy cores, and their times say nothing about
    an algorithm. numpy reads the number of threads when it is imported.

    Raises
    ------
    subprocess.CalledProcessError
        If the process fails.
    """
    command = f"import {module} as module; module.{call}"
    with subprocess.Popen(
        [sys.executable, "-c", command],
        env={**os.environ, **dict.fromkeys(LIBRARIES, "1")},
        stdout=subprocess.PIPE,
    ) as process:
        for line in process.stdout or ():
            if line.startswith(b"{"):
                yield json.loads(line)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
