"""What the reduced formulation does not take, refused by name before anything runs."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Point
from robosim.errors import ModelError, OptionError
from robosim.minimal.refusals import IGNORABLE, INSTEAD, check_inertias, loop_extras, resisting


def check_robot(robot: Mechanism, ignore: Collection[str], method: str, coordinates: str) -> None:
    """Refuse what the equations do not have; contacts, limits and dry friction unless ignored.

    Raises
    ------
    OptionError
        For names that are not in IGNORABLE.
    ModelError
        With the element that is not taken.
    """
    if isinstance(ignore, str) or not set(ignore) <= set(IGNORABLE):
        raise OptionError(f"ignore takes names among {', '.join(IGNORABLE)}, not {ignore!r}")
    for element, what, name in resisting(robot):
        if name == "limits" and _are_taken(robot, element, method):
            continue
        if name not in ignore:
            raise ModelError(
                f"{what}, which ReducedSimulation(method='{method}') does not have: leave it out "
                f"by ignore=({name!r},), or {INSTEAD}",
                element=element,
            )
    for element, what in loop_extras(robot):
        raise ModelError(
            f"{what}, which the reduced formulation does not have: {INSTEAD}", element=element
        )
    for joint in robot.loop_joints:
        if joint.motion is not None:
            raise ModelError(
                "closes a loop and is driven along a motion, which the reduced formulation does "
                f"not have: drive a joint of the tree, or {INSTEAD}",
                element=f"joint '{joint.name}'",
            )
    for tendon in robot.tendons:
        straight = all(isinstance(part, Point) for part in tendon.path)
        if tendon.resists or not straight:
            does = "is more than a straight path from point to point" if not straight else "resists"
            raise ModelError(
                f"{does}, which tendons of the reduced formulation do not: {INSTEAD}",
                element=f"tendon '{tendon.name}'",
            )
    for joint in robot.tree_joints:
        free = slice(joint.numbers, None) if joint.has_quaternion else slice(0, 0)
        rotors = joint.per_coordinate("armature") != 0
        if np.any(rotors[free]):
            raise ModelError(
                "has armature of a free rotation, which the reduced formulation does not have: "
                f"{INSTEAD}",
                element=f"joint '{joint.name}'",
            )
        if coordinates == "maximal" and np.any(rotors):
            raise ModelError(
                "has armature, which coordinates='maximal' does not have: use "
                "coordinates='reduced'",
                element=f"joint '{joint.name}'",
            )
    check_inertias(robot)


def _are_taken(robot: Mechanism, element: str, method: str) -> bool:
    """Whether limits are those of plain coordinates, which "euler" has, or the ends of a spline."""
    for joint in robot.tree_joints:
        if f"joint '{joint.name}'" == element:
            if np.isfinite(joint.cone) or np.isfinite(joint.largest_turn):
                return False
            ends = (np.full(joint.nv, -np.inf), np.full(joint.nv, np.inf))
            if joint.own_chart is not None:
                ends = joint.own_chart.limits()
            own = np.asarray(joint.lower), np.asarray(joint.upper)
            return method == "euler" or np.array_equal(own, ends)
    return False
