"""What one contact of a robot carries where the robot rests at home: a load for its springs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robosim.description.body import ContactPoint
from robosim.description.mechanism import Mechanism
from robosim.description.poses import body_poses
from robosim.loaders import placement

G = 9.81  # [m/s^2]
# Contact points within this part of the robot's height from the lowest one carry its weight.
_LOW = 0.05
# Points of a cylinder that lies flat, for each contact that MuJoCo finds there.
_PER_CONTACT = {"cylinder": 4.0}


def resting_loads(
    mechanism: Mechanism, robots: Mapping[str, int] | None = None
) -> dict[str, float]:
    """Force [N] of one contact of each body, if its robot rests on its lowest ones at home.

    Parameters
    ----------
    mechanism : Mechanism
    robots : mapping of body to number, or None
        The robot that a body belongs to; None: the bodies that hang on one joint of the world.
    """
    robots = trees(mechanism) if robots is None else robots
    weights: dict[int, float] = {}
    for body in mechanism.bodies:
        if not body.carrier and body.name in robots:
            robot = robots[body.name]
            weights[robot] = weights.get(robot, 0.0) + G * body.gravitational_mass
    counts = _lowest(mechanism, robots)
    return {
        body.name: max(weights.get(robots[body.name], 0.0), 1e-9)
        / max(counts.get(robots[body.name], 1.0), 1.0)
        for body in mechanism.bodies
        if body.name in robots
    }


def trees(mechanism: Mechanism) -> dict[str, int]:
    """The number of the tree of each body."""
    found: dict[str, int] = {}
    for k, joint in enumerate(mechanism.tree_joints):
        found[joint.child] = k if joint.parent is None else found[joint.parent]
    return found


def _lowest(mechanism: Mechanism, robots: Mapping[str, int]) -> dict[int, float]:
    """How many contacts of each robot carry it at home: those that are the lowest."""
    points = [point for point in mechanism.contacts if point.body in robots and not _rim(point)]
    if not points:
        return {}
    poses = body_poses(mechanism.tree_joints, np.asarray(mechanism.home))
    heights = np.asarray(placement.heights(poses, points))
    tops = {name: float(x[2]) for name, (_, x) in poses.items()}
    counts: dict[int, float] = {}
    for robot in set(robots.values()):
        own = [k for k, point in enumerate(points) if robots[point.body] == robot]
        if own:
            ground = min(heights[own])
            top = max(tops[name] for name, one in robots.items() if one == robot and name in tops)
            reach = ground + _LOW * max(top - ground, 0.0) + 1e-9
            counts[robot] = sum(_share(points[k].name) for k in own if heights[k] <= reach)
    return counts


def _rim(point: ContactPoint) -> bool:
    return point.axis is not None and point.radius > 0


def _share(name: str) -> float:
    kind = name.rpartition("/")[2].rstrip("0123456789")
    return 1.0 / _PER_CONTACT.get(kind, 1.0)
