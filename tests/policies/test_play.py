"""``robosim play``: tables, JSON, pages, and errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from policy_networks import LEGGED, linear
from typer.testing import CliRunner

from robosim import Simulation
from robosim.cli import app
from robosim.cli.play import steer
from robosim.log import read_log
from robosim.policies import load
from robosim.policies.track import Watched


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command in a directory with a task file and a policy of zeros."""
    monkeypatch.chdir(tmp_path)
    Path("a1.yaml").write_text(yaml.safe_dump(LEGGED))
    linear(Path("zero.onnx"), np.zeros((12, 48)))

    def invoke(*args: str) -> Any:
        return CliRunner().invoke(app, ["play", *args])

    return invoke


A1 = ("a1", "zero.onnx", "--task", "a1.yaml")


def said(found: Any) -> str:
    return " ".join(found.output.split())


def test_a_policy_is_played_alone(run):
    found = run(*A1, "--seconds", "0.2", "--log", "run.npz")
    assert found.exit_code == 0, found.output
    assert "velocity error, RMS" in said(found)
    assert "MuJoCo" not in found.output
    assert "to see it live: robosim play a1 zero.onnx --view --task a1.yaml" in said(found)
    log = read_log(Path("run.npz"))
    assert len(log) == 40
    assert log.timestep == pytest.approx(5e-3)


@pytest.mark.peer
def test_a_policy_is_played_beside_mujoco_with_json_and_a_page(run):
    pytest.importorskip("mujoco")
    words = ("--command", "0.4,0,0", "--command", "0,0,1@0.1", "--seconds", "0.2")
    found = run(*A1, *words, "--peer", "mujoco", "--apart", "1e-5", "--html", "p.html", "--json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert [one["simulator"] for one in told["runs"]] == ["robosim", "MuJoCo"]
    assert told["html"] == "p.html"
    assert told["log"] is None
    assert 0 < told["parting"]["time"] < 0.2
    assert told["parting"]["distance"] > 1e-5
    ours, theirs = told["runs"]
    assert ours.keys() == theirs.keys()
    assert ours["fell"] is None
    assert ours["turning_error"] == pytest.approx(np.sqrt(0.5), abs=0.1)
    page = Path("p.html").read_text()
    assert "zero.onnx: a1 in robosim and MuJoCo" in page
    assert "part by more than" in page
    assert not re.findall(r'(?:src|href)="https?:', page)
    found = run(*A1, *words, "--peer", "mujoco", "--apart", "1e-5")
    assert "robosim and MuJoCo part by more than 1e-05 m at" in said(found)
    assert "contacts then" in said(found) or "FR_calf" not in said(found)


def test_a_page_of_robosim_alone(run):
    found = run(*A1, "--seconds", "0.1", "--html", "p.html")
    assert found.exit_code == 0, found.output
    page = Path("p.html").read_text()
    assert "zero.onnx: a1 in robosim<" in page
    assert "distance between" not in page


def test_a_page_escapes_names(run):
    name = "<b>&.onnx"
    linear(Path(name), np.zeros((12, 48)))
    found = run("a1", name, "--task", "a1.yaml", "--seconds", "0.1", "--html", "p.html")
    assert found.exit_code == 0, found.output
    assert "<h1>&lt;b&gt;&amp;.onnx: a1" in Path("p.html").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("a1", "zero.onnx"), "zero.onnx does not say what it observes"),
        (("a1", "none.onnx", "--task", "a1.yaml"), "none.onnx: the network does not exist"),
        (("a1", "zero.onnx", "--task", "isaac"), "or a preset, not 'isaac'"),
        (("a1", "zero.onnx", "--task", "mjlab"), "the task has no 'stiffness'"),
        (("double_pendulum", "zero.onnx", "--task", "a1.yaml"), "matches no joint"),
        ((*A1, "--command", "1,x"), "--command takes X,Y,YAW"),
        ((*A1, "--command", "1,0"), "must be 3 finite numbers"),
        ((*A1, "--command", "1,0,0", "--command", "1@2"), "--command has 1 and 3 numbers"),
        ((*A1, "--timestep", "0.003"), "no whole number of time steps"),
        ((*A1, "--peer", "bullet"), "must be one of mujoco"),
        ((*A1, "--html", "p.pdf"), "must end in .html"),
        ((*A1, "--html", "none/p.html"), "the directory does not exist"),
        ((*A1, "--port", "7000"), "--port is for --view"),
        ((*A1, "--view", "--peer", "mujoco"), "--peer is for a run with an end"),
        ((*A1, "--apart", "0"), "--apart must be a positive number"),
        ((*A1, "--from", "sit"), "'a1' has no such pose"),
    ],
)
def test_errors_are_told_in_a_sentence(run, options, words):
    found = run(*options)
    assert found.exit_code == 1, found.output
    assert words in said(found)


def test_a_policy_that_gives_nan_ends_the_run(run):
    W = np.zeros((12, 48))
    W[2, 2] = np.inf  # times the vertical velocity, which is zero at first
    linear(Path("nan.onnx"), W)
    found = run("a1", "nan.onnx", "--task", "a1.yaml", "--seconds", "0.2")
    assert found.exit_code == 1
    assert "policy 'nan.onnx' gave nan for 'FL_calf_joint' at t = 0" in said(found)


def test_a_gait_of_learn_is_played(run):
    options = ["--episodes", "1", "--learners", "2", "--seconds", "0.3", "--out", "walk"]
    found = CliRunner().invoke(app, ["learn", "a1", *options, "--friction", "0.2", "--onnx"])
    assert found.exit_code == 0, found.output
    found = run("a1", "walk.onnx", "--friction", "0.2", "--seconds", "0.2", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["runs"][0]["settings"] == "steps of 1 ms"


class Sliders:
    """What `robosim play` asks of a viewer's panel."""

    def __init__(self) -> None:
        self.made: dict[str, SimpleNamespace] = {}

    def slider(self, name: str, low: float, high: float, value: float, unit: str) -> Any:
        self.made[name] = SimpleNamespace(value=value, low=low, high=high, unit=unit)
        return self.made[name]


def test_sliders_steer_a_policy(run, a1):
    policy, viewer = load("zero.onnx", a1, "a1.yaml", command=(0.5, 0.0, 0.0)), Sliders()
    steer(policy, viewer)
    assert [(name, one.value) for name, one in viewer.made.items()] == [
        ("forward", 0.5), ("sideways", 0.0), ("turning", 0.0),
    ]  # fmt: skip
    viewer.made["turning"].value = 0.7
    assert policy.command_at(np.zeros(1)).tolist() == [[0.5, 0.0, 0.7]]
    # A command of other quantities has no sliders.
    two = {**LEGGED, "observations": ["commands"], "command": [0.0, 0.0]}
    linear(Path("two.onnx"), np.zeros((12, 2)))
    steer(load("two.onnx", a1, two), nothing := Sliders())
    assert nothing.made == {}


def test_a_run_that_begins_again_is_recorded_anew(run, a1):
    watched = Watched(load("zero.onnx", a1, "a1.yaml"))
    sim = Simulation(a1, 5e-3)
    sim.place(watched.policy.pose())
    sim.run(0.1, watched)
    assert len(watched.track()) == 20
    sim.place(watched.policy.pose())
    log = sim.run(0.05, watched)
    track = watched.track()
    assert len(track) == 10
    assert np.array_equal(track.q, log.q)
    assert np.array_equal(track.tau, log.tau)
    watched.begin_at(0.0)
    assert len(watched.samples) == 0
