"""The cost of a call from Python beyond that of the time steps which the call takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numba
import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.measure import Contender, race, stepping
from robosim.bench.report import OURS, Report, Row
from robosim.control.controllers import Compiled
from robosim.measuring.target import Target
from robosim.simulation import Simulation

STEP, CONTROLLED = 3.0, 10.0  # allowed over the kernel [us]


def run_calls(setup: Setup) -> Report:
    """The A1 floating without gravity, at rest: all time steps are the same, whoever calls."""
    steps = setup.choose(5000, 1000)
    sim = Simulation(robosim.load("a1", ground=False), gravity=(0.0, 0.0, 0.0))
    torques = np.zeros(sim.robot.nu)

    @numba.njit
    def nothing(t: float, q: NDArray[np.float64], v: NDArray[np.float64], tau: object) -> None:
        pass

    compiled = Compiled(sim.robot, nothing)

    def one_by_one(*tau: NDArray[np.float64]) -> Callable[[], bool]:
        def run() -> bool:
            for _ in range(steps):
                sim.step(*tau)
            return True

        return run

    def logged() -> bool:
        sim.run(steps * sim.timestep, lambda sim: torques)
        return True

    jobs: dict[str, tuple[Callable[[], bool], float]] = {
        "stream() with a compiled PD: the kernel": (stepping(sim, None, steps, 1), 0.0),
        "stream() with a function that numba compiled": (stepping(sim, compiled, steps, 1), 0.0),
        "step()": (one_by_one(), STEP),
        "step(tau)": (one_by_one(torques), STEP),
        "run() with a controller in Python": (logged, CONTROLLED),
    }
    field = [Contender(OURS, told, steps, run) for told, (run, _) in jobs.items()]
    raced = race(field, setup.repetitions)
    kernel = raced[0].timing.median if raced[0].timing else float("nan")
    rows: list[Row] = []
    targets = []
    for row, (_, limit) in zip(raced, jobs.values(), strict=True):
        over = (row.timing.median if row.timing else float("nan")) - kernel
        rows.append(replace(row, figures={"over the kernel [us]": over}))
        if limit:
            targets.append(Target(f"{row.told} over the kernel", over, limit, "us"))
    return Report(tuple(rows), tuple(targets))


CASES = (Case("calls", "what a call from Python costs over the kernel, the A1", (), run_calls),)
