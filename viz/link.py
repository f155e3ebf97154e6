"""Messages between the simulation's process and the server process.

Nothing here ever waits for a browser, and the queues of messages are bounded.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time as clock
from collections import deque
from pathlib import Path
from typing import IO, Any

from robosim.errors import ViewerError

MAX_FPS = 60.0
MAX_WAITING = 256  # messages in each queue
MAX_SAMPLES = 4096  # of a script's chart between two messages
SAMPLES_EVERY = 0.1  # [s]
_START_TIMEOUT = 30.0  # [s]
_CLOSE_TIMEOUT = 2.0  # [s]
# Options of a process that ctrl-C in a terminal does not reach.
_APART: dict[str, Any] = {"start_new_session": True}
if sys.platform == "win32":
    _APART = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}


def block(chart: int, samples: bytes) -> bytes:
    """Samples of a chart in a message of rows: chart number, count, and float32 values."""
    return chart.to_bytes(4, "little") + (len(samples) // 4).to_bytes(4, "little") + samples


class Mailbox:
    """Messages to the server, and the thread that sends them.

    A new frame replaces one that has not been sent yet; the same holds for documents of the same
    name. Samples of a script's charts are collected for a tenth of a second.
    """

    def __init__(self, stream: IO[bytes] | None, first: list[tuple[bytes, bytes]]) -> None:
        self._stream = stream
        self._waiting = first
        self._frame: bytes | None = None
        self._documents: dict[str, bytes] = {}
        self._rows: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._samples: dict[int, deque[bytes]] = {}
        self._samples_due = 0.0
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._send, name="robosim viewer", daemon=True)
        self._thread.start()

    def put_frame(self, frame: bytes) -> None:
        with self._changed:
            self._frame = frame
            self._changed.notify()

    def put_document(self, name: str, content: bytes) -> None:
        with self._changed:
            self._documents[name] = content
            self._changed.notify()

    def put_rows(self, rows: bytes) -> None:
        with self._changed:
            self._rows.append(rows)
            self._changed.notify()

    def put_sample(self, chart: int, sample: bytes) -> None:
        with self._changed:
            self._samples.setdefault(chart, deque(maxlen=MAX_SAMPLES)).append(sample)
            self._changed.notify()

    def put_scene(self, scene: bytes) -> None:
        """Send another scene, and discard frames and samples of the old one."""
        with self._changed:
            self._waiting.append((b"S", scene))
            self._frame = None
            self._rows.clear()
            self._changed.notify()

    def close(self, timeout: float) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout)

    @property
    def is_stuck(self) -> bool:
        """Whether the thread still runs, after ``close``."""
        return self._thread.is_alive()

    def _take(self) -> tuple[list[tuple[bytes, bytes]], bool]:
        """The messages to send now, and whether these are the last."""
        with self._changed:
            while not self._is_due():
                wait = max(self._samples_due - clock.perf_counter(), 0.0)
                self._changed.wait(wait if self._samples else None)
            found, self._waiting = self._waiting, []
            for name, content in self._documents.items():
                encoded = name.encode()
                found.append((b"D", bytes([len(encoded)]) + encoded + content))
            self._documents = {}
            found += [(b"R", rows) for rows in self._rows]
            self._rows.clear()
            if self._samples and (self._closing or clock.perf_counter() >= self._samples_due):
                blocks = (block(chart, b"".join(own)) for chart, own in self._samples.items())
                found.append((b"R", b"".join(blocks)))
                self._samples = {}
                self._samples_due = clock.perf_counter() + SAMPLES_EVERY
            if self._frame is not None:
                found.append((b"F", self._frame))
                self._frame = None
            return found, self._closing

    def _is_due(self) -> bool:
        """Whether there is something to send now."""
        due = self._samples and clock.perf_counter() >= self._samples_due
        rest = self._waiting or self._documents or self._rows or self._closing
        return bool(due or rest or self._frame is not None)

    def _send(self) -> None:
        # A server that has died leaves a broken pipe; the simulation continues without a view.
        with contextlib.suppress(OSError, ValueError):
            closing, due = False, clock.perf_counter()
            while not closing:
                found, closing = self._take()
                for kind, content in found:
                    self._write(kind, content)
                # A late frame does not delay later ones, or some of these would be skipped.
                now = clock.perf_counter()
                due = max(due, now - 1.0 / MAX_FPS) + 1.0 / MAX_FPS
                if not closing:
                    clock.sleep(max(due - now, 0.0))

    def _write(self, kind: bytes, content: bytes) -> None:
        if self._stream is None:
            raise ValueError("the server has no standard input")
        self._stream.write(kind + len(content).to_bytes(4, "little") + content)
        self._stream.flush()


class Inbox:
    """Lines from the server, read by a thread; if too many wait, the oldest are lost."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._arrived = threading.Event()
        thread = threading.Thread(
            target=self._receive, args=(stream,), name="robosim viewer inbox", daemon=True
        )
        thread.start()

    def _receive(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            for line in stream:
                self._lines.append(line)
                self._arrived.set()

    def take(self) -> list[bytes]:
        """All lines since the last call."""
        self._arrived.clear()
        lines = []
        with contextlib.suppress(IndexError):
            while True:
                lines.append(self._lines.popleft())
        return lines

    def wait(self, timeout: float) -> None:
        """Wait until there is a line, but no longer than `timeout` [s]."""
        self._arrived.wait(timeout)


class Link:
    """A server process with its mailbox and inbox.

    Raises
    ------
    ViewerError
        If the server does not start, for example because the port is in use.
    """

    def __init__(
        self, host: str, port: int | None, open_browser: bool, first: list[tuple[bytes, bytes]]
    ) -> None:
        self.inbox: Inbox | None = None  # once it has started
        command = [sys.executable, "-P", str(Path(__file__).with_name("server.py"))]
        command += ["--parent", str(os.getpid()), "--host", host]
        if port is not None:
            command += ["--port", str(port)]
        if open_browser:
            command.append("--open-browser")
        with tempfile.TemporaryFile() as errors:
            # By itself: ctrl-C is for the simulation, which then closes the viewer.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                **_APART,
            )
            self.mailbox = Mailbox(self.process.stdin, first)
            try:
                answer = _first_line(self.process)
            except BaseException:
                self.process.kill()
                self.close()
                raise
            if "port" not in answer:
                self.process.kill()
                self.close()
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                reason = answer.get("error") or (said[-1] if said else "no answer from its process")
                where = f" on port {port}" if port is not None else ""
                where += f" at {host}" if host != "127.0.0.1" else ""
                if port is not None:
                    reason += "; take another port, or none for the first that is free"
                raise ViewerError(f"the viewer could not be started{where}: {reason}")
        self.port = int(answer["port"])
        assert self.process.stdout is not None  # asked for above
        self.inbox = Inbox(self.process.stdout)

    def lines(self) -> list[bytes]:
        """Messages from browsers since the last call."""
        return [] if self.inbox is None else self.inbox.take()

    def close(self) -> None:
        """Send waiting messages, and end the process."""
        self.mailbox.close(_CLOSE_TIMEOUT)
        # The thread may be blocked in a write; then the process is killed.
        if self.mailbox.is_stuck:
            self.process.kill()
            self.mailbox.close(_CLOSE_TIMEOUT)
        with contextlib.suppress(OSError, ValueError):
            if self.process.stdin is not None:
                self.process.stdin.close()
            if self.inbox is None and self.process.stdout is not None:
                self.process.stdout.close()
        try:
            self.process.wait(_CLOSE_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _first_line(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The server's first report, or {} without one within the timeout."""
    stdout = process.stdout
    if stdout is None:
        return {}
    overdue = threading.Timer(_START_TIMEOUT, process.kill)
    overdue.start()
    try:
        line = stdout.readline()
    finally:
        overdue.cancel()
    try:
        answer = json.loads(line)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
