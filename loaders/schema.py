"""What a URDF file must look like, checked element by element before yourdfpy reads it.

yourdfpy turns a number that is not one into a bare ValueError and skips much of what is missing;
these checks name the file, the link or joint, the element and the value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from robosim.errors import LoadError

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
SHAPES = ("box", "cylinder", "sphere", "mesh")

# tag -> attribute -> (how many numbers are allowed, whether it must be there)
NUMBERS: dict[str, dict[str, tuple[tuple[int, ...], bool]]] = {
    "origin": {"xyz": ((3,), False), "rpy": ((3,), False)},
    "mass": {"value": ((1,), True)},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), ((1,), True)),
    "box": {"size": ((3,), True)},
    "sphere": {"radius": ((1,), True)},
    "cylinder": {"radius": ((1,), True), "length": ((1,), True)},
    "mesh": {"scale": ((1, 3), False)},
    "color": {"rgba": ((4,), True)},
    "axis": {"xyz": ((3,), True)},
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), ((1,), False)),
    "dynamics": dict.fromkeys(("damping", "friction"), ((1,), False)),
    "mimic": dict.fromkeys(("multiplier", "offset"), ((1,), False)),
    "calibration": dict.fromkeys(("rising", "falling"), ((1,), False)),
    "safety_controller": dict.fromkeys(
        ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"), ((1,), False)
    ),
}
TEXTS: dict[str, tuple[str, ...]] = {
    "link": ("name",),
    "joint": ("name", "type"),
    "parent": ("link",),
    "child": ("link",),
    "mesh": ("filename",),
    "mimic": ("joint",),
}
# tag -> (children that must be there, children that must not be there twice)
CHILDREN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "link": ((), ("inertial",)),
    "joint": (
        ("parent", "child"),
        ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
    ),
    "inertial": (("mass", "inertia"), ("mass", "inertia", "origin")),
    "visual": (("geometry",), ("geometry", "origin", "material")),
    "collision": (("geometry",), ("geometry", "origin")),
}

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?(nan|inf|infinity)", re.IGNORECASE)


def check(root: etree._Element, path: Path) -> None:
    """Raise a LoadError for the first thing in a URDF tree that yourdfpy could not read.

    Elements that say nothing about the mechanism (transmissions, sensors, plugins) are skipped.
    """
    if root.tag != "robot":
        raise LoadError(f"the root element is <{root.tag}>, not <robot>", file=path)
    if not (root.get("name") or "").strip():
        raise LoadError("attribute 'name' is missing", file=path, element="<robot>")
    for element in root:
        if isinstance(element.tag, str) and etree.QName(element).namespace:
            prefix = element.prefix or etree.QName(element).namespace
            if "xacro" in prefix:
                raise LoadError(
                    "this is a xacro file; expand it to URDF with xacro first",
                    file=path,
                    element=f"<{prefix}:{etree.QName(element).localname}>",
                )
        if element.tag in ("link", "joint", "material"):
            _check_text(element, path, f"<{element.tag}>")
            _check_element(element, path, f"{element.tag} '{element.get('name', '')}'")
    for tag in ("link", "joint"):
        _check_unique(root, tag, path)
    if root.find("link") is None:
        raise LoadError("has no links", file=path, element=f"robot '{root.get('name')}'")


def number(text: str, path: Path, element: str) -> float:
    """A finite number from the text of a file, or a LoadError."""
    text = text.strip()
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    if _NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        raise LoadError(f"must be finite, not '{text}'", file=path, element=element)
    raise LoadError(f"must be a number, not '{text}'", file=path, element=element)


def _check_unique(root: etree._Element, tag: str, path: Path) -> None:
    seen: set[str] = set()
    for element in root.iterchildren(tag):
        name = element.get("name")
        if name in seen:
            raise LoadError("the name is used twice", file=path, element=f"{tag} '{name}'")
        seen.add(name)


def _descendants(element: etree._Element, where: str) -> Iterator[tuple[etree._Element, str]]:
    yield element, where
    for child in element:
        if isinstance(child.tag, str):
            yield from _descendants(child, f"{where}: <{child.tag}>")


def _check_element(top: etree._Element, path: Path, name: str) -> None:
    for element, where in _descendants(top, name):
        if element is not top:
            _check_text(element, path, where)
        _check_numbers(element, path, where)
        _check_children(element, path, where)
    for element, where in _descendants(top, name):
        if element.tag == "geometry":
            _check_geometry(element, path, where)
    joint_type = top.get("type")
    if top.tag == "joint" and joint_type not in JOINT_TYPES:
        raise LoadError(
            f"unknown joint type '{joint_type}'", file=path, element=name, alternatives=JOINT_TYPES
        )


def _check_text(element: etree._Element, path: Path, where: str) -> None:
    for attribute in TEXTS.get(element.tag, ()):
        if not (element.get(attribute) or "").strip():
            raise LoadError(f"attribute '{attribute}' is missing", file=path, element=where)


def _check_numbers(element: etree._Element, path: Path, where: str) -> None:
    for attribute, (counts, required) in NUMBERS.get(element.tag, {}).items():
        text = element.get(attribute)
        if text is None:
            if required:
                raise LoadError(f"attribute '{attribute}' is missing", file=path, element=where)
            continue
        words = text.split()
        if len(words) not in counts:
            expected = " or ".join(str(count) for count in counts)
            raise LoadError(
                f"'{attribute}' must hold {expected} number(s), not '{text}'",
                file=path,
                element=where,
            )
        for word in words:
            number(word, path, f"{where}: '{attribute}'")


def _check_children(element: etree._Element, path: Path, where: str) -> None:
    required, single = CHILDREN.get(element.tag, ((), ()))
    for tag in required:
        if element.find(tag) is None:
            raise LoadError(f"element <{tag}> is missing", file=path, element=where)
    for tag in single:
        if len(element.findall(tag)) > 1:
            raise LoadError(f"has more than one <{tag}>", file=path, element=where)


def _values(shape: etree._Element, attribute: str) -> list[float]:
    return [float(word) for word in shape.get(attribute, "").split()]


def _check_geometry(element: etree._Element, path: Path, where: str) -> None:
    tags = [child.tag for child in element]
    if len(tags) != 1 or tags[0] not in SHAPES:
        raise LoadError(
            f"must hold one shape, not {[str(tag) for tag in tags]}",
            file=path,
            element=where,
            alternatives=SHAPES,
        )
    shape = element[0]
    for attribute in ("size", "radius", "length"):
        if any(value <= 0 for value in _values(shape, attribute)):
            raise LoadError(
                f"'{attribute}' must be positive, not '{shape.get(attribute)}'",
                file=path,
                element=f"{where}: <{shape.tag}>",
            )
    if any(value == 0 for value in _values(shape, "scale")):
        raise LoadError(
            f"'scale' must not be zero, not '{shape.get('scale')}'",
            file=path,
            element=f"{where}: <mesh>",
        )
