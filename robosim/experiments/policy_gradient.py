"""Policies learned by gradients through rollouts, by PPO and by random search."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from robosim.errors import ConvergenceError
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.policies import learn
from robosim.learning import RandomSearch
from robosim.measuring.target import Target
from robosim.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    # Modules that need Gymnasium are imported on use, so that experiments can be listed without it.
    from robosim.envs import RobotVectorEnv
    from robosim.envs.task import Task
    from robosim.experiments.backpropagation import Episodes, Network

HIDDEN = 32, 32  # tanh units of the policies of gradients and of the random search
STARTS = 16  # initial states for the evaluation of policies, equal for all methods
SEARCHED = 8  # initial states for an evaluation in the random search: as many as SIMD lanes
EVERY = 5.0  # [s] of learning between two evaluations
METHODS = {"gradients": COLOURS["ours"], "PPO": OTHERS[0], "random search": OTHERS[1]}
SEEDS = 0, 1, 2
Act = Callable[[Array], Array]


class Problem(NamedTuple):
    """A task, and the options of its gradient ascent."""

    task: Task
    seconds: float  # time for learning
    episodes: int  # number of simultaneous episodes
    rate: float  # initial rate of Adam
    fall: float  # decrease of the value after which smaller steps are made, from the best policy
    most: float  # largest norm of an episode's gradient
    contact_speed: float | None
    enough: float  # value that shows that the task is done


def mean_reward(envs: RobotVectorEnv, act: Act, actions: int, seed: int) -> float:
    """Mean reward of an action, from the initial states of a seed."""
    seen, _ = envs.reset(seed=seed)
    total = 0.0
    for _ in range(actions):
        seen, reward, _, _, _ = envs.step(act(np.asarray(seen, dtype=float)))
        total += float(np.mean(reward)) / actions
    return total


class Curve:
    """Values of policies while a method learns; time for evaluation does not count.

    Parameters
    ----------
    task : Task
    seconds : float
        Time for learning.
    """

    def __init__(self, task: Task, seconds: float) -> None:
        from robosim.envs import RobotVectorEnv

        self._envs = RobotVectorEnv(task=task, num_envs=STARTS, autoreset_mode="SameStep")
        self._actions, self._seconds = task.most_steps, seconds
        self._begun, self._judged = time.perf_counter(), -np.inf
        self.rows: list[dict[str, float]] = []

    @property
    def time(self) -> float:
        """Time of learning so far [s]."""
        return time.perf_counter() - self._begun

    @property
    def left(self) -> float:
        """The share of the time for learning that is left."""
        return max(0.0, 1.0 - self.time / self._seconds)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.time >= self._seconds

    @property
    def best(self) -> float:
        """The largest value so far."""
        return max((row["value"] for row in self.rows), default=-np.inf)

    def look(self, act: Act, samples: int) -> None:
        """Evaluate a policy, unless the last evaluation was just before."""
        if self.time < self._judged + EVERY and not self.over:
            return
        begun = time.perf_counter()
        self._judged = self.time
        value = mean_reward(self._envs, act, self._actions, seed=0)
        self.rows.append({"time": self._judged, "samples": samples, "value": value})
        self._begun += time.perf_counter() - begun

    def fewest(self, value: float) -> float:
        """Actions until a value was reached; of a method that never reached it all that it took."""
        return min(self.first(value, "samples"), self.rows[-1]["samples"])

    def first(self, value: float, of: str) -> float:
        """Time [s] or number of "samples" (actions) until a value was reached; inf: never."""
        return next((row[of] for row in self.rows if row["value"] >= value), np.inf)


def policy_for(episodes: Episodes, random: np.random.Generator) -> Network:
    """An initial policy, with nearly zero actions."""
    from robosim.experiments.backpropagation import Network

    no, na = episodes.sizes
    most = np.broadcast_to(episodes.task.bounds(episodes.robot)[1], no)
    return Network((no, *HIDDEN, na), random, np.where(np.isfinite(most), most / 2.0, 1.0))


def follow_gradients(problem: Problem, threads: int, seed: int) -> Curve:
    """Gradient ascent by Adam through whole episodes, with a rate that falls to zero."""
    from robosim.experiments.backpropagation import Adam, Episodes

    task, random = problem.task, np.random.default_rng(seed)
    episodes = Episodes(task, problem.episodes, threads, problem.most, problem.contact_speed)
    policy = policy_for(episodes, random)
    adam, rate, samples = Adam(len(policy.parameters)), problem.rate, 0
    best, kept = -np.inf, policy.parameters.copy()
    curve = Curve(task, problem.seconds)
    while not curve.over:
        episodes.begin(random)
        samples += problem.episodes * task.most_steps
        try:
            values, gradient = episodes.values(policy, task.most_steps)
        except ConvergenceError:
            continue  # with other initial states
        value = float(values.mean())
        if value < best - problem.fall:
            # Return to the best policy, with smaller steps.
            policy.parameters[:] = kept
            adam, rate = Adam(len(kept)), 0.5 * rate
            continue
        if value > best:
            best, kept = value, policy.parameters.copy()
        length = float(np.linalg.norm(gradient))
        policy.parameters += adam(gradient / max(length, 1.0), rate * curve.left)
        curve.look(lambda seen: policy(seen)[-1], samples)
    return curve


def search_randomly(problem: Problem, threads: int, seed: int) -> Curve:
    """The random search of [Bruedigam2023] for the parameters of the same policies."""
    from robosim.envs import RobotVectorEnv
    from robosim.experiments.backpropagation import Episodes

    task, random, n = problem.task, np.random.default_rng(seed), SEARCHED
    envs = RobotVectorEnv(task=task, num_envs=n, autoreset_mode="SameStep", threads=threads)
    policy = policy_for(Episodes(task, 1), random)
    search, samples = RandomSearch(policy.parameters, seed=seed), 0
    curve = Curve(task, problem.seconds)
    while not curve.over:
        policy.parameters[:] = search.ask()
        # All have the same initial states, as a better policy is kept for good.
        value = mean_reward(envs, lambda seen: policy(seen)[-1], task.most_steps, seed=seed + 1)
        samples += n * task.most_steps
        search.tell(value)
        policy.parameters[:] = search.best
        curve.look(lambda seen: policy(seen)[-1], samples)
    return curve


def follow_ppo(problem: Problem, threads: int, seed: int) -> Curve:
    """PPO of Stable-Baselines3, with the settings that learn to walk; see `policies`."""
    curve, seconds = Curve(problem.task, problem.seconds), problem.seconds
    learn(problem.task, seed, seconds, n=64, rounds=32, threads=threads, watched=curve.look)
    return curve


def run(setup: Setup) -> Result:
    """All methods on both tasks, with each seed."""
    from robosim.experiments.standing import Balance, StandUp

    short = setup.choose(1.0, 0.1)
    problems = {
        "cart-pole": Problem(
            Balance(seconds=3.0 * short), setup.choose(120.0, 1.0), 16, 2e-2, np.inf, 2.0, None, 0.8
        ),
        "A1 stands up": Problem(
            StandUp(seconds=1.5 * short), setup.choose(240.0, 1.0), 4, 5e-3, 0.25, 5.0, 1e-2, 0.75
        ),
    }
    methods: dict[str, Callable[[Problem, int, int], Curve]] = {
        "PPO": follow_ppo,  # first, as a run without Stable-Baselines3 fails
        "gradients": follow_gradients,
        "random search": search_randomly,
    }
    threads, curves = setup.choose(2, 1), {}
    for name, problem in problems.items():
        for method, learned in methods.items():
            for seed in setup.choose(SEEDS, SEEDS[:1]):
                setup.note(f"{name}: {method}, seed {seed}, {problem.seconds:g} s")
                curves[name, method, seed] = learned(problem, threads, seed)
    return told_of(problems, curves)


class Reached(NamedTuple):
    """What a method came to with its worst seed, and with its best one."""

    least: float  # smallest of the largest values of all seeds
    samples: float  # largest number of actions until the value that is enough; inf: some never did
    clock: float  # largest time until then [s]
    fewest: float  # smallest number of actions until then, or all that a seed took

    @classmethod
    def by(cls, curves: Sequence[Curve], enough: float) -> Reached:
        """Of the curves of all seeds."""
        return cls(
            min(curve.best for curve in curves),
            max(curve.first(enough, "samples") for curve in curves),
            max(curve.first(enough, "time") for curve in curves),
            min(curve.fewest(enough) for curve in curves),
        )


def told_first(value: float, samples: float, clock: float) -> str:
    """When a value was reached first, in actions and in seconds."""
    if not np.isfinite(samples):
        return f"{value:g} not reached"
    return f"from {value:g} on after {samples / 1e3:.0f} thousand actions, {clock:.0f} s"


def told_of(problems: dict[str, Problem], curves: dict[tuple[str, str, int], Curve]) -> Result:
    """The result of all methods; gradients are judged by their worst seed, others by their best."""
    targets, sentences = [], []
    seeds = max(seed for _, _, seed in curves) + 1
    for name, problem in problems.items():
        reached = {
            method: Reached.by(
                [curves[name, method, seed] for seed in range(seeds)], problem.enough
            )
            for method in METHODS
        }
        ours = reached["gradients"]
        value = f"{name}: value by gradients, worst seed"
        targets.append(Target(value, ours.least, problem.enough, at_least=True, full_only=True))
        others = min(one.fewest for method, one in reached.items() if method != "gradients")
        fewest = (
            f"{name}: actions with the worst seed, over the fewest of others, or over all where "
            "these never do"
        )
        targets.append(Target(fewest, ours.samples / others, 1.0, full_only=True))
        said = [
            f"{method} {one.least:.2f} ({told_first(problem.enough, one.samples, one.clock)})"
            for method, one in reached.items()
        ]
        sentences.append(f"{name}: {', '.join(said)}.")
    if seeds > 1:
        sentences.append(f"Values and times are those of the worst of {seeds} seeds.")

    def draw(figure: Figure) -> None:
        axes = panels(figure, len(problems), 2)
        for row, (name, problem) in zip(axes, problems.items(), strict=True):
            for (task, method, seed), curve in curves.items():
                if task != name:
                    continue
                label = method if seed == 0 else None
                for axis, of in zip(row, ("samples", "time"), strict=True):
                    axis.plot([one[of] for one in curve.rows],
                              [one["value"] for one in curve.rows],
                              ".-", color=METHODS[method], label=label)  # fmt: skip
            row[0].set_xscale("log")
            for axis, label in zip(row, ("actions taken", "time [s]"), strict=True):
                axis.axhline(problem.enough, color="grey", linewidth=0.8, linestyle="--")
                finish(axis, label, "mean reward of an action", name)

    rows = {
        f"{task}, {method}, seed {seed}": curve.rows
        for (task, method, seed), curve in curves.items()
    }
    return Result(
        {name: {"seconds": problem.task.seconds, "episodes": problem.episodes}
         for name, problem in problems.items()},
        rows,
        {},
        tuple(targets),
        " ".join(sentences),
        draw,
    )  # fmt: skip


POLICY_GRADIENT = Experiment(
    ("policy-gradient",),
    "policies that learn by gradients through rollouts",
    "A cart-pole and an A1 that stands up are learned from fewer samples than by PPO or a random "
    "search.",
    run,
)
