"""Programs that tests start, of which nothing is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

# A shell lets what it runs in the background ignore SIGINT, and what that starts as well.
IGNORING = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")


@contextlib.contextmanager
def program(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A program in a group of its own, which is killed at the end, whatever else it has started."""
    with subprocess.Popen(command, text=True, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
