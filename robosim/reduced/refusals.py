"""Elements that the reduced formulation does not support, refused by name in advance."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import obstacle_name
from robosim.description.tendon import Point
from robosim.errors import ModelError
from robosim.minimal.refusals import (
    INSTEAD,
    bouncing_limits,
    check_ignored,
    check_inertias,
    loop_extras,
    resisting,
    turning_rotors,
)
from robosim.reduced.contacts import lacking


def check_robot(
    robot: Mechanism, ignore: Collection[str], method: str, coordinates: str, contacts: str | None
) -> None:
    """Refuse unsupported elements; contacts, limits and dry friction unless ignored.

    Raises
    ------
    OptionError
        For names that are not in IGNORABLE.
    ModelError
        For an element that is not supported, with its name.
    """
    check_ignored(ignore)
    plain = method == "euler" and coordinates == "reduced"
    for element, what, name in resisting(robot):
        if name in ignore or (name == "limits" and _are_taken(robot, element, method)):
            continue
        if what == "has a bearing" and plain:
            continue
        where = f"ReducedSimulation(method='{method}')"
        instead = f"leave it out by ignore=({name!r},), or {INSTEAD}"
        if what == "has a bearing":
            where = f"ReducedSimulation(method='{method}', coordinates='{coordinates}')"
        elif name == "contacts":
            if contacts is not None:
                continue
            instead = f"choose contacts='single' or 'staggered', {instead}"
        raise ModelError(f"{what}, which {where} does not have: {instead}", element=element)
    if plain and "friction" not in ignore:
        _check_bearings(robot)
    bouncing = () if "limits" in ignore else bouncing_limits(robot)
    for element, what in (*_unsupported(robot, contacts), *loop_extras(robot), *bouncing):
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
        if coordinates == "maximal" and np.any(joint.per_coordinate("armature")):
            raise ModelError(
                "has armature, which coordinates='maximal' does not have: use "
                "coordinates='reduced'",
                element=f"joint '{joint.name}'",
            )
    check_inertias(robot)


def _unsupported(robot: Mechanism, contacts: str | None) -> Iterator[tuple[str, str]]:
    """Elements, and properties of contact points and shapes, that [Sueda] does not have."""
    for contact in robot.contacts if contacts is not None else ():
        for what in lacking(contact):
            yield f"contact '{contact.name}'", what
    for sides in robot.touching_shapes() if contacts is not None else ():
        for body, shape in sides:
            for what in lacking(shape):
                own = obstacle_name(shape) if body is None else robot.bodies[body].name
                yield f"{'obstacle' if body is None else 'body'} '{own}'", what
    for mesh in robot.soft_meshes:
        yield f"soft '{mesh.name}'", "is elastic"
    yield from turning_rotors(robot)


def _check_bearings(robot: Mechanism) -> None:
    """Refuse bearings if a body has no mass: Alg. 8 computes a step of bodies without joints."""
    if any(joint.bearing is not None for joint in robot.joints):
        for body in robot.bodies:
            if body.carrier:
                raise ModelError(
                    "has no mass, by which a bearing's load is found [Sueda, Eq. 2.117]: give it "
                    f"some, leave bearings out by ignore=('friction',), or {INSTEAD}",
                    element=f"body '{body.name}'",
                )


def _are_taken(robot: Mechanism, element: str, method: str) -> bool:
    """Whether limits are supported: those of plain coordinates with "euler", or ends of splines."""
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
