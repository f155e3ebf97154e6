"""What tells whether two models have the same numbers."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

ADDRESSES = ("factors", "numbers")  # of joints that are charts


def digest(model: Any) -> str:
    """A hash of all numbers of a model."""
    found = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, tuple):
            for one in value:
                add(one)
        elif isinstance(value, np.ndarray) and "chart_begin" in (value.dtype.names or ()):
            # Without addresses, which differ between processes.
            add(tuple(value[name] for name in value.dtype.names if name not in ADDRESSES))
        elif isinstance(value, np.ndarray):
            found.update(repr((value.dtype.descr, value.shape)).encode())
            found.update(np.ascontiguousarray(value).tobytes())
        else:
            found.update(repr(value).encode())

    add(model)
    return found.hexdigest()
