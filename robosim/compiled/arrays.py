"""Arrays as kernels want them: in whole cache lines, and in nested named tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = 8  # bytes of a number
LINE = 8  # numbers in a cache line, in which a row of six is stored (kernels/compiler/rows.py)


def with_rows(fields: list[Any], **rows: int) -> np.dtype[Any]:
    """A record of whole cache lines: blocks of rows of six numbers, then the other fields.

    Each row has a cache line of its own, so that it is read and written at once. The number of
    lines is odd. So the same field of consecutive records falls into different sets of the cache.
    """
    blocks: list[Any] = [(name, "f8", (count, LINE)) for name, count in rows.items()]
    lines = sum(rows.values())
    size = np.dtype(fields).itemsize // WORD
    over = (LINE * (lines + 1) - size) % (2 * LINE)
    return np.dtype([*blocks, *fields, *([("unused", "f8", (over,))] if over else [])])


def aligned(shape: tuple[int, ...] | int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of zeros that begins at a cache line."""
    size, line = int(np.prod(shape)) * dtype.itemsize, WORD * LINE
    memory = np.zeros(size + line, dtype=np.uint8)
    begin = -memory.ctypes.data % line
    return memory[begin : begin + size].view(dtype).reshape(shape)


def in_lines(array: NDArray[Any]) -> NDArray[Any]:
    """A copy in cache lines of its own, so that threads do not wait for each other's writes."""
    lines = -(-array.nbytes // (WORD * LINE))
    memory = aligned(lines * LINE, np.dtype(np.float64)).view(np.uint8)
    out: NDArray[Any] = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def assign_all(source: Any, target: Any) -> None:
    """Copy arrays in nested named tuples to arrays of the same sizes."""
    if isinstance(source, np.ndarray):
        # Copying bytes is many times faster than copying field by field.
        target.reshape(-1).view(np.uint8)[...] = source.reshape(-1).view(np.uint8)
    elif isinstance(source, tuple):
        for one, other in zip(source, target, strict=True):
            assign_all(one, other)


def words_to(dtype: np.dtype[Any], field: str) -> int:
    """Words of a record from its beginning to the end of a field."""
    kind, at = dtype.fields[field][:2]  # type: ignore[index]
    return (at + kind.itemsize) // WORD


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of records (n,) as rows (n, bytes), in the same memory."""
    return array.view(np.uint8).reshape(len(array), array.dtype.itemsize)


def copied_rows(array: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """A copy of some records, in cache lines of its own; all others are zero, in no memory yet."""
    out = aligned(len(array), array.dtype)
    bytes_of(out)[rows] = bytes_of(array)[rows]
    return out


def emptied(values: Any) -> Any:
    """A named tuple of arrays of the same types as these, without any element."""
    return type(values)(*(array[:0].copy() for array in values))


def copied(values: Any) -> Any:
    """A copy of arrays in nested named tuples."""
    if isinstance(values, np.ndarray):
        return in_lines(values)
    if isinstance(values, tuple):
        parts = map(copied, values)
        return type(values)(*parts) if hasattr(values, "_fields") else tuple(parts)
    return values
