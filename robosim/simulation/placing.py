"""Placing robots just above the ground."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, StateError
from robosim.kinematics.given import checked_pose
from robosim.kinematics.kinematics import Kinematics
from robosim.rays.ground import depth_under, terrain_of
from robosim.validation import Array, positive

NEAR = 1e-9  # [m], tolerance of the gap
TRIES = 200
FIRST, FARTHER = 0.1, 4.0  # [m], distance within which shapes are considered, and its growth
REACH = 10.0  # [m], where that ends


class Placeable(Protocol):
    """The interface of a simulation for `place`."""

    @property
    def robot(self) -> Mechanism: ...
    def set_state(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None: ...
    def contact_positions(self) -> Array: ...
    def shape_gaps(self, within: float = 0.1) -> Array: ...


def _gap_below(sim: Placeable) -> float:
    """Smallest gap [m] between what moves with the base and what does not; infinite without any.

    Gaps among the robot's own shapes stay as they are, however high the robot is.
    """
    robot = sim.robot
    moved = {robot.tree_joints[0].child}
    for joint in robot.tree_joints:
        if joint.parent in moved:
            moved.add(joint.child)
    heights = sim.contact_positions()[[point.body in moved for point in robot.contacts], 2]
    index = {robot.body_index(name) for name in moved}
    apart = [(a in index) != (b in index) for (a, _), (b, _) in robot.touching_shapes()]
    # As near as may be: all cells of a terrain within the margin are looked at.
    margin = FIRST
    while True:
        gap = min([*heights, *sim.shape_gaps(margin)[apart]], default=np.inf)
        if gap <= margin or margin >= REACH:
            return float(gap)
        margin = min(FARTHER * margin, REACH)


def _centres(robot: Mechanism, q: Array) -> Array:
    """Centres of the collision shapes of bodies, and contact points, at coordinates q (n, 3)."""
    there = Kinematics(robot)
    there.move_to(q)
    places = [(i, s.position) for i, body in enumerate(robot.bodies) for s in body.collisions]
    places += [(robot.body_index(point.body), point.position) for point in robot.contacts]
    return np.array([there.x[i] + there.R[i] @ np.asarray(p) for i, p in places]).reshape(-1, 3)


def _largest_reach(robot: Mechanism) -> float:
    """A distance from its centre that no collision shape reaches beyond [m]."""
    shapes = [shape for body in robot.bodies for shape in body.collisions]
    reaches = [
        np.linalg.norm(s.size if s.vertices is None else s.vertices, axis=-1).max() for s in shapes
    ]
    return float(max(reaches, default=0.0))


def place(sim: Placeable, q: ArrayLike | None, gap: float) -> Array:
    """Place a robot at rest with its lowest contact a gap [m] above the ground; returns q (nq,).

    The base moves vertically, and all other coordinates are unchanged. A descent by the remaining
    gap never leads below the ground. What begins under terrain is brought above it first.

    Raises
    ------
    ModelError
        For a robot without a floating base.
    OptionError
        For a gap that is not positive.
    StateError
        As `set_state`, or if there is nothing below that the robot could touch.
    """
    robot = sim.robot
    if not robot.floating_base:
        raise ModelError(
            "its base is fixed, so it cannot be placed: use set_state",
            element=f"robot '{robot.name}'",
        )
    positive("gap", gap)
    pose = np.array(checked_pose(robot, "q", np.asarray(robot.home) if q is None else q))
    if (terrain := terrain_of(robot)) is not None:
        under = depth_under(terrain, _centres(robot, pose))
        pose[2] += under + _largest_reach(robot) if under > 0.0 else 0.0
    for _ in range(TRIES):
        sim.set_state(pose)
        left = _gap_below(sim) - gap
        if abs(left) <= NEAR:
            return pose
        if not np.isfinite(left):
            break
        pose[2] -= left
    raise StateError(
        f"robot '{robot.name}' has no ground or obstacle to stand {gap:g} m above, within "
        f"{REACH:g} m: give it "
        "contacts and ground or an obstacle below it"
    )
