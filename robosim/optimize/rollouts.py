"""Trajectories of a simulation under torques with feedback: one, or one per step length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.batch import BatchSimulation
from robosim.errors import ConvergenceError
from robosim.linearization.linearization import Differentiable
from robosim.optimize.feedback import Feedback
from robosim.simulation import Simulation
from robosim.validation import Array


class Trajectory(NamedTuple):
    """States at n + 1 knots, and the torques between them."""

    q: Array
    v: Array
    tau: Array


class Rollouts:
    """Trajectories that begin at a simulation's state, each with a start.

    Parameters
    ----------
    sim : Simulation, or a MinimalSimulation, whose trajectories are computed one by one
    contact_speed : float [m/s] or None
        Of a Simulation.
    lengths : (m,), step lengths
    """

    def __init__(self, sim: Differentiable, contact_speed: float | None, lengths: Array) -> None:
        self.lengths, self._lengths = lengths, lengths[:, None]
        self.begin(sim)
        self._batch: BatchSimulation | None = None
        self.single = sim.copy()
        if isinstance(sim, Simulation):
            # Without lanes, so that steps equal those of a Simulation bit for bit.
            options = {**sim.options, "contact_speed": contact_speed, "lanes": False}
            self.single = Simulation(sim.robot, **options)
            # Steps of so few states take less time than waking threads.
            self._batch = BatchSimulation(sim.robot, len(lengths), **options, threads=1)
            self._bound = self._batch.bind()

    def begin(self, sim: Differentiable) -> None:
        """Let trajectories begin at the state of a simulation of the same robot."""
        self._start = sim.q.copy(), sim.v.copy(), float(sim.time)

    def one(self, law: Feedback, push: Array | None = None, length: float = 0.0) -> Trajectory:
        """The trajectory under a law, with changes of torques `push` (n, nu) times a length.

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
            more = 0.0 if push is None else push[k]
            tau[k] = law.torques(k, q[k : k + 1], v[k : k + 1], length, more)[0]
            sim.step(tau[k])
        q[n], v[n] = sim.q, sim.v
        return Trajectory(q, v, tau)

    def several(self, law: Feedback, push: Array) -> tuple[Trajectory, NDArray[np.bool_]]:
        """Trajectories (m, ...) with `push` (n, nu) times each length, and which are complete."""
        batch, n, m = self._batch, len(law.tau), len(self._lengths)
        if batch is None:
            return self._one_by_one(law, push)
        bound = self._bound
        # For so few states that is less than to prepare a start that others copy.
        batch.set_state(*self._start)
        q, v, tau = (np.empty((m, rows, a.shape[1])) for rows, a in
                     ((n + 1, law.q), (n + 1, law.v), (n, law.tau)))  # fmt: skip
        whole = np.ones(m, dtype=bool)
        q[:, 0], v[:, 0] = batch.q, batch.v
        for k in range(n):
            tau[:, k] = law.torques(k, q[:, k], v[:, k], self._lengths, push[k])
            tau[~whole, k] = law.tau[k]
            bound.torques[:] = tau[:, k]
            bound.step()
            q[:, k + 1], v[:, k + 1] = bound.q, bound.v
            lost = np.flatnonzero(bound.failed | ~np.isfinite(bound.v).all(axis=1))
            if len(lost):
                whole[lost] = False
                if not whole.any():
                    break
                # Failed ones restart, while the others continue.
                batch.set_state(*self._start, index=lost)
                q[lost, k + 1], v[lost, k + 1] = batch.q[lost], batch.v[lost]
        return Trajectory(q, v, tau), whole

    def _one_by_one(self, law: Feedback, push: Array) -> tuple[Trajectory, NDArray[np.bool_]]:
        """As `several`, without a batch."""
        found: list[Trajectory | None] = []
        for length in self._lengths[:, 0]:
            try:
                found.append(self.one(law, push, float(length)))
            except ConvergenceError:
                found.append(None)
        whole = np.array([one is not None for one in found])
        n = len(law.tau)
        none = Trajectory(*(np.zeros((r, a.shape[1])) for r, a in
                            ((n + 1, law.q), (n + 1, law.v), (n, law.tau))))  # fmt: skip
        rows = [none if one is None else one for one in found]
        return Trajectory(*(np.stack(parts) for parts in zip(*rows, strict=True))), whole
