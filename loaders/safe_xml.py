"""XML that cannot read other files, reach the network or grow without bound.

A document type declaration is the only door to entities, external or not, and no robot or mesh
file needs one: a file that has one is refused before anything else reads it.
"""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from lxml import etree

from robosim.errors import LoadError


def is_file(path: Path) -> bool:
    """Whether there is a file; False as well where nothing of that name can be."""
    try:
        return path.is_file()
    except OSError:  # too long a name, or a folder that may not be entered
        return False


def read_bytes(path: Path, what: str = "file") -> bytes:
    """The content of a file, or a LoadError that names it."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise LoadError(f"the {what} does not exist", file=path) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise LoadError(f"the {what} cannot be read: {reason}", file=path) from None


class _RootReached(Exception):
    """Ends the look at what comes before the root element."""


def refuse_doctype(data: bytes, path: Path) -> None:
    """Raise a LoadError if a document type declaration comes before the root element.

    Only what is before the root is read, so that no entity is ever expanded.
    """

    def stop(*_: object) -> None:
        raise _RootReached

    def refuse(*_: object) -> None:
        raise LoadError(
            "a document type declaration (DOCTYPE) is not accepted: it can pull in other files "
            "or expand without bound; remove it",
            file=path,
        )

    scanner = expat.ParserCreate()
    scanner.StartElementHandler = stop
    scanner.StartDoctypeDeclHandler = refuse
    try:
        scanner.Parse(data, True)
    except _RootReached:
        pass
    except expat.ExpatError as error:
        raise LoadError(
            f"malformed XML: {expat.ErrorString(error.code)}",
            file=path,
            element=f"line {error.lineno}",
        ) from None


def parse(data: bytes, path: Path, *, large: bool = False) -> etree._Element:
    """Root element of an XML document, without comments and processing instructions.

    Parameters
    ----------
    data : bytes
    path : pathlib.Path
        Where the data is from, for messages.
    large : bool
        Accept more than 10 MB of text in one element, as COLLADA meshes have; without entities
        the tree is no larger than the file.

    Raises
    ------
    LoadError
        For XML that is malformed, nested too deeply, or has a document type declaration.
    """
    refuse_doctype(data, path)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=large,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line = f"line {error.lineno}" if error.lineno else None
        raise LoadError(f"malformed XML: {error.msg}", file=path, element=line) from None
    return root
