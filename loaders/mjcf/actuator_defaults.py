"""Defaults of actuators, which all kinds share: inheritance between kinds.

All kinds are forms of <general>, and a default class has one actuator, of the kind that was given
last. An element of the same kind inherits its attributes. <general> inherits the gain, bias and
dynamics for which these stand. From <general>, other kinds inherit the gain, and the bias that they
have themselves; <muscle> inherits gain and dynamics if <general> has the gain of a muscle. Between
two other kinds nothing of this is inherited, except from outer classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

KIND = "#kind"  # kind of the actuator in a class, stored with its attributes
_GENERAL = ("gaintype", "gainprm", "biastype", "biasprm", "dyntype", "dynprm")
# Attributes of a muscle's gain -> default, in the order of gainprm, where the range is before them.
MUSCLE_CURVES = {"force": -1.0, "scale": 200.0, "lmin": 0.5, "lmax": 1.6, "vmax": 1.5,
                 "fpmax": 1.3, "fvmax": 1.2}  # fmt: skip
MUSCLE_RANGE = "0.75 1.05"
MUSCLE_TIMES = "0.01 0.04"
# Attributes of gain, bias and dynamics for each known kind.
_OWN = {
    "general": _GENERAL,
    "motor": (),
    "position": ("kp", "kv", "dampratio", "timeconst"),
    "intvelocity": ("kp", "kv", "dampratio"),
    "velocity": ("kv",),
    "damper": ("kv",),
    "cylinder": ("area", "diameter", "bias", "timeconst"),
    "muscle": ("range", *MUSCLE_CURVES, "timeconst", "tausmooth"),
    "adhesion": ("gain",),
    "dcmotor": (
        "motorconst",
        "resistance",
        "nominal",
        "inductance",
        "saturation",
        "cogging",
        "controller",
        "thermal",
        "lugre",
        "input",
    ),
    "pid": (
        "kp", "ki", "kv", "dampratio", "imax", "slewmax", "input", "posrange", "velrange",
        "ffrange",
    ),
}  # fmt: skip


def inherited(classes: Sequence[Mapping[str, str]], kind: str) -> dict[str, str]:
    """Attributes that an actuator inherits from its class and outer ones, the innermost first.

    Attributes of the gain come from the first class with one of its kind, or with a <general>.
    """
    base = classes[0]
    attributes, other = _without_kind(base), base.get(KIND, kind)
    if other == kind == "dcmotor":
        return _settled_motor(classes, attributes)
    if other == kind or other not in _OWN or kind not in _OWN:
        return attributes
    kept = {key: value for key, value in attributes.items() if key not in _OWN[other]}
    if kind == "general":
        return kept | _as_general(other, attributes)
    for around in classes:
        found = around.get(KIND, kind)
        if found == kind:
            return kept | {key: around[key] for key in _OWN[kind] if key in around}
        if found == "general":
            return kept | _of_general(kind, around)
    return kept


_CONSTANTS = {"motorconst": 2, "nominal": 3, "resistance": 1}


def motor_constants(
    given: Sequence[float], nominal: Sequence[float], resistance: float
) -> tuple[float, float]:
    """Motor constant and resistance of a <dcmotor>; 0 where nothing tells them.

    Parameters
    ----------
    given : (2,)
        Constants of torque and back-EMF, whose geometric mean counts; 0 for one that is not given.
    nominal : (3,)
        Voltage, and with it stall torque and speed without load.
    resistance : float
    """
    torque, emf = given
    voltage, stall, free = nominal
    if emf == 0 and free > 0:
        emf = voltage / free
    K = float(np.sqrt((torque or emf) * (emf or torque)))
    return K, resistance or (K * float(voltage / stall) if stall > 0 else 0.0)


def _settled_motor(
    classes: Sequence[Mapping[str, str]], attributes: Mapping[str, str]
) -> dict[str, str]:
    """Attributes of a motor's class, with the constants that follow from each class in turn.

    MuJoCo keeps the constants of a class, and no nominal values.
    """
    settled: dict[str, str] = {}
    before: Mapping[str, str] = {}
    for around in reversed(classes):
        own = {name: around[name] for name in _CONSTANTS
               if name in around and around[name] != before.get(name)}  # fmt: skip
        if around.get(KIND) != "dcmotor" or not own:
            continue
        before, values = around, settled | own
        try:
            numbers = {name: [float(word) for word in values.get(name, "").split()]
                       for name in _CONSTANTS}  # fmt: skip
        except ValueError:
            return dict(attributes)  # told where an actuator is read
        given, nominal, (resistance, *_) = (
            [*numbers[name], 0.0, 0.0, 0.0][: max(size, 1)] for name, size in _CONSTANTS.items()
        )
        K, R = motor_constants(given, nominal, resistance)
        settled = {"motorconst": _text(K), "resistance": _text(R)}
    kept = {name: value for name, value in attributes.items() if name not in _CONSTANTS}
    return kept | settled


def _without_kind(base: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in base.items() if key != KIND}


def _as_general(kind: str, given: Mapping[str, str]) -> dict[str, str]:
    """Gain, bias and dynamics of a kind, as attributes of <general>."""

    def number(name: str, default: float) -> float:
        return float(given.get(name, default))

    if kind in ("position", "intvelocity"):
        kp = number("kp", 1.0)
        bias = (0.0, -kp, number("dampratio", 0.0) or -number("kv", 0.0))
        out = {"gainprm": _text(kp), "biastype": "affine", "biasprm": _text(*bias)}
        if kind == "intvelocity":
            return out | {"dyntype": "integrator"}
        time = number("timeconst", 0.0)
        return out | ({"dyntype": "filterexact", "dynprm": _text(time)} if time else {})
    if kind == "velocity":
        kv = number("kv", 1.0)
        return {"gainprm": _text(kv), "biastype": "affine", "biasprm": _text(0.0, 0.0, -kv)}
    if kind == "damper":
        return {"gaintype": "affine", "gainprm": _text(0.0, 0.0, -number("kv", 0.0))}
    if kind == "cylinder":
        area = number("area", 1.0)
        if "diameter" in given:
            area = np.pi / 4 * number("diameter", 0.0) ** 2
        out = {"gainprm": _text(area), "biastype": "affine", "biasprm": given.get("bias", "0 0 0")}
        return out | {"dyntype": "filter", "dynprm": given.get("timeconst", "1")}
    if kind == "adhesion":
        return {"gainprm": _text(number("gain", 1.0))}
    if kind in ("dcmotor", "pid"):
        return dict.fromkeys(("gaintype", "biastype", "dyntype"), kind)
    if kind == "muscle":
        curves = _text(*(number(*curve) for curve in MUSCLE_CURVES.items()))
        gain = f"{given.get('range', MUSCLE_RANGE)} {curves}"
        times = f"{given.get('timeconst', MUSCLE_TIMES)} {given.get('tausmooth', '0')}"
        types = dict.fromkeys(("gaintype", "biastype", "dyntype"), "muscle")
        return types | {"gainprm": gain, "biasprm": gain, "dynprm": times}
    return {}


def _of_general(kind: str, given: Mapping[str, str]) -> dict[str, str]:
    """Gain, bias and dynamics of a <general>, as attributes of another kind."""
    type_of_gain = given.get("gaintype", "fixed")
    if kind == "muscle" == type_of_gain:
        return _of_general_muscle(given)
    if type_of_gain != "fixed":
        return {}
    gain = given.get("gainprm", "1").split()[0]
    bias = [*given.get("biasprm", "").split(), "0", "0", "0"][:3]
    if kind in ("position", "intvelocity"):
        return {"kp": gain} | ({"kv": _text(-float(bias[2]))} if float(bias[2]) else {})
    if kind == "velocity":
        return {"kv": gain}
    if kind == "cylinder":
        time = {"timeconst": given["dynprm"].split()[0]} if "dynprm" in given else {}
        return {"area": gain, "bias": " ".join(bias)} | time
    return {}


def _of_general_muscle(given: Mapping[str, str]) -> dict[str, str]:
    """Gain and dynamics of a <general> that is a muscle, as attributes of <muscle>."""
    gain, times = given.get("gainprm", "").split(), given.get("dynprm", "").split()
    out = dict(zip(MUSCLE_CURVES, gain[2:], strict=False))
    for name, values in (("range", gain[:2]), ("timeconst", times[:2]), ("tausmooth", times[2:3])):
        if values:
            out[name] = " ".join(values)
    return out


def _text(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)
