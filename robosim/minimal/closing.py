"""Starts at which loops and couplings are closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.simulation import Simulation
from robosim.validation import Array


class Closer:
    """Moves starts onto loops and couplings, as `Simulation` does; starts of trees are unchanged.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    gravity : (3,) [m/s^2]
    """

    def __init__(self, robot: Mechanism, timestep: float, gravity: Array) -> None:
        self._robot, self._asked = robot, (timestep, gravity)
        self._constrained = bool(robot.loop_joints or robot.couplings)
        self._simulation: Simulation | None = None

    def close(self, q: Array, v: Array, hold: Sequence[str]) -> tuple[Array, Array]:
        """Coordinates (nq,) and velocities (nv,) that satisfy the constraints, near the given ones.

        Raises
        ------
        StateError
            If there are none.
        """
        if not self._constrained:
            return q, v
        if self._simulation is None:
            self._simulation = Simulation(unresisting(self._robot), *self._asked, islands=False)
        self._simulation.set_state(q, v, hold=hold)
        return np.array(self._simulation.q), np.array(self._simulation.v)


def unresisting(robot: Mechanism) -> Mechanism:
    """A robot without the elements that a simulation in joint coordinates ignores."""
    joints = tuple(
        replace(joint, lower=None, upper=None, cone=np.inf, largest_turn=np.inf, friction=0.0)
        for joint in robot.joints
    )
    return replace(
        robot,
        joints=joints,
        contacts=(),
        obstacles=(),
        contact_pairs=(),
        self_collision=False,
        sensors=(),
        stance=None,
    )
