"""SDF files: their version, and the files that they include."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from lxml import etree

from robosim import safe_xml
from robosim.errors import LoadError
from robosim.loaders.notes import Notes
from robosim.loaders.packages import FileFinder
from robosim.loaders.schema import tag_name
from robosim.loaders.sdf.nodes import Node, Read, Source, Version

OLDEST, NEWEST = (1, 4), (1, 12)
MOST_INCLUDES = 1000
_CONFIG = "model.config"
_MODEL = re.compile(r"model://+([^/]+)/*(.*)", re.DOTALL)


class Files:
    """All files that make up a model.

    Attributes
    ----------
    notes : Notes
    read : Read
    roots : list of lxml elements
        Of all files.
    """

    def __init__(self, package_dirs: Iterable[str | os.PathLike[str]], notes: Notes) -> None:
        self._package_dirs = tuple(package_dirs)
        self.notes, self.read = notes, Read()
        self.roots: list[etree._Element] = []
        self.finders: list[FileFinder] = []

    def open(self, path: Path) -> Node:
        """The root of a file.

        Raises
        ------
        LoadError
            For what is no SDF, or one of a version that is not read.
        """
        data = safe_xml.read_bytes(path, largest=safe_xml.LARGEST_MODEL)
        told: list[str] = []
        root = safe_xml.parse_model(data, path, told)
        for sentence in told:
            self.notes.add(sentence)
        if root.tag != "sdf":
            raise LoadError(
                f"is <{tag_name(root)}>, not <sdf>",
                file=path,
                line=root.sourceline,
                element="root element",
            )
        finder = FileFinder(path, self._package_dirs)
        node = Node(root, Source(path, (0, 0), finder), self.read, "<sdf>")
        node.source.version = self._version(node)
        self.roots.append(root)
        self.finders.append(finder)
        if len(self.roots) > MOST_INCLUDES:
            raise node.refusal(f"more than {MOST_INCLUDES} files are not read")
        return node

    def _version(self, node: Node) -> Version:
        text = (node.attribute("version") or "").strip()
        found = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", text)
        if found is None:
            raise node.refusal(f"attribute 'version' must be as in '1.8', not '{text}'")
        version = int(found[1]), int(found[2])
        if version < OLDEST:
            raise node.refusal(f"version {text} is older than 1.4, the oldest that is read")
        if version > NEWEST:
            self.notes.add(f"version {text} of the format is newer than 1.12: read as that one")
        return version

    def included(self, include: Node) -> Node:
        """The root of the file that an <include> names.

        Raises
        ------
        LoadError
            For a file that does not exist, or may not be read, or is of another kind.
        """
        uri = include.word("uri")
        path = self._folder_or_file(uri, include)
        if path.is_dir():
            path = self._in_folder(path, include)
        if path.suffix.lower() in (".urdf", ".xacro"):
            raise include.refusal(f"'{uri}' is a URDF, which an SDF cannot include here")
        return self.open(path)

    def _folder_or_file(self, uri: str, include: Node) -> Path:
        finder = include.source.finder
        match = _MODEL.match(uri)
        if match is not None and not Path(match[2]).suffix:
            top = finder.package(match[1], include.where)
            path = top / match[2] if match[2] else top
            if not path.resolve().is_relative_to(top.resolve()):
                raise include.refusal(f"'{uri}' leads out of its package")
            if path.is_dir():
                return path
        beside = include.source.path.parent / uri
        if "://" not in uri and safe_xml.exists(beside) and beside.is_dir():
            finder.folders.check(beside, uri, include.where)
            return beside
        return finder.find(uri, include.where)

    def _in_folder(self, folder: Path, include: Node) -> Path:
        """The model file of a folder: the newest that its model.config names, or model.sdf."""
        config = folder / _CONFIG
        names: list[tuple[Version, str]] = []
        if safe_xml.is_file(config):
            root = safe_xml.parse_model(safe_xml.read_bytes(config), config, [])
            for element in root.iterchildren("sdf"):
                found = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", element.get("version") or "1.4")
                version = (int(found[1]), int(found[2])) if found else OLDEST
                names.append((version, (element.text or "").strip()))
        known = [name for version, name in sorted(names) if version <= NEWEST] or ["model.sdf"]
        path = folder / known[-1]
        if not path.resolve().is_relative_to(folder.resolve()):
            raise include.refusal(f"'{known[-1]}' in {config} leads out of its folder")
        if not safe_xml.is_file(path):
            raise include.refusal(f"the folder {folder} has no '{known[-1]}'")
        return path
