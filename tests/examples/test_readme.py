"""Snippets run as they are printed: of the README and guides, docs/building.md in a row.

Commands of docs/first-robot.md run with robots that are here, in place of those of packages.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import models
from robosim.loaders.packages import example_robot_data

ROOT = Path(__file__).parents[2]


def snippets(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


README = snippets(ROOT / "README.md")
FEATURES = snippets(ROOT / "docs/features.md")
BUILDING = snippets(ROOT / "docs/building.md")
DYNAMICS = snippets(ROOT / "docs/dynamics.md")
INTEGRATORS = snippets(ROOT / "docs/integrators.md")
SENSING = snippets(ROOT / "docs/sensing.md")
PICTURES = snippets(ROOT / "docs/pictures.md")
MOTORS = snippets(ROOT / "docs/motors.md")
PARALLEL = snippets(ROOT / "docs/parallel.md")
APART = [one for one in snippets(ROOT / "docs/optimizing.md") if ".apart(" in one]
ENVIRONMENTS = snippets(ROOT / "docs/environments.md")[1:5]  # others take a robot, or minutes
SNIPPETS = [
    *ENVIRONMENTS,
    *README,
    *FEATURES,
    "\n".join(BUILDING),
    "\n".join(DYNAMICS),
    *INTEGRATORS,
]
SNIPPETS += [*SENSING, *PICTURES, *MOTORS, *PARALLEL, *APART]


def test_there_are_some() -> None:
    assert (len(README), len(FEATURES), len(BUILDING), len(DYNAMICS)) == (1, 2, 8, 6)
    assert (len(INTEGRATORS), len(SENSING), len(PICTURES), len(MOTORS)) == (3, 4, 2, 3)
    assert (len(PARALLEL), len(APART)) == (3, 1)


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


FIRST_ROBOT = ROOT / "docs/first-robot.md"


def in_shell(command: str, urdf: Path, cwd: Path) -> str:
    """What a command of docs/first-robot.md prints, for another robot and without a browser."""
    line = command.replace("robosim ", f"{sys.executable} -m robosim ", 1).replace(" --open", "")
    done = subprocess.run(
        line, shell=True, cwd=cwd, env=os.environ | {"URDF": str(urdf)}, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def robosim_commands() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", FIRST_ROBOT.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("robosim ")]


def test_the_first_robot_stands_and_is_logged(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    info, stand, _ = robosim_commands()
    assert "of which 12 actuated" in in_shell(info, models.path("a1"), tmp_path)
    told = in_shell(stand, models.path("a1"), tmp_path)
    assert "failed steps" in told
    assert "fell" not in told
    (snippet,) = snippets(FIRST_ROBOT)
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(10000, 53)")
    assert "_joint.torque" in done.stdout


def test_an_arm_on_a_base_is_held(tmp_path: Path) -> None:
    share = example_robot_data()
    if share is None:
        pytest.skip("needs example-robot-data")
    (urdf,) = share.rglob("ur5_robot.urdf")
    (command,) = [line for line in robosim_commands() if "--fixed-base" in line]
    told = in_shell(command + " --json", urdf, tmp_path)
    names = robosim.load(urdf, floating_base=False).q_names
    held = dict(zip(names, json.loads(told)["final_q"], strict=True))
    assert held["shoulder_lift_joint"] == pytest.approx(-np.pi / 3, abs=0.02)
    assert held["elbow_joint"] == pytest.approx(np.pi / 3, abs=0.02)
