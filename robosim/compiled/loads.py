"""External loads on a mechanism during a step."""

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
    motion: NDArray[np.void]  # MOTION of the driven coordinates over the step, in their order
    external: NDArray[np.void]  # (nb + 1,) ROW, wrenches on the bodies, world
    controls: Array  # of implicit actuators, in their order


def make_loads(model: Model) -> Loads:
    """No loads at all, in memory of the right sizes."""
    servos = np.zeros(len(model.coordinates), dtype=SERVO)
    servos["limit"] = np.inf
    return Loads(
        tau=np.zeros(len(model.coordinates)),
        servos=servos,
        motion=np.zeros(_n_motions(model), dtype=MOTION),
        external=np.zeros(len(model.bodies) + 1, dtype=ROW),
        controls=np.zeros(len(model.actuators.laws)),
    )


def _n_motions(model: Model) -> int:
    """Number of the coordinates that are driven, four of each free rotation."""
    last = int(np.argmax(model.coordinates["driven"])) if len(model.coordinates) else 0
    if not np.any(model.coordinates["driven"] >= 0):
        return 0
    joint = model.joints[np.searchsorted(model.joints["v_begin"], last, side="right") - 1]
    return int(model.coordinates["driven"][last]) + (2 if joint["m_R"] == 3 else 1)
