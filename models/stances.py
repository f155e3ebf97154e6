"""Standing poses and the gains that hold them, for robots known by name.

A stance belongs to a robot, not to a file: the genuine A1 and the shipped one share theirs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.mechanism import Mechanism

Array = NDArray[np.float64]


class Stance(NamedTuple):
    """A standing pose of the actuated joints, in their order, and PD gains about it."""

    q_joints: Array  # (nu,) [rad]
    kp: Array  # (nu,) [N m/rad]
    kd: Array  # (nu,) [N m s/rad]
    q_indices: NDArray[np.int64]  # (nu,) where the joints are in q


# Robot name -> rows of: pattern of joint names, angle [rad], kp, kd.
_STANCES: dict[str, tuple[tuple[str, float, float, float], ...]] = {
    "a1": (
        (r"[FR][LR]_hip_joint", 0.0, 100.0, 5.0),
        (r"[FR][LR]_thigh_joint", 0.8, 80.0, 4.0),
        (r"[FR][LR]_calf_joint", -1.6, 60.0, 3.0),
    ),
}


def stance(robot: Mechanism) -> Stance | None:
    """The stance of a robot, or None if its name or its joints are not known."""
    rows = _STANCES.get(robot.name, ())
    found: list[tuple[str, float, float, float]] = []
    indices: list[int] = []
    for start, joint in zip(robot.q_offsets, robot.joints, strict=False):
        if not joint.actuated or joint.nv == 0:
            continue
        matches = [row for row in rows if re.fullmatch(row[0], joint.name)]
        if joint.nq != 1 or len(matches) != 1:
            return None
        found.append(matches[0])
        indices.append(start)
    if not rows or set(found) != set(rows):
        return None
    q_joints, kp, kd = np.array([row[1:] for row in found]).T
    return Stance(q_joints, kp, kd, np.array(indices, dtype=np.int64))
