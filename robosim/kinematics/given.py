"""Checks of given joint coordinates and times, before they are used."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.charts import check_on_chart
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
            # What was read is set again as it is, to the last bit.
            if abs(norm - 1) > 1e-15:
                out[begin : begin + 4] /= norm
    return out


def checked_start(
    robot: Mechanism, q: ArrayLike | None, v: ArrayLike | None, time: float, hold: Sequence[str]
) -> tuple[Array, Array]:
    """Coordinates (nq,) and velocities (nv,) of a start: home if q is None, at rest if v is None.

    Raises
    ------
    StateError
        For a wrong shape, a value that is not finite, or a quaternion that is not unit.
    ModelError
        If a joint in `hold` does not exist.
    """
    at_home = q is None
    q = checked_pose(robot, "q", np.asarray(robot.home) if q is None else q)
    for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        # A home may have singular coordinates, as other configurations are set from there. A
        # step from there is refused.
        if joint.own_chart is not None and not at_home:
            check_on_chart(joint.own_chart, q[start : start + joint.nq], joint.name)
    v = checked("v", np.zeros(robot.nv) if v is None else v, robot.v_names)
    check_time(time)
    if isinstance(hold, str):
        raise StateError(f"hold takes names of joints, ('{hold}',), not the name '{hold}'")
    for name in hold:
        robot.joint_index(name)
    return q, v


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
