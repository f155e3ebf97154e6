"""Many standing A1 at once, beside mujoco.rollout, on one thread and on one thread per core."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from robosim.batch import BatchSimulation
from robosim.bench.case import Case, Setup
from robosim.bench.legged import DEFAULT, DT, Array, a1, above
from robosim.bench.measure import Contender, mujoco_run, race
from robosim.bench.report import CLOSURE, OURS, PENETRATION, Report, Row, paired
from robosim.control.controllers import PD, stand
from robosim.description.mechanism import Mechanism
from robosim.measuring.target import Target

SETTLED = 3000  # steps after which the feet no longer roll
SPREAD = 0.1  # [rad], standard deviation of stances that differ


def our_batch(
    robot: Mechanism, pd: PD, q: Array, targets: Array, steps: int, threads: int, what: str
) -> Contender:
    """robosim as a contender: settled states that stand on, each with its own targets (n, nu)."""
    n = len(targets)
    batch = BatchSimulation(robot, n, DT, threads=threads)
    batch.set_state(q)
    before = batch.rollout(SETTLED, controller=pd, targets=targets)
    errors = {
        PENETRATION: max(0.0, -float(np.nanmin(before.gap))),
        CLOSURE: float(np.nanmax(before.violation)),
        "failed": float(before.failed.sum()),
    }

    def run() -> bool:
        return not batch.rollout(steps, controller=pd, targets=targets).failed.any()

    return Contender(OURS, what, n * steps, run, errors=errors)


def mujoco_batch(
    robot: Mechanism, pd: PD, q: Array, targets: Array, steps: int, threads: int, what: str
) -> Contender:
    """The same in MuJoCo's pool of threads."""
    import mujoco
    from mujoco.rollout import Rollout

    peer = mujoco_run(robot, DT, DEFAULT["Euler"], pd)
    kind, n = int(mujoco.mjtState.mjSTATE_FULLPHYSICS), len(targets)
    state, lowest = np.zeros((n, mujoco.mj_stateSize(peer.model, kind))), 0.0
    peer.set_state(q)
    mujoco.mj_getState(peer.model, peer.data, state[0], kind)
    state[:] = state[0]
    datas = [mujoco.MjData(peer.model) for _ in range(threads)]
    # Without a pool, MuJoCo runs in the calling thread.
    pool = Rollout(nthread=threads if threads > 1 else 0)

    def take(count: int) -> Any:
        control = np.repeat(targets[:, None], count, axis=1)
        return pool.rollout(peer.model, datas, state, control, skip_checks=False)[0]

    for _ in range(SETTLED // 100):
        states = take(100)
        state = np.array(states[:, -1])
        for row in states[0]:
            mujoco.mj_setState(peer.model, peer.data, row, kind)
            mujoco.mj_forward(peer.model, peer.data)
            lowest = min(lowest, peer.gap())

    def run() -> bool:
        return bool(np.isfinite(take(steps)[:, -1]).all())

    errors = {PENETRATION: -lowest}
    return Contender("MuJoCo", f"rollout, {what}", n * steps, run, errors=errors)


def _told(n: int, steps: int, threads: int) -> str:
    return f"{n} states, {steps} steps, {threads} thread{'s' if threads > 1 else ''}"


def run_batch(setup: Setup) -> Report:
    """The A1 standing, many times: CPU time of a step, and how the wall time scales with cores."""
    robot = a1()
    pd = stand(robot)
    q = above(robot, np.array(robot.home), 0.01)
    n, steps = setup.choose((256, 200), (16, 100))
    cores = os.cpu_count() or 1
    same = np.tile(pd.gains["target"], (n, 1))
    differ = same + np.random.default_rng(0).normal(scale=SPREAD, size=same.shape)
    runs = [(same, 1, ""), *([(same, cores, "")] if cores > 1 else ())]
    runs.append((differ, 1, ", each in a stance of its own"))
    field, used = [], []
    for stances, threads, how in runs:
        setup.note(f"{threads} threads{how}")
        case = robot, pd, q, stances, steps, threads, _told(n, steps, threads) + how
        makers = (our_batch, mujoco_batch) if setup.has("mujoco") else (our_batch,)
        field += [make(*case) for make in makers]
        used += [threads] * len(makers)
    raced = race(field, setup.repetitions)
    rows: list[Row] = []
    for row, threads in zip(raced, used, strict=True):
        wall = float(np.median(row.timing.wall)) if row.timing else float("nan")
        figures = {"steps per second and core": 1e6 / (wall * threads)}
        rows.append(replace(row, figures=figures))
    targets = []
    if setup.has("mujoco"):
        mine, theirs = (row.timing.cpu if row.timing else (np.nan,) for row in rows[:2])
        what = "robosim's steps per second and core / MuJoCo's, one thread"
        targets.append(Target(what, paired(theirs, mine), 4.0, at_least=True))
    if cores > 1:
        walls = [row.timing.wall if row.timing else (np.nan,) for row in rows if row.who == OURS]
        what = f"robosim's rate per core with {cores} threads / with one, by wall time"
        rate = paired(walls[0], walls[1]) / cores
        targets.append(Target(what, rate, 0.9, at_least=True))
    return Report((*setup.missing("mujoco"), *rows), tuple(targets))


CASES = (
    Case(
        "batch",
        "many standing A1 at once: steps per second and core",
        ("mujoco",),
        run_batch,
    ),
)
