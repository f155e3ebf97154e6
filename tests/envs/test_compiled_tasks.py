"""Tasks whose functions are compiled are the same tasks as those of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from robosim.envs import (
    CompiledTask,
    Functions,
    Moment,
    RobotEnv,
    RobotVectorEnv,
    Targets,
    Task,
    TaskError,
    row,
)
from robosim.envs.tasks.a1_stairs import AHEAD, BEGIN, DEPTH, A1Stairs
from robosim.envs.tasks.a1_walk import A1Walk
from robosim.envs.tasks.bases import base_of
from robosim.kernels.compiler.content import digest_of

Array = np.ndarray


class Common(Task):
    """What both forms of a task have."""

    seconds = 0.3
    noise = 0.01

    def control(self, robot: Any) -> Targets:
        return Targets(kp=200.0, kd=20.0, scale=1.0)

    def draws(self, robot: Any) -> Any:
        return {"goal": ((-1.0, -1.0), (1.0, 1.0)), "turn": (-0.5, 0.5)}

    def bounds(self, robot: Any) -> Any:
        return -3.0, 3.0


class OfArrays(Common):
    """The goal is known, and the velocity limited."""

    fastest: float = 4.0

    def reset(self, start: Any) -> Any:
        q = start.home
        q[:, 0] += start.drawn["turn"]
        return q, start.rest

    def observe(self, now: Moment) -> Array:
        return np.concatenate((now.q, now.v, now.drawn["goal"], now.time[:, None]), axis=1)

    def reward(self, now: Moment) -> Mapping[str, Array]:
        off = now.q - now.drawn["goal"]
        jerk = now.action - now.action_before
        return {
            "distance": -np.abs(off[:, 0]) - np.abs(off[:, 1]),
            "effort": -1e-4 * (now.tau[:, 0] ** 2 + now.tau[:, 1] ** 2),
            "jerk": -(jerk[:, 0] ** 2),
            "gain": now.q[:, 0] - now.q_before[:, 0] + now.v_before[:, 1],
        }

    def done(self, now: Moment) -> Array:
        return np.abs(now.v).max(axis=1) > self.fastest


@row
def far(now: Any, i: int, k: int) -> float:
    return abs(now.q[i, k] - now.drawn[i].goal[k])


def begin(start: Any, i: int, q: Array, v: Array) -> None:
    q[0] += start.drawn[i].turn


@row
def look(now: Any, i: int, out: Array) -> None:
    for k in range(2):
        out[k], out[2 + k], out[4 + k] = now.q[i, k], now.v[i, k], now.drawn[i].goal[k]
    out[6] = now.time[i]


def judge(now: Any, i: int, out: Array) -> None:
    out[0] = -far(now, i, 0) - far(now, i, 1)
    out[1] = -1e-4 * (now.tau[i, 0] ** 2 + now.tau[i, 1] ** 2)
    jerk = now.action[i, 0] - now.action_before[i, 0]
    out[2] = -jerk * jerk
    out[3] = now.q[i, 0] - now.q_before[i, 0] + now.v_before[i, 1]


def ends(now: Any, i: int) -> bool:
    return bool(np.abs(now.v[i]).max() > now.numbers[0])


FUNCTIONS = Functions(look, 7, judge, ("distance", "effort", "jerk", "gain"), ends, begin)


class Compiled(CompiledTask, Common):
    """The same, of one environment."""

    fastest: float = 4.0
    given: Functions | None = None

    def numbers(self, robot: Any) -> Any:
        return [self.fastest]

    def functions(self) -> Functions:
        return self.given or FUNCTIONS


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_compiled_task_is_the_task(mode: str) -> None:
    """Observations with noise, rewards, ends and starts, of many and of one environment."""
    made: Callable[[type[Task]], RobotVectorEnv] = lambda task: RobotVectorEnv(  # noqa: E731
        "double_pendulum", task, 5, autoreset_mode=mode, lanes=False
    )
    one, other = made(OfArrays), made(Compiled)
    single = RobotEnv("double_pendulum", Compiled)
    random = np.random.default_rng(0)
    seen = one.reset(seed=3)[0]
    np.testing.assert_array_equal(other.reset(seed=3)[0], seen)
    np.testing.assert_array_equal(single.reset(seed=3)[0], seen[0])
    over = False
    for _ in range(40):
        actions = random.uniform(-1, 1, (5, 2))
        a, b = one.step(actions), other.step(actions)
        for x, y in zip(a[:4], b[:4], strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)
        assert a[4].keys() == b[4].keys()
        np.testing.assert_allclose(a[4]["reward_gain"], b[4]["reward_gain"], atol=1e-13)
        if not over:
            alone = single.step(actions[0])
            assert alone[1:4] == (b[1][0], b[2][0], b[3][0])
            over = bool(alone[2] or alone[3])
    assert over


def without_rows(now: Moment) -> Mapping[str, Array]:
    """The rewards of A1Walk in docs/environments.md, as functions of arrays."""
    base, command = base_of(now.q, now.v), now.drawn["command"]
    off = ((base.velocity[:, :2] - command[:, :2]) ** 2).sum(axis=1)
    bent = now.q[:, 7:] - now.home[7:]
    return {
        "velocity": 2.0 * np.exp(-4.0 * off),
        "turning": 0.5 * np.exp(-4.0 * (base.omega[:, 2] - command[:, 2]) ** 2),
        "alive": np.full(len(off), 0.25),
        "bounce": -(base.velocity[:, 2] ** 2),
        "rolling": -0.025 * (base.omega[:, :2] ** 2).sum(axis=1),
        "upright": -(base.gravity[:, :2] ** 2).sum(axis=1),
        "posture": -0.002 * (bent**2).sum(axis=1) - 0.02 * (bent[:, ::3] ** 2).sum(axis=1),
        "effort": -2e-5 * (now.tau**2).sum(axis=1),
        "smoothness": -0.002 * ((now.action - now.action_before) ** 2).sum(axis=1),
    }


@pytest.mark.parametrize("task", [A1Walk(), A1Stairs(count=3, rise=0.1)])
def test_the_walkers_are_what_their_formulas_say(task: A1Walk) -> None:
    robot, random, n = task.robot(), np.random.default_rng(1), 20
    q, v = random.normal(size=(n, 19)), random.normal(size=(n, 18))
    q[:, 0], q[:, 2] = random.uniform(0.0, 3.0, n), random.uniform(0.0, 0.5, n)
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    q[::2, 3:7] = [1.0, 0.0, 0.0, 0.0]
    before, action, tau = q.copy(), random.normal(size=(2, n, 12)), random.normal(size=(n, 12))
    before[:, 0] -= 0.4
    drawn = {"command": random.normal(size=(n, 3))}
    drawn |= {"yaw": np.zeros(n), "joints": np.zeros((n, 12)), "velocity": np.zeros((n, 3))}
    now = Moment(robot, 0.02, q, v, before, v, *action, tau, np.zeros(n), drawn)
    stairs = isinstance(task, A1Stairs)

    def ground(x: Array) -> Array:
        return 0.1 * np.clip(np.floor((x - BEGIN) / DEPTH) + 1, 0, 3) if stairs else 0.0 * x

    terms, expected = dict(task.reward(now)), dict(without_rows(now))
    high = q[:, 2] - ground(q[:, 0])
    expected["height"] = -5.0 * (high - now.home[2]) ** 2
    if stairs:
        expected["climbing"] = 10.0 * (ground(q[:, 0]) - ground(before[:, 0]))
    assert terms.keys() == expected.keys()
    for name, term in expected.items():
        np.testing.assert_allclose(terms[name], term, rtol=1e-12, atol=1e-13, err_msg=name)
    base = base_of(q, v)
    fallen = (high < 0.4 * now.home[2]) | (base.gravity[:, 2] > -0.5)
    assert 0 < fallen.sum() < n
    np.testing.assert_array_equal(task.done(now), fallen)
    seen = task.observe(now)
    parts = base.velocity, base.omega, base.gravity, drawn["command"], q[:, 7:] - now.home[7:]
    heights = (ground(q[:, :1] + AHEAD) - (q[:, 2:3] - now.home[2]),) if stairs else ()
    told = np.concatenate((*parts, v[:, 6:], now.action, *heights), axis=1)
    np.testing.assert_allclose(seen, told, rtol=1e-12, atol=1e-13)


def test_methods_of_arrays_take_the_place_of_compiled_functions() -> None:
    class Own(Compiled):
        def reward(self, now: Moment) -> Mapping[str, Array]:
            return {**super().reward(now), "more": np.full(len(now.time), 0.5)}

        def observe(self, now: Moment) -> Array:
            return now.q

    env, plain = RobotEnv("double_pendulum", Own), RobotEnv("double_pendulum", Compiled)
    assert env.reset(seed=0)[0].shape == (2,)
    plain.reset(seed=0)
    one, other = env.step([0.1, 0.2]), plain.step([0.1, 0.2])
    assert one[1] == pytest.approx(other[1] + 0.5, abs=1e-14)
    assert set(one[4]) - set(other[4]) == {"reward_more"}


def too_far(now: Any, i: int, out: Array) -> None:
    out[7] = 1.0


def half(now: Any, i: int, out: Array) -> None:
    out[:3] = 0.0


def gives(now: Any, i: int, out: Array) -> Any:
    out[:] = 0.0
    return 1.0


def number(now: Any, i: int) -> Any:
    return 1.0


def later(now: Any, i: int, out: Array) -> None:
    out[0] = out[2] = out[3] = 0.0
    out[1] = 0.0 if now.time[i] < 0.03 else np.inf


def raises(start: Any, i: int, q: Array, v: Array) -> None:
    q[5] = 0.0


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"observe": too_far}, "observe raises IndexError"),
        ({"observe": half}, r"observe leaves entries \[3, 4, 5, 6\] of 7 unset"),
        ({"reward": gives}, "reward returns 1.0"),
        ({"done": number}, "done must return a bool, not 1.0"),
        ({"reset": raises}, "reset raises IndexError"),
    ],
)
def test_functions_that_would_write_elsewhere_are_refused(
    changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(TaskError, match=told):
        RobotEnv("double_pendulum", Compiled(given=FUNCTIONS._replace(**changed)))


def later_seen(now: Any, i: int, out: Array) -> None:
    look(now, i, out)
    if now.time[i] > 0.03:
        out[4] = np.inf
        out[5] = np.nan


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_what_is_observed_is_finite_before_it_is_clipped(noise: float) -> None:
    task = Compiled(given=FUNCTIONS._replace(observe=later_seen), noise=noise)
    env = RobotEnv("double_pendulum", task)
    env.reset(seed=0)
    env.step([0.0, 0.0])
    with pytest.raises(TaskError, match="entry 4 of what is observed is inf in row 0"):
        env.step([0.0, 0.0])


def test_what_is_not_finite_is_named() -> None:
    env = RobotEnv("double_pendulum", Compiled(given=FUNCTIONS._replace(reward=later)))
    env.reset(seed=0)
    env.step([0.0, 0.0])
    with pytest.raises(TaskError, match="reward 'effort' is inf in row 0"):
        env.step([0.0, 0.0])


def test_what_numba_cannot_compile_is_told() -> None:
    def strange(now: Any, i: int, out: Array) -> None:
        out[:] = [float(str(k)) for k in (1, 2, 3, 4)]
        out[:] = {"a": 1.0}.get("a")

    task = Compiled(given=FUNCTIONS._replace(reward=strange))
    with pytest.raises(TaskError, match="numba cannot compile reward"):
        RobotEnv("double_pendulum", task)


def test_a_digest_follows_all_that_is_called() -> None:
    def made(number: float) -> Any:
        def inner(x: float) -> float:
            return x + number

        inner = row(inner)

        def outer(x: float) -> float:
            return inner(x)

        return row(outer)

    assert digest_of(made(1.0)) == digest_of(made(1.0)) != digest_of(made(2.0))
    assert made(2.0)(1.0) == 3.0
    assert made(1.0)(1.0) == 2.0

    def names_an_object(x: float) -> Any:
        return unknown, x

    unknown = object()
    assert digest_of(names_an_object) is None


def test_the_ant_of_the_benchmark_is_that_of_gymnasium() -> None:
    """What it observes, its rewards and its end, at places of Gymnasium's own Ant."""
    pytest.importorskip("imageio")
    gymnasium = pytest.importorskip("gymnasium")
    pytest.importorskip("mujoco")
    from robosim.bench.gym import ant

    theirs = gymnasium.make("Ant-v5", include_cfrc_ext_in_observation=False).unwrapped
    ours = RobotEnv(task=ant())
    seen = ours.reset(seed=0)[0]
    assert seen.shape == theirs.reset(seed=0)[0].shape
    random, task = np.random.default_rng(0), ours.task
    for z in (0.1, 0.5, 1.2):
        q, v = theirs.init_qpos.copy(), 0.1 * random.normal(size=14)
        q[2] = z
        before = q.copy()
        q[0] += 0.03
        theirs.set_state(q, v)
        action = random.uniform(-1, 1, 8)
        now = ours.episodes.now._replace(
            q=q[None], v=v[None], q_before=before[None], action=action[None]
        )
        np.testing.assert_allclose(task.observe(now)[0], theirs._get_obs(), atol=1e-14)
        terms = {name: float(term[0]) for name, term in task.reward(now).items()}
        assert terms["forward"] == pytest.approx(0.03 / theirs.dt)
        assert terms["healthy"] == theirs.healthy_reward
        assert terms["control"] == pytest.approx(-theirs.control_cost(action))
        assert bool(task.done(now)[0]) != theirs.is_healthy
