"""A search on one worker and on several: equal results, and the speed-up."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.batch import BatchSimulation
from robosim.cluster import Workers
from robosim.control.controllers import Gait
from robosim.experiments.drawing import COLOURS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.walking import GAP, START
from robosim.learning.search import RandomSearch
from robosim.measuring.target import Target
from robosim.runtime.background import cores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOGETHER = 8  # learners in a chunk
LINEAR = 0.9  # required fraction of one worker's rate for each of two workers


def distance(
    batch: BatchSimulation, gaits: NDArray[np.float64], random: Any, *, steps: int
) -> NDArray[np.float64]:
    """Distances (n,) [m] of gaits (n, 5), each in a state of a batch; NaN if a step fails."""
    gait = Gait.of(batch.robot, gaits)
    batch.place(gait.pose(), GAP)
    run = batch.rollout(steps, controller=gait, every=steps)
    return np.where(run.failed, np.nan, run.q[:, -1, 0] - run.q[:, 0, 0])


def run_scaling(setup: Setup) -> Result:
    """The same search on 1, 2, 4, ... workers up to the number of cores, alternately."""
    learners, tries, steps, rounds = setup.choose((32, 5, 1000, 5), (16, 1, 20, 1))
    counts = [1, 2]
    while not setup.quick and 2 * counts[-1] <= cores():
        counts.append(2 * counts[-1])
    robot, objective = robosim.load("a1"), partial(distance, steps=steps)
    seconds: dict[int, list[float]] = {n: [] for n in counts}
    found = []
    with ExitStack() as stack:
        # Without processors reserved for them, idle workers do not take any from the others.
        crews = [
            stack.enter_context(Workers(robot, n, TOGETHER, cpus=0.0, retries=0)) for n in counts
        ]
        kind = crews[0].kind
        for workers in crews:
            setup.note(f"compiling or loading: {workers.n} on {kind}")
            begin = RandomSearch(START, TOGETHER * workers.n, least=0.0)
            begin.run(partial(distance, steps=1), 1, workers)
        for k in range(rounds):
            for workers in crews:
                setup.note(f"round {k + 1} of {rounds}: {workers.n} on {kind}")
                search = RandomSearch(START, learners, seed=0, least=0.0)
                before = time.perf_counter()
                search.run(objective, tries, workers)
                seconds[workers.n].append(time.perf_counter() - before)
                found.append((search.best, search.values))
    best = {n: min(times) for n, times in seconds.items()}
    efficiency = {n: best[1] / (n * best[n]) for n in counts}
    differ = sum(
        not all(np.array_equal(a, b) for a, b in zip(one, found[0], strict=True)) for one in found
    )
    targets = (
        Target(f"searches of {len(found)} that differ from the first in any bit", differ, 0),
        Target("rate of two workers over twice that of one", efficiency[2], LINEAR, at_least=True),
    )
    told = ", ".join(f"{n} in {best[n]:.2f} s ({efficiency[n]:.2f} of linear)" for n in counts)
    sentence = (
        f"A search of {learners} learners, {tries} tries of {steps} steps each, on {kind} with "
        f"{cores()} cores: {told}."
    )
    ours = {
        "kind": kind,
        "seconds": {str(n): times for n, times in seconds.items()},
        "of_linear": {str(n): value for n, value in efficiency.items()},
        "distances": found[0][1],
    }
    parameters = {
        "learners": learners, "tries": tries, "steps": steps, "rounds": rounds,
        "per_worker": TOGETHER, "cores": cores(),
    }  # fmt: skip

    def draw(figure: Figure) -> None:
        ax = panels(figure, 1, 1)[0, 0]
        ax.plot(
            counts, [best[1] / best[n] for n in counts], "o-", color=COLOURS["ours"], label=kind
        )
        ax.plot(counts, counts, "--", color="#999999", label="linear")
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        finish(ax, "workers", "rate, over that of one worker")

    return Result(parameters, ours, {}, targets, sentence, draw)


SCALING = Experiment(
    ("ray-scaling",),
    "a search on one worker and on several",
    "The same bits for any number of workers, and at least 0.9 of twice the rate with two.",
    run_scaling,
)
