"""Environments of robosim and of MuJoCo, and how many steps a second they take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.control.controllers import PD

if TYPE_CHECKING:
    from robosim.envs.tasks.a1_walk import A1Walk

Array = NDArray[np.float64]
SPEED = 0.5  # [m/s], that the A1 is to walk at


def straight(**settings: Any) -> A1Walk:
    """The task of walking forward at one speed."""
    from robosim.envs.tasks.a1_walk import A1Walk

    return A1Walk(forward=(SPEED, SPEED), sideways=(0, 0), turning=(0, 0), **settings)


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
