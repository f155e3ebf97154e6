"""Where the frames of a simulated robot are, and how they move, by their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim import quaternions
from robosim.description.body import Frame
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


class Frames:
    """Frames at the knot of a simulation, of any formulation."""

    robot: Mechanism
    state: Any

    def frame(self, name: str) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3), frame to world, of a frame at the knot.

        Parameters
        ----------
        name : str
            Of a link, merged or not, or of a site; also of one that is fixed to the world.

        Raises
        ------
        ModelError
            If there is no frame of that name.
        """
        index, frame = self._frame(name)
        p, R = np.asarray(frame.position), quaternions.rotation_matrix(np.asarray(frame.quaternion))
        if index is None:
            return p.copy(), R
        R_wb = quaternions.rotation_matrix(self.state.q[index])
        return self.state.x[index] + R_wb @ p, R_wb @ R

    def frame_velocity(self, name: str) -> Array:
        """Twist (6,) of a frame at the knot: of its origin [m/s], angular [rad/s], world axes.

        Raises
        ------
        ModelError
            If there is no frame of that name.
        """
        index, frame = self._frame(name)
        if index is None:
            return np.zeros(6)
        R = quaternions.rotation_matrix(self.state.q[index])
        omega = R @ self.state.omega[index]
        arm = R @ np.asarray(frame.position)
        return np.concatenate((self.state.v[index] + np.cross(omega, arm), omega))

    def _frame(self, name: str) -> tuple[int | None, Frame]:
        """Body, None for the world, and the frame on it."""
        for frame in self.robot.world_frames:
            if frame.name == name:
                return None, frame
        return self.robot.frame(name)
