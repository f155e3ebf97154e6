"""URDF <mimic> to couplings: ``q = multiplier * q_source + offset``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robosim.description.joint import Joint
from robosim.description.springs import Coupling
from robosim.errors import LoadError

# How much narrower a mimic joint's own limits may be before it is told [rad or m].
_NARROWER = 1e-6


def couple(
    robot: Any, joints: Sequence[Joint], warnings: list[str]
) -> tuple[tuple[Joint, ...], tuple[Coupling, ...]]:
    """The joints, those that mimic without limits and actuator of their own, and the couplings.

    A joint that mimics is moved by its source, whose limits hold for both: in published files its
    own ones merely repeat them, or contradict them. A fixed joint has nothing to mimic with.

    Parameters
    ----------
    robot : yourdfpy robot
    joints : sequence of Joint
        Those that the file's moving joints have become.
    warnings : list of str
        Gets a sentence for a source that does not exist, and for limits that are given up.

    Raises
    ------
    LoadError
        For joints that mimic each other in a circle, or a source without a single coordinate.
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
                break  # a circle that this joint only leads to; told at a joint of it


def _narrower(led: Joint, source: Joint, coupling: Coupling) -> bool:
    """Whether the limits of a mimic joint exclude some of what its source's allow."""
    # 0 * inf: a joint that is held by a multiplier of zero has no range.
    ends = np.array([np.asarray(source.lower)[0], np.asarray(source.upper)[0]])
    reach = (coupling.ratio * ends if coupling.ratio else np.zeros(2)) + coupling.offset
    low, high = np.asarray(led.lower)[0], np.asarray(led.upper)[0]
    return bool(reach.min() < low - _NARROWER or reach.max() > high + _NARROWER)
