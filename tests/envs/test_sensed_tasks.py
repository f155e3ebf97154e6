"""Sensors with rays as observations: of one environment, of many, and of compiled tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from robosim import Simulation
from robosim.collision import HeightField
from robosim.envs import RobotEnv, RobotVectorEnv
from robosim.envs.compiled import CompiledTask, Functions
from robosim.envs.errors import TaskError
from robosim.envs.task import Start, Task
from robosim.loaders import load
from robosim.sensors import HeightScan, Lidar
from robosim.validation import Array

GRID = (np.linspace(-0.2, 0.4, 4), (-0.1, 0.1))
EYES = Lidar("eyes", "trunk", 2, 6, range=4.0, noise=0.02, dropout=0.2)


def hills() -> Any:
    heights = 0.05 * np.random.default_rng(0).random((20, 20))
    return load("a1").with_contacts([HeightField(heights, (8.0, 8.0))], ground=False)


class Plain(Task):
    """Observes a scan and a lidar."""

    steps = 5
    seconds = 0.1
    sizes = (19, 18, 12)

    def robot(self) -> Any:
        return hills().with_sensors(EYES)

    def sensors(self, robot: Any) -> Any:
        return "eyes", HeightScan("scan", "trunk", GRID, 2.0)

    def draws(self, robot: Any) -> Any:
        return {"place": (np.full(2, -1.0), np.full(2, 1.0))}

    def reset(self, start: Start) -> tuple[Array, Array]:
        q = start.home
        q[:, :2] = start.drawn["place"]
        q[:, 2] += 0.2
        return q, start.rest

    def observe(self, now: Any) -> Array:
        return np.concatenate((now.q, now.sensed["scan"], now.sensed["eyes"]), axis=1)

    def reward(self, now: Any) -> Mapping[str, Array]:
        return {"low": -now.sensed["scan"][:, 0]}


def look(now: Any, i: int, out: Array) -> None:
    for k in range(19):
        out[k] = now.q[i, k]
    for k in range(8):
        out[19 + k] = now.sensed[i].scan[k]
    for k in range(12):
        out[27 + k] = now.sensed[i].eyes[k]


def judge(now: Any, i: int, out: Array) -> None:
    out[0] = -now.sensed[i].scan[0]


def begin(start: Any, i: int, q: Array, v: Array) -> None:
    q[:2] = start.drawn[i].place
    q[2] += 0.2


FUNCTIONS = Functions(look, 39, judge, ("low",), None, begin)


class Fast(CompiledTask, Plain):
    """The same, compiled."""

    observe, reward = CompiledTask.observe, CompiledTask.reward  # type: ignore[assignment]
    reset = CompiledTask.reset  # type: ignore[assignment]

    def functions(self) -> Functions:
        return FUNCTIONS


def test_one_many_and_compiled_environments_see_the_same() -> None:
    many = RobotVectorEnv(task=Plain, num_envs=3, lanes=False, autoreset_mode="SameStep")
    fast = RobotVectorEnv(task=Fast, num_envs=3, lanes=False, autoreset_mode="SameStep")
    one = RobotEnv(task=Plain)
    seen = many.reset(seed=4)[0]
    np.testing.assert_array_equal(fast.reset(seed=4)[0], seen)
    np.testing.assert_array_equal(one.reset(seed=4)[0], seen[0])
    sim = Simulation(hills(), Plain.timestep)
    random = np.random.default_rng(0)
    for k in range(14):
        actions = random.uniform(-1, 1, (3, 12))
        found, beside = many.step(actions), fast.step(actions)
        for a, b in zip(found[:4], beside[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        if k < 9:
            alone = one.step(actions[0])
            np.testing.assert_array_equal(alone[0], found[0][0])
        for row in found[0]:
            sim.set_state(row[:19] / np.r_[np.ones(3), np.full(4, np.linalg.norm(row[3:7])),
                                           np.ones(12)])  # fmt: skip
            x, y = sim.q[:2]
            scan, R = row[19:27].reshape(4, 2), sim.frame("trunk")[1]
            yaw = np.arctan2(R[1, 0], R[0, 0])
            place = (x + np.cos(yaw) * GRID[0][2] - np.sin(yaw) * GRID[1][1],
                     y + np.sin(yaw) * GRID[0][2] + np.cos(yaw) * GRID[1][1], 5.0)  # fmt: skip
            names = [body.name for body in sim.robot.bodies]
            ground = sim.cast(place, (0, 0, -1), exclude=names).point[2]
            assert scan[2, 1] == pytest.approx(sim.q[2] - ground, abs=2e-5)
    eyes = found[0][:, 27:]
    assert np.all((eyes >= 0) & (eyes <= 4.0))


def test_noise_is_another_in_each_episode_and_the_same_for_a_seed() -> None:
    env = RobotEnv(task=Plain)
    first = env.reset(seed=1)[0]
    again = env.reset()[0]
    np.testing.assert_array_equal(env.reset(seed=1)[0], first)
    env.episodes.chance.drawn["place"][:] = 0.0

    class Still(Plain):
        def reset(self, start: Start) -> tuple[Array, Array]:
            q = start.home
            q[:, 2] += 0.2
            return q, start.rest

    still = RobotEnv(task=Still)
    one, other = still.reset(seed=1)[0], still.reset()[0]
    np.testing.assert_array_equal(one[:27], other[:27])
    assert np.any(one[27:] != other[27:])
    assert np.any(again != first)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("ears",), "no sensor 'ears'"),
        (("eyes", "eyes"), "sensors must be different ones"),
        ((HeightScan("scan", "trunks"),), "frame 'trunks' does not exist"),
        ((Lidar("fast", "trunk", 1, 4, rate=1e5),), "rate must be at most 500 Hz"),
    ],
)
def test_bad_sensors_of_a_task_are_refused(asked: Any, told: str) -> None:
    class Bad(Plain):
        def sensors(self, robot: Any) -> Any:
            return asked

        def observe(self, now: Any) -> Array:
            return now.q  # type: ignore[no-any-return]

        def reward(self, now: Any) -> Mapping[str, Array]:
            return {"none": 0.0 * now.time}

    with pytest.raises((TaskError, ValueError), match=told):
        RobotEnv(task=Bad)


def test_nothing_below_is_told_as_not_finite() -> None:
    class Endless(Plain):
        def robot(self) -> Any:
            return load("a1").with_contacts([HeightField(np.zeros((2, 2)), (0.01, 0.01))],
                                            ground=False)  # fmt: skip

        def sensors(self, robot: Any) -> Any:
            return (HeightScan("scan", "trunk", GRID),)

        def observe(self, now: Any) -> Array:
            return np.asarray(now.sensed["scan"])

    with pytest.raises(TaskError, match="what is observed is inf"):
        RobotEnv(task=Endless).reset(seed=0)
