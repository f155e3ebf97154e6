"""What a URDF file must look like, checked element by element before yourdfpy reads it.

yourdfpy turns a number that is not one into a bare ValueError and skips much of what is missing;
these checks name the line, the link or joint, the element and the value. The file is added by
whoever reads it, as model files are read together with others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lxml import etree

from robosim.description.selection import KINDS
from robosim.errors import LoadError

# type of a joint -> its kind: those of the format, of other programs, and the kinds' own names.
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
SHAPES = ("box", "cylinder", "capsule", "sphere", "mesh")

# tag -> children that are read; nothing is looked for in other elements.
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
# tag -> attribute -> (how many numbers are allowed, whether it must be there)
NUMBERS: dict[str, dict[str, tuple[tuple[int, ...], bool]]] = {
    "origin": {"xyz": ((3,), False), "rpy": ((3,), False), "quat_xyzw": ((4,), False)},
    "mass": {"value": ((1,), True)},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), ((1,), True)),
    "box": {"size": ((3,), True)},
    "sphere": {"radius": ((1,), True)},
    "cylinder": {"radius": ((1,), True), "length": ((1,), True)},
    "capsule": {"radius": ((1,), True), "length": ((1,), True)},
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

# More are refused, so that time and memory are bounded.
MOST = {"link": 5000, "joint": 5000, "link/collision": 1000}
# Numbers beyond are refused: products of three of them still are numbers.
LARGEST = 1e100
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?(nan|inf|infinity)", re.IGNORECASE)


def tag_name(element: etree._Element) -> str:
    """The tag as the file has it, with its prefix, whether that is declared or not."""
    tag = str(element.tag)
    if not tag.startswith("{"):
        return tag
    name = etree.QName(element).localname
    return f"{element.prefix}:{name}" if element.prefix else str(name)


def refusal(
    element: etree._Element, where: str, reason: str, alternatives: Sequence[str] = ()
) -> LoadError:
    """The error to raise for an element, with its line."""
    return LoadError(
        reason, line=element.sourceline, element=where, alternatives=tuple(alternatives)
    )


def text(element: etree._Element, attribute: str, where: str) -> str:
    """An attribute that must be there, or a LoadError."""
    value = element.get(attribute) or ""
    if not value.strip():
        raise refusal(element, where, f"attribute '{attribute}' is missing")
    return str(value)


def is_number(word: str) -> bool:
    """Whether a word is a finite number that can be calculated with."""
    return bool(_NUMBER.fullmatch(word)) and abs(float(word)) <= LARGEST


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
        If there are not as many as one of `counts`, or one is no number; and, without a
        `default`, if the attribute is missing.
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
    """Raise a LoadError for the first thing in a URDF tree that yourdfpy could not read.

    Elements that say nothing about the mechanism (sensors, plugins) are skipped, and those that
    extend the format are checked where they are read.
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
    """Raise a LoadError for what is wrong with an element, called `name`, or with one in it."""
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
    """Raise a LoadError for a text that must be there and is not."""
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
    # What has no volume can touch, but there is nothing to see.
    solid = element.getparent().tag == "collision"
    for attribute in ("size", "radius", "length"):
        if any(value < 0 or (value == 0 and not solid) for value in _values(shape, attribute)):
            value, must = shape.get(attribute), "not be negative" if solid else "be positive"
            raise refusal(shape, inside, f"'{attribute}' must {must}, not '{value}'")
    if any(value == 0 for value in _values(shape, "scale")):
        raise refusal(shape, inside, f"'scale' must not be zero, not '{shape.get('scale')}'")
