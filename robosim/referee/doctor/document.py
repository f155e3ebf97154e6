"""The text of a model file: which elements it has, and in which line of which file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from robosim import safe_xml
from robosim.errors import LoadError

# Elements of MJCF whose names are in one list; others have a list of their own tag.
_SAME_LIST = {"freejoint": "joint"}
_ACTUATORS = "actuator"
_UNTOLD_BELOW = ("default",)  # whose children name no elements


class Place(NamedTuple):
    """A line of a file."""

    file: str | None
    line: int | None


NOWHERE = Place(None, None)


@dataclass(frozen=True)
class Element:
    """An element of a model file.

    Attributes
    ----------
    node : lxml element
    path : pathlib.Path or None
        The file that it is in, which may be one that the model includes; None in a text.
    """

    node: etree._Element
    path: Path | None

    @property
    def tag(self) -> str:
        """The element's tag."""
        return str(self.node.tag)

    @property
    def name(self) -> str | None:
        """The element's name, or None."""
        return self.node.get("name")

    @property
    def place(self) -> Place:
        """The element's file and line."""
        return Place(None if self.path is None else str(self.path), self.node.sourceline)

    def numbers(self, attribute: str) -> list[float] | None:
        """The numbers of an attribute; None if it is missing or is no list of numbers."""
        try:
            return [float(text) for text in (self.node.get(attribute) or "").split()] or None
        except ValueError:
            return None


class Document:
    """A URDF or MJCF file with the files that it includes; any other file has no elements.

    A file that cannot be read as XML has no elements either: its loader says why.

    Parameters
    ----------
    path : pathlib.Path or None
    data : bytes or None
        A model that is no file; what it includes is not read.
    """

    def __init__(self, path: Path | None, data: bytes | None = None) -> None:
        self.path = path
        self.elements: list[Element] = []
        self.kind = ""
        if data is None and (path is None or path.suffix.lower() not in (".urdf", ".xml")):
            return
        root = _root(path, data)
        if root is not None and root.tag in ("robot", "mujoco"):
            self.kind = "urdf" if root.tag == "robot" else "mjcf"
            read = set() if path is None else {path.resolve()}
            self.elements = list(_elements(root, path, None if path is None else path.parent, read))

    def __iter__(self) -> Iterator[Element]:
        return iter(self.elements)

    def all(self, *tags: str) -> list[Element]:
        """All elements of some tags, in the order of the file."""
        return [element for element in self.elements if element.tag in tags]

    def named(self, name: str, *tags: str) -> Place:
        """Where an element is named; of several tags the first one that has the name."""
        for tag in tags:
            for element in self.elements:
                if element.tag == tag and element.name == name:
                    return element.place
        if not tags:
            for element in self.elements:
                if element.name == name:
                    return element.place
        return NOWHERE

    def body(self, name: str) -> Place:
        """Where a body or link is named."""
        return self.named(name, "link", "body")

    def joint(self, name: str) -> Place:
        """Where a joint is named."""
        return self.named(name, "joint", "freejoint", "loop_joint")

    def lists(self) -> dict[str, list[Element]]:
        """Elements with names, by the list in which a name may occur once."""
        found: dict[str, list[Element]] = defaultdict(list)
        for element in self.elements:
            if element.name is None or not self._defines(element.node):
                continue
            tag = _SAME_LIST.get(element.tag, element.tag)
            parent = element.node.getparent()
            if parent is not None and parent.tag in (_ACTUATORS, "sensor", "equality", "tendon"):
                tag = str(parent.tag)
            found[tag].append(element)
        return found

    def _defines(self, node: etree._Element) -> bool:
        """Whether the element is what its name names, and no reference or class."""
        parent = node.getparent()
        if self.kind == "urdf":
            return parent is not None and parent.tag == "robot" and node.tag in ("link", "joint")
        above = {str(one.tag) for one in node.iterancestors()}
        kinds = ("body", "geom", "joint", "freejoint", "site", "camera", "light")
        sections = (_ACTUATORS, "sensor", "equality", "tendon", "asset")
        if any(tag in above for tag in _UNTOLD_BELOW):
            return False
        in_section = parent is not None and parent.tag in sections
        return in_section or (node.tag in kinds and "worldbody" in above)


def _root(path: Path | None, data: bytes | None = None) -> etree._Element | None:
    try:
        if data is not None:
            return safe_xml.parse_model(data, Path("model"), [])
        assert path is not None
        data = safe_xml.read_bytes(path, "model file", safe_xml.LARGEST_MODEL)
        return safe_xml.parse_model(data, path, [])
    except LoadError:
        return None


def _elements(
    root: etree._Element, path: Path | None, folder: Path | None, read: set[Path]
) -> Iterator[Element]:
    """The elements of a file and of those that it includes, each file once."""
    for node in root.iter(etree.Element):
        yield Element(node, path)
        if node.tag != "include" or node.get("file") is None or path is None or folder is None:
            continue
        for place in (folder / node.get("file", ""), path.parent / node.get("file", "")):
            if safe_xml.is_file(place) and place.resolve() not in read:
                read.add(place.resolve())
                inside = _root(place)
                if inside is not None:
                    yield from _elements(inside, place, folder, read)
                break
