"""A direct-current motor of a model file: its controller, winding, heat, cogging and friction.

With the motor constant K, the resistance R, the actuator's length l and its rate l':

    V = (R/K) (kp (pos - l) + ki x + kd (vel - l') + ff) + K l' + voltage
    force = K i + cogging - friction,   i = (V - K l') / R

without what the motor does not have [MuJoCo 4.0 documentation, XML reference, actuator/dcmotor].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robosim.errors import ModelError
from robosim.validation import Array, Frozen, frozen_array

INPUTS = ("pos", "vel", "ff", "voltage")
"""Controls of an `ElectricMotor`, in their order: two setpoints, a force, a voltage."""


@dataclass(frozen=True, eq=False)
class LuGre(Frozen):
    """Dry friction by bristles, whose deflection z is a state of the motor.

        z' = l' - stiffness |l'| z / g(l'),   friction = stiffness z + damping z'
        g(l') = coulomb + (static - coulomb) exp(-(l' / stribeck)^2)

    [Canudas de Wit et al., A new model for control of systems with friction, IEEE Trans. Automatic
    Control 40(3), 1995]. Viscous friction is a damping of the joint.

    Attributes
    ----------
    stiffness, damping : float [N m/rad, N m s/rad]
    coulomb, static : float [N m]
        Friction in fast motion, and largest friction before the motion begins.
    stribeck : float [rad/s]
        Speed that is fast.

    Raises
    ------
    ModelError
        For values that are negative or not finite, or one of zero but for the damping.
    """

    stiffness: float
    damping: float
    coulomb: float
    static: float
    stribeck: float

    def __post_init__(self) -> None:
        for what in ("stiffness", "damping", "coulomb", "static", "stribeck"):
            value = float(getattr(self, what))
            if not (np.isfinite(value) and (value > 0 or (what == "damping" and value == 0))):
                raise ModelError(f"{what} cannot be {value}", element="friction of a motor")
            self._set(**{what: value})

    def decay(self, rate: float) -> float:
        """How fast a deflection vanishes [1/s] at a rate of the length."""
        fast = math.exp(-((rate / self.stribeck) ** 2))
        largest = self.coulomb + (self.static - self.coulomb) * fast
        return self.stiffness * abs(rate) / largest

    def settled(self, rate: float) -> float:
        """The deflection that stays at a rate."""
        decay = self.decay(rate)
        return rate / decay if decay else 0.0

    def advanced(self, deflection: float, rate: float, dt: float) -> float:
        """The deflection after a time dt [s] at a rate."""
        left = math.exp(-self.decay(rate) * dt)
        return left * deflection + (1.0 - left) * self.settled(rate)

    def force(self, deflection: float, rate: float) -> float:
        """The friction, which acts against a positive rate."""
        change = rate - self.decay(rate) * deflection
        return self.stiffness * deflection + self.damping * change


@dataclass(frozen=True, eq=False)
class ElectricMotor(Frozen):
    """The law of a direct-current motor with its drive, as MuJoCo's dcmotor has it.

    Units are those of an actuator of a hinge with a gear of 1.

    Attributes
    ----------
    constant : float [N m/A = V s/rad]
        K of torque and back-EMF. Zero for a motor without a circuit, which then has no inputs.
    resistance : float [ohm]
        R, at the reference temperature.
    inputs : sequence of "pos", "vel", "ff" and "voltage", in this order
        The controls. Setpoints that are missing are zero.
    gains : (3,) [N m/rad, N m/(rad s), N m s/rad]
        kp, ki and kd of the controller, in units of the force that it commands.
    slew_limit : float
        Largest rate of the first input; infinite for none.
    integral_limit : float [rad s]
        Largest integral of the position error.
    holds : bool
        Whether an integral beyond its limit is held, as of MuJoCo's pid, and not clipped. Then it
        may exceed the limit by what one step adds.
    ranges : sequence of (2,)
        Ranges of all inputs; empty for none.
    voltage_limit : float [V]
        Largest voltage of the controller; the input "voltage" is added beyond.
    time_constant : float [s]
        Of the current; zero without an inductance.
    current_rate : float [A/s]
        Largest rate of a current with an inductance.
    thermal_resistance, thermal_capacity : float [K/W, J/K]
        Of the winding towards the ambience; zeros without a temperature.
    temperature_coefficient : float [1/K]
        Relative growth of the resistance, from that at the reference temperature.
    reference_temperature, ambient : float [deg C]
    cogging : (3,) [N m, -, rad]
        Amplitude, periods per radian, and phase of a torque over the position.
    friction : LuGre or None

    Raises
    ------
    ModelError
        For numbers that are negative, not finite or zero where they cannot be, unknown inputs or
        inputs in another order. For gains without an input of the controller, an integral gain
        without the input "pos", or inputs without a constant.
    """

    constant: float
    resistance: float
    inputs: Sequence[str] = ("voltage",)
    gains: tuple[float, float, float] = (0.0, 0.0, 0.0)
    slew_limit: float = np.inf
    integral_limit: float = np.inf
    holds: bool = False
    ranges: Sequence[tuple[float, float]] = ()
    voltage_limit: float = np.inf
    time_constant: float = 0.0
    current_rate: float = np.inf
    thermal_resistance: float = 0.0
    thermal_capacity: float = 0.0
    temperature_coefficient: float = 0.0
    reference_temperature: float = 25.0
    ambient: float = 25.0
    cogging: tuple[float, float, float] = (0.0, 0.0, 0.0)
    friction: LuGre | None = None

    def __post_init__(self) -> None:
        self._set(inputs=tuple(self.inputs), holds=bool(self.holds))
        if len(self.ranges) not in (0, len(self.inputs)):
            raise ModelError(f"ranges must be {len(self.inputs)}, one for each input", element=_ME)
        self._set(ranges=tuple((float(low), float(high)) for low, high in self.ranges))
        if not all(low <= high for low, high in self.ranges):
            raise ModelError("ranges must be from a lower to a higher number", element=_ME)
        for what in ("gains", "cogging"):
            self._set(**{what: tuple(frozen_array(getattr(self, what), (3,), what, _ME).tolist())})
        endless = ("slew_limit", "integral_limit", "voltage_limit", "current_rate")
        for what in ("constant", "resistance", "time_constant", "thermal_resistance",
                     "thermal_capacity", *endless):  # fmt: skip
            value = float(getattr(self, what))
            if not value >= 0 or (what == "resistance" and value == 0):
                raise ModelError(f"{what} cannot be {value}", element=_ME)
            if np.isinf(value) and what not in endless:
                raise ModelError(f"{what} must be finite", element=_ME)
            self._set(**{what: value})
        for what in ("temperature_coefficient", "reference_temperature", "ambient"):
            value = float(getattr(self, what))
            if not np.isfinite(value):
                raise ModelError(f"{what} must be finite, not {value}", element=_ME)
            self._set(**{what: value})
        self._check_together()

    def _check_together(self) -> None:
        if list(self.inputs) != [one for one in INPUTS if one in self.inputs]:
            raise ModelError(f"inputs must be some of {INPUTS}, in this order, not {self.inputs}",
                             element=_ME)  # fmt: skip
        controlled = any(one != "voltage" for one in self.inputs)
        if (any(self.gains) or np.isfinite(self.slew_limit)) and not controlled:
            raise ModelError("gains and a slew_limit need an input pos, vel or ff", element=_ME)
        if self.gains[1] and "pos" not in self.inputs:
            raise ModelError("an integral gain needs the input pos", element=_ME)
        if self.inputs and not self.constant:
            raise ModelError("inputs need a constant above zero", element=_ME)
        if bool(self.thermal_resistance) != bool(self.thermal_capacity):
            raise ModelError("a temperature needs a thermal_resistance and a thermal_capacity",
                             element=_ME)  # fmt: skip

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states, in MuJoCo's order: what the motor's activations are.

        "setpoint": the first input, as its rate is limited. "integral": of the position error.
        "heat": the winding's temperature above the ambient one [K]. "bristles": their deflection.
        "current" [A].
        """
        there = {
            "setpoint": np.isfinite(self.slew_limit),
            "integral": self.gains[1] != 0,
            "heat": self.thermal_capacity > 0,
            "bristles": self.friction is not None,
            "current": self.time_constant > 0,
        }
        return tuple(name for name, has in there.items() if has)

    @property
    def largest_beyond(self) -> float:
        """The largest force beside that of the current."""
        return np.inf if self.friction is not None else abs(self.cogging[0])

    @property
    def slopes(self) -> tuple[float, float]:
        """Stiffness and damping at rest, where no limit holds and no current is delayed."""
        if any(one != "voltage" for one in self.inputs):
            stiffness, _, damping = self.gains
        else:
            stiffness, damping = 0.0, self.constant**2 / self.resistance
        stiffness += abs(self.cogging[0] * self.cogging[1])
        if self.friction is not None:
            stiffness += self.friction.stiffness
            damping += self.friction.damping
        return stiffness, damping

    def within(self, controls: Array) -> Array:
        """Controls (number of inputs,) within their ranges."""
        if not self.ranges:
            return controls
        low, high = np.transpose(self.ranges)
        return np.asarray(np.clip(controls, low, high))

    def settled(self, controls: Array, length: float, rate: float) -> Array:
        """The states (number of states,) that stay at a length and rate, at ambient temperature.

        Integrals are zero.
        """
        found = dict.fromkeys(self.states, 0.0)
        if "setpoint" in found:
            found["setpoint"] = float(controls[0])
        if self.friction is not None:
            found["bristles"] = self.friction.settled(rate)
        if "current" in found:
            found["current"] = self._steady(controls, length, rate, found)
        return np.array(list(found.values()))

    def advanced(
        self, controls: Array, length: float, rate: float, states: Array, dt: float
    ) -> tuple[Array, Array]:
        """States after a time step dt [s], and those from which the force over it is computed.

        Parameters
        ----------
        controls : (number of inputs,)
        length, rate : float
        states : (number of states,)

        Returns
        -------
        after, acting : (number of states,)
        """
        now = dict(zip(self.states, np.asarray(states).tolist(), strict=True))
        acting = dict(now)
        if "setpoint" in now:
            reach = self.slew_limit * dt
            aim = float(controls[0]) - now["setpoint"]
            acting["setpoint"] = now["setpoint"] + min(max(aim, -reach), reach)
        after = dict(acting)
        if "integral" in now:
            error = self._setpoint(controls, acting, "pos") - length
            after["integral"] = self._integrated(now["integral"], dt * error)
        if self.friction is not None:
            after["bristles"] = self.friction.advanced(now["bristles"], rate, dt)
        steady = self._steady(controls, length, rate, acting)
        if "heat" in now:
            current = now.get("current", steady)
            power = self._resistance(now) * current**2 - now["heat"] / self.thermal_resistance
            after["heat"] = now["heat"] + dt * power / self.thermal_capacity
        if "current" in now:
            limit, time = self.current_rate, self.time_constant
            change = min(max((steady - now["current"]) / time, -limit), limit)
            after["current"] = now["current"] - time * math.expm1(-dt / time) * change
            acting["current"] = after["current"]
        return np.array(list(after.values())), np.array(list(acting.values()))

    def forces(
        self, controls: Array, length: float, rate: float, states: Array
    ) -> tuple[float, float]:
        """The force of the current, and what cogging and friction add.

        Parameters
        ----------
        controls : (number of inputs,)
        length, rate : float
        states : (number of states,)
        """
        now = dict(zip(self.states, np.asarray(states).tolist(), strict=True))
        current = now["current"] if "current" in now else self._steady(controls, length, rate, now)
        amplitude, periods, phase = self.cogging
        beyond = amplitude * math.sin(periods * length + phase)
        if self.friction is not None:
            beyond -= self.friction.force(now["bristles"], rate)
        return self.constant * current, beyond

    def _integrated(self, integral: float, change: float) -> float:
        limit = self.integral_limit
        if not self.holds:
            return min(max(integral + change, -limit), limit)
        beyond = abs(integral) >= limit and integral * change > 0
        return integral if beyond else integral + change

    def _setpoint(self, controls: Array, states: dict[str, float], name: str) -> float:
        """An input, which is zero if it is missing."""
        if name not in self.inputs:
            return 0.0
        place = self.inputs.index(name)
        if place == 0 and "setpoint" in states:
            return states["setpoint"]
        return float(controls[place])

    def _resistance(self, states: dict[str, float]) -> float:
        warmer = states.get("heat", 0.0) + self.ambient - self.reference_temperature
        if "heat" not in states:
            return self.resistance
        return self.resistance * (1.0 + self.temperature_coefficient * warmer)

    def _steady(
        self, controls: Array, length: float, rate: float, states: dict[str, float]
    ) -> float:
        """The current [A] at which the present voltage settles."""
        pos, vel, ff, voltage = (self._setpoint(controls, states, one) for one in INPUTS)
        emf = self.constant * rate
        if any(one != "voltage" for one in self.inputs):
            kp, ki, kd = self.gains
            asked = kp * (pos - length) + kd * (vel - rate) + ff
            asked += ki * states.get("integral", 0.0)
            drive = self.resistance / self.constant * asked + emf
            voltage += min(max(drive, -self.voltage_limit), self.voltage_limit)
        return (voltage - emf) / self._resistance(states)


_ME = "motor of an actuator"
