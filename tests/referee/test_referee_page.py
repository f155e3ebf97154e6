"""The scripts of the referee run by themselves, and the page says what they print."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import comparison
from robosim.bench.referee import race
from robosim.bench.referee.motions import ENGINES, MOTIONS, SCRIPTS, script
from robosim.bench.report import Row, Timing

LINES = 75  # of a script, at most


def test_scripts_belong_to_motions_and_simulators() -> None:
    found = {file.stem for file in SCRIPTS.glob("*.py")} - {"__init__"}
    known = {f"{motion.name}_{engine}" for motion in MOTIONS for engine in ENGINES}
    assert found <= known
    for motion in MOTIONS:
        for engine in ENGINES:
            assert script(motion.name, engine), (motion.name, engine)


@pytest.mark.parametrize("file", sorted(SCRIPTS.glob("*_*.py")), ids=lambda file: file.stem)
def test_scripts_are_short_and_stand_alone(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES
    assert "bench" not in text
    assert ("import robosim" in text) == file.stem.endswith("_robosim")


@pytest.mark.parametrize("motion", MOTIONS, ids=lambda motion: motion.name)
def test_robosim_is_right(motion: race.Motion) -> None:
    found, note = race.run_script(motion.name, "robosim")
    assert note == ""
    worst = {"slide": 1e-4, "incline": 1e-6, "drop": 0.0, "pendulum": 1e-4}
    for one in found:
        assert one["error"] <= worst.get(motion.name, 1e-9)
        assert one["cpu"] > 0


def test_mujoco_slides_too() -> None:
    pytest.importorskip("mujoco")
    found, note = race.run_script("slide", "mujoco")
    assert note == ""
    assert {one["setting"] for one in found} >= {"default"}
    assert all(0 < one["error"] < 0.01 for one in found)


class TestScriptsThatFail:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr("robosim.bench.referee.motions.SCRIPTS", tmp_path)
        return tmp_path

    def _ran(self, folder: Path, text: str) -> tuple[list[dict[str, object]], str]:
        (folder / "slide_drake.py").write_text(text, encoding="utf-8")
        return race.run_script("slide", "drake")

    def test_a_crash_keeps_what_was_printed(self, folder: Path) -> None:
        line = '{"setting": "a", "timestep": 0.1, "error": 1, "cpu": 1}'
        text = f"import os\nprint('noise{line}', flush=True)\nos.kill(os.getpid(), 11)\n"
        found, note = self._ran(folder, text)
        assert [one["setting"] for one in found] == ["a"]
        assert note == "crashes, by signal 11"

    def test_an_error_is_told(self, folder: Path) -> None:
        assert self._ran(folder, "raise ValueError('no such thing')") == (
            [], "ValueError: no such thing"
        )  # fmt: skip

    def test_a_hang_ends(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(race, "SECONDS", 0.5)
        assert self._ran(folder, "import time; time.sleep(60)") == ([], "takes longer than 0.5 s")


def _row(who: str, told: str, error: float, cpu: float, step: float) -> Row:
    times = (1e6 * cpu,)
    return Row(
        who, told, Timing(times, times), {MOTIONS[0].error: error}, 0, {"timestep [s]": step}
    )


ROWS = [
    _row("robosim", "slide: default", 1e-3, 1.0, 1e-2),
    _row("robosim", "slide: default", 1e-4, 2.0, 2e-3),
    _row("MuJoCo", "slide: best", 1e-2, 1.0, 1e-2),
    _row("MuJoCo", "slide: best", 1e-3, 8.0, 2e-3),
    _row("MuJoCo", "slide: fast", 1e-2, 1.0, 2e-3),
    _row("Drake", "slide: sap", 1e-6, 8.0, 2e-3),
    _row("Drake", "slide: sap", np.nan, 8.0, 1e-3),
]


def test_times_are_compared_at_the_smallest_error() -> None:
    mujoco, drake = race.targets_of(ROWS, MOTIONS[0])
    assert mujoco.measured == pytest.approx(1 / 8)
    assert mujoco.reached
    assert drake.measured == np.inf
    assert not drake.reached


def test_the_page_has_all_rows_and_says_who_is_better() -> None:
    rows = [row.to_dict() for row in ROWS]
    rows.append(Row("PyBullet", "slide", None, note="cannot: crashes, by signal 11").to_dict())
    told = {
        "date": "2026-05-04",
        "machine": {"robosim": "1", "cores": 2, "processor": "P", "peers": {"mujoco": "4.0.0"}},
        "rows": rows,
        "targets": [one.to_dict() for one in race.targets_of(ROWS, MOTIONS[0])],
    }
    text = comparison.page(told)
    assert "Measured on 2026-05-04: robosim 1, MuJoCo 4.0.0." in text
    assert "| robosim | default | 0.001 | 0.0001 |  | 2e+03 |" in text
    assert "| Drake | sap |  | 1e-06 | diverges | 8e+03 |" in text
    assert "PyBullet crashes, by signal 11 here." in text
    assert "- slide: CPU time for the smallest error of Drake / its own: inf" in text
    assert "of MuJoCo / its own:" not in text
    assert "- a cube slides to rest: MuJoCo, 0.5 of robosim's time" in text
    assert all(len(line) <= 100 or line.startswith("|") for line in text.splitlines())


def test_a_simulator_that_only_diverges_has_no_target() -> None:
    timing = Timing((1.0,), (1.0,))
    rows = [
        Row(who, "slide: default", timing, {MOTIONS[0].error: error}, 0, {"timestep [s]": 1e-3})
        for who, error in (("robosim", 1e-3), ("Drake", float("nan")))
    ]
    assert list(race.targets_of(rows, MOTIONS[0])) == []


def test_a_page_of_another_year_is_kept() -> None:
    assert comparison.kept("Measured on 2025-01-02: x", "2026") == (
        comparison.PAGE.with_name("comparison-2025.md")
    )
    assert comparison.kept("Measured on 2026-01-02: x", "2026") is None


def test_readme_and_page_are_those_of_the_results() -> None:
    told = json.loads((comparison.RESULTS / "referee.json").read_text(encoding="utf-8"))
    readme = comparison.README.read_text(encoding="utf-8")
    assert comparison.with_table(readme, comparison.readme_table(told)) == readme
    text = comparison.PAGE.read_text(encoding="utf-8")
    assert comparison.page(told) == text


def test_results_of_some_simulators_take_the_place_of_their_old_ones() -> None:
    old = json.loads(comparison.RESULTS.joinpath("referee.json").read_text(encoding="utf-8"))
    new = json.loads(json.dumps(old))
    for row in new["rows"]:
        row["note"] = "new"
    for target in new["targets"]:
        target["measured"] = 123.0
    found = comparison.joined(old, new | {"date": "2030-01-02"}, ["mujoco"])
    assert found["date"] == "2030-01-02"
    assert len(found["rows"]) == len(old["rows"])
    assert {row["who"] for row in found["rows"] if row["note"] == "new"} == {"MuJoCo"}
    assert len(found["targets"]) == len(old["targets"])
    of_them = [one["what"] for one in found["targets"] if one["measured"] == 123.0]
    assert of_them == [one["what"] for one in old["targets"] if "of MuJoCo /" in one["what"]]


def test_the_picture_is_drawn_from_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "PAGE", tmp_path / "comparison.md")
    told = json.loads(comparison.RESULTS.joinpath("referee.json").read_text(encoding="utf-8"))
    comparison.picture(told)
    assert (tmp_path / "comparison.png").stat().st_size > 20000
