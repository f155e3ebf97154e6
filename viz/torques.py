"""Torques by hand: a controller whose torques are those of sliders on the page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.log import LogInfo
from robosim.viz.scene import STANDARD_GRAVITY

Array = NDArray[np.float64]
NAME = "torques"
SHARE = 0.5  # of the robot's weight at a metre: how far a slider without a limit goes


class ByHand:
    """A controller that holds the torques, or forces, that it was given last.

    Attributes
    ----------
    tau : (nu,) [N m or N]
    sliders : list of dict
        Of each actuated coordinate its name, its unit, and how far its slider goes either way:
        to the effort limit, if the model has one.
    """

    def __init__(self, robot: Mechanism, timestep: float | None = None) -> None:
        self.tau = np.zeros(robot.nu)
        info = LogInfo.of(robot, 0.0)
        weight = max(SHARE * robot.total_mass * STANDARD_GRAVITY, 1e-3)
        self.sliders: list[dict[str, Any]] = [
            {
                "name": name.removesuffix(".torque"),
                "unit": info.units.get(name, ""),
                "reach": float(limit) if math.isfinite(limit) and limit > 0 else weight,
                "limited": bool(math.isfinite(limit) and limit > 0),
            }
            for name, limit in zip(info.tau, robot.effort_limits.tolist(), strict=True)
        ]

    def __call__(self, sim: Any) -> Array:
        """(nu,), whatever the simulation does."""
        return self.tau

    def set(self, index: int, value: float) -> bool:
        """Hold another torque, no farther than its slider goes; whether there is such a one."""
        if not index < len(self.tau):
            return False
        reach = self.sliders[index]["reach"]
        self.tau[index] = min(max(value, -reach), reach)
        return True

    def relax(self) -> None:
        """No torques any more."""
        self.tau[:] = 0.0
