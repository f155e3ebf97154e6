"""The files that make up a model: the MJCF file, what it includes, and its assets.

Includes are searched for in the model's folder, then in that of the including file. As in MuJoCo, a
file is included at most once by each of its names; links to it have others. So that includes can
neither be cyclic nor multiply, no file includes itself, and their number is limited.
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
from robosim.loaders.notes import Notes
from robosim.loaders.spellings import somewhere_below, spellings

_MOST_INCLUDES = 1000
INCLUDED_ROOTS = ("mujoco", "mujocoinclude")


def stem(address: str) -> str:
    """The default name of an asset: that of its file, without folders and suffix."""
    return Path(address.replace("\\", "/")).stem


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
    notes : Notes
        Notes on invalid XML, and on files that had to be guessed.
    """

    def __init__(self, path: Path, allowed: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.path = path
        self.notes = Notes()
        self._folders = Folders(path, allowed)

    def find(self, address: str, node: Node, *folders: Path) -> Path:
        """The file of an element's address, in the first of some folders that has it.

        The address may have the form of Windows. If there is no such file, a file in the model's
        folder whose path ends like the address is used, with a note.

        Raises
        ------
        LoadError
            If there is no such file, or if it is outside of the allowed folders.
        """
        places = [folder / spelt for spelt in spellings(address) for folder in folders]
        for place in places:
            if safe_xml.is_file(place):
                try:
                    self._folders.check(place, address, node.label)
                except LoadError as error:
                    raise error.in_file(node.file, node.line) from None
                return place
        guess = somewhere_below((*folders, *self._folders.own), address)
        if guess is not None and self._folders.contains(guess):
            self.notes.add(f"'{address}' is not where the model file says; guessed: {guess}")
            return guess
        looked = " and ".join(str(folder / address) for folder in dict.fromkeys(folders))
        raise node.error(f"'{address}' does not exist (looked for {looked})")

    def asset(self, node: Node, folder: str, strip: bool) -> Path:
        """The file of an asset: in a folder of the model, or else beside the file that names it.

        Parameters
        ----------
        node : Node
        folder : str
            Folder relative to the model's.
        strip : bool
            Whether the folders in the address are ignored.
        """
        address = node.text("file")
        if strip:
            address = address.replace("\\", "/").rpartition("/")[2]
        own = self.path.parent
        places = [own / spelt for spelt in spellings(folder)]
        return self.find(address, node, *dict.fromkeys((*places, node.file.parent)))

    def read(self) -> Node:
        """The root element of the model, with included elements in place of <include>.

        Raises
        ------
        LoadError
            For malformed XML, or a file that is missing or included twice.
        """
        root = self._parse(self.path)
        if root.tag != "mujoco":
            raise root.error(f"the root element is <{root.tag}>", ("mujoco",))
        return self._expand(root, {os.path.abspath(self.path)}, (self.path.resolve(),))

    def _parse(self, path: Path) -> Node:
        data = safe_xml.read_bytes(path, largest=safe_xml.LARGEST_MODEL)
        told: list[str] = []
        root = safe_xml.parse_model(data, path, told)
        for sentence in told:
            self.notes.add(sentence)
        return Node.from_xml(root, path)

    def _expand(self, node: Node, seen: set[str], around: tuple[Path, ...]) -> Node:
        """An element with included ones; `seen` are names of files, `around` those around it."""
        children: list[Node] = []
        for child in node.children:
            if child.tag == "include":
                children += self._included(child, seen, around).children
            else:
                children.append(self._expand(child, seen, around))
        return replace(node, children=tuple(children))

    def _included(self, node: Node, seen: set[str], around: tuple[Path, ...]) -> Node:
        path = self.find(node.text("file"), node, self.path.parent, node.file.parent)
        name, real = os.path.abspath(path), path.resolve()
        if name in seen:
            raise node.error(f"'{node.text('file')}' is included already; a file is read once")
        if real in around:
            raise node.error(f"'{node.text('file')}' is included already, and includes itself")
        seen.add(name)
        if len(seen) > _MOST_INCLUDES:
            raise node.error(f"more than {_MOST_INCLUDES} files are included")
        root = self._parse(path)
        if root.tag not in INCLUDED_ROOTS:
            raise root.error(f"cannot be included, as its root is <{root.tag}>", INCLUDED_ROOTS)
        return self._expand(root, seen, (*around, real))
