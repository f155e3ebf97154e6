"""Contact-implicit predictive control: plans through contacts that are not scheduled [Kurtz2023].

Each plan is a sequence of configurations (`robosim.optimize.configurations`), and begins with the
last one, shifted by the time that has passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, OptionError
from robosim.formulation import Formulation
from robosim.optimize.checks import check_coordinates, numbers
from robosim.optimize.configurations import (
    FRESH,
    Configurations,
    ContactCost,
    Sequence,
    Weights,
)
from robosim.optimize.feedback import LATE
from robosim.optimize.search import bounds_of
from robosim.optimize.soft_contacts import SoftContacts
from robosim.validation import Array, count, positive

# Bounds of the cost of a guess, over that of the plan, after no, one, and two iterations. Of the
# guesses of an A1 before a step that took the place of a plan, 95 % were below.
PROMISING = 23.0, 7.0, 2.7


class PlanTimes(NamedTuple):
    """Statistics of the wall times of plans after the first [s], and of their iterations.

    Attributes
    ----------
    plans : int
    median, quantile_95, longest : float [s]
    late : int
        Plans that took longer than the period.
    iterations : float
        Mean number of iterations of a plan.
    first : float [s]
    """

    plans: int
    median: float
    quantile_95: float
    longest: float
    late: int
    iterations: float
    first: float


@dataclass(frozen=True)
class Exploration:
    """Guesses in which a contact point steps at once, beside the last plan.

    A plan takes the place of the last one if its cost is lower. Points take turns. Guesses whose
    cost is far above that of the plan are given up early.

    Attributes
    ----------
    tries : int, number of guesses for each plan after the first
    iterations : int, of each guess
    swing : float [s], until the point lands
    clearance : float [m], above all ground on the way
    spread : float [m]
        Standard deviation of the landing place from the nearest level place to the target's.
    edge : float [m], least distance of the landing place from edges
    """

    tries: int = 0
    iterations: int = 2
    swing: float = 0.24
    clearance: float = 0.02
    spread: float = 0.03
    edge: float = 0.04

    def __post_init__(self) -> None:
        if self.tries < 0 or self.spread < 0.0:
            raise OptionError(f"tries and spread must be zero or more, not {self}")
        count("iterations", self.iterations)
        positive("swing", self.swing)
        positive("clearance", self.clearance)
        positive("edge", self.edge)


class ContactMPC:
    """Predictive controller whose plans make and break contacts freely; for `run` and `stream`.

    Plans are sequences of configurations that minimize a `ContactCost`, with contacts that act from
    a distance. Between two plans the torques are those of the last plan, with a PD about its
    interpolated joint positions. Planning takes no simulated time; `times` has its wall times.

    Parameters
    ----------
    robot : Mechanism
        Whose coordinates and masses are those of the controlled robot. A tree of revolute,
        prismatic and floating joints.
    cost : ContactCost, or a function of a simulation
        A function is called before each plan, with the controlled simulation.
    steps : int, number of steps of a plan
    timestep : float [s]
        Of the plan.
    contacts : SoftContacts
    period : float [s]
        Time between plans.
    budget : float or None [s]
        Wall time of a plan: no iteration begins that would probably end later. None: no limit.
    first, iterations : int
        Largest number of iterations for the first plan, and for all others.
    kp, kd : float or (nu,) [N m/rad, N m s/rad; N/m, N s/m]
        Gains of the feedback.
    lower, upper : (nu,) or float, or None [N m or N]
        None for ``robot.effort_limits``.

    exploration : Exploration or None
        None: no guesses but the last plan.

    Attributes
    ----------
    plan : Sequence or None
        The last plan, whose first configuration is that at the time `begin` [s].
    seconds : list of float
        Wall time of each plan.
    taken : list of int
        Iterations of each plan, without those of other guesses.
    explored : int
        Number of plans that began with another guess than the last plan.

    Raises
    ------
    OptionError
        For a robot with other joints or without the contacts, or wrong shapes or parameters.
    """

    def __init__(
        self,
        robot: Mechanism,
        cost: ContactCost | Callable[[Formulation], ContactCost],
        steps: int = 20,
        timestep: float = 0.04,
        contacts: SoftContacts | None = None,
        *,
        period: float = 0.02,
        budget: float | None = None,
        first: int = 50,
        iterations: int = 3,
        kp: ArrayLike = 40.0,
        kd: ArrayLike = 1.0,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        exploration: Exploration | None = None,
    ) -> None:
        self.robot = robot
        self.period, self.budget = positive("period", period), budget
        if budget is not None:
            positive("budget", budget)
        self._first, self._iterations = count("first", first), count("iterations", iterations)
        self.program = Configurations(
            robot, count("steps", steps), positive("timestep", timestep),
            SoftContacts() if contacts is None else contacts,
        )  # fmt: skip
        self._cost, self._weights = cost, None if callable(cost) else self.program.weights(cost)
        self._kp, self._kd = (
            np.broadcast_to(numbers(name, value, (), (robot.nu,)), (robot.nu,))
            for name, value in (("kp", kp), ("kd", kd))
        )
        self._lower, self._upper = bounds_of(robot.effort_limits, lower, upper)
        self._spots = np.array([robot.q_names.index(name) for name in robot.actuated_names])
        self.exploration = Exploration() if exploration is None else exploration
        self.reset()

    def reset(self) -> None:
        """Discard the plan, and the times of plans."""
        self.plan: Sequence | None = None
        self.begin = 0.0
        self.seconds: list[float] = []
        self.taken: list[int] = []
        self._each = 0.0  # wall time of an iteration
        self.explored = 0
        self._random, self._turn = np.random.default_rng(0), 0

    @property
    def times(self) -> PlanTimes:
        """Statistics of the plans since the last reset.

        Raises
        ------
        ControllerError
            If there are fewer than two plans.
        """
        if len(self.seconds) < 2:
            raise ControllerError("there are no times of plans yet: run the controller")
        later = np.array(self.seconds[1:])
        return PlanTimes(
            len(self.seconds), float(np.median(later)), float(np.quantile(later, 0.95)),
            float(later.max()), int(np.sum(later > self.period)), float(np.mean(self.taken[1:])),
            self.seconds[0],
        )  # fmt: skip

    def __call__(self, sim: Formulation) -> Array:
        """Torques (nu,) for the present state of the controlled robot.

        Raises
        ------
        ControllerError
            If the robot's coordinates are not those of the controller's robot.
        """
        now = float(sim.time)
        if self.plan is None or now < self.begin:
            check_coordinates(self.robot, sim.robot)
            self.plan = None
        if self.plan is None or now >= self._next - LATE * self.period:
            self._make(sim, now)
        assert self.plan is not None
        q, v, tau = self._at(now)
        motors = self.program.motors
        error = q[self._spots] - np.asarray(sim.q)[self._spots]
        slow = v[motors] - np.asarray(sim.v)[motors]
        asked = tau[motors] + self._kp * error + self._kd * slow
        return np.asarray(np.clip(asked, self._lower, self._upper))

    def _make(self, sim: Formulation, now: float) -> None:
        """A new plan from the present state."""
        start, self._next = time.perf_counter(), now + self.period
        q0, v0 = np.array(sim.q, dtype=float), np.array(sim.v, dtype=float)
        weights = self._weights_at(sim)
        program, n = self.program, self.program.n
        guess = np.tile(q0, (n + 1, 1))
        most = self._first
        if self.plan is not None:
            most = self._iterations
            ahead = now + program.h * np.arange(1.0, n + 1.0)
            guess[1:] = [self._at(t)[0] for t in ahead]
        at = program.follow(guess, v0, weights)
        taken = 0
        while taken < most:
            begin = time.perf_counter()
            if taken and self.plan is not None and self._is_late(start):
                break
            before = at.cost
            at, moved = program.improve(at, weights)
            taken += 1
            self._each = time.perf_counter() - begin
            if not moved or before - at.cost < 1e-4 * before:
                break
        if self.plan is not None:
            at = self._explored(at, weights, start)
        self.plan, self.begin = at, now
        self.taken.append(taken)
        self.seconds.append(time.perf_counter() - start)

    def _explored(self, at: Sequence, weights: Weights, start: float) -> Sequence:
        """The plan, or a better one in which a contact point makes a step at once."""
        program, how = self.program, self.exploration
        kept, steps = program.regularisation, max(round(how.swing / program.h), 1)
        for _ in range(how.tries):
            point = self._turn % program.points
            self._turn += 1
            aside = how.spread * self._random.normal(size=2)
            guess = program.with_step(at.q, weights, point, steps, aside, how.clearance, how.edge)
            other = program.follow(guess, at.v[0], weights)
            program.regularisation = FRESH
            for done in range(how.iterations):
                bound = PROMISING[min(done, len(PROMISING) - 1)]
                if self._is_late(start) or other.cost > bound * at.cost:
                    break
                other, moved = program.improve(other, weights)
                if not moved:
                    break
            if other.cost < at.cost:
                at = other
                self.explored += 1
        program.regularisation = kept
        return at

    def _is_late(self, start: float) -> bool:
        """Whether another iteration would probably end after the budget."""
        return self.budget is not None and time.perf_counter() + self._each - start > self.budget

    def _weights_at(self, sim: Formulation) -> Weights:
        if self._weights is not None:
            return self._weights
        assert callable(self._cost)
        return self.program.weights(self._cost(sim))

    def _at(self, t: float) -> tuple[Array, Array, Array]:
        """Coordinates, velocities and forces of the plan at a time; the last ones after its end."""
        plan, program = self.plan, self.program
        assert plan is not None
        s = min(max((t - self.begin) / program.h, 0.0), float(program.n))
        k = min(int(s), program.n - 1)
        part = s - k
        step = part * program.h * plan.v[k + 1]
        return (
            program.dynamics.integrate(plan.q[k], step),
            (1.0 - part) * plan.v[k] + part * plan.v[k + 1],
            plan.tau[k],
        )
