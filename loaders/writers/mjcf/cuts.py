"""Loops that are cut at another joint, as MJCF closes them with few kinds.

The joint that closes such a loop, a slide for example, leads to its body in the file. The one that
has led there, such as the pin of a slider-crank, closes the loop.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.poses import body_poses
from robosim.errors import ModelError
from robosim.loaders.writers.parts import Array

CLOSING = ("spherical", "revolute", "fixed")


def with_cuts(mechanism: Mechanism) -> Mechanism:
    """The mechanism with loops closed by joints of the kinds CLOSING, as far as possible."""
    for loop in mechanism.loop_joints:
        if loop.kind not in CLOSING and loop.own_chart is None:
            mechanism = _cut(mechanism, loop)
    return mechanism


def _cut(mechanism: Mechanism, loop: Joint) -> Mechanism:
    """The mechanism with a loop's joint and the one that leads to its child exchanged.

    It is unchanged if that joint cannot close a loop, or if other elements need its coordinates.
    """
    into = {joint.child: joint for joint in mechanism.tree_joints}
    pin, above = into[loop.child], loop.parent
    while above is not None and above != loop.child:
        above = into[above].parent
    if pin.kind not in CLOSING or pin.motion is not None or above is not None:
        return mechanism
    exchanged = {pin.name: loop, loop.name: pin}
    joints = tuple(exchanged.get(joint.name, joint) for joint in mechanism.joints)
    try:
        bare = replace(
            mechanism, joints=joints, home=None, configurations={}, stance=None, as_given=False
        )
    except ModelError:  # an actuator, tendon or sensor of the pin, which would be no coordinate
        return mechanism

    def moved(q: Array) -> Array:
        """Coordinates (nq,) of the same pose."""
        own = {
            joint.name: q[start : start + joint.nq]
            for start, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False)
        }
        own[loop.name] = _coordinates(loop, body_poses(mechanism.tree_joints, q))
        return np.concatenate([own[joint.name] for joint in bare.tree_joints])

    poses = {name: moved(np.asarray(q)) for name, q in mechanism.configurations.items()}
    return replace(bare, home=moved(np.asarray(mechanism.home)), configurations=poses)


def _coordinates(joint: Joint, poses: dict[str | None, tuple[Array, Array]]) -> Array:
    """Coordinates (nq,) of a joint between two bodies with these poses in the world."""
    (R_a, x_a), (R_b, x_b) = poses[joint.parent], poses[joint.child]
    R_wj = R_a @ quaternions.rotation_matrix(np.asarray(joint.offset))
    origin = x_a + R_a @ np.asarray(joint.parent_position)
    slid = joint.C_T.T @ R_wj.T @ (x_b + R_b @ np.asarray(joint.child_position) - origin)
    turn = quaternions.from_matrix(R_wj.T @ R_b)
    if joint.has_quaternion:
        return np.concatenate((slid, turn))
    return np.concatenate((slid, 2 * np.arctan2(joint.C_R.T @ turn[1:], turn[0])))
