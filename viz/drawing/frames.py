"""The frames of a recording, to be drawn at any time of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robosim.validation import Array
from robosim.viz.scene import HEAD

if TYPE_CHECKING:
    from robosim.viz.recorder import Recorder


class Frames:
    """Poses and contacts of a recording.

    Attributes
    ----------
    robot : Mechanism
    ground : bool
    ghosts : int
    times : (n,) [s]

    Raises
    ------
    ViewerError
        If nothing was recorded.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.robot, self.ground = recorder.robot, recorder.ground
        self.ghosts = len(recorder.ghosts)
        self._bodies = (1 + self.ghosts) * len(self.robot.bodies)
        self._frames = [np.frombuffer(frame, dtype="<f4") for frame in recorder.frames()]
        self.times = np.array([frame[0] for frame in self._frames], dtype=float)

    def at(self, time: float) -> tuple[Array, Array, tuple[Array, Array]]:
        """(x, q, (positions and forces of contacts)) at a time [s], between two frames."""
        k = max(int(np.searchsorted(self.times, time, side="right")) - 1, 0)
        x, q = self._poses(k)
        if k + 1 < len(self.times) and time > self.times[k]:
            share = (time - self.times[k]) / (self.times[k + 1] - self.times[k])
            x_next, q_next = self._poses(k + 1)
            q_next = np.where(np.sum(q * q_next, axis=1, keepdims=True) < 0, -q_next, q_next)
            x, q = x + share * (x_next - x), q + share * (q_next - q)
        rows = self._contacts(k)
        return x, q / np.linalg.norm(q, axis=1, keepdims=True), (rows[:, :3], rows[:, 3:])

    def _poses(self, k: int) -> tuple[Array, Array]:
        poses = self._frames[k][HEAD : HEAD + 7 * self._bodies].astype(float).reshape(-1, 7)
        return poses[:, :3], poses[:, 3:]

    def _contacts(self, k: int) -> Array:
        begin, count = HEAD + 7 * self._bodies, int(self._frames[k][1])
        return self._frames[k][begin : begin + 6 * count].astype(float).reshape(-1, 6)
