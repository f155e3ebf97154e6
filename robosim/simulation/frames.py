"""Poses and velocities of a simulated robot's frames, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim import quaternions
from robosim.description.body import Frame
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


class Frames:
    """Frames at the knot of a simulation, in any formulation."""

    robot: Mechanism
    state: Any

    def frame(self, name: str) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3), frame to world, of a frame at the knot.

        Parameters
        ----------
        name : str
            Name of a link, also of a merged one, or of a site; also if it is fixed to the world.

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
        """The body, None for the world, and its frame."""
        for frame in self.robot.world_frames:
            if frame.name == name:
                return None, frame
        return self.robot.frame(name)
