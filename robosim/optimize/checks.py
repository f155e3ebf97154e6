"""Checks of the arguments of optimisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, OptionError
from robosim.validation import Array, reals

ROUNDING = 1e-9  # of the largest entry


def weight(name: str, value: Any, n: int, *, positive: bool = False) -> Array:
    """A symmetric matrix (n, n) from a matrix, a diagonal (n,), or a number.

    Raises
    ------
    OptionError
        For a wrong shape, values that are not finite, or a matrix that is not symmetric and
        positive semidefinite; if `positive`, also for one that is not positive definite.
    """
    try:
        array = reals(value)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be numbers, not {value!r}") from None
    if array.shape not in ((), (n,), (n, n)) or not np.all(np.isfinite(array)):
        raise OptionError(
            f"{name} must be a finite number, ({n},) of them or ({n}, {n}), "
            f"not {array.tolist() if array.size < 10 else array.shape}"
        )
    matrix = array * np.eye(n) if array.ndim < 2 else array
    size = np.abs(matrix).max(initial=0.0)
    if np.abs(matrix - matrix.T).max(initial=0.0) > ROUNDING * size:
        raise OptionError(f"{name} must be symmetric")
    least = float(np.linalg.eigvalsh(matrix).min(initial=np.inf))
    if least < -ROUNDING * size or (positive and not least > 0.0):
        kind = "positive" if positive else "zero or more"
        raise OptionError(f"{name} must be {kind} along all directions, not {least:.6g}")
    return 0.5 * (matrix + matrix.T)


def numbers(name: str, value: Any, *shapes: tuple[int, ...]) -> Array:
    """Finite numbers of one of the given shapes, or an OptionError."""
    try:
        array = reals(value)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be numbers, not {value!r}") from None
    if array.shape not in shapes or not np.all(np.isfinite(array)):
        wanted = " or ".join(map(str, shapes))
        what = "not all finite" if array.shape in shapes else str(array.shape)
        raise OptionError(f"{name} must be finite numbers of shape {wanted}, not {what}")
    return array


def check_coordinates(model: Mechanism, robot: Mechanism) -> None:
    """Raise a ControllerError for a robot with other coordinates or motors than a model's."""
    names = [(one.q_names, one.v_names, one.actuated_names) for one in (model, robot)]
    if names[0] != names[1]:
        raise ControllerError(
            f"the model '{model.name}' must have the coordinates and actuated joints of "
            f"'{robot.name}', which it is to control"
        )
