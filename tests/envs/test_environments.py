"""Environments as Gymnasium asks for them: one and many, resets, seeds, failures, bad input."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

import robosim  # noqa: E402
from robosim.envs import (  # noqa: E402
    TASKS,
    ActionError,
    ClosedError,
    Domain,
    ResetNeededError,
    RobotEnv,
    RobotVectorEnv,
    Targets,
    Task,
    TaskError,
    Torques,
)
from robosim.envs.tasks.acrobot import Acrobot  # noqa: E402
from robosim.envs.tasks.cart_pole import CartPole, cart_pole  # noqa: E402
from robosim.version import install  # noqa: E402

MODES = tuple(AutoresetMode)


class Swing(CartPole):
    """All that differs from one environment to the other, and episodes that end early."""

    seconds = 0.16
    domain = Domain(mass=(0.5, 1.5), push=3.0, push_seconds=0.04)
    delay = (0.0, 0.03)
    noise = 0.01

    def done(self, now: Any) -> Any:
        return np.abs(now.v[:, 1]) > 1.0


def actions(n: int, steps: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (steps, n, 1)).astype(np.float32)


@pytest.mark.parametrize("name", ["CartPole"])
def test_gymnasium_finds_nothing_wrong(name: str) -> None:
    env = gymnasium.make(f"robosim/{name}-v0", disable_env_checker=True)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.max_episode_steps == TASKS[name]().most_steps


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_many_are_each_to_the_last_bit_what_one_is(mode: AutoresetMode) -> None:
    """Beside Gymnasium's own vector of single ones: all that is returned, infos and masks too."""
    n = 4
    ours = RobotVectorEnv(task=Swing(), num_envs=n, autoreset_mode=mode, lanes=False)
    theirs = SyncVectorEnv([lambda: RobotEnv(task=Swing())] * n, autoreset_mode=mode)
    ends = 0
    assert data_equivalence(ours.reset(seed=5), theirs.reset(seed=5), exact=True)
    for step, action in enumerate(actions(n, 20)):
        one, other = ours.step(action), theirs.step(action)
        assert data_equivalence(one[:4], other[:4], exact=True)
        assert data_equivalence(plain(one[4]), plain(other[4]), exact=True), (one[4], other[4])
        over = one[2] | one[3]
        ends += int(over.sum())
        if mode == AutoresetMode.DISABLED and over.any():
            # A seed for some of them, which draws their masses anew.
            seeds = None if step % 2 else [7 + i if i % 2 else None for i in range(n)]
            pair = [env.reset(seed=seeds, options={"reset_mask": over.copy()})
                    for env in (ours, theirs)]  # fmt: skip
            assert data_equivalence(*pair, exact=True)
    assert ends > n


def plain(info: Mapping[str, Any]) -> dict[str, Any]:
    """An info as lists."""

    def listed(value: Any) -> Any:
        if isinstance(value, dict):
            return plain(value)
        return [row if row is None else np.asarray(row).tolist() for row in value]

    return {key: listed(value) for key, value in sorted(info.items())}


def test_lanes_agree_as_far_as_the_tolerance_goes() -> None:
    envs = [RobotVectorEnv(task=Swing(), num_envs=8, lanes=lanes) for lanes in (True, False)]
    seen = [env.reset(seed=1)[0] for env in envs]
    np.testing.assert_array_equal(*seen)
    for action in actions(8, 6):
        steps = [env.step(action) for env in envs]
        np.testing.assert_allclose(steps[0][0], steps[1][0], atol=1e-5)
        np.testing.assert_allclose(steps[0][1], steps[1][1], atol=1e-6)


def test_a_seed_says_all_of_an_episode() -> None:
    env = RobotEnv(task=Swing())
    runs = []
    for seed in (3, 3, 4):
        rows = [env.reset(seed=seed)[0]]
        rows += [env.step(action)[0] for action in actions(1, 3)[:, 0]]
        runs.append(np.array(rows))
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.all(np.abs(runs[0] - runs[2]).max(axis=1) > 1e-6)
    # Without a seed the next episode differs.
    assert not np.array_equal(env.reset()[0], env.reset()[0])


def test_the_reward_is_the_sum_of_its_terms() -> None:
    env = RobotEnv(task="CartPole")
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.array([0.5]))
    terms = [value for key, value in info.items() if key.startswith("reward_")]
    assert len(terms) == 4
    assert reward == pytest.approx(sum(terms), abs=1e-15)
    assert info["reward_effort"] == -0.01 * 0.25


def test_time_truncates_and_an_end_terminates() -> None:
    envs = RobotVectorEnv(
        task=CartPole(), num_envs=1, max_episode_steps=3, autoreset_mode="Disabled", lanes=False
    )
    envs.reset(seed=0)
    ends = [envs.step(np.zeros((1, 1)))[2:4] for _ in range(3)]
    assert [(bool(a[0]), bool(b[0])) for a, b in ends] == [(False, False)] * 2 + [(False, True)]
    with pytest.raises(ResetNeededError, match="environment 0 is over"):
        envs.step(np.zeros((1, 1)))
    falls = RobotVectorEnv(task=Swing(delay=(0.0, 0.0)), num_envs=1)
    falls.reset(seed=0)
    ended = [falls.step(np.ones((1, 1)))[2:4] for _ in range(4)]
    assert any(a[0] and not b[0] for a, b in ended)


class Late(CartPole):
    """An action is seen in the torques of the step that it reaches."""

    def reset(self, start: Any) -> Any:
        return start.home, start.rest


def test_an_action_is_as_late_as_it_is_said_to_be() -> None:
    """The impulse on the cart and pole at rest, over its mass, is the force times the time."""
    for delay in (0.0, 0.01, 0.03):
        env = RobotEnv(task=Late(delay=(delay, delay)), robot=cart_pole(pole_mass=1e-3))
        env.reset(seed=0)
        speeds = [env.step(np.array([1.0]))[0][3] for _ in range(3)]
        expected = [10.0 * max(0.0, 0.02 * (k + 1) - delay) for k in range(3)]
        np.testing.assert_allclose(speeds, expected, rtol=2e-3, atol=1e-9)


def test_noise_and_masses_are_as_they_are_declared() -> None:
    quiet, loud = (RobotEnv(task=Late(noise=noise)) for noise in (0.0, (0.1, 0.0, 0.0, 0.0, 0.2)))
    clean = quiet.reset(seed=0)[0]
    off = np.array([loud.reset(seed=k)[0] - clean for k in range(200)])
    np.testing.assert_allclose(off.std(axis=0), [0.1, 0, 0, 0, 0.2], rtol=0.15, atol=1e-9)
    # With a mass of all bodies f times as large, the same force gives the cart a 1/f of the speed.
    env = RobotEnv(task=Late(domain=Domain(mass=(2.0, 2.0))))
    env.reset(seed=0)
    plain_env = RobotEnv(task=Late())
    plain_env.reset(seed=0)
    half, whole = (one.step(np.array([0.5]))[0][3] for one in (env, plain_env))
    assert half == pytest.approx(whole / 2, rel=1e-3)


def test_each_episode_has_masses_of_its_own() -> None:
    """Those of one of the domain's robots, in any order, and the same for all environments."""
    domain = Domain(mass=(0.5, 2.0), robots=3)
    envs = RobotVectorEnv(task=Late(domain=domain), num_envs=8)
    robot = envs.episodes.robot
    masses = [domain.robot_of(robot, k).bodies[0].mass for k in range(3)]
    assert len(set(masses)) == 3
    speeds: dict[int, set[float]] = {}
    for seed in (3, None, None):
        envs.reset(seed=seed)
        seen = envs.step(np.full((8, 1), 0.5))[0]
        for i, k in enumerate(envs.episodes.chance.robots.tolist()):
            assert envs.episodes.batch[i].robot.bodies[0].mass == masses[k]
            speeds.setdefault(k, set()).add(float(seen[i, 3]))
    assert sorted(speeds) == [0, 1, 2]
    assert all(len(found) == 1 for found in speeds.values())
    assert len(set.union(*speeds.values())) == 3


def test_a_push_acts_from_the_instant_that_was_drawn() -> None:
    domain = Domain(push=5.0, push_seconds=0.06)
    env = RobotEnv(task=Late(domain=domain, seconds=1.0))
    env.reset(seed=2)
    push = env.episodes.chance.pushes[0]
    speeds = np.array([env.step(np.zeros(1))[0][3] for _ in range(49)])
    at = 0.02 * np.arange(1, 50)
    assert np.all(speeds[at <= push.begin] == 0.0)
    first = speeds[at > push.begin + 0.02][0]
    assert np.sign(first) == np.sign(push.force[0])
    assert abs(first) > 0.1 * abs(push.force[0]) * 0.02


@pytest.mark.parametrize("control", [Torques(5.0), Targets(kp=3.0, kd=0.1, scale=2.0)])
def test_motors_have_the_strength_that_was_drawn(control: Any) -> None:
    """Torques over the first step, in episodes of two environments and of the first one alone."""

    class Driven(Acrobot):
        def control(self, robot: Any) -> Any:
            return control

        def reward(self, now: Any) -> Any:
            return {"torque": now.tau[:, 0]}

    plain = RobotVectorEnv(task=Driven, num_envs=2, lanes=False, autoreset_mode="Disabled")
    drawn = RobotVectorEnv(
        task=Driven(domain=Domain(motors=(0.5, 1.5))), num_envs=2, lanes=False,
        autoreset_mode="Disabled",
    )  # fmt: skip
    alone = RobotEnv(task=Driven(domain=Domain(motors=(0.5, 1.5))))
    found = []
    for seed in (3, 4):
        for env in (plain, drawn, alone):
            env.reset(seed=seed)
        factors = drawn.episodes.chance.motors
        found.append(factors.copy())
        # Both start from the same state, but for what is drawn for motors.
        batches = plain.episodes.batch, drawn.episodes.batch, alone.episodes.batch
        for batch in batches:
            batch.set_state(np.array([0.1, 0.2]), np.zeros(2))
        action = np.full((2, 1), 0.4)
        torque = plain.step(action)[4]["reward_torque"]
        seen = drawn.step(action)[4]["reward_torque"]
        np.testing.assert_allclose(seen, factors[:, 0] * torque, rtol=1e-12)
        assert alone.step(action[0])[4]["reward_torque"] == seen[0]
    assert np.ptp(found) > 0.1
    assert np.all((np.array(found) >= 0.5) & (np.array(found) <= 1.5))


class Hit(CartPole):
    """Spins so fast in one environment that no step can be solved."""

    def reset(self, start: Any) -> Any:
        v = start.rest
        v[0, 1] = 1e9 if start.n > 1 else 0.0
        return start.home, v


@pytest.mark.filterwarnings("ignore")
def test_a_step_that_fails_truncates_its_environment_alone() -> None:
    # No other solver takes over, whose kernels would have to be compiled.
    task = Hit(options={"solver": "articulated"})
    envs = RobotVectorEnv(task=task, num_envs=2, lanes=False, autoreset_mode="SameStep")
    envs.reset(seed=0)
    seen, reward, terminated, truncated, info = envs.step(np.zeros((2, 1)))
    assert truncated.tolist() == [True, False]
    assert not terminated.any()
    assert info["final_info"]["failed"].tolist() == [True, False]
    assert info["failed"].tolist() == [False, False]
    assert np.all(np.isfinite(seen))
    assert np.all(np.isfinite(reward))
    # The one that failed has begun anew, and goes on.
    assert not envs.step(np.zeros((2, 1)))[3].any()


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ([[0.0], [np.nan]], "'slider' of environment 1 is nan"),
        ([[0.0], [1.5]], "'slider' of environment 1 is 1.5"),
        ([0.0, 0.0], r"shape \(2, 1\), not \(2,\)"),
        ("left", "must be numbers"),
        ([[0.0], [0.0, 1.0]], "must be numbers"),
    ],
)
def test_actions_that_are_none(action: Any, said: str) -> None:
    envs = RobotVectorEnv(num_envs=2, lanes=False)
    envs.reset(seed=0)
    with pytest.raises(ActionError, match=said):
        envs.step(action)
    # Nothing has moved.
    np.testing.assert_array_equal(envs.episodes.count, 0)


@pytest.mark.parametrize("action", ["left", [[0.0], [0.0, 1.0]], [None], [0.0, 0.0], [2.0]])
def test_an_action_of_one_robot_that_is_none(action: Any) -> None:
    env = RobotEnv()
    env.reset(seed=0)
    with pytest.raises(ActionError):
        env.step(action)
    assert env.episodes.count.tolist() == [0]


def test_use_out_of_turn() -> None:
    for env, action in ((RobotEnv(), np.zeros(1)), (RobotVectorEnv(), np.zeros((1, 1)))):
        with pytest.raises(ResetNeededError):
            env.step(action)
        env.close()
        env.close()
        for use in (env.reset, env.render, lambda e=env, a=action: e.step(a)):
            with pytest.raises(ClosedError, match="closed"):
                use()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_envs": 0}, "num_envs must be a whole number of at least 1, not 0"),
        ({"autoreset_mode": "Never"}, "'NextStep', 'SameStep', 'Disabled', not 'Never'"),
        ({"render_mode": "ansi"}, "rgb_array, not 'ansi'"),
        ({"max_episode_steps": 0}, "max_episode_steps"),
        ({"task": "Cartpole"}, "no task 'Cartpole'.*CartPole"),
        ({"task": 3}, "must be a Task"),
        ({"frictoin": 3}, "CartPole has no setting 'frictoin'"),
        ({"task": CartPole(), "steps": 2}, "made already"),
        ({"task": Task}, "no default robot"),
        ({"delay": (0.2, 0.1)}, "delay must be"),
        ({"noise": -1.0}, "noise must be zero or more"),
        ({"steps": 0}, "steps must be"),
        ({"seconds": np.nan}, "seconds must be"),
        ({"options": {"timestep": 1e-3}}, "options must not have 'timestep'"),
        ({"robot": "double_pendulum", "sizes": None}, "no actuated 'slider'.*joint1"),
        ({"robot": "double_pendulum"}, r"'double_pendulum': CartPole is .* of \(2, 2, 1\), not"),
        ({"robot": "doubel_pendulum"}, "did you mean 'double_pendulum'"),
    ],
)
def test_options_that_are_none(options: dict[str, Any], said: str) -> None:
    with pytest.raises((robosim.OptionError, robosim.ModelError), match=said):
        RobotVectorEnv(**options)


def test_masks_and_seeds_that_are_none() -> None:
    envs = RobotVectorEnv(num_envs=2, lanes=False)
    for options in ({"reset_mask": [True, False]}, {"reset_mask": np.zeros(2, bool)},
                    {"reset_mask": np.ones(3, bool)}):  # fmt: skip
        with pytest.raises(robosim.OptionError, match="reset_mask"):
            envs.reset(options=options)
    with pytest.raises(robosim.OptionError, match="3 seeds for 2"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(ResetNeededError, match="environment 1"):
        envs.reset(options={"reset_mask": np.array([True, False])})


def test_episodes_can_end_one_after_the_other() -> None:
    """Times begin at random, from the generator of each environment, and episodes end by them."""
    envs = RobotVectorEnv(num_envs=4, lanes=False, autoreset_mode="SameStep", max_episode_steps=50)
    for _ in range(2):
        envs.reset(seed=7, options={"spread": True})
        begun = envs.episodes.count.copy()
        np.testing.assert_array_equal(envs.episodes.now.time, envs.task.dt * begun)
        assert len(set(begun.tolist())) == 4
        assert ((begun >= 0) & (begun < 50)).all()
    ends = np.full(4, -1)
    for k in range(1, 51):
        truncated = envs.step(np.zeros(envs.action_space.shape, np.float32))[3]
        ends[truncated & (ends < 0)] = k
    np.testing.assert_array_equal(ends, 50 - begun)
    envs.reset(seed=7)
    assert not envs.episodes.count.any()


def test_what_lanes_that_are_not_full_cost_is_said() -> None:
    with pytest.warns(UserWarning, match="no multiple of 8: 4 environments .* 16 would"):
        RobotVectorEnv(num_envs=12)


WRONG = {
    "reward 'a' must have shape": {"reward": lambda self, now: {"a": 1.0}},
    "reward 'a' is nan in row 0": {"reward": lambda self, now: {"a": 0 * now.time + np.nan}},
    "the sum of a reward's terms is inf": {
        "reward": lambda self, now: dict.fromkeys("ab", 0 * now.time + 1e308)
    },
    "observe must give": {"observe": lambda self, now: now.q[0]},
    "entry 1 of what is observed is inf": {
        "observe": lambda self, now: np.tile([0, np.inf, 0, 0, 0], (len(now.time), 1))
    },
    "done must give shape": {"done": lambda self, now: True},
    "reset must give q of shape": {"reset": lambda self, start: (np.zeros(2), start.rest)},
    "a start that cannot be taken": {
        "reset": lambda self, start: (np.nan * start.home, start.rest)
    },
    "draw 'x' must be": {"draws": lambda self, robot: {"x": (1.0, 0.0)}},
    "control must be": {"control": lambda self, robot: "torque"},
    "scale must be a number or 1": {"control": lambda self, robot: Torques((1, 2))},
    "bounds must be": {"bounds": lambda self, robot: ((1, 2), 3)},
}  # fmt: skip


@pytest.mark.parametrize("said", WRONG)
def test_functions_of_a_task_that_are_wrong(said: str) -> None:
    wrong = type("Wrong", (CartPole,), WRONG[said])

    def use() -> None:
        env = RobotEnv(task=wrong)
        env.reset(seed=0)
        env.step(np.zeros(1))

    with pytest.raises(TaskError, match=said):
        use()


def test_targets_are_servos_about_home() -> None:
    """A stiff, implicit one is where it is told, whatever gravity says."""

    class Hold(Task):
        seconds = 1.0

        def control(self, robot: Any) -> Targets:
            return Targets(kp=2e4, kd=1e3, scale=0.5, implicit=True, effort_limits=False)

        def reward(self, now: Any) -> Mapping[str, Any]:
            return {"none": np.zeros(len(now.time))}

    env = RobotEnv("double_pendulum", Hold())
    env.reset(seed=0)
    for _ in range(50):
        seen = env.step(np.array([1.0, -0.5]))[0]
    np.testing.assert_allclose(seen[:2], [0.5, -0.25], atol=2e-3)


def test_what_is_returned_belongs_to_the_caller() -> None:
    envs = RobotVectorEnv(num_envs=2, lanes=False)
    twin = copy.deepcopy(envs.reset(seed=0)[0])
    first = envs.reset(seed=0)[0]
    first[:] = 7.0
    seen = envs.reset(seed=0, options={"reset_mask": np.array([True, False])})[0]
    np.testing.assert_array_equal(seen, twin)


def test_without_gymnasium_it_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import robosim\n"
        "try: import robosim.envs\n"
        "except robosim.errors.MissingExtraError as error: print(error, isinstance(error, "
        "ImportError))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert f"{install('gym')} True" in done.stdout, done.stderr
