"""Hinges that close loops. MJCF has none; files connect two points of the axis instead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.joint import Joint

Array = NDArray[np.float64]

# Tolerance of the relative difference of the points' distances on both bodies.
_SAME = 1e-9


def with_hinges(loops: Sequence[Joint]) -> list[Joint]:
    """The joints, with a hinge in place of two ball joints between the same bodies.

    Two ball joints have six equations, one of which is redundant. The hinge has the name of the
    first one, and is at their middle; its angle is zero in the pose of the file.
    """
    found: list[Joint] = []
    waiting: dict[tuple[str | None, str], int] = {}
    for joint in loops:
        pair = joint.parent, joint.child
        if joint.kind == "spherical" and pair in waiting:
            hinge = _hinge(found[waiting[pair]], joint)
            if hinge is not None:
                found[waiting.pop(pair)] = hinge
                continue
        if joint.kind == "spherical":
            waiting[pair] = len(found)
        found.append(joint)
    return found


def _hinge(first: Joint, second: Joint) -> Joint | None:
    """The hinge equal to two ball joints; None if their points cannot both coincide."""
    a1, a2 = np.asarray(first.parent_position), np.asarray(second.parent_position)
    b1, b2 = np.asarray(first.child_position), np.asarray(second.child_position)
    apart_a, apart_b = float(np.linalg.norm(a2 - a1)), float(np.linalg.norm(b2 - b1))
    if min(apart_a, apart_b) == 0 or abs(apart_a - apart_b) > _SAME * apart_b:
        return None
    axis_a, axis_b = (a2 - a1) / apart_a, (b2 - b1) / apart_b
    R = quaternions.rotation_matrix(np.asarray(first.offset))
    return Joint(
        first.name,
        "revolute",
        first.parent,
        first.child,
        axis=axis_b,
        parent_position=(a1 + a2) / 2,
        child_position=(b1 + b2) / 2,
        offset=quaternions.from_matrix(_turn(R @ axis_b, axis_a) @ R),
        actuated=False,
    )


def _turn(a: Array, b: Array) -> Array:
    """The smallest rotation (3, 3) that maps the unit vector a (3,) to b."""
    axis = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(axis)), float(a @ b)
    if sine < 1e-12:
        if cosine > 0:
            return np.eye(3)
        axis, sine = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))]), 0.0
    angle = float(np.arctan2(sine, cosine))
    return quaternions.rotation_matrix(quaternions.from_axis_angle(axis, angle))
