"""Treatment of bodies with too little mass or inertia to be simulated.

Such bodies are massless ones whose motion is undetermined, and those with impossible inertias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robosim import quaternions
from robosim.description.inertias import unturnable, with_balls
from robosim.description.joint import Joint
from robosim.description.massless import idle_ends
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.errors import ModelError
from robosim.validation import Array, check_choice

CHOICES = ("refuse", "lock")
INERTIAS = ("refuse", "ball")


def simulated(robot: Mechanism, massless: str, impossible_inertia: str) -> Mechanism:
    """A robot that can be simulated.

    The result is the robot itself, or one with changes. Massless bodies at the ends of chains are
    locked in their home pose, and inertias that are not positive definite are replaced by those of
    balls.

    Raises
    ------
    OptionError
        For choices other than CHOICES and INERTIAS.
    ModelError
        For a massless body with an undetermined motion, and for an inertia that is not positive
        definite, if these are refused.
    """
    check_choice("massless", massless, CHOICES)
    check_choice("impossible_inertia", impossible_inertia, INERTIAS)
    bad = unturnable(robot)
    if bad and impossible_inertia == "refuse":
        others = "".join(f", '{body.name}'" for body in bad[1:])
        raise ModelError(
            "inertia must be positive definite to be simulated; its principal moments are "
            f"{bad[0].principal_moments.tolist()}; correct it, or let it be that of a ball of "
            "water of the same mass: Simulation(robot, impossible_inertia='ball'), or "
            "--impossible-inertia ball" + (f"; the same holds for {others[2:]}" if others else ""),
            element=f"body '{bad[0].name}'",
            file=robot.source,
        )
    return _held(with_balls(robot, bad), massless)


def _held(robot: Mechanism, massless: str) -> Mechanism:
    """The robot with massless ends locked in their home pose, or an error."""
    ends = set(idle_ends(robot))
    if not ends:
        return robot
    home = np.asarray(robot.home)
    joints, locks = [], []
    taken = {joint.name for joint in robot.joints}
    for joint, start in zip(robot.joints, robot.q_offsets, strict=False):
        held = joint
        if joint.child in ends and joint in robot.tree_joints:
            if massless == "refuse":
                raise ModelError(
                    f"has no mass, but hangs on the moving joint '{joint.name}', and its motion "
                    "is undetermined; give it an <inertial>, make the joint fixed, or hold it: "
                    "Simulation(robot, massless='lock'), or --massless lock",
                    element=f"link '{joint.child}'",
                    file=robot.source,
                )
            q = home[start : start + joint.nq]
            if joint.nv == 1:
                held = replace(joint, motion=_staying(float(q[0])))
            else:
                locks.append(_lock(joint, q, free_name(f"{joint.name}:lock", taken)))
        joints.append(held)
    return replace(robot, joints=(*joints, *locks))


def _staying(value: float) -> Callable[[float], float]:
    return lambda time: value


def _lock(joint: Joint, q: Array, name: str) -> Joint:
    """A joint without degrees of freedom that keeps another one at its coordinates q (nq,)."""
    turn = quaternions.rotation_matrix(np.asarray(joint.offset))
    slid = turn @ joint.translation(q)
    return Joint(
        name=name,
        kind="fixed",
        parent=joint.parent,
        child=joint.child,
        parent_position=np.asarray(joint.parent_position) + slid,
        child_position=joint.child_position,
        offset=quaternions.from_matrix(turn @ joint.rotation(q)),
        actuated=False,
    )
