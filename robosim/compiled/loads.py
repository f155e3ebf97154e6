"""What acts on a mechanism from outside while it is stepped."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.model import Model
from robosim.compiled.records.graph import ROW
from robosim.compiled.records.joint import MOTION, SERVO
from robosim.validation import Array


class Loads(NamedTuple):
    """Forces that are held over a step, servos within it, and motions that are prescribed."""

    tau: Array  # generalized forces, one for each velocity of a joint
    servos: NDArray[np.void]  # SERVO, one for each velocity of a joint
    motion: NDArray[np.void]  # MOTION of the driven coordinates over the step
    external: NDArray[np.void]  # (nb + 1,) ROW, wrenches on the bodies, world


def make_loads(model: Model) -> Loads:
    """No loads at all, in memory of the right sizes."""
    servos = np.zeros(len(model.coordinates), dtype=SERVO)
    servos["limit"] = np.inf
    return Loads(
        tau=np.zeros(len(model.coordinates)),
        servos=servos,
        motion=np.zeros(int(np.sum(model.coordinates["driven"] >= 0)), dtype=MOTION),
        external=np.zeros(len(model.bodies) + 1, dtype=ROW),
    )
