"""<dcmotor>: an actuator whose force is affine, as of its winding and its controller.

With the motor constant K, the resistance R, the actuator's length l and its rate l', the force is
K/R (V - K l'). The voltage V is the control, or what a controller needs for a force of
kp (pos - l) + kd (vel - l') + ff. An inductance lets the current follow [MuJoCo 4.0 documentation,
XML reference, actuator/dcmotor].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robosim.description.muscle import Activation
from robosim.loaders.mjcf.actuator_defaults import motor_constants
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.notes import Notes

Three = tuple[float, float, float]

INPUTS = ("pos", "vel", "ff", "voltage", "none")
# Numbers of `saturation` and `controller` that are not read, by their place.
_SLOW_CURRENT = 2
_NOT_READ = {1: "integral gain", 3: "slew rate", 4: "limit of the integral", 5: "voltage limit"}


@dataclass(frozen=True)
class DCMotorSpec:
    """The law of a motor, as of an `Actuator`."""

    gain: Three
    bias: Three
    largest_force: float
    activation: Activation | None


def read_dc_motor(node: Node, notes: Notes, name: str) -> DCMotorSpec | None:
    """The law of a motor; None for one with another number of controls than one.

    Raises
    ------
    LoadError
        For an unknown input, or numbers without which the motor is not determined.
    """
    inputs = node.attributes.get("input", "voltage").split()
    for word in inputs:
        if word not in INPUTS:
            raise node.error(f"'input' must be among these, not {word!r}", INPUTS)
    if len(inputs) != 1 or inputs == ["none"]:
        notes.add("motors with more or less than one input are left out", name)
        return None
    K, R = constants(node)
    gains = node.some_numbers("controller", np.zeros(6), fill=True)
    saturation = node.some_numbers("saturation", np.zeros(3), fill=True)
    inductance = node.some_numbers("inductance", np.zeros(2), fill=True)
    lost = [what for place, what in _NOT_READ.items() if gains[place]]
    lost += ["largest rate of the current"] * bool(saturation[_SLOW_CURRENT])
    for what in lost:
        notes.add(f"motors are without the {what} that the file gives them", name)
    kp, kd = float(gains[0]), float(gains[2])
    factor = {"pos": kp, "vel": kd, "ff": 1.0, "voltage": K / R}[inputs[0]]
    bias = (0.0, 0.0, -K * K / R) if inputs[0] == "voltage" else (0.0, -kp, -kd)
    if min(inductance) < 0:
        raise node.error("'inductance' must not be negative")
    torque, current, _ = (max(float(value), 0.0) for value in saturation)
    largest = torque or K * current or np.inf
    time = float(inductance[0]) / R if inductance[0] else float(inductance[1])
    activation = Activation("current", (time, K, 0.0), early=True) if time else None
    return DCMotorSpec((factor, 0.0, 0.0), bias, largest, activation)


def constants(node: Node) -> tuple[float, float]:
    """Motor constant and resistance, from what is given of them or from nominal values.

    Raises
    ------
    LoadError
        For negative numbers, or too few of them.
    """
    given = node.some_numbers("motorconst", np.zeros(2), fill=True)
    voltage, stall, free = node.some_numbers("nominal", np.zeros(3), fill=True)
    resistance = node.number("resistance", 0.0)
    if min(*given, voltage, stall, free, resistance) < 0:
        raise node.error("'motorconst', 'nominal' and 'resistance' must not be negative")
    K, R = motor_constants(given.tolist(), (voltage, stall, free), resistance)
    if K <= 0:
        raise node.error("needs a motorconst, or nominal values with a speed")
    if R <= 0:
        raise node.error("needs a resistance, or nominal values with a stall torque")
    return K, R
