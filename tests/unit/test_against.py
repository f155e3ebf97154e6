"""Benchmarks of two commits: what counts as slower, and what is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from robosim.bench import against, find
from robosim.bench.against import USUAL, Change, changes, compare, package, take_turn
from robosim.cli import app
from robosim.errors import OptionError

# A package that has what a turn needs, with made-up times.
BENCH = """
from types import SimpleNamespace as Made
from robosim.part import US
class Setup:
    def __init__(self, quick, peers):
        assert peers == ()
        self.size = 5 if quick else 10
def find(name):
    if name == "absent":
        raise ValueError("unknown benchmark 'absent'")
    def run(setup):
        timing = Made(cpu=[2 * US] + setup.repetitions * [US])
        rows = [Made(told="", size=setup.size, timing=timing)]
        rows.append(Made(told="failed", size=0, timing=None))
        return Made(rows=rows + EXTRA)
    return Made(run=run)
"""
PROJECT = '[tool.setuptools.package-dir]\n"robosim" = "robosim"\n"robosim.part" = "elsewhere"\n'


def change(before: tuple[float, ...], after: tuple[float, ...]) -> Change:
    return Change("case", "told", 3, before, after)


class TestStatistics:
    def test_what_is_slower_in_turns_and_at_its_best_is_slower(self) -> None:
        found = change((10.0, 11.0, 15.0), (10.5, 11.55, 15.75))
        assert found.ratio == pytest.approx(1.05, rel=1e-12)
        assert found.slower
        assert not change((10.0, 11.0, 15.0), (10.2, 11.22, 15.3)).slower

    def test_a_quiet_moment_of_one_tree_is_no_change(self) -> None:
        found = change((10.0, 10.0, 8.0), (10.0, 10.0, 10.0))
        assert (found.of_turns, found.of_minima, found.ratio) == (1.0, 1.25, 1.0)
        assert not found.slower

    def test_a_clock_that_changes_within_turns_is_no_change(self) -> None:
        found = change((10.0, 10.0, 15.0), (15.0, 15.0, 10.0))
        assert (found.of_turns, found.of_minima, found.ratio) == (1.5, 1.0, 1.0)
        assert not found.slower

    def test_what_became_faster_is_told_as_carefully(self) -> None:
        found = change((10.0, 10.0), (5.0, 9.0))
        assert found.ratio == pytest.approx(0.7, rel=1e-12)
        assert found.to_dict()["slower"] is False

    def test_rows_that_one_tree_lacks_are_left_out(self) -> None:
        before = [{("a", "", 0): 1.0, ("b", "old", 0): 2.0}] * 2
        after = [{("a", "", 0): 3.0, ("b", "", 10): 4.0}, {("a", "", 0): 5.0}]
        (row,), alone = changes(before, after)
        assert (row.before, row.after) == ((1.0, 1.0), (3.0, 5.0))
        assert alone == ("b, old", "b, n = 10")

    def test_the_usual_cases_are_there(self) -> None:
        assert [find(name).name for name in USUAL] == list(USUAL)


def commit(root: Path, us: float, extra: str = "[]") -> str:
    (root / "elsewhere/__init__.py").write_text(f"US = {us}\n")
    (root / "robosim/bench.py").write_text(f"{BENCH}EXTRA = {extra}\n")

    def git(*arguments: str) -> str:
        who = "-c", "user.name=A", "-c", "user.email=a@b.c"
        line = ["git", "-C", str(root), *who, *arguments]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout

    git("add", ".")
    git("commit", "-qm", "a commit")
    return git("rev-parse", "HEAD").strip()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of a small package, which counts as the one that robosim is imported from."""
    root = tmp_path / "root"
    for folder in ("robosim", "elsewhere"):
        (root / folder).mkdir(parents=True)
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "robosim/__init__.py").write_text("")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    monkeypatch.setattr(against, "PACKAGE", root / "robosim")
    return root


def invoke(*line: str) -> Any:
    return CliRunner().invoke(app, ["bench", *line])


class TestTwoCommits:
    def test_the_working_tree_is_compared_with_a_commit(self, root: Path) -> None:
        first = commit(root, 10.0)
        commit(root, 11.0)
        (root / "elsewhere/__init__.py").write_text("US = 12.0\n")
        told: list[str] = []
        found = compare(["a", "b"], "HEAD~1", 2, True, told.append)
        assert found.commit == first
        assert [(row.row, row.before, row.after) for row in found.changes] == [
            (f"{name}, n = 5", (10.0, 10.0), (12.0, 12.0)) for name in "ab"
        ]
        here = [line.startswith("the working tree") for line in told]
        assert here == [True, False, False, True, True, False]  # each one first in turn

    def test_the_command_says_what_is_slower(self, root: Path, tmp_path: Path) -> None:
        extra = "[Made(told='new', size=0, timing=Made(cpu=[1.0]))]"
        commit(root, 10.0)
        commit(root, 10.42, extra)
        file = tmp_path / "told.json"
        line = "a1_stand", "--against", "HEAD~1", "--turns", "1", "--json", str(file)
        result = invoke(*line)
        assert result.exit_code == 1
        assert "a1_stand, n = 10: slower by 4.2 %" in result.stderr
        assert "only one of the two has it: a1_stand, new" in result.stderr
        told = json.loads(file.read_text())
        assert set(told) == {"commit", "turns", "machine", "rows", "alone"}
        (row,) = told["rows"]
        assert row["slower"] is True
        assert (row["before_us_min"], row["after_us_min"]) == (10.0, 10.42)
        assert invoke("a1_stand", "--against", "HEAD", "--turns", "1").exit_code == 0

    def test_a_case_that_cannot_be_run_is_told(self, root: Path) -> None:
        commit(root, 1.0)
        with pytest.raises(OptionError, match=r"working tree cannot be run: .*benchmark 'absent'"):
            compare(["absent"], "HEAD", 1, True, lambda text: None)

    def test_another_robosim_in_front_is_found_out(self, root: Path, tmp_path: Path) -> None:
        commit(root, 1.0)
        folder = package(root, tmp_path / "made")
        (folder / "robosim/__init__.py").unlink()
        (folder / "robosim/__init__.py").write_text("__file__ = '/elsewhere/robosim'\n")
        with pytest.raises(OptionError, match="Python imports '/elsewhere/robosim' instead of it"):
            take_turn("it", folder, ["a"], True)


class TestRefusals:
    def test_an_unknown_commit(self, root: Path) -> None:
        commit(root, 1.0)
        result = invoke("a1_stand", "--against", "nowhere")
        assert result.exit_code == 1
        assert "git knows no commit 'nowhere'" in result.stderr
        assert "git log" in result.stderr

    def test_an_installed_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(against, "PACKAGE", tmp_path / "site-packages/robosim")
        result = invoke("a1_stand", "--against", "HEAD")
        assert result.exit_code == 1
        assert "no clone of its repository" in result.stderr

    def test_a_folder_that_git_does_not_manage(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
        root = tmp_path / "root"
        root.mkdir()
        (root / "pyproject.toml").write_text(PROJECT)
        monkeypatch.setattr(against, "PACKAGE", root / "robosim")
        result = invoke("a1_stand", "--against", "HEAD")
        assert result.exit_code == 1
        assert "needs a git repository" in result.stderr

    def test_names_and_pictures(self, root: Path) -> None:
        assert "unknown benchmark 'a1'" in invoke("a1", "--against", "HEAD").stderr
        assert "use --json" in invoke("--against", "HEAD", "--out", "times").stderr

    def test_without_git(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        with pytest.raises(OptionError, match="needs git, which is not installed"):
            compare(["a"], "HEAD", 1, True, lambda text: None)
