"""Actions that are velocities or torques: in runs, in batches and beside MuJoCo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from policy_networks import DEFAULT, linear

from robosim import BatchSimulation, Simulation
from robosim.controllers import PD
from robosim.errors import LoadError
from robosim.policies import PolicyTask, compare, load

TIMESTEP = 5e-3
COMMON = {"observations": ["joint_pos", "joint_vel"], "default_joint_pos": DEFAULT}
TORQUES = {**COMMON, "control": "torque", "action_scale": 8.0}
VELOCITIES = {**COMMON, "control": "velocity", "action_scale": 2.0, "damping": 3.0}


@pytest.fixture(scope="module")
def network(tmp_path_factory: Any) -> str:
    """A network that answers to joints with numbers up to about 1."""
    random = np.random.default_rng(0)
    W, b = 0.3 * random.normal(size=(12, 24)), random.uniform(-1.0, 1.0, 12)
    return str(linear(tmp_path_factory.mktemp("kinds") / "p.onnx", W, b))


def placed(robot: Any, policy: Any) -> Simulation:
    sim = Simulation(robot, TIMESTEP)
    sim.place(policy.pose(), 1e-3)
    return sim


def test_torques_are_those_of_a_simulation_that_is_driven_by_them(a1: Any, network: str) -> None:
    policy = load(network, a1, TORQUES)
    sim, twin, other = (placed(a1, policy) for _ in range(3))
    log, asked = sim.run(0.3, policy), load(network, a1, TORQUES)
    W, b = (np.frombuffer(one.raw_data, np.float32) for one in _weights(network))
    driven = [a1.actuated_names.index(name) for name in policy.layout.names]
    for k in range(60):
        if k % 4 == 0:
            layout, q, v = policy.layout, twin.q, twin.v
            seen = np.concatenate((q[layout.q_index] - layout.default, v[layout.v_index]))
            tau = np.zeros(12)
            answer = W.reshape(12, 24).astype(float) @ seen + b
            tau[driven] = np.clip(8.0 * answer, *(s * a1.effort_limits[driven] for s in (-1, 1)))
            assert asked(other)[1] == pytest.approx(tau, abs=1e-4)
        held = asked(other)[1].copy()
        np.testing.assert_array_equal(log.tau[k], held)
        twin.step(held)
        other.step(held)
    np.testing.assert_array_equal(sim.q, twin.q)
    assert np.abs(log.tau).max() > 5.0


def _weights(file: str) -> Any:
    import onnx

    return onnx.load(file).graph.initializer


def test_velocities_are_followed_by_the_damping_alone(a1: Any, network: str) -> None:
    policy = load(network, a1, {**VELOCITIES, "implicit": False, "effort_limits": 4.0})
    sim = placed(a1, policy)
    pd = policy(sim)
    assert isinstance(pd, PD)
    np.testing.assert_array_equal(pd.gains["kp"], 0.0)
    asked = 3.0 * (pd.gains["velocity"] - sim.v[pd.gains["v_index"]])
    log = sim.run(0.02, policy)
    np.testing.assert_allclose(log.tau[0], np.clip(asked, -4.0, 4.0), atol=1e-12)
    wanted = 2.0 * policy.actions[0]
    driven = [a1.actuated_names.index(name) for name in policy.layout.names]
    np.testing.assert_array_equal(policy.aims.velocities[0, driven], wanted)
    # An implicit one holds at any damping, and reaches them in the air.
    stiff = load(network, a1, {**VELOCITIES, "damping": 500.0, "effort_limits": False})
    assert stiff.pd(TIMESTEP).gains["implicit"].all()
    flying = Simulation(a1, TIMESTEP)
    q = stiff.pose()
    q[2] = 2.0
    flying.set_state(q)
    flying.run(0.02, stiff)
    rates = flying.v[stiff.layout.v_index]
    np.testing.assert_allclose(rates, 2.0 * stiff.actions[0], atol=0.02)


@pytest.mark.parametrize("task", [TORQUES, VELOCITIES])
def test_a_batch_moves_as_single_runs(a1: Any, network: str, task: dict[str, Any]) -> None:
    policy = load(network, a1, task)
    states = BatchSimulation(a1, 2, TIMESTEP, lanes=False)
    states.place(policy.pose(), gap=1e-3)
    beside = np.zeros((2, 40, 12))
    beside[1, :, 0] = 1.0
    run = states.rollout(40, beside, controller=policy)
    sim = placed(a1, alone := load(network, a1, task))
    log = sim.run(0.2, alone)
    np.testing.assert_allclose(run.tau[0], log.tau, atol=1e-3)
    np.testing.assert_allclose(run.q[0, -1], sim.q, atol=1e-5)
    assert np.abs(run.q[1, -1] - sim.q).max() > 1e-4


def test_joints_that_the_task_leaves_out_are_held(a1: Any, tmp_path: Any) -> None:
    file = linear(tmp_path / "p.onnx", np.zeros((3, 6)), [3.0, 3.0, 3.0])
    front = [name for name in a1.actuated_names if name.startswith("FR")]
    policy = load(file, a1, {"observations": ["joint_pos", "joint_vel"], "joints": front,
                             "control": "torque"})  # fmt: skip
    sim = placed(a1, policy)
    log = sim.run(0.1, policy)
    rows = [a1.actuated_names.index(name) for name in front]
    np.testing.assert_array_equal(log.tau[:, rows], 3.0)
    others = np.setdiff1d(np.arange(12), rows)
    assert np.abs(sim.q[7 + others] - a1.home[7 + others]).max() < 0.2


@pytest.mark.parametrize("task", [TORQUES, {**VELOCITIES, "damping": 0.5}, VELOCITIES])
def test_mujoco_is_driven_by_the_same(a1: Any, network: str, task: dict[str, Any]) -> None:
    """In the air, both move alike as long as no limit is reached."""
    pytest.importorskip("mujoco")
    policy = load(network, a1, {**task, "action_scale": 0.4, "timestep": 1e-3, "decimation": 20})
    q = policy.pose()
    q[2] = 3.0
    found = compare(policy, 0.06, q=q)
    ours, theirs = found.tracks
    moved = np.abs(ours.q[-1, 7:] - ours.q[0, 7:]).max()
    assert np.abs(ours.q[-1] - theirs.q[-1]).max() < 0.03 * moved
    np.testing.assert_allclose(ours.tau[0], theirs.tau[0], atol=0.02 * np.abs(ours.tau[0]).max())


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"control": "effort"}, r"control.*position, velocity, torque"),
        ({"control": "torque", "stiffness": 20.0}, "torques have no 'stiffness'"),
        ({"control": "velocity", "damping": 1.0, "stiffness": 2.0}, "velocities have no 'stiff"),
        ({"control": "velocity"}, "the task has no 'damping'"),
        ({"control": "torque", "implicit": True}, "without 'implicit'"),
        ({"control": "torque", "no_load_speed": 20.0}, "without 'no_load_speed'"),
    ],
)
def test_gains_of_another_control_are_refused(
    a1: Any, network: str, said: dict[str, Any], told: str
) -> None:
    with pytest.raises(LoadError, match=told):
        load(network, a1, {**COMMON, **said}).pd(TIMESTEP)
    assert PolicyTask.of({**COMMON, "control": "torque"}).to_dict()["control"] == "torque"
