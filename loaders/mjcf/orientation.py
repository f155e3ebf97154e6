"""Orientations in MJCF: quat, axisangle, xyaxes, zaxis, euler, fromto."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.pose import Pose as Pose

Array = NDArray[np.float64]

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_SMALL = 1e-14


@dataclass(frozen=True)
class Angles:
    """Conventions of a file for angles: `unit` [rad], and the order of Euler angles' axes.

    Lower case in `sequence` denotes axes that rotate with the earlier angles, upper case fixed
    axes.
    """

    unit: float = np.pi / 180.0
    sequence: str = "xyz"


def pose(node: Node, angles: Angles) -> Pose:
    """The pose of an element with `pos` and an orientation, or with `fromto`."""
    if node.has("fromto"):
        ends = from_to(node)
        return Pose(z_to(ends[0] - ends[1]), (ends[0] + ends[1]) / 2)
    return Pose(rotation(node, angles), node.numbers("pos", np.zeros(3)))


def from_to(node: Node) -> Array:
    """The two different points (2, 3) of `fromto`."""
    ends = node.numbers("fromto", count=6).reshape(2, 3)
    if np.linalg.norm(ends[1] - ends[0]) < _SMALL:
        raise node.error(f"the ends of 'fromto' are the same point {ends[0].tolist()}")
    return ends


def rotation(node: Node, angles: Angles) -> Array:
    """The rotation (3, 3) of an element, the identity by default.

    Raises
    ------
    LoadError
        For more than one orientation, or a direction of zero length.
    """
    said = [attribute for attribute in ORIENTATIONS if node.has(attribute)]
    if len(said) > 1:
        raise node.error(f"has more than one orientation: {', '.join(said)}")
    return _READERS[said[0]](node, angles) if said else np.eye(3)


def _quaternion(node: Node, angles: Angles) -> Array:
    q = node.numbers("quat", count=4)
    if np.linalg.norm(q) < _SMALL:
        raise node.error("'quat' must not be zero")
    return quaternions.rotation_matrix(quaternions.normalized(q))


def _axis_angle(node: Node, angles: Angles) -> Array:
    values = node.numbers("axisangle", count=4)
    if np.linalg.norm(values[:3]) < _SMALL:
        raise node.error("the axis of 'axisangle' must not be zero")
    turn = quaternions.from_axis_angle(values[:3], values[3] * angles.unit)
    return quaternions.rotation_matrix(turn)


def _xy_axes(node: Node, angles: Angles) -> Array:
    x, y = node.numbers("xyaxes", count=6).reshape(2, 3)
    if np.linalg.norm(x) < _SMALL:
        raise node.error("the x axis of 'xyaxes' must not be zero")
    x = x / np.linalg.norm(x)
    y = y - (x @ y) * x
    if np.linalg.norm(y) < _SMALL:
        raise node.error("the axes of 'xyaxes' must not be parallel")
    y /= np.linalg.norm(y)
    return np.column_stack((x, y, np.cross(x, y)))


def _z_axis(node: Node, angles: Angles) -> Array:
    z = node.numbers("zaxis", count=3)
    if np.linalg.norm(z) < _SMALL:
        raise node.error("'zaxis' must not be zero")
    return z_to(z)


def z_to(direction: Array) -> Array:
    """The smallest rotation (3, 3) that maps z to a direction (3,)."""
    direction = direction / np.linalg.norm(direction)
    axis = np.cross((0.0, 0.0, 1.0), direction)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-10:
        axis, sine = np.array((1.0, 0.0, 0.0)), 0.0
    turn = quaternions.from_axis_angle(axis, float(np.arctan2(sine, direction[2])))
    return quaternions.rotation_matrix(turn)


def _euler(node: Node, angles: Angles) -> Array:
    return euler(node.numbers("euler", count=3), angles)


def euler(values: Array, angles: Angles) -> Array:
    """The rotation (3, 3) of three Euler angles, in the file's unit and order."""
    q = np.array(quaternions.IDENTITY)
    for value, axis in zip(values, angles.sequence, strict=True):
        turn = quaternions.from_axis_angle(
            np.eye(3)["xyz".index(axis.lower())], value * angles.unit
        )
        q = quaternions.multiply(q, turn) if axis.islower() else quaternions.multiply(turn, q)
    return quaternions.rotation_matrix(q)


_READERS = {
    "quat": _quaternion,
    "axisangle": _axis_angle,
    "xyaxes": _xy_axes,
    "zaxis": _z_axis,
    "euler": _euler,
}
