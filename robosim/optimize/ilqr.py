"""iLQR: trajectories of minimal cost, by exact derivatives of steps, through contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.linearization.linearization import Differentiable
from robosim.optimize.costs import Cost
from robosim.optimize.rollouts import Rollouts
from robosim.optimize.search import LENGTHS, Search, bounds_of, check_model, speeds_of
from robosim.optimize.solution import Solution
from robosim.progress import bar
from robosim.validation import count, positive


def ilqr(
    sim: Differentiable,
    cost: Cost,
    horizon: int,
    guess: Any = None,
    *,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    contact_speed: float | Sequence[float] | None = None,
    iterations: int = 100,
    tolerance: float = 1e-6,
    regularisation: float = 1e-6,
    progress: bool = False,
) -> Solution:
    """Torques of minimal cost over a horizon, from the present state of a simulation [Tassa2014].

    Each iteration linearizes all steps, solves a quadratic problem along the horizon with torque
    limits, and evaluates eight step lengths at once in a batch.

    Parameters
    ----------
    sim : Simulation, or a MinimalSimulation, whose step lengths are tried one by one
        Is not changed. The trajectory begins with a start at its q, v and time.
    cost : Cost
        For example a `QuadraticCost`.
    horizon : int
        Number of steps.
    guess : (nu,), (horizon, nu), Solution, Trajectory, Feedback, or a controller of `run`, or None
        Initial torques; zero if None. A Solution or Feedback includes its feedback.
    lower, upper : (nu,) or float, or None [N m or N]
        None for ``robot.effort_limits``.
    contact_speed : float, or sequence of floats [m/s], or None
        Smoothing of contacts; None for that of the simulation. With several values, the problem is
        solved with each, from large to small, warm-started with the last solution. With large
        values, gradients include contacts before they close or open. If the derivatives of a step
        cannot be computed, those with ten times as smooth contacts are used.
    iterations : int
        Largest number of iterations, for each contact_speed.
    tolerance : float
        Relative to the cost: steps with a smaller expected decrease are not taken.
    regularisation : float
        Initial value; added to the second derivatives of the cost with respect to torques.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    Solution
        Check its `status`.

    Raises
    ------
    OptionError
        For wrong shapes or invalid parameters. For a cost, or derivatives of it, that are not
        finite, with the step. For a simulation with applied wrenches, or unsupported elements.
    ConvergenceError
        If a step of the guess, or its derivatives, cannot be computed.
    """
    check_model(sim)
    robot = sim.robot
    n, iterations = count("horizon", horizon), count("iterations", iterations)
    regularisation = positive("regularisation", regularisation)
    tolerance = positive("tolerance", tolerance)
    low, high = bounds_of(robot.effort_limits, lower, upper)
    speeds = speeds_of(sim, contact_speed)
    search = Search(sim, cost, n, low, high, regularisation, tolerance)
    law = search.law_of(guess, speeds[0])
    with bar("iterations", iterations * len(speeds), progress) as advance:
        for speed in speeds:
            law = search.solve(law, speed, iterations, advance)
    at = Rollouts(sim, speeds[-1], LENGTHS[:1]).one(law)  # issues warnings
    t = np.asarray(sim.time + sim.timestep * np.arange(n + 1), dtype=float)
    return Solution(
        robot, search.status, t, at.q, at.v, at.tau, law.K, search.costs[-1],
        tuple(search.costs), speeds[-1], low, high, sim.timestep,
    )  # fmt: skip
