"""Policies as controllers: in runs and batches, their memory, and networks that do not fit."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from policy_networks import LEGGED, integrating, linear

from robosim import BatchSimulation, Simulation
from robosim.errors import ControllerError, LoadError, ModelError
from robosim.models.builders import double_pendulum
from robosim.policies import load

TIMESTEP = 5e-3


@pytest.fixture(scope="module")
def moving(tmp_path_factory) -> str:
    """A network with random weights, which moves the A1 a little."""
    W = 0.02 * np.random.default_rng(0).normal(size=(12, 48))
    return str(linear(tmp_path_factory.mktemp("policies") / "moving.onnx", W))


@pytest.fixture(scope="module")
def zero(tmp_path_factory) -> str:
    return str(linear(tmp_path_factory.mktemp("policies") / "zero.onnx", np.zeros((12, 48))))


def placed(robot, policy) -> Simulation:
    sim = Simulation(robot, TIMESTEP)
    sim.place(policy.pose(), 1e-3)
    return sim


def test_a_network_of_zeros_stands(a1, zero):
    policy = load(zero, a1, LEGGED)
    sim = placed(a1, policy)
    log = sim.run(1.0, policy)
    assert log.q[-1, 2] == pytest.approx(0.26, abs=0.02)
    assert np.abs(log.v[-20:, :6]).max() < 0.2
    assert np.abs(log.q[:, 3]).min() > 0.99


def test_actions_are_targets_in_the_order_of_the_task_and_hold_for_a_period(a1, tmp_path):
    W, b = np.zeros((12, 48)), np.linspace(-0.4, 0.4, 12)
    policy = load(linear(tmp_path / "p.onnx", W, b), a1, {**LEGGED, "action_clip": 0.3})
    sim = placed(a1, policy)
    pd = policy(sim)
    at = {name: k for k, name in enumerate(a1.actuated_names)}
    assert policy.layout.names[:3] == ("FL_hip_joint", "FL_thigh_joint", "FL_calf_joint")
    targets = [pd.gains["target"][at[name]] for name in policy.layout.names]
    assert targets == pytest.approx(policy.layout.default + 0.25 * np.clip(b, -0.3, 0.3), abs=1e-6)
    assert pd.gains["kp"] == pytest.approx(20.0)
    assert pd.gains["limit"] == pytest.approx(33.5)
    asked = []
    policy.network.run = lambda seen, states: (asked.append(sim.time), (seen[:, :12], []))[1]
    sim.run(0.1, policy)
    assert asked == pytest.approx([0.02, 0.04, 0.06, 0.08])


def test_a_run_is_the_same_in_one_piece_and_in_two_and_begins_anew_with_a_start(a1, moving):
    policy = load(moving, a1, LEGGED, command=(0.5, 0.0, 0.2))
    sim = placed(a1, policy)
    whole = sim.run(0.3, policy).q
    sim.place(policy.pose(), 1e-3)
    parts = [sim.run(seconds, policy).q for seconds in (0.11, 0.19)]
    assert np.array_equal(np.concatenate(parts), whole)
    other = placed(a1, policy)
    assert np.array_equal(other.run(0.3, policy.copy()).q, whole)


@pytest.mark.parametrize("batch", ["n", 1])
def test_a_batch_moves_as_single_runs(a1, tmp_path, batch):
    """To the bit if the network is asked row by row; else products may be rounded otherwise."""
    exact = 0.0 if batch == 1 else 1e-5
    W = 0.02 * np.random.default_rng(1).normal(size=(12, 144))
    file = linear(tmp_path / "p.onnx", W, batch=batch)
    policy = load(file, a1, {**LEGGED, "history": 3})
    commands = np.array([(0.5, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.5)])
    states = BatchSimulation(a1, 3, TIMESTEP, lanes=False)
    states.place(policy.pose(), 1e-3)
    policy.command = commands
    runs = [states.rollout(steps, controller=policy, every=3) for steps in (39, 21)]
    for i, command in enumerate(commands):
        alone = load(file, a1, {**LEGGED, "history": 3}, command)
        sim = placed(a1, alone)
        log = sim.run(0.3, alone)
        assert states.q[i] == pytest.approx(sim.q, rel=0, abs=exact)
        q = np.concatenate((runs[0].q[i, :-1], runs[1].q[i, :-1]))
        assert q == pytest.approx(log.q[::3], rel=0, abs=exact)
        tau = np.concatenate((runs[0].tau[i], runs[1].tau[i]))
        assert tau == pytest.approx(log.tau[::3], rel=0, abs=1e3 * exact)
        assert runs[1].t[i, -1] == pytest.approx(0.3)
        assert runs[0].done[i] == 39


def test_states_of_a_batch_that_were_reset_within_a_period_act_by_themselves(a1, moving):
    policy = load(moving, a1, LEGGED)
    states = BatchSimulation(a1, 2, TIMESTEP, lanes=False)
    states.place(policy.pose(), 1e-3)
    states.rollout(6, controller=policy)
    states.place(policy.pose(), 1e-3, index=1)
    states.rollout(14, controller=policy)
    for i, seconds in enumerate((0.1, 0.07)):
        sim = placed(a1, alone := load(moving, a1, LEGGED))
        sim.run(seconds, alone)
        assert states.q[i] == pytest.approx(sim.q, rel=0, abs=1e-5)


def test_a_state_of_a_batch_that_fails_stops_there(a1, moving):
    policy = load(moving, a1, LEGGED)
    states = BatchSimulation(a1, 2, TIMESTEP, lanes=False)
    states.place(policy.pose(), 1e-3)
    torques = np.zeros((2, 40, 12))
    torques[1, 30:] = 1e12
    run = states.rollout(40, torques, controller=policy, every=4)
    assert run.failed.tolist() == [False, True]
    assert run.done.tolist() == [40, 30]
    assert np.isfinite(run.q[0]).all()
    assert np.isfinite(run.q[1, :9]).all()
    assert np.isnan(run.q[1, 9:]).all()
    assert np.isnan(run.gap[1, 30:]).all()
    assert np.array_equal(states.q[1], run.q[1, 8])
    assert states.time.tolist() == pytest.approx([0.2, 0.15])


def test_a_batch_excludes_what_a_policy_sets(a1, moving):
    states = BatchSimulation(a1, 1, TIMESTEP, lanes=False)
    with pytest.raises(ControllerError, match="excludes targets"):
        states.rollout(4, controller=load(moving, a1, LEGGED), targets=np.zeros(12))


def test_states_of_a_recurrent_network_are_kept_and_forgotten(a1, tmp_path):
    task = {**LEGGED, "observations": ["velocity_commands"], "joints": list(a1.actuated_names[:3])}
    task["default_joint_pos"] = [0.0, 0.8, -1.6]
    policy = load(integrating(tmp_path / "p.onnx", 3, 3), a1, task, command=(0.1, 0.0, -0.1))
    sim = placed(a1, policy)
    sim.run(0.1, policy)
    assert policy.network.states == ("h_in",)
    assert policy.actions[0] == pytest.approx([0.5, 0.0, -0.5], abs=1e-6)
    sim.place(policy.pose(), 1e-3)
    sim.run(0.02, policy)
    assert policy.actions[0] == pytest.approx([0.1, 0.0, -0.1], abs=1e-6)
    states = BatchSimulation(a1, 2, TIMESTEP, lanes=False)
    states.place(policy.pose(), 1e-3)
    policy.command = np.array([(0.1, 0.0, 0.0), (0.2, 0.0, 0.0)])
    states.rollout(12, controller=policy)
    assert policy.actions[:, 0] == pytest.approx([0.3, 0.6], abs=1e-6)


def test_joints_that_a_task_leaves_out_are_held(a1, tmp_path):
    names = [name for name in a1.actuated_names if name.startswith("F")]
    task = {**LEGGED, "observations": ["joint_pos"], "joints": names, "default_joint_pos": 0.1}
    policy = load(linear(tmp_path / "p.onnx", np.zeros((6, 6))), a1, task)
    gains = policy.pd(TIMESTEP).gains
    rear = [k for k, name in enumerate(a1.actuated_names) if name.startswith("R")]
    assert gains["target"][rear] == pytest.approx(np.asarray(a1.stance.target)[rear])
    assert gains["kp"][rear] == pytest.approx(np.asarray(a1.stance.kp)[rear])
    assert gains["implicit"][rear].all()


def test_networks_in_double_precision_are_asked_in_theirs(a1, tmp_path):
    b = np.full(12, 1 / 3)
    file = linear(tmp_path / "p.onnx", np.zeros((12, 48)), b, kind=TensorProto.DOUBLE)
    policy = load(file, a1, LEGGED)
    policy(placed(a1, policy))
    assert np.array_equal(policy.actions[0], b)


def test_commands_may_be_functions_of_time(a1, zero):
    policy = load(zero, a1, LEGGED, command=lambda time: (time, 0.0, 0.0))
    assert policy.command_at(np.array([0.0, 2.0])).tolist() == [[0, 0, 0], [2, 0, 0]]
    for wrong in ((1.0, 0.0), (np.nan, 0.0, 0.0)):
        policy.command = wrong
        with pytest.raises(ControllerError, match="must be 3 finite numbers"):
            policy.command_at(np.zeros(1))


def test_networks_of_other_sizes_are_refused_with_what_the_task_observes(a1, tmp_path):
    narrow = linear(tmp_path / "narrow.onnx", np.zeros((12, 45)))
    words = r"narrow\.onnx: takes 45 observations, .*has 48: base_lin_vel 3, base_ang_vel 3"
    with pytest.raises(LoadError, match=words):
        load(narrow, a1, LEGGED)
    few = linear(tmp_path / "few.onnx", np.zeros((10, 48)))
    with pytest.raises(LoadError, match=r"has 10 actions, .*12 joints: FL_hip_joint"):
        load(few, a1, LEGGED)
    with pytest.raises(ModelError, match="no floating base"):
        load(narrow, double_pendulum(), {**LEGGED, "default_joint_pos": 0.0})


def test_networks_with_other_inputs_and_outputs_are_refused_by_name(a1, tmp_path):
    task, file = {**LEGGED, "observations": ["velocity_commands"]}, tmp_path / "p.onnx"

    def saved(change):
        model = onnx.load(integrating(file, 3, 12))
        change(model.graph)
        onnx.save(model, file)
        return file

    def also(graph, name, ends):
        """Add an input, or an output that repeats the actions."""
        new = ends.add()
        new.CopyFrom(graph.output[0])
        new.name = name
        if ends is graph.output:
            graph.node.append(onnx.helper.make_node("Identity", [graph.output[0].name], [name]))

    def rename(graph):
        graph.node[-1].output[0] = graph.output[0].name = "first"
        also(graph, "second", graph.output)

    with pytest.raises(LoadError, match="inputs for states, but no output h_out"):
        load(saved(lambda graph: graph.output.pop()), a1, task)
    with pytest.raises(LoadError, match=r"one input of observations, .* image tensor"):
        load(saved(lambda graph: also(graph, "image", graph.input)), a1, task)
    with pytest.raises(LoadError, match=r"2 outputs, none .*known: first, h_out, second"):
        load(saved(rename), a1, task)
    # A value beside the actions is left out.
    policy = load(saved(lambda graph: also(graph, "value", graph.output)), a1, task)
    assert policy.network.outputs == 12


def test_files_that_are_no_policies(a1, tmp_path):
    (tmp_path / "policy.pt").write_bytes(b"no network")
    with pytest.raises(LoadError, match="exported to ONNX first"):
        load(tmp_path / "policy.pt", a1, LEGGED)
    with pytest.raises(LoadError, match="does not exist"):
        load(tmp_path / "none.onnx", a1, LEGGED)
    whole = linear(tmp_path / "int.onnx", np.zeros((12, 48)), kind=TensorProto.FLOAT16)
    with pytest.raises(LoadError, match="one input of observations, a matrix of floats"):
        load(whole, a1, LEGGED)


def test_a_number_that_is_not_finite_is_refused_with_joint_and_time(a1, tmp_path):
    b = np.zeros(12)
    b[4] = np.nan
    policy = load(linear(tmp_path / "nan.onnx", np.zeros((12, 48)), b), a1, LEGGED)
    with pytest.raises(ControllerError, match=r"'nan.onnx' gave nan for 'FR_thigh_joint' at t = 0"):
        placed(a1, policy).run(0.1, policy)
    states = BatchSimulation(a1, 2, TIMESTEP, lanes=False)
    with pytest.raises(ControllerError, match="of state 0"):
        states.rollout(4, controller=policy)


def test_periods_that_are_no_whole_number_of_steps_are_refused(a1, zero):
    policy = load(zero, a1, LEGGED)
    with pytest.raises(ControllerError, match=r"every 0.02 s, .*simulate with its own, 0.005 s"):
        Simulation(a1, 3e-3).run(0.3, policy)
    Simulation(a1, 1e-3).run(0.02, policy)


def test_explicit_torques_become_implicit_only_where_they_would_be_unstable(a1, zero):
    policy = load(zero, a1, LEGGED)
    assert not policy.pd(5e-3).gains["implicit"].any()
    assert policy.pd(2e-2).gains["implicit"].all()
    assert load(zero, a1, {**LEGGED, "implicit": True}).pd(1e-3).gains["implicit"].all()


def test_contacts_are_observed_in_runs_and_batches(a1, tmp_path):
    links = [f"{leg}_calf" for leg in ("FL", "FR", "RL", "RR")]
    task = {**LEGGED, "observations": [{"foot_contacts": {"links": links}}]}
    task |= {"joints": list(a1.actuated_names[:4]), "action_scale": 0.0}
    task["default_joint_pos"] = [0.0, 0.8, -1.6, 0.0]
    policy = load(linear(tmp_path / "p.onnx", np.eye(4)), a1, task)
    sim = placed(a1, policy)
    policy(sim)
    assert policy.actions[0].tolist() == [0, 0, 0, 0]
    sim.run(0.5, policy)
    assert policy.actions[0].tolist() == [1, 1, 1, 1]
    states = BatchSimulation(a1, 2, TIMESTEP, lanes=False)
    states.place(policy.pose(), 1e-3)
    states.rollout(100, controller=policy)
    assert policy.actions.tolist() == [[1, 1, 1, 1]] * 2


def test_without_onnxruntime_the_line_of_pip_is_told():
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from robosim.errors import MissingExtraError\n"
        "from robosim.control.network import Network\n"
        "try: Network('p.onnx')\n"
        "except MissingExtraError as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "robosim-variational[onnx]"' in found.stdout


def test_robots_with_other_names_are_refused(a1, zero):
    joints = tuple(replace(joint, name=joint.name.replace("calf", "knee")) for joint in a1.joints)
    other = replace(a1, joints=joints, stance=None)
    with pytest.raises(ModelError, match=r"'\.\*_calf_joint' matches no joint .*FL_knee_joint"):
        load(zero, other, LEGGED)
