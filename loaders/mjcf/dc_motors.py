"""<dcmotor>: a direct-current motor, with its controller, heat, cogging and friction; <pid>.

A motor without states, cogging and a limit of the voltage, and with one control, has a force that
is affine in control, length and rate. All others have a law of their own
(`robosim.description.electric_motor`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robosim.description.electric_motor import INPUTS, ElectricMotor, LuGre
from robosim.errors import ModelError
from robosim.loaders.mjcf.actuator_defaults import motor_constants
from robosim.loaders.mjcf.nodes import Node

Three = tuple[float, float, float]


@dataclass(frozen=True)
class DCMotorSpec:
    """The law of a motor, as of an `Actuator`: a motor, or else gain and bias."""

    largest_force: float
    motor: ElectricMotor | None
    gain: Three = (0.0, 0.0, 0.0)
    bias: Three = (0.0, 0.0, 0.0)


def read_dc_motor(node: Node, turns: bool) -> DCMotorSpec:
    """The law of a motor; `turns` tells that it drives a ball joint.

    Raises
    ------
    LoadError
        For unknown inputs, or numbers without which the motor is not determined.
    """
    words = inputs_of(node)
    K, R = constants(node, words)
    gains = node.some_numbers("controller", np.zeros(6), fill=True).tolist()
    torque, current, current_rate = (
        max(float(value), 0.0) for value in node.some_numbers("saturation", np.zeros(3), fill=True)
    )
    inductance = node.some_numbers("inductance", np.zeros(2), fill=True)
    if min(inductance) < 0:
        raise node.error("'inductance' must not be negative")
    cogging = node.some_numbers("cogging", np.zeros(3), fill=True).tolist()
    try:
        motor = ElectricMotor(
            K,
            R,
            words,
            gains=tuple(gains[:3]),
            slew_limit=_limit(gains[3]),
            integral_limit=_limit(gains[4]),
            voltage_limit=_limit(gains[5]),
            time_constant=float(inductance[0]) / R if inductance[0] else float(inductance[1]),
            current_rate=_limit(current_rate),
            cogging=(cogging[0], cogging[1], cogging[2]) if cogging[0] else (0.0, 0.0, 0.0),
            friction=_friction(node),
            **_heat(node),
        )
    except ModelError as error:
        raise node.error(str(error)) from None
    return as_affine(motor, torque or K * current or np.inf, turns)


def read_pid(node: Node, turns: bool, autolimits: bool) -> DCMotorSpec:
    """The law of a <pid>: that of a motor's controller, without a circuit.

    A `dampratio` is left in the bias, for `robosim.loaders.mjcf.damping_ratios`.

    Raises
    ------
    LoadError
        For unknown inputs, reversed ranges, or states without a setpoint of the position.
    """
    words = inputs_of(node, "pos vel", INPUTS[:3])
    kp, ki, kv, ratio = (node.number(*one) for one in PID_GAINS)
    if ratio < 0 or (ratio and kv):
        raise node.error(f"'dampratio' must not be negative, nor beside 'kv'; not {ratio:g}")
    limits = {name: node.number(name, 0.0) for name in ("imax", "slewmax")}
    for name, limit in limits.items():
        if limit < 0:
            raise node.error(f"'{name}' must not be negative, not {limit:g}")
    if "pos" not in words and (ki or limits["slewmax"]):
        raise node.error("'ki' and 'slewmax' need the input pos")
    ranges = [_range_of(node, word, autolimits) for word in words]
    try:
        motor = ElectricMotor(
            1.0, 1.0, words, gains=(kp, ki, kv), slew_limit=_limit(limits["slewmax"]),
            integral_limit=_limit(limits["imax"]), holds=True,
            ranges=ranges if np.isfinite(ranges).any() else (),
        )  # fmt: skip
    except ModelError as error:
        raise node.error(str(error)) from None
    if ratio:
        return DCMotorSpec(np.inf, motor, (kp, 0.0, 0.0), (0.0, -kp, ratio))
    return as_affine(motor, np.inf, turns)


PID_GAINS = ("kp", 1.0), ("ki", 0.0), ("kv", 0.0), ("dampratio", 0.0)


def _range_of(node: Node, word: str, autolimits: bool) -> tuple[float, float]:
    """The range of an input, of which that of the position is also the control's."""
    name = f"{word}range"
    acts = node.has(name)
    if word == "pos":
        name = name if acts else "ctrlrange"
        acts = node.limited("ctrllimited", name, autolimits)
    if not acts:
        return -np.inf, np.inf
    low, high = node.ends(name)
    if low >= high:
        raise node.error(f"'{name}' must be from a lower to a higher number")
    return low, high


def as_affine(motor: ElectricMotor, largest: float, turns: bool) -> DCMotorSpec:
    """The law of a motor as gain and bias, if it is affine in its only control."""
    words, (kp, _, kd) = motor.inputs, motor.gains
    plain = len(words) == 1 and not motor.states and not motor.cogging[0]
    # A servo of a ball joint would go the shorter way round, which MuJoCo's motors do not.
    bounded = np.isfinite(motor.voltage_limit) or bool(motor.ranges)
    if not plain or bounded or (turns and words == ("pos",)):
        return DCMotorSpec(largest, motor)
    emf = motor.constant / motor.resistance
    factor = {"pos": kp, "vel": kd, "ff": 1.0, "voltage": emf}[words[0]]
    bias = (0.0, 0.0, -motor.constant * emf) if words[0] == "voltage" else (0.0, -kp, -kd)
    return DCMotorSpec(largest, None, (factor, 0.0, 0.0), bias)


def inputs_of(
    node: Node, default: str = "voltage", known: tuple[str, ...] = INPUTS
) -> tuple[str, ...]:
    """The controls of a motor, in their order; a LoadError for unknown ones."""
    words = node.attributes.get("input", default).split()
    if words == ["none"]:
        return ()
    for word in words:
        if word not in known:
            raise node.error(f"'input' must be among these, or none, not {word!r}", known)
    if not words:
        raise node.error("'input' names no control: for a motor without, write none")
    return tuple(words)


def _limit(value: float) -> float:
    return value if value > 0 else np.inf


def _heat(node: Node) -> dict[str, Any]:
    """The thermal numbers of a motor, if it has any."""
    given = node.some_numbers("thermal", np.zeros(6), fill=True).tolist()
    resistance, capacity, time, coefficient, reference, ambient = given
    if not any(given[:3]):
        return {}
    if resistance > 0 and time > 0:
        capacity = time / resistance
    elif capacity > 0 and time > 0:
        resistance = time / capacity
    if min(given[:3]) < 0 or not (resistance > 0 and capacity > 0):
        raise node.error("'thermal' needs two of resistance, capacitance and timeconst, above zero")
    return {
        "thermal_resistance": resistance,
        "thermal_capacity": capacity,
        "temperature_coefficient": coefficient,
        "reference_temperature": reference,
        "ambient": ambient,
    }


def _friction(node: Node) -> LuGre | None:
    given = node.some_numbers("lugre", np.zeros(5), fill=True).tolist()
    return LuGre(*given) if given[0] else None


def constants(node: Node, inputs: tuple[str, ...]) -> tuple[float, float]:
    """Motor constant and resistance, from what is given of them or from nominal values.

    Raises
    ------
    LoadError
        For negative numbers, or too few of them; without inputs, a constant may be zero.
    """
    given = node.some_numbers("motorconst", np.zeros(2), fill=True)
    voltage, stall, free = node.some_numbers("nominal", np.zeros(3), fill=True)
    resistance = node.number("resistance", 0.0)
    if min(*given, voltage, stall, free, resistance) < 0:
        raise node.error("'motorconst', 'nominal' and 'resistance' must not be negative")
    K, R = motor_constants(given.tolist(), (voltage, stall, free), resistance)
    if K <= 0 and inputs:
        raise node.error("needs a motorconst, or nominal values with a speed")
    if R <= 0:
        raise node.error("needs a resistance, or nominal values with a stall torque")
    return K, R
