"""Independent coordinates with loops, couplings and motions, to first order about a state.

With the rows ``J(q) dq = 0`` and ``J dv = -(d(J v)/dq) dq``, a deviation of a state has the
independent coordinates ``z = (N^T dq, N^T dv)``. The columns of N are an orthonormal basis of the
null space of J.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.dynamics.constraints import Constraints
from robosim.dynamics.dynamics import Dynamics
from robosim.dynamics.independent import independent, refuse_open
from robosim.dynamics.lengths import Lengths
from robosim.errors import StateError
from robosim.kinematics.kinematics import GRAVITY
from robosim.kinematics.recursion import Recursion
from robosim.optimize.derivatives import Steps
from robosim.validation import Array

STEP = 1e-6  # [rad or m], of finite differences of Jacobians


class Free(NamedTuple):
    """Independent coordinates about one state.

    Attributes
    ----------
    lift : (2 nv, 2 nf)
        Map from z to deviations that satisfy all constraints to first order.
    take : (2 nf, 2 nv)
        Map from these deviations to z.
    """

    lift: Array
    take: Array


class FreeCoordinates:
    """Independent coordinates of a robot about several states.

    Attributes
    ----------
    all : bool
        Whether all coordinates of the tree are independent.
    """

    def __init__(self, robot: Mechanism) -> None:
        self.robot, self._dynamics = robot, Dynamics(robot)
        self._constraints = Constraints(Recursion(robot, np.asarray(GRAVITY)), Lengths(robot))
        self.all = not self._constraints.elements

    def at(self, q: Array, v: Array) -> Free:
        """The coordinates about a state in which loops are closed.

        Raises
        ------
        StateError
            If loops are not closed.
        """
        rows = self._constraints.rows(q, v, None)
        refuse_open(self._constraints, rows)
        part = independent(rows, np.ones(len(rows.value), dtype=bool))
        N = np.linalg.svd(part.V)[2][len(part.S) :].T
        nv, nf = N.shape
        lift = np.zeros((2 * nv, 2 * nf))
        lift[:nv, :nf] = lift[nv:, nf:] = N
        if v.any():
            for k in range(nf):
                turned = self._rates(q, STEP * N[:, k], v) - self._rates(q, -STEP * N[:, k], v)
                lift[nv:, k] = -part.V.T @ (part.U.T @ (turned / (2 * STEP)) / part.S)
        take = np.zeros((2 * nf, 2 * nv))
        take[:nf, :nv] = take[nf:, nv:] = N.T
        return Free(lift, take)

    def along(self, q: Array, v: Array) -> list[Free]:
        """The coordinates about each of the states (n, nq), (n, nv).

        Raises
        ------
        StateError
            If the number of independent coordinates varies, as at singular states.
        """
        found = [self.at(*state) for state in zip(q, v, strict=True)]
        counts = [one.lift.shape[1] // 2 for one in found]
        if len(set(counts)) > 1:
            k = int(np.argmax(np.array(counts) != counts[0]))
            raise StateError(
                f"constraints of '{self.robot.name}' leave {counts[0]} coordinates free at row 0, "
                f"and {counts[k]} at row {k}, which is singular: stay away from it"
            )
        return found

    def _rates(self, q: Array, along: Array, v: Array) -> Array:
        """J v of all rows, at coordinates displaced by `along`."""
        moved = self._dynamics.integrate(q, along)
        return np.asarray(self._constraints.rows(moved, v, None).jacobian @ v)


def reduced(lin: Steps, free: Sequence[Free]) -> tuple[Array, Array]:
    """A (n, 2 nf, 2 nf) and B (n, 2 nf, nu) of n steps in the coordinates at n + 1 knots."""
    begins, ends = free[:-1], free[1:]
    A = [end.take @ A @ begin.lift for A, begin, end in zip(lin.A, begins, ends, strict=True)]
    return np.array(A), np.array([end.take @ B for B, end in zip(lin.B, ends, strict=True)])
