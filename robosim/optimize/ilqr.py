"""iLQR: trajectories of least cost by exact derivatives of steps, through contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.optimize.checks import positive
from robosim.optimize.costs import Cost
from robosim.optimize.rollouts import Rollouts
from robosim.optimize.search import LENGTHS, Search, bounds_of, check_model, speeds_of
from robosim.optimize.solution import Solution
from robosim.progress import bar
from robosim.validation import count


def ilqr(
    sim: Any,
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
    """Torques of the least cost over a horizon, from where a simulation is [Tassa2014].

    Each iteration differentiates all steps, solves the problem to second order along the horizon,
    with limits of torques, and tries eight step lengths at once in a batch.

    Parameters
    ----------
    sim : Simulation, or a MinimalSimulation, whose step lengths are tried one by one
        Stays as it is. The trajectory is one from a start at its q, v and time.
    cost : Cost
        As `QuadraticCost`.
    horizon : int
        Steps.
    guess : (nu,), (horizon, nu), Solution, Trajectory, Feedback, or a controller of `run`, or None
        Torques to begin with; none if None. Of a Solution or Feedback with its feedback.
    lower, upper : (nu,) or float, or None [N m or N]
        None for ``robot.effort_limits``.
    contact_speed : float, or sequence of floats [m/s], or None
        With several the problem is solved with each, from large to small, and each begins where
        the last one has ended. Large ones let the search feel contacts before they are made and
        broken. None for that of the simulation. A step that has no derivatives takes those of
        ten times as smooth contacts.
    iterations : int
        At most, with each contact_speed.
    tolerance : float
        By the size of the cost: steps that promise less are not taken.
    regularisation : float
        To begin with; added to second derivatives of the cost by torques.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    Solution
        Look at its `status`.

    Raises
    ------
    OptionError
        For wrong shapes, parameters that are none, a cost or derivatives of it that are not finite
        (with the step), a simulation under applied wrenches or with what ilqr does not take.
    ConvergenceError
        If a step of the guess cannot be solved, or not with its derivatives: no trajectory is
        there to begin with.
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
    at = Rollouts(sim, speeds[-1], LENGTHS[:1]).one(law)  # with the warnings that it deserves
    t = np.asarray(sim.time + sim.timestep * np.arange(n + 1), dtype=float)
    return Solution(
        robot, search.status, t, at.q, at.v, at.tau, law.K, search.costs[-1],
        tuple(search.costs), speeds[-1], low, high, sim.timestep,
    )  # fmt: skip
