"""Environment steps per second, compared with MuJoCo's batches and Gymnasium's vector class."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.control.controllers import PD
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.policies import straight
from robosim.measuring.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


class Peer:
    """n A1 robots of the task A1Walk in MuJoCo, with PD targets at 50 Hz."""

    def __init__(self, n: int) -> None:
        from robosim.peers.mujoco_run import MuJoCoRun, Settings

        task = straight()
        robot = task.robot()
        kp, kd = task.gains
        home = np.asarray(robot.home)
        servos = PD(robot, home[7:], kp, kd)
        self.model = MuJoCoRun(robot, task.timestep, Settings(), servos=servos).model
        self.n, self.steps, self.task = n, task.steps, task
        self.home = home
        rng = np.random.default_rng(0)
        self.targets = home[7:] + 0.1 * rng.normal(size=(20, n, robot.nu))

    def batch(self) -> Callable[[int], None]:
        """A function that steps all environments by `mujoco.batch`."""
        from mujoco.batch import Batch

        batch = Batch(self.model, self.n, nthread=1)
        qpos, control = batch.bind("qpos"), batch.bind("ctrl")
        qpos[:] = self.home

        def step(k: int) -> None:
            control[:] = self.targets[k % len(self.targets)]
            batch.step(nstep=self.steps)

        return step

    def rollout(self) -> Callable[[int], None]:
        """A function that steps all environments by `mujoco.rollout`."""
        import mujoco
        from mujoco.rollout import Rollout

        data = mujoco.MjData(self.model)
        data.qpos[:] = self.home
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, data, state, kind)
        states = np.tile(state, (self.n, 1))
        runs = Rollout(nthread=0)

        def step(k: int) -> None:
            held = np.repeat(self.targets[k % len(self.targets)][:, None], self.steps, axis=1)
            out, _ = runs.rollout(self.model, data, states, held)
            states[:] = out[:, -1]

        return step

    def gymnasium(self) -> Callable[[int], None]:
        """A step of all by Gymnasium's own vector class, one environment after the other."""
        import gymnasium
        import mujoco

        outer = self

        class One(gymnasium.Env[Any, Any]):
            observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (37,))
            action_space = gymnasium.spaces.Box(-np.inf, np.inf, (12,))

            def __init__(self) -> None:
                self.data = mujoco.MjData(outer.model)

            def reset(self, **_: Any) -> tuple[Array, dict[str, Any]]:
                mujoco.mj_resetData(outer.model, self.data)
                self.data.qpos[:] = outer.home
                return self._seen(), {}

            def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
                self.data.ctrl[:] = action
                mujoco.mj_step(outer.model, self.data, outer.steps)
                return self._seen(), 0.0, False, False, {}

            def _seen(self) -> Array:
                return np.concatenate((self.data.qpos, self.data.qvel)).astype(np.float32)

        envs = gymnasium.vector.SyncVectorEnv([One] * self.n)
        envs.reset()
        return lambda k: envs.step(self.targets[k % len(self.targets)]) and None


def ours(n: int, steps: int, lanes: bool = True) -> Callable[[int], None]:
    """A step of n environments of robosim, with `steps` time steps for each action."""
    from robosim.envs import RobotVectorEnv

    task = straight(steps=steps)
    envs = RobotVectorEnv(task=task, num_envs=n, autoreset_mode="SameStep", threads=1, lanes=lanes)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    actions = np.clip(0.1 / task.reach * rng.normal(size=(20, n, 12)), -1, 1).astype(np.float32)
    return lambda k: envs.step(actions[k % len(actions)]) and None


def per_second(step: Callable[[int], None], n: int, seconds: float) -> float:
    """Environment steps per second: the median of seven runs."""
    step(0)
    rates = []
    for _ in range(7):
        begun, k = time.process_time(), 0
        while time.process_time() - begun < seconds / 7 or k == 0:
            step(k)
            k += 1
        rates.append(n * k / (time.process_time() - begun))
    return float(np.median(rates))


def around_physics(n: int, steps: int, seconds: float) -> float:
    """The fraction of an environment step's time that is not physics."""
    from robosim.envs import RobotVectorEnv

    envs = RobotVectorEnv(
        task=straight(steps=steps), num_envs=n, autoreset_mode="SameStep", threads=1
    )
    envs.reset(seed=0)
    bound, spent = envs.episodes.bound, [0.0]
    advance = bound.step

    def timed() -> None:
        begun = time.process_time()
        advance()
        spent[0] += time.process_time() - begun

    bound.step = timed  # type: ignore[method-assign]
    rng = np.random.default_rng(0)
    actions = np.clip(0.1 * rng.normal(size=(n, 12)), -1, 1).astype(np.float32)
    envs.step(actions)
    spent[0], begun = 0.0, time.process_time()
    while time.process_time() - begun < seconds:
        envs.step(actions)
    return 1.0 - spent[0] / (time.process_time() - begun)


def run_speed(setup: Setup) -> Result:
    """Environment steps per second and core."""
    counts, seconds = setup.choose(((1, 8, 64, 512), 7.0), ((1, 8), 0.1))
    rates: dict[str, list[float]] = {"robosim": []}
    theirs: dict[str, list[float]] = {}
    for n in counts:
        setup.note(f"{n} environments")
        rates["robosim"].append(per_second(ours(n, 5), n, seconds))
        if setup.mujoco:
            peer = Peer(n)
            for name in ("batch", "rollout", "gymnasium"):
                step = getattr(peer, name)()
                theirs.setdefault(f"mujoco, {name}", []).append(per_second(step, n, seconds))
    around = around_physics(counts[-2 if len(counts) > 2 else -1], 20, seconds)
    targets = [Target("part of a step of 20 that is not physics", around, 0.1)]
    told = ", ".join(f"{n}: {rate:.0f}" for n, rate in zip(counts, rates["robosim"], strict=True))
    sentence = f"Steps of A1Walk per second and core, by number of environments: {told}"
    if theirs and 64 in counts:
        k = counts.index(64)
        ratio = rates["robosim"][k] / theirs["mujoco, batch"][k]
        targets.append(Target("of mujoco.batch at 64", ratio, 4.0, "times", at_least=True))
        sentence += f"; at 64, {ratio:.2f} times the rate of mujoco.batch"
    sentence += f". Of a step of 20, {100 * around:.0f} % are not physics."

    def draw(figure: Figure) -> None:
        axis = panels(figure, 1, 1)[0, 0]
        for (name, row), colour in zip(
            {**rates, **theirs}.items(), (COLOURS["ours"], *OTHERS), strict=False
        ):
            axis.loglog(counts, row, "o-", color=colour, label=name)
        finish(axis, "environments", "environment steps per second and core", "A1Walk")

    peers = {"mujoco": {"settings": "defaults, implicitfast", "per_second": theirs}}
    return Result(
        {"environments": counts, "steps_per_action": 5},
        {"per_second": rates, "not_physics": around},
        peers if theirs else {},
        tuple(targets),
        sentence,
        draw,
    )


GYM_SPEED = Experiment(
    ("gym-speed",),
    "environment steps per second of A1Walk, beside MuJoCo's batches and Gymnasium's vectors",
    "four times mujoco.batch at 64 environments; a tenth at most is not physics",
    run_speed,
)
