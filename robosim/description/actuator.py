"""Actuators as in model files: motors, servos and muscles with their controls.

    force = (gain . (1, l, l')) control + bias . (1, l, l')

with l the sum of gear times coordinate, or the length of a tendon, and l' its rate. Control and
force are clipped to the actuator's ranges. A muscle or an electric motor has its own law instead of
gain and bias. An activation, if there is one, takes the place of the control.

The force of an explicit actuator is constant over a step. The force of an implicit actuator is part
of the equations of the step, as that of a spring is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.electric_motor import ElectricMotor
from robosim.description.hill_muscle import HillMuscle
from robosim.description.muscle import Activation, Muscle
from robosim.description.place import Place
from robosim.errors import ModelError
from robosim.validation import Array, Frozen, frozen_array

INTERPOLATIONS = ("zoh", "linear", "cubic")
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
    interpolation : "zoh", "linear" or "cubic"
        Between two samples: the earlier one, a line, or a Catmull-Rom spline, which is flat at the
        first and the last sample of the memory.

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
        Limits of each control, and of the force before the gears.
    activation : Activation or None
        Dynamics between the control and the force.
    muscle : Muscle, HillMuscle or None
        A muscle whose force the actuator has, instead of gain and bias.
    motor : ElectricMotor or None
        A motor whose force the actuator has, instead of gain and bias; its inputs are the controls.
        The force range limits the force of the current, not cogging and friction.
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
        tendons, or with a motor. For a motor with an activation or a muscle.
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
    motor: ElectricMotor | None = None

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
        if self.motor is not None:
            if self.implicit:
                raise ModelError("is implicit, which an electric motor cannot be", element=element)
            if self.activation is not None or self.muscle is not None:
                raise ModelError("has a motor, and so neither an activation nor a muscle",
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
    def control_names(self) -> tuple[str, ...]:
        """Names of the controls: that of the actuator, or several such as "motor:pos"."""
        return self._names(("",) if self.motor is None else self.motor.inputs)

    @property
    def activation_names(self) -> tuple[str, ...]:
        """Names of the activations, as of controls; one that is zero for an actuator without."""
        return self._names((self.motor.states if self.motor is not None else ()) or ("",))

    def _names(self, parts: Sequence[str]) -> tuple[str, ...]:
        if len(parts) == 1:
            return (self.name,)
        return tuple(f"{self.name}:{part}" for part in parts)

    @property
    def has_activations(self) -> bool:
        """Whether there are activations, which a run begins with and changes."""
        return self.activation is not None or bool(self.motor is not None and self.motor.states)

    @property
    def largest_force(self) -> float:
        """The largest force at rest, over all controls, before the gears; may be infinite."""
        largest = max(map(abs, self.force_range))
        if self.motor is not None:
            return largest + self.motor.largest_beyond
        if self.muscle is not None or (
            self.activation is not None and self.activation.kind == "integrator"
        ):
            return largest
        if not any(self.gain[1:]) and not any(self.bias):
            asked = abs(self.gain[0]) * max(map(abs, self.control_range)) if self.gain[0] else 0.0
            return min(largest, asked)
        return largest

    def force(
        self,
        control: ArrayLike,
        length: float,
        velocity: float,
        activation: ArrayLike | None = None,
    ) -> float:
        """The force before the gears, at a control, length and velocity.

        Parameters
        ----------
        control : float, or (number of controls,)
        length, velocity : float
        activation : float or (number of activations,), or None
            None: activations have settled at the control.
        """
        values = self._within(control)
        states = None if activation is None else np.atleast_1d(np.asarray(activation, dtype=float))
        if self.motor is not None:
            if states is None:
                states = self.motor.settled(values, length, velocity)
            states = states[: len(self.motor.states)]
            force, beyond = self.motor.forces(values, length, velocity, states)
            return float(np.clip(force, *self.force_range)) + beyond
        value = float(values[0])
        if self.activation is not None:
            value = self.activation.at_once(value) if states is None else float(states[0])
        if self.muscle is not None:
            force, _, _ = self.muscle.law(value, length, velocity)
        else:
            force = self._affine(value, length, velocity)
        return float(np.clip(force, *self.force_range))

    def _within(self, control: ArrayLike) -> Array:
        """Controls (number of controls,) within their ranges."""
        values = np.clip(np.atleast_1d(np.asarray(control, dtype=float)), *self.control_range)
        return values if self.motor is None else self.motor.within(values)

    def advanced(
        self, control: ArrayLike, length: float, velocity: float, activation: ArrayLike, dt: float
    ) -> tuple[Array, Array]:
        """Activations after a time step dt [s], and those from which its force is computed.

        Parameters
        ----------
        control : float, or (number of controls,)
        length, velocity : float
        activation : float, or (number of activations,)
        dt : float

        Returns
        -------
        after, acting : (number of activations,)
        """
        values = self._within(control)
        now = np.atleast_1d(np.asarray(activation, dtype=float))
        if self.motor is not None and self.motor.states:
            return self.motor.advanced(values, length, velocity, now, dt)
        if self.activation is None:
            return now, now
        after = np.array([self.activation.advanced(float(values[0]), float(now[0]), dt)])
        return after, after if self.activation.early else now

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
