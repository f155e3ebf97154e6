"""What a robot may be called."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest
from urdf_text import joint_xml, link_xml

import robosim
from robosim import LoadError, models
from robosim.loaders import available, sources


def test_every_shipped_name_loads():
    for info in models.shipped():
        robot = robosim.load(info.name)
        assert robot.name == info.name
        assert info.description
        assert info.origin


def test_available_lists_what_ships_first():
    assert available()[: len(models.shipped())] == models.shipped()


@pytest.mark.parametrize(
    ("name", "close"), [("a11", "a1"), ("cub", "cube"), ("doublependulum", "double_pendulum")]
)
def test_an_unknown_name_is_told_close_ones_and_all(name, close):
    with pytest.raises(LoadError, match=f"'{name}'.*did you mean.*'{close}'") as caught:
        robosim.load(name)
    assert set(caught.value.alternatives) == {info.name for info in models.shipped()}


def test_a_missing_collection_is_mentioned(monkeypatch):
    monkeypatch.setattr(sources, "example_robot_data", lambda: None)
    with pytest.raises(LoadError, match="'example-robot-data' is not installed"):
        robosim.load("go2_description")


def test_robot_descriptions_is_named_when_missing():
    with pytest.raises(LoadError, match="robot_descriptions"):
        robosim.load("robot_descriptions:surely_not_there_description")


def test_names_of_robot_descriptions_say_what_to_install(monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None
        if name == "robot_descriptions" else there(name, *more)
    )  # fmt: skip
    with pytest.raises(
        LoadError, match=r"pip install .*\[descriptions\].*'robot_descriptions:zz_d"
    ):
        robosim.load("zz_description")
    with pytest.raises(LoadError) as caught:
        robosim.load("zz")
    assert "robot_descriptions" not in caught.value.reason


LINK = (
    '<link name="a"><inertial><mass value="{mass}"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)


@pytest.fixture
def described(tmp_path, monkeypatch):
    """A robot_descriptions with a few robots, which say when they are imported."""
    package = tmp_path / "robot_descriptions"
    package.mkdir()
    (package / "__init__.py").touch()
    robot = tmp_path / "clone/x_package/urdf"
    robot.mkdir(parents=True)
    (robot / "x.urdf").write_text(f'<robot name="x">{LINK.format(mass=1)}</robot>')
    (robot / "x.xacro").write_text(
        '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="mass" '
        'default="2"/><xacro:include filename="$(find y_package)/link.xacro"/></robot>'
    )
    other = tmp_path / "clone/y_package"
    other.mkdir()
    (other / "link.xacro").write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f"{LINK.format(mass='$(arg mass)')}</robot>"
    )
    modules = {
        "x_description": f"URDF_PATH = {str(robot / 'x.urdf')!r}",
        "x++_mj_description": f"URDF_PATH = {str(robot / 'x.urdf')!r}",
        "long_name_description": f"XACRO_PACKAGE_PATHS = {{'y_package': {str(other)!r}}}\n"
        + f"XACRO_PATH = {str(robot / 'x.xacro')!r}\nXACRO_ARGS = {{'mass': '3'}}",
        "gone_description": "MJCF_PATH = '/nowhere/at/all.xml'",
        "empty_description": "",
        "broken_description": "raise OSError('no network')",
        "_hidden_description": "",
    }
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, name)


def test_robot_descriptions_are_imported_only_when_asked(described):
    """Importing one of its modules may download it."""
    with pytest.raises(LoadError, match="'robot_descriptions:x_description' loads it"):
        robosim.load("x_description")
    assert "robot_descriptions.x_description" not in sys.modules
    for name in ("x_description", "x", "x++_mj_description", "x++_mj"):
        assert robosim.load(f"robot_descriptions:{name}").name == "x"


def test_robot_descriptions_of_xacro_files(described):
    pytest.importorskip("xacro")
    assert robosim.load("robot_descriptions:long_name").total_mass == 3.0
    heavier = robosim.load("robot_descriptions:long_name", xacro_args={"mass": "4"})
    assert heavier.total_mass == 4.0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("robot_descriptions:y", r"has no 'y' \(known: broken_description, .*x_description\)"),
        ("robot_descriptions:gone", "all.xml: what robot_descriptions has downloaded of 'gone_"),
        ("robot_descriptions:empty", "'robot_descriptions:empty_description' has no model file"),
        ("robot_descriptions:broken", r"could not provide 'broken_.*: OSError\('no network'\)"),
        ("lon_name", "robot_descriptions has 'robot_descriptions:long_name_description', and may"),
    ],
)
def test_robot_descriptions_that_do_not_load_say_why(described, name, told):
    with pytest.raises(LoadError) as caught:
        robosim.load(name)
    assert re.search(told, str(caught.value))


def test_hidden_modules_of_robot_descriptions_are_none(described):
    with pytest.raises(LoadError) as caught:
        robosim.load("_hidden")
    assert "robot_descriptions" not in str(caught.value)


def test_a_folder_of_several_files(tmp_path, monkeypatch):
    robots = tmp_path / "example-robot-data" / "robots"
    for file in ("one_description/urdf/other", "two_description/two", "two_description/two_b",
                 "three_data/x", "three_data/y"):  # fmt: skip
        path = robots / f"{file}.urdf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr(sources, "example_robot_data", lambda: tmp_path)

    def found(name):
        return sources._find(name).stem

    assert found("one_description") == found("one") == found("other") == "other"
    assert found("example-robot-data:one") == "other"
    assert found("two_description") == found("two") == "two"
    assert found("two_b") == found("two_description/two_b") == "two_b"
    with pytest.raises(LoadError, match="'three' names several robots") as caught:
        found("three")
    assert caught.value.alternatives == ("three_data/x", "three_data/y")


def test_built_models_load_without_the_file_readers():
    code = (
        "import sys, robosim; robosim.load('cube'); robosim.load('double_pendulum');"
        "print([name for name in ('numba', 'trimesh', 'pinocchio') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("source", [None, 3, ["a1"]])
def test_something_else_is_no_robot(source):
    with pytest.raises(LoadError, match="a name, a path"):
        robosim.load(source)


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 5000 + ".urdf", "a\0.urdf", "", ".", "a/"])
def test_impossible_names(name):
    with pytest.raises(LoadError):
        robosim.load(name)


def test_strict_loading_makes_warnings_errors(write):
    arm = joint_xml("knee", "a", "b", inside='<limit lower="0" upper="0" effort="1" velocity="1"/>')
    path = write(link_xml("a"), link_xml("b"), arm)
    assert len(robosim.load(path).warnings) > 0
    with pytest.raises(LoadError, match=r"robot\.urdf: strict=True.*taken as unlimited"):
        robosim.load(path, strict=True)
    assert robosim.load("a1", strict=True).warnings == ()
