"""Random joint coordinates within limits."""

from __future__ import annotations

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.validation import Array

REACH = 1.0, np.pi  # ranges of a translation [m] and an angle [rad] without limits


def random_coordinates(robot: Mechanism, seed: int | np.random.Generator | None) -> Array:
    """q (nq,) within the limits of all joints, but not of tendons; quaternions of unit length."""
    rng = np.random.default_rng(seed)
    q = np.empty(robot.nq)
    for joint, begin in zip(robot.tree_joints, robot.q_offsets, strict=False):
        singles = joint.numbers
        for k in range(singles):
            reach = REACH[1] if joint.units[k] == "rad" else REACH[0]
            low = float(np.asarray(joint.lower)[k])
            high = float(np.asarray(joint.upper)[k])
            if not np.isfinite(low):
                low = -reach if not np.isfinite(high) else min(-reach, high - reach)
            if not np.isfinite(high):
                high = max(reach, low + reach)
            q[begin + k] = rng.uniform(low, high)
        if joint.has_quaternion:
            q[begin + singles : begin + singles + 4] = _random_turn(joint, rng)
    return q


def _random_turn(joint: Joint, rng: np.random.Generator) -> Array:
    """A unit quaternion: any, or within a cone about z and a largest turn."""
    if not (np.isfinite(joint.cone) or np.isfinite(joint.largest_turn)):
        return quaternions.normalized(rng.normal(size=4))
    tilt = rng.uniform(0, min(joint.cone, joint.largest_turn, np.pi))
    way = rng.uniform(-np.pi, np.pi)
    swing = quaternions.from_axis_angle((np.cos(way), np.sin(way), 0.0), tilt)
    # The cosine of half the angle is the product of the cosines of both halves.
    most = np.pi
    if np.isfinite(joint.largest_turn):
        most = 2 * np.arccos(min(1.0, np.cos(joint.largest_turn / 2) / np.cos(tilt / 2)))
    return quaternions.multiply(swing, quaternions.from_axis_angle((0, 0, 1), _within(rng, most)))


def _within(rng: np.random.Generator, most: float) -> float:
    return float(rng.uniform(-most, most))
