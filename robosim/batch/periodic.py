"""Rollouts with a controller that acts once in each of its periods."""

from __future__ import annotations

from math import gcd
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.batch.bound import Bound
from robosim.batch.controls import by_step
from robosim.batch.rollout import Rollout
from robosim.control.periodic import Periodic
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError
from robosim.simulation import Simulation
from robosim.validation import Array


class Stepped(Protocol):
    """What such a rollout needs of a `BatchSimulation`."""

    n: int
    robot: Mechanism

    @property
    def timestep(self) -> float: ...
    @property
    def time(self) -> Array: ...
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    def __getitem__(self, index: int) -> Simulation: ...
    def bind(self, steps: int = 1) -> Bound: ...
    def restore(self, simulation: Simulation, *, index: Any = None) -> None: ...
    def rollout(
        self,
        steps: int,
        torques: ArrayLike | None = None,
        *,
        controller: Any = None,
        every: int = 1,
    ) -> Rollout: ...


def periodic_rollout(
    batch: Stepped,
    steps: int,
    torques: ArrayLike | None,
    controller: Periodic,
    every: int,
    others: dict[str, Any],
) -> Rollout:
    """The rollout of a batch with a periodic controller; see `BatchSimulation.rollout`.

    Raises
    ------
    ControllerError
        For one of the `others`, which are options that such a controller excludes, or if a period
        is no whole number of time steps.
    """
    given = [name for name, value in others.items() if value is not None and value is not False]
    if given:
        raise ControllerError(f"a controller that acts in periods excludes {', '.join(given)}")
    n, h = batch.n, batch.timestep
    period = controller.steps(h)
    controller.serve(batch, n, h)
    pd = controller.pd(h)
    forces = np.zeros((1, 1, batch.robot.nu))
    if torques is not None:
        forces = by_step("torques", torques, batch.robot, n, steps)
    forces = np.broadcast_to(forces, (n, steps, batch.robot.nu))
    begin, done, parts = batch.time.copy(), 0, list[Rollout]()
    if period == 1 and not (pd.gains["kp"].any() or pd.gains["kd"].any()):
        return _by_torques(batch, steps, forces, controller, every)
    picked, stopped = list[NDArray[np.int64]](), dict[int, Simulation]()
    aims = controller.aims
    while done < steps:
        due = controller.due(batch.time)
        going = np.ones(n, dtype=bool)
        going[list(stopped)] = False
        due &= going
        if due.any():
            felt = _forces(batch) if controller.needs_forces else None
            aims = controller.act(batch.time, batch.q, batch.v, felt, due)
        # States that were reset within a period act at other times than the others.
        size = min(steps - done, period) if due[going].all() else 1
        more = forces[:, done : done + size] + aims.torques[:, None]
        # The largest distance of samples that reaches the wanted ones from here.
        one = gcd(every, done)
        pds = [aims.of(pd, i) for i in range(n)]
        part = batch.rollout(size, more, controller=pds, every=one)
        parts.append(part)
        picked.append(np.flatnonzero((done + one * np.arange(part.tau.shape[1])) % every == 0))
        for i in np.flatnonzero(part.failed & going).tolist():
            stopped[i] = batch[i].copy()
        done += size
    for i, sim in stopped.items():
        batch.restore(sim, index=i)
    return _joined(parts, picked, steps, every, begin, h, stopped)


def _by_torques(
    batch: Stepped, steps: int, forces: Array, controller: Periodic, every: int
) -> Rollout:
    """The rollout with a controller that gives torques in each time step, without a PD."""
    n, h, begin = batch.n, batch.timestep, batch.time.copy()
    bound = batch.bind(1)
    rows = -(-steps // every)
    q, v = np.empty((n, rows + 1, batch.robot.nq)), np.empty((n, rows + 1, batch.robot.nv))
    tau = np.empty((n, rows, batch.robot.nu))
    gap, violation = np.empty((2, n, steps))
    iterations = np.empty((n, steps), dtype=np.int64)
    going, stopped = np.ones(n, dtype=bool), dict[int, Simulation]()
    aims = controller.aims
    for k in range(steps):
        time, now, rates = batch.time, batch.q, batch.v
        due = controller.due(time) & going
        if due.any():
            felt = _forces(batch) if controller.needs_forces else None
            aims = controller.act(time, now, rates, felt, due)
        bound.torques[:] = forces[:, k] + aims.torques
        bound.step()
        if k % every == 0:
            row = k // every
            q[:, row], v[:, row], tau[:, row] = now, rates, bound.tau[:, bound.actuated]
        infos = bound.infos[:, 0]
        gap[:, k], violation[:, k] = infos["gap"], infos["violation"]
        iterations[:, k] = infos["iterations"]
        for i in np.flatnonzero(bound.failed & going).tolist():
            stopped[i], going[i] = batch[i].copy(), False
    q[:, -1], v[:, -1] = batch.q, batch.v
    for i, sim in stopped.items():
        batch.restore(sim, index=i)
    return _ended(q, v, tau, gap, violation, iterations, steps, every, begin, h, stopped)


def _forces(batch: Stepped) -> Array:
    """Normal forces (n, nc) [N] on ``robot.contacts`` over the last step."""
    return np.stack([batch[i].contact_forces()[:, 2] for i in range(batch.n)])


def _joined(
    parts: list[Rollout],
    picked: list[NDArray[np.int64]],
    steps: int,
    every: int,
    begin: Array,
    timestep: float,
    stopped: dict[int, Simulation],
) -> Rollout:
    """One rollout of several parts, of which rows are picked; the states that stopped end early."""
    pairs = list(zip(parts, picked, strict=True))
    q, v = (
        np.concatenate([*(getattr(part, name)[:, rows] for part, rows in pairs),
                        getattr(parts[-1], name)[:, -1:]], axis=1)
        for name in ("q", "v")
    )  # fmt: skip
    tau = np.concatenate([part.tau[:, rows] for part, rows in pairs], axis=1)
    gap, violation, iterations = (
        np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in ("gap", "violation", "iterations")
    )
    return _ended(q, v, tau, gap, violation, iterations, steps, every, begin, timestep, stopped)


def _ended(
    q: Array,
    v: Array,
    tau: Array,
    gap: Array,
    violation: Array,
    iterations: NDArray[np.int64],
    steps: int,
    every: int,
    begin: Array,
    timestep: float,
    stopped: dict[int, Simulation],
) -> Rollout:
    """A rollout in which some states stopped early, with nan after that."""
    n, rows = tau.shape[:2]
    done = np.full(n, steps)
    knots = np.minimum(every * np.arange(rows + 1), steps)
    t = begin[:, None] + timestep * knots
    for i, sim in stopped.items():
        last = round((sim.time - float(begin[i])) / timestep)
        done[i] = last
        row = -(-last // every)
        q[i, row], v[i, row], t[i, row] = sim.q, sim.v, sim.time
        q[i, row + 1 :], v[i, row + 1 :], tau[i, row:] = np.nan, np.nan, np.nan
        gap[i, last:], violation[i, last:], iterations[i, last:] = np.nan, np.nan, 0
    return Rollout(t, q, v, tau, gap, violation, iterations, done, done < steps)
