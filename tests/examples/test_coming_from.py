"""Pages for those who know another library: both programs run, agree, and every name is one.

The lines of Isaac Lab need a GPU: they are parsed alone. `ROBOSIM_PEERS_PYTHON` may name a Python
that has the libraries which are not installed beside the tests.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from robosim import models

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("ROBOSIM_PEERS_PYTHON", sys.executable)
# The module of the other library, and how far apart the printed numbers may be.
PEERS = {
    "mujoco": ("mujoco", 2e-4),
    "pinocchio": ("pinocchio", 1e-9),
    "pybullet": ("pybullet", 2e-3),
    "drake": ("pydrake", 2e-3),
}
OVER = "that was all"


class Page(NamedTuple):
    theirs: str
    ours: str
    files: dict[str, str]
    names: list[tuple[list[str], list[str]]]  # of each row: theirs, ours


def page(name: str) -> Page:
    text = (ROOT / f"docs/coming-from-{name}.md").read_text(encoding="utf-8")
    theirs, ours = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    files = dict(re.findall(r"`([\w.]+)`:\n\n```xml\n(.*?)```", text, re.DOTALL))
    rows = re.findall(r"^\|(.*?)\|(.*?)\|.*\|$", text.partition("## Names")[2], re.MULTILINE)
    names = [tuple(re.findall(r"`(.+?)`", cell) for cell in row) for row in rows[2:]]
    assert len(names) > 12
    return Page(theirs, ours, files, names)  # type: ignore[arg-type]


def printed(python: str, code: str, names: list[str], page: Page, folder: Path) -> list[float]:
    """The numbers that a program prints, which then evaluates the names of a table."""
    for file, text in page.files.items():
        (folder / file).write_text(text, encoding="utf-8")
    shutil.copy(models.path("a1"), folder / "a1.urdf")
    code = "\n".join((code, f"print(); print({OVER!r})", *names))
    done = subprocess.run(
        [python, "-c", code], cwd=folder, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    before, _, _ = done.stdout.partition(OVER)
    last = before.strip().splitlines()[-1]
    found = [float(number) for number in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", last)]
    assert found
    return found


@pytest.mark.parametrize("peer", PEERS)
def test_both_programs_agree_and_all_names_are_there(peer: str, tmp_path: Path) -> None:
    module, apart = PEERS[peer]
    looked = page(peer)
    ours = printed(
        sys.executable, looked.ours, [name for _, row in looked.names for name in row], looked,
        tmp_path,
    )  # fmt: skip
    there = f"from importlib.util import find_spec; raise SystemExit(find_spec({module!r}) is None)"
    if subprocess.run([PYTHON, "-c", there]).returncode:
        pytest.skip(f"needs {module}")
    names = [name for row, _ in looked.names for name in row]
    theirs = printed(PYTHON, looked.theirs, names, looked, tmp_path)
    assert ours == pytest.approx(theirs, abs=apart)


def test_isaac_lab_by_our_lines_alone(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    looked = page("isaac-lab")
    ast.parse(looked.theirs)
    names = [name for _, row in looked.names for name in row]
    reward, *_ = printed(sys.executable, looked.ours, names, looked, tmp_path)
    assert -1.0 < reward < 0.0


def test_the_task_of_isaac_lab_is_told_by_names_of_the_table() -> None:
    """What its lines configure is in the table, or is a function of its own module `mdp`."""
    looked = page("isaac-lab")
    known = {name for row, _ in looked.names for name in row}
    named = set(re.findall(r"\w+Cfg\b", looked.theirs))
    assert len(named) > 4
    assert named <= known


@pytest.mark.parametrize("name", [*PEERS, "isaac-lab"])
def test_programs_are_short(name: str) -> None:
    looked = page(name)
    assert len(looked.theirs.strip().splitlines()) <= 20
    assert len(looked.ours.strip().splitlines()) <= 30
