"""Plans that are followed in MuJoCo as in robosim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import OptionError, PeerError, Simulation
from robosim.models import builders
from robosim.optimize import Feedback, QuadraticCost, ilqr
from robosim.optimize.replays import replayed

pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def swung():
    """A pendulum that torques below its weight swing up."""
    robot = builders.pendulum()
    robot = replace(robot, joints=(replace(robot.joints[0], effort_limit=3.0),))
    sim = Simulation(robot, 0.02)
    cost = QuadraticCost(robot, [np.pi], Q=1e-3, R=1e-3, final=[1000, 100])
    guess = 2.0 * np.sin(0.1 * np.arange(150))[:, None]
    return ilqr(sim, cost, 150, guess, iterations=80)


def test_a_swing_ends_upright_in_both(swung):
    for peer in (None, "mujoco"):
        log = swung.replay(peer=peer)
        assert log.q.shape == (150, 1)
        assert log.tau.shape == (150, 1)
        assert np.abs(log.tau).max() <= 3.0
        assert abs(log.q[-1, 0] - np.pi) < 0.1, peer
    # Both begin with the same torques, which the feedback then changes.
    ours, theirs = swung.replay(seconds=0.2), swung.replay(seconds=0.2, peer="mujoco")
    assert theirs.tau[0] == pytest.approx(ours.tau[0])
    np.testing.assert_allclose(theirs.q, ours.q, atol=0.02)
    assert len(ours.t) == 10


def test_a_floating_robot_stands_in_both():
    """Its base comes first, whose rotation MuJoCo has in other axes."""
    robot = robosim.load("a1")
    sim = Simulation(robot, 0.002)
    sim.run(0.5, "stand")
    K = np.zeros((12, 36))
    K[:, 6:18], K[:, 24:] = 80 * np.eye(12), 4 * np.eye(12)
    still = Feedback(robot, sim.q[None], 0 * sim.v[None], sim.torques[None, 6:], K[None], 0.002)
    for peer in (None, "mujoco"):
        log = replayed(still, sim.q, sim.v, 1.0, None, peer)
        np.testing.assert_allclose(log.q[-1], sim.q, atol=0.02, err_msg=str(peer))
        assert log.q[:, 2].min() > sim.q[2] - 0.01
        assert np.abs(log.gap[1:]).max() < 2e-3


def test_bad_input(swung, monkeypatch):
    with pytest.raises(OptionError, match="peer must be 'mujoco' or None, not 'drake'"):
        swung.replay(peer="drake")
    with pytest.raises(OptionError, match="seconds"):
        swung.replay(seconds=0.0)
    monkeypatch.setattr("robosim.optimize.replays.available", lambda: False)
    with pytest.raises(PeerError, match="mujoco is not installed"):
        swung.replay(peer="mujoco")
