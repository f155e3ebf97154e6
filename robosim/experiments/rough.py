"""An A1 learns in ten minutes to trot over steps in the ground, and against pushes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim import policies
from robosim.experiments.drawing import COLOURS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.trotting import (
    BEGIN,
    COMMANDS,
    LATE,
    ROBOTS,
    STEP,
    THREADS,
    TOLERANCE,
    have_fallen,
    learned,
    velocities,
)
from robosim.learning import Trained
from robosim.measuring.target import Target
from robosim.policies import Policy
from robosim.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    # Gymnasium is needed on use only, so that experiments can be listed without it.
    from robosim.envs.tasks.a1_rough import A1Rough

SECONDS, SEED = 600.0, 0
PLACES = 3  # where robots begin, for each command
RUN = 10.0  # [s]; the ground ends 10 m from its middle
IMPULSE, LASTS = 5.0, 0.1  # [N s] and [s], of a push
PUSHES = 2.0, 5.0, 8.0  # [s]
ABOVE = 2e-3  # [m], of feet at the start over the higher blocks
WITHIN = 0.15  # [m/s], of the commanded velocity
SHAPES = "sphere", "box", "cylinder", "capsule"


class Crossed(NamedTuple):
    """What robots do on rough ground.

    Attributes
    ----------
    means : (n, 3)
        Forward and sideways velocity [m/s] and yaw rate [rad/s] in axes of the base.
    fell : (n,) of bool
    when : (n,) [s]
        Time of the fall, or nan.
    """

    means: Array
    fell: NDArray[np.bool_]
    when: Array


def crossed(
    policy: Policy, rise: float, seconds: float, pushes: tuple[float, ...], places: int
) -> Crossed:
    """Let robots with all their geometry follow commands over blocks, while they are pushed."""
    robot, n, random = policy.robot, places * len(COMMANDS), np.random.default_rng(1)
    policy = policy.copy()
    policy.command = np.repeat(COMMANDS, places, axis=0)
    batch = robosim.BatchSimulation(robot, n, timestep=STEP, threads=THREADS)
    q, angles = np.tile(policy.pose(), (n, 1)), random.uniform(-np.pi, np.pi, n)
    q[:, :2] += random.uniform(-1.0, 1.0, (n, 2))
    q[:, 3], q[:, 6] = np.cos(angles / 2), np.sin(angles / 2)
    q[:, 2] += rise + ABOVE
    batch.set_state(q)
    every, base = policy.task.decimation, robot.bodies[0].name
    ends = sorted({*pushes, *(begin + LASTS for begin in pushes), seconds})
    runs, now = [], 0.0
    for end in (end for end in ends if end <= seconds):
        run = batch.rollout(round((end - now) / STEP), controller=policy, every=every)
        runs.append((run.q[:, 1:], run.v[:, 1:]))
        ways = random.uniform(-np.pi, np.pi, n)
        size = IMPULSE / LASTS if end in pushes else 0.0
        for i, way in enumerate(ways):
            force = size * np.array([np.cos(way), np.sin(way), 0.0])
            batch[i].apply_wrench(base, force=force)
        now = end
    q, v = (np.concatenate(parts, axis=1) for parts in zip(*runs, strict=True))
    down = have_fallen(q, np.asarray(robot.home))
    fell, times = np.asarray(down.any(axis=1)), STEP * every * np.arange(1, q.shape[1] + 1)
    late = times >= min(BEGIN, seconds / 2)
    means = velocities(q, v)[:, late].mean(axis=1)
    return Crossed(means, fell, np.where(fell, times[down.argmax(axis=1)], np.nan))


def judged(
    trained: Trained, task: A1Rough, seconds: float, pushes: tuple[float, ...], places: int
) -> Crossed:
    """What a policy does on blocks, from a file as others would load it."""
    from robosim.envs.tasks.a1_rough import on_blocks

    robot = on_blocks(robosim.load("a1"), task.rise, SHAPES)
    told = replace(task.policy_task(robot), timestep=STEP, decimation=round(task.dt / STEP))
    with TemporaryDirectory() as folder:
        file = policies.export(trained, Path(folder) / "walk.onnx", robot, told)
        return crossed(policies.load(file, robot), task.rise, seconds, pushes, places)


def run(setup: Setup) -> Result:
    """Learn on blocks, and judge what has been learned there."""
    from robosim.envs.tasks.a1_rough import A1Rough

    task = A1Rough(options={"tolerance": TOLERANCE})
    seconds, length, pushes = setup.choose((SECONDS, RUN, PUSHES), (1.0, 0.6, (0.2,)))
    n, threads, places = setup.choose((ROBOTS, THREADS, PLACES), (16, 1, 1))
    setup.note(f"learns for {seconds:g} s")
    trained = learned(task, SEED, seconds, n, threads, task.robot())
    setup.note(f"follows commands for {length:g} s")
    found = judged(trained, task, length, pushes, places)
    return told_of(trained, task, found, seconds, length, pushes)


def told_of(
    trained: Trained, task: A1Rough, found: Crossed, seconds: float, length: float,
    pushes: tuple[float, ...],
) -> Result:  # fmt: skip
    """The result of one seed."""
    last, n = trained.curve[-1], len(found.fell)
    commands = np.repeat(COMMANDS, n // len(COMMANDS), axis=0)
    up = ~found.fell
    off = np.abs(found.means - commands)[up].mean(axis=0) if up.any() else np.full(3, np.inf)
    planar, fell = float(off[:2].max()), int(found.fell.sum())
    target = partial(Target, full_only=True)
    targets = (
        target("time of learning", last["seconds"], seconds + LATE, "s"),
        target(f"falls in {n} runs of {length:g} s", fell, 0),
        target("error of mean velocities of those that do not fall", planar, WITHIN, "m/s"),
    )
    sentence = (
        f"After {seconds:g} s of PPO ({last['steps'] / 1e6:.2f} million steps, {last['cpu']:.0f} s "
        f"of CPU time), {fell} of {n} A1 fall in {length:g} s on steps of {100 * task.rise:g} cm, "
        f"with {len(pushes)} pushes of {IMPULSE:g} N s. The others follow commands with mean "
        f"errors of {planar:.3f} m/s and {off[2]:.3f} rad/s."
    )
    rows = [
        {key: row[key] for key in ("seconds", "steps", "reward", "reward_velocity", "falls")}
        for row in trained.curve
    ]
    ours = {"means": found.means, "fell": found.fell, "when": found.when, "error": off,
            "last": last, "curve": rows}  # fmt: skip
    parameters = {
        "seconds": seconds, "rise": task.rise, "impulse": IMPULSE, "pushes": pushes,
        "commands": COMMANDS, "run_seconds": length, "timestep": task.timestep,
        "judged_with_timestep": STEP,
    }  # fmt: skip

    def draw(figure: Figure) -> None:
        (axis,) = panels(figure, 1, 1)[0]
        axis.plot([row["seconds"] for row in rows], [row["reward_velocity"] for row in rows],
                  color=COLOURS["ours"])  # fmt: skip
        finish(axis, "time [s]", "reward for the velocity, of 1 at most", "PPO on 5 cm steps",
               legend=False)  # fmt: skip

    return Result(parameters, ours, {}, targets, sentence, draw)


WALK_ROUGH = Experiment(
    ("walk-rough",),
    "an A1 learns in ten minutes to walk over 5 cm steps and against pushes of 5 N s",
    "after ten minutes on two cores no robot falls, and velocities are within 0.15 m/s",
    run,
)
