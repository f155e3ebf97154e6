"""Snippets run as they are printed: of the README, docs/building.md in a row, docs/dynamics.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from robosim.loaders.packages import example_robot_data

ROOT = Path(__file__).parents[2]


def snippets(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


README = snippets(ROOT / "README.md")
BUILDING = snippets(ROOT / "docs/building.md")
DYNAMICS = snippets(ROOT / "docs/dynamics.md")
INTEGRATORS = snippets(ROOT / "docs/integrators.md")
ENVIRONMENTS = snippets(ROOT / "docs/environments.md")[1:2]  # others take a robot, or minutes
SNIPPETS = [*ENVIRONMENTS, *README, "\n".join(BUILDING), "\n".join(DYNAMICS), *INTEGRATORS]


def test_there_are_some() -> None:
    assert (len(README), len(BUILDING), len(DYNAMICS), len(INTEGRATORS)) == (3, 8, 6, 2)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_it_runs(snippet: str, tmp_path: Path) -> None:
    if "panda" in snippet and example_robot_data() is None:
        pytest.skip("needs example-robot-data")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippet],
        cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
