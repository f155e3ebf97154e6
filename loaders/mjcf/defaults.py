"""Default classes: attributes of elements that do not have these themselves.

A class begins with the attributes of its parent. An element uses its `class`, else the `childclass`
of the nearest body or frame around it, else the outermost class.
"""

from __future__ import annotations

from collections.abc import Sequence

from robosim.loaders.mjcf.actuator_defaults import KIND, inherited
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import ORIENTATIONS

MAIN = "main"
# Actuators of all kinds share one set of defaults.
ACTUATORS = (
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "orientation",
    "pid",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "plugin",
)
_FAMILIES = {
    **dict.fromkeys(ACTUATORS, "general"),
    **dict.fromkeys(("spatial", "fixed"), "tendon"),
    **dict.fromkeys(("connect", "weld"), "equality"),
}
# Attributes of which an element may have only the first numbers.
_PARTIAL = frozenset(
    ("size", "friction", "gear", "gainprm", "biasprm", "dynprm", "stiffness", "damping")
)
# Attributes that say the same in two ways: an element's own one replaces the other of its class.
_EITHER = (ORIENTATIONS, ("kv", "dampratio"), ("area", "diameter"))


class Defaults:
    """The classes of a file.

    Parameters
    ----------
    root : Node
        The model, with all its <default> elements.

    Raises
    ------
    LoadError
        For a nested class without a name, or a duplicate name.
    """

    def __init__(self, root: Node) -> None:
        outermost: dict[str, dict[str, str]] = {}
        self._classes = {MAIN: outermost}
        self._outer: dict[str, list[dict[str, str]]] = {}
        for node in root.all("default"):
            # Older files have another name for the outermost class.
            self._classes[node.attributes.get("class", MAIN)] = outermost
            self._read(node, outermost)

    def _read(
        self,
        node: Node,
        known: dict[str, dict[str, str]],
        outer: Sequence[dict[str, str]] = (),
    ) -> None:
        """Read a class that begins with `known`; `outer` are the actuators of classes around it."""
        for child in node.children:
            if child.tag != "default":
                family = _FAMILIES.get(child.tag, child.tag)
                base = known.get(family, {})
                if child.tag in ACTUATORS:
                    base = {**_inherited([base, *outer], child), KIND: child.tag}
                known[family] = _merged(base, child.attributes)
        for child in node.all("default"):
            name = child.text("class")
            if name in self._classes:
                raise child.error(f"class '{name}' is there already")
            self._classes[name] = {tag: dict(values) for tag, values in known.items()}
            self._outer[name] = [known.get("general", {}), *outer]
            self._read(child, self._classes[name], self._outer[name])

    def resolve(self, node: Node, childclass: str | None = None, tag: str | None = None) -> Node:
        """An element with the attributes of its class in addition to its own.

        Parameters
        ----------
        node : Node
        childclass : str or None
            The childclass of the bodies around it.
        tag : str or None
            Tag whose defaults are used; None for its own tag.

        Raises
        ------
        LoadError
            For an unknown class.
        """
        family = tag or _FAMILIES.get(node.tag, node.tag)
        name = node.attributes.get("class", childclass or MAIN)
        self.check(name, node)
        base = self._classes[name].get(family, {})
        if node.tag in ACTUATORS:
            base = _inherited([base, *self._outer.get(name, ())], node)
        return node.with_attributes(_merged(base, node.attributes))

    def check(self, name: str, node: Node) -> None:
        """Raise a LoadError if there is no class of that name, to which `node` refers."""
        if name not in self._classes:
            raise node.error(f"default class '{name}' does not exist", tuple(self._classes))


def _inherited(classes: Sequence[dict[str, str]], node: Node) -> dict[str, str]:
    """Attributes that an actuator inherits from its class and outer ones, the innermost first."""
    try:
        return inherited(classes, node.tag)
    except ValueError as error:
        raise node.error(f"its default class has what is no number: {error}") from None


def _merged(base: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """The attributes of an element, which have precedence over inherited ones."""
    for either in _EITHER:
        if any(attribute in own for attribute in either):
            base = {key: value for key, value in base.items() if key not in either}
    merged = {**base, **own}
    for key in _PARTIAL & own.keys() & base.keys():
        words, inherited = own[key].split(), base[key].split()
        merged[key] = " ".join((*words, *inherited[len(words) :]))
    return merged
