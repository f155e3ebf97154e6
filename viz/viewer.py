"""The live view: a robot in the browser, served by a process of its own.

The simulation's process only packs a frame of poses and puts it into a slot; a thread passes the
newest one on at most 60 times a second, and a separate process serves it to browsers on the
loopback address. Nothing here ever waits for a browser.
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
import weakref
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from numpy.typing import ArrayLike

from robosim.errors import OptionError, ViewerError
from robosim.mechanism import Mechanism
from robosim.viz.page import live_page
from robosim.viz.scene import FrameEncoder, encode_scene

MAX_FPS = 60.0
_START_TIMEOUT = 30.0  # [s]
_CLOSE_TIMEOUT = 2.0  # [s]


class Viewer:
    """A robot live in the browser, at ``url``.

    Parameters
    ----------
    robot : Mechanism
    port : int or None
        TCP port on 127.0.0.1; by default the first free one from 7000.
    open_browser : bool
        Open the default browser at ``url``.
    ground : bool
        Draw the plane z = 0.

    Raises
    ------
    OptionError
        For a port that is not an integer in 0..65535.
    ViewerError
        If the server cannot be started, as when the port is taken.

    Examples
    --------
    >>> with Viewer(robot) as viewer:                                       # doctest: +SKIP
    ...     print(viewer.url)
    ...     viewer.update(sim.state.x, sim.state.q, time=sim.time)
    """

    def __init__(
        self,
        robot: Mechanism,
        *,
        port: int | None = None,
        open_browser: bool = False,
        ground: bool = True,
    ) -> None:
        if not isinstance(robot, Mechanism):
            raise OptionError(f"robot must be a Mechanism, not {type(robot).__name__}")
        if port is not None and (
            not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65535
        ):
            raise OptionError(f"port must be an integer in 0..65535, not {port!r}")
        self.robot = robot
        self._encoder = FrameEncoder(robot)
        page = live_page(f"{robot.name} - robosim").encode()
        scene = encode_scene(robot, ground=ground)
        process, mailbox, self.port = _start(port, open_browser, [(b"P", page), (b"S", scene)])
        self._process, self._mailbox = process, mailbox
        # Also ends the process when the viewer is forgotten or Python exits.
        self._finalizer = weakref.finalize(self, _shut_down, mailbox, process)

    @property
    def url(self) -> str:
        """Where to look."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def alive(self) -> bool:
        """Whether the server still runs; once it does not, updates are ignored."""
        return self._finalizer.alive and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process number of the server."""
        return self._process.pid

    def update(
        self,
        x: ArrayLike,
        q: ArrayLike,
        contact_positions: ArrayLike | None = None,
        contact_forces: ArrayLike | None = None,
        time: float | None = None,
    ) -> None:
        """Show this state; returns at once, and replaces a state that has not been sent yet.

        Parameters
        ----------
        x : (nb, 3) [m], q : (nb, 4)
            Of the bodies' centres of mass, in the world; (w, x, y, z), body to world.
        contact_positions : (nc, 3) [m], contact_forces : (nc, 3) [N], or None
            In world axes, forces on the body.
        time : [s] or None

        Raises
        ------
        StateError
            For wrong shapes or values that are not finite.
        """
        self._mailbox.put(self._encoder.encode(time, x, q, contact_positions, contact_forces))

    def close(self) -> None:
        """Send the last state and end the server; a second time does nothing."""
        self._finalizer()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Mailbox:
    """A slot for the newest frame, and the thread that empties it into the server's input."""

    def __init__(self, stream: IO[bytes] | None, first: list[tuple[bytes, bytes]]) -> None:
        self._stream = stream
        self._first = first
        self._frame: bytes | None = None
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._send, name="robosim viewer", daemon=True)
        self._thread.start()

    def put(self, frame: bytes) -> None:
        with self._changed:
            self._frame = frame
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

    def _send(self) -> None:
        # A server that has died leaves a broken pipe: the view is over, the simulation is not.
        with contextlib.suppress(OSError, ValueError):
            for kind, content in self._first:
                self._write(kind, content)
            self._first = []
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._frame is not None or self._closing)
                    frame, self._frame = self._frame, None
                    closing = self._closing
                if frame is not None:
                    self._write(b"F", frame)
                if closing:
                    return
                clock.sleep(1.0 / MAX_FPS)

    def _write(self, kind: bytes, content: bytes) -> None:
        if self._stream is None:
            raise ValueError("the server has no standard input")
        self._stream.write(kind + len(content).to_bytes(4, "little") + content)
        self._stream.flush()


def _start(
    port: int | None, open_browser: bool, first: list[tuple[bytes, bytes]]
) -> tuple[subprocess.Popen[bytes], _Mailbox, int]:
    """Start the server with its first messages; (process, mailbox, port)."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("server.py"))]
    command += ["--parent", str(os.getpid())]
    if port is not None:
        command += ["--port", str(port)]
    if open_browser:
        command.append("--open-browser")
    with tempfile.TemporaryFile() as errors:
        # In a session of its own: ctrl-C is for the simulation, which then closes the viewer.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        mailbox = _Mailbox(process.stdin, first)
        try:
            answer = _first_line(process)
        except BaseException:
            process.kill()
            _shut_down(mailbox, process)
            raise
        if "port" not in answer:
            process.kill()
            _shut_down(mailbox, process)
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines()
            reason = answer.get("error") or (said[-1] if said else "no answer from its process")
            where = "" if port is None else f" on port {port}"
            raise ViewerError(f"the viewer could not be started{where}: {reason}")
    return process, mailbox, int(answer["port"])


def _first_line(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """What the server reports, or {} if it does not within the timeout."""
    stdout = process.stdout
    if stdout is None:
        return {}
    overdue = threading.Timer(_START_TIMEOUT, process.kill)
    overdue.start()
    try:
        line = stdout.readline()
    finally:
        overdue.cancel()
        stdout.close()
    try:
        answer = json.loads(line)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _shut_down(mailbox: _Mailbox, process: subprocess.Popen[bytes]) -> None:
    mailbox.close(_CLOSE_TIMEOUT)
    # Killed if it does not take its messages: the thread may be waiting inside a write.
    if mailbox.is_stuck:
        process.kill()
        mailbox.close(_CLOSE_TIMEOUT)
    with contextlib.suppress(OSError, ValueError):
        if process.stdin is not None:
            process.stdin.close()
    try:
        process.wait(_CLOSE_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
