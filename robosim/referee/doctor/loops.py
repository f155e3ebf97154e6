"""Check of joints that close loops: whether they do at home."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.poses import body_poses
from robosim.referee.doctor.case import Case
from robosim.referee.doctor.effects import EFFECTS
from robosim.referee.finding import Finding
from robosim.validation import Array

OPEN = 1e-4  # [m or rad]


def closed(case: Case) -> Iterator[Finding]:
    """Joints that close loops, and do not at home."""
    poses = body_poses(case.model.tree_joints, case.home)
    for joint in case.model.loop_joints:
        error = _error(joint, poses)
        if error > OPEN:
            place = case.document.joint(joint.name)
            yield Finding(
                "loops",
                "warning",
                f"joint '{joint.name}'",
                f"does not close at home: its ends are {error:.3g} m or rad apart",
                "give a pose in which it does (a keyframe, an SRDF <group_state>), or mend the "
                "positions of the anchors",
                EFFECTS["loops"],
                error,
                "",
                place.file,
                place.line,
            )


def _error(joint: Joint, poses: dict[str | None, tuple[Array, Array]]) -> float:
    """The violation of a joint's constraints [m or rad] [Bruedigam2023, Eq. B.1 and B.3]."""
    (turn_a, x_a), (turn_b, x_b) = poses[joint.parent], poses[joint.child]
    start = x_a + turn_a @ np.asarray(joint.parent_position)
    end = x_b + turn_b @ np.asarray(joint.child_position)
    shift = joint.D_T.T @ (turn_a.T @ (end - start))
    q_a, q_b = quaternions.from_matrix(turn_a), quaternions.from_matrix(turn_b)
    to_child = quaternions.multiply(quaternions.conjugate(q_a), q_b)
    turn = quaternions.multiply(quaternions.conjugate(np.asarray(joint.offset)), to_child)
    twist = 2.0 * joint.D_R.T @ turn[1:]
    return float(np.abs(np.concatenate((shift, twist))).max(initial=0.0))
