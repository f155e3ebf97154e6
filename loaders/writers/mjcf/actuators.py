"""Actuators to MJCF; without actuators, each actuated joint gets a motor."""

from __future__ import annotations

import dataclasses

import numpy as np
from lxml import etree

from robosim import quaternions
from robosim.description.actuator import Actuator
from robosim.description.electric_motor import ElectricMotor
from robosim.description.hill_muscle import HillMuscle
from robosim.description.muscle import Muscle
from robosim.loaders.writers.mjcf.document import Document
from robosim.loaders.writers.parts import Array, child, text


def write_actuators(document: Document) -> None:
    """Write the actuators, or a motor for each coordinate that is driven by torques."""
    if document.mechanism.actuators:
        actuators = child(document.root, "actuator")
        for actuator in document.mechanism.actuators:
            if isinstance(actuator.muscle, HillMuscle):
                document.lost.add("muscles of the Hill type", actuator.name)
                continue
            if len(actuator.gears) > 1 and any(map(np.ndim, actuator.gears.values())):
                document.lost.add("actuators of a free rotation and more", actuator.name)
                continue
            if actuator.implicit:
                document.lost.add("that actuators are implicit", actuator.name)
            _actuator(document, actuators, actuator)
        return
    actuated = [joint for joint in document.mechanism.tree_joints if joint.actuated and joint.nv]
    if not actuated:
        return
    actuators = child(document.root, "actuator")
    for joint in actuated:
        for driven, name in zip(joint.has_motor, document.joints[joint.name], strict=False):
            if not driven:
                continue
            if joint.has_quaternion and name == document.joints[joint.name][-1]:
                for k, gear in enumerate(np.eye(3)):
                    motor = document.names["actuator"].made(f"{name}_{'xyz'[k]}")
                    child(actuators, "motor", name=motor, joint=name,
                          gear=text((*gear, 0, 0, 0)))  # fmt: skip
            else:
                motor = document.names["actuator"].own(name)
                child(actuators, "motor", name=motor, joint=name)


def _actuator(document: Document, actuators: etree._Element, actuator: Actuator) -> None:
    joints = document.joint_names()
    attributes = {"name": actuator.name}
    (name, gear), *more = actuator.gears.items() or [("", 0.0)]
    if actuator.adheres is not None:
        if actuator.adheres not in {body.name for body in document.mechanism.bodies}:
            document.lost.add("adhesion of links that are parts of bodies", actuator.name)
            return
        attributes |= {"body": actuator.adheres, "gain": text(actuator.gain[0])}
        attributes["ctrlrange"] = text(np.clip(actuator.control_range, 0.0, 1e9))
        child(actuators, "adhesion", **attributes, **_limits("force", actuator.force_range))
        return
    if actuator.place is not None:
        place = actuator.place
        R = quaternions.rotation_matrix(np.asarray(place.quaternion))
        position = np.asarray(place.position)
        attributes["site"] = document.site(f"{actuator.name}_at", place.body, position, R)
        attributes["gear"] = text(actuator.wrench)
    elif not more:
        if isinstance(gear, tuple):
            where = "jointinparent" if actuator.in_parent else "joint"
            attributes |= {where: document.joints[name][-1], "gear": text((*gear, 0, 0, 0))}
        elif name in joints:
            attributes |= {"joint": joints[name], "gear": text(gear)}
        else:
            attributes |= {"tendon": document.tendons[name], "gear": text(gear)}
    else:
        tendons = document.root.find("tendon")
        tendons = child(document.root, "tendon") if tendons is None else tendons
        tendon = child(
            tendons, "fixed", name=document.names["tendon"].made(f"{actuator.name}_gears")
        )
        for name, gear in actuator.gears.items():
            child(tendon, "joint", joint=joints[name], coef=text(gear))
        attributes["tendon"] = str(tendon.get("name"))
    if actuator.delay is not None:
        delay = actuator.delay
        attributes |= {"delay": text(delay.seconds), "nsample": str(delay.samples)}
        attributes["interp"] = delay.interpolation
    if actuator.motor is not None:
        _motor(document, actuators, actuator, attributes)
        return
    kind, gain, bias = "affine", np.array(actuator.gain), np.array(actuator.bias)
    if isinstance(actuator.muscle, Muscle):
        kind, gain = "muscle", _curves(actuator.muscle)
        bias = gain
        attributes["lengthrange"] = text(actuator.muscle.length_range)
    attributes |= {"gaintype": kind, "gainprm": text(gain)}
    attributes |= {"biastype": kind, "biasprm": text(bias)}
    if actuator.activation is not None:
        activation = actuator.activation
        attributes |= {"dyntype": activation.kind, "dynprm": text(activation.constants)}
        if activation.early:
            attributes["actearly"] = "true"
        if np.any(np.isfinite(activation.range)):
            told = text(np.clip(activation.range, -1e9, 1e9))
            attributes |= {"actlimited": "true", "actrange": told}
    for what, limits in (("ctrl", actuator.control_range), ("force", actuator.force_range)):
        attributes |= _limits(what, limits)
    child(actuators, "general", **attributes)


def _limits(what: str, limits: tuple[float, float]) -> dict[str, str]:
    """The attributes of a range, if it has ends."""
    if not np.any(np.isfinite(limits)):
        return {}
    return {f"{what}limited": "true", f"{what}range": text(np.clip(limits, -1e9, 1e9))}


def _motor(
    document: Document, actuators: etree._Element, actuator: Actuator, attributes: dict[str, str]
) -> None:
    """A motor with a law of its own, as a <dcmotor>, or a <pid> if only that has it."""
    motor = actuator.motor
    assert motor is not None
    if motor.holds or motor.ranges:
        _pid(document, actuators, actuator, motor, attributes)
        return
    lower, upper = actuator.force_range
    if lower != -upper:
        document.lost.add("motors whose forces have other limits in both directions", actuator.name)
        return
    slew, integral, voltage, rate = (
        value if np.isfinite(value) else 0.0
        for value in (motor.slew_limit, motor.integral_limit, motor.voltage_limit,
                      motor.current_rate)
    )  # fmt: skip
    attributes |= {
        "motorconst": text(motor.constant),
        "resistance": text(motor.resistance),
        "input": " ".join(motor.inputs) or "none",
        "controller": text((*motor.gains, slew, integral, voltage)),
        "saturation": text((upper if np.isfinite(upper) else 0.0, 0.0, rate)),
        "inductance": text((0.0, motor.time_constant)),
        "cogging": text(motor.cogging),
    }
    if motor.thermal_capacity:
        attributes["thermal"] = text((
            motor.thermal_resistance, motor.thermal_capacity, 0.0, motor.temperature_coefficient,
            motor.reference_temperature, motor.ambient,
        ))  # fmt: skip
    if motor.friction is not None:
        attributes["lugre"] = text(dataclasses.astuple(motor.friction))
    child(actuators, "dcmotor", **attributes, **_limits("ctrl", actuator.control_range))


def _pid(
    document: Document,
    actuators: etree._Element,
    actuator: Actuator,
    motor: ElectricMotor,
    attributes: dict[str, str],
) -> None:
    """A controller without a circuit, as a <pid>."""
    circuit = motor.time_constant or motor.thermal_capacity or np.isfinite(motor.voltage_limit)
    if circuit or any(motor.cogging) or motor.friction is not None or "voltage" in motor.inputs:
        document.lost.add("motors with a circuit whose integrals are held", actuator.name)
        return
    kp, ki, kv = motor.gains
    attributes |= {"input": " ".join(motor.inputs), "kp": text(kp), "ki": text(ki), "kv": text(kv)}
    for name, limit in (("imax", motor.integral_limit), ("slewmax", motor.slew_limit)):
        if np.isfinite(limit):
            attributes[name] = text(limit)
    ranges = motor.ranges or [actuator.control_range] * len(motor.inputs)
    for word, ends in zip(motor.inputs, ranges, strict=True):
        if np.any(np.isfinite(ends)):
            attributes[f"{word}range"] = text(np.clip(ends, -1e9, 1e9))
            if word == "pos":
                attributes["ctrllimited"] = "true"
    child(actuators, "pid", **attributes, **_limits("force", actuator.force_range))


def _curves(muscle: Muscle) -> Array:
    """MuJoCo's parameters of a muscle; the fourth has no effect if the force is given."""
    m = muscle
    curves = (m.shortest, m.longest, m.fastest, m.passive, m.lengthening)
    return np.array((*m.range, m.force, 1.0, *curves))
