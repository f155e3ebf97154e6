"""The search of inverse kinematics: attempts, each a descent by damped least squares.

The limits of the tree's joints are bounds of every step. Loops, couplings and fixed lengths are
further errors with increasing weights, and are finally closed without targets. If an attempt ends
at a minimum away from the targets, another one begins at a random configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.errors import StateError
from robosim.inverse_kinematics.least_squares import descend
from robosim.inverse_kinematics.pose_constraints import PoseConstraints
from robosim.inverse_kinematics.result import IKResult, Residual, Status
from robosim.inverse_kinematics.search_space import SearchSpace
from robosim.inverse_kinematics.targets import Moving, Task
from robosim.kinematics.random_pose import random_coordinates
from robosim.validation import Array

CLOSED = 1e-9  # tolerance of constraints [m, or sine of half an angle]
AT_LIMIT = 1e-6  # [m or rad]
# Weights of constraints, for targets of weight one, at first and at the end.
CLOSING = 3.0, 100.0, 1000.0
DAMPING, LEAST_DAMPING = 0.1, 1e-12  # in squares of derivatives
# Relative gain of a step at which an attempt is given up; the best attempt continues.
LEAST_GAIN, LAST_GAIN = 1e-3, 1e-12
EXACT = 1e-12
MOST_EVALUATIONS = 100  # for a descent
ENOUGH = 1e-2  # of the tolerance, at which to stop


class Ended(NamedTuple):
    """The result of an attempt; see `IKResult`."""

    q: Array
    residuals: tuple[Residual, ...]
    open_by: float
    cost: float  # sum of squares of errors of required targets
    wished: float  # the same of optional targets
    evaluations: int
    settled: bool

    @property
    def reached(self) -> bool:
        return self.open_by <= CLOSED and all(one.reached for one in self.residuals)


class Search:
    """Attempts for one set of targets.

    Parameters
    ----------
    of : Dynamics
    space : SearchSpace
    tasks : sequence of Task
    constraints : PoseConstraints or None
    unknown : (nv,) of bool
        The coordinates that may move.
    start : (nq,)
    """

    def __init__(
        self,
        of: Moving,
        space: SearchSpace,
        tasks: Sequence[Task],
        constraints: PoseConstraints | None,
        unknown: NDArray[np.bool_],
        start: Array,
    ) -> None:
        self._of, self._space, self._tasks, self._constraints = of, space, tasks, constraints
        self._unknown, self._columns, self._start = unknown, np.flatnonzero(unknown), start
        self._needs = [task for task in tasks if np.isfinite(task.tolerance)]
        self._wishes = len(self._needs) < len(tasks)
        # The largest weighted error that is certainly small enough.
        self._enough = ENOUGH * min(
            float(task.tolerance * task.weights.min()) for task in self._needs
        )
        counts = np.any([task.counts for task in tasks], axis=0)
        self._windable = unknown & ~counts

    def run(self, restarts: int, seed: int) -> IKResult:
        """The first attempt that reaches all targets, or the nearest one.

        Raises
        ------
        StateError
            For errors whose squares are too large for a number.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values, rows = self._residual(self._start, self._tasks, 1.0)(
                np.zeros(len(self._columns))
            )
            if not np.isfinite(values @ values + np.sum(rows**2)):
                raise StateError("the positions or weights of targets are too large to be squared")
        best = self._try(self._start, LEAST_GAIN)
        evaluations, tried, rng = best.evaluations, 0, np.random.default_rng(seed)
        while not best.reached and tried < restarts:
            # In alternation, all free coordinates are random, or those of targets not yet reached.
            moving = self._unknown if tried % 2 else self._moving(best)
            tried += 1
            ended = self._try(self._random(best.q, moving, rng), LEAST_GAIN)
            evaluations += ended.evaluations
            best = min(best, ended, key=_rank)
        if not best.reached or self._wishes:
            last = self._try(best.q, LAST_GAIN)
            evaluations += last.evaluations
            best = min(last, best._replace(settled=last.settled), key=_rank)
        return self._result(best, evaluations, tried)

    def _result(self, best: Ended, evaluations: int, restarts: int) -> IKResult:
        status: Status = "minimum" if best.settled else "unfinished"
        if best.open_by > CLOSED:
            status = "open"
        elif best.reached:
            status = "reached"
        space = self._space
        q = space.present(best.q)
        limits = tuple(
            name
            for name, v in space.places.items()
            if self._unknown[v] and min(q[v] - space.lower[v], space.upper[v] - q[v]) < AT_LIMIT
        )
        counts = evaluations, restarts
        return IKResult(best.q, status, best.residuals, best.open_by, limits, *counts)

    def _moving(self, ended: Ended) -> NDArray[np.bool_]:
        """The coordinates (nv,) on which targets depend that are not reached."""
        if ended.open_by > CLOSED:
            return self._unknown
        left = [task for task, one in zip(self._tasks, ended.residuals, strict=True)
                if not one.reached]  # fmt: skip
        return np.any([np.any(task.errors(ended.q)[1], axis=0) for task in left], axis=0)

    def _random(self, q: Array, moving: NDArray[np.bool_], rng: np.random.Generator) -> Array:
        """q (nq,) with random coordinates of these joints, and floating bodies at the start."""
        robot = self._of.robot
        random, guess = random_coordinates(robot, rng), q.copy()
        for joint, k, v in zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False):
            if joint.kind != "floating" and np.any((moving & self._unknown)[v : v + joint.nv]):
                guess[k : k + joint.nq] = random[k : k + joint.nq]
            elif joint.kind == "floating":
                guess[k : k + joint.nq] = self._start[k : k + joint.nq]
        return guess

    def _try(self, guess: Array, least_gain: float) -> Ended:
        """Descend to all targets, then to the required ones only, then close the loops."""
        space, needs = self._space, self._needs
        middle = self._within(guess)
        stages = [(self._tasks, weight) for weight in (CLOSING if self._constraints else (1.0,))]
        if self._wishes:
            stages.append((needs, CLOSING[-1]))
        if self._constraints:
            stages.append(([], 1.0))
        z, evaluations, settled = np.zeros(len(self._unknown)), 0, True
        for tasks, weight in stages:
            enough = self._enough if tasks and not (self._wishes and tasks is not needs) else EXACT
            gain = least_gain if tasks else EXACT
            found = descend(
                self._residual(middle, tasks, weight),
                z[self._columns],
                *self._bounds(middle),
                damping=DAMPING,
                least_damping=LEAST_DAMPING,
                least_gain=gain,
                enough=enough,
                most=MOST_EVALUATIONS,
                curved=bool(tasks) and least_gain == LAST_GAIN,
            )
            z[self._columns] = found.x
            evaluations, settled = evaluations + found.evaluations, settled and found.settled
        start, limits = space.present(middle), (space.lower, space.upper)
        space.unwind(start, z, space.present(self._start), limits, self._windable)
        return self._ended(self._within(space.at(middle, z)), evaluations, settled)

    def _bounds(self, middle: Array) -> tuple[Array, Array]:
        low, high = self._space.bounds(middle, self._space.lower, self._space.upper)
        return low[self._columns], high[self._columns]

    def _residual(
        self, middle: Array, tasks: Sequence[Task], weight: float
    ) -> Callable[[Array], tuple[Array, Array]]:
        """Weighted errors of targets and constraints, as a function of the free coordinates."""
        columns, nv = self._columns, len(self._unknown)

        def residual(x: Array) -> tuple[Array, Array]:
            z = np.zeros(nv)
            z[columns] = x
            q = self._space.at(middle, z)
            values, rows = [], []
            for task in tasks:
                error, by_v = task.errors(q)
                values.append(task.weights * error)
                rows.append(task.weights[:, None] * by_v)
            if self._constraints:
                left, by_v, _ = self._constraints.at(q)
                values.append(weight * left)
                rows.append(weight * by_v)
            return np.concatenate(values), self._space.by_z(np.vstack(rows), z)[:, columns]

        return residual

    def _within(self, q: Array) -> Array:
        """q (nq,) with free coordinates clipped to their limits."""
        space = self._space
        clipped = np.clip(space.present(q), space.lower, space.upper)
        return space.moved(q, clipped, self._unknown)

    def _ended(self, q: Array, evaluations: int, settled: bool) -> Ended:
        residuals, cost, wished = [], 0.0, 0.0
        for task in self._tasks:
            error, _ = task.errors(q)
            distance = float(np.linalg.norm(error[task.lengths]))
            angle = float(np.linalg.norm(error[~task.lengths]))
            near = max(distance, angle) <= task.tolerance
            residuals.append(Residual(task.name, distance, angle, near))
            square = float(np.sum((task.weights * error) ** 2))
            cost, wished = (
                (cost + square, wished) if np.isfinite(task.tolerance) else (cost, wished + square)
            )
        open_by = 0.0
        if self._constraints:
            open_by = float(np.abs(self._constraints.at(q)[0]).max(initial=0.0))
        return Ended(q, tuple(residuals), open_by, cost, wished, evaluations, settled)


def _rank(ended: Ended) -> tuple[bool, bool, float]:
    """Closed before open, then reached before not, then by the remaining cost."""
    reached = ended.reached
    return ended.open_by > CLOSED, not reached, ended.wished if reached else ended.cost
