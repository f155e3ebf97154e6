"""Actuators as model files describe them: controls to joint torques.

Controllers here answer with joint torques (nu,). Where the model file has motors and servos with
controls of their own, `torques` turns those into such torques:

    force = (gain . (1, l, l')) control + bias . (1, l, l')

with l = sum of gear times coordinate, or length of a tendon, and l' its rate, kept within the
ranges of the actuator; each gets gear times force, a tendon's through its moment arms.
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
    from robosim.dynamics import Kinematics
    from robosim.mechanism import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Actuator(Frozen):
    """A motor or servo that acts on one or several coordinates, or along tendons.

    Attributes
    ----------
    name : str
    gears : mapping of coordinate to float
        By the names that `Mechanism.v_names` has for joints' coordinates, or by a tendon's.
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
    transmission = Transmission(robot)
    transmission.move_to(q, v)
    generalized = np.zeros(robot.nv)
    for actuator, control in zip(robot.actuators, controls, strict=True):
        length, rate, arms = transmission.of(actuator)
        generalized += arms * actuator.force(control, length, rate)
    return np.asarray(generalized[robot.actuated])


class Transmission:
    """Lengths, rates and moment arms of a robot's actuators, from one state to the next.

    Parameters
    ----------
    robot : Mechanism
    """

    def __init__(self, robot: Mechanism) -> None:
        self.robot = robot
        self._places = {
            name: (robot.q_names.index(name), v_index)
            for v_index, name in enumerate(robot.v_names)
            if name in robot.q_names
        }
        self._tendons = {tendon.name: k for k, tendon in enumerate(robot.tendons)}
        self._kinematics: Kinematics | None = None
        if any(name in self._tendons for a in robot.actuators for name in a.gears):
            # Here, so that numba is imported only where it is needed.
            from robosim.dynamics import Kinematics

            self._kinematics = Kinematics(robot)

    def move_to(self, q: Array, v: Array) -> None:
        """Go to a state q (nq,), v (nv,)."""
        self._q, self._v = q, v
        if self._kinematics is not None:
            self._kinematics.move_to(q)
            self._lengths = self._kinematics.tendon_lengths()
            self._arms = self._kinematics.tendon_jacobian()

    def of(self, actuator: Actuator) -> tuple[float, float, Array]:
        """Length, its rate, and its derivatives (nv,) by the joint velocities."""
        length, arms = 0.0, np.zeros(self.robot.nv)
        for name, gear in actuator.gears.items():
            if name in self._places:
                q_index, v_index = self._places[name]
                length += gear * float(self._q[q_index])
                arms[v_index] += gear
            else:
                k = self._tendons[name]
                length += gear * float(self._lengths[k])
                arms += gear * self._arms[k]
        return length, float(arms @ self._v), arms


def _shaped(name: str, value: ArrayLike, size: int) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape != (size,):
        raise StateError(f"{name} must have shape ({size},), not {array.shape}")
    return array
