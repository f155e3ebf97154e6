"""The script that makes a release: what it refuses, and what it prints; it builds nothing here."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from robosim.version import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture
def release() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "build_backend/release.py"))


def test_the_version_has_a_section_in_the_changelog(release: dict[str, Any]) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository")
    assert release["check_source"]() == __version__


def test_a_python_is_found_by_its_version(release: dict[str, Any]) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert release["python_of"](here) is not None
    assert release["python_of"]("2.99") is None


def test_a_folder_that_is_not_empty_is_refused(
    release: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old.whl").touch()
    with pytest.raises(SystemExit):
        release["main"](["--out", str(tmp_path)])
    assert "is not empty" in capsys.readouterr().err


def test_without_any_python_nothing_is_made(
    release: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release["main"](["--out", str(tmp_path / "dist"), "--python", "2.99"]) == 1
    assert "not released: there is no Python of 2.99 here" in capsys.readouterr().err
    assert not (tmp_path / "dist").exists()


def test_a_file_that_an_index_would_refuse_is_refused(
    release: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(release["Failed"], match="or the pure wheel is missing"):
        release["check"](tmp_path, tmp_path, {})
    (tmp_path / "robosim_variational-1.tar.gz").touch()
    with (tmp_path / "robosim_variational-1-py3-none-any.whl").open("wb") as file:
        file.truncate(100_000_001)
    with pytest.raises(release["Failed"], match="larger than an index takes"):
        release["check"](tmp_path, tmp_path, {})


def test_a_command_that_fails_is_shown(release: dict[str, Any]) -> None:
    with pytest.raises(release["Failed"], match=r"-c .*ended with 3:\n.*sad"):
        release["run"](sys.executable, "-c", "print('sad'); exit(3)")


def test_the_source_distribution_has_the_build_backend() -> None:
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
    assert "include build_backend/*.py" in manifest
