"""Recordings: a run as one HTML file, which any current browser replays offline."""

from __future__ import annotations

import contextlib
import html
import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError, StateError, ViewerError
from robosim.validation import positive
from robosim.viz.page import replay_page
from robosim.viz.scene import Contacts, FrameEncoder, encode_scene


class Recorder:
    """Collects states at a frame rate, and writes them as a page that replays the run.

    Parameters
    ----------
    robot : Mechanism
    fps : float
        Frames per second of simulated time; states in between are not recorded.
    max_frames : int
        Largest number of frames. If there are more, every second frame is dropped, and the frame
        rate is halved. The default is ten minutes at 30 frames a second.
    ground : bool
        Whether to draw the plane z = 0.
    ghosts : sequence of str
        As for `Viewer`.

    Attributes
    ----------
    charts : list of dict
        Charts of the samples that are added with states, as of `robosim.viz.snapshot.Probe`;
        empty: no charts.

    Raises
    ------
    OptionError
        For an fps that is not positive, or a max_frames below 2.
    """

    def __init__(
        self,
        robot: Mechanism,
        fps: float = 30.0,
        *,
        max_frames: int = 18_000,
        ground: bool = True,
        ghosts: Sequence[str] = (),
    ) -> None:
        if not isinstance(robot, Mechanism):
            raise OptionError(f"robot must be a Mechanism, not {type(robot).__name__}")
        if max_frames < 2:
            raise OptionError(f"max_frames must be at least 2, not {max_frames}")
        self.robot = robot
        self.fps = self._first_fps = positive("fps", fps)
        self.max_frames = int(max_frames)
        self.ground = ground
        self.ghosts = tuple(ghosts)
        self._encoder = FrameEncoder(robot, copies=1 + len(self.ghosts))
        self.charts: list[dict[str, Any]] = []
        self.clear()

    def __repr__(self) -> str:
        return f"<Recorder of {self.robot.name!r}: {len(self)} frames, {self.fps:g} a second>"

    def clear(self) -> None:
        """Discard all frames, for example at a restart."""
        self.fps = self._first_fps
        self._frames: list[bytes] = []
        self._rows: list[bytes] = []
        self._slots: list[int] = []
        self._start = 0.0
        self._newest = -math.inf

    def __len__(self) -> int:
        """Number of frames kept."""
        return len(self._frames)

    def add(
        self,
        time: float,
        x: ArrayLike,
        q: ArrayLike,
        contact_positions: ArrayLike | None = None,
        contact_forces: ArrayLike | None = None,
        *,
        pulls: ArrayLike | None = None,
        violations: ArrayLike | None = None,
        row: Callable[[], ArrayLike] | None = None,
    ) -> bool:
        """Record a state if a frame is due, and return whether it was recorded.

        Parameters
        ----------
        time : float [s]
            Not smaller than in the previous call.
        x, q, contact_positions, contact_forces, pulls, violations
            As for `Viewer.update`.
        row : callable() -> (width,), or None
            Returns the sample for `charts`; called only if the state is recorded.

        Returns
        -------
        bool

        Raises
        ------
        StateError
            For wrong shapes, values that are not finite, or a time before the last one.
        """
        if not math.isfinite(time) or time < self._newest:
            raise StateError(
                f"time must be finite and not run backwards: {time} after {self._newest}"
            )
        if not self._frames:
            self._start = time
        # Frames are on a grid in simulated time, so that their rate does not drift. The margin is
        # for times that rounding has moved below the grid.
        slot = math.floor((time - self._start) * self.fps + 1e-6)
        due = not self._slots or slot > self._slots[-1]
        if due:
            contacts = Contacts(contact_positions, contact_forces)
            self._frames.append(
                self._encoder.encode(time, x, q, contacts, pulls=pulls, violations=violations)
            )
            self._slots.append(slot)
            if row is not None:
                self._rows.append(np.asarray(row(), dtype="<f4").tobytes())
            if len(self._frames) > self.max_frames:
                self._thin()
        self._newest = time
        return due

    def _thin(self) -> None:
        self.fps /= 2
        self._frames, self._rows = self._frames[::2], self._rows[::2]
        self._slots = [slot // 2 for slot in self._slots[::2]]

    def save(self, path: str | Path) -> Path:
        """Write the page; if writing fails, a file that was there before is kept.

        Returns
        -------
        pathlib.Path
            The path of the file.

        Raises
        ------
        ViewerError
            If nothing was recorded, or the file cannot be written.
        """
        path = Path(path)
        try:
            _write_atomically(path, self.page().encode("utf-8"))
        except OSError as error:
            raise ViewerError(f"{path}: cannot write the recording: {error.strerror}") from error
        return path

    def frames(self) -> list[bytes]:
        """The frames that are kept, as messages of `robosim.viz.scene`.

        Raises
        ------
        ViewerError
            If nothing was recorded.
        """
        if not self._frames:
            raise ViewerError("there is nothing to save in the recording: no state was added")
        return list(self._frames)

    def page(self) -> str:
        """The page that `save` writes.

        Raises
        ------
        ViewerError
            If nothing was recorded.
        """
        frames = self.frames()
        scene = encode_scene(self.robot, ground=self.ground, ghosts=self.ghosts)
        data = {"scene": scene, "frames": b"".join(frames)}
        if self.charts:
            data["charts"] = json.dumps(self.charts).encode()
            data["rows"] = b"".join(self._rows)
        return replay_page(f"{self.robot.name} - robosim", data)

    def _repr_html_(self) -> str:
        """The recording as an iframe, for a notebook's cell."""
        style = "width: 100%; height: 520px; border: 0; border-radius: 8px"
        return f'<iframe srcdoc="{html.escape(self.page(), quote=True)}" style="{style}"></iframe>'


def _write_atomically(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # mkstemp makes private files; a recording has the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
