"""Benchmarks: their bookkeeping, their peers' models, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import robosim
from robosim import ControllerError, Dynamics, ModelError, Simulation
from robosim.bench import CASES, Report, Row, Setup, Timing, find, markdown, picture, to_dict
from robosim.bench.growth import binary_tree, lying, slope_of
from robosim.bench.inverse_kinematics import answers, feet, looped_feet
from robosim.bench.legged import a1, above
from robosim.bench.measure import Contender, race
from robosim.bench.others import urdf
from robosim.bench.recursive import LIMITS, field_of
from robosim.bench.report import ratio_target
from robosim.cli import app
from robosim.controllers import PD, trot
from robosim.errors import OptionError
from robosim.models.builders import chain, minitaur, pendulum


def invoke(*args: str) -> Any:
    return CliRunner().invoke(app, ["bench", *args])


def row(who: str, us: float, size: int = 0) -> Row:
    return Row(who, "", Timing((us, 3 * us, 2 * us), (us, us, us)), {"error": 1e-3}, size)


class TestRows:
    def test_a_row_tells_the_median_the_least_and_the_most(self) -> None:
        told = row("robosim", 2.0, 5).to_dict()
        times = told["cpu_us"], told["cpu_us_min"], told["cpu_us_max"], told["wall_us"]
        assert times == (4.0, 2.0, 6.0, 2.0)
        assert (told["size"], told["errors"]) == (5, {"error": 1e-3})

    def test_tables_in_markdown_keep_every_row_and_target(self) -> None:
        rows = row("robosim", 2.0, 5), Row("Drake", "a|b", None, {"|E|": math.inf}, 5, note="lost")
        report = Report(rows, ratio_target((*rows, row("MuJoCo", 4.0, 5)), 0.4, 5))
        text = markdown([to_dict(find("cube"), report, Setup())])
        assert "| 5 | robosim |  | 4 | 2 | 6 | 2 | error 0.001 |  |" in text
        assert "| 5 | Drake | a\\|b |  |  |  |  | \\|E\\| not finite | lost |" in text
        assert "- n = 5: robosim's time / MuJoCo's: 0.5 (at most 0.4: missed)" in text

    def test_tables_in_markdown_need_no_peers(self) -> None:
        told = to_dict(find("cube"), Report((row("robosim", 2.0),)), Setup())
        told["machine"]["peers"] = {"mujoco": None}
        python = told["machine"]["python"]
        assert f"robosim {robosim.__version__}, Python {python}; " in markdown([told])

    def test_the_ratio_is_to_the_fastest_mujoco_of_the_same_size(self) -> None:
        rows = (row("robosim", 3.0, 10), row("MuJoCo", 12.0, 10), row("MuJoCo", 6.0, 10),
                row("MuJoCo", 1.0, 20), row("Pinocchio", 1.0, 10))  # fmt: skip
        (target,) = ratio_target(rows, 0.4, 10)
        assert target.measured == 0.5
        assert not target.reached
        assert ratio_target(rows[:1], 0.4, 10) == ()

    def test_the_ratio_is_that_of_the_same_repetitions(self) -> None:
        """A clock that slows down for some of them changes both times."""
        mine, other = Timing((1.0, 1.0, 3.0), (0.0,) * 3), Timing((2.0, 6.0, 6.0), (0.0,) * 3)
        (target,) = ratio_target((Row("robosim", "", mine), Row("MuJoCo", "", other)), 1.0)
        assert target.measured == 0.5

    def test_contenders_take_turns_and_what_is_lost_has_no_time(self) -> None:
        calls: list[str] = []

        def contender(name: str, fine: bool) -> Contender:
            return Contender(
                name, "", 1, lambda: calls.append(name) is None and fine, lambda: calls.append("-")
            )

        rows = race([contender("a", True), contender("b", False)], 2)
        assert calls == ["-", "a", "-", "b", "-", "a", "-", "a"]
        assert rows[0].timing is not None
        assert len(rows[0].timing.cpu) == 2
        assert (rows[1].timing, rows[1].note) == (None, "failed: not timed")

    def test_a_slope_is_that_of_long_ones(self) -> None:
        rows = [row("robosim", 1.0, 10), row("robosim", 100.0, 50), row("robosim", 400.0, 100)]
        assert slope_of(rows) == pytest.approx(2.0, abs=1e-12)
        assert math.isnan(slope_of(rows[:2]))

    def test_a_peer_that_is_not_there_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("robosim.bench.case.installed", lambda name: name != "mujoco")
        setup = Setup(peers=("mujoco", "pinocchio"))
        assert not setup.has("mujoco")
        (missing,) = setup.missing("mujoco", "pinocchio", "drake")
        assert (missing.who, missing.timing) == ("MuJoCo", None)
        assert "pip install" in missing.note


class TestMechanisms:
    def test_feet_of_the_a1(self) -> None:
        robot = a1(friction=0.3)
        assert {contact.body for contact in robot.contacts} == {
            f"{leg}_calf" for leg in ("FR", "FL", "RR", "RL")
        }
        assert {contact.friction for contact in robot.contacts} == {0.3}
        sim = Simulation(robot)
        sim.set_state(above(robot, np.array(robot.home), 0.01))
        assert sim.min_gap() == pytest.approx(0.01, abs=1e-12)

    def test_spheres_in_a_row_lie_on_the_ground(self) -> None:
        robot, q = lying(6)
        sim = Simulation(robot)
        sim.set_state(q)
        np.testing.assert_allclose(sim.contact_positions()[:, 2], 0.0, atol=1e-12)
        np.testing.assert_allclose(np.diff(sim.state.x[:, 0]), 1.0, atol=1e-12)

    def test_a_binary_tree_branches(self) -> None:
        parents = {joint.child: joint.parent for joint in binary_tree(5).joints}
        above = (None, "link0", "link0", "link1", "link1")
        assert parents == {f"link{k}": parent for k, parent in enumerate(above)}


class TestRecursive:
    @pytest.mark.parametrize("peers", [(), ("pinocchio",)])
    def test_contenders_run_and_agree(self, peers: tuple[str, ...]) -> None:
        if peers:
            pytest.importorskip("pinocchio")
        robot = chain(5)
        fields = field_of(Setup(quick=True, peers=peers), "five", robot, urdf(robot), 4)
        assert set(fields) == set(LIMITS)
        for name, field in fields.items():
            assert all(contender.run() for contender in field)
            # Pinocchio has loops of its own for two of them.
            assert len(field) == 2 + (2 * len(peers) if name in ("rnea", "aba") else len(peers))
            assert (
                set(field[0].errors) == {"difference, relative"} if peers else not field[0].errors
            )
            assert max(field[0].errors.values(), default=0.0) < 1e-12


class TestPinch:
    def test_ours_does_not_slip_and_mujoco_does(self) -> None:
        mujoco = pytest.importorskip("mujoco")
        report = find("pinch").run(Setup(quick=True, peers=("mujoco",)))
        ours, *others = (row.errors["slip [m/s]"] for row in report.rows)
        assert ours < 1e-9
        (target,) = report.targets
        assert (target.measured, target.reached) == (ours, True)
        # Each setting is better than the one before.
        assert others == sorted(others, reverse=True)
        assert min(others) > 1e-8
        assert report.rows[1].note == f"MuJoCo {mujoco.__version__}"


class TestInverseKinematics:
    @pytest.mark.parametrize(
        ("build", "ask"),
        [(a1, lambda of, k: feet(of, (), k)), (minitaur, looped_feet)],
    )
    def test_questions_have_answers(self, build: Any, ask: Any) -> None:
        dynamics = Dynamics(build())
        questions = [ask(dynamics, k) for k in range(2)]
        assert not np.allclose(questions[0].q0, questions[1].q0)
        assert all(answers(dynamics, questions))


class TestTrot:
    def test_targets_are_those_of_the_algorithm(self) -> None:
        robot = robosim.load("a1")
        t = np.array([0.0, 0.03, 0.4])
        found = dict(zip(robot.actuated_names, trot(robot, blend=0.0).targets(t).T, strict=True))
        phase = 20 * np.pi * t * 0.2
        for leg, later in (("FR", 0.0), ("RL", 0.0), ("FL", np.pi), ("RR", np.pi)):
            np.testing.assert_allclose(found[f"{leg}_hip_joint"], 0.0)
            thigh = 0.2 * np.cos(phase + later) + 1.0
            calf = 0.2 * np.cos(phase + later - np.pi / 2) - 1.5
            np.testing.assert_allclose(found[f"{leg}_thigh_joint"], thigh, atol=1e-14)
            np.testing.assert_allclose(found[f"{leg}_calf_joint"], calf, atol=1e-14)

    def test_compiled_and_called_give_the_same_run(self) -> None:
        robot = a1()
        pd = trot(robot)
        q = above(robot, np.array(robot.home), 0.01)
        runs = []
        for controller in (pd, lambda sim: pd, lambda sim: pd(sim), "trot"):
            sim = Simulation(robot)
            sim.set_state(q)
            runs.append(sim.run(0.05, controller).q)
        np.testing.assert_array_equal(runs[1], runs[0])
        np.testing.assert_array_equal(runs[3], runs[0])
        # Sums of products are rounded once more in Python.
        np.testing.assert_allclose(runs[2], runs[0], rtol=0, atol=1e-8)

    def test_another_robot_cannot(self) -> None:
        with pytest.raises(ModelError, match="a gait needs a thigh and a calf"):
            trot(pendulum())

    def test_a_wrong_function_of_time_is_refused(self) -> None:
        with pytest.raises(ControllerError, match=r"shape \(1, 1\) for 1 times, not \(2,\)"):
            PD(pendulum(), lambda t: np.zeros(2), 1.0, 1.0)


class TestCommand:
    def test_it_lists_and_teaches(self) -> None:
        listed = invoke().stdout
        for case in CASES:
            assert case.name in listed
        assert "compare times at" in invoke("--help").stdout

    def test_a_run_writes_table_numbers_and_picture(self, tmp_path: Path) -> None:
        file = tmp_path / "all.json"
        done = invoke("cube", "--quick", "--peers", "none", "--json", str(file),
                      "--out", str(tmp_path / "out"))  # fmt: skip
        assert done.exit_code == 0, done.output
        (told,) = json.loads(file.read_text())
        assert told == json.loads((tmp_path / "out" / "cube.json").read_text())
        tables = (tmp_path / "out" / "tables.md").read_text()
        assert tables == markdown([told])
        assert f"| robosim |  | {told['rows'][0]['cpu_us']:.3g} |" in tables
        assert (told["name"], told["quick"], len(told["rows"])) == ("cube", True, 1)
        (mine,) = told["rows"]
        assert mine["who"] == "robosim"
        assert mine["cpu_us_min"] <= mine["cpu_us"] <= mine["cpu_us_max"]
        assert mine["errors"]["penetration [m]"] == 0.0
        assert told["targets"][0]["reached"]
        assert (tmp_path / "out" / "cube.png").read_bytes()[1:4] == b"PNG"
        assert "penetration [m] 0" in done.stdout

    def test_unknown_names_are_told_with_those_that_there_are(self) -> None:
        with pytest.raises(OptionError, match=r"unknown benchmark 'chains' .*hinge_chain"):
            find("chains")
        assert "unknown peer 'bullet' (known: mujoco" in invoke("cube", "--peers", "bullet").stderr

    def test_lines_over_sizes_are_drawn(self, tmp_path: Path) -> None:
        rows = (row("robosim", 1.0, 10), row("robosim", 2.0, 20), row("MuJoCo", 3.0, 10),
                Row("Drake", "", None, note="not installed"))  # fmt: skip
        case, report = find("hinge_chain"), Report(rows, (), "links")
        picture(case, report, Setup(), tmp_path / "lines.png")
        assert (tmp_path / "lines.png").stat().st_size > 10_000
        picture(case, Report((Row("robosim", "", None),)), Setup(), tmp_path / "none.png")
        assert (tmp_path / "none.png").stat().st_size > 0
        assert len(to_dict(case, report, Setup())["rows"]) == 4
