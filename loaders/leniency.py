"""Errors of a URDF file that do not prevent loading, as they do not affect the motion.

Visual elements, and elements that a type of joint does not use, are omitted with a warning if they
are invalid. A missing name of the robot, and missing masses and inertias, are added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from lxml import etree

from robosim.errors import LoadError
from robosim.loaders import schema

# kind of a joint -> unused children; for all kinds, children that are never used
_IDLE = {
    "fixed": ("axis", "limit", "dynamics", "safety_controller", "mimic"),
    **dict.fromkeys(("floating", "spherical", "fixed_orientation"), ("axis",)),
}
_ALWAYS_IDLE = ("calibration",)


def leave_out(root: etree._Element, name: str, warnings: list[str]) -> None:
    """Remove invalid elements that do not matter from a URDF tree, in place, and add missing ones.

    Parameters
    ----------
    root : lxml element
    name : str
        Name for a robot without one.
    warnings : list of str
        Receives a warning for each kind of error, with the links or joints.
    """
    found: dict[str, dict[str, None]] = {}
    if root.tag == "robot" and not (root.get("name") or "").strip():
        root.set("name", name)
        warnings.append(f"the robot has no name; it is called '{name}' as the file is")
    for element, owner in _with_materials(root):
        _mend_material(element, owner, found)
    for link in root.iterchildren("link"):
        owner = f"link '{link.get('name')}'"
        for inertial in list(link.iterchildren("inertial"))[1:]:
            link.remove(inertial)
            _tell(found, "of several <inertial> in one <link> the first counts", owner)
        for inertial in link.iterchildren("inertial"):
            _complete(inertial, owner, found)
        for collision in list(link.iterchildren("collision")):
            if not any(len(geometry) for geometry in collision.iterchildren("geometry")):
                link.remove(collision)
                _tell(found, "left out, as it has no shape: <collision>", owner)
        for visual in list(link.iterchildren("visual")):
            _keep_first(visual, owner, found)
            _try(visual, owner, found)
    for limit in root.iterfind(".//limit"):
        _bound(limit)
    for joint in root.iterchildren("joint"):
        owner = f"joint '{joint.get('name')}'"
        kind = schema.JOINT_KINDS.get(joint.get("type", ""), "")
        idle = (*_IDLE.get(kind, ()), *_ALWAYS_IDLE)
        for tag in idle:
            children = list(joint.iterchildren(tag))
            for child in children:
                _try(child, owner, found)
            for child in children[1:]:
                if child.getparent() is not None:
                    joint.remove(child)
                    _tell(found, f"only the first <{tag}> counts", owner)
    warnings += [f"{what}: {', '.join(owners)}" for what, owners in found.items()]


def _tell(found: dict[str, dict[str, None]], what: str, owner: str) -> None:
    found.setdefault(what, {})[owner] = None


def _try(element: etree._Element, owner: str, found: dict[str, dict[str, None]]) -> None:
    """Check an element, and remove it if it is invalid."""
    try:
        schema.check_text(element, f"<{element.tag}>")
        schema.check_element(element, f"<{element.tag}>")
    except LoadError as error:
        element.getparent().remove(element)
        line = "" if error.line is None else f" (line {error.line})"
        _tell(found, f"left out, as it is wrong: {error.element}: {error.reason}{line}", owner)


def _bound(limit: etree._Element) -> None:
    """Reduce numbers that stand for no limit, such as the largest of a double, to allowed ones."""
    for name in schema.NUMBERS["limit"]:
        if schema.is_finite_number(limit.get(name, "")):
            value = float(limit.get(name))
            if abs(value) > schema.LARGEST:
                limit.set(name, repr(math.copysign(schema.LARGEST, value)))


def _complete(inertial: etree._Element, owner: str, found: dict[str, dict[str, None]]) -> None:
    """Add zeros for a missing mass or inertia, so that the robot can be viewed."""
    for tag, attributes in (("mass", ("value",)), ("inertia", schema.NUMBERS["inertia"])):
        child = inertial.find(tag)
        if child is None:
            child = etree.SubElement(inertial, tag)
            _tell(found, f"an <inertial> without <{tag}> counts as one of zero", owner)
        elif tag == "inertia" and any(child.get(name) is None for name in attributes):
            _tell(found, "components that are missing from an <inertia> count as zero", owner)
        else:
            continue
        for name in attributes:
            child.set(name, child.get(name, "0"))


def _keep_first(visual: etree._Element, owner: str, found: dict[str, dict[str, None]]) -> None:
    """Keep the first of several children of one kind, as other programs do."""
    for tag in schema.CHILDREN["visual"][1]:
        for child in list(visual.iterchildren(tag))[1:]:
            visual.remove(child)
            _tell(found, f"of several <{tag}> in one <visual> the first counts", owner)


def _with_materials(root: etree._Element) -> Iterator[tuple[etree._Element, str]]:
    """All elements that may contain materials, and their owners."""
    for material in root.iterchildren("material"):
        yield material, f"material '{material.get('name', '')}'"
    for link in root.iterchildren("link"):
        for part in link.iterchildren("visual", "collision"):
            for material in part.iterchildren("material"):
                yield material, f"link '{link.get('name')}'"


def _mend_material(material: etree._Element, owner: str, found: dict[str, dict[str, None]]) -> None:
    for colour in list(material.iterchildren("color")):
        words = (colour.get("rgba") or "").split()
        if len(words) == 3 and all(map(schema.is_number, words)):
            colour.set("rgba", " ".join((*words, "1")))
            _tell(found, "colours of three numbers are taken as opaque", owner)
        else:
            _try(colour, owner, found)
    for colour in list(material.iterchildren("color"))[1:]:
        material.remove(colour)
        _tell(found, "of several <color> in one <material> the first counts", owner)
