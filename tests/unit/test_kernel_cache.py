"""Kernels that are kept on disk, and what becomes of files that cannot be read."""

from __future__ import annotations

import io
import logging
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from robosim.kernels.compiler.jit import entry


def doubled(x):
    return 2.0 * x


class Gone:
    """A type that later sources do not have."""


def of_other_sources(index: bytes) -> bytes:
    """An index of the same version that names a type which is not there."""
    version = pickle.dumps(pickle.load(io.BytesIO(index)))
    return version + pickle.dumps(Gone()).replace(b"Gone", b"None")


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "an index that is cut off": (".nbi", lambda data: data[: len(data) // 2]),
    "an index of other sources": (".nbi", of_other_sources),
    "code that is cut off": (".nbc", lambda data: data[: len(data) // 2]),
    "code that is none": (".nbc", lambda data: b"none"),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_what_cannot_be_read_is_made_again(how: str, caplog: pytest.LogCaptureFixture) -> None:
    first = entry(doubled)
    assert first(1.5) == 3.0
    index = Path(first._cache._cache_file._index_path)
    suffix, damage = DAMAGES[how]
    damaged = list(index.parent.glob(f"{index.stem}*{suffix}"))
    assert damaged
    for file in damaged:
        file.write_bytes(damage(file.read_bytes()))
    again = entry(doubled)
    with caplog.at_level(logging.INFO, logger="robosim"):
        assert again(1.5) == 3.0
    assert sum(again.stats.cache_misses.values()) == 1
    assert "made again" in caplog.text
    third = entry(doubled)
    assert third(1.5) == 3.0
    assert sum(third.stats.cache_hits.values()) == 1
