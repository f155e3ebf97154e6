"""Torques along a trajectory, with feedback in the tangent: ``u = u_k - K_k (x - x_k)``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.control.controllers import Compiled
from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import ControllerError
from robosim.linearization.linearizer import tangent_indices
from robosim.validation import Array, read_only

if TYPE_CHECKING:
    from robosim.formulation import Formulation

LATE = 1e-6  # of a time step, by which rounding may make the time of a knot early


class Feedback(Compiled):
    """A controller for `run`, `stream` and `BatchSimulation.rollout`: a linear feedback law.

    Runs evaluate the law in compiled code, which takes a second or two to compile for each object.
    A call from Python with a simulation compiles nothing.

    Parameters
    ----------
    robot : Mechanism
    q, v, tau : (n, nq), (n, nv), (n, nu)
        States at the beginnings of n steps, and torques. The last row also holds after its step.
    K : (n, nu, 2 nv)
        Gains for ``(q, v)`` in the tangent space of `Dynamics.difference`.
    timestep : float [s]
        Time from one row to the next.
    begin : float [s]
        Time of the first row.
    periodic : bool
        Whether the first row follows the last one.
    lower, upper : (nu,) or None [N m or N]
        Limits to which torques are clipped.
    dynamics : Dynamics or None
        An existing object for the robot; making one takes some milliseconds.

    Raises
    ------
    ControllerError
        For wrong shapes, or values that are not finite.
    """

    def __init__(
        self,
        robot: Mechanism,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        K: ArrayLike,
        timestep: float,
        begin: float = 0.0,
        *,
        periodic: bool = False,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        dynamics: Dynamics | None = None,
    ) -> None:
        self.robot, self.timestep, self.begin = robot, float(timestep), float(begin)
        self.periodic = bool(periodic)
        nq, nv, nu = robot.nq, robot.nv, robot.nu
        n = len(np.atleast_2d(np.asarray(q, dtype=float)))
        shapes = {"q": (n, nq), "v": (n, nv), "tau": (n, nu), "K": (n, nu, 2 * nv)}
        found = {}
        for name, value in zip(shapes, (q, v, tau, K), strict=True):
            array = np.array(value, dtype=float)
            if array.shape != shapes[name] or not np.all(np.isfinite(array)):
                raise ControllerError(
                    f"{name} must be finite numbers of shape {shapes[name]} for '{robot.name}', "
                    f"not of {array.shape}"
                )
            found[name] = read_only(array)
        self.q, self.v, self.tau, self.K = found.values()
        self.lower, self.upper = (
            read_only(np.broadcast_to(np.asarray(end, dtype=float), (nu,)).copy())
            for end in (-np.inf if lower is None else lower, np.inf if upper is None else upper)
        )
        self._dynamics = Dynamics(robot) if dynamics is None else dynamics

    def limited(self, limit: ArrayLike) -> Feedback:
        """The same law with torques between ``-limit`` and a limit (nu,) [N m or N]."""
        upper = np.asarray(limit, dtype=float)
        return Feedback(
            self.robot, self.q, self.v, self.tau, self.K, self.timestep, self.begin,
            periodic=self.periodic, lower=-upper, upper=upper, dynamics=self._dynamics,
        )  # fmt: skip

    def followed_by(self, other: Feedback) -> Feedback:
        """This law for all of its steps, followed by another law of the same robot.

        Raises
        ------
        ControllerError
            If timesteps or robots differ, or one of the laws is periodic.
        """
        alike = other.robot is self.robot and other.timestep == self.timestep
        if not alike or self.periodic or other.periodic:
            raise ControllerError(
                "a feedback is followed by one of the same robot and timestep, neither periodic"
            )
        rows = ((self.q, other.q), (self.v, other.v), (self.tau, other.tau), (self.K, other.K))
        q, v, tau, K = (np.concatenate(pair) for pair in rows)
        lower, upper = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        h, begin = self.timestep, self.begin
        return Feedback(self.robot, q, v, tau, K, h, begin, lower=lower, upper=upper)

    def row(self, time: float) -> int:
        """Index of the row for a time [s]."""
        k = int(np.floor((time - self.begin) / self.timestep + LATE))
        return k % len(self.tau) if self.periodic else min(max(k, 0), len(self.tau) - 1)

    def torques(self, k: int, q: Array, v: Array, scale: Any = 0.0, push: Any = 0.0) -> Array:
        """Torques (m, nu) of row k at states (m, nq), (m, nv), with ``scale * push`` added."""
        away = self._dynamics.difference(np.broadcast_to(self.q[k], q.shape), q)
        dx = np.concatenate((away, v - self.v[k]), axis=1)
        asked = self.tau[k] + scale * push - dx @ self.K[k].T
        return np.asarray(np.clip(asked, self.lower, self.upper))

    def __call__(self, sim: Formulation) -> Array:
        """Torques (nu,) for the simulation's present state."""
        q, v = np.asarray(sim.q)[None], np.asarray(sim.v)[None]
        return self.torques(self.row(sim.time), q, v)[0]

    @cached_property
    def _compiled(self) -> Compiled:
        return Compiled(self.robot, _law(self))

    @property
    def address(self) -> int:  # type: ignore[override]
        """Address of the compiled function, valid as long as this object exists."""
        return self._compiled.address


def _law(feedback: Feedback) -> Any:
    """A function (t, q, v, tau) for numba, with the arrays of the law as constants."""
    from numba import njit

    robot = feedback.robot
    plain, turns = (
        np.array(pairs, dtype=np.int64).reshape(-1, 2) for pairs in tangent_indices(robot)
    )
    q0, v0, tau0, K = (np.ascontiguousarray(a) for a in (feedback.q, feedback.v, feedback.tau,
                                                         feedback.K))  # fmt: skip
    lower, upper = np.ascontiguousarray(feedback.lower), np.ascontiguousarray(feedback.upper)
    begin, timestep, periodic = feedback.begin, feedback.timestep, feedback.periodic
    n, nv, nu = len(tau0), robot.nv, robot.nu

    @njit
    def law(t, q, v, tau):  # type: ignore[no-untyped-def]
        k = int(np.floor((t - begin) / timestep + LATE))
        k = k % n if periodic else min(max(k, 0), n - 1)
        dx = np.zeros(2 * nv)
        for i in range(plain.shape[0]):
            dx[plain[i, 0]] = q[plain[i, 1]] - q0[k, plain[i, 1]]
        for i in range(turns.shape[0]):
            a = turns[i, 1]
            w, x, y, z = q0[k, a], -q0[k, a + 1], -q0[k, a + 2], -q0[k, a + 3]
            W, X, Y, Z = q[a], q[a + 1], q[a + 2], q[a + 3]
            real = w * W - x * X - y * Y - z * Z
            e = (
                w * X + x * W + y * Z - z * Y,
                w * Y - x * Z + y * W + z * X,
                w * Z + x * Y - y * X + z * W,
            )
            size = np.sqrt(e[0] ** 2 + e[1] ** 2 + e[2] ** 2)
            sign = -1.0 if real < 0.0 else 1.0
            factor = 2.0 * sign
            if size > 1e-12:
                factor = 2.0 * sign * np.arctan2(size, abs(real)) / size
            for j in range(3):
                dx[turns[i, 0] + j] = factor * e[j]
        for j in range(nv):
            dx[nv + j] = v[j] - v0[k, j]
        for i in range(nu):
            asked = tau0[k, i]
            for j in range(2 * nv):
                asked -= K[k, i, j] * dx[j]
            tau[i] = min(max(asked, lower[i]), upper[i])

    return law
