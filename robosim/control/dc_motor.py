"""A direct-current motor with its gearbox: voltage, current, torque and temperature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robosim.compiled.motors import make_windings
from robosim.control.motor_stages import Kept, Measured, Rows, check_joints, finite_numbers, numbers
from robosim.errors import OptionError
from robosim.validation import Array, check_choice

COMMANDS = ("voltage", "torque")


class DCMotor:
    """A direct-current motor with permanent magnets, and its gearbox.

    With winding current i, terminal voltage V, speed of the joint w and gear ratio N:

        L di/dt = V - R i - Ke N w
        torque at the joint = N Kt i, times the efficiency

    [Spong, Hutchinson & Vidyasagar, Robot Modeling and Control, 2006, Sect. 6.1]. Without an
    inductance, the torque is ``N Kt / R (V - Ke N w)``. Voltage and speed are constant over a time
    step. Current, heat and mean torque follow exactly from that. The heat of a step warms the
    winding evenly over the step. The equations also describe brushless motors with ideal
    commutation. The rotor's inertia belongs to the joint: ``armature = N^2`` times the inertia.

    Joints that slide have forces [N] and speeds [m/s] in place of torques [N m] and speeds [rad/s],
    and a gear ratio [rad/m].

    Torques are held over a step. So the back-EMF damps stably only if the time step is short
    against the mechanical time constant, ``R J / (N^2 Kt Ke)`` for the joint's inertia J.

    The numbers are read when a run begins or `Motors.reset` is called.

    Parameters
    ----------
    resistance : float or (nu,) [ohm]
    torque_constant : float or (nu,) [N m/A]
        Kt, of the motor before its gears.
    back_emf : float or (nu,) [V s/rad], or None
        Ke; None: the torque constant, as for ideal magnets.
    gear_ratio : float or (nu,)
        N, turns of the motor per turn of the joint.
    efficiency : float or (nu,), above 0, to 1
        Share of the motor's power that reaches the joint, where the motor drives or stands.
    back_efficiency : float or (nu,), above 0, to 1, or None
        Share of the joint's power that reaches the motor, where the joint drives the motor. Losses
        then add to the braking torque. None: the efficiency.
    voltage_limit : float or (nu,) [V], or None
        Of the supply, in both directions.
    current_limit : float or (nu,) [A], or None
        Of the drive, which lowers its voltage to keep to that, as far as the supply allows.
    inductance : float or (nu,) [H]
    thermal_resistance : float or (nu,) [K/W], or None
        From the winding to the ambience. None: no temperature is computed.
    thermal_capacity : float or (nu,) [J/K], or None
        Of the winding, which is heated by R i^2.
    temperature_coefficient : float or (nu,) [1/K]
        Relative growth of the resistance with the temperature, 0.0039 for copper.
    reference_temperature : float or (nu,) [deg C]
        Temperature at which the resistance is the given one.
    temperature_limit : float or (nu,) [deg C], or None
        The drive limits the current to what would end no step above this. Where an inductance keeps
        a larger one flowing for a moment, or the joint drives the motor, the winding gets warmer.
    ambient : float or (nu,) [deg C]
        Temperature of the ambience, and of the winding at the beginning.
    command : "torque" or "voltage"
        Meaning of commands: torques [N m] that the joint would have without losses of the gears, or
        voltages [V]. An ideal current loop sets torques: unless a limit prevents it, the current at
        the end of the step is that of the torque.

    Raises
    ------
    OptionError
        For values out of their range, or only some of the thermal ones.
    """

    takes_positions = False

    def __init__(
        self,
        resistance: ArrayLike,
        torque_constant: ArrayLike,
        *,
        back_emf: ArrayLike | None = None,
        gear_ratio: ArrayLike = 1.0,
        efficiency: ArrayLike = 1.0,
        back_efficiency: ArrayLike | None = None,
        voltage_limit: ArrayLike | None = None,
        current_limit: ArrayLike | None = None,
        inductance: ArrayLike = 0.0,
        thermal_resistance: ArrayLike | None = None,
        thermal_capacity: ArrayLike | None = None,
        temperature_limit: ArrayLike | None = None,
        temperature_coefficient: ArrayLike = 0.0,
        reference_temperature: ArrayLike = 25.0,
        ambient: ArrayLike = 25.0,
        command: str = "torque",
    ) -> None:
        check_choice("command", command, COMMANDS)
        self.command = command
        emf = torque_constant if back_emf is None else back_emf
        back = efficiency if back_efficiency is None else back_efficiency
        self.resistance = _finite("resistance", resistance, above=True)
        self.torque_constant = _finite("torque_constant", torque_constant, above=True)
        self.back_emf = _finite("back_emf", emf)
        self.gear_ratio = _finite("gear_ratio", gear_ratio, above=True)
        self.efficiency = _finite("efficiency", efficiency, above=True)
        self.back_efficiency = _finite("back_efficiency", back, above=True)
        for name in ("efficiency", "back_efficiency"):
            if np.any(getattr(self, name) > 1.0):
                raise OptionError(f"{name} of a DCMotor must not be above 1")
        self.voltage_limit = _limit("voltage_limit", voltage_limit)
        self.current_limit = _limit("current_limit", current_limit)
        self.inductance = _finite("inductance", inductance)
        self.thermal = thermal_resistance is not None
        if self.thermal != (thermal_capacity is not None):
            raise OptionError("a DCMotor has both a thermal_resistance and a thermal_capacity")
        if temperature_limit is not None and not self.thermal:
            raise OptionError(
                "temperature_limit of a DCMotor needs a thermal_resistance and thermal_capacity"
            )
        self.thermal_resistance, self.thermal_capacity = (
            np.ones(()) if value is None else _finite(name, value, above=True)
            for name, value in (
                ("thermal_resistance", thermal_resistance),
                ("thermal_capacity", thermal_capacity),
            )
        )
        self.temperature_coefficient = _finite("temperature_coefficient", temperature_coefficient)
        if np.any(self.temperature_coefficient) and not self.thermal:
            raise OptionError(
                "temperature_coefficient of a DCMotor needs a thermal_resistance and a "
                "thermal_capacity"
            )
        self.reference_temperature = _finite(
            "reference_temperature", reference_temperature, least=-273.15
        )
        self.ambient = _finite("ambient", ambient, least=-273.15)
        coldest = self.temperature_coefficient * (self.ambient - self.reference_temperature)
        if np.any(coldest <= -1.0):
            raise OptionError("a DCMotor has no resistance at its ambient temperature")
        self.temperature_limit = _limit("temperature_limit", temperature_limit, least=-273.15)
        if np.any(self.temperature_limit <= self.ambient):
            raise OptionError("temperature_limit of a DCMotor must be above its ambient")

    def check(self, joints: Sequence[str]) -> None:
        """Refuse other numbers of motors than joints."""
        arrays = {name: one for name, one in vars(self).items() if isinstance(one, np.ndarray)}
        check_joints("a DCMotor", joints, **arrays)

    @property
    def no_load_speed(self) -> Array:
        """Speed of the joint [rad/s] at the voltage limit without load."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.voltage_limit / (self.back_emf * self.gear_ratio))

    @property
    def stall_torque(self) -> Array:
        """Torque at the joint [N m] at rest and at the voltage limit, within the current limit."""
        current = np.minimum(self.voltage_limit / self.resistance, self.current_limit)
        return np.asarray(self.gear_ratio * self.torque_constant * current * self.efficiency)

    def begin(self, joints: Sequence[str], n: int, timestep: float) -> Windings:
        """The windings of n states."""
        return Windings(self, n, len(joints), timestep)


class Windings:
    """Currents and temperatures of the motors of n states.

    Attributes
    ----------
    currents : (n, nu) [A]
        At the end of the last step, or over all of the step without an inductance.
    voltages : (n, nu) [V]
        Over the last step.
    temperatures : (n, nu) [deg C]
        At the end of the last step; ambient without thermal parameters.
    """

    def __init__(self, motor: DCMotor, n: int, nu: int, timestep: float) -> None:
        # Imported here, so that numba is imported only when needed.
        from robosim.kernels.motors.entries import drive_windings
        from robosim.runtime.handles import Handle

        m, arrays = motor, make_windings(n, nu)
        self._drive = drive_windings
        self.currents, self.voltages = arrays.currents, arrays.voltages
        self.temperatures, self._torques = arrays.temperatures, arrays.torques
        laws = arrays.laws
        # The share of a current that is left after a step, and means of decays over a step.
        x = np.divide(
            timestep * m.resistance,
            m.inductance,
            out=np.full(np.broadcast_shapes(m.resistance.shape, m.inductance.shape), np.inf),
            where=m.inductance > 0,
        )
        laws["left"], laws["arriving"] = np.exp(-x), -np.expm1(-x)
        laws["mean"], laws["square"] = -np.expm1(-x) / x, -np.expm1(-2 * x) / (2 * x)
        laws["resistance"], laws["growth"] = m.resistance, m.temperature_coefficient
        laws["reference"] = m.reference_temperature
        laws["pace"] = x / m.resistance
        laws["torque"] = m.gear_ratio * m.torque_constant
        laws["emf"] = m.back_emf * m.gear_ratio
        for name in ("efficiency", "back_efficiency", "voltage_limit", "current_limit",
                     "thermal_resistance", "temperature_limit", "ambient"):  # fmt: skip
            laws[name] = getattr(m, name)
        laws["heated"] = -np.expm1(-timestep / (m.thermal_resistance * m.thermal_capacity))
        laws["asks"], laws["warms"] = m.command == "torque", m.thermal
        self._ambient = m.ambient
        self.temperatures[:] = m.ambient
        self._handle = Handle(arrays)

    def reset(self, rows: Rows) -> None:
        """No current, and the ambient temperature."""
        self.currents[rows], self.voltages[rows] = 0.0, 0.0
        self.temperatures[rows] = self._ambient

    def memory(self) -> Kept:
        """The arrays that last from step to step, themselves."""
        return {
            "currents": self.currents,
            "voltages": self.voltages,
            "temperatures": self.temperatures,
        }

    def recalled(self) -> None:
        """Nothing else follows from the arrays of the memory."""

    def advance(self, command: Array, seen: Measured, rows: Rows) -> Array:
        """Torques (n, nu) at the joints over a step."""
        self._drive(self._handle.address, command, seen.rate, rows)
        return self._torques


def _finite(name: str, value: ArrayLike, *, least: float = 0.0, above: bool = False) -> Array:
    return finite_numbers(f"{name} of a DCMotor", value, least=least, above=above)


def _limit(name: str, value: ArrayLike | None, least: float = 0.0) -> Array:
    return numbers(f"{name} of a DCMotor", np.inf if value is None else value, least=least)
