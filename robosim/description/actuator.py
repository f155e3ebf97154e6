"""Actuators as in model files: motors, servos and muscles with their controls.

    force = (gain . (1, l, l')) control + bias . (1, l, l')

with l the sum of gear times coordinate, or the length of a tendon, and l' its rate. Control and
force are clipped to the actuator's ranges. A muscle has its own curves instead of gain and bias. An
activation, if there is one, takes the place of the control.

The force of an explicit actuator is constant over a step. The force of an implicit actuator is part
of the equations of the step, as that of a spring is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robosim.description.hill_muscle import HillMuscle
from robosim.description.muscle import Activation, Muscle
from robosim.description.place import Place
from robosim.errors import ModelError
from robosim.validation import Frozen, frozen_array

INTERPOLATIONS = ("zoh", "linear")
"""How a `ControlDelay` reads between the instants of its samples."""


@dataclass(frozen=True, eq=False)
class ControlDelay(Frozen):
    """A delay between the control of an actuator and its effect; controls before were zero.

    Attributes
    ----------
    seconds : float [s]
        A time of less than a time step counts as one.
    samples : int
        The delay is at most so many time steps, each of which has a sample of the control.
    interpolation : "zoh" or "linear"
        Between two samples: the earlier one, or a line.

    Raises
    ------
    ModelError
        For a delay that is not positive, fewer than one sample, or an unknown interpolation.
    """

    seconds: float
    samples: int = 1000
    interpolation: str = "zoh"

    def __post_init__(self) -> None:
        element = "delay of a control"
        if not (np.isfinite(self.seconds) and self.seconds > 0):
            raise ModelError(f"must be a time above zero, not {self.seconds!r}", element=element)
        if self.samples < 1:
            raise ModelError(f"needs a sample or more, not {self.samples!r}", element=element)
        if self.interpolation not in INTERPOLATIONS:
            raise ModelError(
                f"interpolation cannot be {self.interpolation!r}",
                element=element,
                alternatives=INTERPOLATIONS,
            )


@dataclass(frozen=True, eq=False)
class Actuator(Frozen):
    """A motor or servo that acts on one or several coordinates, or along tendons.

    Attributes
    ----------
    name : str
    gears : mapping of coordinate to float, or of joint to (3,)
        Gear ratios. Keys are names of coordinates as in `Mechanism.v_names`, or of tendons. A joint
        with a free rotation, such as a spherical one, has three: an axis, and the torque about it
        per unit of force. The length is then that of the rotation vector along the axis. A servo,
        with ``gain[0] == -bias[1]``, goes the shorter way round.
    gain, bias : (3,)
        Coefficients of 1, length and velocity. The force is the control or activation times the
        gain, plus the bias.
    control_range, force_range : (2,)
        Limits of the control, and of the force before the gears.
    activation : Activation or None
        Dynamics between the control and the force.
    muscle : Muscle, HillMuscle or None
        A muscle whose force the actuator has, instead of gain and bias.
    place : Place or None
        Place at which the actuator pushes a body, as a rotor or a thruster does. The length of
        such an actuator is zero.
    in_parent : bool
        Whether the axes of free rotations are in the joint frame, which moves with the parent,
        instead of the child's axes.
    wrench : (6,)
        Force and torque at the place per unit of the actuator's force, in the place's axes.
    implicit : bool
        Whether the force is part of a step's equations. The force is then evaluated at the length
        in the middle of the interval and the mean rate, with a constant control or activation. An
        implicit actuator acts on one coordinate or tendon, in all steps. The control is set by
        `Simulation.set_controls`, and is zero before.
    delay : ControlDelay or None
        A delay of the control, which `Drive` keeps. Elsewhere controls act at once.
    adheres : str or None
        A link of the place's body that the force pulls towards all that it touches, in equal parts
        along the normals of its contacts. `Drive` has this force; `torques` knows no contacts.

    Raises
    ------
    ModelError
        For a range whose ends are in the wrong order, or gears that are neither one number nor
        three. For an implicit actuator at a place, on a free rotation, on several coordinates or
        tendons, or with the activation "current".
    """

    name: str
    gears: Mapping[str, float | tuple[float, ...]]
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control_range: tuple[float, float] = (-np.inf, np.inf)
    force_range: tuple[float, float] = (-np.inf, np.inf)
    activation: Activation | None = None
    muscle: Muscle | HillMuscle | None = None
    place: Place | None = None
    wrench: tuple[float, ...] = (0.0,) * 6
    implicit: bool = False
    in_parent: bool = False
    delay: ControlDelay | None = None
    adheres: str | None = None

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
            gears={name: _gear(gear, name, element) for name, gear in self.gears.items()},
            wrench=tuple(wrench.tolist()),
        )
        if self.implicit and self.activation is not None and self.activation.kind == "current":
            raise ModelError("is implicit, which a winding with an inductance cannot be",
                             element=element)  # fmt: skip
        if self.adheres is not None and (self.place is None or any(self.wrench) or self.gears):
            raise ModelError("adheres, and so needs a place, without a wrench or gears",
                             element=element)  # fmt: skip
        turns = any(isinstance(gear, tuple) for gear in self.gears.values())
        if self.implicit and (self.place is not None or turns or len(self.gears) != 1):
            acts = "at a place" if self.place is not None else f"on {list(self.gears)}"
            acts += ", a free rotation," if turns else ""
            raise ModelError(
                f"is implicit and acts {acts}, but must act on one coordinate or tendon; a fixed "
                "Tendon is a sum of several coordinates",
                element=element,
            )

    @property
    def largest_force(self) -> float:
        """The largest force at rest, over all controls, before the gears; may be infinite."""
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
        """The force before the gears, at a control, length and velocity.

        If `activation` is None, an activation is taken to have reached the control's value.
        """
        value = float(np.clip(control, *self.control_range))
        if self.activation is not None and self.activation.kind == "current":
            force = (
                self.activation.constants[1] * activation
                if activation is not None
                else (self._affine(value, length, velocity))
            )
            return float(np.clip(force, *self.force_range))
        if self.activation is not None:
            value = self.activation.at_once(value) if activation is None else activation
        if self.muscle is not None:
            force, _, _ = self.muscle.law(value, length, velocity)
        else:
            force = self._affine(value, length, velocity)
        return float(np.clip(force, *self.force_range))

    def aim(self, control: float, length: float, velocity: float) -> float:
        """What an activation follows: the control within its range, or a winding's steady current.

        The current is that at which the force of the present voltage has settled.
        """
        value = float(np.clip(control, *self.control_range))
        if self.activation is None or self.activation.kind != "current":
            return value
        return self._affine(value, length, velocity) / self.activation.constants[1]

    def _affine(self, value: float, length: float, velocity: float) -> float:
        if self._goes_round:
            length = value + math.remainder(length - value, self._goes_round)
        state = np.array((1.0, length, velocity))
        return float(np.dot(self.gain, state) * value + np.dot(self.bias, state))

    @cached_property
    def _goes_round(self) -> float:
        """What a servo of a free rotation may add to its length, at the same pose; or else 0."""
        gears = list(self.gears.values())
        if len(gears) != 1 or isinstance(gears[0], float) or self.gain[0] != -self.bias[1]:
            return 0.0
        return 2 * math.pi * math.hypot(*gears[0])

    def law(self, value: float, length: float, velocity: float) -> tuple[float, float, float]:
        """The force before the gears, and its derivatives by the length and by the velocity.

        Parameters
        ----------
        value : float
            The activation, or the control without an activation.
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


def _gear(gear: object, name: str, element: str) -> float | tuple[float, ...]:
    """A number, or the three of a free rotation."""
    size = () if np.ndim(gear) == 0 else (3,)  # type: ignore[arg-type]
    values = frozen_array(gear, size, f"the gear of '{name}'", element)  # type: ignore[arg-type]
    return tuple(values.tolist()) if size else float(values)
