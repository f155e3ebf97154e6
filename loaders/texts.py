"""Models that are not files: a text, or an object of yourdfpy or MuJoCo that is converted to one.

The text is written to a temporary folder. Files to which it refers are searched for at the origin
of the object, or in `package_dirs`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from lxml import etree

from robosim import safe_xml
from robosim.errors import LoadError, ModelError
from robosim.loaders import kinds

MODEL = "model"


class Text(NamedTuple):
    """A model as text, with data for reading it.

    Attributes
    ----------
    data : bytes
    whose : str
        Description in errors.
    folders : tuple of pathlib.Path
        Folders for relative paths.
    find : callable(address) -> path or None
        A further way to find its files.
    files : mapping of relative path to bytes
        Files that the object contains.
    is_object : bool
        Whether it comes from an object of a library, which reads files anywhere.
    """

    data: bytes
    whose: str
    folders: tuple[Path, ...] = ()
    find: Callable[[str], str | None] = lambda address: None
    files: Mapping[str, bytes] = MappingProxyType({})
    is_object: bool = False


def text_of(source: Any) -> Text | None:
    """A model as text, if the source is not a name or path; None otherwise.

    Raises
    ------
    LoadError
        For an object that MuJoCo cannot write.
    """
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return Text(source.strip("\ufeff \t\r\n").encode(), "the text of a model")
    if isinstance(source, bytes) and source.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return Text(source.lstrip(b"\xef\xbb\xbf \t\r\n"), "the text of a model")
    library = type(source).__module__.partition(".")[0]
    if library == "yourdfpy" and hasattr(source, "write_xml_string"):
        return _of_yourdfpy(source)
    if library == "mujoco" and hasattr(source, "to_xml"):
        return _of_mujoco(source)
    return None


def _of_yourdfpy(urdf: Any) -> Text:
    handler = getattr(urdf, "_filename_handler", None)

    def find(address: str) -> str | None:
        found = None if handler is None else handler(fname=address)
        return found if found is not None and os.path.isfile(found) else None

    return Text(urdf.write_xml_string(), "a yourdfpy.URDF", find=find, is_object=True)


def _of_mujoco(spec: Any) -> Text:
    try:
        data = spec.to_xml().encode()
    except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
        raise LoadError(f"a mujoco.MjSpec that MuJoCo cannot write as XML: {error}") from error
    beside = Path(spec.modelfiledir or ".")
    folders = tuple(beside / (folder or "") for folder in (spec.meshdir, spec.texturedir, ""))
    return Text(data, "a mujoco.MjSpec", folders, files=dict(spec.assets), is_object=True)


@contextmanager
def as_file(text: Text, folders: tuple[Path, ...]) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The path of a temporary file with that text, and the folders from which it may read.

    `folders` are those of the user, which may also contain files with relative paths. Errors of the
    file name the origin of the text.
    """
    with tempfile.TemporaryDirectory(prefix="robosim-") as name:
        own = Path(name)
        for address, content in text.files.items():
            place = own / PurePosixPath(address)
            if not place.resolve().is_relative_to(own.resolve()):
                raise LoadError(f"{text.whose} has an asset '{address}' outside of its folder")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        path = own / MODEL
        try:
            root = safe_xml.parse_model(text.data, path, [])
            allowed = _anchored(root, own, text, folders)
            path = path.with_suffix(kinds.SUFFIX_OF.get(root.tag, ".urdf"))
            path.write_bytes(etree.tostring(root) if allowed else text.data)
            yield path, tuple(allowed)
        except ModelError as error:
            if error.file is None or not error.file.is_relative_to(own):
                raise
            raise error.in_file(text.whose) from None


def _anchored(root: Any, own: Path, text: Text, folders: tuple[Path, ...]) -> list[str]:
    """Replace relative paths of files in other folders by absolute ones; returns their folders."""
    allowed = []
    for element in root.iter(etree.Element):
        for attribute in ("filename", "file"):
            address = element.get(attribute)
            if not address or not _may_lead(address, own, text):
                continue
            found = text.find(address) or _below((*text.folders, *folders), address, text)
            if found is not None:
                element.set(attribute, os.path.abspath(found))
                allowed.append(os.path.dirname(os.path.abspath(found)))
    return list(dict.fromkeys(allowed))


def _may_lead(address: str, own: Path, text: Text) -> bool:
    """Whether the file of an address may be in another folder.

    Absolute paths are allowed only for objects, which have read the file; a text may be from an
    unknown source.
    """
    return text.is_object if os.path.isabs(address) else not (own / address).is_file()


def _below(folders: tuple[Path, ...], address: str, text: Text) -> str | None:
    """The first file with that relative path; for a text, only within the folder."""
    for folder in folders:
        place = folder / address
        inside = place.resolve().is_relative_to(folder.resolve())
        if (inside or text.is_object) and place.is_file():
            return str(place)
    return None
