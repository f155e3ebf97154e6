"""Many standing A1 at once, beside mujoco.rollout, with one thread and with one on every core."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from robosim.batch import BatchSimulation
from robosim.bench.case import Case, Setup
from robosim.bench.legged import DEFAULT, DT, Array, a1, above
from robosim.bench.measure import Contender, mujoco_run, race
from robosim.bench.report import CLOSURE, OURS, PENETRATION, Report, Row
from robosim.controllers import PD, stand
from robosim.experiments.experiment import Target
from robosim.mechanism import Mechanism

SETTLED = 3000  # steps after which the feet roll no more


def our_batch(robot: Mechanism, pd: PD, q: Array, n: int, steps: int, threads: int) -> Contender:
    """n of ours, settled, that stand on."""
    batch = BatchSimulation(robot, n, DT, threads=threads)
    batch.set_state(q)
    before = batch.rollout(SETTLED, controller=pd)
    errors = {
        PENETRATION: max(0.0, -float(np.nanmin(before.gap))),
        CLOSURE: float(np.nanmax(before.violation)),
        "failed": float(before.failed.sum()),
    }

    def run() -> bool:
        return not batch.rollout(steps, controller=pd).failed.any()

    return Contender(OURS, _told(n, steps, threads), n * steps, run, errors=errors)


def mujoco_batch(robot: Mechanism, pd: PD, q: Array, n: int, steps: int, threads: int) -> Contender:
    """The same in MuJoCo's own pool of threads."""
    import mujoco
    from mujoco.rollout import Rollout

    peer = mujoco_run(robot, DT, DEFAULT["Euler"], pd)
    peer.set_state(q)
    lowest = 0.0
    for _ in range(SETTLED):
        peer.step()
        lowest = min(lowest, peer.gap())
    kind = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.zeros((n, mujoco.mj_stateSize(peer.model, kind)))
    for row in state:
        mujoco.mj_getState(peer.model, peer.data, row, kind)
    targets = np.tile(pd.gains["target"], (n, steps, 1))
    datas = [mujoco.MjData(peer.model) for _ in range(threads)]
    # Without threads of its own it runs in ours.
    pool = Rollout(nthread=threads if threads > 1 else 0)

    def run() -> bool:
        states: Any = pool.rollout(peer.model, datas, state, targets, skip_checks=False)[0]
        return bool(np.isfinite(states[:, -1]).all())

    errors = {PENETRATION: -lowest}
    return Contender(
        "MuJoCo", f"rollout, {_told(n, steps, threads)}", n * steps, run, errors=errors
    )


def _told(n: int, steps: int, threads: int) -> str:
    return f"{n} states, {steps} steps, {threads} thread{'s' if threads > 1 else ''}"


def run_batch(setup: Setup) -> Report:
    """The A1 standing, many times: CPU time of a step, and how the wall time scales with cores."""
    robot = a1()
    pd = stand(robot)
    q = above(robot, np.array(robot.home), 0.01)
    n, steps = setup.choose((256, 200), (16, 100))
    cores = os.cpu_count() or 1
    field = []
    counts = (1, cores) if cores > 1 else (1,)
    for threads in counts:
        setup.note(f"{threads} threads")
        field.append(our_batch(robot, pd, q, n, steps, threads))
        if setup.has("mujoco"):
            field.append(mujoco_batch(robot, pd, q, n, steps, threads))
    raced = race(field, setup.repetitions)
    used = [threads for threads in counts for _ in range(len(field) // len(counts))]
    rows: list[Row] = []
    for row, threads in zip(raced, used, strict=True):
        wall = float(np.median(row.timing.wall)) if row.timing else float("nan")
        figures = {"steps per second and core": 1e6 / (wall * threads)}
        rows.append(replace(row, figures=figures))
    targets = []
    if setup.has("mujoco"):
        mine, theirs = (row.timing.median if row.timing else float("nan") for row in rows[:2])
        what = "our steps per second and core / MuJoCo's, one thread"
        targets.append(Target(what, theirs / mine, 4.0, at_least=True))
    if cores > 1:
        rates = [row.figures["steps per second and core"] for row in rows if row.who == OURS]
        what = f"our rate per core with {cores} threads / with one, of wall time"
        targets.append(Target(what, rates[1] / rates[0], 0.9, at_least=True))
    return Report((*setup.missing("mujoco"), *rows), tuple(targets))


CASES = (
    Case(
        "batch",
        "many standing A1 at once: steps per second and core",
        ("mujoco",),
        run_batch,
    ),
)
