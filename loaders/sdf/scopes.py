"""Frames of SDF files: what poses are relative to, and what frames are attached to.

Each model is a scope with names of its links, joints, frames and nested models. Its own frame is
``__model__``. Names of nested models are joined by ``::``. The world is a scope whose frame is
called `world` as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from robosim.loaders.pose import Pose
from robosim.loaders.sdf.nodes import Node

MODEL, WORLD, ROOT = "__model__", "world", "__root__"
LINK, JOINT, FRAME, NESTED = "link", "joint", "frame", "model"


@dataclass
class Named:
    """A named element: its kind, its pose in the frame `base`, and what a frame is attached to."""

    kind: str
    node: Node
    pose: Pose
    base: str
    attached: str = ""


@dataclass
class Scope:
    """The frames of a model, or of the world.

    Attributes
    ----------
    node : Node
    prefix : str
        What names of its links begin with, outside of it.
    canonical : str
        The link that its own frame is attached to; "" for the first one.
    named : dict of name to Named
    nested : dict of name to Scope
    is_world : bool
    static : bool or None
        What an <include> says of it; None: what the model says.
    """

    node: Node
    prefix: str = ""
    canonical: str = ""
    named: dict[str, Named] = field(default_factory=dict)
    nested: dict[str, Scope] = field(default_factory=dict)
    is_world: bool = False
    static: bool | None = None
    _found: dict[str, Pose] = field(default_factory=dict)

    def add(self, name: str, named: Named) -> None:
        """Add an element, whose name must be new."""
        if name in self.named:
            other = self.named[name]
            line = other.node.element.sourceline
            raise named.node.refusal(
                f"the name is used twice, first by a {other.kind} in line {line}"
            )
        self.named[name] = named

    def pose(self, name: str, asking: Node) -> Pose:
        """The pose of a frame in the frame of this scope, at the zero of all joints.

        Raises
        ------
        LoadError
            For a frame that does not exist, or that is relative to itself through others.
        """
        chain: list[str] = []
        while not self._is_known(name):
            if name in chain:
                circle = " -> ".join([*chain[chain.index(name) :], name])
                raise asking.refusal(f"poses are relative to each other in a circle: {circle}")
            chain.append(name)
            name = self._look_up(name, asking).base
        place = self._known(name, asking)
        for below in reversed(chain):
            place = place @ self._own(below, asking)
            self._found[below] = place
        return place

    def _is_known(self, name: str) -> bool:
        return (
            name in self._found or self._is_self(name) or ("::" in name and name not in self.named)
        )

    def _is_self(self, name: str) -> bool:
        return name in ((WORLD, ROOT, MODEL) if self.is_world else (MODEL,))

    def _known(self, name: str, asking: Node) -> Pose:
        if name in self._found:
            return self._found[name]
        if self._is_self(name):
            return Pose.identity()
        first, _, rest = name.partition("::")
        inner = self._inner(first, name, asking)
        found = self.pose(first, asking) @ inner.pose(rest, asking)
        self._found[name] = found
        return found

    def _own(self, name: str, asking: Node) -> Pose:
        """The pose of an element in its base; of a nested model, that of its own frame."""
        one = self.named[name]
        if one.kind != NESTED or not one.attached:
            return one.pose
        # The pose is that of a frame in the nested model.
        return one.pose @ self.nested[name].pose(one.attached, one.node).inverse()

    def _look_up(self, name: str, asking: Node) -> Named:
        if name not in self.named:
            known = [MODEL, *self.named] if not self.is_world else [WORLD, *self.named]
            raise asking.refusal(f"there is no frame '{name}' here", known)
        return self.named[name]

    def _inner(self, first: str, name: str, asking: Node) -> Scope:
        if first not in self.nested:
            raise asking.refusal(
                f"there is no model '{first}' here, as '{name}' says", tuple(self.nested)
            )
        return self.nested[first]

    def link(self, name: str, asking: Node) -> str | None:
        """The link, by its name outside of all scopes, that a frame is attached to.

        None for the world.

        Raises
        ------
        LoadError
            For a frame that does not exist, or frames attached to each other in a circle.
        """
        seen: list[str] = []
        while True:
            if self.is_world and self._is_self(name):
                return None
            if name in seen:
                circle = " -> ".join([*seen[seen.index(name) :], name])
                raise asking.refusal(f"frames are attached to each other in a circle: {circle}")
            seen.append(name)
            if name == MODEL:
                return self.base_link(asking)
            if "::" in name and name not in self.named:
                first, _, rest = name.partition("::")
                return self._inner(first, name, asking).link(rest, asking)
            one = self._look_up(name, asking)
            if one.kind == LINK:
                return self.prefix + name
            if one.kind == NESTED:
                return self.nested[name].base_link(asking)
            name = one.attached

    def base_link(self, asking: Node) -> str:
        """The link that the frame of this model is attached to: the canonical one, or the first."""
        if self.canonical:
            found = self.link(self.canonical, asking)
            assert found is not None
            return found
        for name, one in self.named.items():
            if one.kind == LINK:
                return self.prefix + name
        for scope in self.nested.values():
            return scope.base_link(asking)
        raise asking.refusal("has no link that its frame could be attached to")
