"""Whether a legged robot has fallen: upside down, or its base near the ground."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.log.columns import Array, Chunk

LEAST_PART = 1 / 3  # of the height over the feet at the start


class Standing(Protocol):
    """What is asked of a `Simulation` at the start of a run."""

    @property
    def robot(self) -> Mechanism: ...
    @property
    def q(self) -> Array: ...
    def contact_positions(self) -> Array: ...


class Falls:
    """Watches the base of a robot that stands on other bodies than its base.

    Parameters
    ----------
    sim : Simulation
        At the start of the run.

    Attributes
    ----------
    height : float or None
        Of the base's centre of mass over the lowest contact at the start [m]; None of what has no
        foot with contact points below the base.
    watches : bool
        Whether this robot can fall: a floating base, motors, and something to touch.
    fell : dict or None
        The first sample in which the robot had fallen: ``time`` [s], ``how`` ("upside down" or
        "low") and ``height`` of the base over the ground [m].
    """

    def __init__(self, sim: Standing) -> None:
        robot = sim.robot
        self.height: float | None = None
        self.fell: dict[str, float | str] | None = None
        touches = bool(robot.contacts or robot.obstacles)
        self.watches = bool(robot.floating_base and robot.nu and touches)
        if not self.watches:
            return
        base = robot.tree_joints[0]
        self._arm = np.asarray(base.child_position, dtype=float)
        # Whatever axes the base's frame has, home is upright.
        self._home = quaternions.rotation_matrix(np.asarray(robot.home)[3:7])
        points, height = sim.contact_positions()[:, 2], float(self._heights(sim.q[None, :7])[0])
        feet = [
            float(z)
            for z, contact in zip(points, robot.contacts, strict=True)
            if contact.body != base.child
        ]
        if feet and min(feet) < height:
            self.height = height - float(points.min())

    def add(self, chunk: Chunk) -> None:
        """Look at the samples of a chunk."""
        if not self.watches or self.fell is not None or len(chunk.t) == 0:
            return
        over, low = self._over(chunk.q), self._low(chunk.q)
        fallen = np.flatnonzero(over | low)
        if len(fallen):
            n = int(fallen[0])
            self.fell = {
                "time": float(chunk.t[n]),
                "how": "upside down" if over[n] else "low",
                "height": float(self._heights(chunk.q[n : n + 1, :7])[0]),
            }

    def fallen(self, q: Array) -> NDArray[np.bool_]:
        """Whether the robot has fallen in each pose (n, nq); never of what cannot fall."""
        if not self.watches:
            return np.zeros(len(q), dtype=bool)
        return np.asarray(self._over(q) | self._low(q))

    def _over(self, q: Array) -> NDArray[np.bool_]:
        """Whether the base is upside down, (n,)."""
        turned = quaternions.rotation_matrix(q[:, 3:7]) @ self._home.T
        return np.asarray(turned[:, 2, 2] < 0)

    def _low(self, q: Array) -> NDArray[np.bool_]:
        """Whether the base is near the ground, (n,)."""
        least = -np.inf if self.height is None else LEAST_PART * self.height
        return self._heights(q[:, :7]) < least

    def _heights(self, q: Array) -> Array:
        """Of the base's centre of mass over z = 0 (n,), at poses of its frame (n, 7)."""
        arms = quaternions.rotation_matrix(q[:, 3:7]) @ self._arm
        return np.asarray(q[:, 2] - arms[:, 2])
