"""XML that cannot read other files, reach the network or grow without bound.

A document type declaration is the only way to declare entities, external or not, and no robot or
mesh file needs one. So a file with a declaration is refused before it is read otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from lxml import etree

from robosim import xml_repairs
from robosim.errors import LoadError

# Largest size of a model file [bytes]; published ones have less than 2 MB. In the worst case, a
# file that consists of empty elements, a tree needs some 30 times the memory of its file.
LARGEST_MODEL = 16 << 20


# Errors after which libxml2 continues without losing data: a bracket in an attribute or in text,
# and a second root, which robot programs ignore.
_HARMLESS = frozenset(("ERR_LT_IN_ATTRIBUTE", "ERR_MISPLACED_CDATA_END", "ERR_DOCUMENT_END"))


class MalformedError(LoadError):
    """A document that is not valid XML."""


def is_file(path: Path) -> bool:
    """Whether there is a file; False also for names that are not possible."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long a name, a null, or a folder without permission
        return False


def exists(path: Path) -> bool:
    """Whether there is a file or folder; False also for names that are not possible."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path, what: str = "file", largest: int | None = None) -> bytes:
    """The content of a regular file, or a LoadError that names it.

    Pipes and devices, which may never end, are refused, and so are files with more than `largest`
    bytes.
    """
    try:
        if not path.is_file():
            reason = "is not a regular file" if path.exists() else "does not exist"
            raise LoadError(f"the {what} {reason}", file=path)
        with path.open("rb") as file:
            data = file.read() if largest is None else file.read(largest + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LoadError(f"the {what} cannot be read: {reason}", file=path) from None
    if largest is not None and len(data) > largest:
        raise LoadError(
            f"the {what} has more than {largest >> 20} MB, which is the most that is read",
            file=path,
        )
    return data


class _RootReached(Exception):
    """Ends the search of the part before the root element."""


def refuse_doctype(data: bytes, path: Path) -> None:
    """Raise a LoadError if a document type declaration comes before the root element.

    Only the part before the root is read, so that no entity is expanded.
    """

    def stop(*_: object) -> None:
        raise _RootReached

    def refuse(*_: object) -> None:
        raise LoadError(
            "a document type declaration (DOCTYPE) is not accepted: it can pull in other files "
            "or expand without bound; remove it",
            file=path,
            line=scanner.CurrentLineNumber,
        )

    scanner = expat.ParserCreate()
    scanner.StartElementHandler = stop
    scanner.StartDoctypeDeclHandler = refuse
    try:
        scanner.Parse(data, True)
    except (_RootReached, LoadError) as end:
        if isinstance(end, LoadError):
            raise
    except expat.ExpatError as error:
        _malformed(path, expat.ErrorString(error.code), error.lineno)
    except (LookupError, ValueError) as error:  # an encoding that Python does not have
        _malformed(path, str(error), 1)


def _malformed(path: Path, reason: str, line: int) -> NoReturn:
    raise MalformedError(f"malformed XML: {reason}", file=path, line=line or None) from None


def parse(data: bytes, path: Path, *, large: bool = False) -> etree._Element:
    """Root element of an XML document, without comments and processing instructions.

    An undeclared prefix, as many published files have it, becomes part of the tag:
    ``<sensor:camera>`` has the tag "sensor:camera".

    Parameters
    ----------
    data : bytes
    path : pathlib.Path
        Origin of the data, for messages.
    large : bool
        Accept more than 10 MB of text in one element, as COLLADA meshes have; without entities
        the tree is no larger than the file.

    Raises
    ------
    LoadError
        For XML that is malformed, nested too deeply, or has a document type declaration.
    """
    refuse_doctype(data, path)
    parser = _parser(large)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        # The parser's log, because that of the error contains earlier documents as well.
        log = parser.error_log
        if not log or any(entry.domain_name != "NAMESPACE" for entry in log):
            _malformed(path, error.msg or "unknown error", error.lineno or 0)
    except ValueError as error:  # libxml2 accepts it and lxml does not, for example an empty name
        _malformed(path, str(error), 0)
    return etree.fromstring(data, _parser(large, recover=True))


def parse_model(data: bytes, path: Path, told: list[str]) -> etree._Element:
    """As `parse`, for model files, which may be invalid XML that other robot programs read.

    The same rules hold. Elements of a default namespace have plain tags.

    Parameters
    ----------
    data : bytes
    path : pathlib.Path
    told : list of str
        Receives a sentence about invalid XML.
    """
    try:
        root = parse(data, path)
    except MalformedError as error:
        root = _leniently(data, path, error)
        line = f" in line {error.line}" if error.line else ""
        reason = error.reason.removeprefix("malformed XML: ")
        told.append(f"{path.name} is no XML{line} ({reason}); read as other programs do")
    plain = [element for element in root.iter(etree.Element)
             if element.prefix is None and str(element.tag).startswith("{")]  # fmt: skip
    for element in plain:
        element.tag = etree.QName(element).localname
    if plain:
        etree.cleanup_namespaces(root)
    return root


def _leniently(data: bytes, path: Path, error: MalformedError) -> etree._Element:
    """The root of a repaired document, or else the error again."""
    text = xml_repairs.repaired(data)
    if text is None:
        raise error
    try:
        refuse_doctype(text, path)
        parser = _parser(large=False, recover=True)
        root = etree.fromstring(text, parser)
    except (MalformedError, etree.XMLSyntaxError, ValueError):
        raise error from None
    found = (entry for entry in parser.error_log if entry.domain_name != "NAMESPACE")
    if root is None or any(entry.type_name not in _HARMLESS for entry in found):
        raise error
    return root


def _parser(large: bool, recover: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=large,
        remove_comments=True,
        remove_pis=True,
        recover=recover,
    )
