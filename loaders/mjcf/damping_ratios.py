"""Servos with damping as a ratio to critical damping.

MuJoCo interprets a positive third bias as such a ratio if gain and stiffness are equal. The damping
follows from the inertia at the servo, with all joints at their reference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robosim.control.transmission import Transmission
from robosim.description.actuator import Actuator
from robosim.description.mechanism import Mechanism
from robosim.loaders.mjcf.muscles import inertia_at


def is_ratio(actuator: Actuator) -> bool:
    """Whether the third bias of an actuator is a damping ratio."""
    alike = actuator.muscle is None and actuator.gain[0] == -actuator.bias[1]
    return alike and actuator.bias[2] > 0


def with_damping(mechanism: Mechanism, reference: ArrayLike) -> Mechanism:
    """The mechanism with damping of servos in place of ratios, at q (nq,)."""
    if not any(map(is_ratio, mechanism.actuators)):
        return mechanism
    q = np.array(reference, dtype=float)
    transmission, inertia = Transmission(mechanism), inertia_at(mechanism, q)
    transmission.move_to(q, np.zeros(mechanism.nv))
    actuators = []
    for actuator in mechanism.actuators:
        if is_ratio(actuator):
            arms = transmission.of(actuator)[2]
            softness = max(float(arms @ np.linalg.solve(inertia, arms)), 1e-15)
            constant, stiffness, ratio = actuator.bias
            damping = 2 * ratio * float(np.sqrt(max(-stiffness, 0.0) / softness))
            if actuator.motor is None:
                actuator = replace(actuator, bias=(constant, stiffness, -damping))
            else:  # of a <pid>, see `robosim.loaders.mjcf.dc_motors.read_pid`
                motor = replace(actuator.motor, gains=(*actuator.motor.gains[:2], damping))
                actuator = replace(actuator, gain=(1.0, 0.0, 0.0), bias=(0.0,) * 3, motor=motor)
        actuators.append(actuator)
    return replace(mechanism, actuators=tuple(actuators))
