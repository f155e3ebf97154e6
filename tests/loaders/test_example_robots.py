"""The robots of example-robot-data, against Pinocchio: mass, frames, inertia at random poses."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import quaternions
from robosim.loaders import placement
from robosim.loaders.packages import example_robot_data

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(example_robot_data() is None, reason="needs example-robot-data"),
    pytest.mark.skipif(importlib.util.find_spec("pinocchio") is None, reason="needs Pinocchio"),
]

SHARE = example_robot_data() or Path()
ROBOTS = SHARE / "example-robot-data" / "robots"
FILES = (
    "a1_description/urdf/a1.urdf",
    "solo_description/robots/solo12.urdf",
    "go2_description/urdf/go2.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "pr2_description/urdf/pr2.urdf",
    "baxter_description/urdf/baxter.urdf",
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "z1_description/urdf/z1.urdf",
    "kinova_description/robots/kinova.urdf",
    "tiago_pro_description/robots/tiago_pro.urdf",
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "human_description/robots/human.urdf",  # with links without mass, between joints
    "romeo_description/urdf/romeo.urdf",  # and at ends
    "romeo_description/urdf/romeo_laas_small.urdf",  # with inertias that no body can have
    "icub_description/robots/icub.urdf",  # and with mass alone
)
REFUSED = {"ur_description/urdf/ur3.urdf": "'ur3': has no links"}


@pytest.fixture(scope="module", params=FILES, ids=lambda file: Path(file).stem)
def pair(request):
    """(robosim's, Pinocchio's) model of one file; Pinocchio fixes the root to the world."""
    import pinocchio

    file = ROBOTS / request.param
    return robosim.load(file), pinocchio.buildModelFromUrdf(str(file))


def poses_at(robot, model, rng):
    """The same pose in both: (body poses of ours, Pinocchio's data), base at the origin."""
    import pinocchio

    q_ours, q_theirs = robot.neutral(), pinocchio.neutral(model)
    singles = (
        (start + k, name)
        for start, joint in zip(robot.q_offsets, robot.joints, strict=False)
        for k, name in enumerate(joint.coordinate_names or (joint.name,) * (joint.nq == 1))
    )
    for place, name in singles:
        index = model.getJointId(name)
        value = 0.0 if rng is None else rng.uniform(-1, 1)
        q_ours[place] = value
        at = model.joints[index].idx_q
        if model.joints[index].nq == 1:
            q_theirs[at] = value
        else:
            q_theirs[at : at + 2] = np.cos(value), np.sin(value)
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, q_theirs)
    return placement.body_poses(robot.joints, q_ours), data


def about_origin(mass, center, inertia):
    return inertia + mass * (center @ center * np.eye(3) - np.outer(center, center))


def test_total_mass(pair):
    robot, model = pair
    assert robot.total_mass == pytest.approx(sum(body.mass for body in model.inertias), rel=1e-12)


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_every_frame_is_where_pinocchio_has_it(pair, seed):
    import pinocchio

    robot, model = pair
    poses, data = poses_at(robot, model, None if seed is None else np.random.default_rng(seed))
    names = {frame.name for frame in model.frames if str(frame.type) == "BODY"} - {"universe"}
    ours = {frame.name: poses[None] for frame in robot.world_frames}
    ours |= {frame.name: poses[robot.bodies[index].name] for index, frame in robot.frames()}
    every = {frame.name: frame for frame in robot.world_frames}
    every |= {frame.name: frame for _, frame in robot.frames()}
    # Bare links without mass between hinges are none here, which is told.
    told = [text for text in robot.warnings if "no bodies or frames" in text]
    gone = {name for text in told for name in text.rpartition(": ")[2].split(", ")}
    assert set(every) == names - gone
    assert gone <= names
    for name, frame in every.items():
        R, x = ours[name]
        theirs = data.oMf[model.getFrameId(name, pinocchio.FrameType.BODY)]
        np.testing.assert_allclose(x + R @ frame.position, theirs.translation, atol=1e-12)
        R_frame = R @ quaternions.rotation_matrix(frame.quaternion)
        np.testing.assert_allclose(R_frame, theirs.rotation, atol=1e-12)


@pytest.mark.parametrize("seed", [None, 2])
def test_mass_centre_and_inertia_together(pair, seed):
    robot, model = pair
    poses, data = poses_at(robot, model, None if seed is None else np.random.default_rng(seed))
    first, second = np.zeros(3), np.zeros((3, 3))
    for body in (body for body in robot.bodies if not body.carrier):
        R, x = poses[body.name]
        first += body.mass * x
        second += about_origin(body.mass, x, R @ np.asarray(body.inertia) @ R.T)
    for inertia, place in zip(model.inertias, data.oMi, strict=True):
        there = place.act(inertia)
        first -= there.mass * there.lever
        second -= about_origin(there.mass, there.lever, there.inertia)
    np.testing.assert_allclose(first, 0, atol=1e-12 * robot.total_mass)
    np.testing.assert_allclose(second, 0, atol=1e-11 * robot.total_mass)


def test_limits(pair):
    robot, model = pair
    led = {coupling.joint for coupling in robot.couplings}  # has those of what it follows
    for joint in robot.joints:
        if joint.name in led:
            continue
        if joint.nq == 1 and model.joints[model.getJointId(joint.name)].nq == 1:
            at = model.joints[model.getJointId(joint.name)].idx_q
            assert joint.lower[0] == model.lowerPositionLimit[at]
            assert joint.upper[0] == model.upperPositionLimit[at]


@pytest.mark.parametrize("file", REFUSED)
def test_refused_with_a_reason(file):
    with pytest.raises(robosim.ModelError, match=REFUSED[file]) as caught:
        robosim.load(ROBOTS / file)
    assert caught.value.file == ROBOTS / file
