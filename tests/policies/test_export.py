"""Policies that robosim writes give the same actions when they are read again."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from policy_networks import DEFAULT

from robosim import Simulation
from robosim.controllers import Gait
from robosim.errors import OptionError, SaveError
from robosim.learning import PPO, Settings
from robosim.policies import Activation, Linear, PolicyTask, export, load, task_of

PARAMETERS = (0.17, 0.2, 0.9, 0.15, -1.5)


def task() -> PolicyTask:
    return task_of({"preset": "legged_gym", "default_joint_pos": DEFAULT, "stiffness": 20.0,
                    "damping": 0.5})  # fmt: skip


def test_a_gait_is_a_policy_with_the_same_targets(a1, tmp_path):
    gait = Gait(a1, *PARAMETERS, timestep=1e-3, effort_limits=True)
    policy = load(export(gait, tmp_path / "gait.onnx", a1), a1)
    assert policy.period == 1e-3
    assert policy.task.decimation == 1
    times = np.linspace(0.0, 3.0, 17)
    for time in times:
        policy.reset()
        policy._begun[:] = 0.0
        rows = np.ones(1, dtype=bool)
        q, v = np.zeros((1, a1.nq)), np.zeros((1, a1.nv))
        q[0, 3] = 1.0
        targets = policy.act(np.array([time]), q, v, None, rows).targets[0]
        assert targets == pytest.approx(gait.targets([time])[0], abs=1e-6)
    assert policy.pose()[7:] == pytest.approx(gait.pose()[7:])
    sims = [Simulation(a1, 1e-3) for _ in range(2)]
    for sim, controller in zip(sims, (gait, policy), strict=True):
        sim.place(gait.pose(), 0.01)
        sim.run(0.2, controller)
    assert sims[1].q == pytest.approx(sims[0].q, abs=1e-5)
    gains = policy.pd(1e-3).gains
    for name in ("kp", "kd", "limit", "implicit"):
        assert np.array_equal(gains[name], gait.gains[name])


def test_what_ppo_has_learned_gives_the_same_actions(a1, tmp_path):
    pytest.importorskip("gymnasium")
    from robosim.envs import RobotVectorEnv

    envs = RobotVectorEnv(task="A1Trot", num_envs=8, autoreset_mode="SameStep", threads=1)
    settings = Settings(steps=4, batches=1, hidden=(16, 8))
    trained = PPO(envs, settings, mirror=envs.task.mirror()).learn(rounds=2)
    file = export(trained, tmp_path / "p.onnx", a1, envs.task.policy_task(a1))
    policy = load(file, a1)
    seen = np.random.default_rng(0).normal(size=(9, 50)).astype(np.float32)
    actions = policy.network.run(seen, [])[0]
    assert actions == pytest.approx(trained(seen), abs=1e-6)
    trained.networks.theta *= 100.0
    actions = load(export(trained, file, a1, envs.task.policy_task(a1)), a1).network.run(seen, [])
    assert np.abs(actions[0]).max() == 1.0
    assert actions[0] == pytest.approx(trained(seen), abs=1e-4)


def test_gaits_that_are_no_function_of_a_clock_are_refused(a1, tmp_path):
    for gait, words in (
        (Gait(a1, blend=0.5), "without a blend"),
        (Gait(a1, b=np.array([0.1, 0.2])), "one row of parameters"),
        (Gait(a1, b=0.0), "no clock"),
    ):
        with pytest.raises(ValueError, match=words):
            export(gait, tmp_path / "gait.onnx", a1)


def test_layers_and_normalization_are_written(a1, tmp_path):
    random = np.random.default_rng(0)
    W1, b1, W2 = random.normal(size=(8, 48)), random.normal(size=8), random.normal(size=(12, 8))
    mean, std = random.normal(size=48), random.uniform(0.5, 2.0, size=48)
    layers = [Linear(W1, b1), Activation("Elu", {"alpha": 0.5}), Linear(W2, np.zeros(12)),
              Activation("Clip", {"min": -1.0, "max": 1.0})]  # fmt: skip
    policy = load(export(layers, tmp_path / "p.onnx", a1, task(), mean=mean, std=std), a1)
    seen = random.normal(size=(5, 48)).astype(np.float32)
    x = ((seen - mean) / std) @ W1.T + b1
    x = np.where(x > 0, x, 0.5 * (np.exp(x) - 1.0))
    expected = np.clip(x @ W2.T, -1.0, 1.0)
    assert policy.network.run(seen, [])[0] == pytest.approx(expected, abs=1e-5)
    assert policy.task.to_dict() == task().to_dict()
    assert policy.network.metadata["joint_names"].startswith("FL")


def test_what_cannot_be_written_is_refused(a1, tmp_path):
    file = tmp_path / "p.onnx"
    with pytest.raises(OptionError, match="takes 40 numbers, and is given 48"):
        export([Linear(np.zeros((12, 40)), np.zeros(12))], file, a1, task())
    with pytest.raises(OptionError, match="10 actions, and the task 12 joints"):
        export([Linear(np.zeros((10, 48)), np.zeros(10))], file, a1, task())
    with pytest.raises(OptionError, match="give `task`"):
        export([Linear(np.zeros((12, 48)), np.zeros(12))], file, a1)
    with pytest.raises(OptionError, match="a dict is no policy that can be written"):
        export({}, file, a1, task())
    with pytest.raises(OptionError, match="has its own task"):
        export(Gait(a1), file, a1, task())
    with pytest.raises(SaveError, match="cannot be written"):
        export(Gait(a1, *PARAMETERS), tmp_path / "none" / "p.onnx", a1)
    assert not file.exists()


def test_without_onnx_the_line_of_pip_is_told(tmp_path):
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import robosim; from robosim.controllers import Gait\n"
        "from robosim.errors import MissingExtraError; from robosim.policies import export\n"
        "robot = robosim.load('a1')\n"
        f"try: export(Gait(robot), {str(tmp_path / 'p.onnx')!r}, robot)\n"
        "except MissingExtraError as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "robosim-variational[onnx]"' in found.stdout


@pytest.mark.parametrize("name", ["A1Walk", "A1Trot"])
def test_tasks_describe_what_they_observe(name):
    """The description of a task gives the observations of the environment."""
    pytest.importorskip("gymnasium")
    from robosim.envs import RobotVectorEnv
    from robosim.policies import Reading
    from robosim.policies.layout import Layout
    from robosim.policies.observing import Observer

    envs = RobotVectorEnv(task=name, num_envs=2, lanes=False, threads=1)
    described = envs.task.policy_task(envs.episodes.robot)
    observer = Observer(Layout(envs.episodes.robot, described), 2)
    rows = np.ones(2, dtype=bool)
    seen, _ = envs.reset(seed=1)
    for action in np.random.default_rng(0).uniform(-1, 1, size=(3, 2, 12)).astype(np.float32):
        now = envs.episodes.now
        reading = Reading(now.time, now.q, now.v, now.drawn["command"], now.action)
        assert observer.observe(reading, rows) == pytest.approx(seen, abs=1e-6)
        seen = envs.step(action)[0]


def test_tasks_that_observe_more_describe_nothing(a1):
    pytest.importorskip("gymnasium")
    from robosim.envs.tasks import TASKS

    with pytest.raises(OptionError, match="A1Stairs does not describe its observations"):
        TASKS["A1Stairs"]().policy_task(a1)
    with pytest.raises(OptionError, match="CartPole does not describe"):
        TASKS["CartPole"]().policy_task(a1)


@pytest.mark.parametrize("kind", ["PPO", "A2C", "SAC", "TD3"])
def test_models_of_stable_baselines_give_the_same_actions(a1, tmp_path, kind):
    sb3 = pytest.importorskip("stable_baselines3")
    from robosim.envs import RobotVectorEnv
    from robosim.envs.sb3 import VecEnv

    envs = RobotVectorEnv(
        task="A1Walk", num_envs=2, autoreset_mode="SameStep", lanes=False, threads=1
    )
    model = getattr(sb3, kind)("MlpPolicy", VecEnv(envs), device="cpu", seed=0)
    file = export(model, tmp_path / "p.onnx", a1, envs.task.policy_task(a1))
    policy = load(file, a1)
    seen = np.random.default_rng(0).normal(size=(50, 48)).astype(np.float32)
    expected, _ = model.predict(seen, deterministic=True)
    assert policy.network.run(seen, [])[0] == pytest.approx(expected, abs=1e-6)
    envs.close()
