"""PPO: its gradient, its targets of values, and what it learns in simple environments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robosim.errors import OptionError
from robosim.learning import PPO, Mirror, Settings
from robosim.learning.actor_critic import ActorCritic, Batch

SMALL = Settings(steps=16, batches=2, hidden=(16,), discount=0.5, reward_scale=1.0, fall=0.0)
SWAP = Mirror.of((1, 0), (1.0, 1.0), (1, 0), (1.0, 1.0))


class Aim:
    """n environments in which actions are to be what is seen, and that end after each action."""

    autoreset_mode = "SameStep"
    single_observation_space = single_action_space = SimpleNamespace(shape=(2,))

    def __init__(self, n: int = 32, ends: str = "terminated", reward: float | None = None) -> None:
        self.num_envs, self.ends, self.reward = n, ends, reward

    def reset(self, *, seed: int, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        assert options == {"spread": True}
        self.random = np.random.default_rng(seed)
        self.goal = self.random.uniform(-0.5, 0.5, (self.num_envs, 2)).astype(np.float32)
        return self.goal, {}

    def advance(self, actions: Any) -> Any:
        n, before = self.num_envs, self.goal
        reward = -((actions - before) ** 2).sum(axis=1)
        if self.reward is not None:
            reward = np.full(n, self.reward)
        self.goal = self.random.uniform(-0.5, 0.5, (n, 2)).astype(np.float32)
        ends = {name: np.full(n, name == self.ends) for name in ("terminated", "truncated")}
        out = SimpleNamespace(reward=reward, terms={"off": reward}, **ends)
        return SimpleNamespace(out=out, seen=self.goal, final=before)


def loss_of(theta: Any, of: ActorCritic, batch: Batch, clip: float, weight: float) -> float:
    """PPO's loss in double precision, from its formula."""
    at = 0

    def network(sizes: Any) -> Any:
        nonlocal at
        x = np.asarray(batch.seen, float)
        for k, (a, b) in enumerate(pairwise(sizes)):
            x = x @ theta[at : at + a * b].reshape(a, b) + theta[at + a * b : at + a * b + b]
            at += a * b + b
            x = x / (1 + np.abs(x)) if k < len(sizes) - 2 else x
        return x

    mean, value = network(of.actor), network(of.critic)[:, 0]
    spread = theta[at:]
    likely = -(0.5 * ((batch.actions - mean) / np.exp(spread)) ** 2 + spread).sum(axis=1)
    ratio = np.exp(likely - batch.likely)
    gain = np.minimum(ratio * batch.better, np.clip(ratio, 1 - clip, 1 + clip) * batch.better)
    return float(np.mean(-gain + weight * (value - batch.returns) ** 2))


@pytest.mark.parametrize("n", [7, 70])
def test_the_gradient_is_that_of_the_loss(n: int) -> None:
    """Of fewer rows than a block has, and of more; by central differences."""
    random = np.random.default_rng(0)
    of = ActorCritic(5, 3, (8, 6), 0.5, random)
    of.theta += 0.3 * random.standard_normal(len(of.theta)).astype(np.float32)
    numbers = (random.standard_normal(shape) for shape in ((n, 5), (n, 3), n, n, n))
    batch = Batch(*(one.astype(np.float32) for one in numbers))
    spread = np.exp(of.spreads)
    likely = -(0.5 * ((batch.actions - of.act(batch.seen)) / spread) ** 2 + of.spreads).sum(axis=1)
    batch = batch._replace(likely=(likely + 0.2 * batch.likely).astype(np.float32))
    with ThreadPoolExecutor(2) as threads:
        gradient, sums = of.gradient(batch, np.arange(n), n, 0.2, 0.7, threads)
    theta = of.theta.astype(float)
    assert sums[0] + 0.7 * sums[1] == pytest.approx(loss_of(theta, of, batch, 0.2, 0.7), rel=1e-5)
    assert 0 < sums[3] < 1
    for k in range(len(theta)):
        step = np.zeros(len(theta))
        step[k] = 1e-6
        ends = [loss_of(theta + way * step, of, batch, 0.2, 0.7) for way in (1.0, -1.0)]
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-3, abs=1e-5)


def test_actions_become_what_is_asked_for() -> None:
    ppo = PPO(Aim(), SMALL)
    curve = ppo.learn(rounds=60).curve
    assert curve[0]["reward"] < -0.3
    assert curve[-1]["reward"] > 0.2 * curve[0]["reward"]
    goal = np.random.default_rng(5).uniform(-0.5, 0.5, (100, 2))
    assert np.abs(ppo.trained(goal) - goal).mean() < 0.1
    assert curve[-1]["steps"] == 60 * 16 * 32
    assert curve[-1]["reward_off"] == pytest.approx(curve[-1]["reward"])
    assert curve[-1]["falls"] == 16 * 32
    assert curve[-1]["seconds"] >= curve[-1]["physics"] > 0


def test_a_seed_says_all() -> None:
    first, again, other = (PPO(Aim(), SMALL, seed=seed, mirror=SWAP) for seed in (3, 3, 4))
    for ppo in (first, again, other):
        ppo.learn(rounds=2)
        ppo.learn(rounds=1)
    assert np.array_equal(first.networks.theta, again.networks.theta)
    assert not np.array_equal(first.networks.theta, other.networks.theta)
    assert len(first.trained.curve) == 3


@pytest.mark.parametrize(("ends", "value"), [("terminated", 1.0), ("truncated", 2.0)])
def test_time_alone_does_not_end_what_an_episode_is_worth(ends: str, value: float) -> None:
    """A reward of one forever is worth 1 / (1 - 0.5), and once it is worth one."""
    ppo = PPO(Aim(ends=ends, reward=1.0), SMALL)
    ppo.learn(rounds=60)
    assert ppo.networks.value(ppo.envs.goal).mean() == pytest.approx(value, abs=0.1)


def test_a_fall_costs() -> None:
    ppo = PPO(
        Aim(reward=1.0), Settings(steps=16, batches=2, hidden=(16,), reward_scale=1.0, fall=-3.0)
    )
    ppo.learn(rounds=60)
    assert ppo.networks.value(ppo.envs.goal).mean() == pytest.approx(-2.0, abs=0.2)


def test_mirror_images_are_learned_from_as_well() -> None:
    """The first number is always the larger one: the other case is known by mirror images alone."""

    class Ordered(Aim):
        def advance(self, actions: Any) -> Any:
            """The action is to be 0.3 where the number is the larger one, and else -0.3."""
            done = super().advance(actions)
            done.out.reward = -((actions - [0.3, -0.3]) ** 2).sum(axis=1)
            self.goal = done.seen[:] = np.sort(done.seen, axis=1)[:, ::-1]
            return done

    goals = np.sort(np.random.default_rng(5).uniform(-0.5, 0.5, (200, 2)), axis=1)
    goals = goals[goals[:, 1] - goals[:, 0] > 0.2]
    off = []
    for mirror in (None, SWAP):
        trained = PPO(Ordered(), SMALL, mirror=mirror).learn(rounds=60)
        off.append(np.abs(trained(goals) - [-0.3, 0.3]).mean())
    assert off[1] < 0.15
    assert off[0] > 0.3


def test_what_is_no_setting() -> None:
    for wrong, words in (
        ({"steps": 0}, "steps"),
        ({"hidden": (8, 0)}, "hidden"),
        ({"spread": -1.0}, "spread"),
        ({"discount": 1.5}, "discount must be within 0 and 1"),
        ({"clip": 0.0}, "clip"),
        ({"rates": (1e-3, 1e-4)}, "rates"),
    ):
        with pytest.raises(OptionError, match=words):
            Settings(**wrong)
    with pytest.raises(OptionError, match=r"a mirror image of a mirror image.*: seen"):
        Mirror.of((1, 2, 0), (1.0, 1.0, 1.0), (0,), (1.0,))
    with pytest.raises(OptionError, match=": actions"):
        Mirror.of((0,), (1.0,), (0,), (2.0,))
    with pytest.raises(OptionError, match=r"of 3 observations and 2 actions.*have 2 and 2"):
        PPO(Aim(), mirror=Mirror.of(range(3), [1] * 3, (0, 1), (1, 1)))
    with pytest.raises(OptionError, match="fewer batches"):
        PPO(Aim(n=1), Settings(steps=2, batches=4))
    later = Aim()
    later.autoreset_mode = "NextStep"  # type: ignore[misc]
    with pytest.raises(OptionError, match="SameStep"):
        PPO(later)
    ppo = PPO(Aim(), SMALL)
    for given in ({}, {"seconds": 1.0, "rounds": 1}):
        with pytest.raises(OptionError, match="either seconds or rounds"):
            ppo.learn(**given)
    for given in ({"seconds": -1.0}, {"rounds": 0}):
        with pytest.raises(OptionError):
            ppo.learn(**given)
