"""Actuators as model files describe them: controls to joint torques.

Controllers here answer with joint torques (nu,). Where the model file has motors and servos with
controls of their own, `torques` turns those into such torques:

    force = (gain . (1, l, l')) control + bias . (1, l, l')

with l = sum of gear times coordinate and l' its rate, kept within the ranges of the actuator; each
joint gets gear times force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.errors import ModelError, StateError
from robosim.validation import Frozen, frozen_array

if TYPE_CHECKING:
    from robosim.mechanism import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Actuator(Frozen):
    """A motor or servo that acts on one or several coordinates.

    Attributes
    ----------
    name : str
    gears : mapping of coordinate to float
        By the names that `Mechanism.v_names` has for joints' coordinates.
    gain, bias : (3,)
        Over 1, length and velocity: what the control is multiplied by, and what is added.
    control_range, force_range : (2,)
    """

    name: str
    gears: Mapping[str, float]
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control_range: tuple[float, float] = (-np.inf, np.inf)
    force_range: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        element = f"actuator '{self.name}'"
        for what in ("gain", "bias"):
            values = frozen_array(getattr(self, what), (3,), what, element)
            self._set(**{what: tuple(values.tolist())})
        for what in ("control_range", "force_range"):
            lower, upper = (float(value) for value in getattr(self, what))
            if not lower < upper:
                raise ModelError(f"{what} is from {lower} to {upper}", element=element)
            self._set(**{what: (lower, upper)})
        self._set(gears={name: float(gear) for name, gear in self.gears.items()})

    @property
    def largest_force(self) -> float:
        """The largest force that controls can ask for at rest, before the gears; maybe infinite."""
        largest = max(map(abs, self.force_range))
        if not any(self.gain[1:]) and not any(self.bias):
            asked = abs(self.gain[0]) * max(map(abs, self.control_range)) if self.gain[0] else 0.0
            return min(largest, asked)
        return largest

    def force(self, control: float, length: float, velocity: float) -> float:
        """Its force before the gears, at a control and where it is."""
        state = np.array((1.0, length, velocity))
        control = float(np.clip(control, *self.control_range))
        force = np.dot(self.gain, state) * control + np.dot(self.bias, state)
        return float(np.clip(force, *self.force_range))


def torques(robot: Mechanism, controls: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
    """Joint torques (nu,), in the order of ``robot.actuated``, of controls for `robot.actuators`.

    Parameters
    ----------
    robot : Mechanism
    controls : (number of actuators,)
    q : (nq,)
    v : (nv,)

    Raises
    ------
    StateError
        For a wrong number of controls, coordinates or velocities.
    """
    controls = _shaped("controls", controls, len(robot.actuators))
    q, v = _shaped("q", q, robot.nq), _shaped("v", v, robot.nv)
    places = {
        name: (q_index, v_index)
        for v_index, name in enumerate(robot.v_names)
        for q_index in [robot.q_names.index(name) if name in robot.q_names else -1]
    }
    generalized = np.zeros(robot.nv)
    for actuator, control in zip(robot.actuators, controls, strict=True):
        where = [(places[name], gear) for name, gear in actuator.gears.items()]
        length = sum(gear * q[q_index] for (q_index, _), gear in where)
        velocity = sum(gear * v[v_index] for (_, v_index), gear in where)
        force = actuator.force(control, length, velocity)
        for (_, v_index), gear in where:
            generalized[v_index] += gear * force
    return np.asarray(generalized[robot.actuated])


def _shaped(name: str, value: ArrayLike, size: int) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape != (size,):
        raise StateError(f"{name} must have shape ({size},), not {array.shape}")
    return array
