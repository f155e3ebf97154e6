"""Runs of robosim with samples, timings, and quantities computed from samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import ConvergenceError
from robosim.formulation import Formulation
from robosim.linearization.linearizer import Tangent

Array = NDArray[np.float64]
T = TypeVar("T")


class Samples(NamedTuple):
    """Samples of a run of robosim.

    Attributes
    ----------
    t : (n,) [s]
    values : list of arrays
        Values of each function, (n, ...).
    violation : float [m]
        Largest violation of a joint, over all steps.
    gap : float [m]
        Smallest gap of a contact, over all steps; inf without contacts.
    iterations : float
        Mean number of Newton iterations per step.
    divided : int
        Number of steps that were divided into substeps.
    failure : str
        Reason for an early end of the run, or empty.
    """

    t: Array
    values: list[NDArray[Any]]
    violation: float
    gap: float
    iterations: float
    divided: int
    failure: str


def sample(sim: Formulation, seconds: float, every: int, *reads: Callable[[], Any]) -> Samples:
    """Run a simulation for some time [s], and sample functions at the start and each `every` steps.

    If a step cannot be solved, the run ends, and `failure` is the error's message.
    """
    t, values = [sim.time], [[read() for read in reads]]
    violation, gap, iterations, divided, failure = 0.0, np.inf, 0, 0, ""
    try:
        for chunk in sim.stream(seconds, chunk_steps=every):
            violation = max(violation, float(chunk.violation.max()))
            gap = min(gap, float(chunk.gap.min()))
            iterations += int(chunk.iterations.sum())
            divided += int((chunk.substeps > 1).sum())
            t.append(sim.time)
            values.append([read() for read in reads])
    except ConvergenceError as error:
        failure = str(error)
    columns = [np.array(column) for column in zip(*values, strict=True)]
    return Samples(
        np.array(t), columns, violation, gap, iterations / max(sim.steps, 1), divided, failure
    )


def stepper(sim: Formulation, steps: int) -> Callable[[], bool]:
    """A function that takes some steps, and returns whether all could be solved."""

    def take() -> bool:
        try:
            for _ in sim.stream(steps * sim.timestep, chunk_steps=steps):
                pass
        except ConvergenceError:
            return False
        return True

    return take


def shortest_us(runs: Sequence[Callable[[], bool]], steps: int, rounds: int) -> list[float]:
    """Shortest CPU time of a step [us] of each run; NaN for a run that returns False.

    The shortest time is used, as in [Bruedigam2023, Sec. 5.2], because other load of the machine
    only adds to it. In each round all runs take `steps` steps in turn, so that such load affects
    all runs equally.
    """
    best = [float("inf")] * len(runs)
    for _ in range(rounds):
        for k, run in enumerate(runs):
            seconds, fine = cpu_time(run)
            best[k] = min(best[k], seconds) if fine else float("nan")
    return [seconds / steps * 1e6 for seconds in best]


def cpu_time(run: Callable[[], T]) -> tuple[float, T]:
    """CPU time [s] of this thread during a call, and the call's result."""
    start = time.thread_time()
    result = run()
    return time.thread_time() - start, result


def integrated(
    robot: Mechanism,
    accelerations: Callable[[Array, Array], Array],
    q: Array,
    v: Array,
    times: Sequence[float] | Array,
    tolerance: float = 1e-13,
) -> Array:
    """Rows (q, v) at times [s] from 0 on, by DOP853, a Runge-Kutta method of order eight."""
    tangent, nq = Tangent(robot), robot.nq

    def rate(t: float, y: Array) -> Array:
        return np.concatenate((tangent.rates(y[:nq]) @ y[nq:], accelerations(y[:nq], y[nq:])))

    start, end = np.concatenate((q, v)), times[-1]
    found = solve_ivp(rate, (0.0, end), start, "DOP853", times, rtol=tolerance, atol=tolerance)
    return np.asarray(found.y.T)


def free_accelerations(robot: Mechanism) -> Callable[[Array, Array], Array]:
    """Accelerations (nv,) of `Dynamics` as a function of q and v, without torques."""
    dynamics, none = Dynamics(robot), np.zeros(robot.nv)
    return lambda q, v: np.asarray(dynamics.forward_acceleration(q, v, none))


def trend(t: ArrayLike, error: ArrayLike) -> float:
    """Change of a straight line fitted to the samples, over the run, in the error's unit."""
    t = np.asarray(t, dtype=float)
    return float(np.polyfit(t - t[0], np.asarray(error), 1)[0] * (t[-1] - t[0]))


def exponent(x: ArrayLike, y: ArrayLike) -> float:
    """Exponent p of the power law y ~ x^p, fitted by least squares of the logarithms."""
    return float(np.polyfit(np.log(np.asarray(x)), np.log(np.asarray(y)), 1)[0])


def largest(values: ArrayLike) -> float:
    """Largest absolute value; NaN if one of the values is NaN."""
    return float(np.max(np.abs(np.asarray(values, dtype=float))))


def residuals_by_iteration(
    made: Callable[[int], Formulation], start: tuple[Array, Array], most: int, floor: float
) -> list[float]:
    """Residuals of the first step after k iterations, for k = 1 to `most`.

    ``made(k)`` makes a simulation with at most k iterations. The list ends with the first residual
    below the floor.
    """
    found: list[float] = []
    for count in range(1, most + 1):
        sim = made(count)
        sim.set_state(*start)
        try:
            found.append(sim.step().residual)
        except ConvergenceError as error:
            found.append(error.residual)
        if found[-1] < floor:
            break
    return found
