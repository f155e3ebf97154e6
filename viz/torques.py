"""A controller whose torques are set by sliders on the page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.formulation import Formulation
from robosim.log import LogInfo
from robosim.viz.scene import STANDARD_GRAVITY

Array = NDArray[np.float64]
NAME = "torques"
SHARE = 0.5  # of the robot's weight, at a lever arm of a metre: range without an effort limit


class ByHand:
    """A controller that holds the torques, or forces, that were set last.

    Attributes
    ----------
    tau : (nu,) [N m or N]
    sliders : list of dict
        Name, unit and range of each actuated coordinate. The range, on both sides of zero, is the
        effort limit if the model has one.
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

    def __call__(self, sim: Formulation) -> Array:
        """The torques (nu,) that were set, for any state of the simulation."""
        return self.tau

    def set(self, index: int, value: float) -> bool:
        """Set a torque, clipped to its range; returns whether there is such an index."""
        if not index < len(self.tau):
            return False
        reach = self.sliders[index]["reach"]
        self.tau[index] = min(max(value, -reach), reach)
        return True

    def relax(self) -> None:
        """Set all torques to zero."""
        self.tau[:] = 0.0
