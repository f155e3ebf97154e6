"""Targets of inverse kinematics: frames, the centre of mass, postures.

Each target has a `Task`: errors [m or rad] with their derivatives by the velocities of the tree. A
search minimizes these errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, StateError
from robosim.inverse_kinematics.search_space import SearchSpace, rate_of_rotation_vector
from robosim.kinematics.given import checked_pose
from robosim.validation import Array, Frozen, finite

TOLERANCE = 1e-6  # [m and rad]


class Moving(Protocol):
    """The kinematics of a robot, as of `Dynamics`."""

    robot: Mechanism

    def frame(self, q: ArrayLike, name: str) -> tuple[Array, Array]:
        """Position (3,) and rotation (3, 3)."""
        ...

    def frame_jacobian(self, q: ArrayLike, name: str) -> Array:
        """(6, nv), world axes."""
        ...

    def jacobian(self, q: ArrayLike) -> Array:
        """(nb, 6, nv), of the centres of mass."""
        ...

    def center_of_mass(self, q: ArrayLike) -> Array:
        """(3,)."""
        ...

    def centroidal(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Momentum (6,) and its matrix (6, nv)."""
        ...

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """(nv,), along the tangent."""
        ...


class Task(NamedTuple):
    """A target of one robot.

    Attributes
    ----------
    name : str
    errors : callable(q (nq,)) -> (m,) [m or rad], (m, nv)
    weights : (m,) [1/m or 1/rad]
    lengths : (m,) of bool
        Which errors are in metres; all others are in radians, or without unit along splines.
    tolerance : float [m and rad]
    counts : (nv,) of bool
        Coordinates whose whole turns matter.
    """

    name: str
    errors: Callable[[Array], tuple[Array, Array]]
    weights: Array
    lengths: NDArray[np.bool_]
    tolerance: float
    counts: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FrameTarget(Frozen):
    """A target for a frame's position, its orientation, or both.

    Attributes
    ----------
    frame : str
        Name of a frame, including merged links, as for `Dynamics.frame`.
    position : (3,) [m], world, or None
    orientation : (4,) or (3, 3), frame to world, or None
        A unit quaternion (w, x, y, z), or a rotation matrix.
    position_weight : float or (3,) [1/m], along the world's axes
    orientation_weight : float or (3,) [1/rad], about the frame's axes
        A weight of zero leaves that direction free: (1, 1, 0) points the frame's z axis.
    tolerance : float [m and rad]
        Largest distance, and largest angle, at which the target is reached. With `numpy.inf` the
        target is optional: it has a lower priority than other targets.

    Raises
    ------
    StateError
        For a wrong shape, values that are not finite, or an invalid rotation.
    """

    frame: str
    position: ArrayLike | None = None
    orientation: ArrayLike | None = None
    position_weight: ArrayLike = 1.0
    orientation_weight: ArrayLike = 1.0
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        whose = f"target of frame '{self.frame}'"
        if self.position is None and self.orientation is None:
            raise StateError(f"{whose}: needs a position, an orientation or both")
        if self.position is not None:
            self._set(position=_numbers(self.position, (3,), f"{whose}: position"))
        if self.orientation is not None:
            self._set(orientation=_quaternion(self.orientation, f"{whose}: orientation"))
        for what in ("position_weight", "orientation_weight"):
            self._set(**{what: _weights(getattr(self, what), 3, f"{whose}: {what}")})
        self._set(tolerance=_tolerance(self.tolerance, whose))

    def task(self, of: Moving) -> Task:
        """The errors for a robot: of the position along world axes, then about the frame's axes.

        Raises
        ------
        ModelError
            If there is no such frame, or if it is a frame of the world.
        """
        of.robot.frame(self.frame)
        weights = np.zeros(6)
        if self.position is not None:
            weights[:3] = self.position_weight
        goal_R = np.eye(3)
        if self.orientation is not None:
            weights[3:] = self.orientation_weight
            goal_R = quaternions.rotation_matrix(self.orientation)
        goal = np.zeros(3) if self.position is None else np.asarray(self.position)
        counted = np.flatnonzero(weights)

        def errors(q: Array) -> tuple[Array, Array]:
            position, R = of.frame(q, self.frame)
            rows = of.frame_jacobian(q, self.frame)
            values = np.concatenate((position - goal, np.zeros(3)))
            if self.orientation is not None:
                turn = quaternions.rotation_vector(quaternions.from_matrix(goal_R.T @ R))
                values[3:] = turn
                rows[3:] = rate_of_rotation_vector(turn) @ R.T @ rows[3:]
            return values[counted], rows[counted]

        none = np.zeros(of.robot.nv, dtype=bool)
        name = f"frame '{self.frame}'"
        return Task(name, errors, weights[counted], counted < 3, self.tolerance, none)


@dataclass(frozen=True, eq=False)
class CenterOfMassTarget(Frozen):
    """A target for the centre of mass of the whole robot.

    Attributes
    ----------
    position : (3,) [m], world
    weight : float or (3,) [1/m], along the world's axes
        (1, 1, 0) leaves the height free.
    tolerance : float [m]
        As of `FrameTarget`.

    Raises
    ------
    StateError
        For a wrong shape, or values that are not finite.
    """

    position: ArrayLike
    weight: ArrayLike = 1.0
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        whose = "target of the centre of mass"
        self._set(
            position=_numbers(self.position, (3,), f"{whose}: position"),
            weight=_weights(self.weight, 3, f"{whose}: weight"),
            tolerance=_tolerance(self.tolerance, whose),
        )

    def task(self, of: Moving) -> Task:
        """The errors for a robot, along the world's axes.

        Raises
        ------
        ModelError
            For a robot without mass.
        """
        robot, goal, weights = of.robot, np.asarray(self.position), np.asarray(self.weight)
        of.center_of_mass(np.asarray(robot.home))  # refuses a robot without mass
        counted, still = np.flatnonzero(weights), np.zeros(robot.nv)

        def errors(q: Array) -> tuple[Array, Array]:
            rows = of.centroidal(q, still)[1][:3] / robot.total_mass
            return (of.center_of_mass(q) - goal)[counted], rows[counted]

        lengths, none = np.ones(len(counted), dtype=bool), np.zeros(robot.nv, dtype=bool)
        return Task("centre of mass", errors, weights[counted], lengths, self.tolerance, none)


@dataclass(frozen=True, eq=False)
class PostureTarget(Frozen):
    """A target for joint coordinates; by default optional, with a lower priority than others.

    Attributes
    ----------
    q : (nq,), or mapping of names of coordinates to values [rad or m]
        Names are those of `Mechanism.q_names`, without free rotations. Angles that differ by whole
        turns are different.
    weight : float or (nv,) [1/rad or 1/m]
        Weight of each velocity; coordinates with a weight of zero are free.
    tolerance : float [rad and m]
        As of `FrameTarget`.

    Raises
    ------
    StateError
        For a wrong shape, or values that are not finite.
    """

    q: ArrayLike | Mapping[str, float]
    weight: ArrayLike = 1e-2
    tolerance: float = np.inf

    def __post_init__(self) -> None:
        whose = "target of a posture"
        self._set(tolerance=_tolerance(self.tolerance, whose))
        if isinstance(self.q, Mapping):
            if not self.q:
                raise StateError(f"{whose}: names no coordinates")
            values = {
                name: float(_numbers(value, (), f"{whose}: '{name}'"))
                for name, value in self.q.items()
            }
            self._set(q=values)

    def task(self, of: Moving) -> Task:
        """The errors for a robot, as returned by `Dynamics.difference`.

        Raises
        ------
        ModelError
            For unknown names of coordinates.
        StateError
            For a wrong shape, or a quaternion that is not unit.
        """
        robot, whose = of.robot, "target of a posture"
        weights = _weights(self.weight, robot.nv, f"{whose}: weight")
        slides, balls = np.zeros(robot.nv, dtype=bool), []
        for joint, v in zip(robot.tree_joints, robot.v_offsets, strict=False):
            slides[v : v + joint.nv] = np.array(joint.units) == "m"
            if joint.has_quaternion:
                balls.append(slice(v + joint.numbers, v + joint.nv))
        if isinstance(self.q, Mapping):
            goal, named = _named(robot, self.q)
            weights = np.where(named, weights, 0.0)
        else:
            goal = checked_pose(robot, f"{whose}: q", self.q)
        counted = np.flatnonzero(weights)
        if not len(counted):
            raise StateError(f"{whose}: no coordinate has a weight")

        def errors(q: Array) -> tuple[Array, Array]:
            values, rows = of.difference(goal, q), np.eye(robot.nv)
            for ball in balls:
                rows[ball, ball] = rate_of_rotation_vector(values[ball])
            return values[counted], rows[counted]

        lengths = slides[counted]
        return Task("posture", errors, weights[counted], lengths, self.tolerance, weights > 0)


Target = FrameTarget | CenterOfMassTarget | PostureTarget


def _named(robot: Mechanism, coordinates: Mapping[str, float]) -> tuple[Array, NDArray[np.bool_]]:
    """A configuration (nq,) with some given coordinates, and which velocities (nv,) these have."""
    goal, named, space = robot.neutral(), np.zeros(robot.nv, dtype=bool), SearchSpace(robot)
    for name, value in coordinates.items():
        if name not in space.places:
            raise ModelError(
                f"has no coordinate '{name}' that is a number",
                element=f"mechanism '{robot.name}'",
                alternatives=tuple(space.places),
            )
        v = space.places[name]
        goal[space.q_index[v]], named[v] = value, True
    return goal, named


def _numbers(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    array = finite(value, shape)
    if array is None:
        wanted = f"finite numbers of shape {shape}" if shape else "a finite number"
        raise StateError(f"{what} must be {wanted}, not {value!r}")
    array.setflags(write=False)
    return array


def _quaternion(value: ArrayLike, what: str) -> Array:
    """A unit quaternion (4,) from one, or from a rotation matrix (3, 3)."""
    R = finite(value, (3, 3))
    if R is not None:
        if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0:
            raise StateError(f"{what} must be a rotation matrix, not {R.tolist()}")
        return quaternions.from_matrix(R)
    q = finite(value, (4,))
    if q is None:
        raise StateError(f"{what} must be finite numbers of shape (4,) or (3, 3), not {value!r}")
    if abs(np.linalg.norm(q) - 1) > 1e-6:
        raise StateError(f"{what} must have norm 1, not {np.linalg.norm(q):.6g}")
    return quaternions.normalized(q)


def _weights(value: ArrayLike, n: int, what: str) -> Array:
    """Weights (n,), from one for all or one for each."""
    array = finite(value, ())
    array = finite(value, (n,)) if array is None else np.full(n, array)
    if array is None or np.any(array < 0) or not np.any(array > 0):
        raise StateError(
            f"{what} must be a number or {n} of them, not negative and not all zero, not {value!r}"
        )
    array.setflags(write=False)
    return array


def _tolerance(value: float, whose: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not number > 0:
        raise StateError(f"{whose}: tolerance must be positive, not {value!r}")
    return number
