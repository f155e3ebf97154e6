"""Statistics of a run, computed during the run in constant memory."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from robosim.log.columns import Chunk, effort_units
from robosim.log.falls import Falls, Standing


class StatisticsSource(Standing, Protocol):
    """What statistics ask a `Simulation` for, beside what tells of falls."""

    @property
    def timestep(self) -> float: ...
    @property
    def order(self) -> int: ...
    @property
    def fourth_order_steps(self) -> int: ...
    @property
    def time(self) -> float: ...
    def energy(self) -> float: ...


class RunStatistics:
    """Sums and extremes over the chunks of a run.

    Parameters
    ----------
    sim : Simulation
        The simulation before its first step; its present energy is the run's initial energy.
    """

    def __init__(self, sim: StatisticsSource) -> None:
        self.steps = 0
        self.wall_seconds = 0.0
        self._sim = sim
        self._start = float(sim.time)
        self._energy_initial = float(sim.energy())
        self._iterations = 0
        self._iterations_max = 0
        self._divided = 0
        self._substeps = 0
        self._violation = 0.0
        self._gap = math.inf
        self._limits = sim.robot.effort_limits
        self._efforts = np.zeros(sim.robot.nu)
        self._beyond = 0
        self._falls = Falls(sim)

    def add(self, chunk: Chunk, wall_seconds: float) -> None:
        """Add a chunk, which took `wall_seconds` [s] to simulate."""
        self.wall_seconds += wall_seconds
        if len(chunk.t) == 0:
            return
        divided = chunk.substeps > 1
        self.steps += len(chunk.t)
        self._falls.add(chunk)
        self._iterations += int(np.sum(chunk.iterations))
        self._iterations_max = max(self._iterations_max, int(np.max(chunk.iterations)))
        self._divided += int(np.count_nonzero(divided))
        self._substeps += int(np.sum(chunk.substeps[divided]))
        self._violation = max(self._violation, float(np.max(chunk.violation)))
        self._gap = min(self._gap, float(np.min(chunk.gap)))
        efforts = np.abs(chunk.tau)
        self._efforts = np.maximum(self._efforts, efforts.max(axis=0))
        # A torque that is kept at its limit is not beyond it for rounding.
        self._beyond += int(np.count_nonzero(np.any(efforts > (1 + 1e-9) * self._limits, axis=1)))

    def summary(self, failed_steps: int = 0) -> dict[str, Any]:
        """The outcome at the simulation's present state, ready for JSON.

        Parameters
        ----------
        failed_steps : int
            Steps that could not be solved even with substeps. A run ends at the first one.

        Returns
        -------
        dict
            The following values; None where there is none.

            - order: the requested order; fourth_order_fraction: the fraction of steps of order
              four, None unless order is 4
            - accuracy [m per second], None for steps that are one interval each; its intervals,
              shortest_interval [s], estimated_error [m] and events
            - steps; seconds: simulated time [s]
            - wall_seconds: time spent on simulating [s]; us_per_step; real_time_factor
            - newton_iterations_mean, newton_iterations_max
            - steps_above_tolerance: steps whose residual rounding left above `tolerance`; None in
              maximal coordinates
            - failed_steps; divided_steps: steps that took substeps; substeps: their substeps
            - max_constraint_violation_m; min_gap_m: None without contacts
            - largest_effort: the largest effort relative to its limit (joint, effort, limit,
              unit), None without limits; steps_beyond_effort_limits
            - fell: when and how the robot first lay on its back, or with its base below a third
              of its height (time [s], how, height [m]); None if it never did
            - energy_initial, energy_final [J]
            - final_base_position [m]: None without a floating base; final_q
        """
        sim, steps, wall = self._sim, self.steps, self.wall_seconds
        seconds = float(sim.time) - self._start
        return {
            "robot": sim.robot.name,
            "timestep": float(sim.timestep),
            "order": sim.order,
            "fourth_order_fraction": (
                sim.fourth_order_steps / steps if sim.order == 4 and steps else None
            ),
            **self._sizes(),
            "steps": steps,
            "seconds": seconds,
            "wall_seconds": wall,
            "us_per_step": _finite(1e6 * wall / steps) if steps else None,
            "real_time_factor": _finite(seconds / wall) if wall > 0 else None,
            "newton_iterations_mean": self._iterations / steps if steps else None,
            "newton_iterations_max": self._iterations_max,
            "steps_above_tolerance": getattr(sim, "steps_above_tolerance", None),
            "failed_steps": failed_steps,
            "divided_steps": self._divided,
            "substeps": self._substeps,
            "max_constraint_violation_m": _finite(self._violation),
            "min_gap_m": _finite(self._gap),
            "largest_effort": self._largest_effort(),
            "steps_beyond_effort_limits": self._beyond,
            "fell": self._falls.fell,
            "energy_initial": _finite(self._energy_initial),
            "energy_final": _finite(float(sim.energy())),
            "final_base_position": (
                [_finite(x) for x in sim.q[:3]] if sim.robot.floating_base else None
            ),
            "final_q": [_finite(x) for x in sim.q],
        }

    def _sizes(self) -> dict[str, Any]:
        options = getattr(self._sim, "options", {})
        accuracy = options.get("accuracy")
        found: dict[str, Any] = {"accuracy": accuracy}
        if accuracy is not None:
            sizes = self._sim.step_sizes  # type: ignore[attr-defined]
            found |= {
                "intervals": sizes.intervals,
                "shortest_interval": _finite(sizes.shortest),
                "estimated_error": _finite(sizes.error),
                "events": sizes.events,
            }
        return found

    def _largest_effort(self) -> dict[str, Any] | None:
        limited = np.flatnonzero(np.isfinite(self._limits))
        if not len(limited) or not self.steps:
            return None
        robot = self._sim.robot
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.nan_to_num(self._efforts[limited] / self._limits[limited], posinf=np.inf)
        k = int(limited[np.argmax(parts)])
        return {
            "joint": robot.actuated_names[k],
            "effort": float(self._efforts[k]),
            "limit": float(self._limits[k]),
            "unit": effort_units(robot)[k],
        }


def _finite(value: float) -> float | None:
    """The value as JSON can hold it: NaN and infinity are None."""
    return float(value) if math.isfinite(value) else None
