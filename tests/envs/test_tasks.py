"""The tasks that ship: what is seen, what counts, when it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402
from gymnasium.vector import SyncVectorEnv  # noqa: E402

from robosim.envs import TASKS, RobotEnv, RobotVectorEnv  # noqa: E402
from robosim.envs.tasks.a1_stairs import A1Stairs  # noqa: E402
from robosim.envs.tasks.a1_walk import A1Walk  # noqa: E402
from robosim.envs.tasks.bases import look_from_base, turn_to, upright  # noqa: E402
from robosim.envs.tasks.cart_pole import CartPole  # noqa: E402
from robosim.envs.tasks.push import FORCE, Push  # noqa: E402

# Observations and actions.
SIZES = {
    "CartPole": (5, 1),
    "Acrobot": (6, 1),
    "A1Walk": (48, 12),
    "A1Trot": (50, 12),
    "A1Rough": (50, 12),
    "A1Stairs": (59, 12),
    "MinitaurHop": (34, 8),
    "Exoskeleton": (12, 2),
    "Push": (13, 2),
}


@pytest.mark.parametrize("name", TASKS)
def test_gymnasium_finds_nothing_wrong(name: str) -> None:
    env = gymnasium.make(f"robosim/{name}-v0", disable_env_checker=True)
    assert (env.observation_space.shape + env.action_space.shape) == SIZES[name]
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.max_episode_steps == TASKS[name]().most_steps


@pytest.mark.parametrize("name", TASKS)
def test_rows_do_not_depend_on_each_other(name: str) -> None:
    """Three at once are to the last bit what three single ones are."""
    ours = RobotVectorEnv(task=name, num_envs=3, lanes=False)
    theirs = SyncVectorEnv([lambda: RobotEnv(task=name)] * 3)
    assert data_equivalence(ours.reset(seed=1), theirs.reset(seed=1), exact=True)
    random = np.random.default_rng(0)
    for _ in range(3):
        action = random.uniform(-1, 1, ours.action_space.shape).astype(np.float32)
        one, other = ours.step(action), theirs.step(action)
        assert data_equivalence(one[:4], other[:4], exact=True)
        assert {k: np.asarray(v).tolist() for k, v in one[4].items()} == {
            k: np.asarray(v).tolist() for k, v in other[4].items()
        }


def test_a_base_sees_its_motion_in_its_own_axes() -> None:
    random = np.random.default_rng(0)
    quaternions = random.standard_normal((5, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    q = np.concatenate((random.standard_normal((5, 3)), quaternions), axis=1)
    v = random.standard_normal((5, 6))
    back = Rotation.from_quat(quaternions, scalar_first=True).inv()
    base = np.empty((5, 9))
    for i in range(5):
        look_from_base(q, v, i, base[i])
        assert upright(q, i) == pytest.approx(-base[i, 8], abs=1e-15)
    np.testing.assert_allclose(base[:, :3], back.apply(v[:, :3]), atol=1e-14)
    np.testing.assert_array_equal(base[:, 3:6], v[:, 3:])
    np.testing.assert_allclose(base[:, 6:], back.apply([0.0, 0.0, -1.0]), atol=1e-14)
    turn = np.empty(4)
    for yaw in (0.3, -2.0):
        turn_to(yaw, turn)
        there = Rotation.from_euler("z", yaw).as_quat(scalar_first=True)
        np.testing.assert_allclose(turn, there, atol=1e-15)


def at(env: RobotEnv, q: Any, **drawn: Any) -> dict[str, np.ndarray]:
    """Terms of the reward at rest in a pose, with other draws."""
    env.reset(seed=0)
    now = env.episodes.now
    now.q[0], now.v[0] = q, 0.0
    for name, value in drawn.items():
        now.drawn[name][0] = value
    return {name: float(term[0]) for name, term in env.task.reward(now).items()}


def test_what_stands_has_all_that_can_be_had() -> None:
    upright = at(RobotEnv(task="CartPole"), [0.0, np.pi])
    assert upright["upright"] == pytest.approx(1.0)
    assert at(RobotEnv(task="CartPole"), [0.9, np.pi])["middle"] == pytest.approx(-0.05)
    assert at(RobotEnv(task="Acrobot"), [np.pi, 0.0])["height"] == pytest.approx(1.0)
    assert at(RobotEnv(task="Acrobot"), [0.0, np.pi])["height"] == pytest.approx(0.0625 * 4)
    walker = RobotEnv(task="A1Walk")
    home = np.asarray(walker.episodes.robot.home)
    terms = at(walker, home, command=0.0)
    assert [terms.pop(name) for name in ("velocity", "turning", "alive")] == [2.0, 0.5, 0.25]
    assert all(abs(term) < 1e-12 for term in terms.values())
    # Commanded to go at half a metre a second, and standing.
    assert at(walker, home, command=[0.5, 0, 0])["velocity"] == pytest.approx(2 * np.exp(-1.0))


def test_what_has_fallen_is_over() -> None:
    env = RobotEnv(task="A1Walk")
    env.reset(seed=0)
    now = env.episodes.now
    assert not env.task.done(now)[0]
    tilted = np.asarray(env.episodes.robot.home).copy()
    tilted[3:7] = Rotation.from_euler("x", 70, degrees=True).as_quat(scalar_first=True)
    now.q[0] = tilted
    assert env.task.done(now)[0]
    now.q[0] = np.asarray(env.episodes.robot.home)
    now.q[0, 2] = 0.1
    assert env.task.done(now)[0]


def test_the_walker_stands_when_it_is_told_nothing() -> None:
    env = RobotEnv(task=A1Walk(forward=(0, 0), sideways=(0, 0), turning=(0, 0)))
    env.reset(seed=0)
    for _ in range(50):
        seen, reward, over, _, info = env.step(np.zeros(12))
        assert not over
    assert info["reward_velocity"] > 1.98
    np.testing.assert_allclose(seen[6:9], [0, 0, -1], atol=0.05)
    assert reward > 2.6


def test_stairs_are_where_the_robot_sees_them() -> None:
    """Put over the edge of the last step but one, it sees the last; put on the top, it stands."""

    class Up(A1Stairs):
        place = 0.8 + 4.5 * 0.35

        def reset(self, start: Any) -> Any:
            q = start.home
            q[:, 0] = self.place
            q[:, 2] += self.count * self.rise + 0.001
            return q, start.rest

    seen = RobotEnv(task=Up()).reset(seed=0)[0][48:]
    steps = np.floor((Up.place + np.linspace(-0.3, 0.7, 11) - 0.8) / 0.35) + 1
    # Heights are from where the home pose would have the base over the ground.
    np.testing.assert_allclose(seen, 0.06 * steps.clip(0, 6) - 0.361, atol=1e-6)
    env = RobotEnv(task=Up(place=4.0))
    env.reset(seed=0)
    for _ in range(50):
        assert not env.step(np.zeros(12))[2]
    contacts = env.episodes.batch[0].contacts()
    assert {one.other for one in contacts} == {"step 5"}
    weight = sum(one.force[2] for one in contacts)
    assert weight == pytest.approx(9.81 * env.episodes.robot.total_mass, rel=0.05)


def test_a_finger_pushes_the_cube_ahead() -> None:
    env = RobotEnv(task=Push())
    env.reset(seed=0)
    start = env.episodes.now.q[0].copy()
    q = start.copy()
    q[:2] = q[2] - 0.15, q[3]
    q[5:9] = 1, 0, 0, 0
    env.episodes.batch.set_state(q)
    progress = 0.0
    for _ in range(25):
        _, _, _, _, info = env.step(np.array([0.6, 0.0]))
        progress += info["reward_progress"]
    moved = env.episodes.now.q[0]
    assert moved[2] > q[2] + 0.05
    assert abs(moved[3] - q[3]) < 0.02
    assert FORCE * 0.6 > 0.4 * 0.5 * 9.81  # what pushes is more than what rubs
    goal = env.episodes.now.drawn["goal"][0]
    gained = np.linalg.norm(goal - q[2:4]) - np.linalg.norm(goal - moved[2:4])
    # The first difference is from where the episode began, which is the same place of the cube.
    assert progress == pytest.approx(10 * gained, abs=1e-3)


@pytest.mark.parametrize("name", ["MinitaurHop", "Exoskeleton"])
def test_loops_stay_closed(name: str) -> None:
    env = RobotEnv(task=name)
    env.reset(seed=0)
    random = np.random.default_rng(0)
    for _ in range(10):
        env.step(random.uniform(-1, 1, env.action_space.shape))
    log = env.episodes.batch.rollout(1)
    assert log.violation.max() < 1e-9
    if name == "Exoskeleton":
        robot = env.episodes.robot
        assert (robot.q_names[6], robot.v_names[5]) == ("elbow", "elbow")


def test_settings_change_a_task() -> None:
    env = gymnasium.make("robosim/A1Walk-v0", forward=(0.5, 0.5), seconds=1.0)
    assert env.reset(seed=0)[0][9] == 0.5
    task = env.unwrapped.task
    assert (task.dt, task.most_steps) == (0.02, 50)
    assert CartPole(steps=1).dt == 0.005
