"""Memory that the kernels of one thread have to themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.model import LINE, WORD, aligned


def in_lines(array: NDArray[Any]) -> NDArray[Any]:
    """A copy in cache lines of its own: what one thread writes, no other one has to wait for."""
    lines = -(-array.nbytes // (WORD * LINE))
    memory = aligned(lines * LINE, np.dtype(np.float64)).view(np.uint8)
    out: NDArray[Any] = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def assign_all(source: Any, target: Any) -> None:
    """Write arrays in nested named tuples over others of the same sizes."""
    if isinstance(source, np.ndarray):
        # As they lie, many times faster than field by field.
        target.reshape(-1).view(np.uint8)[...] = source.reshape(-1).view(np.uint8)
    elif isinstance(source, tuple):
        for one, other in zip(source, target, strict=True):
            assign_all(one, other)


def copied(values: Any) -> Any:
    """A copy of arrays in nested named tuples."""
    if isinstance(values, np.ndarray):
        return in_lines(values)
    if isinstance(values, tuple):
        return type(values)(*(copied(value) for value in values))
    return values
