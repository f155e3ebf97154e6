"""Trajectories of a simulation under torques with feedback: one, or one for each step length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.batch import BatchSimulation
from robosim.optimize.feedback import Feedback
from robosim.simulation import Simulation
from robosim.validation import Array


class Trajectory(NamedTuple):
    """States at n + 1 knots, and the torques between them."""

    q: Array
    v: Array
    tau: Array


class Rollouts:
    """Trajectories that begin where a simulation is, as starts do.

    Parameters
    ----------
    sim : Simulation
    contact_speed : float [m/s]
    lengths : (m,), of steps
    """

    def __init__(self, sim: Simulation, contact_speed: float, lengths: Array) -> None:
        options = {**sim.options, "contact_speed": contact_speed, "lanes": False}
        self.single = Simulation(sim.robot, **options)
        self._batch = BatchSimulation(sim.robot, len(lengths), **options)
        self._lengths = lengths[:, None]
        self._start = sim.q.copy(), sim.v.copy(), float(sim.time)

    def one(self, law: Feedback) -> Trajectory:
        """The trajectory under a law.

        Raises
        ------
        ConvergenceError
            If a step cannot be solved.
        """
        sim, n = self.single, len(law.tau)
        sim.set_state(*self._start)
        q, v, tau = (np.empty((rows, a.shape[1])) for rows, a in
                     ((n + 1, law.q), (n + 1, law.v), (n, law.tau)))  # fmt: skip
        for k in range(n):
            q[k], v[k] = sim.q, sim.v
            tau[k] = law.torques(k, q[k : k + 1], v[k : k + 1])[0]
            sim.step(tau[k])
        q[n], v[n] = sim.q, sim.v
        return Trajectory(q, v, tau)

    def several(self, law: Feedback, push: Array) -> tuple[Trajectory, NDArray[np.bool_]]:
        """Trajectories (m, ...) with the push (n, nu) times each length, and which are whole."""
        batch, n, m = self._batch, len(law.tau), len(self._lengths)
        batch.set_state(*self._start)
        q, v, tau = (np.empty((m, rows, a.shape[1])) for rows, a in
                     ((n + 1, law.q), (n + 1, law.v), (n, law.tau)))  # fmt: skip
        whole = np.ones(m, dtype=bool)
        q[:, 0], v[:, 0] = batch.q, batch.v
        for k in range(n):
            tau[:, k] = law.torques(k, q[:, k], v[:, k], self._lengths, push[k])
            run = batch.rollout(1, tau[:, k])
            q[:, k + 1], v[:, k + 1] = run.q[:, -1], run.v[:, -1]
            lost = np.flatnonzero(run.failed | ~np.isfinite(run.v[:, -1]).all(axis=1))
            if len(lost):
                whole[lost] = False
                if not whole.any():
                    break
                # Put aside, as the others go on.
                batch.set_state(*self._start, index=lost)
                q[lost, k + 1], v[lost, k + 1] = batch.q[lost], batch.v[lost]
        return Trajectory(q, v, tau), whole
