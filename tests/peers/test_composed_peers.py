"""An arm with a gripper by `attach`, against the same assembly made by others."""

from __future__ import annotations

import numpy as np
import pytest
from test_recursive_peers import Theirs, needs_pinocchio

import robosim
from robosim import Dynamics, quaternions
from robosim.comparison import random_state

pytestmark = pytest.mark.peer

PLACE, RPY = (0.02, -0.01, 0.1), (0.3, -0.4, 0.5)


def link(name, mass, com="0 0 0.1"):
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="0.1 0.2 0.3"/>'
        f'<mass value="{mass}"/><inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" '
        f'iyz="0.001" izz="0.025"/></inertial></link>'
    )


def joint(name, parent, child, kind="revolute", xyz="0 0 0.2", axis="0 1 0", rpy="0 0 0"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'<limit lower="-2" upper="2" effort="10" velocity="5"/></joint>'
    )


ARM = "".join((
    link("base", 2.0), link("upper", 1.0), link("lower", 0.8), link("flange", 0.1),
    link("cam", 0.2),
    joint("shoulder", "base", "upper", axis="0 0 1"),
    joint("elbow", "upper", "lower", rpy="0.5 0 0.2"),
    joint("wrist", "lower", "flange", kind="fixed", xyz="0.01 0 0.3", rpy="0.1 0.2 0"),
    joint("pan", "base", "cam", xyz="0.1 0 0", axis="1 0 0"),
))  # fmt: skip


def gripper(p=""):
    return "".join((
        link(f"{p}palm", 0.3, "0.01 0 0.03"), link(f"{p}left", 0.05), link(f"{p}right", 0.05),
        joint(f"{p}open", f"{p}palm", f"{p}left", "prismatic", "0 0.02 0.1"),
        joint(f"{p}close", f"{p}palm", f"{p}right", "prismatic", "0 -0.02 0.1", rpy="0 0 3.14159"),
    ))  # fmt: skip


def written(folder, name, *parts):
    file = folder / f"{name}.urdf"
    file.write_text(f'<?xml version="1.0"?><robot name="{name}">{"".join(parts)}</robot>')
    return file


def composed(folder, floating_base=False):
    arm = robosim.load(written(folder, "arm", ARM), floating_base)
    hand = robosim.load(written(folder, "hand", gripper()), False)
    turn = quaternions.from_rpy(RPY)
    return arm, hand, arm.attach(hand, "flange", PLACE, turn, prefix="g/")


@needs_pinocchio
@pytest.mark.parametrize("floating_base", [False, True])
def test_one_urdf_of_both_in_pinocchio(tmp_path, floating_base):
    *_, robot = composed(tmp_path, floating_base)
    xyz, rpy = (" ".join(map(str, values)) for values in (PLACE, RPY))
    mount = joint("g/mount", "flange", "g/palm", "fixed", xyz, rpy=rpy)
    file = written(tmp_path, "whole", ARM, mount, gripper("g/"))
    theirs, dynamics = Theirs(robot, file), Dynamics(robot)
    pin, rng = theirs.pin, np.random.default_rng(0)
    assert robot.q_names[-2:] == ("g/open", "g/close")
    names = {theirs.model.frames[k].name: k for k in theirs.frames}
    assert {"g/palm", "g/left", "flange"} <= names.keys()
    for _ in range(20):
        q, v = random_state(robot, rng)
        theirs.move(q, v)
        T, model, data = theirs.T, theirs.model, theirs.data
        pin.forwardKinematics(model, data, theirs.q, theirs.v)
        pin.updateFramePlacements(model, data)
        for name, k in names.items():
            position, R = dynamics.frame(q, name)
            np.testing.assert_allclose(position, data.oMf[k].translation, rtol=0, atol=1e-10)
            np.testing.assert_allclose(R, data.oMf[k].rotation, rtol=0, atol=1e-10)
        M = pin.crba(model, data, theirs.q)
        M = np.triu(M) + np.triu(M, 1).T
        np.testing.assert_allclose(dynamics.mass_matrix(q), T @ M @ T.T, rtol=0, atol=1e-10)
        # Where theirs does not accelerate, ours does by what the map between them changes.
        bias = pin.nonLinearEffects(model, data, theirs.q, theirs.v)
        ours = dynamics.inverse_dynamics(q, v, theirs.drift)
        np.testing.assert_allclose(ours, T @ bias, rtol=0, atol=1e-10)


def test_mjspec_attaches_alike(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    arm, hand, robot = composed(tmp_path)
    files = []
    for one in (arm, hand):
        files.append(tmp_path / f"{one.name}.xml")
        robosim.save(one, files[-1])
    spec, other = (mujoco.MjSpec.from_file(str(file)) for file in files)
    frame = spec.body("flange").add_frame(pos=PLACE, quat=quaternions.from_rpy(RPY))
    frame.attach_body(other.body("palm"), "g/", "")
    model = spec.compile()
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    dynamics = Dynamics(robot)
    masses = {"g/left": 0.05, "g/right": 0.05}
    for name, mass in masses.items():
        assert model.body(name).mass[0] == pytest.approx(mass, abs=1e-12)
        assert robot.body(name).mass == pytest.approx(mass, abs=1e-12)
    assert model.body_mass.sum() == pytest.approx(robot.total_mass, abs=1e-12)
    for _ in range(5):
        q, v = random_state(robot, rng)
        data.qpos, data.qvel = robosim.to_mujoco(robot, q, v, model=model)
        mujoco.mj_forward(model, data)
        for name in ("flange", "cam", "g/palm", "g/left", "g/right"):
            position, R = dynamics.frame(q, name)
            np.testing.assert_allclose(position, data.body(name).xpos, rtol=0, atol=1e-9)
            matrix = data.body(name).xmat.reshape(3, 3)
            np.testing.assert_allclose(R, matrix, rtol=0, atol=1e-9)


def test_coordinates_without_a_model_are_those_of_the_file_that_is_written(tmp_path):
    """Though what hangs on the mount comes last here, and within the arm in a file."""
    mujoco = pytest.importorskip("mujoco")
    *_, robot = composed(tmp_path)
    assert robot.q_names == ("shoulder", "elbow", "pan", "g/open", "g/close")
    robosim.save(robot, tmp_path / "whole.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "whole.xml"))
    q = np.arange(5.0)
    np.testing.assert_array_equal(
        robosim.to_mujoco(robot, q), robosim.to_mujoco(robot, q, model=model)
    )
    assert robosim.to_mujoco(robot, q).tolist() == [0.0, 1.0, 3.0, 4.0, 2.0]
    np.testing.assert_array_equal(robosim.from_mujoco(robot, robosim.to_mujoco(robot, q)), q)
