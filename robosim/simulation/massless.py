"""What a simulation does with bodies without mass whose motion nothing determines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robosim.description.joint import Joint
from robosim.description.massless import idle_ends
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, OptionError

CHOICES = ("refuse", "lock")


def simulated(robot: Mechanism, massless: str) -> Mechanism:
    """The robot as it can be simulated: itself, or with its idle ends held where they are at home.

    Raises
    ------
    OptionError
        For another choice than CHOICES.
    ModelError
        For a body without mass that nothing moves, if that is to be refused, or if its joint has
        several coordinates.
    """
    if massless not in CHOICES:
        raise OptionError(f"massless must be one of {', '.join(CHOICES)}, not {massless!r}")
    ends = set(idle_ends(robot))
    if not ends:
        return robot
    joints = []
    for joint, start in zip(robot.joints, robot.q_offsets, strict=False):
        if joint.child not in ends or joint not in robot.tree_joints:
            joints.append(joint)
        elif massless == "refuse" or joint.nv != 1:
            remedy = (
                "or hold it: Simulation(robot, massless='lock')"
                if joint.nv == 1
                else f"which cannot be held by massless='lock', as its joint is '{joint.kind}'"
            )
            raise ModelError(
                f"has no mass, but hangs on the moving joint '{joint.name}', and nothing says how "
                f"it moves; give it an <inertial>, make the joint fixed, {remedy}",
                element=f"link '{joint.child}'",
                file=robot.source,
            )
        else:
            value = float(np.asarray(robot.home)[start])
            joints.append(_held(joint, value))
    return replace(robot, joints=tuple(joints))


def _held(joint: Joint, value: float) -> Joint:
    motion: Callable[[float], float] = lambda time: value  # noqa: E731  (a motion is a function)
    return replace(joint, motion=motion, actuated=joint.actuated)
