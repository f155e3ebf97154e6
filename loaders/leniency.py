"""What of a URDF file stops no load: what does not matter to how a robot moves, or can be added.

Looks, and what a joint of some type has no use for, are left out if they are wrong, and told. The
name of the robot, and masses and inertias, are added where they are missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from robosim.errors import LoadError
from robosim.loaders import schema

# kind of a joint -> children that say nothing there; of all kinds, what nothing ever uses.
_IDLE = {
    "fixed": ("axis", "limit", "dynamics", "safety_controller", "mimic"),
    **dict.fromkeys(("floating", "spherical", "fixed_orientation"), ("axis",)),
}
_ALWAYS_IDLE = ("calibration",)


def leave_out(root: etree._Element, name: str, warnings: list[str]) -> None:
    """Take out of a URDF tree, in place, what is wrong and does not matter; add what is missing.

    Parameters
    ----------
    root : lxml element
    name : str
        For a robot without one.
    warnings : list of str
        Gets a sentence for each kind of what was wrong, with the links or joints.
    """
    found: dict[str, dict[str, None]] = {}
    if root.tag == "robot" and not (root.get("name") or "").strip():
        root.set("name", name)
        warnings.append(f"the robot has no name; it is called '{name}' as the file is")
    for element, owner in _with_materials(root):
        _mend_material(element, owner, found)
    for link in root.iterchildren("link"):
        owner = f"link '{link.get('name')}'"
        for inertial in link.iterchildren("inertial"):
            _complete(inertial, owner, found)
        for visual in list(link.iterchildren("visual")):
            _keep_first(visual, owner, found)
            _try(visual, owner, found)
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
    """Check an element, and take it out if it is wrong."""
    try:
        schema.check_text(element, f"<{element.tag}>")
        schema.check_element(element, f"<{element.tag}>")
    except LoadError as error:
        element.getparent().remove(element)
        line = "" if error.line is None else f" (line {error.line})"
        _tell(found, f"left out, as it is wrong: {error.element}: {error.reason}{line}", owner)


def _complete(inertial: etree._Element, owner: str, found: dict[str, dict[str, None]]) -> None:
    """Zeros for a mass and an inertia that are missing: what they are of can be looked at."""
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
    """Of several children of one kind the first, as other programs read them."""
    for tag in schema.CHILDREN["visual"][1]:
        for child in list(visual.iterchildren(tag))[1:]:
            visual.remove(child)
            _tell(found, f"of several <{tag}> in one <visual> the first counts", owner)


def _with_materials(root: etree._Element) -> Iterator[tuple[etree._Element, str]]:
    """All elements that hold the look of something, and whose that is."""
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
