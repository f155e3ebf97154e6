"""The files that make up a model: the MJCF file, what it includes, and its assets.

Includes are found from the model's folder, then from that of the file that includes. A file is
included once, so that includes can neither turn in circles nor multiply.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from robosim import safe_xml
from robosim.errors import LoadError
from robosim.loaders.folders import Folders
from robosim.loaders.mjcf.nodes import Node

INCLUDED_ROOTS = ("mujoco", "mujocoinclude")


class Files:
    """Finds and reads the files of one model.

    Parameters
    ----------
    path : pathlib.Path
        The model file.
    allowed : iterable of paths
        Folders that files may be read from, besides the model's own.

    Attributes
    ----------
    told : list of str
        What is no XML in the files that have been read, a sentence each.
    """

    def __init__(self, path: Path, allowed: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.path = path
        self.told: list[str] = []
        self._folders = Folders(path, allowed)

    def find(self, address: str, node: Node, *folders: Path) -> Path:
        """The file that an element names, in the first of some folders that has it.

        Raises
        ------
        LoadError
            If there is none, or if it is not among the model's files and folders allowed.
        """
        places = [folder / address for folder in folders]
        for place in places:
            if safe_xml.is_file(place):
                try:
                    self._folders.check(place, address, node.label)
                except LoadError as error:
                    raise error.in_file(node.file, node.line) from None
                return place
        looked = " and ".join(str(place) for place in dict.fromkeys(places))
        raise node.error(f"'{address}' does not exist (looked for {looked})")

    def read(self) -> Node:
        """The root element of the model, with what it includes in its place.

        Raises
        ------
        LoadError
            For XML that is malformed, or a file that is missing or included twice.
        """
        root = self._parse(self.path)
        if root.tag != "mujoco":
            raise root.error(f"the root element is <{root.tag}>", ("mujoco",))
        return self._expand(root, {self.path.resolve()})

    def _parse(self, path: Path) -> Node:
        data = safe_xml.read_bytes(path, largest=safe_xml.LARGEST_MODEL)
        return Node.from_xml(safe_xml.parse_model(data, path, self.told), path)

    def _expand(self, node: Node, seen: set[Path]) -> Node:
        children: list[Node] = []
        for child in node.children:
            if child.tag == "include":
                children += self._included(child, seen).children
            else:
                children.append(self._expand(child, seen))
        return replace(node, children=tuple(children))

    def _included(self, node: Node, seen: set[Path]) -> Node:
        path = self.find(node.text("file"), node, self.path.parent, node.file.parent)
        if path.resolve() in seen:
            raise node.error(f"'{node.text('file')}' is included already; a file is read once")
        seen.add(path.resolve())
        root = self._parse(path)
        if root.tag not in INCLUDED_ROOTS:
            raise root.error(f"cannot be included, as its root is <{root.tag}>", INCLUDED_ROOTS)
        return self._expand(root, seen)
