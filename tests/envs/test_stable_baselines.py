"""Stable-Baselines3 over environments in a batch, beside its own over single ones."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from robosim.envs import RobotEnv, RobotVectorEnv
from robosim.envs.tasks.cart_pole import CartPole
from robosim.errors import OptionError
from robosim.version import install


class Balance(CartPole):
    """Keep a pole upright that nearly is, as long as it does not fall."""

    seconds = 4.0

    def reset(self, start: Any) -> Any:
        q, v = super().reset(start)
        q[:, 1] = np.pi + 0.25 * start.drawn["angle"]
        return q, 0.25 * v

    def observe(self, now: Any) -> Any:
        return np.stack((now.q[:, 0], np.sin(now.q[:, 1]), *now.v.T, now.v[:, 1]), axis=1)

    def reward(self, now: Any) -> Any:
        return {"alive": np.ones(len(now.time)), "far": -0.1 * now.q[:, 0] ** 2}

    def done(self, now: Any) -> Any:
        return np.cos(now.q[:, 1]) > -0.8


def test_it_is_what_single_ones_are() -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    from robosim.envs.sb3 import VecEnv

    ours = VecEnv(
        RobotVectorEnv(task=Balance(), num_envs=3, lanes=False, autoreset_mode="SameStep")
    )
    theirs = vec_env.DummyVecEnv([lambda: RobotEnv(task=Balance())] * 3)
    for one in (ours, theirs):
        one.seed(4)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    random, ends, returns = np.random.default_rng(0), 0, np.zeros(3)
    for _ in range(80):
        action = random.uniform(-1, 1, (3, 1)).astype(np.float32)
        (seen, reward, over, infos), other = ours.step(action), theirs.step(action)
        for a, b in zip((seen, reward, over), other[:3], strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
        returns += reward
        for i in np.flatnonzero(over):
            for key in ("terminal_observation", "TimeLimit.truncated", "failed"):
                np.testing.assert_array_equal(infos[i][key], other[3][i][key])
            assert infos[i]["episode"]["r"] == pytest.approx(returns[i], rel=1e-5)
            assert sum(infos[i]["reward_terms"].values()) == pytest.approx(returns[i], rel=1e-5)
            returns[i] = 0.0
            ends += 1
    assert ends >= 3


def test_what_it_does_not_take() -> None:
    pytest.importorskip("stable_baselines3")
    from robosim.envs.sb3 import VecEnv

    with pytest.raises(OptionError, match="autoreset_mode='SameStep', not 'NextStep'"):
        VecEnv(RobotVectorEnv())
    with pytest.raises(OptionError, match="RobotVectorEnv"):
        VecEnv(RobotEnv())  # type: ignore[arg-type]
    envs = VecEnv(RobotVectorEnv(num_envs=2, lanes=False, autoreset_mode="SameStep"))
    with pytest.raises(OptionError, match="share 'task'"):
        envs.set_attr("task", None, indices=[0])
    assert envs.get_attr("num_envs", indices=0) == [2]


def test_without_it_it_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "import robosim.envs\n"
        "try: import robosim.envs.sb3\n"
        "except robosim.errors.MissingExtraError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert install("sb3") in done.stdout, done.stderr


def test_a_policy_learns_to_balance() -> None:
    sb3, torch = (pytest.importorskip(name) for name in ("stable_baselines3", "torch"))
    from robosim.envs.sb3 import VecEnv

    torch.set_num_threads(1)
    envs = VecEnv(RobotVectorEnv(task=Balance(), num_envs=16, autoreset_mode="SameStep"))
    model = sb3.PPO("MlpPolicy", envs, n_steps=128, batch_size=256, learning_rate=1e-3, seed=0)
    lengths = []
    for steps in (1, 40_000):
        model.learn(steps, reset_num_timesteps=False)
        lengths.append(np.mean([episode["l"] for episode in model.ep_info_buffer]))
    # Of 200 steps that there are.
    assert lengths[0] < 80
    assert lengths[1] > 180
