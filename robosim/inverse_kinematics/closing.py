"""Closing loops within the limits of the joints, by bounded least squares over the tree.

Unknowns are the coordinates of the tree, so that their limits are bounds. All other constraints are
residuals; see `robosim.inverse_kinematics.pose_constraints`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.order import coordinate_places
from robosim.description.mechanism import Mechanism
from robosim.inverse_kinematics.least_squares import descend
from robosim.inverse_kinematics.pose_constraints import PoseConstraints
from robosim.inverse_kinematics.search_space import SearchSpace, whole_turns
from robosim.validation import Array

# Weight of the distance from the requested coordinates [m, or sine of half an angle, per unit], at
# first and at the end. Limits that are not bounds are exceeded by its square.
NEARNESS = (1e-3, 1e-5)
CLOSED = 1e-4  # [m, or sine of half an angle]; from there, exact closing moves bodies only slightly
AT_BOUND = 1e-6  # [m or rad]
DAMPING = 1e-3  # initial value [m^2, or square of a sine]
GUESSES = 40  # further random guesses


@dataclass
class Closed:
    """The result of the search from one guess.

    Attributes
    ----------
    q : (nq,)
    open_by : float
        The largest residual [m, or sine of half an angle].
    open_names : list of str
        Elements that are not closed: joints, couplings, tendons; the worst first.
    at_lower, at_upper : (nv,) of bool
        The coordinates of the tree that are at a limit.
    distance : float
        Distance from the requested coordinates.
    """

    q: Array
    open_by: float
    open_names: list[str]
    at_lower: NDArray[np.bool_]
    at_upper: NDArray[np.bool_]
    distance: float


class Closing:
    """Finds coordinates of the tree that satisfy all constraints and limits at once.

    Parameters
    ----------
    robot : Mechanism
    asked : (nq,)
        Requested coordinates, near which a solution is searched for.
    given : mapping of velocity index to value
        Coordinates that are held or driven: of the tree, of joints that close loops, of tendons
        (behind those of the joints and of the springs).
    signs : (nv,)
        Required signs -1 or 1 of coordinates of the tree; 0 for any sign.
    """

    def __init__(
        self, robot: Mechanism, asked: Array, given: dict[int, float], signs: Array
    ) -> None:
        self.robot, self._space = robot, SearchSpace(robot)
        self._constraints = PoseConstraints(robot, given)
        nv = robot.nv
        low, high = sides(robot, signs)
        self.lower = np.maximum(self._space.lower, low)
        self.upper = np.minimum(self._space.upper, high)
        self.asked, fixed = asked.copy(), [v for v in given if v < nv]
        self._space.put(self.asked, given)
        self._unknown = np.ones(nv, dtype=bool)
        self._unknown[fixed] = False

    def _descend(
        self, guess: Array, z: Array, offset: Array, low: Array, high: Array, nearness: float
    ) -> float:
        """Minimize the sum of squares over z (nv,) within bounds; returns the largest residual."""
        free = np.flatnonzero(self._unknown)
        near = nearness * np.eye(len(free))

        def residual(here: Array) -> tuple[Array, Array]:
            z[free] = here
            values, rows = self._left(guess, z)
            away = nearness * (offset[free] + here)
            return np.concatenate((values, away)), np.vstack((rows[:, free], near))

        found = descend(
            residual,
            z[free],
            low[free],
            high[free],
            damping=DAMPING,
            least_damping=nearness**2 * 1e-3,
        )
        z[free] = found.x
        return float(np.abs(found.residual[: len(found.residual) - len(free)]).max(initial=0.0))

    def _left(self, guess: Array, z: Array) -> tuple[Array, Array]:
        """Residuals of the constraints at z around a guess, and their derivatives by z."""
        values, rows, _ = self._constraints.at(self._space.at(guess, z))
        return values, self._space.by_z(rows, z)

    def guesses(self, closed: Array) -> Iterator[list[Array]]:
        """Initial guesses (nq,), at increasing distances from the requested coordinates.

        The sequence is always the same. First come the requested coordinates, with those where
        loops are `closed` regardless of limits. Then follow the middle of all limits, and random
        ones.
        """
        # Without a limit, coordinates within pi (rad or m) of the present one.
        present = self._space.present(self.asked)
        low = np.where(np.isfinite(self.lower), self.lower, present - np.pi)
        high = np.where(np.isfinite(self.upper), self.upper, present + np.pi)
        low, high = np.minimum(low, high), np.maximum(low, high)
        whole = np.isfinite(self.lower) & np.isfinite(self.upper)
        middle = self._moved(self.asked, np.where(whole, 0.5 * (low + high), present))
        closed = closed.copy()
        for joint, k in zip(self.robot.tree_joints, self.robot.q_offsets, strict=False):
            if joint.kind == "floating":  # a floating body need not move to close a loop
                closed[k : k + 7] = self.asked[k : k + 7]
        yield [self._within(self.asked), self._within(closed)]
        yield [middle]
        rng = np.random.default_rng(0)
        for spread in np.linspace(1 / GUESSES, 1.0, GUESSES):
            target = rng.uniform(low, high)
            yield [self._moved(self.asked, present + spread * (target - present))]

    def in_the_way(self, found: Closed) -> list[str]:
        """Descriptions of the limits at which coordinates are."""
        places = coordinate_places(self.robot)
        told = []
        for name, (j, row) in places.items():
            v = self.robot.v_offsets[j] + row
            for stands, side, bound in (
                (found.at_lower[v], "lower", self.lower[v]),
                (found.at_upper[v], "upper", self.upper[v]),
            ):
                if stands and found.open_by > CLOSED:
                    told.append(f"joint '{name}' is at its {side} limit of {bound:.6g}")
        return told

    def search(self, guess: Array) -> Closed:
        """Coordinates near a guess (nq,) that satisfy all constraints, or violate them least."""
        free, space = self._unknown, self._space
        numbers = space.numbers & free
        z, start = np.zeros(len(free)), space.present(guess)
        low, high = space.bounds(guess, self.lower, self.upper)
        offset = np.where(space.numbers, start - space.present(self.asked), 0.0)

        for nearness in NEARNESS if free.any() else ():
            if self._descend(guess, z, offset, low, high, nearness) > CLOSED:
                break
        bounds = self.lower, self.upper
        space.unwind(start, z, space.present(self.asked), bounds, self._unknown)
        q = space.at(guess, z)
        residual, _, names = self._constraints.at(q)
        worst = np.argsort(-np.abs(residual), kind="stable")
        still = [names[i] for i in worst if abs(residual[i]) > CLOSED]
        return Closed(
            q,
            float(np.abs(residual).max(initial=0.0)),
            list(dict.fromkeys(still)),
            numbers & (z < low + AT_BOUND),
            numbers & (z > high - AT_BOUND),
            float(np.linalg.norm(np.where(free, space.away(self.asked, q), 0.0))),
        )

    def _moved(self, q: Array, to: Array) -> Array:
        """q with some numbers replaced (nv,), except for given ones."""
        return self._space.moved(q, to, self._unknown)

    def _within(self, q: Array) -> Array:
        clipped = np.minimum(np.maximum(self._space.present(q), self.lower), self.upper)
        return self._moved(q, clipped)


def sides(robot: Mechanism, signs: Array) -> tuple[Array, Array]:
    """Bounds (nv,), (nv,) of coordinates with required signs (nv,); for angles half a turn."""
    low, high = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
    for j, row in coordinate_places(robot).values():
        v, joint = robot.v_offsets[j] + row, robot.joints[j]
        most = np.pi if whole_turns(joint)[row] else np.inf
        if signs[v]:
            low[v], high[v] = (0.0, most) if signs[v] > 0 else (-most, 0.0)
    return low, high
