"""Contenders, timed in turns, in one process, in compiled loops."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.bench.report import OURS, Row, Timing
from robosim.control.controllers import PD, Controller
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.peers.mujoco_run import MuJoCoRun, Settings, quiet
from robosim.simulation import Simulation

Array = NDArray[np.float64]


@dataclass
class Contender:
    """Something to be timed.

    Attributes
    ----------
    who, told : str
        As in `Row`.
    steps : int
        The number of time steps in a call of `run`.
    run : callable() -> bool
        Takes the time steps in compiled code; False if one of these failed.
    prepare : callable()
        Restores the start; not timed.
    errors, figures, size, note
        As in `Row`.
    """

    who: str
    told: str
    steps: int
    run: Callable[[], bool]
    prepare: Callable[[], Any] = lambda: None
    errors: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    size: int = 0
    note: str = ""


def race(contenders: Sequence[Contender], repetitions: int) -> tuple[Row, ...]:
    """Time all contenders in turns, so that interruptions do not fall on one of them.

    The first round, which fills caches and compiles kernels, is not counted.
    """
    times: list[list[tuple[float, float]]] = [[] for _ in contenders]
    lost = [False] * len(contenders)
    for repetition in range(repetitions + 1):
        for k, contender in enumerate(contenders):
            if lost[k]:
                continue
            contender.prepare()
            wall, cpu = time.perf_counter(), time.process_time()
            fine = contender.run()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            lost[k] = not fine
            if repetition:
                per_step = 1e6 / contender.steps
                times[k].append((cpu * per_step, wall * per_step))
    rows = []
    for contender, pairs, gone in zip(contenders, times, lost, strict=True):
        timing = None
        if pairs and not gone:
            cpus, walls = zip(*pairs, strict=True)
            timing = Timing(cpus, walls)
        note = "; ".join(filter(None, ("failed: not timed" if gone else "", contender.note)))
        rows.append(
            Row(
                contender.who,
                contender.told,
                timing,
                contender.errors,
                contender.size,
                contender.figures,
                note,
            )
        )
    return tuple(rows)


def stepping(
    sim: Simulation, controller: Controller | str | None, steps: int, every: int | None = None
) -> Callable[[], bool]:
    """A function that takes some time steps of robosim in one compiled call; False on failure.

    The run logs each `every`-th knot, by default the first and the last alone, as the peers do.
    """

    def run() -> bool:
        try:
            seconds = steps * sim.timestep
            for _ in sim.stream(seconds, controller, steps, every=every or steps):
                pass
        except ConvergenceError:
            return False
        return True

    return run


def ours(
    sim: Simulation,
    controller: Controller | str | None,
    steps: int,
    start: Callable[[], Any] = lambda: None,
    told: str = "",
    every: int | None = None,
    **more: Any,
) -> Contender:
    """A simulation of robosim as a contender."""
    return Contender(OURS, told, steps, stepping(sim, controller, steps, every), start, **more)


def mujoco_run(
    robot: Mechanism, timestep: float, settings: Settings, servos: PD | None = None
) -> MuJoCoRun:
    """A mechanism in MuJoCo, without the energy, whose computation would take time."""
    import mujoco

    peer = MuJoCoRun(robot, timestep, settings, servos=servos)
    peer.model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    return peer


def mujoco_contender(
    peer: MuJoCoRun, steps: int, q: ArrayLike | None, told: str, **more: Any
) -> Contender:
    """MuJoCo as a contender: `mj_step` with nstep, a loop in C.

    Each run begins at q, or at the present state if q is None.
    """
    start = (lambda: None) if q is None else (lambda: peer.set_state(np.asarray(q)))
    return Contender("MuJoCo", told, steps, lambda: peer.step(steps), start, **more)


def rollout(model: Any, data: Any, controls: Array) -> Callable[[], bool]:
    """MuJoCo from its present state under controls (n, nu), all in C; the last state is kept."""
    import mujoco
    from mujoco import mj_getState, mj_setState, mj_stateSize, mjtState
    from mujoco.rollout import Rollout

    kind = int(mjtState.mjSTATE_FULLPHYSICS)
    begin = np.zeros((1, mj_stateSize(model, kind)))
    mj_getState(model, data, begin[0], kind)
    pool = Rollout(nthread=0)

    def run() -> bool:
        with quiet(mujoco):
            states, _ = pool.rollout(model, data, begin, controls[None])
        mj_setState(model, data, states[0, -1], kind)
        return bool(np.isfinite(states[0, -1]).all())

    return run
