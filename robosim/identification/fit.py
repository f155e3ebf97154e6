"""Gauss-Newton's method on windows of logs, with the windows' starts as further unknowns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robosim.control.controllers import PD
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError, OptionError
from robosim.identification.identified import Identified
from robosim.identification.unknowns import Meaning, Unknowns
from robosim.identification.windows import Model, windows_of
from robosim.log import Log
from robosim.progress import bar
from robosim.validation import Array, count

LEAST_NOISE = 1e-9  # of the range of a column
UNKNOWN = 0.5  # relative standard deviation from which on a quantity is undetermined
LOST = 1e-12  # of the largest eigenvalue of the information; smaller ones are rounding errors
TOLERANCE = 1e-4  # of the cost; a change by a hundredth of a standard deviation is half of it
MOST = 1e6  # of the damping
SMALL = 1e-2  # of the damping; above, a small predicted decrease may be due to a short step
SHARE = 0.3  # component from which on a quantity is listed in a direction


class Equations(NamedTuple):
    """Normal equations of all windows, with the starts eliminated."""

    H: Array  # (k, k)
    g: Array  # (k,)
    starts: list[tuple[Array, Array, Array]]  # of each window: H (2 nv, 2 nv), H (2 nv, k), g


def identify(
    robot: Mechanism,
    logs: Log | Sequence[Log],
    parameters: Sequence[str],
    *,
    controller: PD | None = None,
    window: float = 0.2,
    iterations: int = 50,
    progress: bool = False,
    **options: Any,
) -> Identified:
    """Parameters with which simulations are nearest to logs, by Gauss-Newton's method.

    Logs are cut into windows. The start of each window is estimated together with the parameters.
    So measured starts may have noise, and errors do not grow over the whole log. Squares of errors
    are weighted by the noise of their column, which is estimated from the residuals.

    Parameters
    ----------
    robot : Mechanism
        Robot with the initial values.
    logs : Log, or a sequence of them
        Logs with q, v and torques constant over each step; one sample per step.
    parameters : names
        Names in `robosim.derivatives.PARAMETERS`. Or "inertial:BODY", the mass, centre and inertia
        of a body, which stay physical. Or "kp:JOINT" and "kd:JOINT" of the controller, or "delay",
        the delay of logged torques.
    controller : PD or None
        Controller of the simulations, instead of the logged torques; its time is relative to the
        start of each log.
    window : float [s]
        Approximate length of a window; short for motions with contacts, or chaotic ones.
    iterations : int
        Largest number of iterations.
    progress : bool
        Whether to show a progress bar on stderr.
    **options
        Options of the simulations, as for `BatchSimulation`. With hard contacts, errors may be
        discontinuous; a `contact_speed` of 1e-3 m/s or more makes contacts smoother.

    Raises
    ------
    OptionError
        For unknown or conflicting parameters, and other invalid input.
    LogError
        For logs of another robot, or logs that are too short.
    ConvergenceError
        If a window cannot be simulated with the initial values.
    """
    given = [logs] if isinstance(logs, Log) else list(logs)
    if not given or not all(isinstance(log, Log) for log in given):
        raise OptionError("identify takes a Log, or a sequence of them")
    if not isinstance(robot, Mechanism):
        raise OptionError(f"robot must be a Mechanism, not {type(robot).__name__}")
    if not (controller is None or isinstance(controller, PD)):
        raise OptionError(f"controller must be a PD or None, not {type(controller).__name__}")
    windows = windows_of(robot, given, window)
    timestep = given[0].timestep
    unknowns = Unknowns(robot, parameters, controller, timestep)
    model = Model(unknowns, windows, timestep, options)
    fit = _Fit(model, count("iterations", iterations))
    with bar("iterations", iterations, progress) as advance:
        fit.run(advance)
    notes = [*fit.notes]
    if windows.left:
        notes.append(
            f"{windows.left} samples at the ends of logs are not used, as they fill no window"
        )
    return fit.told(tuple(notes))


class _Fit:
    """The state of the iteration."""

    def __init__(self, model: Model, iterations: int) -> None:
        self._model, self._iterations = model, iterations
        self._x = model.unknowns.start.copy()
        n, _, nv = model.windows.v.shape
        self._starts = np.zeros((n, 2 * nv))
        self._meaning, errors = model.errors(self._x, self._starts)
        if errors is None:
            raise next(iter(model.run.tape.failures.values()))
        self._errors = errors
        self._floor = self._least_noise()
        self.status, self.costs = "iterations", [self._cost(errors)]
        self._equations: Equations

    def run(self, advance: Any) -> None:
        """Iterate; the noise is estimated from the last errors."""
        damping, self.status = 1e-4, "iterations"
        total = self.costs[0]
        for _ in range(self._iterations):
            equations = self._found()
            while True:
                step, starts, promised = self._step(equations, damping)
                if promised <= TOLERANCE and damping <= SMALL:
                    self.status = "converged"
                    break
                x, places = self._x + step, self._starts + starts
                meaning, errors = self._tried(x, places)
                cost = np.inf if errors is None else self._cost(errors)
                if cost < total or damping > MOST:
                    break
                damping *= 10.0
            if self.status == "converged" or damping > MOST:
                break
            assert errors is not None
            self._x, self._starts, self._meaning, self._errors = x, places, meaning, errors
            total, damping = cost, max(damping * 0.1, 1e-9)
            self.costs.append(total)
            advance(said=f"cost {total:.6g}")
        if damping > MOST:
            # Rounding errors, or contacts, make the cost increase with each step.
            self.status = "converged" if promised < 1.0 else "stuck"
        self._tried(self._x, self._starts)
        self._equations = self._found()

    def _tried(self, x: Array, starts: Array) -> tuple[Meaning, Array | None]:
        try:
            return self._model.errors(x, starts)
        except (ConvergenceError, OptionError, ValueError):
            return self._meaning, None  # a robot that is not possible, or cannot be simulated

    def _cost(self, errors: Array) -> float:
        """Negative log-likelihood up to a constant, with the most likely noise."""
        return float(errors.shape[0] * errors.shape[1] * np.log(self._noise_of(errors)).sum())

    def _least_noise(self) -> Array:
        v, q = self._model.windows.v, self._errors
        spread = np.concatenate((np.ptp(q, axis=(0, 1))[: v.shape[2]], np.ptp(v, axis=(0, 1))))
        return np.asarray(LEAST_NOISE * np.maximum(spread, 1.0))

    def _noise_of(self, errors: Array) -> Array:
        n, knots, _ = errors.shape
        # Each start has as many unknowns as a knot has measurements.
        left = max(n * (knots - 1), 1)
        return np.asarray(np.maximum(np.sqrt((errors**2).sum(axis=(0, 1)) / left), self._floor))

    def _found(self) -> Equations:
        """Normal equations at the last errors."""
        self.noise = self._noise_of(self._errors)
        slopes, self.notes = self._model.slopes(self._meaning)
        slopes, errors = slopes / self.noise[:, None], self._errors / self.noise
        base, starts = errors.shape[2], []
        k = slopes.shape[3] - base
        H, g = np.zeros((k, k)), np.zeros(k)
        for J, r in zip(slopes, errors, strict=True):
            J, r = J.reshape(-1, base + k), r.reshape(-1)
            whole, right = J.T @ J, J.T @ r
            starts.append((whole[:base, :base], whole[:base, base:], right[:base]))
            H += whole[base:, base:]
            g += right[base:]
        return Equations(H, g, starts)

    def _step(self, equations: Equations, damping: float) -> tuple[Array, Array, float]:
        """Changes of the unknowns and of the starts, and the predicted decrease of the cost."""
        H, g = equations.H.copy(), equations.g.copy()
        H += damping * np.diag(np.maximum(np.diag(H), LOST * np.diag(H).max(initial=1.0)))
        parts = []
        for own, across, right in equations.starts:
            damped = own + damping * np.diag(np.diag(own))
            solved = np.linalg.solve(damped, np.column_stack((across, right)))
            H -= across.T @ solved[:, :-1]
            g -= across.T @ solved[:, -1]
            parts.append(solved)
        step = -np.linalg.lstsq(H, g, rcond=LOST)[0]
        starts = np.array([-one[:, -1] - one[:, :-1] @ step for one in parts])
        promised = -0.5 * float(equations.g @ step)
        promised -= 0.5 * sum(
            float(right @ change)
            for (_, _, right), change in zip(equations.starts, starts, strict=True)
        )
        return np.asarray(step), starts, promised

    def told(self, notes: tuple[str, ...]) -> Identified:
        """The result, with uncertainties from the information in the logs."""
        meaning, unknowns = self._meaning, self._model.unknowns
        information = self._equations.H.copy()
        for own, across, _ in self._equations.starts:
            information -= across.T @ np.linalg.solve(own, across)
        sizes, by = unknowns.sizes, meaning.by
        # Unknowns are scaled so that they change quantities by their size.
        scale = 1.0 / np.maximum(np.abs(by / sizes[:, None]).max(axis=0), 1e-300)
        values, vectors = np.linalg.eigh(scale[:, None] * information * scale)
        lost = values < LOST * max(values.max(initial=0.0), 0.0)
        weak = lost | (values < UNKNOWN**-2)
        inverse = np.where(lost, 0.0, 1.0 / np.where(lost, 1.0, values))
        half = by @ (scale[:, None] * vectors)
        covariance = (half * inverse) @ half.T
        deviations = np.sqrt(np.diag(covariance))
        touched = np.abs(half[:, lost]).max(axis=1, initial=0.0) > 1e-6 * sizes
        deviations = np.where(touched, np.inf, deviations)
        # Names of the unknowns; the inertia of a body has ten.
        columns = [
            f"{name}[{i}]" if name.startswith("inertial:") else name
            for name in unknowns.names
            for i in range(10 if name.startswith("inertial:") else 1)
        ]
        directions = tuple(
            {columns[i]: float(vector[i]) for i in np.flatnonzero(np.abs(vector) > SHARE)}
            for vector in vectors[:, weak].T
        )
        named = dict(zip(meaning.names, deviations.tolist(), strict=True))
        return Identified(
            meaning.robot,
            meaning.controller,
            meaning.delay,
            dict(zip(meaning.names, meaning.values.tolist(), strict=True)),
            named,
            covariance,
            tuple(
                name
                for name, deviation, size in zip(meaning.names, deviations, sizes, strict=True)
                if not deviation < UNKNOWN * size
            ),
            directions,
            self.noise,
            self.status,
            tuple(self.costs),
            notes,
        )
