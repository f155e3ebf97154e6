"""Configurations near another one as numbers for a search, one for each velocity of the tree.

Translations and angles are relative to the configuration in the middle. Free rotations are rotation
vectors relative to it, in child axes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.order import coordinate_places
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Term
from robosim.se3 import cross_matrix
from robosim.validation import Array


class SearchSpace:
    """The coordinates of a robot's tree, and which of these are numbers.

    Parameters
    ----------
    robot : Mechanism

    Attributes
    ----------
    lower, upper : (nv,), as of the joints
        Limits; infinite for free rotations.
    numbers : (nv,) of bool
        The coordinates that are numbers: not those of free rotations.
    angles : (nv,) of bool
        Angles that may be changed by whole turns, as nothing else depends on their turns.
    q_index : (nv,) of int
        Index in q of each number.
    places : mapping of str to int
        Index of the velocity of each number, by the number's name in q.
    """

    def __init__(self, robot: Mechanism) -> None:
        nv = robot.nv
        self.lower, self.upper = np.full(nv, -np.inf), np.full(nv, np.inf)
        self.numbers = np.ones(nv, dtype=bool)
        self.angles = np.zeros(nv, dtype=bool)
        led = {name for one in robot.couplings for name in (one.joint, one.source)}
        for name, (j, row) in coordinate_places(robot).items():
            joint = robot.joints[j]
            in_tendon = any(
                isinstance(part, Term) and part.coordinate == name
                for tendon in robot.tendons
                for part in tendon.path
            )
            free = whole_turns(joint)[row] and not in_tendon and joint.name not in led
            self.angles[robot.v_offsets[j] + row] = free
        self.q_index = np.zeros(nv, dtype=np.int64)
        places = zip(robot.q_offsets, robot.v_offsets, robot.tree_joints, strict=False)
        self._balls: list[tuple[int, int]] = []  # first indices in q and v
        for q, v, joint in places:
            numbers = joint.numbers
            self.lower[v : v + joint.nv] = joint.lower
            self.upper[v : v + joint.nv] = joint.upper
            self.q_index[v : v + joint.nv] = q + np.arange(joint.nv)
            if joint.has_quaternion:
                self.numbers[v + numbers : v + joint.nv] = False
                self._balls.append((q + numbers, v + numbers))
        self.places = {robot.q_names[self.q_index[v]]: int(v) for v in np.flatnonzero(self.numbers)}

    def present(self, q: Array) -> Array:
        """Coordinates (nv,) that are numbers; 0 for free rotations."""
        return np.where(self.numbers, q[self.q_index], 0.0)

    def put(self, q: Array, given: Mapping[int, float]) -> None:
        """Set coordinates of the tree by index of velocity, free rotations by their vectors."""
        for v, value in given.items():
            if v < len(self.numbers) and self.numbers[v]:
                q[self.q_index[v]] = value
        for k, v in self._balls:
            if v in given:
                turn = np.array([given[v + i] for i in range(3)])
                q[k : k + 4] = quaternions.from_rotation_vector(turn)

    def moved(self, q: Array, to: Array, which: NDArray[np.bool_]) -> Array:
        """q with some of its numbers replaced (nv,)."""
        which = which & self.numbers
        out = q.copy()
        out[self.q_index[which]] = to[which]
        return out

    def at(self, middle: Array, z: Array) -> Array:
        """The configuration (nq,) at z (nv,) around the one in the middle."""
        q = middle.copy()
        q[self.q_index[self.numbers]] += z[self.numbers]
        for k, v in self._balls:
            turn = quaternions.from_rotation_vector(z[v : v + 3])
            q[k : k + 4] = quaternions.multiply(q[k : k + 4], turn)
        return q

    def away(self, q0: Array, q1: Array) -> Array:
        """Coordinates (nv,) of q1 around q0; quaternions rotate by half a turn at most."""
        out = self.present(q1) - self.present(q0)
        for k, v in self._balls:
            turn = quaternions.multiply(quaternions.conjugate(q0[k : k + 4]), q1[k : k + 4])
            out[v : v + 3] = quaternions.rotation_vector(turn)
        return out

    def by_z(self, rows: Array, z: Array) -> Array:
        """Derivatives (n, nv) by z, from those by velocities, in place."""
        for _, v in self._balls:
            rows[:, v : v + 3] = rows[:, v : v + 3] @ rate_of_turn(z[v : v + 3])
        return rows

    def bounds(self, middle: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bounds of z (nv,), (nv,) for bounds of the coordinates; the middle lies within.

        The interior is never empty, even if limits are nearly equal.
        """
        present = self.present(middle)
        low = np.where(self.numbers, lower - present, -np.inf)
        high = np.where(self.numbers, upper - present, np.inf)
        return np.minimum(low, 0.0) - 1e-12, np.maximum(high, 0.0) + 1e-12

    def unwind(
        self, start: Array, z: Array, to: Array, bounds: tuple[Array, Array], which: Array
    ) -> None:
        """Change angles in z by whole turns, to be as near as possible to others.

        Parameters
        ----------
        start, to : (nv,)
            Coordinates at zero z, and those to approach.
        z : (nv,)
        bounds : (nv,), (nv,)
            Lower and upper, of the coordinates.
        which : (nv,) of bool
        """
        turn, (lower, upper) = 2 * np.pi, bounds
        for v in np.flatnonzero(self.angles & which):
            here = start[v] + z[v]
            turns = np.round((to[v] - here) / turn)
            if np.isfinite(lower[v]):
                turns = max(turns, np.ceil((lower[v] - here) / turn))
            if np.isfinite(upper[v]):
                turns = min(turns, np.floor((upper[v] - here) / turn))
            if lower[v] <= here + turn * turns <= upper[v]:
                z[v] += turn * turns


def whole_turns(joint: Joint) -> tuple[bool, ...]:
    """Whether each of a joint's nv coordinates gives the same pose after 2 pi.

    Angles of hinges do. Coordinates of screws and of rotation vectors do not.
    """
    if joint.own_chart is None:
        return tuple(unit == "rad" for unit in joint.units)
    hinges = {
        factor.first
        for factor in joint.own_chart.factors()
        if factor.kind == "along"
        and abs(np.linalg.norm(factor.twist[3:]) - 1.0) < 1e-9
        and abs(factor.twist[:3] @ factor.twist[3:]) < 1e-12
    }
    return tuple(k in hinges for k in range(joint.nv))


def rate_of_turn(turn: Array) -> Array:
    """(3, 3): maps the rate of a rotation vector (3,) to angular velocity in child axes."""
    angle = float(np.linalg.norm(turn))
    x = cross_matrix(turn)
    if angle < 1e-4:
        return np.eye(3) - 0.5 * x + x @ x / 6
    first, second = (1 - np.cos(angle)) / angle**2, (angle - np.sin(angle)) / angle**3
    return np.asarray(np.eye(3) - first * x + second * x @ x)


def rate_of_rotation_vector(turn: Array) -> Array:
    """(3, 3): maps angular velocity to the rate of a rotation vector (3,), at most pi long.

    The inverse of `rate_of_turn`.
    """
    angle = float(np.linalg.norm(turn))
    x = cross_matrix(turn)
    # For smaller angles, the difference of 1 / angle^2 loses as many digits as the series.
    factor = 1 / 12 if angle < 1e-3 else 1 / angle**2 - 0.5 / (angle * np.tan(0.5 * angle))
    return np.asarray(np.eye(3) + 0.5 * x + factor * x @ x)
