"""Files are found as other systems spell their addresses, and where other programs look."""

from __future__ import annotations

from pathlib import Path

import pytest
import trimesh
from PIL import Image
from urdf_text import INERTIAL, link_xml, robot_xml

import robosim
from robosim import LoadError

BOX = trimesh.creation.box((1, 2, 3))


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "GAZEBO_MODEL_PATH",
                 "GZ_SIM_RESOURCE_PATH"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


def put(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".png":
        Image.new("L", (4, 4)).save(path)
    else:
        path.write_bytes(BOX.export(file_type="stl"))


def urdf(top: Path, address: str, more: str = "") -> robosim.Mechanism:
    shape = f'<collision><geometry><mesh filename="{address}"/></geometry></collision>'
    file = top / "urdf" / "r.urdf"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(robot_xml(link_xml("a", INERTIAL + shape), more))
    return robosim.load(file, ground=False)


# In a package pkg, meshes/x y.stl (or what is said) by these addresses; whether it is a guess.
ADDRESSES = {
    "relative": ("../meshes/x y.stl", False),
    "backslashes": ("..\\meshes\\x y.stl", False),
    "package": ("package://pkg/meshes/x y.stl", False),
    "package, backslashes": ("package:\\\\pkg\\meshes\\x y.stl", False),
    "one slash": ("package:/pkg/meshes/x y.stl", False),
    "three slashes": ("package:///pkg/meshes/x y.stl", False),
    "encoded": ("package://pkg/meshes/x%20y.stl", False),
    "encoded path": ("../meshes/x%20y.stl", False),
    "find": ("$(find pkg)/meshes/x y.stl", False),
    "file and find": ("file://$(find pkg)/meshes/x y.stl", False),
    "space around": (" ../meshes/x y.stl ", False),
    "from the top": ("meshes/x y.stl", True),
    "other case": ("../Meshes/X y.STL", True),
    "package in other case": ("package://pkg/Meshes/x Y.stl", True),
    "of a windows computer": ("C:\\Users\\me\\pkg\\meshes\\x y.stl", True),
    "of another windows computer": ("file:///D:/ws/src/pkg/meshes/x y.stl", True),
    "of another computer": ("/home/me/ws/src/pkg/meshes/x y.stl", True),
    "of another computer, as a file": ("file:///home/me/ws/src/pkg/meshes/x y.stl", True),
    "of another package's name": ("package://gkp/meshes/x y.stl", True),
}


@pytest.mark.parametrize("case", ADDRESSES)
def test_in_a_urdf(tmp_path, case):
    address, guessed = ADDRESSES[case]
    put(tmp_path / "pkg" / "meshes" / "x y.stl")
    (tmp_path / "pkg" / "package.xml").touch()
    robot = urdf(tmp_path / "pkg", address)
    assert len(robot.bodies[0].collisions) == 1
    assert any("guessed" in text for text in robot.warnings) == guessed


def test_a_folder_of_meshes_that_mujoco_is_told(tmp_path):
    """MuJoCo takes the file's name alone."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "package.xml").touch()
    put(tmp_path / "pkg" / "assets" / "x.stl")
    more = '<mujoco><compiler meshdir="../assets"/></mujoco>'
    assert urdf(tmp_path / "pkg", "package://pkg/meshes/x.stl", more).bodies[0].collisions
    with pytest.raises(LoadError, match="none of the package folders"):
        urdf(tmp_path / "pkg", "package://pkg/meshes/x.stl")


@pytest.mark.parametrize(
    "address",
    ["..\\..\\secret\\x.stl", "package:\\\\..\\secret\\x.stl", "package:/../secret/x.stl",
     "file:{}/secret/x.stl", "http:\\\\example.org\\x.stl", " ../../secret/x.stl", "secret/x.stl"],
)  # fmt: skip
def test_no_spelling_leads_out(tmp_path, address):
    put(tmp_path / "secret" / "x.stl")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "package.xml").touch()
    with pytest.raises(LoadError):
        urdf(tmp_path / "pkg", address.format(tmp_path))


MESH = '<asset><mesh name="x" file="{}"/></asset>'
MODEL = ('<mujoco>{}<worldbody><body><joint/><geom type="mesh" mesh="x"/></body></worldbody>'
         "</mujoco>")  # fmt: skip
INCLUDE = '<include file="{}"/>'
FIELD = ('<mujoco>{}<asset><hfield name="h" file="{}" size="1 1 1 1"/></asset><worldbody>'
         '<geom type="hfield" hfield="h"/><body pos="0 0 3"><freejoint/><geom size=".1"/></body>'
         "</worldbody></mujoco>")  # fmt: skip


def mesh(compiler: str, file: str) -> str:
    return MODEL.format(compiler + MESH.format(file))


# The files that there are, the model, and whether MuJoCo reads it too.
FOUND = {
    "backslash": ({"a/x.stl": ""}, mesh("", "a\\x.stl"), True),
    "folder with a backslash": ({"a/b/x.stl": ""}, mesh('<compiler meshdir="a\\b"/>', "x.stl"),
                                True),
    "assetdir": ({"a/x.stl": ""}, mesh('<compiler assetdir="a"/>', "x.stl"), True),
    "both": ({"b/x.stl": ""}, mesh('<compiler assetdir="a" meshdir="b"/>', "x.stl"), True),
    "assetdir behind": ({"a/x.stl": ""},
                        mesh('<compiler meshdir="b"/><compiler assetdir="a"/>', "x.stl"), True),
    "assetdir before": ({"b/x.stl": ""},
                        mesh('<compiler assetdir="a"/><compiler meshdir="b"/>', "x.stl"), True),
    "stripped": ({"a/x.stl": ""}, mesh('<compiler meshdir="a" strippath="true"/>',
                                       "C:\\u\\x.stl"), True),
    "beside what is included": ({"sub/x.stl": "", "sub/i.xml": f"<mujoco>{MESH}</mujoco>"},
                                MODEL.format(INCLUDE.format("sub/i.xml")), True),
    "beside the model": ({"x.stl": "", "sub/i.xml": f"<mujoco>{MESH}</mujoco>"},
                         MODEL.format(INCLUDE.format("sub/i.xml")), True),
    "included with a backslash": ({"x.stl": "", "sub/i.xml": f"<mujoco>{MESH}</mujoco>"},
                                  MODEL.format(INCLUDE.format("sub\\i.xml")), True),
    "field": ({"a/h.png": ""}, FIELD.format('<compiler assetdir="a"/>', "h.png"), True),
    "field, stripped": ({"a/h.png": ""}, FIELD.format('<compiler meshdir="a" strippath="true"/>',
                                                      "/z/h.png"), True),
    "field, backslash": ({"a/h.png": ""}, FIELD.format("", "a\\h.png"), True),
    "other case": ({"a/X.STL": ""}, mesh("", "A/x.stl"), False),
    "of windows": ({"a/x.stl": ""}, mesh("", "C:\\u\\a\\x.stl"), False),
    "of a package": ({"a/x.stl": ""}, mesh("", "package://t/a/x.stl"), False),
    "included in other case": ({"x.stl": "", "sub/I.xml": f"<mujoco>{MESH}</mujoco>"},
                               MODEL.format(INCLUDE.format("sub/i.xml")), False),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_in_an_mjcf_file(tmp_path, case):
    files, model, theirs = FOUND[case]
    for name, text in files.items():
        if text:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text.format("x.stl"))
        else:
            put(tmp_path / name)
    path = tmp_path / "m.xml"
    path.write_text(model)
    warnings = robosim.load(path).warnings
    assert any("guessed" in text for text in warnings) != theirs
    mujoco = pytest.importorskip("mujoco")
    if theirs:
        mujoco.MjModel.from_xml_path(str(path))
    else:
        with pytest.raises(ValueError, match="opening file"):
            mujoco.MjModel.from_xml_path(str(path))


def test_assets_are_called_after_their_files(tmp_path):
    put(tmp_path / "a" / "x.stl")
    path = tmp_path / "m.xml"
    path.write_text(mesh("", "a\\x.stl").replace('name="x" ', ""))
    assert len(robosim.load(path).bodies) == 1
