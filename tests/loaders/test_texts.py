"""Models that are no files: text, and objects of yourdfpy and MuJoCo."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import LoadError, Mechanism, models

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="world"/>
  <joint name="hinge" type="revolute"><parent link="world"/><child link="rod"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="3" velocity="4"/></joint>
  <link name="rod"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="meshes/tetra.obj"/></geometry></collision></link>
</robot>"""
MJCF = """<mujoco model="ball"><compiler meshdir="meshes"/>
  <asset><mesh name="tetra" file="tetra.obj"/></asset>
  <worldbody><body name="ball" pos="0 0 1"><freejoint/><geom type="mesh" mesh="tetra"/></body>
  </worldbody></mujoco>"""
TETRA = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


def summary(robot: Mechanism) -> tuple[object, ...]:
    sizes = robot.name, robot.nq, robot.nv, robot.nu, len(robot.contacts)
    inertias = np.round([np.linalg.eigvalsh(np.asarray(b.inertia)) for b in robot.bodies], 9)
    return *sizes, round(robot.total_mass, 9), inertias.tolist(), np.asarray(robot.home).tolist()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes/tetra.obj").write_text(TETRA)
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "ball.xml").write_text(MJCF)
    return tmp_path


@pytest.mark.parametrize("encode", [False, True])
def test_a_shipped_file_from_its_text(encode: bool) -> None:
    file = models.path("a1")
    robot = robosim.load(file.read_bytes() if encode else f"\n {file.read_text('utf-8')}")
    assert summary(robot) == summary(robosim.load("a1"))
    assert robot.source is None


def test_files_of_a_text_are_found_in_package_dirs(folder: Path) -> None:
    robot = robosim.load(URDF, package_dirs=folder)
    assert summary(robot) == summary(robosim.load(folder / "arm.urdf"))
    assert robot.bodies[0].collisions[0].kind == "mesh"
    ball = robosim.load(MJCF, package_dirs=folder / "meshes")
    assert summary(ball) == summary(robosim.load(folder / "ball.xml"))


def test_a_text_reads_no_files_of_others(folder: Path) -> None:
    (folder / "deep").mkdir()
    for address in ("../meshes/tetra.obj", str(folder / "meshes/tetra.obj")):
        robot = URDF.replace("meshes/tetra.obj", address)
        with pytest.raises(LoadError, match=r"the text of a model.*tetra\.obj"):
            robosim.load(robot, package_dirs=folder / "deep")


def test_errors_name_the_text_and_its_line() -> None:
    with pytest.raises(LoadError, match=r"the text of a model: line 5: .*'fast'") as told:
        robosim.load(URDF.replace('upper="2"', 'upper="fast"'))
    assert "tmp" not in str(told.value)
    with pytest.raises(LoadError, match="the text of a model"):
        robosim.load("<robot")
    with pytest.raises(LoadError, match=r"a mujoco\.MjSpec, not 3"):
        robosim.load(3)


def test_an_object_of_yourdfpy(folder: Path) -> None:
    yourdfpy = pytest.importorskip("yourdfpy")
    urdf = yourdfpy.URDF.load(str(folder / "arm.urdf"))
    robot = robosim.load(urdf)
    assert summary(robot) == summary(robosim.load(folder / "arm.urdf"))
    urdf.robot.joints[0].limit.upper = 0.5
    (hinge,) = (joint for joint in robosim.load(urdf).joints if joint.name == "hinge")
    assert np.ravel(hinge.upper) == 0.5


@pytest.mark.peer
def test_an_object_of_mujoco(folder: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjSpec.from_file(str(folder / "ball.xml"))
    robot = robosim.load(spec)
    assert robot.total_mass == pytest.approx(1000 / 6, rel=1e-6)  # a corner of a cube of water
    assert robot.bodies[0].collisions[0].kind == "mesh"
    spec.body("ball").add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0], density=1000)
    more = robosim.load(spec).total_mass - robot.total_mass
    assert more == pytest.approx(4 / 3 * math.pi, rel=1e-6)


@pytest.mark.peer
def test_an_object_of_mujoco_with_files_of_its_own() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = MJCF.replace('<compiler meshdir="meshes"/>', "")
    spec = mujoco.MjSpec.from_string(text, assets={"tetra.obj": TETRA.encode()})
    assert robosim.load(spec).total_mass == pytest.approx(1000 / 6, rel=1e-6)
    empty = mujoco.MjSpec()
    empty.worldbody.add_body(name="x").add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="y")
    with pytest.raises(LoadError, match="cannot write as XML"):
        robosim.load(empty)
