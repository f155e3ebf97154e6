"""Runs of a simulator in a process of its own, which may crash or hang: nothing else is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from queue import Empty, Queue
from tempfile import TemporaryFile
from typing import Any

from robosim.errors import ControllerError
from robosim.referee.audit.adapters import PEERS, Source, why_not
from robosim.referee.audit.messages import receive, send
from robosim.referee.audit.playing import Ask
from robosim.referee.audit.runs import Failed, Job, Opened, Run

_WORDS = 300  # characters of what a simulator has printed


class _Child:
    """One process, which has loaded the file."""

    def __init__(self, name: str, source: Source) -> None:
        self.name = name
        self._printed = TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "robosim.referee.audit.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            # A crash prints where it was; simulators need no threads here.
            env={**os.environ, "PYTHONFAULTHANDLER": "1", "OMP_NUM_THREADS": "1"},
        )
        self._answers: Queue[Any] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.tell((name, PEERS[name].adapter, source))

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                self._answers.put(receive(self._process.stdout))
        except (EOFError, OSError, ValueError):
            self._answers.put(None)

    def tell(self, message: Any) -> None:
        """Send a message; a process that has ended is noticed when it is heard."""
        assert self._process.stdin is not None
        with suppress(OSError):
            send(self._process.stdin, message)

    def hear(self, seconds: float) -> Any:
        """The next answer, or a `Failed` if there is none."""
        try:
            found = self._answers.get(timeout=seconds)
        except Empty:
            self.end()
            return Failed(self.name, "", f"no answer within {seconds:g} s", "hung")
        if found is None:
            return Failed(self.name, "", self._why(), "crashed")
        return found

    def _why(self) -> str:
        code = self._process.wait()
        self._printed.seek(0)
        words = " ".join(self._printed.read().decode(errors="replace").split())
        try:
            ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        except ValueError:
            ended = f"exit code {code}"
        return f"{ended}: {words[-_WORDS:]}" if words else ended

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._printed):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class Runner:
    """Runs jobs of one simulator; after a crash the next job gets a new process.

    Parameters
    ----------
    name : str
        One of `PEERS`.
    source : Source
    timeout : float [s]
        Longest time between answers of the simulator.

    Attributes
    ----------
    opened : Opened or Failed
        What the simulator has made of the file.
    """

    def __init__(self, name: str, source: Source, timeout: float) -> None:
        self.name, self._source, self._timeout = name, source, timeout
        self._child: _Child | None = None
        reason = why_not(name)
        if reason is not None:
            self.opened: Opened | Failed = Failed(name, "", reason, "missing")
            return
        self.opened = self._start()

    def _start(self) -> Opened | Failed:
        self._child = _Child(self.name, self._source)
        found = self._child.hear(PEERS[self.name].start)
        if not isinstance(found, Opened):
            self.close()
        assert isinstance(found, Opened | Failed)
        return found

    def run(self, job: Job, ask: Ask | None = None) -> Run | Failed:
        """A run, or why there is none."""
        if self._child is None:
            found = self._start() if isinstance(self.opened, Opened) else self.opened
            if isinstance(found, Failed):
                return Failed(self.name, job.label, found.why, found.how)
        assert self._child is not None
        self._child.tell(job)
        while True:
            found = self._child.hear(self._timeout)
            if isinstance(found, tuple):
                assert ask is not None
                try:
                    self._child.tell(ask(*found[1:]))
                except ControllerError as error:
                    self._child.tell(str(error))
                continue
            if isinstance(found, Failed):
                if found.how != "failed":
                    self.close()
                return Failed(self.name, job.label, found.why, found.how)
            assert isinstance(found, Run)
            return found

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.end()
            self._child = None
