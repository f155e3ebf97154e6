"""What Python calls in each time step: commands of a PID, and torques of direct-current motors.

The addresses lead to `PidArrays` and `WindingArrays` (`robosim.compiled.motors`). Values that are
no numbers stay so: comparisons with them are false.
"""

from math import exp, expm1, sqrt

from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.compiler.known import load_pid, load_windings


@kernel
def clipped(value, low, high):
    """A value within two ends, of which the higher one prevails."""
    if value < low:
        value = low
    if value > high:
        value = high
    return value


@entry
def command_pid(address, angles, rates, due):
    """Commands of all states (n, nu), and integrals of those that are due (n,).

    Returns whether all targets and their velocities are finite; otherwise nothing is changed.
    """
    on = load_pid(address)
    rest = 0.0
    for s in range(angles.shape[0]):
        for k in range(angles.shape[1]):
            rest += 0.0 * on.targets[s, k] + 0.0 * on.rates[s, k]
    if rest != 0.0:  # as no number is
        return False
    for s in range(angles.shape[0]):
        for k in range(angles.shape[1]):
            law, integral = on.laws[k], on.integrals[s, k]
            error = on.targets[s, k] - angles[s, k]
            asked = law.kp * error + integral + law.kd * (on.rates[s, k] - rates[s, k])
            given = clipped(asked, -law.limit, law.limit)
            on.commands[s, k] = given
            growth = law.growth * error
            if law.clamps != 0:
                if (asked - given) * growth > 0.0:
                    growth = 0.0
                integral = clipped(integral + growth, -law.limit, law.limit)
            else:
                integral = integral + growth + law.tracking * (given - asked)
            if due[s]:
                on.integrals[s, k] = integral
    return True


@kernel
def voltage_for(current, resistance, left, arriving, now, emf):
    """The voltage by which the current at the end of a step is this one."""
    return resistance * ((current - left * now) / arriving) + emf


@entry
def drive_windings(address, commands, rates, due):
    """Torques of all states (n, nu); currents and temperatures of those that are due (n,)."""
    on = load_windings(address)
    for s in range(commands.shape[0]):
        for k in range(commands.shape[1]):
            law, now, warm = on.laws[k], on.currents[s, k], on.temperatures[s, k]
            rate, voltage = rates[s, k], commands[s, k]
            emf = law.emf * rate
            resistance, left, arriving = law.resistance, law.left, law.arriving
            decay, square = law.mean, law.square
            if law.growth != 0.0:
                resistance *= 1.0 + law.growth * (warm - law.reference)
                x = law.pace * resistance
                left, arriving = exp(-x), -expm1(-x)
                decay, square = arriving / x, -expm1(-2.0 * x) / (2.0 * x)
            if law.asks != 0:
                voltage = voltage_for(voltage / law.torque, resistance, left, arriving, now, emf)
            limit = law.current_limit
            if law.warms != 0:
                rise = (law.temperature_limit - warm) / law.heated + (warm - law.ambient)
                power = max(rise / law.thermal_resistance, 0.0)
                limit = min(limit, sqrt(power / resistance))
            low = voltage_for(-limit, resistance, left, arriving, now, emf)
            high = voltage_for(limit, resistance, left, arriving, now, emf)
            voltage = clipped(voltage, low, high)
            voltage = clipped(voltage, -law.voltage_limit, law.voltage_limit)
            steady = (voltage - emf) / resistance
            excess = now - steady
            mean = steady + decay * excess
            share = law.efficiency if mean * rate >= 0.0 else 1.0 / law.back_efficiency
            on.torques[s, k] = law.torque * mean * share
            if due[s]:
                on.currents[s, k] = steady + left * excess
                on.voltages[s, k] = voltage
                if law.warms != 0:
                    heat = steady * steady + 2.0 * decay * steady * excess
                    power = resistance * (heat + square * excess * excess)
                    # In differences, which keep their digits where the resistance is large.
                    rise = law.ambient - warm + law.thermal_resistance * power
                    on.temperatures[s, k] = warm + law.heated * rise
