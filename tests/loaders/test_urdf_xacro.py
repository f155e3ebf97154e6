"""xacro files: expanded as they should be, and able to do nothing else."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
from urdf_text import INERTIAL, link_xml

import robosim
from robosim import LoadError
from robosim.loaders import xacro_files

xacro_process = pytest.importorskip("robosim.loaders.xacro_process")

NS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)


def write(path, *inside, name="r"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<robot name="{name}" {NS}>{"".join(inside)}</robot>')
    return path


def thing(mass):
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    return f'<link name="a"><inertial><mass value="{mass}"/>{inertia}</inertial></link>'


def load(path, **options):
    return robosim.load(path, ground=False, **options)


def test_macros_includes_yaml_packages_and_arguments(tmp_path):
    """In a package, with a file of another package that lies beside it."""
    write(
        tmp_path / "other" / "macros.xacro",
        f'<xacro:macro name="thing" params="mass">{thing("${mass}")}</xacro:macro>',
    )
    (tmp_path / "other" / "package.xml").touch()
    (tmp_path / "pkg" / "urdf").mkdir(parents=True)
    (tmp_path / "pkg" / "urdf" / "data.yaml").write_text("x: 3\n")
    path = write(
        tmp_path / "pkg" / "urdf" / "robot.urdf.xacro",
        '<xacro:include filename="$(find other)/macros.xacro"/>',
        '<xacro:arg name="m" default="2"/>',
        '<xacro:property name="d" value="${xacro.load_yaml(\'data.yaml\')}"/>',
        '<xacro:thing mass="${2 * d.x + $(arg m) + max([i for i in [0, 1]])}"/>',
        '<xacro:unless value="$(eval 2 > 1)"><link/></xacro:unless>',
    )
    assert load(path).total_mass == 9
    assert load(path, xacro_args={"m": "5"}).total_mass == 12
    assert load(path).warnings == ()


def test_meshes_of_packages_that_it_has_found(tmp_path):
    import trimesh

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "package.xml").touch()
    trimesh.creation.box((1, 1, 1)).export(tmp_path / "other" / "x.stl")
    mesh = '<mesh filename="file://$(find other)/x.stl"/>'
    path = write(
        tmp_path / "pkg" / "robot.xacro",
        link_xml("a", f"{INERTIAL}<collision><geometry>{mesh}</geometry></collision>"),
    )
    assert len(load(path).bodies[0].collisions) == 1


@pytest.mark.parametrize(
    "expression",
    ["().__class__", "(lambda: ().__class__.__base__.__subclasses__())()",
     "[x.__class__ for x in [1]]", "(x for x in [1]).gi_frame", "__import__('os')", "x._y"],
)  # fmt: skip
def test_expressions_find_no_way_to_the_rest_of_python(expression):
    import xacro

    with pytest.raises(xacro.XacroException, match="must not use"):
        xacro_process.refuse_private(expression)


ESCAPES = {
    "within a lambda": "${(lambda: ().__class__)()}",
    "vars": "${python.vars(python.type)}",
    "builtins in eval": "$(eval open)",
    "yaml outside": "${xacro.load_yaml('/etc/hostname')}",
    "yaml beside": "${xacro.load_yaml('../secret.yaml')}",
    "package": "$(find ../..)",
    "unknown package": "$(find nowhere_to_be_found)",
}


@pytest.mark.parametrize("case", ESCAPES)
def test_files_reach_nothing_else(tmp_path, case):
    (tmp_path / "secret.yaml").write_text("1")
    path = write(tmp_path / "pkg" / "r.xacro", f'<a x="{ESCAPES[case]}"/>', thing(1))
    with pytest.raises(LoadError, match="xacro") as caught:
        load(path)
    assert caught.value.file == path


def test_code_that_runs_nevertheless_can_do_little(tmp_path):
    """As if an expression had found a way: the process has given up what it would need."""
    code = f"""
import ctypes, os, socket, subprocess, sys
from pathlib import Path
from robosim.loaders import xacro_process
from robosim.loaders.folders import Folders
xacro_process._guard_process(Folders(Path({str(tmp_path / "r.xacro")!r})))
tries = [
    lambda: open({str(tmp_path / "new")!r}, "w"),
    lambda: os.open({str(tmp_path / "new")!r}, os.O_CREAT | os.O_WRONLY),
    lambda: open("/etc/hostname"),
    lambda: os.system("true"),
    lambda: subprocess.run(["true"]),
    lambda: os.remove({str(tmp_path / "r.xacro")!r}),
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: ctypes.CDLL(None),
]
for k, attempt in enumerate(tries):
    try:
        attempt()
    except PermissionError:
        continue
    sys.stdout.write(f"{{k}} ")
sys.stdout.write(open({str(tmp_path / "r.xacro")!r}).read())
"""
    (tmp_path / "r.xacro").write_text("its own")
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.stderr) == ("its own", "")


@pytest.mark.parametrize("name", ["../secret.xacro", "linked.xacro", "../*.xacro"])
def test_includes_stay_inside(tmp_path, name):
    write(tmp_path / "secret.xacro", thing(1))
    path = write(tmp_path / "pkg" / "r.xacro", f'<xacro:include filename="{name}"/>')
    (tmp_path / "pkg" / "linked.xacro").symlink_to(tmp_path / "secret.xacro")
    with pytest.raises(LoadError, match="own folder"):
        load(path)
    assert load(path, package_dirs=tmp_path).total_mass == 1


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("${'x' * 10**10}", "memory|MB"),
        ("${nobody}", "nobody"),
        ("${1/0}", "zero"),
        ("$(arg arm)", r"xacro_args=\{'arm': '...'\} gives it \(--xacro-arg arm:=...\)"),
    ],
    ids=["memory", "name", "zero", "argument"],
)
def test_what_fails_is_told(tmp_path, inside, said):
    path = write(tmp_path / "r.xacro", f'<a x="{inside}"/>', thing(1))
    with pytest.raises(LoadError, match=said):
        load(path)


def test_what_takes_too_long_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(xacro_files, "LONGEST", 2)
    path = write(tmp_path / "r.xacro", '<a x="${10**10**10}"/>', thing(1))
    with pytest.raises(LoadError, match="takes more than 2 s"):
        load(path)


def test_macros_without_end(tmp_path):
    path = write(
        tmp_path / "r.xacro",
        '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
    )
    with pytest.raises(LoadError, match="xacro"):
        load(path)


def test_entities_are_refused(tmp_path):
    path = tmp_path / "r.xacro"
    path.write_text('<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>')
    with pytest.raises(LoadError, match="DOCTYPE"):
        load(path)


def test_without_the_package_the_error_says_so(tmp_path, monkeypatch):
    path = write(tmp_path / "r.xacro", thing(1))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LoadError, match=r"not installed.*robosim-variational\[xacro\]"):
        load(path)


def test_a_mistake_in_what_it_becomes(tmp_path):
    path = write(tmp_path / "r.xacro", thing("${-1}"))
    with pytest.raises(LoadError, match=r"r\.xacro: link 'a' \(expanded\): mass") as caught:
        load(path)
    assert caught.value.line is None


def test_arguments_are_for_xacro(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(f'<robot name="r">{thing(1)}</robot>')
    with pytest.raises(LoadError, match=r"suffix \.xacro"):
        load(path, xacro_args={"m": "1"})


XACRO = {
    "elements": ("<xacro:property name='m' value='3'/>", "3"),
    "expressions": ("", "${1 + 2}"),
    "arguments": ('<xacro:arg name="m" default="3"/>', "$(arg m)"),
}


@pytest.mark.parametrize("case", XACRO)
@pytest.mark.parametrize("name", ["r.urdf", "r.xml"])
def test_xacro_is_told_by_its_content(tmp_path, case, name):
    inside, mass = XACRO[case]
    assert load(write(tmp_path / name, inside, thing(mass))).total_mass == 3


def test_what_xacro_has_made_is_none(tmp_path, monkeypatch):
    """It still declares the prefix."""
    monkeypatch.setattr(xacro_files, "expand", lambda *_: pytest.fail("expanded"))
    assert load(write(tmp_path / "r.urdf", thing(2))).total_mass == 2


RENAMED = {
    "by its package.xml": ("foo-main", "<package><name> foo </name></package>", 0),
    "by its model.config": ("foo-main", "<model><name>foo</name></model>", 0),
    "as a guess": ("other", "<package/>", 1),
    "beside it": ("foo", "", 0),
}


@pytest.mark.parametrize("case", RENAMED)
@pytest.mark.parametrize("given", [False, True])
def test_packages_in_renamed_folders(tmp_path, case, given):
    folder, declared, guesses = RENAMED[case]
    top = tmp_path / "src" / folder
    path = write(
        top / "urdf" / "r.xacro",
        '<xacro:include filename="$(find foo)/urdf/part.xacro"/><xacro:part/>',
    )
    write(top / "urdf" / "part.xacro", f'<xacro:macro name="part">{thing(2)}</xacro:macro>')
    file = "model.config" if "model" in declared else "package.xml"
    (top / file).write_text(declared)
    robot = load(path, package_dirs=[top] if given else ())
    assert robot.total_mass == 2
    assert sum("guessed" in text for text in robot.warnings) == guesses


def test_a_renamed_package_beside_it(tmp_path):
    path = write(
        tmp_path / "src" / "robot" / "r.xacro",
        '<xacro:include filename="$(find parts)/x.xacro"/><xacro:part/>',
    )
    (path.parent / "package.xml").touch()
    write(
        tmp_path / "src" / "parts-1.2" / "x.xacro",
        f'<xacro:macro name="part">{thing(2)}</xacro:macro>',
    )
    with pytest.raises(LoadError, match="none of the package folders"):
        load(path)
    (tmp_path / "src" / "parts-1.2" / "package.xml").write_text("<name>parts</name>")
    assert load(path).total_mass == 2
    assert load(path).warnings == ()


def test_what_xacro_says_is_a_warning(tmp_path):
    path = write(tmp_path / "r.xacro", "<!-- ${xacro.warning('mind the gap')} -->", thing(1),
                 "<a x=\"${xacro.warning('mind the gap')}\"/>")  # fmt: skip
    assert any("mind the gap" in text for text in load(path).warnings)
