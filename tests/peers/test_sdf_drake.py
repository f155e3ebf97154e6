"""SDF files of others, from installed packages: bodies, poses and mass matrices as in Drake."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robosim
from robosim import Dynamics, quaternions
from robosim.description.poses import body_poses

pytest.importorskip("pydrake")
pytestmark = pytest.mark.peer

DRAKE = "pydrake/share/drake/examples/"
CASSIE = "cassie_description/robots/"
FILES = (
    DRAKE + "acrobot/Acrobot.sdf",
    DRAKE + "multibody/cart_pole/cart_pole.sdf",
    DRAKE + "planar_gripper/planar_gripper.sdf",
    DRAKE + "planar_gripper/planar_brick.sdf",
    DRAKE + "kuka_iiwa_arm/models/desk/transcendesk55inch.sdf",
    DRAKE + "kuka_iiwa_arm/models/table/extra_heavy_duty_table_surface_only_collision.sdf",
    DRAKE + "kuka_iiwa_arm/models/table/extra_heavy_duty_table.sdf",
    DRAKE + "quadrotor/warehouse.sdf",
    "pybullet_data/kuka_iiwa/kuka_world.sdf",
    CASSIE + "cassie_v2.sdf",
    CASSIE + "cassie_simple.sdf",
    CASSIE + "cassie_reduced.sdf",
    CASSIE + "cassie_wo_gearbox_spring.sdf",
)
# Joints that close loops, which Drake does not read; both programs then read the same tree.
BALLS = re.compile(r"<joint name=.[\w-]+. type=.ball.>.*?</joint>", re.DOTALL)


def found(name: str) -> Path:
    """A file of an installed package, or the test is skipped."""
    if name.startswith(CASSIE):
        from robosim.loaders.packages import example_robot_data

        share = example_robot_data()
        path = None if share is None else share / "example-robot-data" / "robots" / name
    else:
        spec = importlib.util.find_spec(name.partition("/")[0])
        path = None if spec is None or spec.origin is None else Path(spec.origin).parents[1] / name
    if path is None or not path.is_file():
        pytest.skip(f"{name} is not installed")
    return path


def plant_of(path: Path) -> tuple[Any, Any]:
    """(plant, context) of Drake."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(path))
    plant.Finalize()
    return plant, plant.CreateDefaultContext()


# Frames in all their ways, nested models, and joints that the files above do not have.
OWN = """
<sdf version="1.8"><model name="own" canonical_link="b">
  <pose>0.1 0.2 0.3 0.3 -0.2 0.5</pose>
  <frame name="f" attached_to="a"><pose>0 0.3 0.1 0.2 0 0.4</pose></frame>
  <link name="a"><pose>0.5 0 0 0 0.3 0</pose>{inertial}</link>
  <link name="b"><pose relative_to="f">0 0 0.4 0.1 0 0</pose>{inertial}</link>
  <link name="c"><pose relative_to="u">0.1 0 0 0 0 0.7</pose>{inertial}</link>
  <link name="d"><pose relative_to="inner::tip">0 0.2 0 0.3 0 0</pose>{inertial}</link>
  <link name="e"><pose>1 1 1 0 0.4 0</pose>{inertial}</link>
  <model name="inner" placement_frame="tip"><pose relative_to="c">0.2 0.1 0 0 0 0.3</pose>
    <link name="base"><pose>0.1 0 0 0.2 0 0</pose>{inertial}</link>
    <link name="tip"><pose relative_to="base">0 0.5 0 0 0.2 0</pose>{inertial}</link>
    <joint name="hinge" type="revolute"><pose>0 0 0.1 0 0.3 0</pose><parent>base</parent>
      <child>tip</child><axis><xyz expressed_in="base">0.3 1 0.2</xyz></axis></joint>
  </model>
  <joint name="r" type="revolute"><parent>a</parent><child>b</child>
    <axis><xyz expressed_in="__model__">0 1 1</xyz></axis></joint>
  <joint name="u" type="universal"><pose relative_to="b">0.1 0 0 0.2 0.1 0</pose>
    <parent>f</parent><child>c</child><axis><xyz expressed_in="u">1 0 0</xyz></axis>
    <axis2><xyz>0 1 0</xyz></axis2></joint>
  <joint name="w" type="fixed"><parent>c</parent><child>inner</child></joint>
  <joint name="s" type="screw"><parent>inner::tip</parent><child>d</child>
    <axis><xyz>0 0 1</xyz></axis><screw_thread_pitch>0.3</screw_thread_pitch></joint>
  <joint name="q" type="ball"><pose>0.1 0.2 0 0 0.4 0</pose><parent>d</parent><child>e</child>
  </joint>
</model></sdf>
"""
INERTIAL = """<inertial><pose>0.1 0.05 0 0.3 0 0.2</pose><mass>1.5</mass><inertia><ixx>0.1</ixx>
<iyy>0.2</iyy><izz>0.25</izz><ixy>0.01</ixy></inertia></inertial>"""


def test_frames_nested_models_and_all_joints_are_those_of_drake(tmp_path: Path):
    path = tmp_path / "own.sdf"
    path.write_text(OWN.format(inertial=INERTIAL))
    assert agree(path) == 7


@pytest.mark.parametrize("name", FILES)
def test_masses_poses_and_mass_matrices_are_those_of_drake(name: str, tmp_path: Path):
    path = found(name)
    text = path.read_text()
    if name.startswith(CASSIE):
        path = tmp_path / path.name
        # Meshes are neither compared nor found from here.
        text = re.sub(r"<visual.*?</visual>", "", BALLS.sub("", text), flags=re.DOTALL)
        path.write_text(text)
    assert agree(path)


def agree(path: Path) -> int:
    """Compare a file in both programs at a random pose; returns how many links were compared."""
    robot = robosim.load(path, contacts="none")
    plant, context = plant_of(path)
    ours = sum(body.mass for body in robot.bodies)
    assert ours == pytest.approx(plant.CalcTotalMass(context), rel=1e-12)

    rng = np.random.default_rng(1)
    q = np.array(robot.home)
    lower, upper = np.array(bounds(robot)).reshape(-1, 2).T
    q = np.clip(q + rng.uniform(-0.5, 0.5, len(q)), lower, upper)
    for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        if joint.has_quaternion:
            part = slice(start + joint.nq - 4, start + joint.nq)
            q[part] = quaternions.normalized(q[part])
    S = set_positions(robot, q, plant, context)
    poses = body_poses(robot.tree_joints, q)
    compared = 0
    for index, frame in robot.frames():
        R, x = poses[robot.bodies[index].name]
        body = body_of(plant, frame.name)
        if body is None:
            continue
        X = plant.EvalBodyPoseInWorld(context, body)
        np.testing.assert_allclose(x + R @ frame.position, X.translation(), atol=1e-9)
        own = R @ quaternions.rotation_matrix(np.asarray(frame.quaternion))
        np.testing.assert_allclose(own, X.rotation().matrix(), atol=1e-9)
        compared += 1
    assert compared == plant.num_bodies() - 1
    if robot.nv:
        M = Dynamics(robot).mass_matrix(q)
        theirs = S.T @ plant.CalcMassMatrix(context) @ S
        np.testing.assert_allclose(M, theirs, atol=1e-9 * np.abs(M).max())
    return compared


def body_of(plant: Any, name: str) -> Any:
    """Drake's body of a link's name, which may be one of a nested model."""
    from pydrake.multibody.tree import BodyIndex

    model, _, link = name.rpartition("::")
    for k in range(plant.num_bodies()):
        body = plant.get_body(BodyIndex(k))
        scope = plant.GetModelInstanceName(body.model_instance())
        if body.name() == link and (not model or scope.endswith(f"::{model}")):
            return body
    return None


def bounds(robot: Any) -> list[tuple[float, float]]:
    """Limits of each coordinate; those of positions and quaternions are infinite."""
    found = []
    for joint in robot.tree_joints:
        if joint.has_quaternion:
            found += [(-np.inf, np.inf)] * joint.nq
        else:
            found += list(zip(np.asarray(joint.lower), np.asarray(joint.upper), strict=True))
    return found


def set_positions(robot: Any, q: Any, plant: Any, context: Any) -> Any:
    """Set Drake's positions to q; returns S with v_drake = S v (nv, nv)."""
    from pydrake.common.eigen_geometry import Quaternion
    from pydrake.math import RigidTransform, RollPitchYaw, RotationMatrix

    S = np.zeros((plant.num_velocities(), robot.nv))
    poses = body_poses(robot.tree_joints, q)
    for i, joint in enumerate(robot.tree_joints):
        start, rate = robot.q_offsets[i], robot.v_offsets[i]
        if joint.kind == "fixed":
            continue
        if joint.kind == "floating":
            body = body_of(plant, joint.child)
            x, turn = q[start : start + 3], quaternions.normalized(q[start + 3 : start + 7])
            plant.SetFreeBodyPose(context, body, RigidTransform(Quaternion(turn), x))
            at = body.floating_velocities_start_in_v()
            S[at : at + 3, rate + 3 : rate + 6] = quaternions.rotation_matrix(turn)
            S[at + 3 : at + 6, rate : rate + 3] = np.eye(3)
            continue
        other = plant.GetJointByName(joint.name.rpartition("::")[2])
        if joint.kind == "composite":
            other.set_angles(context, q[start : start + 2])
            at = other.velocity_start()
            S[at : at + 2, rate : rate + 2] = np.eye(2)
            continue
        if joint.kind == "spherical":
            R_pf = other.frame_on_parent().GetFixedPoseInBodyFrame().rotation().matrix()
            R_cm = other.frame_on_child().GetFixedPoseInBodyFrame().rotation().matrix()
            R_fb = R_pf.T @ link_turn(robot, poses, other.parent_body().name()).T
            R_fb = R_fb @ link_turn(robot, poses, other.child_body().name())
            other.set_angles(context, RollPitchYaw(RotationMatrix(R_fb @ R_cm)).vector())
            at = other.velocity_start()
            S[at : at + 3, rate : rate + 3] = R_fb
            continue
        if joint.kind == "screw":
            theirs = plant.GetPositions(context)
            theirs[other.position_start()] = q[start]
            plant.SetPositions(context, theirs)
        elif joint.kind == "revolute":
            other.set_angle(context, q[start])
        else:
            assert joint.kind == "prismatic"
            other.set_translation(context, q[start])
        S[other.velocity_start(), rate] = 1.0
    return S


def link_turn(robot: Any, poses: Any, name: str) -> Any:
    """The rotation (3, 3) of a link in the world."""
    index, frame = robot.frame(name)
    turn = quaternions.rotation_matrix(np.asarray(frame.quaternion))
    return poses[robot.bodies[index].name][0] @ turn
