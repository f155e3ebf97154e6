"""Model-predictive control: repeated plans over a short horizon, from the robot's present state.

The last plan is the initial guess of the next one, so that one iteration of iLQR is enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import ConvergenceError
from robosim.formulation import Formulation
from robosim.linearization.linearization import Differentiable
from robosim.optimize.checks import check_coordinates
from robosim.optimize.costs import Cost
from robosim.optimize.feedback import LATE, Feedback
from robosim.optimize.search import Search, bounds_of, check_model, speeds_of
from robosim.validation import Array, count, positive


class Plan(NamedTuple):
    """A plan of model-predictive control.

    Attributes
    ----------
    time : float [s], at which the plan begins
    q, v : (n + 1, nq), (n + 1, nv), trajectory of the model
    law : Feedback, with a row for each of the n steps of the model
    cost : float
    """

    time: float
    q: Array
    v: Array
    law: Feedback
    cost: float


class MPC:
    """Model-predictive controller that plans at a fixed rate; for `run` and `stream`.

    Between two plans the torques are those of the last plan with its feedback, about interpolated
    states. Planning takes no simulated time; `seconds` contains the wall time of each plan.

    Parameters
    ----------
    model : Simulation or MinimalSimulation
        Model for predictions, with its own time step and contacts; it is not changed. The model's
        robot must have the coordinates of the controlled robot, and may be simpler, for example in
        its contacts.
    cost : Cost, or a function of time [s]
        Cost of the horizon; a function returns the cost of the horizon that begins at a time.
    horizon : int
        Number of steps of the model.
    period : float or None [s]
        Time between plans; None: a step of the model.
    first, iterations : int
        Largest number of iLQR iterations for the first plan, and for all others.
    guess : as for `ilqr`
        For the first plan.
    lower, upper, contact_speed, regularisation : as for `ilqr`
        A single `contact_speed`. With a larger one, plans include future contacts.

    Attributes
    ----------
    plan : Plan or None
        The last plan.
    seconds : list of float
        Wall time of each plan.
    failed : int
        Number of plans that failed; the last plan was kept.

    Raises
    ------
    OptionError
        As `ilqr`.
    """

    def __init__(
        self,
        model: Differentiable,
        cost: Cost | Callable[[float], Cost],
        horizon: int,
        *,
        period: float | None = None,
        first: int = 20,
        iterations: int = 1,
        guess: Any = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        contact_speed: float | None = None,
        regularisation: float = 1e-6,
    ) -> None:
        check_model(model)
        self.robot, self._model = model.robot, model.copy()
        self._cost_at = cost if callable(cost) else lambda t: cost
        self.period = model.timestep if period is None else positive("period", period)
        self._first, self._iterations = count("first", first), count("iterations", iterations)
        self._guess = guess
        (self._speed,) = speeds_of(model, contact_speed)
        low, high = bounds_of(self.robot.effort_limits, lower, upper)
        self._search = Search(
            self._model, self._cost_at(float(model.time)), count("horizon", horizon), low, high,
            positive("regularisation", regularisation),
        )  # fmt: skip
        self._dynamics = self._search.dynamics
        self.reset()

    def reset(self) -> None:
        """Discard the plan, and the times of plans."""
        self.plan: Plan | None = None
        self.seconds: list[float] = []
        self.failed = 0

    def __call__(self, sim: Formulation) -> Array:
        """Torques (nu,) for the present state of the controlled robot.

        Raises
        ------
        ControllerError
            If the robot's coordinates are not those of the model.
        ConvergenceError
            If the first plan cannot be made.
        """
        now, plan = float(sim.time), self.plan
        if plan is not None and now < plan.time:
            plan = None  # from an earlier run
        if plan is None:
            check_coordinates(self.robot, sim.robot)
        # A plan that failed is tried again one period later.
        if plan is None or now >= self._next - LATE * self.period:
            plan = self.plan = self._planned(plan, sim, now)
        k = plan.law.row(now)
        part = min(max((now - plan.law.begin) / plan.law.timestep - k, 0.0), 1.0)
        q, v = np.asarray(sim.q)[None], np.asarray(sim.v)[None]
        about = self._dynamics.integrate(
            plan.q[k], part * self._dynamics.difference(plan.q[k], plan.q[k + 1])
        )
        away = self._dynamics.difference(about[None], q)
        dv = v - plan.v[k] - part * (plan.v[k + 1] - plan.v[k])
        asked = plan.law.tau[k] - np.concatenate((away, dv), axis=1)[0] @ plan.law.K[k].T
        return np.asarray(np.clip(asked, plan.law.lower, plan.law.upper))

    def _planned(self, before: Plan | None, sim: Formulation, now: float) -> Plan:
        """A new plan from the robot's state, or the previous one if planning fails."""
        begin, self._next = time.perf_counter(), now + self.period
        search, model = self._search, self._model
        search.costs.clear()
        try:
            model.set_state(sim.q, sim.v, now)
            search.cost = self._cost_at(now)
            if before is None:
                law = search.law_of(self._guess, self._speed)
            else:
                law = self._shifted(before.law, now)
            for _ in range(self._first if before is None else self._iterations):
                costs = search.costs[-1:]
                law = search.improve(law, self._speed)
                if before is None and costs and search.costs[-1] >= costs[0]:
                    break
        except ConvergenceError:
            if before is None:
                raise
            self.failed += 1
            return before
        finally:
            self.seconds.append(time.perf_counter() - begin)
        return Plan(now, search.at.q, search.at.v, law, search.costs[-1])

    def _shifted(self, law: Feedback, now: float) -> Feedback:
        """The previous law from now on; after its end, torques are constant without feedback."""
        n, h = len(law.tau), law.timestep
        rows = np.array([law.row(now + h * k) for k in range(n)])
        K = law.K[rows]
        K[now + h * np.arange(n) > law.begin + h * (n - 0.5)] = 0.0
        return self._search.law(law.q[rows], law.v[rows], law.tau[rows], K)
