"""Notebooks run from the first cell to the last, show pictures, and are kept without outputs.

They run in a kernel of Jupyter where `nbclient` and `ipykernel` are installed (extra `dev`), and
otherwise cell by cell in IPython, which is always there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from robosim.version import DISTRIBUTION

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Writes the types of what each cell shows, as the last line.
IN_IPYTHON = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell, shown = InteractiveShell.instance(), []
for source in json.loads(sys.stdin.read()):
    done = shell.run_cell(source)
    done.raise_error()
    shown.append([] if done.result is None else [*shell.display_formatter.format(done.result)[0]])
print()
print(json.dumps(shown))
"""


def name(path: Path) -> str:
    return path.stem


@pytest.fixture(params=NOTEBOOKS, ids=name)
def notebook(request: pytest.FixtureRequest) -> dict[str, Any]:
    return json.loads(request.param.read_text(encoding="utf-8"))


def code(notebook: dict[str, Any]) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_are_some() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first_robot", "grasp_beside_mujoco"]


def test_no_outputs_are_kept(notebook: dict[str, Any]) -> None:
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        assert not cell["metadata"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


def test_the_first_cell_installs_what_is_missing(notebook: dict[str, Any]) -> None:
    first, *others = code(notebook)
    (line,) = re.findall(r"^    %pip install -q (.*)$", first, re.MULTILINE)
    package, extras = re.match(r'"([\w-]+)\[([\w,]+)\]"', line).groups()  # type: ignore[union-attr]
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert package == DISTRIBUTION
    assert set(extras.split(",")) <= set(known["optional-dependencies"])
    assert not any("%" in re.sub(r"f?\"[^\"]*\"", "", source) for source in others)
    # What is imported before an installation is tried is what the installation brings.
    tried = re.findall(r"^    import (\w+)$", first.partition("except")[0], re.MULTILINE)
    assert all(one == "robosim" or one in line for one in tried)


def shown(cells: list[str], folder: Path) -> list[list[str]]:
    """The types of what each cell shows."""
    if find_spec("nbclient") is None or find_spec("ipykernel") is None:
        done = subprocess.run(
            [sys.executable, "-c", IN_IPYTHON], input=json.dumps(cells), cwd=folder,
            capture_output=True, text=True, timeout=500,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
        return json.loads(done.stdout.splitlines()[-1])
    import nbformat
    from nbclient import NotebookClient

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(made, timeout=500, kernel_name="python3", resources=resources).execute()
    return [
        [kind for output in cell.outputs for kind in output.get("data", {})] for cell in made.cells
    ]


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages, in this process
def test_it_runs_and_shows_pictures(notebook: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    found = shown(code(notebook), tmp_path)
    assert sum("image/png" in kinds for kinds in found) >= 1
    assert not list(tmp_path.iterdir())


def test_a_cell_that_fails_fails_the_test(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="only so"):
        shown(["x = 1", "raise ValueError('only so')"], tmp_path)
