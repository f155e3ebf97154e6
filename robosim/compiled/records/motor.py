"""Records of motors and of the PID that commands them, one for each actuated coordinate."""

from __future__ import annotations

import numpy as np

WINDING = np.dtype(
    [
        ("resistance", "f8"),  # [ohm], at the reference temperature
        ("growth", "f8"),  # [1/K], relative, of the resistance
        ("reference", "f8"),  # [deg C]
        ("pace", "f8"),  # time step over inductance [1/ohm], inf without an inductance
        ("torque", "f8"),  # Kt N, torque of the joint per ampere
        ("emf", "f8"),  # Ke N, voltage per speed of the joint
        ("efficiency", "f8"),
        ("back_efficiency", "f8"),
        ("voltage_limit", "f8"),
        ("current_limit", "f8"),
        ("left", "f8"),  # share of a current that is left after a step
        ("arriving", "f8"),  # 1 - left, to more digits
        ("mean", "f8"),  # means over a step of a current that decays, and of its square
        ("square", "f8"),
        ("thermal_resistance", "f8"),
        ("heated", "f8"),  # share of the way to the steady temperature in a step
        ("temperature_limit", "f8"),
        ("ambient", "f8"),
        ("asks", "i8"),  # whether commands are torques, not voltages
        ("warms", "i8"),
    ]
)

PID = np.dtype(
    [
        ("kp", "f8"),
        ("kd", "f8"),
        ("growth", "f8"),  # ki times the interval
        ("limit", "f8"),
        ("tracking", "f8"),  # interval over the tracking time
        ("clamps", "i8"),  # whether the integral stops at the limit, without a tracking time
    ]
)
