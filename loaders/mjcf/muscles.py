"""Muscles, and the activations of actuators.

If a file does not contain the extreme lengths of a muscle, MuJoCo pulls the muscle in a simulation
until it stops. Here they follow from the limits of joints and of the tendon, which MuJoCo's soft
limits exceed slightly (see `muscle_lengths`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.control.transmission import Transmission
from robosim.description.actuator import Actuator
from robosim.description.mechanism import Mechanism
from robosim.description.muscle import Activation, Muscle
from robosim.errors import ModelError
from robosim.loaders.mjcf.actuator_defaults import MUSCLE_CURVES, MUSCLE_RANGE, MUSCLE_TIMES
from robosim.loaders.mjcf.compiler import Compiler
from robosim.loaders.mjcf.muscle_lengths import extremes
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.notes import Notes

Array = NDArray[np.float64]

# Placeholder until the mechanism exists, from which lengths and forces of muscles follow.
PENDING = Muscle(1.0, (0.0, 1.0))
_N_GAIN = 2 + len(MUSCLE_CURVES)  # numbers of gainprm that describe a muscle
_UNUSED = 1  # MuJoCo allows as many after these
_READ = ("integrator", "filter", "filterexact", "muscle")
_DYNAMICS = ("none", *_READ, "user", "dcmotor", "pid")


@dataclass(frozen=True)
class MuscleSpec:
    """A muscle in a file.

    Attributes
    ----------
    node : Node
    parameters : (9,)
        MuJoCo's gainprm.
    length_range : (2,) or None
        None if it follows from the limits of the joints.
    """

    node: Node
    parameters: Array
    length_range: Array | None


def is_muscle(node: Node) -> bool:
    """Whether an actuator is a muscle."""
    kinds = (node.attributes.get("gaintype"), node.attributes.get("biastype"))
    return node.tag == "muscle" or (node.tag == "general" and "muscle" in kinds)


def read_muscle(node: Node) -> MuscleSpec:
    """The data of a muscle's element.

    Raises
    ------
    LoadError
        For a general actuator of which only gain or bias is a muscle, or with different ones.
    """
    if node.tag == "muscle":
        values = [node.number(what, default) for what, default in MUSCLE_CURVES.items()]
        ends = node.some_numbers("range", _default(MUSCLE_RANGE), fill=True)
        parameters = np.array((*ends, *values))
    else:
        parameters, other = (
            node.some_numbers(what, np.zeros(_N_GAIN + _UNUSED), fill=True)[:_N_GAIN]
            for what in ("gainprm", "biasprm")
        )
        kinds = {node.attributes.get(what) for what in ("gaintype", "biastype")}
        if kinds != {"muscle"} or not np.array_equal(parameters, other):
            raise node.error("has a muscle in only one of gain and bias, or different ones in both")
    given = node.some_numbers("lengthrange", (0.0, 0.0), fill=True)
    return MuscleSpec(node, parameters, given if np.any(given) else None)


def _default(text: str) -> Array:
    return np.array(text.split(), dtype=float)


def read_activation(node: Node, compiler: Compiler, notes: Notes, name: str) -> Activation | None:
    """The activation dynamics between the control of an actuator and its force.

    Raises
    ------
    LoadError
        For invalid times, or an invalid range.
    """
    constants = node.some_numbers("dynprm", (1.0, 0.0, 0.0))
    kind = "none"
    match node.tag:
        case "muscle":
            times = node.some_numbers("timeconst", _default(MUSCLE_TIMES), fill=True)
            kind, constants = "muscle", np.array((*times, node.number("tausmooth", 0.0)))
        case "intvelocity":
            kind = "integrator"
        case "cylinder":
            kind, constants = "filter", node.some_numbers("timeconst", 1.0)
        case "position" if node.number("timeconst", 0.0) > 0:
            kind, constants = "filterexact", node.some_numbers("timeconst")
        case "general":
            kind = node.choice("dyntype", _DYNAMICS, "none")
    if kind == "none":
        return None
    if kind not in _READ:
        notes.add("actuators act at once, without the activation that the file gives them", name)
        return None
    constants = np.append(constants, np.zeros(3))[:3]
    if np.any(constants < 0):
        raise node.error(f"times must not be negative, not {constants.tolist()}")
    ends = -np.inf, np.inf
    # MuJoCo ignores whether the range of an integrated velocity is enabled.
    always = node.tag == "intvelocity" and node.has("actrange")
    if always or node.limited("actlimited", "actrange", compiler.autolimits):
        ends = node.ends("actrange")
        if ends[0] >= ends[1]:
            raise node.error("'actrange' must be from a lower to a higher number")
    a, b, c = (float(value) for value in constants)
    return Activation(kind, (a, b, c), ends, node.flag("actearly", False))


def with_muscles(
    mechanism: Mechanism, specs: Mapping[str, MuscleSpec], reference: ArrayLike, notes: Notes
) -> Mechanism:
    """The mechanism with muscles for those actuators that are muscles.

    Raises
    ------
    LoadError
        For invalid numbers.
    """
    if not specs:
        return mechanism
    q0 = np.array(reference, dtype=float)
    transmission = Transmission(mechanism)
    inertia = inertia_at(mechanism, q0)
    actuators: list[Actuator] = []
    for actuator in mechanism.actuators:
        if actuator.name not in specs:
            actuators.append(actuator)
            continue
        spec = specs[actuator.name]
        lengths = spec.length_range
        if lengths is None:
            lengths = extremes(transmission, actuator, q0)
            if lengths is None:
                notes.add("muscles without a lengthrange whose length has no limits are left out",
                          actuator.name)  # fmt: skip
                continue
            notes.add("muscles without a lengthrange get it from hard limits", actuator.name)
        transmission.move_to(q0, np.zeros(mechanism.nv))
        arms = transmission.of(actuator)[2]
        at_unit_force = float(np.linalg.norm(np.linalg.solve(inertia, arms)))
        low, high, force, scale, *curve = spec.parameters.tolist()
        if force < 0:
            force = scale / max(at_unit_force, 1e-15)
        try:
            ends = float(lengths[0]), float(lengths[1])
            muscle = Muscle(force, ends, (low, high), *curve)
        except ModelError as error:
            raise spec.node.error(str(error)) from None
        actuators.append(replace(actuator, muscle=muscle))
    return replace(mechanism, actuators=tuple(actuators))


def inertia_at(mechanism: Mechanism, q: Array) -> Array:
    """Mass matrix (nv, nv) at q (nq,), with rotors and tendons.

    Raises
    ------
    ModelError
        If it is singular, for example with very different masses.
    """
    # Imported here, so that numba is imported only when needed.
    from robosim.kinematics.kinematics import mass_matrix

    M = mass_matrix(mechanism, q)
    try:
        invertible = bool(np.all(np.isfinite(np.linalg.inv(M))))
    except np.linalg.LinAlgError:
        invertible = False
    if not invertible:
        raise ModelError(
            "the mass matrix at the reference has no inverse: masses and inertias are too far "
            "apart, or too large",
            element=f"mechanism '{mechanism.name}'",
        )
    return M
