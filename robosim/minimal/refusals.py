"""Elements that integrators in joint coordinates do not support, refused by name in advance."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from robosim.description.inertias import unturnable
from robosim.description.massless import idle_ends
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, OptionError

IGNORABLE = ("contacts", "limits", "friction")
INSTEAD = "use robosim.Simulation, which has it"


def check_robot(robot: Mechanism, ignore: Collection[str]) -> None:
    """Refuse unsupported elements; contacts, limits and dry friction unless ignored.

    Raises
    ------
    OptionError
        For names that are not in IGNORABLE.
    ModelError
        For an element that is not supported, with its name.
    """
    check_ignored(ignore)
    for element, what, name in resisting(robot):
        if name not in ignore:
            raise ModelError(
                f"{what}, which minimal coordinates do not have: leave it out by "
                f"ignore=({name!r},), or {INSTEAD}",
                element=element,
            )
    for element, what in (*loop_extras(robot), *_unsupported(robot)):
        raise ModelError(
            f"{what}, which minimal coordinates do not have: {INSTEAD}", element=element
        )
    check_inertias(robot)


def check_ignored(ignore: Collection[str]) -> None:
    """Refuse names that are not in IGNORABLE."""
    if isinstance(ignore, str) or not set(ignore) <= set(IGNORABLE):
        raise OptionError(f"ignore takes names among {', '.join(IGNORABLE)}, not {ignore!r}")


def check_inertias(robot: Mechanism) -> None:
    """Refuse bodies with impossible inertias, and massless links at the ends of moving joints."""
    for body in unturnable(robot):
        raise ModelError(
            "inertia must be positive definite to be simulated; its principal moments are "
            f"{body.principal_moments.tolist()}: correct it, or use "
            "robosim.Simulation(robot, impossible_inertia='ball')",
            element=f"body '{body.name}'",
        )
    for name in idle_ends(robot):
        raise ModelError(
            "has no mass, but hangs on a moving joint: give it an <inertial>, or use "
            "robosim.Simulation(robot, massless='lock')",
            element=f"link '{name}'",
        )


def resisting(robot: Mechanism) -> Iterator[tuple[str, str, str]]:
    """Elements that act by inequalities: (element, description, name in IGNORABLE)."""
    rigid = robot.rigid_groups
    for contact in robot.contacts:
        if rigid[contact.body] is not None:
            yield f"contact '{contact.name}'", "can touch the ground", "contacts"
    for (a, _), (b, _) in robot.touching_shapes():
        names = [None if i is None else robot.bodies[i].name for i in (a, b)]
        other = "an obstacle" if None in names else f"body '{names[1]}'"
        first = next(name for name in names if name is not None)
        yield f"body '{first}'", f"can touch {other}", "contacts"
    for joint in robot.joints:
        angles = (joint.cone, joint.largest_turn)
        bounds = np.concatenate((np.asarray(joint.lower), np.asarray(joint.upper), angles))
        if np.any(np.isfinite(bounds)):
            yield f"joint '{joint.name}'", "has limits", "limits"
        if np.any(joint.per_coordinate("friction") > 0):
            yield f"joint '{joint.name}'", "has dry friction", "friction"
        if joint.bearing is not None:
            yield f"joint '{joint.name}'", "has a bearing", "friction"


def bouncing_limits(robot: Mechanism) -> Iterator[tuple[str, str]]:
    """Joints and tendons whose limits have restitution or springs: (element, description)."""
    for joint in robot.joints:
        if joint.limit_stiffness is not None and joint.resists:
            yield f"joint '{joint.name}'", "has compliant limits"
        if joint.limit_restitution > 0 and joint.resists:
            yield f"joint '{joint.name}'", "has limits with restitution"
    for tendon in robot.tendons:
        if tendon.limit_stiffness is not None and tendon.resists:
            yield f"tendon '{tendon.name}'", "has compliant limits"


def check_integrator(robot: Mechanism, integrator: str, order: int) -> None:
    """Refuse loops and couplings unless the integrator has multipliers, and rotors of rotations.

    Raises
    ------
    ModelError
        For the first such element.
    """
    for element, what in turning_rotors(robot) if integrator != "galerkin" else ():
        raise ModelError(
            f"{what}, which integrator='{integrator}' does not have: use integrator='galerkin', or "
            "robosim.Simulation",
            element=element,
        )
    if integrator != "riqn" and order == 2:
        return
    asked = f"integrator='{integrator}'" + (f" of order {order}" if order > 2 else "")
    for element, what in _closing(robot):
        raise ModelError(
            f"{what}, which {asked} does not have: use integrator='newton' or 'galerkin' of order "
            "2, or robosim.Simulation",
            element=element,
        )


def _closing(robot: Mechanism) -> Iterator[tuple[str, str]]:
    """Elements that constrain coordinates: (element, description)."""
    for joint in robot.loop_joints:
        yield f"joint '{joint.name}'", "closes a loop"
    for coupling in robot.couplings:
        yield f"joint '{coupling.joint}'", f"is coupled to '{coupling.source}'"


def loop_extras(robot: Mechanism) -> Iterator[tuple[str, str]]:
    """Unsupported properties of joints that close loops: (element, description)."""
    loops = {joint.name for joint in robot.loop_joints}
    for joint in robot.loop_joints:
        what = "closes a loop and "
        if joint.own_chart is not None:
            yield f"joint '{joint.name}'", what + "is a chart"
        for name in ("stiffness", "damping", "armature"):
            if np.any(joint.per_coordinate(name) != 0):
                yield f"joint '{joint.name}'", what + f"has {name}"
        if any(one is not None for one in joint.potentials):
            yield f"joint '{joint.name}'", what + "has a potential"
        if any(joint.has_motor):
            yield f"joint '{joint.name}'", what + "is actuated"
    for coupling in robot.couplings:
        for name in {coupling.joint, coupling.source} & loops:
            yield f"joint '{name}'", "closes a loop and is coupled"


def turning_rotors(robot: Mechanism) -> Iterator[tuple[str, str]]:
    """Joints of the tree with armature of a free rotation: (element, description)."""
    for joint in robot.tree_joints:
        if joint.has_quaternion and np.any(joint.per_coordinate("armature")[joint.numbers :]):
            yield f"joint '{joint.name}'", "has armature of a free rotation"


def _unsupported(robot: Mechanism) -> Iterator[tuple[str, str]]:
    """Motions, elements between points, implicit laws of length, and charts that are no chain."""
    for joint in robot.joints:
        if joint.motion is not None:
            yield f"joint '{joint.name}'", "is driven along a motion"
    for tendon in robot.tendons:
        yield f"tendon '{tendon.name}'", "is a tendon"
    for mesh in robot.soft_meshes:
        yield f"soft '{mesh.name}'", "is elastic"
    for spring in robot.springs:
        yield f"spring '{spring.name}'", "acts between points"
    for actuator in robot.actuators:
        if actuator.implicit:
            yield f"actuator '{actuator.name}'", "is implicit"
    for joint in robot.tree_joints:
        if joint.own_chart is not None and not joint.own_chart.is_chain:
            yield f"joint '{joint.name}'", "is a chart by a rotation vector or a spline"
