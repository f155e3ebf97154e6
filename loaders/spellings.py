"""Spellings of file addresses on other systems: backslashes, other cases, other folders.

Files are often written on Windows, where case does not matter and "\" separates folders, and on
computers where they were in other folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from robosim import safe_xml

_DRIVE = re.compile(r"^(?:file:/*)?[A-Za-z]:(?=/)")
_SCHEME = re.compile(r"^[A-Za-z][\w+.-]+:/*|^\$\(find\s+|\)")


def spellings(address: str) -> Iterator[str]:
    """An address as written, then with slashes for backslashes, then with %20 and such decoded."""
    found = [address, address.strip().replace("\\", "/")]
    found.append(unquote(found[-1]))
    yield from dict.fromkeys(found)


def somewhere_below(folders: Iterable[Path], address: str) -> Path | None:
    """A file in some folders whose path ends like an address, in any case; or None.

    The longest end of the address for which there is a file is used.
    """
    plain = _SCHEME.sub("/", _DRIVE.sub("", unquote(address.strip().replace("\\", "/"))))
    parts = [part for part in PurePosixPath(plain).parts if part not in ("/", "..", ".")]
    tops = list(folders)
    for k in range(len(parts)):
        for folder in tops:
            path = in_any_case(folder, parts[k:])
            if path is not None:
                return path
    return None


def in_any_case(folder: Path, parts: Iterable[str]) -> Path | None:
    """A file below a folder by a path in any case; or None."""
    path = folder
    for part in parts:
        if not safe_xml.exists(path / part):
            try:
                names = sorted(entry.name for entry in path.iterdir())
            except OSError:
                return None
            same = [name for name in names if name.casefold() == part.casefold()]
            if not same:
                return None
            part = same[0]
        path = path / part
    return path if safe_xml.is_file(path) else None
