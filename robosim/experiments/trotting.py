"""An A1 learns in a minute to follow commanded velocities, and is played in MuJoCo."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim import policies, quaternions
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.learning import PPO, Trained
from robosim.measuring.target import Target
from robosim.policies import Policy
from robosim.policies.in_mujoco import SETTINGS
from robosim.policies.report import replay
from robosim.policies.sim_to_sim import Schedule, SimToSim
from robosim.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robosim.description.mechanism import Mechanism

    # Gymnasium is needed on use only, so that experiments can be listed without it.
    from robosim.envs.tasks.a1_trot import A1Trot
    from robosim.viz import Recorder

SECONDS, SEEDS, ROBOTS, THREADS = 60.0, (0, 1, 2), 256, 2
LATE = 1.0  # [s], that a round may end after its time
TOLERANCE = 1e-5  # of steps while the robot learns; those that are judged have the default
STEP = 2e-3  # [s], of the steps with which policies are judged
PLAY = 60.0  # [s]
SHOWN = 20.0  # [s], of the replay
BEGIN = 1.0  # [s] after a change of the command, which do not count
WITHIN = 0.1  # [m/s and rad/s], of the commanded velocity
LOW, TILT = 0.5, 0.5  # part of the height at home, and cosine of the tilt: below, it has fallen
COMMANDS = np.array(
    [
        (0.7, 0.0, 0.0), (0.5, 0.0, 0.0), (0.3, 0.0, 0.0), (0.0, 0.0, 0.0),
        (-0.3, 0.0, 0.0), (0.5, 0.2, 0.0), (0.5, -0.2, 0.0), (0.0, 0.3, 0.0),
        (0.0, -0.3, 0.0), (0.4, 0.0, 0.5), (0.4, 0.0, -0.5), (0.0, 0.0, 0.6),
        (0.6, 0.1, 0.3), (0.2, -0.2, -0.3), (0.7, 0.0, 0.3), (0.6, 0.0, -0.4),
    ]
)  # fmt: skip
"""Forward and sideways velocity [m/s], and yaw rate [rad/s]."""
TOUR = (0, 7, 9, 3, 4, 14, 8, 10, 11, 1, 12, 0)
"""Commands that follow each other in one run."""


class Followed(NamedTuple):
    """How robots have followed commands, each for a run.

    Attributes
    ----------
    means : (n, 3)
        Forward and sideways velocity [m/s] and yaw rate [rad/s] in axes of the base.
    fell : (n,) of bool
    """

    means: Array
    fell: NDArray[np.bool_]


def learned(
    task: A1Trot, seed: int, seconds: float, n: int, threads: int, robot: Mechanism | None = None
) -> Trained:
    """Learn from nothing for some time; without a robot, on one whose feet alone touch the ground.

    Kernels are compiled, and all is called once, before the time begins.
    """
    from robosim.envs import RobotVectorEnv
    from robosim.envs.tasks.a1_trot import on_feet

    robot = on_feet(robosim.load("a1")) if robot is None else robot

    def learner() -> PPO:
        envs = RobotVectorEnv(robot, task, num_envs=n, autoreset_mode="SameStep", threads=threads)
        return PPO(envs, seed=seed, mirror=task.mirror())

    learner().learn(rounds=1)
    return learner().learn(seconds)


def velocities(q: Array, v: Array) -> Array:
    """Forward and sideways velocity and yaw rate of bases in their axes, (..., 3)."""
    R_wb = quaternions.rotation_matrix(q[..., 3:7].reshape(-1, 4)).reshape(*q.shape[:-1], 3, 3)
    planar = np.einsum("...ij,...i->...j", R_wb, v[..., :3])[..., :2]
    return np.concatenate((planar, v[..., 5:6]), axis=-1)


def have_fallen(q: Array, home: Array) -> NDArray[np.bool_]:
    """Whether bases (..., nq) are low or tilted; nan, where steps failed, has fallen as well."""
    upright = 1.0 - 2.0 * (q[..., 4] ** 2 + q[..., 5] ** 2)
    return ~((q[..., 2] > LOW * home[2]) & (upright > TILT))


def followed(policy: Policy, seconds: float) -> Followed:
    """Let robots with all their geometry follow each of the commands for a run."""
    robot, n = policy.robot, len(COMMANDS)
    policy = policy.copy()
    policy.command = COMMANDS
    batch = robosim.BatchSimulation(robot, n, timestep=STEP, threads=THREADS)
    batch.place(np.tile(policy.pose(), (n, 1)), 1e-3)
    every = policy.task.decimation
    run = batch.rollout(round(seconds / STEP), controller=policy, every=every)
    fell = np.asarray(have_fallen(run.q, np.asarray(robot.home)).any(axis=-1))
    late = STEP * every * np.arange(run.q.shape[1]) >= min(BEGIN, seconds / 2)
    return Followed(velocities(run.q, run.v)[:, late].mean(axis=1), fell)


def played(policy: Policy, seconds: float, mujoco: bool) -> SimToSim:
    """A run with changing commands, and beside it in MuJoCo."""
    policy = policy.copy()
    each = seconds / len(TOUR)
    policy.command = Schedule(each * np.arange(len(TOUR)), COMMANDS[list(TOUR)])
    return policies.compare(policy, seconds, "mujoco" if mujoco else None, timestep=STEP)


def errors_of_tour(found: SimToSim, seconds: float) -> list[Array]:
    """Errors of mean velocities (commands, 3) for each command of a tour, in each simulator."""
    each, all_of_them = seconds / len(TOUR), []
    for track in found.tracks:
        seen, rows = velocities(track.q, track.v), []
        for k, command in enumerate(COMMANDS[list(TOUR)]):
            since = track.t - k * each
            mine = seen[(since >= min(BEGIN, each / 2)) & (since < each)]
            rows.append(mine.mean(axis=0) - command if len(mine) else np.full(3, np.inf))
        all_of_them.append(np.abs(rows))
    return all_of_them


def judged(trained: Trained, task: A1Trot, seconds: float, mujoco: bool) -> dict[str, Any]:
    """What a policy does, from a file as others would load it."""
    robot = robosim.load("a1")
    told = replace(task.policy_task(robot), timestep=STEP, decimation=round(task.dt / STEP))
    with TemporaryDirectory() as folder:
        file = policies.export(trained, Path(folder) / "walk.onnx", robot, told)
        policy = policies.load(file, robot)
        alone = followed(policy, seconds)
        beside = played(policy, seconds, mujoco)
    off = np.abs(alone.means - COMMANDS)
    last = trained.curve[-1]
    return {
        "seconds": last["seconds"], "cpu_seconds": last["cpu"], "physics": last["physics"],
        "networks": last["networks"], "steps": last["steps"], "rounds": len(trained.curve),
        "means": alone.means, "fell": alone.fell,
        "mean_error": off.mean(axis=0), "largest_error": off.max(axis=0),
        "tour": [
            {"simulator": track.name, **measures.to_dict(), "mean_error": errors.mean(axis=0),
             "largest_error": errors.max(axis=0)}
            for track, measures, errors in zip(
                beside.tracks, beside.measures, errors_of_tour(beside, seconds), strict=True
            )
        ],
        "curve": [
            {key: row[key] for key in ("seconds", "steps", "reward", "reward_velocity", "falls")}
            for row in trained.curve
        ],
        "played": beside,
    }  # fmt: skip


def run(setup: Setup) -> Result:
    """Learn with each seed, and judge what has been learned."""
    from robosim.envs.tasks.a1_trot import A1Trot

    task = A1Trot(options={"tolerance": TOLERANCE})
    seconds, seeds, play = setup.choose((SECONDS, SEEDS, PLAY), (1.0, SEEDS[:1], 1.2))
    n, threads = setup.choose((ROBOTS, THREADS), (16, 1))
    runs = []
    for seed in seeds:
        setup.note(f"seed {seed}: learns for {seconds:g} s")
        trained = learned(task, seed, seconds, n, threads)
        setup.note(f"seed {seed}: follows commands for {play:g} s")
        runs.append({"seed": seed, **judged(trained, task, play, setup.mujoco)})
    return told_of(runs, task, seconds, play, setup.mujoco)


def told_of(
    runs: list[dict[str, Any]], task: A1Trot, seconds: float, play: float, mujoco: bool
) -> Result:
    """The result for several seeds."""
    shown, *_ = [one.pop("played") for one in runs]
    planar = max(float(one["mean_error"][:2].max()) for one in runs)
    turning = max(float(one["mean_error"][2]) for one in runs)
    fell = sum(int(one["fell"].sum()) for one in runs)
    falls = [sum(tour["fell"] is not None for tour in (one["tour"][k] for one in runs))
             for k in range(1 + mujoco)]  # fmt: skip
    slowest = max(one["seconds"] for one in runs)
    target = partial(Target, full_only=True)
    targets = [
        target("time of learning, any seed", slowest, seconds + LATE, "s"),
        target("error of mean velocities over the commands, any seed", planar, WITHIN, "m/s"),
        target("error of mean yaw rates, any seed", turning, WITHIN, "rad/s"),
        target(f"falls in runs of {play:g} s with one command", fell, 0),
        target(f"falls in runs of {play:g} s with changing commands", falls[0], 0),
    ]
    sentence = (
        f"After {seconds:g} s of PPO ({_range(runs, 'steps', 1e6, 2)} million steps, "
        f"{_range(runs, 'cpu_seconds', 1, 0)} s of CPU time), A1 of {len(runs)} seeds follow "
        f"{len(COMMANDS)} commands with mean errors of at most {planar:.3f} m/s and "
        f"{turning:.3f} rad/s. Of {len(runs) * len(COMMANDS)} runs of {play:g} s, {fell} end in a "
        "fall."
    )
    peers: dict[str, Any] = {}
    if mujoco:
        there = [one["tour"][1] for one in runs]
        off = max(float(tour["mean_error"][:2].max()) for tour in there)
        targets += [
            target(f"falls in MuJoCo in runs of {play:g} s", falls[1], 0),
            target("error of mean velocities in MuJoCo, any seed", off, WITHIN, "m/s"),
        ]
        sentence += f" In MuJoCo {falls[1]} of {len(runs)} runs do, and the error is {off:.3f} m/s."
        peers["mujoco"] = {"settings": SETTINGS.told(), "tours": there}
    parameters = {
        "seconds": seconds, "robots": ROBOTS, "timestep": task.timestep, "steps": task.steps,
        "tolerance": TOLERANCE, "judged_with_timestep": STEP, "commands": COMMANDS,
        "play_seconds": play,
    }  # fmt: skip

    def record() -> Recorder:
        return replay(shown, SHOWN)

    return Result(
        parameters, {"runs": runs}, peers, tuple(targets), sentence, partial(draw, runs), record
    )


def _range(runs: list[dict[str, Any]], key: str, unit: float, digits: int) -> str:
    """The values of all runs, from the least to the largest."""
    low, high = (f"{f(one[key] for one in runs) / unit:.{digits}f}" for f in (min, max))
    return low if low == high else f"{low} to {high}"


def draw(runs: list[dict[str, Any]], figure: Figure) -> None:
    """Plot what was learned over time, and what robots do at each command."""
    learning, ahead = panels(figure, 1, 2)[0]
    for one, colour in zip(runs, (COLOURS["ours"], *OTHERS), strict=False):
        curve = one["curve"]
        learning.plot([row["seconds"] for row in curve], [row["reward_velocity"] for row in curve],
                      color=colour, label=f"seed {one['seed']}")  # fmt: skip
        for k, (name, marker) in enumerate((("forward", "o"), ("sideways", "x"), ("yaw", "+"))):
            ahead.plot(COMMANDS[:, k], one["means"][:, k], marker, color=colour, markersize=5,
                       label=name if one is runs[0] else None)  # fmt: skip
    ahead.plot((-0.6, 0.8), (-0.6, 0.8), color="grey", linewidth=0.8)
    finish(learning, "time [s]", "reward for the velocity, of 1 at most", "PPO, from nothing")
    finish(ahead, "command [m/s, rad/s]", "mean of a run", "A1 with held commands")


WALK = Experiment(
    ("walk",),
    "an A1 learns to follow velocities in a minute, with three seeds, and is played in MuJoCo",
    "after 60 s on two cores policies follow commands within 0.1 m/s, and none falls",
    run,
)
