"""Derivatives of all time steps of a trajectory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robosim.errors import ConvergenceError
from robosim.linearization.linearization import (
    Differentiable,
    linearize,
    linearize_each,
    linearize_rows,
    smoothed,
)
from robosim.linearization.linearizer import Linearization
from robosim.runtime.background import cores
from robosim.simulation import Simulation
from robosim.validation import Array

MOST = 64  # states at once, each of which has memory for derivatives


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
        # Threads are woken for long trajectories only.
        self._threads = cores() if steps >= MOST else 1

    def __call__(
        self, q: Array, v: Array, tau: Array, begin: float, contact_speed: float | None
    ) -> Steps:
        """Derivatives of steps from states (n, nq), (n, nv) at `begin` [s], with torques (n, nu).

        If derivatives of a step cannot be computed, those with contacts smoother by the factor
        `SMOOTHER` are used.
        """
        times = np.asarray(begin + self._sim.timestep * np.arange(len(q)), dtype=float)
        found: list[Steps] = []
        sim = self._sim
        if not isinstance(sim, Simulation):
            for state in zip(q, v, times, tau, strict=True):
                sim.set_state(*state[:3])
                found.append(_steps(linearize(sim, state[3], contact_speed=contact_speed)))
            return _joined(found)
        for first in range(0, len(q), MOST):
            rows = slice(first, first + MOST)
            some = linearize_rows(
                sim, q[rows], v[rows], tau[rows], times[rows], contact_speed, self._threads
            )
            for k, one in enumerate(some, first):
                if isinstance(one, ConvergenceError):
                    alone = sim.copy()
                    alone.set_state(q[k], v[k], float(times[k]))
                    found.append(_smoother(alone, tau[k], contact_speed, one.of_state(k)))
                else:
                    found.append(_steps(one))
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
