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


def some_actions(n: int, task: A1Walk) -> Any:
    """Twenty actions of n environments, by which robots stand and step on the spot."""
    rng = np.random.default_rng(0)
    return np.clip(0.1 / task.reach * rng.normal(size=(20, n, 12)), -1, 1).astype(np.float32)


def ours(n: int, steps: int, lanes: bool = True) -> Callable[[int], None]:
    """A step of n environments of robosim, with `steps` time steps for each action."""
    from robosim.envs import RobotVectorEnv

    task = straight(steps=steps)
    envs = RobotVectorEnv(task=task, num_envs=n, autoreset_mode="SameStep", threads=1, lanes=lanes)
    envs.reset(seed=0)
    actions = some_actions(n, task)
    return lambda k: envs.step(actions[k % len(actions)]) and None


def our_single(steps: int, lanes: bool) -> Callable[[int], None]:
    """A step of one environment, by `RobotEnv`, with or without its legs in lanes."""
    from robosim.envs import RobotEnv

    task = straight(steps=steps)
    env = RobotEnv(task=task, lanes=lanes, limited=False)
    env.reset(seed=0)
    actions = some_actions(1, task)[:, 0]

    def step(k: int) -> None:
        if any(env.step(actions[k % len(actions)])[2:4]):
            env.reset()

    return step


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
    """The fraction of an environment step's time that is not physics.

    That is the time of environments beside that of the time steps of the same robots with the same
    targets. Both take turns, and the median of the fractions of all turns is returned.
    """
    from robosim.envs import RobotVectorEnv

    both, task = [], straight(steps=steps)
    for _ in range(2):
        envs = RobotVectorEnv(task=task, num_envs=n, autoreset_mode="SameStep", threads=1)
        envs.reset(seed=0)
        both.append(envs)
    actions, (envs, beside) = some_actions(n, task), both
    bound = beside.episodes.bound
    center, scale, _ = beside.episodes.actions.scales
    targets = center + scale * actions

    def act(k: int) -> None:
        envs.step(actions[k])

    def move(k: int) -> None:
        bound.targets[:] = targets[k]
        bound.step()

    def spent(take: Callable[[int], None]) -> float:
        begun = time.process_time()
        for _ in range(max(1, 64 // n)):
            for k in range(len(actions)):
                take(k)
        return time.process_time() - begun

    parts: list[float] = []
    begun = time.process_time()
    while time.process_time() - begun < seconds or not parts:
        whole = spent(act)
        parts.append(1.0 - spent(move) / whole)
    return float(np.median(parts))
