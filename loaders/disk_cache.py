"""What was worked out from mesh files, kept on disk under the hash of what it came from.

Entries lie in ``$XDG_CACHE_HOME/robosim/meshes`` (``~/.cache`` without it), are written whole or
not at all, and together take at most `LARGEST` bytes: the ones used longest ago make room. An
entry that cannot be read is worked out again. Deleting the folder is always safe.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.generic]]
T = TypeVar("T")

LARGEST = 1 << 30  # of all entries together [bytes]
# What is thrown out at once when there are more, so that not every entry looks at all others.
_MADE_ROOM = LARGEST // 4
# To be changed with what is computed or how it is kept: old entries are then left to age.
_VERSION = b"3"


def folder() -> Path:
    """Where the entries are."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "robosim" / "meshes"


def digest(what: str, *parts: bytes | NDArray[np.generic]) -> str:
    """Name of the entry for `what` was worked out from these contents."""
    found = hashlib.sha256(_VERSION + b" " + what.encode())
    for part in parts:
        data = part if isinstance(part, bytes) else np.ascontiguousarray(part).view(np.uint8).data
        found.update(str(len(data)).encode())
        found.update(data)
    return found.hexdigest()


def cached(name: str, compute: Callable[[], Arrays], decode: Callable[[Arrays], T]) -> T:
    """What `decode` makes of entry `name`, which is computed and kept where there is none.

    `decode` raises an error of any kind for arrays that are not what `compute` returns: an entry
    may have been overwritten with anything. Without a folder that can be written, the arrays are
    computed every time.
    """
    file = folder() / f"{name}.npz"
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            found = decode({key: archive[key] for key in archive.files})
        os.utime(file)  # used now
        return found
    except Exception:  # not there, cut off, not ours
        arrays = compute()
    with contextlib.suppress(OSError):
        _write(file, arrays)
    return decode(arrays)


def _write(file: Path, arrays: Arrays) -> None:
    if sum(array.nbytes for array in arrays.values()) > _MADE_ROOM:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]
        os.replace(scratch, file)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    _make_room(file.parent)


def _make_room(where: Path) -> None:
    entries = []
    for entry in where.iterdir():
        with contextlib.suppress(OSError):  # another process made room as well
            status = entry.stat()
            entries.append((status.st_mtime, status.st_size, entry))
    size = sum(entry[1] for entry in entries)
    if size <= LARGEST:
        return
    for _, freed, entry in sorted(entries):
        with contextlib.suppress(OSError):
            entry.unlink()
        size -= freed
        if size <= LARGEST - _MADE_ROOM:
            return
