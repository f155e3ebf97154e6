"""Gradients of policies through episodes, against central differences."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from robosim.envs.tasks.cart_pole import CartPole
from robosim.experiments.backpropagation import Adam, Episodes, Network

STEP = 1e-6


def test_a_network_has_the_gradients_of_its_outputs() -> None:
    random = np.random.default_rng(0)
    network = Network((3, 5, 2), random, scale=np.array([1.0, 2.0, 0.5]))
    network.parameters[:] = random.standard_normal(len(network.parameters))
    seen, weights = random.standard_normal((4, 3)), random.standard_normal((4, 2))

    def value() -> float:
        return float(np.sum(weights * network(seen)[-1]))

    by_parameters, by_seen = network.back(network(seen), weights)
    for array, gradient in ((network.parameters, by_parameters), (seen, by_seen)):
        for k in np.ndindex(array.shape):
            at = array[k]
            ends = []
            for way in (1.0, -1.0):
                array[k] = at + way * STEP
                ends.append(value())
            array[k] = at
            assert gradient[k] == pytest.approx((ends[0] - ends[1]) / (2 * STEP), abs=1e-8)


def test_the_gradient_of_episodes_is_that_of_their_rewards() -> None:
    random = np.random.default_rng(0)
    episodes = Episodes(CartPole(), 2)
    no, na = episodes.sizes
    assert (no, na) == (5, 1)
    policy = Network((no, 6, na), random)
    policy.parameters += 0.3 * random.standard_normal(len(policy.parameters))
    episodes.begin(random)
    q, v = episodes.batch.q.copy(), episodes.batch.v.copy()

    def values() -> tuple[float, np.ndarray]:
        episodes.batch.set_state(q, v)
        found, gradient = episodes.values(policy, 3)
        return float(found.mean()), gradient

    gradient, start = values()[1], policy.parameters.copy()
    for _ in range(3):
        way = random.standard_normal(len(start))
        ends = []
        for sign in (1.0, -1.0):
            policy.parameters[:] = start + sign * 1e-5 * way
            ends.append(values()[0])
        policy.parameters[:] = start
        assert gradient @ way == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)


def test_adam_climbs_a_hill() -> None:
    at, climb = np.array([3.0, -2.0]), Adam(2)
    for k in range(400):
        at += climb(-2.0 * at * [1.0, 30.0], 0.1 * 0.99**k)
    np.testing.assert_allclose(at, 0.0, atol=1e-2)
