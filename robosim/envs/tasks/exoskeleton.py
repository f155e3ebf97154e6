"""An exoskeleton that moves an arm, as gently as it can."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.envs.task import Draws, Moment, Start, Task, Torques
from robosim.models.builders.exoskeleton import MIDDLE, SPASTIC, exoskeleton
from robosim.validation import Array

SWING = np.pi / 4  # rad
LIMIT = 5.0  # [N m] torque of the patient's elbow that should not be exceeded


class Exoskeleton(Task):
    """Swing shoulder and elbow by 45 degrees, and spare the elbow of a spastic patient.

    The motion is that of [Bruedigam2023, Algorithm 8]. Two loops through the cuffs are closed
    exactly. See docs/environments.md for spaces, units and rewards.

    Attributes
    ----------
    patient : "healthy" or "spastic"
        A spastic elbow is stiff, and resists the motion.
    """

    timestep = 2e-3
    steps = 10
    seconds = 10.0
    sizes = (7, 6, 2)
    patient: str = "spastic"

    def robot(self) -> Mechanism:
        return exoskeleton(self.patient)

    def control(self, robot: Mechanism) -> Torques:
        return Torques(scale=(60.0, 20.0))

    def draws(self, robot: Mechanism) -> Draws:
        return {"phase": (0.0, 2 * np.pi), "offset": (np.full(2, -0.05), np.full(2, 0.05))}

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        high = np.array([np.pi, np.pi, np.pi, 20.0, 20.0, 20.0, np.pi, np.pi, 1.0, 1.0, 1.0, 1.0])
        return -high, high

    def reset(self, start: Start) -> tuple[Array, Array]:
        # A start near home, where the cuffs' springs are at rest, at any phase of the task.
        q = start.home
        q[:, :2] += start.drawn["offset"]
        return q, start.rest

    def _goal(self, now: Moment) -> tuple[Array, Array]:
        """Desired angles of shoulder and elbow, (n, 2) [rad], and their rates, (n, 2) [rad/s]."""
        at = (now.time + now.drawn["phase"])[:, None]
        return MIDDLE + SWING * np.sin(at), np.tile(SWING * np.cos(at), (1, 2))

    def _load(self, now: Moment) -> Array:
        """Torque of the patient's elbow, (n,) [N m]: zero for a healthy patient."""
        if self.patient != "spastic":
            return np.zeros(len(now.time))
        kp, kd = SPASTIC
        return np.asarray(kp * (MIDDLE[1] - now.q[:, 6]) - kd * now.v[:, 5])

    def observe(self, now: Moment) -> Array:
        goal, rate = self._goal(now)
        arm = now.q[:, 6:7], now.v[:, 5:6]
        parts = (now.q[:, :2], arm[0], now.v[:, :2], arm[1], goal, rate, now.action)
        return np.concatenate(parts, axis=1)

    def reward(self, now: Moment) -> Mapping[str, Array]:
        off = now.q[:, :2] - self._goal(now)[0]
        return {
            "tracking": np.exp(-10.0 * (off**2).sum(axis=1)),
            "comfort": -0.2 * np.maximum(np.abs(self._load(now)) - LIMIT, 0.0),
            "effort": -0.01 * (now.action**2).sum(axis=1),
        }
