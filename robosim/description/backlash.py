"""Backlash: a play between a motor with its gears, and the link that it drives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real

import numpy as np

from robosim import quaternions
from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.errors import ModelError
from robosim.validation import Array

# A gear's output has this share of the mass and inertia of its link, as links without mass have.
_SHARE = 1e-3


def with_backlash(
    robot: Mechanism, plays: Mapping[str, float], restitution: float = 0.0
) -> Mechanism:
    """A copy of the mechanism in which links have a play behind the gears that drive them.

    The joint of a link becomes two. The first is the joint as it was, with its name, motor, rotor,
    limits and friction. The second is free, ``NAME_play``, with hard limits at plus and minus half
    the play. The coordinate of the first is the angle that an encoder at the motor measures. The
    angle of the link is the sum of both. Elements that name the joint belong to the motor:
    sensors, actuators, tendons and couplings. In between is a carrier, a body with little mass.

    Parameters
    ----------
    robot : Mechanism
    plays : mapping of a joint's name to a float [rad or m]
        How far the link moves while its motor is held.
    restitution : float, 0 to 1
        Of the impacts at both ends of the play.

    Raises
    ------
    ModelError
        For an unknown joint, or one that is no hinge or slide, closes a loop, has a prescribed
        motion or no armature. For a play that is not positive and finite.
    """
    if not plays:
        return robot
    known = {joint.name: joint for joint in robot.tree_joints}
    for name, play in plays.items():
        _check(robot, known, name, play)
    masses = {body.name: body for body in robot.bodies}
    taken = {*known, *masses, *(frame.name for _, frame in robot.frames())}
    bodies, joints = list[Body](), list[Joint]()
    behind: dict[str, str] = {}
    for joint in robot.tree_joints:
        link = masses[joint.child]
        if joint.name in plays:
            gear = free_name(f"{joint.name}_gear", taken)
            behind[joint.name] = free_name(f"{joint.name}_play", taken)
            taken |= {gear, behind[joint.name]}
            inertia = _SHARE * np.trace(np.asarray(link.inertia)) / 3 * np.eye(3)
            bodies.append(Body(gear, _SHARE * link.mass, inertia, carrier=True))
            joints += _divided(joint, gear, behind[joint.name], plays[joint.name], restitution)
        else:
            joints.append(joint)
        bodies.append(link)
    made = replace(
        robot, bodies=tuple(bodies), joints=(*joints, *robot.loop_joints), home=None,
        configurations={},
    )  # fmt: skip
    return replace(
        made,
        home=_placed(robot, made, np.asarray(robot.home), set(behind.values())),
        configurations={
            name: _placed(robot, made, np.asarray(q), set(behind.values()))
            for name, q in robot.configurations.items()
        },
    )


def _check(robot: Mechanism, known: Mapping[str, Joint], name: str, play: float) -> None:
    element = f"joint '{name}'"
    if name not in known:
        loops = [joint.name for joint in robot.loop_joints]
        told = "closes a loop, where" if name in loops else "is not there:"
        raise ModelError(
            f"{told} no play can be", element=element, alternatives=tuple(known), wanted=name
        )
    joint = known[name]
    if joint.kind not in ("revolute", "prismatic"):
        raise ModelError(f"is '{joint.kind}', and a play needs a hinge or a slide", element=element)
    if joint.motion is not None:
        raise ModelError("follows a motion, which has no play", element=element)
    is_number = isinstance(play, Real) and not isinstance(play, bool)
    if not is_number or not np.isfinite(play) or play <= 0:
        raise ModelError(f"must have a play above zero, not {play!r}", element=element)
    if not np.all(np.asarray(joint.armature) > 0):
        raise ModelError(
            "has no armature, and without a rotor nothing stands against its motor within the play",
            element=element,
        )


def _divided(
    joint: Joint, gear: str, name: str, play: float, restitution: float
) -> tuple[Joint, Joint]:
    """A joint up to its gears, and the play behind these, in the axes of the link."""
    free = Joint(
        name,
        joint.kind,
        gear,
        joint.child,
        axis=joint.axis,
        child_position=joint.child_position,
        offset=quaternions.IDENTITY,
        lower=(-play / 2,),
        upper=(play / 2,),
        limit_restitution=restitution,
        actuated=False,
    )
    return replace(joint, child=gear, child_position=(0.0, 0.0, 0.0)), free


def _placed(robot: Mechanism, made: Mechanism, q: Array, plays: Iterable[str]) -> Array:
    """Coordinates (nq,) with plays in the middle."""
    values = dict(zip(robot.q_names, q.tolist(), strict=True)) | dict.fromkeys(plays, 0.0)
    return np.array([values[name] for name in made.q_names])
