"""A robot's closed loops about some of its coordinates: their equations, and paths along them.

Coordinates are those of the tree, and of joints that close loops, as far as they are numbers. Of
the tree's velocities only those move that the loops connect with these coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.compiled.order import coordinate_places
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.order import coordinate_names
from robosim.dynamics.constraints import Constraints
from robosim.dynamics.independent import DEPENDENT, DEPENDENT_IF_OPEN
from robosim.dynamics.lengths import Lengths
from robosim.errors import ModelError
from robosim.inverse_kinematics.search_space import SearchSpace, whole_turns
from robosim.kinematics.recursion import Recursion
from robosim.validation import Array

CONNECTED = 1e-9  # of the largest derivative; smaller ones are rounding of motions in common
LONGEST = 0.1  # [m or rad], of a step along a path
SHORTEST = 1e-13  # of the path, step at which it ends
CORRECTED = 0.5  # largest correction of a step, of its length
CLOSED = 1e-11  # [m, sine of half an angle, or rad]
STILL = 1e-11  # [m or rad], last correction of Newton's method
ITERATIONS = 12


Point = tuple[float, Array]  # fraction of a path, configuration (nq,)


class Coordinate(NamedTuple):
    """A coordinate that is a number; `v` is its velocity's index, or None if it closes a loop."""

    name: str
    joint: Joint
    row: int
    v: int | None

    @property
    def unit(self) -> str:
        return self.joint.units[self.row]

    @property
    def turns(self) -> bool:
        """Whether the coordinate is measured within half a turn."""
        return self.v is None and whole_turns(self.joint)[self.row]

    @property
    def range(self) -> tuple[float, float]:
        lower, upper = np.asarray(self.joint.lower), np.asarray(self.joint.upper)
        return float(lower[self.row]), float(upper[self.row])

    def of(self, what: str) -> float:
        """One of the joint's properties, such as `effort_limit`."""
        return float(self.joint.per_coordinate(what)[self.row])


class Rows(NamedTuple):
    """Loops at a configuration."""

    value: Array  # (m,) [m, sine of half an angle, or rad]
    jacobian: Array  # (m, nv), zero for velocities that do not move

    @property
    def dependent(self) -> float:
        """Relative size at which singular values of the Jacobian count as zero."""
        return max(DEPENDENT, DEPENDENT_IF_OPEN * float(np.abs(self.value).max(initial=0.0)))


class Loops:
    """The loops that connect some coordinates.

    Parameters
    ----------
    robot : Mechanism
    names : names of coordinates, or of joints for all of theirs
    fixed : the same, of the tree
        Coordinates that keep their values.
    q : (nq,)
        A configuration with closed loops, near which the connected coordinates are found.
    gravity : (3,)

    Attributes
    ----------
    moving : (nv,) of bool
        The velocities of the tree that the loops connect with the coordinates.
    joints : set of str
        Joints that close these loops.

    Raises
    ------
    ModelError
        For unknown names, or a free rotation.
    """

    def __init__(
        self,
        robot: Mechanism,
        names: Iterable[str],
        fixed: Iterable[str],
        q: Array,
        gravity: ArrayLike,
    ) -> None:
        self.robot, self.space = robot, SearchSpace(robot)
        self._of_tree, self._of_joint = known_coordinates(robot)
        self.constraints = Constraints(Recursion(robot, gravity), Lengths(robot))
        held = [self._of_the_tree(one) for one in self.coordinates(fixed)]
        self.moving, self._rows, self.joints = self._connected(self.coordinates(names), held, q)

    def coordinates(self, names: Iterable[str]) -> list[Coordinate]:
        """Coordinates by their names, or by those of joints; a single name is accepted."""
        found: list[Coordinate] = []
        for name in (names,) if isinstance(names, str) else names:
            own = self._of_joint.get(name)
            if name in self._of_tree:
                own = [self._of_tree[name]]
            if own is None:
                raise self._unknown(str(name))
            found += own
        return found

    @staticmethod
    def _of_the_tree(one: Coordinate) -> int:
        if one.v is None:
            raise ModelError(
                "closes a loop; only coordinates of the tree can be fixed",
                element=f"joint '{one.joint.name}'",
            )
        return one.v

    def _unknown(self, name: str) -> ModelError:
        element = f"mechanism '{self.robot.name}'"
        if name in (joint.name for joint in self.robot.joints if joint.nv):
            return ModelError(
                f"joint '{name}' has a free rotation, which is no number: describe it as a "
                "'composite' joint of three hinges, or name its other coordinates",
                element=element,
            )
        known = tuple(dict.fromkeys((*self._of_tree, *self._of_joint)))
        told = f"no joint or coordinate '{name}'"
        return ModelError(told, element=element, alternatives=known, wanted=name)

    def measured(self) -> list[Coordinate]:
        """All coordinates that move, and those of the joints that close loops."""
        tree = [one for one in self._of_tree.values() if self._moves(one)]
        return tree + [one for name in sorted(self.joints) for one in self._of_joint.get(name, [])]

    def _moves(self, one: Coordinate) -> bool:
        return one.v is not None and bool(self.moving[one.v])

    def _connected(
        self, coordinates: Sequence[Coordinate], held: list[int], q: Array
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], set[str]]:
        """Velocities (nv,) that move, rows of the constraints, and joints that close loops."""
        nv = self.robot.nv
        aside = 0.01 * np.random.default_rng(0).uniform(0.5, 1.0, nv)
        aside[self.space.present(q) + 0.01 > self.space.upper] *= -1.0
        places = [q, self.space.at(q, aside)]
        rows = [np.abs(self.constraints.rows(one, np.zeros(nv)).jacobian) for one in places]
        own = [np.abs(self.read(one, coordinates)[1]) for one in places]
        touched = np.max(rows, axis=0) > CONNECTED * np.max(rows, initial=0.0)
        moving = np.any(np.max(own, axis=0) > CONNECTED, axis=0)
        touched[:, held], moving[held] = False, False
        elements = self.constraints.elements
        taken: dict[str, slice] = {}
        while True:
            more = [
                one
                for one in elements
                if one.name not in taken and np.any(touched[one.rows][:, moving])
            ]
            if not more:
                break
            taken |= {one.name: one.rows for one in more}
            moving |= np.any([touched[one.rows].any(axis=0) for one in more], axis=0)
        indices = [np.arange(rows.start, rows.stop) for rows in taken.values()]
        closing = {one.name for one in elements if one.kind == "joint" and one.name in taken}
        closing |= {one.joint.name for one in coordinates if one.v is None}
        return moving, np.concatenate((np.zeros(0, dtype=np.int64), *indices)), closing

    def rows(self, q: Array) -> Rows:
        """The equations of the loops at a configuration."""
        found = self.constraints.rows(q, np.zeros(self.robot.nv))
        return Rows(found.value[self._rows], found.jacobian[self._rows] * self.moving)

    def read(self, q: Array, coordinates: Sequence[Coordinate]) -> tuple[Array, Array]:
        """Coordinates (k,), and derivatives (k, nv) by velocities of the tree."""
        values, rows = np.zeros(len(coordinates)), np.zeros((len(coordinates), self.robot.nv))
        closing: dict[str, tuple[Array, Array]] = {}
        for k, one in enumerate(coordinates):
            if one.v is not None:
                values[k], rows[k, one.v] = q[self.space.q_index[one.v]], 1.0
                continue
            if one.joint.name not in closing:
                closing[one.joint.name] = self.constraints.coordinates(q, one.joint)
            values[k], rows[k] = (part[one.row] for part in closing[one.joint.name])
        return values, rows

    def settled(
        self, q: Array, coordinates: Sequence[Coordinate], target: Array, most: float
    ) -> Array | None:
        """The configuration (nq,) near q with closed loops and coordinates at their targets (k,).

        None if Newton's method moves by more than `most` [m or rad], or does not converge.
        """
        moved = 0.0
        for _ in range(ITERATIONS):
            rows = self.rows(q)
            values, own = self.read(q, coordinates)
            away = values - target
            for k, one in enumerate(coordinates):
                if one.turns:
                    away[k] = math.remainder(away[k], 2 * math.pi)
            left = np.concatenate((rows.value, away))
            step = -self._solved(rows, own, left)
            size = float(np.abs(step).max(initial=0.0))
            moved += size
            if moved > most:
                return None
            open_by = float(np.abs(left).max(initial=0.0))
            q = self.space.at(q, step)
            if size <= STILL or open_by <= 1e-15:
                return q if open_by <= CLOSED else None
        return None

    def rates(self, q: Array, coordinates: Sequence[Coordinate], rates: Array) -> Array:
        """Velocities (nv,) at which coordinates have given rates (k,), and loops stay closed."""
        rows = self.rows(q)
        own = self.read(q, coordinates)[1]
        return self._solved(rows, own, np.concatenate((np.zeros(len(rows.value)), rates)))

    def _solved(self, rows: Rows, own: Array, right: Array) -> Array:
        """The smallest velocities (nv,) that move; of coordinates that nothing determines, 0."""
        matrix = np.vstack((rows.jacobian, own * self.moving))[:, self.moving]
        out = np.zeros(self.robot.nv)
        out[self.moving] = np.linalg.lstsq(matrix, right, rcond=rows.dependent)[0]
        return out

    def path(
        self,
        q: Array,
        coordinates: Sequence[Coordinate],
        start: Array,
        target: Array,
        shortest: float = SHORTEST,
    ) -> Iterator[Point]:
        """(fraction, configuration) of steps along a line of coordinates, from start to target.

        The line ends where no step is short enough for loops to stay closed: the last fraction
        is then less than one. The steps are so short that the assembly mode stays the same.
        `shortest` is the fraction at which no shorter step is tried.
        """
        way, done, step = target - start, 0.0, 1.0
        while done < 1.0:
            rates = self.rates(q, coordinates, way)
            size = float(np.abs(rates).max(initial=0.0))
            step = min(step, 1.0 - done, LONGEST / max(size, 1e-12))
            to = 1.0 if step == 1.0 - done else done + step
            guess = self.space.at(q, step * rates)
            most = CORRECTED * step * size + 1e-9
            ahead = self.settled(guess, coordinates, start + to * way, most)
            if ahead is None:
                step *= 0.5
                if step < shortest:
                    return
                continue
            q, done, step = ahead, to, 2 * step
            yield done, q


def known_coordinates(
    robot: Mechanism,
) -> tuple[dict[str, Coordinate], dict[str, list[Coordinate]]]:
    """Coordinates that are numbers: of the tree by name, and of all joints by the joint's name."""
    tree: dict[str, Coordinate] = {}
    by_joint: dict[str, list[Coordinate]] = {}
    for name, (j, row) in coordinate_places(robot).items():
        one = Coordinate(name, robot.joints[j], row, robot.v_offsets[j] + row)
        tree[name] = one
        by_joint.setdefault(one.joint.name, []).append(one)
    names = coordinate_names(robot.joints, (t.name for t in robot.tendons), velocity=True)
    for joint, own in zip(robot.joints, names, strict=True):
        if joint in robot.loop_joints and not joint.has_quaternion and joint.nv:
            found = [Coordinate(name, joint, k, None) for k, name in enumerate(own)]
            by_joint[joint.name] = found
            by_joint |= {one.name: [one] for one in found}
        elif joint.has_quaternion:
            by_joint.pop(joint.name, None)
    return tree, by_joint


def last_of(path: Iterable[Point], start: Point) -> Point:
    """The last point of a path; its start if there is none."""
    for start in path:  # noqa: B007
        pass
    return start
