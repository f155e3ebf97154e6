"""What a run streams its samples to: a file that can be read up to wherever the writer stopped.

The file begins with `MAGIC`, the length of a head and the head: JSON with the names of columns and
the metadata. Blocks of samples follow, each written and flushed as a whole. A block has the number
of its samples, the number of bytes that follow, its columns one after the other, eight bytes a
number, and for each sensor with large readings those that are new: their count, the samples at
which they begin, and their values in single precision. All numbers are little-endian.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robosim.errors import LogError
from robosim.log.columns import INTEGERS, Chunk, LogInfo

MAGIC = b"robosim stream 1\n"
_HEAD = struct.Struct("<Q")  # bytes of the head
_BLOCK = struct.Struct("<QQ")  # samples, and bytes that follow

Scans = tuple[NDArray[np.int64], NDArray[np.float32]]  # samples (k,), readings (k, m)


class StreamWriter:
    """Appends samples to a file, and flushes them, so that a kill loses no more."""

    def __init__(self, file: BinaryIO, info: LogInfo) -> None:
        self._file, self._info = file, info
        self._last: dict[str, Any] = {}  # large readings of the sample before
        head = json.dumps({"names": info.names, "metadata": info.metadata()}).encode()
        file.write(MAGIC + _HEAD.pack(len(head)) + head)
        file.flush()

    def write(self, chunk: Chunk) -> None:
        columns = [column.astype(_type(name), copy=False).tobytes() for name, column in
                   zip(self._info.names, self._info.columns(chunk), strict=True)]  # fmt: skip
        content = b"".join((*columns, *self._scans(chunk)))
        self._file.write(_BLOCK.pack(len(chunk.t), len(content)) + content)
        self._file.flush()

    def _scans(self, chunk: Chunk) -> Iterator[bytes]:
        """Large readings that are not those of the sample before."""
        for name, column in zip(self._info.scans, chunk.scans.T, strict=True):
            rows, values = [], []
            for k, one in enumerate(column):
                if one is not None and one is not self._last.get(name):
                    rows.append(k)
                    values.append(one.astype("<f4").tobytes())
                    self._last[name] = one
            yield np.array([len(rows), *rows], dtype="<i8").tobytes()
            yield from values

    def close(self) -> None:
        self._file.flush()


class _Block(NamedTuple):
    begin: int  # of its columns in the file
    end: int
    rows: int
    first: int  # samples before it


class StreamReader:
    """The samples of a stream that were written in full, read a column of a block at a time.

    Raises
    ------
    LogError
        If not even the names of the columns were written, or it is no stream.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        try:
            self.info = self._head(path)
            self._blocks = list(self._found(path.stat().st_size))
        except BaseException:
            self._file.close()
            raise

    def _head(self, path: Path) -> LogInfo:
        start = self._file.read(len(MAGIC) + _HEAD.size)
        if not MAGIC.startswith(start[: len(MAGIC)]):
            raise LogError(f"{path}: damaged, or left by another version of robosim")
        head = b""
        if len(start) == len(MAGIC) + _HEAD.size:
            (length,) = _HEAD.unpack(start[len(MAGIC) :])
            head = self._file.read(length)
        if not head or len(head) < length:
            raise LogError(f"{path}: nothing had been written yet")
        said = json.loads(head)
        return LogInfo.from_names(said["names"], said["metadata"])

    def _found(self, size: int) -> Iterator[_Block]:
        first = 0
        while len(head := self._file.read(_BLOCK.size)) == _BLOCK.size:
            rows, length = _BLOCK.unpack(head)
            begin = self._file.tell()
            if begin + length > size:
                return  # it was being written when the run was stopped
            yield _Block(begin, begin + length, rows, first)
            first += rows
            self._file.seek(begin + length)

    def __len__(self) -> int:
        return sum(block.rows for block in self._blocks)

    def column(self, name: str) -> Iterator[NDArray[Any]]:
        """The parts (n,) of a column, one for each block."""
        place = self.info.names.index(name)
        for block in self._blocks:
            self._file.seek(block.begin + 8 * place * block.rows)
            yield np.frombuffer(self._file.read(8 * block.rows), _type(name))

    def scans(self, name: str) -> Iterator[Scans]:
        """New large readings of a sensor: samples of the log, and values of each, by block."""
        for block in self._blocks:
            at = block.begin + 8 * len(self.info.names) * block.rows
            for other, shape in self.info.scans.items():
                self._file.seek(at)
                count = int(np.frombuffer(self._file.read(8), "<i8")[0])
                width = int(np.prod(shape))
                if other == name:
                    rows = np.frombuffer(self._file.read(8 * count), "<i8")
                    values = np.frombuffer(self._file.read(4 * count * width), "<f4")
                    yield rows + block.first, values.reshape(count, width)
                at += 8 + 8 * count + 4 * count * width

    def blocks(self) -> Iterator[tuple[dict[str, NDArray[Any]], dict[str, Scans]]]:
        """The columns and the new large readings of each block."""
        for columns, *scans in zip(
            zip(*map(self.column, self.info.names), strict=True),
            *map(self.scans, self.info.scans),
            strict=True,
        ):
            yield (
                dict(zip(self.info.names, columns, strict=True)),
                dict(zip(self.info.scans, scans, strict=True)),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()


def _type(name: str) -> np.dtype[Any]:
    return np.dtype("<i8" if name in INTEGERS else "<f8")
