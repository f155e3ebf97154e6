"""The experiments: what they write, how they tell a miss, and that MuJoCo gets the same model."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from robosim import ConvergenceError, OptionError, Simulation, StateError
from robosim.cli import app
from robosim.experiments import (
    EXPERIMENTS,
    Experiment,
    Result,
    Setup,
    Target,
    derivatives,
    find,
    flamingo,
    four_bar,
    policy_gradient,
    registry,
)
from robosim.experiments.damping import START, damped_pendulum, exact_energy
from robosim.experiments.loops import lowest_three_link
from robosim.measuring.runs import (
    exponent,
    largest,
    sample,
    shortest_us,
    stepper,
    trend,
)
from robosim.measuring.starts import lowest_segments
from robosim.measuring.target import plain
from robosim.models.builders import chain, cube, double_four_bar, segments, three_link_loop
from robosim.peers.mujoco_run import MuJoCoRun, Settings, available
from robosim.quaternions import normalized

# Experiments whose targets take longer than a quick run.
LEARNING = "fig13", "fig14", "identify", "policy-gradient"
NAMES = [experiment.names[0] for experiment in EXPERIMENTS]
with_mujoco = [
    pytest.mark.peer,
    pytest.mark.skipif(not available(), reason="MuJoCo is not installed"),
]


def command(*args: str) -> Any:
    return CliRunner().invoke(app, ["reproduce", *args])


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_leaves_numbers_and_a_picture(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a peer, whose times would not be ours to test."""
    if name in ("ppo-a1", "gym-baselines"):
        pytest.importorskip("stable_baselines3")
    if name == "policy-gradient" and find_spec("stable_baselines3") is None:
        # The other two methods need no extra.
        monkeypatch.setattr(policy_gradient, "follow_ppo", policy_gradient.search_randomly)
    setup = Setup(quick=True, mujoco=False)
    experiment = find(name)
    result = experiment.judged(setup)
    registry.write(name, experiment, result, setup, tmp_path)
    told = json.loads((tmp_path / f"{name}.json").read_text())
    assert told["name"] == name
    assert told["quick"] is True
    assert told["peers"] == {}
    assert told["ours"]
    assert told["parameters"]
    assert told["targets"]
    assert told["reached"] == all(target["reached"] is not False for target in told["targets"])
    for target in told["targets"]:
        assert set(target) == {"what", "sense", "limit", "measured", "unit", "reached"}
    if name.startswith("redmax") or name in LEARNING:  # which measure no times
        assert told["reached"]
    assert told["sentence"].endswith(".")
    assert "nan" not in told["sentence"]
    picture = (tmp_path / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000


def made_up(measured: float) -> Experiment:
    def run(setup: Setup) -> Result:
        return Result({}, {"x": measured}, {}, (Target("x", measured, 1.0, "m"),), "It is so.")

    return Experiment(("figX", "figY"), "a figure", "x is small", run)


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> Callable[[Experiment], None]:
    def replace(experiment: Experiment) -> None:
        monkeypatch.setattr("robosim.experiments.registry.EXPERIMENTS", (experiment,))
        monkeypatch.setattr("robosim.experiments.EXPERIMENTS", (experiment,))

    return replace


class TestCommand:
    def test_lists_every_name_with_a_line(self) -> None:
        listed = command()
        assert listed.exit_code == 0
        for experiment in EXPERIMENTS:
            assert ", ".join(experiment.names) in listed.stdout
            assert experiment.title in listed.stdout
        rows = json.loads(command("--json").stdout)
        assert [row["names"][0] for row in rows] == NAMES

    def test_help_has_an_example(self) -> None:
        assert "Example: robosim reproduce" in command("--help").stdout

    def test_unknown_name(self, tmp_path: Path) -> None:
        result = command("fig99", "--out", str(tmp_path / "figures"))
        assert result.exit_code == 1
        assert "unknown experiment 'fig99'" in result.stderr
        assert "fig7b" in result.stderr
        assert not (tmp_path / "figures").exists()

    def test_without_a_folder(self) -> None:
        result = command("fig7b")
        assert result.exit_code == 1
        assert "--out DIR" in result.stderr

    def test_a_folder_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        result = command("wafr4", "--out", str(tmp_path / "file"))
        assert result.exit_code == 1
        assert "cannot be written to" in result.stderr

    @pytest.mark.parametrize(("measured", "code"), [(0.5, 0), (1.0, 0), (2.0, 1), (math.nan, 1)])
    @pytest.mark.parametrize("name", ["figY", "all"])
    def test_exit_code_says_whether_ours_reached_all(
        self, name: str, measured: float, code: int, replaced: Any, tmp_path: Path
    ) -> None:
        replaced(made_up(measured))
        result = command(name, "--out", str(tmp_path))
        assert result.exit_code == code
        assert ("missed" in result.stdout) is (code == 1)
        assert "It is so." in result.stdout
        file = tmp_path / ("figX.json" if name == "all" else "figY.json")
        assert json.loads(file.read_text())["reached"] is (code == 0)

    @pytest.mark.parametrize(
        ("measured", "options", "verdict"),
        [
            (2.0, ["--quick"], None),
            (0.5, ["--quick"], None),
            (math.inf, ["--quick"], None),  # of what never happened
            (math.nan, ["--quick"], False),
            (2.0, [], False),
            (0.5, [], True),
        ],
    )
    def test_a_quick_run_judges_what_it_can_reach(
        self, measured: float, options: list[str], verdict: bool | None, replaced: Any,
        tmp_path: Path,
    ) -> None:  # fmt: skip
        def run(setup: Setup) -> Result:
            targets = Target("x", measured, 1.0, full_only=True), Target("failed steps", 0, 0)
            return Result({}, {}, {}, targets, "It is so.")

        replaced(Experiment(("figX",), "a figure", "x is small", run))
        result = command("figX", "--out", str(tmp_path), *options)
        assert result.exit_code == (verdict is False)
        assert ("not judged in quick runs" in result.stdout) is (verdict is None)
        told = json.loads((tmp_path / "figX.json").read_text())
        assert [target["reached"] for target in told["targets"]] == [verdict, True]
        assert told["reached"] is (verdict is not False)

    def test_a_quick_run_misses_what_it_should_have_reached(
        self, replaced: Any, tmp_path: Path
    ) -> None:
        replaced(made_up(2.0))
        assert command("figX", "--out", str(tmp_path), "--quick").exit_code == 1

    def test_json(self, replaced: Any, tmp_path: Path) -> None:
        replaced(made_up(0.5))
        one = json.loads(command("figX", "--out", str(tmp_path), "--json").stdout)
        assert one["ours"] == {"x": 0.5}
        assert json.loads(command("all", "--out", str(tmp_path), "--json").stdout) == [one]

    def test_a_run_that_fails_is_told_as_a_miss(self, replaced: Any, tmp_path: Path) -> None:
        def run(setup: Setup) -> Result:
            raise ConvergenceError(1.0, 1.0, 50, 64, "link1")

        replaced(Experiment(("figX",), "a figure", "x is small", run))
        result = command("figX", "--out", str(tmp_path))
        assert result.exit_code == 1
        assert "did not converge" in result.stdout
        assert json.loads((tmp_path / "figX.json").read_text())["reached"] is False

    def test_without_mujoco(
        self, replaced: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("robosim.experiments.registry.available", lambda: False)
        replaced(made_up(0.5))
        result = command("figX", "--out", str(tmp_path))
        assert result.exit_code == 0
        assert "MuJoCo is not installed, so only robosim was run." in result.stdout


def test_names_are_unique() -> None:
    names = [name for experiment in EXPERIMENTS for name in experiment.names]
    assert len(set(names)) == len(names)
    assert find("wafr5a") is find("fig8a")
    with pytest.raises(OptionError, match="known: all, fig7"):
        find("figure7")


class TestLowestEnergies:
    """The energies that A is counted from, against a search over poses."""

    def test_three_link_loop(self) -> None:
        sim = Simulation(three_link_loop())
        found = []
        for angle in np.linspace(-2.0, 0.4, 49):
            with contextlib.suppress(StateError):  # a pose that the loop cannot take
                sim.set_state([angle, -angle, angle], hold=("joint1",))
                found.append(sim.energy())
        assert min(found) == pytest.approx(lowest_three_link(), abs=0.05)
        assert min(found) >= lowest_three_link() - 1e-6

    @pytest.mark.parametrize("n", [1, 3])
    def test_segments(self, n: int) -> None:
        robot = segments(n)
        sim = Simulation(robot)
        sim.set_state(np.zeros(robot.nq))
        assert sim.energy() == pytest.approx(lowest_segments(n), rel=1e-12)

    def test_four_bar(self) -> None:
        sim = Simulation(double_four_bar())
        sim.set_state(four_bar.START, four_bar.RATES)
        upright = sim.energy()
        sim.set_state(np.array(four_bar.START) - [np.pi, -np.pi, np.pi, -np.pi, np.pi])
        assert upright - sim.energy() == pytest.approx(four_bar.A, rel=1e-12)


class TestMeasuring:
    def test_targets(self) -> None:
        assert Target("", 1.0, 1.0).reached
        assert not Target("", 1.1, 1.0).reached
        assert Target("", 1.0, 1.0, at_least=True).reached
        assert not Target("", 0.9, 1.0, at_least=True).reached
        assert not Target("", math.nan, 1.0).reached
        assert not Target("", math.nan, 1.0, at_least=True).reached

    def test_trend_is_the_line_s_gain(self) -> None:
        t = np.linspace(5.0, 15.0, 101)
        assert trend(t, 3.0 + 0.2 * t) == pytest.approx(2.0, rel=1e-12)
        assert trend(t, np.cos(2 * np.pi * (t - 5.0) / 10.0)) == pytest.approx(0.0, abs=1e-12)

    def test_exponent(self) -> None:
        x = np.array([1.0, 3.0, 20.0])
        assert exponent(x, 5.0 * x**1.5) == pytest.approx(1.5, rel=1e-12)

    def test_largest_tells_nan(self) -> None:
        assert largest([1.0, -3.0]) == 3.0
        assert math.isnan(largest([1.0, math.nan]))

    def test_times(self) -> None:
        sim = Simulation(chain(2), timestep=0.01)
        good, bad = shortest_us([stepper(sim, 5), lambda: False], 5, 3)
        assert sim.steps == 15
        assert 0 < good < math.inf
        assert math.isnan(bad)

    def test_plain(self) -> None:
        told = plain({"a": np.array([1.0, np.inf]), 2: (np.float64(0.5), np.int64(3)), "c": None})
        assert told == {"a": [1.0, None], "2": [0.5, 3], "c": None}

    def test_sample_reads_at_knots(self) -> None:
        sim = Simulation(chain(2), timestep=0.01)
        sim.set_state([1.0, 0.0])
        run = sample(sim, 0.1, 4, lambda: sim.time)
        np.testing.assert_allclose(run.t, [0.0, 0.04, 0.08, 0.1], atol=1e-12)
        np.testing.assert_allclose(run.values[0], run.t, atol=0)
        assert run.failure == ""

    def test_sample_tells_a_failure(self) -> None:
        sim = Simulation(chain(2), timestep=0.01, tolerance=1e-300, max_substeps=1)
        sim.set_state([1.0, 0.5], [1.0, 0.0])
        run = sample(sim, 0.1, 1)
        assert "did not converge" in run.failure
        assert len(run.t) == 1


def learned(*values: float) -> policy_gradient.Curve:
    """A curve with a value after each 1000 actions and 10 s."""
    curve = policy_gradient.Curve.__new__(policy_gradient.Curve)
    curve.rows = [
        {"time": 10.0 * k, "samples": 1000.0 * k, "value": value}
        for k, value in enumerate(values, 1)
    ]
    return curve


class TestPolicyGradient:
    """How seeds are judged: ours by the worst one, others by their best one."""

    @pytest.mark.parametrize(
        ("ours", "reached", "ratio"),
        [
            (((0.9, 0.9), (0.5, 0.9)), [True, True], 2000 / 3000),
            (((0.9, 0.9), (0.5, 0.5)), [False, False], math.inf),
            (((0.9, 0.9), (0.5, 0.5, 0.5, 0.9)), [True, False], 4000 / 3000),
        ],
    )
    def test_the_worst_seed_counts(self, ours: Any, reached: list[bool], ratio: float) -> None:
        task: Any = SimpleNamespace(seconds=1.0)
        problem = policy_gradient.Problem(task, 1.0, 1, 0.1, 1.0, 1.0, None, 0.8)
        curves = {("swing", "gradients", k): learned(*values) for k, values in enumerate(ours)}
        for k, (ppo, search) in enumerate((((0.1, 0.2, 0.9), (0.1,) * 4), ((0.1,) * 5,) * 2)):
            curves["swing", "PPO", k] = learned(*ppo)
            curves["swing", "random search", k] = learned(*search)
        result = policy_gradient.told_of({"swing": problem}, curves)
        assert [target.reached for target in result.targets] == reached
        assert result.targets[1].measured == pytest.approx(ratio)
        assert "PPO 0.10 (0.8 not reached)" in result.sentence
        assert "worst of 2 seeds" in result.sentence


def test_between_knots_a_run_is_a_cubic() -> None:
    """The clearance of feet is read in continuous time."""
    t = 0.05 * np.arange(4)[:, None]
    log: Any = SimpleNamespace(timestep=0.05, q=1 + 2 * t**3, v=6 * t**2)
    found = flamingo.between_knots(log, 5)
    fine = np.arange(len(found))[:, None] * log.timestep / 5
    np.testing.assert_allclose(found, 1 + 2 * fine**3, rtol=0, atol=1e-15)


def test_derivatives_of_which_none_are_compared_are_not_right() -> None:
    group = derivatives.Group((1e-6, 1e-5))
    group.add(["a"], np.array([[np.nan, np.nan]]))
    assert not Target("", group.worst, 1.0).reached
    group.add(["a", "b"], np.array([[np.nan, np.nan], [0.5, 0.2]]))
    assert (group.worst, group.where, group.crossing) == (0.2, "b of state 2", 2)


def test_damping_reaches_mujoco() -> None:
    """Its energy at the end of a damped swing is the exact one, at a small timestep."""
    pytest.importorskip("mujoco")
    peer = MuJoCoRun(damped_pendulum(), 1e-3, Settings("RK4"))
    peer.set_state([START])
    assert peer.step(1000)
    assert peer.energy() == pytest.approx(exact_energy(np.array([0.0, 1.0]))[1], abs=1e-6)


class TestMuJoCo:
    pytestmark = with_mujoco

    @pytest.mark.parametrize(
        "robot",
        [chain(3), chain(3, "spherical"), cube(), segments(2, 0.7, 0.3)],
        ids=["hinges", "balls", "cube", "loops"],
    )
    def test_has_the_same_mechanism(self, robot: Any) -> None:
        """The energy of a random state is ours: masses, inertias, places, frames, orders."""
        rng = np.random.default_rng(1)
        q, v = np.array(robot.home), rng.normal(size=robot.nv)
        q += rng.normal(size=robot.nq)
        for start, joint in zip(robot.q_offsets, robot.joints, strict=False):
            if joint.has_quaternion:
                begin = start + joint.C_T.shape[1]
                q[begin : begin + 4] = normalized(q[begin : begin + 4])
        if robot.loop_joints:
            q = np.array(robot.home)
        sim = Simulation(robot)
        sim.set_state(q, v)
        peer = MuJoCoRun(robot, 1e-3, Settings())
        peer.set_state(sim.q, sim.v)  # where loops are closed
        # Bodies in loops are where the loops' constraints put them, up to 1e-10 m.
        close = 1e-9 if robot.loop_joints else 1e-12
        assert peer.energy() == pytest.approx(sim.energy(), rel=close)
        np.testing.assert_allclose(peer.data.xipos[1:], sim.state.x, atol=close)
        assert peer.model.neq == len(robot.loop_joints)
        assert peer.closure() < 1e-9
        assert peer.model.body_mass.sum() == pytest.approx(robot.total_mass, rel=1e-15)

    def test_an_instability_is_caught_and_not_printed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
    ) -> None:
        monkeypatch.chdir(tmp_path)
        peer = MuJoCoRun(chain(2), 0.01, Settings())
        peer.set_state([0.0, 0.0], [1e12, 0.0])
        t, (energies,) = peer.sample(100, 10, peer.energy)
        assert peer.failed_at == pytest.approx(0.1)
        assert len(t) == len(energies) == 1
        assert not peer.step()
        assert math.isnan(shortest_us([peer.step], 1, 2)[0])
        assert capfd.readouterr() == ("", "")
        assert not list(tmp_path.iterdir())

    def test_settings_reach_the_model(self) -> None:
        settings = Settings("RK4", (0.01, 1.0), (0.99, 0.98, 0.002), "elliptic", 100.0)
        peer = MuJoCoRun(cube(friction=0.3), 0.02, settings, (0.0, 1.0, -5.0))
        option = peer.model.opt
        assert option.timestep == 0.02
        assert option.impratio == 100.0
        np.testing.assert_allclose(option.gravity, (0.0, 1.0, -5.0))
        np.testing.assert_allclose(peer.model.geom_solref, np.tile((0.01, 1.0), (2, 1)))
        np.testing.assert_allclose(
            peer.model.geom_solimp[:, :3], np.tile((0.99, 0.98, 0.002), (2, 1))
        )
        assert peer.model.geom_friction[:, 0].max() == 0.3
        assert settings.told() == (
            "RK4, solref 0.01 1, refsafe off, solimp 0.99 0.98 0.002, elliptic cone, impratio 100"
        )
        assert Settings().told() == "default"
