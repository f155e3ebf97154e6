"""Tasks whose functions are compiled are the same tasks as those of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("gymnasium")

from robosim.envs import (
    TASKS,
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
from robosim.envs.episodes import Episodes
from robosim.envs.tasks.a1_stairs import AHEAD, BEGIN, DEPTH, A1Stairs
from robosim.envs.tasks.a1_trot import A1Trot, on_feet
from robosim.envs.tasks.a1_walk import A1Walk
from robosim.envs.tasks.exoskeleton import Exoskeleton
from robosim.errors import ModelError
from robosim.kernels.compiler.content import digest_of
from robosim.models.builders.exoskeleton import MIDDLE, SPASTIC

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


class Base(NamedTuple):
    """Velocity, turning rate and direction of gravity in axes of the bases, each (n, 3)."""

    velocity: Array
    omega: Array
    gravity: Array


def base_of(q: Array, v: Array) -> Base:
    back = Rotation.from_quat(q[:, 3:7], scalar_first=True).inv()
    return Base(back.apply(v[:, :3]), v[:, 3:6], back.apply([0.0, 0.0, -1.0]))


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
    stairs = isinstance(task, A1Stairs)

    def ground(x: Array) -> Array:
        return 0.1 * np.clip(np.floor((x - BEGIN) / DEPTH) + 1, 0, 3) if stairs else 0.0 * x

    heading = Rotation.from_quat(q[:, 3:7], scalar_first=True).apply([1.0, 0.0, 0.0])[:, :2]
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    scan = q[:, 2:3] - ground(q[:, :1] + AHEAD * heading[:, :1])
    now = Moment(robot, 0.02, q, v, before, v, *action, tau, np.zeros(n), drawn, {"scan": scan})
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
    heights = (now.home[2] - scan,) if stairs else ()
    told = np.concatenate((*parts, v[:, 6:], now.action, *heights), axis=1)
    np.testing.assert_allclose(seen, told, rtol=1e-12, atol=1e-13)
    if stairs:
        q[:, 2] += 0.6
        batch = Episodes(task, robot, n, lanes=False).batch
        batch.set_state(q)
        beside = q[:, 2:3] - ground(q[:, :1] + AHEAD * heading[:, :1])
        np.testing.assert_allclose(batch.sensor("scan")[:, :, 0], beside, atol=1e-12)


def trotting(n: int) -> tuple[A1Trot, Moment]:
    """Random states near home, at random times."""
    task, random = A1Trot(), np.random.default_rng(1)
    robot = task.robot()
    q = np.asarray(robot.home) + 0.2 * random.normal(size=(n, 19))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    v, tau, action = (random.normal(size=size) for size in ((n, 18), (n, 12), (2, n, 12)))
    drawn = {"command": random.normal(size=(n, 3)), "yaw": np.zeros(n)}
    drawn |= {"joints": np.zeros((n, 12)), "velocity": np.zeros((n, 3))}
    time = random.uniform(0.0, 2.0, n)
    return task, Moment(robot, 0.02, q, v, q, v, *action, tau, time, drawn)


def test_a_trot_is_what_its_formula_says() -> None:
    task, now = trotting(20)
    terms, expected = dict(task.reward(now)), dict(without_rows(now))
    for name in ("alive", "posture"):
        del expected[name]
    expected["velocity"] *= 0.5
    expected["bounce"] *= 0.5
    expected["smoothness"] *= 5.0
    high = now.q[:, 2] - now.home[2]
    expected["height"] = -5.0 * high**2
    hips = (now.q[:, 7:] - now.home[7:])[:, ::3]
    expected["posture"] = -0.1 * (hips**2).sum(axis=1)
    legs = now.q[:, 7:].reshape(20, 4, 3)
    lengths = [0.2 * (np.cos(of[..., 1]) + np.cos(of[..., 1] + of[..., 2]))
               for of in (legs, now.home[7:].reshape(4, 3))]  # fmt: skip
    swing = np.sin(2 * np.pi * now.time / 0.5)
    aims = 0.06 * np.maximum(0.0, np.stack((swing, -swing, -swing, swing), axis=1))
    off = lengths[1] - lengths[0] - aims
    expected["rhythm"] = -40.0 * (off**2).sum(axis=1)
    assert terms.keys() == expected.keys()
    for name, term in expected.items():
        np.testing.assert_allclose(terms[name], term, rtol=1e-12, atol=1e-13, err_msg=name)
    over = task.done(now)
    tilted = base_of(now.q, now.v).gravity[:, 2] > -0.7
    np.testing.assert_array_equal(over, (now.q[:, 2] < 0.5 * now.home[2]) | tilted)
    assert 0 < over.sum() < 20


def test_a_mirrored_robot_sees_mirrored_observations_and_has_the_same_reward() -> None:
    """Half a period later, as the other pair of legs lifts then."""
    task, now = trotting(20)
    of = task.mirror()
    other = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]  # left for right
    hips = np.tile([-1.0, 1.0, 1.0], 4)
    q, v = now.q.copy(), now.v.copy()
    q[:, 1] *= -1.0
    q[:, 3:7] *= [1.0, -1.0, 1.0, -1.0]  # about the plane of x and z
    q[:, 7:] = hips * now.q[:, 7:][:, other]
    v[:, :6] *= [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
    v[:, 6:] = hips * now.v[:, 6:][:, other]
    action, before, tau = (hips * one[:, other]
                           for one in (now.action, now.action_before, now.tau))  # fmt: skip
    drawn = {**now.drawn, "command": now.drawn["command"] * [1.0, -1.0, -1.0]}
    mirrored = now._replace(q=q, v=v, q_before=q, v_before=v, action=action, action_before=before,
                            tau=tau, time=now.time + 0.25, drawn=drawn)  # fmt: skip
    seen = of.seen_signs * task.observe(now)[:, of.seen]
    np.testing.assert_allclose(task.observe(mirrored), seen, atol=1e-12)
    np.testing.assert_array_equal(of.action_signs * now.action[:, of.actions], action)
    for (name, term), image in zip(
        task.reward(now).items(), task.reward(mirrored).values(), strict=True
    ):
        np.testing.assert_allclose(image, term, rtol=1e-9, atol=1e-12, err_msg=name)


def test_feet_alone_touch_the_ground_where_that_is_enough() -> None:
    robot = A1Trot().robot()
    feet = on_feet(robot)
    assert [contact.name for contact in feet.contacts] == [
        f"{leg}_foot/sphere0" for leg in ("FR", "FL", "RR", "RL")
    ]
    assert len(robot.contacts) > 4
    with pytest.raises(ModelError, match="no contact point has 'foot'"):
        on_feet(replace(robot, contacts=()))


def test_the_other_tasks_are_what_their_formulas_say() -> None:
    """The rewards and observations of docs/environments.md, at random places."""
    random, n = np.random.default_rng(2), 6

    def at(name: str, **drawn: Array) -> tuple[Task, Moment]:
        task = TASKS[name]()
        robot = task.robot()
        q, v, before = (random.normal(size=(n, k)) for k in (robot.nq, robot.nv, robot.nq))
        if name in ("MinitaurHop", "Push"):
            turn = q[:, -4:] if name == "Push" else q[:, 3:7]
            turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        na = len(task.control(robot).joints or robot.actuated)
        action, tau = random.normal(size=(2, n, na)), random.normal(size=(n, robot.nu))
        time = random.uniform(0.0, 3.0, n)
        return task, Moment(robot, task.dt, q, v, before, v, *action, tau, time, drawn)

    def check(task: Task, now: Moment, seen: list[Array], **terms: Array) -> None:
        found = dict(task.reward(now))
        assert found.keys() == terms.keys()
        for name, term in terms.items():
            np.testing.assert_allclose(found[name], term, rtol=1e-11, atol=1e-13, err_msg=name)
        told = np.concatenate([one.reshape(n, -1) for one in seen], axis=1)
        np.testing.assert_allclose(task.observe(now), told, rtol=1e-12, atol=1e-13)

    zero = np.zeros(n)
    task, now = at("CartPole", place=zero, angle=zero, rate=zero)
    (x, angle), (u, w), a = now.q.T, now.v.T, now.action[:, 0]
    h2 = ((1 - np.cos(angle)) / 2) ** 2
    check(task, now, [x, np.cos(angle), np.sin(angle), u, w], upright=h2,
          middle=-0.2 * h2 * (x / 1.8) ** 2, still=-0.005 * h2 * w**2,
          effort=-0.01 * a**2)  # fmt: skip
    task, now = at("Acrobot", angles=np.zeros((n, 2)))
    (p, r), a = now.q.T, now.action[:, 0]
    h2 = ((2 - np.cos(p) - np.cos(p + r)) / 4) ** 2
    check(task, now, [np.cos(p), np.sin(p), np.cos(r), np.sin(r), now.v], height=h2,
          still=-0.002 * h2 * (now.v**2).sum(axis=1), effort=-0.01 * a**2)  # fmt: skip
    task, now = at("Exoskeleton", phase=random.uniform(0, 6, n), offset=np.zeros((n, 2)))
    phase = (now.time + now.drawn["phase"])[:, None]
    goal = MIDDLE + np.pi / 4 * np.sin(phase)
    rates = np.tile(np.pi / 4 * np.cos(phase), (1, 2))
    load = SPASTIC[0] * (MIDDLE[1] - now.q[:, 6]) - SPASTIC[1] * now.v[:, 5]
    check(task, now, [now.q[:, :2], now.q[:, 6], now.v[:, :2], now.v[:, 5], goal, rates,
                      now.action],
          tracking=np.exp(-10 * ((now.q[:, :2] - goal) ** 2).sum(axis=1)),
          comfort=-0.2 * np.maximum(np.abs(load) - 5.0, 0.0),
          effort=-0.01 * (now.action**2).sum(axis=1))  # fmt: skip
    assert np.abs(load).max() > 5.0
    healthy = Exoskeleton(patient="healthy")
    np.testing.assert_array_equal(healthy.reward(now)["comfort"], 0.0)
    task, now = at("MinitaurHop", yaw=zero, height=zero)
    base, motors = base_of(now.q, now.v), now.robot.actuated
    over = np.maximum(now.q[:, 2] - now.home[2], 0.0) / 0.25
    angles = now.q[:, motors + 1] - now.home[motors + 1]
    check(task, now, [now.q[:, 2], *base, angles, now.v[:, motors], now.action], height=over**2,
          upright=-0.2 * (base.gravity[:, :2] ** 2).sum(axis=1),
          drift=-0.1 * (base.velocity[:, :2] ** 2).sum(axis=1),
          effort=-1e-3 * (now.tau**2).sum(axis=1))  # fmt: skip
    over = (base.gravity[:, 2] > -0.5) | (now.q[:, 2] < 0.08)
    np.testing.assert_array_equal(task.done(now), over)
    goal, flat = random.normal(size=(n, 2)), np.zeros((n, 2))
    task, now = at("Push", finger=flat, cube=flat, yaw=zero, goal=goal)
    goal[0] = now.q[0, 2:4] + 0.01
    finger, cube, w, z = now.q[:, :2], now.q[:, 2:4], now.q[:, 5], now.q[:, 8]

    def far(a: Array, b: Array) -> Array:
        return np.linalg.norm(a - b, axis=1)

    check(task, now, [finger, now.v[:, :2], cube - finger, 1 - 2 * z**2, 2 * w * z, now.v[:, 2:4],
                      now.v[:, 7], goal - cube],
          progress=10 * (far(goal, now.q_before[:, 2:4]) - far(goal, cube)),
          there=(far(goal, cube) < 0.03).astype(float),
          near=-0.1 * np.maximum(far(cube, finger) - 0.1, 0.0),
          effort=-0.005 * (now.action**2).sum(axis=1))  # fmt: skip


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


def raises_second(start: Any, i: int, q: Array, v: Array) -> None:
    if i == 1:
        raise ValueError("there is no second start")


def test_a_start_that_raises_is_told_as_the_task_s() -> None:
    task = Compiled(given=FUNCTIONS._replace(reset=raises_second))
    envs = RobotVectorEnv("double_pendulum", task, 2, lanes=False)
    with pytest.raises(TaskError, match="reset raises ValueError: there is no second start"):
        envs.reset(seed=0)


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
