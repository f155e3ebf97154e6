"""<drake:joint>: joints that Drake adds to the format, converted to the format's joints.

A universal joint becomes two hinges with a massless link between them. A screw becomes a
cylindrical joint whose translation is coupled to its angle.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from lxml import etree

from robosim.description.joint import Joint
from robosim.description.names import free_name
from robosim.description.tendon import Tendon, Term
from robosim.loaders.schema import numbers, refusal, tag_name, text

TYPES = ("ball", "planar", "screw", "universal")
_PITCH = "screw_thread_pitch"


def standard(root: etree._Element, warnings: list[str]) -> None:
    """Convert Drake's joints to those of the format, in place.

    Raises
    ------
    LoadError
        For an unsupported type, and a screw without a pitch.
    """
    for joint in [element for element in root if tag_name(element) == "drake:joint"]:
        kind, where = joint.get("type"), f"drake:joint '{joint.get('name', '')}'"
        if kind not in TYPES:
            raise refusal(joint, where, f"joints of type '{kind}' are not read", TYPES)
        for element in joint.iter(etree.Element):
            element.tag = tag_name(element).removeprefix("drake:")
        if kind == "universal":
            _universal(joint, root, warnings)
        elif kind == "screw":
            if joint.find(_PITCH) is None:
                raise refusal(joint, where, f"element <drake:{_PITCH}> is missing")
            numbers(joint.find(_PITCH), "value", f"{where}: <drake:{_PITCH}>")
            joint.set("type", "cylindrical")


def _universal(joint: etree._Element, root: etree._Element, warnings: list[str]) -> None:
    """Two hinges: about x of the joint's frame, then about y of the child's."""
    name = text(joint, "name", "<drake:joint>")
    links = {link.get("name") for link in root.iterchildren("link")}
    joints = {other.get("name") for other in root.iterchildren("joint")}
    cross = etree.Element("link", name=free_name(f"{name}_cross", links))
    hinges = []
    for end, axis in (("x", "1 0 0"), ("y", "0 1 0")):
        hinge = copy.deepcopy(joint)
        hinge.set("type", "continuous")
        hinge.set("name", free_name(f"{name}_{end}", joints))
        for element in list(hinge):
            inner = "child" if end == "x" else "parent"
            if element.tag == inner:
                element.set("link", cross.get("name"))
            elif element.tag == "axis" or (element.tag == "origin" and end == "y"):
                hinge.remove(element)
        etree.SubElement(hinge, "axis", xyz=axis)
        hinges.append(hinge)
    if joint.find("axis") is not None:
        warnings.append(
            f"drake:joint '{name}': its <axis> means nothing, as a universal joint turns about x "
            "and y"
        )
    for element in (cross, *hinges):
        element.sourceline = joint.sourceline
        joint.addprevious(element)
    root.remove(joint)


def threads(root: etree._Element) -> dict[str, float]:
    """Screws of a tree after `standard`: joint -> translation per turn [m]."""
    return {
        str(joint.get("name")): numbers(pitch, "value", f"joint '{joint.get('name')}': <{_PITCH}>")[
            0
        ]
        for joint in root.iterchildren("joint")
        for pitch in joint.iterchildren(_PITCH)
    }


def threaded(
    joints: Sequence[Joint], pitches: dict[str, float], taken: Collection[str]
) -> tuple[tuple[Joint, ...], tuple[Tendon, ...]]:
    """The joints, with forces of screws on their rotation only, and the couplings of screws.

    Parameters
    ----------
    joints : sequence of Joint
    pitches : mapping of joint to float
        Result of `threads`.
    taken : collection of str
        Names that couplings must not have.
    """
    found, tendons = [], []
    for joint in joints:
        if joint.name in pitches:
            names = tuple(free_name(f"{joint.name}.{end}", taken) for end in ("t0", "r"))
            joint = replace(
                joint,
                coordinate_names=names,
                damping=joint.per_coordinate("damping") * (0.0, 1.0),
                friction=joint.per_coordinate("friction") * (0.0, 1.0),
            )
            path = Term(names[0]), Term(names[1], -pitches[joint.name] / (2 * np.pi))
            tendons.append(
                Tendon(free_name(f"{joint.name}_thread", taken), path, lower=0.0, upper=0.0)
            )
        found.append(joint)
    return tuple(found), tuple(tendons)
