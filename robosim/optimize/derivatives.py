"""Derivatives of all time steps of a trajectory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.batch import BatchSimulation
from robosim.errors import ConvergenceError
from robosim.linearization.linearization import (
    Differentiable,
    linearize,
    linearize_each,
    smoothed,
)
from robosim.linearization.linearizer import Linearization
from robosim.simulation import Simulation
from robosim.validation import Array

MOST = 64  # states of a batch, each of which has memory for derivatives


class Steps(NamedTuple):
    """Results and derivatives of n steps: final states, and A and B as in `Linearization`."""

    q: Array
    v: Array
    A: Array
    B: Array


class Along:
    """Memory for the derivatives of trajectories; a call differentiates dozens of steps at once.

    Parameters
    ----------
    sim : Simulation, or another one that `linearize` supports, step by step
    steps : int
        Number of steps of the longest trajectory.
    """

    def __init__(self, sim: Differentiable, steps: int) -> None:
        self._sim = sim
        n = min(steps, MOST)
        self._batch: BatchSimulation | None = None
        if isinstance(sim, Simulation) and n > 1:
            self._batch = BatchSimulation(sim.robot, n, **{**sim.options, "lanes": False})

    def __call__(
        self, q: Array, v: Array, tau: Array, begin: float, contact_speed: float | None
    ) -> Steps:
        """Derivatives of steps from states (n, nq), (n, nv) at `begin` [s], with torques (n, nu).

        If derivatives of a step cannot be computed, those with contacts smoother by the factor
        `SMOOTHER` are used.
        """
        times = begin + self._sim.timestep * np.arange(len(q))
        found: list[Steps] = []
        if self._batch is None:
            for state in zip(q, v, times, tau, strict=True):
                self._sim.set_state(*state[:3])
                found.append(_steps(linearize(self._sim, state[3], contact_speed=contact_speed)))
            return _joined(found)
        batch = self._batch
        for first in range(0, len(q), len(batch)):
            # The last batch is filled up with copies of the last state.
            rows = np.minimum(first + np.arange(len(batch)), len(q) - 1)
            for i, k in enumerate(rows):
                batch.set_state(q[k], v[k], float(times[k]), index=i)
            n = min(len(batch), len(q) - first)
            some = linearize_each(batch, tau[rows], contact_speed)[:n]
            found += [
                _smoother(batch[i], tau[first + i], contact_speed, one.of_state(first + i))
                if isinstance(one, ConvergenceError)
                else _steps(one)
                for i, one in enumerate(some)
            ]
        return _joined(found)


def _smoother(
    sim: Simulation, tau: Array, contact_speed: float | None, error: ConvergenceError
) -> Steps:
    """The result of a step whose derivatives failed, with derivatives of smoother contacts."""
    speed = sim.options["contact_speed"] if contact_speed is None else contact_speed
    smooth = smoothed(lambda larger: linearize_each((sim,), tau, larger)[0], speed, error)
    plain = sim.copy()
    plain.step(tau)
    return Steps(plain.q[None], plain.v[None], smooth.A[None], smooth.B[None])


def _steps(one: Linearization) -> Steps:
    return Steps(one.q[None], one.v[None], one.A[None], one.B[None])


def _joined(found: list[Steps]) -> Steps:
    return Steps(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def along(
    sim: Differentiable, q: Array, v: Array, tau: Array, begin: float, contact_speed: float | None
) -> Steps:
    """Derivatives along a trajectory, with temporary memory; see `Along`."""
    return Along(sim, len(q))(q, v, tau, begin, contact_speed)
