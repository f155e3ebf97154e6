"""URDF <mimic> as couplings: ``q = multiplier * q_source + offset``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robosim.description.joint import Joint
from robosim.description.springs import Coupling
from robosim.errors import LoadError

# Difference by which limits of a mimic joint may be narrower without a warning [rad or m].
_NARROWER = 1e-6


def couple(
    robot: Any, joints: Sequence[Joint], warnings: list[str]
) -> tuple[tuple[Joint, ...], tuple[Coupling, ...]]:
    """The joints, with mimic joints that have no limits and no actuator, and the couplings.

    A mimic joint is moved by its source, whose limits count for both. In published files, a mimic
    joint's limits only repeat or contradict those. A mimic of a fixed joint has no effect.

    Parameters
    ----------
    robot : yourdfpy robot
    joints : sequence of Joint
        The joints for the file's moving joints.
    warnings : list of str
        Receives warnings about unknown sources, and about ignored limits.

    Raises
    ------
    LoadError
        For joints that mimic each other in a cycle, or a source with several coordinates.
    """
    ours = {joint.name: joint for joint in joints}
    known = {joint.name for joint in robot.joints}
    mimics = {j.name: j.mimic for j in robot.joints if j.mimic is not None and j.name in ours}
    lost = [name for name, mimic in mimics.items() if mimic.joint not in known]
    if lost:
        missing = ", ".join(dict.fromkeys(mimics[name].joint for name in lost))
        warnings.append(
            f"mimic joints move on their own, as what they mimic ({missing}) does not exist: "
            f"{', '.join(lost)}"
        )
    couplings = [_coupling(ours, name, mimics[name]) for name in mimics if name not in lost]
    _refuse_circle({coupling.joint: coupling.source for coupling in couplings})
    given_up = [c.joint for c in couplings if _narrower(ours[c.joint], ours[c.source], c)]
    if given_up:
        warnings.append(
            "mimic joints go as far as the limits of the joint that they follow, which is farther "
            f"than their own: {', '.join(given_up)}"
        )
    for coupling in couplings:
        led = ours[coupling.joint]
        ours[led.name] = replace(led, lower=None, upper=None, actuated=False)
    return tuple(ours.values()), tuple(couplings)


def _coupling(joints: dict[str, Joint], name: str, mimic: Any) -> Coupling:
    element = f"joint '{name}': <mimic>"
    if mimic.joint not in joints:
        raise LoadError(
            f"joint '{mimic.joint}' is fixed; make '{name}' fixed as well", element=element
        )
    for joint in (joints[name], joints[mimic.joint]):
        if joint.nv != 1:
            raise LoadError(
                f"needs joints with a single coordinate; '{joint.name}' is '{joint.kind}'",
                element=element,
            )
    if mimic.joint == name:
        raise LoadError("a joint cannot mimic itself", element=element)
    ratio = 1.0 if mimic.multiplier is None else float(mimic.multiplier)
    return Coupling(name, name, mimic.joint, ratio, float(mimic.offset or 0.0))


def _refuse_circle(source: dict[str, str]) -> None:
    for name in source:
        trail = [name]
        while trail[-1] in source:
            trail.append(source[trail[-1]])
            if trail[-1] == name:
                raise LoadError(
                    f"joints mimic each other in a circle: {' -> '.join(trail)}",
                    element=f"joint '{name}': <mimic>",
                )
            if trail[-1] in trail[:-1]:
                break  # a cycle without this joint; reported at one of its own joints


def _narrower(led: Joint, source: Joint, coupling: Coupling) -> bool:
    """Whether the limits of a mimic joint exclude values that its source's limits allow."""
    # 0 * inf: a joint with a multiplier of zero has no range.
    ends = np.array([np.asarray(source.lower)[0], np.asarray(source.upper)[0]])
    reach = (coupling.ratio * ends if coupling.ratio else np.zeros(2)) + coupling.offset
    low, high = np.asarray(led.lower)[0], np.asarray(led.upper)[0]
    return bool(reach.min() < low - _NARROWER or reach.max() > high + _NARROWER)
