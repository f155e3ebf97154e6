"""Equations of motion of a robot with constraints in independent velocities of its tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.dynamics.constraints import Constraints
from robosim.dynamics.dynamics import Dynamics
from robosim.dynamics.independent import DEPENDENT
from robosim.dynamics.lengths import Lengths
from robosim.errors import StateError
from robosim.kinematics.recursion import Recursion
from robosim.validation import Array

LOST = 1e-6  # largest error of an independent velocity that the constraints prevent


class ReducedEquations:
    """Mass matrix and forces along independent velocities u, with v = P u.

    Parameters
    ----------
    robot : Mechanism
    independent : sequence of int
        Indices of velocities of the tree; loops and couplings determine all others.
    held : sequence of int
        Indices of velocities that are zero.
    gravity : (3,) [m/s^2]
    """

    def __init__(
        self,
        robot: Mechanism,
        independent: Sequence[int],
        held: Sequence[int],
        gravity: ArrayLike,
    ) -> None:
        self._constraints = Constraints(Recursion(robot, gravity), Lengths(robot))
        self._dynamics, self._nv = Dynamics(robot, gravity, tree=True), robot.nv
        self._units = np.eye(robot.nv)[[*independent, *held]]
        self._n = len(independent)

    def motions(self, q: Array) -> Array:
        """P (nv, n).

        Raises
        ------
        StateError
            If velocities are not independent at q.
        """
        return self._motions(self._constraints.rows(q, np.zeros(self._nv)).jacobian)

    def _motions(self, J: Array) -> Array:
        right = np.zeros((len(J) + len(self._units), self._n))
        right[len(J) : len(J) + self._n] = np.eye(self._n)
        P = self._solved(J, right)
        if np.abs(self._units[: self._n] @ P - np.eye(self._n)).max(initial=0.0) > LOST:
            raise StateError(
                "a singularity: loops prevent a velocity that is independent elsewhere"
            )
        return P

    def _solved(self, J: Array, right: Array) -> Array:
        matrix = np.vstack((J, self._units))
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=DEPENDENT)[0])

    def mass_matrix(self, q: Array) -> Array:
        """P^T M P (n, n), with rotors."""
        P = self.motions(q)
        return np.asarray(P.T @ self._dynamics.mass_matrix(q) @ P)

    def forces(self, q: Array, u: Array, rates: Array) -> Array:
        """Forces (n,) along u for velocities u and their rates (n,), with weights, not passive."""
        still = self._constraints.rows(q, np.zeros(self._nv)).jacobian
        P = self._motions(still)
        rows, zero = self._constraints.rows(q, P @ u), np.zeros(len(self._units) - self._n)
        a = self._solved(rows.jacobian, np.concatenate((-rows.bias, rates, zero)))
        return np.asarray(P.T @ self._dynamics.inverse_dynamics(q, P @ u, a, passive=False))
