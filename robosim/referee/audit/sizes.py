"""What lengths, forces and energies of a robot are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.kinematics.kinematics import Kinematics
from robosim.referee.audit.measures import Scales
from robosim.referee.audit.runs import (
    Run,
)
from robosim.validation import positive


def scales_of(robot: Mechanism | None, run: Run | None, apart: float | None) -> Scales:
    """What lengths and forces are compared with."""
    size, weight = 1.0, 1.0
    held: set[str] = set()
    names: tuple[str, ...] = ()
    angles: set[str] = set()
    if robot is not None:
        size = size_of(robot)
        weight = 9.81 * float(robot.total_mass)
        names = tuple(robot.q_names)
        for begin, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
            if not joint.has_quaternion and len(joint.units) == joint.nq:
                for k in range(joint.nq):
                    if joint.per_coordinate("friction")[k] > 0:
                        held.add(names[begin + k])
                    if joint.units[k] == "rad":
                        angles.add(names[begin + k])
    elif run is not None and len(run.bodies):
        size = float(np.ptp(run.points[0], axis=(0, 1)).max())
    near = float(np.clip(2e-3 * size, 1e-5, 1e-3))
    return Scales(
        near,
        10.0 * near if apart is None else positive("apart", apart),
        weight,
        frozenset(angles),
        frozenset(held),
        names,
    )


def size_of(robot: Mechanism) -> float:
    """How large a robot is at home: the distance of its outermost bodies, with their shapes [m]."""
    x = Kinematics(robot, robot.home).x
    reach = max((shape_reach(body) for body in robot.bodies), default=0.0)
    return max(float(np.ptp(x, axis=0).max(initial=0.0)) + 2.0 * reach, 1e-3)


def shape_reach(body: Any) -> float:
    """Distance of the farthest collision shape's centre from a body's centre of mass [m]."""
    places = [float(np.linalg.norm(shape.position)) for shape in body.collisions]
    sizes = [
        float(np.max(np.abs(shape.size), initial=0.0))
        for shape in body.collisions
        if shape.size is not None
    ]
    return max(places, default=0.0) + max(sizes, default=0.0)
