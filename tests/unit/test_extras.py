"""Without the packages of extras: the main job runs, and what needs them says how to get them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import trimesh
from PIL import Image

from robosim.loaders.meshes import in_utf8

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Of the extra "all", and what packages bring along that the main job does not use.
EXTRAS = ("collada", "matplotlib", "PIL", "pyarrow")
BESIDE = ("IPython", "jsonschema", "manifold3d", "pandas", "shapely", "zmq")

BOX = trimesh.creation.box((0.1, 0.2, 0.3))
URDF = """<robot name="thing"><link name="body">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="{visual}"/></geometry></visual>
<collision><geometry><mesh filename="{collision}"/></geometry></collision></link></robot>"""


def without(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a Python prints that has none of the extras, in a folder."""
    (folder / "sitecustomize.py").write_text(
        f"import sys\nsys.modules |= dict.fromkeys({EXTRAS + BESIDE!r})\n", encoding="utf-8"
    )
    path = os.pathsep.join([str(folder), *(place for place in sys.path if place)])
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": path}, cwd=folder, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip


def told(code: str, folder: Path) -> str:
    done = without(code, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_is_what_the_other_extras_of_files_and_pictures_are() -> None:
    (everything,) = PROJECT["optional-dependencies"]["all"]
    names = re.search(r"\[(.*)\]", everything)[1].split(",")  # type: ignore[index]
    needed = [one for name in names for one in PROJECT["optional-dependencies"][name]]
    assert sorted(re.match(r"\w+", one)[0] for one in needed) == [  # type: ignore[index]
        "matplotlib", "pillow", "pyarrow", "pycollada",
    ]  # fmt: skip
    assert not any(one.startswith(("pyarrow", "matplotlib", "pillow", "pycollada"))
                   for one in PROJECT["dependencies"])  # fmt: skip


@pytest.mark.parametrize("log", ["run.csv", "run.npz"])
def test_the_main_job_needs_few_packages(log: str, tmp_path: Path) -> None:
    """The A1 is loaded, stands, is shown live and is logged."""
    code = (
        "import sys, atexit\n"
        "def at_end():\n"
        "    found = {name.partition('.')[0] for name, one in list(sys.modules.items())\n"
        "             if 'site-packages' in str(getattr(one, '__file__', ''))}\n"
        "    print('brought in:', *sorted(found))\n"
        "atexit.register(at_end)\n"
        "sys.argv = ['robosim', 'simulate', 'a1', '--controller', 'stand', '--seconds', '0.1',\n"
        f"            '--log', {log!r}, '--view']\n"
        "from robosim.cli import main\n"
        "main()"
    )
    *_, brought = told(code, tmp_path).splitlines()
    assert {"numpy", "numba", "llvmlite", "lxml", "typer", "rich"} <= set(brought.split())
    assert not {*BESIDE, *EXTRAS} & set(brought.split())
    shown = told(f"import robosim; log = robosim.Log.load({log!r}); print(len(log))", tmp_path)
    assert shown == "100\n"


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("sim.run(0.01).save('run.parquet')", "parquet"),
        ("robosim.Log.load('old.parquet')", "parquet"),
        ("sim.run(0.01).plot('run.png')", "plots"),
        ("render(robosim.viz.Recorder(sim.robot), 'run.png')", "pictures"),
        ("render(robosim.viz.Recorder(sim.robot), 'run.gif')", "pictures"),
    ],
)
def test_what_is_missed_is_told_in_a_sentence(code: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / "old.parquet").touch()
    begin = "import robosim; from robosim.models.builders import cube\n"
    begin += "from robosim.viz.rendering import render\n"
    begin += "sim = robosim.Simulation(cube())\ntry:\n    "
    message = told(f"{begin}{code}\nexcept robosim.RobosimError as error: print(error)", tmp_path)
    assert len(message.splitlines()) == 1
    assert f'pip install "robosim-variational[{extra}]"' in message


def test_the_command_line_tells_it_before_it_runs(tmp_path: Path) -> None:
    code = "import sys; from robosim.cli import main\nsys.argv = ['robosim', {}]\nmain()"
    line = "'simulate', 'cube', '--seconds', '0.1', '--log', 'run.parquet'"
    done = without(code.format(line), tmp_path)
    assert done.returncode == 1
    assert 'pip install "robosim-variational[parquet]"' in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    line = "'simulate', 'cube', '--seconds', '0.1', '--record', 'run.gif'"
    done = without(code.format(line), tmp_path)
    assert done.returncode == 1
    assert 'pip install "robosim-variational[pictures]"' in " ".join(done.stderr.split())


def test_collada_meshes(tmp_path: Path) -> None:
    """Those that are only drawn are left out with a warning; one that touches is refused."""
    (tmp_path / "x.dae").write_bytes(trimesh.exchange.dae.export_collada(BOX))
    (tmp_path / "x.stl").write_bytes(BOX.export(file_type="stl"))
    for visual, collision in (("x.dae", "x.stl"), ("x.stl", "x.dae")):
        text = URDF.format(visual=visual, collision=collision)
        (tmp_path / f"{visual}.urdf").write_text(text, encoding="utf-8")
    code = "import robosim\ntry:\n    print(*robosim.load({!r}).warnings)\n"
    code += "except robosim.RobosimError as error:\n    print('refused:', error)"
    drawn = told(code.format("x.dae.urdf"), tmp_path)
    assert "meshes that cannot be read are not drawn: .dae meshes need pycollada" in drawn
    assert 'pip install "robosim-variational[collada]"' in drawn
    refused = told(code.format("x.stl.urdf"), tmp_path)
    assert refused.startswith("refused:")
    assert 'pip install "robosim-variational[collada]"' in refused


def test_meshes_with_textures_lose_these_with_a_warning(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4), (255, 0, 0)).save(tmp_path / "red.png")
    (tmp_path / "x.mtl").write_text("newmtl red\nKd 0 1 0\nmap_Kd red.png\n")
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 0 1\n"
    faces = "f 1/1 3/2 2/3\nf 1/1 2/2 4/3\nf 1/1 4/2 3/3\nf 2/1 3/2 4/3\n"
    (tmp_path / "x.obj").write_text(f"mtllib x.mtl\n{corners}usemtl red\n{faces}")
    (tmp_path / "x.urdf").write_text(URDF.format(visual="x.obj", collision="x.obj"))
    code = (
        "import robosim, warnings\n"
        "with warnings.catch_warnings(record=True) as found:\n"
        "    warnings.simplefilter('always')\n"
        "    robot = robosim.load('x.urdf')\n"
        "print(found[0].message)\n"
        "(shape,) = robot.bodies[0].visuals\n"
        "print(shape.texture, shape.rgba)"
    )
    message, shape = told(code, tmp_path).splitlines()
    assert "x.obj: textures are left out, as they need Pillow: pip install" in message
    assert shape == "None (0.0, 1.0, 0.0, 1.0)"


def test_letters_of_other_programs_in_meshes(tmp_path: Path) -> None:
    """Comments in Latin-1, for which trimesh would ask another package."""
    text = "# Käfer\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "x.obj").write_bytes(text.encode("latin-1"))
    (tmp_path / "x.urdf").write_text(URDF.format(visual="x.obj", collision="x.obj"))
    code = "import robosim; print(len(robosim.load('x.urdf').bodies[0].visuals[0].faces))"
    assert told(code, tmp_path) == "4\n"
    assert in_utf8("é".encode("latin-1")) == "é".encode()
    binary = b"solid \xff\x00"
    assert in_utf8(binary) == binary
