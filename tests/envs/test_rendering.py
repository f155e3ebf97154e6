"""What environments look like: pictures, and the live view."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import gymnasium

from robosim.envs import RobotEnv, RobotVectorEnv


def test_pictures_show_where_the_robot_is() -> None:
    env = gymnasium.make("robosim/CartPole-v0", render_mode="rgb_array", size=(320, 240))
    env.reset(seed=0)
    frames = [env.render()]
    for _ in range(5):
        env.step(env.action_space.high)
    frames += [env.render(), env.render()]
    env.close()
    for frame in frames:
        assert (frame.shape, frame.dtype) == ((240, 320, 3), np.uint8)
    moved = np.abs(frames[1].astype(int) - frames[0]).max(axis=2) > 30
    assert moved.sum() > 100
    assert (np.abs(frames[2].astype(int) - frames[1]).max(axis=2) > 30).mean() < 1e-3


def test_each_of_many_has_its_picture_and_two_can_be_open() -> None:
    one = RobotEnv(render_mode="rgb_array", size=(64, 64))
    many = RobotVectorEnv(num_envs=2, lanes=False, render_mode="rgb_array", size=(64, 64))
    for env in (one, many):
        env.reset(seed=0)
    assert one.render().shape == (64, 64, 3)
    assert [frame.shape for frame in many.render()] == [(64, 64, 3)] * 2
    one.close()
    assert len(many.render()) == 2
    many.close()


def test_the_live_view_follows() -> None:
    env = RobotEnv(render_mode="human", open_browser=False)
    env.reset(seed=0)
    assert env.screen.url.startswith("http://127.0.0.1:")
    env.step(np.zeros(1))
    assert env.render() is None
    env.close()
