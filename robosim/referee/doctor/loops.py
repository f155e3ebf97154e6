"""Check of joints that close loops: whether they do at home."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.poses import body_poses
from robosim.referee.doctor.case import Case
from robosim.referee.doctor.document import NOWHERE
from robosim.referee.doctor.effects import EFFECTS
from robosim.referee.finding import Finding
from robosim.validation import Array

OPEN = 1e-4  # [m or rad]


def closed(case: Case) -> Iterator[Finding]:
    """Joints that close loops, and do not at home or in a pose that the file names."""
    robot = case.model
    named = [(f"in the pose '{name}'", q) for name, q in robot.configurations.items()]
    for where, q in (("at home", case.home), *named):
        poses = body_poses(robot.tree_joints, np.asarray(q))
        for joint in robot.loop_joints:
            error = _error(joint, poses)
            if error <= OPEN:
                continue
            begins = where != "at home" or case.begins
            place = case.document.joint(joint.name)
            if place == NOWHERE:
                place = case.document.named(joint.name)
            yield Finding(
                "loops",
                "note" if begins else "error",
                f"joint '{joint.name}'",
                f"does not close {where}: its ends are {error:.3g} m or rad apart"
                + ("" if begins else ", and no pose was found in which all loops close"),
                "give a pose in which it does, or mend the positions of the anchors",
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
    return float(max(np.linalg.norm(shift), np.linalg.norm(twist)))
