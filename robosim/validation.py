"""Checks that the elements of a mechanism share: finite numbers of the right shape, read-only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.errors import ModelError, OptionError, RobosimError, StateError

Array = NDArray[np.float64]
"""Floats."""


def reals(value: Any, copy: bool | None = True) -> Array:
    """`value` as a float64 array; a TypeError or ValueError if it is not real numbers."""
    array = np.asarray(value)
    if array.dtype.kind == "c":
        raise TypeError("complex numbers")
    return np.array(array, dtype=np.float64, copy=copy)


def frozen_array(value: ArrayLike, shape: tuple[int, ...], what: str, element: str) -> Array:
    """`value` as a read-only float64 array, or a ModelError that names the error.

    The array is copied unless it is read-only already, so that equal legs share their meshes.
    """
    frozen = isinstance(value, np.ndarray) and not value.flags.writeable and value.base is None
    try:
        array = reals(value, None if frozen else True)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers, not {value!r}", element=element) from None
    if array.shape != shape:
        raise ModelError(f"{what} must have shape {shape}, not {array.shape}", element=element)
    if not np.all(np.isfinite(array)):
        raise ModelError(f"{what} must be finite, not {array.tolist()}", element=element)
    array.setflags(write=False)
    return array


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array, made read-only in place."""
    array.setflags(write=False)
    return array


def finite(value: ArrayLike, shape: tuple[int, ...]) -> Array | None:
    """`value` as a new float64 array, or None if it is not finite numbers of this shape."""
    try:
        array = reals(value)
    except (TypeError, ValueError):
        return None
    return array if array.shape == shape and np.all(np.isfinite(array)) else None


def not_negative(value: ArrayLike, what: str, element: str) -> float:
    """`value` as a number that is not negative, or a ModelError that names the error."""
    number = float(frozen_array(value, (), what, element))
    if number < 0:
        raise ModelError(f"{what} must not be negative, not {number}", element=element)
    return number


def checked_stiffness(value: ArrayLike, what: str, hard: str, element: str) -> float:
    """`value` as a positive number; or a ModelError that says what None is for, something hard."""
    number = float(frozen_array(value, (), what, element))
    if not number > 0:
        raise ModelError(
            f"{what} must be positive, not {number}; None is for {hard}", element=element
        )
    return number


def checked_limit_springs(
    stiffness: ArrayLike | None, damping: float, element: str
) -> dict[str, Any]:
    """Fields `limit_stiffness` and `limit_damping` of a part, checked."""
    damping = not_negative(damping, "limit_damping", element)
    if stiffness is None:
        if damping:
            told = f"limit_damping of {damping} needs a limit_stiffness: hard limits have none"
            raise ModelError(told, element=element)
        return {"limit_damping": 0.0}
    found = checked_stiffness(stiffness, "limit_stiffness", "hard limits", element)
    return {"limit_stiffness": found, "limit_damping": damping}


def checked_numbers(
    part: Any, element: str, positive: Collection[str], others: Collection[str]
) -> dict[str, float]:
    """Numbers among the fields of an element, by name: some positive, others not negative."""
    found: dict[str, float] = {}
    for what in (*positive, *others):
        value = float(frozen_array(getattr(part, what), (), what, element))
        if value < 0 or (what in positive and value == 0):
            bound = "positive" if what in positive else "zero or more"
            raise ModelError(f"{what} must be {bound}, not {value}", element=element)
        found[what] = value
    return found


def vector(name: str, value: ArrayLike, error: type[RobosimError] = OptionError) -> Array:
    """`value` as a new array (3,), or an error that names the value."""
    array = finite(value, (3,))
    if array is None:
        raise error(f"{name} must be three finite numbers, not {value!r}")
    return array


def shaped(name: str, value: ArrayLike, *shape: int) -> Array:
    """`value` as a new array of finite numbers, or a StateError that names the error."""
    try:
        array = reals(value)
    except (TypeError, ValueError):
        raise StateError(f"{name} must be numbers, not {value!r}") from None
    if array.shape != shape:
        raise StateError(f"{name} must have shape {shape}, not {array.shape}")
    if not np.all(np.isfinite(array)):
        raise StateError(f"{name} must be finite, not {array.tolist()}")
    return array


def unit_quaternion(value: ArrayLike, what: str, element: str) -> Array:
    q = frozen_array(value, (4,), what, element)
    norm = float(np.linalg.norm(q))
    if abs(norm - 1.0) > 1e-6:
        raise ModelError(f"{what} must have unit norm, not {norm:.6g}", element=element)
    q = q / norm
    q.setflags(write=False)
    return q


class Frozen:
    """Lets a frozen dataclass normalise its own fields during construction.

    Its `repr` is short: fields with default values are omitted, and large arrays and long tuples
    are replaced by their size.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__repr__" not in cls.__dict__:
            # A dataclass generates its own, unless the class has one.
            cls.__repr__ = Frozen.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        told = []
        for field in fields(self):  # type: ignore[arg-type]
            if not field.init:
                continue  # derived from other fields
            value = getattr(self, field.name)
            default = field.default if field.default_factory is MISSING else field.default_factory()
            if default is MISSING or not _is_same(value, default):
                told.append(f"{field.name}={short(value)}")
        return f"{type(self).__name__}({', '.join(told)})"

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


MOST_NUMBERS = 9  # in an array that is written in full
MOST_PARTS = 3  # of a tuple


def short(value: Any) -> str:
    """A value in a few words; large arrays, long tuples and mechanism elements are abbreviated."""
    if isinstance(value, np.ndarray):
        if value.size > MOST_NUMBERS:
            return f"<{' x '.join(map(str, value.shape))}>"
        return _numbers(value.tolist())
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        told = ", ".join(map(short, value)) + "," * (len(value) == 1)
        return f"<{len(value)}>" if len(value) > MOST_PARTS else f"({told})"
    if isinstance(value, Mapping):
        return f"<{len(value)}>"
    if isinstance(value, Frozen) and hasattr(value, "name"):
        return f"{type(value).__name__}({value.name!r})"
    return repr(value)


def _numbers(values: Any) -> str:
    """Numbers in nested lists, with six digits."""
    if isinstance(values, list):
        return f"({', '.join(map(_numbers, values))}{',' * (len(values) == 1)})"
    return f"{values:.6g}"


def _is_same(value: Any, default: Any) -> bool:
    """Whether a field has its default value, also if it was converted to an array."""
    if isinstance(value, np.ndarray):
        # One number may stand for all entries of an array.
        given = np.asarray(default)
        return given.shape in ((), value.shape) and bool(np.all(value == given))
    return bool(value is default or (type(value) is type(default) and value == default))


def parts(value: Any, kinds: type | tuple[type, ...], what: str, element: str) -> tuple[Any, ...]:
    """Elements of some kinds as a tuple, also from a single one; a ModelError for other objects."""
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
    """A whole number of at least 1, or an OptionError that names the value."""
    if not isinstance(value, Integral) or int(value) < 1:
        raise OptionError(f"{name} must be a whole number of at least 1, not {value!r}")
    return int(value)


def positive(name: str, value: Any) -> float:
    """A positive number, or an OptionError that names the value."""
    if not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise OptionError(f"{name} must be a positive number, not {value!r}")
    return float(value)


def check_choice(name: str, choice: Any, known: Collection[str]) -> None:
    """Refuse what is not among the known names with an OptionError that lists them."""
    if choice not in known:
        raise OptionError(f"{name} must be one of {', '.join(known)}, not {choice!r}")
