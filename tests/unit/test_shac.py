"""SHAC: the gradient of its loss, its targets of values, and what it learns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from robosim.errors import ConvergenceError, OptionError
from robosim.learning import SHAC, SHACSettings

SMALL = SHACSettings(horizon=6, hidden=(8,), rate=0.02, spread=0.2, reward_scale=0.7, batches=2)


class Slopes(NamedTuple):
    x: Any
    action: Any


class Carts:
    """n points x (n, 2) that actions move, and that are to come to zero.

    Episodes are terminated where a point is far, and truncated after some actions. The reward has
    the action before in it, and the observation the last one.
    """

    single_observation_space = SimpleNamespace(shape=(4,))
    single_action_space = SimpleNamespace(shape=(2,))

    def __init__(self, n: int = 5, far: float = 1.2, most: int = 9) -> None:
        self.num_envs, self.far, self.most, self.fails = n, far, most, False

    def reset(self, *, seed: int, spread: bool) -> Any:
        assert spread
        self.random = np.random.default_rng(seed)
        n = self.num_envs
        self.x, self.action = self.random.uniform(-1, 1, (n, 2)), np.zeros((n, 2))
        self.count = self.random.integers(0, self.most, n)
        return self.seen()

    def seen(self) -> Any:
        return np.concatenate((np.sin(self.x), self.action), axis=1)

    def advance(self, actions: Any) -> Any:
        before, self.action = self.action, actions
        self.x = 1.1 * self.x + 0.3 * actions
        self.count = self.count + 1
        reward = -(self.x**2).sum(axis=1) - 0.1 * ((actions - before) ** 2).sum(axis=1)
        terminated = np.abs(self.x).max(axis=1) > self.far
        truncated = self.count >= self.most
        over = terminated | truncated
        out = SimpleNamespace(
            reward=reward, terms={"all": reward}, terminated=terminated, truncated=truncated,
            over=over,
        )  # fmt: skip
        step = SimpleNamespace(x=self.x, action=actions, before=before, final=self.seen(), out=out)
        starts = self.random.uniform(-1, 1, self.x.shape)
        self.x = np.where(over[:, None], starts, self.x)
        self.action = np.where(over[:, None], 0.0, actions)
        self.count = np.where(over, 0, self.count)
        step.seen = self.seen()
        return step

    def back(self, step: Any, by_final: Any, by_reward: Any, after: Slopes) -> Any:
        if self.fails:
            raise ConvergenceError(0.0, 1.0, 1, 1, "point")
        jerk = 0.2 * (step.action - step.before) * by_reward[:, None]
        x = after.x + by_final[:, :2] * np.cos(step.x) - 2 * step.x * by_reward[:, None]
        actions = after.action + by_final[:, 2:] - jerk + 0.3 * x
        return actions, Slopes(1.1 * x, jerk)

    def nothing(self) -> Slopes:
        return Slopes(np.zeros((self.num_envs, 2)), np.zeros((self.num_envs, 2)))


def exact(settings: SHACSettings = SMALL, **given: Any) -> SHAC:
    """A learner in double precision, with any weights and a value of its own."""
    shac = SHAC(Carts(**given), settings)
    random = np.random.default_rng(1)
    shac.networks.theta = shac.networks.theta.astype(float)
    shac.networks.theta += 0.3 * random.standard_normal(len(shac.networks.theta))
    shac._judge = shac.networks.theta[len(shac.policy) :].copy()
    return shac


@pytest.mark.parametrize("normalized", [False, True])
def test_the_gradient_is_that_of_the_loss(normalized: bool) -> None:
    """Through points that end in each way, and a policy that is clipped; by central differences."""
    shac, random = exact(), np.random.default_rng(2)
    noise = random.standard_normal((SMALL.horizon, 5, 2))
    noise[2, 1] = 30.0, -30.0
    if normalized:
        shac.networks.mean = random.standard_normal(4)
        shac.networks.scale = random.uniform(0.5, 2.0, 4)

    def window() -> Any:
        shac._seen = shac.envs.reset(seed=7, spread=True)
        return shac.act(noise)

    first = window()
    ends = [step.out for step in first.steps[:-1]]
    assert any(out.terminated.any() for out in ends)
    assert any((out.over & ~out.terminated).any() for out in ends)
    gradient, policy = shac.gradient(first), shac.policy.copy()
    assert np.linalg.norm(gradient) > 0.01
    for k in range(len(policy)):
        found = []
        for way in (1e-6, -1e-6):
            shac.policy[k] = policy[k] + way
            found.append(shac.loss(window()))
        shac.policy[k] = policy[k]
        assert gradient[k] == pytest.approx((found[0] - found[1]) / 2e-6, rel=1e-6, abs=1e-9)


def test_long_derivatives_are_cut() -> None:
    noise = np.random.default_rng(2).standard_normal((6, 5, 2))
    lengths = []
    for most in (np.inf, 1e9, 1e-9):
        shac = exact(SHACSettings(horizon=6, hidden=(8,), batches=2, most_slope=most))
        lengths.append(np.linalg.norm(shac.gradient(shac.act(noise))))
    assert lengths[0] == lengths[1] > lengths[2] > 0


def test_one_round_lowers_the_loss() -> None:
    """Of the same starts and noise, and without ends of episodes, so that it is smooth."""
    shac = SHAC(Carts(32, far=np.inf, most=1000), SMALL)
    noise = np.random.default_rng(2).standard_normal((6, 32, 2))
    found = []
    for _ in range(2):
        shac._seen = shac.envs.reset(seed=7, spread=True)
        found.append(shac.loss(shac.act(noise)))
        shac._seen = shac.envs.reset(seed=7, spread=True)
        shac.learn(rounds=1)
    assert found[1] < found[0]


def test_points_come_to_zero() -> None:
    shac = SHAC(Carts(32), SMALL, seed=1)
    curve = shac.learn(rounds=80).curve
    assert np.mean([row["reward"] for row in curve[-5:]]) > 0.3 * curve[0]["reward"]
    assert curve[-1]["falls"] < 0.3 * curve[0]["falls"]
    assert curve[-1]["steps"] == 80 * 6 * 32
    assert curve[-1]["reward_all"] == pytest.approx(curve[-1]["reward"])
    assert curve[-1]["rate"] < curve[0]["rate"]


def test_returns_are_those_of_the_window() -> None:
    """With a trace of one: rewards of the same episode, and the value where it goes on."""
    shac = exact(SHACSettings(horizon=6, hidden=(8,), batches=2, trace=1.0, discount=0.9))
    window = shac.act(np.random.default_rng(2).standard_normal((6, 5, 2)))
    found = shac.returns(window)
    for i in range(5):
        for t in range(6):
            total, weight = 0.0, 1.0
            for k in range(t, 6):
                out = window.steps[k].out
                total += weight * window.rewards[k][i]
                weight *= 0.9
                if out.over[i] or k == 5:
                    total += weight * window.ends[k][-1][i, 0] * (not out.terminated[i])
                    break
            assert found[t, i] == pytest.approx(total, rel=1e-12)


def test_a_policy_that_is_normalized_is_the_same_by_its_layers() -> None:
    shac = SHAC(Carts(8), SHACSettings(horizon=6, hidden=(8,), batches=2, normalize=True))
    trained = shac.learn(rounds=3)
    x = np.random.default_rng(2).standard_normal((7, 4)).astype(np.float32)
    y = x
    for k, (W, b) in enumerate(trained.layers()):
        y = y @ W.T + b
        y = y / (1 + np.abs(y)) if k == 0 else y
    assert np.ndim(shac.networks.mean) == 1
    np.testing.assert_allclose(trained(x), np.clip(y, -1, 1), atol=1e-5)


def test_a_seed_says_all_and_failures_are_counted() -> None:
    first, again, other = (SHAC(Carts(), SMALL, seed=seed) for seed in (3, 3, 4))
    for shac in (first, again, other):
        shac.learn(rounds=2)
    assert np.array_equal(first.networks.theta, again.networks.theta)
    assert not np.array_equal(first.policy, other.policy)
    before = first.policy.copy()
    first.envs.fails = True  # type: ignore[attr-defined]
    assert first.learn(rounds=1).curve[-1]["failed"] == 1.0
    assert np.array_equal(first.policy, before)


def test_what_is_no_setting() -> None:
    for wrong in ({"horizon": 0}, {"hidden": (0,)}, {"rate": 0.0}, {"spread": -1.0}, {"trace": 2.0},
                  {"most_slope": 0.0}, {"follow": 0.0}):  # fmt: skip
        with pytest.raises(OptionError, match=next(iter(wrong))):
            SHACSettings(**wrong)
    with pytest.raises(OptionError, match="fewer batches"):
        SHAC(Carts(1), SHACSettings(horizon=2, batches=4))
