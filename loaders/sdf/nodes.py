"""Elements of SDF files, which remember what has been read of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robosim import quaternions
from robosim.errors import LoadError
from robosim.loaders.loops import turned
from robosim.loaders.packages import FileFinder
from robosim.loaders.pose import Pose
from robosim.loaders.schema import is_number, tag_name

Array = NDArray[np.float64]

Version = tuple[int, int]
_TRUE, _FALSE = ("true", "1"), ("false", "0")
_INFINITE = ("inf", "+inf", "infinity", "+infinity")
# Elements with an infinity of this size are meant to have none, as in the format's defaults.
UNLIMITED = 1e16


@dataclass(eq=False)
class Source:
    """A file: its path, its version, and how the files are found to which it refers."""

    path: Path
    version: Version
    finder: FileFinder


@dataclass
class Read:
    """The elements and attributes that were read, of all files."""

    elements: set[etree._Element] = field(default_factory=set)
    attributes: set[tuple[etree._Element, str]] = field(default_factory=set)
    meshes: set[str] = field(default_factory=set)


class Node:
    """An element of a file.

    Attributes
    ----------
    element : lxml element
    source : Source
    read : Read
    where : str
        How messages call it.
    """

    def __init__(self, element: etree._Element, source: Source, read: Read, where: str) -> None:
        self.element, self.source, self.read, self.where = element, source, read, where
        read.elements.add(element)

    @property
    def tag(self) -> str:
        return tag_name(self.element)

    @property
    def version(self) -> Version:
        """The version of its file."""
        return self.source.version

    def refusal(self, reason: str, alternatives: Sequence[str] = ()) -> LoadError:
        """The error for this element, with its file and line."""
        return LoadError(
            reason,
            file=self.source.path,
            line=self.element.sourceline,
            element=self.where,
            alternatives=tuple(alternatives),
        )

    def within(self, name: str) -> Node:
        """The same element, called by the name of what it is in as well."""
        return Node(self.element, self.source, self.read, name)

    def all(self, *tags: str) -> list[Node]:
        """The children of some tags, in the order of the file."""
        return [self._of(child) for child in self.element if tag_name(child) in tags]

    def one(self, tag: str) -> Node | None:
        """The only child of a tag, None without one.

        Raises
        ------
        LoadError
            If there are several.
        """
        found = [child for child in self.element if tag_name(child) == tag]
        if len(found) > 1:
            raise self.refusal(f"has more than one <{tag}>")
        return self._of(found[0]) if found else None

    def needed(self, tag: str) -> Node:
        """As `one`, for a child that must be there."""
        node = self.one(tag)
        if node is None:
            raise self.refusal(f"element <{tag}> is missing")
        return node

    def _of(self, child: etree._Element) -> Node:
        tag, name = tag_name(child), child.get("name")
        own = f"<{tag}>" if name is None else f"{tag} '{name}'"
        return Node(child, self.source, self.read, f"{self.where}: {own}")

    def name(self) -> str:
        """The attribute `name`, which must be there and not be reserved."""
        name = (self.attribute("name") or "").strip()
        if not name:
            raise self.refusal("attribute 'name' is missing")
        if "::" in name and self.version >= (1, 8):
            raise self.refusal(f"the name '{name}' must not contain '::', which divides names")
        if name.startswith("__") and name.endswith("__") and self.version >= (1, 7):
            raise self.refusal(f"the name '{name}' is reserved")
        return name

    def attribute(self, name: str) -> str | None:
        """An attribute, None without one."""
        self.read.attributes.add((self.element, name))
        value = self.element.get(name)
        return None if value is None else str(value)

    @property
    def text(self) -> str:
        return (self.element.text or "").strip()

    def word(self, tag: str, default: str | None = None) -> str:
        """The text of a child, or a default; without one the child must be there."""
        node = self.one(tag) if default is not None else self.needed(tag)
        if node is None:
            assert default is not None
            return default
        if not node.text and default is None:
            raise node.refusal("is empty")
        return node.text

    def flag(self, tag: str, default: bool = False) -> bool:
        """The truth of a child."""
        node = self.one(tag)
        if node is None or not node.text:
            return default
        return node.truth(node.text)

    def truth(self, text: str) -> bool:
        """The truth that a text says."""
        if text.lower() not in _TRUE + _FALSE:
            raise self.refusal(f"must be true or false, not '{text}'", _TRUE + _FALSE)
        return text.lower() in _TRUE

    def number(self, tag: str, default: float | None = None, least: float | None = None) -> float:
        """The finite number of a child, or a default; not below `least`."""
        node = self.one(tag) if default is not None else self.needed(tag)
        if node is None or (not node.text and default is not None):
            assert default is not None
            return default
        (value,) = node.numbers(1)
        if least is not None and value < least:
            must = "not be negative" if least == 0 else f"be {least:g} at least"
            raise node.refusal(f"must {must}, not {value:g}")
        return value

    def positive(self, tag: str, default: float | None = None) -> float:
        """The number of a child, which must be positive."""
        value = self.number(tag, default)
        if not value > 0:
            raise self.needed(tag).refusal(f"must be positive, not {value:g}")
        return value

    def bound(self, tag: str, default: float) -> float:
        """The number of a child, which may be infinite."""
        node = self.one(tag)
        if node is None or not node.text:
            return default
        text = node.text.lower()
        if text in _INFINITE:
            return math.inf
        if text.startswith("-") and text[1:] in _INFINITE:
            return -math.inf
        (value,) = node.numbers(1)
        return value if abs(value) < UNLIMITED else math.copysign(math.inf, value)

    def vector(self, tag: str, count: int, default: Iterable[float] | None = None) -> Array:
        """The numbers (count,) of a child."""
        node = self.one(tag) if default is not None else self.needed(tag)
        if node is None or (not node.text and default is not None):
            assert default is not None
            return np.array(tuple(default), dtype=float)
        return node.numbers(count)

    def numbers(self, *counts: int) -> Array:
        """The numbers of its text."""
        words = self.text.split()
        if len(words) not in counts:
            expected = " or ".join(str(count) for count in counts)
            raise self.refusal(f"must hold {expected} number(s), not '{self.text}'")
        for word in words:
            if not is_number(word):
                raise self.refusal(f"must be finite numbers, not '{word}'")
        return np.array([float(word) for word in words])

    def pose(self) -> tuple[Pose, str]:
        """(pose, frame that it is relative to) of its <pose>; "" for the usual frame.

        Six numbers are a position and roll, pitch and yaw [rad]; those of later versions may be in
        degrees, or be a quaternion (x, y, z, w).
        """
        node = self.one("pose")
        if node is None:
            return Pose.identity(), ""
        frame = node.attribute("relative_to") or ""
        told = node.attribute("frame")
        if told:
            # Programs do not agree on what it means in versions that have it.
            raise node.refusal(
                f"has the attribute frame='{told}'; since 1.7 the format calls it relative_to"
            )
        form = node.attribute("rotation_format") or "euler_rpy"
        if form not in ("euler_rpy", "quat_xyzw"):
            raise node.refusal(f"unknown rotation_format '{form}'", ("euler_rpy", "quat_xyzw"))
        degrees = node.truth(node.attribute("degrees") or "false")
        if not node.text:
            return Pose.identity(), frame
        if form == "quat_xyzw":
            numbers = node.numbers(7)
            q = numbers[[6, 3, 4, 5]]
            if np.linalg.norm(q) < 1e-12:
                raise node.refusal("the quaternion must not be of length zero")
            return Pose(quaternions.rotation_matrix(quaternions.normalized(q)), numbers[:3]), frame
        numbers = node.numbers(6)
        angles = np.deg2rad(numbers[3:]) if degrees else numbers[3:]
        return Pose(turned(angles.tolist()), numbers[:3]), frame


def unread(roots: Iterable[etree._Element], read: Read) -> str | None:
    """A warning that counts the elements and attributes that were not read; None without any."""
    found: Counter[str] = Counter()
    for root in roots:
        stack = [root]
        while stack:
            element = stack.pop()
            tag = tag_name(element)
            found.update(
                f"'{name}' of <{tag}>"
                for name in element.attrib
                if name != "name" and (element, name) not in read.attributes
            )
            for child in element:
                if child in read.elements:
                    stack.append(child)
                else:
                    found[f"<{tag}><{tag_name(child)}>"] += 1
    if not found:
        return None
    listed = (f"{what} ({n})" if n > 1 else what for what, n in sorted(found.items()))
    return f"the simulation does not use: {', '.join(listed)}"
