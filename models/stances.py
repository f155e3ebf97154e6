"""Standing poses and the gains that hold them, for robots known by name.

A stance belongs to a robot, not to a file: the manufacturer's A1 and the built-in one share theirs.
"""

from __future__ import annotations

import re

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.description.stance import Stance

# Robot name -> rows of: pattern of joint names, angle [rad], kp, kd.
_STANCES: dict[str, tuple[tuple[str, float, float, float], ...]] = {
    "a1": (
        (r"[FR][LR]_hip_joint", 0.0, 100.0, 5.0),
        (r"[FR][LR]_thigh_joint", 0.8, 80.0, 4.0),
        (r"[FR][LR]_calf_joint", -1.6, 60.0, 3.0),
    ),
}


def stance(robot: Mechanism) -> Stance | None:
    """The stance of a robot by its name; None if the robot or one of its joints is unknown."""
    rows = _STANCES.get(robot.name, ())
    found: list[tuple[str, float, float, float]] = []
    for joint in robot.joints:
        if not joint.actuated or joint.nv == 0:
            continue
        matches = [row for row in rows if re.fullmatch(row[0], joint.name)]
        if joint.nq != 1 or len(matches) != 1:
            return None
        found.append(matches[0])
    if not rows or set(found) != set(rows):
        return None
    target, kp, kd = np.array([row[1:] for row in found]).T
    return Stance(target, kp, kd)
