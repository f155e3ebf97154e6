"""Logs cut into windows, and the errors of simulations of these windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.batch import BatchSimulation
from robosim.batch.tape import TapedRollout
from robosim.control.controllers import PD
from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import LogError, OptionError
from robosim.identification.unknowns import GAINS, Meaning, Unknowns
from robosim.log import Log
from robosim.log.columns import LogInfo
from robosim.validation import Array


class Windows(NamedTuple):
    """n windows of equal length.

    Attributes
    ----------
    q, v : (n, steps + 1, nq), (n, steps + 1, nv)
        As measured.
    source : tuple of Source
        The torques of each log.
    log : (n,)
        The log of each window.
    first : (n,)
        The window's first sample in that log.
    left : int
        Number of samples at the ends of logs that are in no window.
    """

    q: Array
    v: Array
    source: tuple[Source, ...]
    log: NDArray[np.int64]
    first: NDArray[np.int64]
    left: int

    def torques(self, delay: float) -> tuple[Array, Array]:
        """Torques (n, steps, nu), applied a delay [s] after the log's, and their derivatives."""
        steps = self.q.shape[1] - 1
        found = [
            self.source[log].at(first + np.arange(steps), delay)
            for log, first in zip(self.log, self.first, strict=True)
        ]
        tau, slopes = zip(*found, strict=True)
        return np.array(tau), np.array(slopes)


class Source:
    """Torques (n, nu), each held until the next sample.

    Parameters
    ----------
    tau : (n, nu)
    timestep : float [s]
    """

    def __init__(self, tau: Array, timestep: float) -> None:
        self._tau, self._timestep = tau, timestep
        zero = np.zeros((1, tau.shape[1]))
        self._sum = np.concatenate((zero, np.cumsum(tau, axis=0)))

    def at(self, steps: NDArray[np.int64], delay: float) -> tuple[Array, Array]:
        """Means (k, nu) of the delayed torques over steps, and derivatives by the delay [s]."""
        if delay == 0.0:
            before = self._tau[np.maximum(steps - 1, 0)]
            return self._tau[steps], (before - self._tau[steps]) / self._timestep
        begin: Array = np.asarray(steps, dtype=float) - delay / self._timestep
        ends = self._until(begin), self._until(begin + 1.0)
        slopes = (self._held(begin) - self._held(begin + 1.0)) / self._timestep
        return ends[1] - ends[0], slopes

    def _until(self, at: Array) -> Array:
        """The integral from the first sample to a position; before it, the first torque is held."""
        whole = np.clip(np.floor(at).astype(int), 0, len(self._tau) - 1)
        return np.asarray(self._sum[whole] + (at - whole)[:, None] * self._tau[whole])

    def _held(self, at: Array) -> Array:
        # A torque that begins at this position is not yet held.
        return self._tau[np.clip(np.ceil(at).astype(int) - 1, 0, len(self._tau) - 1)]


def windows_of(robot: Mechanism, logs: Sequence[Log], seconds: float) -> Windows:
    """Logs cut into windows of about a given length [s].

    Raises
    ------
    LogError
        For logs of another robot, of different timesteps, or too short for a step.
    OptionError
        For measured values that are not finite, or an invalid length.
    """
    info = LogInfo.of(robot, 1.0)
    timestep = logs[0].timestep
    for number, log in enumerate(logs):
        for what in ("q", "v", "tau"):
            if getattr(log.info, what) != getattr(info, what):
                raise LogError(
                    f"log {number} is of '{log.info.robot}', and '{robot.name}' has other columns "
                    f"of {what}: {', '.join(getattr(info, what))}"
                )
        if not abs(log.timestep - timestep) <= 1e-9 * timestep:
            raise LogError(
                f"log {number} has samples every {log.timestep:g} s, the first one {timestep:g} s"
            )
        if len(log) < 2:
            raise LogError(f"log {number} has {len(log)} samples: a step needs two")
        for name, array in (("q", log.q), ("v", log.v), ("tau", log.tau[:-1])):
            for k, j in np.argwhere(~np.isfinite(array))[:1]:
                raise OptionError(f"{name} of log {number} is {array[k, j]} at t = {log.t[k]:g} s")
    wanted = round(seconds / timestep) if np.isfinite(seconds) else 0
    if wanted < 1:
        raise OptionError(f"window must be a step at least, {timestep:g} s, not {seconds!r}")
    steps = min(wanted, *(len(log) - 1 for log in logs))
    # Equal windows, as near as possible to the length, so that few samples are left over.
    shortest = min((len(log) - 1) // max(1, round((len(log) - 1) / steps)) for log in logs)
    places = [(i, k) for i, log in enumerate(logs) for k in range(0, len(log) - shortest, shortest)]
    knots = np.arange(shortest + 1)
    left = sum(len(log) - 1 for log in logs) - shortest * len(places)
    return Windows(
        np.array([logs[i].q[k + knots] for i, k in places]),
        np.array([logs[i].v[k + knots] for i, k in places]),
        tuple(Source(np.asarray(log.tau, dtype=float), timestep) for log in logs),
        np.array([i for i, _ in places]),
        np.array([k for _, k in places]),
        left,
    )


class Model:
    """Simulations of all windows in one batch.

    Parameters
    ----------
    unknowns : Unknowns
    windows : Windows
    timestep : float [s]
    options : mapping, of the simulations
    """

    def __init__(
        self,
        unknowns: Unknowns,
        windows: Windows,
        timestep: float,
        options: dict[str, Any],
    ) -> None:
        self.unknowns, self.windows = unknowns, windows
        robot = unknowns.mean(unknowns.start).robot
        self._batch = BatchSimulation(robot, len(windows.q), timestep, **options)
        self._dynamics = Dynamics(robot)
        self.run: TapedRollout

    def starts(self, changes: Array) -> tuple[Array, Array]:
        """Starts (n, nq), (n, nv): the measured ones with changes (n, 2 nv)."""
        nv, windows = self._batch.robot.nv, self.windows
        q = self._dynamics.integrate(windows.q[:, 0], changes[:, :nv])
        return np.asarray(q), windows.v[:, 0] + changes[:, nv:]

    def errors(self, x: Array, changes: Array) -> tuple[Meaning, Array | None]:
        """Differences of simulations from windows (n, steps + 1, 2 nv); None if a step fails."""
        meaning = self.unknowns.mean(x)
        windows, batch = self.windows, self._batch
        steps = windows.q.shape[1] - 1
        batch.set_robots(meaning.robot)
        batch.set_state(*self.starts(changes))
        tau = None if meaning.controller is not None else windows.torques(meaning.delay)[0]
        run = batch.rollout(steps, tau, controller=self._controllers(meaning), tape="carried")
        assert isinstance(run, TapedRollout)
        self.run = run
        if run.failed.any():
            return meaning, None
        shape = (*run.v.shape[:2], -1)
        nq = run.q.shape[2]
        away = self._dynamics.difference(windows.q.reshape(-1, nq), run.q.reshape(-1, nq))
        return meaning, np.concatenate((np.reshape(away, shape), run.v - windows.v), axis=2)

    def slopes(self, meaning: Meaning) -> tuple[Array, tuple[str, ...]]:
        """Derivatives (n, steps + 1, 2 nv, 2 nv + k) of the last errors by starts and unknowns.

        The second result are notes on rollouts that are not smooth.
        """
        names = self.unknowns.of_robot(meaning)
        gains = [name.split(":", 1) for name in meaning.names if name.split(":")[0] in GAINS]
        actuated = self._batch.robot.actuated_names
        late = "delay" in meaning.names
        found = self.run.sensitivities(
            names,
            gains=[(kind, actuated.index(joint)) for kind, joint in gains],
            torques=self.windows.torques(meaning.delay)[1][..., None] if late else None,
        )
        base = 2 * self._batch.robot.nv
        order = (*names, *(":".join(pair) for pair in gains), *(["delay"] if late else []))
        columns = [base + order.index(name) for name in meaning.names]
        # Parameters of all joints are factors of the robot's values, which have changed.
        factors = [
            1.0 if ":" in name or name == "delay" else 1.0 / value
            for name, value in zip(meaning.names, meaning.values, strict=True)
        ]
        by = found.knots[..., columns] * factors @ meaning.by
        return np.concatenate((found.knots[..., :base], by), axis=3), found.notes

    def _controllers(self, meaning: Meaning) -> Any:
        """Controllers of the windows; moving targets begin at a window's time in its log."""
        pd = meaning.controller
        if pd is None or not pd.moves:
            return pd
        times = [self._begin(i) for i in range(len(self.windows.q))]
        return [_later(pd, time) for time in times]

    def _begin(self, i: int) -> float:
        return float(self.windows.first[i] * self._batch.timestep)


def _later(pd: Any, time: float) -> Any:
    """A PD whose moving targets are shifted by a time [s]."""
    other = PD.with_gains(pd.gains)
    for name in ("motion", "velocity_motion"):
        motion = getattr(pd, name)
        if motion is not None:
            setattr(other, name, lambda t, of=motion: of(np.asarray(t) + time))
    return other
