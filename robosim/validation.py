"""Checks that the parts of a mechanism share: finite numbers of the right shape, made read-only."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.errors import ModelError, OptionError

Array = NDArray[np.float64]
"""Floats."""


def frozen_array(value: ArrayLike, shape: tuple[int, ...], what: str, element: str) -> Array:
    """`value` as a read-only float64 array, or a ModelError that names what is wrong with it.

    It is copied, unless it is such an array already: legs of one kind share their mesh.
    """
    frozen = isinstance(value, np.ndarray) and not value.flags.writeable and value.base is None
    try:
        array = np.array(value, dtype=np.float64, copy=None if frozen else True)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers, not {value!r}", element=element) from None
    if array.shape != shape:
        raise ModelError(f"{what} must have shape {shape}, not {array.shape}", element=element)
    if not np.all(np.isfinite(array)):
        raise ModelError(f"{what} must be finite, not {array.tolist()}", element=element)
    array.setflags(write=False)
    return array


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, from now on read-only: of a copy, whose entries nobody would read again."""
    array.setflags(write=False)
    return array


def finite(value: ArrayLike, shape: tuple[int, ...]) -> Array | None:
    """`value` as a new float64 array, or None if it is not finite numbers of this shape."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array if array.shape == shape and np.all(np.isfinite(array)) else None


def unit_quaternion(value: ArrayLike, what: str, element: str) -> Array:
    q = frozen_array(value, (4,), what, element)
    norm = float(np.linalg.norm(q))
    if abs(norm - 1.0) > 1e-6:
        raise ModelError(f"{what} must have unit norm, not {norm:.6g}", element=element)
    q = q / norm
    q.setflags(write=False)
    return q


class Frozen:
    """Lets a frozen dataclass normalise its own fields while it is constructed."""

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def parts(value: Any, kinds: type | tuple[type, ...], what: str, element: str) -> tuple[Any, ...]:
    """Parts of some kinds as a tuple, also of a single one; a ModelError if one is none of them."""
    if isinstance(value, kinds):
        return (value,)
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    wanted = " or ".join(kind.__name__ for kind in kinds)
    try:
        found = tuple(value)
    except TypeError:
        text = f"{what} must be each a {wanted}, not {value!r}"
        raise ModelError(text, element=element) from None
    for part in found:
        if not isinstance(part, kinds):
            given = repr(part) if isinstance(part, str | int | float) else type(part).__name__
            raise ModelError(f"{what} must be each a {wanted}, not {given}", element=element)
    return found


def count(name: str, value: Any) -> int:
    """A whole number of at least 1, or an OptionError that names what is none."""
    if not isinstance(value, Integral) or int(value) < 1:
        raise OptionError(f"{name} must be a whole number of at least 1, not {value!r}")
    return int(value)
