"""Checks of given joint coordinates and times, before they are used."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.errors import StateError
from robosim.validation import Array


def checked_pose(robot: Mechanism, name: str, q: ArrayLike) -> Array:
    """Coordinates (nq,), with quaternions of length one, or a StateError that names the value."""
    out = checked(name, q, robot.q_names)
    for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        if joint.has_quaternion:
            begin = start + joint.numbers
            norm = float(np.linalg.norm(out[begin : begin + 4]))
            if abs(norm - 1) > 1e-3:
                raise StateError(
                    f"the norm of the quaternion of joint '{joint.name}' must be 1, not {norm:.6g}"
                )
            out[begin : begin + 4] /= norm
    return out


def checked(name: str, value: ArrayLike, names: tuple[str, ...]) -> Array:
    """Finite numbers, one for each name."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise StateError(f"{name} must be numbers, not {value!r}") from None
    if array.shape != (len(names),):
        raise StateError(f"{name} must have shape ({len(names)},), not {array.shape}")
    for index in np.flatnonzero(~np.isfinite(array)):
        raise StateError(f"{name} must be finite, but '{names[index]}' is {array[index]}")
    return array


def check_time(time: float) -> None:
    """Refuse an invalid time."""
    if not (isinstance(time, Real) and np.isfinite(time)):
        raise StateError(f"time must be a finite number, not {time!r}")
