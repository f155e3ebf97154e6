"""What stands in a file and acts in MuJoCo but not here: it is told by name.

Looks (visual, statistic, cameras, lights), sizes, custom data and the parameters of MuJoCo's
solver (solref, solimp, margin, gap, condim above 3, integrator) say nothing that could be missed.
"""

from __future__ import annotations

import numpy as np

from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.notes import Notes

SECTIONS = (
    *("compiler", "option", "size", "statistic", "visual", "default", "custom", "asset"),
    *("worldbody", "contact", "equality", "tendon", "actuator", "keyframe"),
)
# section -> what to say
_LEFT_OUT = {
    "extension": "plugins are left out",
    "deformable": "deformable bodies and skins are left out",
    "sensor": "sensors are not read; the simulation has positions, velocities and forces",
}
# tag -> attribute -> what to say if it is not zero
_ACTING = {
    "body": {
        "gravcomp": "gravity compensation is left out",
        "mocap": "mocap bodies stay where they are",
    },
    "freejoint": {"align": "align is not read: the frame of the body stays as it is"},
    "geom": {
        "adhesion": "adhesion is left out",
        "surfacevel": "velocities of surfaces are left out",
    },
}


def note_unread(root: Node, notes: Notes) -> None:
    """Note what of a model is not read.

    Raises
    ------
    LoadError
        For a section that MJCF does not have.
    """
    for section in root.children:
        if section.tag in _LEFT_OUT:
            for node in section.children:
                kind = f"{node.tag} '{node.name}'" if node.name else node.tag
                notes.add(_LEFT_OUT[section.tag], kind)
        elif section.tag == "asset":
            for node in section.all("skin", "model"):
                notes.add(f"assets of the kind {node.tag} are left out", node.name)
        elif section.tag == "worldbody":
            _note_acting(section, notes)
        elif section.tag not in SECTIONS:
            raise section.error("is no section of MJCF", (*SECTIONS, *_LEFT_OUT))


def _note_acting(node: Node, notes: Notes) -> None:
    for attribute, sentence in _ACTING.get(node.tag, {}).items():
        value = node.attributes.get(attribute, "false").strip()
        acts = value == "true"
        if value not in ("true", "false", "auto"):
            acts = bool(np.any(node.some_numbers(attribute)))
        if acts:
            notes.add(sentence, node.name)
    for child in node.children:
        _note_acting(child, notes)
