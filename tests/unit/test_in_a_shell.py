"""What a shell and a notebook show: short words, tables, figures, and a clean end."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import robosim
from robosim import Body, Geometry, HeightField, Joint, Log, Mechanism, Simulation
from robosim.batch import BatchSimulation
from robosim.controllers import PD, stand, trot
from robosim.errors import MissingExtraError, ViewerError
from robosim.version import install
from robosim.viz import Recorder, Viewer, figures

PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def a1() -> Mechanism:
    return robosim.load("a1")


@pytest.fixture(scope="module")
def log() -> Log:
    return Simulation(robosim.load("double_pendulum")).run(0.02)


def meshed() -> Body:
    points = np.random.default_rng(0).normal(size=(2000, 3))
    mesh = Geometry("mesh", vertices=points, faces=np.arange(1998).reshape(-1, 3))
    return Body("part", 1.5, np.diag([0.1, 0.2, 0.25]), visuals=(mesh,) * 7)


def test_parts_of_a_robot_are_told_in_a_line() -> None:
    body = meshed()
    assert repr(body) == (
        "Body(name='part', mass=1.5, inertia=((0.1, 0, 0), (0, 0.2, 0), (0, 0, 0.25)), "
        "frames=(Frame('part'),), visuals=<7>)"
    )
    assert repr(body.visuals[0]) == "Geometry(kind='mesh', vertices=<2000 x 3>, faces=<666 x 3>)"
    joint = Joint("j", "prismatic", None, "part", lower=-0.5, upper=1.0)
    assert repr(joint) == (
        "Joint(name='j', kind='prismatic', parent=None, child='part', lower=(-0.5,), upper=(1,))"
    )
    field = HeightField(np.zeros((50, 40)), size=(1.0, 2.0))
    assert repr(field) == "HeightField(heights=<50 x 40>, size=(1, 2))"


def test_no_part_of_the_a1_takes_a_page(a1: Mechanism) -> None:
    parts = (*a1.bodies, *a1.joints, *a1.contacts, *a1.bodies[0].collisions, a1.stance, a1)
    for part in parts:
        assert len(repr(part)) < 700
        assert "\n" not in repr(part)


def test_simulations_and_controllers_are_told_in_a_line(a1: Mechanism) -> None:
    with Simulation(a1) as sim:
        sim.run(0.002)
    assert repr(sim) == "<Simulation of 'a1' at t = 0.002 s, 2 steps of 0.001 s>"
    assert repr(sim.state) == "<BodyState of 13 bodies>"
    assert repr(sim.dynamics) == "<Dynamics of 'a1', nq=19, nv=18>"
    assert repr(stand(a1)) == "<PD of 12 actuators, kp = 60 to 100, kd = 3 to 5>"
    assert repr(trot(a1)) == "<Gait of 12 actuators, kp = 60 to 100, kd = 3 to 5, moving>"
    held = PD(a1, np.zeros(12), 1.0, 2.0, limit=3.0, implicit=True)
    assert repr(held) == "<PD of 12 actuators, kp = 1, kd = 2, limited, implicit>"
    assert repr(BatchSimulation(a1, 2)) == "<BatchSimulation of 2 'a1', steps of 0.001 s>"
    assert repr(Recorder(a1)) == "<Recorder of 'a1': 0 frames, 30 a second>"


def test_errors_pass_through_a_simulation_as_a_context() -> None:
    with pytest.raises(ZeroDivisionError), Simulation(robosim.load("cube")):
        raise ZeroDivisionError


def test_logs_are_told_in_a_line(log: Log) -> None:
    assert repr(log) == "<Log of 'double_pendulum': 20 samples, 0 to 0.019 s>"
    assert repr(log.samples) == "<Chunk of 20 samples, t = 0 to 0.019 s>"
    told = f"<LogInfo of 'double_pendulum': {len(log.names)} columns every 0.001 s, complete>"
    assert repr(log.info) == told


def test_a_log_as_a_data_frame(log: Log) -> None:
    pytest.importorskip("pandas")
    frame = log.to_pandas()
    assert list(frame.columns) == [name for name in log.names if name != "time"]
    assert frame.index.name == "time"
    np.testing.assert_array_equal(frame.index, log.t)
    np.testing.assert_array_equal(frame["joint1.position"], log.q[:, 0])
    assert frame["iterations"].dtype == np.int64
    assert frame.attrs["units"]["joint1.velocity"] == "rad/s"
    assert len(replace(log, samples=log.samples._make(a[:0] for a in log.samples)).to_pandas()) == 0


def test_a_data_frame_without_pandas(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError) as told:
        log.to_pandas()
    assert install("pandas") in str(told.value)


def test_a_log_draws_itself(log: Log, tmp_path: Path) -> None:
    figure = log.plot(tmp_path / "log.svg", joints="joint1")
    assert (tmp_path / "log.svg").read_text().startswith("<?xml")
    assert figure._repr_png_().startswith(PNG)  # what a notebook asks for


def test_figures_show(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(figures.webbrowser, "open", lambda uri: opened.append(uri) or True)
    figure = log.plot()
    figure.show()
    (uri,) = opened
    path = Path(uri.removeprefix("file://"))
    assert path.read_bytes().startswith(PNG)
    path.unlink()
    monkeypatch.setattr(figures.webbrowser, "open", lambda uri: False)
    with pytest.raises(
        ViewerError, match=r"no program to open a picture was found; it is in (.*\.png)"
    ) as told:
        figure.show()
    Path(str(told.value).split()[-1]).unlink()


def test_a_viewer_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    robot = robosim.load("cube")
    with Viewer(robot) as viewer:
        assert capsys.readouterr().err == f"live view: {viewer.url}\n"
        assert repr(viewer) == f"<Viewer of 'cube' at {viewer.url}>"
    assert repr(viewer) == "<Viewer of 'cube', ended>"
    with Viewer(robot, quiet=True):
        assert capsys.readouterr().err == ""


def test_simulate_opens_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    from robosim import cli
    from robosim.cli import runs, watching

    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(runs, "OPENING", 0.0)

    def opened(robot: Mechanism, *arguments: Any) -> Viewer:
        asked.append(dict(zip(("port", "host", "open_browser"), arguments, strict=True)))
        return watching.open_viewer(robot, None)

    monkeypatch.setattr(runs, "open_viewer", opened)
    line = ["simulate", "double_pendulum", "--seconds", "0.05", "--open"]
    result = CliRunner().invoke(cli.app, line)
    assert result.exit_code == 0, result.output
    assert asked == [{"port": None, "host": None, "open_browser": True}]
