"""The A1 as in its first hundred episodes of learning: random torques on all motors."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.legged import above
from robosim.bench.measure import Contender, mujoco_run, race
from robosim.bench.report import OURS, Report, ratio_target
from robosim.control.controllers import Compiled
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.peers.mujoco_run import MuJoCoRun, Settings, quiet
from robosim.simulation import Simulation

Array = NDArray[np.float64]
TIMESTEPS = {2: 1.0, 5: 1.5}  # [ms] -> most of MuJoCo's time
HELD = 10  # steps for which a torque is held
DIVERGED = "episodes lost"


def random_torques(robot: Mechanism, rows: int, seed: int) -> Array:
    """Torques (rows, nu), uniform within the effort limits."""
    most = np.asarray(robot.effort_limits)
    return np.random.default_rng(seed).uniform(-most, most, (rows, robot.nu))


def follow(robot: Mechanism, torques: Array, timestep: float) -> Compiled:
    """A compiled controller that holds each row (nu,) of a table of torques for `HELD` steps."""
    per_row, last = 1.0 / (HELD * timestep), len(torques) - 1

    def give(t, q, v, tau):  # type: ignore[no-untyped-def]
        row = min(int(t * per_row + 1e-6), last)
        for k in range(tau.shape[0]):
            tau[k] = torques[row, k]

    return Compiled(robot, give)


def our_episodes(
    robot: Mechanism,
    q: Array,
    tables: list[Array],
    timestep: float,
    size: int,
    accuracy: float | None = None,
) -> Contender:
    """robosim in all episodes, with its slowest step and the number of episodes that fail.

    A step to an accuracy is divided if it takes more than the two halves that tell its error.
    """
    sim = Simulation(robot, timestep, accuracy=accuracy)
    whole = 1 if accuracy is None else 2
    followed = [follow(robot, torques, timestep) for torques in tables]
    steps = HELD * len(tables[0])

    def run() -> bool:
        for controller in followed:
            sim.set_state(q)
            try:
                for _ in sim.stream(steps * timestep, controller, steps, every=steps):
                    pass
            except ConvergenceError:
                pass  # counted below, as a lost episode
        return True

    run()  # so that both solvers are compiled
    times, lost, divided = [], 0, 0
    for torques in tables:
        sim.set_state(q)
        try:
            for n in range(steps):
                tau = torques[n // HELD]
                before = time.thread_time()
                info = sim.step(tau)
                times.append(time.thread_time() - before)
                divided += info.substeps > whole
        except ConvergenceError:
            lost += 1
    figures = {
        DIVERGED: float(lost),
        "slowest step [ms]": 1e3 * max(times),
        "divided steps": float(divided),
    }
    return Contender(OURS, "", steps * len(tables), run, size=size, figures=figures)


def mujoco_episodes(
    peer: MuJoCoRun, q: Array, tables: list[Array], size: int
) -> tuple[Callable[[], bool], dict[str, float]]:
    """A function that runs all episodes in MuJoCo, and the number of those that diverge."""
    import mujoco

    model, data = peer.model, peer.data
    kinds = mujoco.mjtWarning
    unstable = [int(k) for k in (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)]

    def run() -> bool:
        for torques in tables:
            episode(torques)
        return True

    def episode(torques: Array) -> bool:
        mujoco.mj_resetData(model, data)
        peer.set_state(q)
        with quiet(mujoco):
            for tau in torques:
                data.qfrc_applied[-len(tau) :] = tau
                mujoco.mj_step(model, data, nstep=HELD)
        return any(data.warning[kind].number for kind in unstable)

    return run, {DIVERGED: float(sum(episode(torques) for torques in tables))}


def run_random(setup: Setup) -> Report:
    """Episodes of the A1 with all its geometry as contacts, at two time steps."""
    robot = robosim.load("a1")
    q = above(robot, np.array(robot.home), 0.0)
    episodes, seconds = setup.choose((5, 4.0), (2, 1.0))
    field = []
    for milliseconds in TIMESTEPS:
        timestep = 1e-3 * milliseconds
        rows = round(seconds / timestep / HELD)
        tables = [random_torques(robot, rows, seed) for seed in range(episodes)]
        setup.note(f"robosim, {milliseconds} ms")
        field.append(our_episodes(robot, q, tables, timestep, milliseconds))
        if setup.has("mujoco"):
            setup.note(f"MuJoCo, {milliseconds} ms")
            peer = mujoco_run(robot, timestep, Settings())
            run, figures = mujoco_episodes(peer, q, tables, milliseconds)
            steps = HELD * rows * episodes
            contender = partial(Contender, "MuJoCo", "Euler", steps, run)
            field.append(contender(size=milliseconds, figures=figures))
    rows_of = setup.missing("mujoco") + race(field, setup.choose(5, 2))
    targets = [
        target
        for milliseconds, limit in TIMESTEPS.items()
        for target in ratio_target(rows_of, limit, milliseconds)
    ]
    return Report(rows_of, tuple(targets), size="timestep [ms]")


CASES = (
    Case(
        "a1_random",
        "the A1 under random torques up to its effort limits, all its geometry as contacts",
        ("mujoco",),
        run_random,
    ),
)
