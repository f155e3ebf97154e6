"""Variants of URDF, converted to elements that yourdfpy reads."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
from lxml import etree

from robosim import quaternions
from robosim.errors import LoadError
from robosim.loaders import drake_joints
from robosim.loaders.schema import numbers, refusal, tag_name


def standard_names(root: etree._Element, warnings: list[str]) -> None:
    """Convert Drake's extensions of the format in place: shapes and joints.

    Raises
    ------
    LoadError
        For a joint of Drake's that is not supported.
    """
    drake_joints.standard(root, warnings)
    for geometry in root.iter("geometry"):
        for shape in geometry:
            if tag_name(shape) in ("drake:capsule", "drake:ellipsoid"):
                shape.tag = tag_name(shape).removeprefix("drake:")


def read(root: etree._Element) -> Any:
    """The yourdfpy robot of a tree that `schema.check` accepts.

    Only links, joints and materials are passed to yourdfpy. In addition, a geometry may have a
    `capsule`, with a radius and the length of its straight part, or an `ellipsoid`, (3,) semi-axes,
    and an origin may be rotated by `quat_xyzw` (URDF 1.1).

    Raises
    ------
    LoadError
        For an origin with both kinds of rotation, a quaternion of length zero, or an error of
        yourdfpy.
    """
    from yourdfpy import URDF  # imported here, because it imports trimesh and more

    plain = etree.Element("robot", name=root.get("name"))
    for element in root.iterchildren("link", "joint", "material"):
        plain.append(copy.deepcopy(element))
    for element in plain.iter(etree.Element):
        # yourdfpy reads no attribute with a prefix, and complains of one that is not declared.
        for name in filter(_has_prefix, element.keys()):
            del element.attrib[name]
    for origin in plain.iter("origin"):
        if origin.get("quat_xyzw") is not None:
            origin.set("rpy", " ".join(repr(float(angle)) for angle in _rpy(origin)))
    kinds = [_stand_ins(link) for link in plain.iterchildren("link")]
    try:
        # As ASCII; otherwise names with other letters would be invalid XML.
        data = io.BytesIO(etree.tostring(plain, encoding="utf-8"))
        urdf = URDF.load(data, build_scene_graph=False, load_meshes=False)
    except Exception as error:  # yourdfpy raises many kinds of exceptions
        raise LoadError(f"yourdfpy cannot read it: {error!r}") from error
    for link, tags in zip(urdf.robot.links, kinds, strict=True):
        for item, tag in zip((*link.visuals, *link.collisions), tags, strict=True):
            shape = item.geometry
            shape.capsule = shape.ellipsoid = None
            if tag == "capsule":
                shape.capsule, shape.cylinder = shape.cylinder, None
            elif tag == "ellipsoid":
                shape.ellipsoid, shape.box = shape.box.size, None
    return urdf.robot


def _has_prefix(name: str) -> bool:
    return ":" in name and not name.startswith("{")


def _stand_ins(link: etree._Element) -> list[str]:
    """The shape of each visual, then each collision; those that are unknown are replaced.

    A cylinder replaces a capsule, and a box of its semi-axes an ellipsoid.
    """
    found = []
    for item in (*link.iterchildren("visual"), *link.iterchildren("collision")):
        shape = item.find("geometry")[0]
        found.append(shape.tag)
        if shape.tag == "capsule":
            shape.tag = "cylinder"
        elif shape.tag == "ellipsoid":
            shape.tag = "box"
            shape.set("size", " ".join(shape.get(name) for name in "abc"))
    return found


def _rpy(origin: etree._Element) -> tuple[float, float, float]:
    """Roll, pitch and yaw of an origin with a quaternion (x, y, z, w)."""
    where = f"{origin.getparent().tag}: <origin>"
    if origin.get("rpy") is not None:
        raise refusal(origin, where, "has both 'rpy' and 'quat_xyzw'; leave one out")
    x, y, z, w = numbers(origin, "quat_xyzw", where, (4,))
    length = np.sqrt(w * w + x * x + y * y + z * z)
    if not (np.isfinite(length) and length > 1e-12):
        value = origin.get("quat_xyzw")
        raise refusal(origin, where, f"'quat_xyzw' must not be of length zero: '{value}'")
    R = quaternions.rotation_matrix(np.array([w, x, y, z]) / length)
    return rpy_angles(R)


def rpy_angles(R: np.ndarray) -> tuple[float, float, float]:
    """(roll, pitch, yaw) of a rotation matrix (3, 3) = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    if np.hypot(R[0, 0], R[1, 0]) < 1e-12:  # gimbal lock: only the sum of both is determined
        return float(np.arctan2(-R[1, 2], R[1, 1])), pitch, 0.0
    return float(np.arctan2(R[2, 1], R[2, 2])), pitch, float(np.arctan2(R[1, 0], R[0, 0]))
