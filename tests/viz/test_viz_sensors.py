"""Points of sensors with rays in the viewer, and pictures of depths."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
import pytest
from test_viz_realtime import FakeViewer

import robosim
from robosim import OptionError, Simulation, StateError
from robosim.sensors import DepthCamera, Lidar
from robosim.viz import Viewer, live
from robosim.viz.depth import depth_figure


@pytest.fixture(scope="module")
def sim() -> Simulation:
    robot = robosim.load("a1").with_sensors(
        [
            Lidar("lidar", "trunk", 4, 30, vertical=(-1.0, -0.3), rate=50),
            Lidar("up", "trunk", 1, 4, vertical=(1.0, 1.2), exclude=("trunk",)),
            DepthCamera("eye", "trunk", 12, 10, fov=1.0, position=(0.3, 0, 0)),
        ]
    )
    sim = Simulation(robot, 2e-3)
    sim.place()
    return sim


class Drawing(FakeViewer):
    """Keeps the samples that it is to draw."""

    def __init__(self, *asked: Any) -> None:
        super().__init__(*asked)
        self.drawn: list[Any] = []

    def scan(self, sample: Any) -> None:
        self.drawn.append(sample)


def documents_of(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the viewer sends from now on."""
    sent: dict[str, Any] = {}
    monkeypatch.setattr(viewer, "document", lambda name, content: sent.update({name: content}))
    return sent


def test_points_of_a_sample_are_drawn(sim: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    with Viewer(sim.robot, quiet=True) as viewer:
        sent = documents_of(viewer, monkeypatch)
        viewer.show(sim, ("lidar", "up"))
        assert list(sent) == ["item sensor lidar"]
        item = sent["item sensor lidar"]
        assert item["kind"] == "points"
        cloud = np.frombuffer(base64.b64decode(item["points"]), dtype="<f4").reshape(-1, 3)
        expected = sim.sample("lidar").cloud
        np.testing.assert_array_equal(cloud, expected.astype(np.float32))
        assert len(cloud) > 50
        viewer.points("sensor up", [(0, 0, 1)])
        viewer.scan(sim.sample("up"))
        assert "sensor up" not in viewer._items


def test_a_live_run_draws_each_sample_once(sim: Simulation) -> None:
    run = sim.copy()
    viewer = Drawing()
    live(run, "stand", viewer=viewer, seconds=0.1, speed=math.inf, sensors=["lidar"])
    times = [sample.time for sample in viewer.drawn]
    assert times == sorted(set(times))
    assert 4 <= len(times) <= 6
    bare = sim.copy()
    live(bare, "stand", viewer=FakeViewer(), seconds=0.1, speed=math.inf)
    assert run.q.tobytes() == bare.q.tobytes()


def test_a_picture_of_depths(sim: Simulation, tmp_path: Any) -> None:
    sample = sim.sample("eye")
    figure = depth_figure(sample, tmp_path / "eye.png")
    (image,) = figure.axes[0].images
    shown = image.get_array()
    seen = np.isfinite(sample.values)
    assert 0 < seen.sum() < seen.size
    np.testing.assert_array_equal(np.asarray(shown)[seen], sample.values[seen])
    assert np.all(np.ma.getmaskarray(np.ma.masked_invalid(shown))[~seen])
    assert (tmp_path / "eye.png").stat().st_size > 1000
    with pytest.raises(StateError, match="sensor 'lidar' of kind 'lidar' gives no picture"):
        depth_figure(sim.sample("lidar"))
    with pytest.raises(OptionError, match=r"eye\.xyz"):
        depth_figure(sample, tmp_path / "eye.xyz")
