"""Defaults of actuators, which all kinds share: what one kind inherits from another.

All kinds are forms of <general>, and a default class has one actuator, of the kind that was given
last. An element of the same kind takes its attributes; <general> takes the gain, bias and dynamics
that they stand for; and of <general> others take its gain, and what bias they have themselves.
Between two other kinds nothing of that is handed on, but by the classes around one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

KIND = "#kind"  # of the actuator in a class, beside its attributes
_GENERAL = ("gaintype", "gainprm", "biastype", "biasprm", "dyntype", "dynprm")
# What gains, biases and dynamics are made of in each kind that robosim knows.
_OWN = {
    "general": _GENERAL,
    "motor": (),
    "position": ("kp", "kv", "dampratio", "timeconst"),
    "intvelocity": ("kp", "kv", "dampratio"),
    "velocity": ("kv",),
    "damper": ("kv",),
    "cylinder": ("area", "diameter", "bias", "timeconst"),
}


def inherited(classes: Sequence[Mapping[str, str]], kind: str) -> dict[str, str]:
    """What an actuator of some kind has of its class; of others around it, the innermost first.

    What makes up its gain comes from the first class that has one of its kind, or a <general>.
    """
    base = classes[0]
    attributes, other = _without_kind(base), base.get(KIND, kind)
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


def _without_kind(base: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in base.items() if key != KIND}


def _as_general(kind: str, given: Mapping[str, str]) -> dict[str, str]:
    """Gain, bias and dynamics of a kind, as the attributes of <general>."""

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
    return {}


def _of_general(kind: str, given: Mapping[str, str]) -> dict[str, str]:
    """What another kind has of a gain, a bias and dynamics, as attributes of its own."""
    if given.get("gaintype", "fixed") != "fixed":
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


def _text(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)
