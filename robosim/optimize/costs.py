"""Costs of trajectories, and their expansions to second order."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robosim import se3
from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import OptionError
from robosim.linearization.linearizer import tangent_indices
from robosim.optimize.checks import weight
from robosim.validation import Array, finite


class Expansion(NamedTuple):
    """Derivatives of a cost about a trajectory of n steps, with ``dx = (q, v)`` in the tangent.

    Attributes
    ----------
    x : (n + 1, 2 nv), gradients; the last row is that of the final state
    xx : (n + 1, 2 nv, 2 nv)
    u : (n, nu)
    uu : (n, nu, nu)
    ux : (n, nu, 2 nv)
    """

    x: Array
    xx: Array
    u: Array
    uu: Array
    ux: Array


class Cost(Protocol):
    """The interface of costs for `ilqr`; `QuadraticCost` is an implementation.

    `values` are those of m trajectories at once. The total cost is a sum: one cost for the
    beginning of each of n steps, with its torques, and one for the end. Costs may differ from step
    to step.
    """

    def values(self, q: Array, v: Array, tau: Array) -> Array:
        """Costs (m, n + 1) of m trajectories q (m, n + 1, nq), v (m, n + 1, nv), tau (m, n, nu)."""
        ...

    def expand(self, q: Array, v: Array, tau: Array) -> Expansion:
        """The expansion about one trajectory q (n + 1, nq), v (n + 1, nv), tau (n, nu)."""
        ...


class QuadraticCost:
    """Half of ``dx^T Q dx + du^T R du`` of each step, and half of ``dx^T final dx`` at the end.

    ``dx`` leads from a target to the state, in the tangent of `Dynamics.difference`. Second
    derivatives are those of Gauss and Newton, exact but for large angles of free rotations.

    Parameters
    ----------
    robot : Mechanism
    q, v : (nq,) and (nv,), or (n + 1, nq) and (n + 1, nv), or None
        Targets, for all knots or for each knot of n steps. None: the home pose, and rest.
    Q, final : (2 nv, 2 nv), (2 nv,) for a diagonal, or float
    R : (nu, nu), (nu,) for a diagonal, or float
    tau : (nu,) or (n, nu), or None
        Torques without cost; None: zero.

    Raises
    ------
    OptionError
        For invalid weights, or targets that are not finite or of a wrong shape.
    """

    def __init__(
        self,
        robot: Mechanism,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        Q: ArrayLike = 0.0,
        R: ArrayLike = 0.0,
        final: ArrayLike = 0.0,
        tau: ArrayLike | None = None,
    ) -> None:
        self.robot, nv = robot, robot.nv
        self.Q, self.final = weight("Q", Q, 2 * nv), weight("final", final, 2 * nv)
        self.R = weight("R", R, robot.nu)
        self.q = _targets("q", robot.home if q is None else q, robot.nq)
        self.v = _targets("v", np.zeros(nv) if v is None else v, nv)
        self.tau = _targets("tau", np.zeros(robot.nu) if tau is None else tau, robot.nu)
        self._dynamics, self._turns = Dynamics(robot), tangent_indices(robot)[1]

    def about(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, tau: ArrayLike | None = None
    ) -> QuadraticCost:
        """The same weights with other targets; None keeps a target."""
        other, robot = copy(self), self.robot
        for name, value, width in (("q", q, robot.nq), ("v", v, robot.nv), ("tau", tau, robot.nu)):
            if value is not None:
                setattr(other, name, _targets(name, value, width))
        return other

    def values(self, q: Array, v: Array, tau: Array) -> Array:
        """See `Cost`."""
        dx, du = self._away(q, v), self._pushes(tau)
        found = np.einsum("mki,ij,mkj->mk", dx, self.Q, dx)
        found[:, -1] = np.einsum("mi,ij,mj->m", dx[:, -1], self.final, dx[:, -1])
        found[:, :-1] += np.einsum("mki,ij,mkj->mk", du, self.R, du)
        return np.asarray(0.5 * found)

    def expand(self, q: Array, v: Array, tau: Array) -> Expansion:
        """See `Cost`."""
        dx, du = self._away(q[None], v[None])[0], self._pushes(tau[None])[0]
        n, nx = len(tau), dx.shape[1]
        J = np.broadcast_to(np.eye(nx), (n + 1, nx, nx)).copy()
        for at, _ in self._turns:
            for k in range(n + 1):
                J[k, at : at + 3, at : at + 3] = _slope(dx[k, at : at + 3])
        weights = np.broadcast_to(self.Q, J.shape).copy()
        weights[-1] = self.final
        slopes = np.swapaxes(J, 1, 2) @ weights
        return Expansion(
            (slopes @ dx[:, :, None])[:, :, 0],
            slopes @ J,
            du @ self.R,
            np.broadcast_to(self.R, (n, *self.R.shape)),
            np.zeros((n, len(self.R), nx)),
        )

    def _away(self, q: Array, v: Array) -> Array:
        """Deviations dx (m, n + 1, 2 nv) from the targets."""
        goals = _at_knots("q", self.q, q)
        turned = self._dynamics.difference(
            np.broadcast_to(goals, q.shape).reshape(-1, q.shape[2]), q.reshape(-1, q.shape[2])
        )
        return np.concatenate((turned.reshape(v.shape), v - _at_knots("v", self.v, v)), axis=2)

    def _pushes(self, tau: Array) -> Array:
        return np.asarray(tau - _at_knots("tau", self.tau, tau))


def _targets(name: str, value: Any, width: int) -> Array:
    rows = np.ndim(value) == 2
    array = finite(value, (len(value), width) if rows else (width,))
    if array is None:
        raise OptionError(f"{name} must be finite numbers of shape ({width},) or (rows, {width})")
    return array


def _at_knots(name: str, targets: Array, of: Array) -> Array:
    if targets.ndim == 2 and len(targets) != of.shape[1]:
        raise OptionError(
            f"{name} of the cost has {len(targets)} rows, and the horizon needs {of.shape[1]}"
        )
    return targets


def _slope(turn: Array) -> Array:
    """(3, 3): maps angular velocity in the child's axes to rates of a rotation vector."""
    angle, across = float(np.linalg.norm(turn)), se3.cross_matrix(turn)
    if angle < 1e-4:
        return np.asarray(np.eye(3) + 0.5 * across + across @ across / 12)
    second = (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    return np.asarray(np.eye(3) + 0.5 * across + second * across @ across)
