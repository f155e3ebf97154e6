"""The elements of a URDF file that are read: links, joints and materials.

They are read from a tree that `robosim.loaders.schema.check` accepts, so that each number is one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robosim import quaternions
from robosim.loaders.schema import numbers, refusal

Array = NDArray[np.float64]
Pose = tuple[Array, Array]  # (R (3, 3), p (3,) [m])


@dataclass(frozen=True, eq=False)
class Tube:
    """A cylinder, or a capsule whose straight part has that length [m]."""

    radius: float
    length: float


@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh file, scaled by (3,)."""

    filename: str
    scale: Array


@dataclass(frozen=True, eq=False)
class Shape:
    """What is in a <geometry>, one of these; edges of boxes and semi-axes are (3,) [m]."""

    box: tuple[float, ...] | None = None
    sphere: float | None = None
    cylinder: Tube | None = None
    capsule: Tube | None = None
    ellipsoid: tuple[float, ...] | None = None
    mesh: Mesh | None = None


@dataclass(frozen=True, eq=False)
class Material:
    """A colour (4,), by a name or without one; either may be missing."""

    name: str | None
    rgba: list[float] | None


@dataclass(frozen=True, eq=False)
class Item:
    """A <visual> or <collision>."""

    geometry: Shape
    origin: Pose
    material: Material | None


@dataclass(frozen=True, eq=False)
class Inertial:
    """The mass [kg], and the inertia (3, 3) [kg m^2] about and in the axes of the origin."""

    mass: float
    inertia: Array
    origin: Pose


@dataclass(frozen=True, eq=False)
class Link:
    """A <link>."""

    name: str
    inertial: Inertial | None
    visuals: list[Item]
    collisions: list[Item]


@dataclass(frozen=True, eq=False)
class Joint:
    """A <joint>; numbers by the names of their attributes, as far as the file has them."""

    name: str
    type: str
    parent: str
    child: str
    origin: Pose
    axis: Array
    limit: dict[str, float] | None
    dynamics: dict[str, float] = field(default_factory=dict)
    mimic: tuple[str, float, float] | None = None  # (joint, multiplier, offset)
    safety: dict[str, float] | None = None


@dataclass(frozen=True, eq=False)
class Robot:
    """A <robot>."""

    name: str
    links: list[Link]
    joints: list[Joint]
    materials: list[Material]


def read(root: etree._Element) -> Robot:
    """The robot of a tree that `schema.check` accepts.

    Besides what the format has, a geometry may have a `capsule` or an `ellipsoid`, and an origin
    may be rotated by `quat_xyzw` (URDF 1.1).

    Raises
    ------
    LoadError
        For an origin with both kinds of rotation, or a quaternion of length zero.
    """
    return Robot(
        str(root.get("name")),
        [_link(element) for element in root.iterchildren("link")],
        [_joint(element) for element in root.iterchildren("joint")],
        [_material(element) for element in root.iterchildren("material")],
    )


def _link(element: etree._Element) -> Link:
    inertial = element.find("inertial")
    return Link(
        str(element.get("name")),
        None if inertial is None else _inertial(inertial),
        [_item(visual) for visual in element.iterchildren("visual")],
        [_item(collision) for collision in element.iterchildren("collision")],
    )


def _inertial(element: etree._Element) -> Inertial:
    own = _numbers(element.find("inertia"))
    xx, xy, xz, yy, yz, zz = (own[name] for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertial(float(element.find("mass").get("value")), inertia, _origin(element))


def _item(element: etree._Element) -> Item:
    material = element.find("material")
    return Item(
        _shape(element.find("geometry")[0]),
        _origin(element),
        None if material is None else _material(material),
    )


def _shape(element: etree._Element) -> Shape:
    if element.tag == "mesh":
        scale = np.array(_words(element, "scale", "1"))
        return Shape(mesh=Mesh(str(element.get("filename")), np.ones(3) * scale))
    if element.tag == "box":
        return Shape(box=tuple(_words(element, "size")))
    own = _numbers(element)
    if element.tag == "sphere":
        return Shape(sphere=own["radius"])
    if element.tag == "ellipsoid":
        return Shape(ellipsoid=tuple(own[name] for name in "abc"))
    tube = Tube(own["radius"], own["length"])
    return Shape(cylinder=tube) if element.tag == "cylinder" else Shape(capsule=tube)


def _material(element: etree._Element) -> Material:
    colour = element.find("color")
    return Material(element.get("name"), None if colour is None else _words(colour, "rgba"))


def _joint(element: etree._Element) -> Joint:
    axis, mimic = element.find("axis"), element.find("mimic")
    found = {name: element.find(name) for name in ("limit", "dynamics", "safety_controller")}
    own = {name: None if one is None else _numbers(one) for name, one in found.items()}
    return Joint(
        str(element.get("name")),
        str(element.get("type")),
        str(element.find("parent").get("link")),
        str(element.find("child").get("link")),
        _origin(element),
        np.array([1.0, 0.0, 0.0] if axis is None else _words(axis, "xyz")),
        own["limit"],
        own["dynamics"] or {},
        None if mimic is None else _mimic(mimic),
        own["safety_controller"],
    )


def _mimic(element: etree._Element) -> tuple[str, float, float]:
    factors = float(element.get("multiplier", "1")), float(element.get("offset", "0"))
    return str(element.get("joint")), *factors


def _numbers(element: etree._Element) -> dict[str, float]:
    """The attributes that are a number, by their names; others are not read."""
    found = {}
    for name, value in element.attrib.items():
        try:
            found[str(name)] = float(value)
        except ValueError:
            continue
    return found


def _words(element: etree._Element, attribute: str, default: str = "") -> list[float]:
    return [float(word) for word in element.get(attribute, default).split()]


def _origin(parent: etree._Element) -> Pose:
    """The pose of an element's <origin>, which may be missing."""
    element = parent.find("origin")
    if element is None:
        return np.eye(3), np.zeros(3)
    p = np.array(_words(element, "xyz", "0 0 0"))
    if element.get("quat_xyzw") is None:
        return of_rpy(*_words(element, "rpy", "0 0 0")), p
    where = f"{parent.tag}: <origin>"
    if element.get("rpy") is not None:
        raise refusal(element, where, "has both 'rpy' and 'quat_xyzw'; leave one out")
    x, y, z, w = numbers(element, "quat_xyzw", where, (4,))
    length = np.sqrt(w * w + x * x + y * y + z * z)
    if not (np.isfinite(length) and length > 1e-12):
        value = element.get("quat_xyzw")
        raise refusal(element, where, f"'quat_xyzw' must not be of length zero: '{value}'")
    return quaternions.rotation_matrix(np.array([w, x, y, z]) / length), p


def of_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """The rotation matrix (3, 3) = Rz(yaw) Ry(pitch) Rx(roll)."""
    si, sj, sk = np.sin((roll, pitch, yaw))
    ci, cj, ck = np.cos((roll, pitch, yaw))
    return np.array(
        [
            [cj * ck, sj * (si * ck) - ci * sk, sj * (ci * ck) + si * sk],
            [cj * sk, sj * (si * sk) + ci * ck, sj * (ci * sk) - si * ck],
            [-sj, cj * si, cj * ci],
        ]
    )
