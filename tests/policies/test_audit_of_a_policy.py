"""A policy is audited beside MuJoCo: the same network, asked at the states of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from policy_networks import LEGGED, linear

import robosim
from robosim import policies
from robosim.referee.audit import audit


@pytest.mark.peer
def test_a_policy_is_the_controller_of_all_simulators(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    robot = robosim.load("a1")
    file = linear(tmp_path / "zero.onnx", np.zeros((12, 48)))
    policy = policies.load(file, robot, LEGGED)
    found = audit("a1", policy=policy, robot=robot, seconds=0.1, peers=["mujoco"])
    assert found.timestep == policy.task.timestep
    assert "zero" in found.control
    run, ours = found.peers[0].run, found.reference
    assert run is not None
    assert ours is not None
    assert run.ended is None
    # Both begin where the policy does, and still do the same.
    assert np.allclose(run.q[0], ours.q[0])
    assert np.abs(run.q[-1] - ours.q[-1]).max() < 0.05
    assert np.abs(run.q[-1] - run.q[0]).max() > 1e-4
