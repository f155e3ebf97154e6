"""<replicate>: numbered copies of its content, each in the next frame.

References in other sections to a copied element count for every copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robosim import quaternions
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Angles, Pose, euler

# More elements than this are a mistake or an attack.
MOST_ELEMENTS = 200_000
_SECTIONS = ("contact", "tendon", "equality", "actuator", "sensor")
# Attributes with an element's name, and attributes that refer to elements of a body.
_NAMED = ("body", "joint", "freejoint", "geom", "site", "frame", "camera", "light")
_REFERENCES = frozenset(
    (
        *("body", "body1", "body2", "joint", "joint1", "joint2", "geom", "geom1", "geom2"),
        *("site", "site1", "site2", "sidesite", "refsite", "cranksite", "slidersite"),
        *("objname", "refname", "camera", "target", "tendon", "tendon1", "tendon2", "actuator"),
    )
)


class Expansion:
    """A model without <replicate>, in which `root` has frames instead.

    Raises
    ------
    LoadError
        For a count below 1, or one that results in too many elements.
    """

    def __init__(self, root: Node, angles: Angles) -> None:
        self._angles = angles
        self._suffixes: dict[str, list[str]] = {}
        self._left = MOST_ELEMENTS
        self.root = root
        if any(node.tag == "replicate" for node in _descendants(root)):
            bodies = [self._expanded(child) for child in root.children]
            self.root = replace(root, children=tuple(self._section(child) for child in bodies))

    def _expanded(self, node: Node) -> Node:
        """The element with all replicates below it expanded, the innermost first."""
        children: list[Node] = []
        for child in node.children:
            inner = self._expanded(child)
            children += self._copies(inner) if child.tag == "replicate" else [inner]
        return replace(node, children=tuple(children))

    def _copies(self, node: Node) -> Iterator[Node]:
        count = node.integer("count")
        self._left -= count * sum(1 for _ in _descendants(node))
        if count < 1 or self._left < 0:
            raise node.error(
                f"'count' must be from 1 on and lead to at most {MOST_ELEMENTS} elements, not "
                f"{count}"
            )
        turn = euler(node.numbers("euler", np.zeros(3)), self._angles)
        step = Pose(turn, node.numbers("offset", np.zeros(3)))
        separator, width = node.attributes.get("sep", ""), len(str(count - 1))
        suffixes = [f"{separator}{k:0{width}}" for k in range(count)]
        for inner in _descendants(node):
            if inner.tag in _NAMED and inner.name:
                self._suffixes[inner.name] = suffixes
        place = Pose.identity()
        for suffix in suffixes:
            attributes = {
                "pos": " ".join(map(repr, place.p.tolist())),
                "quat": " ".join(map(repr, quaternions.from_matrix(place.R).tolist())),
            }
            if node.has("childclass"):
                attributes["childclass"] = node.text("childclass")
            children = tuple(_renamed(child, suffix) for child in node.children)
            yield replace(node, tag="frame", attributes=attributes, children=children)
            place = place @ step

    def _section(self, section: Node) -> Node:
        if section.tag not in _SECTIONS:
            return section
        children = [copy for child in section.children for copy in self._for_each(child)]
        return replace(section, children=tuple(children))

    def _for_each(self, node: Node) -> list[Node]:
        """An element for each copy of the first copied object to which it refers."""
        for inner in _descendants(node):
            for key in inner.attributes.keys() & _REFERENCES:
                suffixes = self._suffixes.get(inner.attributes[key])
                if suffixes is not None:
                    copies = [self._referring(node, suffix) for suffix in suffixes]
                    # A copied tendon is referred to by further elements.
                    if node.name:
                        self._suffixes[node.name] = suffixes
                    return [copy for first in copies for copy in self._for_each(first)]
        return [node]

    def _referring(self, node: Node, suffix: str) -> Node:
        """The element that refers to the copies with one suffix."""
        attributes = {
            key: value + suffix
            if key == "name" or (key in _REFERENCES and suffix in self._suffixes.get(value, ()))
            else value
            for key, value in node.attributes.items()
        }
        children = tuple(self._referring(child, suffix) for child in node.children)
        return replace(node, attributes=attributes, children=children)


def _descendants(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _descendants(child)


def _renamed(node: Node, suffix: str) -> Node:
    """An element with a suffix appended to its name and to all names below it."""
    attributes = dict(node.attributes)
    if node.tag in _NAMED and node.name:
        attributes["name"] += suffix
    children = tuple(_renamed(child, suffix) for child in node.children)
    return replace(node, attributes=attributes, children=children)
