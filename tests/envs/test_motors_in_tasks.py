"""Motors in environments: their torques, alone and in many, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from robosim.controllers import DCMotor, Delay, LearnedActuator, Rate
from robosim.envs import Domain, RobotEnv, RobotVectorEnv, Targets, Torques
from robosim.envs.tasks.acrobot import Acrobot
from robosim.errors import ControllerError, OptionError

R, K, N = 2.0, 0.05, 20.0
MOTOR = DCMotor(R, K, gear_ratio=N, voltage_limit=12.0)


def spring(inputs: Any) -> Any:
    """Torques of a learned actuator: of the error, and of that before."""
    return 3.0 * inputs[:, 0] + inputs[:, 1] - 0.1 * inputs[:, 2]


CONTROLS = [
    Torques(30.0, motors=(Delay(0.01), MOTOR)),
    Targets(kp=60.0, kd=0.5, scale=2.0, motors=(Rate(100), Delay(0.005), MOTOR)),
    Targets(kp=0.0, kd=0.0, scale=2.0, motors=(LearnedActuator(spring, lags=(0.0, 0.005)),)),
]


class Driven(Acrobot):
    """An acrobot whose reward is the torque over the first time step."""

    timestep, steps = 5e-3, 4
    by: Any = CONTROLS[0]

    def control(self, robot: Any) -> Any:
        return self.by

    def reward(self, now: Any) -> Any:
        return {"torque": now.tau[:, 0]}

    def reset(self, start: Any) -> Any:
        return start.home + 0.1, start.rest


def task(by: Any, **settings: Any) -> Driven:
    made = Driven(**settings)
    made.by = by
    return made


@pytest.mark.parametrize("by", CONTROLS)
def test_many_are_each_to_the_last_bit_what_one_is(by: Any) -> None:
    settings: dict[str, Any] = {"seconds": 0.16, "delay": (0.0, 0.03)}
    settings["domain"] = Domain(motors=(0.5, 1.5))
    many = RobotVectorEnv(task=task(by, **settings), num_envs=3, lanes=False,
                          autoreset_mode="SameStep")  # fmt: skip
    ones = [RobotEnv(task=task(by, **settings)) for _ in range(3)]
    many.reset(seed=5)
    seen = [env.reset(seed=5 + i)[0] for i, env in enumerate(ones)]
    for action in np.random.default_rng(0).uniform(-1, 1, (20, 3, 1)):
        found = many.step(action)[0]
        for i, env in enumerate(ones):
            seen[i], _, ended, cut, _ = env.step(action[i])
            if ended or cut:
                seen[i], _ = env.reset()
        assert np.array_equal(found, seen)


def test_torques_are_those_of_the_motor() -> None:
    """On the line from stall to the speed without load, for the speed of each time step."""
    env = RobotEnv(task=task(Torques(30.0, motors=(MOTOR,)), steps=1))
    env.reset(seed=0)
    for _ in range(40):
        speed = float(env.episodes.batch.v[0, 1])
        torque = env.step(np.array([1.0]))[1]
        line = N * K / R * (12.0 - K * N * speed)
        assert torque == pytest.approx(min(30.0, line), rel=1e-12)
    assert speed > 4.0  # far enough along the line


def test_an_episode_begins_with_an_empty_delay() -> None:
    env = RobotEnv(task=task(Torques(1.0, motors=(Delay(0.02),))))
    for _ in range(2):
        env.reset(seed=0)
        found = [env.step(np.array([1.0]))[1] for _ in range(3)]
        assert found == [0.0, 1.0, 1.0]


def test_one_environment_begins_anew_alone() -> None:
    env = RobotVectorEnv(task=task(Torques(1.0, motors=(Delay(0.02),))), num_envs=2, lanes=False,
                         autoreset_mode="Disabled")  # fmt: skip
    env.reset(seed=0)
    for _ in range(2):
        env.step(np.ones((2, 1)))
    env.reset(options={"reset_mask": np.array([True, False])})
    assert env.step(np.ones((2, 1)))[1].tolist() == [0.0, 1.0]


def test_what_motors_cannot_follow_is_refused() -> None:
    with pytest.raises(OptionError, match="explicit PD"):
        RobotEnv(task=task(Targets(9.0, 1.0, 1.0, implicit=True, motors=(MOTOR,))))
    with pytest.raises(OptionError, match="follows targets"):
        RobotEnv(task=task(Torques(1.0, motors=(LearnedActuator(spring, lags=(0.0, 0.005)),))))
    with pytest.raises(ControllerError, match="must be the last"):
        RobotEnv(task=task(Torques(1.0, motors=(MOTOR, Delay(0.005)))))
    with pytest.raises(ControllerError, match="no whole number"):
        RobotEnv(task=task(Torques(1.0, motors=(Delay(0.0071),))))
