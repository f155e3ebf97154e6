"""The examples of README's pictures: what goes wrong in MuJoCo at its defaults, and here not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/beside_mujoco"
# Millimetres: at least so many in MuJoCo, at most so many in robosim.
ERRORS = {"grasp": (20.0, 1e-5), "four_bar": (5.0, 1e-6), "cube": (10.0, 0.0)}


@pytest.mark.peer
@pytest.mark.parametrize("name", ERRORS)
def test_numbers_of_the_pictures(name: str, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(FOLDER / f"{name}.py")],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    theirs, ours = (float(number) for number in re.findall(r"by (\S+) mm", done.stdout))
    least, most = ERRORS[name]
    assert theirs > least
    assert ours <= most


def test_each_has_a_picture_and_a_file_for_both() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {file.stem for file in FOLDER.glob("*.py")} == set(ERRORS)
    for name in ERRORS:
        source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        assert 'with_suffix(".xml")' in source
        assert 'timestep="0.002"' in (FOLDER / f"{name}.xml").read_text(encoding="utf-8")
        assert f'<a href="examples/beside_mujoco/{name}.py">' in readme
        for theme in ("", "-dark"):
            picture = ROOT / f"docs/images/beside_mujoco/{name}{theme}.webp"
            assert picture.stat().st_size < 1.5e6
