"""Logs shown again: the frames are the log's poses, ghosts beside them, charts of its columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_viz_recorder import embedded, times_of
from test_viz_session import FakeViewer

import robosim
from robosim import LogError, Simulation, viz
from robosim.errors import OptionError, ViewerError
from robosim.log import Log
from robosim.viz import playback, rendering
from robosim.viz.playback import recording
from robosim.viz.sidebyside import fall


@pytest.fixture(scope="module")
def log() -> Log:
    sim = Simulation(robosim.load("double_pendulum"))
    sim.set_state([1.0, 0.5])
    return sim.run(0.5)


def frames_of(page: str, n_bodies: int) -> np.ndarray:
    """Poses (n, n_bodies, 7) of a recording without contacts."""
    values = np.frombuffer(embedded(page, "frames"), "<f4").reshape(-1, 4 + 7 * n_bodies)
    return values[:, 4:].reshape(len(values), n_bodies, 7)


def test_a_log_is_shown_as_it_was(log):
    recorder = recording(log, fps=20)
    page = recorder.page()
    times = times_of(embedded(page, "frames"), 2)
    np.testing.assert_allclose(times, np.arange(10) * 0.05, atol=1e-6)
    sim = Simulation(log.robot)
    for k, pose in zip((0, 250), frames_of(page, 2)[[0, 5]], strict=True):
        sim.set_state(log.q[k])
        np.testing.assert_allclose(pose[:, :3], sim.state.x, atol=1e-6)
        signs = np.sign(np.sum(pose[:, 3:] * sim.state.q, axis=1, keepdims=True))
        np.testing.assert_allclose(pose[:, 3:], signs * sim.state.q, atol=1e-6)
    rows = np.frombuffer(embedded(page, "rows"), "<f4").reshape(len(times), -1)
    np.testing.assert_allclose(rows[5, 1:3], log.q[250], rtol=1e-6)
    np.testing.assert_allclose(rows[5, 3:5], log.v[250], rtol=1e-6)
    assert rows.shape[1] == 1 + sum(len(chart["names"]) for chart in recorder.charts)


def test_a_file_is_shown_with_the_robot_that_it_names(log, tmp_path):
    log.save(tmp_path / "run.npz")
    read = Log.load(tmp_path / "run.npz")
    assert read.robot is None
    assert len(recording(read)) == len(recording(log))
    with pytest.raises(LogError, match="is of another robot"):
        recording(read, robosim.load("a1"))
    nameless = Log(type(read.info)("", 1e-3, read.info.q, read.info.v, read.info.tau), read.samples)
    with pytest.raises(LogError, match="give the robot as well"):
        recording(nameless)


def test_ghosts_follow_at_the_same_times(log):
    other = Simulation(log.robot, 2e-3)
    other.set_state([0.2, 0.1])
    second = other.run(0.3)  # shorter: it stays at its end
    page = recording(log, others=[("second", second)], fps=20).page()
    poses = frames_of(page, 4)
    alone = frames_of(recording(second, fps=20).page(), 2)
    np.testing.assert_allclose(poses[:5, 2:], alone[:5], atol=1e-6)
    other.set_state(second.q[-1])
    np.testing.assert_allclose(poses[-1, 2:, :3], other.state.x, atol=1e-6)
    np.testing.assert_allclose(poses[:, :2], frames_of(recording(log, fps=20).page(), 2))
    assert 'id="rows"' not in page


def test_an_empty_log_is_an_error(log):
    with pytest.raises(LogError, match="no samples"):
        recording(Log.from_chunks(log.robot, 1e-3, []))


def test_replay_opens_the_browser_outside_of_notebooks(log, monkeypatch):
    opened = []
    monkeypatch.setattr(playback.webbrowser, "open", opened.append)
    recorder = viz.replay(log)
    (address,) = opened
    path = Path(address.removeprefix("file://"))
    assert path.read_text() == recorder.page()
    path.unlink()


def test_two_simulators_fall_side_by_side():
    pytest.importorskip("mujoco")
    robot = robosim.load("cube")
    viewer = FakeViewer()
    viewer.states = []
    viewer.update = lambda **state: viewer.states.append(state["x"].copy())
    fall(robot, viewer, lambda: len(viewer.states) >= 20, seconds=0.2)
    x = np.array(viewer.states)
    assert x.shape[1:] == (2, 3)
    # In free fall they are the same; after 12 frames both start again.
    np.testing.assert_allclose(x[:3, 0], x[:3, 1], atol=2e-3)
    np.testing.assert_allclose(x[12], x[0], atol=1e-9)
    assert x[3, 0, 2] < x[0, 0, 2]


def test_what_cannot_be_drawn_is_refused_with_advice(log, tmp_path, monkeypatch):
    recorder = recording(log)
    with pytest.raises(OptionError, match=r"must end in one of \.png, \.gif, \.mp4"):
        rendering.render(recorder, tmp_path / "run.avi")
    with pytest.raises(OptionError, match="two even numbers"):
        rendering.render(recorder, tmp_path / "run.png", size=(641, 480))
    monkeypatch.setattr(rendering.shutil, "which", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(ViewerError, match=r"a video needs ffmpeg: pip install"):
        rendering.check_renderer(".mp4")
    rendering.check_renderer(".png")
