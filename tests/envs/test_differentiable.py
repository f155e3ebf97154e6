"""Gradients through actions of environments, beside differences."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import Mechanism
from robosim.dynamics import Dynamics
from robosim.envs import CompiledTask, DifferentiableEnv, Domain, Moment, Torques
from robosim.envs.compiled import pull_of
from robosim.envs.task import ARRAYS
from robosim.envs.tasks.a1_trot import A1Trot, on_feet
from robosim.errors import OptionError
from robosim.learning import SHAC, SHACSettings

STEP = 1e-6
FAR = 1e-4  # of changes of a policy: smaller ones drown in the rounding of hard contacts


def test_the_way_back_through_observation_and_reward() -> None:
    """Of a trot in the middle of a motion, in all directions; torques are constant."""
    robot, task, random, n = robosim.load("a1"), A1Trot(), np.random.default_rng(0), 3
    dynamics = Dynamics(robot)
    q = dynamics.integrate(np.tile(robot.home, (n, 1)), 0.3 * random.standard_normal((n, robot.nv)))
    v, (action, before) = random.standard_normal((n, robot.nv)), random.uniform(-1, 1, (2, n, 12))
    drawn = {name: np.tile(high, (n, *[1] * np.ndim(high)))
             for name, (_, high) in task.draws(robot).items()}  # fmt: skip
    now = Moment(robot, task.dt, q, v, q, v, action, before, v[:, 6:], 0.07 * np.arange(n), drawn)
    by_seen, by_reward = random.standard_normal((n, 50)), random.standard_normal(n)

    def total(now: Moment) -> np.ndarray:
        reward = sum(task.reward(now).values())
        return (by_seen * task.observe(now)).sum(axis=1) + by_reward * reward

    found = [np.zeros_like(array) for array in (v, v, action, action)]
    pull_of(task.functions())(task.arrays(now), by_seen, by_reward, *found)
    for name, array in zip(("q", "v", "action", "action_before"), found, strict=True):
        for k in range(array.shape[1]):
            way = np.zeros_like(array)
            way[:, k] = STEP
            ends = []
            for along in (way, -way):
                old = getattr(now, name)
                new = dynamics.integrate(old, along) if name == "q" else old + along
                ends.append(total(now._replace(**{name: new})))
            slope = (ends[0] - ends[1]) / (2 * STEP)
            np.testing.assert_allclose(array[:, k], slope, rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.slow
def test_the_loss_through_contacts() -> None:
    """Of an A1 that lands on its feet and trots, without effort, whose torques are constant."""
    env = DifferentiableEnv(
        on_feet(robosim.load("a1")), A1Trot(options={"tolerance": 1e-11}), 2, threads=1, tape=True
    )
    shac = SHAC(env, SHACSettings(horizon=2, hidden=(8,), batches=2))
    random = np.random.default_rng(0)
    shac.networks.theta = shac.networks.theta.astype(float)
    shac.networks.theta += 0.1 * random.standard_normal(len(shac.networks.theta))
    shac._judge = shac.networks.theta[len(shac.policy) :].copy()
    noise = random.standard_normal((2, 2, 12))
    env.reset(seed=0)
    for _ in range(4):
        env.advance(np.zeros((2, 12)))
    start = env.episodes.batch.q.copy(), env.episodes.batch.v.copy()

    def window():
        env.episodes.batch.set_state(*start)
        env.episodes.now.q[:], env.episodes.now.v[:] = start
        env.episodes.now.action[:] = 0.0
        env.episodes.count[:], env.episodes.now.time[:] = 4, 4 * env.task.dt
        shac._seen = env._look()[0]
        return shac.act(noise)

    def loss() -> float:
        found = window()
        effort = sum(float(weights @ step.out.terms["effort"])
                     for weights, step in zip(found.weights, found.steps, strict=True))  # fmt: skip
        return shac.loss(found) + shac.settings.reward_scale * effort

    gradient, policy = shac.gradient(window()), shac.policy.copy()
    for _ in range(3):
        along = random.standard_normal(len(policy))
        ends = []
        for way in (FAR, -FAR):
            shac.policy[:] = policy + way * along
            ends.append(loss())
        assert gradient @ along == pytest.approx((ends[0] - ends[1]) / (2 * FAR), rel=1e-3)


class Pushed(A1Trot):
    def control(self, robot: Mechanism) -> Torques:
        return Torques(4.0)


class PushedLess(A1Trot):
    def control(self, robot: Mechanism) -> Torques:
        return Torques(2.0)


def test_the_strength_of_motors_is_in_the_way_back() -> None:
    """Motors of half the strength, or torques of half the scale, for torques that are given."""
    robot, found = on_feet(robosim.load("a1")), []
    for task in (Pushed(domain=Domain(motors=(0.5, 0.5))), PushedLess()):
        env = DifferentiableEnv(robot, task, 2, threads=1)
        env.reset(seed=0)
        env.episodes.batch.set_state(np.tile(robot.home, (2, 1)))
        step = env.advance(np.full((2, 12), 0.3))
        after = env.nothing()._replace(v=np.ones((2, robot.nv)))
        found.append((step.run.v[:, -1], env.back(step, 0.0 * step.final, np.zeros(2), after)[0]))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert np.abs(found[0][1]).max() > 1e-3


def test_what_functions_got_stays_as_it_was() -> None:
    env = DifferentiableEnv(on_feet(robosim.load("a1")), A1Trot(), 2, threads=1)
    env.reset(seed=0)
    step = env.advance(np.full((2, 12), 0.3))
    before = [getattr(step.now, name).copy() for name in ARRAYS]
    env.advance(np.full((2, 12), -0.3))
    for name, old in zip(ARRAYS, before, strict=True):
        np.testing.assert_array_equal(getattr(step.now, name), old, err_msg=name)
    assert np.abs(step.now.tau).max() > 0.0


@pytest.mark.parametrize("size", [np.inf, np.nan, 1e60])
def test_gradients_that_are_too_large_change_no_policy(
    size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = DifferentiableEnv(on_feet(robosim.load("a1")), A1Trot(), 2, threads=1)
    shac = SHAC(env, SHACSettings(horizon=2, hidden=(8,), batches=2))
    before = shac.policy.copy()
    monkeypatch.setattr(shac, "gradient", lambda window: np.full(len(before), size))
    row = shac.learn(rounds=1).curve[-1]
    assert row["failed"] == 1.0
    np.testing.assert_array_equal(shac.policy, before)


def test_tasks_without_derivatives() -> None:
    class Fast(A1Trot):
        def done(self, now: Moment):
            return np.zeros(len(now.time), dtype=bool)

    assert issubclass(A1Trot, CompiledTask)
    for given, words in (
        ({"task": "A1Walk"}, "A1Walk has no derivatives: its functions need `pull`"),
        ({"task": Fast}, "Fast overrides done"),
        ({"task": A1Trot(delay=(0.0, 0.02))}, "delays"),
        ({"task": A1Trot(domain=Domain(mass=(0.9, 1.1)))}, "masses or friction"),
    ):
        with pytest.raises(OptionError, match=words):
            DifferentiableEnv("a1", **given)
