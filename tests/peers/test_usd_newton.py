"""USD files of others, from the package of Newton: bodies and joints as Newton reads them.

Newton has single precision, so that numbers agree to 1e-5 of the largest of their kind.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robosim
from robosim import Mechanism, quaternions
from robosim.description.poses import body_poses

newton = pytest.importorskip("newton")
pytest.importorskip("pxr")
pytest.importorskip("newton_usd_schemas")
pytestmark = pytest.mark.peer

TOLERANCE, FITS = 1e-5, 1e-4
EXAMPLES = ("ant", "axis_cube", "boxes_fourbar", "cartpole", "cartpole_single_pendulum", "humanoid",
            "palletizer_scene", "sensor_contact_scene")  # fmt: skip
TESTS = ("actuator_test", "ant_mixed", "cartpole_mjc", "four_link_chain_articulation",
         "humanoid_mjc", "negative_scale_cube", "negative_scale_mesh_pair",
         "pendulum_revolute_vs_d6", "revolute_articulation", "simple_articulation_with_mesh",
         "kamino/basics/box_on_plane", "kamino/basics/box_pendulum",
         "kamino/basics/boxes_nunchaku", "kamino/basics/cartpole",
         "kamino/testing/geoms/test_geom_cone", "kamino/testing/joints/test_joint_spherical",
         "kamino/testing/joints/test_joint_d6_revolute_actuated",
         "kamino/testing/joints/test_joint_d6_prismatic_passive")  # fmt: skip
FILES = [f"examples/assets/{name}" for name in EXAMPLES] + [f"tests/assets/{one}" for one in TESTS]


def opened(name: str) -> tuple[Any, Mechanism]:
    """(builder of Newton, robot) of a file; the test is skipped where there is none."""
    spec = importlib.util.find_spec("newton")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / f"{name}.usda"
    if not path.is_file():
        pytest.skip(f"{path.name} is not in the installed Newton")
    builder = newton.ModelBuilder(up_axis="Z")
    builder.add_usd(str(path))
    return builder, robosim.load(path, contacts="none", ground=False)


def alone(robot: Mechanism) -> list[Any]:
    """Bodies of one link each, whose frames are those of the file."""
    return [body for body in robot.bodies if len(body.frames) == 1]


def bodies_of(builder: Any) -> dict[str, int]:
    """Index of a body by its path, and by its last part."""
    found = {label.lstrip("/"): k for k, label in enumerate(builder.body_label)}
    return {label.rpartition("/")[2]: k for label, k in found.items()} | found


def turn(xyzw: Any) -> Any:
    x, y, z, w = map(float, xyzw)
    return quaternions.rotation_matrix(np.array((w, x, y, z)))


@pytest.mark.parametrize("name", FILES)
def test_masses_centres_and_inertias_are_those_of_newton(name: str):
    builder, robot = opened(name)
    index = bodies_of(builder)
    assert alone(robot)
    for body in alone(robot):
        k = index[body.name]
        assert body.mass == pytest.approx(builder.body_mass[k], rel=TOLERANCE)
        np.testing.assert_allclose(
            -body.reference_position, np.array(builder.body_com[k]), atol=TOLERANCE
        )
        theirs = np.array(builder.body_inertia[k]).reshape(3, 3)
        np.testing.assert_allclose(body.inertia, theirs, atol=TOLERANCE * np.abs(theirs).max())


@pytest.mark.parametrize("name", FILES)
def test_joints_are_where_newton_has_them(name: str):
    builder, robot = opened(name)
    index = bodies_of(builder)
    names = {label.rpartition("/")[2]: k for k, label in enumerate(builder.joint_label)}
    centres = {body.name: -body.reference_position for body in robot.bodies} | {None: np.zeros(3)}
    own = {None: -1} | {body.name: index[body.name] for body in alone(robot)}
    compared = 0
    for joint in robot.joints:
        k = names.get(joint.name)
        if k is None or own.get(joint.child) != builder.joint_child[k]:
            continue
        X_p, X_c = np.array(builder.joint_X_p[k]), np.array(builder.joint_X_c[k])
        # Bodies that cannot move are parts of the world here.
        if own.get(joint.parent) == builder.joint_parent[k]:
            np.testing.assert_allclose(
                np.asarray(joint.parent_position) + centres[joint.parent], X_p[:3], atol=TOLERANCE
            )
            offset = quaternions.rotation_matrix(np.asarray(joint.offset))
            np.testing.assert_allclose(offset, turn(X_p[3:]) @ turn(X_c[3:]).T, atol=TOLERANCE)
        np.testing.assert_allclose(
            np.asarray(joint.child_position) + centres[joint.child], X_c[:3], atol=TOLERANCE
        )
        if joint.kind in ("revolute", "prismatic"):
            axis = np.array(builder.joint_axis[builder.joint_qd_start[k]])
            np.testing.assert_allclose(joint.axis, turn(X_c[3:]) @ axis, atol=TOLERANCE)
            lower = builder.joint_limit_lower[builder.joint_qd_start[k]]
            if abs(lower) < 1e6:
                assert joint.lower[0] == pytest.approx(lower, rel=TOLERANCE, abs=TOLERANCE)
        compared += 1
    listed = {joint.name for joint in robot.joints if joint.kind != "floating"} & set(names)
    assert compared or not listed or len(alone(robot)) < len(robot.bodies)


@pytest.mark.parametrize("name", FILES)
def test_bodies_begin_where_newton_has_them(name: str):
    builder, robot = opened(name)
    index, home = bodies_of(builder), np.asarray(robot.home)
    if any("not ones that these joints allow" in warning for warning in robot.warnings):
        pytest.skip("joints hold these bodies elsewhere")
    # Joints that start at a limit are moved to it, if the stage has them beyond.
    for joint, start in zip(robot.tree_joints, robot.q_offsets, strict=False):
        part = home[start : start + joint.nv]
        if not joint.has_quaternion and np.any((part == joint.lower) | (part == joint.upper)):
            pytest.skip(f"{joint.name} is moved to its limit")
    poses = body_poses(robot.tree_joints, home)
    for body in alone(robot):
        R, x = poses[body.name]
        theirs = np.array(builder.body_q[index[body.name]])
        # Poses of files satisfy their joints to some digits only; here they do so exactly.
        np.testing.assert_allclose(x + R @ body.reference_position, theirs[:3], atol=FITS)
        np.testing.assert_allclose(R, turn(theirs[3:]), atol=FITS)
