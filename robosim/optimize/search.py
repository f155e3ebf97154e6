"""The iterations of iLQR [Tassa2014]."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.dynamics.dynamics import Dynamics
from robosim.errors import ConvergenceError, OptionError
from robosim.linearization.linearization import Differentiable
from robosim.optimize.backward import Pass, backward
from robosim.optimize.checks import numbers
from robosim.optimize.costs import Cost, Expansion
from robosim.optimize.derivatives import Along
from robosim.optimize.feedback import Feedback
from robosim.optimize.free import FreeCoordinates, reduced
from robosim.optimize.rollouts import Rollouts, Trajectory
from robosim.optimize.solution import Solution
from robosim.optimize.trajectory import Trajectory as Plan
from robosim.progress import Advance
from robosim.simulation import Simulation
from robosim.validation import Array

LENGTHS = 0.5 ** np.arange(8.0)  # step lengths, which are all evaluated at once
FIRST = 2  # of them, that a plan which has to be quick tries before all others
ACCEPTED = 1e-3  # of the predicted decrease
RAISED = 10.0  # factor of the regularisation, if no step length is accepted
FACTOR = 2.0  # of the factor by which the regularisation changes
LEAST, MOST = 1e-9, 1e9  # bounds of the regularisation


class Search:
    """The state of the iteration."""

    at: Trajectory

    def __init__(
        self,
        sim: Differentiable,
        cost: Cost,
        n: int,
        lower: Array,
        upper: Array,
        regularisation: float,
        tolerance: float = 1e-6,
    ) -> None:
        self.sim, self.cost, self.n = sim, cost, n
        self.lower, self.upper = lower, upper
        self.tolerance, self.regularisation = tolerance, regularisation
        self.free, self.dynamics = FreeCoordinates(sim.robot), Dynamics(sim.robot)
        self.costs: list[float] = []
        self.status = "iterations"
        self._memory: dict[float | None, tuple[Rollouts, Along]] = {}
        self._quick: dict[float | None, Rollouts] = {}

    def _memory_for(self, speed: float | None) -> tuple[Rollouts, Along]:
        """Memory for trajectories with a `contact_speed`, and for their derivatives."""
        if speed not in self._memory:
            rollouts = Rollouts(self.sim, speed, LENGTHS)
            self._memory[speed] = rollouts, Along(rollouts.single, self.n)
        self._memory[speed][0].begin(self.sim)
        return self._memory[speed]

    def law_of(self, guess: Any, contact_speed: float | None) -> Feedback:
        """A guess as torques with feedback."""
        robot, n, nu = self.sim.robot, self.n, self.sim.robot.nu
        if isinstance(guess, Solution):
            guess = guess.controller()
        if isinstance(guess, Feedback):
            if guess.robot is not robot:
                raise OptionError("the guess is of another robot")
            rows = [guess.row(self.sim.time + self.sim.timestep * k) for k in range(n)]
            parts = (guess.q[rows], guess.v[rows], guess.tau[rows], guess.K[rows])
            return self.law(*parts)
        if isinstance(guess, Plan):
            if guess.robot is not robot:
                raise OptionError("the guess is of another robot")
            guess = guess.sample(self.sim.time + self.sim.timestep * (np.arange(n) + 0.5))[2]
        if callable(guess) or isinstance(guess, str):
            sim = Rollouts(self.sim, contact_speed, LENGTHS[:1]).single
            sim.set_state(self.sim.q, self.sim.v, self.sim.time)
            tau = np.asarray(sim.run(n * sim.timestep, guess).tau)
        else:
            tau = np.zeros(nu) if guess is None else numbers("guess", guess, (nu,), (n, nu))
        q, v = np.tile(self.sim.q, (n, 1)), np.tile(self.sim.v, (n, 1))
        tau = np.clip(np.broadcast_to(tau, (n, nu)), self.lower, self.upper)
        return self.law(q, v, tau, np.zeros((n, nu, 2 * robot.nv)))

    def solve(
        self, law: Feedback, speed: float | None, iterations: int, advance: Advance
    ) -> Feedback:
        """Minimize the cost with a `contact_speed`, from an initial law; returns the final law."""
        rollouts, along = self._memory_for(speed)
        total = self._follow(rollouts, law)
        self.costs.append(total)
        self.status = "iterations"
        mu, change = self.regularisation, 1.0
        left = iterations
        try:
            A, B, expansion, takes = self._expanded(along)
        except ConvergenceError:
            if len(self.costs) == 1:
                raise  # there is no trajectory yet
            self.status = "stuck"
            return self.law(self.at.q[:-1], self.at.v[:-1], self.at.tau, law.K)
        while True:
            moved = False
            bounds = self.lower - self.at.tau, self.upper - self.at.tau
            found = backward(A, B, expansion, *bounds, mu)
            if found is not None:
                K = found.K if takes is None else found.K @ takes
                law = self.law(self.at.q[:-1], self.at.v[:-1], self.at.tau, K)
                if self._promises_nothing(found, total):
                    # A small predicted decrease may be due to regularisation, which shortens steps.
                    plain = backward(A, B, expansion, *bounds, self.regularisation)
                    least = plain is not None and self._promises_nothing(plain, total)
                    self.status = "converged" if least else "stuck"
                    break
                if left == 0:
                    break
                before = self.at, total
                moved, total = self._step(rollouts, law, found, total)
                if moved:
                    try:
                        A, B, expansion, takes = self._expanded(along)
                    except ConvergenceError:
                        # Derivatives failed at the new state; a shorter step leads to another one.
                        (self.at, total), moved = before, False
            left = max(left - 1, 0)
            self.costs.append(total)
            advance(said=f"cost {total:.6g}")
            change = min(change / FACTOR, 1 / FACTOR) if moved else max(change * FACTOR, FACTOR)
            mu = max(mu * change, LEAST)
            if mu > MOST:
                self.status = "stuck"
                break
        return law

    def improve(self, law: Feedback, speed: float | None) -> Feedback:
        """One iteration: the law about a trajectory of lower cost, or about that of the given law.

        The gains are those about the trajectory of the given law. The longest steps are tried
        first, and others only if none of these is accepted.
        """
        rollouts, along = self._memory_for(speed)
        total = self._follow(rollouts, law)
        A, B, expansion, takes = self._expanded(along)
        bounds = self.lower - self.at.tau, self.upper - self.at.tau
        K, mu = law.K, self.regularisation
        while mu < MOST:
            found = backward(A, B, expansion, *bounds, mu)
            if found is not None:
                K = found.K if takes is None else found.K @ takes
                about = self.law(self.at.q[:-1], self.at.v[:-1], self.at.tau, K)
                if self._promises_nothing(found, total):
                    break
                quick = self._quick.get(speed)
                if quick is None:
                    quick = self._quick[speed] = Rollouts(self.sim, speed, LENGTHS[:FIRST])
                quick.begin(self.sim)
                moved, total = self._step(quick, about, found, total)
                if not moved:
                    moved, total = self._step(rollouts, about, found, total)
                if moved:
                    break
            mu *= RAISED
        self.costs.append(total)
        return self.law(self.at.q[:-1], self.at.v[:-1], self.at.tau, K)

    def _follow(self, rollouts: Rollouts, law: Feedback) -> float:
        """Compute the trajectory under a law; returns its cost."""
        with _without_warnings():
            self.at = rollouts.one(law)
        return float(self._values(Trajectory(*(a[None] for a in self.at)))[0])

    def _promises_nothing(self, found: Pass, total: float) -> bool:
        return bool(found.expected(1.0) <= self.tolerance * max(abs(total), LEAST))

    def _step(
        self, rollouts: Rollouts, law: Feedback, found: Pass, total: float
    ) -> tuple[bool, float]:
        """Move by the best of some step lengths, if one decreases the cost as predicted."""
        with _without_warnings():
            tried, whole = rollouts.several(law, found.push)
        if not whole.any():
            return False, total
        lengths = rollouts.lengths[whole]
        some = Trajectory(*(a[whole] for a in tried))
        values = self._values(some)
        good = total - values > ACCEPTED * np.asarray(found.expected(lengths))
        if not good.any():
            return False, total
        best = int(np.argmin(np.where(good, values, np.inf)))
        self.at = Trajectory(*(a[best] for a in some))
        return True, float(values[best])

    def _values(self, of: Trajectory) -> Array:
        """Costs (m,) of trajectories (m, ...)."""
        each = np.asarray(self.cost.values(*of), dtype=float)
        m, n = of.tau.shape[:2]
        if each.shape != (m, n + 1):
            raise OptionError(
                f"values of the cost must have shape ({m}, {n + 1}), not {each.shape}"
            )
        _refuse_infinite("the cost", each.T)
        return np.asarray(each.sum(axis=1))

    def _expanded(self, along: Along) -> tuple[Array, Array, Expansion, Array | None]:
        """Derivatives of steps and cost by independent coordinates, and these by all of them."""
        q, v, tau = self.at
        expansion = Expansion(*(np.asarray(a, dtype=float) for a in self.cost.expand(q, v, tau)))
        nx, nu, n = 2 * v.shape[1], tau.shape[1], len(tau)
        shapes = (n + 1, nx), (n + 1, nx, nx), (n, nu), (n, nu, nu), (n, nu, nx)
        for name, array, shape in zip(Expansion._fields, expansion, shapes, strict=True):
            if array.shape != shape:
                raise OptionError(f"{name} of the cost must have shape {shape}, not {array.shape}")
            _refuse_infinite(f"{name} of the cost", array)
        given = q[:-1], v[:-1], tau, float(self.sim.time)
        steps = along(*given, None)
        if self.free.all:
            return steps.A, steps.B, expansion, None
        parts = self.free.along(q, v)
        lifts = np.array([one.lift for one in parts])
        back = np.swapaxes(lifts, 1, 2)
        expansion = expansion._replace(
            x=(back @ expansion.x[:, :, None])[:, :, 0],
            xx=back @ expansion.xx @ lifts,
            ux=expansion.ux @ lifts[:-1],
        )
        return *reduced(steps, parts), expansion, np.array([one.take for one in parts[:-1]])

    def law(self, q: Array, v: Array, tau: Array, K: Array) -> Feedback:
        """Torques with feedback about the states at the beginnings of the steps."""
        sim = self.sim
        h, begin = sim.timestep, float(sim.time)
        return Feedback(
            sim.robot, q, v, tau, K, h, begin, lower=self.lower, upper=self.upper,
            dynamics=self.dynamics,
        )  # fmt: skip


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Suppresses warnings about trial trajectories, which may be far from the solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _refuse_infinite(what: str, rows: Array) -> None:
    """Raise an OptionError for rows with values that are not finite; names the first knot."""
    bad = ~np.isfinite(rows.reshape(len(rows), -1)).all(axis=1)
    if bad.any():
        raise OptionError(f"{what} is not finite at knot {int(np.argmax(bad))} of {len(rows) - 1}")


def bounds_of(
    efforts: Array, lower: ArrayLike | None, upper: ArrayLike | None
) -> tuple[Array, Array]:
    """Checked limits of torques (nu,) and (nu,); by default those of the joints."""
    ends = []
    for name, value, known in (("lower", lower, -efforts), ("upper", upper, efforts)):
        try:
            array = np.array(known if value is None else value, dtype=float)
        except (TypeError, ValueError):
            array = np.full(1, np.nan)
        if array.shape not in ((), efforts.shape) or np.isnan(array).any():
            raise OptionError(f"{name} must be a number or {len(efforts)} of them, not {value!r}")
        ends.append(np.broadcast_to(array, efforts.shape).copy())
    if not np.all(ends[0] < ends[1]):
        raise OptionError(f"lower must be below upper, not {ends[0].tolist()}, {ends[1].tolist()}")
    return ends[0], ends[1]


def speeds_of(sim: Differentiable, given: float | Sequence[float] | None) -> Sequence[float | None]:
    """Checked values of `contact_speed`, in order; None for a simulation without contacts."""
    if not isinstance(sim, Simulation):
        if given is not None:
            raise OptionError(
                "contact_speed is for a Simulation: other formulations have no contacts"
            )
        return (None,)
    if given is None:
        given = sim.options["contact_speed"]
    speeds = numbers("contact_speed", given, (), np.shape(given)[:1]).reshape(-1)
    if len(speeds) == 0 or np.any(speeds <= 0.0) or np.any(np.diff(speeds) > 0.0):
        raise OptionError(
            f"contact_speed must be positive, and several from large to small, not {given!r}"
        )
    return [float(speed) for speed in speeds]


def check_model(sim: Differentiable) -> None:
    """Refuse simulations that iLQR does not support."""
    if not (isinstance(sim, Simulation) or hasattr(sim, "linearizer")):
        raise OptionError(
            f"iLQR takes a Simulation or a MinimalSimulation, not {type(sim).__name__}"
        )
    robot = sim.robot
    if robot.nu == 0:
        raise OptionError(
            f"robot '{robot.name}' has no actuated joint, so there are no torques to optimize"
        )
    if np.any(sim.engine.parts.loads.external["w"]):
        raise OptionError(
            "iLQR begins with a start, which removes applied wrenches: remove them before"
        )
