"""Actuators as model files describe them: motors, servos and muscles with controls of their own.

    force = (gain . (1, l, l')) control + bias . (1, l, l')

with l = sum of gear times coordinate, or length of a tendon, and l' its rate, kept within the
ranges of the actuator. A muscle has its own curves in the place of gain and bias. Where an actuator
has an activation, that takes the place of its control.

The force of an actuator that is not implicit is held over a step. That of an implicit one is a law
of its length in the equations of the step, as that of a spring is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robosim.description.hill_muscle import HillMuscle
from robosim.description.muscle import Activation, Muscle
from robosim.description.place import Place
from robosim.errors import ModelError
from robosim.validation import Frozen, frozen_array


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
    activation : Activation or None
        What is between its control and its force.
    muscle : Muscle, HillMuscle or None
        Whose force it has, instead of gain and bias.
    place : Place or None
        Where it pushes a body, as a rotor or a thruster does. Its length is zero there.
    wrench : (6,)
        What a unit of its force is at the place, in the place's axes: force, then torque.
    implicit : bool
        Whether its force is part of a step's equations: that of its length in the middle of the
        interval and of the mean rate over it, with its control or activation held. Such an actuator
        acts on one coordinate or tendon, and always; `Simulation.set_controls` says by which
        control. Without one it acts as at a control of zero.

    Raises
    ------
    ModelError
        For ranges from a higher to a lower number, or an implicit one that acts at a place, or on
        several coordinates or tendons.
    """

    name: str
    gears: Mapping[str, float]
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control_range: tuple[float, float] = (-np.inf, np.inf)
    force_range: tuple[float, float] = (-np.inf, np.inf)
    activation: Activation | None = None
    muscle: Muscle | HillMuscle | None = None
    place: Place | None = None
    wrench: tuple[float, ...] = (0.0,) * 6
    implicit: bool = False

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
        wrench = frozen_array(self.wrench, (6,), "wrench", element)
        self._set(
            gears={name: float(gear) for name, gear in self.gears.items()},
            wrench=tuple(wrench.tolist()),
        )
        if self.implicit and (self.place is not None or len(self.gears) != 1):
            acts = "at a place" if self.place is not None else f"on {list(self.gears)}"
            raise ModelError(
                f"is implicit and acts {acts}, but must act on one coordinate or tendon; a fixed "
                "Tendon is a sum of several coordinates",
                element=element,
            )

    @property
    def largest_force(self) -> float:
        """The largest force that controls can ask for at rest, before the gears; maybe infinite."""
        largest = max(map(abs, self.force_range))
        if self.muscle is not None or (
            self.activation is not None and self.activation.kind == "integrator"
        ):
            return largest
        if not any(self.gain[1:]) and not any(self.bias):
            asked = abs(self.gain[0]) * max(map(abs, self.control_range)) if self.gain[0] else 0.0
            return min(largest, asked)
        return largest

    def force(
        self, control: float, length: float, velocity: float, activation: float | None = None
    ) -> float:
        """Its force before the gears, at a control and where it is.

        Without an `activation` that of its control, if it has any, is taken to be there at once.
        """
        value = float(np.clip(control, *self.control_range))
        if self.activation is not None:
            value = self.activation.at_once(value) if activation is None else activation
        if self.muscle is not None:
            force, _, _ = self.muscle.law(value, length, velocity)
        else:
            state = np.array((1.0, length, velocity))
            force = float(np.dot(self.gain, state) * value + np.dot(self.bias, state))
        return float(np.clip(force, *self.force_range))

    def law(self, value: float, length: float, velocity: float) -> tuple[float, float, float]:
        """Its force before the gears, and the slopes of that by the length and by the velocity.

        Parameters
        ----------
        value : float
            Of its activation, or of its control if it has none.
        length, velocity : float
        """
        if self.muscle is not None:
            force, stiffness, damping = self.muscle.law(value, length, velocity)
        else:
            gain, bias = np.array(self.gain), np.array(self.bias)
            force, stiffness, damping = gain * value + bias
            force += stiffness * length + damping * velocity
        lower, upper = self.force_range
        if not lower <= force <= upper:
            return float(np.clip(force, lower, upper)), 0.0, 0.0
        return float(force), float(stiffness), float(damping)
