"""Checks of the elements of a URDF file, before yourdfpy reads them.

yourdfpy raises a bare ValueError for an invalid number, and skips many missing values. The checks
here name the line, the link or joint, the element and the value. The caller adds the file, as
several files may be read together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from lxml import etree

from robosim.description.selection import KINDS
from robosim.errors import LoadError

# Types of joints -> kind: those of the format and of other programs, and names of kinds.
JOINT_KINDS = {
    **{kind: kind for kind in KINDS},
    "continuous": "revolute",
    "ball": "spherical",
    "planaraxis": "planar",
    "fixedorientation": "fixed_orientation",
    "freerevolute": "axis_rotation",
    "cylindricalfree": "cylindrical_free_orientation",
    "planarfree": "planar_free_orientation",
}
SHAPES = ("box", "cylinder", "capsule", "ellipsoid", "sphere", "mesh")

# tag -> children that are read; other elements are not read.
READ: dict[str, tuple[str, ...]] = {
    "link": ("inertial", "visual", "collision", "contact"),
    "inertial": ("origin", "mass", "inertia"),
    "visual": ("origin", "geometry", "material"),
    "collision": ("origin", "geometry", "material"),
    "geometry": SHAPES,
    "material": ("color",),
    "joint": (
        "parent",
        "child",
        "origin",
        "axis",
        "limit",
        "dynamics",
        "mimic",
        "safety_controller",
        "calibration",
    ),
}  # fmt: skip
# tag -> attribute -> (allowed numbers of values, whether it is required)
NUMBERS: dict[str, dict[str, tuple[tuple[int, ...], bool]]] = {
    "origin": {"xyz": ((3,), False), "rpy": ((3,), False), "quat_xyzw": ((4,), False)},
    "mass": {"value": ((1,), True)},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), ((1,), True)),
    "box": {"size": ((3,), True)},
    "sphere": {"radius": ((1,), True)},
    "cylinder": {"radius": ((1,), True), "length": ((1,), True)},
    "capsule": {"radius": ((1,), True), "length": ((1,), True)},
    "ellipsoid": dict.fromkeys(("a", "b", "c"), ((1,), True)),
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
# tag -> (required children, children that may occur only once)
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

# Larger numbers of elements are refused, which bounds time and memory.
MOST = {"link": 5000, "joint": 5000, "link/collision": 1000}
# Larger numbers are refused, so that products of three of them are finite.
LARGEST = 1e100
# A limit, effort or velocity of this size means no limit, because URDF requires a number.
UNLIMITED = 1e9
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?(nan|inf|infinity)", re.IGNORECASE)


def tag_name(element: etree._Element) -> str:
    """The tag as in the file, with its prefix, whether declared or not."""
    tag = str(element.tag)
    if not tag.startswith("{"):
        return tag
    name = etree.QName(element).localname
    return f"{element.prefix}:{name}" if element.prefix else str(name)


def refusal(
    element: etree._Element, where: str, reason: str, alternatives: Sequence[str] = ()
) -> LoadError:
    """The error for an element, with its line."""
    return LoadError(
        reason, line=element.sourceline, element=where, alternatives=tuple(alternatives)
    )


def text(element: etree._Element, attribute: str, where: str) -> str:
    """A required attribute, or a LoadError."""
    value = element.get(attribute) or ""
    if not value.strip():
        raise refusal(element, where, f"attribute '{attribute}' is missing")
    return str(value)


def is_finite_number(word: str) -> bool:
    """Whether a word is a number that a double can have, of any size."""
    return bool(_NUMBER.fullmatch(word)) and math.isfinite(float(word))


def is_number(word: str) -> bool:
    """Whether a word is a finite number of an allowed size."""
    return is_finite_number(word) and abs(float(word)) <= LARGEST


def numbers(
    element: etree._Element,
    attribute: str,
    where: str,
    counts: Sequence[int] = (1,),
    default: Sequence[float] | None = None,
) -> list[float]:
    """The finite numbers of an attribute, or of the element's text if `attribute` is empty.

    Raises
    ------
    LoadError
        If the number of values is not in `counts`, or a value is not a number. If the attribute is
        missing, without a `default`.
    """
    value = element.get(attribute) if attribute else element.text or ""
    what = f"'{attribute}'" if attribute else "the text"
    if value is None:
        if default is None:
            raise refusal(element, where, f"attribute '{attribute}' is missing")
        return list(default)
    words = value.split()
    if len(words) not in counts:
        expected = " or ".join(str(count) for count in counts)
        raise refusal(element, where, f"{what} must hold {expected} number(s), not '{value}'")
    for word in words:
        if not is_number(word):
            finite = _NUMBER.fullmatch(word) or _NOT_FINITE.fullmatch(word)
            must = f"finite, and at most {LARGEST:g}" if finite else "a number"
            raise refusal(element, f"{where}: {what}", f"must be {must}, not '{word}'")
    return [float(word) for word in words]


def check(root: etree._Element) -> None:
    """Raise a LoadError for the first element of a URDF tree that yourdfpy could not read.

    Elements that do not describe the mechanism, such as sensors and plugins, are skipped.
    Extensions of the format are checked where they are read.
    """
    if root.tag != "robot":
        raise refusal(root, "root element", f"is <{tag_name(root)}>, not <robot>")
    text(root, "name", "<robot>")
    for what, most in MOST.items():
        count = sum(1 for _ in root.iterfind(what))
        if count > most:
            raise refusal(root, "<robot>", f"has {count} <{what}>; more than {most} are not read")
    for element in root:
        if element.tag in ("link", "joint", "material"):
            check_text(element, f"<{element.tag}>")
            check_element(element, f"{element.tag} '{element.get('name', '')}'")
    for tag in ("link", "joint"):
        _check_unique(root, tag)
    if root.find("link") is None:
        raise refusal(root, f"robot '{root.get('name')}'", "has no links")


def _check_unique(root: etree._Element, tag: str) -> None:
    seen: dict[str, int] = {}
    for element in root.iterchildren(tag):
        name = str(element.get("name"))
        if name in seen:
            raise refusal(
                element, f"{tag} '{name}'", f"the name is used twice, first in line {seen[name]}"
            )
        seen[name] = element.sourceline


def _descendants(element: etree._Element, where: str) -> Iterator[tuple[etree._Element, str]]:
    yield element, where
    for child in element:
        if child.tag in READ.get(element.tag, ()):
            yield from _descendants(child, f"{where}: <{child.tag}>")


def check_element(top: etree._Element, name: str) -> None:
    """Raise a LoadError for an error in an element called `name`, or in one of its children."""
    for element, where in _descendants(top, name):
        if element is not top:
            check_text(element, where)
        _check_numbers(element, where)
        _check_children(element, where)
    for element, where in _descendants(top, name):
        if element.tag == "geometry":
            _check_geometry(element, where)
    joint_type = top.get("type")
    if top.tag == "joint" and joint_type not in JOINT_KINDS:
        raise refusal(top, name, f"unknown joint type '{joint_type}'", tuple(JOINT_KINDS))


def check_text(element: etree._Element, where: str) -> None:
    """Raise a LoadError for a missing required text."""
    for attribute in TEXTS.get(element.tag, ()):
        text(element, attribute, where)


def _check_numbers(element: etree._Element, where: str) -> None:
    for attribute, (counts, required) in NUMBERS.get(element.tag, {}).items():
        numbers(element, attribute, where, counts, None if required else ())


def _check_children(element: etree._Element, where: str) -> None:
    required, single = CHILDREN.get(element.tag, ((), ()))
    for tag in required:
        if element.find(tag) is None:
            raise refusal(element, where, f"element <{tag}> is missing")
    for tag in single:
        if len(element.findall(tag)) > 1:
            raise refusal(element, where, f"has more than one <{tag}>")


def _values(shape: etree._Element, attribute: str) -> list[float]:
    return [float(word) for word in shape.get(attribute, "").split()]


def _check_geometry(element: etree._Element, where: str) -> None:
    tags = [tag_name(child).removeprefix("drake:") for child in element]
    if len(tags) != 1 or tags[0] not in SHAPES:
        raise refusal(element, where, f"must hold one shape, not {tags}", SHAPES)
    shape = element[0]
    inside = f"{where}: <{tag_name(shape)}>"
    # Shapes without a volume can touch, but cannot be seen.
    solid = element.getparent().tag == "collision"
    for attribute in ("size", "radius", "length"):
        if any(value < 0 or (value == 0 and not solid) for value in _values(shape, attribute)):
            value, must = shape.get(attribute), "not be negative" if solid else "be positive"
            raise refusal(shape, inside, f"'{attribute}' must {must}, not '{value}'")
    if any(value == 0 for value in _values(shape, "scale")):
        raise refusal(shape, inside, f"'scale' must not be zero, not '{shape.get('scale')}'")
