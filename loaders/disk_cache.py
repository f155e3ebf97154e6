"""Results of computations on mesh files, cached on disk by the hash of their input.

Entries are in ``$XDG_CACHE_HOME/robosim/meshes`` (``~/.cache`` by default). Entries are written
completely or not at all, and have at most `LARGEST` bytes together; the least recently used ones
are deleted. An invalid entry is computed again. The folder can be deleted at any time.
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

LARGEST = 1 << 30  # total size of all entries [bytes]
# Size to be freed at once, so that not every new entry lists all others.
_MADE_ROOM = LARGEST // 4
# Increased when computations or formats change; entries of older versions are no longer used.
_VERSION = b"3"


def folder() -> Path:
    """The folder of the entries."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "robosim" / "meshes"


def digest(what: str, *parts: bytes | NDArray[np.generic]) -> str:
    """Name of the entry for a computation of `what` from these contents."""
    found = hashlib.sha256(_VERSION + b" " + what.encode())
    for part in parts:
        data = part if isinstance(part, bytes) else np.ascontiguousarray(part).view(np.uint8).data
        found.update(str(len(data)).encode())
        found.update(data)
    return found.hexdigest()


def cached(name: str, compute: Callable[[], Arrays], decode: Callable[[Arrays], T]) -> T:
    """The result of `decode` for entry `name`, which is computed if it does not exist.

    `decode` raises an exception for arrays that are not the result of `compute`, as an entry may
    have been overwritten. If the folder is not writable, arrays are computed each time.
    """
    file = folder() / f"{name}.npz"
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            found = decode({key: archive[key] for key in archive.files})
        os.utime(file)  # marked as used
        return found
    except Exception:  # missing, truncated or invalid
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
        with contextlib.suppress(OSError):  # another process may delete as well
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
