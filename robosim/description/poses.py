"""Poses of bodies at joint coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.validation import Array


def body_poses(joints: Sequence[Joint], q: Array) -> dict[str | None, tuple[Array, Array]]:
    """Body -> (R_wb (3, 3), centre of mass (3,) in the world) at joint coordinates q (nq,)."""
    poses: dict[str | None, tuple[Array, Array]] = {None: (np.eye(3), np.zeros(3))}
    start = 0
    for joint in joints:
        if joint.child in poses:
            break  # The remaining joints close loops.
        R_a, x_a = poses[joint.parent]
        R_wj = R_a @ quaternions.rotation_matrix(np.asarray(joint.offset))
        point = x_a + R_a @ np.asarray(joint.parent_position)
        own = q[start : start + joint.nq]
        point = point + R_wj @ joint.translation(own)
        R_wb = R_wj @ joint.rotation(own)
        poses[joint.child] = (R_wb, point - R_wb @ np.asarray(joint.child_position))
        start += joint.nq
    return poses
