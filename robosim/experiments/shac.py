"""An A1 learns to trot by gradients through contacts, and by PPO, from how many actions."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import robosim
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.trotting import COMMANDS, ROBOTS, TOLERANCE, WITHIN, judged
from robosim.learning import PPO, SHAC, Trained
from robosim.measuring.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    # Gymnasium is needed on use only, so that experiments can be listed without it.
    from robosim.envs import RobotVectorEnv
    from robosim.envs.tasks.a1_trot import A1Trot

ROUNDS = {"SHAC": 200, "SHAC, hard contacts": 200, "PPO": 244}
SEEDS, FEW = (0, 1, 2), 32  # robots of SHAC
SHORT = 3.0  # [s], of an episode of SHAC: starts are seen in each round
SMOOTH = 1e-3  # [m/s], contact_speed in the derivatives of SHAC
LEVELS = 1.1, 1.2  # mean rewards of an action that are to be reached
LOOKS, LOOKED, SEEN = 30, 32, 100  # evaluations of a run; their robots; actions of each
PLAY = 60.0  # [s]


class Curve(NamedTuple):
    """How a policy became better.

    Attributes
    ----------
    trained : Trained
    rows : list of mappings
        ``steps``, ``cpu`` [s] without evaluations, and mean ``reward`` of an action without noise.
    """

    trained: Trained
    rows: list[dict[str, float]]

    def first(self, of: str, level: float) -> float:
        """Actions ("steps") or CPU time ("cpu") until a reward was reached; inf: never."""
        return next((row[of] for row in self.rows if row["reward"] >= level), np.inf)


def learned(name: str, task: A1Trot, seed: int, rounds: int, n: int, threads: int) -> Curve:
    """Learn by one of the methods, with evaluations that do not count."""
    from robosim.envs import DifferentiableEnv, RobotVectorEnv
    from robosim.envs.tasks.a1_trot import A1Trot, on_feet

    robot, looked = on_feet(robosim.load("a1")), 0.0
    given: dict[str, Any] = {"autoreset_mode": "SameStep", "threads": threads}
    eyes = RobotVectorEnv(robot, task, num_envs=min(n, LOOKED), **given)
    rows: list[dict[str, float]] = []

    def learner() -> PPO | SHAC:
        if name == "PPO":
            return PPO(RobotVectorEnv(robot, task, num_envs=n, **given), seed=seed,
                       mirror=task.mirror())  # fmt: skip
        short = A1Trot(seconds=SHORT, options=task.options)
        speed = None if "hard" in name else SMOOTH
        few = min(n, FEW)
        return SHAC(DifferentiableEnv(robot, short, few, threads=threads, contact_speed=speed),
                    seed=seed)  # fmt: skip

    def watched(row: dict[str, float]) -> None:
        nonlocal looked
        done = len(made.trained.curve)
        if done % max(1, rounds // LOOKS) and done < rounds:
            return
        begun = time.process_time()
        rows.append({"steps": row["steps"], "cpu": row["cpu"],
                     "reward": mean_reward(eyes, made.trained)})  # fmt: skip
        looked += time.process_time() - begun

    learner().learn(rounds=1)  # compiles
    made = learner()
    return Curve(made.learn(rounds=rounds, watched=watched), rows)


def mean_reward(envs: RobotVectorEnv, act: Callable[[Any], Any]) -> float:
    """Mean reward of an action without noise, always from the same starts."""
    seen, _ = envs.reset(seed=1000)
    rewards = []
    for _ in range(SEEN):
        done = envs.advance(act(seen))
        seen = done.seen
        rewards.append(done.out.reward.mean())
    return float(np.mean(rewards))


def run(setup: Setup) -> Result:
    """All methods with each seed, and what the policies do."""
    from robosim.envs.tasks.a1_trot import A1Trot

    task = A1Trot(options={"tolerance": TOLERANCE})
    seeds, play = setup.choose((SEEDS, PLAY), (SEEDS[:1], 1.2))
    n, threads = setup.choose((ROBOTS, 2), (16, 1))
    curves: dict[str, list[Curve]] = {name: [] for name in ROUNDS}
    told: dict[str, list[dict[str, Any]]] = {name: [] for name in ROUNDS}
    for name, rounds in ROUNDS.items():
        for seed in seeds:
            setup.note(f"{name}, seed {seed}")
            curve = learned(name, task, seed, setup.choose(rounds, 2), n, threads)
            found = judged(curve.trained, task, play, False)
            del found["played"]
            curves[name].append(curve)
            told[name].append({"seed": seed, **found, "evaluations": curve.rows})
    return told_of(curves, told, play)


def told_of(
    curves: dict[str, list[Curve]], told: dict[str, list[dict[str, Any]]], play: float
) -> Result:
    """The result: SHAC is judged by its worst seed, PPO by its best."""
    target, targets, sentences = partial(Target, full_only=True), [], []
    for name, each in told.items():
        fell = sum(int(one["fell"].sum()) for one in each)
        off = max(float(one["mean_error"].max()) for one in each)
        if name != "PPO":
            what = f"{name}: falls in runs of {play:g} s with one command"
            targets.append(target(what, fell, 0))
            what = f"{name}: error of mean velocities, any seed"
            targets.append(target(what, off, WITHIN, "m/s or rad/s"))
        sentences.append(
            f"{name}: {each[0]['steps'] / 1e6:.2f} million actions, {fell} falls in "
            f"{len(each) * len(COMMANDS)} runs, errors of at most {off:.3f}."
        )
    for level in LEVELS:
        steps, cpu = (
            {name: [one.first(of, level) for one in each] for name, each in curves.items()}
            for of in ("steps", "cpu")
        )
        told_each = "; ".join(
            f"{name} after {_told(steps[name], 1e3)} thousand actions, {_told(cpu[name], 1)} s"
            for name in curves
        )
        sentences.append(f"A reward of {level:g}, in CPU time: {told_each}.")
        # With few actions a policy may never come there, as in a quick run.
        fewer, faster = (
            (min(steps["PPO"]) / max(steps["SHAC"]), max(cpu["SHAC"]) / min(cpu["PPO"]))
            if np.isfinite(max(steps["SHAC"])) else (0.0, np.inf)
        )  # fmt: skip
        what = f"until a reward of {level:g}, PPO's best seed and SHAC's worst"
        targets.append(target(f"actions of PPO over those of SHAC {what}", fewer, 5.0, "", True))
        targets.append(target(f"CPU time of SHAC over that of PPO {what}", faster, 1.0))
    parameters = {
        "rounds": ROUNDS, "robots": {"SHAC": FEW, "PPO": ROBOTS}, "smoothing": SMOOTH,
        "seconds_of_an_episode": SHORT, "levels": LEVELS, "play_seconds": play,
    }  # fmt: skip

    def draw(figure: Figure) -> None:
        left, right = panels(figure, 1, 2)[0]
        for (name, each), colour in zip(curves.items(), (COLOURS["ours"], *OTHERS), strict=False):
            for axis, of, unit in ((left, "steps", 1e6), (right, "cpu", 1.0)):
                for k, one in enumerate(each):
                    axis.plot([row[of] / unit for row in one.rows],
                              [row["reward"] for row in one.rows],
                              color=colour, label=name if k == 0 else None)  # fmt: skip
        for axis, label in ((left, "actions, millions"), (right, "CPU time [s]")):
            for level in LEVELS:
                axis.axhline(level, color="grey", linewidth=0.8, linestyle="--")
            finish(axis, label, "mean reward of an action", "A1 with commands")

    return Result(parameters, {"runs": told}, {}, tuple(targets), " ".join(sentences), draw)


def _told(values: list[float], unit: float) -> str:
    """The least and the largest value of all seeds."""
    low, high = (f"{f(values) / unit:.0f}" for f in (min, max))
    return low if low == high else f"{low} to {high}"


WALK_BY_GRADIENTS = Experiment(
    ("shac",),
    "an A1 learns to follow velocities by gradients through contacts, and by PPO",
    "by gradients a fifth of PPO's actions is enough, in less time, and no policy falls",
    run,
)
