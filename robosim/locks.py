"""Locks of files between processes, on each system by what it has.

A lock ends with the file's `close`, and with the process. File systems without locks, of which
networks have some, have none here either: then each process goes ahead.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from typing import IO, Any

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:
    msvcrt = None  # type: ignore[assignment]

# Windows locks bytes, which others then cannot read: one that no file here has.
_BYTE = (1 << 31) - 2
_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)  # errors where another process has the lock
_AGAIN = 0.05  # [s], between two tries on Windows


def take(file: IO[Any]) -> None:
    """Wait until no other process has the lock of an open file, and take it."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        return
    while not try_to_take(file):
        time.sleep(_AGAIN)


def try_to_take(file: IO[Any]) -> bool:
    """Take the lock of an open file, unless another process has it; returns whether none has.

    A file that is only read gets a lock that several readers may have.
    """
    try:
        if fcntl is not None:
            kind = fcntl.LOCK_EX if file.writable() else fcntl.LOCK_SH
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        elif msvcrt is not None:
            _lock_byte(file.fileno())
    except OSError as error:
        return error.errno not in _HELD
    return True


def _lock_byte(handle: int) -> None:
    assert msvcrt is not None
    where = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        os.lseek(handle, _BYTE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    finally:
        os.lseek(handle, where, os.SEEK_SET)
