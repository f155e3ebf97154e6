"""Elements of a file that are not read, but act in MuJoCo or may be intended to; these are noted.

Not noted are elements without an effect here: appearance (visual, statistic, lights),
sizes, custom data, and parameters of MuJoCo's solver (solref, solimp, margin, gap, integrator).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from robosim.errors import LoadError
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.schema import ELEMENTS, UNSEEN
from robosim.loaders.notes import Notes

# section -> note
_LEFT_OUT = {
    "extension": "plugins are left out",
    "deformable": "deformable bodies and skins are left out",
}
MOCAP = "mocap bodies stay where they are"
# tag -> attribute -> note if it is not zero
_ACTING = {
    "body": {
        "mocap": MOCAP,
    },
    "freejoint": {"align": "align is not read: the frame of the body stays as it is"},
    "geom": {
        "adhesion": "adhesion is left out",
    },
}
# Values that equal a missing attribute.
_NOTHING = ("", "false", "auto", "none", "enable", "-1")
# Flags without effect unless they are enabled.
_OFF = ("override",)


def note_unread(root: Node, notes: Notes, moved: Collection[str] = ()) -> None:
    """Note the elements of a model that are not read; mocap bodies that are `moved` are read.

    Raises
    ------
    LoadError
        For an unknown section.
    """
    for section in root.children:
        if section.tag in _LEFT_OUT:
            for node in section.children:
                kind = f"{node.tag} '{node.name}'" if node.name else node.tag
                notes.add(_LEFT_OUT[section.tag], kind)
        elif section.tag == "asset":
            for node in section.all("skin", "model"):
                notes.add(f"assets of the kind {node.tag} are left out", node.name)
        elif section.tag not in ELEMENTS["mujoco"].children:
            raise section.error("is no section of MJCF", sorted(ELEMENTS["mujoco"].children))
    counts: dict[str, Counter[str]] = {}
    _look_into(root, "", notes, counts, moved)
    for sentence, found in counts.items():
        for what, n in found.items():
            notes.add(sentence, f"{what} ({n} times)" if n > 1 else what)


def _look_into(
    node: Node,
    above: str,
    notes: Notes,
    counts: dict[str, Counter[str]],
    moved: Collection[str],
) -> None:
    """Count unread attributes and elements, here and below, by note."""
    known = ELEMENTS.get(f"{above}/{node.tag}") or ELEMENTS[node.tag]
    for attribute in node.attributes:
        if attribute in _ACTING.get(node.tag, {}):
            if _acts(node, attribute) and not (attribute == "mocap" and node.name in moved):
                notes.add(_ACTING[node.tag][attribute], node.name)
        elif attribute in known.acting:
            if _acts(node, attribute):
                sentence = "these attributes act in MuJoCo, and not here"
                counts.setdefault(sentence, Counter())[f"'{attribute}' of <{node.tag}>"] += 1
        elif attribute not in known.read | known.quiet:
            sentence = "MJCF has no such attributes, so they are not read"
            counts.setdefault(sentence, Counter())[f"'{attribute}' of <{node.tag}>"] += 1
    for child in node.children:
        if child.tag not in known.children:
            if node.tag not in UNSEEN:
                sentence = "MJCF has no such elements there, so they are not read"
                counts.setdefault(sentence, Counter())[f"<{child.tag}> in <{node.tag}>"] += 1
        elif child.tag not in UNSEEN:
            _look_into(child, node.tag, notes, counts, moved)


def _acts(node: Node, attribute: str) -> bool:
    """Whether a value differs from that of a missing attribute."""
    value = node.attributes[attribute].strip()
    if attribute in _OFF:
        return value == "enable"
    if value in _NOTHING:
        return False
    try:
        return bool(np.any(node.some_numbers(attribute)))
    except LoadError:
        return True  # a word
