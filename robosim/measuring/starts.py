"""Starts of chains and of loops, and the energies that they can reach."""

from __future__ import annotations

import numpy as np

from robosim.description.mechanism import Mechanism

G = 9.81  # [m/s^2]
OPENING, TILT = np.pi / 8, np.pi / 4  # angles: rod to segment axis, and segment axis to vertical


def bent_start(robot: Mechanism) -> np.ndarray:
    """A chain at rest, its first joint at 45 degrees, hanging straight from there."""
    q = np.array(robot.home)
    half = np.pi / 8
    if robot.joints[0].has_quaternion:
        q[:4] = [np.cos(half), 0.0, np.sin(half), 0.0]
    else:
        q[0] = 2 * half
    return q


def lowest_segments(n: int) -> float:
    """Lowest potential energy [J] of n segments: folded, hanging straight down."""
    return -sum(4 * G * (2 * k + 1.0) for k in range(n))
