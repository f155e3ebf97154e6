"""Messages of ROS 2 as bytes, and back: CDR, little-endian, as middlewares and MCAP files have it.

A message is four bytes that tell the encoding, then the fields one after the other. Numbers lie at
multiples of their own size, counted from after these four bytes. Strings end with a zero byte,
which counts.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from robosim.log.ros_messages import Message, fields

HEAD = b"\x00\x01\x00\x00"
BYTES = "uint8"
STRING = "string"
# The letter of `struct`, and the size.
NUMBERS = {
    "bool": ("?", 1),
    "uint8": ("B", 1),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "float32": ("f", 4),
    "float64": ("d", 8),
}

_fields = cache(lambda kind: tuple(fields(kind)))


def encoded(kind: str, message: Message) -> bytes:
    """A message of a kind, "package/Name", as bytes."""
    data = bytearray()
    _write(data, kind, message)
    return HEAD + bytes(data)


def _write(data: bytearray, kind: str, message: Message) -> None:
    for of, length, name in _fields(kind):
        value = message[name]
        if not length:
            _one(data, of, value)
            continue
        if length == "*":
            _numbers(data, "uint32", [len(value)])
        if of == BYTES:
            data += bytes(value)
        elif of in NUMBERS:
            _numbers(data, of, value)
        else:
            for one in value:
                _one(data, of, one)


def _one(data: bytearray, kind: str, value: Any) -> None:
    if kind == STRING:
        text = value.encode() + b"\x00"
        _numbers(data, "uint32", [len(text)])
        data += text
    elif kind in NUMBERS:
        _numbers(data, kind, [value])
    else:
        _write(data, kind, value)


def _numbers(data: bytearray, kind: str, values: Sequence[Any]) -> None:
    letter, size = NUMBERS[kind]
    if len(values):
        data += bytes(-len(data) % size) + struct.pack(f"<{len(values)}{letter}", *values)


def decoded(kind: str, data: bytes) -> Message:
    """The message of a kind that bytes are, of either order of bytes.

    Raises
    ------
    ValueError
        If they are no such message.
    """
    if len(data) < len(HEAD) or data[0] != 0 or data[1] not in (0, 1):
        raise ValueError("no plain CDR")
    try:
        return _Reader(data[len(HEAD) :], ">" if data[1] == 0 else "<").message(kind)
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"no {kind}: {error}") from None


class _Reader:
    def __init__(self, data: bytes, order: str) -> None:
        self._data, self._order, self._at = data, order, 0

    def message(self, kind: str) -> Message:
        return {name: self._field(of, length) for of, length, name in _fields(kind)}

    def _field(self, kind: str, length: str) -> Any:
        if not length:
            return self._one(kind)
        count = self._numbers("uint32", 1)[0] if length == "*" else int(length)
        if kind in NUMBERS:
            return bytes(self._take(count)) if kind == BYTES else list(self._numbers(kind, count))
        if count > len(self._data):  # each takes a byte or more
            raise ValueError(f"{count} of {kind} in {len(self._data)} bytes")
        return [self._one(kind) for _ in range(count)]

    def _one(self, kind: str) -> Any:
        if kind == STRING:
            return self._take(self._numbers("uint32", 1)[0]).rstrip(b"\x00").decode()
        return self._numbers(kind, 1)[0] if kind in NUMBERS else self.message(kind)

    def _numbers(self, kind: str, count: int) -> tuple[Any, ...]:
        letter, size = NUMBERS[kind]
        if count:
            self._at += -self._at % size
        if count * size > len(self._data) - self._at:
            raise ValueError(f"{count} of {kind} beyond the end")
        return struct.unpack(f"{self._order}{count}{letter}", self._take(count * size))

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise ValueError(f"{size} bytes beyond the end")
        self._at += size
        return self._data[self._at - size : self._at]
