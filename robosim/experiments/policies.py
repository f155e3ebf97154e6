"""Policies learned by PPO: an A1 walks at a commanded velocity, and a baseline for each task."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.environments import SPEED, straight
from robosim.measuring.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
WITHIN = 0.1  # [m/s], of the commanded speed
MINUTES, SEEDS, WALK = 10.0, (0, 1, 2), 60.0
TASKS = (
    "CartPole",
    "Acrobot",
    "Exoskeleton",
    "Push",
    "MinitaurHop",
    "A1Stairs",
    "A1Walk",
    "A1Trot",
    "A1Rough",
)
BASELINE_MINUTES = 5.0
LEARNING_RATE, LEAST_RATE = 5e-4, 0.1  # the second is the final value as a fraction of the first


def learn(
    task: Any,
    seed: int,
    seconds: float,
    n: int = 128,
    rounds: int = 32,
    threads: int = 2,
    spread: float = 0.3,
    entropy: float = 0.0,
    watched: Callable[[Callable[[Any], Array], int], None] | None = None,
) -> tuple[Callable[[Any], Array], list[dict[str, float]], int]:
    """Learn a task by PPO of Stable-Baselines3, for some seconds of real time.

    Actions have an initial standard deviation of `spread`; `entropy` is the coefficient of the
    entropy bonus. After each round `watched` is called with the policy and the number of steps; the
    time of this call does not count.

    Returns
    -------
    act : callable
        The deterministic policy: from observations (k, no) to actions (k, na).
    curve : list of mappings
        ``time`` [s], ``steps``, mean ``reward`` of a step and mean ``length`` [s] of an episode.
    steps : int
        Number of environment steps.
    """
    from robosim.envs import RobotVectorEnv
    from robosim.envs.sb3 import VecEnv  # an error that names what to install, without it

    import torch  # isort: skip
    from stable_baselines3 import PPO  # isort: skip
    from stable_baselines3.common.callbacks import BaseCallback  # isort: skip
    from stable_baselines3.common.vec_env import VecNormalize  # isort: skip

    torch.set_num_threads(1)  # more threads are not faster for such small networks
    envs = RobotVectorEnv(task=task, num_envs=n, autoreset_mode="SameStep", threads=threads)
    seen = VecNormalize(VecEnv(envs), norm_reward=False)
    begun, curve = time.perf_counter(), []
    watching = 0.0

    def clock() -> float:
        return time.perf_counter() - begun - watching

    class Clock(BaseCallback):  # type: ignore[misc]
        rewards: list[float]

        def _on_rollout_start(self) -> None:
            self.rewards = []

        def _on_step(self) -> bool:
            # Without the estimated value after an episode that is cut off, unlike the buffer's.
            self.rewards.append(float(np.mean(self.locals["rewards"])))
            return clock() < seconds

        def _on_rollout_end(self) -> None:
            ended = [one["l"] for one in self.model.ep_info_buffer]
            curve.append(
                {
                    "time": clock(),
                    "steps": self.num_timesteps,
                    "reward": float(np.mean(self.rewards)),
                    "length": float(np.mean(ended)) * task.dt if ended else np.nan,
                }
            )
            if watched is not None:
                nonlocal watching
                paused = time.perf_counter()
                watched(act, self.num_timesteps)
                watching += time.perf_counter() - paused

    def rate(_: float) -> float:
        left = 1 - clock() / seconds
        return LEARNING_RATE * max(LEAST_RATE, left)

    model = PPO(
        "MlpPolicy", seen, n_steps=rounds, batch_size=n * rounds // 4, n_epochs=5,
        learning_rate=rate, target_kl=0.03, vf_coef=1.0, max_grad_norm=1.0,
        ent_coef=entropy, seed=seed, device="cpu",
        policy_kwargs={"net_arch": [256, 128], "activation_fn": torch.nn.ELU,
                       "log_std_init": float(np.log(spread))},
    )  # fmt: skip

    def act(looks: Array) -> Array:
        actions, _ = model.predict(seen.normalize_obs(looks), deterministic=True)
        return np.asarray(actions)

    model.learn(10**9, callback=Clock())
    return act, curve, int(model.num_timesteps)


def walked(
    act: Callable[[Any], Array], seconds: float, n: int = 16, threads: int = 2
) -> tuple[Array, int]:
    """Mean forward speeds (n,) [m/s] of a policy's walks, and the number of falls."""
    from robosim.envs import RobotVectorEnv

    task = straight(seconds=seconds)
    envs = RobotVectorEnv(task=task, num_envs=n, autoreset_mode="SameStep", threads=threads)
    seen, _ = envs.reset(seed=1000)
    fell = np.zeros(n, dtype=bool)
    speeds = []
    for k in range(task.most_steps):
        # The first second is left out, as the robot starts from rest.
        if k * task.dt >= 1.0:
            speeds.append(seen[:, 0])
        seen, _, over, _, _ = envs.step(act(seen))
        fell |= over
    return np.mean(speeds, axis=0), int(fell.sum())


def run_ppo(setup: Setup) -> Result:
    """PPO until the A1 follows 0.5 m/s."""
    minutes, seeds = setup.choose((MINUTES, SEEDS), (0.05, SEEDS[:1]))
    seconds = setup.choose(WALK, 1.5)
    n, rounds = setup.choose((128, 32), (8, 16))
    runs = []
    for seed in seeds:
        setup.note(f"seed {seed}: {minutes:g} minutes")
        act, curve, steps = learn(straight(), seed, 60 * minutes, n, rounds)
        speeds, fell = walked(act, seconds, n=setup.choose(16, 8))
        runs.append({"seed": seed, "curve": curve, "steps": steps, "speeds": speeds, "fell": fell})
    return told_of(runs, minutes, seconds)


def told_of(runs: list[dict[str, Any]], minutes: float, seconds: float) -> Result:
    """The result for several seeds."""
    off = [float(np.abs(np.asarray(run["speeds"]) - SPEED).max()) for run in runs]
    fell = sum(run["fell"] for run in runs)
    targets = (
        Target(f"farthest from {SPEED} m/s, any seed and walk", max(off), WITHIN, "m/s"),
        Target(f"falls in walks of {seconds:g} s", float(fell), 0),
    )
    means = [float(np.mean(run["speeds"])) for run in runs]
    steps = ", ".join(f"{run['steps'] / 1e6:.2f}" for run in runs)
    sentence = (
        f"After {minutes:g} minutes of PPO ({steps} million steps) policies of {len(runs)} seeds "
        f"walk at {min(means):.3f} to {max(means):.3f} m/s for {seconds:g} s, and {fell} of "
        f"{sum(len(run['speeds']) for run in runs)} walks end in a fall."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        for run, colour in zip(runs, (COLOURS["ours"], *OTHERS), strict=False):
            clock = [row["time"] / 60 for row in run["curve"]]
            for axis, key in zip(axes, ("reward", "length"), strict=True):
                axis.plot(clock, [row[key] for row in run["curve"]], color=colour,
                          label=f"seed {run['seed']}")  # fmt: skip
        finish(axes[0], "time [min]", "reward of a step", "PPO, A1 at 0.5 m/s")
        finish(axes[1], "time [min]", "length of an episode [s]", "of 20 s at most")

    return Result(
        {"minutes": minutes, "walk_seconds": seconds, "speed": SPEED},
        {"runs": runs},
        {},
        targets,
        sentence,
        draw,
    )


def baseline(name: str, seconds: float, n: int = 64, rounds: int = 64) -> dict[str, Any]:
    """PPO on a built-in task: the curve, and returns of the policy and of zero actions."""
    from robosim.envs.making import task_of

    task = task_of(name, {})
    act, curve, steps = learn(task, 0, seconds, n, rounds, spread=0.5, entropy=0.005)
    size = 16 if n >= 16 else n
    return {
        "curve": curve,
        "steps": steps,
        "returns": returns(name, act, size),
        "returns_without": returns(name, None, size),
    }


def returns(name: str, act: Callable[[Any], Array] | None, n: int) -> Array:
    """Returns (n,) of the first episodes of a policy, or of zero actions."""
    from robosim.envs import RobotVectorEnv

    envs = RobotVectorEnv(task=name, num_envs=n, autoreset_mode="SameStep")
    seen, _ = envs.reset(seed=1000)
    total, live = np.zeros(n), np.ones(n, dtype=bool)
    still = np.zeros(envs.action_space.shape or (), dtype=np.float32)
    while live.any():
        seen, reward, over, late, _ = envs.step(still if act is None else act(seen))
        total += np.where(live, reward, 0.0)
        live &= ~(over | late)
    return total


def run_baselines(setup: Setup) -> Result:
    """PPO on every task, with one set of hyperparameters."""
    names, minutes = setup.choose((TASKS, BASELINE_MINUTES), (TASKS[:1], 0.05))
    n, rounds = setup.choose((64, 64), (8, 16))
    rows = {}
    for name in names:
        setup.note(f"{name}: {minutes:g} minutes")
        rows[name] = baseline(name, 60 * minutes, n, rounds)
    return told_of_baselines(rows, minutes)


def told_of_baselines(rows: dict[str, dict[str, Any]], minutes: float) -> Result:
    """The result of PPO on several tasks."""
    means = {
        name: (float(np.mean(row["returns"])), float(np.mean(row["returns_without"])))
        for name, row in rows.items()
    }
    targets = tuple(
        Target(f"mean return of {name}, against no action", found, still, at_least=True)
        for name, (found, still) in means.items()
    )
    told = ", ".join(f"{name} {found:.0f} ({still:.0f})" for name, (found, still) in means.items())

    def draw(figure: Figure) -> None:
        axes = panels(figure, -(-len(rows) // 3), min(3, len(rows)), width=4.2)
        for axis, (name, row) in zip(axes.reshape(-1), rows.items(), strict=False):
            clock = [point["time"] / 60 for point in row["curve"]]
            axis.plot(clock, [point["reward"] for point in row["curve"]], color=COLOURS["ours"])
            finish(axis, "time [min]", "reward of a step", name, legend=False)
        for axis in axes.reshape(-1)[len(rows) :]:
            axis.set_axis_off()

    return Result(
        {"minutes": minutes},
        {"tasks": rows},
        {},
        targets,
        f"Mean returns after {minutes:g} minutes of PPO (and of no action): {told}.",
        draw,
    )


PPO_A1 = Experiment(
    ("ppo-a1",),
    "the A1 learns by PPO to walk at 0.5 m/s, with three seeds",
    "policies follow 0.5 m/s within 0.1 m/s for a minute, and none falls",
    run_ppo,
)
BASELINES = Experiment(
    ("gym-baselines",),
    "PPO on every task of robosim.envs, with one set of hyperparameters",
    "learned policies have a larger return than no action",
    run_baselines,
)
